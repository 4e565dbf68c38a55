/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SUMS_H
#define FLAME_SUMS_H
/* Sums of values that are not negative, by two numbers. */
#include "idmap.h"

static inline uint64_t sums_key(uint32_t of, uint32_t what)
{
	return (uint64_t)of << 32 | what;
}

/* Add @value to the sum of (@of, @what). Return: false without memory. */
static inline bool sums_add(struct idmap *sums, uint32_t of, uint32_t what, int64_t value)
{
	uint64_t sum = 0;

	idmap_value(sums, sums_key(of, what), &sum);
	return idmap_set(sums, sums_key(of, what), sum + (uint64_t)value);
}

/* The next sum behind *@at, which starts with 0, in no order. Return: false where there is none. */
static inline bool sums_next(const struct idmap *sums, size_t *at, uint32_t *of, uint32_t *what, int64_t *value)
{
	for (; sums->slots && *at <= sums->mask; (*at)++) {
		const struct idmap_slot *slot = &sums->slots[*at];

		if (!slot->value)
			continue;
		*of = (uint32_t)(slot->id >> 32);
		*what = (uint32_t)slot->id;
		*value = (int64_t)(slot->value - 1);
		(*at)++;
		return true;
	}
	return false;
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TABLE_H
#define FLAME_TABLE_H
/*
 * The two pieces that the profile's tables are made of: a growing array, and an index from hashes
 * to rows. Both are zero-initialised and released by free() of their one pointer.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Make room for @want items of @size bytes in *@items, which has room for *@room.
 * Large blocks grow by remapping pages, so growing copies nothing and peaks nowhere.
 * Return: false without memory; *@items is then as it was.
 */
static inline bool array_reserve(void **items, size_t *room, size_t want, size_t size)
{
	size_t next = *room + *room / 2 + 64;
	void *p;

	if (want <= *room)
		return true;
	if (next < want)
		next = want;
	if (next > SIZE_MAX / size)
		return false;
	p = realloc(*items, next * size);
	if (!p)
		return false;
	*items = p;
	*room = next;
	return true;
}

/* Open addressing with linear probing; a slot holds a row, 0 is free. At most half full. */
struct index {
	uint32_t *slots;
	uint32_t mask;	/* number of slots - 1 */
	uint32_t nr;	/* rows in it */
};

/* Return: false where the index has to grow before a row is added. */
static inline bool index_has_room(const struct index *x)
{
	return x->slots && x->nr < x->mask / 2;
}

static inline void index_put(struct index *x, uint32_t hash, uint32_t row)
{
	uint32_t i = hash & x->mask;

	while (x->slots[i])
		i = (i + 1) & x->mask;
	x->slots[i] = row;
	x->nr++;
}

/* Take all rows out. */
static inline void index_clear(struct index *x)
{
	for (uint64_t i = 0; x->slots && i <= x->mask; i++)
		x->slots[i] = 0;
	x->nr = 0;
}

/* Empty slots for twice as many rows; the caller puts its rows in again. Return: false without memory. */
static inline bool index_grow(struct index *x)
{
	uint64_t nr = x->slots ? ((uint64_t)x->mask + 1) * 2 : 256;
	uint32_t *slots;

	if (nr > UINT32_MAX)
		return false;
	slots = calloc(nr, sizeof(*slots));
	if (!slots)
		return false;
	free(x->slots);
	*x = (struct index){ .slots = slots, .mask = (uint32_t)nr - 1 };
	return true;
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_IDMAP_H
#define FLAME_IDMAP_H
/*
 * idmap.h - a map from the numbers that a file gives its things to numbers of ours. It forgets nothing and grows
 * with what is put in, whatever the ids are. Zero initialised it is empty.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "hash.h"

struct flame_idmap_slot {
	uint64_t key, value;
	uint64_t used;
};

struct flame_idmap {
	struct flame_idmap_slot *slots;
	uint32_t mask, nr;
};

static inline struct flame_idmap_slot *flame_idmap_slot(const struct flame_idmap *m, uint64_t key)
{
	uint32_t i = (uint32_t)hash_mix(key ^ HASH_A, HASH_B) & m->mask;

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

/* Return: true with the value of @key. */
static inline bool flame_idmap_get(const struct flame_idmap *m, uint64_t key, uint64_t *value)
{
	const struct flame_idmap_slot *slot = m->slots ? flame_idmap_slot(m, key) : NULL;

	if (!slot || !slot->used)
		return false;
	*value = slot->value;
	return true;
}

static inline bool flame_idmap_grow(struct flame_idmap *m)
{
	struct flame_idmap old = *m;
	uint64_t nr = old.slots ? ((uint64_t)old.mask + 1) * 2 : 256;

	m->slots = nr > (uint64_t)1 << 31 ? NULL : calloc(nr, sizeof(*m->slots));
	if (!m->slots) {
		m->slots = old.slots;
		return false;
	}
	m->mask = (uint32_t)nr - 1;
	for (uint32_t i = 0; old.slots && i <= old.mask; i++) {
		if (old.slots[i].used)
			*flame_idmap_slot(m, old.slots[i].key) = old.slots[i];
	}
	free(old.slots);
	return true;
}

/* Set the value of @key. Return: false without memory. */
static inline bool flame_idmap_put(struct flame_idmap *m, uint64_t key, uint64_t value)
{
	struct flame_idmap_slot *slot;

	if ((!m->slots || m->nr >= m->mask / 4 * 3) && !flame_idmap_grow(m))
		return false;
	slot = flame_idmap_slot(m, key);
	m->nr += !slot->used;
	*slot = (struct flame_idmap_slot){ key, value, 1 };
	return true;
}

static inline void flame_idmap_release(struct flame_idmap *m)
{
	free(m->slots);
	*m = (struct flame_idmap){ 0 };
}

#endif

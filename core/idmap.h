/* SPDX-License-Identifier: MIT */
#ifndef FLAME_IDMAP_H
#define FLAME_IDMAP_H
/*
 * A map from 64-bit ids, as files give them, to 32-bit rows. Zero-initialised; released by
 * idmap_release(). Any id may be a key, 0 too; rows are up to UINT32_MAX - 1.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct idmap_slot {
	uint64_t id;
	uint32_t value;		/* row + 1; 0: free */
};

struct idmap {
	struct idmap_slot *slots;
	size_t mask, nr;
};

static inline size_t idmap_hash(uint64_t id)
{
	return (size_t)hash_mix(id ^ HASH_A, HASH_B);
}

/* Return: the slot of @id, or the free one where it belongs. There must be slots. */
static inline struct idmap_slot *idmap_slot(const struct idmap *map, uint64_t id)
{
	size_t i = idmap_hash(id) & map->mask;

	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & map->mask;
	return &map->slots[i];
}

/* Return: true with the row of @id. */
static inline bool idmap_get(const struct idmap *map, uint64_t id, uint32_t *row)
{
	const struct idmap_slot *slot;

	if (!map->slots)
		return false;
	slot = idmap_slot(map, id);
	if (!slot->value)
		return false;
	*row = slot->value - 1;
	return true;
}

/* Return: false without memory; the map is then as it was. */
static inline bool idmap_grow(struct idmap *map)
{
	struct idmap bigger = { .mask = map->slots ? map->mask * 2 + 1 : 63, .nr = map->nr };

	bigger.slots = calloc(bigger.mask + 1, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; map->slots && i <= map->mask; i++) {
		if (map->slots[i].value)
			*idmap_slot(&bigger, map->slots[i].id) = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return true;
}

/*
 * The row of @id, which becomes @row if it has none yet.
 * Return: the row; UINT32_MAX without memory.
 */
static inline uint32_t idmap_add(struct idmap *map, uint64_t id, uint32_t row)
{
	struct idmap_slot *slot;

	if ((!map->slots || map->nr > map->mask / 2) && !idmap_grow(map))
		return UINT32_MAX;
	slot = idmap_slot(map, id);
	if (!slot->value) {
		*slot = (struct idmap_slot){ id, row + 1 };
		map->nr++;
	}
	return slot->value - 1;
}

/* Forget all, but keep the memory. */
static inline void idmap_clear(struct idmap *map)
{
	if (map->nr)
		memset(map->slots, 0, (map->mask + 1) * sizeof(*map->slots));
	map->nr = 0;
}

static inline void idmap_release(struct idmap *map)
{
	free(map->slots);
	*map = (struct idmap){ 0 };
}

#endif

/* SPDX-License-Identifier: MIT */
#include "cache.h"

static void start_anew(struct flame_cache *c)
{
	if (c->slots)
		memset(c->slots, 0, ((size_t)c->mask + 1) * sizeof(*c->slots));
	c->nr = 0;
	c->nr_bytes = 0;
	c->generation++;
}

static void put_slot(struct flame_cache *c, const struct flame_cache_slot *slot)
{
	uint32_t i = slot->hash & c->mask;

	while (c->slots[i].len)
		i = (i + 1) & c->mask;
	c->slots[i] = *slot;
	c->nr++;
}

static bool grow(struct flame_cache *c)
{
	size_t old = c->slots ? (size_t)c->mask + 1 : 0, nr = old ? old * 2 : 256;
	struct flame_cache_slot *slots = calloc(nr, sizeof(*slots)), *from = c->slots;

	if (!slots)
		return false;
	c->slots = slots;
	c->mask = (uint32_t)nr - 1;
	c->nr = 0;
	for (size_t i = 0; i < old; i++) {
		if (from[i].len)
			put_slot(c, &from[i]);
	}
	free(from);
	return true;
}

void flame_cache_put(struct flame_cache *c, const char *key, size_t len, uint64_t hash, uint32_t value)
{
	if (!len || len > c->max_bytes)
		return;
	if (c->nr_bytes + len > c->max_bytes || (c->nr && c->nr >= UINT32_MAX / 4))
		start_anew(c);
	if ((!c->slots || c->nr >= c->mask / 2) && !grow(c))
		return;
	if (!array_reserve((void **)&c->bytes, &c->room_bytes, c->nr_bytes + len, 1))
		return;
	memcpy(c->bytes + c->nr_bytes, key, len);
	put_slot(c, &(struct flame_cache_slot){ (uint32_t)hash, (uint32_t)len, (uint32_t)c->nr_bytes, value });
	c->nr_bytes += len;
}

void flame_cache_release(struct flame_cache *c)
{
	free(c->slots);
	free(c->bytes);
	*c = (struct flame_cache){ .max_bytes = c->max_bytes };
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST(n) (UINT64_MAX >> (64 - 8 * (n)))
#else
#define FIRST(n) (UINT64_MAX << (64 - 8 * (n)))
#endif
#define ALL UINT64_MAX

const struct flame_short_key flame_short_masks[FLAME_SHORT_KEY + 1] = {
	{ 0, 0 }, { FIRST(1), 0 }, { FIRST(2), 0 }, { FIRST(3), 0 }, { FIRST(4), 0 }, { FIRST(5), 0 },
	{ FIRST(6), 0 }, { FIRST(7), 0 }, { ALL, 0 }, { ALL, FIRST(1) }, { ALL, FIRST(2) }, { ALL, FIRST(3) },
	{ ALL, FIRST(4) }, { ALL, FIRST(5) }, { ALL, FIRST(6) }, { ALL, FIRST(7) }, { ALL, ALL },
};

#define MAX_SHORT (1u << 20)	/* keys; 48 MiB at most */
#define NEAR_SHORT 16384u	/* slots, of 384 KiB */

static void put_short(struct flame_short_cache *c, const struct flame_short_slot *slot)
{
	uint32_t i = flame_short_hash(slot->key, slot->size - 1) & c->mask;

	while (c->slots[i].size)
		i = (i + 1) & c->mask;
	c->slots[i] = *slot;
	c->nr++;
}

static bool grow_short(struct flame_short_cache *c)
{
	struct flame_short_cache old = *c;
	size_t room = old.slots ? ((size_t)old.mask + 1) * 2 : 256;
	struct flame_short_slot *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return false;
	*c = (struct flame_short_cache){ slots, (uint32_t)room - 1, 0 };
	for (size_t i = 0; old.slots && i <= old.mask; i++) {
		if (old.slots[i].size)
			put_short(c, &old.slots[i]);
	}
	free(old.slots);
	return true;
}

/* A table of which the processor's cache holds all the same stays emptier: fewer keys stand where they are not looked for first. */
static bool is_full_short(const struct flame_short_cache *c)
{
	return !c->slots || c->nr >= c->mask / (c->mask < NEAR_SHORT ? 4 : 2);
}

void flame_short_put(struct flame_short_cache *c, struct flame_short_key key, size_t len, uint32_t value)
{
	if (!len || len > FLAME_SHORT_KEY)
		return;
	if (c->nr >= MAX_SHORT) {
		memset(c->slots, 0, ((size_t)c->mask + 1) * sizeof(*c->slots));
		c->nr = 0;
	}
	if (is_full_short(c) && !grow_short(c))
		return;
	put_short(c, &(struct flame_short_slot){ key, (uint32_t)len + 1, value });
}

void flame_short_release(struct flame_short_cache *c)
{
	free(c->slots);
	*c = (struct flame_short_cache){ 0 };
}

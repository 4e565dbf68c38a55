/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CACHE_H
#define FLAME_CACHE_H
/*
 * A bounded map from bytes to numbers: what was once worked out for these very bytes. It compares
 * the bytes themselves, so a hash collision costs time and never a wrong answer. When it is full it
 * starts anew. Zero-initialise with the limit; release with flame_cache_release().
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "table.h"

struct flame_cache_slot {
	uint32_t hash;
	uint32_t len;		/* 0: free */
	uint32_t at;		/* in bytes */
	uint32_t value;
};

struct flame_cache {
	size_t max_bytes;	/* of keys; at most 2 GiB */
	struct flame_cache_slot *slots;
	uint32_t mask, nr;
	char *bytes;
	size_t nr_bytes, room_bytes;
	uint32_t generation;	/* how often it has started anew */
};

static inline bool bytes_equal(const char *a, const char *b, size_t len)
{
	if (len > 16)
		return !memcmp(a, b, len);
	if (len >= 8)
		return !((hash_load64(a) ^ hash_load64(b)) |
			 (hash_load64(a + len - 8) ^ hash_load64(b + len - 8)));
	if (len >= 4)
		return !((hash_load32(a) ^ hash_load32(b)) |
			 (hash_load32(a + len - 4) ^ hash_load32(b + len - 4)));
	return !memcmp(a, b, len);
}

/* Return: true with the value; @hash is of the key, by any function that the caller likes. */
static inline bool flame_cache_get(const struct flame_cache *c, const char *key, size_t len, uint64_t hash,
				   uint32_t *value)
{
	uint32_t h = (uint32_t)hash;

	if (!c->slots)
		return false;
	for (uint32_t i = h & c->mask; c->slots[i].len; i = (i + 1) & c->mask) {
		const struct flame_cache_slot *slot = &c->slots[i];

		if (slot->hash == h && slot->len == len && bytes_equal(c->bytes + slot->at, key, len)) {
			*value = slot->value;
			return true;
		}
	}
	return false;
}

/* Remember @value. Nothing happens without memory, or for an empty or too long key. */
void flame_cache_put(struct flame_cache *c, const char *key, size_t len, uint64_t hash, uint32_t value);
void flame_cache_release(struct flame_cache *c);

#endif

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
	return len < 2 ? !len || *a == *b : a[0] == b[0] && a[1] == b[1] && a[len - 1] == b[len - 1];
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

/* Have memory fetch the slot of a key that will be looked for. */
static inline void flame_cache_prefetch(const struct flame_cache *c, uint64_t hash)
{
	if (c->slots)
		__builtin_prefetch(&c->slots[(uint32_t)hash & c->mask]);
}

/*
 * Return: true with the value of the first key in the slot, which is likely to be the one with this
 * hash; its bytes are being fetched.
 */
static inline bool flame_cache_guess(const struct flame_cache *c, uint64_t hash, uint32_t *value)
{
	const struct flame_cache_slot *slot = c->slots ? &c->slots[(uint32_t)hash & c->mask] : NULL;

	if (!slot || !slot->len)
		return false;
	for (uint32_t at = 0; at < slot->len && at < 256; at += 64)
		__builtin_prefetch(c->bytes + slot->at + at);
	*value = slot->value;
	return true;
}

/*
 * The same for keys of up to 16 bytes: two words and the length are all of such a key, so that a
 * hit touches one slot and nothing else.
 */
struct flame_short_key {
	uint64_t low, high;
};

struct flame_short_slot {
	struct flame_short_key key;
	uint32_t size;		/* of the key, and one; 0: free */
	uint32_t value;
};

struct flame_short_cache {
	struct flame_short_slot *slots;
	uint32_t mask, nr;
};

#define FLAME_SHORT_KEY 16

/* By the length of a key: which bits of two words are its. */
extern const struct flame_short_key flame_short_masks[FLAME_SHORT_KEY + 1];

/* The key of @len bytes at @s, where 16 bytes can be read. */
static inline struct flame_short_key flame_short_key(const char *s, size_t len)
{
	struct flame_short_key key = { hash_load64(s), hash_load64(s + 8) };

	key.low &= flame_short_masks[len].low;
	key.high &= flame_short_masks[len].high;
	return key;
}

static inline uint32_t flame_short_hash(struct flame_short_key key, size_t len)
{
	return (uint32_t)hash_mix(key.low ^ HASH_A, key.high ^ HASH_B ^ len);
}

static inline bool flame_short_get(const struct flame_short_cache *c, struct flame_short_key key, size_t len,
				   uint32_t hash, uint32_t *value)
{
	if (!c->slots)
		return false;
	for (uint32_t i = hash & c->mask;; i = (i + 1) & c->mask) {
		const struct flame_short_slot *slot = &c->slots[i];

		/* One branch, which is mostly foreseen, in place of three. */
		if (!((slot->key.low ^ key.low) | (slot->key.high ^ key.high) | (slot->size ^ (len + 1)))) {
			*value = slot->value;
			return true;
		}
		if (!slot->size)
			return false;
	}
}

void flame_short_put(struct flame_short_cache *c, struct flame_short_key key, size_t len, uint32_t value);
void flame_short_release(struct flame_short_cache *c);

/* Remember @value. Nothing happens without memory, or for an empty or too long key. */
void flame_cache_put(struct flame_cache *c, const char *key, size_t len, uint64_t hash, uint32_t value);
void flame_cache_release(struct flame_cache *c);

#endif

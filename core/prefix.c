/* SPDX-License-Identifier: MIT */
/*
 * prefix.c - a trie of blocks of bytes, in one table.
 */
#include "prefix.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

_Static_assert(sizeof(struct flame_prefix) == 64, "a prefix fills a cache line");

#define FIRST_ENTRIES 1024u
#define GROWTH 8	/* few steps: each puts all entries in again; the last of them is the whole table */
_Static_assert(FIRST_ENTRIES * GROWTH * GROWTH == 2 * FLAME_PREFIX_ENTRIES, "memory is bounded by it");

size_t flame_prefix_hash(const char *s, size_t len, uint32_t *hashes)
{
	size_t nr = len / FLAME_PREFIX_BLOCK;
	uint64_t hash = HASH_C;

	if (nr > FLAME_PREFIX_BLOCKS)
		nr = FLAME_PREFIX_BLOCKS;
	for (size_t i = 0; i < nr; i++) {
		const char *block = s + i * FLAME_PREFIX_BLOCK;
		uint64_t a = hash_mix(hash_load64(block) ^ HASH_A, hash_load64(block + 8) ^ HASH_B);
		uint64_t b = hash_mix(hash_load64(block + 16) ^ HASH_B, hash_load64(block + 24) ^ HASH_C);
		uint64_t c = hash_mix(hash_load64(block + 32) ^ HASH_C, hash_load64(block + 40) ^ HASH_A);

		hash = hash_mix(hash ^ a, b ^ (c << 1 | c >> 63));
		hashes[i] = (uint32_t)hash;
	}
	return nr;
}

void flame_prefix_prefetch(const struct flame_prefixes *prefixes, const uint32_t *hashes, size_t nr)
{
	if (!prefixes->entries)
		return;
	for (size_t i = 0; i < nr; i++)
		__builtin_prefetch(&prefixes->entries[hashes[i] & prefixes->mask]);
}

static const struct flame_prefix *find(const struct flame_prefixes *prefixes, uint32_t before, uint32_t hash,
				       const char *text)
{
	for (uint32_t i = hash & prefixes->mask; prefixes->entries[i].id; i = (i + 1) & prefixes->mask) {
		const struct flame_prefix *entry = &prefixes->entries[i];

		if (entry->hash == hash && entry->before == before && !memcmp(entry->text, text, FLAME_PREFIX_BLOCK))
			return entry;
	}
	return NULL;
}

size_t flame_prefix_find(const struct flame_prefixes *prefixes, const char *s, const uint32_t *hashes, size_t nr,
			 const struct flame_prefix **found)
{
	size_t i = 0;

	*found = NULL;
	for (; prefixes->entries && i < nr; i++) {
		const struct flame_prefix *entry = find(prefixes, *found ? (*found)->id : 0, hashes[i],
							s + i * FLAME_PREFIX_BLOCK);

		if (!entry)
			break;
		*found = entry;
	}
	return i;
}

static void place(struct flame_prefixes *prefixes, const struct flame_prefix *prefix)
{
	uint32_t i = prefix->hash & prefixes->mask;

	while (prefixes->entries[i].id)
		i = (i + 1) & prefixes->mask;
	prefixes->entries[i] = *prefix;
}

bool flame_prefix_make_room(struct flame_prefixes *prefixes)
{
	if (prefixes->nr < FLAME_PREFIX_ENTRIES - FLAME_PREFIX_BLOCKS)
		return false;
	memset(prefixes->entries, 0, ((size_t)prefixes->mask + 1) * sizeof(*prefixes->entries));
	prefixes->nr = 0;
	return true;
}

static bool grow(struct flame_prefixes *prefixes)
{
	struct flame_prefix *old = prefixes->entries;
	size_t nr_old = old ? (size_t)prefixes->mask + 1 : 0, nr = old ? nr_old * GROWTH : FIRST_ENTRIES;

	prefixes->entries = aligned_alloc(64, nr * sizeof(*prefixes->entries));
	if (!prefixes->entries) {
		prefixes->entries = old;
		return false;
	}
	memset(prefixes->entries, 0, nr * sizeof(*prefixes->entries));
	prefixes->mask = (uint32_t)nr - 1;
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].id)
			place(prefixes, &old[i]);
	}
	free(old);
	return true;
}

uint32_t flame_prefix_add(struct flame_prefixes *prefixes, const struct flame_prefix *prefix)
{
	struct flame_prefix entry = *prefix;

	if ((!prefixes->entries || prefixes->nr >= prefixes->mask / 2) && !grow(prefixes))
		return 0;
	entry.id = ++prefixes->nr;
	place(prefixes, &entry);
	return entry.id;
}

void flame_prefix_release(struct flame_prefixes *prefixes)
{
	free(prefixes->entries);
	*prefixes = (struct flame_prefixes){ 0 };
}

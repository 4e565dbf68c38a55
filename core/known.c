/* SPDX-License-Identifier: MIT */
/*
 * known.c - a trie of blocks of bytes from the end of paths, in one table.
 */
#include "known.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define FIRST_ENTRIES 2048u	/* slots; twice as many as entries */
#define GROWTH 8		/* few steps: each puts all entries in again; the last of them is the whole table */
_Static_assert(FIRST_ENTRIES * GROWTH * GROWTH == FLAME_KNOWN_ENTRIES, "tables grow to 2 * FLAME_KNOWN_ENTRIES");

/* Block @i from the end. */
static const char *block(const char *s, size_t len, size_t i)
{
	return s + len - (i + 1) * FLAME_KNOWN_BLOCK;
}

void flame_known_hash(const struct flame_known *k, const char *s, size_t len, struct flame_known_hashes *hashes)
{
	size_t nr = len / FLAME_KNOWN_BLOCK;
	uint64_t hash = HASH_C;

	hashes->nr = nr < FLAME_KNOWN_BLOCKS ? nr : FLAME_KNOWN_BLOCKS;
	for (size_t i = 0; i < hashes->nr; i++) {
		const char *at = block(s, len, i);

		hash = hash_mix(hash_load64(at) ^ HASH_A, hash_load64(at + 8) ^ HASH_B) ^ hash_mix(hash, HASH_A);
		hashes->blocks[i] = (uint32_t)hash;
		if (k->entries)
			__builtin_prefetch(&k->entries[hashes->blocks[i] & k->mask]);
	}
}

static const struct flame_known_entry *find(const struct flame_known *k, const char *text, uint32_t hash,
					    uint32_t behind)
{
	uint64_t a = hash_load64(text), b = hash_load64(text + 8);

	for (uint32_t i = hash & k->mask; k->entries[i].id; i = (i + 1) & k->mask) {
		const struct flame_known_entry *e = &k->entries[i];

		if (e->text[0] == a && e->text[1] == b && e->behind == behind)
			return e;
	}
	return NULL;
}

size_t flame_known_find(const struct flame_known *k, const char *s, size_t len, const struct flame_known_hashes *hashes,
			const struct flame_known_entry **found)
{
	size_t i = 0;

	*found = NULL;
	for (; k->entries && i < hashes->nr; i++) {
		const struct flame_known_entry *e = find(k, block(s, len, i), hashes->blocks[i], *found ? (*found)->id : 0);

		if (!e)
			break;
		*found = e;
	}
	return i;
}

bool flame_known_make_room(struct flame_known *k)
{
	if (k->nr < FLAME_KNOWN_ENTRIES)
		return false;
	memset(k->entries, 0, ((size_t)k->mask + 1) * sizeof(*k->entries));
	k->nr = 0;
	return true;
}

static void place(struct flame_known *k, const struct flame_known_entry *e)
{
	uint32_t i = e->hash & k->mask;

	while (k->entries[i].id)
		i = (i + 1) & k->mask;
	k->entries[i] = *e;
}

static bool grow(struct flame_known *k)
{
	struct flame_known_entry *old = k->entries;
	size_t nr_old = old ? (size_t)k->mask + 1 : 0, nr = old ? nr_old * GROWTH : FIRST_ENTRIES * 2;

	k->entries = calloc(nr, sizeof(*k->entries));
	if (!k->entries) {
		k->entries = old;
		return false;
	}
	k->mask = (uint32_t)nr - 1;
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].id)
			place(k, &old[i]);
	}
	free(old);
	return true;
}

uint32_t flame_known_add(struct flame_known *k, const char *s, size_t len, const struct flame_known_hashes *hashes,
			 size_t nr, uint32_t behind, uint32_t nr_frames)
{
	const char *text = block(s, len, nr);
	struct flame_known_entry e = { .hash = hashes->blocks[nr], .behind = behind, .nr_frames = nr_frames };

	if ((!k->entries || k->nr > k->mask / 2) && !grow(k))
		return 0;
	memcpy(e.text, text, FLAME_KNOWN_BLOCK);
	e.id = ++k->nr;
	place(k, &e);
	return e.id;
}

void flame_known_release(struct flame_known *k)
{
	free(k->entries);
	*k = (struct flame_known){ 0 };
}

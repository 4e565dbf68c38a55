/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PREFIX_H
#define FLAME_PREFIX_H
/*
 * Beginnings of paths that were seen before, in blocks of FLAME_PREFIX_BLOCK bytes: most folded
 * lines share most of their bytes with some earlier line, wherever that stood. An entry is a block and the
 * entry of the blocks before it, and fills one cache line. Bytes are compared, so a hash collision
 * costs time and never a wrong answer. Memory is bounded: when it is full it starts anew.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_PREFIX_BLOCK 48
#define FLAME_PREFIX_BLOCKS 32		/* of a path that are looked at */
#define FLAME_PREFIX_ENTRIES (1u << 15)	/* 4 MiB with the free ones: more would not stay in the cache */

struct flame_prefix {
	uint32_t id;		/* from 1; 0: free */
	uint32_t before;	/* id of the blocks before this one; 0: it is the first */
	uint32_t hash;
	uint16_t nr_frames;	/* that end within the blocks so far */
	uint16_t tail;		/* bytes behind the last separator in them */
	char text[FLAME_PREFIX_BLOCK];
};

struct flame_prefixes {
	struct flame_prefix *entries;
	uint32_t mask, nr;
};

/* Hash the full blocks of @len bytes at @s. Return: how many there are, at most FLAME_PREFIX_BLOCKS. */
size_t flame_prefix_hash(const char *s, size_t len, uint32_t *hashes);
/* Fetch what flame_prefix_find() will look at into the cache. */
void flame_prefix_prefetch(const struct flame_prefixes *prefixes, const uint32_t *hashes, size_t nr);
/* Return: how many of the @nr blocks at @s are known; *@found is the last of them. */
size_t flame_prefix_find(const struct flame_prefixes *prefixes, const char *s, const uint32_t *hashes, size_t nr,
			 const struct flame_prefix **found);
/*
 * To be called before blocks of a path are added. Return: true where all was forgotten for it; ids then start at 1 again.
 */
bool flame_prefix_make_room(struct flame_prefixes *prefixes);
/*
 * Add @prefix, whose id is given here; its text, before, hash, nr_frames and tail are the caller's. It must not be there yet.
 * Return: its id; 0 without memory.
 */
uint32_t flame_prefix_add(struct flame_prefixes *prefixes, const struct flame_prefix *prefix);
void flame_prefix_release(struct flame_prefixes *prefixes);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_KNOWN_H
#define FLAME_KNOWN_H
/*
 * known.h - paths that are written as bytes with the root last, such as packed numbers of locations: how much of their
 * end was seen before. Most paths of a profile begin at the root as some earlier one does, and what they have in common
 * need be neither decoded nor pushed again. Ends are known in blocks of FLAME_KNOWN_BLOCK bytes. Bytes are compared, so
 * a hash collision costs time and never a wrong answer. Memory is bounded: when it is full it starts anew.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_KNOWN_BLOCK 16
#define FLAME_KNOWN_BLOCKS 16		/* of a path that are looked at */
#define FLAME_KNOWN_ENTRIES (1u << 17)	/* 8 MiB with the free ones */

/* A block, and the entry of the blocks behind it. */
struct flame_known_entry {
	uint64_t text[2];
	uint32_t hash;
	uint32_t behind;	/* 0: it is the last one */
	uint32_t id;		/* from 1; 0: free */
	uint32_t nr_frames;	/* the caller's: of the blocks so far */
};

/* Zero initialised it knows nothing. */
struct flame_known {
	struct flame_known_entry *entries;
	uint32_t mask, nr;
};

/* Hashes of a path's blocks, the last block's first. */
struct flame_known_hashes {
	uint32_t blocks[FLAME_KNOWN_BLOCKS];
	size_t nr;
};

/* Hash the @len bytes at @s, and have memory fetch what flame_known_find() will look at. */
void flame_known_hash(const struct flame_known *k, const char *s, size_t len, struct flame_known_hashes *hashes);
/* Return: how many blocks at the end of the @len bytes at @s are known; *@found is the foremost of them, NULL for none. */
size_t flame_known_find(const struct flame_known *k, const char *s, size_t len, const struct flame_known_hashes *hashes,
			const struct flame_known_entry **found);
/* To be called before a path is looked for. Return: true where all was forgotten; ids then start at 1 again. */
bool flame_known_make_room(struct flame_known *k);
/*
 * Add the block in front of @nr that are known, the foremost of which is @behind; there must be one.
 * Return: its id; 0 without memory.
 */
uint32_t flame_known_add(struct flame_known *k, const char *s, size_t len, const struct flame_known_hashes *hashes,
			 size_t nr, uint32_t behind, uint32_t nr_frames);
void flame_known_release(struct flame_known *k);

#endif

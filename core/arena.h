/* SPDX-License-Identifier: MIT */
#ifndef FLAME_ARENA_H
#define FLAME_ARENA_H
/* Memory that is given piece by piece and freed at once. Pieces do not move. Zero-initialise it. */
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK 65536

struct arena_block {
	struct arena_block *next;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena {
	struct arena_block *blocks;
	unsigned char *at;
	size_t left;
};

/* Return: @size bytes, aligned for anything; NULL without memory. */
static inline void *arena_get(struct arena *a, size_t size)
{
	size_t need = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	struct arena_block *block;
	void *piece;

	if (need < size || need > SIZE_MAX / 2)
		return NULL;
	if (need > a->left) {
		/* Large pieces have a block to themselves, and the one in use stays in use. */
		size_t room = need > ARENA_BLOCK / 4 ? need : ARENA_BLOCK;

		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->next = a->blocks;
		a->blocks = block;
		if (room == need)
			return block->bytes;
		a->at = block->bytes;
		a->left = room;
	}
	piece = a->at;
	a->at += need;
	a->left -= need;
	return piece;
}

/* Return: a copy of the bytes, ended by NUL; NULL without memory. */
static inline char *arena_copy(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_get(a, len + 1);

	if (copy) {
		memcpy(copy, s, len);
		copy[len] = '\0';
	}
	return copy;
}

static inline void arena_release(struct arena *a)
{
	while (a->blocks) {
		struct arena_block *next = a->blocks->next;

		free(a->blocks);
		a->blocks = next;
	}
	*a = (struct arena){ 0 };
}

#endif

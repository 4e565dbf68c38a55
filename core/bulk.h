/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BULK_H
#define FLAME_BULK_H
/*
 * bulk.h - very many samples into a profile, of which hardly a stack comes again. Added as they come, each would wait for
 * memory wherever the tree branches. So they are put into groups first, by how their paths begin: what lies on one stack
 * is made from the first path to the last, stays near meanwhile, and needs nothing of the rest, so that two threads make
 * different ones.
 */
#include "flame.h"

/* A path on its way; each thread has one, and lets it be. */
struct flame_bulk_path {
	flame_frame *frames;	/* the root's first; owned */
	size_t nr, room;
	size_t same;		/* the first that are those of the path before, as if they were put again; 0: that is not known */
	/* The decoder's, to tell that by. */
	const char *last;
	size_t nr_last;
	uint32_t *marks;	/* owned */
	size_t room_marks;
};

struct flame_bulk {
	/*
	 * Put the frames of the path that begins at byte *@start into @path: at least the first @most, where it has so many.
	 * @values, if it is not NULL, gets the values of its samples; then what is to be left out may be, and *@start be
	 * set to where it begins from now on. Called by two threads at once.
	 * Return: 0; FLAME_ENOMEM; FLAME_EFORMAT where it cannot be had, or is left out.
	 */
	int (*decode)(const void *arg, uint32_t *start, size_t most, int64_t *values, struct flame_bulk_path *path);
	/* Make samples of values, each of another type, but for their stack. Return: how many, from 1 to nr_values. */
	size_t (*make_samples)(const void *arg, const int64_t *values, struct flame_sample *samples);
	/* Nothing more will be decoded or be left out: its memory is that which samples are put into. */
	void (*done)(void *arg);
	/* Path @i has been left out, and it is its turn. Return: 0 or a failure. */
	int (*left_out)(void *arg, size_t i);
	void *arg;
	const char *bytes;	/* where all paths are, one behind the other */
	size_t nr_bytes;
	const uint32_t *starts;	/* of each path in bytes */
	size_t nr;
	size_t nr_values;	/* of each */
	bool threaded;
};

/*
 * Add all samples to a profile that has none. They are in the order in which they come, and so are the children of a
 * stack, as if each path had been pushed by itself; other stacks are not. The profile has the same rows with one thread
 * and with two.
 * Return: 0, FLAME_ENOMEM, FLAME_EOVERFLOW; FLAME_BULK_NOT with nothing done, where paths begin in too many ways.
 */
#define FLAME_BULK_NOT 1
int flame_bulk_add(struct flame_profile *p, const struct flame_bulk *bulk);
/* Return: true where that was done: rows of stacks are not in the order in which samples came to them then. */
bool flame_bulk_is_in_groups(const struct flame_profile *p);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FOLDED_WALK_H
#define FLAME_FOLDED_WALK_H
/* The order of the lines of folded text: a walk down the call tree, children by name. */
#include "flame.h"
#include "sort.h"

/*
 * A step: how a line becomes the next one. The line is cut back to where the branch it goes on from ends, and grows by the
 * names of a chain of stacks.
 */
struct flame_step {
	flame_stack first;	/* of the chain, each the caller of the next row */
	uint32_t nr;		/* stacks in it; 0: that of the root alone */
	uint32_t level;		/* branches below it: the line is cut back to the last of these */
	bool opens;		/* that one is the stack where the line ends, and is met the first time */
	bool goes_on;		/* nothing is cut off */
	bool has_value;		/* the last of the chain: it has a line */
	bool before_is_unsigned, value_is_unsigned;	/* the sum needs the 64th bit */
	int64_t before, value;
};

struct flame_walk_block;
struct flame_walk_sum;

/* A stack on the way down that has brothers behind it. */
struct flame_branch {
	flame_stack stack;	/* their caller */
	size_t child;		/* the one at hand, in children */
	uint32_t nr_frames;	/* up to the caller */
};

/* The stack whose sum is too big for a signed number. With a second one the total would not fit an unsigned one. */
struct flame_walk_big {
	bool is;
	flame_stack stack;
};

struct flame_walk {
	const struct flame_profile *p;
	flame_type type, before;
	struct flame_walk_block *blocks;
	size_t nr_blocks;
	/*
	 * Children of stacks that have more than one, by caller and name. All other stacks have none
	 * or the one in the next row, so that most of the walk needs no look-up.
	 */
	struct flame_pair *children;	/* key: caller, row: stack */
	size_t nr_children;
	uint32_t *first_child;		/* in children, of the stacks that branch, by their order */
	struct flame_walk_sum *sums;	/* of the stacks that have one, by their order */
	struct flame_walk_big big_before, big_value;
	struct flame_branch *branches;	/* from the root on */
	size_t nr_branches, room_branches;
	flame_stack at;			/* where the last step has led */
	uint32_t nr_frames;		/* up to there */
	bool started;
};

/*
 * Prepare the zeroed @w; @before may be 0. Return: 0, FLAME_ENOMEM, FLAME_EOVERFLOW where a sum does not fit. Release it in
 * either case.
 */
int flame_walk_init(struct flame_walk *w, const struct flame_profile *p, flame_type type, flame_type before);
/* Return: 1 with the next step, 0 behind the last one, FLAME_ENOMEM. */
int flame_walk_next(struct flame_walk *w, struct flame_step *step);
void flame_walk_release(struct flame_walk *w);

#endif

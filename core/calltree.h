/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CALLTREE_H
#define FLAME_CALLTREE_H
/*
 * calltree.h - call trees that are printed one node a line, told apart by their indentation:
 *
 *     10 main
 *       6 draw
 *       3 read
 *
 * What a node used by itself is its total less its children's (1 for main). Several formats print
 * such trees, so the arithmetic is here, once. Nothing recurses; memory follows the depth.
 */
#include "flame.h"

#define FLAME_CALLTREE_DEPTH 65536	/* open nodes */

struct flame_calltree_value {
	int64_t total;		/* of the node and all below it */
	int64_t self;		/* as printed; -1: not printed */
	int64_t slack;		/* by how much rounding may have changed total and self */
};

struct flame_calltree_node {
	uint64_t depth;
	flame_frame frame;
	flame_stack stack;
	bool has_value, has_children;
	struct flame_calltree_value value;
	int64_t children, children_slack;
};

/* Zero initialised but for what is marked as the user's. */
struct flame_calltree {
	struct flame_profile *profile;	/* user's, borrowed */
	flame_type type;		/* user's: of the samples that are added */
	flame_type rest_type;		/* user's: for what nodes have more than their children; 0: @type too */
	flame_task task;		/* user's */
	bool inverted;			/* user's: outer nodes are called by inner ones */
	bool counts;			/* user's: a value is a number of samples */
	struct flame_calltree_node *nodes;
	size_t nr, room;
	uint64_t nr_short;		/* nodes whose children had more than they */
};

/*
 * The next node in the order of the lines: a child of the nearest node before it that has a smaller @depth.
 * @value may be NULL: then nothing is added for it, and flame_calltree_stack() serves the caller. Return: 0,
 * FLAME_EOVERFLOW also for trees deeper than FLAME_CALLTREE_DEPTH, FLAME_ENOMEM.
 */
int flame_calltree_enter(struct flame_calltree *tree, uint64_t depth, flame_frame frame,
			 const struct flame_calltree_value *value);
/* All nodes are complete. Return: as flame_calltree_enter(). */
int flame_calltree_end(struct flame_calltree *tree);
/* Return: the stack of the node that was entered last; 0 where there is none. */
flame_stack flame_calltree_stack(const struct flame_calltree *tree);
void flame_calltree_release(struct flame_calltree *tree);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TRAIL_H
#define FLAME_TRAIL_H
/*
 * trail.h - stacks of frames that come one after the other, as most files have them: what a stack shares with the one
 * before is not looked up again.
 *
 *     flame_trail_clear(&trail);
 *     while (…)
 *             flame_trail_push(&trail, frame);
 *     flame_trail_find(&trail, profile, &stack);
 */
#include "flame.h"

/* Zero initialised; one for one profile. */
struct flame_trail {
	flame_frame *frames;	/* of the stack at hand, the root's first */
	size_t nr, room;
	flame_frame *last;	/* of the stack before */
	size_t nr_last, room_last;
	flame_stack *stacks;	/* up to each of them */
	size_t room_stacks;
};

static inline void flame_trail_clear(struct flame_trail *t)
{
	t->nr = 0;
}

/* Return: false without memory. */
bool flame_trail_push(struct flame_trail *t, flame_frame frame);
/* The stack of the frames that were pushed. Return: false without memory; the profile's failures are its own. */
bool flame_trail_find(struct flame_trail *t, struct flame_profile *p, flame_stack *stack);
void flame_trail_release(struct flame_trail *t);

#endif

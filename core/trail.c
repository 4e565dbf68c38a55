/* SPDX-License-Identifier: MIT */
/*
 * trail.c - stacks that come one after the other.
 */
#include "trail.h"

#include <stdlib.h>

#include "table.h"

bool flame_trail_push(struct flame_trail *t, flame_frame frame)
{
	if (!array_reserve((void **)&t->frames, &t->room, t->nr + 1, sizeof(*t->frames)))
		return false;
	t->frames[t->nr++] = frame;
	return true;
}

bool flame_trail_find(struct flame_trail *t, struct flame_profile *p, flame_stack *stack)
{
	flame_frame *frames = t->frames;
	size_t same = 0, nr = t->nr, room = t->room;

	*stack = 0;
	if (!array_reserve((void **)&t->stacks, &t->room_stacks, nr + 1, sizeof(*t->stacks)))
		return false;
	while (same < nr && same < t->nr_last && frames[same] == t->last[same])
		same++;
	if (same < nr)
		flame_stack_push_all(p, same ? t->stacks[same - 1] : 0, frames + same, nr - same, t->stacks + same);
	if (nr)
		*stack = t->stacks[nr - 1];
	t->frames = t->last;
	t->room = t->room_last;
	t->last = frames;
	t->room_last = room;
	t->nr_last = nr;
	t->nr = 0;
	return true;
}

void flame_trail_release(struct flame_trail *t)
{
	free(t->frames);
	free(t->last);
	free(t->stacks);
	*t = (struct flame_trail){ 0 };
}

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CALLSTACK_H
#define FLAME_CALLSTACK_H
/*
 * callstack.h - a stack that a text prints leaf first, line by line, as debuggers do: frames are collected, and
 * become a sample when the text says that the stack is complete.
 */
#include "converter.h"
#include "namer.h"

#define FLAME_CALLSTACK_FRAMES 65536	/* of one stack; those nearest to the root are left out beyond */

/* Zero initialised it is empty. */
struct flame_callstack {
	flame_frame *frames;	/* owned; the leaf first */
	size_t nr, room;
	uint64_t nr_dropped;	/* frames beyond FLAME_CALLSTACK_FRAMES, of all stacks */
};

/* Return: 0 or FLAME_ENOMEM. */
int flame_callstack_add(struct flame_callstack *s, flame_frame frame);
/*
 * Add @sample with the collected frames on top of sample->stack, and start anew. Nothing is added for no frames
 * and an empty stack. Return: as flame_sample_add().
 */
int flame_callstack_end(struct flame_callstack *s, struct flame_profile *p, const struct flame_sample *sample);
void flame_callstack_release(struct flame_callstack *s);

/* The state, or the start of it, of a converter that reads texts in which each stack is a sample. */
struct flame_stack_text {
	struct flame_callstack stack;
	struct flame_namer namer;
	struct flame_sample sample;	/* of weight 1 */
	flame_stack root;		/* what the stacks of the thread at hand begin with */
};

/* Give all lines to @read_line, until it fails. Return: as it does. */
int flame_stack_text_read(struct flame_reader *rd, int (*read_line)(struct flame_reader *rd, struct flame_span line));
/* Where frames were collected, they and the root are a sample. Return: as flame_sample_add(). */
int flame_stack_text_end(struct flame_reader *rd);
void flame_stack_text_release(struct flame_reader *rd);

#endif

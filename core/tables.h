/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TABLES_H
#define FLAME_TABLES_H
/*
 * What a profile is made of, for the files that keep its tables: frame.c (strings and frames),
 * stack.c, bulk.c (stacks in large numbers), task.c and sample.c (value types and samples); folded.c, which writes the
 * names of all stacks, reads their frames. Nobody else looks inside.
 */
#include <stdatomic.h>

#include "flame.h"
#include "table.h"

struct string {
	uint64_t offset;	/* into bytes */
	uint32_t len;
	uint32_t hash;
};

/* A stack whose row does not follow its caller's. */
struct head {
	flame_stack stack;
	flame_stack caller;
};

#define STACK_HEAD (1u << 31)	/* in a stack's frame, so that a walk down the tree need not look at is_head */

struct head_slot {
	flame_stack caller;
	flame_frame frame;
	flame_stack stack;	/* 0: free */
};

struct flame_profile {
	struct flame_profile_options options;
	atomic_int error;	/* a feeder's two threads share the profile */

	char *bytes;
	size_t nr_bytes, room_bytes;
	struct string *strings;
	size_t nr_strings, room_strings;
	struct index string_index;

	struct flame_frame_info *frames;
	size_t nr_frames, room_frames;
	struct index frame_index;

	/*
	 * Most stacks are the first child of the row before them: long unshared tails. Those need no
	 * caller and no entry in the index, just 4 bytes for the frame and a 0 in is_head. The others
	 * are heads, found by their number: the heads before the word (heads_before) and in it.
	 */
	flame_frame *stacks;		/* the frame of each, and STACK_HEAD */
	size_t nr_stacks, room_stacks;
	uint64_t *is_head;		/* a bit a stack */
	uint32_t *heads_before;		/* a number a word of is_head */
	size_t room_is_head, room_heads_before;
	bool in_groups;			/* rows are those that bulk.c makes */
	struct head *heads;
	size_t nr_heads, room_heads;
	/* Heads by caller and frame. The slot holds all that is asked for: one cache miss a look-up. */
	struct head_slot *head_slots;
	uint32_t head_mask;
	size_t nr_slots;		/* heads that have one: the others came without, and get it when one is looked for */

	struct flame_task_info *tasks;
	size_t nr_tasks, room_tasks;
	struct index task_index;

	struct flame_type_info *types;
	size_t nr_types, room_types;
	double *sizes;		/* of types with fractions: the sum of what was added, without signs; below 0: not known */
	size_t nr_sizes, room_sizes;

	struct flame_sample *samples;
	size_t nr_samples, room_samples;
	/*
	 * Holds row + 1 of the first of each run of samples of one stack and task: several types of one come one after
	 * the other. Made only when a stack is sampled again: many inputs have none twice.
	 */
	struct index sample_index;
	size_t nr_indexed;		/* samples that it knows of */
	uint64_t *is_sampled;	/* a bit a stack: some sample has it */
	size_t room_is_sampled;
	uint64_t lost;
	struct flame_meta meta;
};

/* Note the first failure. Return: 0, for functions that return rows. */
static inline uint32_t profile_fail(struct flame_profile *p, int err)
{
	if (!p->error)
		p->error = err;
	return 0;
}

/* Room for one more item; rows are 32 bits. */
#define GROW(p, what)                                                                              \
	((p)->nr_##what >= UINT32_MAX - 1                                                          \
		 ? (profile_fail(p, FLAME_EOVERFLOW), false)                                               \
		 : array_reserve((void **)&(p)->what, &(p)->room_##what, (p)->nr_##what + 1,       \
				 sizeof(*(p)->what)) || (profile_fail(p, FLAME_ENOMEM), false))

/*
 * Samples of @stack and of no task will be added: have memory fetch their slot in the index; or, where that was done some
 * time ago, the samples that they will be added to.
 */
void profile_expect_samples(const struct flame_profile *p, flame_stack stack, bool slot_is_near);

/* Add @s to @sum, which has the same stack, task and type. Return: 0 or the failure. */
int profile_sample_sum(struct flame_profile *p, struct flame_sample *sum, const struct flame_sample *s);

/* Make @s the sample in @row, for which there is room; whether its stack has samples is not noted. */
void profile_sample_put(struct flame_profile *p, size_t row, const struct flame_sample *s);

/* Room for @nr more stacks. Return: false after a failure. */
bool profile_reserve_stacks(struct flame_profile *p, size_t nr);

#endif

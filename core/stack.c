/* SPDX-License-Identifier: MIT */
/*
 * stack.c - a profile's stacks: the call tree, in 4 bytes a stack where it does not branch.
 */
#include <string.h>

#include "hash.h"
#include "tables.h"

bool profile_reserve_stacks(struct flame_profile *p, size_t nr)
{
	size_t words = (p->nr_stacks + nr) / 64 + 1;

	if (nr >= UINT32_MAX - 1 - p->nr_stacks)
		return profile_fail(p, FLAME_EOVERFLOW);
	if (array_reserve((void **)&p->stacks, &p->room_stacks, p->nr_stacks + nr, sizeof(*p->stacks)) &&
	    array_reserve((void **)&p->is_head, &p->room_is_head, words, sizeof(*p->is_head)) &&
	    array_reserve((void **)&p->is_sampled, &p->room_is_sampled, words, sizeof(*p->is_sampled)) &&
	    array_reserve((void **)&p->heads_before, &p->room_heads_before, words, sizeof(*p->heads_before)))
		return true;
	return profile_fail(p, FLAME_ENOMEM);
}

void flame_stacks_expect(struct flame_profile *p, size_t nr)
{
	if (!p->error && nr < UINT32_MAX - 1 - p->nr_stacks)
		profile_reserve_stacks(p, nr);
}

static const struct head *find_head(const struct flame_profile *p, size_t row)
{
	uint64_t below = p->is_head[row / 64] & ((1ull << (row % 64)) - 1);

	return &p->heads[p->heads_before[row / 64] + (uint32_t)__builtin_popcountll(below)];
}

static void put_head_slot(struct flame_profile *p, const struct head_slot *slot)
{
	uint32_t i = hash_pair(slot->caller, slot->frame) & p->head_mask;

	while (p->head_slots[i].stack)
		i = (i + 1) & p->head_mask;
	p->head_slots[i] = *slot;
}

static bool head_slots_grow(struct flame_profile *p)
{
	struct head_slot *old = p->head_slots;
	size_t nr_old = old ? (size_t)p->head_mask + 1 : 0, nr = old ? nr_old * 2 : 256;

	p->head_slots = calloc(nr, sizeof(*p->head_slots));
	if (!p->head_slots) {
		p->head_slots = old;
		return false;
	}
	p->head_mask = (uint32_t)nr - 1;
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].stack)
			put_head_slot(p, &old[i]);
	}
	free(old);
	return true;
}

/* Find heads by their slots again, where rows have been added without: many are never looked for. */
static bool put_head_slots(struct flame_profile *p)
{
	while (!p->head_slots || p->nr_heads >= p->head_mask / 8 * 5) {
		if (!head_slots_grow(p)) {
			profile_fail(p, FLAME_ENOMEM);
			return false;
		}
	}
	for (; p->nr_slots < p->nr_heads; p->nr_slots++) {
		const struct head *head = &p->heads[p->nr_slots];

		put_head_slot(p, &(struct head_slot){ head->caller, p->stacks[head->stack] & ~STACK_HEAD, head->stack });
	}
	return true;
}

/* Append a row; there is room for it. */
static flame_stack append_stack(struct flame_profile *p, flame_frame frame)
{
	size_t row = p->nr_stacks++;

	if (row % 64 == 0) {
		p->is_head[row / 64] = p->is_sampled[row / 64] = 0;
		p->heads_before[row / 64] = (uint32_t)p->nr_heads;
	}
	p->stacks[row] = frame;
	return (flame_stack)row;
}

/* The same for @nr frames, each called by the one before it. Return: the last row. */
static flame_stack append_chain(struct flame_profile *p, const flame_frame *frames, size_t nr, flame_stack *stacks)
{
	size_t first = p->nr_stacks;

	memcpy(p->stacks + first, frames, nr * sizeof(*frames));
	for (size_t i = 0; i < nr; i++)
		stacks[i] = (flame_stack)(first + i);
	for (size_t word = (first + 63) / 64; word * 64 < first + nr; word++) {
		p->is_head[word] = p->is_sampled[word] = 0;
		p->heads_before[word] = (uint32_t)p->nr_heads;
	}
	p->nr_stacks += nr;
	return (flame_stack)(first + nr - 1);
}

static flame_stack add_head(struct flame_profile *p, flame_stack caller, flame_frame frame)
{
	flame_stack row;

	if (!profile_reserve_stacks(p, 1) || !GROW(p, heads))
		return 0;
	if ((!p->head_slots || p->nr_heads >= p->head_mask / 8 * 5) && !head_slots_grow(p))
		return profile_fail(p, FLAME_ENOMEM);
	row = append_stack(p, frame);
	p->stacks[row] |= STACK_HEAD;
	p->is_head[row / 64] |= 1ull << (row % 64);
	p->heads[p->nr_heads++] = (struct head){ row, caller };
	put_head_slot(p, &(struct head_slot){ caller, frame, row });
	p->nr_slots++;
	return row;
}

flame_stack flame_stack_push(struct flame_profile *p, flame_stack caller, flame_frame frame)
{
	size_t next = (size_t)caller + 1;

	if (next < p->nr_stacks && p->stacks[next] == frame)
		return (flame_stack)next;
	if (p->error || caller >= p->nr_stacks)
		return 0;
	/* The newest stack has called nothing yet. */
	if (next == p->nr_stacks)
		return profile_reserve_stacks(p, 1) ? append_stack(p, frame) : 0;
	if (p->nr_slots < p->nr_heads && !put_head_slots(p))
		return 0;
	for (uint32_t i = hash_pair(caller, frame) & p->head_mask; p->head_slots; i = (i + 1) & p->head_mask) {
		const struct head_slot *slot = &p->head_slots[i];

		if (!slot->stack)
			break;
		if (slot->caller == caller && slot->frame == frame)
			return slot->stack;
	}
	return add_head(p, caller, frame);
}

flame_stack flame_stack_push_all(struct flame_profile *p, flame_stack caller, const flame_frame *frames, size_t nr,
				 flame_stack *stacks)
{
	size_t i = 0;

	for (; i < nr && (size_t)caller + 1 != p->nr_stacks; i++)
		stacks[i] = caller = flame_stack_push(p, caller, frames[i]);
	if (i == nr)
		return p->error ? 0 : caller;
	if (p->error || !profile_reserve_stacks(p, nr - i)) {
		memset(stacks + i, 0, (nr - i) * sizeof(*stacks));
		return 0;
	}
	return append_chain(p, frames + i, nr - i, stacks + i);
}

static flame_stack path_top(const struct flame_path *path)
{
	return path->done ? path->stacks[path->done - 1] : path->root;
}

/* Follow the chain of first children as far as it goes; it lies in memory in a row. */
static void follow_chain(const struct flame_profile *p, struct flame_path *path)
{
	size_t next = (size_t)path_top(path) + 1, done = path->done, most = p->nr_stacks - next;

	if (most > path->nr - done)
		most = path->nr - done;
	for (; most && p->stacks[next] == path->frames[done]; most--)
		path->stacks[done++] = (flame_stack)next++;
	path->done = done;
}

/* One step of one path, up to the next place where memory must be waited for. */
static void step_path(struct flame_profile *p, struct flame_path *path)
{
	flame_stack top;

	if (path->probing) {
		flame_frame frame = path->frames[path->done];

		top = flame_stack_push(p, path_top(path), frame);
		path->stacks[path->done++] = top;
		path->probing = false;
		if ((size_t)top + 1 < p->nr_stacks) {
			__builtin_prefetch(&p->stacks[top + 1]);
			return;
		}
	}
	follow_chain(p, path);
	top = path_top(path);
	if (path->done == path->nr)
		return;
	if ((size_t)top + 1 == p->nr_stacks) {
		flame_stack_push_all(p, top, path->frames + path->done, path->nr - path->done,
				     path->stacks + path->done);
		path->done = path->nr;
		return;
	}
	if (p->head_slots)
		__builtin_prefetch(&p->head_slots[hash_pair(top, path->frames[path->done]) & p->head_mask]);
	path->probing = true;
}

void flame_stack_push_paths(struct flame_profile *p, struct flame_path *paths, size_t nr)
{
	struct flame_path *open[FLAME_PATHS];
	size_t nr_open = 0;

	for (size_t i = 0; i < nr; i++) {
		if (paths[i].done == paths[i].nr)
			continue;
		__builtin_prefetch(&p->stacks[path_top(&paths[i]) + 1]);
		open[nr_open++] = &paths[i];
	}
	while (nr_open) {
		for (size_t i = 0; i < nr_open;) {
			step_path(p, open[i]);
			if (open[i]->done < open[i]->nr)
				i++;
			else
				open[i] = open[--nr_open];
		}
	}
}

flame_stack flame_stack_caller(const struct flame_profile *p, flame_stack row)
{
	if (!row || row >= p->nr_stacks)
		return 0;
	return p->stacks[row] & STACK_HEAD ? find_head(p, row)->caller : row - 1;
}

flame_frame flame_stack_frame(const struct flame_profile *p, flame_stack row)
{
	return p->stacks[row < p->nr_stacks ? row : 0] & ~STACK_HEAD;
}

uint32_t flame_nr_stack_heads(const struct flame_profile *p)
{
	return (uint32_t)p->nr_heads;
}

flame_stack flame_stack_head(const struct flame_profile *p, uint32_t nr, flame_stack *caller)
{
	*caller = p->heads[nr].caller;
	return p->heads[nr].stack;
}

uint32_t flame_nr_stacks(const struct flame_profile *p)
{
	return (uint32_t)p->nr_stacks;
}

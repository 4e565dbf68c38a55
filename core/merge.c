/* SPDX-License-Identifier: MIT */
/*
 * merge.c - adding one profile to another: rows of one become rows of the other, in order.
 */
#include "flame.h"

#include <stdlib.h>

#include "merge.h"
#include "meta.h"
#include "table.h"

uint32_t *flame_frames_copy(struct flame_profile *p, const struct flame_profile *from)
{
	uint32_t nr = flame_nr_frames(from);
	uint32_t *map = calloc(nr, sizeof(*map));

	for (uint32_t i = 1; map && i < nr; i++) {
		struct flame_frame_info info = *flame_frame_get(from, i);

		info.name = flame_string_copy(p, from, info.name);
		info.module = flame_string_copy(p, from, info.module);
		info.file = flame_string_copy(p, from, info.file);
		map[i] = flame_frame_row(p, &info);
	}
	return map;
}

flame_string flame_string_copy(struct flame_profile *p, const struct flame_profile *from, flame_string row)
{
	struct flame_span s = flame_string_get(from, row);

	return flame_intern(p, s.s, s.len);
}

/* Chains of stacks on their way from one profile to the other, several at once. */
struct chains {
	struct flame_path paths[FLAME_PATHS];
	size_t nr;
	size_t starts[FLAME_PATHS];	/* in frames */
	flame_frame *frames;
	size_t nr_frames, room_frames;
	flame_stack first;		/* of the first chain */
};

static void push_chains(struct flame_profile *p, struct chains *c)
{
	for (size_t i = 0; i < c->nr; i++)
		c->paths[i].frames = c->frames + c->starts[i];
	flame_stack_push_paths(p, c->paths, c->nr);
	c->nr = c->nr_frames = 0;
}

/* Stacks @from .. @to - 1, each the caller of the next. Return: false without memory. */
static bool add_chain(struct chains *c, const struct flame_profile *from, const uint32_t *frames, flame_stack start,
		      flame_stack end)
{
	size_t nr = end - start;

	if (!array_reserve((void **)&c->frames, &c->room_frames, c->nr_frames + nr, sizeof(*c->frames)))
		return false;
	c->starts[c->nr] = c->nr_frames;
	for (flame_stack i = start; i < end; i++)
		c->frames[c->nr_frames++] = frames[flame_stack_frame(from, i)];
	return true;
}

flame_stack *flame_stacks_copy(struct flame_profile *p, const struct flame_profile *from, const flame_frame *frames)
{
	uint32_t nr = flame_nr_stacks(from), nr_heads = flame_nr_stack_heads(from);
	flame_stack *map = malloc(nr * sizeof(*map)), start = 1, caller = 0;
	struct chains c = { 0 };
	bool ok = map;

	if (ok)
		map[0] = 0;
	for (uint32_t i = 0; ok && start < nr; i++) {
		flame_stack next_caller = 0, end = i < nr_heads ? flame_stack_head(from, i, &next_caller) : nr;

		/* A chain waits for the one that it hangs on. */
		if (c.nr == FLAME_PATHS || (c.nr && caller >= c.first))
			push_chains(p, &c);
		if (end > start) {
			ok = add_chain(&c, from, frames, start, end);
			if (!c.nr)
				c.first = start;
			c.paths[c.nr++] = (struct flame_path){ NULL, map + start, end - start, 0, map[caller], false };
		}
		start = end;
		caller = next_caller;
	}
	if (ok)
		push_chains(p, &c);
	free(c.frames);
	if (ok)
		return map;
	free(map);
	return NULL;
}

static flame_task copy_task(struct flame_profile *p, const struct flame_profile *from, flame_task row)
{
	struct flame_task_info info = *flame_task_get(from, row);

	if (!row)
		return 0;
	info.comm = flame_string_copy(p, from, info.comm);
	return flame_task_row(p, &info);
}

flame_type flame_type_copy(struct flame_profile *p, const struct flame_profile *from, flame_type row)
{
	struct flame_type_info info = *flame_type_get(from, row);
	flame_type type;

	if (!row)
		return 0;
	info.name = flame_string_copy(p, from, info.name);
	info.unit = flame_string_copy(p, from, info.unit);
	type = flame_type_row(p, &info);
	flame_type_rescale(p, type, info.scale);
	return type;
}

int flame_samples_copy(struct flame_profile *p, const struct flame_profile *from, const uint32_t *stacks)
{
	uint32_t nr_types = flame_nr_types(from);
	flame_type *types = calloc(nr_types, sizeof(*types));
	int err = types ? 0 : FLAME_ENOMEM;

	for (uint32_t i = 1; types && i < nr_types; i++)
		types[i] = flame_type_copy(p, from, i);
	for (uint32_t i = 0; !err && i < flame_nr_samples(from); i++) {
		struct flame_sample s = *flame_sample_get(from, i);
		uint32_t scale = flame_type_get(from, s.type)->scale;

		if (stacks[s.stack] == FLAME_STACK_DROPPED)
			continue;
		s.stack = stacks[s.stack];
		s.task = copy_task(p, from, s.task);
		s.type = types[s.type];
		err = flame_sample_add_scaled(p, &s, scale);
	}
	free(types);
	return err;
}

int flame_profile_merge(struct flame_profile *p, const struct flame_profile *from)
{
	uint32_t *frames = flame_frames_copy(p, from);
	uint32_t *stacks = frames ? flame_stacks_copy(p, from, frames) : NULL;
	int err = stacks ? flame_profile_error(from) : FLAME_ENOMEM;

	if (!err)
		err = flame_samples_copy(p, from, stacks);
	flame_lost_add(p, flame_lost(from));
	flame_meta_copy(p, from);
	free(frames);
	free(stacks);
	return err ? err : flame_profile_error(p);
}

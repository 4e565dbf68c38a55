/* SPDX-License-Identifier: MIT */
/*
 * merge.c - adding one profile to another: rows of one become rows of the other, in order.
 */
#include "flame.h"

#include <stdlib.h>

#include "merge.h"

static uint32_t *map_frames(struct flame_profile *p, const struct flame_profile *from)
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

static uint32_t *map_stacks(struct flame_profile *p, const struct flame_profile *from, const uint32_t *frames)
{
	uint32_t nr = flame_nr_stacks(from);
	uint32_t *map = malloc(nr * sizeof(*map));

	if (!map)
		return NULL;
	map[0] = 0;
	for (uint32_t i = 1; i < nr; i++)
		map[i] = flame_stack_push(p, map[flame_stack_caller(from, i)], frames[flame_stack_frame(from, i)]);
	return map;
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

static int scale_value(int64_t *value, uint32_t digits)
{
	while (digits--) {
		if (__builtin_mul_overflow(*value, 10, value))
			return FLAME_EOVERFLOW;
	}
	return 0;
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
		err = scale_value(&s.value, flame_type_get(p, s.type)->scale - scale);
		if (!err)
			err = flame_sample_add(p, &s);
	}
	free(types);
	return err;
}

int flame_profile_merge(struct flame_profile *p, const struct flame_profile *from)
{
	uint32_t *frames = map_frames(p, from);
	uint32_t *stacks = frames ? map_stacks(p, from, frames) : NULL;
	int err = stacks ? flame_profile_error(from) : FLAME_ENOMEM;

	if (!err)
		err = flame_samples_copy(p, from, stacks);
	flame_lost_add(p, flame_lost(from));
	free(frames);
	free(stacks);
	return err ? err : flame_profile_error(p);
}

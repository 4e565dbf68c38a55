/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "folded.h"
#include "merge.h"

static int add_value(struct flame_profile *p, flame_stack stack, flame_type type, const struct flame_sample *from,
		     uint32_t scale)
{
	struct flame_sample s = { stack, 0, type, from->value, from->nr_samples };

	flame_type_rescale(p, type, scale);
	for (; scale < flame_type_get(p, type)->scale; scale++) {
		if (__builtin_mul_overflow(s.value, 10, &s.value))
			return FLAME_EOVERFLOW;
	}
	return flame_sample_add(p, &s);
}

static flame_frame copy_frame(struct flame_profile *p, const struct flame_profile *from, flame_frame row)
{
	struct flame_frame_info info = *flame_frame_get(from, row);

	info.name = flame_string_copy(p, from, info.name);
	info.module = flame_string_copy(p, from, info.module);
	info.file = flame_string_copy(p, from, info.file);
	return flame_frame_row(p, &info);
}

static int add_side(struct flame_profile *p, const char *name, const struct flame_profile *from, flame_type from_type)
{
	struct flame_type_info info = *flame_type_get(from, from_type);
	flame_stack *map = malloc(flame_nr_stacks(from) * sizeof(*map));
	flame_type type;
	int err = 0;

	info.name = flame_intern(p, name, strlen(name));
	info.unit = flame_string_copy(p, from, info.unit);
	type = flame_type_row(p, &info);
	if (!map)
		return FLAME_ENOMEM;
	map[0] = 0;
	for (uint32_t i = 1; i < flame_nr_stacks(from); i++)
		map[i] = flame_stack_push(p, map[flame_stack_caller(from, i)],
					  copy_frame(p, from, flame_stack_frame(from, i)));
	for (uint32_t i = 0; !err && i < flame_nr_samples(from); i++) {
		const struct flame_sample *s = flame_sample_get(from, i);

		if (s->type == from_type)
			err = add_value(p, map[s->stack], type, s, info.scale);
	}
	free(map);
	return err ? err : flame_profile_error(p);
}

int flame_diff(struct flame_profile **diff, const struct flame_profile *before, flame_type before_type,
	       const struct flame_profile *after, flame_type after_type)
{
	struct flame_profile_options options = { .kinds = FLAME_ALL_KINDS };
	int err;

	*diff = flame_profile_new(&options);
	if (!*diff)
		return FLAME_ENOMEM;
	err = add_side(*diff, FLAME_TYPE_BEFORE, before, before_type);
	if (!err)
		err = add_side(*diff, FLAME_TYPE_AFTER, after, after_type);
	if (err) {
		flame_profile_free(*diff);
		*diff = NULL;
	}
	return err;
}

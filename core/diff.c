/* SPDX-License-Identifier: MIT */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "folded.h"
#include "merge.h"

static int add_side(struct flame_profile *p, const char *name, const struct flame_profile *from, flame_type from_type)
{
	struct flame_type_info info = *flame_type_get(from, from_type);
	flame_frame *frames = flame_frames_copy(p, from);
	flame_stack *map = frames ? flame_stacks_copy(p, from, frames) : NULL;
	flame_type type;
	int err = map ? 0 : FLAME_ENOMEM;

	info.name = flame_intern(p, name, strlen(name));
	info.unit = flame_string_copy(p, from, info.unit);
	type = flame_type_row(p, &info);
	for (uint32_t i = 0; !err && i < flame_nr_samples(from); i++) {
		const struct flame_sample *s = flame_sample_get(from, i);

		if (s->type == from_type)
			err = flame_sample_add_scaled(p, &(struct flame_sample){ map[s->stack], 0, type, s->value,
										 s->nr_samples }, info.scale);
	}
	free(frames);
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
	if (!err)
		err = flame_types_align(*diff, 1, 2);
	if (err) {
		flame_profile_free(*diff);
		*diff = NULL;
	}
	return err;
}

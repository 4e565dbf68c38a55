/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "folded.h"
#include "merge.h"
#include "meta.h"
#include "units.h"

/* Values of counts are rarely that large; where most are, they are weights. */
#define LARGE_COUNT 10000
#define MAX_EXACT (1ll << 53)	/* up to which a picture's script counts exactly */

static int64_t power_of_ten(uint32_t n)
{
	int64_t v = 1;

	while (n--)
		v *= 10;
	return v;
}

/*
 * Formats that hold sums alone give each line one sample, whatever its value is. Where their values have no
 * unit and look like counts, they are the numbers.
 */
enum flame_numbering flame_numbering_of(const struct flame_profile *p, flame_type type)
{
	const struct flame_type_info *info = flame_type_get(p, type);
	int64_t one = power_of_ten(info->scale);
	uint64_t nr = 0, nr_large = 0;
	bool whole = true;

	if (flame_profile_options(p)->count)
		return FLAME_NUMBERED_VALUES;
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (s->type != type)
			continue;
		if (s->nr_samples > 1 && !flame_profile_options(p)->sums)
			return FLAME_NUMBERED;
		whole &= s->value % one == 0;
		nr_large += s->value / one >= LARGE_COUNT;
		nr++;
	}
	return flame_unit_counts(flame_string_get(p, info->unit)) && whole && nr_large * 2 <= nr ? FLAME_NUMBERED_VALUES :
											      FLAME_NUMBERED_STACKS;
}

static uint64_t number_of(const struct flame_sample *s, enum flame_numbering numbering, int64_t one)
{
	int64_t n = s->value / one;

	if (numbering == FLAME_NUMBERED)
		return s->nr_samples;
	return numbering == FLAME_NUMBERED_VALUES && n > 0 ? (uint64_t)n : 1;
}

/* What values are multiplied with: @to / @from, and the scale that the product has. */
struct factor {
	int64_t to, from;
	uint32_t scale;
};

/* @value times @f, to the nearest; halves away from 0. A part of the total is at most the total. */
static int64_t scale_value(int64_t value, const struct factor *f)
{
	__int128 product = (__int128)value * f->to, half = f->from / 2;

	return (int64_t)((product + (product < 0 ? -half : half)) / f->from);
}

static int add_samples(struct flame_diff *d, struct flame_diff_side *side, const struct flame_profile *from,
		       flame_type from_type, const struct factor *factor, const flame_stack *map)
{
	int64_t one = power_of_ten(side->scale);
	int err = 0;

	for (uint32_t i = 0; !err && i < flame_nr_samples(from); i++) {
		const struct flame_sample *s = flame_sample_get(from, i);
		struct flame_sample to = { .stack = map[s->stack], .type = side->type };

		if (s->type != from_type)
			continue;
		to.value = scale_value(s->value, factor);
		to.nr_samples = number_of(s, side->numbering, one);
		side->nr_samples += to.nr_samples;
		err = flame_sample_add_scaled(d->profile, &to, factor->scale);
	}
	return err;
}

static int add_side(struct flame_diff *d, struct flame_diff_side *side, const char *name,
		    const struct flame_profile *from, flame_type from_type, const struct factor *factor)
{
	struct flame_type_info info = *flame_type_get(from, from_type);
	flame_frame *frames = flame_frames_copy(d->profile, from);
	flame_stack *map = frames ? flame_stacks_copy(d->profile, from, frames) : NULL;
	int err = FLAME_ENOMEM;

	side->numbering = flame_numbering_of(from, from_type);
	side->kind = info.kind;
	info.name = flame_intern(d->profile, name, strlen(name));
	/* --count: what is counted are samples, whatever their values measure. */
	info.unit = flame_profile_options(from)->count ? 0 : flame_string_copy(d->profile, from, info.unit);
	info.scale = factor->scale;
	side->type = flame_type_row(d->profile, &info);
	if (map)
		err = add_samples(d, side, from, from_type, factor, map);
	free(frames);
	free(map);
	return err ? err : flame_profile_error(d->profile);
}

static int sum_values(struct flame_diff_side *side, const struct flame_profile *from, flame_type from_type)
{
	side->scale = flame_type_get(from, from_type)->scale;
	for (uint32_t i = 0; i < flame_nr_samples(from); i++) {
		const struct flame_sample *s = flame_sample_get(from, i);

		if (s->type == from_type && __builtin_add_overflow(side->total, s->value, &side->total))
			return FLAME_EOVERFLOW;
	}
	return 0;
}

/* As many digits more as fit, FLAME_NORMAL_SCALE at most. */
static int make_factor(const struct flame_diff *d, struct factor *f)
{
	if (d->before.total <= 0 || d->after.total <= 0)
		return FLAME_EEMPTY;
	*f = (struct factor){ d->after.total, d->before.total, d->after.scale };
	while (f->scale < FLAME_NORMAL_SCALE && f->to < MAX_EXACT / 10) {
		f->to *= 10;
		f->scale++;
	}
	return 0;
}

static int fill(struct flame_diff *d, const struct flame_profile *before, flame_type before_type,
		const struct flame_profile *after, flame_type after_type)
{
	struct factor same_before = { 1, 1, d->before.scale }, same_after = { 1, 1, d->after.scale };
	int err = d->normalized ? make_factor(d, &same_before) : 0;

	if (!err)
		err = add_side(d, &d->before, FLAME_TYPE_BEFORE, before, before_type, &same_before);
	if (!err)
		err = add_side(d, &d->after, FLAME_TYPE_AFTER, after, after_type, &same_after);
	return err ? err : flame_types_align(d->profile, d->before.type, d->after.type);
}

static int by_name(const void *a, const void *b)
{
	const struct flame_span *x = a, *y = b;
	int order = memcmp(x->s, y->s, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Of names that several tools know, few are in both the kernel and in a program, such as memcpy. */
#define SHARED_NAMES 0.25

/*
 * Formats such as speedscope's do not say which code is the kernel's. Return: whether @p has none of it, but functions of
 * the names that @other's kernel has. Without memory it is not told.
 */
static bool hides_kernel(const struct flame_profile *p, const struct flame_profile *other)
{
	uint32_t nr = flame_nr_frames(p), nr_kernel = 0, nr_shared = 0;
	struct flame_span *names = malloc((nr + 1) * sizeof(*names)), name;
	bool has_kernel = !names;

	for (uint32_t i = 0; !has_kernel && i < nr; i++) {
		names[i] = flame_string_get(p, flame_frame_get(p, i)->name);
		has_kernel = flame_frame_get(p, i)->kind == FLAME_KERNEL;
	}
	if (!has_kernel)
		qsort(names, nr, sizeof(*names), by_name);
	for (uint32_t i = 1; !has_kernel && i < flame_nr_frames(other); i++) {
		if (flame_frame_get(other, i)->kind != FLAME_KERNEL)
			continue;
		name = flame_string_get(other, flame_frame_get(other, i)->name);
		nr_kernel++;
		nr_shared += bsearch(&name, names, nr, sizeof(*names), by_name) != NULL;
	}
	free(names);
	return nr_kernel && nr_shared >= SHARED_NAMES * nr_kernel;
}

int flame_diff_init(struct flame_diff *diff, const struct flame_profile *before, flame_type before_type,
		    const struct flame_profile *after, flame_type after_type, bool normalize, uint32_t kinds)
{
	struct flame_profile_options options = { .kinds = kinds };
	int err;

	if (hides_kernel(before, after) || hides_kernel(after, before))
		options.kinds &= ~FLAME_KIND_BIT(FLAME_KERNEL);
	*diff = (struct flame_diff){ .profile = flame_profile_new(&options), .normalized = normalize };
	if (!diff->profile)
		return FLAME_ENOMEM;
	err = sum_values(&diff->before, before, before_type);
	if (!err)
		err = sum_values(&diff->after, after, after_type);
	if (!err)
		err = fill(diff, before, before_type, after, after_type);
	flame_frames_forget_kinds(diff->profile);
	flame_meta_copy(diff->profile, after);
	if (err)
		flame_diff_release(diff);
	return err;
}

void flame_diff_release(struct flame_diff *diff)
{
	flame_profile_free(diff->profile);
	*diff = (struct flame_diff){ 0 };
}

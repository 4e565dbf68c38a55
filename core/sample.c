/* SPDX-License-Identifier: MIT */
/*
 * sample.c - a profile's value types and samples: what is added to what, and never past 64 bits.
 */
#include <math.h>
#include <string.h>

#include "hash.h"
#include "pages.h"
#include "tables.h"

#define MAX_SCALE 18	/* decimal digits that fit int64_t */

/* Value types. A handful at most, so a walk finds them. */

flame_type flame_type_row(struct flame_profile *p, const struct flame_type_info *info)
{
	for (size_t i = 1; i < p->nr_types; i++) {
		if (p->types[i].name == info->name)
			return (flame_type)i;
	}
	if (p->error || !GROW(p, types))
		return 0;
	p->types[p->nr_types] = *info;
	/* Whatever a sample weighed, it is one. */
	if (p->options.count && info->unit)
		p->types[p->nr_types].unit = flame_intern(p, "samples", 7);
	return (flame_type)p->nr_types++;
}

const struct flame_type_info *flame_type_get(const struct flame_profile *p, flame_type row)
{
	return &p->types[row < p->nr_types ? row : 0];
}

uint32_t flame_nr_types(const struct flame_profile *p)
{
	return (uint32_t)p->nr_types;
}

static bool scale_up(int64_t *value, uint32_t digits)
{
	while (digits--) {
		if (__builtin_mul_overflow(*value, 10, value))
			return false;
	}
	return true;
}

/* To the nearest; halves away from 0. */
static int64_t scale_down(int64_t value, uint32_t digits)
{
	int64_t one = 1, rest;

	scale_up(&one, digits);
	rest = value % one;
	return value / one + (rest >= one - rest && rest > 0) - (-rest >= one + rest && rest < 0);
}

static double power_of_ten(uint32_t digits)
{
	double power = 1;

	while (digits--)
		power *= 10;
	return power;
}

/* Return: where the type's size is, or NULL without memory. */
static double *size_of(struct flame_profile *p, flame_type type)
{
	if (!array_reserve((void **)&p->sizes, &p->room_sizes, p->nr_types, sizeof(*p->sizes))) {
		profile_fail(p, FLAME_ENOMEM);
		return NULL;
	}
	for (; p->nr_sizes < p->nr_types; p->nr_sizes++)
		p->sizes[p->nr_sizes] = -1;
	if (p->sizes[type] >= 0)
		return &p->sizes[type];
	p->sizes[type] = 0;
	for (size_t i = 0; i < p->nr_samples; i++) {
		if (p->samples[i].type == type)
			p->sizes[type] += fabs((double)p->samples[i].value);
	}
	return &p->sizes[type];
}

/* So that all values and their sum, and that of before and after, are at most so much. */
#define SIZE_MAX_SCALED 4e18

static void change_scale(struct flame_profile *p, flame_type type, uint32_t scale)
{
	struct flame_type_info *info = &p->types[type];

	for (size_t i = 0; i < p->nr_samples; i++) {
		int64_t *value = &p->samples[i].value;

		if (p->samples[i].type != type)
			continue;
		if (scale < info->scale)
			*value = scale_down(*value, info->scale - scale);
		else if (!scale_up(value, scale - info->scale))
			profile_fail(p, FLAME_EOVERFLOW);
	}
	if (scale < info->scale)
		p->sizes[type] /= power_of_ten(info->scale - scale);
	else
		p->sizes[type] *= power_of_ten(scale - info->scale);
	info->scale = scale;
}

int flame_type_rescale(struct flame_profile *p, flame_type type, uint32_t scale)
{
	uint32_t old = type < p->nr_types ? p->types[type].scale : MAX_SCALE;
	double *size;

	if (p->error || scale <= old)
		return p->error;
	size = size_of(p, type);
	scale = scale < MAX_SCALE ? scale : MAX_SCALE;
	while (size && scale > old && *size * power_of_ten(scale - old) > SIZE_MAX_SCALED)
		scale--;
	if (size && scale > old)
		change_scale(p, type, scale);
	return p->error;
}

static int lower_to(struct flame_profile *p, flame_type type, uint32_t scale)
{
	if (!p->error && p->types[type].scale > scale && size_of(p, type))
		change_scale(p, type, scale);
	return p->error;
}

int flame_types_align(struct flame_profile *p, flame_type a, flame_type b)
{
	flame_type_rescale(p, a, flame_type_get(p, b)->scale);
	flame_type_rescale(p, b, flame_type_get(p, a)->scale);
	/* Where one of them could not be raised as far. */
	lower_to(p, a, flame_type_get(p, b)->scale);
	return lower_to(p, b, flame_type_get(p, a)->scale);
}

int flame_type_convert(struct flame_profile *p, flame_type type, flame_string unit, int64_t ratio)
{
	struct flame_type_info *info = &p->types[type];

	/* Digits behind the point become those in front of it: nothing grows then. */
	for (; info->scale && ratio % 10 == 0; ratio /= 10)
		info->scale--;
	for (size_t i = 0; i < p->nr_samples; i++) {
		if (p->samples[i].type == type && __builtin_mul_overflow(p->samples[i].value, ratio, &p->samples[i].value))
			profile_fail(p, FLAME_EOVERFLOW);
	}
	info->unit = unit;
	return p->error;
}

/* Samples. */

/* Stacks that came one after the other share a cache line of slots; beyond that they are scattered. */
static uint32_t sample_hash(flame_stack stack, flame_task task)
{
	uint32_t line = hash_pair(stack / 16, task);

	return line * 16 + stack % 16;
}

static bool same_run(const struct flame_sample *a, const struct flame_sample *b)
{
	return a->stack == b->stack && a->task == b->task;
}

static bool same_place(const struct flame_sample *a, const struct flame_sample *b)
{
	return same_run(a, b) && a->type == b->type;
}

/* Return: the row of the sample with @s's stack, task and type, or -1; the index must be there. */
static int64_t find_indexed(const struct flame_profile *p, const struct flame_sample *s)
{
	const struct index *x = &p->sample_index;
	uint32_t row;

	for (uint32_t i = sample_hash(s->stack, s->task) & x->mask; (row = x->slots[i]); i = (i + 1) & x->mask) {
		for (size_t k = row - 1; k < p->nr_samples && same_run(&p->samples[k], s); k++) {
			if (p->samples[k].type == s->type)
				return (int64_t)k;
		}
	}
	return -1;
}

/* Have room in the index for one more sample than there are, with all of them in it. */
static bool make_sample_index(struct flame_profile *p)
{
	struct index *x = &p->sample_index;
	bool ok = true;

	while (ok && (!x->slots || x->nr + (p->nr_samples - p->nr_indexed) >= x->mask / 2)) {
		ok = index_grow(x);
		p->nr_indexed = ok ? 0 : p->nr_indexed;
	}
	for (; ok && p->nr_indexed < p->nr_samples; p->nr_indexed++) {
		const struct flame_sample *s = &p->samples[p->nr_indexed];

		if (!p->nr_indexed || !same_run(s, s - 1))
			index_put(x, sample_hash(s->stack, s->task), (uint32_t)p->nr_indexed + 1);
	}
	return ok;
}

void profile_expect_samples(const struct flame_profile *p, flame_stack stack, bool slot_is_near)
{
	const struct index *x = &p->sample_index;
	uint32_t i = sample_hash(stack, 0) & x->mask;

	if (!x->slots)
		return;
	if (!slot_is_near)
		__builtin_prefetch(&x->slots[i]);
	else if (x->slots[i])
		__builtin_prefetch(&p->samples[x->slots[i] - 1]);
}

/* Return: the sample to add @s to, or NULL; p->error may be set. */
static struct flame_sample *sample_find(struct flame_profile *p, const struct flame_sample *s)
{
	int64_t row;

	if (p->options.ordered)
		return p->nr_samples && same_place(&p->samples[p->nr_samples - 1], s) ?
			       &p->samples[p->nr_samples - 1] : NULL;
	if (!flame_stack_has_samples(p, s->stack))
		return NULL;
	if (p->nr_indexed < p->nr_samples && !make_sample_index(p)) {
		profile_fail(p, FLAME_ENOMEM);
		return NULL;
	}
	row = find_indexed(p, s);
	return row < 0 ? NULL : &p->samples[row];
}

/* What the profile does not keep apart goes; nothing but failures is left to do with @s. */
static void normalise(struct flame_profile *p, struct flame_sample *s)
{
	if (!s->nr_samples)
		s->nr_samples = 1;
	if (!p->options.keep_task)
		s->task = 0;
	if (!p->options.count)
		return;
	s->value = (int64_t)s->nr_samples;
	if (!scale_up(&s->value, flame_type_get(p, s->type)->scale))
		profile_fail(p, FLAME_EOVERFLOW);
}

static int sample_append(struct flame_profile *p, const struct flame_sample *s)
{
	if (p->error || !GROW(p, samples))
		return p->error;
	p->samples[p->nr_samples++] = *s;
	p->is_sampled[s->stack / 64] |= 1ull << (s->stack % 64);
	return 0;
}

/*
 * The sum is full. Of an input of sums, which may have one bit more, it is kept as it is, and its row, which look-ups
 * find, begins anew with @s: whoever adds up all rows sees whether the whole fits what he has.
 */
static int sample_begin_sum(struct flame_profile *p, struct flame_sample *sum, const struct flame_sample *s)
{
	struct flame_sample full = *sum;

	if (!p->options.sums)
		profile_fail(p, FLAME_EOVERFLOW);
	*sum = *s;
	return sample_append(p, &full);
}

static int sum_up(struct flame_profile *p, struct flame_sample *sum, const struct flame_sample *s)
{
	uint64_t nr_samples;
	int64_t value;

	if (__builtin_add_overflow(sum->nr_samples, s->nr_samples, &nr_samples) ||
	    __builtin_add_overflow(sum->value, s->value, &value))
		return sample_begin_sum(p, sum, s);
	sum->value = value;
	sum->nr_samples = nr_samples;
	return p->error;
}

int flame_sample_add(struct flame_profile *p, const struct flame_sample *sample)
{
	struct flame_sample s = *sample, *sum;

	if (p->error)
		return p->error;
	normalise(p, &s);
	sum = sample_find(p, &s);
	return sum ? sum_up(p, sum, &s) : sample_append(p, &s);
}

int profile_sample_sum(struct flame_profile *p, struct flame_sample *sum, const struct flame_sample *sample)
{
	struct flame_sample s = *sample;

	normalise(p, &s);
	return p->error ? p->error : sum_up(p, sum, &s);
}

void profile_sample_put(struct flame_profile *p, size_t row, const struct flame_sample *sample)
{
	struct flame_sample s = *sample;

	normalise(p, &s);
	p->samples[row] = s;
}

int flame_samples_add(struct flame_profile *p, const struct flame_sample *samples, size_t nr)
{
	bool fresh = nr && !p->error && !flame_stack_has_samples(p, samples->stack);
	int err = p->error;

	for (size_t i = 0; !err && i < nr; i++) {
		struct flame_sample s = samples[i];

		if (!fresh) {
			err = flame_sample_add(p, &s);
			continue;
		}
		normalise(p, &s);
		err = sample_append(p, &s);
	}
	return err;
}

void flame_samples_expect(struct flame_profile *p, size_t nr)
{
	if (!p->error && nr < UINT32_MAX && array_reserve((void **)&p->samples, &p->room_samples, nr, sizeof(*p->samples)))
		flame_pages_advise(p->samples, nr * sizeof(*p->samples));
}

int flame_sample_add_scaled(struct flame_profile *p, const struct flame_sample *sample, uint32_t scale)
{
	struct flame_sample s = *sample;
	struct flame_type_info *info = &p->types[s.type];
	double value, *size;

	if (!scale && !info->scale && !p->sizes)
		return flame_sample_add(p, sample);
	size = flame_type_rescale(p, s.type, scale) ? NULL : size_of(p, s.type);
	if (!size)
		return p->error;
	value = fabs((double)s.value) / power_of_ten(scale);
	while (info->scale && *size + value * power_of_ten(info->scale) > SIZE_MAX_SCALED)
		change_scale(p, s.type, info->scale - 1);
	*size += value * power_of_ten(info->scale);
	if (scale > info->scale)
		s.value = scale_down(s.value, scale - info->scale);
	else if (!scale_up(&s.value, info->scale - scale))
		return FLAME_EOVERFLOW;
	return flame_sample_add(p, &s);
}

/* Put all samples in again, so that those that have become equal are summed. */
static void sum_again(struct flame_profile *p)
{
	struct flame_sample *old = p->samples;
	size_t nr = p->nr_samples;

	free(p->sample_index.slots);
	p->sample_index = (struct index){ 0 };
	p->nr_indexed = 0;
	p->samples = NULL;
	p->nr_samples = p->room_samples = 0;
	memset(p->is_sampled, 0, (p->nr_stacks / 64 + 1) * sizeof(*p->is_sampled));
	for (size_t i = 0; i < nr; i++)
		flame_sample_add(p, &old[i]);
	free(old);
}

int flame_type_join(struct flame_profile *p, flame_type into, flame_type from)
{
	flame_types_align(p, into, from);
	if (!p->types[into].name)
		p->types[into] = p->types[from];
	for (size_t i = 0; i < p->nr_samples; i++) {
		flame_type type = p->samples[i].type == from ? into : p->samples[i].type;

		p->samples[i].type = type > from ? type - 1 : type;
	}
	memmove(&p->types[from], &p->types[from + 1], (p->nr_types - from - 1) * sizeof(*p->types));
	p->nr_types--;
	sum_again(p);
	return p->error;
}

uint32_t flame_nr_samples(const struct flame_profile *p)
{
	return (uint32_t)p->nr_samples;
}

const struct flame_sample *flame_sample_get(const struct flame_profile *p, uint32_t row)
{
	return &p->samples[row];
}

bool flame_stack_has_samples(const struct flame_profile *p, flame_stack stack)
{
	return stack < p->nr_stacks && p->is_sampled[stack / 64] >> (stack % 64) & 1;
}

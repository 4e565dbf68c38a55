/* SPDX-License-Identifier: MIT */
/*
 * compare.c - sums of each function and each box before and after, with the variance of these sums, and
 * the tests of all of them.
 */
#define _GNU_SOURCE
#include "compare.h"

#include <math.h>
#include <stdlib.h>

#include "table.h"

#define CONFIDENCE 0.95
#define NO_BOX UINT32_MAX

/* A sample as it is added to sums. */
struct addend {
	bool is_after;
	int64_t value;
	double squares;
};

/*
 * Of the samples of one stack only the sum is known. Times on a processor are taken to be equal; those of
 * waits and sizes of allocations to scatter as exponential ones do, whose mean square is twice their mean's.
 */
static double spread(const struct flame_diff_side *side)
{
	bool scatters = side->kind == FLAME_VALUE_OFF_CPU || side->kind == FLAME_VALUE_LOCK ||
			side->kind == FLAME_VALUE_ALLOCATION;

	return scatters && side->numbering == FLAME_NUMBERED ? 2 : 1;
}

static bool make_addend(const struct flame_diff *d, const struct flame_sample *s, struct addend *a)
{
	const struct flame_diff_side *side = s->type == d->after.type ? &d->after : &d->before;

	if (s->type != side->type)
		return false;
	a->is_after = side == &d->after;
	a->value = s->value;
	a->squares = spread(side) * (double)s->value * (double)s->value / (double)s->nr_samples;
	return true;
}

/* Sums of parts are at most that of all, which was checked. */
static void add(struct flame_change *c, const struct addend *a)
{
	struct flame_amount_seen *side = a->is_after ? &c->after : &c->before;

	side->value += a->value;
	side->squares += a->squares;
}

/* Sides that were sampled at different rates have samples of different weights. */
static double times_heavier(const struct flame_comparison *c, const struct flame_diff *d)
{
	double before = (double)c->all.before.value, after = (double)c->all.after.value;

	if (!(before > 0) || !(after > 0))
		return 1;
	return after / (double)d->after.nr_samples / (before / (double)d->before.nr_samples);
}

static int sum_all(struct flame_comparison *c, const struct flame_diff *d)
{
	for (uint32_t i = 0; i < flame_nr_samples(d->profile); i++) {
		struct addend a;

		if (!make_addend(d, flame_sample_get(d->profile, i), &a))
			continue;
		if (a.value < 0)
			return FLAME_EARG;
		if (a.value > INT64_MAX - (a.is_after ? c->all.after.value : c->all.before.value))
			return FLAME_EOVERFLOW;
		add(&c->all, &a);
	}
	c->heavier = times_heavier(c, d);
	return 0;
}

/* A part of a side, the side, and how many times as heavy as the other's its samples are. */
struct part {
	const struct flame_amount_seen *part, *all;
	double heavier;
};

/* Of what is summed in @s. */
static double mean_weight(const struct flame_amount_seen *s)
{
	return s->squares / (double)s->value;
}

/* The weight of a sample of the part; where this @side has none, what it would be here by the @other side. */
static double weight(const struct part *side, const struct part *other)
{
	return side->part->value ? mean_weight(side->part) : mean_weight(other->part) * side->heavier;
}

/*
 * How many independent samples of equal weight would let the share vary as much. Where all or nothing of a
 * side is the part's, its weights are not there to tell.
 */
static double effective_size(const struct part *side, const struct part *other)
{
	const struct flame_amount_seen *part = side->part, *all = side->all;
	double sum = (double)all->value, share = (double)part->value / sum, variance;

	if (!part->value && other->part->value)
		return sum / weight(side, other);
	if (!part->value || part->value == all->value)
		return sum * sum / all->squares;
	variance = (1 - share) * (1 - share) * part->squares + share * share * (all->squares - part->squares);
	return share * (1 - share) * sum * sum / variance;
}

static struct flame_portion weigh(const struct part *side, const struct part *other, double dispersion)
{
	if (!side->all->value)
		return side->part->part;
	return (struct flame_portion){ (double)side->part->value / (double)side->all->value,
				       effective_size(side, other) / dispersion };
}

/* Equal counts are as many samples on either side as these are light. */
static void test_count(struct flame_change *c, const struct part *before, const struct part *after,
		       double dispersion_before, double dispersion_after)
{
	double b, a;

	if (!c->before.value && !c->after.value)
		return;
	b = weight(before, after) * dispersion_before;
	a = weight(after, before) * dispersion_after;
	c->test.p = flame_binomial((double)c->before.value / b, (double)c->after.value / a, b / (b + a), &c->test.least);
}

/*
 * How many times the variance of @all's parts is that of independent samples: where runs differ, samples of one run are
 * alike, by 1 / run_size on average (the beta-binomial distribution's correlation).
 */
static double dispersion_of(const struct flame_comparison *c, const struct flame_amount_seen *all, unsigned int nr_runs)
{
	double sum = (double)all->value;

	if (!(c->options.run_size > 0) || !all->value)
		return c->options.dispersion;
	return fmax(c->options.dispersion, 1 + sum * sum / all->squares / c->options.run_size / nr_runs);
}

static void test_change(struct flame_comparison *c, struct flame_change *change, double deviations)
{
	double before = dispersion_of(c, &c->all.before, c->options.runs_before);
	double after = dispersion_of(c, &c->all.after, c->options.runs_after);
	struct part b = { &change->before, &c->all.before, 1 / c->heavier };
	struct part a = { &change->after, &c->all.after, c->heavier };

	change->test = (struct flame_test){ 1, 1, 1 };
	change->before.part = weigh(&b, &a, before);
	change->after.part = weigh(&a, &b, after);
	change->interval = flame_newcombe(change->before.part, change->after.part, deviations);
	if (c->options.by_count)
		test_count(change, &b, &a, before, after);
	else
		change->test.p = flame_fisher(change->before.part, change->after.part, &change->test.least);
}

/* Correct @changes together. */
static int correct(struct flame_comparison *c, struct flame_change **changes, size_t nr)
{
	struct flame_test *tests = malloc((nr + 1) * sizeof(*tests));
	double alpha = 1 - c->options.confidence;

	if (!tests)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		tests[i] = changes[i]->test;
	c->nr_changes = nr;
	c->nr_tests = flame_holm(tests, nr, alpha);
	for (size_t i = 0; c->nr_tests != SIZE_MAX && i < nr; i++) {
		changes[i]->test = tests[i];
		changes[i]->significant = tests[i].adjusted <= alpha;
	}
	free(tests);
	return c->nr_tests == SIZE_MAX ? FLAME_ENOMEM : 0;
}

static bool is_seen(const struct flame_change *c)
{
	return c->before.value || c->after.value;
}

static int test_all(struct flame_comparison *c)
{
	struct flame_change **changes = malloc((2 * c->nr_items + 1) * sizeof(void *));
	double deviations = flame_deviations(c->options.confidence);
	size_t nr = 0;
	int err;

	if (!changes)
		return FLAME_ENOMEM;
	test_change(c, &c->all, deviations);
	for (size_t i = 0; i < c->nr_items; i++) {
		struct flame_compared *item = &c->items[i];

		test_change(c, &item->total, deviations);
		test_change(c, &item->self, deviations);
		if (is_seen(&item->total))
			changes[nr++] = &item->total;
		if (is_seen(&item->self))
			changes[nr++] = &item->self;
	}
	err = correct(c, changes, nr);
	free(changes);
	return err;
}

static int start(struct flame_comparison *c, const struct flame_diff *d, const struct flame_compare_options *options,
		 size_t nr_items)
{
	*c = (struct flame_comparison){ .options = *options };
	if (!(c->options.confidence > 0))
		c->options.confidence = CONFIDENCE;
	if (!(c->options.dispersion > 0))
		c->options.dispersion = 1;
	c->options.runs_before += !c->options.runs_before;
	c->options.runs_after += !c->options.runs_after;
	c->items = calloc(nr_items + 1, sizeof(*c->items));
	c->nr_items = nr_items;
	return c->items ? sum_all(c, d) : FLAME_ENOMEM;
}

/* Each frame of the stack once, however often it stands there. */
static void add_to_functions(struct flame_comparison *c, const struct flame_diff *d, uint32_t sample, uint32_t *seen)
{
	const struct flame_sample *s = flame_sample_get(d->profile, sample);
	struct addend a;

	if (!make_addend(d, s, &a))
		return;
	for (flame_stack at = s->stack; at; at = flame_stack_caller(d->profile, at)) {
		flame_frame frame = flame_stack_frame(d->profile, at);

		if (at == s->stack)
			add(&c->items[frame].self, &a);
		if (seen[frame] == sample + 1)
			continue;
		seen[frame] = sample + 1;
		add(&c->items[frame].total, &a);
	}
}

/* Only the frames that some sample has are kept. */
static void drop_unseen(struct flame_comparison *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_items; i++) {
		if (!is_seen(&c->items[i].total))
			continue;
		c->items[nr] = c->items[i];
		c->items[nr++].row = (uint32_t)i;
	}
	c->nr_items = nr;
}

int flame_compare_functions(struct flame_comparison *c, const struct flame_diff *d,
			    const struct flame_compare_options *options)
{
	uint32_t *seen = calloc(flame_nr_frames(d->profile), sizeof(*seen));
	int err = start(c, d, options, flame_nr_frames(d->profile));

	if (!seen)
		err = FLAME_ENOMEM;
	for (uint32_t i = 0; !err && i < flame_nr_samples(d->profile); i++)
		add_to_functions(c, d, i, seen);
	free(seen);
	if (!err)
		drop_unseen(c);
	if (!err)
		err = test_all(c);
	if (err)
		flame_comparison_release(c);
	return err;
}

/* Return: the box of each stack, NO_BOX where it has none; owned by the caller; NULL without memory. */
static uint32_t *boxes_by_stack(const struct flame_diff *d, const struct flame_layout *layout)
{
	uint32_t nr = flame_nr_stacks(d->profile), *boxes = malloc(nr * sizeof(*boxes));

	for (uint32_t i = 0; boxes && i < nr; i++)
		boxes[i] = NO_BOX;
	for (uint32_t i = 0; boxes && i < layout->nr_boxes; i++) {
		if (!(layout->boxes[i].flags & FLAME_BOX_REST))
			boxes[layout->boxes[i].stack] = i;
	}
	return boxes;
}

/* What lies in a rest belongs to the box that the rest lies on. */
static void add_to_boxes(struct flame_comparison *c, const struct flame_diff *d, uint32_t sample, const uint32_t *boxes)
{
	const struct flame_sample *s = flame_sample_get(d->profile, sample);
	flame_stack at = s->stack;
	struct addend a;

	if (!make_addend(d, s, &a))
		return;
	while (at && boxes[at] == NO_BOX)
		at = flame_stack_caller(d->profile, at);
	add(&c->items[boxes[at]].total, &a);
	if (at == s->stack)
		add(&c->items[boxes[at]].self, &a);
}

static void add_sums(struct flame_amount_seen *to, const struct flame_amount_seen *from)
{
	to->value += from->value;
	to->squares += from->squares;
}

int flame_compare_boxes(struct flame_comparison *c, const struct flame_diff *d, const struct flame_layout *layout,
			const struct flame_compare_options *options)
{
	uint32_t *boxes = boxes_by_stack(d, layout);
	int err = start(c, d, options, layout->nr_boxes);

	if (!boxes)
		err = FLAME_ENOMEM;
	for (uint32_t i = 0; !err && i < flame_nr_samples(d->profile); i++)
		add_to_boxes(c, d, i, boxes);
	free(boxes);
	/* Callers stand before what they call. */
	for (uint32_t i = layout->nr_boxes; !err && i-- > 0;) {
		const struct flame_box *box = &layout->boxes[i];

		c->items[i].row = i;
		if (!i || box->flags & FLAME_BOX_REST)
			continue;
		add_sums(&c->items[box->caller].total.before, &c->items[i].total.before);
		add_sums(&c->items[box->caller].total.after, &c->items[i].total.after);
	}
	if (!err)
		err = test_all(c);
	if (err)
		flame_comparison_release(c);
	return err;
}

int flame_compare_again(struct flame_comparison *c, const uint32_t *rows, size_t nr)
{
	struct flame_change **changes = malloc((nr + 1) * sizeof(void *));
	int err;

	if (!changes)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		changes[i] = &c->items[rows[i]].total;
	err = correct(c, changes, nr);
	free(changes);
	return err;
}

void flame_comparison_release(struct flame_comparison *c)
{
	free(c->items);
	*c = (struct flame_comparison){ 0 };
}

const char *flame_compare_test(const struct flame_compare_options *options)
{
	return options->by_count ? "exact binomial test of the counts, two-sided, Holm" :
				   "Fisher's exact test of the shares, two-sided, Holm";
}

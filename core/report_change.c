/* SPDX-License-Identifier: MIT */
/*
 * report_change.c - what functions cost before and after. Functions are the same where their names
 * are: builds move modules and files.
 */
#define _GNU_SOURCE
#include "report_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "diff.h"
#include "hash.h"
#include "report_paths.h"
#include "table.h"

#define ALPHA 0.05	/* of reports of two equal runs, how many may call some change significant */

struct changes {
	struct flame_report *r;
	struct index by_name;
};

static bool grow(struct changes *c)
{
	if (!index_grow(&c->by_name))
		return false;
	for (size_t i = 0; i < c->r->nr_changes; i++)
		index_put(&c->by_name, (uint32_t)hash_bytes(c->r->changes[i].name.s, c->r->changes[i].name.len), (uint32_t)i + 1);
	return true;
}

/* Return: the change of the function called @name, made if there is none; NULL without memory. */
static struct flame_report_change *find(struct changes *c, struct flame_span name)
{
	uint32_t hash = (uint32_t)hash_bytes(name.s, name.len), row;
	const struct index *x = &c->by_name;
	struct flame_report *r = c->r;

	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		struct flame_report_change *change = &r->changes[row - 1];

		if (change->name.len == name.len && !memcmp(change->name.s, name.s, name.len))
			return change;
	}
	if (!array_reserve((void **)&r->changes, &r->room_changes, r->nr_changes + 1, sizeof(*r->changes)) ||
	    (!index_has_room(&c->by_name) && !grow(c)))
		return NULL;
	r->changes[r->nr_changes++] = (struct flame_report_change){ .name = name, .file = { "", 0 } };
	index_put(&c->by_name, hash, (uint32_t)r->nr_changes);
	return &r->changes[r->nr_changes - 1];
}

static bool has_tasks(const struct flame_profile *p)
{
	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		if (flame_frame_get(p, i)->kind == FLAME_TASK)
			return true;
	}
	return false;
}

static bool names_task(const struct flame_profile *p, struct flame_span name)
{
	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		const struct flame_frame_info *info = flame_frame_get(p, i);

		if (info->kind == FLAME_TASK && !flame_span_compare(flame_string_get(p, info->name), name))
			return true;
	}
	return false;
}

/*
 * Folded text does not say which frames are processes and threads. Where the other side knows that, what is only ever a
 * root and is called as one of its tasks is one. Return: which of @f's functions are, owned by the caller; NULL without
 * memory.
 */
static bool *find_tasks(const struct flame_functions *f, const struct flame_functions *other)
{
	bool *is_task = calloc(f->nr_functions, sizeof(*is_task));

	if (!is_task || has_tasks(f->profile) || !has_tasks(other->profile))
		return is_task;
	for (size_t i = 1; i < f->nr_calls; i++)
		is_task[f->calls[i].function] |= !f->calls[i].caller;
	for (size_t i = 1; i < f->nr_calls; i++)
		is_task[f->calls[i].function] &= !f->calls[i].caller;
	for (size_t i = 1; i < f->nr_functions; i++)
		is_task[i] = is_task[i] && names_task(other->profile, f->functions[i].name);
	return is_task;
}

static bool add_functions(struct changes *c, const struct flame_functions *f, bool is_before, const bool *is_task)
{
	for (size_t i = 1; i < f->nr_functions; i++) {
		const struct flame_function *fn = &f->functions[i];
		struct flame_report_change *change = fn->total && !is_task[i] ? find(c, fn->name) : NULL;
		double self = (double)fn->self / (double)f->total, total = (double)fn->total / (double)f->total;

		if (!fn->total || is_task[i])
			continue;
		if (!change)
			return false;
		*(is_before ? &change->before_self : &change->self) += self;
		*(is_before ? &change->before_total : &change->total) += total;
		/* Functions of one name in two files may call each other. */
		if (*(is_before ? &change->before_total : &change->total) > 1)
			*(is_before ? &change->before_total : &change->total) = 1;
		if (!change->file.len)
			change->file = fn->file;
	}
	return true;
}

static bool add_side(struct changes *c, const struct flame_functions *f, const struct flame_functions *other, bool is_before)
{
	bool *is_task = find_tasks(f, other), ok = is_task && add_functions(c, f, is_before, is_task);

	free(is_task);
	return ok;
}

static int by_size(const void *a, const void *b)
{
	const struct flame_report_change *x = a, *y = b;
	double p = fabs(x->total - x->before_total), q = fabs(y->total - y->before_total);

	if (p != q)
		return p < q ? 1 : -1;
	return flame_span_compare(x->name, y->name);
}

/* Where the number of samples is not known, a stack is at least one. Waits and allocations scatter: see compare.c. */
static double least_number(const struct flame_report_part *part)
{
	bool numbered = flame_numbering_of(part->profile, part->type) == FLAME_NUMBERED;
	bool scatters = part->kind == FLAME_VALUE_OFF_CPU || part->kind == FLAME_VALUE_LOCK || part->kind == FLAME_VALUE_ALLOCATION;
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < flame_nr_samples(part->profile); i++) {
		const struct flame_sample *s = flame_sample_get(part->profile, i);

		if (s->type != part->type)
			continue;
		sum += (double)s->value;
		squares += (double)s->value * (double)s->value / (numbered ? (double)s->nr_samples : 1);
	}
	return squares > 0 ? sum * sum / squares / (numbered && scatters ? 2 : 1) : 0;
}

/* How many independent samples tell as much as this run: runs differ by more than sampling, as fgdiff takes it too. */
static double size_of_run(const struct flame_report_part *part)
{
	double nr = part->nr_samples ? (double)part->nr_samples : least_number(part);

	return nr / (1 + nr / FLAME_RUN_SIZE);
}

/*
 * Which changes are more than chance: Fisher's test of each total, corrected by Holm's method for their number.
 * Return: false without memory.
 */
static bool judge(struct flame_report *r, double size_before, double size_after)
{
	struct flame_test *tests = calloc(r->nr_changes + 1, sizeof(*tests));
	double deviations = flame_deviations(1 - ALPHA);
	bool ok = tests;

	for (size_t i = 0; ok && i < r->nr_changes; i++) {
		struct flame_report_change *change = &r->changes[i];
		struct flame_portion before = { change->before_total, size_before };
		struct flame_portion after = { change->total, size_after };

		change->interval = flame_newcombe(before, after, deviations);
		tests[i].p = flame_fisher(before, after, &tests[i].least);
	}
	ok = ok && flame_holm(tests, r->nr_changes, ALPHA) != SIZE_MAX;
	for (size_t i = 0; ok && i < r->nr_changes; i++)
		r->changes[i].is_significant = tests[i].adjusted <= ALPHA;
	free(tests);
	return ok;
}

int flame_report_find_changes(struct flame_report *r)
{
	struct changes c = { .r = r };
	const struct flame_report_part *after = &r->parts[0], *before = &r->before;
	size_t nr = 0;
	bool ok;

	r->nr_changes = r->nr_within_noise = 0;
	ok = add_side(&c, &before->f, &after->f, true) && add_side(&c, &after->f, &before->f, false) &&
	     judge(r, size_of_run(before), size_of_run(after));
	free(c.by_name.slots);
	if (!ok)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < r->nr_changes; i++) {
		struct flame_report_change *change = &r->changes[i];

		if (fabs(change->total - change->before_total) < r->options.min)
			continue;
		if (change->is_significant)
			r->changes[nr++] = *change;
		else
			r->nr_within_noise++;
	}
	r->nr_changes = nr;
	if (nr)
		qsort(r->changes, nr, sizeof(*r->changes), by_size);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * report_paths.c - the call tree cut into paths.
 *
 * From the leaves to the root each function of the project keeps what it costs with the code of others that it calls, where that
 * is min or more, and else leaves it to the function of the project that called it. So each path is as deep as it
 * can be and still be worth its line, none is part of another, and their shares add up.
 */
#define _GNU_SOURCE
#include "report_paths.h"

#include <stdlib.h>

#include "span.h"
#include "sums.h"
#include "table.h"

struct paths {
	struct flame_report_part *part;
	const struct flame_report_options *options;
	const struct flame_functions *f;
	int64_t *values;	/* of each call: what it keeps */
	uint32_t *paths;	/* of each call: the path that it belongs to, counted from 1; 0: none */
	struct flame_report_path *all;	/* owned; those that are shown are the part's in the end */
	size_t nr, room;
};

static int compare_spans(struct flame_span a, struct flame_span b)
{
	int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

	return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

int flame_function_compare(const struct flame_function *a, const struct flame_function *b)
{
	int order = compare_spans(a->name, b->name);

	if (!order)
		order = compare_spans(a->module, b->module);
	return order ? order : compare_spans(a->file, b->file);
}

bool flame_line_before(const struct flame_profile *p, flame_frame a, flame_frame b)
{
	const struct flame_frame_info *x = flame_frame_get(p, a), *y = flame_frame_get(p, b);
	int order = compare_spans(flame_string_get(p, x->file), flame_string_get(p, y->file));

	if (!order && x->line != y->line)
		return x->line < y->line;
	return order ? order < 0 : compare_spans(flame_string_get(p, x->name), flame_string_get(p, y->name)) < 0;
}

flame_stack flame_stack_of_call(const struct flame_functions *f, flame_stack stack, uint32_t call)
{
	while (stack && f->of_stack[stack] != call)
		stack = flame_stack_caller(f->profile, stack);
	return stack;
}

/* Cutting. */

static bool may_end(const struct flame_call *call)
{
	return call->owner ? call->code == FLAME_CODE_PROJECT : true;
}

static bool cut(struct paths *p)
{
	const struct flame_functions *f = p->f;
	double least = p->options->min * (double)f->total;

	p->values = calloc(f->nr_calls, sizeof(*p->values));
	p->paths = calloc(f->nr_calls, sizeof(*p->paths));
	if (!p->values || !p->paths)
		return false;
	for (uint32_t i = (uint32_t)f->nr_calls; i-- > 1;) {
		const struct flame_call *call = &f->calls[i];
		struct flame_report_path path = { .call = i, .is_owned = call->owner == i };

		p->values[i] += call->self;
		if (!may_end(call) || !p->values[i] || (double)p->values[i] < least) {
			p->values[call->caller] += p->values[i];
			continue;
		}
		if (!array_reserve((void **)&p->all, &p->room, p->nr + 1, sizeof(*p->all)))
			return false;
		path.share = (double)p->values[i] / (double)f->total;
		path.error = flame_share_error(path.share, p->part->nr_samples);
		p->all[p->nr++] = path;
	}
	return true;
}

static int compare_calls(const struct flame_functions *f, uint32_t a, uint32_t b)
{
	int order = 0;

	for (; !order && a && b && a != b; a = f->calls[a].caller, b = f->calls[b].caller)
		order = flame_function_compare(&f->functions[f->calls[a].function], &f->functions[f->calls[b].function]);
	return order ? order : a < b ? -1 : a > b;
}

static int by_share(const void *a, const void *b, void *functions)
{
	const struct flame_report_path *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return compare_calls(functions, x->call, y->call);
}

/* Leave only as many as are asked for, and note which calls belong to them. */
static void choose(struct paths *p)
{
	const struct flame_functions *f = p->f;
	size_t nr = p->nr < p->options->top ? p->nr : p->options->top;
	double rest = 1;

	qsort_r(p->all, p->nr, sizeof(*p->all), by_share, (void *)(uintptr_t)f);
	/* What is not shown belongs to itself, not to a path above it. */
	for (size_t i = 0; i < p->nr; i++) {
		p->paths[p->all[i].call] = i < nr ? (uint32_t)i + 1 : UINT32_MAX;
		if (i < nr)
			rest -= p->all[i].share;
	}
	for (uint32_t i = 1; i < f->nr_calls; i++) {
		if (!p->paths[i])
			p->paths[i] = p->paths[f->calls[i].caller];
	}
	p->part->rest = rest > 1e-9 ? rest : 0;
	p->part->nr_more = p->nr - nr;
	p->nr = nr;
}

/* Lines. */

/* How much of each path goes through which frame of its owner. */
static bool add_lines(const struct paths *p, struct idmap *lines)
{
	const struct flame_functions *f = p->f;
	uint32_t nr = flame_nr_stacks(f->profile);
	flame_stack *anchors = calloc(nr, sizeof(*anchors));
	bool ok = anchors;

	/* The nearest stack that ends a path is the one that is wanted, but for recursion over other paths. */
	for (flame_stack s = 1; ok && s < nr; s++) {
		uint32_t call = f->of_stack[s], path = p->paths[call];
		uint32_t owner = path && path != UINT32_MAX ? p->all[path - 1].call : 0;

		anchors[s] = owner && call == owner ? s : anchors[flame_stack_caller(f->profile, s)];
		if (!f->selves[s] || !owner)
			continue;
		if (f->of_stack[anchors[s]] != owner)
			anchors[s] = flame_stack_of_call(f, s, owner);
		ok = sums_add(lines, path, flame_stack_frame(f->profile, anchors[s]), f->selves[s]);
	}
	free(anchors);
	return ok;
}

static bool find_lines(struct paths *p)
{
	struct idmap lines = { 0 };
	int64_t *best = calloc(p->nr + 1, sizeof(*best)), value;
	bool ok = best && add_lines(p, &lines);
	uint32_t path, frame;

	for (size_t at = 0; ok && sums_next(&lines, &at, &path, &frame, &value);) {
		struct flame_report_path *of = &p->all[path - 1];

		if (value > best[path] || (value == best[path] && flame_line_before(p->f->profile, frame, of->line))) {
			best[path] = value;
			of->line = frame;
			of->line_share = (double)value / (of->share * (double)p->f->total);
		}
	}
	idmap_release(&lines);
	free(best);
	return ok;
}

/* Pieces. */

#define PIECE_SHIFT 29	/* the kind of a piece, above its number */

static uint32_t piece_of(const struct flame_call *call, const struct flame_functions *f)
{
	switch (call->spent) {
	case FLAME_CODE_KERNEL:
		if (call->entry_name && call->entry == FLAME_ENTRY_SYSCALL)
			return (uint32_t)FLAME_PIECE_SYSCALL << PIECE_SHIFT | f->calls[call->entry_name].function;
		if (call->entry)
			return (uint32_t)FLAME_PIECE_ENTRY << PIECE_SHIFT | call->entry;
		break;
	case FLAME_CODE_GC:
	case FLAME_CODE_JIT:
	case FLAME_CODE_ALLOCATOR:
	case FLAME_CODE_LOCK:
		break;
	default:
		return (uint32_t)FLAME_PIECE_FUNCTION << PIECE_SHIFT | call->function;
	}
	return (uint32_t)FLAME_PIECE_CODE << PIECE_SHIFT | call->spent;
}

static bool piece_before(const struct flame_functions *f, const struct flame_report_piece *a, const struct flame_report_piece *b)
{
	if (a->share != b->share)
		return a->share > b->share;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	if (a->kind == FLAME_PIECE_FUNCTION || a->kind == FLAME_PIECE_SYSCALL)
		return flame_function_compare(&f->functions[a->id], &f->functions[b->id]) < 0;
	return a->id < b->id;
}

/* Keep the largest ones, in order. */
static void put_piece(const struct flame_functions *f, struct flame_report_path *path, struct flame_report_piece piece)
{
	size_t i = path->nr_pieces;

	if (i == FLAME_REPORT_PIECES && !piece_before(f, &piece, &path->pieces[--i]))
		return;
	for (; i && piece_before(f, &piece, &path->pieces[i - 1]); i--)
		path->pieces[i] = path->pieces[i - 1];
	path->pieces[i] = piece;
	path->nr_pieces += path->nr_pieces < FLAME_REPORT_PIECES;
}

static bool find_pieces(struct paths *p)
{
	const struct flame_functions *f = p->f;
	struct idmap sums = { 0 };
	uint32_t path, piece;
	int64_t value;
	bool ok = true;

	for (uint32_t i = 1; ok && i < f->nr_calls; i++) {
		path = p->paths[i];
		if (f->calls[i].self && path && path != UINT32_MAX)
			ok = sums_add(&sums, path, piece_of(&f->calls[i], f), f->calls[i].self);
	}
	for (size_t at = 0; ok && sums_next(&sums, &at, &path, &piece, &value);) {
		struct flame_report_piece found = {
			.kind = (enum flame_piece)(piece >> PIECE_SHIFT), .id = piece & ((1u << PIECE_SHIFT) - 1),
			.share = (double)value / (double)f->total,
		};

		put_piece(f, &p->all[path - 1], found);
	}
	idmap_release(&sums);
	return ok;
}

/* Steps. */

/*
 * Whether the step is worth its place: a function of the project, or of anybody on a path without it. The last caller is;
 * others that give on all that they got say nothing.
 */
static bool is_telling(const struct flame_functions *f, const struct flame_report_path *path, uint32_t call, uint32_t next,
		       size_t nr)
{
	if (path->is_owned && f->calls[call].code != FLAME_CODE_PROJECT)
		return false;
	return nr == 1 || (double)f->calls[next].total < 0.9 * (double)f->calls[call].total;
}

static void find_steps(const struct paths *p, struct flame_report_path *path)
{
	const struct flame_functions *f = p->f;
	uint32_t steps[FLAME_REPORT_STEPS];
	size_t nr = 1, most = p->options->depth < FLAME_REPORT_STEPS ? p->options->depth : FLAME_REPORT_STEPS;
	bool gap = false;

	/* From the leaf on, and then turned around. */
	steps[0] = f->calls[path->call].function;
	for (uint32_t call = path->call, next; (call = f->calls[next = call].caller);) {
		if (nr < most && is_telling(f, path, call, next, nr)) {
			path->gaps[nr - 1] = gap;
			steps[nr++] = f->calls[call].function;
			gap = false;
		} else if (!path->is_owned || f->calls[call].code == FLAME_CODE_PROJECT) {
			gap = true;
		}
	}
	path->gaps[nr - 1] = gap;
	for (size_t i = 0; i < nr; i++)
		path->steps[i] = steps[nr - 1 - i];
	for (size_t i = 0; i < nr / 2; i++) {
		bool swap = path->gaps[i];

		path->gaps[i] = path->gaps[nr - 1 - i];
		path->gaps[nr - 1 - i] = swap;
	}
	path->nr_steps = nr;
}

int flame_report_find_paths(struct flame_report_part *part, const struct flame_report_options *options)
{
	struct paths p = { .part = part, .options = options, .f = &part->f };
	bool ok = cut(&p);

	if (ok) {
		choose(&p);
		ok = find_lines(&p) && find_pieces(&p);
	}
	for (size_t i = 0; ok && i < p.nr; i++)
		find_steps(&p, &p.all[i]);
	free(p.values);
	free(p.paths);
	part->paths = p.all;
	part->nr_paths = ok ? p.nr : 0;
	return ok ? 0 : FLAME_ENOMEM;
}

/* SPDX-License-Identifier: MIT */
/*
 * report_paths.c - the call tree cut into what is worth a line each.
 *
 * A function of the project owns what it costs with the code of others that it calls. Where that is
 * min or more, on whatever paths, it gets a line. What is less is left to the function of the
 * project that called it, until it is min or more. So each line is as near to the leaf as it can
 * be, none is part of another, and their shares add up.
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
	uint32_t *ends;		/* of each call: the nearest one to the root that keeps something; 0: none */
	int64_t *direct;	/* of each owner: what it owns before smaller ones are added */
	uint32_t *rows;		/* of each owner: its row in all, counted from 1 */
	struct flame_report_path *all;	/* owned; those that are shown are the part's in the end */
	size_t nr, room;
	uint32_t *shown;	/* of each row of all, counted from 1: where it is in the end; 0: not shown */
};

int flame_span_compare(struct flame_span a, struct flame_span b)
{
	int order = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

	return order ? order : a.len < b.len ? -1 : a.len > b.len;
}

int flame_function_compare(const struct flame_function *a, const struct flame_function *b)
{
	int order = flame_span_compare(a->name, b->name);

	if (!order)
		order = flame_span_compare(a->module, b->module);
	return order ? order : flame_span_compare(a->file, b->file);
}

bool flame_line_before(const struct flame_profile *p, flame_frame a, flame_frame b)
{
	const struct flame_frame_info *x = flame_frame_get(p, a), *y = flame_frame_get(p, b);
	int order = flame_span_compare(flame_string_get(p, x->file), flame_string_get(p, y->file));

	if (!order && x->line != y->line)
		return x->line < y->line;
	return order ? order < 0 : flame_span_compare(flame_string_get(p, x->name), flame_string_get(p, y->name)) < 0;
}

#define LINE_DEPTH 1024	/* stacks that are looked through for one that recursion left behind */

/* Return: the stack at or above @stack whose call is @call; 0 where none is near. */
static flame_stack stack_of_call(const struct flame_functions *f, flame_stack stack, uint32_t call)
{
	for (unsigned int i = 0; i < LINE_DEPTH && stack; i++) {
		if (f->of_stack[stack] == call)
			return stack;
		stack = flame_stack_caller(f->profile, stack);
	}
	return 0;
}

/* Cutting. */

/* What the kernel and types cost belongs to who called; but for the kernel's own threads. */
static bool may_end(const struct flame_call *call)
{
	if (call->owner)
		return call->code == FLAME_CODE_PROJECT;
	return call->code != FLAME_CODE_TYPE && (call->code != FLAME_CODE_KERNEL || !call->has_user);
}

static int compare_calls(const struct flame_functions *f, uint32_t a, uint32_t b)
{
	int order = 0;

	for (; !order && a && b && a != b; a = f->calls[a].caller, b = f->calls[b].caller)
		order = flame_function_compare(&f->functions[f->calls[a].function], &f->functions[f->calls[b].function]);
	return order ? order : a < b ? -1 : a > b;
}

/*
 * Who gets the line of @call: its function; collectors and compilers without the project's code,
 * which have many, as one.
 */
static size_t owner_of(const struct flame_functions *f, const struct flame_call *call)
{
	if (!call->owner && (call->spent == FLAME_CODE_GC || call->spent == FLAME_CODE_JIT))
		return f->nr_functions + call->spent;
	return call->function;
}

static void add_direct(struct paths *p)
{
	const struct flame_functions *f = p->f;

	for (uint32_t i = 1; i < f->nr_calls; i++) {
		const struct flame_call *call = &f->calls[i];

		p->direct[owner_of(f, call->owner ? &f->calls[call->owner] : call)] += call->self;
	}
}

/* @call keeps its value: it is the owner's, and the largest one is what is shown of it. */
static bool keep(struct paths *p, uint32_t call)
{
	size_t owner = owner_of(p->f, &p->f->calls[call]);
	double share = (double)p->values[call] / (double)p->f->total;
	struct flame_report_path *path;

	p->ends[call] = call;
	if (!p->rows[owner]) {
		if (!array_reserve((void **)&p->all, &p->room, p->nr + 1, sizeof(*p->all)))
			return false;
		p->all[p->nr] = (struct flame_report_path){ .call = call, .is_owned = p->f->calls[call].owner == call };
		p->rows[owner] = (uint32_t)++p->nr;
	}
	path = &p->all[p->rows[owner] - 1];
	path->share += share;
	path->nr_ends++;
	if (share > path->end_share || (share == path->end_share && compare_calls(p->f, call, path->call) < 0)) {
		path->end_share = share;
		path->call = call;
	}
	return true;
}

static bool cut(struct paths *p)
{
	const struct flame_functions *f = p->f;
	size_t nr_owners = f->nr_functions + FLAME_NR_CODES;
	double least = p->options->min * (double)f->total;

	p->values = calloc(f->nr_calls, sizeof(*p->values));
	p->ends = calloc(f->nr_calls, sizeof(*p->ends));
	p->direct = calloc(nr_owners, sizeof(*p->direct));
	p->rows = calloc(nr_owners, sizeof(*p->rows));
	if (!p->values || !p->ends || !p->direct || !p->rows)
		return false;
	add_direct(p);
	for (uint32_t i = (uint32_t)f->nr_calls; i-- > 1;) {
		const struct flame_call *call = &f->calls[i];

		p->values[i] += call->self;
		if (p->values[i] && may_end(call) &&
		    ((double)p->values[i] >= least || (double)p->direct[owner_of(f, call)] >= least)) {
			if (!keep(p, i))
				return false;
		} else {
			p->values[call->caller] += p->values[i];
		}
	}
	for (uint32_t i = 1; i < f->nr_calls; i++) {
		if (!p->ends[i])
			p->ends[i] = p->ends[f->calls[i].caller];
	}
	return true;
}

static int by_share(const void *a, const void *b, void *paths)
{
	const struct flame_report_path *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return compare_calls(((const struct paths *)paths)->f, x->call, y->call);
}

/* The path that @call belongs to, counted from 1; 0: none that is shown. */
static uint32_t path_of(const struct paths *p, uint32_t call)
{
	uint32_t end = p->ends[call];

	return end ? p->shown[p->rows[owner_of(p->f, &p->f->calls[end])]] : 0;
}

/* Leave only as many as are asked for. */
static bool choose(struct paths *p)
{
	size_t nr = p->nr < p->options->top ? p->nr : p->options->top;
	double rest = 1;

	p->shown = calloc(p->nr + 1, sizeof(*p->shown));
	if (!p->shown)
		return false;
	if (p->nr)
		qsort_r(p->all, p->nr, sizeof(*p->all), by_share, p);
	for (size_t i = 0; i < nr; i++) {
		struct flame_report_path *path = &p->all[i];

		path->error = flame_share_error(path->share, p->part->nr_samples);
		p->shown[p->rows[owner_of(p->f, &p->f->calls[path->call])]] = (uint32_t)i + 1;
		rest -= path->share;
	}
	p->part->rest = rest > 1e-9 ? rest : 0;
	p->part->nr_more = p->nr - nr;
	p->nr = nr;
	return true;
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
		uint32_t call = f->of_stack[s], end = p->ends[call], path = path_of(p, call);

		anchors[s] = call == end && end ? s : anchors[flame_stack_caller(f->profile, s)];
		if (!f->selves[s] || !path)
			continue;
		if (f->of_stack[anchors[s]] != end)
			anchors[s] = stack_of_call(f, s, end);
		ok = !anchors[s] || sums_add(lines, path, flame_stack_frame(f->profile, anchors[s]), f->selves[s]);
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
	if (call->code == FLAME_CODE_TYPE)
		return (uint32_t)FLAME_PIECE_FUNCTION << PIECE_SHIFT | call->function;
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

static bool piece_before(const struct flame_functions *f, const struct flame_report_piece *a,
			 const struct flame_report_piece *b)
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
static void put_piece(const struct flame_functions *f, struct flame_report_piece *pieces, size_t *nr,
		      struct flame_report_piece piece)
{
	size_t i = *nr;

	if (i == FLAME_REPORT_PIECES && !piece_before(f, &piece, &pieces[--i]))
		return;
	for (; i && piece_before(f, &piece, &pieces[i - 1]); i--)
		pieces[i] = pieces[i - 1];
	pieces[i] = piece;
	*nr += *nr < FLAME_REPORT_PIECES;
}

/* Who calls the owners: what a helper costs is often to be changed there. */
static bool find_callers(struct paths *p)
{
	const struct flame_functions *f = p->f;
	struct idmap sums = { 0 };
	uint32_t path, function;
	int64_t value;
	bool ok = true;

	for (uint32_t i = 1; ok && i < f->nr_calls; i++) {
		uint32_t caller = f->calls[f->calls[i].caller].owner;

		path = p->ends[i] == i ? path_of(p, i) : 0;
		if (path && caller)
			ok = sums_add(&sums, path, f->calls[caller].function, p->values[i]);
	}
	for (size_t at = 0; ok && sums_next(&sums, &at, &path, &function, &value);) {
		struct flame_report_piece caller = { FLAME_PIECE_FUNCTION, function, (double)value / (double)f->total };

		put_piece(f, p->all[path - 1].callers, &p->all[path - 1].nr_callers, caller);
	}
	idmap_release(&sums);
	return ok;
}

static bool find_pieces(struct paths *p)
{
	const struct flame_functions *f = p->f;
	struct idmap sums = { 0 };
	uint32_t path, piece;
	int64_t value;
	bool ok = true;

	for (uint32_t i = 1; ok && i < f->nr_calls; i++) {
		path = path_of(p, i);
		if (f->calls[i].self && path)
			ok = sums_add(&sums, path, piece_of(&f->calls[i], f), f->calls[i].self);
	}
	for (size_t at = 0; ok && sums_next(&sums, &at, &path, &piece, &value);) {
		struct flame_report_piece found = {
			.kind = (enum flame_piece)(piece >> PIECE_SHIFT), .id = piece & ((1u << PIECE_SHIFT) - 1),
			.share = (double)value / (double)f->total,
		};

		put_piece(f, p->all[path - 1].pieces, &p->all[path - 1].nr_pieces, found);
	}
	idmap_release(&sums);
	return ok;
}

/* Steps. */

/* A step of @path may be any function of it, or of the project, where that owns it. */
static bool may_be_step(const struct flame_functions *f, const struct flame_report_path *path, uint32_t call)
{
	return !path->is_owned || f->calls[call].code == FLAME_CODE_PROJECT;
}

/* The last caller is worth its place; others that give on nearly all that they got say nothing. */
static bool is_telling(const struct flame_functions *f, uint32_t call, uint32_t next, size_t nr)
{
	return nr == 1 || (double)f->calls[next].total < 0.9 * (double)f->calls[call].total;
}

/* One more step towards the root; @skipped: those between it and the one before. */
static void put_step(struct flame_report_path *path, uint32_t function, size_t *skipped)
{
	if (path->nr_steps)
		path->gaps[path->nr_steps - 1] = *skipped;
	path->steps[path->nr_steps++] = function;
	*skipped = 0;
}

/* Steps are found from the leaf on. */
static void reverse_steps(struct flame_report_path *path)
{
	for (size_t i = 0, j = path->nr_steps; i + 1 < j--; i++) {
		uint32_t step = path->steps[i];
		bool gap = path->gaps[i];

		path->steps[i] = path->steps[j];
		path->gaps[i] = path->gaps[j];
		path->steps[j] = step;
		path->gaps[j] = gap;
	}
}

static void find_steps(const struct paths *p, struct flame_report_path *path)
{
	const struct flame_functions *f = p->f;
	size_t most = p->options->depth < FLAME_REPORT_STEPS ? p->options->depth : FLAME_REPORT_STEPS, skipped = 0, nr = 1;
	uint32_t first = 0;
	bool fits;

	for (uint32_t call = path->call; (call = f->calls[call].caller);)
		nr += may_be_step(f, path, call);
	fits = nr <= most;
	put_step(path, f->calls[path->call].function, &skipped);
	for (uint32_t call = path->call, next; (call = f->calls[next = call].caller);) {
		if (!may_be_step(f, path, call))
			continue;
		first = call;
		if (fits || (path->nr_steps + 1 < most && is_telling(f, call, next, path->nr_steps)))
			put_step(path, f->calls[call].function, &skipped);
		else
			skipped++;
	}
	/* Where it all begins is worth a place, too. */
	if (skipped && path->nr_steps < most) {
		skipped--;
		put_step(path, f->calls[first].function, &skipped);
	}
	path->gaps[path->nr_steps - 1] = skipped;
	reverse_steps(path);
}

int flame_report_find_paths(struct flame_report_part *part, const struct flame_report_options *options)
{
	struct paths p = { .part = part, .options = options, .f = &part->f };
	bool ok = cut(&p) && choose(&p);

	if (ok && p.all)
		ok = find_lines(&p) && find_pieces(&p) && find_callers(&p);
	for (size_t i = 0; ok && i < p.nr; i++)
		find_steps(&p, &p.all[i]);
	free(p.values);
	free(p.ends);
	free(p.direct);
	free(p.rows);
	free(p.shown);
	part->paths = p.all;
	part->nr_paths = ok ? p.nr : 0;
	return ok ? 0 : FLAME_ENOMEM;
}

/* SPDX-License-Identifier: MIT */
/*
 * report.c - the analysis of one profile: sections, each by a pass over functions or calls.
 */
#define _GNU_SOURCE
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_change.h"
#include "report_paths.h"
#include "span.h"
#include "sums.h"
#include "table.h"

#define HINT_SAMPLES 5	/* of what a hint is about; fewer are chance */
#define CONFIDENCE 1.96	/* standard errors to each side that hold 19 of 20 */

double flame_share_error(double share, uint64_t nr)
{
	return nr ? CONFIDENCE * sqrt(share * (1 - share > 0 ? 1 - share : 0) / (double)nr) : 0;
}

/* Widest top edges. */

static int by_self(const void *a, const void *b, void *functions)
{
	const struct flame_function *x = &((const struct flame_function *)functions)[*(const uint32_t *)a];
	const struct flame_function *y = &((const struct flame_function *)functions)[*(const uint32_t *)b];

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return flame_function_compare(x, y);
}

static bool choose_tops(struct flame_report_part *part, const struct flame_report_options *options)
{
	const struct flame_functions *f = &part->f;
	uint32_t *order = calloc(f->nr_functions, sizeof(*order));
	double least = options->min * (double)f->total;
	size_t nr = 0;

	part->tops = calloc(options->top, sizeof(*part->tops));
	if (!order || !part->tops) {
		free(order);
		return false;
	}
	for (uint32_t i = 1; i < f->nr_functions; i++) {
		if (f->functions[i].self && (double)f->functions[i].self >= least)
			order[nr++] = i;
	}
	qsort_r(order, nr, sizeof(*order), by_self, f->functions);
	for (size_t i = 0; i < nr && i < options->top; i++) {
		const struct flame_function *fn = &f->functions[order[i]];
		struct flame_report_top *top = &part->tops[part->nr_tops++];

		top->function = order[i];
		top->self = (double)fn->self / (double)f->total;
		top->total = (double)fn->total / (double)f->total;
		top->error = flame_share_error(top->self, part->nr_samples);
	}
	free(order);
	return true;
}

/* For whom what is not the project's own works: the project's functions that most of it is for. */
static bool find_owners(struct flame_report_part *part, const uint32_t *shown)
{
	const struct flame_functions *f = &part->f;
	struct idmap sums = { 0 };
	uint32_t top, owner;
	int64_t value;
	bool ok = true;

	for (uint32_t i = 1; ok && i < f->nr_calls; i++) {
		const struct flame_call *call = &f->calls[i];

		if (call->self && shown[call->function] && call->owner && call->owner != i)
			ok = sums_add(&sums, shown[call->function], f->calls[call->owner].function, call->self);
	}
	for (size_t at = 0; ok && sums_next(&sums, &at, &top, &owner, &value);) {
		struct flame_report_top *of = &part->tops[top - 1];
		double share = (double)value / (double)f->functions[of->function].self;

		if (share > of->owner_share || (share == of->owner_share && of->owner &&
		    flame_function_compare(&f->functions[owner], &f->functions[of->owner]) < 0)) {
			of->owner = owner;
			of->owner_share = share;
		}
	}
	idmap_release(&sums);
	return ok;
}

static bool find_owner_lines(struct flame_report_part *part, const uint32_t *shown)
{
	const struct flame_functions *f = &part->f;
	int64_t *best = calloc(part->nr_tops + 1, sizeof(*best)), value;
	flame_stack *owners = calloc(flame_nr_stacks(f->profile), sizeof(*owners));
	struct idmap sums = { 0 };
	uint32_t top, frame;
	bool ok = best && owners;

	/* The nearest stack of the project is the owner's: recursion does not go back over project code. */
	for (flame_stack s = 1; ok && s < flame_nr_stacks(f->profile); s++) {
		const struct flame_call *call = &f->calls[f->of_stack[s]];

		top = shown[call->function];
		owners[s] = call->owner == f->of_stack[s] ? s : owners[flame_stack_caller(f->profile, s)];
		if (f->selves[s] && top && call->owner && f->calls[call->owner].function == part->tops[top - 1].owner)
			ok = sums_add(&sums, top, flame_stack_frame(f->profile, owners[s]), f->selves[s]);
	}
	for (size_t at = 0; ok && sums_next(&sums, &at, &top, &frame, &value);) {
		struct flame_report_top *of = &part->tops[top - 1];

		if (value > best[top] || (value == best[top] && flame_line_before(f->profile, frame, of->owner_line))) {
			best[top] = value;
			of->owner_line = frame;
		}
	}
	idmap_release(&sums);
	free(owners);
	free(best);
	return ok;
}

static bool find_tops(struct flame_report_part *part, const struct flame_report_options *options)
{
	uint32_t *shown = calloc(part->f.nr_functions, sizeof(*shown));
	bool ok = shown && choose_tops(part, options);

	for (size_t i = 0; ok && i < part->nr_tops; i++)
		shown[part->tops[i].function] = (uint32_t)i + 1;
	ok = ok && find_owners(part, shown) && find_owner_lines(part, shown);
	free(shown);
	return ok;
}

/* Where it is spent. */

static void add_spent(struct flame_report_part *part)
{
	const struct flame_functions *f = &part->f;

	for (uint32_t i = 0; i < f->nr_calls; i++)
		part->spent[f->calls[i].spent] += (double)f->calls[i].self / (double)f->total;
}

static struct flame_report_entry *find_entry(struct flame_report_part *part, const struct flame_call *call,
					     size_t *room)
{
	enum flame_kernel_entry entry = (enum flame_kernel_entry)call->entry;
	struct flame_span name = { "", 0 };
	size_t i = 0;

	if (entry == FLAME_ENTRY_SYSCALL && call->entry_name)
		flame_kernel_entry(part->f.functions[part->f.calls[call->entry_name].function].name, &name);
	while (i < part->nr_entries && (part->entries[i].entry != entry || part->entries[i].name.len != name.len ||
					memcmp(part->entries[i].name.s, name.s, name.len)))
		i++;
	if (i == part->nr_entries) {
		if (!array_reserve((void **)&part->entries, room, i + 1, sizeof(*part->entries)))
			return NULL;
		part->entries[part->nr_entries++] = (struct flame_report_entry){ .entry = entry, .name = name };
	}
	return &part->entries[i];
}

static int by_entry_share(const void *a, const void *b)
{
	const struct flame_report_entry *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	if (x->entry != y->entry)
		return x->entry < y->entry ? -1 : 1;
	return flame_span_compare(x->name, y->name);
}

#define ENTRIES_MAX 1024	/* ways into the kernel; there are fewer system calls */

static bool find_entries(struct flame_report_part *part)
{
	const struct flame_functions *f = &part->f;
	size_t room = 0;

	for (uint32_t i = 1; i < f->nr_calls; i++) {
		const struct flame_call *call = &f->calls[i];
		struct flame_report_entry *entry;

		if (!call->self || call->spent != FLAME_CODE_KERNEL || part->nr_entries == ENTRIES_MAX)
			continue;
		entry = find_entry(part, call, &room);
		if (!entry)
			return false;
		entry->share += (double)call->self / (double)f->total;
		entry->works[call->work] += (double)call->self / (double)f->total;
	}
	if (part->nr_entries)
		qsort(part->entries, part->nr_entries, sizeof(*part->entries), by_entry_share);
	return true;
}

/* Processes and threads. */

static int by_task_share(const void *a, const void *b)
{
	const struct flame_report_task *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return flame_span_compare(x->name, y->name);
}

static bool find_tasks(struct flame_report_part *part)
{
	const struct flame_profile *p = part->profile;
	uint32_t nr = flame_nr_stacks(p);
	int64_t *totals = malloc(nr * sizeof(*totals));
	size_t room = 0;

	if (!totals)
		return false;
	memcpy(totals, part->f.selves, nr * sizeof(*totals));
	for (flame_stack s = nr; s-- > 1;)
		totals[flame_stack_caller(p, s)] += totals[s];
	for (flame_stack s = 1; s < nr; s++) {
		const struct flame_frame_info *info = flame_frame_get(p, flame_stack_frame(p, s));

		if (flame_stack_caller(p, s) || info->kind != FLAME_TASK || !totals[s])
			continue;
		if (!array_reserve((void **)&part->tasks, &room, part->nr_tasks + 1, sizeof(*part->tasks))) {
			free(totals);
			return false;
		}
		part->tasks[part->nr_tasks++] = (struct flame_report_task){
			flame_string_get(p, info->name), (double)totals[s] / (double)part->f.total,
		};
	}
	free(totals);
	if (part->nr_tasks)
		qsort(part->tasks, part->nr_tasks, sizeof(*part->tasks), by_task_share);
	return true;
}

/* All of it. */

/* How many samples the errors are computed from: 0 for durations and sizes that were measured, or sums. */
static uint64_t sampled(const struct flame_report_part *part)
{
	double busy = (double)part->f.total / ((double)part->f.total + (double)part->f.idle);
	bool is_sampled = part->kind == FLAME_VALUE_ON_CPU || part->kind == FLAME_VALUE_WALL ||
			  part->kind == FLAME_VALUE_OTHER;

	return is_sampled && !part->quality.at_least ? (uint64_t)((double)part->quality.nr_samples * busy) : 0;
}

/* The largest come first. */
static void drop_chance_hints(struct flame_report_part *part)
{
	while (part->nr_samples && part->nr_hints &&
	       part->hints[part->nr_hints - 1].share * (double)part->nr_samples < HINT_SAMPLES)
		part->nr_hints--;
}

static void release_part(struct flame_report_part *part)
{
	flame_functions_release(&part->f);
	flame_quality_release(&part->quality);
	free(part->tops);
	free(part->paths);
	free(part->entries);
	free(part->tasks);
}

/*
 * Text may not say what it measures; where nearly all stacks end with a switch to another thread, whatever they
 * weigh, it is blocked time.
 */
static bool ends_in_scheduler(const struct flame_report_part *part)
{
	static const char *const names[] = { "__schedule", "schedule", "finish_task_switch", "__sched_text_start" };
	const struct flame_profile *p = part->profile;
	double all = 0, found = 0;
	size_t nr = 0, nr_found = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);
		struct flame_span name = flame_string_get(p, flame_frame_get(p, flame_stack_frame(p, s->stack))->name);
		double value = s->type == part->type && s->value > 0 ? (double)s->value : 0;
		bool switches = span_starts(name, "finish_task_switch.");

		for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++)
			switches |= span_equals(name, names[k]);
		all += value;
		found += switches ? value : 0;
		nr += value > 0;
		nr_found += value > 0 && switches;
	}
	return found > 0.8 * all && (double)nr_found > 0.8 * (double)nr;
}

/* Python's interpreter is where its functions run: only without these it is worth a hint. */
static void drop_python_hint(struct flame_report_part *part)
{
	size_t nr = 0;

	for (size_t i = 0; i < part->nr_hints; i++) {
		if (strcmp(part->hints[i].hint->id, "python-eval") != 0 || part->quality.shares.python_loop >= 0.1)
			part->hints[nr++] = part->hints[i];
	}
	part->nr_hints = nr;
}

static int read_part(struct flame_report *r, struct flame_report_part *part)
{
	struct flame_quality_options quality = { .count = r->options.count };
	int err;

	if (!part->kind)
		part->kind = flame_type_get(part->profile, part->type)->kind;
	if (!part->kind && ends_in_scheduler(part))
		part->kind = FLAME_VALUE_OFF_CPU;
	err = flame_functions_init(&part->f, part->profile, part->type, part->kind, r->owner);
	if (!err && !part->f.total)
		err = FLAME_EEMPTY;
	if (!err)
		err = flame_quality_check(&part->quality, part->profile, part->type, &quality);
	if (err)
		return err;
	part->nr_samples = sampled(part);
	add_spent(part);
	if (!find_tops(part, &r->options) || !find_entries(part) || !find_tasks(part) ||
	    flame_report_find_paths(part, &r->options))
		return FLAME_ENOMEM;
	part->nr_hints = flame_hints_give(&part->f, part->kind, part->hints);
	if (part->nr_hints == SIZE_MAX)
		return FLAME_ENOMEM;
	drop_python_hint(part);
	drop_chance_hints(part);
	return 0;
}

void flame_report_init(struct flame_report *r, const struct flame_report_options *options, struct flame_owner *owner)
{
	*r = (struct flame_report){ .owner = owner };
	if (options)
		r->options = *options;
	if (!r->options.top)
		r->options.top = 8;
	if (!r->options.depth)
		r->options.depth = 6;
	if (r->options.min <= 0)
		r->options.min = 0.03;
}

int flame_report_add(struct flame_report *r, const struct flame_profile *p, flame_type type, enum flame_value_kind kind,
		     const char *input)
{
	struct flame_report_part part = { .input = input, .profile = p, .type = type, .kind = kind };
	int err = read_part(r, &part);

	if (!err && !array_reserve((void **)&r->parts, &r->room_parts, r->nr_parts + 1, sizeof(*r->parts)))
		err = FLAME_ENOMEM;
	if (err) {
		release_part(&part);
		return err;
	}
	r->parts[r->nr_parts++] = part;
	return 0;
}

int flame_report_compare(struct flame_report *r, const struct flame_profile *p, flame_type type, const char *input)
{
	int err;

	r->before = (struct flame_report_part){ .input = input, .profile = p, .type = type };
	err = read_part(r, &r->before);
	if (!err)
		err = flame_report_find_changes(r);
	if (err)
		release_part(&r->before);
	r->has_before = !err;
	return err;
}

/* Whether a part shows @type of @part's profile. */
static bool is_shown(const struct flame_report *r, const struct flame_report_part *part, flame_type type)
{
	struct flame_span name = flame_string_get(part->profile, flame_type_get(part->profile, type)->name);

	for (const struct flame_report_part *other = r->parts; other < r->parts + r->nr_parts; other++) {
		if (other->profile == part->profile && other->type == type)
			return true;
	}
	/* pprof has the number of samples beside what they measure: that is no other event. */
	return span_equals(name, "samples");
}

/* "page-faults, faults": what no part shows of @part's profile. Return: how many; *@text: owned by the caller. */
static size_t list_unshown(const struct flame_report *r, const struct flame_report_part *part, char **text)
{
	const struct flame_profile *p = part->profile;
	bool *has = calloc(flame_nr_types(p), sizeof(*has));
	FILE *out = has ? open_memstream(text, &(size_t){ 0 }) : NULL;
	size_t nr = 0;

	for (uint32_t i = 0; out && i < flame_nr_samples(p); i++)
		has[flame_sample_get(p, i)->type] |= flame_sample_get(p, i)->value != 0;
	for (flame_type type = 1; out && type < flame_nr_types(p); type++) {
		struct flame_span name = flame_string_get(p, flame_type_get(p, type)->name);

		if (has[type] && !is_shown(r, part, type))
			fprintf(out, "%s%.*s", nr++ ? ", " : "the recording also holds what is not shown here: ", (int)name.len,
				name.s);
	}
	free(has);
	if (out && fclose(out)) {
		free(*text);
		*text = NULL;
	}
	return nr;
}

static int tell_unshown(const struct flame_report *r, struct flame_report_part *part, struct flame_finding *finding)
{
	struct flame_quality *q = &part->quality;
	char *text = NULL;
	bool told = false;
	size_t nr;

	for (const struct flame_report_part *other = r->parts; other < part; other++)
		told |= other->profile == part->profile;
	nr = told ? 0 : list_unshown(r, part, &text);
	if (!told && !text)
		return FLAME_ENOMEM;
	free(finding->what);
	finding->what = text;
	finding->number = (double)nr;
	if (nr)
		return 0;
	free(text);
	free(finding->cause);
	free(finding->remedy);
	memmove(finding, finding + 1, (size_t)(q->findings + q->nr_findings - (finding + 1)) * sizeof(*finding));
	q->nr_findings--;
	return 0;
}

int flame_report_finish(struct flame_report *r)
{
	int err = 0;

	for (struct flame_report_part *part = r->parts; !err && part < r->parts + r->nr_parts; part++) {
		for (size_t i = part->quality.nr_findings; !err && i-- > 0;) {
			if (!strcmp(part->quality.findings[i].id, "other-events"))
				err = tell_unshown(r, part, &part->quality.findings[i]);
		}
	}
	return err;
}

void flame_report_release(struct flame_report *r)
{
	for (size_t i = 0; i < r->nr_parts; i++)
		release_part(&r->parts[i]);
	if (r->has_before)
		release_part(&r->before);
	free(r->parts);
	free(r->changes);
	*r = (struct flame_report){ 0 };
}

/* SPDX-License-Identifier: MIT */
/*
 * functions.c - from stacks of frames to calls of functions: one pass over the stacks, whose
 * callers come first.
 */
#define _GNU_SOURCE
#include "functions.h"

#include <stdlib.h>

#include "hash.h"
#include "hints.h"
#include "place.h"
#include "span.h"
#include "table.h"

#define RECURSION_DEPTH 256	/* calls that are looked through for an earlier one of the same function */

struct builder {
	struct flame_functions *f;
	struct flame_owner *owner;
	bool has_types;		/* leaves may be types of objects */
	struct index by_name;	/* functions by name and module: the first of those that differ in their file */
	struct index by_call;	/* calls by caller and function */
};

/* Functions. */

static uint32_t name_hash(const struct flame_function *fn)
{
	return hash_pair((uint32_t)hash_bytes(fn->name.s, fn->name.len), (uint32_t)hash_bytes(fn->module.s, fn->module.len));
}

static bool equal(struct flame_span a, struct flame_span b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

static uint32_t find_name(const struct builder *b, const struct flame_function *fn, uint32_t hash)
{
	const struct index *x = &b->by_name;
	uint32_t row;

	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (equal(b->f->functions[row].name, fn->name) && equal(b->f->functions[row].module, fn->module))
			return row;
	}
	return 0;
}

static bool grow_names(struct builder *b)
{
	if (!index_grow(&b->by_name))
		return false;
	/* Only the first function of a name is in it. */
	for (uint32_t i = 1; i < b->f->nr_functions; i++) {
		if (!find_name(b, &b->f->functions[i], name_hash(&b->f->functions[i])))
			index_put(&b->by_name, name_hash(&b->f->functions[i]), i);
	}
	return true;
}

static uint32_t add_function(struct builder *b, const struct flame_function *fn, uint32_t first, uint32_t hash)
{
	struct flame_functions *f = b->f;

	if (f->nr_functions >= UINT32_MAX ||
	    !array_reserve((void **)&f->functions, &f->room_functions, f->nr_functions + 1, sizeof(*f->functions)) ||
	    (!first && !index_has_room(&b->by_name) && !grow_names(b)))
		return 0;
	f->functions[f->nr_functions] = *fn;
	if (first) {
		f->functions[f->nr_functions].next = f->functions[first].next;
		f->functions[first].next = (uint32_t)f->nr_functions;
	} else {
		index_put(&b->by_name, hash, (uint32_t)f->nr_functions);
	}
	return (uint32_t)f->nr_functions++;
}

/*
 * The function of @fn's name, module and file. Where a frame's file is not known it is the one of
 * that name: its first. Return: 0 without memory.
 */
static uint32_t function_row(struct builder *b, const struct flame_function *fn)
{
	uint32_t hash = name_hash(fn), first = find_name(b, fn, hash), row = first;

	while (row && !equal(b->f->functions[row].file, fn->file))
		row = b->f->functions[row].next;
	if (row || (first && !fn->file.len))
		return row ? row : first;
	return add_function(b, fn, first, hash);
}

static struct flame_function function_of(const struct flame_profile *p, const struct flame_frame_info *info)
{
	struct flame_place place = { .name = flame_string_get(p, info->name) };
	struct flame_function fn = { .module = flame_string_get(p, info->module), .file = flame_string_get(p, info->file) };
	bool is_anonymous;

	if (info->kind != FLAME_TASK && info->kind != FLAME_KERNEL)
		place = flame_place_parse(place.name);
	/* Of functions without a name, "(anonymous)" or "JS:*", the place is the name. */
	is_anonymous = span_equals(place.name, "(anonymous)") || (place.name.len == 4 && span_starts(place.name, "JS:"));
	fn.name = is_anonymous ? flame_string_get(p, info->name) : place.name;
	if (!fn.file.len && place.file.len)
		fn.file = place.file;
	fn.is_nameless = flame_owner_is_nameless(fn.name);
	return fn;
}

/* async-profiler and JFR mark the type of an object as they mark code that was inlined, or the kernel's. */
static bool is_type(const struct flame_frame_info *info, const struct flame_function *fn)
{
	bool is_marked = info->kind == FLAME_KERNEL || info->kind == FLAME_INLINED || info->kind == FLAME_JIT_INLINED;

	return is_marked && !info->line && !fn->file.len && !fn->module.len;
}

static void classify(struct builder *b, const struct flame_frame_info *info, struct flame_function *fn)
{
	struct flame_code_place place = { .name = fn->name, .module = fn->module, .file = fn->file, .kind = info->kind };

	fn->code = flame_owner_code(b->owner, &place, &fn->why);
	if (b->has_types && is_type(info, fn)) {
		fn->code = FLAME_CODE_TYPE;
		fn->why = "what is allocated or locked";
	}
	fn->hints = flame_hints_of(fn->name, fn->code);
}

/* Frames with a file first, so that those without one find their function. */
static bool map_frames(struct builder *b, bool with_file)
{
	const struct flame_profile *p = b->f->profile;

	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		const struct flame_frame_info *info = flame_frame_get(p, i);
		struct flame_function fn = function_of(p, info);
		size_t nr = b->f->nr_functions;

		if ((fn.file.len > 0) != with_file || info->kind == FLAME_TASK || info->kind == FLAME_MARKER)
			continue;
		b->f->of_frame[i] = function_row(b, &fn);
		if (!b->f->of_frame[i])
			return false;
		if (b->f->nr_functions > nr)
			classify(b, info, &b->f->functions[nr]);
	}
	return true;
}

static bool make_functions(struct builder *b)
{
	struct flame_functions *f = b->f;

	f->of_frame = calloc(flame_nr_frames(f->profile), sizeof(*f->of_frame));
	if (!f->of_frame || !array_reserve((void **)&f->functions, &f->room_functions, 1, sizeof(*f->functions)))
		return false;
	f->functions[0] = (struct flame_function){ .name = { "", 0 }, .module = { "", 0 }, .file = { "", 0 } };
	f->nr_functions = 1;
	b->owner->is_go = false;
	for (flame_frame i = 1; i < flame_nr_frames(f->profile) && !b->owner->is_go; i++)
		b->owner->is_go = flame_owner_shows_go(flame_string_get(f->profile, flame_frame_get(f->profile, i)->name));
	return map_frames(b, true) && map_frames(b, false);
}

/* Calls. */

static bool is_project(const struct flame_call *call)
{
	return call->code == FLAME_CODE_PROJECT;
}

/* What time is counted as that is spent in @code, called by @caller. */
static enum flame_code spent_as(enum flame_code code, const struct flame_call *caller)
{
	switch (code) {
	case FLAME_CODE_PROJECT:
	case FLAME_CODE_KERNEL:
	case FLAME_CODE_IDLE:
	case FLAME_CODE_GC:
	case FLAME_CODE_JIT:
		return code;
	case FLAME_CODE_TYPE:
		return (enum flame_code)caller->spent;
	default:
		break;
	}
	switch (caller->spent) {
	case FLAME_CODE_GC:
	case FLAME_CODE_JIT:
	case FLAME_CODE_ALLOCATOR:
	case FLAME_CODE_LOCK:
		return (enum flame_code)caller->spent;
	default:
		return code;
	}
}

static void enter_kernel(const struct flame_functions *f, uint32_t row, struct flame_call *call)
{
	const struct flame_call *caller = &f->calls[call->caller];
	struct flame_span name;
	enum flame_kernel_entry entry = flame_kernel_entry(f->functions[call->function].name, &name);
	enum flame_kernel_work work = flame_kernel_work(f->functions[call->function].name);

	call->entry = caller->entry;
	call->entry_name = caller->entry_name;
	if (work == FLAME_WORK_SCHEDULER && f->is_blocked)
		work = FLAME_WORK_OTHER;
	call->work = work ? (uint8_t)work : caller->work;
	/* An interrupt is one whatever it interrupts; a fault while copying belongs to the system call. */
	if (entry == FLAME_ENTRY_INTERRUPT || !call->entry)
		call->entry = (uint8_t)entry;
	if (entry == FLAME_ENTRY_SYSCALL && call->entry == FLAME_ENTRY_SYSCALL && name.len && !call->entry_name)
		call->entry_name = row;
}

static bool grow_calls(struct builder *b)
{
	if (!index_grow(&b->by_call))
		return false;
	for (uint32_t i = 1; i < b->f->nr_calls; i++)
		index_put(&b->by_call, hash_pair(b->f->calls[i].caller, b->f->calls[i].function), i);
	return true;
}

static uint32_t add_call(struct builder *b, uint32_t caller, uint32_t function, uint32_t hash)
{
	struct flame_functions *f = b->f;
	struct flame_call call = { .function = function, .caller = caller };
	uint32_t row = (uint32_t)f->nr_calls;

	if (!array_reserve((void **)&f->calls, &f->room_calls, f->nr_calls + 1, sizeof(*f->calls)) ||
	    (!index_has_room(&b->by_call) && !grow_calls(b)))
		return 0;
	call.code = (uint8_t)f->functions[function].code;
	if (f->calls[caller].code == FLAME_CODE_KERNEL && call.code != FLAME_CODE_IDLE)
		call.code = FLAME_CODE_KERNEL;
	if (f->calls[caller].code == FLAME_CODE_IDLE)
		call.code = FLAME_CODE_IDLE;
	if (call.code == FLAME_CODE_KERNEL)
		enter_kernel(f, row, &call);
	call.has_user = f->calls[caller].has_user || call.code != FLAME_CODE_KERNEL;
	call.spent = (uint8_t)spent_as((enum flame_code)call.code, &f->calls[caller]);
	call.owner = is_project(&call) ? row : f->calls[caller].owner;
	f->calls[row] = call;
	f->functions[function].has_nodes = true;
	index_put(&b->by_call, hash, row);
	f->nr_calls++;
	return row;
}

/* Return: the call that @function goes back to when it is called from @caller; 0 where it does not. */
static uint32_t find_recursion(const struct flame_functions *f, uint32_t caller, uint32_t function)
{
	const struct flame_function *fn = &f->functions[function];

	if (f->calls[caller].function == function && caller)
		return caller;
	if (!fn->has_nodes || fn->is_nameless)
		return 0;
	for (unsigned int i = 0; i < RECURSION_DEPTH && caller; i++) {
		if (f->calls[caller].function == function)
			return caller;
		if (fn->code != FLAME_CODE_PROJECT && is_project(&f->calls[caller]))
			return 0;
		caller = f->calls[caller].caller;
	}
	return 0;
}

/* Return: the call; UINT32_MAX without memory. */
static uint32_t call_row(struct builder *b, uint32_t caller, uint32_t function)
{
	uint32_t hash = hash_pair(caller, function), row = find_recursion(b->f, caller, function);
	const struct index *x = &b->by_call;

	if (row)
		return row;
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (b->f->calls[row].caller == caller && b->f->calls[row].function == function)
			return row;
	}
	row = add_call(b, caller, function, hash);
	return row ? row : UINT32_MAX;
}

static bool make_calls(struct builder *b)
{
	struct flame_functions *f = b->f;
	const struct flame_profile *p = f->profile;

	f->of_stack = calloc(flame_nr_stacks(p), sizeof(*f->of_stack));
	if (!f->of_stack || !array_reserve((void **)&f->calls, &f->room_calls, 1, sizeof(*f->calls)))
		return false;
	f->calls[0] = (struct flame_call){ .code = FLAME_CODE_UNKNOWN, .spent = FLAME_CODE_UNKNOWN };
	f->nr_calls = 1;
	for (flame_stack s = 1; s < flame_nr_stacks(p); s++) {
		flame_frame frame = flame_stack_frame(p, s);
		uint32_t caller = f->of_stack[flame_stack_caller(p, s)];
		enum flame_kind kind = flame_frame_get(p, frame)->kind;

		if (kind == FLAME_TASK || kind == FLAME_MARKER)
			f->of_stack[s] = caller;
		else
			f->of_stack[s] = call_row(b, caller, f->of_frame[frame]);
		if (f->of_stack[s] == UINT32_MAX)
			return false;
	}
	return true;
}

/* Values. */

static int add_samples(struct flame_functions *f)
{
	const struct flame_profile *p = f->profile;

	f->selves = calloc(flame_nr_stacks(p), sizeof(*f->selves));
	if (!f->selves)
		return FLAME_ENOMEM;
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);
		struct flame_call *call = &f->calls[f->of_stack[s->stack]];
		bool is_idle = call->code == FLAME_CODE_IDLE;

		if (s->type != f->type)
			continue;
		if (s->value < 0)
			return FLAME_EARG;
		if (__builtin_add_overflow(is_idle ? f->idle : f->total, s->value, is_idle ? &f->idle : &f->total))
			return FLAME_EOVERFLOW;
		if (is_idle)
			continue;
		call->self += s->value;
		f->selves[s->stack] += s->value;
	}
	return 0;
}

/* Values of calls with all that they call. */
static void add_call_totals(struct flame_functions *f)
{
	for (uint32_t i = (uint32_t)f->nr_calls; i-- > 1;) {
		f->calls[i].total += f->calls[i].self;
		f->calls[f->calls[i].caller].total += f->calls[i].total;
	}
	f->calls[0].total += f->calls[0].self;
}

/* The tree of the profile's stacks, as the walk over it needs it. */
struct stacks {
	int64_t *totals;
	flame_stack *children, *siblings;	/* first child, next of the caller's; 0: none */
	uint32_t *open;				/* of each function: how often it is on the way to the root */
};

static bool prepare_stacks(struct stacks *t, const struct flame_functions *f)
{
	uint32_t nr = flame_nr_stacks(f->profile);

	t->totals = malloc(nr * sizeof(*t->totals));
	t->children = calloc(nr, sizeof(*t->children));
	t->siblings = calloc(nr, sizeof(*t->siblings));
	t->open = calloc(f->nr_functions, sizeof(*t->open));
	if (!t->totals || !t->children || !t->siblings || !t->open)
		return false;
	memcpy(t->totals, f->selves, nr * sizeof(*t->totals));
	for (flame_stack s = nr; s-- > 1;) {
		flame_stack caller = flame_stack_caller(f->profile, s);

		t->totals[caller] += t->totals[s];
		t->siblings[s] = t->children[caller];
		t->children[caller] = s;
	}
	return true;
}

/*
 * Calls cannot tell the totals of functions, as recursion goes back in them: stacks do. Only the
 * outermost of a function adds to its total.
 */
static void walk_stacks(struct flame_functions *f, const struct stacks *t)
{
	flame_stack at = 0;
	bool down = true;

	do {
		uint32_t function = at ? f->of_frame[flame_stack_frame(f->profile, at)] : 0;

		if (down && !t->open[function]++)
			f->functions[function].total += t->totals[at];
		if (down && t->children[at]) {
			at = t->children[at];
			continue;
		}
		t->open[function]--;
		down = at && t->siblings[at];
		at = down ? t->siblings[at] : flame_stack_caller(f->profile, at);
	} while (at || down);
}

static bool add_totals(struct flame_functions *f)
{
	struct stacks t = { 0 };
	bool ok = prepare_stacks(&t, f);

	if (ok)
		walk_stacks(f, &t);
	free(t.totals);
	free(t.children);
	free(t.siblings);
	free(t.open);
	add_call_totals(f);
	return ok;
}

/* Self values of functions, and the line at which most of it is. */
static bool add_selves(struct flame_functions *f)
{
	uint32_t nr = flame_nr_frames(f->profile);
	int64_t *frames = calloc(nr, sizeof(*frames));

	if (!frames)
		return false;
	for (flame_stack s = 1; s < flame_nr_stacks(f->profile); s++)
		frames[flame_stack_frame(f->profile, s)] += f->selves[s];
	for (flame_frame i = 1; i < nr; i++) {
		struct flame_function *fn = &f->functions[f->of_frame[i]];

		fn->self += frames[i];
		if (frames[i] && (!fn->line || frames[i] > frames[fn->line]))
			fn->line = i;
	}
	free(frames);
	return true;
}

int flame_functions_init(struct flame_functions *f, const struct flame_profile *p, flame_type type,
			 enum flame_value_kind kind, struct flame_owner *owner)
{
	struct builder b = {
		.f = f, .owner = owner, .has_types = kind == FLAME_VALUE_ALLOCATION || kind == FLAME_VALUE_LOCK,
	};
	int err;

	*f = (struct flame_functions){ .profile = p, .type = type, .is_blocked = kind == FLAME_VALUE_OFF_CPU };
	err = make_functions(&b) && make_calls(&b) ? add_samples(f) : FLAME_ENOMEM;
	if (!err && (!add_totals(f) || !add_selves(f)))
		err = FLAME_ENOMEM;
	free(b.by_name.slots);
	free(b.by_call.slots);
	if (err)
		flame_functions_release(f);
	return err;
}

void flame_functions_release(struct flame_functions *f)
{
	free(f->functions);
	free(f->calls);
	free(f->of_frame);
	free(f->of_stack);
	free(f->selves);
	*f = (struct flame_functions){ 0 };
}

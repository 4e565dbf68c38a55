/* SPDX-License-Identifier: MIT */
/*
 * callgrind - the profile format of valgrind's callgrind, which pprof, yappi, cProfile's converters and others
 * also write:
 *
 *     events: Ir
 *     fl=(1) file.c
 *     fn=(1) main
 *     16 20
 *     cfn=(2) work
 *     calls=1 50
 *     16 400
 *
 * It sums costs by function and by call (caller, callee), and holds no stacks. They are made here: what a
 * function and its callees cost is split among its callers by what their calls cost. Costs of each function by
 * itself are exact; how they are spread over stacks is a guess wherever a function has several callers, and may
 * show stacks that never were. What cannot be placed (recursion through others, shares below CALLGRIND_SHARE)
 * stands below "[callers unknown]".
 *
 * Seen: callgrind 3.19 (name and position compression, --dump-instr, --collect-jumps, several parts), yappi, pprof
 * --callgrind. Not read: positions, jumps, numbers of calls.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/idmap.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"

#define CALLGRIND_EVENTS 64
#define CALLGRIND_SHARE 1e-6		/* of the total; less is not followed */
#define CALLGRIND_STACKS 1000000	/* stacks made for one event */

struct function {
	flame_frame frame;
	uint32_t first_call;	/* row of calls + 1 */
	uint32_t cost;		/* into costs */
	bool on_path;
	/* Of the event that is being split: */
	int64_t left;		/* of its own cost, not placed yet */
	uint32_t nr_placed;
	flame_stack biggest;	/* stack with most of it */
	int64_t biggest_value;
};

struct call {
	uint32_t callee;
	uint32_t next;		/* of the same caller, + 1 */
	uint32_t cost;
};

/* A function on the path that is being walked. */
struct visit {
	uint32_t function;
	uint32_t next_call;	/* + 1 */
	flame_stack stack;
	double ratio;		/* of the function's costs that belongs here */
};

enum name_kind { NAME_OBJECT, NAME_FILE, NAME_FUNCTION };

struct state {
	flame_type types[CALLGRIND_EVENTS];
	size_t nr_events, nr_positions;
	struct function *functions;
	size_t nr_functions, room_functions;
	struct call *calls;
	size_t nr_calls, room_calls;
	int64_t *costs;		/* nr_events for each function and call */
	size_t nr_costs, room_costs;
	struct idmap names;	/* by kind and number in the file: string row */
	struct idmap by_name;	/* by function and object: row of functions + 1 */
	struct idmap by_call;	/* by caller and callee: row of calls + 1 */
	flame_string object, file, callee_object, callee_file, callee_name;
	uint32_t function;	/* + 1 */
	bool in_call;		/* the next costs are those of a call */
	bool skip_line;		/* behind a jump */
	struct flame_namer namer;
	struct visit *path;
	size_t nr_path, room_path;
	uint64_t nr_stacks;
};

/* Names. */

/* "(12) name", "(12)" or "name". Return: false for a number without a name that was not seen before. */
static bool read_name(struct flame_reader *rd, enum name_kind kind, struct flame_span s, flame_string *name)
{
	struct state *st = rd->state;
	int64_t id;
	size_t digits = span_starts(s, "(") ? span_digits(span_from(s, 1), &id) : 0;
	uint64_t key, value = 0;

	if (!digits || digits + 1 >= s.len || s.s[digits + 1] != ')') {
		*name = flame_intern(rd->profile, s.s, s.len);
		return true;
	}
	key = (uint64_t)id << 2 | kind;
	s = span_trim(span_from(s, digits + 2));
	if (!s.len) {
		bool known = idmap_value(&st->names, key, &value);

		*name = (flame_string)value;
		return known;
	}
	*name = flame_intern(rd->profile, s.s, s.len);
	return idmap_set(&st->names, key, *name);
}

/* Return: the place of a new row of costs; 0 without memory, as the first is never used. */
static uint32_t new_costs(struct state *st)
{
	size_t at = st->nr_costs ? st->nr_costs : st->nr_events;

	if (at + st->nr_events > UINT32_MAX ||
	    !array_reserve((void **)&st->costs, &st->room_costs, at + st->nr_events, sizeof(*st->costs)))
		return 0;
	memset(st->costs + at, 0, st->nr_events * sizeof(*st->costs));
	st->nr_costs = at + st->nr_events;
	return (uint32_t)at;
}

/*
 * Functions of one name in one object are one; their files may differ by what was inlined. Return: row + 1; 0
 * without memory.
 */
static uint32_t find_function(struct flame_reader *rd, flame_string name, flame_string object, flame_string file)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .module = object, .file = file };
	uint64_t key = (uint64_t)object << 32 | name, row = 0;
	struct flame_span text = flame_string_get(rd->profile, name);
	struct function f = { 0 };
	char *buf;

	if (idmap_value(&st->by_name, key, &row))
		return (uint32_t)row;
	buf = flame_namer_room(&st->namer, text.len + 1);
	f.cost = new_costs(st);
	if (!buf || !f.cost || st->nr_functions >= UINT32_MAX - 1 ||
	    !array_reserve((void **)&st->functions, &st->room_functions, st->nr_functions + 1, sizeof(f)))
		return 0;
	/* A span of the profile's strings does not survive the next one. */
	memcpy(buf, text.s, text.len);
	f.frame = flame_namer_frame(&st->namer, rd, (struct flame_span){ buf, text.len }, &info);
	st->functions[st->nr_functions++] = f;
	return idmap_set(&st->by_name, key, st->nr_functions) ? (uint32_t)st->nr_functions : 0;
}

/* Return: row of the call + 1; 0 without memory. */
static uint32_t find_call(struct state *st, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee, row = 0;
	struct function *f = &st->functions[caller - 1];
	struct call c = { .callee = callee - 1, .next = f->first_call };

	if (idmap_value(&st->by_call, key, &row))
		return (uint32_t)row;
	c.cost = new_costs(st);
	if (!c.cost || st->nr_calls >= UINT32_MAX - 1 ||
	    !array_reserve((void **)&st->calls, &st->room_calls, st->nr_calls + 1, sizeof(c)))
		return 0;
	st->calls[st->nr_calls++] = c;
	f->first_call = (uint32_t)st->nr_calls;
	return idmap_set(&st->by_call, key, st->nr_calls) ? (uint32_t)st->nr_calls : 0;
}

/* Lines. */

static int read_events(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;
	struct flame_span word;

	if (st->nr_events)
		return 0;
	while (st->nr_events < CALLGRIND_EVENTS && span_word(&s, &word)) {
		struct flame_type_info info = {
			.name = flame_intern(rd->profile, word.s, word.len),
			.unit = flame_intern(rd->profile, "count", 5),
			.kind = FLAME_VALUE_ON_CPU,
		};

		st->types[st->nr_events++] = flame_type_row(rd->profile, &info);
	}
	if (span_word(&s, &word))
		flame_note(rd, "only the first %d events are read (CALLGRIND_EVENTS)", CALLGRIND_EVENTS);
	return st->nr_events ? 0 : flame_fail(rd, FLAME_EFORMAT, "no event behind \"events:\"");
}

static void read_positions(struct state *st, struct flame_span s)
{
	struct flame_span word;

	st->nr_positions = 0;
	while (span_word(&s, &word))
		st->nr_positions++;
}

/* "16 20 3": positions, then costs; those at the end that are 0 may be missing. */
static int read_costs(struct flame_reader *rd, struct flame_span s, uint32_t at)
{
	struct state *st = rd->state;
	struct flame_span word;

	for (size_t i = 0; i < st->nr_positions; i++) {
		if (!span_word(&s, &word))
			return flame_skip(rd, "too few positions in a line of costs");
	}
	for (size_t i = 0; i < st->nr_events && span_word(&s, &word); i++) {
		int64_t cost, *sum = &st->costs[at + i];

		if (!span_is_int(word, &cost))
			return flame_skip(rd, "no number in a line of costs");
		if (__builtin_add_overflow(*sum, cost, sum))
			return flame_fail(rd, FLAME_EOVERFLOW, "the sum of the costs does not fit 64 bits");
	}
	return 0;
}

static int read_call_costs(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;
	uint32_t callee, call;

	st->in_call = false;
	callee = find_function(rd, st->callee_name, st->callee_object ? st->callee_object : st->object,
			       st->callee_file ? st->callee_file : st->file);
	st->callee_object = st->callee_file = 0;
	call = callee ? find_call(st, st->function, callee) : 0;
	return call ? read_costs(rd, s, st->calls[call - 1].cost) : FLAME_ENOMEM;
}

static int read_cost_line(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;

	if (st->skip_line) {
		st->skip_line = false;
		return 0;
	}
	if (!st->function)
		return flame_skip(rd, "costs without a function before them");
	if (st->in_call)
		return read_call_costs(rd, s);
	return read_costs(rd, s, st->functions[st->function - 1].cost);
}

enum key {
	KEY_OBJECT, KEY_FILE, KEY_INNER_FILE, KEY_FUNCTION, KEY_CALLEE_OBJECT, KEY_CALLEE_FILE, KEY_CALLEE, KEY_CALLS,
	KEY_JUMP, KEY_OTHER,
};

static const struct {
	const char *name;
	enum key key;
	enum name_kind kind;
} keys[] = {
	{ "fn=", KEY_FUNCTION, NAME_FUNCTION },
	{ "cfn=", KEY_CALLEE, NAME_FUNCTION },
	{ "fl=", KEY_FILE, NAME_FILE },
	{ "fi=", KEY_INNER_FILE, NAME_FILE },
	{ "fe=", KEY_INNER_FILE, NAME_FILE },
	{ "cfi=", KEY_CALLEE_FILE, NAME_FILE },
	{ "cfl=", KEY_CALLEE_FILE, NAME_FILE },
	{ "jfi=", KEY_OTHER, NAME_FILE },
	{ "jfn=", KEY_OTHER, NAME_FUNCTION },
	{ "ob=", KEY_OBJECT, NAME_OBJECT },
	{ "cob=", KEY_CALLEE_OBJECT, NAME_OBJECT },
	{ "calls=", KEY_CALLS, NAME_OBJECT },
	{ "jump=", KEY_JUMP, NAME_OBJECT },
	{ "jcnd=", KEY_JUMP, NAME_OBJECT },
};

static int use_key(struct flame_reader *rd, enum key key, flame_string name)
{
	struct state *st = rd->state;

	switch (key) {
	case KEY_OBJECT: st->object = name; break;
	case KEY_FILE: st->file = name; break;
	case KEY_CALLEE_OBJECT: st->callee_object = name; break;
	case KEY_CALLEE_FILE: st->callee_file = name; break;
	case KEY_CALLEE: st->callee_name = name; break;
	case KEY_FUNCTION:
		if (!st->nr_events)
			return flame_fail(rd, FLAME_EFORMAT, "a function before the line \"events:\"");
		st->function = find_function(rd, name, st->object, st->file);
		return st->function ? 0 : FLAME_ENOMEM;
	default: break;
	}
	return 0;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	flame_string name;

	line = span_trim(line);
	if (!line.len || line.s[0] == '#')
		return 0;
	if (strchr("0123456789+-*", line.s[0]))
		return read_cost_line(rd, line);
	if (span_starts(line, "events:"))
		return read_events(rd, span_from(line, 7));
	if (span_starts(line, "positions:"))
		read_positions(st, span_from(line, 10));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (!span_starts(line, keys[i].name))
			continue;
		if (keys[i].key == KEY_CALLS || keys[i].key == KEY_JUMP) {
			st->in_call = keys[i].key == KEY_CALLS;
			st->skip_line = keys[i].key == KEY_JUMP;
			return 0;
		}
		if (!read_name(rd, keys[i].kind, span_from(line, strlen(keys[i].name)), &name))
			return flame_skip(rd, "a number in place of a name that was not given before");
		return use_key(rd, keys[i].key, name);
	}
	return 0;
}

/* From calls to stacks, for one event. */

static int64_t call_cost(const struct state *st, const struct call *c, size_t event)
{
	return st->costs[c->cost + event];
}

/* What @f and the callees that may be followed cost. */
static double followed(const struct state *st, const struct function *f, size_t event)
{
	double sum = (double)st->costs[f->cost + event];

	for (uint32_t i = f->first_call; i; i = st->calls[i - 1].next) {
		const struct call *c = &st->calls[i - 1];

		if (!st->functions[c->callee].on_path)
			sum += (double)call_cost(st, c, event);
	}
	return sum;
}

/* A part of the function's own cost belongs to this stack. */
static int place(struct flame_reader *rd, struct function *f, flame_stack stack, int64_t value, flame_type type)
{
	struct flame_sample s = { .stack = stack, .type = type, .value = value, .nr_samples = 1 };

	if (value > f->left)
		value = f->left;
	if (value <= 0)
		return 0;
	s.value = value;
	f->left -= value;
	f->nr_placed++;
	if (value > f->biggest_value) {
		f->biggest_value = value;
		f->biggest = stack;
	}
	return flame_sample_add(rd->profile, &s);
}

/* Step into function @row, of whose costs @weight came this way. */
static int visit(struct flame_reader *rd, uint32_t row, flame_stack caller, double weight, size_t event)
{
	struct state *st = rd->state;
	struct function *f = &st->functions[row];
	struct visit v = { .function = row, .next_call = f->first_call };
	double all;

	f->on_path = true;
	all = followed(st, f, event);
	v.ratio = all > weight ? weight / all : 1;
	v.stack = flame_stack_push(rd->profile, caller, f->frame);
	st->nr_stacks++;
	if (!array_reserve((void **)&st->path, &st->room_path, st->nr_path + 1, sizeof(v)))
		return FLAME_ENOMEM;
	st->path[st->nr_path++] = v;
	return place(rd, f, v.stack, (int64_t)((double)st->costs[f->cost + event] * v.ratio + 0.5), st->types[event]);
}

/* One step of the walk: into the next callee of the innermost function, or back. */
static int step(struct flame_reader *rd, size_t event, double least)
{
	struct state *st = rd->state;
	struct visit *v = &st->path[st->nr_path - 1];
	const struct call *c;
	double weight;

	if (!v->next_call) {
		st->functions[v->function].on_path = false;
		st->nr_path--;
		return 0;
	}
	c = &st->calls[v->next_call - 1];
	v->next_call = c->next;
	weight = (double)call_cost(st, c, event) * v->ratio;
	if (weight < least || st->functions[c->callee].on_path || st->nr_stacks >= CALLGRIND_STACKS)
		return 0;
	return visit(rd, c->callee, v->stack, weight, event);
}

/* What each function costs with its callees, less what its callers' calls cost: it begins stacks with that. */
static double *root_weights(struct state *st, size_t event, double *total)
{
	double *weights = calloc(st->nr_functions + 1, sizeof(*weights));

	*total = 0;
	for (uint32_t i = 0; weights && i < st->nr_functions; i++) {
		struct function *f = &st->functions[i];

		f->left = st->costs[f->cost + event];
		f->nr_placed = 0;
		f->biggest_value = 0;
		*total += (double)f->left;
		weights[i] += (double)f->left;
		for (uint32_t n = f->first_call; n; n = st->calls[n - 1].next) {
			const struct call *c = &st->calls[n - 1];

			/* Calls of itself cost what is counted already. */
			if (c->callee == i)
				continue;
			weights[i] += (double)call_cost(st, c, event);
			weights[c->callee] -= (double)call_cost(st, c, event);
		}
	}
	return weights;
}

/* What rounding left goes to the function's biggest stack, the rest below a root of its own. */
static int place_rest(struct flame_reader *rd, size_t event)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_MARKER };
	flame_frame frame = flame_namer_frame(&st->namer, rd, (struct flame_span){ "[callers unknown]", 17 }, &info);
	int err = 0;

	for (uint32_t i = 0; !err && i < st->nr_functions; i++) {
		struct function *f = &st->functions[i];
		flame_stack stack = f->biggest;

		if (!f->left)
			continue;
		if (!f->nr_placed || f->left > f->nr_placed)
			stack = flame_stack_push(rd->profile, flame_stack_push(rd->profile, 0, frame), f->frame);
		err = place(rd, f, stack, f->left, st->types[event]);
	}
	return err;
}

static int split_event(struct flame_reader *rd, size_t event)
{
	struct state *st = rd->state;
	double total, *weights = root_weights(st, event, &total), least = total * CALLGRIND_SHARE;
	int err = weights ? 0 : FLAME_ENOMEM;

	least = least < 0.5 ? 0.5 : least;
	st->nr_stacks = 0;
	for (uint32_t i = 0; !err && i < st->nr_functions; i++) {
		if (weights[i] < least || st->nr_stacks >= CALLGRIND_STACKS)
			continue;
		err = visit(rd, i, 0, weights[i], event);
		while (!err && st->nr_path)
			err = step(rd, event, least);
	}
	free(weights);
	if (!err && st->nr_stacks >= CALLGRIND_STACKS)
		flame_note(rd, "more than %d stacks (CALLGRIND_STACKS): what is left is below [callers unknown]",
			   CALLGRIND_STACKS);
	return err ? err : place_rest(rd, event);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->nr_positions = 1;
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	for (size_t i = 0; !err && i < st->nr_events; i++)
		err = split_event(rd, i);
	if (!err && st->nr_calls)
		flame_note(rd, "callgrind's files hold calls, not stacks: which stack a cost belongs to is "
			   "estimated where a function has several callers");
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->functions);
	free(st->calls);
	free(st->costs);
	free(st->path);
	idmap_release(&st->names);
	idmap_release(&st->by_name);
	idmap_release(&st->by_call);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	bool events = false;
	struct flame_span line;

	if (span_starts(head, "# callgrind format"))
		return FLAME_SCORE_MAGIC;
	while (span_line(&head, &line)) {
		events |= span_starts(line, "events:");
		if (events && (span_starts(line, "fn=") || span_starts(line, "fl=")))
			return FLAME_SCORE_MAGIC;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_callgrind_converter = {
	.name = "callgrind",
	.summary = "callgrind's and KCachegrind's profiles; stacks are estimated from calls",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

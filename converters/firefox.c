/* SPDX-License-Identifier: MIT */
/*
 * firefox - profiles of the Firefox Profiler (JSON): what profiler.firefox.com saves and samply writes, Gecko's
 * own raw profiles (MOZ_PROFILER_SHUTDOWN), and the performance panel of old Developer Tools, which wraps one of
 * these.
 *
 *     {"meta":{"interval":1,"preprocessedProfileVersion":50},
 *      "threads":[{"name":"GeckoMain","pid":1,"tid":1,
 *        "samples":{"stack":[0,1,null],"time":[0,1,2],"weight":null,"length":3},
 *        "stackTable":{"prefix":[null,0],"frame":[0,1]},"frameTable":{"func":[0,1],"line":[null,7]},
 *        "funcTable":{"name":[0,1]},"stringArray":["main","work"]}]}
 *
 * Processed profiles have a column a member; raw ones a schema and rows of data, with "name (file:line)" as a
 * frame's location. Tables stand in each thread, or (versions 56 to 60 and later) in "shared". Seen: Gecko 9,
 * processed as described up to version 70. Not read: markers, counters, memory, categories.
 *
 * Events: samples (or bytes, or tracing-ms, where samples have weights of these), then time, that to the
 * thread's next sample, then cpu, where threadCPUDelta is in time units. In old Developer Tools' files time
 * comes first, and frames of the browser itself are left out, as the panel did, but for --raw-names.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/json.h"
#include "../core/meta.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"

/* Columns that are needed. */
enum column {
	STACK_PREFIX, STACK_OFFSET, STACK_FRAME,
	FRAME_FUNC, FRAME_LINE, FRAME_LOCATION, FRAME_TIER, FRAME_INLINE,
	FUNC_NAME, FUNC_RESOURCE, FUNC_FILE, FUNC_SOURCE, FUNC_LINE, RESOURCE_NAME, SOURCE_FILE, SAMPLE_STACK,
	SAMPLE_TIME, SAMPLE_DELTA, SAMPLE_WEIGHT, SAMPLE_CPU, NR_COLUMNS,
};

static const struct {
	const char *table, *name;
} names[NR_COLUMNS] = {
	[STACK_PREFIX] = { "stackTable", "prefix" },
	[STACK_OFFSET] = { "stackTable", "prefixOffset" },
	[STACK_FRAME] = { "stackTable", "frame" },
	[FRAME_FUNC] = { "frameTable", "func" },
	[FRAME_LINE] = { "frameTable", "line" },
	[FRAME_LOCATION] = { "frameTable", "location" },
	[FRAME_TIER] = { "frameTable", "implementation" },
	[FRAME_INLINE] = { "frameTable", "inlineDepth" },
	[FUNC_NAME] = { "funcTable", "name" },
	[FUNC_RESOURCE] = { "funcTable", "resource" },
	[FUNC_FILE] = { "funcTable", "fileName" },
	[FUNC_SOURCE] = { "funcTable", "source" },
	[FUNC_LINE] = { "funcTable", "lineNumber" },
	[RESOURCE_NAME] = { "resourceTable", "name" },
	[SOURCE_FILE] = { "sources", "filename" },
	[SAMPLE_STACK] = { "samples", "stack" },
	[SAMPLE_TIME] = { "samples", "time" },
	[SAMPLE_DELTA] = { "samples", "timeDeltas" },
	[SAMPLE_WEIGHT] = { "samples", "weight" },
	[SAMPLE_CPU] = { "samples", "threadCPUDelta" },
};

/* Numbers as they come; NAN for null and what is no number. Columns of texts in raw profiles hold rows of strings. */
struct values {
	double *v;
	size_t nr, room;
};

struct tables {
	struct values columns[NR_COLUMNS];
	flame_string *strings;
	size_t nr_strings, room_strings;
};

struct thread {
	struct tables tables;
	flame_string name;
	int64_t pid, tid;
	char weight_type[16];
};

struct state {
	struct flame_json json;
	struct tables shared;
	struct thread *waiting;		/* for tables that they share */
	size_t nr_waiting, room_waiting;
	uint64_t nr_threads;
	bool old_panel;			/* of Developer Tools */
	bool cpu_is_time;
	double cpu_factor;		/* ns a unit of threadCPUDelta */
	double interval;		/* ms */
	uint64_t nr_samples;
	uint64_t nr_bad;		/* rows that lead nowhere */
	struct flame_namer namer;
};

static void release_tables(struct tables *t)
{
	for (size_t i = 0; i < NR_COLUMNS; i++)
		free(t->columns[i].v);
	free(t->strings);
	*t = (struct tables){ 0 };
}

/* Reading JSON. Functions return 0, FLAME_EFORMAT to stop at the JSON's error, or a failure. */

static int skip_value(struct state *st)
{
	return flame_json_skip(&st->json) == FLAME_JSON_ERROR ? FLAME_EFORMAT : 0;
}

static int skip_rest(struct state *st, enum flame_json_token token)
{
	return token != FLAME_JSON_ERROR && flame_json_skip_rest(&st->json, token) ? 0 : FLAME_EFORMAT;
}

static int add_value(struct values *c, double value)
{
	if (!array_reserve((void **)&c->v, &c->room, c->nr + 1, sizeof(*c->v)))
		return FLAME_ENOMEM;
	c->v[c->nr++] = value;
	return 0;
}

/* A value of a column that began with @token. Texts become rows of strings. */
static int read_value(struct flame_reader *rd, enum flame_json_token token, double *value)
{
	struct state *st = rd->state;

	*value = NAN;
	if (token == FLAME_JSON_NUMBER)
		*value = flame_json_double(&st->json);
	else if (token == FLAME_JSON_STRING)
		*value = flame_intern(rd->profile, st->json.text.s, st->json.text.len);
	else
		return skip_rest(st, token);
	return 0;
}

static int read_column(struct flame_reader *rd, struct values *c)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	double value;
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(st, token);
	c->nr = 0;
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		err = read_value(rd, token, &value);
		if (!err)
			err = add_value(c, value);
	}
	return err;
}

static enum column find_column(const char *table, struct flame_span name)
{
	for (int i = 0; i < NR_COLUMNS; i++) {
		if (!strcmp(names[i].table, table) && span_equals(name, names[i].name))
			return (enum column)i;
	}
	return NR_COLUMNS;
}

#define MAX_POSITIONS 32

/* {"stack":0,"time":1}: which column stands where in a row. */
static int read_schema(struct flame_reader *rd, const char *table, enum column *at)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(&st->json)) == FLAME_JSON_KEY) {
		enum column c = find_column(table, st->json.text);
		int64_t place;

		token = flame_json_next(&st->json);
		if (token == FLAME_JSON_NUMBER && flame_json_int(&st->json, &place) && place >= 0 &&
		    place < MAX_POSITIONS)
			at[place] = c;
		else
			err = skip_rest(st, token);
	}
	return token == FLAME_JSON_ERROR ? FLAME_EFORMAT : err;
}

/* A row of raw data; what it does not have is null. */
static int read_row(struct flame_reader *rd, const enum column *at, struct tables *t)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	double row[NR_COLUMNS], value;
	int err = 0;

	for (size_t i = 0; i < NR_COLUMNS; i++)
		row[i] = NAN;
	for (size_t i = 0; !err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END; i++) {
		err = read_value(rd, token, &value);
		if (i < MAX_POSITIONS && at[i] != NR_COLUMNS)
			row[at[i]] = value;
	}
	for (size_t i = 0; !err && i < MAX_POSITIONS; i++) {
		if (at[i] != NR_COLUMNS)
			err = add_value(&t->columns[at[i]], row[at[i]]);
	}
	return err;
}

static int read_data(struct flame_reader *rd, const enum column *at, struct tables *t)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END)
		err = token == FLAME_JSON_ARRAY ? read_row(rd, at, t) : skip_rest(st, token);
	return err;
}

/* Two schemas that give one place to a column would add it twice a row. */
static void drop_doubles(enum column *at)
{
	for (size_t i = 0; i < MAX_POSITIONS; i++) {
		for (size_t j = 0; j < i; j++) {
			if (at[i] == at[j])
				at[i] = NR_COLUMNS;
		}
	}
}

/* @weight_type: gets the text of "weightType"; may be NULL. */
static int read_table(struct flame_reader *rd, const char *table, struct tables *t, char *weight_type, size_t room)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum flame_json_token token = flame_json_next(json);
	enum column at[MAX_POSITIONS];
	int err = 0;

	for (size_t i = 0; i < MAX_POSITIONS; i++)
		at[i] = NR_COLUMNS;
	if (token != FLAME_JSON_OBJECT)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(json)) == FLAME_JSON_KEY) {
		enum column c = find_column(table, json->text);

		if (c != NR_COLUMNS) {
			err = read_column(rd, &t->columns[c]);
		} else if (flame_json_is(json, "schema")) {
			err = read_schema(rd, table, at);
			drop_doubles(at);
		} else if (flame_json_is(json, "data")) {
			err = read_data(rd, at, t);
		} else if (flame_json_is(json, "weightType") && weight_type) {
			token = flame_json_next(json);
			if (token == FLAME_JSON_STRING && json->text.len < room)
				memcpy(weight_type, json->text.s, json->text.len);
			err = skip_rest(st, token);
		} else {
			err = skip_value(st);
		}
	}
	return token == FLAME_JSON_ERROR ? FLAME_EFORMAT : err;
}

static int read_strings(struct flame_reader *rd, struct tables *t)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (!array_reserve((void **)&t->strings, &t->room_strings, t->nr_strings + 1, sizeof(*t->strings)))
			return FLAME_ENOMEM;
		t->strings[t->nr_strings++] = token == FLAME_JSON_STRING ?
					      flame_intern(rd->profile, st->json.text.s, st->json.text.len) : 0;
		err = skip_rest(st, token);
	}
	return err;
}

/* The member whose name was read, if it is a table. */
static int read_tables_member(struct flame_reader *rd, struct tables *t, struct thread *thread)
{
	struct state *st = rd->state;
	static const char *const tables[] = {
		"stackTable", "frameTable", "funcTable", "resourceTable", "sources", "samples",
	};

	char *weight_type = thread ? thread->weight_type : NULL;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		if (flame_json_is(&st->json, tables[i]))
			return read_table(rd, tables[i], t, weight_type, sizeof(thread->weight_type));
	}
	if (flame_json_is(&st->json, "stringArray") || flame_json_is(&st->json, "stringTable"))
		return read_strings(rd, t);
	return skip_value(st);
}

/* Frames. */

static double value_at(const struct values *c, double row)
{
	return row >= 0 && row < (double)c->nr ? c->v[(size_t)row] : NAN;
}

static flame_string string_at(const struct tables *t, double row)
{
	return row >= 0 && row < (double)t->nr_strings ? t->strings[(size_t)row] : 0;
}

static uint32_t line_of(double line)
{
	return line >= 1 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* How the columns of one thread are found: its own, or the shared ones. */
struct view {
	const struct values *columns[NR_COLUMNS];
	const struct tables *strings;
};

static void make_view(const struct state *st, const struct thread *thread, struct view *v)
{
	for (size_t i = 0; i < NR_COLUMNS; i++) {
		const struct values *own = &thread->tables.columns[i];

		v->columns[i] = own->nr || i >= SAMPLE_STACK ? own : &st->shared.columns[i];
	}
	v->strings = thread->tables.nr_strings ? &thread->tables : &st->shared;
}

static double look(const struct view *v, enum column c, double row)
{
	return value_at(v->columns[c], row);
}

/* "name (file:line:column)", of raw profiles; the file may hold " -> ", of which the last part counts. */
static struct flame_span parse_location(struct flame_reader *rd, struct flame_span s, struct flame_frame_info *info)
{
	const char *open = s.len && s.s[s.len - 1] == ')' ? memrchr(s.s, '(', s.len) : NULL;
	struct flame_span name, place, number[2];
	int64_t n[2];
	int nr = 0;

	if (!open || open == s.s || open[-1] != ' ')
		return s;
	name = span_trim_end(span_to(s, (size_t)(open - s.s)));
	place = span_to(span_from(s, (size_t)(open - s.s) + 1), (size_t)(s.s + s.len - open) - 2);
	for (const char *colon; nr < 2 && (colon = place.len ? memrchr(place.s, ':', place.len) : NULL); nr++) {
		number[nr] = span_from(place, (size_t)(colon - place.s) + 1);
		if (!span_is_int(number[nr], &n[nr]))
			break;
		place = span_to(place, (size_t)(colon - place.s));
	}
	if (nr)
		info->line = line_of((double)n[nr - 1]);
	info->file = flame_intern(rd->profile, place.s, place.len);
	return name;
}

/* Of old Developer Tools' files: frames that the panel did not show. */
static bool is_platform(struct flame_span location, struct flame_span file)
{
	return file.len == 0 || span_starts(file, "resource:") || span_starts(file, "chrome:") ||
	       span_starts(file, "self-hosted") || span_find(location, "self-hosted") < location.len;
}

static enum flame_kind kind_of(struct flame_span tier, double inlined)
{
	if (inlined > 0)
		return FLAME_INLINED;
	if (span_equals(tier, "ion") || span_equals(tier, "baseline") || span_equals(tier, "wasm-ion") ||
	    span_equals(tier, "wasm-baseline"))
		return FLAME_JIT;
	return span_equals(tier, "blinterp") || span_equals(tier, "interpreter") ? FLAME_INTERPRETED : FLAME_USER;
}

static flame_string tier_of(const struct view *v, double row)
{
	double tier = look(v, FRAME_TIER, row);

	return string_at(v->strings, tier);
}

/* Return: the frame; 0 for one that is not shown, *failed after a failure. */
static flame_frame make_frame(struct flame_reader *rd, const struct view *v, double row, bool *failed)
{
	struct state *st = rd->state;
	struct flame_profile *p = rd->profile;
	double func = look(v, FRAME_FUNC, row), location = look(v, FRAME_LOCATION, row);
	double resource = look(v, FUNC_RESOURCE, func), file = look(v, FUNC_FILE, func);
	flame_string text = string_at(v->strings, isnan(location) ? look(v, FUNC_NAME, func) : location);
	struct flame_span name = flame_string_get(p, text), tier = flame_string_get(p, tier_of(v, row));
	struct flame_frame_info info = { .kind = kind_of(tier, look(v, FRAME_INLINE, row)) };
	char *buf = flame_namer_room(&st->namer, name.len + 1);
	flame_frame frame;

	*failed = !buf;
	if (!buf)
		return 0;
	memcpy(buf, name.s, name.len);
	name = (struct flame_span){ buf, name.len };
	info.module = string_at(v->strings, look(v, RESOURCE_NAME, resource));
	info.file = string_at(v->strings, isnan(file) ? look(v, SOURCE_FILE, look(v, FUNC_SOURCE, func)) : file);
	info.line = line_of(look(v, FUNC_LINE, func));
	if (!isnan(location))
		name = parse_location(rd, name, &info);
	if (st->old_panel && !rd->options->raw_names &&
	    is_platform((struct flame_span){ buf, flame_string_get(p, text).len }, flame_string_get(p, info.file)))
		return 0;
	if (line_of(look(v, FRAME_LINE, row)))
		info.line = line_of(look(v, FRAME_LINE, row));
	frame = flame_namer_frame(&st->namer, rd, name, &info);
	*failed = !frame;
	return frame;
}

/* Stacks. */

/* Return: the row of the caller; NAN for none; a caller stands before what it calls. */
static double prefix_of(struct state *st, const struct view *v, size_t row)
{
	double offset = look(v, STACK_OFFSET, (double)row), prefix = look(v, STACK_PREFIX, (double)row);

	if (v->columns[STACK_OFFSET]->nr)
		prefix = offset > 0 ? (double)row - offset : NAN;
	if (isnan(prefix) || (prefix >= 0 && prefix < (double)row))
		return prefix;
	st->nr_bad++;
	return NAN;
}

/* What each row of the stack table is, below @root. Return: an array that is the caller's; NULL after a failure. */
static flame_stack *make_stacks(struct flame_reader *rd, const struct view *v, flame_stack root)
{
	size_t nr = v->columns[STACK_FRAME]->nr, nr_frames = v->columns[FRAME_FUNC]->nr;
	flame_stack *stacks = calloc(nr + 1, sizeof(*stacks));
	flame_frame *frames;
	bool *made, failed = false;

	if (nr_frames < v->columns[FRAME_LOCATION]->nr)
		nr_frames = v->columns[FRAME_LOCATION]->nr;
	frames = calloc(nr_frames + 1, sizeof(*frames));
	made = calloc(nr_frames + 1, sizeof(*made));
	failed = !stacks || !frames || !made;
	for (size_t i = 0; !failed && i < nr; i++) {
		double row = v->columns[STACK_FRAME]->v[i], prefix = prefix_of(rd->state, v, i);
		size_t at = row >= 0 && row < (double)nr_frames ? (size_t)row : nr_frames;

		if (!made[at]) {
			made[at] = true;
			frames[at] = make_frame(rd, v, row, &failed);
		}
		stacks[i] = isnan(prefix) ? root : stacks[(size_t)prefix];
		if (frames[at])
			stacks[i] = flame_stack_push(rd->profile, stacks[i], frames[at]);
	}
	free(frames);
	free(made);
	if (failed) {
		free(stacks);
		stacks = NULL;
	}
	return stacks;
}

/* Samples. */

struct types {
	flame_type samples, time, cpu;
};

static void make_types(struct flame_reader *rd, const char *weight, struct types *t)
{
	struct state *st = rd->state;
	struct flame_profile *p = rd->profile;

	if (st->old_panel)
		t->time = flame_namer_type(p, "time", "ns", FLAME_VALUE_WALL);
	if (!strcmp(weight, "bytes"))
		t->samples = flame_namer_type(p, "bytes", "bytes", FLAME_VALUE_ALLOCATION);
	else if (!strcmp(weight, "tracing-ms"))
		t->samples = flame_namer_type(p, "tracing", "ns", FLAME_VALUE_WALL);
	else
		t->samples = flame_namer_type(p, "samples", "count", FLAME_VALUE_WALL);
	if (!st->old_panel)
		t->time = flame_namer_type(p, "time", "ns", FLAME_VALUE_WALL);
	t->cpu = st->cpu_is_time ? flame_namer_type(p, "cpu", "ns", FLAME_VALUE_ON_CPU) : 0;
}

static int64_t rounded(double value)
{
	return value > -9e18 && value < 9e18 ? (int64_t)llround(value) : 0;
}

/* In ms since the thread's start; timeDeltas were summed already. */
static double time_of(const struct view *v, size_t row)
{
	return look(v, SAMPLE_TIME, (double)row);
}

static bool in_time(const struct flame_reader *rd, double ms)
{
	const struct flame_read_options *o = rd->options;

	if (o->time_from <= 0 && o->time_to <= 0)
		return true;
	return ms / 1000 >= o->time_from && (o->time_to <= 0 || ms / 1000 <= o->time_to);
}

static int add_one(struct flame_reader *rd, struct flame_sample *s, flame_type type, int64_t value)
{
	s->type = type;
	s->value = value;
	return type && value ? flame_sample_add(rd->profile, s) : 0;
}

static int add_sample(struct flame_reader *rd, const struct view *v, const struct types *types, size_t row,
		      struct flame_sample *s, bool tracing)
{
	struct state *st = rd->state;
	double weight = look(v, SAMPLE_WEIGHT, (double)row), cpu = look(v, SAMPLE_CPU, (double)row);
	double until = time_of(v, row + 1) - time_of(v, row);
	int64_t value = isnan(weight) ? 1 : rounded(tracing ? weight * 1e6 : weight);
	int err = add_one(rd, s, types->samples, value);

	/* The last one lasts as long as any. */
	if (isnan(until))
		until = st->old_panel ? 0 : st->interval;
	if (!err && until > 0)
		err = add_one(rd, s, types->time, rounded(until * 1e6));
	return err || !(cpu > 0) ? err : add_one(rd, s, types->cpu, rounded(cpu * st->cpu_factor));
}

static flame_stack thread_root(struct flame_reader *rd, const struct thread *thread, flame_task *task)
{
	struct state *st = rd->state;
	struct flame_task_info info = {
		.pid = thread->pid >= 0 && thread->pid <= INT32_MAX ? (int32_t)thread->pid : -1,
		.tid = thread->tid >= 0 && thread->tid <= INT32_MAX ? (int32_t)thread->tid : -1,
		.comm = thread->name,
	};
	struct flame_frame_info frame = { .kind = FLAME_TASK };
	struct flame_span name = flame_string_get(rd->profile, thread->name);
	flame_stack root = 0;
	char *buf;

	*task = flame_task_row(rd->profile, &info);
	if (rd->options->root == FLAME_ROOT_PID || rd->options->root == FLAME_ROOT_TID)
		root = flame_task_root(rd->profile, &info);
	buf = flame_namer_room(&st->namer, name.len + 1);
	if (!rd->options->threads || !buf)
		return root;
	memcpy(buf, name.s, name.len);
	return flame_stack_push(rd->profile, root,
				flame_namer_frame(&st->namer, rd, (struct flame_span){ buf, name.len }, &frame));
}

/* timeDeltas are made times. */
static int sum_deltas(struct thread *thread)
{
	struct values *deltas = &thread->tables.columns[SAMPLE_DELTA], *time = &thread->tables.columns[SAMPLE_TIME];
	double sum = 0;
	int err = 0;

	if (time->nr)
		return 0;
	for (size_t i = 0; !err && i < deltas->nr; i++) {
		sum += isnan(deltas->v[i]) ? 0 : deltas->v[i];
		err = add_value(time, sum);
	}
	return err;
}

/* Times are ms since the start. */
static void note_time(struct flame_reader *rd, double ms)
{
	if (ms >= 0 && ms < 1e12)
		flame_meta_time(rd->profile, (uint64_t)(ms * 1e6) + 1);
}

static int add_samples(struct flame_reader *rd, struct thread *thread)
{
	struct state *st = rd->state;
	bool tracing = !strcmp(thread->weight_type, "tracing-ms");
	struct flame_sample s = { .nr_samples = 1 };
	struct types types = { 0 };
	struct view v;
	flame_stack root = thread_root(rd, thread, &s.task), *stacks;
	int err = sum_deltas(thread);
	double start;

	if (err)
		return err;
	make_view(st, thread, &v);
	stacks = make_stacks(rd, &v, root);
	if (!stacks)
		return FLAME_ENOMEM;
	make_types(rd, thread->weight_type, &types);
	start = time_of(&v, 0);
	note_time(rd, start);
	if (v.columns[SAMPLE_STACK]->nr)
		note_time(rd, time_of(&v, v.columns[SAMPLE_STACK]->nr - 1));
	for (size_t i = 0; !err && i < v.columns[SAMPLE_STACK]->nr; i++) {
		double row = v.columns[SAMPLE_STACK]->v[i];

		if (isnan(row) || (!isnan(start) && !in_time(rd, time_of(&v, i) - start)))
			continue;
		s.stack = row >= 0 && row < (double)v.columns[STACK_FRAME]->nr ? stacks[(size_t)row] : root;
		st->nr_bad += !(row >= 0 && row < (double)v.columns[STACK_FRAME]->nr);
		if (s.stack)
			err = add_sample(rd, &v, &types, i, &s, tracing);
		st->nr_samples++;
	}
	free(stacks);
	return err ? err : flame_profile_error(rd->profile);
}

/* Threads. */

static bool wanted(struct flame_reader *rd, const struct thread *thread)
{
	struct state *st = rd->state;
	const char *want = rd->options->profile;
	int64_t nr;

	st->nr_threads++;
	if (!want)
		return true;
	if (span_is_int((struct flame_span){ want, strlen(want) }, &nr))
		return (uint64_t)nr == st->nr_threads;
	return span_equals(flame_string_get(rd->profile, thread->name), want);
}

static int keep_thread(struct state *st, const struct thread *thread)
{
	st->waiting[st->nr_waiting++] = *thread;
	return 0;
}

/* A thread that has all its tables is done with at once; the others wait for the end of the file. */
static int end_thread(struct flame_reader *rd, struct thread *thread)
{
	struct state *st = rd->state;
	const struct tables *t = &thread->tables;
	int err = 0;

	if (wanted(rd, thread) && t->columns[SAMPLE_STACK].nr) {
		if (t->columns[STACK_FRAME].nr && t->nr_strings)
			err = add_samples(rd, thread);
		else if (array_reserve((void **)&st->waiting, &st->room_waiting, st->nr_waiting + 1, sizeof(*thread)))
			return keep_thread(st, thread);
		else
			err = FLAME_ENOMEM;
	}
	release_tables(&thread->tables);
	return err;
}

/* Numbers may be texts: "pid":"12.1". */
static int read_id(struct state *st, int64_t *id)
{
	enum flame_json_token token = flame_json_next(&st->json);

	if (token == FLAME_JSON_STRING)
		span_digits(st->json.text, id);
	else if (token == FLAME_JSON_NUMBER)
		flame_json_int(&st->json, id);
	return skip_rest(st, token);
}

static int read_thread(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	struct thread thread = { .pid = -1, .tid = -1 };
	int err = 0, ended;

	while (!err && flame_json_next(json) == FLAME_JSON_KEY) {
		if (flame_json_is(json, "pid")) {
			err = read_id(st, &thread.pid);
		} else if (flame_json_is(json, "tid")) {
			err = read_id(st, &thread.tid);
		} else if (flame_json_is(json, "name")) {
			enum flame_json_token token = flame_json_next(json);

			if (token == FLAME_JSON_STRING)
				thread.name = flame_intern(rd->profile, json->text.s, json->text.len);
			err = skip_rest(st, token);
		} else {
			err = read_tables_member(rd, &thread.tables, &thread);
		}
	}
	if (json->error)
		err = FLAME_EFORMAT;
	if (err && err != FLAME_EFORMAT) {
		release_tables(&thread.tables);
		return err;
	}
	/* Of a thread that is cut off, what is there is used. */
	ended = end_thread(rd, &thread);
	return ended ? ended : err;
}

static int read_threads(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END)
		err = token == FLAME_JSON_OBJECT ? read_thread(rd) : skip_rest(st, token);
	return err;
}

static int read_shared(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return skip_rest(st, token);
	while (!err && (token = flame_json_next(&st->json)) == FLAME_JSON_KEY)
		err = read_tables_member(rd, &st->shared, NULL);
	return token == FLAME_JSON_ERROR ? FLAME_EFORMAT : err;
}

/* meta and the objects in it: interval, sampleUnits.threadCPUDelta. */
static int read_meta(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum flame_json_token token = flame_json_next(json);
	uint32_t depth = json->depth;

	if (token != FLAME_JSON_OBJECT)
		return skip_rest(st, token);
	while (json->depth >= depth && (token = flame_json_next(json)) != FLAME_JSON_ERROR) {
		bool interval, cpu;

		if (token != FLAME_JSON_KEY)
			continue;
		interval = flame_json_is(json, "interval");
		cpu = flame_json_is(json, "threadCPUDelta");
		if (flame_json_is(json, "sampleUnits"))
			continue;
		if (!interval && !cpu) {
			if (skip_value(st))
				return FLAME_EFORMAT;
			continue;
		}
		token = flame_json_next(json);
		if (interval && token == FLAME_JSON_NUMBER) {
			st->interval = flame_json_double(json);
			flame_meta_interval(rd->profile, st->interval * 1e6);
		}
		if (cpu && token == FLAME_JSON_STRING) {
			bool ns = flame_json_is(json, "ns");

			st->cpu_is_time = ns || flame_json_is(json, "\xc2\xb5s") || flame_json_is(json, "us");
			st->cpu_factor = ns ? 1 : 1000;
		}
		if (skip_rest(st, token))
			return FLAME_EFORMAT;
	}
	return token == FLAME_JSON_ERROR ? FLAME_EFORMAT : 0;
}

/*
 * The profile, and what may be around it or in it: {"profile":{…}} of Developer Tools, "processes":[{…}]. Their
 * brackets are walked over; only the members that matter are read.
 */
static int read_document(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(json)) != FLAME_JSON_END) {
		if (token == FLAME_JSON_ERROR)
			return FLAME_EFORMAT;
		if (token != FLAME_JSON_KEY || flame_json_is(json, "processes"))
			continue;
		if (flame_json_is(json, "profile"))
			st->old_panel = true;
		else if (flame_json_is(json, "threads"))
			err = read_threads(rd);
		else if (flame_json_is(json, "shared"))
			err = read_shared(rd);
		else if (flame_json_is(json, "meta"))
			err = read_meta(rd);
		else
			err = skip_value(st);
	}
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err, added = 0;

	st->interval = 1;
	flame_json_init(&st->json, rd->input);
	err = read_document(rd);
	if (err && err != FLAME_EFORMAT)
		return err;
	for (size_t i = 0; !added && i < st->nr_waiting; i++)
		added = add_samples(rd, &st->waiting[i]);
	if (added)
		return added;
	/* In a file that is cut off that goes without saying. */
	if (st->nr_bad && !err)
		flame_damaged(rd, "references to rows that tables do not have: %llu",
			      (unsigned long long)st->nr_bad);
	return err ? flame_json_report(&st->json, rd, st->nr_samples) : 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < st->nr_waiting; i++)
		release_tables(&st->waiting[i].tables);
	free(st->waiting);
	release_tables(&st->shared);
	flame_json_release(&st->json);
	flame_namer_release(&st->namer);
}

static bool contains(struct flame_span head, const char *word)
{
	return span_find(head, word) < head.len;
}

static int probe(struct flame_span head)
{
	static const char *const signs[] = {
		"\"preprocessedProfileVersion\"", "\"systemHost\"", "\"stackwalk\"", "\"gcpoison\"", "\"pausedRanges\"",
	};

	if (!head.len || head.s[0] != '{' || contains(head, "\"traceEvents\""))
		return FLAME_SCORE_NOT;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (contains(head, signs[i]))
			return FLAME_SCORE_MAGIC;
	}
	/* The panel's own members, of which the first are long. */
	if (contains(span_to(head, 256), "\"duration\"") && contains(span_to(head, 256), "\"markers\""))
		return FLAME_SCORE_RECORD;
	if (contains(head, "\"stackTable\"") && (contains(head, "\"prefix") || contains(head, "\"threads\"")))
		return FLAME_SCORE_RECORD;
	return contains(head, "\"meta\"") && contains(head, "\"threads\"") ? FLAME_SCORE_SHAPE : FLAME_SCORE_NOT;
}

const struct flame_converter flame_firefox_converter = {
	.name = "firefox",
	.summary = "profiles of the Firefox Profiler, Gecko and samply (JSON)",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_PROFILE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

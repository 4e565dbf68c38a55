/* SPDX-License-Identifier: MIT */
/*
 * xctrace - what `xctrace export --xpath '…/table[@schema="time-profile"]'` writes, XML:
 *
 *     <trace-query-result><node xpath='…'><schema name="time-profile">…</schema>
 *     <row><sample-time id="1">57246708</sample-time><thread id="2" fmt="main  0x8480c1 (demo, pid: 49)">
 *       <tid id="3">8683713</tid><process id="4" fmt="demo (49)"><pid id="5">49</pid></process></thread>
 *       <process ref="4"/><thread-state id="8" fmt="Running">Running</thread-state>
 *       <weight id="9" fmt="1.00 ms">1000000</weight>
 *       <backtrace id="10"><frame id="11" name="work" addr="0x18d"><binary id="12" name="demo" path="…"/>
 *         <source line="7"><path id="23">main.c</path></source></frame><frame ref="13"/></backtrace></row>
 *
 * An element is written once, with an id, and is then referred to, anywhere in the file. Seen: Xcode 14 and 15
 * (time-profile); tagged-backtrace of Xcode 16, cycle-weight of cpu-profile, and the bare addresses of
 * time-sample and of kperf are read as they are described. Any table with backtraces is read; its value is the
 * weight, else a duration, else a size, else a row counts 1. Not read: columns that are none of these.
 *
 * Memory follows the number of ids and of distinct stacks, not the rows: the value of an id is 64 bits.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/idmap.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/tidy.h"
#ifdef HAVE_EXPAT
#include <expat.h>

#define XCTRACE_DEPTH 64			/* nested elements */
#define XCTRACE_FRAMES 65536			/* frames of one backtrace */
#define XCTRACE_TEXT_MAX ((size_t)1 << 20)	/* text of one element: 1 MiB; tags are bounded by FLAME_VIEW_MAX */
#define CHUNK ((size_t)64 << 10)

enum kind {
	EL_OTHER, EL_ROW, EL_SCHEMA, EL_COLUMN_TYPE, EL_NODE, EL_SAMPLE_TIME, EL_THREAD, EL_TID, EL_PROCESS, EL_PID,
	EL_STATE, EL_WEIGHT, EL_CYCLES, EL_DURATION, EL_SIZE, EL_BACKTRACE, EL_TAGGED, EL_FRAME, EL_BINARY, EL_SOURCE,
	EL_PATH, EL_ADDRESSES, EL_RESULT,
};

static const struct {
	const char *name;
	enum kind kind;
} elements[] = {
	{ "row", EL_ROW },
	{ "frame", EL_FRAME },
	{ "backtrace", EL_BACKTRACE },
	{ "tagged-backtrace", EL_TAGGED },
	{ "kperf-bt", EL_BACKTRACE },
	{ "text-addresses", EL_ADDRESSES },
	{ "text-address", EL_ADDRESSES },
	{ "binary", EL_BINARY },
	{ "source", EL_SOURCE },
	{ "path", EL_PATH },
	{ "thread", EL_THREAD },
	{ "tid", EL_TID },
	{ "process", EL_PROCESS },
	{ "pid", EL_PID },
	{ "thread-state", EL_STATE },
	{ "sample-time", EL_SAMPLE_TIME },
	{ "start-time", EL_SAMPLE_TIME },
	{ "event-time", EL_SAMPLE_TIME },
	{ "weight", EL_WEIGHT },
	{ "cycle-weight", EL_CYCLES },
	{ "duration", EL_DURATION },
	{ "size-in-bytes", EL_SIZE },
	{ "schema", EL_SCHEMA },
	{ "engineering-type", EL_COLUMN_TYPE },
	{ "node", EL_NODE },
	{ "trace-query-result", EL_RESULT },
};

/* An open element. */
struct element {
	enum kind kind;
	uint32_t id;
	bool is_ref;
	int64_t value;		/* string, frame, task, stack or number, by kind */
};

/* What a frame's tags said. */
struct open_frame {
	struct flame_frame_info info;
	flame_string name, address;
};

struct row {
	bool has_stack, has_state, has_time;
	flame_stack stack;	/* in backtraces */
	flame_string state;
	flame_task task;
	int64_t time;
	int64_t values[EL_SIZE - EL_WEIGHT + 1];	/* of EL_WEIGHT and what follows it */
	uint32_t has_values;	/* bits */
};

struct state {
	struct flame_reader *rd;
	XML_Parser parser;
	int err;
	const char *damage;	/* why parsing was stopped */
	bool is_result;		/* the outermost element is the right one */
	struct element open[XCTRACE_DEPTH];
	size_t depth, ignored;	/* elements; those below XCTRACE_DEPTH */
	struct idmap ids;	/* by kind and id */
	char *text;
	size_t nr_text, room_text;
	/* Stacks of backtraces, kept apart from samples, whose root may be a task; frames are rows of rd->profile. */
	struct flame_profile *backtraces;
	flame_frame *frames;	/* of the open backtrace, the leaf first */
	size_t nr_frames, room_frames;
	bool too_many_frames;
	struct flame_short_cache stacks;	/* by root and backtrace */
	struct open_frame frame;
	struct flame_task_info task, process;
	struct flame_namer namer;
	struct row row;
	bool has_backtraces;	/* the table has a column of them */
	char schema[64];
	flame_type types[2];	/* of the schema: running; or by state */
	flame_string last_state;
	bool has_first;
	int64_t first_time;
	uint64_t table, nr_rows, nr_unresolved;
};

/* Ids. */

static uint64_t key_of(const struct element *e)
{
	return (uint64_t)e->kind << 32 | e->id;
}

/* Return: true where @e's id was seen, at an element of the same kind, with its value in @e. */
static bool get_id(const struct state *st, struct element *e)
{
	uint64_t value;

	if (!idmap_value(&st->ids, key_of(e), &value))
		return false;
	e->value = (int64_t)value;
	return true;
}

/* Elements. */

static void stop(struct state *st, int err)
{
	if (!st->err)
		st->err = err;
	XML_StopParser(st->parser, XML_FALSE);
}

static enum kind find_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++) {
		if (elements[i].name[0] == name[0] && !strcmp(elements[i].name, name))
			return elements[i].kind;
	}
	return EL_OTHER;
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2) {
		if (attributes[0][0] == name[0] && !strcmp(attributes[0], name))
			return attributes[1];
	}
	return NULL;
}

static flame_string intern(struct state *st, const char *s)
{
	return s ? flame_intern(st->rd->profile, s, strlen(s)) : 0;
}

/* Also for other numbers of 32 bits. */
static uint32_t parse_id(const char *s)
{
	int64_t id;

	return s && span_is_int((struct flame_span){ s, strlen(s) }, &id) && id <= UINT32_MAX ? (uint32_t)id : 0;
}

/* Return: the enclosing element of @kind, if there is one. */
static struct element *enclosing(struct state *st, enum kind kind)
{
	for (size_t i = st->depth; i-- > 0;) {
		if (st->open[i].kind == kind)
			return &st->open[i];
	}
	return NULL;
}

static void start_schema(struct state *st, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	len = len < sizeof(st->schema) ? len : sizeof(st->schema) - 1;
	if (len)
		memcpy(st->schema, name, len);
	st->schema[len] = '\0';
	st->types[0] = st->types[1] = 0;
	st->last_state = 0;
	st->has_backtraces = false;
}

/* "main  0x8480c1 (demo, pid: 49)": the thread's name. */
static flame_string thread_name(struct state *st, const char *fmt)
{
	struct flame_span s = { fmt ? fmt : "", fmt ? strlen(fmt) : 0 };
	size_t at = span_find(s, "  0x");

	if (at == s.len)
		at = span_find(s, " 0x");
	s = span_trim(span_to(s, at));
	return flame_intern(st->rd->profile, s.s, s.len);
}

/* "demo (49)": the process's name. */
static flame_string process_name(struct state *st, const char *fmt)
{
	struct flame_span s = { fmt ? fmt : "", fmt ? strlen(fmt) : 0 };
	const char *open = s.len ? memrchr(s.s, '(', s.len) : NULL;

	s = span_trim(open ? span_to(s, (size_t)(open - s.s)) : s);
	return flame_intern(st->rd->profile, s.s, s.len);
}

static void start_element(struct state *st, struct element *e, const char **attributes)
{
	switch (e->kind) {
	case EL_RESULT:
		st->is_result |= st->depth == 0;
		break;
	case EL_NODE:
		st->table++;
		start_schema(st, "");
		break;
	case EL_SCHEMA:
		start_schema(st, attribute(attributes, "name"));
		break;
	case EL_ROW:
		st->row = (struct row){ 0 };
		break;
	case EL_BACKTRACE:
		st->nr_frames = 0;
		break;
	case EL_FRAME:
		st->frame = (struct open_frame){
			.name = intern(st, attribute(attributes, "name")),
			.address = intern(st, attribute(attributes, "addr")),
		};
		break;
	case EL_BINARY:
		e->value = intern(st, attribute(attributes, "name"));
		break;
	case EL_SOURCE:
		st->frame.info.file = 0;
		e->value = parse_id(attribute(attributes, "line"));
		break;
	case EL_THREAD:
		st->task = (struct flame_task_info){ -1, -1, 0 };
		e->value = thread_name(st, attribute(attributes, "fmt"));
		break;
	case EL_PROCESS:
		st->process = (struct flame_task_info){ -1, -1, process_name(st, attribute(attributes, "fmt")) };
		break;
	case EL_STATE:
		e->value = intern(st, attribute(attributes, "fmt"));
		break;
	default:
		break;
	}
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes)
{
	struct state *st = data;
	const char *id = attribute(attributes, "id"), *ref = attribute(attributes, "ref");
	struct element e = { .kind = find_kind(name) };

	st->nr_text = 0;
	if (st->depth == XCTRACE_DEPTH) {
		st->ignored++;
		return;
	}
	e.is_ref = ref;
	e.id = parse_id(ref ? ref : id);
	if (!e.is_ref)
		start_element(st, &e, attributes);
	st->open[st->depth++] = e;
}

static void XMLCALL on_text(void *data, const char *s, int len)
{
	struct state *st = data;

	if (!st->depth || st->ignored || st->nr_text > XCTRACE_TEXT_MAX)
		return;
	if (!array_reserve((void **)&st->text, &st->room_text, st->nr_text + (size_t)len, 1)) {
		stop(st, FLAME_ENOMEM);
		return;
	}
	memcpy(st->text + st->nr_text, s, (size_t)len);
	st->nr_text += (size_t)len;
}

static struct flame_span text_of(const struct state *st)
{
	return span_trim((struct flame_span){ st->nr_text ? st->text : "", st->nr_text });
}

static int64_t number_of(const struct state *st)
{
	int64_t value = 0;

	return span_is_int(text_of(st), &value) ? value : 0;
}

/* Frames. */

/* The kernel's half of the address space begins with ones. */
static bool is_kernel(struct flame_span address)
{
	return address.len == 18 && span_starts(address, "0xfffff");
}

static flame_frame make_frame(struct state *st)
{
	struct flame_profile *p = st->rd->profile;
	struct flame_span name = flame_string_get(p, st->frame.name), address = flame_string_get(p, st->frame.address);
	struct flame_span module = flame_string_get(p, st->frame.info.module);
	char *buf;

	st->frame.info.kind = is_kernel(address) ? FLAME_KERNEL : FLAME_USER;
	/* Unresolved frames have their address as their name, which --addrs puts behind the binary's. */
	if (!name.len)
		name = address;
	buf = flame_namer_room(&st->namer, name.len + module.len + address.len + FLAME_UNKNOWN_EXTRA);
	if (!buf)
		return 0;
	if (st->rd->options->addrs && module.len && span_starts(name, "0x")) {
		name = (struct flame_span){ buf, flame_unknown_name(buf, module, address) };
	} else if (!st->rd->options->raw_names) {
		name = flame_tidy_half_rust(name, buf);
	}
	return flame_namer_frame(&st->namer, st->rd, name, &st->frame.info);
}

static void add_frame(struct state *st, flame_frame frame)
{
	if (st->nr_frames >= XCTRACE_FRAMES) {
		st->too_many_frames = true;
		return;
	}
	if (!array_reserve((void **)&st->frames, &st->room_frames, st->nr_frames + 1, sizeof(*st->frames))) {
		stop(st, FLAME_ENOMEM);
		return;
	}
	st->frames[st->nr_frames++] = frame;
}

/* "140703128616960 4375": addresses in decimal or hexadecimal, the leaf first. */
static void add_addresses(struct state *st)
{
	struct flame_span rest = text_of(st), word;
	char name[32];

	while (st->nr_frames < XCTRACE_FRAMES && span_word(&rest, &word)) {
		int64_t value;

		if (span_is_int(word, &value)) {
			word.len = (size_t)snprintf(name, sizeof(name), "0x%llx", (unsigned long long)value);
			word.s = name;
		}
		st->frame = (struct open_frame){ .name = flame_intern(st->rd->profile, word.s, word.len) };
		add_frame(st, make_frame(st));
	}
}

static flame_stack end_backtrace(struct state *st)
{
	flame_stack stack = 0;

	for (size_t i = st->nr_frames; i-- > 0;)
		stack = flame_stack_push(st->backtraces, stack, st->frames[i]);
	return stack;
}

/* Rows. */

static bool in_time(const struct state *st)
{
	const struct flame_read_options *o = st->rd->options;
	double seconds = (double)(st->row.time - st->first_time) / 1e9;

	if (!st->row.has_time || (o->time_from <= 0 && o->time_to <= 0))
		return true;
	return seconds >= o->time_from && (o->time_to <= 0 || seconds <= o->time_to);
}

/* The first of the row's values that can be a width. */
static enum kind value_kind(const struct row *row)
{
	for (uint32_t i = EL_WEIGHT; i <= EL_SIZE; i++) {
		if (row->has_values & 1u << (i - EL_WEIGHT))
			return (enum kind)i;
	}
	return EL_OTHER;
}

static flame_type make_type(struct state *st, struct flame_span state, bool running)
{
	static const char *const units[] = {
		[EL_WEIGHT] = "ns", [EL_CYCLES] = "cycles", [EL_DURATION] = "ns", [EL_SIZE] = "bytes",
	};
	enum kind kind = value_kind(&st->row);
	const char *unit = kind == EL_OTHER ? "count" : units[kind];
	struct flame_type_info info = { .unit = intern(st, unit) };
	char name[sizeof(st->schema) + 64];
	int len = snprintf(name, sizeof(name), "%s", *st->schema ? st->schema : "samples");

	if (!running)
		len += snprintf(name + len, sizeof(name) - (size_t)len, ":%.*s", (int)(state.len < 32 ? state.len : 32),
				state.s);
	info.kind = kind == EL_SIZE ? FLAME_VALUE_ALLOCATION : !running ? FLAME_VALUE_OFF_CPU :
		    kind == EL_DURATION ? FLAME_VALUE_WALL : FLAME_VALUE_ON_CPU;
	info.name = flame_intern(st->rd->profile, name, (size_t)len);
	return flame_type_row(st->rd->profile, &info);
}

/* Rows of threads that do not run are another event: they are never added to those that do. */
static flame_type row_type(struct state *st)
{
	struct flame_span state = flame_string_get(st->rd->profile, st->row.state);
	bool running = !st->row.has_state || !state.len || span_in_list(state, "Running,Unknown") ||
		       st->rd->options->state;

	if (running) {
		if (!st->types[0])
			st->types[0] = make_type(st, state, true);
		return st->types[0];
	}
	if (!st->types[1] || st->last_state != st->row.state) {
		st->types[1] = make_type(st, state, false);
		st->last_state = st->row.state;
	}
	return st->types[1];
}

static flame_stack row_root(struct state *st, flame_task task)
{
	const struct flame_read_options *o = st->rd->options;
	struct flame_task_info info = *flame_task_get(st->rd->profile, task);
	struct flame_frame_info frame = { .kind = FLAME_TASK };
	flame_stack root = 0;

	if (o->root == FLAME_ROOT_PID || o->root == FLAME_ROOT_TID)
		root = flame_task_root(st->rd->profile, &info);
	if (o->threads && info.comm) {
		struct flame_span name = flame_string_get(st->rd->profile, info.comm);

		root = flame_stack_push(st->rd->profile, root, flame_namer_frame(&st->namer, st->rd, name, &frame));
	}
	return root;
}

/* The backtrace below @root, as a stack of the profile. */
static flame_stack copy_stack(struct state *st, flame_stack root, flame_stack backtrace)
{
	struct flame_short_key key = { root, backtrace };
	flame_stack stack = root;

	if (flame_short_get(&st->stacks, key, 16, flame_short_hash(key, 16), &stack))
		return stack;
	st->nr_frames = 0;
	for (flame_stack s = backtrace; s; s = flame_stack_caller(st->backtraces, s))
		add_frame(st, flame_stack_frame(st->backtraces, s));
	for (size_t i = st->nr_frames; i-- > 0;)
		stack = flame_stack_push(st->rd->profile, stack, st->frames[i]);
	flame_short_put(&st->stacks, key, 16, stack);
	return stack;
}

static flame_stack empty_stack(struct state *st, flame_stack root)
{
	struct flame_frame_info info = { 0 };

	return flame_stack_push(st->rd->profile, root,
				flame_namer_frame(&st->namer, st->rd, (struct flame_span){ "", 0 }, &info));
}

static bool wanted(struct state *st)
{
	const struct flame_read_options *o = st->rd->options;
	struct flame_span state = { "", 0 };
	int64_t nr;

	if (o->profile && span_is_int((struct flame_span){ o->profile, strlen(o->profile) }, &nr)) {
		if ((uint64_t)nr != st->table)
			return false;
	} else if (o->profile && strcmp(o->profile, st->schema)) {
		return false;
	}
	if (st->row.has_state)
		state = flame_string_get(st->rd->profile, st->row.state);
	return in_time(st) && flame_wants_state(st->rd, state);
}

static void end_row(struct state *st)
{
	struct row *row = &st->row;
	enum kind kind = value_kind(row);
	struct flame_sample s = { .task = row->task, .value = kind == EL_OTHER ? 1 : row->values[kind - EL_WEIGHT] };
	flame_stack root;
	int err;

	st->nr_rows++;
	if (row->has_time && !st->has_first) {
		st->has_first = true;
		st->first_time = row->time;
	}
	if ((!row->has_stack && !st->has_backtraces) || !wanted(st))
		return;
	s.type = row_type(st);
	root = row_root(st, row->task);
	s.stack = row->stack ? copy_stack(st, root, row->stack) : empty_stack(st, root);
	err = flame_sample_add(st->rd->profile, &s);
	if (err)
		stop(st, err);
}

/* The ends of elements. */

/* What @e means to the element that it stands in. Also for references, whose value is known by now. */
static void use_element(struct state *st, const struct element *e)
{
	struct flame_profile *p = st->rd->profile;
	struct row *row = &st->row;

	switch (e->kind) {
	case EL_BINARY:
		st->frame.info.module = (flame_string)e->value;
		break;
	case EL_PATH:
		st->frame.info.file = (flame_string)e->value;
		break;
	case EL_SOURCE:
		st->frame.info.file = (flame_string)(e->value >> 32);
		st->frame.info.line = (uint32_t)e->value;
		break;
	case EL_FRAME:
		add_frame(st, (flame_frame)e->value);
		break;
	case EL_TID:
		st->task.tid = e->value > INT32_MAX ? -1 : (int32_t)e->value;
		break;
	case EL_PID:
		st->process.pid = e->value > INT32_MAX ? -1 : (int32_t)e->value;
		break;
	case EL_PROCESS:
		st->process = *flame_task_get(p, (flame_task)e->value);
		break;
	case EL_THREAD:
		row->task = (flame_task)e->value;
		break;
	case EL_STATE:
		row->state = (flame_string)e->value;
		row->has_state = true;
		break;
	case EL_SAMPLE_TIME:
		row->time = e->value;
		row->has_time = true;
		break;
	case EL_WEIGHT:
	case EL_CYCLES:
	case EL_DURATION:
	case EL_SIZE:
		row->values[e->kind - EL_WEIGHT] = e->value;
		row->has_values |= 1u << (e->kind - EL_WEIGHT);
		break;
	case EL_BACKTRACE:
	case EL_TAGGED:
		row->stack = (flame_stack)e->value;
		row->has_stack = true;
		break;
	default:
		break;
	}
}

/* --pid names the process, --threads and the default the thread. */
static flame_task end_thread(struct state *st, flame_string name)
{
	struct flame_task_info info = { st->process.pid, st->task.tid, name };

	if (!st->rd->options->threads && st->process.comm)
		info.comm = st->process.comm;
	return flame_task_row(st->rd->profile, &info);
}

static void end_element(struct state *st, struct element *e)
{
	struct flame_span text;

	switch (e->kind) {
	case EL_COLUMN_TYPE:
		text = text_of(st);
		st->has_backtraces |= span_ends(text, "backtrace") || span_equals(text, "kperf-bt");
		break;
	case EL_ADDRESSES:
		add_addresses(st);
		break;
	case EL_FRAME:
		e->value = make_frame(st);
		break;
	case EL_SOURCE:
		e->value |= (int64_t)st->frame.info.file << 32;
		break;
	case EL_BACKTRACE:
		e->value = end_backtrace(st);
		break;
	case EL_TAGGED:
		e->value = st->row.stack;
		break;
	case EL_PATH:
		text = text_of(st);
		e->value = flame_intern(st->rd->profile, text.s, text.len);
		break;
	case EL_STATE:
		text = text_of(st);
		if (!e->value)
			e->value = flame_intern(st->rd->profile, text.s, text.len);
		break;
	case EL_PROCESS:
		e->value = flame_task_row(st->rd->profile, &st->process);
		break;
	case EL_THREAD:
		e->value = end_thread(st, (flame_string)e->value);
		break;
	case EL_SAMPLE_TIME: case EL_TID: case EL_PID: case EL_WEIGHT: case EL_CYCLES: case EL_DURATION: case EL_SIZE:
		e->value = number_of(st);
		break;
	case EL_ROW:
		end_row(st);
		break;
	default:
		break;
	}
}

/* Times are hardly ever referred to again, and there is one a row. */
static bool worth_keeping(const struct state *st, const struct element *e)
{
	const struct flame_read_options *o = st->rd->options;

	if (e->kind == EL_SAMPLE_TIME)
		return o->time_from > 0 || o->time_to > 0;
	return e->kind >= EL_THREAD && e->kind <= EL_PATH;
}

static void XMLCALL on_end(void *data, const char *name)
{
	struct state *st = data;
	struct element *e;

	(void)name;
	if (st->ignored) {
		st->ignored--;
		return;
	}
	e = &st->open[--st->depth];
	if (e->is_ref) {
		if (get_id(st, e))
			use_element(st, e);
		else if (worth_keeping(st, e) && enclosing(st, EL_ROW))
			st->nr_unresolved++;
	} else {
		end_element(st, e);
		if (e->id && worth_keeping(st, e) && !idmap_set(&st->ids, key_of(e), (uint64_t)e->value))
			stop(st, FLAME_ENOMEM);
		use_element(st, e);
	}
	st->nr_text = 0;
	if (flame_profile_error(st->rd->profile) || flame_profile_error(st->backtraces))
		stop(st, FLAME_ENOMEM);
}

/* Nothing that Apple writes has one; entities of strangers are not expanded. */
static void XMLCALL on_doctype(void *data, const char *name, const char *system, const char *public, int internal)
{
	struct state *st = data;

	(void)name, (void)system, (void)public, (void)internal;
	st->damage = "a DOCTYPE, which xctrace does not write";
	stop(st, FLAME_EDAMAGED);
}

/* The line and the byte that the parser is at; up to expat 2.8 as wide as a long is. */
static uint64_t parser_line(const struct state *st)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
	return XML_GetCurrentLineNumber64(st->parser);
#else
	return XML_GetCurrentLineNumber(st->parser);
#endif
}

static int64_t parser_byte(const struct state *st)
{
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
	return XML_GetCurrentByteIndex64(st->parser);
#else
	return XML_GetCurrentByteIndex(st->parser);
#endif
}

/* The file is broken at a place. Return: 0 where rows were read before it. */
static int report_damage(struct flame_reader *rd, const char *what)
{
	struct state *st = rd->state;
	unsigned long long line = parser_line(st), rows = st->nr_rows;

	if (!rows)
		return flame_fail(rd, FLAME_EFORMAT, "xctrace's XML is broken at line %llu: %s", line, what);
	flame_damaged(rd, "xctrace's XML is broken at line %llu: %s; the %llu rows before are used", line, what, rows);
	return 0;
}

static int check_parse(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum XML_Error error = XML_GetErrorCode(st->parser);

	if (st->err && st->err != FLAME_EDAMAGED)
		return st->err;
	if (error == XML_ERROR_NO_MEMORY)
		return FLAME_ENOMEM;
	return report_damage(rd, st->damage ? st->damage : XML_ErrorString(error));
}

/* Return: 1 to go on, 0 at the end, or a failure. */
static int parse_chunk(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span view = flame_peek(rd->input, 1);
	size_t len = view.len < CHUNK ? view.len : CHUNK;
	int64_t at;

	if (!len && rd->input->error)
		return 0;
	if (XML_Parse(st->parser, view.s, (int)len, !len) != XML_STATUS_OK)
		return check_parse(rd);
	if (!len)
		return 0;
	flame_take(rd->input, len);
	/* A tag that does not end would make the parser's buffer grow with the file. */
	at = parser_byte(st);
	if (at >= 0 && flame_input_offset(rd->input) > (uint64_t)at + FLAME_VIEW_MAX)
		return report_damage(rd, "a tag is longer than 16 MiB (FLAME_VIEW_MAX)");
	return 1;
}

static void report(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (st->nr_unresolved)
		flame_damaged(rd, "references to elements that were not seen before: %llu; the file is not whole",
			      (unsigned long long)st->nr_unresolved);
	if (st->too_many_frames)
		flame_note(rd, "backtraces of more than %d frames (XCTRACE_FRAMES) lost those nearest to the root",
			   XCTRACE_FRAMES);
	if (!st->is_result)
		flame_note(rd, "the outermost element is not trace-query-result");
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int more = 1;

	st->rd = rd;
	st->backtraces = flame_profile_new(NULL);
	st->parser = XML_ParserCreate(NULL);
	if (!st->parser || !st->backtraces)
		return FLAME_ENOMEM;
	XML_SetUserData(st->parser, st);
	XML_SetElementHandler(st->parser, on_start, on_end);
	XML_SetCharacterDataHandler(st->parser, on_text);
	XML_SetStartDoctypeDeclHandler(st->parser, on_doctype);
	while (more > 0)
		more = parse_chunk(rd);
	if (!more)
		report(rd);
	return more;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (st->parser)
		XML_ParserFree(st->parser);
	flame_profile_free(st->backtraces);
	idmap_release(&st->ids);
	free(st->text);
	free(st->frames);
	flame_short_release(&st->stacks);
	flame_namer_release(&st->namer);
}

#define STATE_SIZE sizeof(struct state)
#else

static int read(struct flame_reader *rd)
{
	return flame_fail(rd, FLAME_EARG, "xctrace's XML cannot be read: this was built without expat");
}

static void release(struct flame_reader *rd)
{
	(void)rd;
}

#define STATE_SIZE 0
#endif

static int probe(struct flame_span head)
{
	return span_find(head, "<trace-query-result") < head.len ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

const struct flame_converter flame_xctrace_converter = {
	.name = "xctrace",
	.summary = "tables of Instruments' traces, by xctrace export (XML)",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_STATE | FLAME_CHOICE_PROFILE,
	.state_size = STATE_SIZE,
	.probe = probe,
	.read = read,
	.release = release,
};

/* SPDX-License-Identifier: MIT */
/*
 * chrome - Chrome's Trace Event Format:
 *
 *     {"traceEvents":[{"pid":1,"tid":1,"ts":2810984077,"ph":"X","cat":"v8","name":"V8.GC","dur":13176,"args":{}},…]}
 *
 * or the array alone, whose last bracket may be missing. Written by Chrome and DevTools (chrome://tracing, the
 * Performance panel), node --trace-event-categories, py-spy -f chrometrace, uftrace dump --chrome and many others.
 * Documentation/formats/chrome.md has the grammar and the versions seen.
 *
 * There are two kinds of values in it, never added up: the samples of V8's CPU profiler (events Profile and
 * ProfileChunk, or CpuProfile), and events with a duration (phases X, B and E), whose time is their own without that of the events
 * inside. Samples are used as they come. Events of a thread may come in any order, so 24 bytes of each are kept until
 * the end. Not read: asynchronous events, flows, counters, objects, "stackFrames".
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "v8.h"

#include "../core/cache.h"
#include "../core/merge.h"

#define PROFILES_MAX 4096	/* V8 has one a thread at a time */
#define OPEN_SEARCH_MAX 1024	/* how far below the innermost event an E looks for its B */
#define CACHE_BYTES ((size_t)16 << 20)

/* What an event's dur is where it has none. */
#define DUR_BEGIN (-1)
#define DUR_END (-2)

struct event {
	int64_t ts, dur;	/* ns */
	flame_frame frame;	/* of an E: 0 where it ends whatever is open */
	uint32_t thread;
};

/* A process too: with no tid. */
struct thread {
	int64_t pid, tid;
	flame_string name;
	flame_frame mark;	/* stands for its root frames until all names are known; 0: not needed yet */
	flame_stack root;
};

struct profile {
	int64_t pid;
	flame_string id;	/* 0: by thread */
	uint32_t thread;
	struct v8_tree tree;
	struct v8_timeline line;
	bool has_start, has_end;
	int64_t start, end;	/* ns */
};

/* One event, as it is read. */
struct record {
	char *name;
	size_t name_len, room_name;
	char phase;
	bool has_ts, has_dur, has_start, has_end;
	int64_t ts, dur, start, end;
	int64_t pid, tid;
	flame_string id;
	flame_string arg_name;
	int64_t arg_line;
	struct v8_tree nodes;
	uint32_t *samples;
	size_t nr_samples, room_samples;
	int64_t *deltas;
	size_t nr_deltas, room_deltas;
};

/* An event that has begun. */
struct open {
	int64_t end;		/* INT64_MAX: of a B */
	int64_t self;
	flame_frame frame;
	flame_stack stack;
};

struct state {
	struct flame_json json;
	struct record record;
	struct thread *threads;		/* row 0 is none */
	size_t nr_threads, room_threads;
	struct index thread_index;
	struct profile **profiles;
	size_t nr_profiles, room_profiles;
	struct event *events;
	size_t nr_events, room_events;
	struct flame_cache frames;	/* by the events' names */
	flame_type cpu_type, event_type;
	uint64_t only;			/* --profile's number; 0: all */
	bool marks;			/* stacks begin with their thread's mark */
	bool no_events;			/* nobody asks for them */
	uint64_t nr_async, nr_unopened, nr_unclosed;
	/* The thread whose events are summed. */
	struct open *open;
	size_t nr_open, room_open;
	int64_t now, from, to;
};

/* Threads. */

#define NO_TID INT64_MIN

static uint32_t thread_hash(int64_t pid, int64_t tid)
{
	return (uint32_t)hash_mix((uint64_t)pid ^ HASH_A, (uint64_t)tid ^ HASH_B);
}

/* Return: the thread's row, 0 without memory. */
static uint32_t thread_row(struct state *st, int64_t pid, int64_t tid)
{
	struct index *x = &st->thread_index;
	uint32_t hash = thread_hash(pid, tid), row;

	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (st->threads[row].pid == pid && st->threads[row].tid == tid)
			return row;
	}
	if (!st->nr_threads)
		st->nr_threads = 1;
	if (!array_reserve((void **)&st->threads, &st->room_threads, st->nr_threads + 1, sizeof(*st->threads)))
		return 0;
	if (!index_has_room(x)) {
		if (!index_grow(x))
			return 0;
		for (uint32_t i = 1; i < st->nr_threads; i++)
			index_put(x, thread_hash(st->threads[i].pid, st->threads[i].tid), i);
	}
	row = (uint32_t)st->nr_threads++;
	st->threads[row] = (struct thread){ .pid = pid, .tid = tid };
	index_put(x, hash, row);
	return row;
}

/*
 * Names of threads may come behind their samples. Until they are known a mark is the root frame; no name of the
 * input has a byte 1.
 */
static flame_stack thread_root(struct flame_reader *rd, uint32_t row)
{
	struct state *st = rd->state;
	struct thread *t = &st->threads[row];
	struct flame_frame_info info = { .kind = FLAME_TASK };
	char text[16];

	if (!st->marks || t->root)
		return t->root;
	info.name = flame_intern(rd->profile, text, (size_t)snprintf(text, sizeof(text), "\1%" PRIu32, row));
	t->mark = flame_frame_row(rd->profile, &info);
	t->root = flame_stack_push(rd->profile, 0, t->mark);
	return t->root;
}

static int32_t task_id(int64_t id)
{
	return id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
}

/* The name of a thread that has none is its id; ids may be texts themselves. */
static struct flame_span thread_text(const struct flame_profile *p, const struct thread *t, char *buf, size_t room)
{
	if (t->name)
		return flame_string_get(p, t->name);
	if (t->tid < 0 && t->tid > NO_TID)
		return flame_string_get(p, (flame_string)-t->tid);
	return (struct flame_span){ buf, (size_t)snprintf(buf, room, "tid %" PRId64, t->tid) };
}

/* Profiles of V8. */

static struct profile *find_profile(struct flame_reader *rd, bool *full)
{
	struct state *st = rd->state;
	const struct record *r = &st->record;
	uint32_t thread = thread_row(st, r->pid, r->tid);
	struct profile *p;

	for (size_t i = st->nr_profiles; i; i--) {
		p = st->profiles[i - 1];
		if (p->pid == r->pid && p->id == r->id && (r->id || p->thread == thread))
			return p;
	}
	*full = st->nr_profiles >= PROFILES_MAX;
	if (*full || !thread || !array_reserve((void **)&st->profiles, &st->room_profiles, st->nr_profiles + 1,
					       sizeof(struct profile *)))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = r->pid;
	p->id = r->id;
	p->thread = thread;
	p->line.tree = &p->tree;
	p->line.type = st->cpu_type;
	st->profiles[st->nr_profiles++] = p;
	return p;
}

static int add_samples(struct flame_reader *rd, struct profile *p)
{
	struct state *st = rd->state;
	const struct record *r = &st->record;
	int err = 0;

	for (size_t i = 0; !err && i < r->nr_samples; i++) {
		if (i < r->nr_deltas)
			err = v8_timeline_sample(rd, &p->line, r->samples[i], r->deltas[i]);
		else
			err = flame_skip(rd, "a sample of a CPU profile has no time");
	}
	return err;
}

static int add_profile(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct record *r = &st->record;
	bool full = false;
	struct profile *p = find_profile(rd, &full);
	int err;

	if (!p)
		return full ? flame_skip(rd, "more than 4096 CPU profiles (PROFILES_MAX)") : FLAME_ENOMEM;
	if (r->has_start) {
		p->has_start = true;
		p->start = r->start;
	}
	if (r->has_end) {
		p->has_end = true;
		p->end = r->end;
	}
	if (st->only && (st->only > st->nr_profiles || p != st->profiles[st->only - 1]))
		return 0;
	p->tree.root = thread_root(rd, p->thread);
	err = v8_tree_merge(&p->tree, &r->nodes);
	return err ? err : add_samples(rd, p);
}

static int end_profiles(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = 0;

	for (size_t i = 0; !err && i < st->nr_profiles; i++) {
		struct profile *p = st->profiles[i];
		int64_t end = INT64_MIN;

		if (p->has_start && p->has_end && __builtin_sub_overflow(p->end, p->start, &end))
			end = INT64_MIN;
		err = v8_timeline_end(rd, &p->line, end);
	}
	return err;
}

/* Reading an event. */

static int skip_rest(struct flame_json *json, enum flame_json_token token)
{
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

static int read_time(struct flame_reader *rd, int64_t *ns, bool *has)
{
	struct flame_json *json = &((struct state *)rd->state)->json, text;
	enum flame_json_token token = flame_json_next(json);

	if (token == FLAME_JSON_NUMBER) {
		*has = v8_microseconds(json, ns);
		return *has ? 0 : flame_skip(rd, "a time does not fit 64 bits");
	}
	if (token != FLAME_JSON_STRING)
		return skip_rest(json, token);
	/* Some write numbers in quotes. */
	flame_json_init_span(&text, json->text);
	*has = flame_json_next(&text) == FLAME_JSON_NUMBER && v8_microseconds(&text, ns);
	flame_json_release(&text);
	return 0;
}

/* A number, or a text as the row of its string below 0. */
static int read_task_id(struct flame_reader *rd, int64_t *id)
{
	struct flame_json *json = &((struct state *)rd->state)->json;
	enum flame_json_token token = flame_json_next(json);

	if (token == FLAME_JSON_NUMBER) {
		if (!flame_json_int(json, id) || *id < 0)
			*id = 0;
		return 0;
	}
	if (token == FLAME_JSON_STRING)
		*id = -(int64_t)flame_intern(rd->profile, json->text.s, json->text.len);
	return skip_rest(json, token);
}

static int read_id(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token == FLAME_JSON_STRING || token == FLAME_JSON_NUMBER)
		st->record.id = flame_intern(rd->profile, st->json.text.s, st->json.text.len);
	return skip_rest(&st->json, token);
}

static int read_name(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct record *r = &st->record;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token != FLAME_JSON_STRING)
		return skip_rest(&st->json, token);
	if (!array_reserve((void **)&r->name, &r->room_name, st->json.text.len + 32, 1))
		return FLAME_ENOMEM;
	memcpy(r->name, st->json.text.s, st->json.text.len);
	r->name_len = st->json.text.len;
	return 0;
}

static int read_phase(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token == FLAME_JSON_STRING && st->json.text.len == 1)
		st->record.phase = st->json.text.s[0];
	return skip_rest(&st->json, token);
}

static bool add_sample_id(struct record *r, uint32_t id)
{
	if (!array_reserve((void **)&r->samples, &r->room_samples, r->nr_samples + 1, sizeof(*r->samples)))
		return false;
	r->samples[r->nr_samples++] = id;
	return true;
}

static int read_samples(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(&st->json, token);
	while ((token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (!flame_json_skip_rest(&st->json, token))
			return FLAME_EDAMAGED;
		if (!add_sample_id(&st->record, token == FLAME_JSON_NUMBER ? v8_id(&st->json) : V8_NO_ID))
			return FLAME_ENOMEM;
	}
	return 0;
}

static int read_deltas(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct record *r = &st->record;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(&st->json, token);
	while ((token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (!array_reserve((void **)&r->deltas, &r->room_deltas, r->nr_deltas + 1, sizeof(*r->deltas)))
			return FLAME_ENOMEM;
		r->deltas[r->nr_deltas] = 0;
		if (token == FLAME_JSON_NUMBER && !v8_microseconds(&st->json, &r->deltas[r->nr_deltas]))
			return flame_fail(rd, FLAME_EOVERFLOW, "the time of a sample does not fit 64 bits");
		r->nr_deltas++;
		if (!flame_json_skip_rest(&st->json, token))
			return FLAME_EDAMAGED;
	}
	return 0;
}

struct member {
	const char *key;
	uint8_t len;
	int (*read)(struct flame_reader *rd);
};

/* The members of an object, by @members, which end with a NULL. */
static int read_object(struct flame_reader *rd, const struct member *members)
{
	struct flame_json *json = &((struct state *)rd->state)->json;
	enum flame_json_token token = FLAME_JSON_KEY;
	int err = 0;

	while (!err && (token = flame_json_next(json)) == FLAME_JSON_KEY) {
		const struct member *m = members;

		while (m->key && !(m->len == json->text.len && bytes_equal(json->text.s, m->key, m->len)))
			m++;
		if (m->key)
			err = m->read(rd);
		else if (flame_json_skip(json) == FLAME_JSON_ERROR)
			err = FLAME_EDAMAGED;
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

static int read_inner(struct flame_reader *rd, const struct member *members)
{
	struct flame_json *json = &((struct state *)rd->state)->json;
	enum flame_json_token token = flame_json_next(json);

	return token == FLAME_JSON_OBJECT ? read_object(rd, members) : skip_rest(json, token);
}

static int read_nodes(struct flame_reader *rd)
{
	struct state *st = rd->state;

	return v8_tree_read(rd, &st->json, &st->record.nodes);
}

static int read_start(struct flame_reader *rd)
{
	struct record *r = &((struct state *)rd->state)->record;

	return read_time(rd, &r->start, &r->has_start);
}

static int read_end(struct flame_reader *rd)
{
	struct record *r = &((struct state *)rd->state)->record;

	return read_time(rd, &r->end, &r->has_end);
}

static int read_cpu_profile(struct flame_reader *rd)
{
	static const struct member members[] = {
		{ "nodes", 5, read_nodes }, { "samples", 7, read_samples }, { "timeDeltas", 10, read_deltas },
		{ "startTime", 9, read_start }, { "endTime", 7, read_end }, { NULL, 0, NULL },
	};

	return read_inner(rd, members);
}

static int read_data(struct flame_reader *rd)
{
	static const struct member members[] = {
		{ "cpuProfile", 10, read_cpu_profile }, { "timeDeltas", 10, read_deltas },
		{ "startTime", 9, read_start }, { "endTime", 7, read_end }, { NULL, 0, NULL },
	};

	return read_inner(rd, members);
}

static int read_arg_name(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token == FLAME_JSON_STRING)
		st->record.arg_name = flame_intern(rd->profile, st->json.text.s, st->json.text.len);
	return skip_rest(&st->json, token);
}

static int read_arg_line(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	if (token == FLAME_JSON_NUMBER && !flame_json_int(&st->json, &st->record.arg_line))
		st->record.arg_line = 0;
	return skip_rest(&st->json, token);
}

static int read_args(struct flame_reader *rd)
{
	static const struct member members[] = {
		{ "data", 4, read_data }, { "name", 4, read_arg_name }, { "line", 4, read_arg_line }, { NULL, 0, NULL },
	};

	return read_inner(rd, members);
}

static int read_ts(struct flame_reader *rd)
{
	struct record *r = &((struct state *)rd->state)->record;

	return read_time(rd, &r->ts, &r->has_ts);
}

static int read_dur(struct flame_reader *rd)
{
	struct record *r = &((struct state *)rd->state)->record;

	return read_time(rd, &r->dur, &r->has_dur);
}

static int read_pid(struct flame_reader *rd)
{
	return read_task_id(rd, &((struct state *)rd->state)->record.pid);
}

static int read_tid(struct flame_reader *rd)
{
	return read_task_id(rd, &((struct state *)rd->state)->record.tid);
}

static void reset_record(struct record *r)
{
	r->name_len = 0;
	r->phase = 0;
	r->has_ts = r->has_dur = r->has_start = r->has_end = false;
	r->pid = r->tid = 0;
	r->id = r->arg_name = 0;
	r->arg_line = 0;
	r->nr_samples = r->nr_deltas = 0;
	if (r->nodes.nr)
		v8_tree_reset(&r->nodes);
}

/* What an event does. */

static bool is_named(const struct record *r, const char *name)
{
	return r->name_len == strlen(name) && !memcmp(r->name, name, r->name_len);
}

static int add_metadata(struct state *st)
{
	const struct record *r = &st->record;
	bool process = is_named(r, "process_name");
	uint32_t row;

	if (!process && !is_named(r, "thread_name"))
		return 0;
	row = thread_row(st, r->pid, process ? NO_TID : r->tid);
	if (!row)
		return FLAME_ENOMEM;
	if (r->arg_name)
		st->threads[row].name = r->arg_name;
	return 0;
}

/* With --lines the line in the arguments, which py-spy writes, belongs to the name. */
static flame_frame event_frame(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct record *r = &st->record;
	size_t len = r->name_len;
	uint64_t hash;
	flame_frame frame;

	if (!len)
		return v8_text_frame(rd, (struct flame_span){ NULL, 0 }, FLAME_USER);
	if (rd->options->lines && r->arg_line > 0)
		len += (size_t)sprintf(r->name + len, ":%" PRId64, r->arg_line);
	hash = hash_bytes(r->name, len);
	if (flame_cache_get(&st->frames, r->name, len, hash, &frame))
		return frame;
	frame = v8_text_frame(rd, (struct flame_span){ r->name, len }, FLAME_USER);
	flame_cache_put(&st->frames, r->name, len, hash, frame);
	return frame;
}

static int add_event(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct record *r = &st->record;
	struct event e = { .ts = r->ts, .dur = r->phase == 'X' ? r->dur : r->phase == 'B' ? DUR_BEGIN : DUR_END };

	if (st->no_events)
		return 0;
	if (!r->has_ts)
		return flame_skip(rd, "an event has no time (ts)");
	if (r->phase == 'X' && (!r->has_dur || r->dur < 0))
		return flame_skip(rd, "an event of phase X has no duration (dur)");
	/* A B's line may be missing at its E: then the innermost event is meant. */
	if (r->phase != 'E' || (r->name_len && !rd->options->lines))
		e.frame = event_frame(rd);
	e.thread = thread_row(st, r->pid, r->tid);
	if (!e.thread || (r->phase != 'E' && !e.frame) || st->nr_events >= UINT32_MAX ||
	    !array_reserve((void **)&st->events, &st->room_events, st->nr_events + 1, sizeof(e)))
		return FLAME_ENOMEM;
	st->events[st->nr_events++] = e;
	return 0;
}

static int use_record(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct record *r = &st->record;

	switch (r->phase) {
	case 'X':
	case 'B':
	case 'E':
		return add_event(rd);
	case 'M':
		return add_metadata(st);
	case 'b':
	case 'S':
		st->nr_async++;
		return 0;
	default:
		if (is_named(r, "Profile") || is_named(r, "ProfileChunk") || is_named(r, "CpuProfile"))
			return add_profile(rd);
		return 0;
	}
}

static int read_events(struct flame_reader *rd)
{
	static const struct member members[] = {
		{ "name", 4, read_name }, { "ph", 2, read_phase }, { "ts", 2, read_ts }, { "dur", 3, read_dur },
		{ "pid", 3, read_pid }, { "tid", 3, read_tid }, { "args", 4, read_args }, { "id", 2, read_id }, { NULL, 0, NULL },
	};
	struct state *st = rd->state;
	enum flame_json_token token = FLAME_JSON_ARRAY;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (token != FLAME_JSON_OBJECT) {
			err = skip_rest(&st->json, token);
			continue;
		}
		reset_record(&st->record);
		err = read_object(rd, members);
		if (!err)
			err = use_record(rd);
	}
	return err;
}

static int read_trace(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token == FLAME_JSON_ARRAY)
		return read_events(rd);
	if (token != FLAME_JSON_OBJECT)
		return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED :
						   flame_fail(rd, FLAME_EFORMAT, "not a Chrome trace: the JSON is neither object nor array");
	while (!err && (token = flame_json_next(&st->json)) == FLAME_JSON_KEY) {
		bool events = flame_json_is(&st->json, "traceEvents");

		if (flame_json_is(&st->json, "stackFrames"))
			flame_note(rd, "\"stackFrames\" and the samples that use them are not read");
		token = events ? flame_json_next(&st->json) : flame_json_skip(&st->json);
		if (token == FLAME_JSON_ERROR)
			err = FLAME_EDAMAGED;
		else if (events)
			err = token == FLAME_JSON_ARRAY ? read_events(rd) : skip_rest(&st->json, token);
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

/* Return: FLAME_EDAMAGED where something follows: a second trace, say. */
static int read_after(struct flame_reader *rd)
{
	struct state *st = rd->state;

	return flame_json_next(&st->json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
}

/* Sums of a thread's events. */

static int compare_events(const void *a, const void *b, void *arg)
{
	const struct event *events = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct event *x = &events[i], *y = &events[j];

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	/* Begins and ends in their order, then whole events, the longer outside. */
	if (x->dur != y->dur && (x->dur >= 0 || y->dur >= 0))
		return x->dur < 0 ? -1 : y->dur < 0 ? 1 : x->dur > y->dur ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* The time from st->now to @at belongs to what is open innermost. */
static int spend(struct flame_reader *rd, int64_t at)
{
	struct state *st = rd->state;
	struct open *o = &st->open[st->nr_open - 1];
	int64_t from = st->now > st->from ? st->now : st->from, to = at < st->to ? at : st->to, ns;

	st->now = at;
	if (from >= to)
		return 0;
	if (__builtin_sub_overflow(to, from, &ns) || __builtin_add_overflow(o->self, ns, &o->self))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of an event does not fit 64 bits");
	if (!rd->options->ordered)
		return 0;
	o->self = 0;
	return v8_add_time(rd, o->stack, st->event_type, ns, 1);
}

static int close_top(struct flame_reader *rd, int64_t at)
{
	struct state *st = rd->state;
	int err = at > st->now ? spend(rd, at) : 0;
	const struct open *o = &st->open[--st->nr_open];

	if (err || rd->options->ordered)
		return err;
	return v8_add_time(rd, o->stack, st->event_type, o->self, 1);
}

/* Close what ends before @at, and spend the time until then. */
static int advance(struct flame_reader *rd, int64_t at)
{
	struct state *st = rd->state;
	int err = 0;

	while (!err && st->nr_open && st->open[st->nr_open - 1].end <= at)
		err = close_top(rd, st->open[st->nr_open - 1].end);
	if (!err && st->nr_open && at > st->now)
		err = spend(rd, at);
	if (at > st->now || !st->nr_open)
		st->now = at;
	return err;
}

static int begin_event(struct flame_reader *rd, const struct event *e)
{
	struct state *st = rd->state;
	struct open *o;
	flame_stack caller;
	int64_t end;

	if (!array_reserve((void **)&st->open, &st->room_open, st->nr_open + 1, sizeof(*st->open)))
		return FLAME_ENOMEM;
	if (e->dur < 0)
		end = INT64_MAX;
	else if (__builtin_add_overflow(e->ts, e->dur, &end))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of an event does not fit 64 bits");
	caller = st->nr_open ? st->open[st->nr_open - 1].stack : thread_root(rd, e->thread);
	o = &st->open[st->nr_open++];
	*o = (struct open){ .end = end, .frame = e->frame, .stack = flame_stack_push(rd->profile, caller, e->frame) };
	return o->stack ? 0 : flame_profile_error(rd->profile);
}

/* What is left of an event whose callers change goes to the stack it had. */
static int move_open(struct flame_reader *rd, struct open *o, flame_stack caller)
{
	struct state *st = rd->state;
	int err = o->self ? v8_add_time(rd, o->stack, st->event_type, o->self, 1) : 0;

	o->self = 0;
	o->stack = flame_stack_push(rd->profile, caller, o->frame);
	return err;
}

/* Close the open event at @at, and B events inside it, whose E is missing. X events that last longer stay. */
static int close_at(struct flame_reader *rd, size_t at, uint32_t thread)
{
	struct state *st = rd->state;
	size_t kept = at, nr = st->nr_open;
	int err = 0;

	for (size_t i = at; !err && i < nr; i++) {
		struct open *o = &st->open[i];

		if (i > at && o->end != INT64_MAX && o->end > st->now) {
			err = move_open(rd, o, kept ? st->open[kept - 1].stack : thread_root(rd, thread));
			st->open[kept++] = *o;
			continue;
		}
		st->nr_unclosed += i > at && o->end == INT64_MAX;
		if (!rd->options->ordered)
			err = v8_add_time(rd, o->stack, st->event_type, o->self, 1);
	}
	st->nr_open = kept;
	return err;
}

static int end_event(struct flame_reader *rd, const struct event *e)
{
	struct state *st = rd->state;
	size_t i = st->nr_open, searched = 0;

	for (; i && searched < OPEN_SEARCH_MAX; i--, searched++) {
		const struct open *o = &st->open[i - 1];

		if (o->end == INT64_MAX && (!e->frame || o->frame == e->frame))
			return close_at(rd, i - 1, e->thread);
	}
	st->nr_unopened++;
	return 0;
}

static int sum_thread(struct flame_reader *rd, const uint32_t *order, size_t nr)
{
	struct state *st = rd->state;
	int err = 0;

	st->nr_open = 0;
	st->now = st->events[order[0]].ts;
	for (size_t i = 0; !err && i < nr; i++) {
		const struct event *e = &st->events[order[i]];

		err = advance(rd, e->ts);
		if (!err)
			err = e->dur == DUR_END ? end_event(rd, e) : begin_event(rd, e);
	}
	while (!err && st->nr_open) {
		int64_t end = st->open[st->nr_open - 1].end;

		st->nr_unclosed += end == INT64_MAX;
		err = close_top(rd, end == INT64_MAX ? st->now : end);
	}
	return err;
}

static bool is_sorted(const struct state *st, const uint32_t *order, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (compare_events(&order[i - 1], &order[i], st->events) > 0)
			return false;
	}
	return true;
}

/* --time counts from the first event. */
static void set_window(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int64_t first = st->events[0].ts;
	double from, to;

	for (size_t i = 1; i < st->nr_events; i++)
		first = st->events[i].ts < first ? st->events[i].ts : first;
	from = (double)first + rd->options->time_from * 1e9;
	to = (double)first + rd->options->time_to * 1e9;
	st->from = rd->options->time_from <= 0 ? INT64_MIN : from < 9e18 ? (int64_t)from : INT64_MAX;
	st->to = rd->options->time_to > 0 && to < 9e18 ? (int64_t)to : INT64_MAX;
}

/* The events' rows, thread by thread, in their order in the file. @starts: where each thread's begin. */
static void order_events(const struct state *st, uint32_t *order, size_t *starts)
{
	for (size_t i = 0; i < st->nr_events; i++)
		starts[st->events[i].thread + 1]++;
	for (size_t i = 1; i <= st->nr_threads; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < st->nr_events; i++)
		order[starts[st->events[i].thread]++] = (uint32_t)i;
	/* Each start has moved to the next one's place. */
	memmove(starts + 1, starts, st->nr_threads * sizeof(*starts));
	starts[0] = 0;
}

static int sum_events(struct flame_reader *rd)
{
	struct state *st = rd->state;
	uint32_t *order;
	size_t *starts;
	int err = 0;

	if (!st->nr_events)
		return 0;
	order = malloc(st->nr_events * sizeof(*order));
	starts = calloc(st->nr_threads + 2, sizeof(*starts));
	if (!order || !starts)
		err = FLAME_ENOMEM;
	if (!err) {
		order_events(st, order, starts);
		set_window(rd);
	}
	for (size_t i = 1; !err && i < st->nr_threads; i++) {
		size_t nr = starts[i + 1] - starts[i];

		if (!nr)
			continue;
		if (!is_sorted(st, order + starts[i], nr))
			qsort_r(order + starts[i], nr, sizeof(*order), compare_events, st->events);
		err = sum_thread(rd, order + starts[i], nr);
	}
	free(order);
	free(starts);
	return err;
}

/* The marks become root frames, or nothing. */

static flame_stack named_root(struct flame_reader *rd, struct flame_profile *to, const struct thread *t)
{
	struct state *st = rd->state;
	uint32_t process = thread_row(st, t->pid, NO_TID);
	char buf[32];
	struct flame_span text = thread_text(rd->profile, t, buf, sizeof(buf)), comm = text;
	struct flame_task_info task = { .pid = task_id(t->pid), .tid = task_id(t->tid) };
	flame_stack root = 0;

	if (rd->options->profile && !st->only &&
	    (text.len != strlen(rd->options->profile) || memcmp(text.s, rd->options->profile, text.len) != 0))
		return FLAME_STACK_DROPPED;
	if (rd->options->root == FLAME_ROOT_PID || rd->options->root == FLAME_ROOT_TID) {
		if (process && st->threads[process].name)
			comm = flame_string_get(rd->profile, st->threads[process].name);
		task.comm = flame_intern(to, comm.s, comm.len);
		root = flame_task_root(to, &task);
	}
	if (rd->options->threads) {
		struct flame_reader other = *rd;

		other.profile = to;
		root = flame_stack_push(to, root, v8_text_frame(&other, text, FLAME_TASK));
	}
	return root;
}

static int map_stacks(struct flame_reader *rd, struct flame_profile *to, const flame_frame *frames, flame_stack *stacks)
{
	struct state *st = rd->state;
	const struct flame_profile *from = rd->profile;
	flame_stack *roots = calloc(flame_nr_frames(from), sizeof(*roots));
	bool *is_mark = calloc(flame_nr_frames(from), sizeof(*is_mark));

	for (size_t i = 1; roots && is_mark && i < st->nr_threads; i++) {
		/* A copy: naming a thread may add its process. */
		struct thread t = st->threads[i];

		if (!t.mark)
			continue;
		is_mark[t.mark] = true;
		roots[t.mark] = named_root(rd, to, &t);
	}
	for (uint32_t i = 1; roots && is_mark && i < flame_nr_stacks(from); i++) {
		flame_stack caller = flame_stack_caller(from, i);
		flame_frame frame = flame_stack_frame(from, i);

		if (!caller && is_mark[frame])
			stacks[i] = roots[frame];
		else if (stacks[caller] == FLAME_STACK_DROPPED)
			stacks[i] = FLAME_STACK_DROPPED;
		else
			stacks[i] = flame_stack_push(to, stacks[caller], frames[frame]);
	}
	free(is_mark);
	free(roots);
	return roots && is_mark ? flame_profile_error(to) : FLAME_ENOMEM;
}

static int name_threads(struct flame_reader *rd)
{
	struct flame_profile *to = flame_profile_new(flame_profile_options(rd->profile));
	flame_frame *frames = to ? flame_frames_copy(to, rd->profile) : NULL;
	flame_stack *stacks = calloc(flame_nr_stacks(rd->profile), sizeof(*stacks));
	int err = frames && stacks ? map_stacks(rd, to, frames, stacks) : FLAME_ENOMEM;

	for (flame_type i = 1; !err && i < flame_nr_types(rd->profile); i++)
		flame_type_copy(to, rd->profile, i);
	if (!err)
		err = flame_samples_copy(to, rd->profile, stacks);
	free(frames);
	free(stacks);
	if (err) {
		flame_profile_free(to);
		return err;
	}
	flame_profile_free(rd->profile);
	rd->profile = to;
	return 0;
}

/* All of it. */

static void start(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const char *event = rd->options->event, *profile = rd->options->profile;
	char *end = NULL;

	st->cpu_type = v8_type(rd, "cpu-profile", "us", FLAME_VALUE_WALL);
	st->event_type = v8_type(rd, "events", "us", FLAME_VALUE_WALL);
	st->frames.max_bytes = CACHE_BYTES;
	if (profile && *profile >= '1' && *profile <= '9')
		st->only = strtoull(profile, &end, 10);
	if (end && *end)
		st->only = 0;
	st->marks = rd->options->threads || rd->options->root == FLAME_ROOT_PID ||
		    rd->options->root == FLAME_ROOT_TID || (profile && !st->only);
	st->no_events = st->only || (event && !strcmp(event, "cpu-profile"));
}

static void tell_profiles(struct flame_reader *rd)
{
	const struct state *st = rd->state;
	char buf[32], *text = NULL;
	size_t size;
	FILE *out;

	if (st->nr_profiles < 2 || rd->options->profile)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		return;
	for (size_t i = 0; i < st->nr_profiles && i < 8; i++) {
		const struct thread *t = &st->threads[st->profiles[i]->thread];
		struct flame_span name = thread_text(rd->profile, t, buf, sizeof(buf));

		fprintf(out, "%s%zu %.*s", i ? ", " : "", i + 1, (int)(name.len < 60 ? name.len : 60), name.s);
	}
	fclose(out);
	flame_note(rd, "%zu CPU profiles are added up: %s%s; --profile takes one", st->nr_profiles, text,
		   st->nr_profiles > 8 ? ", …" : "");
	free(text);
}

/* Return: the threads that have samples; owned by the caller; NULL without memory. */
static char *list_threads(const struct flame_reader *rd)
{
	const struct state *st = rd->state;
	char buf[32], *text = NULL;
	size_t size, nr = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 1; out && i < st->nr_threads && nr < 20; i++) {
		struct flame_span name = thread_text(rd->profile, &st->threads[i], buf, sizeof(buf));

		if (st->threads[i].mark)
			fprintf(out, "%s%.*s", nr++ ? ", " : "", (int)(name.len < 60 ? name.len : 60), name.s);
	}
	if (out)
		fclose(out);
	return text;
}

/* Marks become threads' names; of the threads only the one that --profile names is kept. */
static int choose_threads(struct flame_reader *rd)
{
	const struct state *st = rd->state;
	bool chosen = rd->options->profile && !st->only && flame_nr_samples(rd->profile);
	char *threads = chosen ? list_threads(rd) : NULL;
	int err = name_threads(rd);

	if (!err && chosen && !flame_nr_samples(rd->profile))
		err = flame_fail(rd, FLAME_EARG, "there is no thread '%s' with samples in it; there are: %s",
				 rd->options->profile, threads ? threads : "others");
	free(threads);
	return err;
}

static void tell_losses(struct flame_reader *rd)
{
	const struct state *st = rd->state;

	if (st->nr_async)
		flame_note(rd, "%" PRIu64 " asynchronous events (phases b and S) are left out: they are on no thread's stack",
			   st->nr_async);
	if (st->nr_unopened)
		flame_note(rd, "%" PRIu64 " events of phase E are left out: their B is not there", st->nr_unopened);
	if (st->nr_unclosed)
		flame_note(rd, "%" PRIu64 " events of phase B have no E: taken to last until the one around them or "
			   "their thread's last event", st->nr_unclosed);
}

/* The format lets the array's last bracket be missing; nothing is lost then. */
static bool is_complete(const struct flame_json *json, bool array)
{
	return array && json->cut && json->depth == 1 && !json->in->error;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span head = flame_peek(rd->input, 256);
	bool array = false;
	int err, broken;

	for (size_t i = 0; i < head.len && !array && head.s[i] != '{'; i++)
		array = head.s[i] == '[';
	start(rd);
	flame_json_init(&st->json, rd->input);
	err = read_trace(rd);
	if (!err)
		err = read_after(rd);
	if (err && !(err == FLAME_EDAMAGED && st->json.error))
		return err;
	broken = err && !is_complete(&st->json, array);
	if (broken) {
		bool kept = st->nr_events || st->nr_profiles;

		err = flame_json_report(&st->json, rd, kept);
		if (err)
			return err;
	}
	if (st->only > st->nr_profiles)
		return flame_fail(rd, FLAME_EARG, "there is no CPU profile %s in it: it has %zu", rd->options->profile,
				  st->nr_profiles);
	err = end_profiles(rd);
	if (!err)
		err = sum_events(rd);
	tell_profiles(rd);
	tell_losses(rd);
	return !err && st->marks ? choose_threads(rd) : err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < st->nr_profiles; i++) {
		v8_timeline_release(&st->profiles[i]->line);
		v8_tree_release(&st->profiles[i]->tree);
		free(st->profiles[i]);
	}
	free(st->profiles);
	free(st->threads);
	free(st->thread_index.slots);
	free(st->events);
	free(st->open);
	free(st->record.name);
	free(st->record.samples);
	free(st->record.deltas);
	v8_tree_release(&st->record.nodes);
	flame_cache_release(&st->frames);
	flame_json_release(&st->json);
}

/* An array whose first object has a phase and a time or name. */
static int probe_array(struct flame_span head)
{
	struct flame_json json;
	enum flame_json_token token;
	bool phase = false, other = false;

	flame_json_init_span(&json, head);
	token = flame_json_next(&json);
	if (token == FLAME_JSON_ARRAY && flame_json_next(&json) == FLAME_JSON_OBJECT) {
		while (flame_json_next(&json) == FLAME_JSON_KEY) {
			phase |= flame_json_is(&json, "ph");
			other |= flame_json_is(&json, "ts") || flame_json_is(&json, "name") || flame_json_is(&json, "pid");
			if (flame_json_skip(&json) == FLAME_JSON_ERROR)
				break;
		}
	}
	flame_json_release(&json);
	return phase && other ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

static int probe(struct flame_span head)
{
	static const char *const keys[] = { "traceEvents", NULL };

	return v8_top_keys(head, keys) ? FLAME_SCORE_MAGIC : probe_array(head);
}

const struct flame_converter flame_chrome_converter = {
	.name = "chrome",
	.summary = "Chrome's trace events (DevTools, node, py-spy, uftrace), JSON",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_PROFILE | FLAME_CHOICE_IDLE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

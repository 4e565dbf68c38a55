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
 * There are three kinds of values in it, never added up: the samples of V8's CPU profiler (events Profile and
 * ProfileChunk, or CpuProfile), those of other profilers (chrome_frames.h), and events with a duration (phases X, B
 * and E), whose time is their own without that of the events inside. Samples are used as they come; events of a
 * thread may come in any order (chrome_order.h).
 * Not read: asynchronous events, flows, counters, objects.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chrome_frames.h"
#include "chrome_order.h"
#include "chrome_record.h"
#include "chrome_sum.h"
#include "chrome_task.h"
#include "v8.h"

#include "../core/cache.h"

#define PROFILES_MAX 4096	/* V8 has one a thread at a time */
#define CACHE_BYTES ((size_t)16 << 20)

struct profile {
	int64_t pid;
	flame_string id;	/* 0: by thread */
	uint32_t thread;
	struct v8_tree tree;
	struct v8_timeline line;
	bool has_start, has_end;
	int64_t start, end;	/* ns */
};

struct state {
	struct flame_json json;
	struct chrome_record record;
	struct chrome_tasks tasks;
	struct profile **profiles;
	size_t nr_profiles, room_profiles;
	struct chrome_order events;
	uint64_t nr_events;
	int64_t first;			/* ns: the earliest event's */
	struct chrome_sum sum;
	struct chrome_frames stacks;
	struct flame_cache frames;	/* by the events' names */
	flame_type cpu_type;
	uint64_t only;			/* --profile's number; 0: all */
	bool no_events;			/* nobody asks for them */
	uint64_t nr_async;
};

/* Profiles of V8. */

static struct profile *find_profile(struct flame_reader *rd, bool *full)
{
	struct state *st = rd->state;
	const struct chrome_record *r = &st->record;
	uint32_t thread = chrome_task_row(&st->tasks, r->pid, r->tid);
	flame_string id = flame_intern(rd->profile, r->id.s, r->id.len);
	struct profile *p;

	for (size_t i = st->nr_profiles; i; i--) {
		p = st->profiles[i - 1];
		if (p->pid == r->pid && p->id == id && (id || p->thread == thread))
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
	p->id = id;
	p->thread = thread;
	p->line.tree = &p->tree;
	p->line.type = st->cpu_type;
	st->profiles[st->nr_profiles++] = p;
	return p;
}

static int add_samples(struct flame_reader *rd, struct profile *p)
{
	struct state *st = rd->state;
	const struct chrome_record *r = &st->record;
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
	const struct chrome_record *r = &st->record;
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
	p->tree.root = chrome_task_root(rd, &st->tasks, p->thread);
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

/* What an event does. */

static int add_metadata(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct chrome_record *r = &st->record;
	bool process = chrome_record_is(r, "process_name");
	uint32_t row;

	if (!process && !chrome_record_is(r, "thread_name"))
		return 0;
	row = chrome_task_row(&st->tasks, r->pid, process ? CHROME_NO_TID : r->tid);
	if (!row)
		return FLAME_ENOMEM;
	if (r->arg_name.len)
		st->tasks.rows[row].name = flame_intern(rd->profile, r->arg_name.s, r->arg_name.len);
	return 0;
}

/* With --lines the line in the arguments, which py-spy writes, belongs to the name. */
static flame_frame event_frame(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct chrome_record *r = &st->record;
	struct chrome_text *name = &r->name;
	size_t len = name->len;
	uint64_t hash;
	flame_frame frame;

	if (!len)
		return v8_text_frame(rd, (struct flame_span){ NULL, 0 }, FLAME_USER);
	if (rd->options->lines && r->arg_line > 0)
		len += (size_t)snprintf(name->s + len, CHROME_NAME_SPARE, ":%" PRId64, r->arg_line);
	hash = hash_bytes(name->s, len);
	if (flame_cache_get(&st->frames, name->s, len, hash, &frame))
		return frame;
	frame = v8_text_frame(rd, (struct flame_span){ name->s, len }, FLAME_USER);
	flame_cache_put(&st->frames, name->s, len, hash, frame);
	return frame;
}

static int add_event(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct chrome_record *r = &st->record;
	struct chrome_event e = {
		.ts = r->ts, .dur = r->phase == 'X' ? r->dur : r->phase == 'B' ? CHROME_BEGIN : CHROME_END,
	};

	if (st->no_events)
		return 0;
	if (!r->has_ts)
		return flame_skip(rd, "an event has no time (ts)");
	if (r->phase == 'X' && !r->has_dur)
		return flame_skip(rd, "an event of phase X has no duration (dur)");
	if (r->phase == 'X' && r->dur < 0)
		return flame_skip(rd, "an event of phase X has a duration (dur) below 0");
	/* A B's line may be missing at its E: then the innermost event is meant. */
	if (r->phase != 'E' || (r->name.len && !rd->options->lines))
		e.frame = event_frame(rd);
	e.thread = chrome_task_row(&st->tasks, r->pid, r->tid);
	if (!e.thread || (r->phase != 'E' && !e.frame))
		return FLAME_ENOMEM;
	if (!st->nr_events++ || e.ts < st->first)
		st->first = e.ts;
	return chrome_order_add(&st->events, &e);
}

static int use_record(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct chrome_record *r = &st->record;

	switch (r->phase) {
	case 'X':
	case 'B':
	case 'E':
		return add_event(rd);
	case 'M':
		return add_metadata(rd);
	case 'b':
	case 'S':
		st->nr_async++;
		return 0;
	default:
		if (chrome_record_is(r, "Profile") || chrome_record_is(r, "ProfileChunk") ||
		    chrome_record_is(r, "CpuProfile"))
			return add_profile(rd);
		return 0;
	}
}

static int skip_rest(struct flame_json *json, enum flame_json_token token)
{
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

static int read_events(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = FLAME_JSON_ARRAY;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (token != FLAME_JSON_OBJECT) {
			err = skip_rest(&st->json, token);
			continue;
		}
		err = chrome_record_read(rd, &st->json, &st->record);
		if (!err)
			err = use_record(rd);
	}
	return err;
}

static int read_all_events(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);

	return token == FLAME_JSON_ARRAY ? read_events(rd) : skip_rest(&st->json, token);
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
		if (flame_json_is(&st->json, "traceEvents"))
			err = read_all_events(rd);
		else if (flame_json_is(&st->json, "samples") && !st->only)
			err = chrome_frames_samples(rd, &st->json, &st->stacks, &st->record);
		else if (flame_json_is(&st->json, "stackFrames") && !st->only)
			err = chrome_frames_read(rd, &st->json, &st->stacks);
		else
			err = flame_json_skip(&st->json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

/* Return: FLAME_EDAMAGED where something follows: a second trace, say. */
static int read_after(struct flame_reader *rd)
{
	struct state *st = rd->state;

	return flame_json_next(&st->json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
}

/* --time counts from the first event. */
static void set_window(struct flame_reader *rd)
{
	struct state *st = rd->state;
	double from = (double)st->first + rd->options->time_from * 1e9;
	double to = (double)st->first + rd->options->time_to * 1e9;

	st->sum.from = rd->options->time_from <= 0 ? INT64_MIN : from < 9e18 ? (int64_t)from : INT64_MAX;
	st->sum.to = rd->options->time_to > 0 && to < 9e18 ? (int64_t)to : INT64_MAX;
}

static int sum_events(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->nr_events)
		return 0;
	set_window(rd);
	return chrome_sum_events(rd, &st->sum, &st->events);
}

/* All of it. */

static void start(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const char *event = rd->options->event, *profile = rd->options->profile;
	char *end = NULL;

	st->cpu_type = v8_type(rd, "cpu-profile", "us", FLAME_VALUE_WALL);
	st->stacks.type = v8_type(rd, "stack-samples", "us", FLAME_VALUE_WALL);
	st->stacks.tasks = &st->tasks;
	st->sum.type = v8_type(rd, "events", "us", FLAME_VALUE_WALL);
	st->sum.tasks = &st->tasks;
	st->events.batch_max = CHROME_BATCH;
	st->events.memory_max = CHROME_RUNS_BYTES;
	st->events.runs_max = CHROME_RUNS_MAX;
	st->frames.max_bytes = CACHE_BYTES;
	if (profile && *profile >= '1' && *profile <= '9')
		st->only = strtoull(profile, &end, 10);
	if (end && *end)
		st->only = 0;
	st->tasks.marks = rd->options->threads || rd->options->root == FLAME_ROOT_PID ||
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
		const struct chrome_task *t = &st->tasks.rows[st->profiles[i]->thread];
		struct flame_span name = chrome_task_text(rd->profile, t, buf, sizeof(buf));

		fprintf(out, "%s%zu %.*s", i ? ", " : "", i + 1, (int)(name.len < 60 ? name.len : 60), name.s);
	}
	fclose(out);
	flame_note(rd, "%zu CPU profiles are added up: %s%s; --profile takes one", st->nr_profiles, text,
		   st->nr_profiles > 8 ? ", …" : "");
	free(text);
}

static void tell_losses(struct flame_reader *rd)
{
	const struct state *st = rd->state;

	if (st->nr_async)
		flame_note(rd, "%" PRIu64 " asynchronous events (phases b and S) are left out: they are on no thread's stack",
			   st->nr_async);
	if (st->sum.nr_unopened)
		flame_note(rd, "%" PRIu64 " events of phase E are left out: their B is not there", st->sum.nr_unopened);
	if (st->sum.nr_unclosed)
		flame_note(rd, "%" PRIu64 " events of phase B have no E: taken to last until the one around them or "
			   "their thread's last event", st->sum.nr_unclosed);
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
		bool kept = st->nr_events || st->nr_profiles || st->stacks.nr_samples;

		err = flame_json_report(&st->json, rd, kept);
		if (err)
			return err;
	}
	if (st->only > st->nr_profiles)
		return flame_fail(rd, FLAME_EARG, "there is no CPU profile %s in it: it has %zu", rd->options->profile,
				  st->nr_profiles);
	err = end_profiles(rd);
	if (!err && (st->stacks.has_time || !st->nr_events))
		err = chrome_frames_add(rd, &st->stacks);
	if (!err)
		err = sum_events(rd);
	tell_profiles(rd);
	tell_losses(rd);
	if (err || !st->tasks.marks)
		return err;
	return chrome_tasks_name(rd, &st->tasks, st->only ? NULL : rd->options->profile);
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
	chrome_tasks_release(&st->tasks);
	chrome_order_release(&st->events);
	chrome_sum_release(&st->sum);
	chrome_frames_release(&st->stacks);
	chrome_record_release(&st->record);
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

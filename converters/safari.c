/* SPDX-License-Identifier: MIT */
/*
 * safari - timelines that Safari's Web Inspector exports (.json):
 *
 *     {"version":1,"recording":{"displayName":"…","startTime":4.1,"endTime":6.6,"records":[…],
 *      "sampleStackTraces":[{"timestamp":4.51,"stackFrames":[{"sourceID":"8","name":"gamma","line":20,"column":15,
 *      "url":"file:///demo/a.js"},…]},…],"sampleDurations":[0.0012,…]}}
 *
 * Stacks begin with the leaf; each lasts its duration, in seconds. Without durations a sample lasts until the next one,
 * up to IDLE_GAP_NS: behind that nothing was executed. Documentation/formats/safari.md has the grammar.
 * Not read: "records" (network, layout, frames), markers.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/json.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"
#include "../core/tidy.h"

#define IDLE_GAP_NS 2000000
#define NO_TIME INT64_MIN

struct trace {
	flame_stack stack;
	int64_t ts;		/* ns; NO_TIME: none */
};

struct state {
	struct flame_json json;
	struct flame_namer namer;
	struct flame_callstack stack;
	struct trace *traces;
	size_t nr_traces, room_traces;
	int64_t *durations;	/* ns; NO_TIME: none */
	size_t nr_durations, room_durations;
	bool has_traces;
};

/* Numbers. */

/* Seconds in the last token. Return: nanoseconds, NO_TIME for what is none. */
static int64_t seconds(const struct flame_json *json, enum flame_json_token token)
{
	double ns = token == FLAME_JSON_NUMBER ? flame_json_double(json) * 1e9 : NAN;

	return fabs(ns) < 9e18 ? (int64_t)llround(ns) : NO_TIME;
}

static int skip_rest(struct flame_json *json, enum flame_json_token token)
{
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

/* Stacks. */

/* "gamma", with --lines "gamma:20", with --srcline "gamma:a.js:20"; "(anonymous) a.js:20" for one without a name. */
static flame_frame make_frame(struct flame_reader *rd, flame_string name_row, flame_string url_row, int64_t line)
{
	struct state *st = rd->state;
	const struct flame_read_options *o = rd->options;
	struct flame_span name = flame_string_get(rd->profile, name_row);
	struct flame_span file = span_base(flame_string_get(rd->profile, url_row));
	struct flame_frame_info info = { .file = url_row, .line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0 };
	bool anonymous = !name.len, place = (anonymous || o->srcline) && file.len;
	char *room = flame_namer_room(&st->namer, name.len + file.len + 40);
	size_t len = name.len;

	if (!room)
		return 0;
	memcpy(room, name.s, name.len);
	if (anonymous)
		len = (size_t)(stpcpy(room, "(anonymous)") - room);
	if (place)
		len += (size_t)sprintf(room + len, "%c%.*s", anonymous ? ' ' : ':', (int)file.len, file.s);
	if (info.line && (place || (o->lines && file.len)))
		len += (size_t)sprintf(room + len, ":%u", info.line);
	name = flame_tidy_raw((struct flame_span){ room, len }, room);
	info.name = flame_intern(rd->profile, name.s, name.len);
	return flame_frame_row(rd->profile, &info);
}

static int read_frame(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	flame_string name = 0, url = 0;
	int64_t line = 0;
	enum flame_json_token token;

	while ((token = flame_json_next(json)) == FLAME_JSON_KEY) {
		bool is_name = flame_json_is(json, "name"), is_url = flame_json_is(json, "url");
		bool is_line = flame_json_is(json, "line");

		token = flame_json_next(json);
		if (token == FLAME_JSON_STRING && (is_name || is_url))
			*(is_name ? &name : &url) = flame_intern(rd->profile, json->text.s, json->text.len);
		else if (token == FLAME_JSON_NUMBER && is_line && !flame_json_int(json, &line))
			line = 0;
		if (!flame_json_skip_rest(json, token))
			return FLAME_EDAMAGED;
	}
	if (token == FLAME_JSON_ERROR)
		return FLAME_EDAMAGED;
	return flame_callstack_add(&st->stack, make_frame(rd, name, url, line));
}

static int read_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(&st->json, token);
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END)
		err = token == FLAME_JSON_OBJECT ? read_frame(rd) : skip_rest(&st->json, token);
	return err;
}

/* The stack of the frames that were read, the leaf first. */
static flame_stack push_frames(struct flame_reader *rd, struct flame_callstack *frames)
{
	flame_stack stack = 0;

	while (frames->nr)
		stack = flame_stack_push(rd->profile, stack, frames->frames[--frames->nr]);
	return stack;
}

static int read_trace(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct trace trace = { .ts = NO_TIME };
	enum flame_json_token token;
	int err = 0;

	st->stack.nr = 0;
	while (!err && (token = flame_json_next(&st->json)) == FLAME_JSON_KEY) {
		bool is_time = flame_json_is(&st->json, "timestamp");

		if (flame_json_is(&st->json, "stackFrames")) {
			err = read_frames(rd);
			continue;
		}
		token = flame_json_next(&st->json);
		if (is_time)
			trace.ts = seconds(&st->json, token);
		err = skip_rest(&st->json, token);
	}
	if (err || token == FLAME_JSON_ERROR)
		return err ? err : FLAME_EDAMAGED;
	trace.stack = push_frames(rd, &st->stack);
	if (!array_reserve((void **)&st->traces, &st->room_traces, st->nr_traces + 1, sizeof(trace)))
		return FLAME_ENOMEM;
	st->traces[st->nr_traces++] = trace;
	return flame_profile_error(rd->profile);
}

static int read_traces(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(&st->json, token);
	st->has_traces = true;
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END)
		err = token == FLAME_JSON_OBJECT ? read_trace(rd) : skip_rest(&st->json, token);
	return err;
}

static int read_durations(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(&st->json, token);
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (!array_reserve((void **)&st->durations, &st->room_durations, st->nr_durations + 1,
				   sizeof(*st->durations)))
			return FLAME_ENOMEM;
		st->durations[st->nr_durations++] = seconds(&st->json, token);
		err = skip_rest(&st->json, token);
	}
	return err;
}

/* The members of the file and those of "recording", in any order. */
static int read_members(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum flame_json_token token = flame_json_next(json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT && token != FLAME_JSON_ERROR)
		return flame_fail(rd, FLAME_EFORMAT, "not a recording of Safari: the JSON is no object");
	while (!err && token != FLAME_JSON_END && token != FLAME_JSON_ERROR) {
		token = flame_json_next(json);
		if (token != FLAME_JSON_KEY)
			continue;
		if (flame_json_is(json, "sampleStackTraces")) {
			err = read_traces(rd);
		} else if (flame_json_is(json, "sampleDurations")) {
			err = read_durations(rd);
		} else if (flame_json_is(json, "recording")) {
			token = flame_json_next(json);
			err = token == FLAME_JSON_OBJECT ? 0 : skip_rest(json, token);
		} else if (flame_json_skip(json) == FLAME_JSON_ERROR) {
			err = FLAME_EDAMAGED;
		}
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

/* Samples. */

/* How long sample @i lasted. Return: NO_TIME where that is not known. */
static int64_t duration_of(const struct state *st, size_t i)
{
	const struct trace *t = &st->traces[i], *next = i + 1 < st->nr_traces ? t + 1 : NULL;
	int64_t ns;

	if (st->nr_durations)
		return i < st->nr_durations ? st->durations[i] : NO_TIME;
	if (t->ts == NO_TIME || (next && next->ts == NO_TIME))
		return NO_TIME;
	if (!next || __builtin_sub_overflow(next->ts, t->ts, &ns) || ns < 0)
		return 0;
	return ns < IDLE_GAP_NS ? ns : IDLE_GAP_NS;
}

static bool in_time(const struct flame_read_options *o, int64_t first, int64_t ts)
{
	double at = ((double)ts - (double)first) / 1e9;

	return ts == NO_TIME || ((o->time_from <= 0 || at >= o->time_from) && (o->time_to <= 0 || at <= o->time_to));
}

static int add_samples(struct flame_reader *rd)
{
	struct state *st = rd->state;
	flame_type type = flame_namer_type(rd->profile, "time", "ns", FLAME_VALUE_WALL);
	struct flame_sample s = { .type = type, .nr_samples = 1 };
	int err = 0;

	for (size_t i = 0; !err && i < st->nr_traces; i++) {
		if (!in_time(rd->options, st->traces[0].ts, st->traces[i].ts))
			continue;
		s.stack = st->traces[i].stack;
		s.value = duration_of(st, i);
		if (s.value == NO_TIME || s.value < 0)
			err = flame_skip(rd, "a sample whose duration is not known, or below 0");
		else
			err = flame_sample_add(rd->profile, &s);
	}
	if (!err && st->nr_durations > st->nr_traces && st->nr_traces)
		flame_note(rd, "there are more durations than samples: those without one are left out");
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err, added;

	flame_json_init(&st->json, rd->input);
	err = read_members(rd);
	if (err && err != FLAME_EDAMAGED)
		return err;
	if (!err && !st->has_traces)
		return flame_fail(rd, FLAME_EFORMAT, "no \"sampleStackTraces\" are in it: was JavaScript recorded?");
	added = add_samples(rd);
	if (added)
		return added;
	return err ? flame_json_report(&st->json, rd, flame_nr_samples(rd->profile) > 0) : 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_callstack_release(&st->stack);
	flame_namer_release(&st->namer);
	flame_json_release(&st->json);
	free(st->traces);
	free(st->durations);
}

/* "recording" is the second member, and the stacks may come late in it. */
static int probe(struct flame_span head)
{
	bool recording = span_starts(head, "{") && memmem(head.s, head.len, "\"recording\"", 11);

	if (!recording)
		return FLAME_SCORE_NOT;
	if (memmem(head.s, head.len, "\"sampleStackTraces\"", 19))
		return FLAME_SCORE_MAGIC;
	return memmem(head.s, head.len, "\"timeline-record-type-", 22) ? FLAME_SCORE_RECORD : FLAME_SCORE_NOT;
}

const struct flame_converter flame_safari_converter = {
	.name = "safari",
	.summary = "timelines of Safari's Web Inspector (JSON)",
	.choices = FLAME_CHOICE_TIME,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

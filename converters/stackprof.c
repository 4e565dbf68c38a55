/* SPDX-License-Identifier: MIT */
/*
 * stackprof - Ruby's stackprof with raw: true, as JSON (`stackprof --json DUMP`, JSON.generate(StackProf.results)):
 *
 *     {"version":1.2,"mode":"cpu","interval":1000,"samples":99,
 *      "frames":{"140":{"name":"Shape#area","file":"a.rb","line":2}},
 *      "raw":[2,7,140,1,…],"raw_timestamp_deltas":[7375,…]}
 *
 * raw holds for each run of equal stacks its depth, the frames from the root, and how many samples. Events:
 * samples (objects in object mode), and time, which is the interval times the count, or in wall mode the time
 * that the samples took. Without raw, each frame's own samples become a stack of one frame. Seen: stackprof 0.2.
 * Not read: Marshal dumps (.dump), edges, lines.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/idmap.h"
#include "../core/json.h"
#include "../core/meta.h"
#include "../core/namer.h"
#include "../core/table.h"

#define STACKPROF_FRAMES 65536	/* of one stack */

struct entry {
	flame_stack stack;
	int64_t count;
};

struct own {
	flame_frame frame;
	int64_t samples;
};

struct state {
	struct flame_json json;
	struct idmap frames;	/* by address */
	int64_t *raw;			/* of a stack that is read, or of all before the frames are known */
	size_t nr_raw, room_raw;
	bool have_frames, have_raw;
	struct entry *entries;
	size_t nr_entries, room_entries;
	struct own *own;		/* for files without raw */
	size_t nr_own, room_own;
	int64_t *deltas;		/* us */
	size_t nr_deltas, room_deltas;
	int64_t interval, missed;
	char mode[16];
	uint64_t nr_unknown;
	bool bad_raw;
	struct flame_namer namer;
};

static bool add_number(int64_t **items, size_t *nr, size_t *room, int64_t value)
{
	if (!array_reserve((void **)items, room, *nr + 1, sizeof(**items)))
		return false;
	(*items)[(*nr)++] = value;
	return true;
}

/* An array of whole numbers. Return: 0, FLAME_EFORMAT to stop at the JSON's error, or a failure. */
static int read_numbers(struct flame_json *json, int64_t **items, size_t *nr, size_t *room)
{
	enum flame_json_token token = flame_json_next(json);
	int64_t value;

	if (token != FLAME_JSON_ARRAY)
		return flame_json_skip_rest(json, token) ? 0 : FLAME_EFORMAT;
	while ((token = flame_json_next(json)) != FLAME_JSON_ARRAY_END) {
		if (token == FLAME_JSON_ERROR)
			return FLAME_EFORMAT;
		if (token != FLAME_JSON_NUMBER || !flame_json_int(json, &value))
			value = 0;
		if (!flame_json_skip_rest(json, token))
			return FLAME_EFORMAT;
		if (!add_number(items, nr, room, value))
			return FLAME_ENOMEM;
	}
	return 0;
}

static flame_string intern_text(struct flame_reader *rd)
{
	struct state *st = rd->state;

	return flame_intern(rd->profile, st->json.text.s, st->json.text.len);
}

/* The members of a frame. */
static int read_frame(struct flame_reader *rd, uint64_t id)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	struct flame_frame_info info = { 0 };
	struct own own = { 0 };
	flame_string name = 0;
	struct flame_span text;
	int64_t line = 0;
	char *buf;

	while (flame_json_next(json) == FLAME_JSON_KEY) {
		bool is_name = flame_json_is(json, "name"), is_file = flame_json_is(json, "file");
		bool is_line = flame_json_is(json, "line"), is_samples = flame_json_is(json, "samples");
		enum flame_json_token token;

		if (!is_name && !is_file && !is_line && !is_samples) {
			flame_json_skip(json);
			continue;
		}
		token = flame_json_next(json);
		if (token == FLAME_JSON_STRING && is_name)
			name = intern_text(rd);
		else if (token == FLAME_JSON_STRING && is_file)
			info.file = intern_text(rd);
		else if (token == FLAME_JSON_NUMBER && !flame_json_int(json, is_line ? &line : &own.samples))
			line = 0;
		else if (!flame_json_skip_rest(json, token))
			return FLAME_EFORMAT;
	}
	if (json->error)
		return FLAME_EFORMAT;
	info.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	text = flame_string_get(rd->profile, name);
	buf = flame_namer_room(&st->namer, text.len + 1);
	if (!buf)
		return FLAME_ENOMEM;
	memcpy(buf, text.s, text.len);
	own.frame = flame_namer_frame(&st->namer, rd, (struct flame_span){ buf, text.len }, &info);
	if (!array_reserve((void **)&st->own, &st->room_own, st->nr_own + 1, sizeof(own)))
		return FLAME_ENOMEM;
	st->own[st->nr_own++] = own;
	return idmap_set(&st->frames, id, own.frame) ? 0 : FLAME_ENOMEM;
}

/* A frame's number is a member's name here and a number in raw. */
static uint64_t parse_id(struct flame_span s)
{
	uint64_t id = 0;

	for (size_t i = 0; i < s.len && s.s[i] >= '0' && s.s[i] <= '9'; i++)
		id = id * 10 + (uint64_t)(s.s[i] - '0');
	return id;
}

static int read_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return flame_json_skip_rest(&st->json, token) ? 0 : FLAME_EFORMAT;
	while (!err && flame_json_next(&st->json) == FLAME_JSON_KEY) {
		uint64_t id = parse_id(st->json.text);

		token = flame_json_next(&st->json);
		if (token == FLAME_JSON_OBJECT)
			err = read_frame(rd, id);
		else if (!flame_json_skip_rest(&st->json, token))
			err = FLAME_EFORMAT;
	}
	st->have_frames = true;
	return st->json.error ? FLAME_EFORMAT : err;
}

/* st->raw[at ..] is depth, frames, count. */
static int add_stack(struct flame_reader *rd, size_t at, size_t depth)
{
	struct state *st = rd->state;
	struct entry e = { .count = st->raw[at + 1 + depth] };

	for (size_t i = at + 1; i <= at + depth; i++) {
		uint64_t frame = 0;
		struct flame_frame_info info = { 0 };

		if (!idmap_value(&st->frames, (uint64_t)st->raw[i], &frame)) {
			st->nr_unknown++;
			frame = flame_namer_frame(&st->namer, rd, (struct flame_span){ "", 0 }, &info);
		}
		e.stack = flame_stack_push(rd->profile, e.stack, (flame_frame)frame);
	}
	if (!array_reserve((void **)&st->entries, &st->room_entries, st->nr_entries + 1, sizeof(e)))
		return FLAME_ENOMEM;
	st->entries[st->nr_entries++] = e;
	return 0;
}

/* Whole stacks at the start of st->raw; what is left of it moves to the front. */
static int use_raw(struct flame_reader *rd)
{
	struct state *st = rd->state;
	size_t at = 0;
	int err = 0;

	while (!err && at < st->nr_raw) {
		int64_t depth = st->raw[at];

		if (depth < 0 || depth > STACKPROF_FRAMES) {
			st->bad_raw = true;
			at = st->nr_raw;
			break;
		}
		if ((uint64_t)depth + 2 > st->nr_raw - at)
			break;
		err = add_stack(rd, at, (size_t)depth);
		at += (size_t)depth + 2;
	}
	if (at < st->nr_raw)
		memmove(st->raw, st->raw + at, (st->nr_raw - at) * sizeof(*st->raw));
	st->nr_raw -= at;
	return err;
}

static int read_raw(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int64_t value;
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return flame_json_skip_rest(&st->json, token) ? 0 : FLAME_EFORMAT;
	st->have_raw = true;
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END) {
		if (token == FLAME_JSON_ERROR)
			return FLAME_EFORMAT;
		if (token != FLAME_JSON_NUMBER || !flame_json_int(&st->json, &value)) {
			st->bad_raw = true;
			if (!flame_json_skip_rest(&st->json, token))
				return FLAME_EFORMAT;
			continue;
		}
		if (st->bad_raw)
			continue;
		if (!add_number(&st->raw, &st->nr_raw, &st->room_raw, value))
			return FLAME_ENOMEM;
		if (st->have_frames && st->nr_raw >= 4096)
			err = use_raw(rd);
	}
	return err;
}

static int read_member(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum flame_json_token token;
	int64_t *number = flame_json_is(json, "interval") ? &st->interval :
			  flame_json_is(json, "missed_samples") ? &st->missed : NULL;
	bool mode = flame_json_is(json, "mode");

	if (flame_json_is(json, "frames"))
		return read_frames(rd);
	if (flame_json_is(json, "raw"))
		return read_raw(rd);
	if (flame_json_is(json, "raw_timestamp_deltas"))
		return read_numbers(json, &st->deltas, &st->nr_deltas, &st->room_deltas);
	if (!number && !mode)
		return flame_json_skip(json) == FLAME_JSON_ERROR ? FLAME_EFORMAT : 0;
	token = flame_json_next(json);
	if (token == FLAME_JSON_NUMBER && number)
		flame_json_int(json, number);
	else if (token == FLAME_JSON_STRING && json->text.len < sizeof(st->mode))
		memcpy(st->mode, json->text.s, json->text.len);
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EFORMAT;
}

/* Values. */

/* What the next @count samples took, in us; times at the end may be missing. */
static int64_t take_deltas(const struct state *st, size_t *next, int64_t count)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < count && *next < st->nr_deltas; i++, (*next)++) {
		int64_t delta = st->deltas[*next];

		if (delta > 0 && __builtin_add_overflow(sum, delta, &sum))
			return INT64_MAX;
	}
	return sum;
}

static int add_time(struct flame_reader *rd, flame_type type, struct flame_sample *s, int64_t us)
{
	s->type = type;
	if (__builtin_mul_overflow(us, (int64_t)1000, &s->value))
		return FLAME_EOVERFLOW;
	return type && s->value > 0 ? flame_sample_add(rd->profile, s) : 0;
}

static int add_entries(struct flame_reader *rd)
{
	struct state *st = rd->state;
	bool wall = !strcmp(st->mode, "wall"), timed = wall || !strcmp(st->mode, "cpu");
	bool by_delta = wall && st->nr_deltas;
	enum flame_value_kind kind = !strcmp(st->mode, "object") ? FLAME_VALUE_ALLOCATION : wall ? FLAME_VALUE_WALL :
				     timed ? FLAME_VALUE_ON_CPU : FLAME_VALUE_OTHER;
	flame_type time = wall ? flame_namer_type(rd->profile, "time", "ns", kind) : 0;
	const char *event = kind == FLAME_VALUE_ALLOCATION ? "objects" : "samples";
	flame_type samples = flame_namer_type(rd->profile, event, "count", kind);
	size_t next = 0;
	int err = 0;

	/* In us, or in objects. */
	if (timed)
		flame_meta_interval(rd->profile, (double)st->interval * 1e3);
	else if (st->interval > 0)
		flame_meta(rd->profile)->period = (uint64_t)st->interval;
	if (timed && !wall)
		time = flame_namer_type(rd->profile, "time", "ns", kind);
	for (size_t i = 0; !err && i < st->nr_entries; i++) {
		const struct entry *e = &st->entries[i];
		struct flame_sample s = { .stack = e->stack, .type = samples, .value = e->count };
		int64_t us;

		if (e->count <= 0)
			continue;
		s.nr_samples = (uint64_t)e->count;
		err = flame_sample_add(rd->profile, &s);
		if (by_delta)
			us = take_deltas(st, &next, e->count);
		else if (__builtin_mul_overflow(e->count, st->interval, &us))
			err = FLAME_EOVERFLOW;
		if (!err)
			err = add_time(rd, time, &s, us);
	}
	return err;
}

/* Stacks of one frame, where there are no others. */
static int use_own(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < st->nr_own; i++) {
		struct entry e = { flame_stack_push(rd->profile, 0, st->own[i].frame), st->own[i].samples };

		if (!array_reserve((void **)&st->entries, &st->room_entries, st->nr_entries + 1, sizeof(e)))
			return FLAME_ENOMEM;
		st->entries[st->nr_entries++] = e;
	}
	flame_note(rd, "the file holds no stacks, only each frame's own samples: record with raw: true");
	return 0;
}

static void report(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (st->missed > 0)
		flame_lost_add(rd->profile, (uint64_t)st->missed);
	if (st->nr_unknown)
		flame_note(rd, "numbers in raw that are not among frames: %llu; they are [unknown]",
			   (unsigned long long)st->nr_unknown);
	if (st->bad_raw || (st->nr_raw && !st->json.error))
		flame_damaged(rd, "raw is not made of depths, frames and counts: what follows the first %zu stacks is not used",
			      st->nr_entries);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = 0, values;

	st->interval = 1;
	flame_json_init(&st->json, rd->input);
	if (flame_json_next(&st->json) != FLAME_JSON_OBJECT)
		return st->json.error ? flame_json_report(&st->json, rd, false) :
		       flame_fail(rd, FLAME_EFORMAT, "stackprof's JSON is an object");
	while (!err && flame_json_next(&st->json) == FLAME_JSON_KEY)
		err = read_member(rd);
	if (!err || err == FLAME_EFORMAT) {
		values = use_raw(rd);
		if (!values && !st->have_raw && st->nr_own && !st->json.error)
			values = use_own(rd);
		report(rd);
		if (!values)
			values = add_entries(rd);
		if (values)
			return values;
		/* Behind the object there is nothing, or it is told. */
		if (!err && !st->json.error)
			flame_json_next(&st->json);
	}
	return st->json.error ? flame_json_report(&st->json, rd, st->nr_entries) : err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_json_release(&st->json);
	idmap_release(&st->frames);
	flame_namer_release(&st->namer);
	free(st->raw);
	free(st->entries);
	free(st->own);
	free(st->deltas);
}

static bool contains(struct flame_span head, const char *word)
{
	return memmem(head.s, head.len, word, strlen(word));
}

static int probe(struct flame_span head)
{
	if (!head.len || head.s[0] != '{' || !contains(head, "\"frames\"") || !contains(head, "\"gc_samples\""))
		return FLAME_SCORE_NOT;
	return contains(head, "\"missed_samples\"") ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
}

const struct flame_converter flame_stackprof_converter = {
	.name = "stackprof",
	.summary = "profiles of Ruby's stackprof (JSON)",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

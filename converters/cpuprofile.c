/* SPDX-License-Identifier: MIT */
/*
 * cpuprofile - V8's CPU profiles (.cpuprofile):
 *
 *     {"nodes":[{"id":1,"callFrame":{"functionName":"(root)",…},"hitCount":0,"children":[2]},…],
 *      "startTime":1795503920,"endTime":1796031586,"samples":[2,3,…],"timeDeltas":[5424,2823,…]}
 *
 * Written by node --cpu-prof, the inspector of node, Chrome, Deno and others, DevTools, and in an older layout
 * ("head" with nodes in each other, "timestamps") by v8-profiler. Documentation/formats/cpuprofile.md has the grammar
 * and the versions seen. Not read: deoptReason, what editors add.
 *
 * Samples come before their times, so they have to wait: in a file as the place where they stand, from which they are
 * read a second time, beside the times; from a pipe in memory, 4 bytes each.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "v8.h"

#define CHUNK 512

/* An array of numbers. */
struct series {
	bool seen;
	bool times;			/* microseconds, taken as ns; else ids */
	bool sliced;			/* read again from @at */
	uint64_t at;
	void *values;			/* kept: int64_t or uint32_t */
	size_t nr, room, next;
	struct flame_json *json;	/* where it is read from; NULL: from @values */
	struct flame_input in;		/* of the second reading */
	struct flame_json own;
	int64_t chunk[CHUNK];
	size_t nr_chunk, next_chunk;
	uint64_t nr_odd;		/* times that are none */
};

struct state {
	struct flame_json json;
	struct v8_tree tree;
	struct v8_timeline line;
	struct series samples, deltas, timestamps;
	bool nodes;		/* the tree is complete */
	bool zipped;
	bool has_start, has_end;
	int64_t start, end;	/* ns, if they are in microseconds */
	double start_s, end_s;	/* as written */
	bool short_times;	/* they ended before the samples */
	bool has_stamp;
	int64_t stamp;		/* the timestamp before */
	const struct flame_json *broken;	/* the series that met an error */
};

/* Series. */


/*
 * What is no plain number: an id that no node has, or no time. It is counted, and told when all samples have been seen:
 * the same, whether it was met on the first or the second reading. Return: 1, 0 at the array's end, a failure.
 */
static int read_odd(struct series *s, int64_t *value)
{
	enum flame_json_token token = flame_json_next(s->json);

	if (token == FLAME_JSON_ARRAY_END)
		return 0;
	*value = s->times ? 0 : V8_NO_ID;
	if (token == FLAME_JSON_NUMBER && !s->times)
		*value = v8_id(s->json);
	else if (s->times && (token != FLAME_JSON_NUMBER || !v8_microseconds(s->json, value)))
		s->nr_odd++;
	return flame_json_skip_rest(s->json, token) ? 1 : FLAME_EDAMAGED;
}

static void scale_times(struct series *s)
{
	for (size_t i = 0; i < s->nr_chunk; i++) {
		if (__builtin_mul_overflow(s->chunk[i], 1000, &s->chunk[i])) {
			s->chunk[i] = 0;
			s->nr_odd++;
		}
	}
}

static void refill_kept(struct series *s)
{
	size_t left = s->nr - s->next, nr = left < CHUNK ? left : CHUNK;

	for (size_t i = 0; i < nr; i++) {
		s->chunk[i] = s->times ? ((const int64_t *)s->values)[s->next + i] :
					 ((const uint32_t *)s->values)[s->next + i];
	}
	s->next += nr;
	s->nr_chunk = nr;
}

/* Return: as read_odd(). */
static int refill(struct series *s)
{
	int got;

	s->next_chunk = 0;
	if (!s->json) {
		refill_kept(s);
		return s->nr_chunk > 0;
	}
	s->nr_chunk = flame_json_ints(s->json, s->chunk, CHUNK);
	if (s->nr_chunk) {
		if (s->times)
			scale_times(s);
		return 1;
	}
	got = read_odd(s, &s->chunk[0]);
	s->nr_chunk = got > 0;
	return got;
}

/* The next number. Return: 1, 0 at the end, a failure. */
static inline int series_get(struct series *s, int64_t *value)
{
	if (s->next_chunk == s->nr_chunk) {
		int got = refill(s);

		if (got <= 0)
			return got;
	}
	*value = s->chunk[s->next_chunk++];
	return 1;
}

static bool series_keep(struct series *s, int64_t value)
{
	if (!array_reserve(&s->values, &s->room, s->nr + 1, s->times ? sizeof(int64_t) : sizeof(uint32_t)))
		return false;
	if (s->times)
		((int64_t *)s->values)[s->nr++] = value;
	else
		((uint32_t *)s->values)[s->nr++] = value >= 0 && value < V8_NO_ID ? (uint32_t)value : V8_NO_ID;
	return true;
}

static int keep_all(struct series *s, struct flame_json *json)
{
	int64_t value;
	int got;

	s->json = json;
	while ((got = series_get(s, &value)) > 0) {
		if (!series_keep(s, value))
			return FLAME_ENOMEM;
	}
	s->json = NULL;
	s->next_chunk = s->nr_chunk = 0;
	return got;
}

/*
 * Behind a key; *@at is where the bracket is. An array without elements is as good as none.
 * Return: 1 where there are some, 0, a failure.
 */
static int open_array(struct flame_json *json, uint64_t *at)
{
	enum flame_json_token token = flame_json_next(json);

	*at = flame_input_offset(json->in) - 1;
	if (token == FLAME_JSON_ARRAY && !flame_json_is_empty(json))
		return 1;
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

/* An array behind its key is kept, or its place where the file can be read again. */
static int read_series(struct flame_reader *rd, struct series *s, struct flame_json *json)
{
	uint64_t size, at;
	int some = open_array(json, &at);

	if (some <= 0)
		return some;
	if (s->seen)
		return flame_json_leave(json) ? flame_skip(rd, "an array that was there before") : FLAME_EDAMAGED;
	s->seen = true;
	if (!flame_input_can_slice(rd->input, &size) || s == &((struct state *)rd->state)->timestamps)
		return keep_all(s, json);
	s->sliced = true;
	s->at = at;
	return flame_json_leave(json) ? 0 : FLAME_EDAMAGED;
}

/* Return to the start of what was kept. */
static int series_rewind(struct flame_reader *rd, struct series *s)
{
	int err;

	if (!s->sliced || s->json)
		return 0;
	err = flame_input_open_slice(&s->in, rd->input, s->at, UINT64_MAX);
	if (err)
		return err;
	s->in.progress = NULL;
	flame_json_init(&s->own, &s->in);
	s->json = &s->own;
	return flame_json_next(s->json) == FLAME_JSON_ARRAY ? 0 : FLAME_EDAMAGED;
}

static void series_release(struct series *s)
{
	if (s->json == &s->own) {
		flame_json_release(&s->own);
		flame_input_close(&s->in);
	}
	free(s->values);
	s->values = NULL;
}

/* What the samples weigh. */

/* The next time, as what has passed since the one before. Return: as series_get(). */
static int next_delta(struct flame_reader *rd, struct series *times, int64_t *delta)
{
	struct state *st = rd->state;
	int64_t at;
	int got = series_get(times, &at);

	if (got <= 0 || times == &st->deltas) {
		*delta = got > 0 ? at : 0;
		return got;
	}
	if (__builtin_sub_overflow(at, st->has_stamp ? st->stamp : at, delta))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of a sample does not fit 64 bits");
	st->has_stamp = true;
	st->stamp = at;
	return 1;
}

/* v8-profiler writes one time more than samples. */
static int read_rest(struct flame_reader *rd, struct series *times)
{
	int64_t delta;
	uint64_t nr = 0;
	int got;

	while ((got = next_delta(rd, times, &delta)) > 0)
		nr++;
	if (nr > 1)
		flame_note(rd, "there are more times than samples: those without one are left out");
	return got;
}

static int zip_samples(struct flame_reader *rd, struct series *times)
{
	struct state *st = rd->state;
	int64_t id, delta = 0;
	int got, more = 1;

	while ((got = series_get(&st->samples, &id)) > 0) {
		if (times)
			more = next_delta(rd, times, &delta);
		if (more <= 0)
			break;
		got = v8_timeline_sample(rd, &st->line, id >= 0 && id < V8_NO_ID ? (uint32_t)id : V8_NO_ID, delta);
		if (got)
			return got;
	}
	if (!got && times)
		return read_rest(rd, times);
	st->short_times = got > 0 && !more;
	if (st->short_times)
		flame_note(rd, "there are more samples than times: those without one are left out");
	return more < 0 ? more : got < 0 ? got : 0;
}

/* Take samples and times side by side. @times: deltas or timestamps; NULL: each sample counts 1. */
static int zip(struct flame_reader *rd, struct series *times)
{
	struct state *st = rd->state;
	int err;

	st->zipped = true;
	st->line.tree = &st->tree;
	st->line.counts = !times;
	st->line.type = times ? v8_type(rd, "time", "us", FLAME_VALUE_WALL) :
				v8_type(rd, "samples", "count", FLAME_VALUE_WALL);
	err = series_rewind(rd, &st->samples);
	if (!err && times)
		err = series_rewind(rd, times);
	if (!err)
		err = zip_samples(rd, times);
	for (; !err && times && times->nr_odd; times->nr_odd--)
		err = flame_skip(rd, "a sample's time is not a number of 64 bits");
	if (st->samples.json && st->samples.json->error)
		st->broken = st->samples.json;
	else if (times && times->json && times->json->error)
		st->broken = times->json;
	return err;
}

/* The end of the last sample is that of the recording. */
static int end_times(struct flame_reader *rd, struct series *times)
{
	struct state *st = rd->state;
	int64_t end = INT64_MIN;

	if (!st->broken && !st->short_times && times == &st->deltas && st->has_start && st->has_end &&
	    __builtin_sub_overflow(st->end, st->start, &end))
		end = INT64_MIN;
	if (end > 0)
		flame_meta(rd->profile)->duration_ns = (uint64_t)end;
	return v8_timeline_end(rd, &st->line, end);
}

/* v8-profiler writes timestamps in microseconds beside a start and end in seconds. Others have other units. */
static bool trust_timestamps(const struct state *st)
{
	static const double units[] = { 1e9, 1e3 };
	const int64_t *t = st->timestamps.values;
	size_t nr = st->timestamps.nr;

	if (!nr || !st->has_start || !st->has_end)
		return nr > 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if ((double)t[0] >= (st->start_s - 1) * units[i] && (double)t[nr - 1] <= (st->end_s + 1) * units[i])
			return true;
	}
	return false;
}

static int add_hits(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = v8_type(rd, "samples", "count", FLAME_VALUE_WALL) };
	int err = 0;

	for (uint32_t i = 1; !err && i < st->tree.nr; i++) {
		const struct v8_node *node = &st->tree.nodes[i];

		if (!node->value || (rd->options->no_idle && node->role == V8_IDLE))
			continue;
		if (node->value < 0) {
			err = flame_skip(rd, "a hitCount is below 0");
			continue;
		}
		err = v8_tree_stack(rd, &st->tree, i, &s.stack);
		if (node->role == V8_ROOT)
			s.stack = flame_stack_push(rd->profile, 0, node->frame);
		s.value = node->value;
		s.nr_samples = (uint64_t)node->value;
		if (!err)
			err = flame_sample_add(rd->profile, &s);
	}
	return err;
}

/* All that there is was read, or all that can be. */
static int weigh(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct series *times = st->deltas.seen ? &st->deltas : NULL;
	int err = 0;

	if (!times && trust_timestamps(st))
		times = &st->timestamps;
	if (!times && (rd->options->time_from > 0 || rd->options->time_to > 0))
		flame_note(rd, "--time changes nothing here: the samples have no times");
	if (!times && !st->samples.seen)
		return add_hits(rd);
	if (!times && st->timestamps.seen)
		flame_note(rd, "the timestamps lie outside of the recording: each sample counts 1");
	if (!st->zipped)
		err = zip(rd, times);
	if (err && err != FLAME_EDAMAGED)
		return err;
	return end_times(rd, times);
}

/* The file's members. */

enum key { NODES, SAMPLES, TIME_DELTAS, TIMESTAMPS, START_TIME, END_TIME, TRACE_EVENTS, WRAPPED, NR_KEYS };

static const char *const keys[] = {
	"nodes", "samples", "timeDeltas", "timestamps", "startTime", "endTime", "traceEvents", "profile",
	"head", "result", "params", NULL,
};

static enum key key_of(const struct flame_json *json)
{
	for (size_t i = 0; keys[i]; i++) {
		if (flame_json_is(json, keys[i]))
			return i <= WRAPPED ? (enum key)i : i == WRAPPED + 1 ? NODES : WRAPPED;
	}
	return NR_KEYS;
}

static int read_time(struct flame_json *json, bool *has, int64_t *ns, double *written)
{
	enum flame_json_token token = flame_json_next(json);

	if (token == FLAME_JSON_NUMBER) {
		*has = v8_microseconds(json, ns);
		*written = flame_json_double(json);
	}
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

/* Times that come last, as V8 writes them, need not be kept. */
static int read_deltas(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct series *s = &st->deltas;
	uint64_t at;
	int some;

	if (s->seen || !st->samples.seen || !st->nodes)
		return read_series(rd, s, &st->json);
	some = open_array(&st->json, &at);
	if (some <= 0)
		return some;
	s->seen = true;
	s->json = &st->json;
	return zip(rd, s);
}

static int not_cpuprofile(struct flame_reader *rd)
{
	return flame_fail(rd, FLAME_EFORMAT, "this is a Chrome trace, not a .cpuprofile: use --from chrome");
}

static int read_wrapped(struct flame_json *json)
{
	enum flame_json_token token = flame_json_next(json);

	return token == FLAME_JSON_OBJECT || flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

static int read_member(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	int err;

	switch (key_of(json)) {
	case NODES:
		if (st->nodes)
			return flame_json_skip(json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
		err = v8_tree_read(rd, json, &st->tree);
		st->nodes = !err;
		return err;
	case SAMPLES:
		return read_series(rd, &st->samples, json);
	case TIME_DELTAS:
		return read_deltas(rd);
	case TIMESTAMPS:
		return read_series(rd, &st->timestamps, json);
	case START_TIME:
		return read_time(json, &st->has_start, &st->start, &st->start_s);
	case END_TIME:
		return read_time(json, &st->has_end, &st->end, &st->end_s);
	case TRACE_EVENTS:
		return not_cpuprofile(rd);
	case WRAPPED:
		return read_wrapped(json);
	default:
		return flame_json_skip(json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
	}
}

/* Of an inspector's answer the members of "result" and "profile" are taken as the file's own. */
static int read_members(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token = flame_json_next(&st->json);
	int err = 0;

	if (token == FLAME_JSON_ARRAY)
		return not_cpuprofile(rd);
	if (token != FLAME_JSON_OBJECT && token != FLAME_JSON_ERROR)
		return flame_fail(rd, FLAME_EFORMAT, "not a .cpuprofile: the JSON is no object");
	while (!err && (token == FLAME_JSON_OBJECT || token == FLAME_JSON_OBJECT_END || token == FLAME_JSON_KEY)) {
		token = flame_json_next(&st->json);
		if (token == FLAME_JSON_KEY)
			err = read_member(rd);
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err;

	flame_json_init(&st->json, rd->input);
	st->deltas.times = st->timestamps.times = true;
	err = read_members(rd);
	if (err && err != FLAME_EDAMAGED)
		return err;
	/* Without all nodes, or with the samples cut off before any of their times, nothing can be told. */
	if (err && (!st->nodes || !st->samples.seen || (!st->deltas.seen && !st->timestamps.seen)))
		return flame_json_report(st->broken ? st->broken : &st->json, rd, false);
	if (!st->nodes && !err)
		return flame_fail(rd, FLAME_EFORMAT, "not a .cpuprofile: there are neither \"nodes\" nor a \"head\"");
	err = weigh(rd);
	if (err && err != FLAME_EDAMAGED)
		return err;
	if (st->json.error || st->broken)
		return flame_json_report(st->json.error ? &st->json : st->broken, rd, st->line.started);
	return 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	series_release(&st->samples);
	series_release(&st->deltas);
	series_release(&st->timestamps);
	v8_timeline_release(&st->line);
	v8_tree_release(&st->tree);
	flame_json_release(&st->json);
}

static int probe(struct flame_span head)
{
	uint32_t found = v8_top_keys(head, keys);
	bool tree = found & (1u << NODES | 1u << (WRAPPED + 1));
	bool times = found & (1u << TIME_DELTAS | 1u << TIMESTAMPS);

	if (found & 1u << TRACE_EVENTS)
		return FLAME_SCORE_NOT;
	/* In trees below "head" only heap profiles have call frames; "selfSize" may be far behind a long name. */
	if (found & 1u << (WRAPPED + 1) && !(found & 1u << NODES) && memmem(head.s, head.len, "\"callFrame\"", 11))
		return FLAME_SCORE_NOT;
	if (memmem(head.s, head.len, "\"functionName\"", 14) && !memmem(head.s, head.len, "\"selfSize\"", 10)) {
		if (tree)
			return FLAME_SCORE_MAGIC;
		/* What the inspector sends. */
		if (found & ((1u << WRAPPED) | 3u << (WRAPPED + 2)) && memmem(head.s, head.len, "\"nodes\"", 7))
			return FLAME_SCORE_RECORD;
	}
	if (found & 1u << SAMPLES && (times || found & 1u << START_TIME))
		return FLAME_SCORE_RECORD;
	return times ? FLAME_SCORE_SHAPE : FLAME_SCORE_NOT;
}

const struct flame_converter flame_cpuprofile_converter = {
	.name = "cpuprofile",
	.summary = "CPU profiles of V8 (node --cpu-prof, DevTools), .cpuprofile",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_IDLE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

/* SPDX-License-Identifier: MIT */
/* chrome_record.c - the members of events that matter, in any order. */
#define _GNU_SOURCE
#include "chrome_record.h"

#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"

/* What members are read with. */
struct context {
	struct flame_reader *rd;
	struct flame_json *json;
	struct chrome_record *r;
};

static int skip_rest(struct flame_json *json, enum flame_json_token token)
{
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

static int read_time(const struct context *c, int64_t *ns, bool *has)
{
	enum flame_json_token token = flame_json_next(c->json);
	struct flame_json text;

	if (token == FLAME_JSON_NUMBER) {
		*has = v8_microseconds(c->json, ns);
		return *has ? 0 : flame_skip(c->rd, "a time does not fit 64 bits");
	}
	if (token != FLAME_JSON_STRING)
		return skip_rest(c->json, token);
	/* Some write numbers in quotes. */
	flame_json_init_span(&text, c->json->text);
	*has = flame_json_next(&text) == FLAME_JSON_NUMBER && v8_microseconds(&text, ns);
	flame_json_release(&text);
	return 0;
}

/* A number, or a text as the row of its string below 0; so are numbers below 0, which would be others' rows. */
static int read_task_id(const struct context *c, int64_t *id)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token == FLAME_JSON_NUMBER && flame_json_int(c->json, id) && *id >= 0)
		return 0;
	if (token == FLAME_JSON_NUMBER || token == FLAME_JSON_STRING)
		*id = -(int64_t)flame_intern(c->rd->profile, c->json->text.s, c->json->text.len);
	return skip_rest(c->json, token);
}

static int keep_text(const struct context *c, struct chrome_text *text)
{
	struct flame_span from = c->json->text;

	if (!array_reserve((void **)&text->s, &text->room, from.len + CHROME_NAME_SPARE, 1))
		return FLAME_ENOMEM;
	memcpy(text->s, from.s, from.len);
	text->len = from.len;
	return 0;
}

static int read_text(const struct context *c, struct chrome_text *text)
{
	enum flame_json_token token = flame_json_next(c->json);

	return token == FLAME_JSON_STRING ? keep_text(c, text) : skip_rest(c->json, token);
}

static int read_id(const struct context *c)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token == FLAME_JSON_STRING || token == FLAME_JSON_NUMBER)
		return keep_text(c, &c->r->id);
	return skip_rest(c->json, token);
}

static int read_frame(const struct context *c)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token == FLAME_JSON_STRING || token == FLAME_JSON_NUMBER)
		return keep_text(c, &c->r->frame);
	return skip_rest(c->json, token);
}

static int read_name(const struct context *c)
{
	return read_text(c, &c->r->name);
}

static int read_phase(const struct context *c)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token == FLAME_JSON_STRING && c->json->text.len == 1)
		c->r->phase = c->json->text.s[0];
	return skip_rest(c->json, token);
}

static bool add_sample_id(struct chrome_record *r, uint32_t id)
{
	if (!array_reserve((void **)&r->samples, &r->room_samples, r->nr_samples + 1, sizeof(*r->samples)))
		return false;
	r->samples[r->nr_samples++] = id;
	return true;
}

static int read_samples(const struct context *c)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(c->json, token);
	while ((token = flame_json_next(c->json)) != FLAME_JSON_ARRAY_END) {
		if (!flame_json_skip_rest(c->json, token))
			return FLAME_EDAMAGED;
		if (!add_sample_id(c->r, token == FLAME_JSON_NUMBER ? v8_id(c->json) : V8_NO_ID))
			return FLAME_ENOMEM;
	}
	return 0;
}

static int read_deltas(const struct context *c)
{
	struct chrome_record *r = c->r;
	enum flame_json_token token = flame_json_next(c->json);

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(c->json, token);
	while ((token = flame_json_next(c->json)) != FLAME_JSON_ARRAY_END) {
		if (!array_reserve((void **)&r->deltas, &r->room_deltas, r->nr_deltas + 1, sizeof(*r->deltas)))
			return FLAME_ENOMEM;
		r->deltas[r->nr_deltas] = 0;
		if (token == FLAME_JSON_NUMBER && !v8_microseconds(c->json, &r->deltas[r->nr_deltas]))
			return flame_fail(c->rd, FLAME_EOVERFLOW, "the time of a sample does not fit 64 bits");
		r->nr_deltas++;
		if (!flame_json_skip_rest(c->json, token))
			return FLAME_EDAMAGED;
	}
	return 0;
}

struct member {
	const char *key;
	uint8_t len;
	int (*read)(const struct context *c);
};

/* The members of an object, by @members, which end with a NULL. */
static int read_object(const struct context *c, const struct member *members)
{
	struct flame_json *json = c->json;
	enum flame_json_token token = FLAME_JSON_KEY;
	int err = 0;

	while (!err && (token = flame_json_next(json)) == FLAME_JSON_KEY) {
		const struct member *m = members;

		while (m->key && !(m->len == json->text.len && bytes_equal(json->text.s, m->key, m->len)))
			m++;
		if (m->key)
			err = m->read(c);
		else if (flame_json_skip(json) == FLAME_JSON_ERROR)
			err = FLAME_EDAMAGED;
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : err;
}

static int read_inner(const struct context *c, const struct member *members)
{
	enum flame_json_token token = flame_json_next(c->json);

	return token == FLAME_JSON_OBJECT ? read_object(c, members) : skip_rest(c->json, token);
}

static int read_nodes(const struct context *c)
{
	return v8_tree_read(c->rd, c->json, &c->r->nodes);
}

static int read_start(const struct context *c)
{
	return read_time(c, &c->r->start, &c->r->has_start);
}

static int read_end(const struct context *c)
{
	return read_time(c, &c->r->end, &c->r->has_end);
}

static int read_cpu_profile(const struct context *c)
{
	static const struct member members[] = {
		{ "nodes", 5, read_nodes }, { "samples", 7, read_samples }, { "timeDeltas", 10, read_deltas },
		{ "startTime", 9, read_start }, { "endTime", 7, read_end }, { NULL, 0, NULL },
	};

	return read_inner(c, members);
}

static int read_data(const struct context *c)
{
	static const struct member members[] = {
		{ "cpuProfile", 10, read_cpu_profile }, { "timeDeltas", 10, read_deltas },
		{ "startTime", 9, read_start }, { "endTime", 7, read_end }, { NULL, 0, NULL },
	};

	return read_inner(c, members);
}

static int read_arg_name(const struct context *c)
{
	return read_text(c, &c->r->arg_name);
}

static int read_arg_line(const struct context *c)
{
	enum flame_json_token token = flame_json_next(c->json);

	if (token == FLAME_JSON_NUMBER && !flame_json_int(c->json, &c->r->arg_line))
		c->r->arg_line = 0;
	return skip_rest(c->json, token);
}

static int read_args(const struct context *c)
{
	static const struct member members[] = {
		{ "data", 4, read_data }, { "name", 4, read_arg_name }, { "line", 4, read_arg_line }, { NULL, 0, NULL },
	};

	return read_inner(c, members);
}

static int read_ts(const struct context *c)
{
	return read_time(c, &c->r->ts, &c->r->has_ts);
}

static int read_dur(const struct context *c)
{
	return read_time(c, &c->r->dur, &c->r->has_dur);
}

/* The thread's own time, where that is all there is. */
static int read_tdur(const struct context *c)
{
	return read_time(c, &c->r->tdur, &c->r->has_tdur);
}

static int read_pid(const struct context *c)
{
	return read_task_id(c, &c->r->pid);
}

static int read_tid(const struct context *c)
{
	return read_task_id(c, &c->r->tid);
}

static void reset(struct chrome_record *r)
{
	r->name.len = r->id.len = r->arg_name.len = r->frame.len = 0;
	r->phase = 0;
	r->has_ts = r->has_dur = r->has_tdur = r->has_start = r->has_end = false;
	r->pid = r->tid = 0;
	r->arg_line = 0;
	r->nr_samples = r->nr_deltas = 0;
	if (r->nodes.nr)
		v8_tree_reset(&r->nodes);
}

int chrome_record_read(struct flame_reader *rd, struct flame_json *json, struct chrome_record *r)
{
	static const struct member members[] = {
		{ "name", 4, read_name }, { "ph", 2, read_phase }, { "ts", 2, read_ts }, { "dur", 3, read_dur },
		{ "tdur", 4, read_tdur },
		{ "pid", 3, read_pid }, { "tid", 3, read_tid }, { "args", 4, read_args }, { "id", 2, read_id }, { "sf", 2, read_frame },
		{ NULL, 0, NULL },
	};
	struct context c = { rd, json, r };
	int err;

	reset(r);
	err = read_object(&c, members);
	if (!r->has_dur && r->has_tdur) {
		r->dur = r->tdur;
		r->has_dur = true;
	}
	return err;
}

bool chrome_record_is(const struct chrome_record *r, const char *name)
{
	return r->name.len == strlen(name) && !memcmp(r->name.s, name, r->name.len);
}

void chrome_record_release(struct chrome_record *r)
{
	free(r->name.s);
	free(r->id.s);
	free(r->arg_name.s);
	free(r->frame.s);
	free(r->samples);
	free(r->deltas);
	v8_tree_release(&r->nodes);
}

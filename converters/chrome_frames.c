/* SPDX-License-Identifier: MIT */
/* chrome_frames.c - samples of stacks that stand in a table of their own. */
#define _GNU_SOURCE
#include "chrome_frames.h"

#include <stdlib.h>
#include <string.h>

/* What an id stands for. */
struct chrome_known_frame {
	flame_frame frame;	/* 0: it is not in the table */
	flame_string parent;	/* its id; 0: none */
};

/* A thread's sample that lasts until the next one. */
struct chrome_last_sample {
	flame_stack stack;	/* 0: there was none */
	int64_t ts;
};

static int skip_rest(struct flame_json *json, enum flame_json_token token)
{
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

/* Samples. */

static bool start(struct chrome_frames *f)
{
	if (!f->sums)
		f->sums = flame_profile_new(NULL);
	return f->sums;
}

/* A stack of the sums: whose sample it is, and the id of its frame. */
static flame_stack push_text(struct chrome_frames *f, flame_stack caller, struct flame_span text)
{
	struct flame_frame_info info = { .name = flame_intern(f->sums, text.s, text.len) };

	return flame_stack_push(f->sums, caller, flame_frame_row(f->sums, &info));
}

static struct chrome_last_sample *last_of(struct chrome_frames *f, uint32_t thread)
{
	if (!array_reserve((void **)&f->last, &f->room_last, (size_t)thread + 1, sizeof(*f->last)))
		return NULL;
	for (; f->nr_last <= thread; f->nr_last++)
		f->last[f->nr_last] = (struct chrome_last_sample){ 0 };
	return &f->last[thread];
}

/* The time from @from to @to, as far as --time wants it. */
static int64_t wanted(const struct flame_reader *rd, const struct chrome_frames *f, int64_t from, int64_t to)
{
	const struct flame_read_options *o = rd->options;
	double start = (double)f->first + o->time_from * 1e9, end = (double)f->first + o->time_to * 1e9;
	int64_t ns;

	if (o->time_from > 0 && (double)from < start)
		from = start < 9e18 ? (int64_t)start : to;
	if (o->time_to > 0 && (double)to > end)
		to = (int64_t)end;
	return from >= to || __builtin_sub_overflow(to, from, &ns) ? 0 : ns;
}

/* The thread's last sample ends at @ts. */
static int end_sample(struct flame_reader *rd, struct chrome_frames *f, struct chrome_last_sample *last, int64_t ts)
{
	struct flame_sample s = { .stack = last->stack, .type = 1, .nr_samples = 1 };

	if (!last->stack)
		return 0;
	s.value = wanted(rd, f, last->ts, ts);
	f->has_time |= s.value > 0;
	if (!s.value && (rd->options->time_from > 0 || rd->options->time_to > 0))
		return 0;
	return flame_sample_add(f->sums, &s);
}

static int add_sample(struct flame_reader *rd, struct chrome_frames *f, const struct chrome_record *r)
{
	uint32_t thread = chrome_task_row(f->tasks, r->pid, r->tid);
	struct chrome_last_sample *last = thread ? last_of(f, thread) : NULL;
	struct flame_type_info info = { 0 };
	char text[16];
	int err;

	if (!last)
		return FLAME_ENOMEM;
	if (!r->has_ts)
		return flame_skip(rd, "a sample has no time (ts)");
	if (!f->nr_samples++) {
		f->first = r->ts;
		flame_type_row(f->sums, &info);
	}
	err = end_sample(rd, f, last, r->ts);
	/* A clock that goes back stands still. */
	if (!last->stack || r->ts > last->ts)
		last->ts = r->ts;
	last->stack = push_text(f, 0, (struct flame_span){ text, (size_t)snprintf(text, sizeof(text), "%u", thread) });
	last->stack = push_text(f, last->stack, (struct flame_span){ r->frame.s, r->frame.len });
	return err ? err : flame_profile_error(f->sums);
}

int chrome_frames_samples(struct flame_reader *rd, struct flame_json *json, struct chrome_frames *f,
			  struct chrome_record *r)
{
	enum flame_json_token token = flame_json_next(json);
	int err = 0;

	if (token != FLAME_JSON_ARRAY)
		return skip_rest(json, token);
	if (!start(f))
		return FLAME_ENOMEM;
	while (!err && (token = flame_json_next(json)) != FLAME_JSON_ARRAY_END) {
		if (token != FLAME_JSON_OBJECT) {
			err = skip_rest(json, token);
			continue;
		}
		err = chrome_record_read(rd, json, r);
		if (!err)
			err = add_sample(rd, f, r);
	}
	return err;
}

/* Frames. */

static struct chrome_known_frame *known_frame(struct chrome_frames *f, flame_string id)
{
	if (!array_reserve((void **)&f->frames, &f->room_frames, (size_t)id + 1, sizeof(*f->frames)))
		return NULL;
	for (; f->nr_frames <= id; f->nr_frames++)
		f->frames[f->nr_frames] = (struct chrome_known_frame){ 0 };
	return &f->frames[id];
}

static int read_frame(struct flame_reader *rd, struct flame_json *json, struct chrome_frames *f, flame_string id)
{
	struct chrome_known_frame *frame = known_frame(f, id);
	enum flame_json_token token = flame_json_next(json);

	if (!frame)
		return FLAME_ENOMEM;
	if (token != FLAME_JSON_OBJECT)
		return skip_rest(json, token);
	frame->parent = 0;
	f->nr_known += !frame->frame;
	frame->frame = v8_text_frame(rd, (struct flame_span){ NULL, 0 }, FLAME_USER);
	while ((token = flame_json_next(json)) == FLAME_JSON_KEY) {
		bool name = flame_json_is(json, "name"), parent = flame_json_is(json, "parent");

		token = flame_json_next(json);
		if (name && token == FLAME_JSON_STRING)
			frame->frame = v8_text_frame(rd, json->text, FLAME_USER);
		else if (parent && (token == FLAME_JSON_STRING || token == FLAME_JSON_NUMBER))
			frame->parent = flame_intern(f->sums, json->text.s, json->text.len);
		if (!flame_json_skip_rest(json, token))
			return FLAME_EDAMAGED;
	}
	return token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : flame_profile_error(rd->profile);
}

int chrome_frames_read(struct flame_reader *rd, struct flame_json *json, struct chrome_frames *f)
{
	enum flame_json_token token = flame_json_next(json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return skip_rest(json, token);
	if (!start(f))
		return FLAME_ENOMEM;
	while (!err && (token = flame_json_next(json)) == FLAME_JSON_KEY)
		err = read_frame(rd, json, f, flame_intern(f->sums, json->text.s, json->text.len));
	return err ? err : token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
}

/*
 * Put frame @id and its callers into f->path, the leaf first; one that is not in the table ends them.
 * Return: 0, FLAME_EFORMAT where @id is not there or its own caller, FLAME_ENOMEM.
 */
static int find_path(struct chrome_frames *f, flame_string id, size_t *nr)
{
	*nr = 0;
	for (; id; id = f->frames[id].parent) {
		if (id >= f->nr_frames || !f->frames[id].frame)
			break;
		if (*nr >= f->nr_known)
			return FLAME_EFORMAT;
		if (!array_reserve((void **)&f->path, &f->room_path, *nr + 1, sizeof(*f->path)))
			return FLAME_ENOMEM;
		f->path[(*nr)++] = f->frames[id].frame;
	}
	return *nr ? 0 : FLAME_EFORMAT;
}

static int add_sum(struct flame_reader *rd, struct chrome_frames *f, const struct flame_sample *s)
{
	flame_frame whose = flame_stack_frame(f->sums, flame_stack_caller(f->sums, s->stack));
	struct flame_span thread = flame_string_get(f->sums, flame_frame_get(f->sums, whose)->name);
	flame_string id = flame_frame_get(f->sums, flame_stack_frame(f->sums, s->stack))->name;
	flame_stack stack;
	size_t nr;
	int err = find_path(f, id, &nr);

	if (err == FLAME_EFORMAT)
		return flame_skip(rd, "samples of a stack frame that is not there, or that is its own parent");
	if (err)
		return err;
	stack = chrome_task_root(rd, f->tasks, (uint32_t)strtoul(thread.s, NULL, 10));
	while (nr)
		stack = flame_stack_push(rd->profile, stack, f->path[--nr]);
	return v8_add_time(rd, stack, f->type, s->value, s->nr_samples);
}

int chrome_frames_add(struct flame_reader *rd, struct chrome_frames *f)
{
	int err = 0;

	for (size_t i = 1; !err && i < f->nr_last; i++)
		err = end_sample(rd, f, &f->last[i], f->last[i].ts);
	for (uint32_t i = 0; !err && f->sums && i < flame_nr_samples(f->sums); i++)
		err = add_sum(rd, f, flame_sample_get(f->sums, i));
	return err;
}

void chrome_frames_release(struct chrome_frames *f)
{
	flame_profile_free(f->sums);
	free(f->frames);
	free(f->last);
	free(f->path);
}

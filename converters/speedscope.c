/* SPDX-License-Identifier: MIT */
/*
 * speedscope - speedscope's file format, a JSON object:
 *
 *     {"$schema":"https://www.speedscope.app/file-format-schema.json","activeProfileIndex":0,
 *      "shared":{"frames":[{"name":"main","file":"a.c","line":3},{"name":"work"}]},
 *      "profiles":[{"type":"sampled","name":"cpu","unit":"milliseconds","startValue":0,"endValue":5,
 *                   "samples":[[0,1],[0]],"weights":[3,2]},
 *                  {"type":"evented","name":"thread 2","unit":"none","startValue":0,"endValue":9,
 *                   "events":[{"type":"O","at":0,"frame":0},{"type":"C","at":9,"frame":0}]}]}
 *
 * Written by speedscope, py-spy, rbspy, austin2speedscope and many others, in keys of any order. Written by fgconv: a
 * sampled profile for each value. Documentation/formats/speedscope.md says more. Not read: columns, and what names the
 * viewer's own state.
 *
 * Frames have numbers, and their names may come behind all that uses them: stacks of numbers are kept in a profile of
 * their own until then.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/folded.h"
#include "../core/json.h"
#include "../core/json_write.h"
#include "../core/merge.h"
#include "../core/meta.h"
#include "../core/namer.h"
#include "../core/number.h"
#include "../core/span.h"
#include "../core/table.h"
#include "../core/trail.h"
#include "../core/units.h"

#define DIRECT_FRAMES (1u << 20)	/* frames with lower numbers are found without a look-up */
#define DOUBLE_DIGITS 15		/* of a fraction: more are noise of binary numbers */
#define CLOSE_SEARCH_MAX 1024	/* how far below the innermost frame a C looks for its O */
#define EXPORTER "fgtools"
#define NR_INTS 512
#define MAX_PROFILES 10000

static const struct unit {
	const char *name, *ours;
	enum flame_value_kind kind;
	uint32_t scale;		/* decimal places that are kept: a thousandth of a nanosecond, or of a byte */
	const char *values;	/* what a sum of several profiles is called */
} units[] = {
	{ "none", "", FLAME_VALUE_OTHER, 9, "weight" },
	{ "nanoseconds", "ns", FLAME_VALUE_WALL, 3, "time" },
	{ "microseconds", "us", FLAME_VALUE_WALL, 6, "time" },
	{ "milliseconds", "ms", FLAME_VALUE_WALL, 9, "time" },
	{ "seconds", "s", FLAME_VALUE_WALL, 9, "time" },
	{ "bytes", "bytes", FLAME_VALUE_ALLOCATION, 3, "size" },
};

/* A frame's name and place; strings of the profile of numbers. */
struct named {
	flame_string name, file;
	uint32_t line;
};

struct recorded {
	flame_string name;
	const struct unit *unit;
	enum flame_value_kind kind;	/* that we wrote; else the unit tells */
	flame_type type;	/* in the profile of numbers, and in the reader's */
	flame_type to;
	uint64_t nr_samples;
	bool sampled;		/* its samples are in the array "samples", not events */
	bool wanted;
};

/* What an event opened. */
struct open_frame {
	int64_t frame;
	flame_stack stack;
};

/* The profile at hand. */
struct reading {
	struct recorded *to;
	flame_stack *stacks;		/* of samples whose weights have not come yet */
	size_t nr_stacks, room_stacks;
	struct flame_number *weights;	/* that came before their samples */
	size_t nr_weights, room_weights;
	bool has_samples, has_weights, has_events;
	struct open_frame *open;
	size_t nr_open, room_open;
	struct flame_number at, end;
	bool has_at, has_end;
	flame_stack root;
};

struct state {
	bool told_unit;
	struct flame_json json;
	struct flame_profile *numbers;
	flame_frame *direct;		/* frames of the profile of numbers, by their number */
	size_t nr_direct, room_direct;
	struct flame_trail trail;
	struct named *frames;
	size_t nr_frames, room_frames;
	struct recorded *profiles;
	size_t nr_profiles, room_profiles;
	struct reading r;
	struct flame_namer namer;
	bool has_active, ours;
	int64_t active;
	uint64_t nr_unnamed;
};

/* Numbers. */

/* A fraction's digits behind the fifteenth are noise, and the unit has an end of its own. */
static struct flame_number round_number(struct flame_number n, uint32_t max_scale)
{
	int64_t limit = 1;

	for (int i = 0; i < DOUBLE_DIGITS; i++)
		limit *= 10;
	while (n.scale > max_scale || (n.scale && (n.value >= limit || n.value <= -limit))) {
		n.value = (n.value + (n.value < 0 ? -5 : 5)) / 10;
		n.scale--;
	}
	while (n.scale && !(n.value % 10)) {
		n.value /= 10;
		n.scale--;
	}
	return n;
}

/* Return: false where the last token is no number that fits. */
static bool read_number(struct state *st, enum flame_json_token token, struct flame_number *n)
{
	const struct unit *unit = st->r.to->unit;

	if (token != FLAME_JSON_NUMBER || flame_json_decimal(&st->json, n) != FLAME_NUMBER_OK)
		return false;
	if (n->value > INT64_MAX - 5 || n->value < INT64_MIN + 5)
		return n->scale == 0;
	*n = round_number(*n, unit ? unit->scale : 6);
	return true;
}

/* @a - @b, not below zero. Return: false where it is. */
static bool subtract(struct flame_number a, struct flame_number b, struct flame_number *difference)
{
	__int128 x = a.value, y = b.value;

	for (; a.scale < b.scale; a.scale++)
		x *= 10;
	for (; b.scale < a.scale; b.scale++)
		y *= 10;
	x -= y;
	if (x < 0)
		return false;
	for (; x > INT64_MAX && a.scale; a.scale--)
		x /= 10;
	*difference = (struct flame_number){ x > INT64_MAX ? INT64_MAX : (int64_t)x, a.scale };
	return true;
}

/* Frames by number. */

static flame_frame number_frame(struct state *st, int64_t number)
{
	struct flame_frame_info info = { 0 };
	flame_frame *direct = NULL;
	flame_frame frame;
	char text[24];
	size_t nr = st->nr_direct;

	if (number >= 0 && number < DIRECT_FRAMES) {
		if (!array_reserve((void **)&st->direct, &st->room_direct, (size_t)number + 1, sizeof(*st->direct)))
			return 0;
		if (nr <= (size_t)number) {
			memset(st->direct + nr, 0, ((size_t)number + 1 - nr) * sizeof(*st->direct));
			st->nr_direct = (size_t)number + 1;
		}
		direct = &st->direct[number];
		frame = *direct;
		if (frame)
			return frame;
	}
	info.name = flame_intern(st->numbers, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)number));
	frame = flame_frame_row(st->numbers, &info);
	if (direct)
		*direct = frame;
	return frame;
}

/* The root frame of a profile: "pN". */
static flame_stack profile_root(struct state *st, size_t nr)
{
	struct flame_frame_info info = { 0 };
	char text[24];

	info.name = flame_intern(st->numbers, text, (size_t)snprintf(text, sizeof(text), "p%zu", nr));
	return flame_stack_push(st->numbers, 0, flame_frame_row(st->numbers, &info));
}

static int add_weight(struct flame_reader *rd, flame_stack stack, struct flame_number n)
{
	struct state *st = rd->state;
	struct flame_sample s = { .stack = stack, .type = st->r.to->type, .value = n.value, .nr_samples = 1 };
	int err = flame_sample_add_scaled(st->numbers, &s, n.scale);

	st->r.to->nr_samples++;
	if (err == FLAME_EOVERFLOW)
		return flame_fail(rd, err, "speedscope: the sum of the weights does not fit 64 bits");
	return err;
}

/* Sampled profiles. */

static bool push_number(struct state *st, int64_t number)
{
	flame_frame frame = number_frame(st, number);

	return frame && flame_trail_push(&st->trail, frame);
}

static flame_frame root_frame(const struct state *st)
{
	return flame_stack_frame(st->numbers, st->r.root);
}

/* One sample, an array of frames. */
static int read_stack(struct state *st, flame_stack *stack)
{
	struct flame_json *json = &st->json;
	enum flame_json_token token;
	int64_t numbers[NR_INTS];
	size_t nr;

	flame_trail_clear(&st->trail);
	if (st->r.root && !flame_trail_push(&st->trail, root_frame(st)))
		return FLAME_ENOMEM;
	for (;;) {
		while ((nr = flame_json_ints(json, numbers, NR_INTS))) {
			for (size_t i = 0; i < nr; i++) {
				if (!push_number(st, numbers[i]))
					return FLAME_ENOMEM;
			}
		}
		token = flame_json_next(json);
		if (token == FLAME_JSON_ARRAY_END || token == FLAME_JSON_ERROR)
			break;
		/* What is no number has no name either. */
		if (!flame_json_int(json, &numbers[0]) || token != FLAME_JSON_NUMBER)
			numbers[0] = -1;
		if (!push_number(st, numbers[0]))
			return FLAME_ENOMEM;
		flame_json_skip_rest(json, token);
	}
	return flame_trail_find(&st->trail, st->numbers, stack) ? 0 : FLAME_ENOMEM;
}

static int keep_stack(struct reading *r, flame_stack stack)
{
	if (!array_reserve((void **)&r->stacks, &r->room_stacks, r->nr_stacks + 1, sizeof(*r->stacks)))
		return FLAME_ENOMEM;
	r->stacks[r->nr_stacks++] = stack;
	return 0;
}

static int read_samples(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct reading *r = &st->r;
	enum flame_json_token token;
	size_t nr = 0;
	int err = 0;

	r->has_samples = r->to->sampled = true;
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		flame_stack stack = r->root;

		if (token == FLAME_JSON_ARRAY)
			err = read_stack(st, &stack);
		else
			flame_json_skip_rest(&st->json, token);
		if (err || st->json.error)
			break;
		if (!r->has_weights)
			err = keep_stack(r, stack);
		else if (nr < r->nr_weights)
			err = add_weight(rd, stack, r->weights[nr++]);
		else
			err = flame_skip(rd, "a sample without a weight");
	}
	return err;
}

static int keep_weight(struct reading *r, struct flame_number n)
{
	if (!array_reserve((void **)&r->weights, &r->room_weights, r->nr_weights + 1, sizeof(*r->weights)))
		return FLAME_ENOMEM;
	r->weights[r->nr_weights++] = n;
	return 0;
}

static int read_weights(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct reading *r = &st->r;
	enum flame_json_token token;
	struct flame_number n;
	size_t nr = 0;
	int err = 0;

	r->has_weights = true;
	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		bool ok = read_number(st, token, &n);

		flame_json_skip_rest(&st->json, token);
		if (!ok) {
			err = flame_skip(rd, "a weight that is no number");
			n = (struct flame_number){ 0 };
		}
		if (err)
			break;
		if (!r->has_samples)
			err = keep_weight(r, n);
		else if (nr < r->nr_stacks)
			err = add_weight(rd, r->stacks[nr++], n);
		else
			err = flame_skip(rd, "a weight without a sample");
	}
	if (!err && !st->json.error && nr < r->nr_stacks)
		flame_note(rd, "samples of profile %zu without a weight, left out: %zu", st->nr_profiles, r->nr_stacks - nr);
	return err;
}

/* Evented profiles. */

static flame_stack open_stack(const struct reading *r)
{
	return r->nr_open ? r->open[r->nr_open - 1].stack : r->root;
}

/* The time up to @at was spent in the frames that are open. */
static int go_to(struct flame_reader *rd, struct flame_number at)
{
	struct state *st = rd->state;
	struct reading *r = &st->r;
	struct flame_number spent;
	int err = 0;

	if (r->has_at && !subtract(at, r->at, &spent))
		return flame_skip(rd, "an event before the one ahead of it");
	if (r->has_at && r->nr_open && spent.value)
		err = add_weight(rd, open_stack(r), spent);
	r->at = at;
	r->has_at = true;
	return err;
}

static int open_frame(struct state *st, int64_t number)
{
	struct reading *r = &st->r;
	flame_stack caller = open_stack(r);

	if (!array_reserve((void **)&r->open, &r->room_open, r->nr_open + 1, sizeof(*r->open)))
		return FLAME_ENOMEM;
	r->open[r->nr_open].frame = number;
	r->open[r->nr_open++].stack = flame_stack_push(st->numbers, caller, number_frame(st, number));
	return flame_profile_error(st->numbers);
}

/* A frame that is not the innermost one closes those in it. */
static int close_frame(struct flame_reader *rd, int64_t number)
{
	struct state *st = rd->state;
	struct reading *r = &st->r;
	size_t i = r->nr_open, end = i > CLOSE_SEARCH_MAX ? i - CLOSE_SEARCH_MAX : 0;

	while (i > end && r->open[i - 1].frame != number)
		i--;
	if (i == end)
		return flame_skip(rd, "an event that closes a frame that is not open");
	if (i != r->nr_open) {
		r->nr_open = i - 1;
		return flame_skip(rd, "an event that closes a frame with others open in it");
	}
	r->nr_open--;
	return 0;
}

static int read_event(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum { OPEN = 1, CLOSE } type = 0;
	bool has_at = false, has_frame = false;
	struct flame_number at = { 0 };
	enum flame_json_token token;
	int64_t frame = -1;
	int err;

	while ((token = flame_json_next(json)) == FLAME_JSON_KEY) {
		bool is_type = flame_json_is(json, "type"), is_at = flame_json_is(json, "at");
		bool is_frame = flame_json_is(json, "frame");

		token = flame_json_next(json);
		if (is_type && token == FLAME_JSON_STRING)
			type = flame_json_is(json, "O") ? OPEN : flame_json_is(json, "C") ? CLOSE : 0;
		else if (is_at && token == FLAME_JSON_NUMBER)
			has_at = read_number(st, token, &at);
		else if (is_frame && token == FLAME_JSON_NUMBER)
			has_frame = flame_json_int(json, &frame);
		else
			flame_json_skip_rest(json, token);
	}
	if (token == FLAME_JSON_ERROR)
		return 0;
	if (!type || !has_at || !has_frame)
		return flame_skip(rd, "an event without its type, time or frame");
	err = go_to(rd, at);
	if (err)
		return err;
	return type == OPEN ? open_frame(st, frame) : close_frame(rd, frame);
}

static int read_events(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		if (token == FLAME_JSON_OBJECT)
			err = read_event(rd);
		else
			flame_json_skip_rest(&st->json, token);
	}
	return err;
}

/* Profiles. */

static const struct unit *find_unit(struct flame_reader *rd, const struct flame_json *json)
{
	struct flame_span text = json->text;
	struct state *st = rd->state;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (flame_json_is(json, units[i].name))
			return &units[i];
	}
	if (!st->told_unit)
		flame_note(rd, "the unit '%.*s' is none of speedscope's: values are shown without one",
			   (int)(text.len < 60 ? text.len : 60), text.s);
	st->told_unit = true;
	return &units[0];
}

static int begin_profile(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_type_info info = { 0 };
	struct recorded *new;
	char text[24];

	if (st->nr_profiles == MAX_PROFILES)
		return flame_fail(rd, FLAME_EOVERFLOW, "more than %d profiles in the file (MAX_PROFILES)", MAX_PROFILES);
	if (!array_reserve((void **)&st->profiles, &st->room_profiles, st->nr_profiles + 1, sizeof(*st->profiles)))
		return FLAME_ENOMEM;
	new = &st->profiles[st->nr_profiles++];
	info.name = flame_intern(st->numbers, text, (size_t)snprintf(text, sizeof(text), "%zu", st->nr_profiles));
	*new = (struct recorded){ .type = flame_type_row(st->numbers, &info) };
	st->r.to = new;
	st->r.root = rd->options->threads ? profile_root(st, st->nr_profiles) : 0;
	return flame_profile_error(st->numbers);
}

/* The lists keep their room for the next profile. */
static int end_profile(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct reading *r = &st->r;
	struct flame_number spent;
	int err = 0;

	if (r->nr_open && !st->json.error) {
		flame_note(rd, "frames still open at the end of profile %zu: %zu", st->nr_profiles, r->nr_open);
		if (r->has_end && subtract(r->end, r->at, &spent))
			err = go_to(rd, r->end);
	}
	if (!r->has_samples && !r->has_events && !st->json.error)
		flame_note(rd, "profile %zu has neither samples nor events: it is of no known type", st->nr_profiles);
	if (r->has_samples && !r->has_weights && !st->json.error) {
		if (r->nr_stacks)
			flame_note(rd, "profile %zu has no weights: each of its samples counts 1", st->nr_profiles);
		for (size_t i = 0; !err && i < r->nr_stacks; i++)
			err = add_weight(rd, r->stacks[i], (struct flame_number){ 1, 0 });
	}
	r->nr_open = r->nr_stacks = r->nr_weights = 0;
	r->has_samples = r->has_weights = r->has_events = r->has_at = r->has_end = false;
	return err;
}

static int profile_member(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	enum { OTHER, NAME, UNIT, KIND, END, SAMPLES, WEIGHTS, EVENTS } key = OTHER;
	static const char *const keys[] = { [NAME] = "name", [UNIT] = "unit", [KIND] = "fgtools:kind", [END] = "endValue",
					    [SAMPLES] = "samples", [WEIGHTS] = "weights", [EVENTS] = "events" };
	enum flame_json_token token;

	for (size_t i = NAME; i <= EVENTS; i++) {
		if (flame_json_is(json, keys[i]))
			key = (unsigned int)i;
	}
	token = flame_json_next(json);
	if (token == FLAME_JSON_ARRAY && key == SAMPLES && !st->r.has_samples)
		return read_samples(rd);
	if (token == FLAME_JSON_ARRAY && key == WEIGHTS && !st->r.has_weights)
		return read_weights(rd);
	if (token == FLAME_JSON_ARRAY && key == EVENTS) {
		st->r.has_events = true;
		return read_events(rd);
	}
	if (token == FLAME_JSON_STRING && key == NAME)
		st->r.to->name = flame_intern(st->numbers, json->text.s, json->text.len);
	else if (token == FLAME_JSON_STRING && key == UNIT)
		st->r.to->unit = find_unit(rd, json);
	else if (token == FLAME_JSON_STRING && key == KIND)
		st->r.to->kind = flame_value_kind_find(json->text);
	else if (key == END)
		st->r.has_end = read_number(st, token, &st->r.end);
	flame_json_skip_rest(json, token);
	return 0;
}

static int read_profile(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = begin_profile(rd), end_err;

	while (!err && flame_json_next(&st->json) == FLAME_JSON_KEY)
		err = profile_member(rd);
	if (!st->r.to->unit)
		st->r.to->unit = &units[0];
	end_err = err ? 0 : end_profile(rd);
	return err ? err : end_err;
}

static int read_profiles(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		if (token == FLAME_JSON_OBJECT)
			err = read_profile(rd);
		else
			flame_json_skip_rest(&st->json, token);
	}
	return err;
}

/* Names. */

static int read_frame(struct state *st)
{
	struct flame_json *json = &st->json;
	struct named frame = { 0 };
	enum flame_json_token token;
	int64_t line;

	while ((token = flame_json_next(json)) == FLAME_JSON_KEY) {
		flame_string *text = flame_json_is(json, "name") ? &frame.name : flame_json_is(json, "file") ? &frame.file : NULL;
		bool is_line = flame_json_is(json, "line");

		token = flame_json_next(json);
		if (text && token == FLAME_JSON_STRING)
			*text = flame_intern(st->numbers, json->text.s, json->text.len);
		else if (is_line && token == FLAME_JSON_NUMBER && flame_json_int(json, &line) && line > 0 && line <= UINT32_MAX)
			frame.line = (uint32_t)line;
		else
			flame_json_skip_rest(json, token);
	}
	if (!array_reserve((void **)&st->frames, &st->room_frames, st->nr_frames + 1, sizeof(*st->frames)))
		return FLAME_ENOMEM;
	if (token != FLAME_JSON_ERROR)
		st->frames[st->nr_frames++] = frame;
	return 0;
}

static int read_frames(struct state *st)
{
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		if (token == FLAME_JSON_OBJECT)
			err = read_frame(st);
		else
			flame_json_skip_rest(&st->json, token);
	}
	return err;
}

static int read_shared(struct state *st)
{
	enum flame_json_token token;
	int err = 0;

	while (!err && flame_json_next(&st->json) == FLAME_JSON_KEY) {
		bool frames = flame_json_is(&st->json, "frames");

		token = flame_json_next(&st->json);
		if (frames && token == FLAME_JSON_ARRAY)
			err = read_frames(st);
		else
			flame_json_skip_rest(&st->json, token);
	}
	return err;
}

/* The file. */

static int file_member(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	bool shared = flame_json_is(json, "shared"), profiles = flame_json_is(json, "profiles");
	bool active = flame_json_is(json, "activeProfileIndex"), exporter = flame_json_is(json, "exporter");
	enum flame_json_token token = flame_json_next(json);

	if (shared && token == FLAME_JSON_OBJECT)
		return read_shared(st);
	if (profiles && token == FLAME_JSON_ARRAY)
		return read_profiles(rd);
	if (active && token == FLAME_JSON_NUMBER)
		st->has_active = flame_json_int(json, &st->active);
	else if (exporter && token == FLAME_JSON_STRING) {
		st->ours = span_starts(json->text, EXPORTER);
		if (!st->ours)
			flame_meta_text(rd->profile, &flame_meta(rd->profile)->tool, json->text);
	}
	flame_json_skip_rest(json, token);
	return 0;
}

static struct flame_span profile_name(const struct state *st, size_t i)
{
	return flame_string_get(st->numbers, st->profiles[i].name);
}

static int no_such_profile(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < st->nr_profiles && i < 20; i++) {
		struct flame_span name = profile_name(st, i);

		flame_note(rd, "profile %zu: %.*s", i + 1, (int)(name.len < 200 ? name.len : 200), name.s);
	}
	return flame_fail(rd, FLAME_EARG, "no profile '%s' among the %zu of the file", rd->options->profile, st->nr_profiles);
}

/* By its whole name, or else by its number from 1. */
static int choose_by_option(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const char *wanted = rd->options->profile;
	int64_t number;

	for (size_t i = 0; i < st->nr_profiles; i++) {
		if (span_equals(profile_name(st, i), wanted)) {
			st->profiles[i].wanted = true;
			return 0;
		}
	}
	if (!span_is_int((struct flame_span){ wanted, strlen(wanted) }, &number) || number < 1 ||
	    (uint64_t)number > st->nr_profiles)
		return no_such_profile(rd);
	st->profiles[number - 1].wanted = true;
	return 0;
}

static void choose_active(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span name = profile_name(st, (size_t)st->active);

	st->profiles[st->active].wanted = true;
	if (st->nr_profiles > 1)
		flame_note(rd, "using profile %" PRId64 " of %zu (%.*s), which the file says is shown first; --profile chooses",
			   st->active + 1, st->nr_profiles, (int)(name.len < 200 ? name.len : 200), name.s);
}

/* Without a word on which to show, they are threads of one program: what has the unit of the first is added up. */
static void choose_all(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct unit *unit = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < st->nr_profiles; i++) {
		struct recorded *p = &st->profiles[i];

		if (!p->nr_samples)
			continue;
		if (!unit)
			unit = p->unit;
		p->wanted = st->ours || p->unit == unit;
		nr += p->wanted;
	}
	if (st->ours)
		return;
	if (nr > 1)
		flame_note(rd, "adding up %zu profiles, such as threads; --profile chooses one, --threads tells them apart", nr);
	for (size_t i = 0; i < st->nr_profiles; i++) {
		if (!st->profiles[i].nr_samples || st->profiles[i].wanted)
			continue;
		flame_note(rd, "profile %zu is in %s, not in %s, and is left out; --profile chooses it", i + 1,
			   st->profiles[i].unit->name, unit->name);
	}
}

static int choose_profiles(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (rd->options->profile)
		return choose_by_option(rd);
	if (!st->ours && st->has_active && st->active >= 0 && (uint64_t)st->active < st->nr_profiles &&
	    st->profiles[st->active].nr_samples)
		choose_active(rd);
	else
		choose_all(rd);
	return 0;
}

/* From numbers to names. */

static void make_type(struct flame_reader *rd, struct recorded *p)
{
	struct state *st = rd->state;
	struct flame_type_info info = { .kind = p->kind ? p->kind : p->unit->kind };
	struct flame_span name = { p->unit->values, strlen(p->unit->values) };

	/* Ours are named by what they measure, others by what was measured. */
	if (st->ours)
		name = flame_string_get(st->numbers, p->name);
	info.name = flame_intern(rd->profile, name.s, name.len);
	info.unit = flame_intern(rd->profile, p->unit->ours, strlen(p->unit->ours));
	p->to = flame_type_row(rd->profile, &info);
}

static enum flame_kind cut_kind(struct flame_span *name)
{
	for (unsigned int kind = FLAME_USER; kind < FLAME_NR_KINDS; kind++) {
		const char *suffix = flame_kind_suffix((enum flame_kind)kind);

		if (*suffix && name->len > strlen(suffix) && span_ends(*name, suffix)) {
			name->len -= strlen(suffix);
			return (enum flame_kind)kind;
		}
	}
	return FLAME_USER;
}

static flame_frame profile_frame(struct flame_reader *rd, struct flame_span number)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_TASK };
	int64_t nr = 0;

	span_digits(number, &nr);
	return flame_namer_frame(&st->namer, rd, profile_name(st, (size_t)nr - 1), &info);
}

/* The frame that a frame of the profile of numbers stands for. */
static flame_frame name_frame(struct flame_reader *rd, flame_frame frame)
{
	struct state *st = rd->state;
	struct flame_span number = flame_string_get(st->numbers, flame_frame_get(st->numbers, frame)->name), name, file;
	struct flame_frame_info info = { 0 };
	const struct named *named;
	int64_t nr;

	if (span_starts(number, "p"))
		return profile_frame(rd, span_from(number, 1));
	if (!span_is_int(number, &nr) || (uint64_t)nr >= st->nr_frames) {
		st->nr_unnamed++;
		return flame_namer_frame(&st->namer, rd, (struct flame_span){ 0 }, &info);
	}
	named = &st->frames[nr];
	name = flame_string_get(st->numbers, named->name);
	file = flame_string_get(st->numbers, named->file);
	info.kind = st->ours ? cut_kind(&name) : FLAME_USER;
	if (name.len && flame_thread_frame(name) == name.len) {
		/* What a thread's frame of async-profiler may hold. */
		info.name = flame_intern(rd->profile, name.s, name.len);
		return flame_frame_row(rd->profile, &info);
	}
	info.file = flame_intern(rd->profile, file.s, file.len);
	info.line = named->line;
	return flame_namer_frame(&st->namer, rd, name, &info);
}

static flame_frame *name_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	uint32_t nr = flame_nr_frames(st->numbers);
	flame_frame *map = calloc(nr, sizeof(*map));

	for (flame_frame i = 1; map && i < nr; i++)
		map[i] = name_frame(rd, i);
	return map;
}

static struct recorded *profile_of(struct state *st, flame_type type)
{
	/* Each has made its type when it began. */
	return type && type <= st->nr_profiles ? &st->profiles[type - 1] : NULL;
}

static int copy_samples(struct flame_reader *rd, const flame_stack *stacks)
{
	struct state *st = rd->state;
	int err = 0;

	for (uint32_t i = 0; !err && i < flame_nr_samples(st->numbers); i++) {
		struct flame_sample s = *flame_sample_get(st->numbers, i);
		const struct recorded *p = profile_of(st, s.type);
		uint32_t scale = flame_type_get(st->numbers, s.type)->scale;

		if (!p || !p->wanted)
			continue;
		s.stack = stacks[s.stack];
		s.type = p->to;
		s.task = 0;
		err = flame_sample_add_scaled(rd->profile, &s, scale);
	}
	return err;
}

static int name_all(struct flame_reader *rd)
{
	struct state *st = rd->state;
	flame_frame *frames;
	flame_stack *stacks;
	int err = choose_profiles(rd);

	if (err)
		return err;
	for (size_t i = 0; i < st->nr_profiles; i++) {
		if (st->profiles[i].wanted)
			make_type(rd, &st->profiles[i]);
	}
	frames = name_frames(rd);
	stacks = frames ? flame_stacks_copy(rd->profile, st->numbers, frames) : NULL;
	err = stacks ? copy_samples(rd, stacks) : FLAME_ENOMEM;
	free(frames);
	free(stacks);
	if (!err && st->nr_unnamed)
		flame_note(rd, "frames without a name in shared.frames: %" PRIu64, st->nr_unnamed);
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	st->numbers = flame_profile_new(flame_profile_options(rd->profile));
	if (!st->numbers)
		return FLAME_ENOMEM;
	flame_json_init(&st->json, rd->input);
	token = flame_json_next(&st->json);
	if (token != FLAME_JSON_OBJECT && token != FLAME_JSON_ERROR)
		return flame_fail(rd, FLAME_EFORMAT, "speedscope: the JSON is no object");
	while (!err && token != FLAME_JSON_ERROR && token != FLAME_JSON_END) {
		token = flame_json_next(&st->json);
		if (token == FLAME_JSON_KEY)
			err = file_member(rd);
		if (st->json.error)
			token = FLAME_JSON_ERROR;
	}
	if (!err && token == FLAME_JSON_ERROR)
		err = flame_json_report(&st->json, rd, st->nr_frames && flame_nr_samples(st->numbers));
	if (!err)
		err = flame_profile_error(st->numbers);
	return err ? err : name_all(rd);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_json_release(&st->json);
	flame_profile_free(st->numbers);
	flame_trail_release(&st->trail);
	flame_namer_release(&st->namer);
	free(st->direct);
	free(st->frames);
	free(st->profiles);
	free(st->r.stacks);
	free(st->r.weights);
	free(st->r.open);
}

static int probe(struct flame_span head)
{
	head = span_trim_start(head);
	if (!span_starts(head, "{"))
		return FLAME_SCORE_NOT;
	if (span_find(head, "speedscope.app/file-format-schema.json") < head.len)
		return FLAME_SCORE_MAGIC;
	if (span_find(head, "\"profiles\"") < head.len &&
	    (span_find(head, "\"evented\"") < head.len || span_find(head, "\"sampled\"") < head.len))
		return FLAME_SCORE_RECORD;
	return FLAME_SCORE_NOT;
}

/* Writing. */

typedef unsigned __int128 sum_type;	/* of 2^32 values at most: it never overflows */

struct writer {
	const struct flame_profile *p;
	const struct flame_write_options *options;
	FILE *out;
	uint32_t *index;	/* of frames, as they are numbered in the file */
	flame_frame *path;
	size_t room_path;
	char *name;
	size_t room_name;
};

static void put(struct writer *w, const char *text)
{
	fputs(text, w->out);
}

static void put_value(struct writer *w, flame_type type, int64_t value)
{
	char text[FLAME_NUMBER_MAX];
	size_t len = flame_number_write(text, value, flame_type_get(w->p, type)->scale);

	fwrite(text, 1, len, w->out);
}

/* Values that fit may have a sum that does not: it is written in two halves. */
static void put_sum(struct writer *w, flame_type type, sum_type sum)
{
	const sum_type half = 1000000000000000000;	/* 10^18 */
	uint32_t scale = flame_type_get(w->p, type)->scale;
	int64_t low = (int64_t)(sum % half), point = 1;

	if (sum <= INT64_MAX) {
		put_value(w, type, (int64_t)sum);
		return;
	}
	fprintf(w->out, "%" PRId64, (int64_t)(sum / half));
	for (uint32_t i = 0; i < scale; i++)
		point *= 10;
	if (scale)
		fprintf(w->out, "%0*" PRId64 ".%0*" PRId64, (int)(18 - scale), low / point, (int)scale, low % point);
	else
		fprintf(w->out, "%018" PRId64, low);
}

/* The format knows no kinds: they stand behind the name, as in folded text. */
static bool write_frame(struct writer *w, const struct flame_frame_info *info)
{
	struct flame_span name = flame_string_get(w->p, info->name);
	struct flame_span file = flame_string_get(w->p, info->file ? info->file : info->module);
	const char *suffix = w->options->kinds & FLAME_KIND_BIT(info->kind) ? flame_kind_suffix(info->kind) : "";

	if (!array_reserve((void **)&w->name, &w->room_name, name.len + strlen(suffix) + 1, 1) || !w->name)
		return false;
	memcpy(w->name, name.s, name.len);
	memcpy(w->name + name.len, suffix, strlen(suffix));
	put(w, "{\"name\":");
	flame_json_write_string(w->out, (struct flame_span){ w->name, name.len + strlen(suffix) });
	if (file.len) {
		put(w, ",\"file\":");
		flame_json_write_string(w->out, file);
	}
	if (info->line)
		fprintf(w->out, ",\"line\":%u", info->line);
	put(w, "}");
	return true;
}

static bool is_written(const struct writer *w, flame_type type)
{
	return w->options->all_types || type == w->options->type || (w->options->before && type == w->options->before);
}

/* Note in the index which frames samples have. Return: false without memory. */
static bool mark_frames(struct writer *w)
{
	bool *seen = calloc(flame_nr_stacks(w->p), sizeof(*seen));
	bool ok;

	w->index = calloc(flame_nr_frames(w->p), sizeof(*w->index));
	for (uint32_t i = 0; seen && w->index && i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);

		if (!s->value || !is_written(w, s->type))
			continue;
		for (flame_stack at = s->stack; at && !seen[at]; at = flame_stack_caller(w->p, at)) {
			w->index[flame_stack_frame(w->p, at)] = 1;
			seen[at] = true;
		}
	}
	ok = seen && w->index;
	free(seen);
	return ok;
}

static int write_frames(struct writer *w)
{
	uint32_t nr = flame_nr_frames(w->p), next = 0;

	if (!mark_frames(w))
		return FLAME_ENOMEM;
	put(w, "\"shared\":{\"frames\":[");
	for (flame_frame i = 1; i < nr; i++) {
		if (!w->index[i])
			continue;
		put(w, next ? ",\n" : "\n");
		w->index[i] = next++;
		if (!write_frame(w, flame_frame_get(w->p, i)))
			return FLAME_ENOMEM;
	}
	put(w, "\n]},\n");
	return 0;
}

static int write_stack(struct writer *w, flame_stack stack)
{
	size_t n = 0;

	for (; stack; stack = flame_stack_caller(w->p, stack)) {
		if (!array_reserve((void **)&w->path, &w->room_path, n + 1, sizeof(*w->path)))
			return FLAME_ENOMEM;
		w->path[n++] = flame_stack_frame(w->p, stack);
	}
	put(w, "[");
	while (n) {
		fprintf(w->out, n > 1 ? "%u," : "%u", w->index[w->path[n - 1]]);
		n--;
	}
	put(w, "]");
	return 0;
}

/* Return: the row of the next sample of @type that is not 0, at or behind @row. */
static uint32_t next_sample(const struct flame_profile *p, flame_type type, uint32_t row)
{
	while (row < flame_nr_samples(p) && (flame_sample_get(p, row)->type != type || !flame_sample_get(p, row)->value))
		row++;
	return row;
}

static const char *unit_name(struct flame_span unit)
{
	for (size_t i = 1; i < sizeof(units) / sizeof(*units); i++) {
		if (span_equals(unit, units[i].ours) || span_equals(unit, units[i].name))
			return units[i].name;
	}
	return units[0].name;
}

static void write_head(struct writer *w, flame_type type, sum_type sum)
{
	const struct flame_type_info *info = flame_type_get(w->p, type);
	struct flame_span name = flame_string_get(w->p, info->name);

	put(w, "{\"type\":\"sampled\",\"name\":");
	flame_json_write_string(w->out, name);
	/* The format knows no kinds of values; a viewer steps over the key. */
	if (*flame_value_kind_name(info->kind))
		fprintf(w->out, ",\"fgtools:kind\":\"%s\"", flame_value_kind_name(info->kind));
	fprintf(w->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":", unit_name(flame_string_get(w->p, info->unit)));
	put_sum(w, type, sum);
}

static int write_profile(struct writer *w, flame_type type, sum_type sum)
{
	uint32_t nr = flame_nr_samples(w->p), i;
	bool first = true;
	int err = 0;

	write_head(w, type, sum);
	put(w, ",\n\"samples\":[");
	for (i = next_sample(w->p, type, 0); !err && i < nr; i = next_sample(w->p, type, i + 1)) {
		put(w, first ? "\n" : ",\n");
		first = false;
		err = write_stack(w, flame_sample_get(w->p, i)->stack);
	}
	put(w, "\n],\n\"weights\":[");
	first = true;
	for (i = next_sample(w->p, type, 0); !err && i < nr; i = next_sample(w->p, type, i + 1)) {
		put(w, first ? "\n" : ",\n");
		first = false;
		put_value(w, type, flame_sample_get(w->p, i)->value);
	}
	put(w, "\n]}");
	return err;
}

/* Return: 0 with the sum of @type; FLAME_EARG for values below zero, which no viewer takes. */
static int add_up(const struct flame_profile *p, flame_type type, sum_type *sum, uint64_t *nr)
{
	*sum = 0;
	*nr = 0;
	for (uint32_t i = next_sample(p, type, 0); i < flame_nr_samples(p); i = next_sample(p, type, i + 1)) {
		int64_t value = flame_sample_get(p, i)->value;

		if (value < 0)
			return FLAME_EARG;
		*sum += (sum_type)value;
		++*nr;
	}
	return 0;
}

static int write_profiles(struct writer *w)
{
	const flame_type first = w->options->before ? w->options->before : w->options->type;
	sum_type sum;
	uint64_t nr;
	int err;

	err = add_up(w->p, first, &sum, &nr);
	if (!err)
		err = write_profile(w, first, sum);
	for (flame_type i = 1; !err && i < flame_nr_types(w->p); i++) {
		if (i == first || !is_written(w, i))
			continue;
		err = add_up(w->p, i, &sum, &nr);
		/* Values that it cannot hold do not keep the chosen ones from being written. */
		if (err == FLAME_EARG && i != w->options->type) {
			err = 0;
			continue;
		}
		if (err || (!nr && i != w->options->type))
			continue;
		put(w, ",\n");
		err = write_profile(w, i, sum);
	}
	return err;
}

static int write(const struct flame_profile *p, const struct flame_write_options *options, FILE *out)
{
	struct writer w = { .p = p, .options = options, .out = out };
	struct flame_span name = flame_string_get(p, flame_type_get(p, options->type)->name);
	sum_type sum;
	uint64_t nr;
	int err = add_up(p, options->type, &sum, &nr);

	if (!err && options->before)
		err = add_up(p, options->before, &sum, &nr);
	if (err)
		return err;
	put(&w, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n");
	put(&w, "\"exporter\":\"" EXPORTER "@" FLAME_VERSION "\",\n\"name\":");
	/* Not the input's name: the same input is to give the same bytes, also from a pipe. */
	flame_json_write_string(out, name.len ? name : (struct flame_span){ "profile", 7 });
	put(&w, ",\n\"activeProfileIndex\":0,\n");
	err = write_frames(&w);
	if (!err) {
		put(&w, "\"profiles\":[");
		err = write_profiles(&w);
		put(&w, "]}\n");
	}
	free(w.index);
	free(w.path);
	free(w.name);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}

const struct flame_converter flame_speedscope_converter = {
	.name = "speedscope",
	.summary = "speedscope's JSON, sampled and evented",
	.choices = FLAME_CHOICE_PROFILE,
	.state_size = sizeof(struct state),
	.kinds_written = FLAME_KIND_BIT(FLAME_KERNEL) | FLAME_KIND_BIT(FLAME_INLINED) | FLAME_KIND_BIT(FLAME_JIT) |
			 FLAME_KIND_BIT(FLAME_INTERPRETED) | FLAME_KIND_BIT(FLAME_C1) | FLAME_KIND_BIT(FLAME_WAKER),
	.probe = probe,
	.read = read,
	.release = release,
	.write = write,
};

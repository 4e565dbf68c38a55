/* SPDX-License-Identifier: MIT */
/*
 * bpftrace - maps that bpftrace prints, as text or as JSON (-f json):
 *
 *     @name[
 *         leaf+5
 *         main+24
 *     , 
 *         schedule+35
 *     , comm, 28687]: 3
 *
 * Any map that has a stack among its keys is read. Seen: bpftrace 0.17; what newer ones print is read as their
 * source says (frames behind 8 blanks, "[inlined] " and "@file:line", modes perf, raw and build_id).
 * Documentation/formats/bpftrace.md has the grammar. Not read: printf(), print() of values that are no map,
 * time series.
 *
 * The key's scalars are root frames, in their order. Stacks follow, a user's before the kernel's. Nothing in the
 * text says which is which: addresses and names do, mostly; else the stacks stay in the key's order.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/diag.h"
#include "../core/hash.h"
#include "../core/json.h"
#include "../core/meta.h"
#include "../core/span.h"
#include "../core/table.h"
#include "bpf_text.h"

#define BPFTRACE_MAPS_MAX 256
#define NAME_MAX_BYTES 128
#define NR_SEEN 64

/* What the values of a map are. */
enum form {
	FORM_PLAIN,	/* a number: count(), sum(), min(), max(), and avg() in text */
	FORM_TOTAL,	/* the sum and the number of stats() */
	FORM_COUNT,
	FORM_AVERAGE,
	FORM_HIST,	/* how many values all of the histogram's buckets hold */
	NR_FORMS,
};

static const char *const form_suffix[NR_FORMS] = { "", ":total", ":count", ":avg", ":hist" };

struct map {
	uint64_t hash;		/* of its name */
	bool wanted;		/* --event names it */
	char name[NAME_MAX_BYTES];
	size_t len;
	flame_type types[NR_FORMS];
	struct seen *seen;	/* NULL: there are too many */
};

/* A stack of the key at hand: frames of text.frames, the leaf's first. */
struct part {
	size_t start, nr;
	int64_t side;		/* of all frames together: above 0 the kernel's */
};

/* What is known of a map in all slices. */
struct seen {
	uint64_t hash;
	uint64_t nr;		/* how often it was printed */
	size_t least, most;	/* scalars in its keys that have a stack, and 1; 0: there is none such */
};

struct state {
	/* Set by prepare(). */
	bool json;
	int first_side;		/* above 0: the first of two stacks is the kernel's, in what could be told */

	struct bpf_text text;
	struct map *maps;
	size_t nr_maps, room_maps;
	size_t map;		/* index + 1 of the one whose name came last */

	/* The key at hand. */
	bool open;		/* its value is still to come */
	uint64_t key_lines;	/* read since the key's first one */
	bool has_stack;		/* perhaps an empty one */
	bool is_hist;		/* buckets follow */
	int64_t buckets;
	struct part *parts;
	size_t nr_parts, room_parts;
	flame_frame *scalars;
	size_t nr_scalars, room_scalars;
	char *key;		/* as it was before it was escaped twice */
	size_t room_key;
	char *line;		/* with its blanks */
	size_t room_line;
	size_t nr_written;	/* scalars, also those that --no-comm leaves out */

	/* For finish(). */
	uint64_t first;		/* hash of the map that the first line names; 0: none */
	uint64_t printing;	/* hash of the map whose plain values were the last thing that came; 0: none */
	bool any_plain;		/* a plain value has come */
	bool ended_first;	/* before one came, what was being printed had ended */
	struct seen seen[NR_SEEN];
	uint64_t nr_flat;	/* values of maps without a stack */
	uint64_t nr_full;	/* failed updates of a map */
};

/* Keys. */

static void reset_key(struct state *st)
{
	st->open = st->has_stack = st->is_hist = false;
	st->buckets = 0;
	st->nr_parts = st->nr_scalars = st->nr_written = st->text.nr_frames = 0;
}

static int open_stack(struct state *st)
{
	st->has_stack = true;
	if (!array_reserve((void **)&st->parts, &st->room_parts, st->nr_parts + 1, sizeof(*st->parts)))
		return FLAME_ENOMEM;
	st->parts[st->nr_parts++] = (struct part){ .start = st->text.nr_frames };
	return 0;
}

static int add_frame(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	flame_frame frame;
	int side, err = st->nr_parts ? 0 : open_stack(st);

	if (err)
		return err;
	frame = bpf_find_frame(&st->text, rd, line, &side);
	if (!bpf_push(&st->text, frame))
		return FLAME_ENOMEM;
	st->parts[st->nr_parts - 1].nr++;
	st->parts[st->nr_parts - 1].side += side;
	return 0;
}

/* A part of the key that is no stack; an empty one is a stack of which nothing was printed. */
static int add_scalar(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;
	flame_frame frame;

	s = span_trim(s);
	if (!s.len) {
		st->has_stack = true;
		return 0;
	}
	st->nr_written++;
	if (rd->options->root == FLAME_ROOT_NONE)
		return 0;
	frame = bpf_make_frame(&st->text, rd, s, FLAME_TASK);
	if (!frame || !array_reserve((void **)&st->scalars, &st->room_scalars, st->nr_scalars + 1, sizeof(frame)))
		return FLAME_ENOMEM;
	st->scalars[st->nr_scalars++] = frame;
	return 0;
}

/* Return: how long a tuple, "(a, 1)" or "[\"a\",1]", at the start of @s is, if @separator or the end follows; else 0. */
static size_t tuple_len(struct flame_span s, const char *separator)
{
	size_t depth = 0, n = strlen(separator);

	if (!s.len || (s.s[0] != '(' && s.s[0] != '['))
		return 0;
	for (size_t i = 0; i < s.len && s.s[i] != '\n'; i++) {
		depth += s.s[i] == '(' || s.s[i] == '[';
		depth -= s.s[i] == ')' || s.s[i] == ']';
		if (!depth)
			return i + 1 == s.len || !memcmp(s.s + i + 1, separator, n < s.len - i - 1 ? n : s.len - i - 1) ? i + 1 : 0;
	}
	return 0;
}

/* Return: where the part at the start of @s ends; NULL: it is all of it. */
static const char *part_end(struct flame_span s, const char *separator)
{
	size_t tuple = tuple_len(s, separator);

	return memmem(s.s + tuple, s.len - tuple, separator, strlen(separator));
}

static int add_scalars(struct flame_reader *rd, struct flame_span s, const char *separator)
{
	size_t n = strlen(separator);
	const char *end;
	int err = 0;

	while (!err && (end = part_end(s, separator))) {
		err = add_scalar(rd, (struct flame_span){ s.s, (size_t)(end - s.s) });
		s.len -= (size_t)(end + n - s.s);
		s.s = end + n;
	}
	return err ? err : add_scalar(rd, s);
}

static int add_json_frame(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	if (!span_trim(line).len)
		return 0;
	if (!array_reserve((void **)&st->line, &st->room_line, line.len + 2, 1))
		return FLAME_ENOMEM;
	return add_frame(rd, bpf_respace(line, st->line));
}

/*
 * bpftrace 0.20 to 0.23 escape keys twice: a newline is still a backslash and an n behind JSON's own escapes.
 * Return: false without memory.
 */
static bool unescape(struct state *st, struct flame_span *s)
{
	static const char from[] = "nt\"\\/", to[] = "\n\t\"\\/";
	size_t n = 0;

	if (!memmem(s->s, s->len, "\\n", 2) || memchr(s->s, '\n', s->len))
		return true;
	if (!array_reserve((void **)&st->key, &st->room_key, s->len, 1))
		return false;
	for (size_t i = 0; i < s->len; i++) {
		const char *escape = s->s[i] == '\\' && i + 1 < s->len ? memchr(from, s->s[i + 1], sizeof(from) - 1) : NULL;

		st->key[n++] = escape ? to[escape - from] : s->s[i];
		i += escape != NULL;
	}
	*s = (struct flame_span){ st->key, n };
	return true;
}

/* The same for JSON, where stacks stand among the scalars: each begins with a newline and ends with one. */
static int read_json_key(struct flame_reader *rd, struct flame_span s)
{
	const char *at, *end;
	int err = 0;

	if (!unescape(rd->state, &s))
		return FLAME_ENOMEM;
	at = s.s;
	end = s.s + s.len;

	for (;;) {
		if (at < end && *at == '\n') {
			err = open_stack(rd->state);
			while (!err && ++at < end && *at != ',') {
				const char *nl = memchr(at, '\n', (size_t)(end - at));
				struct flame_span line = { at, (size_t)((nl ? nl : end) - at) };

				at = nl ? nl : end;
				err = add_json_frame(rd, line);
			}
		} else {
			const char *comma = part_end((struct flame_span){ at, (size_t)(end - at) }, ",");

			err = add_scalar(rd, (struct flame_span){ at, (size_t)((comma ? comma : end) - at) });
			at = comma ? comma : end;
		}
		if (err || at >= end)
			return err;
		at++;
	}
}

/* Samples. */

static int side_of(const struct part *part)
{
	return part->side > 0 ? BPF_KERNEL : part->side < 0 ? BPF_USER : 0;
}

/* Which of the key's stacks are the kernel's. Those lie above the user's; else the order of the key stays. */
static bool is_kernel(const struct state *st, size_t i)
{
	int side = side_of(&st->parts[i]);

	if (side || st->nr_parts != 2)
		return side > 0;
	side = side_of(&st->parts[1 - i]);
	if (side)
		return side < 0;
	return st->first_side && (st->first_side > 0) == (i == 0);
}

static size_t put_stacks(struct flame_reader *rd, flame_frame *to, bool kernel)
{
	struct state *st = rd->state;
	size_t nr = 0;

	for (size_t i = 0; i < st->nr_parts; i++) {
		const struct part *part = &st->parts[i];

		if (is_kernel(st, i) != kernel)
			continue;
		for (size_t k = part->start + part->nr; k-- > part->start;)
			to[nr++] = kernel ? bpf_kernel_frame(&st->text, rd, st->text.frames[k]) : st->text.frames[k];
	}
	return nr;
}

static int add_sample(struct flame_reader *rd, flame_type type, int64_t value)
{
	struct state *st = rd->state;
	size_t nr = st->nr_scalars;
	flame_frame *frames = bpf_path(&st->text, nr + st->text.nr_frames + 1);

	if (!frames)
		return FLAME_ENOMEM;
	if (nr)
		memcpy(frames, st->scalars, nr * sizeof(*frames));
	nr += put_stacks(rd, frames + nr, false);
	nr += put_stacks(rd, frames + nr, true);
	if (!nr)
		frames[nr++] = bpf_make_frame(&st->text, rd, (struct flame_span){ "[unknown]", 9 }, FLAME_USER);
	return bpf_path_add(&st->text, nr, type, value);
}

static flame_type find_type(struct flame_reader *rd, struct map *map, enum form form)
{
	struct flame_type_info info = { 0 };
	char name[NAME_MAX_BYTES + 8], *end;

	if (!map->types[form]) {
		end = mempcpy(name, map->name, map->len);
		end = stpcpy(end, form_suffix[form]);
		info.name = flame_intern(rd->profile, name, (size_t)(end - name));
		if (form == FORM_HIST || form == FORM_COUNT)
			info.unit = flame_intern(rd->profile, "count", 5);
		map->types[form] = flame_type_row(rd->profile, &info);
	}
	return map->types[form];
}

static void add_shape(struct seen *seen, size_t least, size_t most)
{
	if (!seen->least || (least && least < seen->least))
		seen->least = least;
	if (most > seen->most)
		seen->most = most;
}

static int add_value(struct flame_reader *rd, enum form form, int64_t value)
{
	struct state *st = rd->state;
	struct map *map = &st->maps[st->map - 1];

	if (!st->has_stack && !map->wanted) {
		st->nr_flat++;
		return 0;
	}
	if (map->seen && st->has_stack)
		add_shape(map->seen, st->nr_written + 1, st->nr_written + 1);
	return add_sample(rd, find_type(rd, map, form), value);
}

static int too_big(struct flame_reader *rd)
{
	return flame_fail(rd, FLAME_EOVERFLOW, "a value does not fit 64 bits");
}

/* Maps. */

static bool is_wanted(const struct flame_reader *rd, struct flame_span name)
{
	const char *event = rd->options->event;
	size_t n;

	if (!event)
		return false;
	if (event[0] != '@') {
		name.s++;
		name.len--;
	}
	n = strlen(event);
	return n >= name.len && !memcmp(event, name.s, name.len) && (n == name.len || event[name.len] == ':');
}

/* Return: NULL where there are too many maps. */
static struct seen *find_seen(struct state *st, uint64_t hash)
{
	for (size_t i = 0; i < NR_SEEN; i++) {
		struct seen *seen = &st->seen[i];

		if (!seen->hash)
			seen->hash = hash;
		if (seen->hash == hash)
			return seen;
	}
	return NULL;
}

static uint64_t hash_name(struct flame_span name)
{
	return hash_bytes(name.s, name.len) | 1;
}

/* Return: false where it is one too many, or without memory. */
static bool set_map(struct flame_reader *rd, struct flame_span name)
{
	struct state *st = rd->state;
	uint64_t hash = hash_name(name);
	struct map *map;

	if (st->map && st->maps[st->map - 1].hash == hash)
		return true;
	for (st->map = 1; st->map <= st->nr_maps; st->map++) {
		if (st->maps[st->map - 1].hash == hash)
			return true;
	}
	st->map = 0;
	if (st->nr_maps == BPFTRACE_MAPS_MAX || name.len > NAME_MAX_BYTES ||
	    !array_reserve((void **)&st->maps, &st->room_maps, st->nr_maps + 1, sizeof(*map)))
		return false;
	map = &st->maps[st->nr_maps++];
	*map = (struct map){ .hash = hash, .len = name.len, .wanted = is_wanted(rd, name), .seen = find_seen(st, hash) };
	memcpy(map->name, name.s, name.len);
	st->map = st->nr_maps;
	return true;
}

/* A map's values end: it was printed once more. */
static void count_print(struct state *st, uint64_t hash, uint64_t nr)
{
	struct seen *seen = find_seen(st, hash);

	if (seen)
		seen->nr += nr;
}

static void end_print(struct state *st)
{
	if (st->printing)
		count_print(st, st->printing, 1);
	st->ended_first |= !st->any_plain;
	st->printing = 0;
}

/* Text. */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "@name[" at the start. Return: the length of the name; 0 where it is something else. */
static size_t map_name(struct flame_span line)
{
	size_t n = 1;

	if (!line.len || line.s[0] != '@')
		return 0;
	while (n < line.len && is_word(line.s[n]))
		n++;
	return n < line.len && line.s[n] == '[' ? n : 0;
}

/* The number behind @word in @s. */
static bool number_behind(struct flame_span s, const char *word, int64_t *value)
{
	const char *at = memmem(s.s, s.len, word, strlen(word));
	size_t n = 0;

	if (!at)
		return false;
	at += strlen(word);
	while (at < s.s + s.len && (*at == ' ' || *at == '='))
		at++;
	while (at + n < s.s + s.len && (at[n] == '-' || (at[n] >= '0' && at[n] <= '9')))
		n++;
	return bpf_integer((struct flame_span){ at, n }, value) == FLAME_NUMBER_OK;
}

/* "count 4673, average 4096, total 19140608"; also "{ .count = 4673, .average = 4096, .total = 19140608 }". */
static int read_stats(struct flame_reader *rd, struct flame_span s)
{
	int64_t count, total;
	int err;

	if (!number_behind(s, "count ", &count) || !number_behind(s, "total ", &total))
		return flame_skip(rd, "a value that is not a number");
	err = add_value(rd, FORM_TOTAL, total);
	return err ? err : add_value(rd, FORM_COUNT, count);
}

/* What follows "]:". */
static int read_value(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;
	int64_t value;
	int err;

	st->open = false;
	s = span_trim(s);
	if (!s.len) {
		st->is_hist = true;
		return 0;
	}
	switch (bpf_integer(s, &value)) {
	case FLAME_NUMBER_OK:
		st->any_plain = true;
		st->printing = st->has_stack ? st->maps[st->map - 1].hash : 0;
		return add_value(rd, FORM_PLAIN, value);
	case FLAME_NUMBER_TOO_BIG:
		return st->has_stack ? too_big(rd) : 0;
	default:
		err = st->has_stack ? read_stats(rd, s) : 0;
		return err;
	}
}

/* The last "]:" of @s, with nothing or a blank behind it; NULL where there is none. */
static const char *key_end(struct flame_span s)
{
	for (size_t i = s.len; i-- > 1;) {
		if (s.s[i] == ':' && s.s[i - 1] == ']' && (i + 1 == s.len || s.s[i + 1] == ' '))
			return s.s + i - 1;
	}
	return NULL;
}

/* What stands in the line that begins a key, and in those that separate or end its stacks. */
static int read_parts(struct flame_reader *rd, struct flame_span s, bool first)
{
	struct state *st = rd->state;
	const char *end = key_end(s);
	struct flame_span key = { s.s, end ? (size_t)(end - s.s) : s.len };
	bool ended = !first && !key.len;
	int err = 0;

	if (!first && key.len) {
		/* The "," that separates it from what came before. */
		key.s++;
		key.len--;
	}
	if (end) {
		err = ended ? 0 : add_scalars(rd, key, ", ");
		return err ? err : read_value(rd, (struct flame_span){ end + 2, (size_t)(s.s + s.len - end - 2) });
	}
	key = span_trim(key);
	if (key.len && key.s[key.len - 1] == ',')
		key.len--;
	if (key.len)
		err = add_scalars(rd, key, ", ");
	return err ? err : open_stack(st);
}

/* A value is missing: the map's key is followed by something else. */
static int drop_key(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->open)
		return 0;
	reset_key(st);
	return flame_skip_before(rd, "a key without a value", st->key_lines);
}

/* The same at the end of the input: it is cut off. */
static int end_key(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (rd->input->limit != UINT64_MAX)
		return drop_key(rd);
	reset_key(st);
	return bpf_text_cut(rd, "a map's key", "the key that the end of the input cuts off");
}

static int close_hist(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->is_hist)
		return 0;
	st->is_hist = false;
	return st->buckets ? add_value(rd, FORM_HIST, st->buckets) : 0;
}

/* "[4K, 8K)            4560 |@@@@    |": Return: false where it is none. */
static bool read_bucket(struct state *st, struct flame_span line)
{
	const char *bar = memchr(line.s, '|', line.len), *close;
	int64_t value;

	if (!bar || !line.len || (line.s[0] != '[' && line.s[0] != '('))
		return false;
	close = memrchr(line.s, ' ', (size_t)(bar - line.s - (bar > line.s)));
	if (!close || bpf_integer(span_trim((struct flame_span){ close, (size_t)(bar - close) }), &value) != FLAME_NUMBER_OK)
		return false;
	return !__builtin_add_overflow(st->buckets, value, &st->buckets);
}

static int open_key(struct flame_reader *rd, struct flame_span line, size_t name)
{
	struct state *st = rd->state;
	uint64_t last = st->map ? st->maps[st->map - 1].hash : 0;
	int err = drop_key(rd);

	if (err)
		return err;
	reset_key(st);
	if (!set_map(rd, (struct flame_span){ line.s, name }))
		return flame_skip(rd, "a map too many, or its name too long (BPFTRACE_MAPS_MAX 256)");
	if (last && st->maps[st->map - 1].hash != last)
		end_print(st);
	st->open = true;
	st->key_lines = 0;
	return read_parts(rd, (struct flame_span){ line.s + name + 1, line.len - name - 1 }, true);
}

/* Notices that tell of losses. */
static void read_notice(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	int64_t nr;

	if (span_starts(line, "Lost ") && number_behind(line, "Lost ", &nr) && nr > 0)
		flame_lost_add(rd->profile, (uint64_t)nr);
	st->nr_full += memmem(line.s, line.len, "map_update_elem", 15) || memmem(line.s, line.len, "Map full", 8);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	size_t name;
	int err;

	if (st->open && line.len && (line.s[0] == ' ' || line.s[0] == '\t'))
		return add_frame(rd, line);
	name = map_name(line);
	if (name) {
		err = close_hist(rd);
		return err ? err : open_key(rd, line, name);
	}
	if (st->is_hist && read_bucket(st, line))
		return 0;
	err = close_hist(rd);
	if (err)
		return err;
	if (st->open && line.len && (line.s[0] == ',' || line.s[0] == ']'))
		return read_parts(rd, line, false);
	if (span_starts(line, "Lost ") || span_starts(line, "WARNING") || span_starts(line, "stdin:")) {
		read_notice(rd, line);
		return 0;
	}
	if (st->open)	/* Modes raw and build_id indent nothing. */
		return span_trim(line).len ? add_frame(rd, line) : 0;
	end_print(st);
	return 0;
}

static int read_lines(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	for (uint64_t i = 0; !err && flame_line(rd->input, &line); i++) {
		st->key_lines++;
		err = read_line(rd, line);
		if (!i && st->map)
			st->first = st->maps[st->map - 1].hash;
	}
	if (!err)
		err = close_hist(rd);
	if (!err && st->open)
		err = end_key(rd);
	bpf_text_check_end(rd);
	return err;
}

/* JSON. */

struct document {
	char type[16];
	bool early_data;	/* before the type */
};

static bool is_type(const struct document *doc, const char *type)
{
	return !strcmp(doc->type, type);
}

static bool is_map(const struct document *doc)
{
	return is_type(doc, "map") || is_type(doc, "stats") || is_type(doc, "hist");
}

/* Numbers of a document of type stats are of avg(). */
static enum form number_form(const struct document *doc)
{
	return is_type(doc, "stats") ? FORM_AVERAGE : FORM_PLAIN;
}

static int add_json_number(struct flame_reader *rd, struct flame_json *json, const struct document *doc)
{
	struct flame_number fraction;
	int64_t value;

	if (flame_json_int(json, &value))
		return add_value(rd, number_form(doc), value);
	if (flame_json_decimal(json, &fraction) == FLAME_NUMBER_OK)
		return flame_skip(rd, "a value that is not a whole number");
	return too_big(rd);
}

/* A number that a double does not hold is written as a string. */
static int add_json_string(struct flame_reader *rd, struct flame_json *json, const struct document *doc)
{
	int64_t value;

	switch (bpf_integer(json->text, &value)) {
	case FLAME_NUMBER_OK:
		return add_value(rd, number_form(doc), value);
	case FLAME_NUMBER_TOO_BIG:
		return too_big(rd);
	default:
		return flame_skip(rd, "a value that is not a number");
	}
}

/* {"count": 5162, "average": 4096, "total": 21143552} */
static int add_json_stats(struct flame_reader *rd, struct flame_json *json)
{
	int64_t count = 0, total = 0;
	int err;

	while (flame_json_next(json) == FLAME_JSON_KEY) {
		int64_t *to = flame_json_is(json, "count") ? &count : flame_json_is(json, "total") ? &total : NULL;
		enum flame_json_token token = to ? flame_json_next(json) : flame_json_skip(json);

		if (to && (token == FLAME_JSON_STRING ? bpf_integer(json->text, to) != FLAME_NUMBER_OK :
			   token != FLAME_JSON_NUMBER || !flame_json_int(json, to)))
			return too_big(rd);
	}
	err = add_value(rd, FORM_TOTAL, total);
	return err ? err : add_value(rd, FORM_COUNT, count);
}

/* [{"min": 4096, "max": 8191, "count": 5162}] */
static int add_json_hist(struct flame_reader *rd, struct flame_json *json)
{
	enum flame_json_token token;
	bool tuple = false;
	int64_t sum = 0, count;

	while ((token = flame_json_next(json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		if (token != FLAME_JSON_OBJECT) {
			tuple = true;
			flame_json_skip_rest(json, token);
			continue;
		}
		while (flame_json_next(json) == FLAME_JSON_KEY) {
			if (!flame_json_is(json, "count"))
				flame_json_skip(json);
			else if (flame_json_next(json) != FLAME_JSON_NUMBER || !flame_json_int(json, &count) ||
				 __builtin_add_overflow(sum, count, &sum))
				return too_big(rd);
		}
	}
	if (tuple)
		return flame_skip(rd, "a value that is not a number");
	return sum ? add_value(rd, FORM_HIST, sum) : 0;
}

static int read_json_value(struct flame_reader *rd, struct flame_json *json, const struct document *doc)
{
	switch (flame_json_next(json)) {
	case FLAME_JSON_NUMBER:
		return add_json_number(rd, json, doc);
	case FLAME_JSON_STRING:
		return add_json_string(rd, json, doc);
	case FLAME_JSON_OBJECT:
		return add_json_stats(rd, json);
	case FLAME_JSON_ARRAY:
		return add_json_hist(rd, json);
	case FLAME_JSON_ERROR:
		return 0;
	default:
		return flame_skip(rd, "a value that is not a number");
	}
}

/* {"@name": {"key": value, …}}; the value of a map without keys stands there alone. */
static int read_json_map(struct flame_reader *rd, struct flame_json *json, const struct document *doc)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	while (!err && flame_json_next(json) == FLAME_JSON_KEY) {
		if (!json->text.len || !set_map(rd, json->text)) {
			err = flame_skip(rd, "a map too many, or its name too long (BPFTRACE_MAPS_MAX 256)");
			flame_json_skip(json);
			continue;
		}
		token = flame_json_next(json);
		if (token != FLAME_JSON_OBJECT) {
			flame_json_skip_rest(json, token);
			continue;
		}
		count_print(st, st->maps[st->map - 1].hash, 1);
		while (!err && flame_json_next(json) == FLAME_JSON_KEY) {
			reset_key(st);
			err = read_json_key(rd, json->text);
			if (!err)
				err = read_json_value(rd, json, doc);
		}
	}
	return err;
}

/* {"events": 12}, or the number alone. */
static void read_json_lost(struct flame_reader *rd, struct flame_json *json)
{
	enum flame_json_token token = flame_json_next(json);
	bool object = token == FLAME_JSON_OBJECT;
	int64_t nr;

	if (object)
		token = flame_json_next(json);
	while (token == FLAME_JSON_KEY || token == FLAME_JSON_NUMBER) {
		if (token == FLAME_JSON_NUMBER && flame_json_int(json, &nr) && nr > 0)
			flame_lost_add(rd->profile, (uint64_t)nr);
		if (!object)
			return;
		token = flame_json_next(json);
	}
	if (object && token != FLAME_JSON_OBJECT_END && token != FLAME_JSON_ERROR)
		flame_json_skip_rest(json, token);
}

/* A member of a document. */
static int read_json_member(struct flame_reader *rd, struct flame_json *json, struct document *doc)
{
	bool maps = is_map(doc);
	enum flame_json_token token;
	size_t n;

	if (flame_json_is(json, "type")) {
		token = flame_json_next(json);
		if (token != FLAME_JSON_STRING) {
			flame_json_skip_rest(json, token);
			return 0;
		}
		n = json->text.len < sizeof(doc->type) ? json->text.len : 0;
		memcpy(doc->type, json->text.s, n);
		doc->type[n] = '\0';
		return 0;
	}
	if (is_type(doc, "lost_events") && (flame_json_is(json, "data") || flame_json_is(json, "count"))) {
		read_json_lost(rd, json);
		return 0;
	}
	if (!maps || !flame_json_is(json, "data")) {
		doc->early_data |= !doc->type[0] && flame_json_is(json, "data");
		flame_json_skip(json);
		return 0;
	}
	token = flame_json_next(json);
	if (token == FLAME_JSON_OBJECT)
		return read_json_map(rd, json, doc);
	flame_json_skip_rest(json, token);
	return 0;
}

/* {"type": "map", "data": …}, and so on, a line each. */
static int read_documents(struct flame_reader *rd, struct flame_json *json)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(json)) != FLAME_JSON_END && token != FLAME_JSON_ERROR) {
		struct document doc = { 0 };

		if (token != FLAME_JSON_OBJECT) {
			flame_json_skip_rest(json, token);
			continue;
		}
		while (!err && flame_json_next(json) == FLAME_JSON_KEY)
			err = read_json_member(rd, json, &doc);
		if (!err && doc.early_data && (is_map(&doc) || is_type(&doc, "lost_events")))
			err = flame_skip(rd, "\"data\" before \"type\", which bpftrace writes first");
		st->nr_full += is_type(&doc, "helper_error");
	}
	return err;
}

static int read_json(struct flame_reader *rd)
{
	struct flame_json *json = malloc(sizeof(*json));
	const struct state *st = rd->state;
	int err;

	if (!json)
		return FLAME_ENOMEM;
	flame_json_init(json, rd->input);
	json->many = true;
	err = read_documents(rd, json);
	if (!err && json->error)
		err = flame_json_report(json, rd, st->text.has_paths);
	flame_json_release(json);
	free(json);
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = bpf_text_init(&st->text, rd);

	/* Plain maps are gathered here where they are not told apart: the first type is the one that is used. */
	if (!err && !rd->options->event)
		flame_type_row(rd->profile, &(struct flame_type_info){ 0 });
	if (!err)
		err = st->json ? read_json(rd) : read_lines(rd);
	return bpf_text_end(&st->text, err);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	bpf_text_release(&st->text);
	free(st->maps);
	free(st->parts);
	free(st->scalars);
	free(st->key);
	free(st->line);
}

/* What the head tells. */

struct survey {
	size_t nr_keys;		/* of stacks, with their value */
	size_t nr_begun;
	int first_side;
	bool open;
	bool has_stack;
	size_t nr_parts;
	int64_t side[2];
};

static void survey_end(struct survey *sv)
{
	sv->nr_keys += sv->has_stack;
	sv->open = false;
	if (sv->nr_parts != 2)
		return;
	if ((sv->side[0] > 0 && sv->side[1] <= 0) || (sv->side[1] < 0 && sv->side[0] >= 0))
		sv->first_side++;
	if ((sv->side[1] > 0 && sv->side[0] <= 0) || (sv->side[0] < 0 && sv->side[1] >= 0))
		sv->first_side--;
}

static void survey_line(struct survey *sv, struct flame_span line)
{
	size_t name = map_name(line);
	struct bpf_frame f;

	if (name) {
		*sv = (struct survey){ .nr_keys = sv->nr_keys, .nr_begun = sv->nr_begun, .first_side = sv->first_side,
				       .open = true };
		line = span_trim((struct flame_span){ line.s + name + 1, line.len - name - 1 });
		sv->has_stack = !line.len || line.s[0] == ',' || line.s[line.len - 1] == ',';
		sv->nr_begun += sv->has_stack;
	} else if (!sv->open) {
		return;
	} else if (line.len && line.s[0] != ',' && line.s[0] != ']') {
		if (!sv->nr_parts)
			sv->nr_parts++;
		bpf_parse_frame(line, &f);
		if (sv->nr_parts <= 2)
			sv->side[sv->nr_parts - 1] += f.side ? f.side : bpf_name_side(f.symbol);
		return;
	}
	if (key_end(line))
		survey_end(sv);
	else if (sv->has_stack || (line.len && line.s[line.len - 1] == ','))
		sv->nr_parts++;
}

static struct survey survey(struct flame_span head)
{
	struct survey sv = { 0 };
	struct flame_span line;

	while (span_line(&head, &line))
		survey_line(&sv, line);
	return sv;
}

/* {"type": "attached_probes", … is the first line of 0.17 and today's; -q leaves it out. */
static bool is_json(struct flame_span head)
{
	static const char *const types[] = { "attached_probes", "map", "hist", "stats", "printf", "time", "value",
					     "lost_events", "helper_error", "join", "cat", "syscall", "tseries" };
	static const char start[] = "{\"type\":";
	struct flame_span s;

	if (!span_starts(head, start))
		return false;
	s = (struct flame_span){ head.s + strlen(start), head.len - strlen(start) };
	while (s.len && s.s[0] == ' ') {
		s.s++;
		s.len--;
	}
	for (size_t i = 0; s.len && s.s[0] == '"' && i < sizeof(types) / sizeof(*types); i++) {
		struct flame_span word = { s.s + 1, s.len - 1 };

		if (span_starts(word, types[i]) && word.len > strlen(types[i]) && word.s[strlen(types[i])] == '"')
			return true;
	}
	return false;
}

static int prepare(struct flame_reader *rd, struct flame_span head)
{
	struct state *st = rd->state;

	while (head.len && (head.s[0] == '\n' || head.s[0] == ' ' || head.s[0] == '\r')) {
		head.s++;
		head.len--;
	}
	st->json = is_json(head) || (head.len && head.s[0] == '{');
	if (!st->json)
		st->first_side = survey(head).first_side;
	return 0;
}

static int probe(struct flame_span head)
{
	struct survey sv;

	if (is_json(head))
		return FLAME_SCORE_MAGIC - 10;
	sv = survey(head);
	/* "Attaching 2 probes..." and, of newer versions, "Attached 2 probes"; what the script prints may follow. */
	if (sv.nr_keys || span_starts(head, "Attaching ") || span_starts(head, "Attached "))
		return FLAME_SCORE_MAGIC - 10;
	return sv.nr_begun ? FLAME_SCORE_RECORD : FLAME_SCORE_NOT;
}

/* A map's name starts a key whatever stands before it. */
static size_t split(struct flame_reader *rd, struct flame_span text)
{
	const struct state *st = rd->state;
	struct flame_span rest = text, line;

	if (st->json)
		return text.len;
	span_line(&rest, &line);
	while (rest.len) {
		const char *at = memchr(rest.s, '@', rest.len);

		if (!at)
			break;
		rest.len -= (size_t)(at - rest.s);
		rest.s = at;
		if (at > text.s && at[-1] == '\n' && map_name(rest))
			return (size_t)(at - text.s);
		rest.s++;
		rest.len--;
	}
	return text.len;
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	if (slice->first != st->printing || slice->ended_first)
		end_print(st);
	if (slice->any_plain || slice->ended_first || slice->first != st->printing)
		st->printing = slice->printing;
	for (size_t i = 0; i < NR_SEEN && slice->seen[i].hash; i++) {
		struct seen *seen = find_seen(st, slice->seen[i].hash);

		if (!seen)
			continue;
		seen->nr += slice->seen[i].nr;
		add_shape(seen, slice->seen[i].least, slice->seen[i].most);
	}
	st->nr_flat += slice->nr_flat;
	st->nr_full += slice->nr_full;
}

/* What is left when all has been read. */

static bool is_plain(const struct flame_profile *p, flame_type type)
{
	struct flame_span name = flame_string_get(p, flame_type_get(p, type)->name);

	return name.len && !memchr(name.s, ':', name.len);
}

static const struct seen *seen_of(struct state *st, const struct flame_profile *p, flame_type type)
{
	return find_seen(st, hash_name(flame_string_get(p, flame_type_get(p, type)->name)));
}

/* Whether keys of both hold the same number of scalars, and at least one: "@off[kstack, comm]" and "@on[kstack, comm]". */
static bool are_alike(const struct seen *a, const struct seen *b)
{
	return a && b && a->least > 1 && a->least == a->most && b->least == a->least && b->most == a->most;
}

/* What the keys of a map are, but for those without a frame of a stack: they say nothing. */
static bool tells(const struct flame_profile *p, const struct flame_sample *s, flame_type type)
{
	const struct flame_frame_info *leaf = flame_frame_get(p, flame_stack_frame(p, s->stack));

	return s->type == type && leaf->kind != FLAME_TASK && !span_equals(flame_string_get(p, leaf->name), "[unknown]");
}

/* Set a bit in @keys for each stack of @type. */
static void add_keys(const struct flame_profile *p, flame_type type, uint64_t *keys)
{
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (tells(p, s, type))
			keys[s->stack / 64] |= 1ull << (s->stack % 64);
	}
}

static bool shares_key(const struct flame_profile *p, flame_type type, const uint64_t *keys)
{
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (tells(p, s, type) && keys[s->stack / 64] >> (s->stack % 64) & 1)
			return true;
	}
	return false;
}

/*
 * Set @chosen for the first map of plain numbers and those that are added to it. Of two maps that have a key in common each
 * measures the same in another way, say count() and sum(); where no key is, they may be parts of one whole. Only the
 * script's author knows. Return: how many there are; -1 without memory.
 */
static int choose_maps(struct state *st, const struct flame_profile *p, bool *chosen)
{
	uint64_t *keys = calloc(flame_nr_stacks(p) / 64 + 1, sizeof(*keys));
	flame_type first = 0;
	int nr = 0;

	if (!keys)
		return -1;
	for (flame_type i = 1; i < flame_nr_types(p); i++) {
		if (!is_plain(p, i))
			continue;
		if (!first)
			first = i;
		else if (!are_alike(seen_of(st, p, first), seen_of(st, p, i)) || shares_key(p, i, keys))
			continue;
		add_keys(p, i, keys);
		chosen[i] = true;
		nr++;
	}
	free(keys);
	return nr;
}

/* Return: "@a + @b", the types that are @chosen, owned by the caller; NULL without memory. */
static char *chosen_names(const struct flame_profile *p, const bool *chosen)
{
	char *text = NULL;
	size_t size, nr = 0;
	FILE *f = open_memstream(&text, &size);

	for (flame_type i = 1; f && i < flame_nr_types(p); i++) {
		if (chosen[i])
			fprintf(f, "%s%s", nr++ ? " + " : "", flame_string_get(p, flame_type_get(p, i)->name).s);
	}
	if (f)
		fclose(f);
	return text;
}

/* The first type is called by the names of what is added up in it. */
static int name_sum(struct flame_reader *rd, struct flame_profile *p, const bool *chosen)
{
	char *names = chosen_names(p, chosen);
	struct flame_type_info info = { 0 };

	if (!names)
		return FLAME_ENOMEM;
	flame_diag_add(rd->diag, FLAME_WARNING,
		       "several maps are added up, %s, though their values may be unlike: --event NAME takes one", names);
	info.name = flame_intern(p, names, strlen(names));
	flame_meta_text(p, &flame_meta(p)->added, (struct flame_span){ names, strlen(names) });
	free(names);
	return flame_type_join(p, 1, flame_type_row(p, &info));
}

/* Without --event the first type is what is used. */
static int join_plain(struct flame_reader *rd, struct flame_profile *p)
{
	bool *chosen = calloc(flame_nr_types(p), sizeof(*chosen));
	int nr = chosen ? choose_maps(rd->state, p, chosen) : -1, err = nr < 0 ? FLAME_ENOMEM : 0;

	if (nr > 1)
		err = name_sum(rd, p, chosen);
	for (flame_type i = flame_nr_types(p); !err && i-- > 2;) {
		if (chosen[i])
			err = flame_type_join(p, 1, i);
	}
	if (!err && !flame_type_get(p, 1)->name && flame_nr_types(p) > 2)
		err = flame_type_join(p, 1, 2);
	free(chosen);
	return err;
}

static void report(struct flame_reader *rd, const struct flame_profile *p)
{
	struct state *st = rd->state;
	bool repeated = false;

	end_print(st);
	for (size_t i = 0; i < NR_SEEN; i++)
		repeated |= st->seen[i].nr > 1;
	if (repeated)
		flame_note(rd, "a map is printed more than once: its values are added up, which is right where the script clears it each time (clear(@))");
	if (flame_lost(p))
		flame_diag_add(rd->diag, FLAME_WARNING, "bpftrace lost %llu events that it was to print; what is counted in maps is not among them",
			       (unsigned long long)flame_lost(p));
	if (st->nr_full)
		flame_diag_add(rd->diag, FLAME_WARNING,
			       "bpftrace reports failed updates of its maps: keys are missing; raise BPFTRACE_MAP_KEYS_MAX");
	if (st->nr_flat)
		flame_note(rd, "left out: %llu value%s of maps that have no stack (--event NAME takes such a map)",
			   (unsigned long long)st->nr_flat, st->nr_flat == 1 ? "" : "s");
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	report(rd, *profile);
	if (!flame_nr_samples(*profile) && !rd->input->error && !rd->diag->damaged)
		return flame_fail(rd, FLAME_EEMPTY,
				  "bpftrace: no map of stacks with numbers is in it, and what printf() prints cannot be read: let the script count stacks, @[ustack] = count()");
	if (rd->options->event || flame_nr_types(*profile) < 2)
		return 0;
	return join_plain(rd, *profile);
}

const struct flame_converter flame_bpftrace_converter = {
	.name = "bpftrace",
	.summary = "maps of stacks that bpftrace prints, as text or JSON",
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.prepare = prepare,
	.read = read,
	.release = release,
	.split = split,
	.join = join,
	.finish = finish,
};

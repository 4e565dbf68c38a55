/* SPDX-License-Identifier: MIT */
/*
 * austin - what austin prints of Python programs, a line a sample:
 *
 *     # austin: 3.6.0
 *     # mode: wall
 *     P4242;T0:4243;/opt/work.py:<module>:21;/opt/work.py:fib:5 10012
 *
 * Written by austin 3 and by mojo2austin from the binary files of austin 3 and 4. austin 1 and 2 (and -a of 3) write
 *
 *     Thread 7f8ccf78db80;<module> (/opt/work.py);L21;fib (/opt/work.py);L5 10012
 *
 * The number is the time since the sample before in microseconds, in memory mode the change of the process' memory; in
 * full mode there are three: "time,idle,memory", and of austin 1 and 2 "time +memory -memory". See
 * Documentation/formats/austin.md. austin_mojo.c makes such lines of the binary form.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/meta.h"
#include "../core/span.h"
#include "austin.h"
#include "python_frame.h"

#define CACHE_BYTES ((size_t)64 << 20)
#define PROBE_LINES 16
#define KIB 1024	/* unit of memory in austin 1 and 2 */

enum mode {
	UNKNOWN,	/* the head does not tell: time */
	WALL,
	CPU,
	MEMORY,
};

enum type {
	TYPE_CPU,
	TYPE_WALL,
	TYPE_MEMORY,
	TYPE_FREED,
	NR_TYPES,
};

struct state {
	bool mojo;		/* the binary form; set by prepare() */
	enum mode mode;
	flame_type types[NR_TYPES];
	struct flame_namer namer;
	struct flame_cache frames;	/* by their bytes */
	struct flame_cache stacks;	/* by all of a line but its numbers */
	uint64_t nr_bad;		/* samples that austin could not take */
	uint64_t nr_late;
};

struct metrics {
	int64_t time, memory, freed;
	bool full, idle;	/* all of them are there */
};

/* Numbers. */

static bool signed_int(struct flame_span s, int64_t *value)
{
	bool negative = span_starts(s, "-");

	if (!span_is_int(span_from(s, negative), value))
		return false;
	if (negative)
		*value = -*value;
	return true;
}

/* Cut the last word off @line. */
static bool cut_last(struct flame_span *line, struct flame_span *word)
{
	const char *blank = line->len ? memrchr(line->s, ' ', line->len) : NULL;

	if (!blank)
		return false;
	*word = span_from(*line, (size_t)(blank - line->s) + 1);
	line->len = (size_t)(blank - line->s);
	return word->len > 0;
}

static void set_memory(struct metrics *m, int64_t change)
{
	if (change > 0)
		m->memory = change;
	else
		m->freed = -change;
}

/* "time,idle,memory" */
static bool read_full(struct flame_span word, struct metrics *m)
{
	struct flame_span time, idle;
	int64_t change;

	if (!span_next(&word, ',', &time) || !span_next(&word, ',', &idle) || !word.s)
		return false;
	if (!span_is_int(time, &m->time) || !signed_int(word, &change))
		return false;
	m->full = true;
	m->idle = !span_equals(idle, "0");
	set_memory(m, change);
	return true;
}

/* "time +memory -memory" of austin 1 and 2, the memory in KiB; *@line loses the two first. */
static bool read_old_full(struct flame_span *line, struct flame_span last, struct metrics *m)
{
	struct flame_span rest = *line, time, more;
	int64_t less;

	if (!cut_last(&rest, &more) || !cut_last(&rest, &time) || !span_is_int(time, &m->time) ||
	    !span_is_int(more, &m->memory) || !signed_int(last, &less) || less > 0)
		return false;
	if (__builtin_mul_overflow(m->memory, (int64_t)KIB, &m->memory) ||
	    __builtin_mul_overflow(-less, (int64_t)KIB, &m->freed))
		return false;
	*line = rest;
	return true;
}

/* What stands behind the stack is cut off @line. */
static bool read_metrics(const struct state *st, struct flame_span *line, bool old, struct metrics *m)
{
	struct flame_span word;
	int64_t value;

	*m = (struct metrics){ 0 };
	if (!cut_last(line, &word))
		return false;
	if (memchr(word.s, ',', word.len))
		return read_full(word, m);
	if (old && read_old_full(line, word, m))
		return true;
	*m = (struct metrics){ 0 };
	if (!signed_int(word, &value))
		return false;
	if (st->mode != MEMORY && value >= 0)
		m->time = value;
	else if (!old)
		set_memory(m, value);
	else
		return !__builtin_mul_overflow(value, (int64_t)KIB, &m->memory);
	return true;
}

/* Frames. */

/* The number behind the last ':' is cut off @s. */
static bool cut_number(struct flame_span *s, uint32_t *value)
{
	const char *colon = s->len ? memrchr(s->s, ':', s->len) : NULL;
	int64_t number;

	if (!colon || !span_is_int(span_from(*s, (size_t)(colon - s->s) + 1), &number) || number > UINT32_MAX)
		return false;
	*value = (uint32_t)number;
	s->len = (size_t)(colon - s->s);
	return true;
}

/* "file:function:line" or "file:function:line:line_end:column:column_end"; the line may be missing. */
static struct python_frame parse_new(struct flame_span text)
{
	struct python_frame frame = { .name = text };
	struct flame_span rest = text, longer;
	const char *colon;
	uint32_t number = 0;
	int nr;

	if (span_starts(text, ":") && span_ends(text, ":"))
		return frame;	/* ":GC:" */
	cut_number(&rest, &frame.line);
	/* The line is the first of four numbers, or the only one. */
	longer = rest;
	for (nr = 0; nr < 3 && cut_number(&longer, &number); nr++)
		;
	if (nr == 3) {
		frame.line = number;
		rest = longer;
	}
	colon = rest.len ? memrchr(rest.s, ':', rest.len) : NULL;
	if (!colon) {
		frame.line = 0;
		return frame;
	}
	frame.file = span_to(rest, (size_t)(colon - rest.s));
	frame.name = span_from(rest, frame.file.len + 1);
	if (span_equals(frame.file, "kernel")) {
		frame.file.len = 0;
		frame.kind = FLAME_KERNEL;
	}
	return frame;
}

static struct flame_span first_part(struct flame_span s)
{
	const char *end = s.len ? memchr(s.s, ';', s.len) : NULL;

	return end ? span_to(s, (size_t)(end - s.s)) : s;
}

/* "L21": the line of the frame before it. */
static bool is_line(struct flame_span part, uint32_t *line)
{
	int64_t value;

	if (!span_starts(part, "L") || !span_is_int(span_from(part, 1), &value) || value > UINT32_MAX)
		return false;
	*line = (uint32_t)value;
	return true;
}

/* The frame at the start of @path. Return: how many bytes it takes. */
static size_t next_frame(struct flame_reader *rd, struct flame_span path, bool old, flame_frame *row)
{
	struct state *st = rd->state;
	struct flame_span text = first_part(path), next;
	struct python_frame frame;
	uint32_t line = 0;
	uint64_t hash;

	next = first_part(span_from(path, text.len + 1));
	if (text.len < path.len && is_line(next, &line))
		text.len += 1 + next.len;
	hash = hash_bytes(text.s, text.len);
	if (flame_cache_get(&st->frames, text.s, text.len, hash, row))
		return text.len;
	frame = old ? python_frame_parse(first_part(text)) : parse_new(first_part(text));
	if (line)
		frame.line = line;
	*row = python_frame_row(&st->namer, rd, &frame);
	flame_cache_put(&st->frames, text.s, text.len, hash, *row);
	return text.len;
}

static flame_stack push_task(struct flame_reader *rd, flame_stack stack, struct flame_span text)
{
	struct flame_frame_info info = { .kind = FLAME_TASK };
	struct state *st = rd->state;

	return flame_stack_push(rd->profile, stack, flame_namer_frame(&st->namer, rd, text, &info));
}

/* "Process 4242;Thread 7f8c" */
static bool is_old(struct flame_span line)
{
	if (span_starts(line, "Process "))
		line = span_from(line, first_part(line).len + 1);
	return span_starts(line, "Thread ");
}

/* "P4242;T0:4243" */
static bool is_new(struct flame_span line)
{
	struct flame_span part = first_part(line);
	int64_t pid;

	return span_starts(part, "P") && span_is_int(span_from(part, 1), &pid) &&
	       span_starts(span_from(line, part.len + 1), "T");
}

/* The process, if there is one, and the thread are taken off @path. */
static void cut_tasks(struct flame_span *path, struct flame_span *process, struct flame_span *thread)
{
	*process = (struct flame_span){ 0 };
	if (path->s[0] == 'P') {
		*process = first_part(*path);
		*path = span_from(*path, process->len + 1);
	}
	*thread = first_part(*path);
	*path = span_from(*path, thread->len + 1);
}

static int find_stack(struct flame_reader *rd, struct flame_span text, bool old, flame_stack *stack)
{
	struct state *st = rd->state;
	enum flame_root root = rd->options->root;
	struct flame_span process, thread, path = text;
	uint64_t hash = hash_bytes(text.s, text.len);

	if (flame_cache_get(&st->stacks, text.s, text.len, hash, stack))
		return 0;
	*stack = 0;
	cut_tasks(&path, &process, &thread);
	if (process.len && (root == FLAME_ROOT_PID || root == FLAME_ROOT_TID))
		*stack = push_task(rd, *stack, process);
	if (rd->options->threads || root == FLAME_ROOT_TID)
		*stack = push_task(rd, *stack, thread);
	while (path.len) {
		flame_frame frame;
		size_t n = next_frame(rd, path, old, &frame);

		*stack = flame_stack_push(rd->profile, *stack, frame);
		path = span_from(path, n + 1);
	}
	flame_cache_put(&st->stacks, text.s, text.len, hash, *stack);
	return flame_profile_error(rd->profile);
}

/* Lines. */

/* Return: the first number of "5/160". */
static uint64_t of_many(struct flame_span s)
{
	int64_t value;

	return span_digits(s, &value) ? (uint64_t)value : 0;
}

/* What of the metadata is of the recording; times are in us. */
static void read_about(struct flame_profile *p, struct flame_span line)
{
	struct flame_meta *meta = flame_meta(p);
	struct flame_span value = span_from(line, span_find(line, ": ") + 2);
	char text[64];
	int n = 0;

	if (span_starts(line, "# interval: "))
		flame_meta_interval(p, (double)of_many(value) * 1e3);
	else if (span_starts(line, "# duration: ") && of_many(value) < UINT64_MAX / 1000)
		meta->duration_ns = of_many(value) * 1000;
	if (value.len > 32)
		return;
	if (span_starts(line, "# austin: ")) {
		n = snprintf(text, sizeof(text), "austin %.*s", (int)value.len, value.s);
		flame_meta_text(p, &meta->tool, (struct flame_span){ text, (size_t)n });
	} else if (span_starts(line, "# python: ")) {
		n = snprintf(text, sizeof(text), "Python %.*s", (int)value.len, value.s);
		flame_meta_text(p, &meta->runtime, (struct flame_span){ text, (size_t)n });
	}
}

/* "# key: value" */
static void read_metadata(struct state *st, struct flame_span line)
{
	static const struct { const char *text; enum mode mode; } modes[] = {
		{ "# mode: wall", WALL }, { "# mode: cpu", CPU }, { "# mode: memory", MEMORY },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		if (span_equals(line, modes[i].text))
			st->mode = modes[i].mode;
	}
	if (span_starts(line, "# errors: "))
		st->nr_bad += of_many(span_from(line, 10));
	else if (span_starts(line, "# saturation: "))
		st->nr_late += of_many(span_from(line, 14));
}

static int add(struct flame_reader *rd, enum type type, flame_stack stack, int64_t value)
{
	struct state *st = rd->state;
	struct flame_sample s = { .stack = stack, .type = st->types[type], .value = value, .nr_samples = 1 };

	return value ? flame_sample_add(rd->profile, &s) : 0;
}

static int add_sample(struct flame_reader *rd, flame_stack stack, const struct metrics *m)
{
	const struct state *st = rd->state;
	bool cpu = m->full ? !m->idle : st->mode == CPU;
	int err = 0;

	if (cpu)
		err = add(rd, TYPE_CPU, stack, m->time);
	if (!err && (m->full || !cpu))
		err = add(rd, TYPE_WALL, stack, m->time);
	if (!err)
		err = add(rd, TYPE_MEMORY, stack, m->memory);
	return err ? err : add(rd, TYPE_FREED, stack, m->freed);
}

static int read_sample(struct flame_reader *rd, struct flame_span line)
{
	bool old = is_old(line);
	struct state *st = rd->state;
	struct metrics m;
	flame_stack stack;
	int err;

	if (!old && !is_new(line))
		return flame_skip(rd, "no process and thread at the start of the line");
	if (!read_metrics(st, &line, old, &m))
		return flame_skip(rd, "no numbers at the end of the line");
	if (span_ends(line, ";Bad sample")) {
		st->nr_bad++;
		return 0;
	}
	err = find_stack(rd, line, old, &stack);
	return err ? err : add_sample(rd, stack, &m);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	line = span_trim_end(line);
	if (!line.len)
		return 0;
	if (line.s[0] == '#') {
		read_metadata(st, line);
		read_about(rd->profile, line);
		return 0;
	}
	if (span_starts(line, "Bad sample ")) {
		st->nr_bad++;
		return 0;
	}
	return read_sample(rd, line);
}

/* Types are made before there are samples of them, so that all slices number them alike. */
static void make_types(struct flame_reader *rd)
{
	static const struct { const char *name, *unit; enum flame_value_kind kind; } types[NR_TYPES] = {
		[TYPE_CPU] = { "cpu", "us", FLAME_VALUE_ON_CPU },
		[TYPE_WALL] = { "wall", "us", FLAME_VALUE_WALL },
		[TYPE_MEMORY] = { "memory", "bytes", FLAME_VALUE_ALLOCATION },
		[TYPE_FREED] = { "freed", "bytes", FLAME_VALUE_ALLOCATION },
	};
	struct state *st = rd->state;

	for (size_t i = 0; i < NR_TYPES; i++) {
		struct flame_type_info info = { .kind = types[i].kind };

		info.name = flame_intern(rd->profile, types[i].name, strlen(types[i].name));
		info.unit = flame_intern(rd->profile, types[i].unit, strlen(types[i].unit));
		st->types[i] = flame_type_row(rd->profile, &info);
	}
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->frames.max_bytes = st->stacks.max_bytes = CACHE_BYTES;
	make_types(rd);
	if (st->mojo)
		err = austin_mojo_read(rd, read_line);
	while (!st->mojo && !err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	return err;
}

/* Metadata stands at the start, where only the first slice would see it, and at the end. */
static int prepare(struct flame_reader *rd, struct flame_span head)
{
	struct state *st = rd->state;
	struct flame_span line;

	st->mojo = austin_is_mojo(head);
	while (span_line(&head, &line) && span_starts(line, "#"))
		read_metadata(st, span_trim_end(line));
	if (rd->options->event && !strcmp(rd->options->event, "memory") && !st->mode)
		st->mode = MEMORY;
	st->nr_bad = st->nr_late = 0;
	return 0;
}

static size_t split(struct flame_reader *rd, struct flame_span text)
{
	const struct state *st = rd->state;
	size_t at = st->mojo ? text.len : span_find(text, "\n");

	return at < text.len ? at + 1 : at;
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	st->nr_bad += slice->nr_bad;
	st->nr_late += slice->nr_late;
}

static bool goes_on(const void *prepared, const void *slice)
{
	return ((const struct state *)prepared)->mode == ((const struct state *)slice)->mode;
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	const struct state *st = rd->state;

	if (st->nr_bad) {
		flame_lost_add(*profile, st->nr_bad);
		flame_note(rd, "austin could not take %llu of its samples", (unsigned long long)st->nr_bad);
	}
	if (st->nr_late)
		flame_note(rd, "%llu samples took austin longer than its interval: it was too short for this program",
			   (unsigned long long)st->nr_late);
	return 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_namer_release(&st->namer);
	flame_cache_release(&st->frames);
	flame_cache_release(&st->stacks);
}

static int probe(struct flame_span head)
{
	const struct state st = { 0 };
	struct flame_span line;
	struct metrics m;
	int good = 0, bad = 0;

	if (span_starts(head, "# austin: ") || austin_is_mojo(head))
		return FLAME_SCORE_MAGIC;
	while (good + bad < PROBE_LINES && head.len) {
		bool whole = span_find(head, "\n") < head.len;

		span_line(&head, &line);
		line = span_trim_end(line);
		if (!line.len || line.s[0] == '#' || (!whole && good + bad))
			continue;
		if (span_starts(line, "Bad sample ") ||
		    ((is_old(line) || is_new(line)) && read_metrics(&st, &line, is_old(line), &m)))
			good++;
		else
			bad++;
	}
	return good > bad ? FLAME_SCORE_RECORD + 20 : FLAME_SCORE_NOT;
}

const struct flame_converter flame_austin_converter = {
	.name = "austin",
	.summary = "text and binary files (MOJO) of austin",
	.choices = FLAME_CHOICE_SIMPLE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.prepare = prepare,
	.read = read,
	.release = release,
	.split = split,
	.join = join,
	.goes_on = goes_on,
	.finish = finish,
};

/* SPDX-License-Identifier: MIT */
/*
 * xdebug - function traces of PHP's Xdebug for machines (xdebug.mode=trace, xdebug.trace_format=1), tabs between
 * columns:
 *
 *     Version: 3.1.0
 *     File format: 4
 *     TRACE START [2023-01-01 12:00:00.000000]
 *     1	0	0	0.000123	384000	{main}	1		/a.php	0	0
 *     2	1	0	0.000200	384100	work	1		/a.php	7	0
 *     2	1	1	0.000900	384100
 *     1	0	1	0.001000	384000
 *     			0.001100	384000
 *     TRACE END   [2023-01-01 12:00:00.001100]
 *
 * level, number, 0 enters or 1 leaves, seconds, memory, name, user's or PHP's own, file that is included, file
 * and line of the call. Events: time (ns between one line and the next, on the stack that was there), calls.
 * Seen: format 4 as it is documented. Not read: memory, return values (R), assignments (A), the layouts for
 * people and browsers.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/number.h"
#include "../core/span.h"
#include "../core/table.h"

#define XDEBUG_DEPTH 1000000	/* nested calls */

enum { COLUMN_LEVEL, COLUMN_NUMBER, COLUMN_KIND, COLUMN_TIME, COLUMN_MEMORY, COLUMN_NAME, COLUMN_USER, COLUMN_INCLUDED,
       COLUMN_FILE, COLUMN_LINE, NR_COLUMNS };

struct call {
	flame_stack stack;
	int64_t level;
};

struct state {
	bool started;
	struct call *calls;	/* open */
	size_t nr, room;
	bool has_time;
	int64_t time;		/* ns */
	flame_type by_time, by_calls;
	struct flame_namer namer;
};

static flame_stack top(const struct state *st)
{
	return st->nr ? st->calls[st->nr - 1].stack : 0;
}

/* "0.001234" in ns. */
static bool parse_time(struct flame_span s, int64_t *ns)
{
	struct flame_number n;

	if (flame_number_parse(span_trim(s), &n) != FLAME_NUMBER_OK || n.value < 0)
		return false;
	for (; n.scale > 9; n.scale--)
		n.value /= 10;
	for (; n.scale < 9; n.scale++) {
		if (__builtin_mul_overflow(n.value, (int64_t)10, &n.value))
			return false;
	}
	*ns = n.value;
	return true;
}

/* The time since the line before belongs to what ran then. */
static int pass_time(struct flame_reader *rd, int64_t ns)
{
	struct state *st = rd->state;
	struct flame_sample s = { .stack = top(st), .type = st->by_time, .value = ns - st->time, .nr_samples = 1 };
	bool counts = st->has_time && s.stack && s.value > 0;

	st->has_time = true;
	st->time = ns;
	return counts ? flame_sample_add(rd->profile, &s) : 0;
}

static flame_frame make_frame(struct flame_reader *rd, const struct flame_span *cells)
{
	struct state *st = rd->state;
	struct flame_span name = cells[COLUMN_NAME], included = cells[COLUMN_INCLUDED], file = cells[COLUMN_FILE];
	struct flame_frame_info info = { .file = flame_intern(rd->profile, file.s, file.len) };
	char *buf = flame_namer_room(&st->namer, name.len + included.len + 2), *to = buf;
	int64_t line;

	if (!buf)
		return 0;
	if (span_is_int(cells[COLUMN_LINE], &line) && line <= UINT32_MAX)
		info.line = (uint32_t)line;
	to = mempcpy(to, name.s, name.len);
	/* "require_once /a/b.php". */
	if (included.len && span_starts(included, "/")) {
		*to++ = ' ';
		to = mempcpy(to, included.s, included.len);
	}
	return flame_namer_frame(&st->namer, rd, (struct flame_span){ buf, (size_t)(to - buf) }, &info);
}

static int enter(struct flame_reader *rd, const struct flame_span *cells, int64_t level)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = st->by_calls, .value = 1, .nr_samples = 1 };

	/* What was not left, the script left by an exception. */
	while (st->nr && st->calls[st->nr - 1].level >= level)
		st->nr--;
	if (st->nr >= XDEBUG_DEPTH)
		return flame_fail(rd, FLAME_EOVERFLOW, "more than %d nested calls (XDEBUG_DEPTH)", XDEBUG_DEPTH);
	if (!array_reserve((void **)&st->calls, &st->room, st->nr + 1, sizeof(*st->calls)))
		return FLAME_ENOMEM;
	s.stack = flame_stack_push(rd->profile, top(st), make_frame(rd, cells));
	st->calls[st->nr++] = (struct call){ s.stack, level };
	return flame_sample_add(rd->profile, &s);
}

static int read_record(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span cells[NR_COLUMNS], rest = line;
	int64_t level, ns;
	size_t nr = 0;
	int err;

	for (size_t i = 0; i < NR_COLUMNS; i++)
		cells[i] = (struct flame_span){ "", 0 };
	while (nr < NR_COLUMNS && span_next(&rest, '\t', &cells[nr]))
		nr++;
	if (span_equals(cells[COLUMN_KIND], "R") || span_equals(cells[COLUMN_KIND], "A"))
		return 0;
	if (nr <= COLUMN_TIME || !parse_time(cells[COLUMN_TIME], &ns))
		return flame_skip(rd, "no time in a record");
	err = pass_time(rd, ns);
	if (err || !cells[COLUMN_KIND].len)
		return err;
	if (!span_is_int(cells[COLUMN_LEVEL], &level))
		return flame_skip(rd, "no level in a record");
	if (span_equals(cells[COLUMN_KIND], "0"))
		return nr > COLUMN_NAME ? enter(rd, cells, level) : flame_skip(rd, "no function in a record");
	while (st->nr && st->calls[st->nr - 1].level >= level)
		st->nr--;
	return 0;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	if (span_starts(line, "TRACE START")) {
		st->started = true;
		st->has_time = false;
		st->nr = 0;
	} else if (span_starts(line, "TRACE END")) {
		st->started = false;
	} else if (st->started && line.len) {
		return read_record(rd, line);
	}
	return 0;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->by_time = flame_namer_type(rd->profile, "time", "ns", FLAME_VALUE_WALL);
	st->by_calls = flame_namer_type(rd->profile, "calls", "count", FLAME_VALUE_OTHER);
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err && st->started)
		flame_damaged(rd, "the trace has no end (TRACE END); what came before is used");
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->calls);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	bool format = span_find(span_to(head, 256), "File format: ") < 256 && span_starts(head, "Version: ");

	if (span_starts(head, "TRACE START ["))
		return FLAME_SCORE_RECORD;
	return format && span_find(head, "\nTRACE START [") < head.len ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

const struct flame_converter flame_xdebug_converter = {
	.name = "xdebug",
	.summary = "function traces of PHP's Xdebug (trace_format=1)",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

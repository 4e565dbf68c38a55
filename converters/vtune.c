/* SPDX-License-Identifier: MIT */
/*
 * vtune - `vtune -report top-down -call-stack-mode all -column="CPU Time:Self","Module" -report-out result.csv
 * -filter "Function Stack" -format csv -csv-delimiter comma` and the like:
 *
 *     Function Stack,CPU Time:Self,Module
 *     Total,0.0,[Unknown]
 *      RtlUserThreadStart,0.0,ntdll.dll
 *       "std::rt::lang_start<A, B>",0.016612,demo.exe
 *
 * Blanks before the name tell the depth. Each column whose name ends in ":Self" is an event. Seconds are read as
 * milliseconds, rounded in each row, as other readers of the format do; the event "NAME (ns)" has them exact.
 * Frames are module`function. Commas, tabs and semicolons may separate. Not read: columns of totals.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/number.h"
#include "../core/span.h"
#include "../core/table.h"

#define VTUNE_COLUMNS 256

struct column {
	flame_type type, exact;	/* 0: not of a value */
	bool time;
};

struct state {
	bool has_header;
	char separator;
	size_t function, module, nr_columns;
	struct column columns[VTUNE_COLUMNS];
	struct flame_calltree tree;
	struct flame_namer namer;
	char *line;		/* cells without quotes */
	size_t room_line;
	struct flame_span cells[VTUNE_COLUMNS];
};

/* Return: how many cells; they lie in st->line. */
static size_t cut_cells(struct state *st, struct flame_span line)
{
	size_t nr = 0, used = 0;

	if (!array_reserve((void **)&st->line, &st->room_line, line.len + 1, 1))
		return 0;
	while (nr < VTUNE_COLUMNS && span_cell(&line, st->separator, st->line + used, &st->cells[nr]))
		used += st->cells[nr++].len;
	return nr;
}

static flame_type make_type(struct flame_reader *rd, struct flame_span name, const char *suffix, const char *unit,
			    enum flame_value_kind kind)
{
	char text[160];
	int len = snprintf(text, sizeof(text), "%.*s%s", (int)(name.len < 128 ? name.len : 128), name.s, suffix);
	struct flame_type_info info = {
		.name = flame_intern(rd->profile, text, (size_t)len),
		.unit = flame_intern(rd->profile, unit, strlen(unit)),
		.kind = kind,
	};

	return flame_type_row(rd->profile, &info);
}

static enum flame_value_kind kind_of(struct flame_span name)
{
	if (span_find(name, "Wait Time") < name.len)
		return FLAME_VALUE_OFF_CPU;
	return span_find(name, "CPU Time") < name.len ? FLAME_VALUE_ON_CPU : FLAME_VALUE_OTHER;
}

static void set_value_column(struct flame_reader *rd, struct column *c, struct flame_span name)
{
	enum flame_value_kind kind;

	name = span_trim(span_to(name, span_find(name, ":Self")));
	kind = kind_of(name);
	c->time = span_find(name, "Time") < name.len;
	c->type = make_type(rd, name, "", c->time ? "ms" : "count", kind);
	if (c->time)
		c->exact = make_type(rd, name, " (ns)", "ns", kind);
}

static char find_separator(struct flame_span line)
{
	static const char separators[] = ",\t;|";
	size_t at = span_find(line, "Function Stack") + strlen("Function Stack");

	at += at < line.len && line.s[at] == '"';
	return at < line.len && strchr(separators, line.s[at]) ? line.s[at] : ',';
}

static int read_header(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	bool has_value = false;

	if (span_find(line, "Function Stack") == line.len)
		return flame_skip(rd, "a line before the one that names the columns");
	st->separator = find_separator(line);
	st->nr_columns = cut_cells(st, line);
	st->module = SIZE_MAX;
	for (size_t i = 0; i < st->nr_columns; i++) {
		struct flame_span name = span_trim(st->cells[i]);

		if (span_equals(name, "Function Stack"))
			st->function = i;
		else if (span_equals(name, "Module"))
			st->module = i;
		else if (span_ends(name, ":Self") || span_find(name, ":Self ") < name.len)
			set_value_column(rd, &st->columns[i], name);
		has_value |= st->columns[i].type != 0;
	}
	st->has_header = true;
	if (!has_value)
		return flame_fail(rd, FLAME_EFORMAT, "no column ends in \":Self\": ask VTune for CPU Time:Self");
	return 0;
}

/* Return: @n times 10^@digits, rounded half up; negative where it is no width. */
static int64_t scaled(struct flame_number n, uint32_t digits)
{
	__int128 v = n.value;

	for (; digits > n.scale; digits--)
		v *= 10;
	if (v > INT64_MAX || v < 0)
		return -1;
	for (; n.scale > digits + 1; n.scale--)
		v /= 10;
	return (int64_t)(n.scale > digits ? (v + 5) / 10 : v);
}

static int add_value(struct flame_reader *rd, flame_type type, int64_t value)
{
	struct state *st = rd->state;
	struct flame_sample s = {
		.stack = flame_calltree_stack(&st->tree), .type = type, .value = value, .nr_samples = 1,
	};

	return value ? flame_sample_add(rd->profile, &s) : 0;
}

static int read_value(struct flame_reader *rd, const struct column *c, struct flame_span cell)
{
	struct flame_number n;
	int64_t value, exact = 0;
	int err;

	cell = span_trim(cell);
	if (span_ends(cell, "s"))
		cell.len--;
	if (!cell.len)
		return 0;
	if (flame_number_parse(cell, &n) != FLAME_NUMBER_OK || n.value < 0)
		return flame_skip(rd, "no number in a column of values");
	value = scaled(n, c->time ? 3 : 0);
	if (c->time)
		exact = scaled(n, 9);
	if (value < 0 || exact < 0)
		return flame_skip(rd, "a value that does not fit 64 bits");
	err = add_value(rd, c->type, value);
	return err || !c->time ? err : add_value(rd, c->exact, exact);
}

static int read_row(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	size_t nr = cut_cells(st, line);
	struct flame_span cell, name, module = { "", 0 };
	struct flame_frame_info info = { 0 };
	flame_frame frame;
	int err;

	if (nr <= st->function)
		return flame_skip(rd, "a row without a function");
	cell = st->cells[st->function];
	name = span_trim(cell);
	if (st->module < nr)
		module = span_trim(st->cells[st->module]);
	frame = flame_namer_member(&st->namer, rd, module, '`', name, &info);
	if (!frame)
		return flame_profile_error(rd->profile);
	err = flame_calltree_enter(&st->tree, (uint64_t)(name.s - cell.s), frame, NULL);
	for (size_t i = 0; !err && i < nr; i++) {
		if (st->columns[i].type)
			err = read_value(rd, &st->columns[i], st->cells[i]);
	}
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->tree.profile = rd->profile;
	while (!err && flame_line(rd->input, &line)) {
		if (span_trim(line).len)
			err = st->has_header ? read_row(rd, line) : read_header(rd, line);
	}
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->line);
	flame_calltree_release(&st->tree);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	struct flame_span line;

	while (span_line(&head, &line)) {
		if (span_find(line, "Function Stack") < line.len && span_find(line, ":Self") < line.len)
			return FLAME_SCORE_MAGIC;
		if (span_trim(line).len)
			return FLAME_SCORE_NOT;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_vtune_converter = {
	.name = "vtune",
	.summary = "top-down reports of Intel VTune (CSV)",
	.choices = FLAME_CHOICE_SIMPLE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

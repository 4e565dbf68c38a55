/* SPDX-License-Identifier: MIT */
/*
 * instruments - the call tree of Apple's Instruments as "Edit > Deep Copy" puts it on the clipboard; tabs
 * between columns:
 *
 *     Weight	Self Weight		Symbol Name
 *     4.27 s  100.0%	0 s	 	start
 *     4.27 s  100.0%	0.69 s	 	 main
 *     713.00 ms  16.6%	713.00 ms	 	  alpha()
 *
 * Seen, by the names of their columns: "Running Time" and "Self (ms)" of Instruments 7 and 8, "Weight" and "Self
 * Weight" of 9 to 15, "Symbol Names" of 16, "Bytes Used" and "Count" of allocations. The columns may stand in
 * any order. The depth is the number of blanks before the name; rows of processes and threads are frames as all
 * others. Not read: percentages, and inverted call trees, which nothing tells from others.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/number.h"
#include "../core/span.h"
#include "../core/tidy.h"

enum dimension { DIM_NONE, DIM_TIME, DIM_BYTES, DIM_CYCLES, DIM_COUNT };

static const struct {
	const char *name, *unit;
	enum flame_value_kind kind;
} dimensions[] = {
	[DIM_NONE] = { "", "", FLAME_VALUE_OTHER },
	[DIM_TIME] = { "time", "ns", FLAME_VALUE_ON_CPU },
	[DIM_BYTES] = { "bytes", "bytes", FLAME_VALUE_ALLOCATION },
	[DIM_CYCLES] = { "cycles", "cycles", FLAME_VALUE_ON_CPU },
	[DIM_COUNT] = { "count", "count", FLAME_VALUE_OTHER },
};

static const struct {
	const char *name;
	enum dimension dimension;
	int64_t factor;
} units[] = {
	{ "", DIM_COUNT, 1 },
	{ "ns", DIM_TIME, 1 },
	{ "us", DIM_TIME, 1000 },
	{ "\xc2\xb5s", DIM_TIME, 1000 },	/* micro sign */
	{ "\xce\xbcs", DIM_TIME, 1000 },	/* Greek mu */
	{ "ms", DIM_TIME, 1000000 },
	{ "s", DIM_TIME, 1000000000 },
	{ "min", DIM_TIME, 60000000000 },
	{ "h", DIM_TIME, 3600000000000 },
	{ "hr", DIM_TIME, 3600000000000 },
	{ "B", DIM_BYTES, 1 },
	{ "byte", DIM_BYTES, 1 },
	{ "bytes", DIM_BYTES, 1 },
	{ "Byte", DIM_BYTES, 1 },
	{ "Bytes", DIM_BYTES, 1 },
	{ "KB", DIM_BYTES, 1 << 10 },
	{ "MB", DIM_BYTES, 1 << 20 },
	{ "GB", DIM_BYTES, 1 << 30 },
	{ "TB", DIM_BYTES, (int64_t)1 << 40 },
	{ "KiB", DIM_BYTES, 1 << 10 },
	{ "MiB", DIM_BYTES, 1 << 20 },
	{ "GiB", DIM_BYTES, 1 << 30 },
	{ "TiB", DIM_BYTES, (int64_t)1 << 40 },
	{ "c", DIM_CYCLES, 1 },
	{ "cycles", DIM_CYCLES, 1 },
	{ "Kc", DIM_CYCLES, 1000 },
	{ "Mc", DIM_CYCLES, 1000000 },
	{ "Gc", DIM_CYCLES, 1000000000 },
	{ "Tc", DIM_CYCLES, 1000000000000 },
};

/* What a column holds, by its name in the header; of several totals the first one here is used. */
enum role { ROLE_NONE, ROLE_TOTAL, ROLE_SELF, ROLE_COUNT, ROLE_SYMBOL, ROLE_MODULE, ROLE_FILE };

static const struct {
	const char *name;
	enum role role;
} columns[] = {
	{ "Weight", ROLE_TOTAL },
	{ "Running Time", ROLE_TOTAL },
	{ "Bytes Used", ROLE_TOTAL },
	{ "Cycles", ROLE_TOTAL },
	{ "Samples", ROLE_TOTAL },
	{ "Self Weight", ROLE_SELF },
	{ "Self Time", ROLE_SELF },
	{ "Self", ROLE_SELF },
	{ "Count", ROLE_COUNT },
	{ "Symbol Name", ROLE_SYMBOL },
	{ "Symbol Names", ROLE_SYMBOL },
	{ "Symbol", ROLE_SYMBOL },
	{ "Library", ROLE_MODULE },
	{ "Binary", ROLE_MODULE },
	{ "Source Path", ROLE_FILE },
};

#define MAX_COLUMNS 32
#define NO_COLUMN SIZE_MAX

struct header {
	size_t total, self, count, symbol, module, file;
	char self_unit[8];	/* of "Self (ms)", whose numbers have none; else "" */
};

struct state {
	bool has_header;
	struct header header;
	enum dimension dimension;	/* of the first row's total */
	struct flame_calltree totals, counts;
	struct flame_namer namer;
};

/* A number with its unit, in the smallest one: ns, bytes. */
struct amount {
	enum dimension dimension;
	int64_t value;
	int64_t slack;		/* half of the last printed place */
};

static size_t *column_of(struct header *h, enum role role)
{
	switch (role) {
	case ROLE_TOTAL: return &h->total;
	case ROLE_SELF: return &h->self;
	case ROLE_COUNT: return &h->count;
	case ROLE_SYMBOL: return &h->symbol;
	case ROLE_MODULE: return &h->module;
	case ROLE_FILE: return &h->file;
	default: return NULL;
	}
}

/* "Self (ms)": the unit of all numbers of the column. */
static struct flame_span cut_unit(struct flame_span name, struct header *h)
{
	size_t open = span_find(name, " (");
	struct flame_span unit = span_from(name, open + 2);

	if (!unit.len || unit.s[unit.len - 1] != ')' || unit.len > sizeof(h->self_unit))
		return name;
	if (span_starts(name, "Self")) {
		memcpy(h->self_unit, unit.s, unit.len - 1);
		h->self_unit[unit.len - 1] = '\0';
	}
	return span_to(name, open);
}

static void set_column(struct header *h, struct flame_span name, size_t nr)
{
	name = cut_unit(span_trim(name), h);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		size_t *to = span_equals(name, columns[i].name) ? column_of(h, columns[i].role) : NULL;

		if (to && *to == NO_COLUMN)
			*to = nr;
	}
}

/* Return: true where @line names the columns that are needed. */
static bool parse_header(struct flame_span line, struct header *h)
{
	struct flame_span cell;

	*h = (struct header){ NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN, "" };
	for (size_t i = 0; i < MAX_COLUMNS && span_next(&line, '\t', &cell); i++)
		set_column(h, cell, i);
	if (h->total == NO_COLUMN) {
		h->total = h->count;
		h->count = NO_COLUMN;
	}
	return h->symbol != NO_COLUMN && h->total != NO_COLUMN;
}

/*
 * The digits at the start of @s without separators of thousands, and a point in place of the mark of fractions,
 * which is a comma in some languages. Return: how many bytes of @s; @number gets the text.
 */
static size_t clean_number(struct flame_span s, char *number, size_t room, size_t *len)
{
	size_t end = 0, point = SIZE_MAX, nr_marks = 0;

	while (end < s.len && ((s.s[end] >= '0' && s.s[end] <= '9') || s.s[end] == '.' || s.s[end] == ',')) {
		if (s.s[end] == '.' || s.s[end] == ',') {
			point = end;
			nr_marks++;
		}
		end++;
	}
	/* One mark and three digits behind it: 1,234 is a thousand, 1.234 is not. */
	if (point != SIZE_MAX && s.s[point] == ',' && (end - point == 4 || nr_marks > 1))
		point = SIZE_MAX;
	*len = 0;
	for (size_t i = 0; i < end && *len < room; i++) {
		if (i == point)
			number[(*len)++] = '.';
		else if (s.s[i] != '.' && s.s[i] != ',')
			number[(*len)++] = s.s[i];
	}
	return end;
}

/* Digits behind the point, as printed: flame_number drops zeros, which tell of the number's precision. */
static uint32_t printed_places(const char *number, size_t len)
{
	const char *point = memchr(number, '.', len);

	return point ? (uint32_t)(number + len - point - 1) : 0;
}

static int64_t power_of_ten(uint32_t n)
{
	int64_t p = 1;

	while (n-- && p <= INT64_MAX / 10)
		p *= 10;
	return p;
}

/* Return: true with @a scaled to the smallest unit; false where @number does not fit. */
static bool scale_amount(struct amount *a, const char *number, size_t len, int64_t factor)
{
	struct flame_number n;
	__int128 value;
	int64_t divisor;

	if (flame_number_parse((struct flame_span){ number, len }, &n) != FLAME_NUMBER_OK)
		return false;
	divisor = power_of_ten(n.scale);
	value = ((__int128)n.value * factor + divisor / 2) / divisor;
	if (value > INT64_MAX)
		return false;
	a->value = (int64_t)value;
	/* A zero is none: what is less than a unit is printed in a smaller one. */
	a->slack = !n.value ? 0 : factor / power_of_ten(printed_places(number, len)) / 2 + 1;
	return true;
}

/* "713.00 ms  16.6%", "4273.0ms   99.9%", "1.5 KB", "12". */
static bool parse_amount(struct flame_span cell, const char *default_unit, struct amount *a)
{
	char number[FLAME_NUMBER_MAX + 8];
	struct flame_span unit, rest;
	size_t len, used;

	cell = span_trim(cell);
	used = clean_number(cell, number, sizeof(number), &len);
	rest = span_trim_start(span_from(cell, used));
	if (!used || !len || !span_word(&rest, &unit) || (unit.s[0] >= '0' && unit.s[0] <= '9'))
		unit = (struct flame_span){ default_unit, strlen(default_unit) };
	for (size_t i = 0; used && i < sizeof(units) / sizeof(*units); i++) {
		if (!span_equals(unit, units[i].name))
			continue;
		a->dimension = units[i].dimension;
		return scale_amount(a, number, len, units[i].factor);
	}
	return false;
}

static flame_type make_type(struct flame_profile *p, enum dimension d)
{
	struct flame_type_info info = {
		.name = flame_intern(p, dimensions[d].name, strlen(dimensions[d].name)),
		.unit = flame_intern(p, dimensions[d].unit, strlen(dimensions[d].unit)),
		.kind = dimensions[d].kind,
	};

	return flame_type_row(p, &info);
}

/* The first row tells what is measured. */
static void start(struct flame_reader *rd, enum dimension d)
{
	struct state *st = rd->state;

	st->dimension = d;
	st->totals.profile = st->counts.profile = rd->profile;
	st->totals.type = make_type(rd->profile, d);
	st->totals.counts = d == DIM_COUNT;
	if (st->header.count == NO_COLUMN || d == DIM_COUNT)
		return;
	st->counts.type = make_type(rd->profile, DIM_COUNT);
	st->counts.counts = true;
}

static struct flame_span cell_at(const struct flame_span *cells, size_t nr, size_t at)
{
	return at < nr ? cells[at] : (struct flame_span){ "", 0 };
}

static flame_frame make_frame(struct flame_reader *rd, struct flame_span name, struct flame_span module,
			      struct flame_span file)
{
	struct state *st = rd->state;
	char *buf = flame_namer_room(&st->namer, name.len + 1);
	struct flame_frame_info info = {
		.module = flame_intern(rd->profile, module.s, module.len),
		.file = flame_intern(rd->profile, file.s, file.len),
	};

	if (!buf)
		return 0;
	if (!rd->options->raw_names)
		name = flame_tidy_half_rust(name, buf);
	return flame_namer_frame(&st->namer, rd, name, &info);
}

static int enter_count(struct flame_reader *rd, struct flame_span cell, uint64_t depth, flame_frame frame)
{
	struct state *st = rd->state;
	struct amount a;

	if (!st->counts.type)
		return 0;
	if (!parse_amount(cell, "", &a) || a.dimension != DIM_COUNT)
		return flame_skip(rd, "no number in the column Count");
	return flame_calltree_enter(&st->counts, depth, frame,
				    &(struct flame_calltree_value){ .total = a.value, .self = -1 });
}

static int read_row(struct flame_reader *rd, const struct flame_span *cells, size_t nr)
{
	struct state *st = rd->state;
	const struct header *h = &st->header;
	/* In some layouts the rows have one empty cell more or less than the header. */
	struct flame_span symbol = cell_at(cells, nr, h->symbol < nr ? h->symbol : nr - 1), name = span_trim(symbol);
	struct flame_calltree_value value = { .self = -1 };
	struct amount total, self;
	uint64_t depth = (uint64_t)(name.s - symbol.s);
	flame_frame frame;
	int err;

	if (!name.len || !parse_amount(cell_at(cells, nr, h->total), "", &total))
		return flame_skip(rd, "no value and symbol in a row");
	if (!st->dimension)
		start(rd, total.dimension);
	/* A total of "0 s" among counts of bytes and the like. */
	if (total.value && total.dimension != st->dimension)
		return flame_skip(rd, "a value in another unit than the first row's");
	value.total = total.value;
	value.slack = total.slack;
	if (parse_amount(cell_at(cells, nr, h->self), h->self_unit, &self) &&
	    (self.dimension == st->dimension || !self.value)) {
		value.self = self.value;
		value.slack += self.slack;
	}
	frame = make_frame(rd, name, span_trim(cell_at(cells, nr, h->module)), span_trim(cell_at(cells, nr, h->file)));
	if (!frame)
		return flame_profile_error(rd->profile);
	err = flame_calltree_enter(&st->totals, depth, frame, &value);
	return err ? err : enter_count(rd, cell_at(cells, nr, h->count), depth, frame);
}

static int end_trees(struct state *st)
{
	int err = flame_calltree_end(&st->totals);

	return err ? err : flame_calltree_end(&st->counts);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span cells[MAX_COLUMNS];
	struct header h;
	size_t nr = 0;
	int err;

	if (!span_trim(line).len)
		return 0;
	if (parse_header(line, &h)) {
		err = end_trees(st);
		st->header = h;
		st->has_header = true;
		return err;
	}
	if (!st->has_header)
		return flame_skip(rd, "a line before the one that names the columns");
	while (nr < MAX_COLUMNS && span_next(&line, '\t', &cells[nr]))
		nr++;
	return read_row(rd, cells, nr);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err)
		err = end_trees(st);
	if (st->totals.nr_short)
		flame_note(rd, "rows with less than the rows below them: %llu; they count as 0 themselves",
			   (unsigned long long)st->totals.nr_short);
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_calltree_release(&st->totals);
	flame_calltree_release(&st->counts);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	struct flame_span line;
	struct header h;

	while (span_line(&head, &line)) {
		if (span_trim(line).len)
			return parse_header(line, &h) ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_instruments_converter = {
	.name = "instruments",
	.summary = "the call tree of Apple's Instruments, by Deep Copy",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

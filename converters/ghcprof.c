/* SPDX-License-Identifier: MIT */
/*
 * ghcprof - the cost centre tree of GHC's +RTS -p or -P, PROGRAM.prof:
 *
 *     COST CENTRE  MODULE  SRC         no.  entries  %time %alloc   %time %alloc  ticks     bytes
 *
 *     MAIN         MAIN    <built-in>  337        0    0.0    0.0   100.0  100.0      0       728
 *      main        Main    a.hs:1:1-9  675        0   30.4    9.4   100.0   99.8      7   5617272
 *
 * Blanks tell the depth. The columns are told apart from the right, so that neither their widths nor names in
 * other alphabets matter. Events: time and alloc, which are the individual percentages in tenths; ticks and
 * bytes of -P, which are exact. Seen: GHC 7 (no SRC) to 9. Not read: the list of hot cost centres before the
 * tree, and the JSON of -pj.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/number.h"
#include "../core/span.h"

#define NR_VALUES 4

struct state {
	bool in_tree;
	bool has_exact;		/* -P: ticks and bytes at the end */
	flame_type types[NR_VALUES];
	struct flame_calltree tree;
	struct flame_namer namer;
};

static const struct {
	const char *name, *unit;
	enum flame_value_kind kind;
} values[NR_VALUES] = {
	{ "time", "permille", FLAME_VALUE_ON_CPU },
	{ "ticks", "count", FLAME_VALUE_ON_CPU },
	{ "alloc", "permille", FLAME_VALUE_ALLOCATION },
	{ "bytes", "bytes", FLAME_VALUE_ALLOCATION },
};

static bool is_header(struct flame_span line)
{
	return span_starts(line, "COST CENTRE") && span_find(line, "entries") < line.len;
}

static int start_tree(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	st->in_tree = true;
	st->has_exact = span_find(line, " bytes") < line.len;
	flame_calltree_release(&st->tree);
	for (size_t i = 0; i < NR_VALUES; i++) {
		struct flame_type_info info = {
			.name = flame_intern(rd->profile, values[i].name, strlen(values[i].name)),
			.unit = flame_intern(rd->profile, values[i].unit, strlen(values[i].unit)),
			.kind = values[i].kind,
		};

		st->types[i] = flame_type_row(rd->profile, &info);
	}
	return 0;
}

static bool parse_tenths(struct flame_span word, int64_t *value)
{
	struct flame_number n;

	if (flame_number_parse(word, &n) != FLAME_NUMBER_OK || n.scale > 1 || n.value < 0)
		return false;
	*value = n.value;
	return n.scale == 1 || !__builtin_mul_overflow(n.value, (int64_t)10, value);
}

/* Numbers at the end of @line, in the order of values[]. Return: false where there are too few. */
static bool parse_values(const struct state *st, struct flame_span *line, int64_t *v)
{
	struct flame_span word;
	int64_t ignored;

	if (st->has_exact && (!span_is_int(span_last_word(line), &v[3]) || !span_is_int(span_last_word(line), &v[1])))
		return false;
	for (int i = 0; i < 2; i++) {
		if (!parse_tenths(span_last_word(line), &ignored))
			return false;
	}
	if (!parse_tenths(span_last_word(line), &v[2]) || !parse_tenths(span_last_word(line), &v[0]))
		return false;
	/* Entries and number: two, which must be there, or a name would be cut. */
	for (int i = 0; i < 2; i++) {
		word = span_last_word(line);
		if (!span_is_int(word, &ignored))
			return false;
	}
	return true;
}

static int read_node(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span rest = line, name, module = { "", 0 };
	struct flame_frame_info info = { 0 };
	int64_t v[NR_VALUES] = { 0 };
	flame_frame frame;
	int err;

	if (!parse_values(st, &rest, v) || !span_word(&rest, &name))
		return flame_skip(rd, "too few numbers in a line of the cost centre tree");
	span_word(&rest, &module);
	rest = span_trim(rest);
	info.file = flame_intern(rd->profile, rest.s, rest.len);
	frame = flame_namer_member(&st->namer, rd, module, '.', name, &info);
	if (!frame)
		return flame_profile_error(rd->profile);
	err = flame_calltree_enter(&st->tree, (uint64_t)(name.s - line.s), frame, NULL);
	for (size_t i = 0; !err && i < NR_VALUES; i++) {
		struct flame_sample s = {
			.stack = flame_calltree_stack(&st->tree), .type = st->types[i], .value = v[i],
			.nr_samples = i == 1 && v[i] > 0 ? (uint64_t)v[i] : 1,
		};

		if (v[i])
			err = flame_sample_add(rd->profile, &s);
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
		if (is_header(line))
			err = start_tree(rd, line);
		else if (st->in_tree && span_trim(line).len)
			err = read_node(rd, line);
	}
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_calltree_release(&st->tree);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	struct flame_span line;

	if (span_find(head, "Profiling Report") < head.len && span_find(head, "COST CENTRE") < head.len)
		return FLAME_SCORE_MAGIC;
	while (span_line(&head, &line)) {
		if (is_header(line))
			return FLAME_SCORE_RECORD;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_ghcprof_converter = {
	.name = "ghcprof",
	.summary = "cost centre trees of GHC's profiler (.prof)",
	.choices = FLAME_CHOICE_SIMPLE,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

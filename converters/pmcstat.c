/* SPDX-License-Identifier: MIT */
/*
 * pmcstat - FreeBSD's `pmcstat -R FILE -G OUT`, call graphs leaf first:
 *
 *     @ inst_retired.any [35705 samples]
 *
 *     20.86%  [7447]     zfs_lz4_compress @ /boot/kernel/zfs.ko
 *      100.0%  [7447]      zio_compress_data
 *       100.0%  [7447]       zio_write_compress
 *
 * Blanks tell the depth, a deeper line calls the one above it. pmcstat leaves out callers of few samples: what a
 * function has more than its printed callers has no known root. As other readers do, that is not part of the
 * event; it is an event of its own, NAME/rest. A module is printed where it differs from the one above. Seen:
 * FreeBSD 13.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

struct state {
	struct flame_calltree tree;
	struct flame_namer namer;
	flame_string module;	/* of the line above */
};

struct line {
	size_t indent;
	int64_t count;
	struct flame_span name, module;
};

/* " 100.0%  [7447]      name @ module". */
static bool parse(struct flame_span text, struct line *l)
{
	struct flame_span rest = span_trim_start(text), word;
	size_t digits, at;

	l->indent = (size_t)(rest.s - text.s);
	if (!span_word(&rest, &word) || !span_ends(word, "%"))
		return false;
	rest = span_trim_start(rest);
	if (!span_starts(rest, "["))
		return false;
	rest = span_from(rest, 1);
	digits = span_digits(rest, &l->count);
	if (!digits || digits == rest.len || rest.s[digits] != ']')
		return false;
	rest = span_trim(span_from(rest, digits + 1));
	at = span_find(rest, " @ ");
	l->name = span_to(rest, at);
	l->module = span_from(rest, at + 3);
	return rest.len > 0;
}

static flame_type make_type(struct flame_profile *p, struct flame_span event, const char *suffix)
{
	char name[128];
	int len = snprintf(name, sizeof(name), "%.*s%s", (int)(event.len < 100 ? event.len : 100), event.s, suffix);
	struct flame_type_info info = {
		.name = flame_intern(p, name, (size_t)len),
		.unit = flame_intern(p, "count", 5),
		.kind = FLAME_VALUE_ON_CPU,
	};

	return flame_type_row(p, &info);
}

/* "@ inst_retired.any [35705 samples]". */
static int start_event(struct flame_reader *rd, struct flame_span event)
{
	struct state *st = rd->state;
	int err = flame_calltree_end(&st->tree);

	event = span_trim(span_to(event, span_find(event, " [")));
	st->tree.type = make_type(rd->profile, event, "");
	st->tree.rest_type = make_type(rd->profile, event, "/rest");
	return err;
}

static int read_line(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { 0 };
	struct flame_calltree_value value = { .self = -1 };
	struct line l;
	flame_frame frame;

	if (!span_trim(text).len)
		return 0;
	if (span_starts(text, "@ "))
		return start_event(rd, span_from(text, 2));
	if (!parse(text, &l))
		return flame_skip(rd, "no percentage, count and function in a line");
	if (!st->tree.type)
		start_event(rd, (struct flame_span){ "samples", 7 });
	if (l.module.len)
		st->module = flame_intern(rd->profile, l.module.s, l.module.len);
	info.module = st->module;
	frame = flame_namer_frame(&st->namer, rd, l.name, &info);
	if (!frame)
		return flame_profile_error(rd->profile);
	value.total = l.count;
	return flame_calltree_enter(&st->tree, l.indent, frame, &value);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->tree.profile = rd->profile;
	st->tree.inverted = st->tree.counts = true;
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	return err ? err : flame_calltree_end(&st->tree);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_calltree_release(&st->tree);
	flame_namer_release(&st->namer);
}

static int probe(struct flame_span head)
{
	bool event = false;
	struct flame_span text;
	struct line l;

	while (span_line(&head, &text)) {
		if (!span_trim(text).len)
			continue;
		if (span_starts(text, "@ ") && span_ends(text, " samples]"))
			event = true;
		else
			return !parse(text, &l) ? FLAME_SCORE_NOT : event ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_pmcstat_converter = {
	.name = "pmcstat",
	.summary = "call graphs of FreeBSD's pmcstat -G",
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = release,
};

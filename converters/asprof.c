/* SPDX-License-Identifier: MIT */
/*
 * asprof - async-profiler's HTML flame graphs, read back without running their script:
 *
 *     <h1>CPU profile</h1>
 *     const cpool = [
 *     'all',
 *     ' java/lang/Thread.run',
 *     '1sleep'
 *     ];
 *     n(3,388)
 *     u(9,23)
 *     f(17,1,23,5)
 *
 * A frame has a name, a level, a width, and a type that says how its code was made. Frames come in the order of a walk
 * down the tree; what a frame used by itself is its width less that of its children. Since 2.0 the function f() has
 * had four forms, and the numbers of the types have changed once; both are told by the page's own script. Also read:
 * the tree pages of 2.x and 3.x, a list in a list. Not read: heatmaps, whose samples are packed.
 * Documentation/formats/asprof.md has the layouts and the versions seen.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/folded.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"

#define NR_TYPES 8		/* types of frames; the lowest bits of a key */
#define PREFIX_MAX 95		/* of a name's start that the name before has too */
#define NR_NUMBERS 8		/* arguments of a call; more are not looked at */

/* What stands in a call's arguments. */
enum layout {
	KEYS,		/* f(key, level, left, width), u(key, width), n(key, width); 3.x and later */
	INDEXES,	/* f(level, left, width, type, name); names by number; between 2.x and 3.x */
	TITLES,		/* f(level, left, width, type, 'name'); 2.x */
	TREE,		/* <li> */
};

enum part {
	HEAD,
	NAMES,
	FRAMES,
	END,
};

struct state {
	enum part part;
	enum layout layout;
	bool heatmap;
	bool packed;		/* names are front-coded */
	bool inverted;
	bool has_palette;
	enum flame_kind kinds[NR_TYPES];
	size_t nr_kinds;
	char *title_text;	/* owned */
	struct flame_span title;
	char unit[16];
	int64_t max_diff;	/* -1: no differential */
	flame_type type;
	/* Names by number, and the frames made of each and of a type. */
	flame_string *names;
	size_t nr_names, room_names;
	flame_frame *frames;
	struct flame_namer namer;
	char *name;		/* of the line at hand, decoded */
	size_t nr_name, room_name;
	struct flame_calltree tree, before;
	int64_t level, width;	/* of the frame before */
	int64_t skipped;	/* frames above this level are without a caller; 0: none */
	int64_t root, roots;	/* width of 'all', and of what stands on it */
	int64_t diff;
	bool is_new;		/* the frame was not there before */
	bool any_frame;
	bool closed;		/* the page's end was seen */
	int64_t depth;		/* of lists in a tree */
};

/* What the page says in its title. */
static const struct { const char *word, *name; enum flame_value_kind kind; bool timed; } titles[] = {
	{ "wall clock", "wall", FLAME_VALUE_WALL, false },
	{ "cpu", "cpu", FLAME_VALUE_ON_CPU, false },
	{ "allocation", "alloc", FLAME_VALUE_ALLOCATION, true },
	{ "native memory", "nativemem", FLAME_VALUE_ALLOCATION, true },
	{ "malloc", "nativemem", FLAME_VALUE_ALLOCATION, true },
	{ "native lock", "nativelock", FLAME_VALUE_LOCK, true },
	{ "lock", "lock", FLAME_VALUE_LOCK, true },
	{ "wall", "wall", FLAME_VALUE_WALL, false },
};

/* The palette's colours, by which a page's numbers of types are understood. */
static const struct { const char *color; enum flame_kind kind; } colors[] = {
	{ "0xb2e1b2", FLAME_INTERPRETED },
	{ "0x50e150", FLAME_JIT },
	{ "0x50cccc", FLAME_INLINED },
	{ "0x50bebe", FLAME_INLINED },
	{ "0xe15a5a", FLAME_USER },	/* native */
	{ "0xc8c83c", FLAME_USER },	/* C++ */
	{ "0xe17d00", FLAME_KERNEL },
	{ "0xcce880", FLAME_C1 },
};

static const enum flame_kind usual_kinds[NR_TYPES] = {
	FLAME_INTERPRETED, FLAME_JIT, FLAME_INLINED, FLAME_USER, FLAME_USER, FLAME_KERNEL, FLAME_C1, FLAME_USER,
};

static bool contains(struct flame_span s, const char *word)
{
	return span_find(s, word) < s.len;
}

/* Values. */

static void make_types(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_type_info info = { 0 };
	struct flame_span name = st->title, unit = { st->unit, strlen(st->unit) };
	bool timed = true;

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if (!st->title.len || !strcasestr(st->title.s, titles[i].word))
			continue;
		name = (struct flame_span){ titles[i].name, strlen(titles[i].name) };
		info.kind = titles[i].kind;
		timed = titles[i].timed;
		break;
	}
	/* Pages without a unit of their own may hold sums of bytes or of time in place of counts. */
	if (span_equals(unit, "samples") || (!unit.len && !timed))
		unit = (struct flame_span){ "count", 5 };
	if (contains(st->title, "Flame Graph") || contains(st->title, "Flamegraph"))
		name.len = 0;
	info.unit = flame_intern(rd->profile, unit.s, unit.len);
	if (st->max_diff < 0) {
		info.name = flame_intern(rd->profile, name.s, name.len);
		st->type = flame_type_row(rd->profile, &info);
	} else {
		info.name = flame_intern(rd->profile, FLAME_TYPE_BEFORE, strlen(FLAME_TYPE_BEFORE));
		st->before.type = flame_type_row(rd->profile, &info);
		info.name = flame_intern(rd->profile, FLAME_TYPE_AFTER, strlen(FLAME_TYPE_AFTER));
		st->type = flame_type_row(rd->profile, &info);
	}
	st->tree.profile = st->before.profile = rd->profile;
	st->tree.type = st->type;
	st->tree.counts = st->before.counts = span_equals(unit, "count");
}

/* Frames. */

/* A merged frame is of the type that most of it was. */
static flame_frame make_frame(struct flame_reader *rd, struct flame_span name, uint64_t type)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { 0 };

	info.kind = st->has_palette ? (type < st->nr_kinds ? st->kinds[type] : FLAME_USER) : usual_kinds[type % NR_TYPES];
	if (flame_thread_frame(name) == name.len && name.len) {
		info.kind = FLAME_TASK;
		/* The writer knows a thread's frame, and what it may hold. */
		info.name = flame_intern(rd->profile, name.s, name.len);
		return flame_frame_row(rd->profile, &info);
	}
	return flame_namer_frame(&st->namer, rd, name, &info);
}

static flame_frame named_frame(struct flame_reader *rd, uint64_t index, uint64_t type)
{
	struct state *st = rd->state;
	flame_frame *frame = &st->frames[index * NR_TYPES + type % NR_TYPES];

	if (!*frame)
		*frame = make_frame(rd, flame_string_get(rd->profile, st->names[index]), type);
	return *frame;
}

static int add_to_before(struct flame_reader *rd, int64_t level, flame_frame frame, struct flame_calltree_value value)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = st->before.type, .value = -st->diff, .nr_samples = 1 };
	int err;

	if (st->is_new) {
		/* Nothing of its own was there: any difference from the sum is explained. */
		value.self = 0;
		value.slack = INT64_MAX;
	}
	err = flame_calltree_enter(&st->before, (uint64_t)level, frame, &value);
	if (err || st->is_new || !st->diff)
		return err;
	s.stack = flame_calltree_stack(&st->before);
	return flame_sample_add(rd->profile, &s);
}

/* The innermost frame that @level stands on has less left than @width. */
static bool too_wide(const struct flame_calltree *tree, int64_t level, int64_t width)
{
	size_t i = tree->nr;

	while (i && tree->nodes[i - 1].depth >= (uint64_t)level)
		i--;
	return i && tree->nodes[i - 1].value.total - tree->nodes[i - 1].children < width;
}

static int add_root(struct flame_reader *rd, int64_t width)
{
	struct state *st = rd->state;

	if (st->any_frame)
		return flame_skip(rd, "a second frame at level 0");
	st->root = width;
	return 0;
}

static int add_frame(struct flame_reader *rd, int64_t level, int64_t width, flame_frame frame)
{
	struct state *st = rd->state;
	struct flame_calltree_value value = { .total = width, .self = -1 };
	int64_t top = st->tree.nr ? (int64_t)st->tree.nodes[st->tree.nr - 1].depth : 0;
	int err;

	if (st->skipped && level > st->skipped)
		return flame_skip(rd, "a frame on one that was left out");
	st->skipped = 0;
	if (level > top + 1 || too_wide(&st->tree, level, width) ||
	    (level == 1 && st->layout != TREE && width > st->root - st->roots)) {
		st->skipped = level;
		return flame_skip(rd, level > top + 1 ? "a frame without a caller" :
							"a frame is wider than what is left of its caller");
	}
	if (level == 1)
		st->roots += width;
	err = flame_calltree_enter(&st->tree, (uint64_t)level, frame, &value);
	if (!err && st->max_diff >= 0)
		err = add_to_before(rd, level, frame, value);
	if (err == FLAME_EOVERFLOW && level > FLAME_CALLTREE_DEPTH)
		return flame_fail(rd, err, "more than %d frames in a stack (FLAME_CALLTREE_DEPTH)", FLAME_CALLTREE_DEPTH);
	return err ? err : flame_profile_error(rd->profile);
}

/* Names. */

/*
 * What stands between two '@quote's at the start of @s, decoded into st->name. Only quotes and backslashes are escaped;
 * 2.0 did not escape backslashes, so that one before anything else stays.
 * Return: how many bytes of @s it took; 0 where it does not end.
 */
static size_t read_quoted(struct state *st, struct flame_span s)
{
	size_t i;

	st->nr_name = 0;
	if (!s.len || s.s[0] != '\'' || !array_reserve((void **)&st->name, &st->room_name, s.len, 1))
		return 0;
	for (i = 1; i < s.len && s.s[i] != '\''; i++) {
		if (s.s[i] == '\\' && i + 1 < s.len && (s.s[i + 1] == '\'' || s.s[i + 1] == '\\'))
			i++;
		st->name[st->nr_name++] = s.s[i];
	}
	return i < s.len ? i + 1 : 0;
}

/* "4sleep": 20 bytes of the name before ('4' is 20 above ' '), then "sleep". Return: false without memory. */
static bool unpack_name(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span last = flame_string_get(rd->profile, st->nr_names ? st->names[st->nr_names - 1] : 0);
	size_t prefix = st->nr_name ? (unsigned char)st->name[0] - (size_t)' ' : 0;

	if (prefix > PREFIX_MAX)
		prefix = 0;
	if (prefix > last.len)
		prefix = last.len;
	if (!array_reserve((void **)&st->name, &st->room_name, st->nr_name + prefix, 1))
		return false;
	if (st->nr_name)
		memmove(st->name + prefix, st->name + 1, --st->nr_name);
	memcpy(st->name, last.s, prefix);
	st->nr_name += prefix;
	return true;
}

static int add_name(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span name;

	if (!read_quoted(st, line))
		return flame_fail(rd, FLAME_EDAMAGED, "asprof: a name in the page's table of names does not end, and the frames come behind it");
	if (st->packed && st->nr_names && !unpack_name(rd))
		return FLAME_ENOMEM;
	if (!array_reserve((void **)&st->names, &st->room_names, st->nr_names + 1, sizeof(*st->names)))
		return FLAME_ENOMEM;
	name = (struct flame_span){ st->name, st->nr_name };
	st->names[st->nr_names++] = flame_intern(rd->profile, name.s, name.len);
	return 0;
}

/* Calls. */

struct call {
	char function;		/* 'f', 'u' or 'n' */
	int64_t numbers[NR_NUMBERS];
	size_t nr;
	bool has_title;
};

/* An argument. Return: how many bytes it took; 0 where there is none. */
static size_t read_argument(struct state *st, struct flame_span s, struct call *call)
{
	bool negative = s.len && s.s[0] == '-';
	int64_t value;
	size_t n;

	if (s.len && s.s[0] == '\'') {
		call->has_title = true;
		return read_quoted(st, s);
	}
	n = span_digits(span_from(s, negative), &value);
	if (n && call->nr < NR_NUMBERS)
		call->numbers[call->nr++] = negative ? -value : value;
	return n ? n + negative : 0;
}

/* "f(3880,2,1,4)". Return: false for anything else. */
static bool read_call(struct state *st, struct flame_span line, struct call *call)
{
	size_t at = 2, n;

	*call = (struct call){ .function = line.len > 3 ? line.s[0] : '\0' };
	if (!call->function || !strchr("fun", call->function) || line.s[1] != '(')
		return false;
	for (;;) {
		n = read_argument(st, span_from(line, at), call);
		at += n;
		if (!n || at >= line.len)
			return false;
		if (line.s[at] == ')')
			return true;
		if (line.s[at++] != ',')
			return false;
		while (at < line.len && line.s[at] == ' ')
			at++;
	}
}

/* f(level, left, width, type, title, inlined, c1, interpreted) */
static int old_call(struct flame_reader *rd, const struct call *call)
{
	struct state *st = rd->state;
	const int64_t *n = call->numbers;
	flame_frame frame;
	int err;

	if (call->function != 'f' || call->nr < (call->has_title ? 4u : 5u) || n[0] < 0 || n[2] < 0 || n[3] < 0)
		return flame_skip(rd, "a frame's numbers are not what they should be");
	if (!call->has_title && (n[4] < 0 || (uint64_t)n[4] >= st->nr_names))
		return flame_skip(rd, "a frame's name is not in the table of names");
	if (!n[0]) {
		err = add_root(rd, n[2]);
	} else {
		frame = call->has_title ? make_frame(rd, (struct flame_span){ st->name, st->nr_name }, (uint64_t)n[3]) :
					  named_frame(rd, (uint64_t)n[4], (uint64_t)n[3]);
		err = add_frame(rd, n[0], n[2], frame);
	}
	return err;
}

/* f(key, level, left, width, …); u() is one level up, n() on the same; a width that is left out is the one before. */
static int new_call(struct flame_reader *rd, const struct call *call)
{
	struct state *st = rd->state;
	const int64_t *n = call->numbers;
	size_t at = call->function == 'f' ? 3 : 1;
	int64_t level = call->function == 'f' ? n[1] : call->function == 'u' ? st->level + 1 : st->level;

	if (call->has_title || call->nr < at || n[0] < 0 || level < 0 || (call->nr > at && n[at] < 0))
		return flame_skip(rd, "a frame's numbers are not what they should be");
	st->level = level;
	if (call->nr > at && n[at])
		st->width = n[at];
	if (!level)
		return add_root(rd, st->width);
	if ((uint64_t)n[0] / NR_TYPES >= st->nr_names)
		return flame_skip(rd, "a frame's name is not in the table of names");
	return add_frame(rd, level, st->width, named_frame(rd, (uint64_t)n[0] / NR_TYPES, (uint64_t)n[0] % NR_TYPES));
}

/* "d=5", "d=U": by how much what follows differs from before. */
static bool read_diff(struct state *st, struct flame_span line)
{
	bool negative;
	int64_t value;

	if (!span_starts(line, "d="))
		return false;
	line = span_from(line, 2);
	st->is_new = span_equals(line, "U");
	st->diff = 0;
	if (st->is_new)
		return true;
	negative = span_starts(line, "-");
	if (!span_is_int(span_from(line, negative), &value))
		return false;
	st->diff = negative ? -value : value;
	return true;
}

static int read_frame_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct call call;
	int err;

	if (read_diff(st, line))
		return 0;
	if (!read_call(st, line, &call)) {
		/* The script goes on behind the frames. */
		if (line.len && span_starts(line, "f("))
			return flame_skip(rd, "a frame that is not one");
		if (st->any_frame && line.len)
			st->part = END;
		return 0;
	}
	err = st->layout == KEYS ? new_call(rd, &call) : old_call(rd, &call);
	st->any_frame = true;
	return err;
}

/* Tree pages. */

static void decode_entities(struct state *st, struct flame_span s)
{
	static const struct { const char *entity; char byte; } entities[] = {
		{ "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' }, { "&#39;", '\'' },
	};

	st->nr_name = 0;
	if (!array_reserve((void **)&st->name, &st->room_name, s.len + 1, 1))
		return;
	for (size_t at = 0; at < s.len;) {
		size_t n = 1;

		st->name[st->nr_name] = s.s[at];
		for (size_t i = 0; s.s[at] == '&' && i < sizeof(entities) / sizeof(*entities); i++) {
			if (!span_starts(span_from(s, at), entities[i].entity))
				continue;
			st->name[st->nr_name] = entities[i].byte;
			n = strlen(entities[i].entity);
			break;
		}
		st->nr_name++;
		at += n;
	}
}

/* "12.34% [1,234] …" or "[3] 12.34% 1,234 …": the number behind the first '%'. Return: -1 where there is none. */
static int64_t read_total(struct flame_span s)
{
	int64_t value = 0;
	size_t at = span_find(s, "%") + 1;
	bool digits = false;

	while (at < s.len && (s.s[at] == ' ' || s.s[at] == '['))
		at++;
	for (; at < s.len && (s.s[at] == ',' || (s.s[at] >= '0' && s.s[at] <= '9')); at++) {
		if (s.s[at] == ',')
			continue;
		digits = true;
		if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
		    __builtin_add_overflow(value, (int64_t)(s.s[at] - '0'), &value))
			return -1;
	}
	return digits ? value : -1;
}

/* <li><div>12.34% [1,234] &#8226; self: 0.00% [0]</div> <span class="t3">name</span> */
static int read_item(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	size_t div = span_find(line, "</div>"), class = span_find(line, "<span class=\"t");
	struct flame_span name = span_from(line, class + 14);
	int64_t total = read_total(span_to(line, div)), type;
	size_t n = span_digits(name, &type);

	if (span_starts(line, "<li>..."))
		return 0;	/* callees that were left out: what they used stays with their caller */
	if (total < 0 || class >= line.len || !n || st->depth < 1)
		return flame_skip(rd, "a line of the tree that has no total and name");
	name = span_from(name, n);
	name = span_from(name, span_find(name, ">") + 1);
	name = span_trim(span_to(name, span_find(name, "</span>")));
	decode_entities(st, name);
	st->any_frame = true;
	return add_frame(rd, st->depth, total, make_frame(rd, (struct flame_span){ st->name, st->nr_name },
							   (uint64_t)type));
}

static int read_tree_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	if (span_starts(line, "<li>"))
		return read_item(rd, line);
	if (span_starts(line, "<ul"))
		st->depth++;
	else if (span_starts(line, "</ul>"))
		st->depth--;
	else if (st->any_frame && (span_starts(line, "<script") || span_starts(line, "</body")))
		st->part = END;
	return 0;
}

/* The page up to its frames. */

static void read_palette(struct state *st, struct flame_span line)
{
	for (size_t i = 0; i < sizeof(colors) / sizeof(*colors) && st->nr_kinds < NR_TYPES; i++) {
		if (!span_starts(span_from(line, 1), colors[i].color))
			continue;
		st->kinds[st->nr_kinds++] = colors[i].kind;
		st->has_palette = true;
	}
}

static int set_title(struct state *st, struct flame_span line)
{
	size_t start = span_find(line, ">") + 1;
	struct flame_span title = span_from(line, start);
	char *copy;

	title = span_to(title, span_find(title, "</h1>"));
	copy = strndup(title.s, title.len);
	if (!copy)
		return FLAME_ENOMEM;
	free(st->title_text);
	st->title_text = copy;
	st->title = (struct flame_span){ copy, strlen(copy) };
	return 0;
}

/* "const units = 'bytes';" */
static void set_unit(struct state *st, struct flame_span line)
{
	struct flame_span unit = span_from(line, span_find(line, "'") + 1);

	unit = span_to(unit, span_find(unit, "'"));
	if (unit.len < sizeof(st->unit)) {
		memcpy(st->unit, unit.s, unit.len);
		st->unit[unit.len] = '\0';
	}
}

static void set_layout(struct state *st, struct flame_span line)
{
	st->layout = contains(line, "(key,") ? KEYS : contains(line, "title") ? TITLES : INDEXES;
}

static void set_max_diff(struct state *st, struct flame_span line)
{
	int64_t value;

	line = span_from(line, span_find(line, "=") + 1);
	while (line.len && (line.s[0] < '0' || line.s[0] > '9') && line.s[0] != '-')
		line = span_from(line, 1);
	/* "/" "*maxdiff:*" "/-1" is what the template holds. */
	st->max_diff = span_digits(line, &value) ? value : -1;
}

static int begin_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;

	st->part = FRAMES;
	make_types(rd);
	if (st->nr_names) {
		st->frames = calloc(st->nr_names, NR_TYPES * sizeof(*st->frames));
		if (!st->frames)
			return FLAME_ENOMEM;
	}
	return 0;
}

static bool is_call(struct flame_span line)
{
	return line.len > 3 && (span_starts(line, "f(") || span_starts(line, "n(") || span_starts(line, "u(")) &&
	       line.s[2] >= '0' && line.s[2] <= '9';
}

static int read_head_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span word = span_trim(line);
	int err;

	if (is_call(line)) {
		err = begin_frames(rd);
		return err ? err : read_frame_line(rd, line);
	}
	if (span_starts(word, "<h1"))
		return set_title(st, word);
	if (span_starts(word, "<div") && contains(word, " view, total "))
		return set_title(st, span_to(word, span_find(word, " view, total ")));
	if (span_starts(word, "[0x"))
		read_palette(st, word);
	else if (span_starts(word, "function f("))
		set_layout(st, word);
	else if (span_starts(word, "const units"))
		set_unit(st, word);
	else if (span_starts(word, "const maxdiff"))
		set_max_diff(st, word);
	else if (span_starts(word, "function unpack") || span_starts(word, "unpack("))
		st->packed = true;
	else if (contains(word, " reverse = true") || contains(word, " inverted = true"))
		st->inverted = true;
	else if (contains(word, "executionsHeatmap") || contains(word, "heatmap-canvas"))
		st->heatmap = true;
	else if (span_starts(word, "const cpool"))
		st->part = NAMES;
	else if (span_starts(word, "<ul class='tree'>") || span_starts(word, "<ul class=\"tree\">")) {
		st->layout = TREE;
		st->depth = 1;
		return begin_frames(rd);
	}
	return 0;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;

	st->closed |= contains(line, "</body") || contains(line, "</html");
	switch (st->part) {
	case HEAD:
		return read_head_line(rd, line);
	case NAMES:
		if (line.len && line.s[0] == '\'')
			return add_name(rd, line);
		if (span_starts(line, "]"))
			st->part = HEAD;
		return 0;
	case FRAMES:
		return st->layout == TREE ? read_tree_line(rd, line) : read_frame_line(rd, line);
	default:
		return 0;
	}
}

/* Two pages in one file are two profiles, which may be of unlike values. */
static void check_rest(struct flame_reader *rd)
{
	struct flame_span line;

	while (flame_line(rd->input, &line)) {
		if (contains(line, "<html")) {
			flame_damaged(rd, "asprof: another page follows; only the first is used: give them one by one");
			return;
		}
	}
}

static int finish_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = st->type };
	int err = flame_calltree_end(&st->tree);

	if (!err && st->max_diff >= 0)
		err = flame_calltree_end(&st->before);
	/* Frames that were too narrow for the page. */
	s.value = st->root - st->roots;
	if (!err && st->layout != TREE && s.value > 0 && st->part == END) {
		s.nr_samples = st->tree.counts ? (uint64_t)s.value : 1;
		err = flame_sample_add(rd->profile, &s);
	}
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->max_diff = -1;
	while (!err && st->part != END && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err && st->any_frame)
		err = finish_frames(rd);
	if (err == FLAME_EOVERFLOW)
		return flame_fail(rd, err, "asprof: a sum of widths does not fit 64 bits");
	if (err)
		return err;
	if (!st->any_frame && st->heatmap)
		return flame_fail(rd, FLAME_EFORMAT,
				  "a heatmap of async-profiler, whose samples are packed: give the JFR recording that it was made from");
	if (!st->any_frame && !st->closed && !rd->input->error)
		return flame_fail(rd, FLAME_EDAMAGED, "asprof: the page is cut off before its frames: nothing in it can be used");
	if (st->part == END)
		check_rest(rd);
	else if (st->any_frame && !rd->input->error)
		flame_damaged(rd, "asprof: the page ends among its frames; the frames before are used");
	if (st->inverted && st->any_frame)
		flame_note(rd, "the page is upside down: if it was made with --reverse, its stacks begin with the function that ran (--reverse turns them)");
	return 0;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->title_text);
	free(st->names);
	free(st->frames);
	free(st->name);
	flame_namer_release(&st->namer);
	flame_calltree_release(&st->tree);
	flame_calltree_release(&st->before);
}

static int probe(struct flame_span head)
{
	static const char *const signs[] = {
		"function f(key,", "function f(level,", "function treeView(", "executionsHeatmap", "heatmap-canvas-container",
	};

	if (!contains(head, "<html"))
		return FLAME_SCORE_NOT;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (contains(head, signs[i]))
			return FLAME_SCORE_MAGIC;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_asprof_converter = {
	.name = "asprof",
	.summary = "HTML flame graphs and trees of async-profiler",
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read,
	.release = release,
};

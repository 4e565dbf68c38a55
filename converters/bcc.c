/* SPDX-License-Identifier: MIT */
/*
 * bcc - stacks that bcc's profile, offcputime, offwaketime, wakeuptime and stackcount print:
 *
 *     Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.
 *
 *         __schedule
 *         schedule
 *         --
 *         main
 *         -                comm (1234)
 *             10062
 *
 * and those of libbpf-tools of the same names. With -f they write folded text, which is read by the folded
 * converter; only where stacks were missed, or names are Python's bytes (b'main'), it is read here. Seen: bcc and
 * libbpf-tools 0.26. Documentation/formats/bcc.md has the grammar. Not read: memleak, and what prints no stacks.
 *
 * Bottom up, the lines of a record are its path from the root, in all of these tools.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/missed.h"
#include "../core/number.h"
#include "../core/scan.h"
#include "../core/span.h"
#include "../core/table.h"
#include "bpf_text.h"

/* What a line of a record is. */
enum item_kind {
	ITEM_FRAME,
	ITEM_TASK,
	ITEM_DELIMITER,	/* between user's and kernel's frames */
	ITEM_WAKER,	/* between the waker's part and that of the thread that it woke */
};

struct item {
	enum item_kind kind;
	bool kernel;		/* says so itself */
	int side;
	flame_frame frame;
};

struct state {
	/* Set by prepare(). */
	bool folded;
	size_t tool;		/* index + 1 in headers */
	char event[128];	/* stackcount's pattern */

	struct bpf_text text;
	struct item *items;	/* of the record at hand */
	size_t nr_items, room_items;
	flame_type type;
	uint64_t nr_negative;	/* events that offcputime skipped */
};

/* First lines. They say what the values are. */
static const struct {
	const char *start;
	const char *contains;
	const char *event, *unit;	/* event NULL: the quoted word of the line */
	enum flame_value_kind kind;
} headers[] = {
	{ "Sampling at ", " stack", "cpu", "count", FLAME_VALUE_ON_CPU },
	{ "Tracing off-CPU time (us)", "", "off-cpu", "us", FLAME_VALUE_OFF_CPU },
	{ "Tracing blocked time (us) by ", "waker", "off-cpu", "us", FLAME_VALUE_OFF_CPU },
	{ "Tracing blocked time (us)", "", "blocked", "us", FLAME_VALUE_OFF_CPU },
	{ "Tracing ", " functions for \"", NULL, "count", FLAME_VALUE_OTHER },
};

#define NR_HEADERS (sizeof(headers) / sizeof(*headers))

/* Return: index + 1 in headers; 0 where the line is none. */
static size_t find_header(struct flame_span line)
{
	for (size_t i = 0; i < NR_HEADERS; i++) {
		if (span_starts(line, headers[i].start) &&
		    memmem(line.s, line.len, headers[i].contains, strlen(headers[i].contains)))
			return i + 1;
	}
	return 0;
}

static void set_tool(struct state *st, struct flame_span line, size_t tool)
{
	const char *event = headers[tool - 1].event, *quote, *end;
	size_t n;

	st->tool = tool;
	st->type = 0;
	if (event) {
		stpcpy(st->event, event);
		return;
	}
	quote = (const char *)memchr(line.s, '"', line.len) + 1;
	end = memrchr(quote, '"', (size_t)(line.s + line.len - quote));
	n = end ? (size_t)(end - quote) : (size_t)(line.s + line.len - quote);
	if (n >= sizeof(st->event))
		n = sizeof(st->event) - 1;
	memcpy(st->event, quote, n);
	st->event[n] = '\0';
}

static flame_type find_type(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_type_info info = { 0 };

	if (!st->type) {
		info.name = flame_intern(rd->profile, st->event, strlen(st->event));
		if (st->tool) {
			info.unit = flame_intern(rd->profile, headers[st->tool - 1].unit, strlen(headers[st->tool - 1].unit));
			info.kind = headers[st->tool - 1].kind;
		}
		st->type = flame_type_row(rd->profile, &info);
	}
	return st->type;
}

/* Names. */

/* Python's bytes: "b'main'" is main. */
static struct flame_span unwrap(struct flame_span s)
{
	if (s.len >= 3 && s.s[0] == 'b' && (s.s[1] == '\'' || s.s[1] == '"') && s.s[s.len - 1] == s.s[1])
		return (struct flame_span){ s.s + 2, s.len - 3 };
	return s;
}

/* The same around a whole stack, "b'bash;main;read'", but not around each of its frames, "b'bash';b'main'". */
static struct flame_span unwrap_path(struct flame_span path)
{
	const char *semicolon = memchr(path.s, ';', path.len);
	struct flame_span first = { path.s, semicolon ? (size_t)(semicolon - path.s) : path.len };

	return unwrap(first).len == first.len ? unwrap(path) : path;
}

static int add_item(struct state *st, struct item item)
{
	if (!item.frame || !array_reserve((void **)&st->items, &st->room_items, st->nr_items + 1, sizeof(item)))
		return FLAME_ENOMEM;
	st->items[st->nr_items++] = item;
	return 0;
}

/* "[Missed User Stack] -17": without the error's number. */
static struct flame_span cut_missed(struct flame_span s)
{
	static const char *const missed[] = { "[Missed User Stack]", "[Missed Kernel Stack]" };

	for (size_t i = 0; s.len && s.s[0] == '[' && i < sizeof(missed) / sizeof(*missed); i++) {
		if (span_starts(s, missed[i]))
			s.len = strlen(missed[i]);
	}
	return s;
}

static int add_frame(struct flame_reader *rd, struct flame_span s)
{
	struct state *st = rd->state;
	struct item item = { .kind = ITEM_FRAME };
	char last = s.len ? s.s[s.len - 1] : 0;

	if (last == '\'' || last == '"') {
		const char *bytes = memmem(s.s, s.len, " b", 2);

		/* An address may stand before the name. */
		if (bytes)
			s = (struct flame_span){ bytes + 1, (size_t)(s.s + s.len - bytes - 1) };
		s = unwrap(s);
	}
	s = cut_missed(s);
	if (last == ']' && s.len > 4 && span_ends(s, "_[k]")) {
		item.kernel = true;
		s.len -= 4;
	}
	item.frame = bpf_find_frame(&st->text, rd, s, &item.side);
	return add_item(st, item);
}

static int add_marker(struct flame_reader *rd, enum item_kind kind)
{
	struct state *st = rd->state;
	struct flame_span name = { "--", kind == ITEM_WAKER ? 2 : 1 };

	return add_item(st, (struct item){ .kind = kind, .frame = bpf_make_frame(&st->text, rd, name, FLAME_MARKER) });
}

/* A number at the end of @s, in brackets or after a blank, is an id: it is cut off. */
static int32_t cut_id(struct flame_span *s, char open, char close)
{
	size_t end = s->len, i;
	int64_t id;

	if (close && (!end || s->s[--end] != close))
		return -1;
	for (i = end; i && s->s[i - 1] >= '0' && s->s[i - 1] <= '9';)
		i--;
	if (i == end || i < 1 || s->s[i - 1] != open ||
	    bpf_integer((struct flame_span){ s->s + i, end - i }, &id) != FLAME_NUMBER_OK || id > INT32_MAX)
		return -1;
	s->len = i - 1;
	*s = span_trim(*s);
	return (int32_t)id;
}

static int add_task(struct flame_reader *rd, struct flame_span comm, int32_t pid)
{
	struct state *st = rd->state;
	struct flame_task_info task = { .pid = pid, .tid = pid };
	struct flame_span name = unwrap(span_trim(comm));
	flame_stack root;

	/* As an empty frame of folded text; the waker's name is not always known. */
	if (!name.len)
		name = (struct flame_span){ "[unknown]", 9 };
	task.comm = flame_intern(rd->profile, name.s, name.len);
	root = flame_task_root(rd->profile, &task);
	if (!root)
		return flame_profile_error(rd->profile);
	return add_item(st, (struct item){ .kind = ITEM_TASK, .frame = flame_stack_frame(rd->profile, root) });
}

/* Records. */

/* Return: how many of the items from @from on, printed leaf first, are the kernel's, as far as can be told. */
static size_t kernel_items(const struct state *st, size_t from)
{
	size_t end = from;

	for (size_t i = from; i < st->nr_items; i++) {
		if (st->items[i].kind == ITEM_DELIMITER)
			return i;
		if (st->items[i].kind == ITEM_FRAME && (st->items[i].side > 0 || st->items[i].kernel))
			end = i + 1;
	}
	return end;
}

static flame_frame waker_frame(struct flame_reader *rd, flame_frame frame)
{
	struct flame_frame_info info;

	if (!(flame_profile_options(rd->profile)->kinds & FLAME_KIND_BIT(FLAME_WAKER)))
		return frame;
	info = *flame_frame_get(rd->profile, frame);
	info.kind = FLAME_WAKER;
	return flame_frame_row(rd->profile, &info);
}

static int add_record(struct flame_reader *rd, int64_t value)
{
	struct state *st = rd->state;
	size_t woken = 0, nr = 0, kernel;	/* items before woken are the waker's */
	flame_frame *frames = bpf_path(&st->text, st->nr_items + 1);

	if (!frames)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < st->nr_items; i++)
		woken = st->items[i].kind == ITEM_WAKER ? i + 1 : woken;
	kernel = kernel_items(st, woken);
	for (size_t i = st->nr_items; i-- > 0;) {
		const struct item *item = &st->items[i];

		if (item->kind != ITEM_FRAME)
			frames[nr++] = item->frame;
		else if (i < woken)
			frames[nr++] = waker_frame(rd, item->frame);
		else
			frames[nr++] = i < kernel ? bpf_kernel_frame(&st->text, rd, item->frame) : item->frame;
	}
	st->nr_items = 0;
	if (!nr)
		frames[nr++] = bpf_make_frame(&st->text, rd, (struct flame_span){ "[unknown]", 9 }, FLAME_USER);
	return bpf_path_add(&st->text, nr, find_type(rd), value);
}

/* A stack is followed by something else than its value. */
static int drop_record(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->nr_items)
		return 0;
	st->nr_items = 0;
	return flame_skip(rd, "a stack without a value");
}

/* The same at the end of the input: it is cut off. */
static int end_record(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->nr_items || rd->input->limit != UINT64_MAX)
		return drop_record(rd);
	st->nr_items = 0;
	return bpf_text_cut(rd, "a stack", "the stack that the end of the input cuts off");
}

/* Lines. */

/* "waker:           comm 1234": only offwaketime adds the id; there the waker is first, and a marker follows. */
static bool has_id(const struct state *st, bool waker)
{
	if (waker)
		return !st->nr_items;
	for (size_t i = 0; i < st->nr_items; i++) {
		if (st->items[i].kind == ITEM_WAKER)
			return true;
	}
	return false;
}

/* "-                comm (1234)", "--               --", "target:          comm". Return: false where it is none. */
static bool read_column(struct flame_reader *rd, struct flame_span s, int *err)
{
	static const char *const words[] = { "- ", "waker:", "target:" };
	struct flame_span rest;
	int32_t pid = -1;

	if (span_starts(s, "-- ") && span_ends(s, " --")) {
		*err = add_marker(rd, ITEM_WAKER);
		return true;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		if (!span_starts(s, words[i]) || (s.len > n && i && s.s[n] != ' '))
			continue;
		rest = (struct flame_span){ s.s + n, s.len - n };
		if (!i)
			pid = cut_id(&rest, '(', ')');
		else if (has_id(rd->state, i == 1))
			pid = cut_id(&rest, ' ', '\0');
		*err = add_task(rd, rest, pid);
		return true;
	}
	return false;
}

/* Return: false where it is no number. */
static bool read_number(struct flame_reader *rd, struct flame_span s, int *err)
{
	int64_t value;

	switch (bpf_integer(s, &value)) {
	case FLAME_NUMBER_OK:
		*err = add_record(rd, value);
		return true;
	case FLAME_NUMBER_TOO_BIG:
		*err = flame_fail(rd, FLAME_EOVERFLOW, "a value does not fit 64 bits");
		return true;
	default:
		return false;
	}
}

/* @s is the line without the @indent blanks before it. */
static int read_indented(struct flame_reader *rd, struct flame_span s, size_t indent)
{
	struct state *st = rd->state;
	struct flame_span comm = s;
	int32_t pid;
	int err = 0;

	/* Most lines are frames: few of their first letters begin something else. */
	if (s.s[0] >= '0' && s.s[0] <= '9' && read_number(rd, s, &err))
		return err;
	if (s.s[0] == '-' && (span_equals(s, "--") || span_equals(s, "-")))
		return add_marker(rd, ITEM_DELIMITER);
	if (memchr("-wt", s.s[0], 3) && read_column(rd, s, &err))
		return err;
	/* stackcount: frames stand behind two blanks, "comm [1234]" behind four. */
	if (indent == 4 && s.s[s.len - 1] == ']' && st->tool && !headers[st->tool - 1].event) {
		pid = cut_id(&comm, '[', ']');
		if (pid >= 0)
			return add_task(rd, comm, pid);
	}
	return add_frame(rd, s);
}

static int read_folded(struct flame_reader *rd, struct flame_span line);

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct flame_span s = span_trim(line);
	struct state *st = rd->state;
	size_t tool;

	if (!s.len)
		return drop_record(rd);
	if (line.s[0] == ' ' || line.s[0] == '\t')
		return st->folded ? 0 : read_indented(rd, s, (size_t)(s.s - line.s));
	tool = find_header(line);
	if (tool)
		set_tool(st, line, tool);
	else if (span_starts(line, "WARN: Skipped an event"))
		st->nr_negative++;
	else if (st->folded && !span_starts(line, "WARN"))
		return read_folded(rd, line);
	return 0;
}

/* Folded text; the items are added leaf first, as they are in the other form. */
static int read_folded(struct flame_reader *rd, struct flame_span line)
{
	const char *blank = memrchr(line.s, ' ', line.len);
	struct flame_span path, frame;
	int64_t value;
	int err = 0;

	if (!blank || bpf_integer(span_trim((struct flame_span){ blank, (size_t)(line.s + line.len - blank) }), &value) !=
	    FLAME_NUMBER_OK)
		return flame_skip(rd, "no count at the end of the line");
	path = unwrap_path(span_trim((struct flame_span){ line.s, (size_t)(blank - line.s) }));
	for (bool more = path.len; !err && more;) {
		const char *semicolon = memrchr(path.s, ';', path.len);
		size_t start = semicolon ? (size_t)(semicolon + 1 - path.s) : 0;

		frame = (struct flame_span){ path.s + start, path.len - start };
		path.len = semicolon ? start - 1 : 0;
		more = semicolon != NULL;
		if (span_equals(frame, "-"))
			err = add_marker(rd, ITEM_DELIMITER);
		else if (span_equals(frame, "--"))
			err = add_marker(rd, ITEM_WAKER);
		else
			err = add_frame(rd, frame.len ? frame : (struct flame_span){ "[unknown]", 9 });
	}
	return err ? err : add_record(rd, value);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = bpf_text_init(&st->text, rd);

	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err)
		err = end_record(rd);
	bpf_text_check_end(rd);
	return bpf_text_end(&st->text, err);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	bpf_text_release(&st->text);
	free(st->items);
}

/* What the head tells. */

struct survey {
	size_t nr_headers, nr_columns, nr_values, nr_frames;
	size_t nr_folded, nr_own, nr_other;	/* lines at the left: folded ones, such as only bcc writes, others */
};

static void survey_left(struct survey *sv, struct flame_span line)
{
	const char *blank = memrchr(line.s, ' ', line.len);
	struct flame_span number = { blank ? blank + 1 : line.s, blank ? (size_t)(line.s + line.len - blank - 1) : 0 };
	int64_t value;

	if (find_header(line)) {
		sv->nr_headers++;
	} else if (!blank || blank == line.s || bpf_integer(number, &value) != FLAME_NUMBER_OK) {
		sv->nr_other++;
	} else {
		sv->nr_folded++;
		sv->nr_own += memmem(line.s, line.len, ";[Missed ", 9) != NULL ||
			      (span_starts(line, "b'") && blank[-1] == '\'');
	}
}

static void survey_line(struct survey *sv, struct flame_span line)
{
	struct flame_span s = span_trim(line);
	int64_t value;

	if (!s.len)
		return;
	if (line.s[0] != ' ' && line.s[0] != '\t')
		survey_left(sv, s);
	else if (bpf_integer(s, &value) == FLAME_NUMBER_OK)
		sv->nr_values += sv->nr_columns || sv->nr_headers;
	else if ((span_starts(s, "-    ") && span_ends(s, ")")) || span_starts(s, "waker: ") || span_starts(s, "target: "))
		sv->nr_columns++;
	else
		sv->nr_frames++;
}

static struct survey survey(struct flame_span head)
{
	struct survey sv = { 0 };
	struct flame_span line;

	while (span_line(&head, &line))
		survey_line(&sv, line);
	return sv;
}

static int probe(struct flame_span head)
{
	struct survey sv = survey(head);

	if (sv.nr_headers && (sv.nr_values || sv.nr_frames))
		return FLAME_SCORE_MAGIC - 10;
	if (sv.nr_columns && sv.nr_values)
		return FLAME_SCORE_RECORD + 15;
	if (sv.nr_own && !sv.nr_frames && sv.nr_folded > sv.nr_other)
		return FLAME_SCORE_RECORD + 5;
	return sv.nr_headers ? FLAME_SCORE_SHAPE : FLAME_SCORE_NOT;
}

static int prepare(struct flame_reader *rd, struct flame_span head)
{
	struct survey sv = survey(head);
	struct state *st = rd->state;
	struct flame_span line;

	st->folded = sv.nr_folded && !sv.nr_values;
	/* Slices must know what the first one reads. */
	while (!st->tool && span_line(&head, &line)) {
		size_t tool = find_header(line);

		if (tool)
			set_tool(st, line, tool);
	}
	return 0;
}

/* A record begins behind an empty line; a folded one behind any. */
static size_t split(struct flame_reader *rd, struct flame_span text)
{
	const struct state *st = rd->state;
	const char *nl;
	size_t at;

	if (st->folded) {
		nl = memchr(text.s, '\n', text.len);
		return nl ? (size_t)(nl + 1 - text.s) : text.len;
	}
	at = scan_empty_line(text.s, text.len);
	return at < text.len ? at + 1 : text.len;
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;

	st->nr_negative += ((const struct state *)from)->nr_negative;
}

/* Another tool's first line tells what all values behind it are. */
static bool goes_on(const void *prepared, const void *slice)
{
	const struct state *before = prepared, *after = slice;

	return before->tool == after->tool && !strcmp(before->event, after->event);
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	const struct state *st = rd->state;

	if (st->nr_negative)
		flame_note(rd, "the recorder left out %llu events of negative duration", (unsigned long long)st->nr_negative);
	return flame_warn_missed(rd, *profile);
}

const struct flame_converter flame_bcc_converter = {
	.name = "bcc",
	.summary = "stacks that bcc's profile, offcputime, offwaketime, wakeuptime and stackcount print",
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.prepare = prepare,
	.read = read,
	.release = release,
	.split = split,
	.join = join,
	.goes_on = goes_on,
	.finish = finish,
};

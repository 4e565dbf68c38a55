/* SPDX-License-Identifier: MIT */
/*
 * dtrace - stacks that DTrace aggregates, @[stack(), ustack()] = count(), as it prints them:
 *
 *     CPU     ID                    FUNCTION:NAME
 *       0  64091                        :tick-60s
 *
 *                   genunix`segvn_fault+0xdb0
 *                   unix`trap+0x2c7
 *
 *                   libc.so.1`malloc+0x1f
 *                   prog`main+0x22
 *                     1
 *
 * The leaf comes first, the kernel's stack before the program's; the number ends the record. Keys that are not
 * stacks, such as execname, stand on a line of their own in front or before the number, with less indentation;
 * they become root frames. Seen: illumos, macOS, FreeBSD. "a->b" is b inlined into a. Not read: aggregations
 * other than numbers.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"
#include "../core/tidy.h"

#define DTRACE_FRAMES 65536	/* of one record */

struct entry {
	flame_frame frame;
	size_t indent;
	bool key;
};

struct state {
	flame_type type;
	bool past_header;
	bool in_record;
	size_t nr_lines;	/* of the record */
	struct entry *entries;	/* the leaf first */
	size_t nr, room;
	size_t kernel_end;	/* entries before the blank line inside the record */
	bool blank;		/* a blank line was last */
	struct flame_namer namer;
};

/* Names. */

static struct flame_span cut_offset(struct flame_span name)
{
	const char *plus = name.len ? memrchr(name.s, '+', name.len) : NULL;
	size_t at = plus ? (size_t)(plus - name.s) : name.len;

	if (!span_starts(span_from(name, at), "+0x"))
		return name;
	for (size_t i = at + 3; i < name.len; i++) {
		if (!strchr("0123456789abcdefABCDEF", name.s[i]))
			return name;
	}
	return span_to(name, at);
}

/* Return: where the bracket that the last one closes is; @s.len where there is none. */
static size_t find_open(struct flame_span s)
{
	size_t depth = 0;

	for (size_t i = s.len; i-- > 0;) {
		depth += s.s[i] == ')';
		if (s.s[i] == '(' && !--depth)
			return i;
	}
	return s.len;
}

/*
 * Arguments are what the last bracket closes. Without any, what follows the last '<' behind "::" goes, as other
 * readers have it. Names without "::" stay, and the brackets of "operator()" and "operator<" do.
 */
static struct flame_span cut_arguments(struct flame_span name)
{
	size_t scope = span_find(name, "::"), at;

	if (scope == name.len)
		return name;
	if (span_ends(name, ")")) {
		at = find_open(name);
		if (at < name.len && at > scope && !span_ends(span_to(name, at), "operator"))
			return span_trim_end(span_to(name, at));
	}
	for (at = name.len; at > scope + 2; at--) {
		char c = name.s[at - 1];

		if ((c == '(' || c == '<') && !span_ends(span_to(name, at - 1), "operator"))
			return span_trim_end(span_to(name, at - 1));
	}
	return name;
}

/* "bash      801": keys are padded. */
static struct flame_span squeeze(struct flame_span s, char *buf)
{
	size_t nr = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (!is_space(s.s[i]) || (nr && buf[nr - 1] != ' '))
			buf[nr++] = is_space(s.s[i]) ? ' ' : s.s[i];
	}
	return (struct flame_span){ buf, nr };
}

/* The symbol behind "module`" is Rust's where it has a hash. */
static struct flame_span tidy(struct flame_span name, char *buf)
{
	const char *tick;
	struct flame_span symbol;
	size_t prefix;

	name = cut_arguments(name);
	tick = name.len ? memchr(name.s, '`', name.len) : NULL;
	prefix = tick ? (size_t)(tick - name.s) + 1 : 0;
	memmove(buf, name.s, name.len);
	symbol = flame_tidy_half_rust((struct flame_span){ buf + prefix, name.len - prefix }, buf + prefix);
	return (struct flame_span){ buf, prefix + symbol.len };
}

static flame_frame make_frame(struct flame_reader *rd, struct flame_span name, enum flame_kind kind)
{
	struct state *st = rd->state;
	char *buf = flame_namer_room(&st->namer, name.len + 1);
	const char *tick = name.len ? memchr(name.s, '`', name.len) : NULL;
	struct flame_frame_info info = { .kind = kind };

	if (!buf)
		return 0;
	if (tick)
		info.module = flame_intern(rd->profile, name.s, (size_t)(tick - name.s));
	if (!rd->options->offsets)
		name = cut_offset(name);
	if (!rd->options->offsets && !rd->options->raw_names)
		name = tidy(name, buf);
	if (kind == FLAME_TASK)
		name = squeeze(name, buf);
	if (!name.len)
		name = (struct flame_span){ "-", 1 };
	return flame_namer_frame(&st->namer, rd, name, &info);
}

/* Lines. */

static int add_entry(struct flame_reader *rd, struct flame_span name, size_t indent, bool key, enum flame_kind kind)
{
	struct state *st = rd->state;
	flame_frame frame = make_frame(rd, name, kind);

	if (!frame)
		return flame_profile_error(rd->profile);
	if (!array_reserve((void **)&st->entries, &st->room, st->nr + 1, sizeof(*st->entries)))
		return FLAME_ENOMEM;
	st->entries[st->nr++] = (struct entry){ frame, indent, key };
	return 0;
}

/* Return: where the last "->" that joins two functions starts; 0 where none does. */
static size_t find_inlined(struct flame_span s)
{
	for (size_t i = s.len; i-- > 2;) {
		if (s.s[i - 1] == '-' && s.s[i] == '>' && !span_ends(span_to(s, i - 1), "operator"))
			return i - 1;
	}
	return 0;
}

static void make_key(struct flame_reader *rd, struct entry *e)
{
	struct state *st = rd->state;
	struct flame_span name = flame_string_get(rd->profile, flame_frame_get(rd->profile, e->frame)->name);
	struct flame_frame_info info = { .kind = FLAME_TASK };
	char *buf = flame_namer_room(&st->namer, name.len + 1);

	e->key = true;
	if (buf)
		e->frame = flame_namer_frame(&st->namer, rd, squeeze(name, buf), &info);
}

static int read_frame(struct flame_reader *rd, struct flame_span text, size_t indent)
{
	struct state *st = rd->state;
	size_t at;
	int err = 0;

	/* A key stood before frames that are indented more. */
	if (st->nr_lines == 1 && st->nr == 1 && st->entries[0].indent < indent)
		make_key(rd, &st->entries[0]);
	if (st->blank && st->nr_lines)
		st->kernel_end = st->nr;
	st->nr_lines++;
	if (st->nr >= DTRACE_FRAMES)
		return flame_fail(rd, FLAME_EOVERFLOW, "a stack has more than %d frames (DTRACE_FRAMES)",
				  DTRACE_FRAMES);
	while (!err && (at = find_inlined(text))) {
		err = add_entry(rd, span_from(text, at + 2), indent, false, FLAME_INLINED);
		text = span_to(text, at);
	}
	return err ? err : add_entry(rd, text, indent, false, FLAME_USER);
}

static flame_frame as_kernel(struct flame_reader *rd, flame_frame frame)
{
	struct flame_frame_info info = *flame_frame_get(rd->profile, frame);

	if (info.kind != FLAME_USER)
		return frame;
	info.kind = FLAME_KERNEL;
	return flame_frame_row(rd->profile, &info);
}

static void reset(struct state *st)
{
	st->nr = st->nr_lines = st->kernel_end = 0;
	st->in_record = false;
}

static int end_record(struct flame_reader *rd, int64_t count)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = st->type, .value = count, .nr_samples = count > 0 ? (uint64_t)count : 1 };

	if (!st->nr) {
		reset(st);
		return flame_skip(rd, "a number without a stack before it");
	}
	for (size_t i = 0; i < st->nr; i++) {
		if (st->entries[i].key)
			s.stack = flame_stack_push(rd->profile, s.stack, st->entries[i].frame);
	}
	for (size_t i = st->nr; i-- > 0;) {
		flame_frame frame = st->entries[i].frame;

		if (st->entries[i].key)
			continue;
		if (i < st->kernel_end)
			frame = as_kernel(rd, frame);
		s.stack = flame_stack_push(rd->profile, s.stack, frame);
	}
	reset(st);
	return flame_sample_add(rd->profile, &s);
}

/* "  nginx   12" behind a stack: keys and the number. Return: false where @text is a frame. */
static bool cut_count(const struct state *st, struct flame_span *text, size_t indent, int64_t *count)
{
	struct flame_span rest = *text;
	const char *blank = rest.len ? memrchr(rest.s, ' ', rest.len) : NULL;

	if (!st->nr || indent >= st->entries[st->nr - 1].indent || !blank)
		return false;
	if (!span_is_int(span_from(rest, (size_t)(blank - rest.s) + 1), count))
		return false;
	*text = span_trim(span_to(rest, (size_t)(blank - rest.s)));
	return true;
}

/* "  0  64091                        :tick-60s", "CPU     ID                    FUNCTION:NAME". */
static bool is_probe_line(struct flame_span text)
{
	struct flame_span word;
	int64_t nr;

	if (span_starts(text, "CPU ") && span_ends(text, "FUNCTION:NAME"))
		return true;
	for (int i = 0; i < 2; i++) {
		if (!span_word(&text, &word) || !span_is_int(word, &nr))
			return false;
	}
	return span_word(&text, &word) && memchr(word.s, ':', word.len) && !span_trim(text).len;
}

/* "dtrace: 12 drops on CPU 0". */
static void read_message(struct flame_reader *rd, struct flame_span text)
{
	int64_t nr;

	if (span_digits(span_from(text, 8), &nr) && span_find(text, "drop") < text.len)
		flame_lost_add(rd->profile, (uint64_t)nr);
}

static int read_text(struct flame_reader *rd, struct flame_span text, size_t indent)
{
	struct state *st = rd->state;
	int64_t count;
	int err;

	if (span_starts(text, "dtrace: ")) {
		read_message(rd, text);
		return 0;
	}
	if (is_probe_line(text))
		return 0;
	if (span_is_int(text, &count) || (text.s[0] == '-' && span_is_int(span_from(text, 1), &count)))
		return end_record(rd, text.s[0] == '-' ? -count : count);
	if (cut_count(st, &text, indent, &count)) {
		err = add_entry(rd, text, indent, true, FLAME_TASK);
		return err ? err : end_record(rd, count);
	}
	return read_frame(rd, text, indent);
}

/* What stands before the first blank line is a header, unless it looks like a stack. */
static bool is_header(const struct state *st, struct flame_span line, struct flame_span text)
{
	if (st->past_header || !text.len)
		return false;
	return !is_space(line.s[0]) || !memchr(text.s, '`', text.len);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span text = span_trim(line);
	int err;

	if (is_header(st, line, text)) {
		if (span_starts(text, "dtrace: "))
			read_message(rd, text);
		return 0;
	}
	st->past_header = true;
	if (!text.len) {
		st->blank = true;
		return 0;
	}
	err = read_text(rd, text, (size_t)(text.s - line.s));
	st->blank = false;
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->type = flame_namer_type(rd->profile, "samples", "count", FLAME_VALUE_OTHER);
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err && st->nr)
		flame_damaged(rd, "the text ends inside a stack, before its count; the stacks before are used");
	return err;
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->entries);
	flame_namer_release(&st->namer);
}

/* Indented lines of "module`symbol", and below them an indented number. */
static int probe(struct flame_span head)
{
	bool named = span_find(head, "FUNCTION:NAME") < head.len;
	struct flame_span line;
	bool frame = false;

	while (span_line(&head, &line)) {
		struct flame_span text = span_trim(line);
		int64_t count;

		if (!text.len || !is_space(line.s[0]))
			continue;
		if (frame && span_is_int(text, &count))
			return named ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
		frame = memchr(text.s, '`', text.len) && !memchr(text.s, ';', text.len);
	}
	return named ? FLAME_SCORE_SHAPE : FLAME_SCORE_NOT;
}

const struct flame_converter flame_dtrace_converter = {
	.name = "dtrace",
	.summary = "stacks counted by DTrace",
	.state_size = sizeof(struct state),
	.counted = true,
	.kinds_written = FLAME_KIND_BIT(FLAME_INLINED),
	.probe = probe,
	.read = read,
	.release = release,
};

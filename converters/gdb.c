/* SPDX-License-Identifier: MIT */
/*
 * gdb - backtraces of gdb, `gdb -p PID -batch -ex 'thread apply all bt'` run again and again, and of pstack:
 *
 *     Thread 2 (Thread 0x7fb4ca6336c0 (LWP 7205) "worker"):
 *     #0  mix (v=169, h=<optimized out>) at libwork.c:6
 *     #1  0x00007fb4ca82228d in lib_recurse (depth=2) at libwork.c:27
 *     #2  0x00007fb4ca7488ec in clone3 () from /lib/libc.so.6
 *
 * Each stack is a sample. A frame whose caller has no address is inlined into it. Seen: gdb 7 to 13. Not read:
 * the values of arguments, lines that gdb wraps, and all else that it prints.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

/* "Thread 2 (Thread 0x7fb4ca6336c0 (LWP 7205) "worker"):", "Thread 1 (process 12):". */
static bool is_thread(struct flame_span line)
{
	int64_t nr;

	return span_starts(line, "Thread ") && span_digits(span_from(line, 7), &nr) && span_ends(line, "):");
}

static int32_t number_behind(struct flame_span line, const char *word)
{
	size_t at = span_find(line, word);
	int64_t nr;

	if (at == line.len || !span_digits(span_from(line, at + strlen(word)), &nr) || nr > INT32_MAX)
		return -1;
	return (int32_t)nr;
}

static void start_thread(struct flame_reader *rd, struct flame_span line)
{
	struct flame_stack_text *st = rd->state;
	struct flame_frame_info frame = { .kind = FLAME_TASK };
	struct flame_span name = span_from(line, span_find(line, "\"") + 1);
	struct flame_task_info task = { -1, number_behind(line, "(LWP "), 0 };

	name = name.len ? span_to(name, (size_t)((const char *)memrchr(line.s, '"', line.len) - name.s)) : name;
	if (!name.len)
		name = span_to(line, span_find(line, " ("));
	if (task.tid < 0)
		task.tid = number_behind(line, "(process ");
	task.comm = flame_intern(rd->profile, name.s, name.len);
	st->sample.task = flame_task_row(rd->profile, &task);
	st->root = 0;
	if (rd->options->root == FLAME_ROOT_TID || rd->options->root == FLAME_ROOT_PID)
		st->root = flame_task_root(rd->profile, &task);
	if (rd->options->threads)
		st->root = flame_stack_push(rd->profile, st->root, flame_namer_frame(&st->namer, rd, name, &frame));
}

/*
 * Return: where the arguments' " (" is: the first that stands in no brackets, as in "std::function<void
 * (int)>::operator() (this=…". @s.len where there is none.
 */
static size_t find_arguments(struct flame_span s)
{
	size_t angle = 0, round = 0;

	for (size_t i = 0; i < s.len; i++) {
		struct flame_span before = span_to(s, i);
		bool is_operator = span_ends(before, "operator") || span_ends(before, "operator<") ||
				   span_ends(before, "operator-");

		if (s.s[i] == '(' && !angle && !round && i && s.s[i - 1] == ' ' && i > 1)
			return i - 1;
		if (is_operator)
			continue;
		angle += s.s[i] == '<';
		angle -= s.s[i] == '>' && angle;
		round += s.s[i] == '(';
		round -= s.s[i] == ')' && round;
	}
	return s.len;
}

/* " at work.c:86" or " from /lib/libc.so.6" at the end. */
static void parse_place(struct flame_reader *rd, struct flame_span s, struct flame_frame_info *info)
{
	size_t at = span_find(s, ") at "), from = span_find(s, ") from ");
	struct flame_span place = span_from(s, at + 5);
	const char *colon = place.len ? memrchr(place.s, ':', place.len) : NULL;
	int64_t line;

	if (from < s.len) {
		struct flame_span module = span_from(s, from + 7);

		info->module = flame_intern(rd->profile, module.s, module.len);
	}
	if (!colon || !span_is_int(span_from(place, (size_t)(colon - place.s) + 1), &line) || line > UINT32_MAX)
		return;
	info->file = flame_intern(rd->profile, place.s, (size_t)(colon - place.s));
	info->line = (uint32_t)line;
}

/* "[libc.so.6]" for a function without a name. */
static struct flame_span unknown_name(struct flame_reader *rd, flame_string module, struct flame_span address)
{
	struct flame_stack_text *st = rd->state;
	struct flame_span base = span_base(flame_string_get(rd->profile, module));
	char *buf = flame_namer_room(&st->namer, base.len + address.len + FLAME_UNKNOWN_EXTRA);

	if (!buf)
		return address;
	return (struct flame_span){ buf, flame_unknown_name(buf, base, rd->options->addrs ? address : span_to(address, 0)) };
}

/* The frame before has no code of its own. */
static void mark_inlined(struct flame_reader *rd)
{
	struct flame_stack_text *st = rd->state;
	flame_frame *last = &st->stack.frames[st->stack.nr - 1];
	struct flame_frame_info info = *flame_frame_get(rd->profile, *last);

	info.kind = FLAME_INLINED;
	*last = flame_frame_row(rd->profile, &info);
}

/* @text: behind "#3  ". */
static int read_frame(struct flame_reader *rd, struct flame_span text)
{
	struct flame_stack_text *st = rd->state;
	struct flame_frame_info info = { 0 };
	struct flame_span name, address = { "", 0 };
	size_t in = span_find(text, " in "), end;

	if (span_starts(text, "0x") && in < text.len && in < 20) {
		address = span_to(text, in);
		text = span_from(text, in + 4);
	} else if (st->stack.nr && !span_starts(text, "<signal")) {
		mark_inlined(rd);
	}
	end = find_arguments(text);
	name = span_trim(span_to(text, end));
	parse_place(rd, span_from(text, end), &info);
	if (span_equals(name, "??"))
		name = unknown_name(rd, info.module, address);
	return flame_callstack_add(&st->stack, flame_namer_frame(&st->namer, rd, name, &info));
}

/* Return: true with what stands behind "#3  ". */
static bool is_frame(struct flame_span line, int64_t *nr, struct flame_span *text)
{
	size_t digits = span_starts(line, "#") ? span_digits(span_from(line, 1), nr) : 0;

	*text = span_trim(span_from(line, digits + 1));
	return digits && text->len && digits + 1 < line.len && line.s[digits + 1] == ' ';
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct flame_stack_text *st = rd->state;
	struct flame_span text;
	int64_t nr;
	int err = 0;

	line = span_trim(line);
	if (is_frame(line, &nr, &text)) {
		if (!nr)
			err = flame_stack_text_end(rd);
		return err ? err : read_frame(rd, text);
	}
	if (st->stack.nr)
		err = flame_stack_text_end(rd);
	if (!err && is_thread(line))
		start_thread(rd, line);
	return err;
}

static int read(struct flame_reader *rd)
{
	int err = flame_stack_text_read(rd, read_line);

	return err ? err : flame_stack_text_end(rd);
}

static int probe(struct flame_span head)
{
	struct flame_span line, text;
	bool thread = false;
	int64_t nr;

	while (span_line(&head, &line)) {
		if (is_frame(line, &nr, &text) && !nr) {
			size_t in = span_find(text, " in ");

			/* Without "in" the address is followed by the name: that is eu-stack's. */
			if (span_starts(text, "0x") && (in == text.len || in > 20))
				return FLAME_SCORE_NOT;
			if (span_find(text, " (") < text.len)
				return thread ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
		}
		thread |= is_thread(line);
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_gdb_converter = {
	.name = "gdb",
	.summary = "backtraces of gdb and pstack, many in one file",
	.state_size = sizeof(struct flame_stack_text),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = flame_stack_text_release,
};

/* SPDX-License-Identifier: MIT */
/*
 * faulthandler - stacks of Python's faulthandler module, dumped again and again:
 *
 *     Thread 0x00007f266094a6c0 (most recent call first):
 *       File "/src/work.py", line 8 in sleeper
 *       File "/src/work.py", line 13 in loop
 *
 * Each thread of each dump is a sample. Frames are file:line:function, as FlameGraph's script has them;
 * --simple-names leaves only the function. Seen: CPython 3.11; thread names of 3.14 ("Thread 0x… [name] (most
 * …"). "..." at the end of a stack says that it is cut off: its root is [truncated]. Not read: what stands
 * between stacks.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

struct state {
	struct flame_stack_text text;
	bool in_stack;
};

static bool is_start(struct flame_span line)
{
	if (span_find(line, "(most recent call first):") == line.len)
		return false;
	return span_starts(line, "Thread 0x") || span_starts(line, "Current thread 0x") ||
	       span_starts(line, "Stack (most");
}

/* "Current thread 0x1 [name] (most recent call first):": the name, or "Thread 0x1". */
static struct flame_span thread_name(struct flame_span line)
{
	size_t open = span_find(line, " ["), id = span_find(line, "hread 0x");
	struct flame_span name = span_from(line, open + 2);
	struct flame_span word = span_from(line, id + 6);

	if (open < line.len && span_find(name, "] (most") < name.len)
		return span_to(name, span_find(name, "] (most"));
	return span_to(word, span_find(word, " "));
}

static int end_stack(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->in_stack)
		return 0;
	st->in_stack = false;
	return flame_callstack_end(&st->text.stack, rd->profile, &st->text.sample);
}

static int start_stack(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_TASK };
	int err = end_stack(rd);

	st->in_stack = true;
	st->text.sample.stack = 0;
	if (rd->options->threads)
		st->text.sample.stack = flame_stack_push(rd->profile, 0,
						    flame_namer_frame(&st->text.namer, rd, thread_name(line), &info));
	return err;
}

/* "  File "x.py", line 8 in sleeper". */
static int read_frame(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { 0 };
	struct flame_span file, name;
	size_t at;
	int64_t line;
	char *buf, *to;

	if (!span_starts(text, "File \""))
		return flame_skip(rd, "a line in a stack that is no frame");
	text = span_from(text, 6);
	at = span_find(text, "\", line ");
	file = span_to(text, at);
	text = span_from(text, at + 8);
	at = span_digits(text, &line);
	name = span_from(text, at + 4);
	if (!at || !name.len || !span_starts(span_from(text, at), " in "))
		return flame_skip(rd, "a line in a stack that is no frame");
	info.file = flame_intern(rd->profile, file.s, file.len);
	info.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	if (!rd->options->simple_names) {
		buf = flame_namer_room(&st->text.namer, file.len + name.len + at + 2);
		if (!buf)
			return FLAME_ENOMEM;
		to = mempcpy(buf, file.s, file.len);
		*to++ = ':';
		to = mempcpy(to, text.s, at);
		*to++ = ':';
		to = mempcpy(to, name.s, name.len);
		name = (struct flame_span){ buf, (size_t)(to - buf) };
		/* The place is in the name already. */
		info.file = info.line = 0;
	}
	return flame_callstack_add(&st->text.stack, flame_namer_frame(&st->text.namer, rd, name, &info));
}

static int add_marker(struct flame_reader *rd, const char *name)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_MARKER };
	struct flame_span s = { name, strlen(name) };

	return flame_callstack_add(&st->text.stack, flame_namer_frame(&st->text.namer, rd, s, &info));
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span text = span_trim(line);

	if (is_start(line))
		return start_stack(rd, line);
	if (!st->in_stack)
		return 0;
	if (!text.len || !is_space(line.s[0]))
		return end_stack(rd);
	if (span_equals(text, "..."))
		return add_marker(rd, "[truncated]");
	if (span_equals(text, "<no Python frame>"))
		return add_marker(rd, "[no Python frame]");
	return read_frame(rd, text);
}

static int read(struct flame_reader *rd)
{
	int err = flame_stack_text_read(rd, read_line);

	return err ? err : end_stack(rd);
}

static int probe(struct flame_span head)
{
	struct flame_span line;

	while (span_line(&head, &line)) {
		if (is_start(line))
			return FLAME_SCORE_MAGIC;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_faulthandler_converter = {
	.name = "faulthandler",
	.summary = "stacks dumped by Python's faulthandler",
	.choices = FLAME_CHOICE_SIMPLE,
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = flame_stack_text_release,
};

/* SPDX-License-Identifier: MIT */
/*
 * elfutils - stacks of `eu-stack -p PID`, run again and again:
 *
 *     PID 10304 - process
 *     TID 10304:
 *     #0  0x00007f5037560ba4 msort_with_tmp.part.0
 *     #1  0x00007f5037560d36 qsort_r - 1
 *
 * Each thread's stack is a sample. Seen: elfutils 0.188, and " - 1" behind names of older ones. A frame without
 * a name is [unknown]. Read of -m: the module behind " - ". Not read: source lines of -s.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

struct state {
	struct flame_stack_text text;
	int32_t pid;
};

/* A root frame such as TID=12. */
static void push_id(struct flame_reader *rd, const char *key, int32_t id)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_TASK };
	char name[32];
	int len = snprintf(name, sizeof(name), "%s=%d", key, id);
	struct flame_span text = { name, (size_t)len };

	st->text.root = flame_stack_push(rd->profile, st->text.root, flame_namer_frame(&st->text.namer, rd, text, &info));
}

/* --pid and --tid make root frames PID=1 and TID=2, as FlameGraph's script does. */
static void start_thread(struct flame_reader *rd, struct flame_span id)
{
	struct state *st = rd->state;
	struct flame_task_info task = { st->pid, -1, 0 };
	int64_t tid;

	if (span_digits(id, &tid) && tid <= INT32_MAX)
		task.tid = (int32_t)tid;
	st->text.sample.task = flame_task_row(rd->profile, &task);
	st->text.root = 0;
	if (rd->options->root == FLAME_ROOT_PID || rd->options->root == FLAME_ROOT_TID)
		push_id(rd, "PID", st->pid);
	if (rd->options->root == FLAME_ROOT_TID || rd->options->threads)
		push_id(rd, "TID", task.tid);
}

/* Return: true with the number of the frame and what stands behind its address. */
static bool is_frame(struct flame_span line, int64_t *nr, struct flame_span *address, struct flame_span *name)
{
	size_t digits = span_starts(line, "#") ? span_digits(span_from(line, 1), nr) : 0;
	struct flame_span rest = span_from(line, digits + 1);

	if (!digits || !span_word(&rest, address) || !span_starts(*address, "0x"))
		return false;
	*name = span_trim(rest);
	return !span_starts(*name, "in ");
}

/* "poll - 1" is a call's return address; "poll - /lib/libc.so.6" its module. */
static int read_frame(struct flame_reader *rd, struct flame_span name, struct flame_span address)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { 0 };
	size_t at = span_find(name, " - ");
	struct flame_span behind = span_from(name, at + 3);

	if (at < name.len) {
		if (span_find(behind, "/") < behind.len)
			info.module = flame_intern(rd->profile, behind.s, behind.len);
		name = span_to(name, at);
	}
	if (!name.len && rd->options->addrs)
		name = address;
	return flame_callstack_add(&st->text.stack, flame_namer_frame(&st->text.namer, rd, name, &info));
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span address, name;
	int64_t nr;
	int err = 0;

	line = span_trim(line);
	if (is_frame(line, &nr, &address, &name)) {
		if (!nr)
			err = flame_stack_text_end(rd);
		return err ? err : read_frame(rd, name, address);
	}
	if (span_starts(line, "TID ") || span_starts(line, "PID "))
		err = flame_stack_text_end(rd);
	if (!err && span_starts(line, "TID "))
		start_thread(rd, span_from(line, 4));
	else if (!err && span_starts(line, "PID ") && span_digits(span_from(line, 4), &nr) && nr <= INT32_MAX)
		st->pid = (int32_t)nr;
	return err;
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err;

	st->pid = -1;
	err = flame_stack_text_read(rd, read_line);
	return err ? err : flame_stack_text_end(rd);
}

static int probe(struct flame_span head)
{
	struct flame_span line, address, name;
	bool thread = false;
	int64_t nr;

	while (span_line(&head, &line)) {
		if (is_frame(line, &nr, &address, &name))
			return thread ? FLAME_SCORE_MAGIC : FLAME_SCORE_SHAPE;
		thread = span_starts(line, "TID ") && span_ends(line, ":");
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_elfutils_converter = {
	.name = "elfutils",
	.summary = "stacks of eu-stack, many in one file",
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = flame_stack_text_release,
};

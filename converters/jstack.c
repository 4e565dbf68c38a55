/* SPDX-License-Identifier: MIT */
/*
 * jstack - thread dumps of a JVM, `jstack PID`, `jcmd PID Thread.print` or kill -3, taken again and again:
 *
 *     "worker-3" #1 prio=5 os_prio=0 tid=0x00007fa070017ed0 nid=0x1b90 runnable [0x00007fa0753fe000]
 *        java.lang.Thread.State: RUNNABLE
 *     	at Work$Sq.area(Work.java:12)
 *     	at Work.main(Work.java:64)
 *
 * Each thread of each dump is a sample. States are events of their own: runnable, blocked, waiting,
 * timed_waiting, and background for the JVM's own threads that always look busy; threads that wait in epoll,
 * accept or read count as waiting, whatever the JVM says. The root frame is the thread's name without a number
 * at its end (--no-comm: none). Seen: JDK 8 to 21. Not read: locks, native stacks, groups of virtual threads.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

enum thread_state { RUNNABLE, BLOCKED, WAITING, TIMED_WAITING, BACKGROUND, OTHER, NR_STATES };

static const struct {
	const char *name;
	enum flame_value_kind kind;
} states[NR_STATES] = {
	[RUNNABLE] = { "runnable", FLAME_VALUE_ON_CPU },
	[BLOCKED] = { "blocked", FLAME_VALUE_LOCK },
	[WAITING] = { "waiting", FLAME_VALUE_OFF_CPU },
	[TIMED_WAITING] = { "timed_waiting", FLAME_VALUE_OFF_CPU },
	[BACKGROUND] = { "background", FLAME_VALUE_OTHER },
	[OTHER] = { "other", FLAME_VALUE_OTHER },
};

struct state {
	struct flame_stack_text text;
	flame_type types[NR_STATES];
	bool in_thread;
	enum thread_state thread;
};

static int end_thread(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const char *state = states[st->thread].name;

	if (!st->in_thread)
		return 0;
	st->in_thread = false;
	st->text.sample.type = st->types[st->thread];
	if (!flame_wants_state(rd, (struct flame_span){ state, strlen(state) })) {
		st->text.stack.nr = 0;
		return 0;
	}
	return flame_callstack_end(&st->text.stack, rd->profile, &st->text.sample);
}

/* "pool-1-thread-3" and "pool-1-thread-4" do the same. */
static struct flame_span cut_number(struct flame_span name)
{
	size_t end = name.len;

	while (end && name.s[end - 1] >= '0' && name.s[end - 1] <= '9')
		end--;
	return end && end < name.len && name.s[end - 1] == '-' && end > 1 ? span_to(name, end - 1) : name;
}

static bool is_background(struct flame_span name)
{
	static const char *const names[] = { "Attach Listener", "Signal Dispatcher", "Service Thread" };

	if (span_find(name, "CompilerThread") < name.len)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (span_equals(name, names[i]))
			return true;
	}
	return false;
}

static int32_t native_id(struct flame_span line)
{
	size_t at = span_find(line, " nid=");
	char text[24] = "";
	struct flame_span id = span_from(line, at + 5);

	id = span_to(id, span_find(id, " "));
	if (!id.len || id.len >= sizeof(text))
		return -1;
	memcpy(text, id.s, id.len);
	return (int32_t)(strtoul(text, NULL, 0) & INT32_MAX);
}

/* "\"worker-3\" #1 prio=5 …". */
static int start_thread(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_frame_info frame = { .kind = FLAME_TASK };
	const char *end = memrchr(line.s, '"', line.len);
	struct flame_span name = { line.s + 1, (size_t)(end - line.s) - 1 };
	struct flame_task_info task = { -1, native_id(line), 0 };
	int err = end_thread(rd);

	st->in_thread = true;
	st->thread = is_background(name) ? BACKGROUND : OTHER;
	name = cut_number(name);
	task.comm = flame_intern(rd->profile, name.s, name.len);
	st->text.sample.task = flame_task_row(rd->profile, &task);
	st->text.sample.stack = 0;
	if (rd->options->root == FLAME_ROOT_PID || rd->options->root == FLAME_ROOT_TID)
		st->text.sample.stack = flame_task_root(rd->profile, &task);
	else if (rd->options->root != FLAME_ROOT_NONE || rd->options->threads)
		st->text.sample.stack = flame_stack_push(rd->profile, 0, flame_namer_frame(&st->text.namer, rd, name, &frame));
	return err;
}

static void set_state(struct state *st, struct flame_span text)
{
	struct flame_span word;

	if (st->thread == BACKGROUND || !span_word(&text, &word))
		return;
	for (int i = RUNNABLE; i <= TIMED_WAITING; i++) {
		if (word.len == strlen(states[i].name) && !strncasecmp(word.s, states[i].name, word.len))
			st->thread = (enum thread_state)i;
	}
}

/* A runnable thread whose leaf waits for the network does not run. */
static bool is_wait(struct flame_span name)
{
	return span_find(name, "epollWait") < name.len || span_ends(name, "EPoll.wait") ||
	       span_ends(name, "socketAccept") || span_ends(name, "socketRead0") || (span_find(name, "Socket") < name.len && span_ends(name, "accept0"));
}

/* "java.base@17.0.15/java.lang.Thread.run": the module, in some dumps, stands before the name. */
static struct flame_span cut_module(struct flame_span name)
{
	size_t slash = span_find(name, "/");
	struct flame_span module = span_to(name, slash);

	if (slash == name.len || span_starts(span_from(name, slash), "/0x"))
		return name;
	if (span_find(module, "@") < module.len || span_starts(module, "java.") || span_starts(module, "jdk."))
		return span_from(name, slash + 1);
	return name;
}

/* "a.b.Class.method": without the package. "/0x…" of a hidden class may hold no dot. */
static struct flame_span cut_package(struct flame_span name)
{
	const char *method = name.len ? memrchr(name.s, '.', name.len) : NULL;
	const char *package = method ? memrchr(name.s, '.', (size_t)(method - name.s)) : NULL;

	return package ? span_from(name, (size_t)(package - name.s) + 1) : name;
}

/* "Work$$Lambda$1/0x00007f9ff0000a08.run" becomes "Work$$Lambda.run". */
static struct flame_span normalize(struct flame_span name, char *buf)
{
	size_t at = span_find(name, "$$Lambda"), end = at + 8;
	const char *method;

	if (at == name.len) {
		at = span_find(name, "/0x");
		end = at;
	}
	method = name.len ? memrchr(name.s, '.', name.len) : NULL;
	if (at == name.len || !method || method < name.s + end)
		return name;
	memmove(buf, name.s, end);
	memmove(buf + end, method, (size_t)(name.s + name.len - method));
	return (struct flame_span){ buf, end + (size_t)(name.s + name.len - method) };
}

/* "(Work.java:64)", "(java.base@17/Thread.java:840)". */
static void parse_place(struct flame_reader *rd, struct flame_span s, struct flame_frame_info *info)
{
	size_t colon = span_find(s, ":");
	int64_t line;

	if (colon == s.len || !span_digits(span_from(s, colon + 1), &line) || line > UINT32_MAX)
		return;
	s = span_base(span_to(s, colon));
	info->file = flame_intern(rd->profile, s.s, s.len);
	info->line = (uint32_t)line;
}

static int read_frame(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { 0 };
	size_t open = span_find(text, "(");
	struct flame_span name = cut_module(span_trim(span_to(text, open)));
	char *buf = flame_namer_room(&st->text.namer, name.len + 1);

	if (!buf)
		return FLAME_ENOMEM;
	parse_place(rd, span_from(text, open + 1), &info);
	if (!st->text.stack.nr && st->thread == RUNNABLE && is_wait(name))
		st->thread = WAITING;
	if (rd->options->simple_names)
		name = cut_package(name);
	if (rd->options->normalize_names)
		name = normalize(name, buf);
	return flame_callstack_add(&st->text.stack, flame_namer_frame(&st->text.namer, rd, name, &info));
}

static bool is_thread(struct flame_span line)
{
	return line.len > 2 && line.s[0] == '"' && memrchr(line.s + 1, '"', line.len - 1) &&
	       (span_find(line, " tid=") < line.len || span_find(line, " nid=") < line.len ||
		span_find(line, " prio=") < line.len);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	static const char key[] = "java.lang.Thread.State: ";
	struct state *st = rd->state;
	struct flame_span text = span_trim(line);

	if (is_thread(line))
		return start_thread(rd, line);
	if (!text.len)
		return end_thread(rd);
	if (!st->in_thread)
		return 0;
	if (span_starts(text, key))
		set_state(st, span_from(text, sizeof(key) - 1));
	else if (span_starts(text, "at "))
		return read_frame(rd, span_from(text, 3));
	return 0;
}

static void make_types(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (int i = 0; i < NR_STATES; i++) {
		struct flame_type_info info = {
			.name = flame_intern(rd->profile, states[i].name, strlen(states[i].name)),
			.unit = flame_intern(rd->profile, "count", 5), .kind = states[i].kind,
		};

		st->types[i] = flame_type_row(rd->profile, &info);
	}
	st->text.sample.type = st->types[OTHER];
}

static int read(struct flame_reader *rd)
{
	int err;

	make_types(rd);
	err = flame_stack_text_read(rd, read_line);
	return err ? err : end_thread(rd);
}

static int probe(struct flame_span head)
{
	bool thread = false;
	struct flame_span line;

	if (span_find(head, "Full thread dump ") < head.len)
		return FLAME_SCORE_MAGIC;
	while (span_line(&head, &line)) {
		if (thread && span_starts(span_trim(line), "java.lang.Thread.State: "))
			return FLAME_SCORE_MAGIC;
		thread = is_thread(line);
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_jstack_converter = {
	.name = "jstack",
	.summary = "thread dumps of a JVM, many in one file",
	.choices = FLAME_CHOICE_STATE | FLAME_CHOICE_SIMPLE | FLAME_CHOICE_JAVA,
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = flame_stack_text_release,
};

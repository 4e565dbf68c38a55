/* SPDX-License-Identifier: MIT */
/*
 * sample - the text of macOS' sample(1) and of Activity Monitor's "Sample Process":
 *
 *     Call graph:
 *         10 Thread_2663   DispatchQueue_1: com.apple.main-thread  (serial)
 *         + 10 start  (in libdyld.dylib) + 1  [0x7fff902a75ad]
 *         +   6 -[MyView drawRect:]  (in My App) + 60  [0x1069e17ac]  MyView.m:12
 *         +   ! 4 ???  (in My App)  load address 0x1069de000 + 0x13dea66  [0x107dbca66]
 *
 * A count is of all samples in the function and what it calls; the column where it stands tells the depth. Seen:
 * the layout of macOS 10.5 and later ("Analysis of sampling …", "Sampling process …"). Not read: what follows
 * the call graph (totals of functions, top of stack, binary images), and spindump's reports.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../core/calltree.h"
#include "../core/converter.h"
#include "../core/meta.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/tidy.h"

/* Functions that a thread waits in when it is at their leaf. */
static const char *const waits[] = {
	"__psynch_cvwait", "__psynch_mutexwait", "__select", "__semwait_signal", "__sigsuspend", "__ulock_wait",
	"__ulock_wait2", "__wait4", "__workq_kernreturn", "kevent", "kevent64", "kevent_id", "kevent_qos",
	"mach_msg_trap", "mach_msg2_trap", "poll", "read", "semaphore_timedwait_trap", "semaphore_wait_trap",
};

struct state {
	struct flame_calltree tree;
	struct flame_namer namer;
	bool graph;		/* between "Call graph:" and what ends it */
};

/* A line of the graph, taken apart. */
struct node {
	size_t column;
	int64_t count;
	struct flame_span name, module, offset, address, file;
	uint32_t line;
};

/* What stands behind a module's name: its end is told by it, since names may hold parentheses. */
static size_t find_module_end(struct flame_span s)
{
	static const char *const behind[] = { ") + ", ")  load address ", ")  [0x", ") [0x" };
	const char *last;
	size_t best = s.len;

	for (size_t i = 0; i < sizeof(behind) / sizeof(*behind); i++) {
		size_t at = span_find(s, behind[i]);

		best = at < best ? at : best;
	}
	if (best < s.len)
		return best;
	last = s.len ? memrchr(s.s, ')', s.len) : NULL;
	return last ? (size_t)(last - s.s) : s.len;
}

/* "  main.c:12", behind the address where there is debug information. */
static void parse_place(struct flame_span s, struct node *n)
{
	const char *colon;
	int64_t line;

	s = span_trim(s);
	colon = s.len ? memrchr(s.s, ':', s.len) : NULL;
	if (!colon || !span_is_int(span_from(s, (size_t)(colon - s.s) + 1), &line) || line > UINT32_MAX)
		return;
	n->file = span_to(s, (size_t)(colon - s.s));
	n->line = (uint32_t)line;
}

/* " + 60  [0x1069e17ac]  MyView.m:12", "  load address 0x1069de000 + 0x13dea66  [0x107dbca66]". */
static void parse_rest(struct flame_span s, struct node *n)
{
	size_t at = span_find(s, "[0x"), end;

	if (at < s.len) {
		n->address = span_from(s, at + 1);
		end = span_find(n->address, "]");
		parse_place(span_from(n->address, end + 1), n);
		n->address = span_to(n->address, end);
		s = span_to(s, at);
	}
	at = span_find(s, "+ ");
	if (at < s.len)
		n->offset = span_trim(span_from(s, at + 2));
}

static bool is_tree_char(char c)
{
	return c == ' ' || c == '+' || c == '!' || c == ':' || c == '|';
}

/* Return: false where @line is no node. */
static bool parse_node(struct flame_span line, struct node *n)
{
	size_t digits, at;
	struct flame_span rest;

	*n = (struct node){ 0 };
	while (n->column < line.len && is_tree_char(line.s[n->column]))
		n->column++;
	rest = span_from(line, n->column);
	digits = span_digits(rest, &n->count);
	if (!n->column || !digits || digits == rest.len || rest.s[digits] != ' ')
		return false;
	rest = span_from(rest, digits + 1);
	at = span_find(rest, "  (in ");
	n->name = span_trim(span_to(rest, at));
	if (at == rest.len) {
		/* "Thread_2663   DispatchQueue_1: …", or a function without a module and its address. */
		at = span_find(n->name, "  ");
		parse_rest(span_from(n->name, at), n);
		n->name = span_to(n->name, at);
		return true;
	}
	rest = span_from(rest, at + 6);
	at = find_module_end(rest);
	n->module = span_to(rest, at);
	parse_rest(span_from(rest, at + 1), n);
	return true;
}

/* "[My App]" for functions without a name. */
static struct flame_span unknown_name(struct flame_reader *rd, const struct node *n, char *buf)
{
	return (struct flame_span){ buf, flame_unknown_name(buf, n->module, span_to(n->address, rd->options->addrs ? n->address.len : 0)) };
}

static struct flame_span known_name(struct flame_reader *rd, const struct node *n, char *buf)
{
	struct flame_span name = rd->options->raw_names ? n->name : flame_tidy_half_rust(n->name, buf);

	if (!rd->options->offsets || !n->offset.len)
		return name;
	memmove(buf, name.s, name.len);
	buf[name.len] = '+';
	memcpy(buf + name.len + 1, n->offset.s, n->offset.len);
	return (struct flame_span){ buf, name.len + 1 + n->offset.len };
}

static flame_frame make_frame(struct flame_reader *rd, const struct node *n)
{
	struct state *st = rd->state;
	bool unknown = !n->name.len || span_equals(n->name, "???");
	char *buf = flame_namer_room(&st->namer, n->name.len + n->module.len + n->offset.len + n->address.len + FLAME_UNKNOWN_EXTRA);
	struct flame_frame_info info = {
		.module = flame_intern(rd->profile, n->module.s, n->module.len),
		.file = flame_intern(rd->profile, n->file.s, n->file.len),
		.line = n->line,
		.kind = span_starts(n->name, "Thread_") && !n->module.len ? FLAME_TASK : FLAME_USER,
	};

	if (!buf)
		return 0;
	return flame_namer_frame(&st->namer, rd, unknown ? unknown_name(rd, n, buf) : known_name(rd, n, buf), &info);
}

static bool is_wait(struct flame_span name)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (span_equals(name, waits[i]))
			return true;
	}
	return false;
}

static int read_node(struct flame_reader *rd, const struct node *n)
{
	struct state *st = rd->state;
	struct flame_calltree_value value = { .total = n->count, .self = -1 };
	flame_frame frame = make_frame(rd, n);

	/* What waits stays a part of its caller's total, and is not added itself. */
	if (rd->options->no_idle && is_wait(n->name)) {
		value.self = 0;
		value.slack = n->count;
	}
	return frame ? flame_calltree_enter(&st->tree, n->column, frame, &value) : flame_profile_error(rd->profile);
}

static int end_graph(struct flame_reader *rd)
{
	struct state *st = rd->state;

	st->graph = false;
	return flame_calltree_end(&st->tree);
}

/* "Analysis of sampling My App (pid 12) every 1 millisecond" */
static void read_title(struct flame_reader *rd, struct flame_span line)
{
	struct flame_span every = span_from(line, span_find(line, " every "));
	int64_t ms;

	if (every.len && span_digits(span_from(every, 7), &ms) && span_find(every, " millisecond") < every.len)
		flame_meta_interval(rd->profile, (double)ms * 1e6);
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct node n;

	if (span_starts(line, "Analysis of sampling "))
		read_title(rd, line);

	if (span_starts(line, "Call graph:")) {
		st->graph = true;
		return flame_calltree_end(&st->tree);
	}
	if (!st->graph)
		return 0;
	if (!span_trim(line).len)
		return st->tree.nr ? end_graph(rd) : 0;
	if (line.s[0] != ' ')
		return end_graph(rd);
	if (!parse_node(line, &n))
		return flame_skip(rd, "no count and function in a line of the call graph");
	return read_node(rd, &n);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->tree.profile = rd->profile;
	st->tree.type = flame_namer_type(rd->profile, "samples", "count", FLAME_VALUE_WALL);
	st->tree.counts = true;
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	if (!err && st->graph && st->tree.nr)
		flame_damaged(rd, "the text ends inside the call graph; what came before is used");
	if (!err)
		err = flame_calltree_end(&st->tree);
	if (st->tree.nr_short)
		flame_note(rd, "functions with fewer samples than what they call: %llu; they count as 0 themselves",
			   (unsigned long long)st->tree.nr_short);
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
	bool named = span_starts(head, "Analysis of sampling ") || span_starts(head, "Sampling process ") ||
		     span_find(head, "\nAnalysis of sampling ") < head.len;
	bool graph = false;
	struct flame_span line;
	struct node n;

	while (span_line(&head, &line)) {
		if (graph && span_trim(line).len)
			return !parse_node(line, &n) ? FLAME_SCORE_NOT : named ? FLAME_SCORE_MAGIC : FLAME_SCORE_RECORD;
		graph |= span_starts(line, "Call graph:");
	}
	return named ? FLAME_SCORE_SHAPE : FLAME_SCORE_NOT;
}

const struct flame_converter flame_sample_converter = {
	.name = "sample",
	.summary = "the text of macOS' sample and of Activity Monitor",
	.choices = FLAME_CHOICE_IDLE,
	.state_size = sizeof(struct state),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = release,
};

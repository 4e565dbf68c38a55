/* SPDX-License-Identifier: MIT */
/*
 * test_perf_text.c - first lines of samples and frames, as perf prints them and as names make them look.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../converters/perf_text.h"

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

/* Of exact size, so that the sanitizer sees a byte too many. */
static char *exact(const char *s)
{
	size_t len = strlen(s);
	char *copy = malloc(len + !len);

	memcpy(copy, s, len);
	return copy;
}

static void assert_span(struct flame_span got, const char *want, const char *what, const char *line)
{
	if (got.len != strlen(want) || memcmp(got.s, want, got.len))
		fail_msg("%s of '%s': '%.*s', not '%s'", what, line, (int)got.len, got.s, want);
}

struct header_case {
	const char *line, *comm;
	int pid, tid;
	int64_t time;		/* -1: none */
	uint64_t period;
	const char *event, *rest;
};

static const struct header_case headers[] = {
	{ "app 12 [000] 1.5: 7 cycles:", "app", -1, 12, 1500000000, 7, "cycles", "" },
	{ "app 12 1.000000001: 7 cycles:u: ", "app", -1, 12, 1000000001, 7, "cycles:u", "" },
	{ "app 11/12 [127] 1.5: cycles:", "app", 11, 12, 1500000000, 0, "cycles", "" },
	{ "app 12 [000] 7 cycles:", "app", -1, 12, -1, 7, "cycles", "" },
	{ "app 12 7 cycles:", "app", -1, 12, -1, 7, "cycles", "" },
	{ "my app 2 12 [000] 1.5: 7 cycles:", "my app 2", -1, 12, 1500000000, 7, "cycles", "" },
	{ "t 12 [000] 1.5: 7 cycles:", "t", -1, 12, 1500000000, 7, "cycles", "" },
	{ " 12 [000] 1.5: 7 cycles:", "", -1, 12, 1500000000, 7, "cycles", "" },
	{ "   app 12 [000] 1.5: 7 cycles:  4005 f+0x1 (/a b)", "app", -1, 12, 1500000000, 7, "cycles", "4005 f+0x1 (/a b)" },
	{ ":-1 -1 [000] 1.5: 7 cycles:", ":-1", -1, -1, 1500000000, 7, "cycles", "" },
	{ ":17 17/17 [000] 1.5: 7 cycles:", ":17", 17, 17, 1500000000, 7, "cycles", "" },
	{ "1 [0] 3.4: 12 [000] 1.5: 7 cycles:", "1 [0] 3.4:", -1, 12, 1500000000, 7, "cycles", "" },
	{ "[a] (b) c:d 12 [000] 1.5: 7 cycles:", "[a] (b) c:d", -1, 12, 1500000000, 7, "cycles", "" },
	/* The payload's look-alike would need a comm of more than 15 bytes. */
	{ "app 12 [000] 1.5: sched:x: comm=other 13 [001] 2.5: 9 fake:", "app", -1, 12, 1500000000, 0, "sched:x",
	  "comm=other 13 [001] 2.5: 9 fake:" },
	{ "app\t12/13\t[003]\t1.5:\t7\tcycles:", "app", 12, 13, 1500000000, 7, "cycles", "" },
	{ "com.example.longer.than.that 12 [000] 1.5: 7 cycles:", "com.example.longer.than.that", -1, 12, 1500000000, 7, "cycles", "" },
	{ "app 12 [000] 1.5: 7 cpu_core/cycles/P:", "app", -1, 12, 1500000000, 7, "cpu_core/cycles/P", "" },
	{ "app 12 KU [000] 1.5: 7 cycles:", "app", -1, 12, 1500000000, 7, "cycles", "" },
	{ "app 12 [000] 1.5: 18446744073709551615 cycles:", "app", -1, 12, 1500000000, UINT64_MAX, "cycles", "" },
	{ "app 2147483647 [000] 1.5: 7 cycles:", "app", -1, INT32_MAX, 1500000000, 7, "cycles", "" },
	{ "app 12 [000] 1.5: 7 cycles: cgroup: /x.scope", "app", -1, 12, 1500000000, 7, "cycles", "cgroup: /x.scope" },
	/* Without ids, and without a time. */
	{ "a b [000] 1.5: 7 sched:x: next=c 13 [001] 2.5: 9 f:", "a b", -1, -1, 1500000000, 7, "sched:x", "next=c 13 [001] 2.5: 9 f:" },
	{ "a b [000] KU 1.5: 7 sched:x: y", "a b", -1, -1, 1500000000, 7, "sched:x", "y" },
	{ "a b 1.500000: 7 sched:x: next=c 13 [001] 2.5: 9 f:", "a b", -1, -1, 1500000000, 7, "sched:x", "next=c 13 [001] 2.5: 9 f:" },
	{ "   a b [000] 1.5: 7 cycles:  4005 f+0x1 (/a b)", "a b", -1, -1, 1500000000, 7, "cycles", "4005 f+0x1 (/a b)" },
	{ "a b    12 [000] 7 probe:f: (4005) s=\"u 13 [001] 2.5: 9 f:\"", "a b", -1, 12, -1, 7, "probe:f", "(4005) s=\"u 13 [001] 2.5: 9 f:\"" },
	{ "#3 12 [000] 1.5: 7 cycles:", "#3", -1, 12, 1500000000, 7, "cycles", "" },
};

static void check_header(const struct header_case *c)
{
	char *line = exact(c->line);
	struct perf_header h;

	if (!perf_parse_header((struct flame_span){ line, strlen(c->line) }, &h))
		fail_msg("not a header: '%s'", c->line);
	assert_span(h.comm, c->comm, "comm", c->line);
	assert_span(h.event, c->event, "event", c->line);
	assert_span(h.rest, c->rest, "rest", c->line);
	assert_int_equal(h.pid, c->pid);
	assert_int_equal(h.tid, c->tid);
	assert_int_equal(h.has_time, c->time >= 0);
	if (h.has_time)
		assert_int_equal(h.time, c->time);
	assert_int_equal(h.period, c->period);
	assert_int_equal(h.record.len, 0);
	free(line);
}

static void test_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		check_header(&headers[i]);
}

static void test_comments(void **state)
{
	static const char *const comments[] = {
		"#", "# ========", "# app 12 [000] 1.5: 7 cycles:", "#\tapp 12 [000] 1.5: 7 cycles:", "#app", "#app 12",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(comments) / sizeof(*comments); i++)
		assert_true(perf_is_comment(span(comments[i])));
	assert_false(perf_is_comment(span("")));
	assert_false(perf_is_comment(span("app 12 [000] 1.5: 7 cycles:")));
	assert_false(perf_is_comment(span("#3 12 [000] 1.5: 7 cycles:")));
	assert_false(perf_is_comment(span("##x 12 7 cycles:")));
}

static void test_branch_text(void **state)
{
	static const char *const lines[] = {
		"\tmain+0x30:", "\t00000000004019f0\tinsn: c3", "\t00000000004019f0\tmovl $0, (%rax)", "\tffffffff81000010\tretq \t# PRED 1 cycles [6]",
	};
	static const char *const others[] = {
		"", "main+0x30:", "\t00000000004019f0 f+0x1 (/x)", "\t0000007b0da4f360\tf (/x)", "\t0000007b0da4f360\tf\t([vdso])", "\tf+0x1 (/x)",
		"\t        401ebb f::", "\t401ebb\tf",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_true(perf_is_branch_text(span(lines[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(perf_is_branch_text(span(others[i])));
}

static void test_records(void **state)
{
	struct perf_header h;

	(void)state;
	assert_true(perf_parse_header(span("app 1 [0] 1.5: PERF_RECORD_LOST lost 17"), &h));
	assert_span(h.record, "PERF_RECORD_LOST lost 17", "record", "");
	assert_int_equal(h.event.len, 0);
}

static void test_not_headers(void **state)
{
	static const char *const lines[] = {
		"", " ", "app", "app 12", "          sleep-1234  [001] 5.123456: sys_enter: NR 1", "12", "\t4005d0 f+0x1 (/x)", " 4005d0 f+0x1 (/x)", "a;b;c 12", "# app 12 cycles",
		"ABI:2 AX:0x1", "app 12 [000] 1.5 7 cycles", "app x 1.5: cycles:", "app 99999999999 [000] 1.5 cycles:",
		"0x1/0x2/P/-/-/0", "  file.c:12", "app 12 [0x] 1.5: cycles:",
	};
	struct perf_header h;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char *line = exact(lines[i]);

		if (perf_parse_header((struct flame_span){ line, strlen(lines[i]) }, &h))
			fail_msg("a header: '%s'", lines[i]);
		free(line);
	}
}

/* What perf prints into columns of 5, 10 and 16 places. */
static void test_columns(void **state)
{
	static const struct {
		const char *line, *comm;
		int tid;
		uint64_t period;
		const char *event;
	} cases[] = {
		{ "20467 cycles: ", "", 20467, 0, "cycles" },
		{ "    7 cycles: ", "", 7, 0, "cycles" },
		{ "   2004008 cycles: ", "", -1, 2004008, "cycles" },
		{ "4611686018427387904 cycles: ", "", -1, 4611686018427387904u, "cycles" },
		{ "Thread 17 cycles: ", "Thread 17", -1, 0, "cycles" },
		{ "Thread 17     7 cycles: ", "Thread 17", 7, 0, "cycles" },
		{ "Thread 17    1003009 ", "Thread 17", -1, 1003009, "" },
		{ "app 20467 K        1003009 cycles: ", "app", 20467, 1003009, "cycles" },
		{ "app K     [001] 5.5:    1003009 ", "app", -1, 1003009, "" },
		{ "KU ", "KU", -1, 0, "" },
	};
	struct perf_header h;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *line = exact(cases[i].line);
		struct flame_span text = { line, strlen(cases[i].line) };

		if (!perf_parse_header(text, &h) && !perf_parse_weak_header(text, &h))
			fail_msg("not a header: '%s'", cases[i].line);
		assert_span(h.comm, cases[i].comm, "comm", cases[i].line);
		assert_span(h.event, cases[i].event, "event", cases[i].line);
		assert_int_equal(h.tid, cases[i].tid);
		assert_int_equal(h.period, cases[i].period);
		free(line);
	}
}

static void test_flat_headers(void **state)
{
	static const char *const not_flat[] = {
		"", "app 401136 f", "             app 401136 f", "app           401136 f", "          401136 f",
		"0000000000001139 T main", "0000000000001139 0000000000000026 T main",
		"0000000000001139 g     F .text\t0000000000000026              main",
	};
	struct perf_header h;

	(void)state;
	assert_true(perf_parse_flat_header(span("             app     7    1003009           401136 f+0x1 (/x)"), &h));
	assert_span(h.comm, "app", "comm", "");
	assert_int_equal(h.tid, 7);
	assert_int_equal(h.period, 1003009);
	assert_span(h.rest, "401136 f+0x1 (/x)", "rest", "");
	assert_true(perf_parse_flat_header(span("1.5:                0           401136 f"), &h));
	assert_int_equal(h.time, 1500000000);
	assert_span(h.rest, "401136 f", "rest", "");
	assert_true(perf_parse_flat_header(span("                     7           401136 f"), &h));
	assert_span(h.comm, "", "comm", "");
	assert_int_equal(h.tid, 7);
	for (size_t i = 0; i < sizeof(not_flat) / sizeof(*not_flat); i++) {
		char *line = exact(not_flat[i]);

		if (perf_parse_flat_header((struct flame_span){ line, strlen(not_flat[i]) }, &h))
			fail_msg("a sample: '%s'", not_flat[i]);
		free(line);
	}
}

static void test_weak_headers(void **state)
{
	struct perf_header h;

	(void)state;
	assert_true(perf_parse_weak_header(span("app"), &h));
	assert_span(h.comm, "app", "comm", "app");
	assert_int_equal(h.tid, -1);
	assert_true(perf_parse_weak_header(span("my app 12/13 [001] "), &h));
	assert_span(h.comm, "my app", "comm", "");
	assert_int_equal(h.pid, 12);
	assert_int_equal(h.tid, 13);
	assert_true(perf_parse_weak_header(span("cycles:u:"), &h));
	assert_span(h.event, "cycles:u", "event", "");
	assert_span(h.comm, "", "comm", "");
	assert_true(perf_parse_weak_header(span("17 cycles:"), &h));
	assert_int_equal(h.period, 17);
	assert_false(perf_parse_weak_header(span("a line that is much longer than any comm"), &h));
	assert_true(perf_parse_weak_header(span(" app"), &h));
	assert_span(h.comm, "app", "comm", "");
	assert_true(perf_parse_weak_header(span("norm [001] 10424.004116:    2004008 cpu-clock:ppp: "), &h));
	assert_span(h.comm, "norm", "comm", "");
	assert_int_equal(h.period, 2004008);
	assert_true(h.has_time);
	assert_true(perf_parse_weak_header(span("norm  4184    2004008 "), &h));
	assert_span(h.comm, "norm", "comm", "");
	assert_int_equal(h.tid, 4184);
	assert_int_equal(h.period, 2004008);
	assert_true(perf_parse_weak_header(span("   2004008 "), &h));
	assert_int_equal(h.period, 2004008);
	assert_true(perf_parse_weak_header(span("10424.004073: "), &h));
	assert_true(h.has_time);
	assert_span(h.event, "", "event", "");
	assert_false(perf_parse_weak_header(span(""), &h));
}

static const struct {
	const char *line, *address, *symbol, *module;
	bool inlined;
} frames[] = {
	{ "\t     4005d0 work+0x10 (/opt/app)", "4005d0", "work+0x10", "/opt/app", false },
	{ "\t4005d0 work (/opt/my app)", "4005d0", "work", "/opt/my app", false },
	{ " ffffffff81001000 [unknown] ([kernel.kallsyms])", "ffffffff81001000", "[unknown]", "[kernel.kallsyms]", false },
	{ "\t1 f(int (*)(char)) const+0x1 (/opt/app)", "1", "f(int (*)(char)) const+0x1", "/opt/app", false },
	{ "\t1 f (/usr/lib/x (deleted))", "1", "f", "/usr/lib/x (deleted)", false },
	{ "\t1 f (inlined)", "1", "f", "", true },
	{ "\t1 f+0x3 (/opt/app+0x66ad0d)", "1", "f+0x3", "/opt/app", false },
	{ "\t1 [unknown] ([kernel.kallsyms]+0x1f)", "1", "[unknown]", "[kernel.kallsyms]", false },
	{ "\t1 f(int)", "1", "f(int)", "", false },
	{ "\t1 f+0x3", "1", "f+0x3", "", false },
	{ "\t1 (/opt/app)", "1", "", "/opt/app", false },
	{ "\t1 f ()", "1", "f", "", false },
	{ "\t1 f (/tmp/a)b)", "1", "f", "/tmp/a)b", false },
	{ "\t1", "1", "", "", false },
	{ "\t1\tf\t(/x)", "1", "f", "/x", false },
	{ "\tabcdef f (/x)  ", "abcdef", "f", "/x", false },
};

static void test_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		char *line = exact(frames[i].line);
		struct perf_frame f;

		if (!perf_parse_frame((struct flame_span){ line, strlen(frames[i].line) }, &f))
			fail_msg("not a frame: '%s'", frames[i].line);
		assert_span(f.address, frames[i].address, "address", frames[i].line);
		assert_span(f.symbol, frames[i].symbol, "symbol", frames[i].line);
		assert_span(f.module, frames[i].module, "module", frames[i].line);
		assert_int_equal(f.inlined, frames[i].inlined);
		free(line);
	}
}

static void test_not_frames(void **state)
{
	static const char *const lines[] = {
		"", "4005d0 f (/x)", "\tzz f (/x)", "\t0x4005d0 f", "\t12345678901234567 f (/x)", "\t", "  file.c:12", " 0x1/0x2/P/-/-/0",
	};
	struct perf_frame f;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char *line = exact(lines[i]);

		if (perf_parse_frame((struct flame_span){ line, strlen(lines[i]) }, &f))
			fail_msg("a frame: '%s'", lines[i]);
		free(line);
	}
}

/* No span of a result is NULL, nor outside of the line unless it is empty. */
static void check_spans(struct flame_span s, struct flame_span line)
{
	assert_non_null(s.s);
	if (s.len)
		assert_true(s.s >= line.s && s.s + s.len <= line.s + line.len);
}

static void check_any(struct flame_span line)
{
	struct perf_header h;
	struct perf_frame f;

	for (int weak = 0; weak < 2; weak++) {
		if (!(weak ? perf_parse_weak_header(line, &h) : perf_parse_header(line, &h)))
			continue;
		check_spans(h.comm, line);
		check_spans(h.event, line);
		check_spans(h.rest, line);
		check_spans(h.record, line);
		assert_true(h.ids_end >= h.comm.s || !h.comm.len);
	}
	if (perf_parse_frame(line, &f)) {
		check_spans(f.address, line);
		check_spans(f.symbol, line);
		check_spans(f.module, line);
		assert_true(f.address.len > 0 && f.address.len <= 16);
	}
}

/* Every beginning and every end of every line above. */
static void test_cut_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers) + sizeof(frames) / sizeof(*frames); i++) {
		size_t nr = sizeof(headers) / sizeof(*headers);
		const char *text = i < nr ? headers[i].line : frames[i - nr].line;
		size_t len = strlen(text);

		for (size_t cut = 0; cut <= len; cut++) {
			char *start = malloc(cut + !cut), *end = malloc(len - cut + 1);

			memcpy(start, text, cut);
			memcpy(end, text + cut, len - cut);
			check_any((struct flame_span){ start, cut });
			check_any((struct flame_span){ end, len - cut });
			free(start);
			free(end);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers), cmocka_unit_test(test_comments), cmocka_unit_test(test_branch_text), cmocka_unit_test(test_records), cmocka_unit_test(test_not_headers),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_flat_headers),
		cmocka_unit_test(test_weak_headers), cmocka_unit_test(test_frames), cmocka_unit_test(test_not_frames),
		cmocka_unit_test(test_cut_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_quality.c - profiles whose faults are known, and what is found in them.
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

/* Their tables are looked into. */
#include "../core/remedy.c" /* NOLINT(bugprone-suspicious-include) */
#include "../core/traits.c" /* NOLINT(bugprone-suspicious-include) */
#include "../core/meta.h"
#include "../core/quality.h"
#include "text.h"

/* A profile as perf's converter makes it. */
static struct flame_profile *new_profile(const char *unit, enum flame_value_kind kind)
{
	/* As those who read sums make it; it matters of folded text only. */
	const struct flame_profile_options options = { .sums = true };
	struct flame_profile *p = flame_profile_new(&options);
	struct flame_type_info type = { .kind = kind };

	assert_non_null(p);
	type.name = flame_intern(p, "cycles", 6);
	type.unit = flame_intern(p, unit, strlen(unit));
	assert_int_equal(flame_type_row(p, &type), 1);
	flame_meta(p)->format = flame_intern(p, "perf", 4);
	return p;
}

/*
 * Add @nr samples of "task;a;b!lib.so;c": frames with their modules; '!' alone behind a name that is unknown makes
 * it that of the module.
 */
static void add(struct flame_profile *p, const char *stack, uint64_t nr)
{
	struct flame_task_info task = { .pid = 1, .tid = 1, .comm = flame_intern(p, "task", 4) };
	struct flame_span rest = { stack, strlen(stack) }, part;
	struct flame_sample s = { .stack = flame_task_root(p, &task), .type = 1, .value = (int64_t)nr, .nr_samples = nr };

	while (rest.len && span_next(&rest, ';', &part)) {
		size_t bang = span_find(part, "!");
		struct flame_frame_info info = { .name = flame_intern(p, part.s, bang) };
		struct flame_span module = span_from(part, bang + 1);

		info.module = flame_intern(p, module.s, module.len);
		if (span_starts(module, "[kernel"))
			info.kind = FLAME_KERNEL;
		s.stack = flame_stack_push(p, s.stack, flame_frame_row(p, &info));
	}
	assert_int_equal(flame_sample_add(p, &s), 0);
}

static struct flame_quality check_with(struct flame_profile *p, const struct flame_quality_options *options)
{
	struct flame_quality q;

	assert_int_equal(flame_quality_check(&q, p, 1, options), 0);
	for (size_t i = 0; i < q.nr_findings; i++) {
		assert_true(q.findings[i].what[0]);
		assert_true(q.findings[i].cause[0]);
		assert_true(q.findings[i].remedy[0]);
		if (i)
			assert_true(q.findings[i].severity <= q.findings[i - 1].severity);
	}
	flame_profile_free(p);
	return q;
}

static struct flame_quality check(struct flame_profile *p)
{
	return check_with(p, NULL);
}

static void assert_found(struct flame_quality *q, const char *id, enum flame_severity severity, double number)
{
	const struct flame_finding *f = flame_quality_find(q, id);

	if (!f) {
		fail_msg("%s is not found", id);
		return;
	}
	assert_int_equal(f->severity, severity);
	assert_true(f->number > number - 0.06 && f->number < number + 0.06);
}

static void assert_remedy(struct flame_quality *q, const char *id, const char *text)
{
	const struct flame_finding *f = flame_quality_find(q, id);

	assert_non_null(f);
	if (!strstr(f->remedy, text))
		fail_msg("no '%s' in the remedy of %s: %s", text, id, f->remedy);
}

static void assert_summary(const struct flame_quality *q, const char *want)
{
	char *text = flame_quality_summary(q);

	if (want) {
		assert_non_null(text);
		assert_string_equal(text, want);
	} else if (text) {
		fail_msg("a summary: %s", text);
	}
	free(text);
}

static void a_good_profile_has_nothing(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;work;loop", 3000);
	add(p, "start_thread;run;send;do_syscall_64![kernel.kallsyms];vfs_write![kernel.kallsyms]", 1000);
	/* Offsets are no part of names. */
	add(p, "clone+0x1f;start_thread+0x2e0;run+0x4;wait", 1000);
	flame_meta(p)->frequency_hz = 99;
	flame_meta(p)->duration_ns = 60000000000;
	q = check(p);
	assert_int_equal(q.nr_findings, 0);
	assert_int_equal(q.nr_samples, 5000);
	assert_false(q.at_least);
	assert_int_equal(q.nr_stacks, 3);
	assert_int_equal(q.total, 5000);
	assert_true(q.duration_s == 60 && q.asked_hz == 99);
	assert_true(q.achieved_hz > 83.3 && q.achieved_hz < 83.4);
	assert_true(q.shares.kernel == 0.2);
	/* 1.96 sqrt(0.01 * 0.99 / 5000) */
	assert_true(q.margin > 0.2757 && q.margin < 0.2759);
	assert_summary(&q, NULL);
	flame_quality_release(&q);
}

static void unknown_leaves_are_told_with_their_files(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;work", 620);
	add(p, "_start;main;[libfoo.so.1]!/usr/lib/libfoo.so.1", 300);
	add(p, "_start;main;[bar]!/opt/bar", 80);
	q = check(p);
	assert_found(&q, "unknown-leaf", FLAME_WARNING, 38);
	assert_summary(&q, "38% of the profile has no symbol at the leaf (libfoo.so.1 30%, bar 8.0%)");
	assert_remedy(&q, "unknown-leaf", "debuginfo");
	assert_int_equal(q.nr_missing, 2);
	assert_string_equal(q.missing[0].module, "libfoo.so.1");
	assert_true(q.missing[0].leaf == 0.3 && q.missing[0].any == 0.3);
	flame_quality_release(&q);
}

static void folded_text_has_its_files_in_brackets(void **state)
{
	struct flame_quality_options options = { .format = "folded" };
	struct flame_profile *p = new_profile("", FLAME_VALUE_OTHER);
	struct flame_quality q;
	char stack[128];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(stack, sizeof(stack), "_start;main;f%d", i);
		add(p, stack, 100);
	}
	add(p, "_start;main;[libfoo.so.1]", 6000);
	q = check_with(p, &options);
	assert_found(&q, "unknown-leaf", FLAME_ERROR, 60);
	assert_string_equal(q.missing[0].module, "libfoo.so.1");
	assert_int_equal(q.nr_samples, 10000);
	flame_quality_release(&q);
}

static void few_samples_are_not_judged(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "[unknown]", 99);
	q = check(p);
	assert_int_equal(q.nr_findings, 1);
	assert_found(&q, "few-samples", FLAME_ERROR, 99);
	assert_summary(&q, "there are 99 samples: what is 1% may be 2.0 percentage points off");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "f", 1);
	q = check(p);
	assert_summary(&q, "there is 1 sample: what is 1% may be 19.5 percentage points off");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;f", 999);
	q = check(p);
	assert_found(&q, "few-samples", FLAME_WARNING, 999);
	assert_string_equal(q.findings[0].what, "there are 999 samples: what is 1% may be 0.6 percentage points off");
	flame_quality_release(&q);
}

/* Nobody knows what the numbers of folded text count. */
static void sums_need_stacks(void **state)
{
	struct flame_quality_options options = { .format = "folded" };
	struct flame_profile *p = new_profile("", FLAME_VALUE_OTHER);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;[libfoo.so.1]", 5000);
	q = check_with(p, &options);
	assert_int_equal(q.nr_findings, 0);
	assert_int_equal(q.nr_samples, 5000);
	flame_quality_release(&q);

	p = new_profile("ns", FLAME_VALUE_OFF_CPU);
	add(p, "_start;main;f", 5000);
	q = check_with(p, &options);
	assert_true(q.at_least);
	assert_true(q.margin == 0);
	flame_quality_release(&q);

	p = new_profile("", FLAME_VALUE_OTHER);
	add(p, "_start;main;f", 5000000000);
	q = check_with(p, &options);
	assert_true(q.at_least);
	assert_null(flame_quality_find(&q, "few-samples"));
	flame_quality_release(&q);
}

static void reasons_of_unknown_leaves_are_told_apart(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;work", 500);
	add(p, "_start;main;[perf-4242.map]!/tmp/perf-4242.map", 100);
	add(p, "_start;main;[anon]!//anon", 50);
	add(p, "_start;main;[memfd:doublemapper]!/memfd:doublemapper (deleted)", 50);
	add(p, "_start;main;[kernel.kallsyms]![kernel.kallsyms]", 150);
	add(p, "_start;main;0x7f12345678", 150);
	q = check(p);
	assert_null(flame_quality_find(&q, "unknown-leaf"));
	assert_found(&q, "jit-unmapped", FLAME_WARNING, 20);
	assert_found(&q, "kernel-symbols", FLAME_WARNING, 15);
	assert_found(&q, "addresses", FLAME_WARNING, 15);
	assert_true(q.shares.unknown_leaf == 0.5);
	assert_remedy(&q, "kernel-symbols", "kptr_restrict");
	assert_remedy(&q, "jit-unmapped", "--perf-basic-prof");
	assert_remedy(&q, "jit-unmapped", "python3 -X perf");
	flame_quality_release(&q);
}

static void remedies_know_what_ran(void **state)
{
	static const struct { const char *frame, *text; } runtimes[] = {
		{ "node::Start!/usr/bin/node", "--perf-basic-prof --interpreted" },
		{ "JavaCalls::call!libjvm.so", "PreserveFramePointer" },
		{ "_PyEval_EvalFrameDefault!libpython3.12.so", "python3 -X perf" },
		{ "coreclr_execute_assembly!libcoreclr.so", "DOTNET_PerfMapEnabled" },
	};
	char stack[128];

	(void)state;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
		struct flame_quality q;

		snprintf(stack, sizeof(stack), "_start;main;%s;[perf-1.map]!/tmp/perf-1.map", runtimes[i].frame);
		add(p, stack, 1000);
		q = check(p);
		assert_remedy(&q, "jit-unmapped", runtimes[i].text);
		flame_quality_release(&q);
	}
}

static void stacks_without_frame_pointers_have_no_root(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "hot", 300);
	add(p, "sort;cmp", 300);
	add(p, "a;b;c;d", 100);
	add(p, "_start;main;f", 300);
	q = check(p);
	assert_found(&q, "rootless", FLAME_WARNING, 70);
	assert_found(&q, "shallow", FLAME_WARNING, 60);
	assert_remedy(&q, "rootless", "-fno-omit-frame-pointer");
	assert_summary(&q, "70% of the profile starts in the middle, its callers are missing");
	flame_quality_release(&q);
}

static void remedies_know_the_recorder_and_the_language(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "std::rt::lang_start_internal", 1000);
	q = check(p);
	assert_remedy(&q, "rootless", "force-frame-pointers=yes");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "f", 1000);
	flame_meta(p)->command = flame_intern(p, "perf record --call-graph dwarf ./a", 34);
	q = check(p);
	assert_remedy(&q, "rootless", "dwarf,65528");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "f", 1000);
	flame_meta(p)->tool = flame_intern(p, "bpftrace 0.20", 13);
	q = check(p);
	assert_remedy(&q, "rootless", "perf --call-graph dwarf");
	flame_quality_release(&q);
}

static void a_common_start_is_a_root(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "boot_main;a;b;c", 900);
	add(p, "other;a;b;c", 100);
	q = check(p);
	assert_found(&q, "rootless", FLAME_NOTE, 10);
	flame_quality_release(&q);

	/* What is all of the stack is none. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "hot", 900);
	add(p, "other;a;b;c", 100);
	q = check(p);
	assert_found(&q, "rootless", FLAME_ERROR, 100);
	flame_quality_release(&q);
}

/* Frame pointers end in what calls main where glibc 2.43 has none, and the walk in data. */
static void what_lies_below_the_start_is_nothing(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "[unknown];[unknown];__libc_start_call_main;main;a;b", 500);
	add(p, "[unknown];[unknown];[libc.so.6]!/usr/lib/libc.so.6;main;a;b", 500);
	q = check(p);
	assert_null(flame_quality_find(&q, "rootless"));
	assert_true(q.shares.rootless == 0 && q.shares.unknown_any == 0);
	flame_quality_release(&q);

	/* No other root starts programs wherever it stands. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "[unknown];[unknown];clone;a;b", 500);
	add(p, "[unknown];f;g;main;a;[unknown]", 500);
	q = check(p);
	assert_found(&q, "rootless", FLAME_ERROR, 100);
	assert_true(q.shares.unknown_any == 1);
	flame_quality_release(&q);
}

static void only_native_profilers_see_roots(void **state)
{
	struct flame_quality_options options = { .format = "jfr" };
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "com/acme/Main.main;com/acme/Main.run", 5000);
	q = check_with(p, &options);
	assert_int_equal(q.nr_findings, 0);
	assert_true(q.shares.rootless == 0);
	flame_quality_release(&q);
}

static void kernel_threads_are_whole(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "ret_from_fork![kernel.kallsyms];kthread![kernel.kallsyms];worker![kernel.kallsyms]", 3000);
	add(p, "asm_sysvec_apic_timer_interrupt![kernel.kallsyms];tick![kernel.kallsyms]", 2000);
	q = check(p);
	assert_int_equal(q.nr_findings, 0);
	assert_true(q.shares.kernel == 1);
	flame_quality_release(&q);
}

/* The recorder keeps so many frames: what has as many and does not begin at a root was cut. */
static void deep_stacks_are_cut(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	char stack[512] = "", rooted[512];
	struct flame_quality q;
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 127; i++)
		len += (size_t)snprintf(stack + len, sizeof(stack) - len, "%sf", i ? ";" : "");
	snprintf(rooted, sizeof(rooted), "_start;%.*s", (int)len - 2, stack);
	add(p, stack, 100);
	add(p, rooted, 100);
	add(p, "_start;main;f", 800);
	q = check(p);
	assert_found(&q, "truncated", FLAME_WARNING, 10);
	assert_summary(&q, "10% of the profile is cut off at 127 frames");
	assert_remedy(&q, "truncated", "perf_event_max_stack");
	flame_quality_release(&q);

	/* And what says so itself. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "[truncated];a;b;c", 700);
	add(p, "a;b;c", 300);
	q = check_with(p, &(struct flame_quality_options){ .format = "jfr" });
	assert_found(&q, "truncated", FLAME_ERROR, 70);
	assert_remedy(&q, "truncated", "stackdepth");
	flame_quality_release(&q);
}

static void interpreters_hide_the_program(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;_PyEval_EvalFrameDefault;_PyEval_EvalFrameDefault;list_sort", 300);
	add(p, "_start;main;_PyEval_EvalFrameDefault;py::sort:/srv/app.py;list_sort", 500);
	add(p, "_start;main;Builtins_InterpreterEntryTrampoline;Builtins_ArrayMap", 200);
	q = check(p);
	assert_found(&q, "python-loop", FLAME_WARNING, 30);
	assert_found(&q, "interpreter", FLAME_WARNING, 20);
	assert_remedy(&q, "python-loop", "python3 -X perf");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;node::Start;Builtins_InterpreterEntryTrampoline;Builtins_ArrayMap", 1000);
	q = check(p);
	assert_remedy(&q, "interpreter", "--interpreted-frames-native-stack");
	flame_quality_release(&q);
}

static void an_interpreter_without_names_hides_it_too(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;Py_RunMain;[python3.14]!/usr/bin/python3.14", 750);
	add(p, "_start;main;Py_RunMain;PyObject_Call", 250);
	q = check(p);
	assert_found(&q, "python-loop", FLAME_WARNING, 75);
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;Py_RunMain;[python3.14]!/usr/bin/python3.14", 200);
	add(p, "_start;main;Py_RunMain;py::work:/opt/work.py", 800);
	q = check(p);
	assert_null(flame_quality_find(&q, "python-loop"));
	flame_quality_release(&q);
}

static void idle_is_told(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "cpu_startup_entry![kernel.kallsyms];do_idle![kernel.kallsyms]", 3000);
	add(p, "_start;main;f", 2000);
	q = check(p);
	assert_found(&q, "idle", FLAME_WARNING, 60);
	assert_remedy(&q, "idle", "-p PID");
	assert_null(flame_quality_find(&q, "rootless"));
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_WALL);
	add(p, "(idle)", 3000);
	add(p, "main;f", 2000);
	q = check_with(p, &(struct flame_quality_options){ .format = "cpuprofile" });
	assert_found(&q, "idle", FLAME_WARNING, 60);
	assert_remedy(&q, "idle", "--no-idle");
	flame_quality_release(&q);
}

static void waiting_is_a_note_of_wall_time(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_WALL);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;epoll_wait", 4000);
	add(p, "_start;main;f", 1000);
	q = check(p);
	assert_found(&q, "waiting", FLAME_NOTE, 80);
	assert_summary(&q, NULL);
	flame_quality_release(&q);
}

static void on_and_off_cpu_do_not_mix(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_OTHER);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 3000);
	add(p, "_start;main;do_syscall_64![kernel.kallsyms];__schedule![kernel.kallsyms]", 2000);
	q = check(p);
	assert_found(&q, "mixed-kinds", FLAME_WARNING, 40);
	flame_quality_release(&q);

	p = new_profile("ns", FLAME_VALUE_OFF_CPU);
	add(p, "_start;main;f", 3000);
	add(p, "_start;main;do_syscall_64![kernel.kallsyms];__schedule![kernel.kallsyms]", 2000);
	q = check(p);
	assert_null(flame_quality_find(&q, "mixed-kinds"));
	flame_quality_release(&q);

	/* The processor may be busy with switching threads. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;f", 3000);
	add(p, "_start;main;do_syscall_64![kernel.kallsyms];finish_task_switch.isra.0![kernel.kallsyms]", 2000);
	q = check(p);
	assert_null(flame_quality_find(&q, "mixed-kinds"));
	flame_quality_release(&q);
}

/* Of samples and nanoseconds one behind the other in a file, the samples are less than a millionth. */
static void counts_do_not_mix_with_nanoseconds(void **state)
{
	struct flame_quality_options options = { .format = "folded" };
	struct flame_profile *p = new_profile("", FLAME_VALUE_OTHER);
	char stack[128];
	struct flame_quality q;

	(void)state;
	for (int i = 0; i < 9; i++) {
		snprintf(stack, sizeof(stack), "_start;main;f%d", i);
		add(p, stack, 100);
	}
	add(p, "_start;main;do_syscall_64![kernel.kallsyms];__schedule![kernel.kallsyms]", 2000000000);
	q = check_with(p, &options);
	assert_found(&q, "mixed-kinds", FLAME_WARNING, 100);
	flame_quality_release(&q);

	p = new_profile("", FLAME_VALUE_OTHER);
	add(p, "_start;main;f", 100);
	for (int i = 0; i < 9; i++) {
		snprintf(stack, sizeof(stack), "_start;main;f%d;do_syscall_64![kernel.kallsyms];__schedule![kernel.kallsyms]", i);
		add(p, stack, 200000000);
	}
	q = check_with(p, &options);
	assert_null(flame_quality_find(&q, "mixed-kinds"));
	flame_quality_release(&q);
}

static void events_that_were_added_up_are_told(void **state)
{
	struct flame_profile *p = new_profile("", FLAME_VALUE_OTHER);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 3000);
	flame_meta(p)->added = flame_intern(p, "cycles and page-faults", 22);
	q = check(p);
	assert_found(&q, "mixed-events", FLAME_WARNING, 2);
	assert_string_equal(q.findings[0].what, "several events are added up, cycles and page-faults, though they may be unlike");
	assert_summary(&q, NULL);
	flame_quality_release(&q);
}

/* What is walked by frame pointers skips who called into a library that keeps none. */
static void callers_of_the_c_library_may_be_missing(void **state)
{
	struct flame_profile *p = new_profile("ns", FLAME_VALUE_OFF_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f;__poll!libc.so.6;do_syscall_64![kernel.kallsyms];__schedule![kernel.kallsyms]", 30);
	add(p, "_start;main;f;do_page_fault![kernel.kallsyms];__schedule![kernel.kallsyms]", 70);
	q = check(p);
	assert_found(&q, "libc-callers", FLAME_WARNING, 30);
	assert_remedy(&q, "libc-callers", "--call-graph dwarf");
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start!prog;__libc_start_main!libc.so.6;main!prog;f!prog;memcpy!libc.so.6", 60);
	add(p, "_start!prog;__libc_start_main!libc.so.6;main!prog;qsort!libc.so.6;compare!prog", 940);
	q = check(p);
	assert_found(&q, "libc-callers", FLAME_NOTE, 6);
	flame_quality_release(&q);

	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start!prog;main!prog;f!prog;memcpy!libc.so.6", 1000);
	flame_meta(p)->command = flame_intern(p, "perf record --call-graph dwarf", 30);
	q = check(p);
	assert_null(flame_quality_find(&q, "libc-callers"));
	flame_quality_release(&q);
}

static void stacks_may_be_missing(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "[unknown]", 300);
	add(p, "", 200);
	add(p, "[Missed User Stack]", 100);
	add(p, "_start;main;f", 400);
	flame_meta(p)->tool = flame_intern(p, "bpftrace v0.20.2", 16);
	q = check(p);
	assert_found(&q, "no-stack", FLAME_WARNING, 50);
	assert_remedy(&q, "no-stack", "kstack, ustack");
	assert_found(&q, "missed-stacks", FLAME_WARNING, 10);
	assert_null(flame_quality_find(&q, "unknown-leaf"));
	flame_quality_release(&q);
}

static void losses_are_told(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 3000);
	flame_lost_add(p, 1000);
	flame_meta(p)->throttled = 2;
	q = check(p);
	assert_found(&q, "lost", FLAME_WARNING, 1000);
	assert_string_equal(flame_quality_find(&q, "lost")->what, "1000 samples were lost, 25% of all");
	assert_found(&q, "throttled", FLAME_NOTE, 2);
	assert_remedy(&q, "throttled", "perf_cpu_time_max_percent");
	/* The converters warn of it. */
	assert_summary(&q, NULL);
	flame_quality_release(&q);
}

static void what_the_reader_missed_is_told(void **state)
{
	struct flame_profile *p = new_profile("ns", FLAME_VALUE_OFF_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 3000);
	flame_meta(p)->damaged = true;
	flame_meta(p)->late = 2;
	q = check(p);
	assert_found(&q, "damaged", FLAME_WARNING, 1);
	assert_remedy(&q, "damaged", "copy the whole file");
	assert_found(&q, "late-switches", FLAME_WARNING, 2);
	assert_remedy(&q, "late-switches", "--switch-events");
	flame_quality_release(&q);
	p = new_profile("ns", FLAME_VALUE_OFF_CPU);
	add(p, "_start;main;f", 3000);
	flame_meta(p)->sampled_switches = true;
	flame_meta(p)->late = 2;
	q = check(p);
	assert_found(&q, "sampled-switches", FLAME_WARNING, 1);
	assert_null(flame_quality_find(&q, "late-switches"));
	flame_quality_release(&q);
	/* Samples on the processor are not affected. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;f", 3000);
	flame_meta(p)->sampled_switches = true;
	q = check(p);
	assert_null(flame_quality_find(&q, "sampled-switches"));
	flame_quality_release(&q);
}

static void rates_in_step_are_told(void **state)
{
	static const struct { uint32_t hz; bool found; } rates[] = {
		{ 100, true }, { 1000, true }, { 250, true }, { 50, true }, { 99, false }, { 97, false }, { 997, false },
		{ 4000, false }, { 49, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
		struct flame_quality q;

		add(p, "_start;main;f", 3000);
		flame_meta(p)->frequency_hz = rates[i].hz;
		q = check(p);
		assert_int_equal(flame_quality_find(&q, "lock-step") != NULL, rates[i].found);
		if (rates[i].found)
			assert_remedy(&q, "lock-step", "-F 99");
		flame_quality_release(&q);
	}
}

static void slow_samplers_are_told(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_WALL);
	struct flame_quality q;

	(void)state;
	add(p, "main;f", 4000);
	flame_meta(p)->frequency_hz = 1001;
	flame_meta_time(p, 1);
	flame_meta_time(p, 20000000001);
	q = check_with(p, &(struct flame_quality_options){ .format = "cpuprofile" });
	assert_found(&q, "low-rate", FLAME_WARNING, 200);
	flame_quality_release(&q);

	/* A process that slept is no fault of perf's. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;f", 4000);
	flame_meta(p)->frequency_hz = 1001;
	flame_meta(p)->duration_ns = 60000000000;
	q = check(p);
	assert_found(&q, "low-rate", FLAME_NOTE, 66.67);
	flame_quality_release(&q);
}

static void short_recordings_are_told(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 4000);
	flame_meta(p)->duration_ns = 250000000;
	q = check(p);
	assert_found(&q, "short", FLAME_WARNING, 0.25);
	assert_summary(&q, NULL);
	flame_quality_release(&q);
}

static void other_events_are_told(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_type_info type = { .name = flame_intern(p, "page-faults", 11) };
	struct flame_sample s = { .type = flame_type_row(p, &type), .value = 3 };
	struct flame_quality q;

	(void)state;
	add(p, "_start;main;f", 4000);
	assert_int_equal(flame_sample_add(p, &s), 0);
	q = check(p);
	assert_found(&q, "other-events", FLAME_NOTE, 1);
	assert_string_equal(q.findings[0].what, "the recording also holds page-faults");
	assert_int_equal(q.nr_samples, 4000);
	flame_quality_release(&q);
}

/* What is chosen of a large profile is near what is true of the whole. */
static void a_glance_is_near_the_truth(void **state)
{
	struct flame_quality_options quick = { .quick = true };
	uint32_t random = 7;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
		struct flame_quality exact, q;
		char stack[128];

		for (int i = 0; i < 100000; i++) {
			bool unknown = text_random(&random, 100) < 30;

			snprintf(stack, sizeof(stack), "_start;main;f%d;%s", i, unknown ? "[libx.so]!/libx.so" : "leaf");
			/* Equal ones, and some that weigh much more than others. */
			add(p, stack, round ? 1 + (uint64_t)(i % 1000 ? 0 : 50) : 1);
		}
		assert_int_equal(flame_quality_check(&exact, p, 1, NULL), 0);
		q = check_with(p, &quick);
		assert_true(q.estimated && !exact.estimated);
		assert_int_equal(q.nr_samples, exact.nr_samples);
		assert_int_equal(q.total, exact.total);
		assert_true(q.shares.unknown_leaf > exact.shares.unknown_leaf - 0.03);
		assert_true(q.shares.unknown_leaf < exact.shares.unknown_leaf + 0.03);
		assert_true(q.shares.rootless == 0);
		assert_memory_equal(q.findings[0].what, "about ", 6);
		flame_quality_release(&exact);
		flame_quality_release(&q);
	}
}

static void nothing_is_nothing(void **state)
{
	struct flame_profile *p = new_profile("count", FLAME_VALUE_ON_CPU);
	struct flame_quality q = check(p);

	(void)state;
	assert_int_equal(q.nr_samples, 0);
	assert_found(&q, "few-samples", FLAME_ERROR, 0);
	flame_quality_release(&q);

	/* Of a difference there is no share. */
	p = new_profile("count", FLAME_VALUE_ON_CPU);
	add(p, "_start;main;f", 1000);
	assert_int_equal(flame_sample_add(p, &(struct flame_sample){ .type = 1, .value = -2000 }), 0);
	q = check(p);
	assert_true(q.shares.unknown_leaf == 0);
	assert_null(flame_quality_find(&q, "no-stack"));
	flame_quality_release(&q);
}

static void names_are_in_order(void **state)
{
	(void)state;
	for (size_t i = 1; i < sizeof(names) / sizeof(*names); i++)
		assert_true(strcmp(names[i - 1].name, names[i].name) < 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(traits_of_name((struct flame_span){ names[i].name, strlen(names[i].name) }), names[i].traits);
}

/* Whatever is found, there is something that fits all. */
static void remedies_are_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR_REMEDIES; i++) {
		const struct flame_remedy *r;

		for (int recorder = ANY; recorder <= APPLE; recorder++) {
			for (int runtime = ALL; runtime < FLAME_NR_RUNTIMES; runtime++) {
				r = flame_remedy_find(remedies[i].id, (enum flame_recorder)recorder, (enum flame_runtime)runtime);
				assert_non_null(r);
				assert_string_equal(r->id, remedies[i].id);
			}
		}
		/* No row is hidden by those before it. */
		r = flame_remedy_find(remedies[i].id, remedies[i].recorder, remedies[i].runtime);
		assert_ptr_equal(r, &remedies[i]);
	}
}

static uint32_t traits(const char *name, const char *module)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_frame_info info = { .name = flame_intern(p, name, strlen(name)),
					 .module = flame_intern(p, module, strlen(module)) };
	uint32_t t = flame_frame_traits(p, flame_frame_row(p, &info));

	flame_profile_free(p);
	return t;
}

static void names_tell(void **state)
{
	(void)state;
	assert_true(traits("[libc.so.6]", "/usr/lib/libc.so.6") == (FLAME_TRAIT_UNKNOWN | FLAME_TRAIT_LIBC));
	assert_true(traits("[libfoo.so.1.2]", "") == FLAME_TRAIT_UNKNOWN);
	assert_true(traits("[app]", "/opt/app") == FLAME_TRAIT_UNKNOWN);
	assert_true(traits("[app <4005d0>]", "/opt/app") == FLAME_TRAIT_UNKNOWN);
	assert_true(traits("[app]", "") == 0);
	assert_true(traits("[app] x", "/opt/app") == 0);
	assert_true(traits("[kernel.kallsyms]", "") & FLAME_TRAIT_KERNEL);
	assert_true(traits("vfs_read_[k]", "") == FLAME_TRAIT_KERNEL);
	assert_true(traits("0x7fff12", "") & FLAME_TRAIT_ADDRESS);
	assert_true(traits("00007f01a2b3c4d5", "") & FLAME_TRAIT_ADDRESS);
	assert_true(traits("libsystem`0x1f2e3", "") & FLAME_TRAIT_ADDRESS);
	assert_false(traits("0xy", "") & FLAME_TRAIT_ADDRESS);
	assert_false(traits("deadbeef", "") & FLAME_TRAIT_ADDRESS);
	assert_true(traits("[unknown]", "") & FLAME_TRAIT_NOWHERE);
	assert_false(traits("[unknown]", "/usr/lib/libx.so") & FLAME_TRAIT_NOWHERE);
	assert_true(traits("main (app.py:12)", "") == FLAME_TRAIT_SCRIPT);
	assert_true(traits("std::vector<int>::push_back", "/opt/app") == 0);
	assert_true(traits("libfoo.so", "") == FLAME_TRAIT_UNKNOWN);
	assert_true(traits("load(lib.so)", "") == 0);
	assert_true(traits("[]", "") & FLAME_TRAIT_UNKNOWN);
	assert_true(traits("[", "[") == 0);
	assert_true(traits("_[k]", "") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_profile_has_nothing),
		cmocka_unit_test(unknown_leaves_are_told_with_their_files),
		cmocka_unit_test(folded_text_has_its_files_in_brackets),
		cmocka_unit_test(few_samples_are_not_judged),
		cmocka_unit_test(sums_need_stacks),
		cmocka_unit_test(reasons_of_unknown_leaves_are_told_apart),
		cmocka_unit_test(remedies_know_what_ran),
		cmocka_unit_test(stacks_without_frame_pointers_have_no_root),
		cmocka_unit_test(remedies_know_the_recorder_and_the_language),
		cmocka_unit_test(a_common_start_is_a_root),
		cmocka_unit_test(what_lies_below_the_start_is_nothing),
		cmocka_unit_test(only_native_profilers_see_roots),
		cmocka_unit_test(kernel_threads_are_whole),
		cmocka_unit_test(deep_stacks_are_cut),
		cmocka_unit_test(interpreters_hide_the_program),
		cmocka_unit_test(an_interpreter_without_names_hides_it_too),
		cmocka_unit_test(idle_is_told),
		cmocka_unit_test(waiting_is_a_note_of_wall_time),
		cmocka_unit_test(on_and_off_cpu_do_not_mix),
		cmocka_unit_test(counts_do_not_mix_with_nanoseconds),
		cmocka_unit_test(events_that_were_added_up_are_told),
		cmocka_unit_test(callers_of_the_c_library_may_be_missing),
		cmocka_unit_test(stacks_may_be_missing),
		cmocka_unit_test(losses_are_told), cmocka_unit_test(what_the_reader_missed_is_told),
		cmocka_unit_test(rates_in_step_are_told),
		cmocka_unit_test(slow_samplers_are_told),
		cmocka_unit_test(short_recordings_are_told),
		cmocka_unit_test(other_events_are_told),
		cmocka_unit_test(a_glance_is_near_the_truth),
		cmocka_unit_test(nothing_is_nothing),
		cmocka_unit_test(names_are_in_order),
		cmocka_unit_test(remedies_are_complete),
		cmocka_unit_test(names_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

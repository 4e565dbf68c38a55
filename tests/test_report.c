/* SPDX-License-Identifier: MIT */
/* test_report.c - paths, owners, top edges and changes of small profiles that can be reckoned by hand. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../core/report.h"

#include "text.h"

struct reading {
	struct flame_profile *p;
	struct flame_report r;
	struct flame_owner owner;
};

static struct flame_profile *read_text(const char *text)
{
	struct flame_read_options options = { .places = true, .kinds = FLAME_ALL_KINDS };
	struct flame_diag diag = { 0 };
	struct flame_profile *p;

	assert_int_equal(text_read(&p, text, strlen(text), &options, &diag), 0);
	flame_diag_release(&diag);
	return p;
}

static const struct flame_report_part *start(struct reading *reading, const char *text,
					     const struct flame_report_options *options)
{
	*reading = (struct reading){ .p = read_text(text) };
	flame_report_init(&reading->r, options, &reading->owner);
	assert_int_equal(flame_report_add(&reading->r, reading->p, 1, FLAME_VALUE_OTHER, "test"), 0);
	return &reading->r.parts[0];
}

static void finish(struct reading *reading)
{
	flame_report_release(&reading->r);
	flame_owner_release(&reading->owner);
	flame_profile_free(reading->p);
}

/* "share% a -> … -> b", as the writers show it. */
static void check_path(const struct flame_report_part *part, size_t i, const char *want)
{
	const struct flame_report_path *path = &part->paths[i];
	char got[512];
	int len;

	assert_true(i < part->nr_paths);
	len = snprintf(got, sizeof(got), "%.0f%%", path->share * 100);
	for (size_t k = 0; k < path->nr_steps; k++) {
		struct flame_span name = part->f.functions[path->steps[k]].name;

		len += snprintf(got + len, sizeof(got) - (size_t)len, "%s%s%.*s", k ? " -> " : " ", path->gaps[k] ? "... -> " : "",
				(int)name.len, name.s);
	}
	assert_string_equal(got, want);
}

static void paths_split_where_values_do(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;serve;handle;json;encode 34\n"
		"main;serve;handle;json;encode;memcpy 6\n"
		"main;serve;handle;query 30\n"
		"main;serve;handle;small1 2\n"
		"main;serve;handle;small2 2\n"
		"main;idle_work;a;b;c;d;e;f;g;h 25\n"
		"main 1\n", NULL);

	(void)state;
	assert_int_equal(part->nr_paths, 4);
	check_path(part, 0, "40% main -> serve -> handle -> json -> encode");
	check_path(part, 1, "30% main -> serve -> handle -> query");
	check_path(part, 2, "25% main -> ... -> g -> h");
	/* The small ones are left to who calls them. */
	check_path(part, 3, "4% main -> serve -> handle");
	assert_true(part->rest > 0.0099 && part->rest < 0.0101);
	assert_int_equal(part->paths[0].nr_pieces, 2);
	assert_true(part->paths[0].pieces[0].share > 0.339 && part->paths[0].pieces[0].share < 0.341);
	finish(&reading);
}

static void shares_add_up(void **state)
{
	struct reading reading;
	struct flame_report_options options = { .top = 100, .min = 0.001 };
	const struct flame_report_part *part = start(&reading,
		"a;b;c 5\na;b;malloc 3\na;x;malloc;_int_malloc 7\nstart_thread;work 11\nmemcpy 13\na;b;a;b;c 17\n"
		"z;do_syscall_64;__x64_sys_read;vfs_read 19\n", &options);
	double sum = part->rest, spent = 0;

	(void)state;
	for (size_t i = 0; i < part->nr_paths; i++)
		sum += part->paths[i].share;
	for (size_t i = 0; i < FLAME_NR_CODES; i++)
		spent += part->spent[i];
	assert_true(sum > 0.999999 && sum < 1.000001);
	assert_true(spent > 0.999999 && spent < 1.000001);
	assert_int_equal(part->f.total, 75);
	assert_int_equal((int)(part->spent[FLAME_CODE_ALLOCATOR] * 75 + 0.5), 10);
	assert_int_equal((int)(part->spent[FLAME_CODE_KERNEL] * 75 + 0.5), 19);
	assert_int_equal(part->nr_entries, 1);
	assert_int_equal(part->entries[0].entry, FLAME_ENTRY_SYSCALL);
	assert_memory_equal(part->entries[0].name.s, "read", 4);
	finish(&reading);
}

static int64_t total_of(const struct flame_report_part *part, const char *name)
{
	for (size_t i = 1; i < part->f.nr_functions; i++) {
		struct flame_span s = part->f.functions[i].name;

		if (s.len == strlen(name) && !memcmp(s.s, name, s.len))
			return part->f.functions[i].total;
	}
	return -1;
}

static void recursion_counts_once(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;fib 1\nmain;fib;fib 2\nmain;fib;fib;fib 4\nmain;even;odd;even;odd;even 8\n"
		"main;each;visit;each;visit;memcpy 16\n", NULL);

	(void)state;
	assert_int_equal(total_of(part, "main"), 31);
	assert_int_equal(total_of(part, "fib"), 7);
	assert_int_equal(total_of(part, "even"), 8);
	assert_int_equal(total_of(part, "odd"), 8);
	assert_int_equal(total_of(part, "each"), 16);
	assert_int_equal(total_of(part, "visit"), 16);
	check_path(part, 0, "52% main -> each -> visit");
	finish(&reading);
}

/* What a library does is its caller's, even where it calls back and is called again. */
static void the_nearest_owner_counts(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;qsort;msort_with_tmp;cmp;memcpy 40\nmain;qsort;msort_with_tmp 20\nmain;load;qsort;memcpy 40\n", NULL);

	(void)state;
	check_path(part, 0, "40% main -> cmp");
	check_path(part, 1, "40% main -> load");
	check_path(part, 2, "20% main");
	assert_int_equal(part->nr_tops, 2);
	assert_memory_equal(part->f.functions[part->tops[0].function].name.s, "memcpy", 6);
	assert_true(part->tops[0].owner_share > 0.499 && part->tops[0].owner_share < 0.501);
	finish(&reading);
}

static void owners_meet_on_all_paths(void **state)
{
	struct reading reading;
	char text[4096];
	int len = 0;

	(void)state;
	/* A hundred callers, each of one percent. */
	for (int i = 0; i < 100; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, "main;caller%d;log;write 1\n", i);
	check_path(start(&reading, text, NULL), 0, "100% main -> caller0 -> log");
	assert_int_equal(reading.r.parts[0].nr_paths, 1);
	assert_int_equal(reading.r.parts[0].paths[0].nr_ends, 100);
	finish(&reading);
}

static void lines_are_those_that_cost(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main (a.py:1);encode (s.py:10);dumps (json/encoder.py:5) 10\n"
		"main (a.py:1);encode (s.py:12);dumps (json/encoder.py:5) 60\n"
		"main (a.py:2);encode (s.py:12);dumps (json/encoder.py:7) 20\n"
		"main (a.py:2) 10\n", NULL);

	(void)state;
	check_path(part, 0, "90% main -> encode");
	assert_int_equal(flame_frame_get(reading.p, part->paths[0].line)->line, 12);
	assert_true(part->paths[0].line_share > 0.888 && part->paths[0].line_share < 0.889);
	assert_int_equal(flame_frame_get(reading.p, part->tops[0].owner_line)->line, 12);
	finish(&reading);
}

static void the_kernel_belongs_to_its_caller(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;fill;asm_exc_page_fault;handle_mm_fault;clear_page_erms 30\n"
		"main;copy;read;entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_read;vfs_read;copy_page_to_iter;_copy_to_iter 50\n"
		"main;copy;read;entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_read;asm_sysvec_apic_timer_interrupt;x 10\n"
		"do_idle;intel_idle 900\nmain 10\n", NULL);

	(void)state;
	assert_int_equal(part->f.total, 100);
	assert_int_equal(part->f.idle, 900);
	check_path(part, 0, "60% main -> copy");
	check_path(part, 1, "30% main -> fill");
	assert_int_equal(part->nr_entries, 3);
	assert_int_equal(part->entries[0].entry, FLAME_ENTRY_SYSCALL);
	assert_true(part->entries[0].works[FLAME_WORK_COPY] > 0.499);
	assert_int_equal(part->entries[1].entry, FLAME_ENTRY_FAULT);
	assert_true(part->entries[1].works[FLAME_WORK_CLEAR] > 0.299);
	assert_int_equal(part->entries[2].entry, FLAME_ENTRY_INTERRUPT);
	finish(&reading);
}

static void collectors_are_one(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;work 60\nstart_thread;GCTaskThread::run;G1A 10\nstart_thread;GCTaskThread::run;G1B;memcpy 20\nG1C 10\n", NULL);

	(void)state;
	assert_int_equal(part->nr_paths, 2);
	assert_true(part->paths[1].share > 0.399 && part->paths[1].share < 0.401 && !part->paths[1].is_owned);
	assert_true(part->spent[FLAME_CODE_GC] > 0.399);
	assert_int_equal(part->nr_hints, 1);
	assert_string_equal(part->hints[0].hint->id, "gc-java");
	finish(&reading);
}

static void blocked_time_is_seen(void **state)
{
	struct reading reading;
	const struct flame_report_part *part = start(&reading,
		"main;take;entry_SYSCALL_64;do_syscall_64;__x64_sys_futex;do_futex;futex_wait;schedule;__schedule 90\n"
		"main;poll_all;entry_SYSCALL_64;do_syscall_64;__x64_sys_epoll_wait;do_epoll_wait;schedule;__schedule 10\n", NULL);

	(void)state;
	assert_int_equal(part->kind, FLAME_VALUE_OFF_CPU);
	assert_true(part->entries[0].works[FLAME_WORK_FUTEX] > 0.899);
	check_path(part, 0, "90% main -> take");
	assert_true(part->paths[0].error <= 0);
	finish(&reading);
}

static void differences_have_an_interval(void **state)
{
	struct flame_owner owner = { 0 };
	struct flame_profile *before = read_text("main;encode 340\nmain;rest 660\n");
	struct flame_profile *after = read_text("main;encode 90\nmain;rest 880\nmain;new 30\n");
	struct flame_report r;

	(void)state;
	flame_report_init(&r, NULL, &owner);
	assert_int_equal(flame_report_add(&r, after, 1, FLAME_VALUE_OTHER, "after"), 0);
	assert_int_equal(flame_report_compare(&r, before, 1, "before"), 0);
	assert_int_equal(r.nr_changes, 3);
	/*
	 * Newcombe's interval of -0.25, by hand: of 750 independent samples, for 1000 / (1 + 1000 / 3000), Wilson's of 0.34
	 * is 0.3070 to 0.3746, of 0.09 it is 0.0716 to 0.1126.
	 */
	assert_memory_equal(r.changes[0].name.s, "encode", 6);
	assert_true(r.changes[0].interval.low > -0.2897 && r.changes[0].interval.low < -0.2887);
	assert_true(r.changes[0].interval.high > -0.2105 && r.changes[0].interval.high < -0.2095);
	assert_true(r.changes[0].before_total > 0.339 && r.changes[0].total < 0.091);
	assert_memory_equal(r.changes[2].name.s, "new", 3);
	flame_report_release(&r);
	/* The same twice is no change. */
	flame_report_init(&r, NULL, &owner);
	assert_int_equal(flame_report_add(&r, before, 1, FLAME_VALUE_OTHER, "a"), 0);
	assert_int_equal(flame_report_compare(&r, before, 1, "b"), 0);
	assert_int_equal(r.nr_changes, 0);
	assert_int_equal(r.nr_within_noise, 0);
	flame_report_release(&r);
	flame_profile_free(before);
	flame_profile_free(after);
}

static void errors_are_known(void **state)
{
	struct flame_owner owner = { 0 };
	struct flame_profile *idle = read_text("(idle) 5\n"), *negative = read_text("a -5\nb 7\n");
	struct flame_report r;

	(void)state;
	flame_report_init(&r, NULL, &owner);
	assert_int_equal(flame_report_add(&r, idle, 1, FLAME_VALUE_OTHER, "x"), FLAME_EEMPTY);
	assert_int_equal(flame_report_add(&r, negative, 1, FLAME_VALUE_OTHER, "x"), FLAME_EARG);
	assert_int_equal(r.nr_parts, 0);
	flame_report_release(&r);
	flame_profile_free(idle);
	flame_profile_free(negative);
	assert_true(flame_share_error(0.5, 0) <= 0);
	assert_true(flame_share_error(0.5, 10000) > 0.0097 && flame_share_error(0.5, 10000) < 0.0099);
}

/* Deep and hostile: neither the stack nor time runs out. */
static void depth_is_no_limit(void **state)
{
	struct reading reading;
	size_t nr = 20000, len = 0;
	char *text = malloc(nr * 16 + 64);

	(void)state;
	for (size_t i = 0; i < nr; i++)
		len += (size_t)sprintf(text + len, "%sf%zu", i ? ";" : "", i % 300);
	sprintf(text + len, " 5\n");
	start(&reading, text, NULL);
	assert_int_equal(total_of(&reading.r.parts[0], "f7"), 5);
	finish(&reading);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_split_where_values_do),
		cmocka_unit_test(shares_add_up),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(the_nearest_owner_counts),
		cmocka_unit_test(owners_meet_on_all_paths),
		cmocka_unit_test(lines_are_those_that_cost),
		cmocka_unit_test(the_kernel_belongs_to_its_caller),
		cmocka_unit_test(collectors_are_one),
		cmocka_unit_test(blocked_time_is_seen),
		cmocka_unit_test(differences_have_an_interval),
		cmocka_unit_test(errors_are_known),
		cmocka_unit_test(depth_is_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Events in any order come out sorted, whatever has to go through a file, and whether or not there can be one. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../converters/chrome_order.h"

#define NR 3000

struct numbered {
	struct chrome_event event;
	size_t nr;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % limit;
}

/* What the header promises, said anew. */
static int compare(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	bool x_whole = x->event.dur >= 0, y_whole = y->event.dur >= 0;

	if (x->event.thread != y->event.thread)
		return x->event.thread < y->event.thread ? -1 : 1;
	if (x->event.ts != y->event.ts)
		return x->event.ts < y->event.ts ? -1 : 1;
	if (x_whole != y_whole)
		return x_whole ? 1 : -1;
	if (x_whole && x->event.dur != y->event.dur)
		return x->event.dur > y->event.dur ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

static void assert_same(const struct chrome_event *got, const struct chrome_event *want)
{
	assert_int_equal(got->thread, want->thread);
	assert_int_equal(got->ts, want->ts);
	assert_int_equal(got->dur, want->dur);
	assert_int_equal(got->frame, want->frame);
}

static void add_all(struct chrome_order *o, const struct numbered *events, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(chrome_order_add(o, &events[i].event), 0);
		assert_true(o->no_file || o->memory <= o->memory_max);
		assert_true(o->no_file || o->nr_in_file - o->nr_merged <= o->runs_max);
	}
}

static void take_all(struct chrome_order *o, struct numbered *events, size_t nr)
{
	struct chrome_event e;

	qsort(events, nr, sizeof(*events), compare);
	assert_int_equal(chrome_order_start(o), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(chrome_order_next(o, &e), 1);
		assert_same(&e, &events[i].event);
	}
	assert_int_equal(chrome_order_next(o, &e), 0);
	assert_int_equal(chrome_order_next(o, &e), 0);
}

enum shape {
	BY_START,
	BY_END,		/* an event behind those inside it */
	ALL_ONE_TIME,
	ANY,
	NR_SHAPES,
};

static struct numbered *make(enum shape shape, uint32_t threads)
{
	struct numbered *events = calloc(NR, sizeof(*events));

	assert_non_null(events);
	for (size_t i = 0; i < NR; i++) {
		int64_t time = shape == ALL_ONE_TIME ? 7 : (int64_t)(shape == ANY ? random_below(9000) : i * 5);
		int64_t dur = (int64_t)random_below(4) - 2;

		events[i].nr = i;
		events[i].event = (struct chrome_event){
			.ts = time, .dur = dur < 0 ? dur : (int64_t)random_below(3) * 1000,
			.frame = (flame_frame)random_below(300), .thread = 1 + (uint32_t)random_below(threads),
		};
		if (shape == BY_END)
			events[i].event.ts -= (int64_t)random_below(2) * events[i].event.dur;
	}
	return events;
}

static void test_orders(void **state)
{
	static const size_t limits[][3] = {
		{ CHROME_BATCH, CHROME_RUNS_BYTES, CHROME_RUNS_MAX }, { 64, CHROME_RUNS_BYTES, 4 }, { 1, 0, 0 },
		{ 1, 50, 3 }, { 7, 100, 1 }, { 64, 2000, 512 }, { 64, 0, 2 }, { 1000, 0, 512 }, { 7, 0, 1000 },
	};
	static const uint32_t threads[] = { 1, 3, 2000 };

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		for (unsigned int k = 0; k < NR_SHAPES * 3; k++) {
			struct chrome_order o = {
				.batch_max = limits[i][0], .memory_max = limits[i][1], .runs_max = limits[i][2],
			};
			struct numbered *events = make(k % NR_SHAPES, threads[k / NR_SHAPES]);

			add_all(&o, events, NR);
			assert_true(o.has_file == (limits[i][1] < CHROME_RUNS_BYTES));
			assert_false(o.no_file);
			take_all(&o, events, NR);
			chrome_order_release(&o);
			free(events);
		}
	}
}

/* The largest numbers, and the steps between them, come back as they were. */
static void test_extremes(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, 1LL << 55, INT64_MAX - 1, INT64_MAX };
	static const int64_t durs[] = { CHROME_BEGIN, CHROME_END, 0, 252, 253, 0xfffc, 0xfffd, 1LL << 48, INT64_MAX };
	static const uint32_t rows[] = { 1, 255, 256, 65535, 65536, 0xffffff, 0x1000000, UINT32_MAX };
	struct numbered events[8 * 9 * 8];
	size_t nr = 0;

	(void)state;
	for (size_t i = 0; i < 8 * 9 * 8; i++, nr++) {
		events[nr] = (struct numbered){
			.event = {
				.ts = times[i % 8], .dur = durs[i / 8 % 9], .frame = rows[i / 72] == 1 ? 0 : rows[i / 72],
				.thread = rows[(i + i / 72) % 8],
			},
			.nr = nr,
		};
	}
	for (size_t batch = 1; batch < 2000; batch = batch * 2 + 1) {
		struct chrome_order o = { .batch_max = batch, .memory_max = 300, .runs_max = 2 };
		struct numbered copy[8 * 9 * 8];

		memcpy(copy, events, sizeof(copy));
		add_all(&o, copy, nr);
		take_all(&o, copy, nr);
		chrome_order_release(&o);
	}
}

static void test_none(void **state)
{
	struct chrome_order o = { .batch_max = 1 };
	struct chrome_event e;

	(void)state;
	assert_int_equal(chrome_order_start(&o), 0);
	assert_int_equal(chrome_order_next(&o, &e), 0);
	chrome_order_release(&o);
}

/* Without a place for a file all stays in memory. */
static void test_no_directory(void **state)
{
	struct chrome_order o = { .batch_max = 64, .memory_max = 100, .runs_max = 2 };
	struct numbered *events = make(ANY, 3);

	(void)state;
	setenv("TMPDIR", "/nonexistent", 1);
	add_all(&o, events, NR);
	assert_true(o.no_file);
	assert_false(o.has_file);
	assert_true(o.memory > 100);
	take_all(&o, events, NR);
	chrome_order_release(&o);
	free(events);
	unsetenv("TMPDIR");
}

/* A disk that gets full, at each place in turn: what is in the file is used, all else stays in memory. */
static void test_full(void **state)
{
	struct rlimit old, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	for (rlim_t size = 0; size < 40000; size += 1111) {
		struct chrome_order o = { .batch_max = 64, .memory_max = 500, .runs_max = 5 };
		struct numbered *events = make(ANY, 3);

		limit = (struct rlimit){ .rlim_cur = size, .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		add_all(&o, events, NR);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_true(o.has_file);
		assert_true(o.file_end <= size);
		if (size < 20000)
			assert_true(o.no_file);
		take_all(&o, events, NR);
		chrome_order_release(&o);
		free(events);
	}
}

/* A file that does not give back what it took is an error, at the start or later. */
static void test_lost(void **state)
{
	struct numbered *events = make(ANY, 3);

	(void)state;
	for (size_t left = 0; left < 20000; left += 4000) {
		struct chrome_order o = { .batch_max = 64, .memory_max = 500, .runs_max = 5 };
		struct chrome_event e;
		int got;

		add_all(&o, events, NR);
		assert_true(o.has_file);
		assert_int_equal(ftruncate(o.fd, (off_t)left), 0);
		got = chrome_order_start(&o);
		while (got >= 0 && (got = chrome_order_next(&o, &e)) > 0)
			;
		assert_int_equal(got, FLAME_EIO);
		assert_int_equal(errno, EIO);
		chrome_order_release(&o);
	}
	free(events);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders), cmocka_unit_test(test_extremes), cmocka_unit_test(test_none),
		cmocka_unit_test(test_no_directory), cmocka_unit_test(test_full), cmocka_unit_test(test_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

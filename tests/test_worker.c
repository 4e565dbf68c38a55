/* SPDX-License-Identifier: MIT */
/* Each job is done once, by the worker or by who asks for it, and nobody waits for what nobody does. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>

#include "../core/worker.h"

#define NR_JOBS 1000

static void count(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* @backwards: they are asked for in the other order than they were started. */
static void run_all(struct flame_worker *w, bool backwards)
{
	static struct flame_job jobs[NR_JOBS];
	static atomic_int done[NR_JOBS];

	for (int i = 0; i < NR_JOBS; i++) {
		done[i] = 0;
		jobs[i] = (struct flame_job){ .work = count, .arg = &done[i] };
		/* Every tenth is never started, and done at the end all the same. */
		if (i % 10)
			flame_worker_start(w, &jobs[i]);
	}
	for (int i = 0; i < NR_JOBS; i++) {
		int at = backwards ? NR_JOBS - 1 - i : i;

		flame_worker_end(w, &jobs[at]);
		assert_int_equal(done[at], 1);
	}
	for (int i = 0; i < NR_JOBS; i++)
		assert_int_equal(done[i], 1);
}

static void test_jobs(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		struct flame_worker *w = i & 1 ? flame_worker_new() : NULL;

		run_all(w, i & 2);
		/* The same worker again, after it has had nothing to do. */
		run_all(w, i & 4);
		flame_worker_free(w);
	}
}

static atomic_bool begun, open;

static void hold(void *arg)
{
	(void)arg;
	begun = true;
	while (!open)
		;
}

static void let_go(void *arg)
{
	(void)arg;
	open = true;
}

/* While the worker is busy the next job is done by who asks for it: here nothing else would end the first. */
static void test_busy(void **state)
{
	struct flame_worker *w = flame_worker_new();
	struct flame_job first = { .work = hold }, second = { .work = let_go };

	(void)state;
	assert_non_null(w);
	flame_worker_start(w, &first);
	while (!begun)
		;
	flame_worker_start(w, &second);
	flame_worker_end(w, &second);
	flame_worker_end(w, &first);
	flame_worker_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

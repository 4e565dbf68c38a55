/* SPDX-License-Identifier: MIT */
/*
 * test_known.c - paths that are fed without what is known of them make the same profile as paths that are pushed whole;
 * so do samples of paths that are remembered by a number.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../core/known.h"
#include "text.h"

#define MAX_DEPTH 60
#define NR_NAMES 26
#define NR_NUMBERS 50

static void name_frames(struct flame_profile *p, flame_frame *frames)
{
	for (int i = 0; i < NR_NAMES; i++) {
		char name[] = { (char)('a' + i), '\0' };
		struct flame_frame_info info = { .name = flame_intern(p, name, 1) };

		frames[i] = flame_frame_row(p, &info);
	}
}

/* A path that may begin as the one in @path, or as one of few others. Return: its length. */
static size_t next_path(uint32_t *seed, const flame_frame *names, flame_frame *path, uint32_t spread)
{
	size_t nr = 1 + text_random(seed, MAX_DEPTH), from = text_random(seed, 3) ? 0 : text_random(seed, MAX_DEPTH);
	uint32_t first = text_random(seed, spread);

	for (size_t i = from; i < nr; i++)
		path[i] = names[text_random(i < 30 && !from ? &first : seed, NR_NAMES)];
	return nr;
}

/* Paths that are remembered, and their stacks in the profile that they are pushed into whole. */
struct numbers {
	uint32_t seed;
	flame_stack stacks[NR_NUMBERS + 1];
};

/* Remember the path that was added last as some number, or not; add samples to some that are remembered, mostly few. */
static void add_again(struct numbers *n, struct flame_feeder *feeder, struct flame_profile *whole, flame_stack last)
{
	size_t nr = text_random(&n->seed, 1000) ? text_random(&n->seed, 4) : 5000;

	if (!text_random(&n->seed, 4)) {
		uint32_t number = 1 + text_random(&n->seed, NR_NUMBERS);

		assert_int_equal(flame_feeder_keep(feeder, number), 0);
		n->stacks[number] = last;
	}
	for (size_t i = 0; i < nr; i++) {
		uint32_t number = 1 + text_random(&n->seed, NR_NUMBERS);
		struct flame_sample s = { .type = 1, .value = (int64_t)number, .nr_samples = 1 };

		if (!n->stacks[number])
			continue;
		assert_int_equal(flame_feeder_again(feeder, number, &s, 1), 0);
		s.stack = n->stacks[number];
		assert_int_equal(flame_sample_add(whole, &s), 0);
	}
}

struct seen {
	bool forgot, paused;
};

static struct seen check(size_t nr_paths, uint32_t spread, bool threaded)
{
	struct flame_profile *p = flame_profile_new(NULL), *whole = flame_profile_new(NULL);
	struct flame_type_info info = { 0 };
	struct flame_sample sample = { .type = flame_type_row(p, &info), .value = 1, .nr_samples = 1 };
	struct flame_feeder *feeder = flame_feeder_new(p, threaded);
	struct flame_known known = { 0 };
	flame_frame names[NR_NAMES], path[MAX_DEPTH];
	flame_stack stacks[MAX_DEPTH];
	uint32_t seed = spread, nr_known = 0;
	struct seen seen = { false, false };
	struct numbers numbers = { .seed = spread };
	char *want;

	flame_type_row(whole, &info);
	name_frames(p, names);
	name_frames(whole, names);
	for (int i = 0; i < MAX_DEPTH; i++)
		path[i] = names[0];
	for (size_t i = 0; i < nr_paths; i++) {
		struct flame_feed feed = { .samples = &sample, .nr_samples = 1 };
		size_t nr = next_path(&seed, names, path, spread);
		struct flame_sample s = sample;

		assert_int_equal(flame_known_add(&known, feeder, path, nr, &feed), 0);
		s.stack = flame_stack_push_all(whole, 0, path, nr, stacks);
		assert_int_equal(flame_sample_add(whole, &s), 0);
		add_again(&numbers, feeder, whole, s.stack);
		seen.forgot |= known.prefixes.nr < nr_known;
		seen.paused |= known.nr_paused > 0;
		nr_known = known.prefixes.nr;
	}
	assert_int_equal(flame_feeder_free(feeder), 0);
	assert_int_equal(flame_nr_stacks(p), flame_nr_stacks(whole));
	want = text_folded(whole, 1);
	assert_folded(p, 1, want);
	free(want);
	flame_known_release(&known);
	flame_profile_free(p);
	flame_profile_free(whole);
	return seen;
}

static void shared(void **state)
{
	struct seen seen = check(60000, 50, false);

	(void)state;
	assert_false(seen.paused);
	assert_true(check(60000, 50, true).forgot);
}

/* Few paths begin alike: it pauses, and tries again. */
static void apart(void **state)
{
	(void)state;
	assert_true(check(90000, 1 << 20, true).paused);
}

static void few(void **state)
{
	(void)state;
	check(1, 1, false);
	check(100, 2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shared), cmocka_unit_test(apart), cmocka_unit_test(few) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_known.c - paths that are fed without what is known of their ends make the same profile as paths that are pushed
 * whole; so do samples of paths that are remembered by a number.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../core/feeder.h"
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

/* The same path as bytes, a frame each, the root's last. */
static void write_path(const flame_frame *path, size_t nr, char *bytes)
{
	for (size_t i = 0; i < nr; i++)
		bytes[i] = (char)path[nr - 1 - i];
}

/* Feed it without the blocks that are known, and learn one more. */
static void feed_path(struct flame_known *known, struct flame_feeder *feeder, const flame_frame *path, size_t nr,
		      const struct flame_sample *sample)
{
	struct flame_feed feed = { .samples = sample, .nr_samples = 1 };
	const struct flame_known_entry *found;
	struct flame_known_hashes hashes;
	flame_frame *to;
	char bytes[MAX_DEPTH];
	size_t nr_blocks;

	write_path(path, nr, bytes);
	if (flame_known_make_room(known))
		flame_feeder_forget(feeder);
	flame_known_hash(known, bytes, nr, &hashes);
	assert_int_equal(hashes.nr, nr / FLAME_KNOWN_BLOCK);
	nr_blocks = flame_known_find(known, bytes, nr, &hashes, &found);
	if (found) {
		assert_int_equal(found->nr_frames, nr_blocks * FLAME_KNOWN_BLOCK);
		feed.mark = found->id;
		feed.skip = found->nr_frames;
	}
	feed.nr = (uint32_t)nr - feed.skip;
	to = flame_feeder_path(feeder, feed.nr);
	assert_non_null(to);
	memcpy(to, path + feed.skip, feed.nr * sizeof(*to));
	assert_int_equal(flame_feeder_add(feeder, &feed), 0);
	if (nr_blocks < hashes.nr) {
		uint32_t more = feed.skip + FLAME_KNOWN_BLOCK, id;

		id = flame_known_add(known, bytes, nr, &hashes, nr_blocks, feed.mark, more);
		assert_int_equal(id, known->nr);
		assert_int_equal(flame_feeder_mark(feeder, id, more), 0);
	}
}

/* Return: whether all was forgotten meanwhile. */
static bool check(size_t nr_paths, uint32_t spread, bool threaded)
{
	struct flame_profile *p = flame_profile_new(NULL), *whole = flame_profile_new(NULL);
	struct flame_type_info info = { 0 };
	struct flame_sample sample = { .type = flame_type_row(p, &info), .value = 1, .nr_samples = 1 };
	struct flame_feeder *feeder = flame_feeder_new(p, threaded);
	struct flame_known known = { 0 };
	flame_frame names[NR_NAMES], path[MAX_DEPTH];
	flame_stack stacks[MAX_DEPTH];
	uint32_t seed = spread, nr_known = 0;
	bool forgot = false;
	struct numbers numbers = { .seed = spread };
	char *want;

	flame_type_row(whole, &info);
	name_frames(p, names);
	name_frames(whole, names);
	for (int i = 0; i < MAX_DEPTH; i++)
		path[i] = names[0];
	for (size_t i = 0; i < nr_paths; i++) {
		size_t nr = next_path(&seed, names, path, spread);
		struct flame_sample s = sample;

		feed_path(&known, feeder, path, nr, &sample);
		s.stack = flame_stack_push_all(whole, 0, path, nr, stacks);
		assert_int_equal(flame_sample_add(whole, &s), 0);
		add_again(&numbers, feeder, whole, s.stack);
		forgot |= known.nr < nr_known;
		nr_known = known.nr;
	}
	assert_int_equal(flame_feeder_free(feeder), 0);
	assert_int_equal(flame_nr_stacks(p), flame_nr_stacks(whole));
	want = text_folded(whole, 1);
	assert_folded(p, 1, want);
	free(want);
	flame_known_release(&known);
	flame_profile_free(p);
	flame_profile_free(whole);
	return forgot;
}

static void shared(void **state)
{
	(void)state;
	check(60000, 50, false);
	check(60000, 50, true);
}

/* Few paths begin alike: memory is bounded. */
static void apart(void **state)
{
	(void)state;
	assert_true(check(240000, 1 << 20, true));
}

static void few(void **state)
{
	(void)state;
	check(1, 1, false);
	check(100, 2, false);
}

/* Equal hashes, other bytes; and equal bytes in front of others. */
static void collisions(void **state)
{
	const char a[] = "0123456789abcdef0123456789ABCDEF", b[] = "0123456789abcdef0123456789ABCDEX";
	struct flame_known_hashes same = { .blocks = { 7, 7 }, .nr = 2 };
	const struct flame_known_entry *found;
	struct flame_known k = { 0 };
	size_t len = sizeof(a) - 1;

	(void)state;
	assert_int_equal(flame_known_add(&k, a, len, &same, 0, 0, 3), 1);
	assert_int_equal(flame_known_add(&k, a, len, &same, 1, 1, 6), 2);
	assert_int_equal(flame_known_find(&k, a, len, &same, &found), 2);
	assert_int_equal(found->id, 2);
	assert_int_equal(found->nr_frames, 6);
	assert_int_equal(flame_known_find(&k, b, len, &same, &found), 0);
	assert_null(found);
	assert_int_equal(flame_known_add(&k, b, len, &same, 0, 0, 3), 3);
	assert_int_equal(flame_known_find(&k, b, len, &same, &found), 1);
	assert_int_equal(found->id, 3);
	flame_known_release(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared), cmocka_unit_test(apart), cmocka_unit_test(few), cmocka_unit_test(collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

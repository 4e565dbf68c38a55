/* SPDX-License-Identifier: MIT */
/*
 * test_bulk.c - samples in large numbers: the profile is the one that pushing each path by itself makes, but for rows.
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

#include "../core/bulk.h"
#include "../core/table.h"
#include "text.h"

#define VALUES_MAX 3
#define PATH_MAX_FRAMES 512

/* A path as it stands in the bytes, and where it is decoded from. */
struct stored {
	uint32_t nr;
	uint32_t usable;	/* 0: it is left out */
	int64_t values[VALUES_MAX];
	flame_frame frames[];
};

struct store {
	char *bytes;
	size_t nr_bytes, room_bytes;
	uint32_t *starts;
	size_t nr, room;
	size_t nr_values;
	flame_type types[VALUES_MAX];
	size_t nr_left_out, last_left_out;	/* in order */
};

static const struct stored *stored_at(const struct store *s, uint32_t start)
{
	return (const void *)(s->bytes + start);
}

static void put(struct store *s, const flame_frame *frames, uint32_t nr, const int64_t *values, bool usable)
{
	size_t size = sizeof(struct stored) + (nr + (nr & 1)) * sizeof(*frames);
	struct stored *path;

	assert_true(array_reserve((void **)&s->bytes, &s->room_bytes, s->nr_bytes + size, 1));
	assert_true(array_reserve((void **)&s->starts, &s->room, s->nr + 1, sizeof(*s->starts)));
	assert_non_null(s->bytes);
	assert_non_null(s->starts);
	path = (void *)(s->bytes + s->nr_bytes);
	memset(path, 0, size);
	path->nr = nr;
	path->usable = usable;
	memcpy(path->values, values, s->nr_values * sizeof(*values));
	memcpy(path->frames, frames, nr * sizeof(*frames));
	s->starts[s->nr++] = (uint32_t)s->nr_bytes;
	s->nr_bytes += size;
}

static int decode(const void *arg, uint32_t *start, size_t most, int64_t *values, struct flame_bulk_path *path)
{
	const struct store *s = arg;
	const struct stored *from = stored_at(s, *start), *last = (const void *)path->last;
	size_t same = 0;

	path->same = path->nr = 0;
	if (values && !from->usable)
		return FLAME_EFORMAT;
	if (values)
		memcpy(values, from->values, s->nr_values * sizeof(*values));
	assert_true(array_reserve((void **)&path->frames, &path->room, from->nr + 1, sizeof(*path->frames)));
	while (last && same < from->nr && same < last->nr && from->frames[same] == last->frames[same])
		same++;
	path->same = same;
	path->nr = from->nr < most ? from->nr : most;
	memcpy(path->frames, from->frames, path->nr * sizeof(*path->frames));
	path->last = most == SIZE_MAX ? (const char *)from : NULL;
	return 0;
}

static size_t make_samples(const void *arg, const int64_t *values, struct flame_sample *samples)
{
	const struct store *s = arg;
	size_t nr = 0;

	for (size_t i = 0; i < s->nr_values; i++) {
		if (values[i])
			samples[nr++] = (struct flame_sample){ .type = s->types[i], .value = values[i], .nr_samples = i + 1 };
	}
	return nr;
}

static int left_out(void *arg, size_t i)
{
	struct store *s = arg;

	assert_true(!s->nr_left_out++ || i > s->last_left_out);
	assert_int_equal(stored_at(s, s->starts[i])->usable, 0);
	s->last_left_out = i;
	return 0;
}

static void done(void *arg)
{
	(void)arg;
}

static struct flame_profile *new_profile(struct store *s)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_frame_info info = { .kind = FLAME_USER };
	struct flame_type_info type = { 0 };
	char name[16];

	assert_non_null(p);
	for (int i = 0; i < 30000; i++) {
		info.name = flame_intern(p, name, (size_t)snprintf(name, sizeof(name), "f%d", i));
		assert_int_equal(flame_frame_row(p, &info), i + 1);
	}
	for (size_t i = 0; i < s->nr_values; i++) {
		type.name = flame_intern(p, &"abc"[i], 1);
		s->types[i] = flame_type_row(p, &type);
	}
	return p;
}

static int add_bulk(struct store *s, bool threaded, struct flame_profile **p)
{
	const struct flame_bulk bulk = {
		.decode = decode, .make_samples = make_samples, .left_out = left_out, .done = done, .arg = s,
		.bytes = s->bytes, .nr_bytes = s->nr_bytes, .starts = s->starts, .nr = s->nr, .nr_values = s->nr_values,
		.threaded = threaded,
	};

	*p = new_profile(s);
	s->nr_left_out = 0;
	return flame_bulk_add(*p, &bulk);
}

static struct flame_profile *add_one_by_one(struct store *s)
{
	struct flame_profile *p = new_profile(s);

	for (size_t i = 0; i < s->nr; i++) {
		const struct stored *path = stored_at(s, s->starts[i]);
		struct flame_sample samples[VALUES_MAX];
		size_t nr = make_samples(s, path->values, samples);
		flame_stack stack = 0;

		if (!path->usable)
			continue;
		for (uint32_t k = 0; k < path->nr; k++)
			stack = flame_stack_push(p, stack, path->frames[k]);
		for (size_t k = 0; k < nr; k++)
			samples[k].stack = stack;
		assert_int_equal(flame_samples_add(p, samples, nr), 0);
	}
	return p;
}

static void assert_same_samples(const struct flame_profile *a, const struct flame_profile *b, const flame_stack *map)
{
	assert_int_equal(flame_nr_samples(a), flame_nr_samples(b));
	for (uint32_t i = 0; i < flame_nr_samples(a); i++) {
		const struct flame_sample *x = flame_sample_get(a, i), *y = flame_sample_get(b, i);

		assert_int_equal(map ? map[x->stack] : x->stack, y->stack);
		assert_int_equal(x->type, y->type);
		assert_int_equal(x->value, y->value);
		assert_int_equal(x->nr_samples, y->nr_samples);
		assert_true(flame_stack_has_samples(b, y->stack));
	}
}

/* The same stacks, and those that one calls in the same order; looking for one of @b's must not make it. */
static flame_stack *assert_same_stacks(const struct flame_profile *a, struct flame_profile *b)
{
	uint32_t nr = flame_nr_stacks(a);
	flame_stack *map = calloc(nr, sizeof(*map)), *last = calloc(nr, sizeof(*last));

	assert_int_equal(nr, flame_nr_stacks(b));
	for (flame_stack i = 1; i < nr; i++) {
		flame_stack caller = flame_stack_caller(a, i);

		map[i] = flame_stack_push(b, map[caller], flame_stack_frame(a, i));
		assert_int_equal(flame_nr_stacks(b), nr);
		assert_int_equal(flame_stack_caller(b, map[i]), map[caller]);
		assert_true(map[i] > map[caller]);
		assert_true(map[i] > last[caller]);
		last[caller] = map[i];
	}
	free(last);
	return map;
}

static void assert_same_rows(const struct flame_profile *a, const struct flame_profile *b)
{
	assert_int_equal(flame_nr_stacks(a), flame_nr_stacks(b));
	for (flame_stack i = 0; i < flame_nr_stacks(a); i++) {
		assert_int_equal(flame_stack_frame(a, i), flame_stack_frame(b, i));
		assert_int_equal(flame_stack_caller(a, i), flame_stack_caller(b, i));
		assert_int_equal(flame_stack_has_samples(a, i), flame_stack_has_samples(b, i));
	}
	assert_same_samples(a, b, NULL);
}

static void release(struct store *s)
{
	free(s->bytes);
	free(s->starts);
}

static void check(struct store *s)
{
	struct flame_profile *want = add_one_by_one(s), *one, *two;
	uint32_t nr_new = flame_nr_stacks(want);
	flame_stack *map;

	assert_int_equal(add_bulk(s, false, &one), 0);
	assert_int_equal(add_bulk(s, true, &two), 0);
	assert_same_rows(one, two);
	map = assert_same_stacks(want, two);
	assert_same_samples(want, two, map);
	/* It is a profile like any other: more can be added. */
	assert_int_equal(flame_stack_push(two, flame_nr_stacks(two) - 1, 29999), nr_new);
	assert_int_equal(flame_stack_push(two, 0, 29999), nr_new + 1);
	assert_int_equal(flame_stack_push(two, 0, 29999), nr_new + 1);
	free(map);
	flame_profile_free(want);
	flame_profile_free(one);
	flame_profile_free(two);
}

struct shape {
	size_t nr, nr_values;
	uint32_t common;	/* frames that nearly all paths begin with */
	uint32_t nr_frames;	/* to choose from */
	uint32_t depth;
	uint32_t again;		/* one path in so many is one that was there; 0: none */
	uint32_t broken;	/* the same of those that are left out */
	uint32_t zero;		/* and of values */
	uint32_t trunks;	/* beginnings behind the common one */
};

static void make_paths(struct store *s, const struct shape *shape, uint32_t seed)
{
	flame_frame frames[PATH_MAX_FRAMES];
	int64_t values[VALUES_MAX];

	s->nr_values = shape->nr_values;
	for (size_t i = 0; i < shape->nr; i++) {
		uint32_t nr = 0, trunk = text_random(&seed, shape->trunks), state = trunk + 1;
		uint32_t depth = 1 + text_random(&seed, shape->depth);

		for (size_t k = 0; k < VALUES_MAX; k++)
			values[k] = k >= shape->nr_values ||
				    (shape->zero && !text_random(&seed, shape->zero)) ? 0 :
				    1 + text_random(&seed, 1000);
		values[0] += !values[0] && !values[1] && !values[2];
		if (i && shape->again && !text_random(&seed, shape->again)) {
			const struct stored *path = stored_at(s, s->starts[text_random(&seed, (uint32_t)i)]);

			nr = path->nr;
			memcpy(frames, path->frames, nr * sizeof(*frames));
			put(s, frames, nr, values, true);
			continue;
		}
		if (text_random(&seed, 500)) {
			for (; nr < shape->common; nr++)
				frames[nr] = 1 + nr % 7;
		}
		for (uint32_t k = text_random(&seed, 30); k; k--)
			frames[nr++] = 1 + text_random(&state, shape->nr_frames);
		while (depth--)
			frames[nr++] = 1 + text_random(&seed, shape->nr_frames);
		put(s, frames, nr, values, !shape->broken || text_random(&seed, shape->broken));
	}
}

static void test_like_one_by_one(void **state)
{
	static const struct shape shapes[] = {
		{ .nr = 3000, .nr_values = 1, .nr_frames = 50, .depth = 20, .trunks = 40 },
		{ .nr = 20000, .nr_values = 2, .nr_frames = 500, .depth = 30, .trunks = 300 },
		/* Groups that are large, as all begin alike: more than is stepped over at once. */
		{ .nr = 20000, .nr_values = 2, .common = 200, .nr_frames = 500, .depth = 30, .trunks = 1 },
		{ .nr = 30000, .nr_values = 2, .common = 30, .nr_frames = 3, .depth = 40, .trunks = 2 },
		/* Short ones, which are told by their beginning. */
		{ .nr = 20000, .nr_values = 1, .nr_frames = 3, .depth = 6, .trunks = 1 },
		{ .nr = 20000, .nr_values = 3, .nr_frames = 20, .depth = 30, .again = 5, .zero = 3, .trunks = 100 },
		{ .nr = 20000, .nr_values = 2, .nr_frames = 20, .depth = 30, .again = 4, .broken = 50, .trunks = 100 },
		{ .nr = 20000, .nr_values = 2, .nr_frames = 20, .depth = 30, .again = 4, .trunks = 5 },
		{ .nr = 1, .nr_values = 1, .nr_frames = 20, .depth = 30, .trunks = 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct store s = { 0 };

		make_paths(&s, &shapes[i], (uint32_t)i + 1);
		check(&s);
		release(&s);
	}
}

/* Where paths begin in as many ways as there are, nothing is done. */
static void test_too_many_beginnings(void **state)
{
	struct store s = { .nr_values = 1 };
	struct flame_profile *p;
	int64_t value = 1;

	(void)state;
	for (flame_frame i = 1; i < 20000; i++)
		put(&s, (flame_frame[]){ i, 7, 8 }, 3, &value, true);
	for (int threaded = 0; threaded < 2; threaded++) {
		assert_int_equal(add_bulk(&s, threaded, &p), FLAME_BULK_NOT);
		assert_int_equal(flame_nr_stacks(p), 1);
		assert_int_equal(flame_nr_samples(p), 0);
		assert_int_equal(flame_profile_error(p), 0);
		flame_profile_free(p);
	}
	release(&s);
}

static void test_overflow(void **state)
{
	struct store s = { .nr_values = 1 };
	struct flame_profile *p;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		int64_t value = i == 3 || i == 19997 ? INT64_MAX : 1;

		put(&s, (flame_frame[]){ 1 + i % 40, 1 + i / 40 % 50, 1 + i % 7000 }, 3, &value, true);
	}
	put(&s, stored_at(&s, s.starts[3])->frames, 3, (int64_t[]){ INT64_MAX }, true);
	for (int threaded = 0; threaded < 2; threaded++) {
		assert_int_equal(add_bulk(&s, threaded, &p), FLAME_EOVERFLOW);
		assert_int_equal(flame_profile_error(p), FLAME_EOVERFLOW);
		flame_profile_free(p);
	}
	release(&s);
}

static void test_nothing(void **state)
{
	struct store s = { .nr_values = 1 };
	struct flame_profile *p;

	(void)state;
	assert_int_equal(add_bulk(&s, true, &p), 0);
	assert_int_equal(flame_nr_samples(p), 0);
	flame_profile_free(p);
	for (int i = 0; i < 3000; i++)
		put(&s, (flame_frame[]){ 1, 2 }, 2, (int64_t[]){ 1 }, false);
	assert_int_equal(add_bulk(&s, true, &p), 0);
	assert_int_equal(s.nr_left_out, 3000);
	assert_int_equal(flame_nr_samples(p), 0);
	flame_profile_free(p);
	release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_one_by_one),
		cmocka_unit_test(test_too_many_beginnings),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

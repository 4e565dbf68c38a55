/* SPDX-License-Identifier: MIT */
/*
 * test_profile.c - the tables: rows, what is kept apart, sums and what happens when they overflow.
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

#include "../core/flame.h"
#include "text.h"

static flame_frame frame(struct flame_profile *p, const char *name, enum flame_kind kind)
{
	return flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, name, strlen(name)), .kind = kind });
}

static flame_type type(struct flame_profile *p, const char *name)
{
	return flame_type_row(p, &(struct flame_type_info){ .name = flame_intern(p, name, strlen(name)) });
}

static int add(struct flame_profile *p, flame_stack stack, flame_type t, int64_t value)
{
	return flame_sample_add(p, &(struct flame_sample){ .stack = stack, .type = t, .value = value });
}

static void test_strings(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	char name[32];

	(void)state;
	assert_int_equal(flame_intern(p, "", 0), 0);
	assert_int_equal(flame_string_get(p, 0).len, 0);
	assert_int_equal(flame_string_get(p, 12345).len, 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20000; i++) {
			int n = snprintf(name, sizeof(name), "name %d", i);
			flame_string row = flame_intern(p, name, (size_t)n);

			assert_int_equal(row, i + 1);
			assert_int_equal(flame_string_get(p, row).len, n);
			assert_string_equal(flame_string_get(p, row).s, name);
		}
	}
	/* Bytes are bytes: a NUL does not end them, and a prefix is another string. */
	assert_int_not_equal(flame_intern(p, "a\0b", 3), flame_intern(p, "a\0c", 3));
	assert_int_not_equal(flame_intern(p, "a", 1), flame_intern(p, "a\0", 2));
	flame_profile_free(p);
	flame_profile_free(NULL);
}

/* What the options keep apart differs; what they do not is the first seen. */
static void test_frames(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_profile_options all = { .kinds = FLAME_ALL_KINDS, .keep_module = true, .keep_line = true };
	struct flame_frame_info info = { 0 };
	flame_frame a, b;

	(void)state;
	a = frame(p, "f", FLAME_USER);
	assert_int_equal(frame(p, "f", FLAME_KERNEL), a);
	assert_int_equal(flame_frame_get(p, 1)->kind, FLAME_USER);
	assert_int_equal(flame_nr_frames(p), 2);
	flame_profile_free(p);

	p = flame_profile_new(&(struct flame_profile_options){ .kinds = FLAME_KIND_BIT(FLAME_KERNEL) });
	assert_int_not_equal(frame(p, "f", FLAME_USER), frame(p, "f", FLAME_KERNEL));
	assert_int_equal(frame(p, "f", FLAME_USER), frame(p, "f", FLAME_JIT));
	flame_profile_free(p);

	p = flame_profile_new(&all);
	info.name = flame_intern(p, "f", 1);
	info.module = flame_intern(p, "libx", 4);
	info.file = flame_intern(p, "x.c", 3);
	info.line = 7;
	a = flame_frame_row(p, &info);
	assert_int_equal(flame_frame_row(p, &info), a);
	info.line = 8;
	b = flame_frame_row(p, &info);
	assert_int_not_equal(a, b);
	info.module = 0;
	assert_int_not_equal(flame_frame_row(p, &info), b);
	assert_int_equal(flame_frame_get(p, a)->line, 7);
	assert_int_equal(flame_frame_get(p, 999)->name, 0);
	flame_profile_free(p);
}

/* A model of the call tree, in the plainest form there is. */
struct model {
	flame_stack caller;
	flame_frame frame;
};

static flame_stack model_push(struct model *m, uint32_t *nr, flame_stack caller, flame_frame f)
{
	for (uint32_t i = 1; i < *nr; i++) {
		if (m[i].caller == caller && m[i].frame == f)
			return i;
	}
	m[*nr] = (struct model){ caller, f };
	return (*nr)++;
}

static void test_stacks_random(void **state)
{
	enum { ROUNDS = 40, PUSHES = 400 };
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct flame_profile *p = flame_profile_new(NULL);
		struct model *m = calloc(PUSHES + 1, sizeof(*m));
		uint32_t nr = 1, nr_heads = 0;
		flame_stack caller;

		for (int i = 0; i < PUSHES; i++) {
			flame_stack under = text_random(&seed, 3) ? nr - 1 : text_random(&seed, nr);
			flame_frame f = text_random(&seed, 1 + (uint32_t)round / 4);

			assert_int_equal(flame_stack_push(p, under, f), model_push(m, &nr, under, f));
			assert_int_equal(flame_nr_stacks(p), nr);
		}
		for (uint32_t i = 1; i < nr; i++) {
			assert_int_equal(flame_stack_caller(p, i), m[i].caller);
			assert_int_equal(flame_stack_frame(p, i), m[i].frame);
			nr_heads += m[i].caller != i - 1;
		}
		/* Heads: the ones that do not follow their caller, in the order of rows. */
		for (uint32_t i = 0, row = 0; i < flame_nr_stack_heads(p); i++) {
			flame_stack head = flame_stack_head(p, i, &caller);

			assert_true(head > row);
			assert_int_equal(caller, m[head].caller);
			row = head;
		}
		assert_true(flame_nr_stack_heads(p) >= nr_heads);
		flame_profile_free(p);
		free(m);
	}
}

/* All at once is the same as one at a time. */
static void test_push_all(void **state)
{
	struct flame_profile *a = flame_profile_new(NULL), *b = flame_profile_new(NULL);
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		size_t nr = text_random(&seed, 20);
		flame_frame frames[20];
		flame_stack stacks[20], at = 0;

		for (size_t j = 0; j < nr; j++)
			frames[j] = 1 + text_random(&seed, 3);
		assert_int_equal(flame_stack_push_all(b, 0, frames, nr, stacks) != 0, nr != 0);
		for (size_t j = 0; j < nr; j++) {
			at = flame_stack_push(a, at, frames[j]);
			assert_int_equal(at, stacks[j]);
		}
	}
	assert_int_equal(flame_nr_stacks(a), flame_nr_stacks(b));
	flame_profile_free(a);
	flame_profile_free(b);
}

static void test_sums(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	flame_stack one = flame_stack_push(p, 0, frame(p, "a", FLAME_USER));
	flame_stack two = flame_stack_push(p, one, frame(p, "b", FLAME_USER));
	flame_type t = type(p, "cycles"), u = type(p, "other");

	(void)state;
	assert_int_equal(t, 1);
	assert_int_equal(type(p, "cycles"), 1);
	assert_int_equal(u, 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(add(p, two, t, 5), 0);
		assert_int_equal(add(p, one, t, -1), 0);
		assert_int_equal(add(p, two, u, 100), 0);
	}
	assert_int_equal(flame_nr_samples(p), 3);
	assert_int_equal(flame_sample_get(p, 0)->value, 15);
	assert_int_equal(flame_sample_get(p, 0)->nr_samples, 3);
	assert_int_equal(flame_sample_get(p, 1)->value, -3);
	assert_int_equal(flame_sample_get(p, 2)->value, 300);
	flame_profile_free(p);
}

/* Samples of several types and tasks, alone and in runs, in any order: each is added to the one it belongs to. */
static void test_sums_random(void **state)
{
	enum { STACKS = 40, TASKS = 4, TYPES = 3 };
	struct flame_profile_options o = { .keep_task = true };
	struct flame_profile *p = flame_profile_new(&o);
	int64_t want[STACKS + 1][TASKS][TYPES + 1] = { 0 };
	uint32_t seed = 1;

	(void)state;
	for (uint32_t i = 1; i <= TYPES; i++) {
		char name[] = { (char)('a' + i), '\0' };

		assert_int_equal(flame_type_row(p, &(struct flame_type_info){ .name = flame_intern(p, name, 1) }), i);
	}
	for (int i = 1; i < TASKS; i++)
		assert_int_equal(flame_task_row(p, &(struct flame_task_info){ i, i, 0 }), i);
	for (int i = 0; i < 20000; i++) {
		flame_stack stack = 0;
		struct flame_sample s[TYPES];
		uint32_t depth = 1 + text_random(&seed, STACKS), task = text_random(&seed, TASKS);
		uint32_t from = 1 + text_random(&seed, TYPES), nr = 1 + text_random(&seed, TYPES - from + 1);

		for (uint32_t k = 1; k <= depth; k++) {
			struct flame_frame_info info = { .line = k % 2, .name = flame_intern(p, "xyz", 1 + k % 3) };

			stack = flame_stack_push(p, stack, flame_frame_row(p, &info));
		}
		for (uint32_t k = 0; k < nr; k++) {
			s[k] = (struct flame_sample){ stack, task, from + k, 1 + i % 7, 1 };
			want[depth][task][from + k] += s[k].value;
		}
		assert_int_equal(flame_samples_add(p, s, nr), 0);
	}
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);
		uint32_t depth = 0;

		for (flame_stack at = s->stack; at; at = flame_stack_caller(p, at))
			depth++;
		assert_int_equal(s->value, want[depth][s->task][s->type]);
		want[depth][s->task][s->type] = -1;	/* none comes twice */
	}
	for (size_t i = 0; i < sizeof(want) / sizeof(int64_t); i++)
		assert_true((&want[0][0][0])[i] <= 0);
	flame_profile_free(p);
}

static void test_tasks(void **state)
{
	struct flame_profile_options o = { .keep_task = true };
	struct flame_task_info info = { .pid = 1, .tid = 2 };

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		struct flame_profile *p;
		struct flame_sample s = { .value = 1 };

		o.keep_task = keep;
		p = flame_profile_new(&o);
		s.type = type(p, "t");
		s.stack = flame_stack_push(p, 0, frame(p, "a", FLAME_USER));
		info.tid = 2;
		s.task = flame_task_row(p, &info);
		assert_int_equal(flame_task_row(p, &info), s.task);
		flame_sample_add(p, &s);
		info.tid = 3;
		s.task = flame_task_row(p, &info);
		assert_int_equal(flame_nr_tasks(p), 3);
		flame_sample_add(p, &s);
		assert_int_equal(flame_nr_samples(p), keep ? 2 : 1);
		assert_int_equal(flame_task_get(p, s.task)->tid, 3);
		flame_profile_free(p);
	}
}

static void check_root(enum flame_root root, const char *comm, int32_t pid, int32_t tid, const char *want)
{
	struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .root = root });
	struct flame_task_info info = { pid, tid, flame_intern(p, comm, strlen(comm)) };
	flame_stack stack = flame_task_root(p, &info);

	assert_int_equal(stack != 0, *want != 0);
	if (stack)
		assert_string_equal(flame_string_get(p, flame_frame_get(p, flame_stack_frame(p, stack))->name).s, want);
	flame_profile_free(p);
}

static void test_roots(void **state)
{
	char longest[300];

	(void)state;
	check_root(FLAME_ROOT_COMM, "my app", 1, 2, "my_app");
	check_root(FLAME_ROOT_COMM, "a;b\tc\033", 1, 2, "a:b_c?");
	check_root(FLAME_ROOT_COMM, "", 1, 2, "");
	check_root(FLAME_ROOT_NONE, "app", 1, 2, "");
	check_root(FLAME_ROOT_PID, "app", 1, 2, "app-1");
	check_root(FLAME_ROOT_PID, "app", -1, 2, "app-?");
	check_root(FLAME_ROOT_TID, "app", 1, 2, "app-1/2");
	check_root(FLAME_ROOT_TID, "app", -1, -1, "app-?/?");
	check_root(FLAME_ROOT_TID, "app", INT32_MAX, INT32_MAX, "app-2147483647/2147483647");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[299] = '\0';
	{
		struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .root = FLAME_ROOT_TID });
		struct flame_task_info info = { 1, INT32_MAX, flame_intern(p, longest, 299) };

		assert_int_not_equal(flame_task_root(p, &info), 0);
		flame_profile_free(p);
	}
}

static void test_ordered(void **state)
{
	struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .ordered = true });
	flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER)), b = flame_stack_push(p, 0, frame(p, "b", FLAME_USER));
	flame_type t = type(p, "t");

	(void)state;
	add(p, a, t, 1);
	add(p, a, t, 2);
	add(p, b, t, 3);
	add(p, a, t, 4);
	assert_int_equal(flame_nr_samples(p), 3);
	assert_int_equal(flame_sample_get(p, 0)->value, 3);
	assert_int_equal(flame_sample_get(p, 2)->value, 4);
	assert_folded(p, t, "a 3\nb 3\na 4\n");
	flame_profile_free(p);
}

static void test_count(void **state)
{
	struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .count = true });
	flame_type t = type(p, "t");

	(void)state;
	add(p, 0, t, 12345);
	add(p, 0, t, INT64_MAX);
	assert_int_equal(flame_sample_get(p, 0)->value, 2);
	flame_profile_free(p);
}

/* Overflow fails once and for all: nothing wraps, and the first failure stays. */
static void test_overflow(void **state)
{
	static const int64_t edges[] = { INT64_MAX, INT64_MIN };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct flame_profile *p = flame_profile_new(NULL);
		flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER));
		flame_type t = type(p, "t");

		assert_int_equal(add(p, a, t, edges[i]), 0);
		assert_int_equal(add(p, a, t, i ? -1 : 1), FLAME_EOVERFLOW);
		assert_int_equal(flame_profile_error(p), FLAME_EOVERFLOW);
		assert_int_equal(add(p, a, t, 0), FLAME_EOVERFLOW);
		assert_int_equal(flame_intern(p, "new", 3), 0);
		assert_int_equal(flame_frame_row(p, &(struct flame_frame_info){ .name = 1, .line = 9 }), 0);
		assert_int_equal(flame_stack_push(p, a, 77), 0);
		assert_int_equal(flame_task_row(p, &(struct flame_task_info){ 1, 2, 0 }), 0);
		assert_int_equal(flame_type_rescale(p, t, 1), FLAME_EOVERFLOW);
		flame_profile_free(p);
	}
}

/* Of an input of sums, a full one goes on in another row; the row that is found stays the same. */
static void test_full_sums(void **state)
{
	struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .sums = true });
	flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER));
	flame_type t = type(p, "t");

	(void)state;
	assert_int_equal(add(p, a, t, INT64_MAX), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(p, a, t, 2), 0);
	assert_int_equal(flame_nr_samples(p), 2);
	assert_int_equal(flame_sample_get(p, 0)->value, 6);
	assert_int_equal(flame_sample_get(p, 1)->value, INT64_MAX);
	assert_int_equal(flame_sample_get(p, 0)->nr_samples, 3);
	flame_profile_free(p);
}

static void test_rescale(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER));
	flame_type t = type(p, "t"), u = type(p, "u");

	(void)state;
	add(p, a, t, 5);
	add(p, a, u, 5);
	assert_int_equal(flame_type_rescale(p, t, 2), 0);
	assert_int_equal(flame_type_rescale(p, t, 1), 0);
	assert_int_equal(flame_type_get(p, t)->scale, 2);
	assert_int_equal(flame_sample_get(p, 0)->value, 500);
	assert_int_equal(flame_sample_get(p, 1)->value, 5);
	assert_int_equal(add(p, a, t, 501), 0);
	assert_folded(p, t, "a 10.01\n");
	assert_folded(p, u, "a 5\n");
	/* As far as the sum has room. */
	assert_int_equal(flame_type_rescale(p, t, 18), 0);
	assert_int_equal(flame_type_get(p, t)->scale, 17);
	assert_folded(p, t, "a 10.01\n");
	flame_profile_free(p);

	p = flame_profile_new(NULL);
	t = type(p, "t");
	assert_int_equal(flame_type_rescale(p, t, 19), 0);
	assert_int_equal(flame_type_get(p, t)->scale, 18);
	flame_profile_free(p);
}

/* Digits that have no room beside the sum are rounded away. */
static void test_rounding(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER)), b = flame_stack_push(p, a, frame(p, "b", FLAME_USER));
	flame_type t = type(p, "t"), u = type(p, "u");

	(void)state;
	assert_int_equal(flame_sample_add_scaled(p, &(struct flame_sample){ .stack = a, .type = t, .value = 1234567890123456789 }, 18), 0);
	assert_folded(p, t, "a 1.234567890123456789\n");
	assert_int_equal(flame_sample_add_scaled(p, &(struct flame_sample){ .stack = b, .type = t, .value = -5000 }, 0), 0);
	assert_int_equal(flame_type_get(p, t)->scale, 14);
	assert_folded(p, t, "a 1.23456789012346\na;b -5000\n");
	assert_int_equal(flame_sample_add_scaled(p, &(struct flame_sample){ .stack = b, .type = t, .value = -123456789 }, 17), 0);
	assert_folded(p, t, "a 1.23456789012346\na;b -5000.00000000123457\n");
	for (int i = 0; i < 1000; i++)
		assert_int_equal(flame_sample_add_scaled(p, &(struct flame_sample){ .stack = a, .type = t, .value = 1000000001 }, 1), 0);
	assert_int_equal(flame_type_get(p, t)->scale, 7);
	assert_folded(p, t, "a 100000000101.2345679\na;b -5000\n");
	/* Both get what both can have. */
	assert_int_equal(flame_sample_add_scaled(p, &(struct flame_sample){ .stack = a, .type = u, .value = 123456789 }, 9), 0);
	assert_int_equal(flame_types_align(p, u, t), 0);
	assert_int_equal(flame_type_get(p, u)->scale, 7);
	assert_folded(p, u, "a 0.1234568\n");
	flame_profile_free(p);
}

static void test_join(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	flame_stack a = flame_stack_push(p, 0, frame(p, "a", FLAME_USER)), b = flame_stack_push(p, a, frame(p, "b", FLAME_USER));
	flame_type none = flame_type_row(p, &(struct flame_type_info){ 0 }), t = type(p, "t"), u = type(p, "u");

	(void)state;
	add(p, a, none, 1);
	add(p, a, t, 2);
	add(p, b, u, 4);
	add(p, b, none, 8);
	assert_int_equal(flame_type_join(p, none, t), 0);
	assert_int_equal(flame_nr_types(p), 3);
	assert_string_equal(flame_string_get(p, flame_type_get(p, 1)->name).s, "t");
	assert_string_equal(flame_string_get(p, flame_type_get(p, 2)->name).s, "u");
	assert_folded(p, 1, "a 3\na;b 8\n");
	assert_folded(p, 2, "a;b 4\n");
	/* Both sums go on as before. */
	add(p, a, 1, 10);
	add(p, b, 2, 10);
	assert_int_equal(flame_nr_samples(p), 3);
	assert_folded(p, 1, "a 13\na;b 8\n");
	assert_folded(p, 2, "a;b 14\n");
	flame_profile_free(p);
}

static void test_lost(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);

	(void)state;
	flame_lost_add(p, 5);
	flame_lost_add(p, 6);
	assert_int_equal(flame_lost(p), 11);
	flame_profile_free(p);
}

static void test_words(void **state)
{
	(void)state;
	for (int err = 5; err > -20; err--) {
		assert_non_null(flame_strerror(err));
		assert_true(strlen(flame_strerror(err)) > 4);
	}
	assert_string_equal(flame_kind_suffix(FLAME_KERNEL), "_[k]");
	assert_string_equal(flame_kind_suffix(FLAME_USER), "");
	assert_string_equal(flame_kind_suffix((enum flame_kind)1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings), cmocka_unit_test(test_frames),
		cmocka_unit_test(test_stacks_random), cmocka_unit_test(test_push_all),
		cmocka_unit_test(test_sums), cmocka_unit_test(test_sums_random), cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_roots), cmocka_unit_test(test_ordered),
		cmocka_unit_test(test_count), cmocka_unit_test(test_overflow), cmocka_unit_test(test_full_sums), cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_rescale), cmocka_unit_test(test_join),
		cmocka_unit_test(test_lost), cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

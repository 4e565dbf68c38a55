/* SPDX-License-Identifier: MIT */
/* test_calltree.c - what nodes of printed call trees used themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../core/calltree.h"

static struct flame_profile *p;
static struct flame_calltree tree;

static int set_up(void **state)
{
	struct flame_type_info info = { 0 };

	(void)state;
	p = flame_profile_new(NULL);
	info.name = flame_intern(p, "x", 1);
	tree = (struct flame_calltree){ .profile = p, .type = flame_type_row(p, &info) };
	return p ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	flame_calltree_release(&tree);
	flame_profile_free(p);
	return 0;
}

static flame_frame frame(const char *name)
{
	struct flame_frame_info info = { .name = flame_intern(p, name, strlen(name)) };

	return flame_frame_row(p, &info);
}

static int enter(uint64_t depth, const char *name, int64_t total, int64_t self, int64_t slack)
{
	return flame_calltree_enter(&tree, depth, frame(name), &(struct flame_calltree_value){ total, self, slack });
}

/* Return: the sum of the samples whose leaf is @name. */
static int64_t leaf_sum(const char *name)
{
	flame_frame want = frame(name);
	int64_t sum = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (flame_stack_frame(p, s->stack) == want)
			sum += s->value;
	}
	return sum;
}

static void differences(void **state)
{
	(void)state;
	assert_int_equal(enter(4, "main", 10, -1, 0), 0);
	assert_int_equal(enter(6, "draw", 6, -1, 0), 0);
	assert_int_equal(enter(8, "blit", 5, -1, 0), 0);
	assert_int_equal(enter(6, "read", 3, -1, 0), 0);
	assert_int_equal(enter(4, "other", 2, -1, 0), 0);
	assert_int_equal(flame_calltree_end(&tree), 0);
	assert_int_equal(leaf_sum("main"), 1);
	assert_int_equal(leaf_sum("draw"), 1);
	assert_int_equal(leaf_sum("blit"), 5);
	assert_int_equal(leaf_sum("read"), 3);
	assert_int_equal(leaf_sum("other"), 2);
	assert_int_equal(tree.nr_short, 0);
}

/* The printed value counts only where rounding explains that it is another. */
static void printed_self(void **state)
{
	(void)state;
	enter(0, "main", 4930, 1234, 5);
	enter(1, "a", 3700, 3700, 5);
	enter(0, "hidden", 100, 10, 1);
	flame_calltree_end(&tree);
	assert_int_equal(leaf_sum("main"), 1234);
	assert_int_equal(leaf_sum("a"), 3700);
	assert_int_equal(leaf_sum("hidden"), 100);
}

static void children_have_more(void **state)
{
	(void)state;
	enter(0, "main", 3, -1, 0);
	enter(1, "a", 5, -1, 0);
	flame_calltree_end(&tree);
	assert_int_equal(leaf_sum("main"), 0);
	assert_int_equal(leaf_sum("a"), 5);
	assert_int_equal(tree.nr_short, 1);
}

static void inverted(void **state)
{
	struct flame_type_info info = { .name = flame_intern(p, "rest", 4) };
	const struct flame_sample *s;

	(void)state;
	tree.inverted = tree.counts = true;
	tree.rest_type = flame_type_row(p, &info);
	enter(0, "leaf", 5, -1, 0);
	enter(1, "mid", 4, -1, 0);
	enter(2, "root", 4, -1, 0);
	flame_calltree_end(&tree);
	assert_int_equal(flame_nr_samples(p), 2);
	s = flame_sample_get(p, 0);
	assert_int_equal(s->value, 4);
	assert_int_equal(s->nr_samples, 4);
	assert_int_equal(flame_stack_frame(p, s->stack), frame("leaf"));
	assert_int_equal(flame_stack_frame(p, flame_stack_caller(p, s->stack)), frame("mid"));
	assert_int_equal(flame_sample_get(p, 1)->type, tree.rest_type);
	assert_int_equal(flame_sample_get(p, 1)->value, 1);
}

static void limits(void **state)
{
	int err = 0;

	(void)state;
	for (uint64_t i = 0; !err && i <= FLAME_CALLTREE_DEPTH; i++)
		err = enter(i, "f", 1, -1, INT64_MAX);
	assert_int_equal(err, FLAME_EOVERFLOW);
	flame_calltree_release(&tree);
	enter(0, "main", 1, -1, 0);
	assert_int_equal(enter(1, "a", INT64_MAX, -1, 0), 0);
	assert_int_equal(enter(1, "b", 1, -1, 0), FLAME_EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(differences, set_up, tear_down),
		cmocka_unit_test_setup_teardown(printed_self, set_up, tear_down),
		cmocka_unit_test_setup_teardown(children_have_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(inverted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

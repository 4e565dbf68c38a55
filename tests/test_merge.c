/* SPDX-License-Identifier: MIT */
/*
 * test_merge.c - profiles added to profiles: the result is what reading both at once gives.
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

#include "../core/diff.h"
#include "../core/flame.h"
#include "text.h"

static char *random_text(uint32_t *seed, int lines, bool fractions)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (int i = 0; i < lines; i++) {
		uint32_t depth = 1 + text_random(seed, 8);

		while (depth--)
			fprintf(f, "f%u%s%c", text_random(seed, 6), text_random(seed, 4) ? "" : "_[k]", depth ? ';' : ' ');
		fprintf(f, "%u", text_random(seed, 1000));
		if (fractions && !text_random(seed, 3))
			fprintf(f, ".%u", text_random(seed, 1000));
		fputc('\n', f);
	}
	fclose(f);
	return text;
}

static void test_like_one(void **state)
{
	uint32_t seed = 3;

	(void)state;
	for (int round = 0; round < 50; round++) {
		char *a = random_text(&seed, 30, round % 2), *b = random_text(&seed, 30, round % 3 == 0), *both, *want;
		struct flame_profile *pa = text_profile(a), *pb = text_profile(b), *all;

		assert_true(asprintf(&both, "%s%s", a, b) > 0);
		all = text_profile(both);
		assert_int_equal(flame_profile_merge(pa, pb), 0);
		want = text_folded(all, 1);
		assert_folded(pa, 1, want);
		flame_profile_free(pa);
		flame_profile_free(pb);
		flame_profile_free(all);
		free(a);
		free(b);
		free(both);
		free(want);
	}
}

static void test_overflow(void **state)
{
	struct flame_profile *a = text_profile("x 9223372036854775807\n"), *b = text_profile("x 1\n"), *c = text_profile("y 0.5\n");

	(void)state;
	/* Of sums, one bit more fits what is written. */
	assert_int_equal(flame_profile_merge(a, b), 0);
	assert_folded(a, 1, "x 9223372036854775808\n");
	flame_profile_free(a);
	a = text_profile("x 9223372036854775807\n");
	/* No digit behind the point has room beside that. */
	assert_int_equal(flame_profile_merge(a, c), 0);
	assert_folded(a, 1, "x 9223372036854775807\ny 1\n");
	flame_profile_free(a);
	a = text_profile("x 9223372036854775807\n");
	assert_int_equal(flame_profile_merge(c, a), 0);
	assert_folded(c, 1, "x 9223372036854775807\ny 1\n");
	flame_profile_free(a);
	flame_profile_free(b);
	flame_profile_free(c);
}

/* Types meet by name, in whatever order they come. */
static void test_types(void **state)
{
	struct flame_profile *p[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		static const char *const names[] = { "cycles", "faults" };

		p[i] = flame_profile_new(NULL);
		for (int j = 0; j < 2; j++) {
			const char *name = names[i ^ j];
			flame_type t = flame_type_row(p[i], &(struct flame_type_info){ .name = flame_intern(p[i], name, 6) });
			flame_frame f = flame_frame_row(p[i], &(struct flame_frame_info){ .name = flame_intern(p[i], "f", 1) });

			flame_sample_add(p[i], &(struct flame_sample){ .stack = flame_stack_push(p[i], 0, f), .type = t,
								       .value = name[0] == 'c' ? 10 : 1 });
		}
		flame_lost_add(p[i], 4);
	}
	assert_int_equal(flame_profile_merge(p[0], p[1]), 0);
	assert_folded(p[0], 1, "f 20\n");
	assert_folded(p[0], 2, "f 2\n");
	assert_int_equal(flame_lost(p[0]), 8);
	flame_profile_free(p[0]);
	flame_profile_free(p[1]);
}

static void test_diff(void **state)
{
	struct flame_profile *a = text_profile("x;y_[k] 1.5\nx 2\nold 7\n"), *b = text_profile("x 3\nx;y_[k] 1\nx;y 5\nnew 0.25\n");
	struct flame_diff d;

	(void)state;
	assert_int_equal(flame_diff_init(&d, a, 1, b, 1, false, FLAME_ALL_KINDS), 0);
	assert_folded(d.profile, 1, "new 0 0.25\nold 7 0\nx 2 3\nx;y 0 5\nx;y_[k] 1.5 1\n");
	flame_diff_release(&d);
	flame_profile_free(a);
	flame_profile_free(b);
}

/* 10 of 12 scaled to 15 are 12.5, not 12; a third is rounded to the nearest, not cut off. */
static void test_normalize(void **state)
{
	struct flame_profile *a = text_profile("x 10\ny 2\n"), *b = text_profile("x 15\n"), *c = text_profile("x 2\ny 1\n"),
			     *zero = text_profile("x 0\n"),
			     *z = text_profile("z 20\n");
	struct flame_diff d;

	(void)state;
	assert_int_equal(flame_diff_init(&d, a, 1, b, 1, true, FLAME_ALL_KINDS), 0);
	assert_folded(d.profile, 1, "x 12.5 15\ny 2.5 0\n");
	assert_int_equal(d.before.total, 12);
	flame_diff_release(&d);
	assert_int_equal(flame_diff_init(&d, c, 1, z, 1, true, FLAME_ALL_KINDS), 0);
	assert_folded(d.profile, 1, "x 13.333333 0\ny 6.666667 0\nz 0 20\n");
	flame_diff_release(&d);
	assert_int_equal(flame_diff_init(&d, zero, 1, b, 1, true, FLAME_ALL_KINDS), FLAME_EEMPTY);
	flame_profile_free(a);
	flame_profile_free(b);
	flame_profile_free(c);
	flame_profile_free(zero);
	flame_profile_free(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_one),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_normalize),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "../core/trail.h"

#define DEEPEST 12

static flame_frame frame(struct flame_profile *p, char name)
{
	struct flame_frame_info info = { .name = flame_intern(p, &name, 1) };

	return flame_frame_row(p, &info);
}

/* Whatever came before, a stack is the one that pushing its frames one by one gives. */
static void test_like_pushing(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_trail trail = { 0 };

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t nr = (size_t)(rand() % DEEPEST);
		flame_stack want = 0, got = 1;

		flame_trail_clear(&trail);
		for (size_t at = 0; at < nr; at++) {
			flame_frame next = frame(p, (char)('a' + rand() % 3));

			want = flame_stack_push(p, want, next);
			assert_true(flame_trail_push(&trail, next));
		}
		assert_true(flame_trail_find(&trail, p, &got));
		assert_int_equal(got, want);
	}
	assert_int_equal(flame_profile_error(p), 0);
	flame_trail_release(&trail);
	flame_profile_free(p);
}

/* A stack that is begun and given up leaves nothing behind. */
static void test_given_up(void **state)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_trail trail = { 0 };
	flame_stack a, b;

	(void)state;
	assert_true(flame_trail_push(&trail, frame(p, 'a')));
	assert_true(flame_trail_find(&trail, p, &a));
	assert_true(flame_trail_push(&trail, frame(p, 'x')));
	flame_trail_clear(&trail);
	assert_true(flame_trail_push(&trail, frame(p, 'a')));
	assert_true(flame_trail_find(&trail, p, &b));
	assert_int_equal(a, b);
	assert_true(flame_trail_find(&trail, p, &b));
	assert_int_equal(b, 0);
	flame_trail_release(&trail);
	flame_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_pushing),
		cmocka_unit_test(test_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

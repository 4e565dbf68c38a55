/* SPDX-License-Identifier: MIT */
/* test_located.c - values that stand for one frame, or for several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../core/located.h"

static void frames(void **state)
{
	static const flame_frame three[] = { 7, 8, 9 }, two[] = { 4, 5 };
	struct flame_located_frames l = { 0 };
	uint32_t none, one, many, more;
	const flame_frame *got;
	size_t nr;

	(void)state;
	none = flame_located_put(&l, three, 0);
	one = flame_located_put(&l, three, 1);
	many = flame_located_put(&l, three, 3);
	more = flame_located_put(&l, two, 2);
	flame_located_get(&l, &none, &nr);
	assert_int_equal(nr, 0);
	got = flame_located_get(&l, &one, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(*got, 7);
	got = flame_located_get(&l, &many, &nr);
	assert_int_equal(nr, 3);
	assert_memory_equal(got, three, sizeof(three));
	got = flame_located_get(&l, &more, &nr);
	assert_int_equal(nr, 2);
	assert_memory_equal(got, two, sizeof(two));
	flame_located_frames_release(&l);
}

static void values(void **state)
{
	struct flame_located_symbols symbols = { 0 };

	(void)state;
	*flame_located_value(&symbols, 3) = 33;
	assert_int_equal(*flame_located_value(&symbols, 900), 0);
	assert_int_equal(*flame_located_value(&symbols, 3), 33);
	assert_int_equal(*flame_located_value(&symbols, 0), 0);
	flame_located_symbols_release(&symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(frames), cmocka_unit_test(values) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

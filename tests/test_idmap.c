/* SPDX-License-Identifier: MIT */
/*
 * test_idmap.c - 64-bit ids to rows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../core/idmap.h"

static void test_empty(void **state)
{
	struct idmap map = { 0 };
	uint32_t row = 7;

	(void)state;
	assert_false(idmap_get(&map, 0, &row));
	assert_int_equal(row, 7);
	idmap_clear(&map);
	idmap_release(&map);
}

/* Any 64 bits are an id, 0 and all ones too; the first row of an id stays. */
static void test_ids(void **state)
{
	static const uint64_t ids[] = { 0, 1, UINT64_MAX, 1ull << 63, 1ull << 32 };
	struct idmap map = { 0 };
	uint32_t row;

	(void)state;
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(idmap_add(&map, ids[i], i), i);
	for (uint32_t i = 0; i < 5; i++) {
		assert_true(idmap_get(&map, ids[i], &row));
		assert_int_equal(row, i);
		assert_int_equal(idmap_add(&map, ids[i], 99), i);
	}
	assert_int_equal(map.nr, 5);
	assert_false(idmap_get(&map, 2, &row));
	idmap_clear(&map);
	assert_false(idmap_get(&map, 0, &row));
	assert_int_equal(idmap_add(&map, 0, 3), 3);
	idmap_release(&map);
}

static void test_many(void **state)
{
	struct idmap map = { 0 };
	uint32_t row;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(idmap_add(&map, (uint64_t)i << 40, i), i);
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(idmap_get(&map, (uint64_t)i << 40, &row) && row == i);
	assert_int_equal(map.nr, 100000);
	idmap_release(&map);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

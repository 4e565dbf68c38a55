/* SPDX-License-Identifier: MIT */
/* What beginnings of paths are found again, and which are not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../core/prefix.h"

static uint32_t add(struct flame_prefixes *x, const char *text, size_t block, uint32_t before, uint32_t hash)
{
	struct flame_prefix p = { .before = before, .hash = hash, .nr_frames = (uint16_t)block, .tail = 3 };

	memcpy(p.text, text + block * FLAME_PREFIX_BLOCK, FLAME_PREFIX_BLOCK);
	return flame_prefix_add(x, &p);
}

static void fill(char *text, size_t len, char seed)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + (i * 7 + (size_t)seed) % 26);
}

static void test_blocks(void **state)
{
	struct flame_prefixes x = { 0 };
	const struct flame_prefix *found;
	char text[3 * FLAME_PREFIX_BLOCK + 5];
	uint32_t hashes[FLAME_PREFIX_BLOCKS], first;

	(void)state;
	fill(text, sizeof(text), 1);
	assert_int_equal(flame_prefix_hash(text, FLAME_PREFIX_BLOCK - 1, hashes), 0);
	assert_int_equal(flame_prefix_hash(text, sizeof(text), hashes), 3);
	assert_int_equal(flame_prefix_find(&x, text, hashes, 3, &found), 0);
	assert_null(found);
	first = add(&x, text, 0, 0, hashes[0]);
	assert_int_equal(first, 1);
	assert_int_equal(add(&x, text, 1, first, hashes[1]), 2);
	assert_int_equal(flame_prefix_find(&x, text, hashes, 3, &found), 2);
	assert_int_equal(found->id, 2);
	assert_int_equal(found->nr_frames, 1);
	assert_int_equal(found->tail, 3);
	text[FLAME_PREFIX_BLOCK]++;
	flame_prefix_hash(text, sizeof(text), hashes);
	assert_int_equal(flame_prefix_find(&x, text, hashes, 3, &found), 1);
	flame_prefix_release(&x);
}

/* Equal hashes are no reason to believe that bytes, or what stands before them, are equal. */
static void test_collision(void **state)
{
	struct flame_prefixes x = { 0 };
	const struct flame_prefix *found;
	char a[2 * FLAME_PREFIX_BLOCK], b[2 * FLAME_PREFIX_BLOCK];
	const uint32_t same[2] = { 7, 7 };

	(void)state;
	fill(a, sizeof(a), 1);
	fill(b, sizeof(b), 2);
	memcpy(b + FLAME_PREFIX_BLOCK, a + FLAME_PREFIX_BLOCK, FLAME_PREFIX_BLOCK);
	add(&x, a, 0, 0, 7);
	add(&x, b, 0, 0, 7);
	add(&x, a, 1, 1, 7);
	assert_int_equal(flame_prefix_find(&x, a, same, 2, &found), 2);
	assert_int_equal(found->id, 3);
	assert_int_equal(flame_prefix_find(&x, b, same, 2, &found), 1);
	assert_int_equal(found->id, 2);
	flame_prefix_release(&x);
}

static void test_bounded(void **state)
{
	struct flame_prefixes x = { 0 };
	const struct flame_prefix *found;
	char text[FLAME_PREFIX_BLOCK];
	uint32_t hash = 0, nr = 0;

	(void)state;
	fill(text, sizeof(text), 3);
	while (!flame_prefix_make_room(&x)) {
		memcpy(text, &nr, sizeof(nr));
		flame_prefix_hash(text, sizeof(text), &hash);
		assert_int_equal(add(&x, text, 0, 0, hash), nr + 1);
		assert_int_equal(flame_prefix_find(&x, text, &hash, 1, &found), 1);
		nr++;
	}
	assert_true(nr <= FLAME_PREFIX_ENTRIES && nr > FLAME_PREFIX_ENTRIES / 2);
	assert_int_equal(flame_prefix_find(&x, text, &hash, 1, &found), 0);
	assert_int_equal(add(&x, text, 0, 0, hash), 1);
	flame_prefix_release(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_collision),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Overlapping ranges against a search of all of them; symbols of equal addresses. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../core/segments.h"
#include "../core/symtab.h"

static uint32_t search(const struct flame_range *ranges, size_t nr, uint64_t address)
{
	const struct flame_range *best = NULL;

	for (size_t i = 0; i < nr; i++) {
		const struct flame_range *r = &ranges[i];

		if (r->start <= address && address < r->end && (!best || r->priority > best->priority))
			best = r;
	}
	return best ? best->item : FLAME_SEGMENT_NONE;
}

static void test_random(void **state)
{
	struct flame_range ranges[40], sorted[40];
	struct flame_segments s;
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t nr = (size_t)round % 41;

		for (size_t i = 0; i < nr; i++) {
			random = random * 1664525 + 1013904223;
			ranges[i].start = random >> 24;
			random = random * 1664525 + 1013904223;
			ranges[i].end = ranges[i].start + (random >> 27);
			ranges[i].priority = (uint32_t)((i * 17) % 41);
			ranges[i].item = (uint32_t)i;
		}
		memcpy(sorted, ranges, sizeof(ranges));
		assert_true(flame_segments_make(&s, sorted, nr));
		for (uint64_t at = 0; at < 300; at++)
			assert_int_equal(flame_segments_find(&s, at), search(ranges, nr, at));
		flame_segments_release(&s);
	}
}

static void add(struct flame_symtab *t, uint64_t start, uint64_t size, const char *name, int rank)
{
	struct flame_symtab_entry e = { .start = start, .name = name, .room = (uint32_t)strlen(name), .rank = (uint8_t)rank };

	assert_int_equal(flame_symtab_add(t, &e, size, 1000), 0);
}

static void expect(const struct flame_symtab *t, uint64_t address, const char *name)
{
	const struct flame_symtab_entry *e = flame_symtab_find(t, address);

	if (!name)
		assert_null(e);
	else
		assert_string_equal(e->name, name);
}

static void test_choice(void **state)
{
	struct flame_symtab t = { 0 };
	const int local = FLAME_SYMBOL_STRONG, global = FLAME_SYMBOL_STRONG | FLAME_SYMBOL_GLOBAL;

	(void)state;
	add(&t, 100, 50, "weak", 0);
	add(&t, 100, 50, "__local", local);
	add(&t, 200, 50, "local", local);
	add(&t, 200, 50, "__global", global);
	add(&t, 300, 50, "__libc_read", global);
	add(&t, 300, 50, "read", global);
	add(&t, 300, 50, "get", global);
	add(&t, 400, 0, "label", global);
	add(&t, 400, 10, "sized", 0);
	/* Without a size: up to the next, and to the end of what it is in. */
	add(&t, 500, 0, "open", global);
	add(&t, 600, 0, "last", global);
	/* One inside of another. */
	add(&t, 700, 100, "outer", global);
	add(&t, 720, 10, "inner", local);
	add(&t, 0, 10, "", global);
	assert_int_equal(flame_symtab_seal(&t), 0);
	expect(&t, 120, "__local");
	expect(&t, 150, NULL);
	expect(&t, 249, "__global");
	expect(&t, 300, "read");
	expect(&t, 409, "sized");
	expect(&t, 410, NULL);
	expect(&t, 599, "open");
	expect(&t, 699, "last");
	expect(&t, 719, "outer");
	expect(&t, 729, "inner");
	expect(&t, 730, "outer");
	expect(&t, 5, NULL);
	flame_symtab_release(&t);
}

static void test_newest(void **state)
{
	struct flame_symtab t = { .newest = true };

	(void)state;
	add(&t, 100, 100, "old", 0);
	add(&t, 150, 100, "newer", 0);
	assert_int_equal(flame_symtab_seal(&t), 0);
	expect(&t, 120, "old");
	expect(&t, 160, "newer");
	add(&t, 90, 80, "newest", 0);
	assert_int_equal(flame_symtab_seal(&t), 0);
	expect(&t, 160, "newest");
	expect(&t, 180, "newer");
	expect(&t, UINT64_MAX, NULL);
	flame_symtab_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

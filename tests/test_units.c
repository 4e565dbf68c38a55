/* SPDX-License-Identifier: MIT */
/* Amounts as people read them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../core/units.h"

static void test_amounts(void **state)
{
	static const struct {
		int64_t value;
		uint32_t scale;
		const char *unit, *text;
	} rows[] = {
		{ 0, 0, "ns", "0.00 ns" },	     { 1, 0, "ns", "1.00 ns" },
		{ 999, 0, "ns", "999 ns" },	     { 1500, 0, "ns", "1.50 us" },
		{ 12345678, 0, "ns", "12.3 ms" },    { 999960000, 0, "ns", "1.00 s" },
		{ 61, 0, "s", "1.02 min" },	     { 12500, 3, "ms", "12.5 ms" },
		{ 7200, 0, "s", "2.00 h" },	     { -2500000, 0, "us", "-2.50 s" },
		{ 512, 0, "bytes", "512 bytes" },    { 1536, 0, "bytes", "1.50 KiB" },
		{ 3221225472, 0, "bytes", "3.00 GiB" }, { INT64_MAX, 0, "bytes", "8388608 TiB" },
		{ 12, 0, "count", "" },		     { 12, 0, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[FLAME_AMOUNT_MAX];
		bool got = flame_amount(text, rows[i].value, rows[i].scale,
					(struct flame_span){ rows[i].unit, strlen(rows[i].unit) });

		assert_string_equal(text, rows[i].text);
		assert_int_equal(got, rows[i].text[0] != '\0');
	}
}

static void test_kinds(void **state)
{
	(void)state;
	for (int kind = FLAME_VALUE_ON_CPU; kind <= FLAME_VALUE_LOCK; kind++) {
		const char *name = flame_value_kind_name((enum flame_value_kind)kind);

		assert_int_equal(flame_value_kind_find((struct flame_span){ name, strlen(name) }), kind);
		assert_string_not_equal(flame_value_kind_title((enum flame_value_kind)kind), "");
	}
	assert_int_equal(flame_value_kind_find((struct flame_span){ "cpu", 3 }), FLAME_VALUE_OTHER);
	assert_int_equal(flame_value_kind_find((struct flame_span){ "", 0 }), FLAME_VALUE_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

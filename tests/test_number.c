/* SPDX-License-Identifier: MIT */
/*
 * test_number.c - decimal numbers in and out: exact to the last digit, or refused.
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

#include "../core/number.h"
#include "text.h"

static const struct {
	const char *text;
	enum flame_number_result result;
	int64_t value;
	uint32_t scale;
} cases[] = {
	{ "0", FLAME_NUMBER_OK, 0, 0 },
	{ "7", FLAME_NUMBER_OK, 7, 0 },
	{ "007", FLAME_NUMBER_OK, 7, 0 },
	{ "-5", FLAME_NUMBER_OK, -5, 0 },
	{ "-0", FLAME_NUMBER_OK, 0, 0 },
	{ "3.", FLAME_NUMBER_OK, 3, 0 },
	{ "3.0", FLAME_NUMBER_OK, 3, 0 },
	{ "3.10", FLAME_NUMBER_OK, 31, 1 },
	{ "0.001", FLAME_NUMBER_OK, 1, 3 },
	{ "-0.25", FLAME_NUMBER_OK, -25, 2 },
	{ "100", FLAME_NUMBER_OK, 100, 0 },
	{ "100.00", FLAME_NUMBER_OK, 100, 0 },
	{ "9223372036854775807", FLAME_NUMBER_OK, INT64_MAX, 0 },
	{ "-9223372036854775807", FLAME_NUMBER_OK, -INT64_MAX, 0 },
	{ "-9223372036854775808", FLAME_NUMBER_OK, INT64_MIN, 0 },
	{ "9.223372036854775807", FLAME_NUMBER_OK, INT64_MAX, 18 },
	{ "0.000000000000000001", FLAME_NUMBER_OK, 1, 18 },
	{ "0.0000000000000000010000", FLAME_NUMBER_OK, 1, 18 },
	{ "9223372036854775808", FLAME_NUMBER_TOO_BIG, 0, 0 },
	{ "-9223372036854775809", FLAME_NUMBER_TOO_BIG, 0, 0 },
	{ "99999999999999999999999999", FLAME_NUMBER_TOO_BIG, 0, 0 },
	/* More digits than fit: as the nearest double, by its fewest digits. */
	{ "14.2343983248722834234", FLAME_NUMBER_OK, 14234398324872284, 15 },
	{ "-0.30000000000000000000004", FLAME_NUMBER_OK, -3, 1 },
	{ "0.1234567890123456789", FLAME_NUMBER_OK, 12345678901234568, 17 },
	{ "0.99999999999999999999999", FLAME_NUMBER_OK, 1, 0 },
	{ "922337203685477580.75", FLAME_NUMBER_OK, 922337203685477600, 0 },
	{ "000000000000000000001.5000000000000000000000000000000000000000000000000000001", FLAME_NUMBER_OK, 15, 1 },
	{ "0.0000000000000000001", FLAME_NUMBER_OK, 0, 18 },
	{ "0.0000000000000000006", FLAME_NUMBER_OK, 1, 18 },
	{ "9223372036854775807.5", FLAME_NUMBER_TOO_BIG, 0, 0 },
	{ "10000000000000000000000.5", FLAME_NUMBER_TOO_BIG, 0, 0 },
	{ "", FLAME_NUMBER_NONE, 0, 0 },
	{ "-", FLAME_NUMBER_NONE, 0, 0 },
	{ ".", FLAME_NUMBER_NONE, 0, 0 },
	{ ".5", FLAME_NUMBER_NONE, 0, 0 },
	{ "-.5", FLAME_NUMBER_NONE, 0, 0 },
	{ "+5", FLAME_NUMBER_NONE, 0, 0 },
	{ "--5", FLAME_NUMBER_NONE, 0, 0 },
	{ "1e3", FLAME_NUMBER_NONE, 0, 0 },
	{ "0x10", FLAME_NUMBER_NONE, 0, 0 },
	{ "1.2.3", FLAME_NUMBER_NONE, 0, 0 },
	{ "1..", FLAME_NUMBER_NONE, 0, 0 },
	{ " 1", FLAME_NUMBER_NONE, 0, 0 },
	{ "1 ", FLAME_NUMBER_NONE, 0, 0 },
	{ "1,000", FLAME_NUMBER_NONE, 0, 0 },
	{ "12a", FLAME_NUMBER_NONE, 0, 0 },
	{ "99999999999999999999999999x", FLAME_NUMBER_NONE, 0, 0 },
	{ "inf", FLAME_NUMBER_NONE, 0, 0 },
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t len = strlen(cases[i].text);
		/* Of exact size: a byte too many is seen. */
		char *text = malloc(len + !len);
		struct flame_number n;
		enum flame_number_result result;

		memcpy(text, cases[i].text, len);
		result = flame_number_parse((struct flame_span){ text, len }, &n);
		if (result != cases[i].result)
			fail_msg("'%s': %d, not %d", cases[i].text, (int)result, (int)cases[i].result);
		if (result == FLAME_NUMBER_OK && (n.value != cases[i].value || n.scale != cases[i].scale))
			fail_msg("'%s': %lld at %u", cases[i].text, (long long)n.value, n.scale);
		free(text);
	}
}

static void check_write(int64_t value, uint32_t scale, const char *want)
{
	char buf[FLAME_NUMBER_MAX + 1] = "";
	size_t len = flame_number_write(buf, value, scale);

	assert_true(len <= FLAME_NUMBER_MAX);
	buf[len] = '\0';
	assert_string_equal(buf, want);
}

static void test_write(void **state)
{
	char buf[FLAME_NUMBER_MAX + 1];

	(void)state;
	check_write(0, 0, "0");
	check_write(0, 5, "0");
	check_write(5, 0, "5");
	check_write(50, 0, "50");
	check_write(50, 1, "5");
	check_write(-1, 3, "-0.001");
	check_write(1500, 3, "1.5");
	check_write(INT64_MAX, 0, "9223372036854775807");
	check_write(INT64_MIN, 0, "-9223372036854775808");
	check_write(INT64_MIN, 18, "-9.223372036854775808");
	check_write(1, 18, "0.000000000000000001");
	buf[flame_number_write_unsigned(buf, UINT64_MAX, 1)] = '\0';
	assert_string_equal(buf, "1844674407370955161.5");
}

/* What is written is read back as the same number. */
static void test_back(void **state)
{
	uint32_t seed = 5;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = (uint64_t)text_random(&seed, 1 << 24) << 40 ^ (uint64_t)text_random(&seed, 1 << 24) << 20 ^ text_random(&seed, 1 << 24);
		int64_t value = (int64_t)bits >> text_random(&seed, 64), back;
		uint32_t scale = text_random(&seed, 19);
		char buf[FLAME_NUMBER_MAX];
		struct flame_number n;
		size_t len = flame_number_write(buf, value, scale);

		assert_int_equal(flame_number_parse((struct flame_span){ buf, len }, &n), FLAME_NUMBER_OK);
		assert_true(n.scale <= scale);
		back = n.value;
		for (uint32_t j = n.scale; j < scale; j++)
			back *= 10;
		assert_true(back == value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

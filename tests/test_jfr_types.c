/* SPDX-License-Identifier: MIT */
/*
 * test_jfr_types.c - varints of JFR: the fast ways of reading and skipping them must agree with the slow one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../converters/jfr_types.h"

#define NR 4000

/* Values of all lengths, some padded with bytes that add nothing, as the writers of JFR do. */
static size_t put(unsigned char *to, uint64_t v, unsigned int pad)
{
	unsigned int n = 0;

	while (n < 8 && (v > 0x7f || n + 1 < pad)) {
		to[n++] = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	to[n++] = (unsigned char)v;
	return n;
}

struct numbers {
	unsigned char bytes[NR * 9 + 16];
	uint64_t values[NR];
	size_t ends[NR];
	size_t len;
};

static void fill(struct numbers *x, unsigned int seed)
{
	srand(seed);
	x->len = 0;
	for (size_t i = 0; i < NR; i++) {
		uint64_t v = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();

		v >>= rand() % 64;
		if (rand() % 8 == 0)
			v = UINT64_MAX;
		x->values[i] = v;
		x->len += put(x->bytes + x->len, v, (unsigned int)rand() % 9);
		x->ends[i] = x->len;
	}
}

static void test_read(void **state)
{
	static struct numbers x;

	(void)state;
	for (unsigned int seed = 1; seed < 20; seed++) {
		struct jfr_cursor c = { x.bytes, NULL, false };
		const unsigned char *fast = x.bytes;

		fill(&x, seed);
		c.end = x.bytes + x.len;
		for (size_t i = 0; i < NR; i++) {
			uint64_t n;

			assert_int_equal(jfr_varint(&c), x.values[i]);
			assert_ptr_equal(c.p, x.bytes + x.ends[i]);
			fast = jfr_get_varint(fast, &n);
			assert_int_equal(n, x.values[i]);
			assert_ptr_equal(fast, c.p);
		}
		assert_false(c.bad);
	}
}

static void test_skip(void **state)
{
	static struct numbers x;

	(void)state;
	for (unsigned int seed = 1; seed < 200; seed++) {
		size_t from, nr;
		struct jfr_cursor c;

		fill(&x, seed);
		from = (size_t)rand() % (NR - 1);
		nr = 1 + (size_t)rand() % (NR - 1 - from);
		c = (struct jfr_cursor){ x.bytes + x.ends[from], x.bytes + x.len, false };
		jfr_skip_varints(&c, nr);
		assert_false(c.bad);
		assert_ptr_equal(c.p, x.bytes + x.ends[from + nr]);
		assert_ptr_equal(jfr_skip_some(x.bytes + x.ends[from], (unsigned int)nr), c.p);
	}
}

/* Numbers that end behind the bytes are bad, wherever the bytes end. */
static void test_short(void **state)
{
	static const unsigned char bytes[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 };

	(void)state;
	for (size_t len = 0; len < 9; len++) {
		struct jfr_cursor c = { bytes, bytes + len, false };

		assert_int_equal(jfr_varint(&c), 0);
		assert_true(c.bad);
		c = (struct jfr_cursor){ bytes, bytes + len, false };
		jfr_skip_varints(&c, 1);
		assert_true(c.bad);
	}
}

static void test_strings(void **state)
{
	static const struct { const char *bytes; size_t len; enum jfr_text kind; const char *text; } cases[] = {
		{ "\0", 1, JFR_TEXT_NULL, "" },
		{ "\1", 1, JFR_TEXT_BYTES, "" },
		{ "\2\5", 2, JFR_TEXT_POOL, "" },
		{ "\3\2ab", 4, JFR_TEXT_BYTES, "ab" },
		{ "\3\3ab", 4, JFR_TEXT_BAD, "" },
		{ "\4\2a\xe9\1", 5, JFR_TEXT_BYTES, "a\xc3\xa9" },
		{ "\4\1\xbd\xb0\3", 5, JFR_TEXT_BYTES, "\xef\xbf\xbd" },
		{ "\4\xff\xff\xff\xff\xf", 6, JFR_TEXT_BAD, "" },
		{ "\5\2a\xe9", 4, JFR_TEXT_BYTES, "a\xc3\xa9" },
		{ "\6", 1, JFR_TEXT_BAD, "" },
		{ "", 0, JFR_TEXT_BAD, "" },
	};
	char *buf = NULL;
	size_t room = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const unsigned char *p = (const unsigned char *)cases[i].bytes;
		struct jfr_cursor c = { p, p + cases[i].len, false };
		struct flame_span text;
		uint64_t id = 0;

		assert_int_equal(jfr_text_read(&c, &text, &id, &buf, &room), cases[i].kind);
		assert_true(cases[i].kind != JFR_TEXT_POOL || id == 5);
		if (cases[i].kind == JFR_TEXT_BYTES)
			assert_true(span_is(text, cases[i].text));
	}
	free(buf);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * test_json.c - the JSON reader: tokens, grammar, numbers, skipping, views of any size.
 *
 * JSON_TEST_SUITE=DIR runs it over a folder of files named as JSONTestSuite's test_parsing: y_* must be
 * accepted, n_* refused, i_* may be either.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/json.h"
#include "text.h"

#define SPAN(text) ((struct flame_span){ text, sizeof(text) - 1 })

/* Write the tokens of @j into @out, a letter each and texts in brackets. */
static void print_tokens(struct flame_json *j, FILE *out)
{
	static const char letters[] = "!$OoAaKSNTFZ";
	enum flame_json_token token;

	do {
		token = flame_json_next(j);
		fputc(letters[token], out);
		if (token == FLAME_JSON_KEY || token == FLAME_JSON_STRING || token == FLAME_JSON_NUMBER) {
			fputc('(', out);
			fwrite(j->text.s, 1, j->text.len, out);
			fputc(')', out);
		}
	} while (token != FLAME_JSON_END && token != FLAME_JSON_ERROR);
}

/* Return: the tokens of @text; freed by the caller. */
static char *tokens(struct flame_span text, bool many)
{
	struct flame_json j;
	char *result;
	size_t size;
	FILE *out = open_memstream(&result, &size);

	assert_non_null(out);
	flame_json_init_span(&j, text);
	j.many = many;
	print_tokens(&j, out);
	fclose(out);
	assert_true(!j.error == (result[size - 1] == '$'));
	assert_int_equal(flame_json_next(&j), j.error ? FLAME_JSON_ERROR : FLAME_JSON_END);
	flame_json_release(&j);
	return result;
}

static void test_tokens(void **state)
{
	static const struct { const char *text, *want; } cases[] = {
		{ "", "$" },
		{ " \t\r\n", "$" },
		{ "null", "Z$" },
		{ " [true, false] ", "ATFa$" },
		{ "{}", "Oo$" },
		{ "{\"a\":1,\"b\":[{},[]]}", "OK(a)N(1)K(b)AOoAaao$" },
		{ "\"a\\n\\u0041\\\"\\/\\\\\"", "S(a\nA\"/\\)$" },
		{ "\"\\u00e9\\u20ac\\ud83d\\ude00\"", "S(\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80)$" },
		{ "\"\\ud83d\"", "S(\xef\xbf\xbd)$" },
		{ "\"\\ud83d\\u0041\"", "S(\xef\xbf\xbd""A)$" },
		{ "\"\\ude00\\ud83dx\"", "S(\xef\xbf\xbd\xef\xbf\xbdx)$" },
		{ "\"\xff\xc0\"", "S(\xff\xc0)$" },
		{ "{\"\\u0061\":\"\"}", "OK(a)S()o$" },
		{ "[-0, 0, 1e5, 1.25E-2]", "AN(-0)N(0)N(1e5)N(1.25E-2)a$" },
		{ "[1,]", "AN(1)!" },
		{ "[,1]", "A!" },
		{ "[1 2]", "AN(1)!" },
		{ "{\"a\" 1}", "OK(a)!" },
		{ "{\"a\":}", "OK(a)!" },
		{ "{\"a\":1,}", "OK(a)N(1)!" },
		{ "{a:1}", "O!" },
		{ "[1}", "AN(1)!" },
		{ "[01]", "A!" }, { "[1.]", "A!" }, { "[.5]", "A!" }, { "[+1]", "A!" }, { "[1e]", "A!" }, { "[-]", "A!" },
		{ "[1a]", "AN(1)!" },
		{ "[nul]", "A!" }, { "[nulll]", "AZ!" },
		{ "[\"\\x\"]", "A!" }, { "[\"\\u12\"]", "A!" }, { "[\"a\tb\"]", "A!" },
		{ "[][]", "Aa!" }, { "1 2", "N(1)!" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *got = tokens((struct flame_span){ cases[i].text, strlen(cases[i].text) }, false);

		assert_string_equal(got, cases[i].want);
		free(got);
	}
}

static void test_documents(void **state)
{
	char *got = tokens(SPAN("{\"a\":1}\n[2]\n\"x\" 3\n"), true);

	(void)state;
	assert_string_equal(got, "OK(a)N(1)oAN(2)aS(x)N(3)$");
	free(got);
}

/* Each start of a document but the whole is cut, wherever it ends; nothing else is wrong with it. */
static void test_cut(void **state)
{
	static const char text[] = "{\"key\": [12, -0.5e+3, true, null, \"a\\u00e9\\n\"], \"k\": {\"z\": {}}}";

	(void)state;
	for (size_t len = 1; len < sizeof(text) - 1; len++) {
		char *copy = malloc(len);
		struct flame_json j;
		enum flame_json_token token;

		assert_non_null(copy);
		memcpy(copy, text, len);
		flame_json_init_span(&j, (struct flame_span){ copy, len });
		while ((token = flame_json_next(&j)) > FLAME_JSON_END)
			;
		assert_int_equal(token, FLAME_JSON_ERROR);
		assert_true(j.cut);
		assert_int_equal(j.offset, len);
		flame_json_release(&j);
		flame_json_init_span(&j, (struct flame_span){ copy, len });
		assert_int_equal(flame_json_skip(&j), FLAME_JSON_ERROR);
		assert_true(j.cut);
		assert_int_equal(j.offset, len);
		flame_json_release(&j);
		free(copy);
	}
}

static void test_offset(void **state)
{
	static const struct { const char *text; uint64_t offset; } cases[] = {
		{ "[1, x]", 4 }, { "{\"a\" , 1}", 5 }, { "[\"ab\\q\"]", 4 }, { "[\"ab\n\"]", 4 }, { "[1] x", 4 }, { "[01]", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flame_json j;

		flame_json_init_span(&j, (struct flame_span){ cases[i].text, strlen(cases[i].text) });
		while (flame_json_next(&j) > FLAME_JSON_END)
			;
		assert_int_equal(j.offset, cases[i].offset);
		assert_false(j.cut);
		flame_json_release(&j);
	}
}

static void test_skip(void **state)
{
	struct flame_json j;

	(void)state;
	flame_json_init_span(&j, SPAN("[{\"a\":\"}]\\\"]\","
				      "\"b\":[[]]}, \"\\\\\", 1.5, true, [], {\"c\":[5,6,[7],8],\"d\":9}]"));
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_OBJECT);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_STRING);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_NUMBER);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_TRUE);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_OBJECT);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_KEY);
	assert_true(flame_json_is(&j, "c"));
	assert_false(flame_json_is(&j, "cc"));
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_NUMBER);
	assert_true(flame_json_leave(&j));
	assert_int_equal(flame_json_next(&j), FLAME_JSON_KEY);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_NUMBER);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_OBJECT_END);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_ARRAY_END);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_END);
	flame_json_release(&j);
	flame_json_init_span(&j, SPAN("[[1}]"));
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_ERROR);
	assert_false(j.cut);
	assert_int_equal(j.offset, 3);
	assert_false(flame_json_leave(&j));
	flame_json_release(&j);
}

static const struct {
	const char *text;
	bool is_int;
	int64_t value;
	enum flame_number_result result;
	int64_t decimal;
	uint32_t scale;
	double number;
} numbers[] = {
	{ "0", true, 0, FLAME_NUMBER_OK, 0, 0, 0 },
	{ "-12", true, -12, FLAME_NUMBER_OK, -12, 0, -12 },
	{ "999999999999999999", true, 999999999999999999, FLAME_NUMBER_OK, 999999999999999999, 0, 999999999999999999. },
	{ "9223372036854775807", true, INT64_MAX, FLAME_NUMBER_OK, INT64_MAX, 0, 9223372036854775807. },
	{ "-9223372036854775808", true, INT64_MIN, FLAME_NUMBER_OK, INT64_MIN, 0, -9223372036854775808. },
	{ "9223372036854775808", false, 0, FLAME_NUMBER_TOO_BIG, 0, 0, 9223372036854775808. },
	{ "1.0", true, 1, FLAME_NUMBER_OK, 1, 0, 1 },
	{ "1e3", true, 1000, FLAME_NUMBER_OK, 1000, 0, 1000 },
	{ "12.50e1", true, 125, FLAME_NUMBER_OK, 125, 0, 125 },
	{ "1200e-2", true, 12, FLAME_NUMBER_OK, 12, 0, 12 },
	{ "0.5", false, 0, FLAME_NUMBER_OK, 5, 1, 0.5 },
	{ "-1.250", false, 0, FLAME_NUMBER_OK, -125, 2, -1.25 },
	{ "1234.5678901234567", false, 0, FLAME_NUMBER_OK, 12345678901234567, 13, 1234.5678901234567 },
	{ "1.00000000000000000049", false, 0, FLAME_NUMBER_OK, 1, 0, 1 },
	{ "123456789.12345678909876", false, 0, FLAME_NUMBER_OK, 1234567891234567891, 10, 123456789.12345678909876 },
	{ "1e-18", false, 0, FLAME_NUMBER_OK, 1, 18, 1e-18 },
	{ "5e-19", false, 0, FLAME_NUMBER_OK, 1, 18, 5e-19 },
	{ "1e-400", false, 0, FLAME_NUMBER_OK, 0, 0, 0 },
	{ "0e999999999999", true, 0, FLAME_NUMBER_OK, 0, 0, 0 },
	{ "1e400", false, 0, FLAME_NUMBER_TOO_BIG, 0, 0, INFINITY },
	{ "-1e99999999999999999999", false, 0, FLAME_NUMBER_TOO_BIG, 0, 0, -INFINITY },
	{ "1e18", true, 1000000000000000000, FLAME_NUMBER_OK, 1000000000000000000, 0, 1e18 },
	{ "1e19", false, 0, FLAME_NUMBER_TOO_BIG, 0, 0, 1e19 },
	{ "1.7976931348623157e307", false, 0, FLAME_NUMBER_TOO_BIG, 0, 0, 1.7976931348623157e307 },
	{ "4.9e-324", false, 0, FLAME_NUMBER_OK, 0, 0, 4.9e-324 },
	{ "3.141592653589793", false, 0, FLAME_NUMBER_OK, 3141592653589793, 15, 3.141592653589793 },
};

/* Where a long double is no wider than a double, as under valgrind, the last digits are not exact. */
static bool is_near(double got, double want)
{
	return got == want || (got > want ? got - want : want - got) <= (want < 0 ? -want : want) * 1e-14;
}

static void test_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct flame_number decimal;
		struct flame_json j;
		int64_t value = 0;

		flame_json_init_span(&j, (struct flame_span){ numbers[i].text, strlen(numbers[i].text) });
		assert_int_equal(flame_json_next(&j), FLAME_JSON_NUMBER);
		assert_int_equal(flame_json_int(&j, &value), numbers[i].is_int);
		assert_int_equal(value, numbers[i].value);
		assert_int_equal(flame_json_decimal(&j, &decimal), numbers[i].result);
		assert_int_equal(decimal.value, numbers[i].decimal);
		assert_int_equal(decimal.scale, numbers[i].scale);
		assert_true(is_near(flame_json_double(&j), numbers[i].number));
		assert_int_equal(flame_json_next(&j), FLAME_JSON_END);
		flame_json_release(&j);
	}
}

/* The fast way and the tokens together see what the tokens alone see. */
static void test_ints(void **state)
{
	static const char text[] = "[1,22,-333,4444444,88888888,999999999,1234567890123456,12345678901234567,0,-0,"
				   "1.5, 7 ,\"x\",8,01234567,9]                                 ";
	static const int64_t want[] = {
		1, 22, -333, 4444444, 88888888, 999999999, 1234567890123456, 12345678901234567, 0, 0, 2, 7, 8,
	};
	size_t nr = 0, room = sizeof(want) / sizeof(*want);
	int64_t got[sizeof(want) / sizeof(*want)];
	struct flame_json j;
	enum flame_json_token token;

	(void)state;
	flame_json_init_span(&j, SPAN(text));
	assert_int_equal(flame_json_ints(&j, got, room), 0);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_ints(&j, got, 2), 2);
	nr = 2 + flame_json_ints(&j, got + 2, room - 2);
	assert_int_equal(nr, 7);
	while ((token = flame_json_next(&j)) > FLAME_JSON_END) {
		if (token == FLAME_JSON_NUMBER && !flame_json_int(&j, &got[nr++]))
			got[nr - 1] = 2;
		nr += flame_json_ints(&j, got + nr, room - nr);
	}
	assert_int_equal(nr, room);
	assert_memory_equal(got, want, sizeof(want));
	assert_string_equal(j.error, "a malformed number");
	flame_json_release(&j);
	flame_json_init_span(&j, SPAN("{\"a\":1}                                   "));
	assert_int_equal(flame_json_next(&j), FLAME_JSON_OBJECT);
	assert_int_equal(flame_json_ints(&j, got, room), 0);
	flame_json_release(&j);
}

/* @nr times @unit between @before and @after; freed by the caller. */
static char *repeat(const char *before, const char *unit, size_t nr, const char *after, size_t *len)
{
	char *text;
	FILE *out = open_memstream(&text, len);

	assert_non_null(out);
	fputs(before, out);
	for (size_t i = 0; i < nr; i++)
		fputs(unit, out);
	fputs(after, out);
	fclose(out);
	return text;
}

static void test_depth(void **state)
{
	size_t len;
	char *text = repeat("", "[", FLAME_JSON_DEPTH + 1, "", &len);
	struct flame_json j;

	(void)state;
	flame_json_init_span(&j, (struct flame_span){ text, len });
	for (size_t i = 0; i < FLAME_JSON_DEPTH; i++)
		assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ERROR);
	assert_non_null(strstr(j.error, "FLAME_JSON_DEPTH"));
	flame_json_release(&j);
	flame_json_init_span(&j, (struct flame_span){ text, len });
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_ERROR);
	assert_non_null(strstr(j.error, "FLAME_JSON_DEPTH"));
	flame_json_release(&j);
	free(text);
}

static void test_long_string(void **state)
{
	size_t len;
	char *text = repeat("[\"", "0123456789abcde\\n", FLAME_JSON_STRING_MAX / 16, "\",1]", &len);
	int fd = text_fd(text, len);
	struct flame_input in;
	struct flame_json j;

	(void)state;
	free(text);
	assert_int_equal(flame_input_open_fd(&in, fd, "test"), 0);
	flame_json_init(&j, &in);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_skip(&j), FLAME_JSON_STRING);
	assert_true(in.room < 1 << 20);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_NUMBER);
	flame_json_release(&j);
	flame_input_close(&in);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(flame_input_open_fd(&in, fd, "test"), 0);
	flame_json_init(&j, &in);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
	assert_int_equal(flame_json_next(&j), FLAME_JSON_ERROR);
	assert_non_null(strstr(j.error, "FLAME_JSON_STRING_MAX"));
	flame_json_release(&j);
	flame_input_close(&in);
	close(fd);
}

/* Through a file the view ends anywhere in a token; the tokens are those of the text in one piece. */
static void test_views(void **state)
{
	size_t len, pad;
	char *unit = repeat("{\"name\":\"", "a\\u00e9\\\\", 9, "\",\"n\":-123456.75e-1,\"t\":[true,null,42 , {}]} ,", &pad);
	char *text = repeat("[", unit, 9000, "0]", &len), *want = tokens((struct flame_span){ text, len }, false), *got;
	int fd = text_fd(text, len);
	struct flame_input in;
	struct flame_json j;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	(void)state;
	assert_non_null(out);
	assert_int_equal(flame_input_open_fd(&in, fd, "test"), 0);
	flame_json_init(&j, &in);
	print_tokens(&j, out);
	fclose(out);
	assert_null(j.error);
	assert_string_equal(got, want);
	flame_json_release(&j);
	flame_input_close(&in);
	close(fd);
	free(unit);
	free(text);
	free(want);
	free(got);
}

/* Stepping over a value ends where its tokens do, wherever strings and blocks begin; also where it is cut off. */
static void test_skip_random(void **state)
{
	static const char *const pieces[] = {
		"\"a\"", "\"[{\\\"\"", "[]", "{}", "[[1,2],{\"x\":[\"}\"]}]", "-12.5e3", "\"\\\\\"", "null",
		"\"0123456789012345678901234567890123456789012345678901234567890123456789\"", "   7   ",
	};
	uint32_t seed = 1;

	(void)state;
	for (size_t round = 0; round < 2000; round++) {
		size_t nr = text_random(&seed, 60), len;
		struct flame_json j;
		char *text;
		FILE *out = open_memstream(&text, &len);

		assert_non_null(out);
		fputs("[[", out);
		for (size_t i = 0; i < nr; i++)
			fprintf(out, "%s,", pieces[text_random(&seed, sizeof(pieces) / sizeof(*pieces))]);
		fputs("0],5]", out);
		fclose(out);
		flame_json_init_span(&j, (struct flame_span){ text, len });
		assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
		assert_int_equal(flame_json_skip(&j), FLAME_JSON_ARRAY);
		assert_int_equal(flame_input_offset(j.in), len - 3);
		assert_int_equal(flame_json_next(&j), FLAME_JSON_NUMBER);
		flame_json_release(&j);
		len = 1 + text_random(&seed, (uint32_t)len - 4);
		flame_json_init_span(&j, (struct flame_span){ text, len });
		assert_int_equal(flame_json_next(&j), FLAME_JSON_ARRAY);
		assert_int_equal(flame_json_skip(&j), FLAME_JSON_ERROR);
		assert_true(j.cut);
		assert_int_equal(j.offset, len);
		flame_json_release(&j);
		free(text);
	}
}

/* Return: true where the file holds one document that the reader accepts. */
static bool accepts(const char *path)
{
	struct flame_input in;
	struct flame_json j;
	enum flame_json_token token;
	size_t nr = 0;

	assert_int_equal(flame_input_open(&in, path), 0);
	flame_json_init(&j, &in);
	while ((token = flame_json_next(&j)) > FLAME_JSON_END)
		nr++;
	flame_json_release(&j);
	close(in.fd);
	flame_input_close(&in);
	return nr && token == FLAME_JSON_END;
}

static void test_suite(void **state)
{
	const char *dir = getenv("JSON_TEST_SUITE");
	DIR *d = dir ? opendir(dir) : NULL;
	const struct dirent *entry;
	size_t nr = 0;

	(void)state;
	if (!d) {
		print_message("JSON_TEST_SUITE names no folder of JSONTestSuite's files\n");
		skip();
		return;
	}
	while ((entry = readdir(d))) {
		const char *name = entry->d_name;
		char path[4096];

		if (!strchr("yni", name[0]) || name[1] != '_')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		if (accepts(path) ? name[0] == 'n' : name[0] == 'y')
			fail_msg("%s", name);
		nr++;
	}
	closedir(d);
	print_message("%zu files\n", nr);
	assert_true(nr > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens), cmocka_unit_test(test_documents), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_offset), cmocka_unit_test(test_skip), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_ints), cmocka_unit_test(test_depth), cmocka_unit_test(test_long_string),
		cmocka_unit_test(test_views), cmocka_unit_test(test_skip_random),
		cmocka_unit_test(test_suite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

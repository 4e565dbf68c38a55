/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../core/json.h"
#include "../core/json_write.h"

static void write_string(struct flame_span text, char **out, size_t *len)
{
	FILE *f = open_memstream(out, len);

	assert_non_null(f);
	flame_json_write_string(f, text);
	fclose(f);
}

static void check(const char *text, size_t len, const char *want)
{
	char *out = NULL;
	size_t nr = 0;

	write_string((struct flame_span){ text, len }, &out, &nr);
	assert_string_equal(out, want);
	free(out);
}

static void test_escapes(void **state)
{
	(void)state;
	check("", 0, "\"\"");
	check("plain", 5, "\"plain\"");
	check("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	check("\n\r\t\b\x7f", 5, "\"\\n\\r\\t\\u0008\\u007f\"");
	check("\0", 1, "\"\\u0000\"");
	check("\xc3\xa9 \xf0\x9f\x98\x80", 7, "\"\xc3\xa9 \xf0\x9f\x98\x80\"");
	check("\xff" "a\xc3", 3, "\"\\ufffda\\ufffd\"");
	check("\xe2\x80\xae\xc2\x9b", 5, "\"\\u202e\\u009b\"");
	check("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");
}

/* What the reader makes of it is the text, whatever the bytes below 0x80. */
static void test_read_again(void **state)
{
	char text[32];

	(void)state;
	srand(1);
	for (int i = 0; i < 5000; i++) {
		size_t len = (size_t)(rand() % (int)sizeof(text)), nr = 0;
		struct flame_json *json = calloc(1, sizeof(*json));
		char *out = NULL;

		for (size_t at = 0; at < len; at++)
			text[at] = (char)(rand() % 0x80);
		write_string((struct flame_span){ text, len }, &out, &nr);
		assert_non_null(json);
		flame_json_init_span(json, (struct flame_span){ out, nr });
		assert_int_equal(flame_json_next(json), FLAME_JSON_STRING);
		assert_int_equal(json->text.len, len);
		assert_true(!len || !memcmp(json->text.s, text, len));
		flame_json_release(json);
		free(json);
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

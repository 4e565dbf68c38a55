/* SPDX-License-Identifier: MIT */
/* test_span.c - cutting up lines, and the map of numbers. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../core/idmap.h"
#include "../core/span.h"

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

#define assert_span(got, want) do { assert_int_equal((got).len, strlen(want)); \
				    assert_memory_equal((got).s, want, strlen(want)); } while (0)

static void parts(void **state)
{
	struct flame_span rest = span("a\t\tb"), part, none = { NULL, 0 };

	(void)state;
	assert_true(span_next(&rest, '\t', &part));
	assert_span(part, "a");
	assert_true(span_next(&rest, '\t', &part));
	assert_span(part, "");
	assert_true(span_next(&rest, '\t', &part));
	assert_span(part, "b");
	assert_false(span_next(&rest, '\t', &part));
	assert_false(span_next(&none, '\t', &part));
	rest = span("  one two ");
	assert_true(span_word(&rest, &part));
	assert_span(part, "one");
	assert_true(span_word(&rest, &part));
	assert_false(span_word(&rest, &part));
}

static void lines(void **state)
{
	struct flame_span text = span("a\r\n\nb"), line;

	(void)state;
	assert_true(span_line(&text, &line));
	assert_span(line, "a");
	assert_true(span_line(&text, &line));
	assert_span(line, "");
	assert_true(span_line(&text, &line));
	assert_span(line, "b");
	assert_false(span_line(&text, &line));
}

static void cells(void **state)
{
	struct flame_span rest = span("  \"a,\"\"b\"\"\",,\"open, c"), cell;
	char buf[64];

	(void)state;
	assert_true(span_cell(&rest, ',', buf, &cell));
	assert_span(cell, "  a,\"b\"");
	assert_true(span_cell(&rest, ',', buf, &cell));
	assert_span(cell, "");
	assert_true(span_cell(&rest, ',', buf, &cell));
	assert_span(cell, "open, c");
	assert_false(span_cell(&rest, ',', buf, &cell));
}

static void numbers(void **state)
{
	int64_t n;

	(void)state;
	assert_int_equal(span_digits(span("12x"), &n), 2);
	assert_int_equal(n, 12);
	assert_int_equal(span_digits(span("9223372036854775808"), &n), 0);
	assert_true(span_is_int(span("9223372036854775807"), &n));
	assert_false(span_is_int(span(""), &n));
	assert_false(span_is_int(span("1 "), &n));
}

static void searching(void **state)
{
	struct flame_span none = { NULL, 0 };

	(void)state;
	assert_int_equal(span_find(span("abc"), "c"), 2);
	assert_int_equal(span_find(span("abc"), "d"), 3);
	assert_int_equal(span_find(none, "d"), 0);
	assert_span(span_base(span("/a/b")), "b");
	assert_span(span_from(span("abc"), 9), "");
	assert_span(span_trim(span(" \t a b\r")), "a b");
	assert_true(span_ends(span("ab"), "b"));
	assert_false(span_starts(span("a"), "ab"));
}

static void lists(void **state)
{
	(void)state;
	assert_true(span_in_list(span("Running"), "blocked, RUNNING"));
	assert_true(span_in_list(span("a"), "a"));
	assert_false(span_in_list(span("a"), "ab,b"));
	assert_false(span_in_list(span("a,b"), "a,b"));
	assert_false(span_in_list(span("a"), ""));
}

static void groups(void **state)
{
	struct flame_span s = span("f(int) const+4 (/opt/my app (x)/a.out)"), inside;

	(void)state;
	assert_true(span_cut_group(&s, &inside));
	assert_span(s, "f(int) const+4");
	assert_span(inside, "/opt/my app (x)/a.out");
	assert_false(span_cut_group(&s, &inside));
	s = span("x (/tmp/a)b)");
	assert_true(span_cut_group(&s, &inside));
	assert_span(inside, "/tmp/a)b");
	s = span("f(int)");
	assert_false(span_cut_group(&s, &inside));
	s = span(")");
	assert_false(span_cut_group(&s, &inside));
	s = span("");
	assert_false(span_cut_group(&s, &inside));
}

static void last_words(void **state)
{
	static const char *const words[] = { "cd", "b", "a", "" }, *const left[] = { "a b\t", "a ", "", "" };
	struct flame_span rest = span("a b\tcd \t"), word;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		word = span_last_word(&rest);
		assert_span(word, words[i]);
		assert_span(rest, left[i]);
	}
}

static void map(void **state)
{
	struct idmap m = { 0 };
	uint64_t value;

	(void)state;
	assert_false(idmap_value(&m, 0, &value));
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(idmap_set(&m, i << 40, i));
	assert_true(idmap_set(&m, 7ull << 40, 99));
	assert_int_equal(m.nr, 5000);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(idmap_value(&m, i << 40, &value));
		assert_int_equal(value, i == 7 ? 99 : i);
	}
	assert_false(idmap_value(&m, 1, &value));
	idmap_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts), cmocka_unit_test(lines), cmocka_unit_test(cells), cmocka_unit_test(numbers),
		cmocka_unit_test(searching), cmocka_unit_test(last_words), cmocka_unit_test(map),
		cmocka_unit_test(lists), cmocka_unit_test(groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

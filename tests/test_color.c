/* SPDX-License-Identifier: MIT */
/*
 * test_color.c - palettes and the numbers behind them. Expected numbers come from perl's own rand()
 * and from flamegraph.pl's formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../core/render/color.h"
#include "../core/render/svg.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define NEAR 1e-9

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

static void assert_near(double got, double want, const char *what)
{
	if (got - want > NEAR || want - got > NEAR)
		fail_msg("%s: %.12f, not %.12f", what, got, want);
}

static void assert_rgb(struct flame_rgb got, int r, int g, int b, const char *what)
{
	if (got.r != r || got.g != g || got.b != b)
		fail_msg("%s: rgb(%d,%d,%d), not rgb(%d,%d,%d)", what, got.r, got.g, got.b, r, g,
			 b);
}

static void test_seeded(void **state)
{
	static const struct {
		const char *name;
		enum flame_kind kind;
		double v;
	} cases[] = {
		{ "main", FLAME_USER, 0.778599984319047 },
		{ "start_thread", FLAME_USER, 0.151794671387510 },
		{ "foo", FLAME_KERNEL, 0.440467188674123 },
		{ "\u65e5\u672c\u8a9e", FLAME_USER, 0.970351360579119 },
		{ "", FLAME_USER, 0.170828036106290 },
		{ "a", FLAME_TASK, 0.638651976668374 },
	};
	double v[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		flame_color_numbers(FLAME_COLOR_NAME, span(cases[i].name), cases[i].kind, NULL, v);
		for (int k = 0; k < 3; k++)
			assert_near(v[k], cases[i].v, cases[i].name);
	}
}

static void test_hashed(void **state)
{
	static const struct {
		const char *name;
		enum flame_kind kind;
		double forward, backward;
	} cases[] = {
		{ "genunix`kmem_cache_free", FLAME_USER, 0.466926316, 0.840410373 },
		{ "", FLAME_USER, 1, 1 },
		{ "main", FLAME_USER, 0.363351382, 0.854374466 },
		{ "`odd", FLAME_USER, 0.713213641, 1 },
		{ "a`", FLAME_USER, 1, 0.519753086 },
		{ "a`b`", FLAME_USER, 0.463374486, 0.611111111 },
		{ "vmlinux`x", FLAME_KERNEL, 0.748646338, 0.818466800 },
		{ "\u65e5\u672c\u8a9e`\u95a2\u6570", FLAME_USER, 0.545679012, 0.643393179 },
	};
	double v[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		flame_color_numbers(FLAME_COLOR_HASH, span(cases[i].name), cases[i].kind, NULL, v);
		assert_near(v[0], cases[i].forward, cases[i].name);
		assert_near(v[1], cases[i].backward, cases[i].name);
		assert_near(v[2], cases[i].backward, cases[i].name);
	}
}

static void test_random(void **state)
{
	uint64_t source = 1;
	double v[3];

	(void)state;
	for (int i = 0; i < 100; i++) {
		flame_color_numbers(FLAME_COLOR_RANDOM, span("x"), FLAME_USER, &source, v);
		for (int k = 0; k < 3; k++)
			assert_true(v[k] >= 0 && v[k] < 1);
	}
	assert_true(v[0] != v[1]);
}

/* Names that are no UTF-8 must be read to their end and no further. */
static void test_any_bytes(void **state)
{
	static const char *const names[] = { "\xff", "a\xe6\x97", "\xed\xa0\x80", "\xf4\x90\x80\x80`\xc3", "`\x80" };
	double v[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);
		char *exact = memcpy(malloc(len), names[i], len);

		flame_color_numbers(FLAME_COLOR_NAME, (struct flame_span){ exact, len }, FLAME_USER,
				    NULL, v);
		assert_true(v[0] >= 0 && v[0] < 1);
		flame_color_numbers(FLAME_COLOR_HASH, (struct flame_span){ exact, len }, FLAME_USER,
				    NULL, v);
		assert_true(v[0] >= 0 && v[0] <= 1 && v[1] >= 0 && v[1] <= 1);
		free(exact);
	}
}

static void test_hues(void **state)
{
	static const double v[3] = { 0.5, 0.25, 0.75 };
	static const struct {
		const char *palette;
		int r, g, b;
	} cases[] = {
		{ "hot", 242, 115, 13 }, { "mem", 0, 202, 105 }, { "io", 110, 110, 203 },
		{ "red", 227, 90, 90 }, { "green", 80, 227, 80 }, { "blue", 110, 110, 230 },
		{ "yellow", 202, 202, 60 }, { "purple", 222, 110, 222 }, { "aqua", 80, 192, 192 },
		{ "orange", 222, 122, 0 }, { "wakeup", 80, 192, 192 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct flame_palette *p = flame_palette_find(cases[i].palette);

		assert_non_null(p);
		assert_rgb(flame_palette_color(p, span("x"), FLAME_USER, v), cases[i].r, cases[i].g,
			   cases[i].b, cases[i].palette);
	}
}

static void test_picks(void **state)
{
	static const double zero[3] = { 0, 0, 0 };
	static const struct {
		const char *palette, *name;
		enum flame_kind kind;
		const char *hue;
	} cases[] = {
		{ "java", "anything", FLAME_JIT, "green" },
		{ "java", "std::x", FLAME_JIT, "green" },
		{ "java", "anything", FLAME_INLINED, "aqua" },
		{ "java", "anything", FLAME_JIT_INLINED, "aqua" },
		{ "java", "java/lang/String:.hashCode", FLAME_USER, "green" },
		{ "java", "Lcom/acme/A::b", FLAME_USER, "green" },
		{ "java", "com.acme.A", FLAME_USER, "red" },
		{ "java", "A:::b", FLAME_USER, "green" },
		{ "java", "JavaThread::run", FLAME_USER, "yellow" },
		{ "java", "x::y", FLAME_KERNEL, "yellow" },
		{ "java", "tcp_sendmsg", FLAME_KERNEL, "orange" },
		{ "java", "read", FLAME_USER, "red" },
		{ "js", "LazyCompile:~x /a.js", FLAME_JIT, "green" },
		{ "js", "Stub:X", FLAME_JIT, "aqua" },
		{ "js", "node::Start", FLAME_USER, "yellow" },
		{ "js", "f /lib/x.js:1", FLAME_USER, "green" },
		{ "js", "a.js", FLAME_USER, "red" },
		{ "js", "Builtin:A", FLAME_USER, "aqua" },
		{ "js", " ", FLAME_USER, "green" },
		{ "js", " ", FLAME_KERNEL, "orange" },
		{ "js", "sys_read", FLAME_KERNEL, "orange" },
		{ "perl", "Foo::bar", FLAME_KERNEL, "yellow" },
		{ "perl", "Perl_sv_free", FLAME_USER, "green" },
		{ "perl", "run.pl", FLAME_KERNEL, "green" },
		{ "perl", "sys_read", FLAME_KERNEL, "orange" },
		{ "perl", "main", FLAME_USER, "red" },
		{ "chain", "schedule", FLAME_WAKER, "aqua" },
		{ "chain", "schedule", FLAME_KERNEL, "blue" },
		{ "python", "get (/usr/lib/python3/site-packages/requests/api.py)", FLAME_USER, "aqua" },
		{ "python", "loads (/usr/lib/python3.11/json/__init__.py)", FLAME_USER, "yellow" },
		{ "python", "x (/opt/pythonic/a.py)", FLAME_USER, "red" },
		{ "python", "<built-in method builtins.exec>", FLAME_USER, "yellow" },
		{ "rust", "core::iter::x", FLAME_USER, "orange" },
		{ "rust", "app`<std::io::X as Y>::z", FLAME_USER, "orange" },
		{ "rust", "<core::future::from_generator::GenFuture<T> as F>::poll", FLAME_USER, "aqua" },
		{ "rust", "app::main", FLAME_USER, "aqua" },
		{ "rust", "read", FLAME_USER, "yellow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct flame_rgb want = flame_palette_color(flame_palette_find(cases[i].hue),
							    span("x"), FLAME_USER, zero);

		assert_rgb(flame_palette_color(flame_palette_find(cases[i].palette),
					       span(cases[i].name), cases[i].kind, zero),
			   want.r, want.g, want.b, cases[i].name);
	}
}

/* Every kind is told apart, but for the two sorts of inlining. */
static void test_kinds(void **state)
{
	static const double half[3] = { 0.5, 0.5, 0.5 };
	const struct flame_palette *p = flame_palette_find("auto");

	(void)state;
	for (int a = 0; a < FLAME_NR_KINDS; a++) {
		for (int b = 0; b < a; b++) {
			struct flame_rgb x =
				flame_palette_color(p, span("f"), (enum flame_kind)a, half);
			struct flame_rgb y =
				flame_palette_color(p, span("f"), (enum flame_kind)b, half);
			bool same = memcmp(&x, &y, sizeof(x)) == 0;

			assert_int_equal(same, a == FLAME_JIT_INLINED && b == FLAME_INLINED);
		}
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(flame_palette_names[0], "auto");
	for (size_t i = 0; flame_palette_names[i]; i++) {
		assert_true(flame_palette_known(flame_palette_names[i]));
		assert_non_null(flame_background_find(
			flame_palette_background(flame_palette_find(flame_palette_names[i]))));
	}
	assert_false(flame_palette_known("HOT"));
	assert_false(flame_palette_known(""));
	assert_null(flame_palette_find("mauve"));
	assert_null(flame_background_find("mauve"));
}

static void test_special(void **state)
{
	struct flame_rgb c = { 1, 2, 3 };

	(void)state;
	assert_true(flame_color_marker(span("-"), &c));
	assert_rgb(c, 200, 200, 200, "-");
	assert_true(flame_color_marker(span("--"), &c));
	assert_rgb(c, 160, 160, 160, "--");
	assert_false(flame_color_marker(span("---"), &c));
	assert_false(flame_color_marker(span(""), &c));
	assert_false(flame_color_marker(span("x"), &c));
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, 0, 10), 255, 255, 255, "no change");
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, 10, 10), 255, 0, 0, "most");
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, -10, 10), 0, 0, 255, "least");
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, 1, 3), 255, 140, 140, "+1 of 3");
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, -2, 3), 70, 70, 255, "-2 of 3");
	assert_rgb(flame_color_delta(FLAME_DELTA_RED_BLUE, -0x1p62, 0x1p62), 0, 0, 255, "the largest");
	assert_true(flame_color_is_dark((struct flame_rgb){ 0, 0, 255 }));
	assert_false(flame_color_is_dark((struct flame_rgb){ 255, 0, 0 }));
	assert_false(flame_color_is_dark((struct flame_rgb){ 205, 0, 0 }));
}

static char *temporary(const char *text)
{
	char *path = strdup("/tmp/fg-color-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

static void assert_file(const char *path, const char *want)
{
	char got[512];
	FILE *file = fopen(path, "r");
	size_t n;

	assert_non_null(file);
	n = fread(got, 1, sizeof(got) - 1, file);
	got[n] = '\0';
	fclose(file);
	assert_string_equal(got, want);
}

static void test_map(void **state)
{
	char *path = temporary("main->rgb(1,2,3)\nA.b->C.d->rgb(4,5,6)\nfoo_[k]->rgb(7,8,9)\n"
			       "junk\nbad->rgb(1,2,300)\nlast->rgb(10,11,12)");
	struct flame_color_map *map = flame_color_map_load(path);
	struct flame_rgb c;

	(void)state;
	assert_non_null(map);
	assert_true(flame_color_map_get(map, span("main"), FLAME_USER, &c));
	assert_rgb(c, 1, 2, 3, "main");
	assert_true(flame_color_map_get(map, span("A.b->C.d"), FLAME_USER, &c));
	assert_rgb(c, 4, 5, 6, "inlined java");
	assert_true(flame_color_map_get(map, span("foo"), FLAME_KERNEL, &c));
	assert_rgb(c, 7, 8, 9, "a kernel frame");
	assert_false(flame_color_map_get(map, span("foo"), FLAME_USER, &c));
	assert_false(flame_color_map_get(map, span("bad"), FLAME_USER, &c));
	assert_true(flame_color_map_get(map, span("last"), FLAME_USER, &c));
	assert_int_equal(
		flame_color_map_set(map, span("B"), FLAME_USER, (struct flame_rgb){ 0, 128, 255 }),
		0);
	assert_int_equal(
		flame_color_map_set(map, span("main"), FLAME_USER, (struct flame_rgb){ 3, 2, 1 }),
		0);
	assert_int_equal(
		flame_color_map_set(map, span("a\nb"), FLAME_USER, (struct flame_rgb){ 3, 2, 1 }),
		0);
	assert_int_equal(
		flame_color_map_set(map, span(""), FLAME_USER, (struct flame_rgb){ 3, 2, 1 }), 0);
	assert_int_equal(flame_color_map_save(map, path), 0);
	assert_file(path, "A.b->C.d->rgb(4,5,6)\nB->rgb(0,128,255)\nfoo_[k]->rgb(7,8,9)\n"
			  "last->rgb(10,11,12)\nmain->rgb(3,2,1)\n");
	assert_int_equal(flame_color_map_save(map, "/nonexistent/palette.map"), FLAME_EIO);
	flame_color_map_free(map);
	unlink(path);
	free(path);
}

static void test_no_map(void **state)
{
	struct flame_color_map *map = flame_color_map_load("/nonexistent/palette.map");
	struct flame_rgb c;

	(void)state;
	assert_non_null(map);
	assert_false(flame_color_map_get(map, span("main"), FLAME_USER, &c));
	flame_color_map_free(map);
	flame_color_map_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeded), cmocka_unit_test(test_hashed), cmocka_unit_test(test_random),
		cmocka_unit_test(test_any_bytes), cmocka_unit_test(test_hues), cmocka_unit_test(test_picks),
		cmocka_unit_test(test_kinds), cmocka_unit_test(test_names), cmocka_unit_test(test_special),
		cmocka_unit_test(test_map), cmocka_unit_test(test_no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

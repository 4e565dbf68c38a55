/* SPDX-License-Identifier: MIT */
/*
 * test_svg.c - documents: titles, escaping, labels, options and refusals.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../core/render/svg.h"
#include "../core/render/svg_text.h"
#include "../core/render/viewer.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))
#define DEFAULTS .minwidth = -1

struct line {
	const char *stack;	/* frames with ';' between */
	int64_t value;
	enum flame_kind kind;	/* of the last frame */
};

static flame_type type_row(struct flame_profile *p, const char *name, uint32_t scale)
{
	struct flame_type_info info = { .name = flame_intern(p, name, strlen(name)),
					.scale = scale };

	return flame_type_row(p, &info);
}

static void add_line(struct flame_profile *p, flame_type type, const struct line *line)
{
	struct flame_sample sample = { .type = type, .value = line->value };
	const char *s = line->stack, *end;

	do {
		struct flame_frame_info info = { .kind = FLAME_USER };

		end = strchrnul(s, ';');
		if (!*end)
			info.kind = line->kind;
		info.name = flame_intern(p, s, (size_t)(end - s));
		sample.stack = flame_stack_push(p, sample.stack, flame_frame_row(p, &info));
		s = end + 1;
	} while (*end);
	assert_int_equal(flame_sample_add(p, &sample), 0);
}

static struct flame_profile *profile_of(const struct line *lines, size_t nr, uint32_t scale)
{
	struct flame_profile_options options = { .kinds = FLAME_ALL_KINDS };
	struct flame_profile *p = flame_profile_new(&options);
	flame_type type = type_row(p, "samples", scale);

	for (size_t i = 0; i < nr; i++)
		add_line(p, type, &lines[i]);
	return p;
}

/* Return: the document, to be freed. */
static char *render(const struct flame_profile *p, const struct flame_svg_options *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(flame_svg_write(p, o, out), 0);
	fclose(out);
	assert_int_equal(strlen(text), len);
	return text;
}

static char *render_lines(const struct line *lines, size_t nr, const struct flame_svg_options *o)
{
	struct flame_profile *p = profile_of(lines, nr, 0);
	char *text = render(p, o);

	flame_profile_free(p);
	return text;
}

static void assert_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("not there: %s", what);
}

static void assert_has_not(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("there: %s", what);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* Tags balance, and XML allows all characters; enough of a parser for what is written here. */
static void assert_well_formed(const char *text)
{
	int depth = 0;

	for (const char *p = text; *p; p++) {
		if ((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t')
			fail_msg("control character %d", *p);
		if (strncmp(p, "\xef\xbf\xbe", 3) == 0 || strncmp(p, "\xef\xbf\xbf", 3) == 0)
			fail_msg("U+FFFE or U+FFFF");
		if (strncmp(p, "<![CDATA[", 9) == 0)
			p = strstr(p, "]]>") + 2;
		else if (strncmp(p, "<!--", 4) == 0)
			p = strstr(p, "-->") + 2;
		else if (*p == '<' && p[1] != '?') {
			const char *end = strchr(p, '>');

			assert_non_null(end);
			depth += p[1] == '/' ? -1 : end[-1] == '/' ? 0 : 1;
			assert_true(depth >= 0);
			p = end;
		}
	}
	assert_int_equal(depth, 0);
}

static void test_titles(void **state)
{
	static const struct line lines[] = {
		{ "main;read", 1234, FLAME_KERNEL }, { "main;a<b>&\"c\"", 8766, FLAME_USER }, { "main", 1, FLAME_USER },
	};
	const struct flame_svg_options o = { DEFAULTS };
	char *text = render_lines(lines, ARRAY_SIZE(lines), &o);

	(void)state;
	assert_well_formed(text);
	assert_has(text, "<title>all (10,001 samples, 100%)</title>");
	assert_has(text, "<title>main (10,001 samples, 100.00%)</title>");
	assert_has(text, "<title>read (1,234 samples, 12.34%)</title>");
	assert_has(text, "<title>a&lt;b&gt;&amp;&quot;c&quot; (8,766 samples, 87.65%)</title>");
	assert_int_equal(count(text, "<title>"), 4);
	assert_has(text, ">10,001 samples</text>");
	assert_has(text, ">kernel</text>");
	assert_has(text, "width=\"100%\" viewBox=\"0 0 1200 ");
	free(text);
}

static void test_fractions(void **state)
{
	static const struct line lines[] = { { "main;a", 1234500, FLAME_USER },
					     { "main;b", 156, FLAME_USER } };
	struct flame_profile *p = profile_of(lines, ARRAY_SIZE(lines), 3);
	struct flame_svg_options o = { .minwidth = 0 };
	char *text = render(p, &o);

	(void)state;
	assert_has(text, "<title>a (1,234.5 samples, 99.99%)</title>");
	assert_has(text, "<title>b (0.156 samples, 0.01%)</title>");
	assert_has(text, "<title>all (1,234.656 samples, 100%)</title>");
	free(text);
	o.factor = 2;
	text = render(p, &o);
	assert_has(text, "<title>a (2,469 samples, 99.99%)</title>");
	assert_has(text, "<title>b (0.312 samples, 0.01%)</title>");
	free(text);
	flame_profile_free(p);
}

static void test_factor_and_total(void **state)
{
	static const struct line lines[] = { { "main;a", 3, FLAME_USER },
					     { "main;b", 4, FLAME_USER } };
	struct flame_svg_options o = { DEFAULTS, .factor = 0.5, .countname = "ms (wall)" };
	char *text = render_lines(lines, ARRAY_SIZE(lines), &o);

	(void)state;
	/* As flamegraph.pl: 1.5 is shown as 2, and its share is that of the 2. */
	assert_has(text, "<title>a (2 ms (wall), 57.14%)</title>");
	assert_has(text, "<title>b (2 ms (wall), 57.14%)</title>");
	assert_has(text, "<title>all (4 ms (wall), 100%)</title>");
	free(text);
	o = (struct flame_svg_options){ DEFAULTS, .total = 70 };
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has(text, "<title>all (70 samples, 100%)</title>");
	assert_has(text, "<title>b (4 samples, 5.71%)</title>");
	free(text);
}

/* The whole is 100,000 and there are 1180 pixels: 0.1 of them is 8.47. */
static void test_rests(void **state)
{
	static const struct line lines[] = {
		{ "main;a", 99976, FLAME_USER }, { "main;b", 8, FLAME_USER }, { "main;c", 8, FLAME_USER },
		{ "main;d;e", 8, FLAME_USER },
	};
	struct flame_svg_options o = { DEFAULTS };
	char *text = render_lines(lines, ARRAY_SIZE(lines), &o);

	(void)state;
	assert_has(text, "<title>4 frames too narrow (24 samples, 0.02%)</title>");
	assert_has(text, ">4 frames narrower than 0.1 px are hatched or left out</text>");
	assert_has_not(text, "<title>b");
	free(text);
	o.minwidth = 0.09;
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has(text, "<title>b (8 samples, 0.01%)</title>");
	assert_has_not(text, "too narrow");
	free(text);
	o = (struct flame_svg_options){ .minwidth = 50, .minwidth_percent = true };
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has(text, " narrower than 50 % are ");
	free(text);
}

/* Of 10,005 frames 10,000 have a row of their own: the picture could not be shown otherwise. */
static void test_too_deep(void **state)
{
	const char *kinds[] = { "Flame Graph", "Flame Chart" };
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_sample s = { .type = type_row(p, "samples", 0), .value = 3 };

	(void)state;
	for (int i = 0; i < 10005; i++)
		s.stack = flame_stack_push(p, s.stack, flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, &"ab"[i % 2], 1) }));
	assert_int_equal(flame_sample_add(p, &s), 0);
	for (int in_order = 0; in_order < 2; in_order++) {
		struct flame_svg_options o = { DEFAULTS, .in_order = in_order };
		char *text = render(p, &o);

		assert_has(text, kinds[in_order]);
		assert_int_equal(count(text, "<title>"), 1 + 10000 + 1);
		assert_has(text, "<g class=\"r\" data-v=\"0 3 3 0 10001\"><title>5 frames deeper (3 samples, 100.00%)</title>");
		assert_has(text, ">5 frames deeper</text></g>");
		assert_has(text, ">5 frames deeper than 10,000 rows are hatched or left out</text>");
		assert_has_not(text, " narrower than 0");
		free(text);
	}
	flame_profile_free(p);
}

static void test_differential(void **state)
{
	static const struct line now[] = { { "main;a", 60, FLAME_USER },
					   { "main;b", 40, FLAME_USER } };
	static const struct line then[] = {
		{ "main;a", 50, FLAME_USER }, { "main;b", 40, FLAME_USER }, { "main;gone;deep", 20, FLAME_USER },
	};
	struct flame_svg_options o = { DEFAULTS };
	struct flame_profile *p = profile_of(now, ARRAY_SIZE(now), 0);
	char *text;

	(void)state;
	o.type = 1;
	o.before = type_row(p, "before", 0);
	for (size_t i = 0; i < ARRAY_SIZE(then); i++)
		add_line(p, o.before, &then[i]);
	text = render(p, &o);
	assert_well_formed(text);
	assert_has(text, "<title>all (100 samples, 100%)</title>");
	assert_has(text, "<title>main (100 samples, 100.00%; before 110, 100.00%; change -10, 0.00%; self 0, 0.00%)</title>");
	assert_has(text, "<title>a (60 samples, 60.00%; before 50, 45.45%; change +10, +14.55%; self +10, +14.55%)</title>");
	assert_has(text, "<title>b (40 samples, 40.00%; before 40, 36.36%; change 0, +3.64%; self 0, +3.64%)</title>");
	assert_has(text,
		   "<title>1 frame too narrow now: gone (gone; before 20 samples, 18.18%)</title>");
	assert_has(text, ">110 before, 100 samples now</text>");
	assert_has(text, "rgb(255,255,255)");
	assert_has(text, "rgb(255,0,0)");
	assert_has(text, ">gone</text>");
	free(text);
	o.negate = true;
	text = render(p, &o);
	assert_has(text, "<title>a (60 samples, 60.00%; after 50, 45.45%; change -10, -14.55%; self -10, -14.55%)</title>");
	assert_has(text, "rgb(0,0,255)");
	free(text);
	flame_profile_free(p);
}

/* Whatever the bytes of a name are, the document is one. */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"\xff\xfe", ("a\x01" "b\tc\nd"), "\xed\xa0\x80", "\xef\xbf\xbe\xef\xbf\xbf", "]]></script><b>", "--></svg>",
		"\x7f\xc2\x80\xc2\x9f", "'\"><script>alert(1)</script>", "\xe6\x97", "&#0;&amp;", "\xf4\x90\x80\x80",
	};
	const struct flame_svg_options o = {
		DEFAULTS, .title = "T & <b> \xff", .subtitle = "\"quoted\"\x02", .notes = "a--b---> <c> \xff-",
		.countname = "<u>&", .nametype = "\"<", .fonttype = "\"x\"", .palette_map = NULL,
	};
	struct flame_profile *p = profile_of(NULL, 0, 0);
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct line line = { names[i], 10, FLAME_USER };

		add_line(p, 1, &line);
	}
	text = render(p, &o);
	assert_well_formed(text);
	assert_has(text, "<title>\xef\xbf\xbd\xef\xbf\xbd (10 &lt;u&gt;&amp;, 9.09%)</title>");
	assert_has(text, "<title>a\xef\xbf\xbd" "b\tc\xef\xbf\xbd" "d (10 ");
	assert_has(text, "NOTES: a- -b- - -&gt; &lt;c&gt; \xef\xbf\xbd-  -->");
	assert_has(text, ">T &amp; &lt;b&gt; \xef\xbf\xbd</text>");
	assert_int_equal(count(text, "<script"), 1);
	assert_int_equal(count(text, "]]>"), 2);
	free(text);
	flame_profile_free(p);
}

static void test_fit(void **state)
{
	static const struct svg_font font = { .size = 10 }, fixed = { .size = 10, .fixed = 0.5 };
	static const struct {
		const struct svg_font *font;
		const char *text;
		double width;
		size_t kept;
		bool cut;
	} cases[] = {
		{ &fixed, "abcdef", 30, 6, false },
		{ &fixed, "abcdef", 29, 3, true },
		{ &fixed, "abcdef", 25, 3, true },
		{ &fixed, "abcdef", 24, 0, true },
		{ &fixed, "ab", 10, 2, false },
		{ &fixed, "", 10, 0, false },
		{ &font, "iiii", 12, 4, false },
		{ &font, "WWWW", 12, 0, true },
		/* three wide characters: 30 pixels */
		{ &font, "\u65e5\u672c\u8a9e", 30, 9, false },
		{ &font, "\u65e5\u672c\u8a9e", 29, 6, true },
		/* e with two accents stays whole */
		{ &fixed, "xye\u0301\u0323zabc", 25, 7, true },
		/* a family joined of three people: whole, or not at all */
		{ &font, "\U0001f468\u200d\U0001f469\u200d\U0001f467", 30, 18, false },
		{ &font, "\U0001f468\u200d\U0001f469\u200d\U0001f467", 29, 0, true },
		{ &fixed, ("aaa\xff\xff" "b"), 29, 3, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct flame_span text = svg_span(cases[i].text);
		bool cut;
		size_t kept = svg_text_fit(cases[i].font, text, cases[i].width, &cut);

		if (kept != cases[i].kept || cut != cases[i].cut)
			fail_msg("case %zu: %zu bytes, cut %d", i, kept, cut);
	}
}

static void test_numbers(void **state)
{
	static const double shares[] = { 0,	 0.005,	 0.015, 1.005, 12.345, 33.335,
					 66.665, 99.995, 100,	250,   -0.125, -3.5 };
	struct flame_out out;
	char want[64], got[64];

	(void)state;
	assert_true(flame_out_init(&out, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		out.nr = 0;
		svg_percent(&out, shares[i]);
		snprintf(got, sizeof(got), "%.*s", (int)out.nr, out.buf);
		snprintf(want, sizeof(want), "%.2f", shares[i]);
		assert_string_equal(got, want);
	}
	for (uint32_t n = 1; n < 20000; n++) {
		double v = 100.0 * n / 20000.0 + 1e-9 * (n % 3);

		out.nr = 0;
		svg_percent(&out, v);
		snprintf(got, sizeof(got), "%.*s", (int)out.nr, out.buf);
		snprintf(want, sizeof(want), "%.2f", v);
		assert_string_equal(got, want);
	}
	out.nr = 0;
	svg_int(&out, INT64_MIN);
	svg_tenths(&out, -5);
	svg_tenths(&out, 120);
	svg_grouped(&out, "-1234567.8901");
	svg_grouped(&out, "999");
	assert_string_equal(strndupa(out.buf, out.nr),
			    "-9223372036854775808-0.512-1,234,567.8901999");
	flame_out_release(&out);
}

static void test_shapes(void **state)
{
	static const struct line lines[] = { { "a;b", 500, FLAME_USER } };
	struct flame_svg_options o = { DEFAULTS, .inverted = true, .width = 800, .height = 20,
				       .colors = "mem" };
	char *text = render_lines(lines, ARRAY_SIZE(lines), &o);
	char *all = strstr(text, "<title>all"), *leaf = strstr(text, "<title>b");

	(void)state;
	assert_has(text, " width=\"800\" height=\"");
	assert_has(text, ">Icicle Graph</text>");
	assert_has(text, "#e0ffe0");
	assert_true(atoi(strstr(all, " y=\"") + 4) + 40 == atoi(strstr(leaf, " y=\"") + 4));
	free(text);
	o = (struct flame_svg_options){ DEFAULTS, .bgcolors = "#123456", .in_order = true };
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has(text, ">Flame Chart</text>");
	assert_has(text, "stop-color=\"#123456\"");
	assert_has_not(text, "class=\"note");
	free(text);
}

static void test_few_samples(void **state)
{
	static const struct line lines[] = { { "a;b", 99, FLAME_USER } };
	struct flame_svg_options o = { DEFAULTS };
	char *text = render_lines(lines, ARRAY_SIZE(lines), &o);

	(void)state;
	assert_has(text, "Fewer than 100 samples");
	free(text);
	o.countname = "ms";
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has_not(text, "Fewer than 100");
	free(text);
}

static void test_same_bytes(void **state)
{
	static const struct line lines[] = { { "a;b", 7, FLAME_USER }, { "a;c", 9, FLAME_KERNEL } };
	const struct flame_svg_options o = { DEFAULTS, .hash = true };
	char *first = render_lines(lines, ARRAY_SIZE(lines), &o),
	     *second = render_lines(lines, ARRAY_SIZE(lines), &o);

	(void)state;
	assert_string_equal(first, second);
	free(first);
	free(second);
}

static void test_palette_map(void **state)
{
	static const struct line lines[] = { { "kept;new", 7, FLAME_USER } };
	char path[] = "/tmp/fg-svg-XXXXXX";
	struct flame_svg_options o = { DEFAULTS, .palette_map = path };
	int fd = mkstemp(path);
	char *text, saved[128] = "";
	FILE *file;

	(void)state;
	assert_int_equal(write(fd, "kept->rgb(1,2,3)\n", 17), 17);
	close(fd);
	text = render_lines(lines, ARRAY_SIZE(lines), &o);
	assert_has(text, "rgb(1,2,3)");
	file = fopen(path, "r");
	assert_true(fread(saved, 1, sizeof(saved) - 1, file) > 0);
	fclose(file);
	assert_has(saved, "kept->rgb(1,2,3)\nnew->rgb(");
	free(text);
	unlink(path);
}

static int refusal(const struct flame_profile *p, const struct flame_svg_options *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err = flame_svg_write(p, o, out);

	fclose(out);
	assert_int_equal(len, 0);
	free(text);
	return err;
}

static void test_refusals(void **state)
{
	static const struct line good[] = { { "a", 1, FLAME_USER } },
				 zero[] = { { "a", 0, FLAME_USER } };
	static const struct line negative[] = { { "a", -1, FLAME_USER } };
	static const struct flame_svg_options bad[] = {
		{ .colors = "mauve" },	   { .bgcolors = "red;x" }, { .width = -1 },
		{ .width = 20 },	   { .width = 1e9 },	    { .height = -3 },
		{ .fontsize = 1.0 / 0.0 }, { .factor = -2 },	    { .type = 7 },
		{ .before = 7 },	   { .total = -1 },
	};
	const struct flame_svg_options o = { DEFAULTS };
	struct flame_profile *p = profile_of(good, 1, 0), *empty = flame_profile_new(NULL);
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(refusal(p, &bad[i]), FLAME_EARG);
	assert_int_equal(refusal(empty, &o), FLAME_EEMPTY);
	if (full) {
		assert_int_equal(flame_svg_write(p, &o, full), FLAME_EIO);
		fclose(full);
	}
	flame_profile_free(p);
	flame_profile_free(empty);
	p = profile_of(zero, 1, 0);
	assert_int_equal(refusal(p, &o), FLAME_EEMPTY);
	flame_profile_free(p);
	p = profile_of(negative, 1, 0);
	assert_int_equal(refusal(p, &o), FLAME_EARG);
	flame_profile_free(p);
}

/* Both stand in CDATA; and the script never turns text into code. */
static void test_viewer(void **state)
{
	static const char *const never[] = { "]]>",	     "eval(",	       "innerHTML",
					     "new Function", "document.write", "http:" };
	char *js = strndup(flame_viewer_js, flame_viewer_js_len);
	char *css = strndup(flame_viewer_css, flame_viewer_css_len);

	(void)state;
	assert_int_equal(strlen(js), flame_viewer_js_len);
	assert_int_equal(strlen(css), flame_viewer_css_len);
	for (size_t i = 0; i < ARRAY_SIZE(never) - 1; i++)
		assert_has_not(js, never[i]);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		assert_has_not(css, never[i]);
	free(js);
	free(css);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_titles), cmocka_unit_test(test_fractions), cmocka_unit_test(test_factor_and_total),
		cmocka_unit_test(test_rests), cmocka_unit_test(test_too_deep), cmocka_unit_test(test_differential), cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_fit), cmocka_unit_test(test_numbers), cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_few_samples), cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_palette_map),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_viewer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

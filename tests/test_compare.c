/* SPDX-License-Identifier: MIT */
/*
 * Comparisons: sums by function, effective numbers of samples (computed with Python from the formula in
 * fgdiff(1)), verdicts, thresholds and warnings.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../core/compare.h"
#include "../core/compare_write.h"
#include "../core/diff_check.h"
#include "../core/threshold.h"
#include "text.h"

#define NR(rows) (sizeof(rows) / sizeof(*(rows)))

struct pair {
	struct flame_profile *before, *after;
	struct flame_diff diff;
};

static void open_pair(struct pair *pair, struct flame_profile *before, struct flame_profile *after)
{
	pair->before = before;
	pair->after = after;
	assert_int_equal(flame_diff_init(&pair->diff, before, 1, after, 1, false, FLAME_DIFF_KINDS), 0);
}

static void open_texts(struct pair *pair, const char *before, const char *after)
{
	open_pair(pair, text_profile(before), text_profile(after));
}

static void close_pair(struct pair *pair)
{
	flame_diff_release(&pair->diff);
	flame_profile_free(pair->before);
	flame_profile_free(pair->after);
}

static const struct flame_compared *find(const struct flame_comparison *c, const struct pair *pair, const char *name)
{
	const struct flame_profile *p = pair->diff.profile;

	for (size_t i = 0; i < c->nr_items; i++) {
		if (!strcmp(flame_string_get(p, flame_frame_get(p, c->items[i].row)->name).s, name))
			return &c->items[i];
	}
	fail_msg("no %s", name);
	return NULL;
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * fabs(want))
		fail_msg("%.17g, not %.17g", got, want);
}

/* The kernel's functions are those of the same names where the other side does not tell what is the kernel's. */
static void test_kernel(void **state)
{
	static const struct { const char *before, *after; size_t nr; } rows[] = {
		{ "a;x_[k];y_[k] 20\na 30\n", "a;x;y 20\na 30\n", 3 },
		{ "a;x 20\na;y 30\n", "a;x_[k] 20\na;z_[k] 30\n", 4 },
		/* A program's memcpy is not the kernel's. */
		{ "a;memcpy 20\na 30\n", "a;v_[k];w_[k];x_[k];y_[k];memcpy_[k] 20\na 30\n", 7 },
		{ "a;x 20\na;k_[k] 30\n", "a;x_[k] 20\na 30\n", 4 },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct flame_compare_options options = { 0 };
		struct flame_comparison c;
		struct pair pair;

		open_texts(&pair, rows[i].before, rows[i].after);
		assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), 0);
		if (c.nr_items != rows[i].nr)
			fail_msg("row %zu: %zu functions", i, c.nr_items);
		flame_comparison_release(&c);
		close_pair(&pair);
	}
}

/* Recursion counts once a stack; 20 of 50 and 60 of 90 as in test_significance.c. */
static void test_functions(void **state)
{
	struct flame_compare_options options = { 0 };
	struct flame_comparison c;
	const struct flame_compared *item;
	struct pair pair;

	(void)state;
	open_texts(&pair, "a;f;f 20\na;b 30\n", "a;f;g;f 60\na;b 30\n");
	assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), 0);
	assert_int_equal(c.nr_items, 4);
	item = find(&c, &pair, "f");
	assert_int_equal(item->total.before.value, 20);
	assert_int_equal(item->total.after.value, 60);
	assert_int_equal(item->self.after.value, 60);
	assert_near(item->total.before.part.size, 50);
	assert_near(item->total.after.part.size, 90);
	assert_near(item->total.test.p, 0.00402006945447013);
	assert_near(item->total.interval.low, 0.0946494154293894);
	assert_near(item->total.interval.high, 0.41911447784932665);
	assert_true(item->total.significant && item->self.significant);
	item = find(&c, &pair, "a");
	assert_int_equal(item->total.before.value, 50);
	assert_int_equal(item->self.before.value, 0);
	assert_true(!item->total.significant && !item->self.significant);
	item = find(&c, &pair, "g");
	assert_int_equal(item->total.before.value, 0);
	assert_int_equal(item->self.after.value, 0);
	assert_true(item->total.significant && !item->self.significant);
	flame_comparison_release(&c);
	close_pair(&pair);
}

/* a: 3 samples of 10; b: 7 of 1. */
static struct flame_profile *weighted(enum flame_value_kind kind)
{
	static const struct { const char *name; int64_t value; uint64_t nr; } rows[] = { { "a", 30, 3 }, { "b", 7, 7 } };
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_type_info info = { .name = flame_intern(p, "t", 1), .unit = flame_intern(p, "ns", 2), .kind = kind };
	flame_type type = flame_type_row(p, &info);

	for (size_t i = 0; i < NR(rows); i++) {
		flame_frame f = flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, rows[i].name, 1) });

		flame_sample_add(p, &(struct flame_sample){ .stack = flame_stack_push(p, 0, f), .type = type,
							    .value = rows[i].value, .nr_samples = rows[i].nr });
	}
	return p;
}

static void check_size(enum flame_value_kind kind, double dispersion, double size)
{
	struct flame_compare_options options = { .dispersion = dispersion };
	struct flame_comparison c;
	struct pair pair;

	open_pair(&pair, weighted(kind), weighted(kind));
	assert_int_equal(pair.diff.before.numbering, FLAME_NUMBERED);
	assert_int_equal(pair.diff.before.nr_samples, 10);
	assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), 0);
	assert_near(find(&c, &pair, "a")->total.before.part.size, size);
	assert_true(!find(&c, &pair, "a")->total.significant);
	flame_comparison_release(&c);
	close_pair(&pair);
}

static void test_weights(void **state)
{
	(void)state;
	check_size(FLAME_VALUE_ON_CPU, 0, 13.69);
	check_size(FLAME_VALUE_ON_CPU, 2, 13.69 / 2);
	/* Waits scatter. */
	check_size(FLAME_VALUE_OFF_CPU, 0, 13.69 / 2);
}

/* @nr samples each of @weight in a, and 400 in b. */
static struct flame_profile *sampled(int64_t weight, uint64_t nr)
{
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_type_info info = { .name = flame_intern(p, "t", 1), .unit = flame_intern(p, "ns", 2) };
	flame_type type = flame_type_row(p, &info);
	static const char *const names[] = { "a", "b" };
	const uint64_t nrs[] = { nr, 400 };

	for (size_t i = 0; i < NR(names); i++) {
		flame_frame f = flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, names[i], 1) });

		if (nrs[i])
			flame_sample_add(p, &(struct flame_sample){ .stack = flame_stack_push(p, 0, f), .type = type,
								    .value = weight * (int64_t)nrs[i],
								    .nr_samples = nrs[i] });
	}
	return p;
}

/* What is gone was looked for by the samples that there are, however light those of the other side were. */
static void test_rates(void **state)
{
	static const struct { int64_t before, after; bool by_count; } rows[] = {
		{ 10, 10, false }, { 10, 1000, false }, { 1000, 10, false }, { 10, 10, true },
	};
	struct flame_comparison c;
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct flame_compare_options options = { .by_count = rows[i].by_count };

		open_pair(&pair, sampled(rows[i].before, 12), sampled(rows[i].after, 0));
		assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), 0);
		assert_near(find(&c, &pair, "a")->total.after.part.size, 400);
		assert_true(find(&c, &pair, "a")->total.significant);
		flame_comparison_release(&c);
		close_pair(&pair);
	}
	/* 4 of 404 and 0 of 400 are chance; of 40,000 they would not be. */
	open_pair(&pair, sampled(10, 4), sampled(1000, 0));
	assert_int_equal(flame_compare_functions(&c, &pair.diff, &(struct flame_compare_options){ 0 }), 0);
	assert_true(!find(&c, &pair, "a")->total.significant);
	flame_comparison_release(&c);
	/* By counts too: 4 of 10 ns, where one of 1000 was to be expected in 25 recordings. */
	assert_int_equal(flame_compare_functions(&c, &pair.diff, &(struct flame_compare_options){ .by_count = true }), 0);
	assert_true(find(&c, &pair, "a")->total.test.p > 0.9);
	flame_comparison_release(&c);
	close_pair(&pair);
}

/* How many samples there are, by what is known. */
static void test_numbering(void **state)
{
	static const struct {
		const char *text;
		enum flame_numbering numbering;
		uint64_t nr;
	} rows[] = {
		{ "a 3\nb 4\n", FLAME_NUMBERED_VALUES, 7 },
		{ "# unit: count\na 3\nb 4\n", FLAME_NUMBERED_VALUES, 7 },
		{ "# unit: ns\na 3\nb 4\n", FLAME_NUMBERED_STACKS, 2 },
		{ "a 250000\nb 1000000\nc 1\n", FLAME_NUMBERED_STACKS, 3 },
		{ "a 250000\nb 10\n", FLAME_NUMBERED_VALUES, 250010 },
		{ "a 2.5\nb 10\n", FLAME_NUMBERED_STACKS, 2 },
		/* A stack that stands there twice was not sampled twice. */
		{ "a 3\nb 4\na 5\n", FLAME_NUMBERED_VALUES, 12 },
		{ "# unit: ns\na 3\nb 4\na 5\n", FLAME_NUMBERED_STACKS, 2 },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct pair pair;

		open_texts(&pair, rows[i].text, rows[i].text);
		assert_int_equal(pair.diff.before.numbering, rows[i].numbering);
		assert_int_equal(pair.diff.after.nr_samples, rows[i].nr);
		close_pair(&pair);
	}
}

/* Boxes get the sums of what was left out above them, and the same verdicts as functions. */
static void test_boxes(void **state)
{
	struct flame_layout_options lo = { .type = 2, .before = 1, .min_total = 10 };
	struct flame_compare_options options = { 0 };
	struct flame_comparison c;
	struct flame_layout l;
	struct pair pair;

	(void)state;
	open_texts(&pair, "a;f;x 2\na;f 18\na;b 30\n", "a;f 59\na;f;x 1\na;b 30\n");
	assert_int_equal(flame_layout_init(&l, pair.diff.profile, &lo), 0);
	assert_int_equal(flame_compare_boxes(&c, &pair.diff, &l, &options), 0);
	assert_int_equal(c.nr_items, l.nr_boxes);
	for (uint32_t i = 0; i < l.nr_boxes; i++) {
		if (l.boxes[i].flags & FLAME_BOX_REST)
			continue;
		assert_int_equal(c.items[i].total.before.value, l.boxes[i].before_total);
		assert_int_equal(c.items[i].total.after.value, l.boxes[i].total);
		assert_int_equal(c.items[i].self.before.value, l.boxes[i].before_self);
		assert_int_equal(c.items[i].total.significant, l.boxes[i].total != 90);
	}
	flame_comparison_release(&c);
	/* As they are: 30 and 30 are equal, 20 and 60 are not. */
	options.by_count = true;
	assert_int_equal(flame_compare_boxes(&c, &pair.diff, &l, &options), 0);
	for (uint32_t i = 1; i < l.nr_boxes; i++) {
		if (l.boxes[i].total == 30)
			assert_true(c.items[i].total.test.p == 1);
		if (l.boxes[i].total == 60)
			assert_near(c.items[i].total.test.p, 8.580559867049611e-06);
	}
	flame_comparison_release(&c);
	flame_layout_release(&l);
	close_pair(&pair);
}

static void test_negative(void **state)
{
	struct flame_compare_options options = { 0 };
	struct flame_comparison c;
	struct pair pair;

	(void)state;
	open_texts(&pair, "a 3\n", "a 4\nb -1\n");
	assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), FLAME_EARG);
	close_pair(&pair);
}

static size_t count_met(const char *threshold, const char *before, const char *after, const char *message)
{
	struct flame_compare_options options = { 0 };
	struct flame_diag diag = { 0 };
	struct pair pair;
	struct flame_thresholds_found found;
	bool said = !message;

	open_texts(&pair, before, after);
	assert_int_equal(flame_thresholds_apply(&pair.diff, &options, &threshold, 1, &diag, &found), 0);
	for (size_t i = 0; i < diag.nr_messages; i++)
		said |= message && strstr(diag.messages[i].text, message);
	assert_true(said);
	flame_diag_release(&diag);
	close_pair(&pair);
	assert_int_equal(found.nr_without, message && strstr(message, "no frame") ? 1 : 0);
	return found.nr_met;
}

static void test_thresholds(void **state)
{
	static const char *const wrong[] = { "", "a", ">2%", "a>", "a>x", "a>2%%", "a>2 ", "(>2%", "a>-2%", "a>100%", "total>1e400%" };

	(void)state;
	for (size_t i = 0; i < NR(wrong); i++) {
		char *why = flame_threshold_check(wrong[i]);

		if (!why)
			fail_msg("'%s' passes", wrong[i]);
		free(why);
	}
	assert_null(flame_threshold_check("operator>>2%"));
	assert_null(flame_threshold_check("total>10"));
	assert_null(flame_threshold_check("total>250%"));
	assert_null(flame_threshold_check("a>99.9%"));
	/* 30 % to 35 % of 10000 each is no chance; of 100 each it may be. */
	assert_int_equal(count_met("hot>2%", "hot 3000\nb 7000\n", "hot 3500\nb 6500\n", "hot grew from 30.00% to 35.00%"), 1);
	assert_int_equal(count_met("hot>5.5%", "hot 3000\nb 7000\n", "hot 3500\nb 6500\n", NULL), 0);
	assert_int_equal(count_met("hot>2%", "hot 30\nb 70\n", "hot 35\nb 65\n", NULL), 0);
	assert_int_equal(count_met("^b$>2%", "hot 3000\nb 7000\n", "hot 3500\nb 6500\n", NULL), 0);
	assert_int_equal(count_met("no>2%", "hot 30\nb 70\n", "hot 35\nb 65\n", "no frame of either profile matches"), 0);
	assert_int_equal(count_met("total>10%", "a 1000\n", "a 1200\n", "the total grew by 20.00%"), 1);
	assert_int_equal(count_met("total>30%", "a 1000\n", "a 1200\n", NULL), 0);
	assert_int_equal(count_met("total>10%", "a 10\n", "a 12\n", NULL), 0);
}

static size_t count_warnings(const char *before, const char *after, const char *message)
{
	struct flame_diag diag = { 0 };
	struct pair pair;
	size_t nr;
	bool said = !message;

	open_texts(&pair, before, after);
	flame_diff_check(pair.before, pair.after, &pair.diff, false, true, &diag);
	for (size_t i = 0; i < diag.nr_messages; i++)
		said |= message && strstr(diag.messages[i].text, message);
	assert_true(said);
	nr = diag.nr_messages;
	flame_diag_release(&diag);
	close_pair(&pair);
	return nr;
}

/* Of one format, and of two. */
static void check_ways(const char *before, const char *after, size_t nr)
{
	struct flame_profile *p = text_profile("a 500\n"), *q = text_profile("a 510\n");
	struct flame_diag diag = { 0 };
	struct pair pair;

	flame_meta(p)->format = flame_intern(p, before, strlen(before));
	flame_meta(q)->format = flame_intern(q, after, strlen(after));
	flame_meta(q)->copied_stacks = true;
	open_pair(&pair, p, q);
	flame_diff_check(p, q, &pair.diff, true, true, &diag);
	assert_int_equal(diag.nr_messages, nr);
	if (nr)
		assert_non_null(strstr(diag.messages[0].text, "stacks of AFTER are from copies"));
	flame_diag_release(&diag);
	close_pair(&pair);
}

static void test_warnings(void **state)
{
	(void)state;
	assert_int_equal(count_warnings("a 500\n", "a 510\n", NULL), 0);
	assert_int_equal(count_warnings("a 500\n", "a 900\n", "BEFORE has 500 samples, AFTER 900"), 1);
	assert_int_equal(count_warnings("a 500\n", "b 500\n", "--strip-ids"), 1);
	assert_int_equal(count_warnings("a 50\n", "a 500\n", "BEFORE has 50 samples only"), 2);
	/* One stack is no number of samples that differs from another. */
	assert_int_equal(count_warnings("# unit: ns\na 500\n", "a 500\n", "how many samples BEFORE holds is not known"), 1);
	assert_int_equal(count_warnings("# unit: ns\na 5\n", "# unit: ns\na 500\nb 3\n", "BEFORE and AFTER hold"), 1);
	assert_int_equal(count_warnings("# frequency: 99 Hz\na 500\n", "# frequency: 999 Hz\na 500\n", "99 Hz, AFTER at 999 Hz"), 1);
	assert_int_equal(count_warnings("# frequency: 99 Hz\na 500\n", "a 500\n", NULL), 0);
	assert_int_equal(count_warnings("# duration: 1000000000 ns\na 500\n", "# duration: 30000000000 ns\na 500\n",
					"lasts 1 s, AFTER 30 s"), 1);
	assert_int_equal(count_warnings("# host: x\na 500\n", "# host: y\na 500\n", "host x, AFTER on y"), 1);
	check_ways("perfdata", "perfdata", 1);
	check_ways("pprof", "perfdata", 0);
}

/*
 * 400 pairs of equal profiles of 50 functions, 2000 samples each: at 95 % at most one in twenty may have a
 * false alarm; Fisher's test has fewer. The same with one share 5 points larger: found nearly always.
 */
static struct flame_profile *drawn(uint32_t *seed, uint32_t more)
{
	char text[50 * 24], *end = text;
	uint32_t counts[50] = { 0 };

	for (int i = 0; i < 2000; i++) {
		uint32_t r = text_random(seed, 1000);

		counts[r < 100 + more ? 0 : 1 + text_random(seed, 49)]++;
	}
	for (int i = 0; i < 50; i++)
		end += sprintf(end, "all;f%d %u\n", i, counts[i]);
	return text_profile(text);
}

static uint32_t count_alarms(uint32_t *seed, uint32_t more, bool planted)
{
	uint32_t nr = 0;

	for (int round = 0; round < 400; round++) {
		struct flame_compare_options options = { 0 };
		struct flame_comparison c;
		struct pair pair;
		bool alarm = false;

		open_pair(&pair, drawn(seed, 0), drawn(seed, more));
		assert_int_equal(flame_compare_functions(&c, &pair.diff, &options), 0);
		for (size_t i = 0; i < c.nr_items; i++)
			alarm |= c.items[i].total.significant || c.items[i].self.significant;
		nr += planted ? find(&c, &pair, "f0")->total.significant : alarm;
		flame_comparison_release(&c);
		close_pair(&pair);
	}
	return nr;
}

static void test_alarms(void **state)
{
	uint32_t seed = 7, false_alarms, found;

	(void)state;
	false_alarms = count_alarms(&seed, 0, false);
	found = count_alarms(&seed, 50, true);
	print_message("%u of 400 equal pairs with an alarm, %u of 400 changes of 5 points found\n", false_alarms, found);
	assert_true(false_alarms <= 20);
	assert_true(found >= 360);
}

/* A table's rows fit the lines of a terminal, and are as long as they are where there is none. */
static void test_width(void **state)
{
	static const struct {
		unsigned int width;
		const char *row;
	} rows[] = {
		{ 0, "  30.00%   60.00%   +30.00*   +16.29 to  +42.16    30.00%   60.00%   +30.00*  a_long_name_of_a_f\xc3\xbcnction" },
		{ 100, "  30.00%   60.00%   +30.00*   +16.29 to  +42.16    30.00%   60.00%   +30.00*  a_long_nam..a_f\xc3\xbcnction" },
		{ 80, "  30.00%   60.00%   +30.00*    30.00%   60.00%   +30.00*  a_long_nam..a_f\xc3\xbcnction" },
		{ 50, "  30.00%   60.00%   +30.00*  a_long_na..a_f\xc3\xbcnction" },
		{ 40, "  60.00%   +30.00*  a_long_na.._f\xc3\xbcnction" },
		{ 20, "  +30.00*  a_l..tion" },
		{ 1, "  +30.00*  a..n" },
	};
	struct pair pair;

	(void)state;
	open_texts(&pair, "a_long_name_of_a_f\xc3\xbcnction 30\nb 70\n", "a_long_name_of_a_f\xc3\xbcnction 60\nb 40\n");
	for (size_t i = 0; i < NR(rows); i++) {
		struct flame_compare_write_options options = {
			.before = { "x", NULL, pair.before, 1 }, .after = { "y", NULL, pair.after, 1 }, .width = rows[i].width,
		};
		char *text = NULL, line[256];
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		assert_int_equal(flame_compare_write_table(&pair.diff, &options, out), 0);
		fclose(out);
		snprintf(line, sizeof(line), "\n%s\n", rows[i].row);
		if (!strstr(text, line))
			fail_msg("%u: no '%s' in\n%s", rows[i].width, rows[i].row, text);
		free(text);
	}
	close_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_weights), cmocka_unit_test(test_rates), cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_rates), cmocka_unit_test(test_kernel), cmocka_unit_test(test_numbering),
		cmocka_unit_test(test_boxes), cmocka_unit_test(test_negative), cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_warnings), cmocka_unit_test(test_alarms),
		cmocka_unit_test(test_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

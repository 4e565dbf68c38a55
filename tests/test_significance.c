/* SPDX-License-Identifier: MIT */
/*
 * Tests and intervals against exact values: tails as sums of fractions of whole numbers, score intervals
 * as the roots of their equation, both computed with Python's fractions and NormalDist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "../core/significance.h"

#define NR(rows) (sizeof(rows) / sizeof(*(rows)))

static void assert_near(double got, double want, double part)
{
	if (fabs(got - want) > part * fabs(want))
		fail_msg("%.17g, not %.17g", got, want);
}

static struct flame_portion of(double k, double n)
{
	return (struct flame_portion){ k / n, n };
}

static void test_deviations(void **state)
{
	(void)state;
	assert_near(flame_deviations(0.95), 1.9599639845400536, 1e-12);
	assert_near(flame_deviations(0.99), 2.5758293035489, 1e-12);
	assert_near(flame_deviations(0.5), 0.6744897501960817, 1e-12);
}

static void test_fisher(void **state)
{
	static const struct {
		double k1, n1, k2, n2, p, least;
	} rows[] = {
		{ 20, 50, 60, 90, 0.00402006945447013, 5.061364486463747e-28 },
		{ 0, 50, 5, 50, 0.05628449442882433, 0.05628449442882433 },
		{ 3, 10, 3, 10, 1, 0.010835913312693499 },
		{ 0, 1000, 10, 100, 5.046484792708532e-11, 5.046484792708532e-11 },
		{ 340, 1000, 90, 1000, 6.424780336047307e-44, 1.0575484459757648e-155 },
		{ 500, 500, 480, 500, 1.571330520449316e-06, 1.571330520449316e-06 },
		{ 1, 5, 4, 7, 0.494949494949495, 0.0025252525252525255 },
		{ 1000, 20000, 1200, 20000, 1.2591522932296183e-05, 0 },
		{ 5, 50, 0, 90, 0.010162758586604311, 0.010162758586604311 },
		{ 7, 0, 3, 10, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		struct flame_portion a = of(rows[i].k1, rows[i].n1), b = of(rows[i].k2, rows[i].n2);
		double least;

		a.share = rows[i].n1 > 0 ? a.share : 0;
		assert_near(flame_fisher(a, b, &least), rows[i].p, 1e-9);
		assert_near(least, rows[i].least, 1e-9);
		/* It does not matter which came first. */
		assert_near(flame_fisher(b, a, NULL), rows[i].p, 1e-9);
	}
}

/* Where the exact sum gives way to the normal distribution, they agree. */
static void test_fisher_of_many(void **state)
{
	struct flame_portion before = of(4e8, 8e8 - 1), after = of(4e8 + 4e4, 8e8 - 1);
	double exact = flame_fisher(before, after, NULL), scaled;

	(void)state;
	before.size *= 1.2;
	after.size *= 1.2;
	scaled = flame_fisher(before, after, NULL);
	assert_near(erfc(sqrt(2 * 4e4 * 4e4 / 8e8 / 2)), exact, 0.02);
	assert_true(scaled < exact);
}

static void test_binomial(void **state)
{
	static const struct {
		double before, after, odds, p, least;
	} rows[] = {
		{ 20, 60, 0.5, 8.580559867049611e-06, 1.6543612251060553e-24 },
		{ 0, 6, 0.5, 0.03125, 0.03125 },
		{ 10, 10, 0.5, 1, 1.9073486328125e-06 },
		{ 100, 150, 1.0 / 3, 1.2004878031407554e-17, 1.0488570839162289e-119 },
		{ 5, 2, 0.9, 0.000353, 2e-07 },
		{ 0, 0, 0.5, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < NR(rows); i++) {
		double least;

		assert_near(flame_binomial(rows[i].before, rows[i].after, rows[i].odds, &least), rows[i].p, 1e-9);
		assert_near(least, rows[i].least, 1e-9);
	}
}

static void test_intervals(void **state)
{
	static const struct {
		double k1, n1, k2, n2, low, high;
	} rows[] = {
		{ 20, 50, 60, 90, 0.0946494154293894, 0.41911447784932665 },
		{ 0, 50, 5, 50, 0.008975448080590087, 0.21360231437479654 },
		{ 340, 1000, 90, 1000, -0.28402839373159094, -0.21539238664866475 },
		/* Newcombe 1998, table II, contrast (a): 0.0524 to 0.3339 the other way round. */
		{ 56, 70, 48, 80, -0.3338726540369062, -0.052431472402364704 },
	};
	double z = flame_deviations(0.95);
	struct flame_interval x = flame_wilson(of(20, 50), z);

	(void)state;
	assert_near(x.low, 0.27608389730256555, 1e-9);
	assert_near(x.high, 0.5381856225241063, 1e-9);
	x = flame_wilson(of(0, 50), z);
	assert_true(x.low == 0);
	assert_near(x.high, 0.07134759913335868, 1e-9);
	x = flame_wilson((struct flame_portion){ 0.5, 0 }, z);
	assert_true(x.low == 0 && x.high == 1);
	for (size_t i = 0; i < NR(rows); i++) {
		x = flame_newcombe(of(rows[i].k1, rows[i].n1), of(rows[i].k2, rows[i].n2), z);
		assert_near(x.low, rows[i].low, 1e-9);
		assert_near(x.high, rows[i].high, 1e-9);
	}
}

static void test_holm(void **state)
{
	/* Holm's own arithmetic: 0.01 * 4, 0.02 * 3, then never less than the one before. */
	struct flame_test tests[] = { { .p = 0.02 }, { .p = 0.01 }, { .p = 0.03 }, { .p = 0.9 } };

	(void)state;
	assert_int_equal(flame_holm(tests, 4, 0.05), 4);
	assert_near(tests[1].adjusted, 0.04, 1e-12);
	assert_near(tests[0].adjusted, 0.06, 1e-12);
	assert_near(tests[2].adjusted, 0.06, 1e-12);
	assert_near(tests[3].adjusted, 0.9, 1e-12);
	assert_int_equal(flame_holm(tests, 0, 0.05), 0);
}

/* Of four tests only two could reach 0.05 / 2: the others neither count nor become significant. */
static void test_tarone(void **state)
{
	struct flame_test tests[] = {
		{ .p = 0.02, .least = 1e-4 }, { .p = 0.03, .least = 0.03 }, { .p = 0.04, .least = 0.02 }, { .p = 1, .least = 1 },
	};

	(void)state;
	assert_int_equal(flame_holm(tests, 4, 0.05), 2);
	assert_near(tests[0].adjusted, 0.04, 1e-12);
	assert_near(tests[2].adjusted, 0.04, 1e-12);
	assert_true(tests[1].adjusted == 1 && tests[3].adjusted == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deviations), cmocka_unit_test(test_fisher), cmocka_unit_test(test_fisher_of_many),
		cmocka_unit_test(test_binomial), cmocka_unit_test(test_intervals), cmocka_unit_test(test_holm),
		cmocka_unit_test(test_tarone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

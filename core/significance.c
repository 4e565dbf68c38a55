/* SPDX-License-Identifier: MIT */
/*
 * significance.c - exact tails of two discrete distributions, score intervals, and Holm's correction.
 *
 * Tails are summed from the observed value outwards, each term from the one before it, until terms no
 * longer matter: some standard deviations, not the whole range.
 */
#define _GNU_SOURCE
#include "significance.h"

#include <math.h>
#include <stdlib.h>

#define TAIL_END 1e-17		/* of the sum so far: what is less does not change it */
#define EXACT_VARIANCE 1e8	/* beyond, the normal distribution is as good */

/* The normal distribution beyond @z, from both ends. */
static double two_tails(double z)
{
	return erfc(fabs(z) / M_SQRT2);
}

double flame_deviations(double confidence)
{
	double low = 0, high = 40;

	/* two_tails() falls steadily: 60 halvings leave nothing between. */
	for (int i = 0; i < 60; i++) {
		double mid = (low + high) / 2;

		*(two_tails(mid) > 1 - confidence ? &low : &high) = mid;
	}
	return (low + high) / 2;
}

struct flame_interval flame_wilson(struct flame_portion part, double deviations)
{
	double z2 = deviations * deviations, n = part.size, p = part.share;
	double middle, half;

	if (!(n > 0))
		return (struct flame_interval){ 0, 1 };
	middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	half = deviations / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	/* Rounding must not put the share outside. */
	return (struct flame_interval){ fmax(0, fmin(p, middle - half)), fmin(1, fmax(p, middle + half)) };
}

struct flame_interval flame_newcombe(struct flame_portion before, struct flame_portion after, double deviations)
{
	struct flame_interval b = flame_wilson(before, deviations), a = flame_wilson(after, deviations);
	double change = after.share - before.share;

	return (struct flame_interval){
		change - hypot(after.share - a.low, b.high - before.share),
		change + hypot(a.high - after.share, before.share - b.low),
	};
}

static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

static double log_choose(double n, double k)
{
	return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

/* Of @k marked ones among @nr_before + @nr_after, so many are among the latter. */
struct hypergeometric {
	double nr_before, nr_after, k;
};

static double hypergeometric_at(const struct hypergeometric *h, double after)
{
	return exp(log_choose(h->nr_before, h->k - after) + log_choose(h->nr_after, after) -
		   log_choose(h->nr_before + h->nr_after, h->k));
}

/* The probability of @after and everything further up. */
static double upper_tail(const struct hypergeometric *h, double after)
{
	double most = fmin(h->k, h->nr_after), term = hypergeometric_at(h, after), sum = term;

	for (double j = after; j < most && term > sum * TAIL_END; j++) {
		term *= (h->nr_after - j) * (h->k - j) / ((j + 1) * (h->nr_before - h->k + j + 1));
		sum += term;
	}
	return sum;
}

static double twice(double tail)
{
	return fmin(1, 2 * tail);
}

/* The same distribution, with before and after in each other's place. */
static struct hypergeometric mirrored(const struct hypergeometric *h)
{
	return (struct hypergeometric){ h->nr_after, h->nr_before, h->k };
}

double flame_fisher(struct flame_portion before, struct flame_portion after, double *least)
{
	struct hypergeometric h = { rint(before.size), rint(after.size), 0 };
	double k_before = rint(before.share * h.nr_before), k_after = rint(after.share * h.nr_after), mean, variance, all;
	struct hypergeometric m;

	h.k = k_before + k_after;
	m = mirrored(&h);
	all = h.nr_before + h.nr_after;
	if (least)
		*least = 1;
	/* Of none, or of all, there is nothing that could differ. */
	if (!(h.nr_before > 0 && h.nr_after > 0 && h.k > 0 && h.k < all))
		return 1;
	if (least)
		*least = twice(fmin(hypergeometric_at(&h, fmin(h.k, h.nr_after)), hypergeometric_at(&m, fmin(h.k, h.nr_before))));
	mean = h.k * h.nr_after / all;
	variance = mean * (1 - h.k / all) * h.nr_before / (all - 1);
	if (variance > EXACT_VARIANCE)
		return two_tails((k_after - mean) / sqrt(variance));
	return twice(k_after >= mean ? upper_tail(&h, k_after) : upper_tail(&m, k_before));
}

static double binomial_at(double nr, double k, double odds)
{
	return exp(log_choose(nr, k) + k * log(odds) + (nr - k) * log1p(-odds));
}

static double binomial_tail(double nr, double k, double odds)
{
	double term = binomial_at(nr, k, odds), sum = term;

	for (double j = k; j < nr && term > sum * TAIL_END; j++) {
		term *= (nr - j) / (j + 1) * odds / (1 - odds);
		sum += term;
	}
	return sum;
}

double flame_binomial(double before, double after, double odds, double *least)
{
	double k = rint(after), nr = rint(before) + k, mean = nr * odds, variance = mean * (1 - odds);

	if (least)
		*least = 1;
	if (!(nr > 0 && odds > 0 && odds < 1))
		return 1;
	if (least)
		*least = twice(fmin(binomial_at(nr, nr, odds), binomial_at(nr, nr, 1 - odds)));
	if (variance > EXACT_VARIANCE)
		return two_tails((k - mean) / sqrt(variance));
	return twice(k >= mean ? binomial_tail(nr, k, odds) : binomial_tail(nr, nr - k, 1 - odds));
}

static int compare_least(const void *a, const void *b)
{
	const struct flame_test *const *x = a, *const *y = b;

	return ((*x)->least > (*y)->least) - ((*x)->least < (*y)->least);
}

static int compare_p(const void *a, const void *b)
{
	const struct flame_test *const *x = a, *const *y = b;

	return ((*x)->p > (*y)->p) - ((*x)->p < (*y)->p);
}

/*
 * Tarone's number: the smallest K so that at most K tests could reach @alpha / K. @order is by least.
 * Return: how many tests can reach it.
 */
static size_t count_testable(struct flame_test *const *order, size_t nr, double alpha)
{
	size_t able = nr;

	for (size_t k = 1; k <= nr; k++) {
		while (able && order[able - 1]->least > alpha / (double)k)
			able--;
		if (able <= k)
			break;
	}
	return able;
}

size_t flame_holm(struct flame_test *tests, size_t nr, double alpha)
{
	struct flame_test **order = malloc((nr + 1) * sizeof(void *));
	double adjusted = 0;
	size_t able;

	if (!order)
		return SIZE_MAX;
	for (size_t i = 0; i < nr; i++) {
		order[i] = &tests[i];
		tests[i].adjusted = 1;
	}
	qsort(order, nr, sizeof(void *), compare_least);
	able = count_testable(order, nr, alpha);
	qsort(order, able, sizeof(void *), compare_p);
	for (size_t i = 0; i < able; i++) {
		adjusted = fmax(adjusted, fmin(1, order[i]->p * (double)(able - i)));
		order[i]->adjusted = adjusted;
	}
	free(order);
	return able;
}

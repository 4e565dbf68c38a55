/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "threshold.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMED 5	/* frames that one threshold's message names */
#define MAX_POINTS 100	/* by which no share can grow more */

struct threshold {
	const char *text;
	regex_t re;
	bool is_total;
	double limit;		/* points, or percent of the total before */
	size_t nr_matches, nr_met;
};

struct checker {
	struct threshold *thresholds;
	size_t nr;
	struct flame_comparison functions;
	const struct flame_diff *diff;
	struct flame_diag *diag;
	uint32_t *rows;		/* items that some threshold names */
	size_t nr_rows;
};

/* "FRAME>2%": what stands before the last '>', and the number behind it. */
static bool parse_limit(const char *text, size_t *len, double *limit)
{
	const char *at = strrchr(text, '>');
	char *end;

	if (!at || at == text || strspn(at + 1, "0123456789.") == 0)
		return false;
	*len = (size_t)(at - text);
	*limit = strtod(at + 1, &end);
	if (*end == '%')
		end++;
	return !*end;
}

/* Return: NULL, or what is wrong; nothing is left to release then. */
static char *parse(struct threshold *t, const char *text)
{
	char *frame, *wrong = NULL, why[256];
	size_t len;
	int err;

	*t = (struct threshold){ .text = text };
	if (!parse_limit(text, &len, &t->limit))
		return strdup("wants FRAME>N%, such as 'json_encode>2%', or 'total>10%'");
	t->is_total = len == 5 && !memcmp(text, "total", 5);
	if (!isfinite(t->limit) || (!t->is_total && t->limit >= MAX_POINTS))
		return strdup("wants a limit that can be met: a share grows by less than 100 points");
	frame = strndup(text, len);
	if (!frame)
		return strdup("out of memory");
	err = regcomp(&t->re, frame, REG_EXTENDED | REG_NOSUB);
	if (err)
		regerror(err, &t->re, why, sizeof(why));
	if (err && asprintf(&wrong, "wants a regular expression before '>': %s", why) < 0)
		wrong = strdup("wants a regular expression before '>'");
	free(frame);
	return wrong;
}

char *flame_threshold_check(const char *text)
{
	struct threshold t;
	char *wrong = parse(&t, text);

	if (!wrong)
		regfree(&t.re);
	return wrong;
}

static bool matches(const struct checker *c, const struct threshold *t, const struct flame_compared *item)
{
	struct flame_span name = flame_string_get(c->diff->profile, flame_frame_get(c->diff->profile, item->row)->name);

	regmatch_t whole = { 0, (regoff_t)name.len };

	return !t->is_total && !regexec(&t->re, name.s, 0, &whole, REG_STARTEND);
}

static void collect_rows(struct checker *c)
{
	for (size_t i = 0; i < c->functions.nr_items; i++) {
		bool named = false;

		for (size_t j = 0; j < c->nr; j++) {
			bool is_match = matches(c, &c->thresholds[j], &c->functions.items[i]);

			c->thresholds[j].nr_matches += is_match;
			named |= is_match;
		}
		if (named)
			c->rows[c->nr_rows++] = (uint32_t)i;
	}
}

static void report_frame(struct checker *c, struct threshold *t, const struct flame_compared *item)
{
	struct flame_span name = flame_string_get(c->diff->profile, flame_frame_get(c->diff->profile, item->row)->name);
	const struct flame_change *change = &item->total;

	if (t->nr_met++ < MAX_NAMED)
		flame_diag_add(c->diag, FLAME_ERROR, "%s is met: %.*s grew from %.2f%% to %.2f%%, by %.2f points "
			       "(%g %% interval %+.2f to %+.2f)", t->text, (int)name.len, name.s, 100 * change->before.part.share, 100 * change->after.part.share,
			       100 * flame_change_of_share(change), 100 * c->functions.options.confidence,
			       100 * change->interval.low, 100 * change->interval.high);
}

static void check_frames(struct checker *c, struct threshold *t)
{
	for (size_t i = 0; i < c->nr_rows; i++) {
		const struct flame_compared *item = &c->functions.items[c->rows[i]];

		if (matches(c, t, item) && item->total.significant && 100 * flame_change_of_share(&item->total) > t->limit)
			report_frame(c, t, item);
	}
	if (t->nr_met > MAX_NAMED)
		flame_diag_add(c->diag, FLAME_ERROR, "%s is met by %zu frames more", t->text, t->nr_met - MAX_NAMED);
	if (!t->nr_matches)
		flame_diag_add(c->diag, FLAME_ERROR, "%s can never be met: no frame of either profile matches (annotations "
			       "such as _[k] are no part of names)", t->text);
}

/* The totals as they were measured. */
static void check_total(struct checker *c, struct threshold *t)
{
	const struct flame_amount_seen *before = &c->functions.all.before, *after = &c->functions.all.after;
	double growth = 100 * ((double)after->value / (double)before->value - 1);

	if (!(growth > t->limit) || c->functions.all.test.p > 1 - c->functions.options.confidence)
		return;
	t->nr_met++;
	flame_diag_add(c->diag, FLAME_ERROR, "%s is met: the total grew by %.2f%%", t->text, growth);
}

static int apply_frames(struct checker *c, const struct flame_compare_options *options)
{
	struct flame_compare_options shares = *options;
	int err;

	shares.by_count = false;
	err = flame_compare_functions(&c->functions, c->diff, &shares);
	if (err)
		return err;
	c->rows = malloc((c->functions.nr_items + 1) * sizeof(*c->rows));
	if (c->rows)
		collect_rows(c);
	err = c->rows ? flame_compare_again(&c->functions, c->rows, c->nr_rows) : FLAME_ENOMEM;
	for (size_t i = 0; !err && i < c->nr; i++) {
		if (!c->thresholds[i].is_total)
			check_frames(c, &c->thresholds[i]);
	}
	free(c->rows);
	flame_comparison_release(&c->functions);
	return err;
}

static int apply_totals(struct checker *c, const struct flame_compare_options *options)
{
	struct flame_compare_options counts = *options;
	int err;

	counts.by_count = true;
	err = flame_compare_functions(&c->functions, c->diff, &counts);
	for (size_t i = 0; !err && i < c->nr; i++) {
		if (c->thresholds[i].is_total)
			check_total(c, &c->thresholds[i]);
	}
	flame_comparison_release(&c->functions);
	return err;
}

int flame_thresholds_apply(const struct flame_diff *d, const struct flame_compare_options *options,
			   const char *const *texts, size_t nr, struct flame_diag *diag, struct flame_thresholds_found *found)
{
	struct checker c = { .thresholds = calloc(nr + 1, sizeof(*c.thresholds)), .diff = d, .diag = diag };
	int err = c.thresholds ? 0 : FLAME_ENOMEM;

	*found = (struct flame_thresholds_found){ 0, 0 };
	while (!err && c.nr < nr) {
		char *wrong = parse(&c.thresholds[c.nr], texts[c.nr]);

		if (wrong)
			err = FLAME_EARG;
		else
			c.nr++;
		free(wrong);
	}
	if (!err)
		err = apply_frames(&c, options);
	if (!err)
		err = apply_totals(&c, options);
	for (size_t i = 0; i < c.nr; i++) {
		found->nr_met += c.thresholds[i].nr_met > 0;
		found->nr_without += !c.thresholds[i].is_total && !c.thresholds[i].nr_matches;
		regfree(&c.thresholds[i].re);
	}
	free(c.thresholds);
	return err;
}

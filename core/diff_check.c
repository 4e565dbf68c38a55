/* SPDX-License-Identifier: MIT */
#include "diff_check.h"

#include <stdlib.h>
#include <string.h>

#define MUCH 1.5	/* times as long, or as many samples */
#define CHANCE 4	/* standard deviations */
#define FEW 100		/* samples that tell little */

struct check {
	const struct flame_profile *before, *after;
	const struct flame_diff *diff;
	bool shares, tested;
	struct flame_diag *diag;
};

static bool differs_much(double a, double b)
{
	return a > 0 && b > 0 && (a > b * MUCH || b > a * MUCH);
}

/* Few samples differ much by chance alone. */
static bool is_chance(double a, double b)
{
	return (a - b) * (a - b) < CHANCE * CHANCE * (a + b);
}

/* What then can be compared. */
static const char *remedy(const struct check *c)
{
	return c->shares ? "shares are compared" : "counts show the load too, --normalize takes it out";
}

static void check_rate(const struct check *c)
{
	const struct flame_meta *a = flame_meta_get(c->before), *b = flame_meta_get(c->after);

	if (a->frequency_hz && b->frequency_hz && a->frequency_hz != b->frequency_hz)
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE was sampled at %u Hz, AFTER at %u Hz: %s", a->frequency_hz,
			       b->frequency_hz, remedy(c));
	if (a->period && b->period && a->period != b->period)
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE was sampled every %llu events, AFTER every %llu: %s",
			       (unsigned long long)a->period, (unsigned long long)b->period, remedy(c));
}

static bool is_known(const struct flame_diff_side *side)
{
	return side->numbering != FLAME_NUMBERED_STACKS;
}

/* Stacks, which are at least as many samples, are no numbers to compare. */
static void tell_unknown(const struct check *c)
{
	bool before = !is_known(&c->diff->before), after = !is_known(&c->diff->after);

	if (!c->tested || (c->diff->before.nr_samples >= FEW && c->diff->after.nr_samples >= FEW))
		return;
	flame_diag_add(c->diag, FLAME_WARNING, "how many samples %s is not known: each stack counts as one, and little can be told "
		       "from noise; of folded text, compare the recordings themselves",
		       before && after ? "BEFORE and AFTER hold" : before ? "BEFORE holds" : "AFTER holds");
}

static void check_load(const struct check *c)
{
	double a = (double)flame_meta_duration(c->before) / 1e9, b = (double)flame_meta_duration(c->after) / 1e9;
	uint64_t nr_a = c->diff->before.nr_samples, nr_b = c->diff->after.nr_samples;

	if (differs_much(a, b))
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE lasts %.3g s, AFTER %.3g s: %s", a, b, remedy(c));
	if (!is_known(&c->diff->before) || !is_known(&c->diff->after)) {
		tell_unknown(c);
		return;
	}
	if (differs_much((double)nr_a, (double)nr_b) && !is_chance((double)nr_a, (double)nr_b))
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE has %llu samples, AFTER %llu: another load or time was recorded, "
			       "not only other code; %s",
			       (unsigned long long)nr_a, (unsigned long long)nr_b, remedy(c));
	if (c->tested && (nr_a < FEW || nr_b < FEW))
		flame_diag_add(c->diag, FLAME_WARNING, "%s has %llu sample%s only: all but very large changes are within noise",
			       nr_a < nr_b ? "BEFORE" : "AFTER", (unsigned long long)(nr_a < nr_b ? nr_a : nr_b),
			       nr_a == 1 || nr_b == 1 ? "" : "s");
}

static bool differ(const struct check *c, flame_string x, flame_string y)
{
	struct flame_span a = flame_string_get(c->before, x), b = flame_string_get(c->after, y);

	return a.len && b.len && (a.len != b.len || memcmp(a.s, b.s, a.len));
}

static void check_machine(const struct check *c)
{
	const struct flame_meta *a = flame_meta_get(c->before), *b = flame_meta_get(c->after);

	if (differ(c, a->host, b->host))
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE was recorded on the host %.64s, AFTER on %.64s",
			       flame_string_get(c->before, a->host).s, flame_string_get(c->after, b->host).s);
	else if (a->nr_cpus && b->nr_cpus && a->nr_cpus != b->nr_cpus)
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE was recorded on %u CPUs, AFTER on %u", a->nr_cpus, b->nr_cpus);
	if (differ(c, a->runtime, b->runtime))
		flame_diag_add(c->diag, FLAME_WARNING, "BEFORE ran on %.64s, AFTER on %.64s",
			       flame_string_get(c->before, a->runtime).s, flame_string_get(c->after, b->runtime).s);
	if (a->depth_max && b->depth_max && a->depth_max != b->depth_max)
		flame_diag_add(c->diag, FLAME_WARNING, "stacks of BEFORE have at most %u frames, those of AFTER %u: "
			       "deep ones seem to differ", a->depth_max, b->depth_max);
}

/* By one recorder, stacks were found in two ways: each loses callers of its own. */
static void check_stacks(const struct check *c)
{
	const struct flame_meta *a = flame_meta_get(c->before), *b = flame_meta_get(c->after);
	struct flame_span x = flame_string_get(c->before, a->format), y = flame_string_get(c->after, b->format);

	if (a->copied_stacks != b->copied_stacks && x.len && x.len == y.len && !memcmp(x.s, y.s, x.len))
		flame_diag_add(c->diag, FLAME_WARNING, "stacks of %s are from copies (--call-graph dwarf), those of %s are not: "
			       "callers and names that differ may be that, and not the code",
			       a->copied_stacks ? "BEFORE" : "AFTER", a->copied_stacks ? "AFTER" : "BEFORE");
}

/* Samples of which some function is in both. */
static void check_common(const struct check *c)
{
	const struct flame_profile *p = c->diff->profile;
	uint32_t nr = flame_nr_frames(p);
	uint8_t *sides = calloc(nr, sizeof(*sides));
	bool common = false;

	for (uint32_t i = 0; sides && i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (s->stack)
			sides[flame_stack_frame(p, s->stack)] |= s->type == c->diff->after.type ? 2 : 1;
	}
	for (uint32_t i = 1; sides && i < nr; i++)
		common |= sides[i] == 3;
	if (sides && !common)
		flame_diag_add(c->diag, FLAME_WARNING,
			       "no function that runs in BEFORE runs in AFTER: these may be different programs, "
			       "or their names may hold ids (--strip-ids)");
	free(sides);
}

void flame_diff_check(const struct flame_profile *before, const struct flame_profile *after, const struct flame_diff *diff,
		      bool shares, bool tested, struct flame_diag *diag)
{
	struct check c = { before, after, diff, shares, tested, diag };

	check_rate(&c);
	check_load(&c);
	check_machine(&c);
	check_stacks(&c);
	check_common(&c);
}

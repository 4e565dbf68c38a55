/* SPDX-License-Identifier: MIT */
#ifndef FLAME_COMPARE_H
#define FLAME_COMPARE_H
/*
 * compare.h - what of a differential is change, and what chance.
 *
 * A share is that of the sum of the values. Where values are not counts, what is tested are effective
 * numbers of samples: as many of equal weight as would vary as much (Kish; Korn and Graubard).
 */
#include "diff.h"
#include "render/layout.h"
#include "significance.h"

struct flame_compare_options {
	double confidence;	/* 0: 0.95 */
	double dispersion;	/* how many times the variance is that of independent samples; 0: 1 */
	/*
	 * Shares differ from run to run as those of so many samples do, besides what sampling adds: of longer runs, too, one
	 * tells no more. It counts where it makes the variance larger than dispersion does. 0: runs differ by sampling alone.
	 */
	double run_size;
	unsigned int runs_before, runs_after;	/* that were added up; 0: 1 */
	bool by_count;		/* test values as they are; else shares */
};

#define FLAME_RUN_SIZE 3000	/* what equal runs of JIT and of garbage collected code need (Documentation/bench.md) */

/* One side of a change. */
struct flame_amount_seen {
	int64_t value;
	double squares;		/* variance of the value: the sum of the squared weights of the samples */
	struct flame_portion part;
};

struct flame_change {
	struct flame_amount_seen before, after;
	struct flame_interval interval;	/* of the change of the share, for this one alone */
	struct flame_test test;
	bool significant;
};

struct flame_compared {
	uint32_t row;			/* frame, or number of the box */
	struct flame_change total;	/* what was called, too; recursion counts once a stack */
	struct flame_change self;
};

struct flame_comparison {
	struct flame_compare_options options;
	struct flame_change all;	/* all samples */
	double heavier;			/* how many times the mean weight before the samples after have */
	struct flame_compared *items;	/* owned */
	size_t nr_items;
	size_t nr_changes;		/* totals and selves that were looked at */
	size_t nr_tests;		/* of these, such as could have become significant: corrected for so many */
};

/*
 * Compare the functions of @d: the frames by their rows. Values must not be negative.
 * Return: 0; FLAME_EARG for a negative value; FLAME_EOVERFLOW; FLAME_ENOMEM.
 */
int flame_compare_functions(struct flame_comparison *c, const struct flame_diff *d,
			    const struct flame_compare_options *options);
/* The same for the boxes that @d was laid out in, item i for box i. A rest is no item that is tested. */
int flame_compare_boxes(struct flame_comparison *c, const struct flame_diff *d, const struct flame_layout *layout,
			const struct flame_compare_options *options);
/* Correct again, for @rows alone: numbers of items whose totals are looked at. Return: 0 or FLAME_ENOMEM. */
int flame_compare_again(struct flame_comparison *c, const uint32_t *rows, size_t nr);
void flame_comparison_release(struct flame_comparison *c);

/* Return: the change of the share, from -1 to 1. */
static inline double flame_change_of_share(const struct flame_change *c)
{
	return c->after.part.share - c->before.part.share;
}

/* Return: a sentence for people that says what was tested and how; static storage. */
const char *flame_compare_test(const struct flame_compare_options *options);

#endif

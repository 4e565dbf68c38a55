/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DIFF_H
#define FLAME_DIFF_H
#include "flame.h"

/* How it is known how many samples stand behind a value. */
enum flame_numbering {
	FLAME_NUMBERED,		/* the profiler says so */
	FLAME_NUMBERED_VALUES,	/* the values are numbers of samples */
	FLAME_NUMBERED_STACKS,	/* it is not: each stack counts as one sample, and there were at least as many */
};

/* Return: how the numbers of @p's samples of @type are known. */
enum flame_numbering flame_numbering_of(const struct flame_profile *p, flame_type type);

/* One of the two that are compared. */
struct flame_diff_side {
	flame_type type;		/* in the differential profile */
	enum flame_numbering numbering;
	enum flame_value_kind kind;
	int64_t total;			/* as it was measured, / 10^@scale */
	uint32_t scale;
	uint64_t nr_samples;
};

/* A differential profile: each sample's nr_samples is what stands behind its value. */
struct flame_diff {
	struct flame_profile *profile;	/* owned */
	struct flame_diff_side before, after;
	bool normalized;		/* the values before were scaled: their total is that after */
};

#define FLAME_NORMAL_SCALE 6	/* decimal digits that scaled values have, fewer where these are large */

/*
 * Kinds that tell functions apart. Whether code was compiled, by which compiler, or inlined differs from run to run;
 * and whether a name is a thread's, or a marker, is known of some formats only.
 */
#define FLAME_DIFF_KINDS (FLAME_KIND_BIT(FLAME_KERNEL) | FLAME_KIND_BIT(FLAME_WAKER))
#define FLAME_DIFF_WRITTEN (FLAME_ALL_KINDS & ~(FLAME_KIND_BIT(FLAME_TASK) | FLAME_KIND_BIT(FLAME_MARKER)))

/*
 * The values of @before's type @before_type and @after's type @after_type as the types "before" and "after" of
 * one new profile. @normalize: the values before are scaled so that their total is that after: rounded to the
 * nearest of FLAME_NORMAL_SCALE digits, not cut off. @kinds: FLAME_DIFF_KINDS, or FLAME_DIFF_WRITTEN where folded text is to show how code was compiled.
 * Return: 0, or the failure with nothing to release: FLAME_EEMPTY where a total to be scaled is not above 0.
 */
int flame_diff_init(struct flame_diff *diff, const struct flame_profile *before, flame_type before_type,
		    const struct flame_profile *after, flame_type after_type, bool normalize, uint32_t kinds);
void flame_diff_release(struct flame_diff *diff);

#endif

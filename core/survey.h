/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SURVEY_H
#define FLAME_SURVEY_H
/*
 * survey.h - what the stacks of a profile are like, in one pass over the frames, one over the stacks and one
 * over the samples of a type.
 */
#include "quality.h"
#include "remedy.h"

struct flame_survey {
	struct flame_quality_shares shares;
	struct flame_missing missing[FLAME_QUALITY_MISSING];	/* their names are owned */
	size_t nr_missing;
	enum flame_runtime runtime;	/* what most of it ran in; NATIVE where nothing tells */
	uint64_t nr_samples;		/* counted by the rows */
	int64_t total;
	uint64_t nr_stacks;
	bool estimated;			/* of some samples */
	double switched_stacks;		/* part of the stacks, whatever they weigh, whose leaf is where threads are switched */
	double rooted;			/* part that starts with what threads start with, outside of the kernel */
};

/*
 * @depth_max: frames that the recorder keeps; 0: no limit. @quick: of large profiles only some samples are looked
 * at. Return: 0 or FLAME_ENOMEM, with @s to be released in both cases.
 */
int flame_survey_make(struct flame_survey *s, const struct flame_profile *p, flame_type type, uint32_t depth_max,
		      bool quick);
void flame_survey_release(struct flame_survey *s);

#endif

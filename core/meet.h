/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MEET_H
#define FLAME_MEET_H
/* meet.h - two profiles of different programs, profilers or formats, and whether their values can be compared. */
#include "converter.h"

/* One of the two, and what it is called in messages. */
struct flame_met {
	struct flame_profile *profile;
	flame_type type;
	const char *name;
};

/*
 * Put the values of @before and @after into one unit: times and sizes into the finer of both, exactly; values without a
 * unit into that of the others, unless they look like numbers of samples. Notes and warnings say what was done, and
 * how the two differ in what they count. @count: samples are compared, whatever their values measure.
 * Return: 0; FLAME_EARG where nothing makes them alike, with the way out as an error; FLAME_EOVERFLOW.
 */
int flame_types_meet(const struct flame_met *before, const struct flame_met *after, bool count, struct flame_diag *diag);

#endif

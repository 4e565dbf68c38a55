/* SPDX-License-Identifier: MIT */
#ifndef FLAME_THRESHOLD_H
#define FLAME_THRESHOLD_H
/*
 * threshold.h - changes that shall be an error: "FRAME>2%" is met where the share of a frame that the extended
 * regular expression FRAME matches grew by more than 2 points, and not by chance; "total>10%" where the sum of
 * all samples grew by more than 10 percent.
 */
#include "compare.h"
#include "converter.h"

/* Return: NULL, or what is wrong with @text, owned by the caller. */
char *flame_threshold_check(const char *text);

/* How many of the thresholds are met, and how many name no frame that there is: these never can be. */
struct flame_thresholds_found {
	size_t nr_met, nr_without;
};

/*
 * Apply the @nr thresholds @texts to @d. The tests are corrected for the frames that they name, no others.
 * Each that is met, and each that names no frame, is an error in @diag.
 * Return: 0; FLAME_EARG for a threshold that is none; what flame_compare_functions() returns.
 */
int flame_thresholds_apply(const struct flame_diff *d, const struct flame_compare_options *options,
			   const char *const *texts, size_t nr, struct flame_diag *diag, struct flame_thresholds_found *found);

#endif

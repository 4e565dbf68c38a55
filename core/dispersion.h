/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DISPERSION_H
#define FLAME_DISPERSION_H
/*
 * dispersion.h - how much more equal runs differ than independent samples would: the mean of chi squared of
 * the shares of all functions. Samples of a function itself are looked at, as each belongs to one function.
 */
#include "compare.h"

struct flame_dispersion {
	double sum;		/* of chi squared */
	size_t nr;		/* of functions in pairs of runs; each has one degree of freedom */
};

/* Add the differences of two runs of the same. Return: what flame_diff_init() and flame_compare_functions() do. */
int flame_dispersion_add(struct flame_dispersion *d, const struct flame_profile *a, flame_type a_type,
			 const struct flame_profile *b, flame_type b_type);

/* Return: how many times the variance is that of independent samples; at least 1. */
double flame_dispersion_get(const struct flame_dispersion *d);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SIGNIFICANCE_H
#define FLAME_SIGNIFICANCE_H
/*
 * significance.h - which changes of random counts are more than chance. No profile in here: only numbers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flame_interval {
	double low, high;
};

/* Part @share, from 0 to 1, of @size independent samples; these may be fewer than were taken. */
struct flame_portion {
	double share;
	double size;
};

/* Return: how many standard deviations a two-sided interval of @confidence (0.95) reaches. */
double flame_deviations(double confidence);

/* Wilson's score interval of a share. Without samples it is all from 0 to 1. */
struct flame_interval flame_wilson(struct flame_portion part, double deviations);
/* Newcombe's interval (his method 10) of the change of a share, from two score intervals. */
struct flame_interval flame_newcombe(struct flame_portion before, struct flame_portion after, double deviations);

/*
 * Fisher's exact test that two shares are the same, two-sided: twice the smaller tail, at most 1.
 * Numbers of samples are rounded. @least gets the smallest answer that so many samples in both together
 * could have given; it does not depend on how they were distributed. NULL: it is not asked for.
 */
double flame_fisher(struct flame_portion before, struct flame_portion after, double *least);
/*
 * The same for counts that are compared as they are: @after of @before + @after samples, each of which
 * falls into the second with probability @odds where nothing changed.
 */
double flame_binomial(double before, double after, double odds, double *least);

struct flame_test {
	double p;
	double least;		/* the smallest that p could have been */
	double adjusted;	/* p, corrected for the number of tests; 1 where the test could say nothing */
};

/*
 * Correct @tests by Holm's method, so that the probability of even one false alarm among all of them is at most
 * @alpha. Tests that could not have become significant, whatever came out, do not count (Tarone).
 * Return: how many count; SIZE_MAX without memory.
 */
size_t flame_holm(struct flame_test *tests, size_t nr, double alpha);

#endif

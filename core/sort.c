/* SPDX-License-Identifier: MIT */
/*
 * sort.c - stable radix sort: linear, where qsort() of a million stacks would be the slowest step.
 */
#include "sort.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define NR_DIGITS (1u << DIGIT_BITS)

static bool is_sorted(const struct flame_pair *pairs, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (pairs[i - 1].key > pairs[i].key)
			return false;
	}
	return true;
}

static void sort_digit(struct flame_pair *to, const struct flame_pair *from, size_t nr, unsigned int shift)
{
	size_t starts[NR_DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < nr; i++)
		starts[(from[i].key >> shift) % NR_DIGITS]++;
	for (size_t d = 0; d < NR_DIGITS; d++) {
		size_t n = starts[d];

		starts[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < nr; i++)
		to[starts[(from[i].key >> shift) % NR_DIGITS]++] = from[i];
}

bool flame_sort_pairs(struct flame_pair *pairs, size_t nr)
{
	struct flame_pair *other, *from = pairs, *to;

	if (is_sorted(pairs, nr))
		return true;
	other = malloc(nr * sizeof(*other));
	if (!other)
		return false;
	to = other;
	for (unsigned int shift = 0; shift < 32; shift += DIGIT_BITS) {
		struct flame_pair *swap = from;

		sort_digit(to, from, nr, shift);
		from = to;
		to = swap;
	}
	if (from != pairs)
		memcpy(pairs, from, nr * sizeof(*pairs));
	free(other);
	return true;
}

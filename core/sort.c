/* SPDX-License-Identifier: MIT */
/*
 * sort.c - stable radix sort: linear, where qsort() of a million stacks would be the slowest step.
 */
#include "sort.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define NR_DIGITS (1u << DIGIT_BITS)

/* *@highest: all bits that any key has. */
static bool is_sorted(const struct flame_pair *pairs, size_t nr, uint32_t *highest)
{
	bool sorted = true;

	*highest = nr ? pairs[0].key : 0;
	for (size_t i = 1; i < nr; i++) {
		sorted &= pairs[i - 1].key <= pairs[i].key;
		*highest |= pairs[i].key;
	}
	return sorted;
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
	uint32_t highest;

	if (is_sorted(pairs, nr, &highest))
		return true;
	other = malloc(nr * sizeof(*other));
	if (!other)
		return false;
	to = other;
	for (unsigned int shift = 0; shift < 32 && highest >> shift; shift += DIGIT_BITS) {
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

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SORT_H
#define FLAME_SORT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flame_pair {
	uint32_t key;
	uint32_t row;
};

/* Sort @nr pairs by key, equal keys in their order. Return: false without memory. */
bool flame_sort_pairs(struct flame_pair *pairs, size_t nr);

#endif

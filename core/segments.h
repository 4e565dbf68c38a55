/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SEGMENTS_H
#define FLAME_SEGMENTS_H
/*
 * segments.h - ranges that may overlap, made into segments that do not, so that what is at an
 * address is one binary search away, whatever the ranges were.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_SEGMENT_NONE UINT32_MAX

struct flame_range {
	uint64_t start, end;	/* end is past the last; a range without addresses is left out */
	uint32_t priority;	/* the highest has an address; of equal ones the later in the array */
	uint32_t item;
};

/* Addresses from here on, up to the next segment. */
struct flame_segment {
	uint64_t start;
	uint32_t item;		/* FLAME_SEGMENT_NONE: nothing */
};

struct flame_segments {
	struct flame_segment *segments;
	size_t nr;
};

/*
 * Make segments of @ranges, which are sorted by it. At most 2 * @nr + 1 segments.
 * Return: false without memory.
 */
bool flame_segments_make(struct flame_segments *s, struct flame_range *ranges, size_t nr);
/* Return: the item at @address, or FLAME_SEGMENT_NONE. */
uint32_t flame_segments_find(const struct flame_segments *s, uint64_t address);
void flame_segments_release(struct flame_segments *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * segments.c - a sweep over ranges in the order of their starts. A heap holds those that have begun,
 * the one with the highest priority on top; those that have ended are dropped when they come up.
 */
#include "segments.h"

#include <stdlib.h>

struct sweep {
	const struct flame_range *ranges;
	uint32_t *heap;		/* indices of ranges */
	size_t nr_heap;
	struct flame_segments *out;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct flame_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* Who makes them has often sorted them already. */
static void sort_ranges(struct flame_range *ranges, size_t nr)
{
	size_t i = 1;

	while (i < nr && compare_ranges(&ranges[i - 1], &ranges[i]) < 0)
		i++;
	if (i < nr)
		qsort(ranges, nr, sizeof(*ranges), compare_ranges);
}

static bool above(const struct sweep *w, uint32_t a, uint32_t b)
{
	uint32_t pa = w->ranges[a].priority, pb = w->ranges[b].priority;

	return pa != pb ? pa > pb : a > b;
}

static void heap_push(struct sweep *w, uint32_t range)
{
	size_t i = w->nr_heap++;

	while (i && above(w, range, w->heap[(i - 1) / 2])) {
		w->heap[i] = w->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	w->heap[i] = range;
}

static void heap_pop(struct sweep *w)
{
	uint32_t last = w->heap[--w->nr_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < w->nr_heap) {
		if (child + 1 < w->nr_heap && above(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!above(w, w->heap[child], last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
}

static void emit(struct flame_segments *out, uint64_t start, uint32_t item)
{
	struct flame_segment *last = out->nr ? &out->segments[out->nr - 1] : NULL;

	if (last && last->start == start) {
		last->item = item;
		return;
	}
	if (last ? last->item == item : item == FLAME_SEGMENT_NONE)
		return;
	out->segments[out->nr++] = (struct flame_segment){ .start = start, .item = item };
}

/* From *@at up to @limit: whoever is on top, until it ends. */
static void sweep_to(struct sweep *w, uint64_t *at, uint64_t limit)
{
	while (w->nr_heap && *at < limit) {
		const struct flame_range *top = &w->ranges[w->heap[0]];

		if (top->end <= *at) {
			heap_pop(w);
			continue;
		}
		emit(w->out, *at, top->item);
		*at = top->end < limit ? top->end : limit;
	}
	if (*at < limit)
		emit(w->out, *at, FLAME_SEGMENT_NONE);
	*at = limit;
}

bool flame_segments_make(struct flame_segments *s, struct flame_range *ranges, size_t nr)
{
	struct sweep w = { .ranges = ranges, .out = s };
	uint64_t at = 0;

	*s = (struct flame_segments){ 0 };
	if (!nr)
		return true;
	if (nr >= FLAME_SEGMENT_NONE)
		return false;
	/* Each start and each end begins one at most. */
	s->segments = calloc(2 * nr + 1, sizeof(*s->segments));
	w.heap = calloc(nr, sizeof(*w.heap));
	if (!s->segments || !w.heap) {
		free(w.heap);
		flame_segments_release(s);
		return false;
	}
	sort_ranges(ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].end <= ranges[i].start)
			continue;
		sweep_to(&w, &at, ranges[i].start);
		heap_push(&w, (uint32_t)i);
	}
	sweep_to(&w, &at, UINT64_MAX);
	free(w.heap);
	return true;
}

uint32_t flame_segments_find(const struct flame_segments *s, uint64_t address)
{
	size_t low = 0, high = s->nr;

	/* The first segment that starts behind the address. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? s->segments[low - 1].item : FLAME_SEGMENT_NONE;
}

void flame_segments_release(struct flame_segments *s)
{
	free(s->segments);
	*s = (struct flame_segments){ 0 };
}

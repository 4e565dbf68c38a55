/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "order.h"

#include <stdlib.h>
#include <string.h>

static int compare_spans(struct flame_span a, struct flame_span b)
{
	int c = memcmp(a.s, b.s, a.len < b.len ? a.len : b.len);

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

/* A frame on its way into order. Most names differ in their first bytes, which need no look at the name. */
struct ranked {
	uint64_t start;		/* of the name, as a number that sorts as the bytes do */
	uint32_t frame;
};

static int compare_frames(const void *a, const void *b, void *arg)
{
	const struct flame_profile *p = arg;
	const struct ranked *left = a, *right = b;
	const struct flame_frame_info *x, *y;
	int c;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	x = flame_frame_get(p, left->frame);
	y = flame_frame_get(p, right->frame);
	c = x->name == y->name ? 0 : compare_spans(flame_string_get(p, x->name), flame_string_get(p, y->name));
	return c ? c : strcmp(flame_kind_suffix(x->kind), flame_kind_suffix(y->kind));
}

static uint64_t name_start(struct flame_span name)
{
	uint64_t start = 0;

	for (size_t i = 0; i < sizeof(start); i++)
		start = start << 8 | (i < name.len ? (unsigned char)name.s[i] : 0);
	return start;
}

uint32_t *flame_frame_ranks(const struct flame_profile *p)
{
	uint32_t nr = flame_nr_frames(p), rank = 0;
	struct ranked *order = malloc(nr * sizeof(*order));
	uint32_t *ranks = calloc(nr, sizeof(*ranks));

	if (!order || !ranks) {
		free(order);
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < nr; i++)
		order[i] = (struct ranked){ name_start(flame_string_get(p, flame_frame_get(p, i)->name)), i };
	qsort_r(order + 1, nr - 1, sizeof(*order), compare_frames, (void *)p);
	for (uint32_t i = 1; i < nr; i++) {
		if (i > 1 && compare_frames(&order[i - 1], &order[i], (void *)p))
			rank++;
		ranks[order[i].frame] = rank;
	}
	free(order);
	return ranks;
}

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

static int compare_frames(const void *a, const void *b, void *arg)
{
	const struct flame_profile *p = arg;
	const struct flame_frame_info *x = flame_frame_get(p, *(const uint32_t *)a);
	const struct flame_frame_info *y = flame_frame_get(p, *(const uint32_t *)b);
	int c = x->name == y->name ? 0 : compare_spans(flame_string_get(p, x->name), flame_string_get(p, y->name));

	return c ? c : strcmp(flame_kind_suffix(x->kind), flame_kind_suffix(y->kind));
}

uint32_t *flame_frame_ranks(const struct flame_profile *p)
{
	uint32_t nr = flame_nr_frames(p), rank = 0;
	uint32_t *order = malloc(nr * sizeof(*order));
	uint32_t *ranks = calloc(nr, sizeof(*ranks));

	if (!order || !ranks) {
		free(order);
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order + 1, nr - 1, sizeof(*order), compare_frames, (void *)p);
	for (uint32_t i = 1; i < nr; i++) {
		if (i > 1 && compare_frames(&order[i - 1], &order[i], (void *)p))
			rank++;
		ranks[order[i]] = rank;
	}
	free(order);
	return ranks;
}

/* SPDX-License-Identifier: MIT */
/*
 * compare_list.c - the rows of a comparison in the order in which they are written: what changed first, the
 * largest change of the share first, equal ones by name.
 */
#define _GNU_SOURCE
#include "compare_list.h"

#include <math.h>
#include <stdlib.h>

#include "number.h"
#include "order.h"

struct sorter {
	const struct compare_list *list;
	const uint32_t *ranks;	/* of frames */
};

static double size_of(const struct flame_compared *item)
{
	return fmax(fabs(flame_change_of_share(&item->total)), fabs(flame_change_of_share(&item->self)));
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct sorter *s = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct flame_compared *x = &s->list->comparison.items[i], *y = &s->list->comparison.items[j];
	uint32_t rank_x, rank_y;

	if (is_changed(x) != is_changed(y))
		return is_changed(y) - is_changed(x);
	if (size_of(x) < size_of(y) || size_of(x) > size_of(y))
		return size_of(x) < size_of(y) ? 1 : -1;
	rank_x = s->list->is_paths ? i : s->ranks[x->row];
	rank_y = s->list->is_paths ? j : s->ranks[y->row];
	return (rank_x > rank_y) - (rank_x < rank_y);
}

static bool is_listed(const struct compare_list *list, const struct flame_compared *item)
{
	if (list->is_paths && (!item->row || list->layout.boxes[item->row].flags & FLAME_BOX_REST))
		return false;
	return item->total.before.value || item->total.after.value;
}

static bool is_small(const struct compare_list *list, const struct flame_compared *item)
{
	return 100 * fmax(item->total.before.part.share, item->total.after.part.share) < list->options->min;
}

static int collect(struct compare_list *list)
{
	size_t nr = list->comparison.nr_items;

	list->rows = malloc((nr + 1) * sizeof(*list->rows));
	if (!list->rows)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct flame_compared *item = &list->comparison.items[i];

		if (!is_listed(list, item))
			continue;
		if (is_small(list, item)) {
			list->nr_small++;
			continue;
		}
		list->nr_changed += is_changed(item);
		list->rows[list->nr_rows++] = (uint32_t)i;
	}
	return 0;
}

/* At most options->top rows of those that changed, and of the others. */
static void cut(struct compare_list *list)
{
	size_t top = list->options->top, nr_noise = list->nr_rows - list->nr_changed;

	if (!top)
		return;
	list->nr_changed_out = list->nr_changed > top ? list->nr_changed - top : 0;
	list->nr_noise_out = nr_noise > top ? nr_noise - top : 0;
	for (size_t i = 0; list->nr_changed_out && i < nr_noise - list->nr_noise_out; i++)
		list->rows[top + i] = list->rows[list->nr_changed + i];
	list->nr_changed -= list->nr_changed_out;
	list->nr_rows -= list->nr_changed_out + list->nr_noise_out;
}

static int compare(struct compare_list *list)
{
	const struct flame_diff *d = list->diff;
	struct flame_layout_options lo = { .type = d->after.type, .before = d->before.type, .view = FLAME_VIEW_COMBINED };
	int err;

	if (!list->is_paths)
		return flame_compare_functions(&list->comparison, d, &list->options->compare);
	err = flame_layout_init(&list->layout, d->profile, &lo);
	return err ? err : flame_compare_boxes(&list->comparison, d, &list->layout, &list->options->compare);
}

int compare_list_init(struct compare_list *list, const struct flame_diff *d,
		      const struct flame_compare_write_options *options, bool is_paths)
{
	struct sorter s = { .list = list };
	uint32_t *ranks;
	int err;

	*list = (struct compare_list){ .diff = d, .options = options, .is_paths = is_paths };
	ranks = flame_frame_ranks(d->profile);
	s.ranks = ranks;
	err = ranks ? compare(list) : FLAME_ENOMEM;
	if (!err)
		err = collect(list);
	if (!err)
		qsort_r(list->rows, list->nr_rows, sizeof(*list->rows), compare_rows, &s);
	if (!err)
		cut(list);
	free(ranks);
	return err;
}

void compare_list_release(struct compare_list *list)
{
	flame_layout_release(&list->layout);
	flame_comparison_release(&list->comparison);
	free(list->rows);
}

uint32_t *compare_list_path(const struct compare_list *list, uint32_t box, size_t *nr)
{
	const struct flame_box *boxes = list->layout.boxes;
	uint32_t *path = malloc((boxes[box].depth + 1) * sizeof(*path));

	*nr = boxes[box].depth;
	for (size_t i = *nr; path && i-- > 0; box = boxes[box].caller)
		path[i] = box;
	return path;
}

void compare_write_value(int64_t value, uint32_t scale, FILE *out)
{
	char text[FLAME_NUMBER_MAX];
	size_t n = flame_number_write(text, value, scale);

	fwrite(text, 1, n, out);
}

double compare_points(double share, int digits)
{
	double one = pow(10, digits);

	return rint(100 * share * one) / one + 0.0;
}

const char *compare_state(const struct flame_change *total)
{
	return !total->before.value ? "new" : !total->after.value ? "gone" : "";
}

const char *compare_numbering(enum flame_numbering numbering)
{
	static const char *const names[] = {
		[FLAME_NUMBERED] = "profiler", [FLAME_NUMBERED_VALUES] = "values", [FLAME_NUMBERED_STACKS] = "stacks",
	};

	return names[numbering];
}

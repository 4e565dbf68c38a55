/* SPDX-License-Identifier: MIT */
#ifndef FLAME_COMPARE_LIST_H
#define FLAME_COMPARE_LIST_H
/* What compare_table.c and compare_json.c share: which rows are written, in which order. */
#include "compare_write.h"

struct compare_list {
	const struct flame_diff *diff;
	const struct flame_compare_write_options *options;
	bool is_paths;
	struct flame_layout layout;	/* of paths */
	struct flame_comparison comparison;
	uint32_t *rows;			/* of comparison.items; owned */
	size_t nr_rows;			/* of them written */
	size_t nr_changed;		/* the first of the rows, which changed; behind them stands noise */
	size_t nr_changed_out, nr_noise_out;	/* left out of these by options->top */
	size_t nr_small;		/* left out by options->min */
};

/* Return: 0, or the failure; release it in either case. */
int compare_list_init(struct compare_list *list, const struct flame_diff *d,
		      const struct flame_compare_write_options *options, bool is_paths);
void compare_list_release(struct compare_list *list);

/* Return: true where the total or the self of @item changed significantly. */
static inline bool is_changed(const struct flame_compared *item)
{
	return item->total.significant || item->self.significant;
}

/* Return: the boxes from the root's child to @box, *@nr of them; owned by the caller; NULL without memory. */
uint32_t *compare_list_path(const struct compare_list *list, uint32_t box, size_t *nr);
/* Write @value / 10^@scale. */
void compare_write_value(int64_t value, uint32_t scale, FILE *out);
/* Return: @share in percent, rounded to @digits behind the point, and never -0. */
double compare_points(double share, int digits);
/* Return: "new", "gone" or "". */
const char *compare_state(const struct flame_change *total);
/* Return: "profiler", "values" or "stacks". */
const char *compare_numbering(enum flame_numbering numbering);

#endif

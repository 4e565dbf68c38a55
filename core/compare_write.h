/* SPDX-License-Identifier: MIT */
#ifndef FLAME_COMPARE_WRITE_H
#define FLAME_COMPARE_WRITE_H
#include <stdio.h>

#include "compare.h"

/* Of one of the two that are compared, for the head of what is written. */
struct flame_compare_input {
	const char *name;	/* of the file */
	const char *countname;	/* NULL: "samples" */
	const struct flame_profile *profile;
	flame_type type;	/* in that profile */
};

struct flame_compare_write_options {
	struct flame_compare_options compare;
	struct flame_compare_input before, after;
	const char *const *warnings;	/* ended by NULL */
	double min;			/* only what has this share, in percent, before or after */
	size_t top;			/* at most so many of a list; 0: all */
	unsigned int width;		/* of a line of the table; 0: as long as names are */
	bool paths;			/* list paths too, not only functions */
};

/*
 * Write what changed as a table for people, or as JSON (Documentation/fgdiff.1.adoc has its schema).
 * Return: 0; what flame_compare_functions() and flame_layout_init() return; FLAME_EIO where @out has an error.
 */
int flame_compare_write_table(const struct flame_diff *d, const struct flame_compare_write_options *options, FILE *out);
int flame_compare_write_json(const struct flame_diff *d, const struct flame_compare_write_options *options, FILE *out);

#endif

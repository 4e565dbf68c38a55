/* SPDX-License-Identifier: MIT */
#ifndef FLAME_REPORT_PATHS_H
#define FLAME_REPORT_PATHS_H
#include "report.h"

/* Find @part's paths. Return: 0 or FLAME_ENOMEM. */
int flame_report_find_paths(struct flame_report_part *part, const struct flame_report_options *options);
/*
 * Return: <0, 0 or >0 as a function's name, module and file come before another's: an order that is
 * the same everywhere.
 */
int flame_function_compare(const struct flame_function *a, const struct flame_function *b);
/* The same for texts. */
int flame_span_compare(struct flame_span a, struct flame_span b);
/* Return: whether frame @a's place comes before @b's. */
bool flame_line_before(const struct flame_profile *p, flame_frame a, flame_frame b);

#endif

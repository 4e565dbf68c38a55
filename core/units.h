/* SPDX-License-Identifier: MIT */
#ifndef FLAME_UNITS_H
#define FLAME_UNITS_H
/* What values measure, in words, and amounts that people can read. */
#include "flame.h"

/* Return: "on-cpu", "off-cpu", "wall", "allocation", "lock"; "" for others. */
const char *flame_value_kind_name(enum flame_value_kind kind);
/* Return: the kind called @name, FLAME_VALUE_OTHER where none is. */
enum flame_value_kind flame_value_kind_find(struct flame_span name);
/* Return: the kind as the first words of a title, "Off-CPU "; "" for others. */
const char *flame_value_kind_title(enum flame_value_kind kind);

/*
 * Return: how many of the unit @fine ("ns") make one of @coarse ("us"): a whole number, as each step of times and of
 * sizes is; 1 for two names of one unit; 0 where they measure different things, or @coarse is the finer one.
 */
int64_t flame_unit_ratio(struct flame_span coarse, struct flame_span fine);
/* Return: true where @unit is none, or one of numbers: what is counted has no size of its own. */
bool flame_unit_counts(struct flame_span unit);

#define FLAME_AMOUNT_MAX 48
/*
 * @value / 10^@scale of @unit ("ns", "us", "ms", "s", "bytes") with three digits: "12.3 s", "1.50 GiB".
 * Return: false where the unit needs or allows no such form; @text is then "".
 */
bool flame_amount(char text[FLAME_AMOUNT_MAX], int64_t value, uint32_t scale, struct flame_span unit);

#endif

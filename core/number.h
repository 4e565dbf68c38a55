/* SPDX-License-Identifier: MIT */
#ifndef FLAME_NUMBER_H
#define FLAME_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flame.h"

#define FLAME_NUMBER_MAX 24	/* characters of the longest number */

/* A decimal number as value / 10^scale; "3." is 3 at scale 0, trailing zeros of a fraction do not count. */
struct flame_number {
	int64_t value;
	uint32_t scale;
};

enum flame_number_result {
	FLAME_NUMBER_NONE,	/* not a number */
	FLAME_NUMBER_OK,
	FLAME_NUMBER_TOO_BIG,	/* a number, but it does not fit 64 bits */
};

/* Parse all of @s: -?digits[.digits]. */
enum flame_number_result flame_number_parse(struct flame_span s, struct flame_number *number);
/* Write @value / 10^@scale without trailing zeros, no NUL. Return: the length, at most FLAME_NUMBER_MAX. */
size_t flame_number_write(char *to, int64_t value, uint32_t scale);
/* The same for a sum that needs the 64th bit. */
size_t flame_number_write_unsigned(char *to, uint64_t value, uint32_t scale);

#endif

/* SPDX-License-Identifier: MIT */
#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sign comes in with each digit, so that the lowest number fits too. */
static bool add_digit(int64_t *value, char c, bool negative)
{
	return !__builtin_mul_overflow(*value, 10, value) &&
	       !__builtin_add_overflow(*value, negative ? '0' - c : c - '0', value);
}

#define PLAIN_DIGITS 18		/* that cannot overflow */

/* Counts are mostly plain digits. Return: false where @s is not, or too long. */
static inline bool parse_plain(struct flame_span s, int64_t *value)
{
	int64_t v = 0;

	if (!s.len || s.len > PLAIN_DIGITS)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned int digit = (unsigned char)s.s[i] - (unsigned int)'0';

		if (digit > 9)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return true;
}

#define MANY_DIGITS 40		/* more of them change no double */
#define MAX_SCALE 18

/* Digits and a point to digits and an exponent, which no locale writes in another way. */
static void write_exponent(char *to, size_t room, struct flame_span s)
{
	bool fraction = false;
	long exponent = 0;
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		fraction |= s.s[i] == '.';
		if (s.s[i] == '.')
			continue;
		if (n < MANY_DIGITS && (n || s.s[i] != '0'))
			to[n++] = s.s[i];
		else if (n)
			exponent++;
		exponent -= fraction;
	}
	snprintf(to + n, room - n, "%se%ld", n ? "" : "0", exponent);
}

/* What snprintf("%.*e") wrote. */
static void read_exponent(const char *text, struct flame_number *number, int *scale)
{
	*number = (struct flame_number){ 0 };
	*scale = 0;
	for (; *text != 'e'; text++) {
		if (*text < '0' || *text > '9')
			continue;
		number->value = number->value * 10 + (*text - '0');
		++*scale;
	}
	*scale -= 1 + atoi(text + 1);
	for (; number->value && number->value % 10 == 0 && *scale > 0; --*scale)
		number->value /= 10;
}

/*
 * A fraction of more digits than fit, as programs write that compute with doubles or with more: the nearest double, by
 * the fewest digits that tell it from the others. Return: false where even its whole part does not fit.
 */
static bool parse_long_fraction(struct flame_span s, bool negative, struct flame_number *number)
{
	char text[MANY_DIGITS + 32];
	int scale, precision = 14;
	double d, back;

	write_exponent(text, sizeof(text), (struct flame_span){ s.s + negative, s.len - negative });
	d = strtod(text, NULL);
	if (!(d < 9e18))
		return false;
	do {
		snprintf(text, sizeof(text), "%.*e", precision, d);
		back = strtod(text, NULL);
	} while ((back < d || back > d) && precision++ < 16);
	read_exponent(text, number, &scale);
	for (; scale > MAX_SCALE; scale--)
		number->value = number->value / 10 + (scale == MAX_SCALE + 1 && number->value % 10 >= 5);
	for (; scale < 0; scale++)
		number->value *= 10;
	number->scale = (uint32_t)scale;
	if (negative)
		number->value = -number->value;
	return true;
}

enum flame_number_result flame_number_parse(struct flame_span s, struct flame_number *number)
{
	bool negative = s.len && s.s[0] == '-', ok = true;
	size_t i = negative, end = s.len;
	const char *dot;

	*number = (struct flame_number){ 0 };
	if (parse_plain(s, &number->value))
		return FLAME_NUMBER_OK;
	if (i == end || s.s[i] < '0' || s.s[i] > '9')
		return FLAME_NUMBER_NONE;
	dot = memchr(s.s, '.', s.len);
	for (; dot && end > 0 && s.s[end - 1] == '0';)
		end--;
	for (; i < end; i++) {
		if (&s.s[i] == dot)
			continue;
		if (s.s[i] < '0' || s.s[i] > '9')
			return FLAME_NUMBER_NONE;
		ok = ok && add_digit(&number->value, s.s[i], negative);
		number->scale += dot && &s.s[i] > dot;
	}
	if (ok && number->scale <= MAX_SCALE)
		return FLAME_NUMBER_OK;
	return dot && parse_long_fraction(s, negative, number) ? FLAME_NUMBER_OK : FLAME_NUMBER_TOO_BIG;
}

size_t flame_number_write(char *to, int64_t value, uint32_t scale)
{
	if (value >= 0)
		return flame_number_write_unsigned(to, (uint64_t)value, scale);
	to[0] = '-';
	return 1 + flame_number_write_unsigned(to + 1, -(uint64_t)value, scale);
}

size_t flame_number_write_unsigned(char *to, uint64_t value, uint32_t scale)
{
	char digits[FLAME_NUMBER_MAX];
	size_t n = 0, len = 0;

	for (; scale && value % 10 == 0; scale--)
		value /= 10;
	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value || n <= scale);
	while (n) {
		if (n == scale && scale)
			to[len++] = '.';
		to[len++] = digits[--n];
	}
	return len;
}

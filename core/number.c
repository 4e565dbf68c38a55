/* SPDX-License-Identifier: MIT */
#include "number.h"

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
	return ok && number->scale <= 18 ? FLAME_NUMBER_OK : FLAME_NUMBER_TOO_BIG;
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

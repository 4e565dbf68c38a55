/* SPDX-License-Identifier: MIT */
#ifndef FLAME_UTF8_H
#define FLAME_UTF8_H
/*
 * utf8.h - code points as UTF-8, and from it. Names come from anywhere and hold any bytes: what is not UTF-8 reads as
 * U+FFFD, byte by byte.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT 0xfffdu

static inline bool utf8_is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Bytes of the sequence that @s, of @len bytes, begins with; 0: none that is well-formed. */
static inline size_t utf8_sequence(const unsigned char *s, size_t len)
{
	size_t want = s[0] < 0x80   ? 1
		      : s[0] < 0xc2 ? 0
		      : s[0] < 0xe0 ? 2
		      : s[0] < 0xf0 ? 3
		      : s[0] < 0xf5 ? 4
				    : 0;

	if (want > len)
		return 0;
	for (size_t i = 1; i < want; i++) {
		if (!utf8_is_tail(s[i]))
			return 0;
	}
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return want;
}

/* Decode the first code point of @s, @len > 0 bytes. Return: the bytes that it takes, at least 1.
 */
static inline size_t utf8_decode(const char *s, size_t len, uint32_t *code)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = utf8_sequence(u, len);

	if (n <= 1) {
		*code = n ? u[0] : UTF8_REPLACEMENT;
		return 1;
	}
	*code = u[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		*code = *code << 6 | (u[i] & 0x3f);
	return n;
}

/*
 * Return: whether @code can be shown as it is: no control character, no end of a line, and nothing that turns around
 * the direction of the text behind it, by which a name could pass for another.
 */
static inline bool utf8_is_shown(uint32_t code)
{
	if (code < 0xa0)
		return code >= 0x20 && code < 0x7f;
	if (code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e))
		return false;
	return !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff && code != 0xfffe && code != 0xffff;
}

/* Return: how many bytes of @to, 4 at most, became the code point @c. */
static inline size_t utf8_put(char *to, uint32_t c)
{
	static const unsigned char first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(first[n] | c);
	return n;
}

#define UTF16_UNIT_BYTES 6	/* that utf16_put() may write */

/* The first half of a pair in *@high, 0 for none, has no second one. Return: how many bytes of @to were written. */
static inline size_t utf16_end(uint32_t *high, char *to)
{
	size_t n = *high ? utf8_put(to, UTF8_REPLACEMENT) : 0;

	*high = 0;
	return n;
}

/*
 * One @unit of UTF-16 becomes UTF-8. The first half of a pair waits in *@high, 0 at first; a half without its other
 * one becomes U+FFFD. Return: how many bytes of @to were written, UTF16_UNIT_BYTES at most.
 */
static inline size_t utf16_put(uint32_t *high, char *to, uint32_t unit)
{
	uint32_t c = 0x10000 + ((*high - 0xd800) << 10) + (unit - 0xdc00);
	bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
	size_t n;

	if (*high && is_low) {
		*high = 0;
		return utf8_put(to, c);
	}
	n = utf16_end(high, to);
	if (is_high) {
		*high = unit;
		return n;
	}
	return n + utf8_put(to + n, is_low ? UTF8_REPLACEMENT : unit);
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_UTF8_H
#define FLAME_UTF8_H
/* Names come from anywhere and hold any bytes: what is not UTF-8 reads as U+FFFD, byte by byte. */
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

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SCAN_H
#define FLAME_SCAN_H
/* Looking at 16 bytes at a time where the processor can. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define SCAN_SLACK 64	/* readable bytes that scan_byte() wants behind its text */

#ifdef __SSE2__
/* Return: a bit for each of 64 bytes at @s that is @want's. */
static inline uint64_t scan_mask(const char *s, __m128i want)
{
	uint64_t mask = 0;

	for (int i = 0; i < 4; i++) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s + 16 * i));

		mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, want)) << (16 * i);
	}
	return mask;
}
#endif

/*
 * Note where @byte stands in s[from .. len). @positions has room for one a byte; SCAN_SLACK bytes
 * behind s[len] may be read. Return: how many.
 */
static inline size_t scan_byte(const char *s, size_t from, size_t len, char byte, uint32_t *positions)
{
	size_t nr = 0, i = from;

#ifdef __SSE2__
	const __m128i want = _mm_set1_epi8(byte);

	for (; i < len; i += 64) {
		uint64_t mask = scan_mask(s + i, want);

		if (len - i < 64)
			mask &= (1ull << (len - i)) - 1;
		for (; mask; mask &= mask - 1)
			positions[nr++] = (uint32_t)i + (uint32_t)__builtin_ctzll(mask);
	}
#else
	for (; i < len; i++) {
		positions[nr] = (uint32_t)i;
		nr += s[i] == byte;
	}
#endif
	return nr;
}

/* Return: how often @byte stands in s[0 .. len). */
static inline uint64_t scan_count(const char *s, size_t len, char byte)
{
	uint64_t nr = 0;
	size_t i = 0;

#ifdef __SSE2__
	const __m128i want = _mm_set1_epi8(byte);

	/* A byte of @counts takes 255 blocks; a population count would be a call where the processor is any. */
	while (i + 16 <= len) {
		size_t end = (len - i) / 16 < 255 ? i + (len - i) / 16 * 16 : i + 255 * 16;
		__m128i counts = _mm_setzero_si128();

		for (; i < end; i += 16)
			counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + i)), want));
		counts = _mm_sad_epu8(counts, _mm_setzero_si128());
		nr += (uint64_t)_mm_cvtsi128_si32(counts) + (uint64_t)_mm_cvtsi128_si32(_mm_srli_si128(counts, 8));
	}
#endif
	for (; i < len; i++)
		nr += s[i] == byte;
	return nr;
}

/* Return: the length of the common start of two texts of at least @len bytes. */
static inline size_t common_prefix(const char *a, const char *b, size_t len)
{
	size_t i = 0;

	for (; i + 8 <= len; i += 8) {
		uint64_t x, y;

		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			return i + (size_t)__builtin_ctzll(x ^ y) / 8;
#else
			return i + (size_t)__builtin_clzll(x ^ y) / 8;
#endif
		}
	}
	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* Return: where two newlines follow each other in s[0 .. len), as the offset of the second; len where none do. */
static inline size_t scan_empty_line(const char *s, size_t len)
{
	size_t i = 0;

#ifdef __SSE2__
	const __m128i nl = _mm_set1_epi8('\n');

	for (; i + 17 <= len; i += 16) {
		__m128i a = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + i)), nl);
		__m128i b = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + i + 1)), nl);
		int mask = _mm_movemask_epi8(_mm_and_si128(a, b));

		if (mask)
			return i + (size_t)__builtin_ctz((unsigned int)mask) + 1;
	}
#endif
	for (; i + 1 < len; i++) {
		if (s[i] == '\n' && s[i + 1] == '\n')
			return i + 1;
	}
	return len;
}

/*
 * Return: where the first byte of s[from .. len) stands that ends a plain run of a JSON string: a quote, a backslash
 * or a control byte; len where there is none.
 */
static inline size_t scan_quoted(const char *s, size_t from, size_t len)
{
	size_t i = from;

#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);

	for (; i + 16 <= len; i += 16) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash));
		int mask = _mm_movemask_epi8(_mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(block, control), block)));

		if (mask)
			return i + (size_t)__builtin_ctz((unsigned int)mask);
	}
#endif
	while (i < len && s[i] != '"' && s[i] != '\\' && (unsigned char)s[i] >= 0x20)
		i++;
	return i;
}

/* Return: where the first quote or bracket of JSON stands in s[from .. len); len where there is none. */
static inline size_t scan_bracket(const char *s, size_t from, size_t len)
{
	size_t i = from;

#ifdef __SSE2__
	/* '[' and '{', ']' and '}' differ in one bit. */
	const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');

	for (; i + 16 <= len; i += 16) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
		__m128i low = _mm_or_si128(block, bit);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(low, open), _mm_cmpeq_epi8(low, close));
		int mask = _mm_movemask_epi8(_mm_or_si128(hit, _mm_cmpeq_epi8(block, quote)));

		if (mask)
			return i + (size_t)__builtin_ctz((unsigned int)mask);
	}
#endif
	while (i < len && s[i] != '"' && (s[i] | 0x20) != '{' && (s[i] | 0x20) != '}')
		i++;
	return i;
}

#ifdef __SSE2__
/* What stands where in 64 bytes of JSON, a bit for each. */
struct scan_json {
	uint64_t quotes, backslashes, brackets, controls;
};

static inline struct scan_json scan_json_block(const char *s)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'), control = _mm_set1_epi8(0x1f);
	struct scan_json r = { 0 };

	for (unsigned int i = 0; i < 64; i += 16) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
		__m128i low = _mm_or_si128(block, bit);
		__m128i bracket = _mm_or_si128(_mm_cmpeq_epi8(low, open), _mm_cmpeq_epi8(low, close));
		__m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(block, control), block);

		r.quotes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, quote)) << i;
		r.backslashes |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, backslash)) << i;
		r.brackets |= (uint64_t)(uint32_t)_mm_movemask_epi8(bracket) << i;
		r.controls |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_control) << i;
	}
	return r;
}

/* Return: a bit for each bit of @x that has an odd number of bits at and below it. */
static inline uint64_t scan_odd(uint64_t x)
{
	for (unsigned int i = 1; i < 64; i *= 2)
		x ^= x << i;
	return x;
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * json.c - works in the input's view: a string without escapes is a span of it. Only where a token
 * crosses the view's end is the view moved on.
 */
#define _GNU_SOURCE
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "converter.h"
#include "scan.h"
#include "table.h"
#include "utf8.h"

/* What may come next. */
enum state {
	DOCUMENT,	/* a document, or the end */
	VALUE,
	FIRST_VALUE,	/* a value, or ']' */
	KEY,
	FIRST_KEY,	/* a key, or '}' */
	COLON,
	AFTER,		/* ',' or the end of what is open */
	FAILED,
};

void flame_json_init(struct flame_json *j, struct flame_input *in)
{
	memset(j, 0, sizeof(*j));
	j->in = in;
}

void flame_json_init_span(struct flame_json *j, struct flame_span text)
{
	const char *empty = "";

	memset(j, 0, sizeof(*j));
	j->memory = (struct flame_input){ .end = text.len, .room = text.len, .eof = true, .fd = -1 };
	/* Nothing is written to an input that is at its end: the text may be constant. */
	memcpy(&j->memory.buf, text.len ? &text.s : &empty, sizeof(j->memory.buf));
	j->in = &j->memory;
}

void flame_json_release(struct flame_json *j)
{
	free(j->buf);
	j->buf = NULL;
	j->room = 0;
}

/* @at: from the view's start. */
static enum flame_json_token fail(struct flame_json *j, size_t at, const char *error)
{
	j->error = error;
	j->offset = flame_input_offset(j->in) + at;
	j->state = FAILED;
	return FLAME_JSON_ERROR;
}

static enum flame_json_token fail_cut(struct flame_json *j, const char *error)
{
	size_t left = j->in->end - j->in->pos;

	j->cut = true;
	return fail(j, left, error);
}

/* Return: the next byte that is not blank, which is not taken; -1 at the end. */
static inline int skip_blanks(struct flame_json *j)
{
	struct flame_input *in = j->in;

	for (;;) {
		const char *s = in->buf;
		size_t i = in->pos, end = in->end;

		if (i < end && (unsigned char)s[i] > ' ')
			return (unsigned char)s[i];
		while (i < end && (s[i] == ' ' || s[i] == '\n' || s[i] == '\r' || s[i] == '\t'))
			i++;
		in->pos = i;
		if (i < end)
			return (unsigned char)s[i];
		if (!flame_peek(in, 1).len)
			return -1;
	}
}

static inline bool in_object(const struct flame_json *j)
{
	uint32_t top = j->depth - 1;

	return j->objects[top / 64] >> (top % 64) & 1;
}

static bool push(struct flame_json *j, bool object)
{
	uint64_t bit = 1ull << (j->depth % 64);
	uint64_t *word = &j->objects[j->depth / 64];

	if (j->depth >= FLAME_JSON_DEPTH) {
		fail(j, 0, "nested deeper than 8192 (FLAME_JSON_DEPTH)");
		return false;
	}
	*word = object ? *word | bit : *word & ~bit;
	j->depth++;
	return true;
}

static void value_done(struct flame_json *j)
{
	j->state = j->depth ? AFTER : DOCUMENT;
}

static enum flame_json_token open_bracket(struct flame_json *j, bool object)
{
	if (!push(j, object))
		return FLAME_JSON_ERROR;
	flame_take(j->in, 1);
	j->state = object ? FIRST_KEY : FIRST_VALUE;
	return object ? FLAME_JSON_OBJECT : FLAME_JSON_ARRAY;
}

static enum flame_json_token close_bracket(struct flame_json *j)
{
	bool object = in_object(j);

	flame_take(j->in, 1);
	j->depth--;
	value_done(j);
	return object ? FLAME_JSON_OBJECT_END : FLAME_JSON_ARRAY_END;
}

/* More of a token that crosses the view's end. Return: false at the input's end, and beyond the longest view. */
static bool more(struct flame_json *j)
{
	size_t len = j->in->end - j->in->pos;

	return flame_peek(j->in, len + 1).len > len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return: the UTF-16 unit of "\uXXXX" at @s, -1 where there is none in @len bytes. */
static int32_t utf16_unit(const char *s, size_t len)
{
	int32_t unit = 0;

	if (len < 6 || s[0] != '\\' || s[1] != 'u')
		return -1;
	for (size_t i = 2; i < 6; i++) {
		int digit = hex_digit(s[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

/* Decode the "\uXXXX" at @s, with its second half. Return: its length, 0 where it is malformed. */
static size_t decode_unit(const char *s, size_t len, char **to)
{
	int32_t unit = utf16_unit(s, len), low;
	uint32_t high = 0;

	if (unit < 0)
		return 0;
	*to += utf16_put(&high, *to, (uint32_t)unit);
	low = high ? utf16_unit(s + 6, len - 6) : -1;
	if (low >= 0xdc00 && low < 0xe000) {
		*to += utf16_put(&high, *to, (uint32_t)low);
		return 12;
	}
	*to += utf16_end(&high, *to);
	return 6;
}

static size_t decode_escape(const char *s, size_t len, char **to)
{
	static const char from_letter[] = "\"\\/bfnrt", to_byte[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (len >= 2 && s[1] == 'u')
		return decode_unit(s, len, to);
	letter = len >= 2 && s[1] ? strchr(from_letter, s[1]) : NULL;
	if (!letter)
		return 0;
	*(*to)++ = to_byte[letter - from_letter];
	return 2;
}

/* No escape is shorter than what it stands for. @at: where the string's text begins, from the view's start. */
static bool decode(struct flame_json *j, const char *s, size_t len, size_t at)
{
	char *to;

	if (!array_reserve((void **)&j->buf, &j->room, len, 1)) {
		fail(j, 0, "no memory for a string");
		return false;
	}
	to = j->buf;
	for (size_t i = 0; i < len;) {
		size_t plain = scan_quoted(s, i, len), n;

		memcpy(to, s + i, plain - i);
		to += plain - i;
		i = plain;
		if (i == len)
			break;
		n = decode_escape(s + i, len - i, &to);
		if (!n) {
			fail(j, at + i, "a string has a '\\' that no escape follows");
			return false;
		}
		i += n;
	}
	j->text = (struct flame_span){ j->buf, (size_t)(to - j->buf) };
	return true;
}

/* The view starts at a quote. */
static bool read_string(struct flame_json *j)
{
	struct flame_input *in = j->in;
	bool escaped = false;
	size_t i = 1;

	for (;;) {
		const char *s = in->buf + in->pos;
		size_t len = in->end - in->pos;

		i = scan_quoted(s, i, len);
		if (i > FLAME_JSON_STRING_MAX) {
			fail(j, 0, "a string is longer than 8 MiB (FLAME_JSON_STRING_MAX)");
			return false;
		}
		if (i + 1 < len || (i < len && s[i] == '"')) {
			if (s[i] == '"')
				break;
			if (s[i] != '\\') {
				fail(j, i, "a string has a control byte or line break");
				return false;
			}
			escaped = true;
			i += 2;
			continue;
		}
		if (!more(j)) {
			fail_cut(j, "the input ends inside a string");
			return false;
		}
	}
	j->text = (struct flame_span){ in->buf + in->pos + 1, i - 1 };
	if (escaped && !decode(j, j->text.s, j->text.len, 1))
		return false;
	flame_take(in, i + 1);
	return true;
}

/* The rest of a string that is not wanted, which may have any length. */
static bool skip_in_string(struct flame_json *j)
{
	struct flame_input *in = j->in;

	for (;;) {
		const char *s = in->buf + in->pos;
		size_t len = in->end - in->pos, i = scan_quoted(s, 0, len);

		flame_take(in, i);
		if (i + 1 < len || (i < len && s[i] == '"')) {
			flame_take(in, s[i] == '"' ? 1 : 2);
			if (s[i] == '"')
				return true;
			if (s[i] == '\\')
				continue;
			in->pos -= 2;
			fail(j, 0, "a string has a control byte or line break");
			return false;
		}
		if (!more(j)) {
			fail_cut(j, "the input ends inside a string");
			return false;
		}
	}
}

static bool skip_string(struct flame_json *j)
{
	flame_take(j->in, 1);
	return skip_in_string(j);
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *s, size_t i, size_t len)
{
	while (i < len && is_digit(s[i]))
		i++;
	return i;
}

/* Fraction and exponent behind the digits s[.. i). Return: the end; 0 where digits are missing. */
static size_t number_tail(const char *s, size_t i, size_t len)
{
	size_t start;

	if (i < len && s[i] == '.') {
		start = i + 1;
		i = skip_digits(s, start, len);
		if (i == start)
			return 0;
	}
	if (i < len && (s[i] | 0x20) == 'e') {
		start = i + 1;
		if (start < len && (s[start] == '+' || s[start] == '-'))
			start++;
		i = skip_digits(s, start, len);
		if (i == start)
			return 0;
	}
	return i;
}

/* Have all of a number in the view. Return: its length as far as its letters tell. */
static size_t view_number(struct flame_json *j)
{
	size_t i = 0;

	for (;;) {
		const char *s = j->in->buf + j->in->pos;
		size_t len = j->in->end - j->in->pos;

		while (i < len && (is_digit(s[i]) || s[i] == '-' || s[i] == '+' || s[i] == '.' || (s[i] | 0x20) == 'e'))
			i++;
		if (i < len || i > FLAME_JSON_NUMBER_MAX || !more(j))
			return i;
	}
}

static enum flame_json_token slow_number(struct flame_json *j)
{
	size_t len = view_number(j), start, i;
	const char *s = j->in->buf + j->in->pos;
	/* At the end of the input nobody knows whether it is all of the number, but behind a document. */
	bool at_end = len == j->in->end - j->in->pos;

	if (len > FLAME_JSON_NUMBER_MAX)
		return fail(j, 0, "a number is longer than 4096 characters (FLAME_JSON_NUMBER_MAX)");
	if (at_end && j->depth)
		return fail_cut(j, "the input ends inside a value");
	start = s[0] == '-';
	i = skip_digits(s, start, len);
	if (i == start || (s[start] == '0' && i > start + 1))
		i = 0;
	else
		i = number_tail(s, i, len);
	if (!i)
		return at_end ? fail_cut(j, "the input ends inside a number") : fail(j, 0, "a malformed number");
	j->text = (struct flame_span){ s, i };
	j->is_int = false;
	flame_take(j->in, i);
	value_done(j);
	return FLAME_JSON_NUMBER;
}

#define INT_SLACK 32	/* readable bytes that scan_int() wants */

/* Up to 8 digits at @s. Return: how many, with their value. */
static inline size_t scan_digits(const char *s, uint64_t *value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint64_t w, others;
	size_t n;

	/* A byte's high bit tells that it is no digit; a borrow or carry reaches only bytes behind such a one. */
	memcpy(&w, s, sizeof(w));
	w ^= 0x3030303030303030ull;
	others = ((w + 0x7676767676767676ull) | w) & 0x8080808080808080ull;
	n = others ? (size_t)__builtin_ctzll(others) / 8 : 8;
	if (!n)
		return 0;
	/* Leading zeros, then pairs of digits, of pairs, of these. */
	w <<= 64 - 8 * n;
	w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffull;
	w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffull;
	*value = (w * 10000 + (w >> 32)) & 0xffffffffull;
	return n;
#else
	size_t n = 0;

	for (*value = 0; n < 8 && is_digit(s[n]); n++)
		*value = *value * 10 + (uint64_t)(s[n] - '0');
	return n;
#endif
}

/* Up to 16 digits at @s, with INT_SLACK bytes to read. Return: how many, with their value. */
static inline size_t scan_long_digits(const char *s, uint64_t *value)
{
	static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000 };
	size_t n = scan_digits(s, value), more;
	uint64_t rest = 0;

	if (n < 8)
		return n;
	more = scan_digits(s + 8, &rest);
	if (more)
		*value = *value * powers[more] + rest;
	return n + more;
}

/* Most are whole, short, and all in the view. */
static inline enum flame_json_token read_number(struct flame_json *j)
{
	const char *s = j->in->buf + j->in->pos;
	size_t len = j->in->end - j->in->pos, start = s[0] == '-', i;
	uint64_t value = 0;

	if (len < INT_SLACK)
		return slow_number(j);
	i = start + scan_long_digits(s + start, &value);
	if (i == start || is_digit(s[i]) || s[i] == '.' || (s[i] | 0x20) == 'e' || (s[start] == '0' && i > start + 1))
		return slow_number(j);
	j->text = (struct flame_span){ s, i };
	j->is_int = true;
	j->integer = start ? -(int64_t)value : (int64_t)value;
	flame_take(j->in, i);
	value_done(j);
	return FLAME_JSON_NUMBER;
}

static enum flame_json_token read_literal(struct flame_json *j, const char *word, enum flame_json_token token)
{
	size_t n = strlen(word), have;
	struct flame_span s = flame_peek(j->in, n);

	have = s.len < n ? s.len : n;
	if (memcmp(s.s, word, have))
		return fail(j, 0, "neither a value nor true, false or null");
	if (have < n)
		return fail_cut(j, "the input ends inside a value");
	flame_take(j->in, n);
	value_done(j);
	return token;
}

static inline enum flame_json_token read_value(struct flame_json *j, int c, bool text)
{
	j->started = true;
	switch (c) {
	case '{':
		return open_bracket(j, true);
	case '[':
		return open_bracket(j, false);
	case '"':
		if (!(text ? read_string(j) : skip_string(j)))
			return FLAME_JSON_ERROR;
		value_done(j);
		return FLAME_JSON_STRING;
	case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
		return read_number(j);
	case 't':
		return read_literal(j, "true", FLAME_JSON_TRUE);
	case 'f':
		return read_literal(j, "false", FLAME_JSON_FALSE);
	case 'n':
		return read_literal(j, "null", FLAME_JSON_NULL);
	default:
		return fail(j, 0, "a value was expected");
	}
}

static enum flame_json_token read_key(struct flame_json *j, int c)
{
	if (c != '"')
		return fail(j, 0, "a key in quotes was expected");
	if (!read_string(j))
		return FLAME_JSON_ERROR;
	j->state = COLON;
	/* Mostly the colon is next, and in the view: taken now, it needs no look of its own. */
	if (j->in->pos < j->in->end && j->in->buf[j->in->pos] == ':') {
		flame_take(j->in, 1);
		j->state = VALUE;
	}
	return FLAME_JSON_KEY;
}

static enum flame_json_token at_end(struct flame_json *j)
{
	if (j->state == DOCUMENT && !j->in->error)
		return FLAME_JSON_END;
	return fail_cut(j, "the input ends before the JSON does");
}

static inline enum flame_json_token next(struct flame_json *j, bool text)
{
	int c = j->state == FAILED ? -1 : skip_blanks(j);

	if (j->state == FAILED)
		return FLAME_JSON_ERROR;
	if (j->state == AFTER) {
		if (c == (in_object(j) ? '}' : ']'))
			return close_bracket(j);
		if (c != ',')
			return c < 0 ? at_end(j) : fail(j, 0, in_object(j) ? "',' or '}' was expected" : "',' or ']' was expected");
		flame_take(j->in, 1);
		c = skip_blanks(j);
		j->state = in_object(j) ? KEY : VALUE;
	} else if (j->state == COLON) {
		if (c != ':')
			return c < 0 ? at_end(j) : fail(j, 0, "':' was expected behind the key");
		flame_take(j->in, 1);
		c = skip_blanks(j);
		j->state = VALUE;
	} else if ((j->state == FIRST_KEY && c == '}') || (j->state == FIRST_VALUE && c == ']')) {
		return close_bracket(j);
	}
	if (c < 0)
		return at_end(j);
	if (j->state == KEY || j->state == FIRST_KEY)
		return read_key(j, c);
	if (j->state == DOCUMENT && j->started && !j->many)
		return fail(j, 0, "something follows the end of the JSON");
	return read_value(j, c, text);
}

enum flame_json_token flame_json_next(struct flame_json *j)
{
	return next(j, true);
}

bool flame_json_is_empty(struct flame_json *j)
{
	int c = j->state == FIRST_KEY || j->state == FIRST_VALUE ? skip_blanks(j) : -1;

	return c == (j->state == FIRST_KEY ? '}' : ']');
}

/* A bracket, @at bytes behind the view's start. */
static inline bool skip_bracket(struct flame_json *j, size_t at, char c)
{
	if (c == '{' || c == '[') {
		if (j->depth >= FLAME_JSON_DEPTH)
			flame_take(j->in, at);
		return push(j, c == '{');
	}
	if (c == (in_object(j) ? '}' : ']')) {
		j->depth--;
		return true;
	}
	fail(j, at, "brackets do not match");
	return false;
}

#ifdef __SSE2__
/*
 * Step over blocks of 64 bytes, as long as there are whole ones and nothing in them is special. @in_string tells
 * whether the view starts inside a string. Return: false after an error.
 */
static bool skip_blocks(struct flame_json *j, uint32_t outside, bool *in_string)
{
	struct flame_input *in = j->in;

	while (in->end - in->pos >= 64) {
		const char *s = in->buf + in->pos;
		struct scan_json b = scan_json_block(s);
		uint64_t strings = scan_odd(b.quotes) ^ -(uint64_t)*in_string;

		if (b.backslashes || (b.controls & strings))
			return true;
		for (uint64_t mask = b.brackets & ~strings; mask; mask &= mask - 1) {
			size_t at = (size_t)__builtin_ctzll(mask);

			if (!skip_bracket(j, at, s[at]))
				return false;
			if (j->depth == outside) {
				*in_string = false;
				flame_take(in, at + 1);
				return true;
			}
		}
		*in_string = strings >> 63;
		flame_take(in, 64);
	}
	return true;
}
#else
static bool skip_blocks(struct flame_json *j, uint32_t outside, bool *in_string)
{
	(void)j, (void)outside, (void)in_string;
	return true;
}
#endif

/* Step up to the next bracket or over the next string, whatever is first, and over that. */
static bool skip_piece(struct flame_json *j)
{
	struct flame_input *in = j->in;
	size_t at = scan_bracket(in->buf, in->pos, in->end);

	in->pos = at;
	if (at == in->end) {
		if (flame_peek(in, 1).len)
			return true;
		at_end(j);
		return false;
	}
	if (in->buf[at] == '"')
		return skip_string(j);
	if (!skip_bracket(j, 0, in->buf[at]))
		return false;
	flame_take(in, 1);
	return true;
}

bool flame_json_leave(struct flame_json *j)
{
	uint32_t outside = j->depth - 1;
	bool in_string = false;

	if (j->state == FAILED || !j->depth)
		return false;
	while (j->depth > outside) {
		if (!skip_blocks(j, outside, &in_string))
			return false;
		if (j->depth == outside)
			break;
		if (!(in_string ? skip_in_string(j) : skip_piece(j)))
			return false;
		in_string = false;
	}
	value_done(j);
	return true;
}

bool flame_json_skip_rest(struct flame_json *j, enum flame_json_token token)
{
	if (token == FLAME_JSON_OBJECT || token == FLAME_JSON_ARRAY)
		return flame_json_leave(j);
	return token != FLAME_JSON_ERROR;
}

enum flame_json_token flame_json_skip(struct flame_json *j)
{
	enum flame_json_token token = next(j, false);

	return flame_json_skip_rest(j, token) ? token : FLAME_JSON_ERROR;
}

/* A whole number of up to 16 digits at @s. Return: its length, 0 where it is anything else. */
static inline size_t scan_int(const char *s, int64_t *value)
{
	bool negative = s[0] == '-';
	uint64_t digits = 0;
	size_t n = scan_long_digits(s + negative, &digits);

	if (!n || (s[negative] == '0' && n > 1))
		return 0;
	n += negative;
	if (s[n] != ',' && s[n] != ']')
		return 0;
	*value = negative ? -(int64_t)digits : (int64_t)digits;
	return n;
}

#if defined(__SSE2__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Return: a bit for each of the 32 bytes at @s that is no digit. */
static inline uint32_t other_bytes(const char *s)
{
	const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
	__m128i a = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)s), zero);
	__m128i b = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)(s + 16)), zero);
	uint32_t low = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(a, nine), a));
	uint32_t high = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(b, nine), b));

	return ~(low | high << 16);
}

/* The value of the @n digits, 1 to 8, before @end; 8 bytes before it can be read. */
static inline int64_t digits_before(const char *end, size_t n)
{
	uint64_t w;

	memcpy(&w, end - 8, sizeof(w));
	w = (w ^ 0x3030303030303030ull) >> (64 - 8 * n) << (64 - 8 * n);
	w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ffull;
	w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffffull;
	return (int64_t)((w * 10000 + (w >> 32)) & 0xffffffffull);
}

/*
 * Numbers of up to 8 digits and the commas behind them in the 32 bytes at @s. Their ends come from one mask, so
 * that no number waits for the one before it. Return: how many; *@used bytes are taken.
 */
static inline size_t scan_ints(const char *s, int64_t *to, size_t room, size_t *used)
{
	size_t nr = 0, start = 0;

	for (uint32_t mask = other_bytes(s); mask && nr < room; mask &= mask - 1) {
		size_t end = (size_t)__builtin_ctz(mask), n = end - start;

		if (s[end] != ',' || n - 1 > 7 || (s[start] == '0' && n > 1))
			break;
		to[nr++] = digits_before(s + end, n);
		start = end + 1;
	}
	*used = start;
	return nr;
}
#else
static inline size_t scan_ints(const char *s, int64_t *to, size_t room, size_t *used)
{
	(void)s, (void)to, (void)room;
	*used = 0;
	return 0;
}
#endif

size_t flame_json_ints(struct flame_json *j, int64_t *to, size_t room)
{
	struct flame_input *in = j->in;
	size_t nr = 0, n, used;

	if ((j->state != FIRST_VALUE && j->state != AFTER) || in_object(j))
		return 0;
	while (nr < room && in->end - in->pos > INT_SLACK) {
		const char *s = in->buf + in->pos;
		size_t comma = j->state == AFTER;

		if (comma && s[0] != ',')
			break;
		n = in->pos >= 8 ? scan_ints(s + comma, &to[nr], room - nr, &used) : 0;
		if (n) {
			/* The last comma stays, as behind a single number. */
			in->pos += comma + used - 1;
		} else {
			used = scan_int(s + comma, &to[nr]);
			if (!used)
				break;
			in->pos += comma + used;
			n = 1;
		}
		j->state = AFTER;
		nr += n;
	}
	return nr;
}

/* A number's digits without leading zeros, and the power of ten that the last of them stands for. */
struct digits {
	bool negative;
	uint64_t value;		/* the first of them, as many as fit */
	int64_t exponent;	/* value * 10^exponent */
	bool more;		/* digits other than 0 were left out */
	int next;		/* the first digit that was left out */
};

#define MAX_EXPONENT 100000	/* beyond it all is zero or infinite; keeps the sums small */

static void add_digit(struct digits *d, int digit, bool fraction, bool *full)
{
	uint64_t value;

	if (!*full && !__builtin_mul_overflow(d->value, 10, &value) &&
	    !__builtin_add_overflow(value, (uint64_t)digit, &value) && value <= INT64_MAX) {
		d->value = value;
		d->exponent -= fraction;
		return;
	}
	if (!*full)
		d->next = digit;
	*full = true;
	d->more |= digit != 0;
	d->exponent += !fraction;
}

static struct digits get_digits(struct flame_span s)
{
	struct digits d = { .negative = s.len && s.s[0] == '-' };
	bool fraction = false, full = false, minus;
	int64_t exponent = 0;
	size_t i = d.negative;

	for (; i < s.len && (s.s[i] | 0x20) != 'e'; i++) {
		if (s.s[i] == '.')
			fraction = true;
		else
			add_digit(&d, s.s[i] - '0', fraction, &full);
	}
	minus = i + 1 < s.len && s.s[i + 1] == '-';
	for (; i < s.len; i++) {
		if (is_digit(s.s[i]) && exponent < MAX_EXPONENT)
			exponent = exponent * 10 + (s.s[i] - '0');
	}
	d.exponent += minus ? -exponent : exponent;
	return d;
}

/* Drop the last digit. */
static void shorten(struct digits *d)
{
	d->more |= d->next != 0;
	d->next = (int)(d->value % 10);
	d->value /= 10;
	d->exponent++;
}

bool flame_json_int(const struct flame_json *j, int64_t *value)
{
	struct digits d;
	int64_t v;

	if (j->is_int) {
		*value = j->integer;
		return true;
	}
	d = get_digits(j->text);
	while (d.exponent < 0 && d.value && d.value % 10 == 0)
		shorten(&d);
	/* The lowest integer is one further from zero than the highest. */
	if (flame_json_is(j, "-9223372036854775808")) {
		*value = INT64_MIN;
		return true;
	}
	if (d.more || d.next || (d.value && d.exponent < 0))
		return false;
	v = (int64_t)d.value;
	for (; v && d.exponent > 0; d.exponent--) {
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	}
	*value = d.negative ? -v : v;
	return true;
}

enum flame_number_result flame_json_decimal(const struct flame_json *j, struct flame_number *number)
{
	struct digits d;
	int64_t v;

	*number = (struct flame_number){ 0 };
	if (j->is_int || flame_json_int(j, &v)) {
		number->value = j->is_int ? j->integer : v;
		return FLAME_NUMBER_OK;
	}
	d = get_digits(j->text);
	if (d.exponent > 0 || (!d.exponent && d.value == INT64_MAX && d.next >= 5))
		return FLAME_NUMBER_TOO_BIG;
	while (d.value && (d.exponent < -18 || (d.next >= 5 && d.value == INT64_MAX)))
		shorten(&d);
	d.value += d.next >= 5;
	for (; d.value && d.exponent < 0 && d.value % 10 == 0; d.exponent++)
		d.value /= 10;
	if (!d.value)
		return FLAME_NUMBER_OK;
	number->value = d.negative ? -(int64_t)d.value : (int64_t)d.value;
	number->scale = (uint32_t)-d.exponent;
	return FLAME_NUMBER_OK;
}

/* 10^exponent by squaring; with the 64 bits of a long double's mantissa the error stays below a double's last place. */
double flame_json_double(const struct flame_json *j)
{
	struct digits d;
	long double v, power = 10;
	int64_t n;

	if (j->is_int)
		return (double)j->integer;
	d = get_digits(j->text);
	v = (long double)d.value;
	for (n = d.exponent < 0 ? -d.exponent : d.exponent; n && v != 0 && !isinf(v); n >>= 1, power *= power) {
		if (n & 1)
			v = d.exponent < 0 ? v / power : v * power;
	}
	return (double)(d.negative ? -v : v);
}

int flame_json_report(const struct flame_json *j, struct flame_reader *rd, bool kept)
{
	/* The input says itself what is wrong with it: that its gzip member is cut off, say. */
	if (j->in->error && kept)
		return 0;
	if (!kept)
		return flame_fail(rd, j->cut ? FLAME_EDAMAGED : FLAME_EFORMAT,
				  j->cut ? "%s, at byte %" PRIu64 ": it is cut off, and nothing before that can be used" :
					   "not JSON: %s, at byte %" PRIu64,
				  j->error, j->offset);
	flame_damaged(rd, j->cut ? "%s, at byte %" PRIu64 ": it is cut off; what came before is used" :
		      "broken JSON: %s, at byte %" PRIu64 "; what came before is used",
		      j->error, j->offset);
	return 0;
}

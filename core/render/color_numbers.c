/* SPDX-License-Identifier: MIT */
/*
 * color_numbers.c - from a name to the numbers that pick a shade of its colour.
 */
#define _GNU_SOURCE	/* memrchr() */
#include "color.h"

#include <string.h>

#include "../utf8.h"

#define DRAND48_FACTOR 0x5deece66dull
#define DRAND48_MASK ((1ull << 48) - 1)

static uint64_t drand48_seed(uint32_t seed)
{
	return (uint64_t)seed << 16 | 0x330e;
}

static double drand48_next(uint64_t *state)
{
	*state = (*state * DRAND48_FACTOR + 0xb) & DRAND48_MASK;
	return (double)*state / (double)(1ull << 48);
}

static uint32_t code_sum(struct flame_span s)
{
	uint32_t code, sum = 0;

	for (size_t i = 0; i < s.len; sum += code)
		i += utf8_decode(s.s + i, s.len - i, &code);
	return sum;
}

static double seeded(struct flame_span name, struct flame_span suffix)
{
	uint64_t state = drand48_seed(code_sum(name) + code_sum(suffix));

	return drand48_next(&state);
}

/* Code points that a hash takes: the first three, each weighs less than the one before. */
#define HASHED 3

struct codes {
	uint32_t code[HASHED];
	size_t nr;
};

static void take_forward(struct codes *c, struct flame_span s)
{
	for (size_t i = 0; i < s.len && c->nr < HASHED; c->nr++)
		i += utf8_decode(s.s + i, s.len - i, &c->code[c->nr]);
}

static size_t decode_last(struct flame_span s, uint32_t *code)
{
	for (size_t n = 1; n <= 4 && n <= s.len; n++) {
		const char *start = s.s + s.len - n;

		if (utf8_sequence((const unsigned char *)start, n) == n)
			return utf8_decode(start, n, code);
	}
	*code = UTF8_REPLACEMENT;
	return 1;
}

static void take_backward(struct codes *c, struct flame_span s)
{
	for (; s.len && c->nr < HASHED; c->nr++)
		s.len -= decode_last(s, &c->code[c->nr]);
}

static double hash_codes(const struct codes *c)
{
	double vector = 0, weight = 1, max = 1;
	unsigned int mod = 10;

	for (size_t i = 0; i < c->nr; i++) {
		vector += ((double)(c->code[i] % mod) / (mod - 1)) * weight;
		max += weight;
		weight *= 0.70;
		mod++;
	}
	return 1 - vector / max;
}

/* What stands in front of a backtick is a module ("libc.so`malloc"), unless it is nothing. */
static double hash_forward(struct flame_span name, struct flame_span suffix)
{
	const char *tick = name.len ? memchr(name.s + 1, '`', name.len - 1) : NULL;
	struct codes c = { .nr = 0 };

	if (tick)
		name = (struct flame_span){ tick + 1, (size_t)(name.s + name.len - tick - 1) };
	take_forward(&c, name);
	take_forward(&c, suffix);
	return hash_codes(&c);
}

/* The same of the reversed name: there the last backtick comes first, and cuts off the function. */
static double hash_backward(struct flame_span name, struct flame_span suffix)
{
	size_t searched = suffix.len || !name.len ? name.len : name.len - 1;
	const char *tick = searched ? memrchr(name.s, '`', searched) : NULL;
	struct codes c = { .nr = 0 };

	if (tick)
		name.len = (size_t)(tick - name.s);
	else
		take_backward(&c, suffix);
	take_backward(&c, name);
	return hash_codes(&c);
}

void flame_color_numbers(enum flame_color_source source, struct flame_span name,
			 enum flame_kind kind, uint64_t *state, double v[3])
{
	const char *annotation = flame_kind_suffix(kind);
	struct flame_span suffix = { annotation, strlen(annotation) };

	switch (source) {
	case FLAME_COLOR_NAME:
		v[0] = v[1] = v[2] = seeded(name, suffix);
		return;
	case FLAME_COLOR_HASH:
		v[0] = hash_forward(name, suffix);
		v[1] = v[2] = hash_backward(name, suffix);
		return;
	case FLAME_COLOR_RANDOM:
		for (int i = 0; i < 3; i++)
			v[i] = drand48_next(state);
		return;
	}
}

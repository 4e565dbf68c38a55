/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SVG_PUT_H
#define FLAME_SVG_PUT_H
/*
 * What the SVG writer writes with: numbers without printf, escaped text. svg_NAME(out, …) looks for room first;
 * svg_put_NAME(d, …) writes at @d, where the caller made sure of it, and returns where the next byte goes: a box has some
 * thirty pieces, and is asked for room once.
 */
#include <stdint.h>

#include "../flame.h"
#include "../out.h"

static inline char *svg_put(char *d, const char *s, size_t len)
{
	memcpy(d, s, len);
	return d + len;
}

/* Of a constant, inline it is a store or two. */
static inline char *svg_put_string(char *d, const char *s)
{
	return svg_put(d, s, strlen(s));
}

#define SVG_NUMBER_MAX 400	/* bytes of any number, and of printf("%.2f") of any */

char *svg_put_int(char *d, int64_t v);
/* With commas between thousands. */
char *svg_put_grouped_int(char *d, int64_t v);
/* @tenths / 10, without a useless ".0". */
char *svg_put_tenths(char *d, int64_t tenths);
/* @v with two decimals, as printf("%.2f") rounds. */
char *svg_put_percent(char *d, double v);
/* Escaped text, for attributes too; what XML or a line of text cannot hold becomes U+FFFD. SVG_ESCAPED_MAX bytes a byte. */
char *svg_put_escaped(char *d, struct flame_span text);
#define SVG_ESCAPED_MAX 6

/* For what is written a few times a document; names never go through it. */
__attribute__((format(printf, 2, 3))) void svg_printf(struct flame_out *out, const char *format, ...);
void svg_int(struct flame_out *out, int64_t v);
void svg_tenths(struct flame_out *out, int64_t tenths);
void svg_percent(struct flame_out *out, double v);
/* Digits, "-" and "." of @text with commas between thousands. */
void svg_grouped(struct flame_out *out, const char *text);
void svg_escaped(struct flame_out *out, struct flame_span text);
/* The body of a comment: "--" and a closing "-" are broken up. */
void svg_comment(struct flame_out *out, const char *text);

static inline struct flame_span svg_span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

#endif

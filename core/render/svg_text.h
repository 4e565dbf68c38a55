/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SVG_TEXT_H
#define FLAME_SVG_TEXT_H
/* What the SVG writer writes with: a buffer, numbers without printf, escaped and measured text. */
#include <stdio.h>
#include <string.h>

#include "../flame.h"

#define SVG_BUFFER 65536

struct svg_out {
	FILE *file;		/* not owned */
	size_t nr;
	char buf[SVG_BUFFER];
};

void svg_flush(struct svg_out *out);
/* Bytes for which the buffer has no room. */
void svg_bytes_flushed(struct svg_out *out, const char *s, size_t len);

/* Called some thirty times a box, mostly with constants: inline, they cost a copy each. */
static inline void svg_bytes(struct svg_out *out, const char *s, size_t len)
{
	if (len > SVG_BUFFER - out->nr) {
		svg_bytes_flushed(out, s, len);
		return;
	}
	memcpy(out->buf + out->nr, s, len);
	out->nr += len;
}

static inline void svg_puts(struct svg_out *out, const char *s)
{
	svg_bytes(out, s, strlen(s));
}

/* For what is written a few times a document; names never go through it. */
__attribute__((format(printf, 2, 3))) void svg_printf(struct svg_out *out, const char *format, ...);
void svg_int(struct svg_out *out, int64_t v);
/* @tenths / 10, without a useless ".0". */
void svg_tenths(struct svg_out *out, int64_t tenths);
/* @v with two decimals, as printf("%.2f") rounds. */
void svg_percent(struct svg_out *out, double v);
/* Digits, "-" and "." of @text with commas between thousands. */
void svg_grouped(struct svg_out *out, const char *text);
/* Escaped text, for attributes too; what XML or a line of text cannot hold becomes U+FFFD. */
void svg_escaped(struct svg_out *out, struct flame_span text);
/* The body of a comment: "--" and a closing "-" are broken up. */
void svg_comment(struct svg_out *out, const char *text);

static inline struct flame_span svg_span(const char *s)
{
	return (struct flame_span){ s, strlen(s) };
}

/* How wide characters are. */
struct svg_font {
	double size;		/* pixels */
	double fixed;		/* advance as a fraction of size; 0: measured widths */
};

/* Measured advances of U+0020 to U+007E in thousandths of the font size, with blanks between. */
void svg_put_advances(struct svg_out *out);
double svg_text_width(const struct svg_font *font, struct flame_span text);
/*
 * Cut @text to @width pixels. A cut text needs room for a character and ".."; *@cut tells whether
 * ".." has to follow. Return: the bytes of @text to show; 0 where nothing fits.
 */
size_t svg_text_fit(const struct svg_font *font, struct flame_span text, double width, bool *cut);

#endif

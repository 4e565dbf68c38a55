/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SVG_TEXT_H
#define FLAME_SVG_TEXT_H
/* How wide text is, and how much of it fits. */
#include "svg_put.h"

/* How wide characters are. */
struct svg_font {
	double size;		/* pixels */
	double fixed;		/* advance as a fraction of size; 0: measured widths */
};

/* Measured advances of U+0020 to U+007E in thousandths of the font size, with blanks between. */
void svg_advances(struct flame_out *out);
double svg_text_width(const struct svg_font *font, struct flame_span text);
/*
 * Cut @text to @width pixels. A cut text needs room for one and a half times its height, about three
 * letters, and ".."; *@cut tells whether ".." has to follow. Return: the bytes of @text to show; 0 where nothing fits.
 */
size_t svg_text_fit(const struct svg_font *font, struct flame_span text, double width, bool *cut);

#endif

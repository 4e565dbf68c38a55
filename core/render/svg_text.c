/* SPDX-License-Identifier: MIT */
/*
 * svg_text.c - measuring of text.
 */
#include "svg_text.h"

#include "../utf8.h"

/*
 * Advances of U+0020 to U+007E in thousandths of the font size: the wider of Verdana and DejaVu
 * Sans, which stands in for it, so that a label fits in either.
 */
static const uint16_t advances[] = {
	352, 401, 460, 838, 636, 1076, 780, 275, 454, 454, 636, 838, 364, 454, 364, 454,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 454, 454, 838, 838, 838, 545,
	1000, 684, 686, 698, 771, 632, 575, 775, 752, 421, 455, 693, 557, 863, 748, 787,
	603, 787, 695, 684, 616, 732, 684, 989, 685, 615, 685, 454, 454, 454, 838, 636,
	636, 613, 635, 550, 635, 615, 352, 635, 634, 278, 344, 592, 278, 974, 634, 612,
	635, 635, 427, 521, 394, 634, 592, 818, 592, 592, 525, 636, 454, 636, 838,
};

void svg_advances(struct flame_out *out)
{
	for (size_t i = 0; i < sizeof(advances) / sizeof(*advances); i++) {
		flame_out_string(out, i ? " " : "");
		svg_int(out, advances[i]);
	}
}

struct range {
	uint32_t first, last;
};

/* Drawn on top of the character before them. */
static const struct range marks[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x06d6, 0x06dc }, { 0x0900, 0x0903 }, { 0x093a, 0x094f },
	{ 0x0981, 0x0983 }, { 0x09bc, 0x09cd }, { 0x0b82, 0x0b82 }, { 0x0bbe, 0x0bcd },
	{ 0x0c3e, 0x0c4d }, { 0x0d3e, 0x0d4d }, { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a },
	{ 0x0e47, 0x0e4e }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x200b, 0x200f },
	{ 0x20d0, 0x20ff }, { 0x302a, 0x302f }, { 0x3099, 0x309a }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f }, { 0x1f3fb, 0x1f3ff }, { 0xe0020, 0xe007f }, { 0xe0100, 0xe01ef },
};

/* As wide as the font is high: CJK, Hangul, full width forms, emoji. */
static const struct range wides[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 }, { 0xfffd, 0xfffd }, { 0x17000, 0x18cff }, { 0x1b000, 0x1b2ff },
	{ 0x1f000, 0x1faff }, { 0x20000, 0x3fffd },
};

#define ZERO_WIDTH_JOINER 0x200d
#define NARROW 600	/* thousandths, for all that is not in a table */
#define WIDE 1000
#define LEAST_KEPT 1.5	/* of a cut text, in heights: a letter or two tell nothing */

static bool in_ranges(uint32_t code, const struct range *ranges, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (code <= ranges[i].last)
			return code >= ranges[i].first;
	}
	return false;
}

#define IN_RANGES(code, ranges) in_ranges(code, ranges, sizeof(ranges) / sizeof(*(ranges)))

static bool is_mark(uint32_t code)
{
	return code >= marks[0].first && IN_RANGES(code, marks);
}

static double advance(const struct svg_font *font, uint32_t code)
{
	if (font->fixed > 0)
		return font->fixed * font->size;
	if (code >= 0x20 && code < 0x7f)
		return advances[code - 0x20] * font->size / 1000;
	if (code < 0xa0)
		return WIDE * font->size / 1000;
	if (code >= wides[0].first && IN_RANGES(code, wides))
		return WIDE * font->size / 1000;
	return NARROW * font->size / 1000;
}

/* Marks and joiners take no room of their own; skin tones do where there is no emoji font. */
static bool is_free(uint32_t code)
{
	return is_mark(code) && code < 0x1f000;
}

/*
 * A base character with its marks, and what joiners tie to it: one piece when cut, but as wide as
 * its parts, which is how a font without the joined glyph draws it. Return: its bytes.
 */
static size_t next_cluster(const struct svg_font *font, const char *s, size_t len, double *width)
{
	uint32_t code, last;
	size_t n = utf8_decode(s, len, &code);

	*width = advance(font, code);
	while (n < len) {
		size_t more = utf8_decode(s + n, len - n, &last);

		if (!is_mark(last) && code != ZERO_WIDTH_JOINER)
			break;
		if (!is_free(last))
			*width += advance(font, last);
		code = last;
		n += more;
	}
	return n;
}

double svg_text_width(const struct svg_font *font, struct flame_span text)
{
	double sum = 0, width;

	for (size_t i = 0; i < text.len; sum += width)
		i += next_cluster(font, text.s + i, text.len - i, &width);
	return sum;
}

size_t svg_text_fit(const struct svg_font *font, struct flame_span text, double width, bool *cut)
{
	double dots = 2 * advance(font, '.'), least = LEAST_KEPT * font->size, sum = 0, w;
	size_t kept = 0, i = 0;

	*cut = width < 0;
	if (*cut)
		return 0;
	while (i < text.len) {
		i += next_cluster(font, text.s + i, text.len - i, &w);
		sum += w;
		if (sum + dots <= width && sum >= least)
			kept = i;
		if (sum > width) {
			*cut = true;
			return kept;
		}
	}
	return text.len;
}

/* SPDX-License-Identifier: MIT */
/*
 * svg_text.c - buffered output, escaping and measuring of text.
 */
#include "svg_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../utf8.h"

void svg_flush(struct svg_out *out)
{
	/* An error sticks to the stream; flame_svg_write() asks for it once, at the end. */
	fwrite(out->buf, 1, out->nr, out->file);
	out->nr = 0;
}

void svg_bytes_flushed(struct svg_out *out, const char *s, size_t len)
{
	svg_flush(out);
	if (len > SVG_BUFFER) {
		fwrite(s, 1, len, out->file);
		return;
	}
	memcpy(out->buf, s, len);
	out->nr = len;
}

void svg_printf(struct svg_out *out, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		svg_bytes(out, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static size_t count_digits(uint64_t v)
{
	size_t nr = 1;

	for (; v >= 10000; v /= 10000)
		nr += 4;
	return nr + (v >= 10) + (v >= 100) + (v >= 1000);
}

static const char two_digits[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
	"4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
	"99";

static void put_unsigned(struct svg_out *out, uint64_t v)
{
	size_t nr = count_digits(v);
	char *d;

	if (nr > SVG_BUFFER - out->nr)
		svg_flush(out);
	out->nr += nr;
	d = out->buf + out->nr;
	for (; v >= 100; v /= 100)
		memcpy(d -= 2, two_digits + v % 100 * 2, 2);
	if (v >= 10)
		memcpy(d - 2, two_digits + v * 2, 2);
	else
		d[-1] = (char)('0' + v);
}

void svg_int(struct svg_out *out, int64_t v)
{
	if (v < 0)
		svg_bytes(out, "-", 1);
	put_unsigned(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void svg_tenths(struct svg_out *out, int64_t tenths)
{
	char fraction[2] = { '.', (char)('0' + llabs(tenths % 10)) };

	if (tenths < 0 && tenths > -10)
		svg_bytes(out, "-", 1);
	svg_int(out, tenths / 10);
	if (tenths % 10)
		svg_bytes(out, fraction, sizeof(fraction));
}

void svg_percent(struct svg_out *out, double v)
{
	double scaled = v * 100, low = floor(scaled), part = scaled - low;
	char fraction[3];
	uint64_t n;

	/* Near a tie, where the product may have rounded, only printf knows the exact decimal. */
	if (!(v >= 0 && v < 1e6) || fabs(part - 0.5) < 1e-6) {
		svg_printf(out, "%.2f", v);
		return;
	}
	n = (uint64_t)low + (part > 0.5);
	put_unsigned(out, n / 100);
	fraction[0] = '.';
	fraction[1] = (char)('0' + n / 10 % 10);
	fraction[2] = (char)('0' + n % 10);
	svg_bytes(out, fraction, sizeof(fraction));
}

void svg_grouped(struct svg_out *out, const char *text)
{
	size_t sign = *text == '-', whole = sign, next;

	while (text[whole] >= '0' && text[whole] <= '9')
		whole++;
	next = whole <= sign + 3 ? whole : sign + (whole - sign - 1) % 3 + 1;
	svg_bytes(out, text, next);
	for (; next < whole; next += 3) {
		svg_bytes(out, ",", 1);
		svg_bytes(out, text + next, 3);
	}
	svg_puts(out, text + whole);
}

static const char *const entities[128] = {
	['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
};

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && !entities[c];
}

void svg_escaped(struct svg_out *out, struct flame_span text)
{
	const char *s = text.s, *end = text.s + text.len;
	uint32_t code;
	size_t n;

	while (s < end) {
		for (n = 0; s + n < end && is_plain((unsigned char)s[n]); n++)
			;
		svg_bytes(out, s, n);
		s += n;
		if (s == end)
			return;
		n = utf8_decode(s, (size_t)(end - s), &code);
		if (code < 0x80 && entities[code])
			svg_puts(out, entities[code]);
		else if (n > 1 && utf8_is_shown(code))
			svg_bytes(out, s, n);
		else
			svg_puts(out, "\xef\xbf\xbd");
		s += n;
	}
}

void svg_comment(struct svg_out *out, const char *text)
{
	const char *dash;

	while ((dash = strchr(text, '-'))) {
		svg_escaped(out, (struct flame_span){ text, (size_t)(dash - text) });
		svg_puts(out, dash[1] == '-' || !dash[1] ? "- " : "-");
		text = dash + 1;
	}
	svg_escaped(out, svg_span(text));
}

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

void svg_put_advances(struct svg_out *out)
{
	for (size_t i = 0; i < sizeof(advances) / sizeof(*advances); i++) {
		svg_puts(out, i ? " " : "");
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
	double dots = 2 * advance(font, '.'), sum = 0, w;
	size_t kept = 0, i = 0;

	*cut = false;
	while (i < text.len) {
		i += next_cluster(font, text.s + i, text.len - i, &w);
		sum += w;
		if (sum + dots <= width)
			kept = i;
		if (sum > width) {
			*cut = true;
			return kept;
		}
	}
	return text.len;
}

/* SPDX-License-Identifier: MIT */
/*
 * svg_put.c - numbers and escaped text.
 */
#include "svg_put.h"

#include <math.h>
#include <stdarg.h>

#include "../utf8.h"

#define ESCAPED_AT_ONCE 1024	/* bytes of a long text */

void svg_printf(struct flame_out *out, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		flame_out_bytes(out, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static const char two_digits[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
	"4950515253545556575859606162636465666768697071727374757677787980818283848586878889909192939495969798"
	"99";

/* Two digits at @d. */
static inline char *put_two(char *d, uint64_t v)
{
	memcpy(d, two_digits + v * 2, 2);
	return d + 2;
}

static inline char *put_two_at_most(char *d, uint64_t v)
{
	if (v >= 10)
		return put_two(d, v);
	*d = (char)('0' + v);
	return d + 1;
}

static char *put_many(char *d, uint64_t v)
{
	char digits[20], *end = digits + sizeof(digits), *start = end;

	for (; v >= 100; v /= 100)
		memcpy(start -= 2, two_digits + v % 100 * 2, 2);
	d = put_two_at_most(d, v);
	return svg_put(d, start, (size_t)(end - start));
}

/* Most numbers are short. */
static inline char *put_unsigned(char *d, uint64_t v)
{
	if (v < 100)
		return put_two_at_most(d, v);
	if (v < 10000)
		return put_two(put_two_at_most(d, v / 100), v % 100);
	if (v < 1000000)
		return put_two(put_two(put_two_at_most(d, v / 10000), v / 100 % 100), v % 100);
	return put_many(d, v);
}

char *svg_put_int(char *d, int64_t v)
{
	if (v < 0)
		*d++ = '-';
	return put_unsigned(d, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

/* @d: behind three digits that follow others. */
static char *put_thousands(char *d, uint64_t v)
{
	*d = ',';
	d[1] = (char)('0' + v / 100);
	return put_two(d + 2, v % 100);
}

char *svg_put_grouped_int(char *d, int64_t value)
{
	uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value, groups[7];
	size_t nr = 0;

	if (value < 0)
		*d++ = '-';
	for (; v >= 1000; v /= 1000)
		groups[nr++] = v % 1000;
	d = put_unsigned(d, v);
	while (nr)
		d = put_thousands(d, groups[--nr]);
	return d;
}

char *svg_put_tenths(char *d, int64_t tenths)
{
	uint64_t v = tenths < 0 ? -(uint64_t)tenths : (uint64_t)tenths;

	if (tenths < 0)
		*d++ = '-';
	d = put_unsigned(d, v / 10);
	if (v % 10) {
		d[0] = '.';
		d[1] = (char)('0' + v % 10);
		d += 2;
	}
	return d;
}

char *svg_put_percent(char *d, double v)
{
	double scaled = v * 100, part;
	uint64_t n;

	/* Near a tie, where the product may have rounded, only printf knows the exact decimal. */
	if (!(v >= 0 && v < 1e6))
		return d + sprintf(d, "%.2f", v);
	n = (uint64_t)scaled;
	part = scaled - (double)n;
	if (fabs(part - 0.5) < 1e-6)
		return d + sprintf(d, "%.2f", v);
	n += part > 0.5;
	d = put_unsigned(d, n / 100);
	*d = '.';
	return put_two(d + 1, n % 100);
}

void svg_int(struct flame_out *out, int64_t v)
{
	flame_out_took(out, svg_put_int(flame_out_reserve(out, SVG_NUMBER_MAX), v));
}

void svg_tenths(struct flame_out *out, int64_t tenths)
{
	flame_out_took(out, svg_put_tenths(flame_out_reserve(out, SVG_NUMBER_MAX), tenths));
}

void svg_percent(struct flame_out *out, double v)
{
	flame_out_took(out, svg_put_percent(flame_out_reserve(out, SVG_NUMBER_MAX), v));
}

void svg_grouped(struct flame_out *out, const char *text)
{
	size_t sign = *text == '-', whole = sign, next;

	while (text[whole] >= '0' && text[whole] <= '9')
		whole++;
	next = whole <= sign + 3 ? whole : sign + (whole - sign - 1) % 3 + 1;
	flame_out_bytes(out, text, next);
	for (; next < whole; next += 3) {
		flame_out_bytes(out, ",", 1);
		flame_out_bytes(out, text + next, 3);
	}
	flame_out_string(out, text + whole);
}

static const char *const entities[128] = {
	['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
};

/* U+0020 to U+007E but those with an entity; and a tab, which XML allows, as flamegraph.pl shows it. */
static const bool is_plain[256] = {
	['\t'] = true, [0x20 ... 0x21] = true, [0x23 ... 0x25] = true, [0x27 ... 0x3b] = true, [0x3d] = true, [0x3f ... 0x7e] = true,
};

char *svg_put_escaped(char *d, struct flame_span text)
{
	const char *s = text.s, *end = text.s + text.len;
	uint32_t code;
	size_t n;

	while (s < end) {
		if (is_plain[(unsigned char)*s]) {
			*d++ = *s++;
			continue;
		}
		n = utf8_decode(s, (size_t)(end - s), &code);
		if (code < 0x80 && entities[code])
			d = svg_put_string(d, entities[code]);
		else if (n > 1 && utf8_is_shown(code))
			d = svg_put(d, s, n);
		else
			d = svg_put_string(d, "\xef\xbf\xbd");
		s += n;
	}
	return d;
}

/* Return: the start of @text that is escaped at once; no character is cut in two. */
static size_t escaped_part(struct flame_span text)
{
	size_t len = ESCAPED_AT_ONCE;

	if (text.len <= len)
		return text.len;
	while (len > ESCAPED_AT_ONCE - 4 && utf8_is_tail((unsigned char)text.s[len]))
		len--;
	return len;
}

void svg_escaped(struct flame_out *out, struct flame_span text)
{
	while (text.len) {
		const struct flame_span part = { text.s, escaped_part(text) };

		flame_out_took(out, svg_put_escaped(flame_out_reserve(out, part.len * SVG_ESCAPED_MAX), part));
		text.s += part.len;
		text.len -= part.len;
	}
}

void svg_comment(struct flame_out *out, const char *text)
{
	const char *dash;

	while ((dash = strchr(text, '-'))) {
		svg_escaped(out, (struct flame_span){ text, (size_t)(dash - text) });
		flame_out_string(out, dash[1] == '-' || !dash[1] ? "- " : "-");
		text = dash + 1;
	}
	svg_escaped(out, svg_span(text));
}

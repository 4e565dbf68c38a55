/* SPDX-License-Identifier: MIT */
/*
 * fuzz_svg - folded text with any options of the picture, drawn. Five bytes of options come first,
 * then a string that serves as title, font and the like, ended by NUL.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../../core/folded.h"
#include "../../core/render/svg.h"

static const char *cut_text(const uint8_t **data, size_t *size, char *text, size_t room)
{
	size_t len = strnlen((const char *)*data, *size < room - 1 ? *size : room - 1);
	size_t cut = len < *size ? len + 1 : len;

	memcpy(text, *data, len);
	text[len] = '\0';
	*data += cut;
	*size -= cut;
	return text;
}

static void set_svg_options(struct flame_svg_options *o, uint32_t bits, uint32_t sizes, const char *text)
{
	static const double widths[] = { 0, 1, 300, 1200, 100000 }, heights[] = { 0, 1, 16, 40 };
	static const double minwidths[] = { -1, 0, 0.1, 5, 50 }, fonts[] = { 0, 1, 12, 200 };
	size_t nr_palettes = 0;

	while (flame_palette_names[nr_palettes])
		nr_palettes++;
	o->colors = bits & 1 ? flame_palette_names[(bits >> 1 & 63) % nr_palettes] : NULL;
	o->hash = bits & 1 << 7;
	o->random = bits & 1 << 8;
	o->inverted = bits & 1 << 9;
	o->in_order = bits & 1 << 10;
	o->negate = bits & 1 << 11;
	o->delta_self = bits & 1 << 12;
	o->minwidth_percent = bits & 1 << 13;
	o->title = bits & 1 << 14 ? text : NULL;
	o->subtitle = bits & 1 << 15 ? text : NULL;
	o->countname = bits & 1 << 16 ? text : NULL;
	o->nametype = bits & 1 << 17 ? text : NULL;
	o->fonttype = bits & 1 << 18 ? text : NULL;
	o->notes = bits & 1 << 19 ? text : NULL;
	o->bgcolors = bits & 1 << 20 ? text : NULL;
	o->total = bits & 1 << 21 ? INT64_MAX : 0;
	o->factor = bits & 1 << 22 ? 1e-3 : 0;
	o->fontwidth = bits & 1 << 23 ? 0.6 : 0;
	o->width = widths[(sizes & 7) % 5];
	o->height = heights[sizes >> 3 & 3];
	o->minwidth = minwidths[(bits >> 24 & 7) % 5];
	o->fontsize = fonts[bits >> 27 & 3];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bits = fuzz_bits(&data, &size, 4), sizes = fuzz_bits(&data, &size, 1);
	struct flame_svg_options options = { .type = 1 };
	char text[256];
	struct flame_profile *p;

	set_svg_options(&options, bits, sizes, cut_text(&data, &size, text, sizeof(text)));
	p = fuzz_read("folded", bits & 1 << 10 ? 512 | 128 : 512, data, size);
	if (!p)
		return 0;
	if (!flame_is_differential(p, &options.before, &options.type))
		options.before = 0;
	flame_svg_write(p, &options, fuzz_null());
	flame_profile_free(p);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * svg.c - the document around the boxes: header, footer, legend, style and script.
 *
 * It is complete without script. The viewer then lays it out again in the pixels of its container.
 */
#include "svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../units.h"
#include "svg_picture.h"
#include "viewer.h"

#define NOTE_LESS 2		/* pixels that notes are smaller */
#define BOLD 1.18		/* how much wider bold type is */
#define FONT_FAMILY "Verdana, &quot;DejaVu Sans&quot;, Geneva, sans-serif"

static void put_coordinate(struct flame_out *out, const char *name, double v)
{
	flame_out_string(out, name);
	svg_tenths(out, llrint(v * 10));
	flame_out_string(out, "\"");
}

static void put_string(struct flame_out *out, const char *name, const char *value)
{
	flame_out_string(out, name);
	svg_escaped(out, svg_span(value));
	flame_out_string(out, "\"");
}

static void put_text_start(struct flame_out *out, const char *class, double x, double y)
{
	flame_out_string(out, "<text class=\"");
	flame_out_string(out, class);
	put_coordinate(out, "\" x=\"", x);
	put_coordinate(out, " y=\"", y);
}

static void put_prologue(struct picture *pic)
{
	struct flame_out *out = &pic->out;

	flame_out_string(out, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n");
	flame_out_string(out, "<!-- Flame graph by fgtools -->\n");
	if (pic->o->notes) {
		flame_out_string(out, "<!-- NOTES: ");
		svg_comment(out, pic->o->notes);
		flame_out_string(out, " -->\n");
	}
}

/* What the viewer has to know; see viewer/flame.js. */
static void put_viewer_data(struct picture *pic)
{
	const struct flame_svg_options *o = pic->o;
	struct flame_out *out = &pic->out;

	put_string(out, " data-unit=\"", pic->countname);
	put_string(out, " data-nametype=\"", pic->nametype);
	flame_out_string(out, " data-base=\"");
	svg_int(out, pic->base);
	svg_printf(out, "\" data-decimals=\"%u\" data-factor=\"%.17g\"", pic->decimals,
		   pic->factor);
	put_coordinate(out, " data-row=\"", pic->row);
	put_coordinate(out, " data-size=\"", pic->font.size);
	if (o->fontwidth > 0)
		svg_printf(out, " data-advance=\"%g\"", o->fontwidth);
	flame_out_string(out, " data-advances=\"");
	svg_advances(out);
	flame_out_string(out, "\"");
	put_coordinate(out, " data-top=\"", pic->top);
	put_coordinate(out, " data-legend=\"", pic->legend_y);
	if (o->width <= 0)
		flame_out_string(out, " data-fluid=\"1\"");
	if (o->before)
		svg_printf(out, " data-before=\"%lld\" data-ratio=\"%.17g\" data-digits=\"%u\"", (long long)pic->layout.before,
			   pic->ratio, pic->digits);
	if (o->negate)
		flame_out_string(out, " data-negate=\"1\"");
}

static void put_root(struct picture *pic)
{
	struct flame_out *out = &pic->out;

	flame_out_string(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" class=\"flamegraph\"");
	if (pic->o->width > 0) {
		put_coordinate(out, " width=\"", pic->width);
		put_coordinate(out, " height=\"", pic->height);
	} else {
		flame_out_string(out, " width=\"100%\"");
	}
	flame_out_string(out, " viewBox=\"0 0 ");
	svg_tenths(out, llrint(pic->width * 10));
	put_coordinate(out, " ", pic->height);
	flame_out_string(out, " font-family=\"");
	if (pic->o->fonttype)
		svg_escaped(out, svg_span(pic->o->fonttype));
	else
		flame_out_string(out, FONT_FAMILY);
	put_coordinate(out, "\" font-size=\"", pic->font.size);
	put_string(out, " role=\"img\" aria-label=\"", pic->title);
	put_viewer_data(pic);
	flame_out_string(out, ">\n");
}

static void put_style(struct picture *pic)
{
	flame_out_string(&pic->out, "<style><![CDATA[\n");
	flame_out_bytes(&pic->out, flame_viewer_css, flame_viewer_css_len);
	flame_out_string(&pic->out, "]]></style>\n");
}

static void put_definitions(struct picture *pic)
{
	const struct flame_background *named;
	const char *bg = pic->o->bgcolors, *top, *bottom;

	if (!bg)
		bg = pic->background;
	named = flame_background_find(bg);
	top = named ? named->top : bg;
	bottom = named ? named->bottom : bg;
	svg_printf(
		&pic->out,
		"<defs>\n<linearGradient id=\"fg-bg\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\">"
		"<stop offset=\"5%%\" stop-color=\"%s\"/><stop offset=\"95%%\" stop-color=\"%s\"/>"
		"</linearGradient>\n",
		top, bottom);
	flame_out_string(&pic->out,
		 "<pattern id=\"fg-rest\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		 "<rect width=\"6\" height=\"6\" fill=\"#e4e4e4\"/>"
		 "<path d=\"M-1 1l2-2M0 6l6-6M5 7l2-2\" stroke=\"#b4b4b4\"/></pattern>\n");
	flame_out_string(&pic->out,
		 "<pattern id=\"fg-gone\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
		 "<rect width=\"6\" height=\"6\" fill=\"#eef4ff\"/>"
		 "<path d=\"M-1 1l2-2M0 6l6-6M5 7l2-2\" stroke=\"#cfdff8\"/></pattern>\n");
	flame_out_string(&pic->out, "</defs>\n<rect class=\"bg\" width=\"100%\" height=\"100%\""
			    " fill=\"url(#fg-bg)\"/>\n");
}

static void put_heading(struct picture *pic, const char *class, const char *text, double y,
			double size)
{
	const struct svg_font font = { strcmp(class, "title") == 0 ? size * BOLD : size,
				       pic->font.fixed };
	struct flame_out *out = &pic->out;
	struct flame_span shown = svg_span(text);
	bool cut;

	put_text_start(out, class, pic->width / 2, y);
	put_coordinate(out, " text-anchor=\"middle\" font-size=\"", size);
	put_string(out, " data-text=\"", text);
	flame_out_string(out, ">");
	shown.len = svg_text_fit(&font, shown, pic->width - 2 * SVG_XPAD, &cut);
	svg_escaped(out, shown);
	flame_out_string(out, cut ? "..</text>\n" : "</text>\n");
}

/* Nanoseconds and bytes once more, as people read them. */
static void put_amount(struct picture *pic)
{
	char text[FLAME_AMOUNT_MAX];

	if (pic->o->before || pic->factor < 1 || pic->factor > 1 ||
	    !flame_amount(text, pic->base, pic->decimals, svg_span(pic->countname)))
		return;
	flame_out_string(&pic->out, " = ");
	flame_out_string(&pic->out, text);
}

/* Of a differential, also where its counts before were scaled. */
static int64_t measured_before(const struct picture *pic)
{
	const struct flame_diff *d = pic->o->diff;
	int64_t total = d ? d->before.total : 0;

	if (!d || !d->normalized)
		return pic->layout.before;
	for (uint32_t i = d->before.scale; i > pic->decimals; i--)
		total /= 10;
	for (uint32_t i = d->before.scale; i < pic->decimals; i++) {
		if (__builtin_mul_overflow(total, 10, &total))
			return pic->layout.before;
	}
	return total;
}

/* The unit is here: what the widths mean. */
static void put_total(struct picture *pic)
{
	struct flame_out *out = &pic->out;

	put_text_start(out, "total", SVG_XPAD, pic->bar_y);
	flame_out_string(out, ">");
	if (pic->o->before) {
		svg_count(pic, measured_before(pic));
		flame_out_string(out, pic->o->negate ? " after, " : " before, ");
	}
	svg_count(pic, pic->base);
	flame_out_string(out, " ");
	svg_escaped(out, svg_span(pic->countname));
	put_amount(pic);
	flame_out_string(out, pic->o->before ? pic->o->negate ? " before</text>\n" : " now</text>\n"
				     : "</text>\n");
}

static void put_header(struct picture *pic)
{
	put_heading(pic, "title", pic->title, pic->title_y, pic->font.size + SVG_TITLE_EXTRA);
	if (svg_has_subtitle(pic))
		put_heading(pic, "subtitle", pic->o->subtitle, pic->subtitle_y, pic->font.size);
	put_total(pic);
}

static void put_min_width(struct picture *pic)
{
	const struct flame_svg_options *o = pic->o;

	if (o->minwidth < 0)
		svg_printf(&pic->out, "%g px", SVG_MIN_WIDTH);
	else
		svg_printf(&pic->out, o->minwidth_percent ? "%g %%" : "%g px", o->minwidth);
}

/* A row of notes, and where the next one is to stand. */
static void put_note_start(struct picture *pic, const char *class, double *y)
{
	put_text_start(&pic->out, class, SVG_XPAD, *y);
	put_coordinate(&pic->out, " font-size=\"", pic->font.size - NOTE_LESS);
	flame_out_string(&pic->out, ">");
	*y += pic->font.size + 4;
}

static void put_grouped(struct picture *pic, uint64_t nr)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)nr);
	svg_grouped(&pic->out, text);
}

static void put_hidden(struct picture *pic, double *y, uint64_t nr, const char *what)
{
	put_note_start(pic, "note", y);
	put_grouped(pic, nr);
	flame_out_string(&pic->out, nr == 1 ? " frame" : " frames");
	flame_out_string(&pic->out, what);
}

static void put_hidden_end(struct picture *pic, uint64_t nr)
{
	flame_out_string(&pic->out, nr == 1 ? " is" : " are");
	flame_out_string(&pic->out, " hatched or left out</text>\n");
}

static void put_notes(struct picture *pic)
{
	struct flame_out *out = &pic->out;
	double y = pic->notes_y;

	if (pic->layout.nr_hidden) {
		put_hidden(pic, &y, pic->layout.nr_hidden, " narrower than ");
		put_min_width(pic);
		put_hidden_end(pic, pic->layout.nr_hidden);
	}
	if (pic->layout.nr_deep) {
		put_hidden(pic, &y, pic->layout.nr_deep, " deeper than ");
		put_grouped(pic, SVG_MAX_ROWS);
		flame_out_string(out, " rows");
		put_hidden_end(pic, pic->layout.nr_deep);
	}
	for (size_t i = 0; i < pic->nr_remarks; i++) {
		put_note_start(pic, "note", &y);
		svg_escaped(out, svg_span(pic->remarks[i]));
		flame_out_string(out, "</text>\n");
	}
	if (svg_is_low(pic)) {
		put_note_start(pic, "note low", &y);
		svg_printf(out, "Fewer than %d samples: the widths are a rough guess</text>\n", SVG_FEW_SAMPLES);
	}
}

static void put_legend_entry(struct picture *pic, const struct legend_entry *e, double x, double y)
{
	struct flame_out *out = &pic->out;

	flame_out_string(out, "<g class=\"key\">");
	put_coordinate(out, "<rect x=\"", x);
	put_coordinate(out, " y=\"", y - SVG_SWATCH + 1);
	svg_printf(
		out,
		" width=\"%d\" height=\"%d\" rx=\"2\" stroke=\"#999\" stroke-width=\"0.5\" fill=\"",
		SVG_SWATCH, SVG_SWATCH);
	if (e->fill)
		flame_out_string(out, e->fill);
	else
		svg_printf(out, "rgb(%u,%u,%u)", e->color.r, e->color.g, e->color.b);
	put_coordinate(out, "\"/><text x=\"", x + SVG_SWATCH + 5);
	put_coordinate(out, " y=\"", y);
	put_coordinate(out, " font-size=\"", pic->font.size - 1);
	flame_out_string(out, ">");
	svg_escaped(out, svg_span(e->label));
	flame_out_string(out, "</text></g>\n");
}

static void put_legend(struct picture *pic)
{
	double x = SVG_XPAD, y = pic->legend_y;

	if (!pic->nr_legend)
		return;
	flame_out_string(&pic->out, "<g class=\"legend\">\n");
	for (size_t i = 0; i < pic->nr_legend; i++) {
		double w = svg_legend_width(pic, &pic->legend[i]);

		if (x > SVG_XPAD && x + w > pic->width) {
			x = SVG_XPAD;
			y += pic->font.size + 6;
		}
		put_legend_entry(pic, &pic->legend[i], x, y);
		x += w;
	}
	flame_out_string(&pic->out, "</g>\n");
}

static void put_footer(struct picture *pic)
{
	put_text_start(&pic->out, "details", SVG_XPAD, pic->details_y);
	flame_out_string(&pic->out, "> </text>\n");
	put_text_start(&pic->out, "matched", pic->width - SVG_XPAD, pic->details_y);
	flame_out_string(&pic->out, " text-anchor=\"end\"> </text>\n");
	put_notes(pic);
	put_legend(pic);
}

static void put_script(struct picture *pic)
{
	flame_out_string(&pic->out, "<script type=\"text/ecmascript\"><![CDATA[\n");
	flame_out_bytes(&pic->out, flame_viewer_js, flame_viewer_js_len);
	flame_out_string(&pic->out, "]]></script>\n</svg>\n");
}

static int put_document(struct picture *pic)
{
	int err;

	put_prologue(pic);
	put_root(pic);
	put_style(pic);
	put_definitions(pic);
	put_header(pic);
	flame_out_string(&pic->out, pic->o->before ? "<g class=\"frames d\" xml:space=\"preserve\">\n"
					  : "<g class=\"frames\" xml:space=\"preserve\">\n");
	err = svg_write_boxes(pic);
	if (err)
		return err;
	flame_out_string(&pic->out, "</g>\n");
	put_footer(pic);
	put_script(pic);
	flame_out_flush(&pic->out);
	if (fflush(pic->out.file) != 0 || ferror(pic->out.file))
		return FLAME_EIO;
	return pic->map ? flame_color_map_save(pic->map, pic->o->palette_map) : 0;
}

int flame_svg_write(const struct flame_profile *p, const struct flame_svg_options *options,
		    FILE *out)
{
	struct picture *pic = calloc(1, sizeof(*pic));
	int err;

	if (!pic)
		return FLAME_ENOMEM;
	err = flame_out_init(&pic->out, out) ? svg_picture_init(pic, p, options) : FLAME_ENOMEM;
	if (!err)
		err = put_document(pic);
	svg_picture_release(pic);
	flame_out_release(&pic->out);
	free(pic);
	return err;
}

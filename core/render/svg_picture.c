/* SPDX-License-Identifier: MIT */
/*
 * svg_picture.c - from options and profile to a picture: colours, boxes, legend, positions.
 */
#include "svg_picture.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../units.h"

#define DEFAULT_ROW 16
#define DEFAULT_FONT_SIZE 12
#define MAX_PIXELS 1e6		/* of a width, a row or a font: far more than can be shown */
#define MONO_ADVANCE 0.602
#define WORKER_FROM 16384	/* branches of the call tree: fewer are laid out before a thread has started */

/* What people call the colours of the "auto" palette. */
static const char *const kind_labels[FLAME_NR_KINDS] = {
	[FLAME_USER] = "user", [FLAME_KERNEL] = "kernel", [FLAME_INLINED] = "inlined",
	[FLAME_JIT] = "JIT compiled", [FLAME_JIT_INLINED] = "inlined",
	[FLAME_INTERPRETED] = "interpreted",
	[FLAME_C1] = "C1 compiled", [FLAME_WAKER] = "waker", [FLAME_TASK] = "process or thread",
};

static bool in_range(double v)
{
	return isfinite(v) && v >= 0 && v <= MAX_PIXELS;
}

static bool is_flat_color(const char *s)
{
	return s[0] == '#' && strlen(s) == 7 && strspn(s + 1, "0123456789abcdefABCDEF") == 6;
}

static bool are_usable(const struct flame_svg_options *o)
{
	if (!in_range(o->width) || !in_range(o->height) || !in_range(o->fontsize) ||
	    !in_range(o->fontwidth))
		return false;
	if (o->width > 0 && o->width <= 2 * SVG_XPAD)
		return false;
	if (o->bgcolors && !is_flat_color(o->bgcolors) && !flame_background_find(o->bgcolors))
		return false;
	return isfinite(o->minwidth) && isfinite(o->factor) && o->factor >= 0 && o->total >= 0;
}

static bool is_plain_kind(enum flame_kind kind)
{
	return kind == FLAME_USER || kind == FLAME_TASK || kind == FLAME_MARKER;
}

static bool has_kinds(const struct flame_profile *p)
{
	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		if (!is_plain_kind(flame_frame_get(p, i)->kind))
			return true;
	}
	return false;
}

static flame_type drawn_type(const struct flame_svg_options *o)
{
	return o->type ? o->type : 1;
}

static enum flame_value_kind drawn_kind(const struct picture *pic)
{
	return flame_type_get(pic->p, drawn_type(pic->o))->kind;
}

/* flamegraph.pl's palettes for these: waiting is blue, memory green. */
static const char *kind_palette(enum flame_value_kind kind)
{
	switch (kind) {
	case FLAME_VALUE_OFF_CPU:
		return "io";
	case FLAME_VALUE_ALLOCATION:
		return "mem";
	case FLAME_VALUE_LOCK:
		return "wakeup";
	default:
		return "hot";
	}
}

static int choose_colors(struct picture *pic)
{
	const struct flame_svg_options *o = pic->o;
	const char *name = o->colors ? o->colors : "auto";

	pic->palette = flame_palette_find(name);
	if (!pic->palette)
		return FLAME_EARG;
	pic->background = o->before ? "white" : flame_palette_background(pic->palette);
	if (strcmp(name, "auto") == 0) {
		pic->by_kind = !o->before && has_kinds(pic->p);
		if (!pic->by_kind)
			pic->palette = flame_palette_find(kind_palette(drawn_kind(pic)));
		if (!o->before)
			pic->background = flame_palette_background(pic->palette);
	}
	if (o->random)
		pic->random = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)pic;
	pic->source = o->random ? FLAME_COLOR_RANDOM
		      : o->hash ? FLAME_COLOR_HASH
				: FLAME_COLOR_NAME;
	if (!o->palette_map)
		return 0;
	errno = 0;
	pic->map = flame_color_map_load(o->palette_map);
	return pic->map ? 0 : errno && errno != ENOMEM ? FLAME_EIO : FLAME_ENOMEM;
}

static double advance_of(const struct flame_svg_options *o)
{
	static const char *const monospaced[] = { "mono", "Mono", "Courier", "Consolas", "Menlo" };

	if (o->fontwidth > 0)
		return o->fontwidth;
	for (size_t i = 0; o->fonttype && i < sizeof(monospaced) / sizeof(*monospaced); i++) {
		if (strstr(o->fonttype, monospaced[i]))
			return MONO_ADVANCE;
	}
	return 0;
}

/* "Off-CPU Flame Graph": what is measured comes first, so that no picture is taken for another. */
static void make_title(struct picture *pic)
{
	const char *shape = pic->o->in_order ? "Flame Chart" : pic->o->inverted ? "Icicle Graph" : "Flame Graph";

	snprintf(pic->default_title, sizeof(pic->default_title), "%s%s", flame_value_kind_title(drawn_kind(pic)), shape);
	pic->title = pic->o->title ? pic->o->title : pic->default_title;
}

static void set_rect_end(struct picture *pic)
{
	char *d = svg_put_string(pic->rect_end, " height=\"");

	d = svg_put_tenths(d, llrint((pic->row - 1) * 10));
	*svg_put_string(d, "\"") = '\0';
}

static void take_options(struct picture *pic)
{
	const struct flame_svg_options *o = pic->o;

	make_title(pic);
	pic->countname = o->countname ? o->countname : "samples";
	pic->nametype = o->nametype ? o->nametype : "Function:";
	pic->factor = o->factor > 0 ? o->factor : 1;
	pic->row = o->height > 0 ? o->height : DEFAULT_ROW;
	set_rect_end(pic);
	pic->width = o->width > 0 ? o->width : SVG_FLUID_WIDTH;
	pic->font.size = o->fontsize > 0 ? o->fontsize : DEFAULT_FONT_SIZE;
	pic->font.fixed = advance_of(o);
}

/* Sum of the type's values. It is the layout that refuses negative ones. */
static int sum_values(const struct picture *pic, flame_type type, int64_t *sum)
{
	*sum = 0;
	for (uint32_t i = 0; i < flame_nr_samples(pic->p); i++) {
		const struct flame_sample *s = flame_sample_get(pic->p, i);

		if (s->type == type && s->value > 0 && __builtin_add_overflow(*sum, s->value, sum))
			return FLAME_EOVERFLOW;
	}
	return 0;
}

static int choose_base(struct picture *pic, flame_type type)
{
	int64_t total = pic->o->total;
	uint32_t scale = pic->o->total_scale;
	int err = sum_values(pic, type, &pic->base);

	for (; scale < pic->decimals; scale++) {
		if (__builtin_mul_overflow(total, 10, &total))
			return FLAME_EOVERFLOW;
	}
	/* More digits than the counts have: rounded to theirs. */
	for (; scale > pic->decimals; scale--)
		total = total / 10 + (scale == pic->decimals + 1 && total % 10 >= 5);
	if (total > pic->base)
		pic->base = total;
	return err;
}

/* Operations in flamegraph.pl's order, so that the same frames pass. */
static double min_total(const struct picture *pic)
{
	const struct flame_svg_options *o = pic->o;
	double minwidth = o->minwidth < 0 ? SVG_MIN_WIDTH : o->minwidth;

	if (o->minwidth_percent && o->minwidth >= 0)
		return (double)pic->base * minwidth / 100;
	return minwidth / ((pic->width - 2 * SVG_XPAD) / (double)pic->base);
}

static int lay_out(struct picture *pic)
{
	struct flame_layout_options lo = {
		.type = drawn_type(pic->o),
		.before = pic->o->before,
		.view = pic->o->view,
		.in_order = pic->o->in_order,
		.worker = pic->worker,
		.max_depth = SVG_MAX_ROWS,
	};
	int err;

	if (flame_nr_types(pic->p) <= 1)
		return FLAME_EEMPTY;
	if (lo.type >= flame_nr_types(pic->p) || lo.before >= flame_nr_types(pic->p))
		return FLAME_EARG;
	pic->decimals = pic->digits = flame_type_get(pic->p, lo.type)->scale;
	if (pic->o->diff && pic->o->diff->normalized && pic->decimals > pic->o->diff->after.scale)
		pic->digits = pic->o->diff->after.scale + 1;
	if (lo.before && flame_type_get(pic->p, lo.before)->scale != pic->decimals)
		return FLAME_EARG;
	err = choose_base(pic, lo.type);
	if (err)
		return err;
	lo.min_total = pic->min_total = pic->base > 0 ? min_total(pic) : 0;
	err = flame_layout_init(&pic->layout, pic->p, &lo);
	if (err)
		return err;
	pic->extent = pic->layout.width > pic->base || lo.view == FLAME_VIEW_ELIDED ? pic->layout.width : pic->base;
	pic->scale = (pic->width - 2 * SVG_XPAD) / (double)pic->extent;
	pic->ratio = lo.before && !pic->o->compare.by_count && pic->layout.before > 0 ?
			     (double)pic->layout.total / (double)pic->layout.before : 1;
	if (pic->o->diff)
		err = flame_compare_boxes(&pic->comparison, pic->o->diff, &pic->layout, &pic->o->compare);
	if (err)
		return err;
	pic->max_delta = pic->o->before ? svg_max_delta(pic) : 1;
	return 0;
}

static void add_legend(struct picture *pic, const char *label, const char *fill,
		       struct flame_rgb color)
{
	pic->legend[pic->nr_legend++] = (struct legend_entry){ label, fill, color };
}

/* Kinds that are in the picture; two that look alike stand there once. */
static void legend_of_kinds(struct picture *pic)
{
	static const double middle[3] = { 0.5, 0.5, 0.5 };
	bool seen[FLAME_NR_KINDS] = { false };

	for (uint32_t i = 0; i < pic->layout.nr_boxes; i++) {
		const struct flame_box *box = &pic->layout.boxes[i];
		enum flame_kind kind =
			box->frame ? flame_frame_get(pic->p, box->frame)->kind : FLAME_MARKER;

		seen[kind == FLAME_JIT_INLINED ? FLAME_INLINED : kind] = true;
	}
	for (int i = 0; i < FLAME_NR_KINDS; i++) {
		if (seen[i] && kind_labels[i])
			add_legend(pic, kind_labels[i], NULL,
				   flame_palette_color(pic->palette, svg_span(""),
						       (enum flame_kind)i, middle));
	}
}

static void legend_of_change(struct picture *pic)
{
	enum flame_delta_colors colors = pic->o->delta_colors;
	bool gone = false;

	for (uint32_t i = 0; i < pic->layout.nr_boxes; i++)
		gone |= pic->layout.boxes[i].flags & FLAME_BOX_GONE;
	if (pic->o->view == FLAME_VIEW_ELIDED) {
		add_legend(pic, "calls what is gone", NULL, flame_color_noise());
		add_legend(pic, "gone", "url(#fg-gone)", (struct flame_rgb){ 0, 0, 0 });
		return;
	}
	add_legend(pic, pic->o->negate ? "less afterwards" : "less than before", NULL, flame_color_delta(colors, -1, 2));
	if (pic->comparison.nr_items)
		add_legend(pic, "within noise", NULL, flame_color_noise());
	else
		add_legend(pic, "unchanged", NULL, flame_color_delta(colors, 0, 2));
	add_legend(pic, pic->o->negate ? "more afterwards" : "more than before", NULL, flame_color_delta(colors, 1, 2));
	if (gone)
		add_legend(pic, pic->o->negate ? "new" : "gone", "url(#fg-gone)",
			   (struct flame_rgb){ 0, 0, 0 });
}

static void add_remark(struct picture *pic, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_remark(struct picture *pic, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(pic->remarks[pic->nr_remarks++], SVG_REMARK_MAX, format, args);
	va_end(args);
}

static bool has_change(const struct picture *pic)
{
	for (uint32_t i = 0; i < pic->layout.nr_boxes; i++) {
		if (!(pic->layout.boxes[i].flags & FLAME_BOX_REST) && !svg_is_noise(pic, i))
			return true;
	}
	return false;
}

/* How the picture is to be read, in the picture: it is passed on without the command that drew it. */
static void make_remarks(struct picture *pic)
{
	static const char *const views[] = {
		[FLAME_VIEW_AFTER] = NULL,
		[FLAME_VIEW_COMBINED] = "Widths: the larger of before and now, stack by stack",
		[FLAME_VIEW_ELIDED] = "Widths: those before, of what is gone now; everything else is left out",
	};
	const struct flame_diff *d = pic->o->diff;

	if (d && d->normalized)
		add_remark(pic, "Normalized: counts before are multiplied by %.6g, rounded to the nearest 1e-%u, so that both totals are equal",
			   pow(10, d->before.scale) * (double)d->after.total / (double)d->before.total / pow(10, d->after.scale),
			   pic->decimals);
	if (views[pic->o->view])
		add_remark(pic, "%s", views[pic->o->view]);
	if (pic->comparison.nr_items && !has_change(pic))
		add_remark(pic, "No frame changed by more than noise");
	else if (pic->o->view != FLAME_VIEW_ELIDED)
		add_remark(pic, "Colours: change of the %s of %s; the full colour is %.3g%% of all and more",
			   pic->o->compare.by_count ? "count" : "share",
			   pic->o->delta_self ? "the frame itself" : "the frame and all that it calls",
			   100 * pic->max_delta / (double)pic->base);
	if (pic->comparison.nr_items)
		add_remark(pic, "Within noise (grey): %s, confidence %g%%, corrected for %zu tests, variance times %.3g",
			   flame_compare_test(&pic->comparison.options), 100 * pic->comparison.options.confidence,
			   pic->comparison.nr_tests, pic->comparison.options.dispersion);
	if (pic->comparison.nr_items && pic->comparison.options.run_size > 0)
		add_remark(pic, "Runs: %u before, %u after; besides sampling, they are taken to differ as samples of %g do "
			   "(fgdiff --run-size)%s", pic->comparison.options.runs_before,
			   pic->comparison.options.runs_after, pic->comparison.options.run_size,
			   pic->comparison.options.runs_before + pic->comparison.options.runs_after > 2 ? "" :
			   "; more runs (--before, --after) tell whether by more");
}

static void choose_legend(struct picture *pic)
{
	if (pic->o->before)
		legend_of_change(pic);
	else if (pic->by_kind)
		legend_of_kinds(pic);
}

double svg_legend_width(const struct picture *pic, const struct legend_entry *e)
{
	const struct svg_font small = { pic->font.size - 1, pic->font.fixed };

	return SVG_SWATCH + 5 + svg_text_width(&small, svg_span(e->label)) + SVG_LEGEND_GAP;
}

static double legend_rows(const struct picture *pic)
{
	double x = SVG_XPAD, rows = pic->nr_legend > 0;

	for (size_t i = 0; i < pic->nr_legend; i++) {
		double w = svg_legend_width(pic, &pic->legend[i]);

		if (x > SVG_XPAD && x + w > pic->width) {
			x = SVG_XPAD;
			rows++;
		}
		x += w;
	}
	return rows;
}

bool svg_is_low(const struct picture *pic)
{
	double shown = (double)pic->base * pic->factor;

	for (uint32_t i = 0; i < pic->decimals; i++)
		shown /= 10;
	return shown < SVG_FEW_SAMPLES && strcmp(pic->countname, "samples") == 0;
}

bool svg_has_subtitle(const struct picture *pic)
{
	return pic->o->subtitle && *pic->o->subtitle;
}

/* Rows from top to bottom: every part has its own, so that nothing can overlap. */
static void place_parts(struct picture *pic)
{
	double size = pic->font.size, y = SVG_XPAD;
	int nr_notes = (int)pic->nr_remarks + (pic->layout.nr_hidden > 0) + (pic->layout.nr_deep > 0) + svg_is_low(pic);

	pic->title_y = y += size + SVG_TITLE_EXTRA;
	if (svg_has_subtitle(pic))
		y += size * 1.6;
	pic->subtitle_y = y;
	y += 8;
	pic->bar_y = y + SVG_BAR_HEIGHT / 2.0 + size * 0.36;
	y += SVG_BAR_HEIGHT + 6;
	pic->top = ceil(y);
	y = pic->top + (pic->layout.max_depth + 1) * pic->row;
	pic->details_y = y += size + 8;
	pic->notes_y = y + (size + 4);
	y += nr_notes * (size + 4);
	pic->legend_y = y + (size + 8);
	y += legend_rows(pic) * (size + 6) + (pic->nr_legend > 0 ? 2 : 0);
	pic->height = ceil(y + SVG_XPAD);
}

/* Its time is worth it where the layout takes as long. */
static void start_worker(struct picture *pic)
{
	if (pic->o->threads <= 1 || flame_nr_stack_heads(pic->p) < WORKER_FROM)
		return;
	pic->worker = flame_worker_new();
	if (pic->o->also)
		flame_worker_start(pic->worker, pic->o->also);
}

int svg_picture_init(struct picture *pic, const struct flame_profile *p,
		     const struct flame_svg_options *options)
{
	int err;

	if (!are_usable(options))
		return FLAME_EARG;
	pic->p = p;
	pic->o = options;
	take_options(pic);
	start_worker(pic);
	err = choose_colors(pic);
	if (!err)
		err = svg_start_fills(pic);
	if (!err)
		err = lay_out(pic);
	if (err)
		return err;
	choose_legend(pic);
	if (pic->o->before)
		make_remarks(pic);
	place_parts(pic);
	return 0;
}

void svg_picture_release(struct picture *pic)
{
	svg_end_fills(pic);
	if (pic->worker && pic->o->also)
		flame_worker_end(pic->worker, pic->o->also);
	flame_worker_free(pic->worker);
	flame_layout_release(&pic->layout);
	flame_comparison_release(&pic->comparison);
	flame_color_map_free(pic->map);
	free(pic->frame_fills);
}

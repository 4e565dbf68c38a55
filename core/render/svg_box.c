/* SPDX-License-Identifier: MIT */
/*
 * svg_box.c - one <g> for each box: title, rectangle and label.
 *
 * data-v holds what the viewer lays out again from: start, width, total, self, depth; of a
 * differential also the total and self before.
 */
#include "svg_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels between a box's edge and its label. */
#define LABEL_PAD 3
/* From this width on boxes give half a pixel to the gap to their neighbour. */
#define GAP_FROM_TENTHS 30
#define GAP_TENTHS 5
/* From this width on boxes have round corners: narrow ones would be beads on a string. */
#define ROUND_FROM_TENTHS 60
/* Bytes of a name that are written without a look at what room there is. */
#define NAME_ROOM 512
/* Of a box with its name in title and label, and the unit; numbers and markup take less than the rest. */
#define BOX_ROOM (3 * NAME_ROOM * SVG_ESCAPED_MAX + 4096)
/* Of what a rest is called. */
#define REST_NAME_MAX 48
/* Share of the whole from which on a frame is no measure for the change of others. */
#define NEARLY_ALL 0.9

/* Write @v so that it ends before @end. Return: where it begins. */
static char *put_digits(char *end, uint64_t v, int least)
{
	for (; v || least > 0; least--) {
		*--end = (char)('0' + v % 10);
		v /= 10;
	}
	return end;
}

/* A fraction is exact: "12.5" of 12500 thousandths. */
static void decimal_text(int64_t value, uint32_t decimals, char text[SVG_COUNT_MAX])
{
	uint64_t v = value < 0 ? -(uint64_t)value : (uint64_t)value, unit = 1;
	char *end = text + SVG_COUNT_MAX - 1, *d = end;
	int n = (int)decimals;

	for (uint32_t i = 0; i < decimals; i++)
		unit *= 10;
	for (; n && v % 10 == 0; n--) {
		v /= 10;
		unit /= 10;
	}
	*d = '\0';
	if (n) {
		d = put_digits(d, v % unit, n);
		*--d = '.';
		v /= unit;
	}
	d = put_digits(d, v, 1);
	if (value < 0)
		*--d = '-';
	memmove(text, d, (size_t)(end - d) + 1);
}

static double power_of_ten(uint32_t n)
{
	double v = 1;

	while (n--)
		v *= 10;
	return v;
}

static void factored_text(const struct picture *pic, int64_t value, char text[SVG_COUNT_MAX])
{
	double v = (double)value / power_of_ten(pic->decimals) * pic->factor;
	size_t len;

	snprintf(text, SVG_COUNT_MAX, "%.*f", (int)pic->decimals, v);
	if (!strchr(text, '.'))
		return;
	for (len = strlen(text); text[len - 1] == '0'; len--)
		;
	text[text[len - 1] == '.' ? len - 1 : len] = '\0';
}

/* To the nearest of the digits that are shown. */
static int64_t rounded(const struct picture *pic, int64_t value)
{
	int64_t one = 1, half;

	for (uint32_t i = pic->digits; i < pic->decimals; i++)
		one *= 10;
	half = value < 0 ? -(one / 2) : one / 2;
	return one > 1 && llabs(value) < INT64_MAX / 2 ? (value + half) / one * one : value;
}

void svg_count_text(const struct picture *pic, int64_t value, char text[SVG_COUNT_MAX])
{
	value = rounded(pic, value);
	if (pic->factor == 1)
		decimal_text(value, pic->decimals, text);
	else
		factored_text(pic, value, text);
}

void svg_count(struct picture *pic, int64_t value)
{
	char text[SVG_COUNT_MAX];

	svg_count_text(pic, value, text);
	svg_grouped(&pic->out, text);
}

double svg_share(const struct picture *pic, int64_t value)
{
	if (pic->base <= 0)
		return 0;
	if (pic->factor == 1 || pic->decimals)
		return 100 * (double)value / (double)pic->base;
	return 100 * rint((double)value * pic->factor) / ((double)pic->base * pic->factor);
}

static struct flame_span box_name(const struct picture *pic, const struct flame_box *box)
{
	if (!box->frame)
		return svg_span("all");
	return flame_string_get(pic->p, flame_frame_get(pic->p, box->frame)->name);
}

static enum flame_kind box_kind(const struct picture *pic, const struct flame_box *box)
{
	return box->frame ? flame_frame_get(pic->p, box->frame)->kind : FLAME_TASK;
}

/* The change in values of what is now: where shares are compared, what was before is scaled. */
static double change(const struct picture *pic, int64_t now, int64_t before)
{
	double delta = (double)now - (double)before * pic->ratio;

	/* Rounding is no change. */
	if (fabs(delta) < 1e-9 * (double)now)
		return 0;
	return pic->o->negate ? -delta : delta;
}

static double box_delta(const struct picture *pic, const struct flame_box *box)
{
	return pic->o->delta_self ? change(pic, box->self, box->before_self) : change(pic, box->total, box->before_total);
}

bool svg_is_noise(const struct picture *pic, uint32_t i)
{
	const struct flame_compared *item;

	if (!pic->comparison.nr_items || pic->layout.boxes[i].flags & FLAME_BOX_REST)
		return false;
	item = &pic->comparison.items[i];
	return !(pic->o->delta_self ? item->self.significant : item->total.significant);
}

static double max_delta_upto(const struct picture *pic, double max_width)
{
	double max = 0;

	for (uint32_t i = 0; i < pic->layout.nr_boxes; i++) {
		const struct flame_box *box = &pic->layout.boxes[i];
		double delta = fabs(box_delta(pic, box));

		if (box->flags & (FLAME_BOX_REST | FLAME_BOX_GONE) ||
		    (double)box->width > max_width || svg_is_noise(pic, i))
			continue;
		if (delta > max)
			max = delta;
	}
	return max;
}

/*
 * Frames that are nearly the whole mostly tell that the totals differ, and would make all others
 * pale: they are left out, and get the full colour where they changed more than any other.
 */
double svg_max_delta(const struct picture *pic)
{
	double max = max_delta_upto(pic, NEARLY_ALL * (double)pic->layout.width);

	if (!(max > 0))
		max = max_delta_upto(pic, (double)pic->layout.width);
	return max > 0 ? max : 1;
}

static struct flame_rgb palette_color(struct picture *pic, struct flame_span name,
				      enum flame_kind kind)
{
	double v[3];

	flame_color_numbers(pic->source, name, kind, &pic->random, v);
	return flame_palette_color(pic->palette, name, kind, v);
}

static int mapped_color(struct picture *pic, struct flame_span name, enum flame_kind kind,
			struct flame_rgb *color)
{
	if (flame_color_map_get(pic->map, name, kind, color))
		return 0;
	*color = palette_color(pic, name, kind);
	return flame_color_map_set(pic->map, name, kind, *color);
}

/* Behind a separator "--" come the stacks of the threads that woke the one before it. */
static bool is_waker(const struct picture *pic, const struct flame_box *box)
{
	while (box->depth) {
		struct flame_span name;

		box = &pic->layout.boxes[box->caller];
		name = box_name(pic, box);
		if (name.len == 2 && !memcmp(name.s, "--", 2))
			return true;
	}
	return false;
}

/* What is more than noise does not fade into it, however small it is. */
static struct flame_rgb delta_color(const struct picture *pic, const struct flame_box *box)
{
	double delta = box_delta(pic, box), least = pic->max_delta / 4;

	/* Of the callers of what is gone there is nothing to tell. */
	if (pic->o->view == FLAME_VIEW_ELIDED || svg_is_noise(pic, (uint32_t)(box - pic->layout.boxes)))
		return flame_color_noise();
	if (pic->comparison.nr_items && fabs(delta) > 0 && fabs(delta) < least)
		delta = delta < 0 ? -least : least;
	return flame_color_delta(pic->o->delta_colors, delta, pic->max_delta);
}

static int box_color(struct picture *pic, const struct flame_box *box, struct flame_rgb *color)
{
	/* flamegraph.pl's root has an empty name, and its shade. */
	struct flame_span name = box->frame ? box_name(pic, box) : svg_span("");
	enum flame_kind kind = box->frame || pic->by_kind ? box_kind(pic, box) : FLAME_USER;

	if (flame_color_marker(name, color))
		return 0;
	if (pic->o->before) {
		*color = delta_color(pic, box);
		return 0;
	}
	if (pic->o->colors && !strcmp(pic->o->colors, "chain") && is_waker(pic, box))
		kind = FLAME_WAKER;
	if (pic->map)
		return mapped_color(pic, name, kind, color);
	*color = palette_color(pic, name, kind);
	return 0;
}

static char *put_count(struct picture *pic, char *d, int64_t value)
{
	if (pic->factor == 1 && !pic->decimals)
		return svg_put_grouped_int(d, value);
	flame_out_took(&pic->out, d);
	svg_count(pic, value);
	return flame_out_reserve(&pic->out, BOX_ROOM);
}

/* A name as it stands in the profile, or what is short of it. */
static char *put_name(struct picture *pic, char *d, struct flame_span name)
{
	if (name.len <= NAME_ROOM)
		return svg_put_escaped(d, name);
	flame_out_took(&pic->out, d);
	svg_escaped(&pic->out, name);
	return flame_out_reserve(&pic->out, BOX_ROOM);
}

static char *put_count_and_share(struct picture *pic, char *d, int64_t value)
{
	d = put_count(pic, d, value);
	*d++ = ' ';
	d = put_name(pic, d, svg_span(pic->countname));
	d = svg_put_string(d, ", ");
	d = svg_put_percent(d, svg_share(pic, value));
	*d = '%';
	return d + 1;
}

/* The change of the count, and that of the share or of the count as a part of all that is now. */
/* In percent of what there was then; under --total of that, as the share now, so that the change lies between them. */
static double share_before(const struct picture *pic, int64_t before)
{
	if (pic->base > pic->layout.total)
		return 100 * (double)before * pic->ratio / (double)pic->base;
	return 100 * (double)before / (double)pic->layout.before;
}

static void put_delta(struct picture *pic, const char *what, int64_t now, int64_t before)
{
	int64_t delta = pic->o->negate ? before - now : now - before;
	double part = pic->base > 0 ? 100 * change(pic, now, before) / (double)pic->base : 0;

	flame_out_string(&pic->out, what);
	flame_out_string(&pic->out, delta > 0 ? "+" : "");
	svg_count(pic, delta);
	flame_out_string(&pic->out, part > 0 ? ", +" : ", ");
	svg_percent(&pic->out, part);
	flame_out_string(&pic->out, "%");
}

static void put_verdict(struct picture *pic, const struct flame_box *box)
{
	if (pic->comparison.nr_items)
		flame_out_string(&pic->out, svg_is_noise(pic, (uint32_t)(box - pic->layout.boxes)) ? "; within noise" : "; significant");
}

/* Before, and the change of the total and of the frame itself, in parts of all that is now. */
static void put_deltas(struct picture *pic, const struct flame_box *box)
{
	struct flame_out *out = &pic->out;

	if (box->before_total) {
		flame_out_string(out, pic->o->negate ? "; after " : "; before ");
		svg_count(pic, box->before_total);
		flame_out_string(out, ", ");
		svg_percent(out, share_before(pic, box->before_total));
		flame_out_string(out, "%");
	} else {
		flame_out_string(out, pic->o->negate ? "; gone" : "; new");
	}
	put_delta(pic, "; change ", box->total, box->before_total);
	put_delta(pic, "; self ", box->self, box->before_self);
	put_verdict(pic, box);
}

static void put_gone_title(struct picture *pic, const struct flame_box *box)
{
	flame_out_string(&pic->out, "1 frame too narrow now: ");
	svg_escaped(&pic->out, box_name(pic, box));
	flame_out_string(&pic->out, " (gone; before ");
	svg_count(pic, box->before_total);
	flame_out_string(&pic->out, " ");
	svg_escaped(&pic->out, svg_span(pic->countname));
	flame_out_string(&pic->out, ", ");
	/* Of what there was before: there is nothing of it now. */
	svg_percent(&pic->out, share_before(pic, box->before_total));
	flame_out_string(&pic->out, "%");
	put_verdict(pic, box);
	flame_out_string(&pic->out, ")");
}

static void put_all_title(struct picture *pic)
{
	flame_out_string(&pic->out, "all (");
	svg_count(pic, pic->base);
	flame_out_string(&pic->out, " ");
	svg_escaped(&pic->out, svg_span(pic->countname));
	flame_out_string(&pic->out, ", 100%)");
}

static char *put_rest_name(char *d, const struct flame_box *box)
{
	d = svg_put_grouped_int(d, box->nr_frames);
	d = svg_put_string(d, box->nr_frames == 1 ? " frame " : " frames ");
	return svg_put_string(d, box->flags & FLAME_BOX_DEEP ? "deeper" : "too narrow");
}

static void put_rest_title(struct picture *pic, const struct flame_box *box)
{
	char *d = put_rest_name(flame_out_reserve(&pic->out, BOX_ROOM), box);

	d = svg_put_string(d, " (");
	d = put_count_and_share(pic, d, box->total);
	*d = ')';
	flame_out_took(&pic->out, d + 1);
}

static char *put_frame_title(struct picture *pic, char *d, const struct flame_box *box)
{
	d = put_name(pic, d, box_name(pic, box));
	d = svg_put_string(d, " (");
	d = put_count_and_share(pic, d, box->total);
	if (pic->o->before) {
		flame_out_took(&pic->out, d);
		put_deltas(pic, box);
		d = flame_out_reserve(&pic->out, BOX_ROOM);
	}
	*d = ')';
	return d + 1;
}

static char *put_title(struct picture *pic, char *d, const struct flame_box *box)
{
	d = svg_put_string(d, "<title>");
	if (box->frame && !(box->flags & FLAME_BOX_GONE)) {
		d = put_frame_title(pic, d, box);
	} else {
		flame_out_took(&pic->out, d);
		if (box->flags & FLAME_BOX_GONE)
			put_gone_title(pic, box);
		else if (box->flags & FLAME_BOX_REST)
			put_rest_title(pic, box);
		else
			put_all_title(pic);
		d = flame_out_reserve(&pic->out, BOX_ROOM);
	}
	return svg_put_string(d, "</title>");
}

static char *put_values(char *d, const int64_t *values, size_t nr)
{
	d = svg_put_string(d, " data-v=\"");
	for (size_t i = 0; i < nr; i++) {
		d = svg_put_int(d, values[i]);
		*d++ = ' ';
	}
	d[-1] = '"';
	return d;
}

static char *put_group(const struct picture *pic, char *d, const struct flame_box *box)
{
	int64_t values[] = { box->start, box->width, box->total, box->self, box->depth,
			     box->before_total, box->before_self };
	char class = box->flags & FLAME_BOX_GONE ? 'g' : box->flags & FLAME_BOX_REST ? 'r' : 'f';

	if (!box->frame && !(box->flags & FLAME_BOX_REST) && pic->layout.width < pic->base)
		values[2] = pic->base;
	if (!box->frame && !(box->flags & FLAME_BOX_REST) && pic->layout.width < pic->extent)
		values[1] = pic->extent;
	d = svg_put_string(d, "<g class=\"");
	*d++ = class;
	if (svg_is_noise(pic, (uint32_t)(box - pic->layout.boxes)))
		d = svg_put_string(d, " n");
	*d++ = '"';
	d = put_values(d, values, pic->o->before ? 7 : 5);
	*d = '>';
	return d + 1;
}

static char *put_attribute(char *d, const char *name, int64_t tenths)
{
	d = svg_put_tenths(svg_put_string(d, name), tenths);
	*d = '"';
	return d + 1;
}

int svg_box_fill(struct picture *pic, const struct flame_box *box, struct fill *fill)
{
	char *d = svg_put_string(fill->text, " fill=\"rgb(");
	int err = box_color(pic, box, &fill->color);

	d = svg_put_int(d, fill->color.r);
	*d++ = ',';
	d = svg_put_int(d, fill->color.g);
	*d++ = ',';
	d = svg_put_int(d, fill->color.b);
	fill->len = (uint8_t)(svg_put_string(d, ")\"/>") - fill->text);
	return err;
}

/* Edges in tenths of a pixel: rounding edges, not widths, keeps neighbours flush. */
struct edges {
	int64_t left, width, top;
};

static struct edges box_edges(const struct picture *pic, const struct flame_box *box)
{
	bool is_all = !box->frame && !(box->flags & FLAME_BOX_REST);
	int64_t width = is_all && box->width < pic->extent ? pic->extent : box->width;
	int64_t left = llrint((double)box->start * pic->scale * 10);
	int64_t right = llrint((double)(box->start + width) * pic->scale * 10);
	uint32_t row = pic->o->inverted ? box->depth : pic->layout.max_depth - box->depth;

	return (struct edges){
		.left = SVG_XPAD * 10 + left,
		.width = right - left,
		.top = llrint((pic->top + row * pic->row) * 10),
	};
}

static char *put_rect(const struct picture *pic, char *d, const struct edges *e)
{
	d = put_attribute(d, "<rect x=\"", e->left);
	d = put_attribute(d, " y=\"", e->top);
	d = put_attribute(d, " width=\"", e->width >= GAP_FROM_TENTHS ? e->width - GAP_TENTHS : e->width);
	d = svg_put_string(d, pic->rect_end);
	return e->width >= ROUND_FROM_TENTHS ? svg_put_string(d, " rx=\"2\"") : d;
}

static char *put_label(struct picture *pic, char *d, const struct flame_box *box, const struct edges *e,
		       const struct fill *fill)
{
	bool rest = box->flags & FLAME_BOX_REST, cut;
	char text[REST_NAME_MAX];
	struct flame_span name = { text, 0 };

	if (rest)
		name.len = (size_t)(put_rest_name(text, box) - text);
	else
		name = box_name(pic, box);
	name.len = svg_text_fit(&pic->font, name, (double)e->width / 10 - 2 * LABEL_PAD, &cut);
	if (!name.len)
		return d;
	d = put_attribute(d, "<text x=\"", e->left + LABEL_PAD * 10);
	d = put_attribute(d, " y=\"", e->top + llrint((pic->row - 1) * 5 + pic->font.size * 3.6));
	if (!rest && !(box->flags & FLAME_BOX_GONE) && flame_color_is_dark(fill->color))
		d = svg_put_string(d, " fill=\"#fff\"");
	*d++ = '>';
	d = put_name(pic, d, name);
	return svg_put_string(d, cut ? "..</text>" : "</text>");
}

void svg_put_box(struct picture *pic, const struct flame_box *box, const struct fill *fill)
{
	struct edges e = box_edges(pic, box);
	char *d = flame_out_reserve(&pic->out, BOX_ROOM);

	d = put_group(pic, d, box);
	d = put_title(pic, d, box);
	d = put_rect(pic, d, &e);
	if (box->flags & FLAME_BOX_GONE)
		d = svg_put_string(d, svg_is_noise(pic, (uint32_t)(box - pic->layout.boxes)) ?
			 " fill=\"#ececec\" stroke=\"#aaa\" stroke-dasharray=\"3 2\"/>" :
			 " fill=\"url(#fg-gone)\" stroke=\"#6f8fc0\" stroke-dasharray=\"3 2\"/>");
	else if (box->flags & FLAME_BOX_REST)
		d = svg_put_string(d, " fill=\"url(#fg-rest)\"/>");
	else
		d = svg_put(d, fill->text, fill->len);
	d = put_label(pic, d, box, &e, fill);
	flame_out_took(&pic->out, svg_put_string(d, "</g>\n"));
}

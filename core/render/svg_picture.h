/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SVG_PICTURE_H
#define FLAME_SVG_PICTURE_H
/* What the parts of the SVG writer share: options with their defaults, and where things stand. */

#include "../compare.h"
#include "color.h"
#include "layout.h"
#include "svg.h"
#include "svg_text.h"

#define SVG_XPAD 10		/* pixels left and right of the frames, as flamegraph.pl's */
#define SVG_FLUID_WIDTH 1200	/* pixels that a fluid picture is laid out for */
#define SVG_MIN_WIDTH 0.1	/* pixels of a frame that is drawn, where the options do not say */
#define SVG_MAX_ROWS 10000	/* of frames: what is deeper is taken together, or the picture is too tall to be shown */
#define SVG_FEW_SAMPLES 100	/* fewer get a warning */
#define SVG_TITLE_EXTRA 5	/* pixels that the title is larger than the text */
#define SVG_BAR_HEIGHT 24	/* of the row that holds the total, reset and search */
#define SVG_SWATCH 10		/* of a legend entry */
#define SVG_LEGEND_GAP 14	/* pixels between two entries */
#define SVG_NR_REMARKS 5
#define SVG_REMARK_MAX 256
#define SVG_NR_LEGEND (FLAME_NR_KINDS + 1)

struct legend_entry {
	const char *label;
	const char *fill;	/* NULL: color */
	struct flame_rgb color;
};

/* A colour, and the attribute that it is. */
struct fill {
	struct flame_rgb color;
	uint8_t len;		/* 0: not known yet */
	char text[28];
};

struct picture {
	const struct flame_profile *p;
	const struct flame_svg_options *o;
	struct flame_layout layout;

	char default_title[48];
	const char *title, *countname, *nametype;
	uint32_t decimals;	/* values are thousandths where 3, and so on */
	uint32_t digits;	/* of these decimals, as many are shown */
	double factor;
	int64_t base;		/* 100 %, in values */
	double ratio;		/* of a differential: what counts before are multiplied with to compare shares; else 1 */
	int64_t extent;		/* that the whole width stands for */
	struct flame_comparison comparison;	/* of the boxes; no items where noise is not told from change */
	double min_total;	/* frames with less are not drawn */

	const struct flame_palette *palette;
	const char *background;	/* that goes with it */
	enum flame_color_source source;
	uint64_t random;
	struct flame_color_map *map;	/* NULL: no consistent palette */
	bool by_kind;		/* colours tell kinds */
	struct fill *frame_fills;	/* by frame; NULL: each box has its own */
	struct flame_job fills;		/* the worker finds them */
	bool fills_started;
	int fills_err;
	double max_delta;	/* of a differential, in values; above 0 */

	struct svg_font font;
	double width, row;
	char rect_end[48];	/* what all rectangles end in, but for their fill */
	double scale;		/* pixels a value */
	char remarks[SVG_NR_REMARKS][SVG_REMARK_MAX];	/* what the picture has to say of itself */
	size_t nr_remarks;
	double title_y, subtitle_y, bar_y, top, details_y, notes_y, legend_y, height;

	struct legend_entry legend[SVG_NR_LEGEND];
	size_t nr_legend;

	struct flame_worker *worker;	/* NULL: one thread is enough */
	struct flame_out out;
};

/*
 * Fill the zeroed @pic. The pointers stay the caller's, and have to outlive it.
 * Return: 0, or what flame_svg_write() returns. Release it in either case.
 */
int svg_picture_init(struct picture *pic, const struct flame_profile *p,
		     const struct flame_svg_options *options);
void svg_picture_release(struct picture *pic);
double svg_legend_width(const struct picture *pic, const struct legend_entry *e);
/* Return: true where there are so few samples that the widths say little. */
bool svg_is_low(const struct picture *pic);
/* Return: true where a second line is asked for: an empty one is none. */
bool svg_has_subtitle(const struct picture *pic);

/* Of a number as people read it: factor applied, decimals as short as exact. */
#define SVG_COUNT_MAX 512
void svg_count_text(const struct picture *pic, int64_t value, char text[SVG_COUNT_MAX]);
void svg_count(struct picture *pic, int64_t value);
/* Share of @value in the base, as flamegraph.pl computes it: from the number as shown. */
double svg_share(const struct picture *pic, int64_t value);
/* One frame with its title. Memory that lacks is told by pic->out.failed. */
void svg_put_box(struct picture *pic, const struct flame_box *box, const struct fill *fill);
/* Return: 0 or FLAME_ENOMEM. */
int svg_box_fill(struct picture *pic, const struct flame_box *box, struct fill *fill);
/* Once the colours are chosen: find fills of frames, meanwhile where there are many. Return: 0 or FLAME_ENOMEM. */
int svg_start_fills(struct picture *pic);
/* Wait for those that are found meanwhile. Return: 0 or FLAME_ENOMEM. */
int svg_end_fills(struct picture *pic);
/* All of the frames, each with its title. Return: 0 or FLAME_ENOMEM. */
int svg_write_boxes(struct picture *pic);
/* Return: true where the change that colours box number @i may be chance. */
bool svg_is_noise(const struct picture *pic, uint32_t i);
/* The change that gets the full colour: the largest of a drawn frame, above 0. */
double svg_max_delta(const struct picture *pic);

#endif

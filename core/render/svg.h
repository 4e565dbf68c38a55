/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SVG_H
#define FLAME_SVG_H
#include <stdio.h>

#include "../compare.h"
#include "../worker.h"
#include "color.h"

/* flamegraph.pl's options, with its names, meanings and defaults where not said otherwise. */
struct flame_svg_options {
	const char *title;	/* NULL: "Flame Graph", "Icicle Graph" or "Flame Chart" */
	const char *subtitle;	/* NULL: none */
	const char *countname;	/* NULL: "samples" */
	const char *nametype;	/* NULL: "Function:" */
	const char *fonttype;	/* NULL: Verdana and what is like it */
	const char *colors;	/* palette; NULL: "auto": by frame kinds where the profile has them, else "hot" */
	const char *bgcolors;	/* NULL: what goes with the palette */
	const char *notes;	/* NULL: none; written as a comment */
	double width;		/* 0: fluid: as wide as the page, laid out for 1200 */
	double height;		/* of a row; 0: 16 */
	double minwidth;	/* pixels, or percent where minwidth_percent; negative: 0.1 pixels */
	bool minwidth_percent;
	double fontsize;	/* 0: 12 */
	double fontwidth;	/* mean advance as a fraction of fontsize; 0: from measured widths */
	double factor;		/* counts are shown times this; 0: 1 */
	int64_t total;		/* base of percentages, times 10^total_scale; 0, or less than the sum: the sum */
	uint32_t total_scale;
	flame_type type;	/* value type to draw; 0: the profile's first */
	flame_type before;	/* not 0: differential: change from this type to the other */
	bool hash;		/* colours by name hash */
	bool random;		/* a fresh colour for each frame (not reproducible) */
	unsigned int threads;	/* that may be used; up to 1: none but the caller's */
	struct flame_job *also;	/* that may be done meanwhile; where no thread was used nobody has begun it. NULL: none */
	const char *palette_map;/* consistent palette: file to read and write back (flamegraph.pl --cp); NULL: none */
	bool inverted;		/* root on top */
	bool in_order;		/* flame chart */
	bool negate;		/* of a differential: swap the colours */
	bool delta_self;	/* of a differential: colour by change of the frame itself, not of all in it */
	enum flame_view view;	/* of a differential: what the widths are */
	enum flame_delta_colors delta_colors;
	const struct flame_diff *diff;	/* of the differential, so that noise is told from change; NULL: all is coloured */
	struct flame_compare_options compare;	/* by_count: what changes is the count; else the share */
};

/* Return: true where @name is a palette ("auto" among them). */
bool flame_palette_known(const char *name);
/* Return: true where @name is a background's name. */
bool flame_background_known(const char *name);
/* Names of all palettes, ended by NULL. */
extern const char *const flame_palette_names[];

/*
 * Write @p as one self-contained SVG document to @out.
 * Return: 0; FLAME_EARG for an unknown palette or a number out of range; what flame_layout_init()
 * returns; FLAME_EIO where @out has an error.
 */
int flame_svg_write(const struct flame_profile *p, const struct flame_svg_options *options, FILE *out);

#endif

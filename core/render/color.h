/* SPDX-License-Identifier: MIT */
#ifndef FLAME_COLOR_H
#define FLAME_COLOR_H
/*
 * Colours of frames: flamegraph.pl's palettes, bit for bit, and inferno's python and rust. A
 * palette turns a name and three numbers in [0,1) into a colour.
 */
#include "../flame.h"

struct flame_rgb {
	uint8_t r, g, b;
};

struct flame_palette;

/* Return: the palette @name, or NULL. "auto" is one: by frame kinds. */
const struct flame_palette *flame_palette_find(const char *name);
/* Return: the background that goes with @palette, one of flame_background_find()'s names. */
const char *flame_palette_background(const struct flame_palette *palette);

/* A vertical gradient. */
struct flame_background {
	const char *name;
	const char *top, *bottom;	/* "#rrggbb" */
};

/* Return: the background @name, or NULL. */
const struct flame_background *flame_background_find(const char *name);

/* Where the three numbers come from. */
enum flame_color_source {
	FLAME_COLOR_NAME,	/* the sum of code points seeds drand48(); all three are equal */
	FLAME_COLOR_HASH,	/* flamegraph.pl --hash: similar beginnings, similar colours */
	FLAME_COLOR_RANDOM,
};

/*
 * Fill @v for a frame's @name and @kind. flamegraph.pl sees kinds as suffixes of the name, and so
 * do the numbers. @state is the random source's, unused otherwise.
 */
void flame_color_numbers(enum flame_color_source source, struct flame_span name,
			 enum flame_kind kind, uint64_t *state, double v[3]);

struct flame_rgb flame_palette_color(const struct flame_palette *palette, struct flame_span name,
				     enum flame_kind kind, const double v[3]);

/* Separators between stacks, which no palette colours. Return: true where @name is one. */
bool flame_color_marker(struct flame_span name, struct flame_rgb *color);

/* Colours of a differential: of more, and of less. */
enum flame_delta_colors {
	FLAME_DELTA_RED_BLUE,
	FLAME_DELTA_ORANGE_BLUE,	/* told apart by all kinds of colour blindness, and by their lightness */
};

/* Of a differential: one colour for more, one for less, white for equal; @max > 0 is the full colour. */
struct flame_rgb flame_color_delta(enum flame_delta_colors colors, double delta, double max);
/* What is within noise. */
struct flame_rgb flame_color_noise(void);

/* Return: true where white text on @color reads better than black. */
bool flame_color_is_dark(struct flame_rgb color);

/*
 * flamegraph.pl's --cp: a file of lines `name->rgb(r,g,b)` that keeps colours from run to run.
 */
struct flame_color_map;

/* Return: the map in @path, an empty one where there is no such file; NULL, with errno, where it cannot be read. */
struct flame_color_map *flame_color_map_load(const char *path);
/* @map may be NULL. */
void flame_color_map_free(struct flame_color_map *map);
/* The colour of @name and @kind; false where there is none. */
bool flame_color_map_get(struct flame_color_map *map, struct flame_span name, enum flame_kind kind,
			 struct flame_rgb *color);
/* Return: 0 or FLAME_ENOMEM. */
int flame_color_map_set(struct flame_color_map *map, struct flame_span name, enum flame_kind kind,
			struct flame_rgb color);
/* Write @map to @path, sorted by name. Return: 0, FLAME_ENOMEM or FLAME_EIO. */
int flame_color_map_save(const struct flame_color_map *map, const char *path);

#endif

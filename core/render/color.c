/* SPDX-License-Identifier: MIT */
/*
 * color.c - palettes, and the numbers that vary their colours.
 */
#define _GNU_SOURCE	/* memmem() */
#include "color.h"

#include <math.h>
#include <string.h>

#include "svg.h"
#include "../utf8.h"

/* A channel is base + int(range * v[which]); flat palettes use v[0] for all. */
struct channel {
	uint8_t base, range, which;
};

struct hue {
	struct channel r, g, b;
};

enum hue_name {
	HUE_HOT,
	HUE_MEM,
	HUE_IO,
	HUE_RED,
	HUE_GREEN,
	HUE_BLUE,
	HUE_YELLOW,
	HUE_PURPLE,
	HUE_AQUA,
	HUE_ORANGE,
	/* not flamegraph.pl's: one a kind of frame */
	HUE_USER,
	HUE_KERNEL,
	HUE_INLINED,
	HUE_JIT,
	HUE_INTERPRETED,
	HUE_C1,
	HUE_WAKER,
	HUE_TASK,
	HUE_MARKER,
};

static const struct hue hues[] = {
	[HUE_HOT] = { { 205, 50, 2 }, { 0, 230, 0 }, { 0, 55, 1 } },
	[HUE_MEM] = { { 0, 0, 0 }, { 190, 50, 1 }, { 0, 210, 0 } },
	[HUE_IO] = { { 80, 60, 0 }, { 80, 60, 0 }, { 190, 55, 1 } },
	[HUE_RED] = { { 200, 55, 0 }, { 50, 80, 0 }, { 50, 80, 0 } },
	[HUE_GREEN] = { { 50, 60, 0 }, { 200, 55, 0 }, { 50, 60, 0 } },
	[HUE_BLUE] = { { 80, 60, 0 }, { 80, 60, 0 }, { 205, 50, 0 } },
	[HUE_YELLOW] = { { 175, 55, 0 }, { 175, 55, 0 }, { 50, 20, 0 } },
	[HUE_PURPLE] = { { 190, 65, 0 }, { 80, 60, 0 }, { 190, 65, 0 } },
	[HUE_AQUA] = { { 50, 60, 0 }, { 165, 55, 0 }, { 165, 55, 0 } },
	[HUE_ORANGE] = { { 190, 65, 0 }, { 90, 65, 0 }, { 0, 0, 0 } },
	[HUE_USER] = { { 232, 20, 0 }, { 104, 62, 0 }, { 84, 40, 0 } },
	[HUE_KERNEL] = { { 240, 14, 0 }, { 160, 36, 0 }, { 60, 40, 0 } },
	[HUE_INLINED] = { { 84, 44, 0 }, { 186, 26, 0 }, { 196, 26, 0 } },
	[HUE_JIT] = { { 100, 46, 0 }, { 188, 30, 0 }, { 96, 40, 0 } },
	[HUE_INTERPRETED] = { { 178, 24, 0 }, { 216, 16, 0 }, { 164, 26, 0 } },
	[HUE_C1] = { { 194, 24, 0 }, { 206, 20, 0 }, { 88, 36, 0 } },
	[HUE_WAKER] = { { 156, 30, 0 }, { 164, 26, 0 }, { 228, 18, 0 } },
	[HUE_TASK] = { { 206, 16, 0 }, { 196, 16, 0 }, { 184, 16, 0 } },
	[HUE_MARKER] = { { 190, 0, 0 }, { 190, 0, 0 }, { 190, 0, 0 } },
};

static uint8_t mix(struct channel c, const double v[3])
{
	return (uint8_t)(c.base + (int)(c.range * v[c.which]));
}

static struct flame_rgb paint(enum hue_name name, const double v[3])
{
	const struct hue *h = &hues[name];

	return (struct flame_rgb){ mix(h->r, v), mix(h->g, v), mix(h->b, v) };
}

static bool contains(struct flame_span name, const char *what)
{
	return memmem(name.s, name.len, what, strlen(what)) != NULL;
}

static bool begins(struct flame_span name, const char *with)
{
	size_t len = strlen(with);

	return name.len >= len && memcmp(name.s, with, len) == 0;
}

static bool begins_with_any(struct flame_span name, const char *const *with)
{
	for (; *with; with++) {
		if (begins(name, *with))
			return true;
	}
	return false;
}

static bool is_inlined(enum flame_kind kind)
{
	return kind == FLAME_INLINED || kind == FLAME_JIT_INLINED;
}

/* java/lang/String, and with the L of a descriptor Ljava/lang/String */
static bool is_java_package(struct flame_span name)
{
	static const char *const roots[] = {
		"java/", "javax/", "jdk/", "net/", "org/", "com/", "io/", "sun/", NULL,
	};

	if (begins_with_any(name, roots))
		return true;
	return begins(name, "L") &&
	       begins_with_any((struct flame_span){ name.s + 1, name.len - 1 }, roots);
}

static enum hue_name pick_java(struct flame_span name, enum flame_kind kind)
{
	if (kind == FLAME_JIT)
		return HUE_GREEN;
	if (is_inlined(kind))
		return HUE_AQUA;
	if (is_java_package(name) || contains(name, ":::"))
		return HUE_GREEN;
	if (contains(name, "::"))
		return HUE_YELLOW;
	return kind == FLAME_KERNEL ? HUE_ORANGE : HUE_RED;
}

static bool is_js_file(struct flame_span name)
{
	const char *slash = memchr(name.s, '/', name.len);

	return slash &&
	       contains((struct flame_span){ slash, (size_t)(name.s + name.len - slash) }, ".js");
}

static enum hue_name pick_js(struct flame_span name, enum flame_kind kind)
{
	if (kind == FLAME_JIT)
		return contains(name, "/") ? HUE_GREEN : HUE_AQUA;
	if (contains(name, "::"))
		return HUE_YELLOW;
	if (is_js_file(name))
		return HUE_GREEN;
	if (contains(name, ":"))
		return HUE_AQUA;
	if (name.len == 1 && *name.s == ' ' && !*flame_kind_suffix(kind))
		return HUE_GREEN;
	return kind == FLAME_KERNEL ? HUE_ORANGE : HUE_RED;
}

static enum hue_name pick_perl(struct flame_span name, enum flame_kind kind)
{
	if (contains(name, "::"))
		return HUE_YELLOW;
	if (contains(name, "Perl") || contains(name, ".pl"))
		return HUE_GREEN;
	return kind == FLAME_KERNEL ? HUE_ORANGE : HUE_RED;
}

static bool is_version(struct flame_span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr("0123456789.", s.s[i]) || !s.s[i])
			return false;
	}
	return true;
}

/* python, Python3, python3.11 */
static bool is_python_folder(struct flame_span part)
{
	if (!begins(part, "python") && !begins(part, "Python"))
		return false;
	return is_version((struct flame_span){ part.s + 6, part.len - 6 });
}

static bool is_site_packages(struct flame_span part)
{
	return part.len == 13 && begins(part, "site-packages");
}

static bool any_part(struct flame_span name, bool (*is)(struct flame_span part))
{
	size_t start = 0;

	for (size_t i = 0; i <= name.len; i++) {
		if (i < name.len && name.s[i] != '/' && name.s[i] != '\\')
			continue;
		if (is((struct flame_span){ name.s + start, i - start }))
			return true;
		start = i + 1;
	}
	return false;
}

static enum hue_name pick_python(struct flame_span name, enum flame_kind kind)
{
	static const char *const builtin[] = { "<built-in", "<method", "<frozen", NULL };

	(void)kind;
	if (any_part(name, is_site_packages))
		return HUE_AQUA;
	if (any_part(name, is_python_folder) || begins_with_any(name, builtin))
		return HUE_YELLOW;
	return HUE_RED;
}

static enum hue_name pick_rust(struct flame_span name, enum flame_kind kind)
{
	static const char *const library[] = {
		"core::", "std::", "alloc::", "<core::", "<std::", "<alloc::", NULL,
	};
	const char *tick = memchr(name.s, '`', name.len);

	(void)kind;
	if (tick)
		name = (struct flame_span){ tick + 1, (size_t)(name.s + name.len - tick - 1) };
	/* What an async block of the program itself compiles to. */
	if (begins_with_any(name, library) &&
	    !begins(name, "<core::future::from_generator::GenFuture<T>"))
		return HUE_ORANGE;
	return contains(name, "::") ? HUE_AQUA : HUE_YELLOW;
}

static enum hue_name pick_chain(struct flame_span name, enum flame_kind kind)
{
	return kind == FLAME_WAKER || contains(name, "_[w]") ? HUE_AQUA : HUE_BLUE;
}

static enum hue_name pick_kind(struct flame_span name, enum flame_kind kind)
{
	static const enum hue_name by_kind[FLAME_NR_KINDS] = {
		[FLAME_USER] = HUE_USER, [FLAME_KERNEL] = HUE_KERNEL, [FLAME_INLINED] = HUE_INLINED,
		[FLAME_JIT] = HUE_JIT, [FLAME_JIT_INLINED] = HUE_INLINED,
		[FLAME_INTERPRETED] = HUE_INTERPRETED,
		[FLAME_C1] = HUE_C1, [FLAME_WAKER] = HUE_WAKER, [FLAME_TASK] = HUE_TASK,
		[FLAME_MARKER] = HUE_MARKER,
	};

	(void)name;
	return by_kind[kind];
}

struct flame_palette {
	const char *background;
	enum hue_name (*pick)(struct flame_span name, enum flame_kind kind); /* NULL: always this */
	enum hue_name hue;
};

#define PALETTES \
	P(auto, "white", pick_kind, 0) \
	P(hot, "yellow", NULL, HUE_HOT) \
	P(mem, "green", NULL, HUE_MEM) \
	P(io, "blue", NULL, HUE_IO) \
	P(wakeup, "blue", NULL, HUE_AQUA) \
	P(chain, "blue", pick_chain, 0) \
	P(java, "yellow", pick_java, 0) \
	P(js, "yellow", pick_js, 0) \
	P(perl, "yellow", pick_perl, 0) \
	P(python, "yellow", pick_python, 0) \
	P(rust, "yellow", pick_rust, 0) \
	P(red, "grey", NULL, HUE_RED) \
	P(green, "grey", NULL, HUE_GREEN) \
	P(blue, "grey", NULL, HUE_BLUE) \
	P(aqua, "grey", NULL, HUE_AQUA) \
	P(yellow, "grey", NULL, HUE_YELLOW) \
	P(purple, "grey", NULL, HUE_PURPLE) \
	P(orange, "grey", NULL, HUE_ORANGE)

/* Two tables from one list: the names alone are public, and end with NULL. */
#define P(name, background, pick, hue) #name,
const char *const flame_palette_names[] = { PALETTES NULL };
#undef P
#define P(name, background, pick, hue) { background, pick, hue },
static const struct flame_palette palettes[] = { PALETTES };
#undef P

const struct flame_palette *flame_palette_find(const char *name)
{
	for (size_t i = 0; flame_palette_names[i]; i++) {
		if (strcmp(flame_palette_names[i], name) == 0)
			return &palettes[i];
	}
	return NULL;
}

bool flame_palette_known(const char *name)
{
	return flame_palette_find(name) != NULL;
}

const char *flame_palette_background(const struct flame_palette *palette)
{
	return palette->background;
}

struct flame_rgb flame_palette_color(const struct flame_palette *palette, struct flame_span name,
				     enum flame_kind kind, const double v[3])
{
	return paint(palette->pick ? palette->pick(name, kind) : palette->hue, v);
}

const struct flame_background *flame_background_find(const char *name)
{
	static const struct flame_background backgrounds[] = {
		{ "white", "#ffffff", "#ffffff" },
		{ "yellow", "#eeeeee", "#eeeeb0" },
		{ "blue", "#eeeeee", "#e0e0ff" },
		{ "green", "#eef2ee", "#e0ffe0" },
		{ "grey", "#f8f8f8", "#e8e8e8" },
	};

	for (size_t i = 0; i < sizeof(backgrounds) / sizeof(*backgrounds); i++) {
		if (strcmp(backgrounds[i].name, name) == 0)
			return &backgrounds[i];
	}
	return NULL;
}

bool flame_color_marker(struct flame_span name, struct flame_rgb *color)
{
	if (name.len == 0 || name.len > 2 || memcmp(name.s, "--", name.len) != 0)
		return false;
	*color = name.len == 2 ? (struct flame_rgb){ 160, 160, 160 }
			       : (struct flame_rgb){ 200, 200, 200 };
	return true;
}

/* From almost white to @full, @part of the way from the end. */
static uint8_t paled(uint8_t full, double part)
{
	double start = 210 + 45 * full / 255.0;

	return (uint8_t)(full + (start - full) * part);
}

struct flame_rgb flame_color_delta(enum flame_delta_colors colors, double delta, double max)
{
	static const struct {
		struct flame_rgb more, less;
	} full[] = {
		[FLAME_DELTA_RED_BLUE] = { { 255, 0, 0 }, { 0, 0, 255 } },
		[FLAME_DELTA_ORANGE_BLUE] = { { 230, 130, 0 }, { 0, 70, 160 } },
	};
	double size = fmin(fabs(delta), max), part = (max - size) / max;
	struct flame_rgb c = delta > 0 ? full[colors].more : full[colors].less;

	if (!(size > 0))
		return (struct flame_rgb){ 255, 255, 255 };
	return (struct flame_rgb){ paled(c.r, part), paled(c.g, part), paled(c.b, part) };
}

struct flame_rgb flame_color_noise(void)
{
	return (struct flame_rgb){ 226, 226, 226 };
}

/* Relative luminance of a channel, near enough: sRGB's curve as a square. */
static double light(uint8_t channel)
{
	return channel / 255.0 * (channel / 255.0);
}

bool flame_color_is_dark(struct flame_rgb c)
{
	/* White would suit half a hot palette better, but a mixture of both is restless. */
	return 0.2126 * light(c.r) + 0.7152 * light(c.g) + 0.0722 * light(c.b) < 0.125;
}

bool flame_background_known(const char *name)
{
	return flame_background_find(name);
}

/* SPDX-License-Identifier: MIT */
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *title;
} kinds[] = {
	[FLAME_VALUE_OTHER] = { "", "" },
	[FLAME_VALUE_ON_CPU] = { "on-cpu", "CPU " },
	[FLAME_VALUE_OFF_CPU] = { "off-cpu", "Off-CPU " },
	[FLAME_VALUE_WALL] = { "wall", "Wall-Clock " },
	[FLAME_VALUE_ALLOCATION] = { "allocation", "Allocation " },
	[FLAME_VALUE_LOCK] = { "lock", "Lock " },
};

#define NR_KINDS (sizeof(kinds) / sizeof(*kinds))

struct step {
	const char *name;
	double of_base;
};

/* The same units, by all names under which profilers have them, as whole numbers of the smallest. */
static const struct unit {
	const char *name;
	char dimension;
	int64_t size;
} units[] = {
	{ "ns", 't', 1 }, { "us", 't', 1000 }, { "ms", 't', 1000000 }, { "s", 't', 1000000000 },
	{ "min", 't', 60000000000 }, { "h", 't', 3600000000000 }, { "d", 't', 86400000000000 },
	{ "nanosecond", 't', 1 }, { "microsecond", 't', 1000 }, { "millisecond", 't', 1000000 },
	{ "second", 't', 1000000000 }, { "minute", 't', 60000000000 }, { "hour", 't', 3600000000000 },
	{ "nsec", 't', 1 }, { "usec", 't', 1000 }, { "\u00b5s", 't', 1000 }, { "\u03bcs", 't', 1000 },
	{ "msec", 't', 1000000 }, { "sec", 't', 1000000000 },
	{ "byte", 'b', 1 }, { "B", 'b', 1 },
	{ "KB", 'b', 1 << 10 }, { "kB", 'b', 1 << 10 }, { "KiB", 'b', 1 << 10 }, { "kilobyte", 'b', 1 << 10 },
	{ "MB", 'b', 1 << 20 }, { "MiB", 'b', 1 << 20 }, { "megabyte", 'b', 1 << 20 },
	{ "GB", 'b', 1 << 30 }, { "GiB", 'b', 1 << 30 }, { "gigabyte", 'b', 1 << 30 },
	{ "TB", 'b', 1ll << 40 }, { "TiB", 'b', 1ll << 40 }, { "terabyte", 'b', 1ll << 40 },
	{ "count", 'n', 1 }, { "sample", 'n', 1 },
};

static const struct step times[] = {
	{ "ns", 1e-9 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 }, { NULL, 0 },
};
static const struct step sizes[] = {
	{ "bytes", 1 }, { "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 }, { "TiB", 1099511627776 }, { NULL, 0 },
};

const char *flame_value_kind_name(enum flame_value_kind kind)
{
	return (size_t)kind < NR_KINDS ? kinds[kind].name : "";
}

const char *flame_value_kind_title(enum flame_value_kind kind)
{
	return (size_t)kind < NR_KINDS ? kinds[kind].title : "";
}

enum flame_value_kind flame_value_kind_find(struct flame_span name)
{
	for (size_t i = 1; i < NR_KINDS; i++) {
		if (strlen(kinds[i].name) == name.len && !memcmp(kinds[i].name, name.s, name.len))
			return (enum flame_value_kind)i;
	}
	return FLAME_VALUE_OTHER;
}

static const struct step *find_step(const struct step *steps, struct flame_span unit)
{
	for (; steps->name; steps++) {
		if (strlen(steps->name) == unit.len && !memcmp(steps->name, unit.s, unit.len))
			return steps;
	}
	return NULL;
}

static bool is_unit(const struct unit *u, struct flame_span name)
{
	size_t n = strlen(u->name);

	/* Words may be many; "ms" is no plural. */
	if (n > 3 && name.len == n + 1 && name.s[n] == 's')
		name.len = n;
	return name.len == n && !memcmp(name.s, u->name, n);
}

static const struct unit *find_unit(struct flame_span name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (is_unit(&units[i], name))
			return &units[i];
	}
	return NULL;
}

int64_t flame_unit_ratio(struct flame_span coarse, struct flame_span fine)
{
	const struct unit *c = find_unit(coarse), *f = find_unit(fine);

	if (coarse.len == fine.len && !memcmp(coarse.s, fine.s, fine.len))
		return 1;
	return c && f && c->dimension == f->dimension && c->size >= f->size ? c->size / f->size : 0;
}

bool flame_unit_counts(struct flame_span unit)
{
	const struct unit *u = find_unit(unit);

	return !unit.len || (u && u->dimension == 'n');
}

bool flame_amount(char text[FLAME_AMOUNT_MAX], int64_t value, uint32_t scale, struct flame_span unit)
{
	const struct step *steps = times, *step = find_step(times, unit);
	double v;

	text[0] = '\0';
	if (!step) {
		steps = sizes;
		step = find_step(sizes, unit);
	}
	if (!step)
		return false;
	v = (double)value * step->of_base / pow(10, scale);
	/* The largest step of which there is one, after rounding to three digits. */
	for (step = steps; step[1].name && fabs(v) >= step[1].of_base * 0.9995;)
		step++;
	v /= step->of_base;
	snprintf(text, FLAME_AMOUNT_MAX, "%.*f %s", fabs(v) >= 99.95 || step == sizes ? 0 : fabs(v) >= 9.995 ? 1 : 2, v, step->name);
	return true;
}

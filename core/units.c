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

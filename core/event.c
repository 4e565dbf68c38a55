/* SPDX-License-Identifier: MIT */
/*
 * event.c - which of a file's value types to use. Never a sum of several: they measure unlike things.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "event.h"

#define MAX_LISTED 40	/* events of which a message tells */

/* Events that are known by how their names begin. */
static const struct {
	const char *start;
	enum flame_value_kind kind;
	const char *unit;	/* of the period */
} events[] = {
	{ "cpu-clock", FLAME_VALUE_ON_CPU, "ns" },
	{ "task-clock", FLAME_VALUE_ON_CPU, "ns" },
	{ "cycles", FLAME_VALUE_ON_CPU, "" },
	{ "instructions", FLAME_VALUE_ON_CPU, "" },
	{ "cpu-cycles", FLAME_VALUE_ON_CPU, "" },
	{ "cpu_core/", FLAME_VALUE_ON_CPU, "" },
	{ "cpu_atom/", FLAME_VALUE_ON_CPU, "" },
	{ "ref-cycles", FLAME_VALUE_ON_CPU, "" },
	{ "offcpu-time", FLAME_VALUE_OFF_CPU, "ns" },
};

flame_type flame_event_type(struct flame_profile *p, struct flame_span name, bool has_period)
{
	struct flame_type_info info = { .name = flame_intern(p, name.s, name.len) };

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		size_t n = strlen(events[i].start);

		if (name.len < n || memcmp(name.s, events[i].start, n))
			continue;
		info.kind = events[i].kind;
		if (has_period)
			info.unit = flame_intern(p, events[i].unit, strlen(events[i].unit));
		break;
	}
	return flame_type_row(p, &info);
}

bool flame_is_outside_time(const struct flame_read_options *options, int64_t ns)
{
	double t = (double)ns / 1e9;

	if (options->time_from <= 0 && options->time_to <= 0)
		return false;
	return t < options->time_from || (options->time_to > 0 && t > options->time_to);
}

/* What may stand before a part of a name: "sched:", "jdk.", bpftrace's "@". */
static bool ends_package(const char *before)
{
	return *before == ':' || *before == '/' || *before == '.' || *before == '@';
}

/* @wanted names the whole of @name, or a part between '/' and ':' of it, or such a part without its package. */
static bool names(const char *wanted, struct flame_span name)
{
	size_t n = strlen(wanted);
	const char *at = name.s;

	while (n && (at = memmem(at, name.len - (size_t)(at - name.s), wanted, n))) {
		const char *end = at + n;

		if ((at == name.s || ends_package(at - 1)) &&
		    (end == name.s + name.len || *end == ':' || *end == '/' || end[-1] == '/' || end[-1] == ':'))
			return true;
		at++;
	}
	return false;
}

/* Return: how many samples each type has, in one pass, as there may be millions. Owned by the caller; NULL: no memory. */
static uint64_t *count_samples(const struct flame_profile *p)
{
	uint64_t *counts = calloc(flame_nr_types(p), sizeof(*counts));

	for (uint32_t i = 0; counts && i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		counts[s->type] += s->nr_samples;
	}
	return counts;
}

/* Return: the type called @event, or else named by it; one that has samples before one that has none. */
static flame_type find_type(const struct flame_profile *p, const uint64_t *counts, const char *event)
{
	flame_type found = 0;
	int best = 0;

	for (flame_type i = 1; i < flame_nr_types(p); i++) {
		struct flame_span name = flame_string_get(p, flame_type_get(p, i)->name);
		bool whole = name.len == strlen(event) && !memcmp(name.s, event, name.len);
		int rank = !whole && !names(event, name) ? 0 : 1 + whole + 2 * (counts[i] > 0);

		if (rank > best) {
			best = rank;
			found = i;
		}
	}
	return found;
}

/*
 * Return: "cycles (12 samples), instructions (3 samples)" without @except, and of many how many more there are; owned by the
 * caller; NULL without memory.
 */
static char *list_types(const struct flame_profile *p, const uint64_t *counts, flame_type except)
{
	char *text = NULL;
	size_t size, nr = 0;
	FILE *f = open_memstream(&text, &size);

	for (flame_type i = 1; f && i < flame_nr_types(p); i++) {
		struct flame_span name = flame_string_get(p, flame_type_get(p, i)->name);

		if (i == except || !counts[i] || ++nr > MAX_LISTED)
			continue;
		fprintf(f, "%s%.*s (%llu sample%s)", ftell(f) ? ", " : "", name.len ? (int)name.len : 7,
			name.len ? name.s : "unnamed", (unsigned long long)counts[i], counts[i] == 1 ? "" : "s");
	}
	if (f && nr > MAX_LISTED)
		fprintf(f, " and %zu more", nr - MAX_LISTED);
	if (f)
		fclose(f);
	return text;
}

/* Return: the first type that has samples; the first of all where none has. */
static flame_type first_type(const struct flame_profile *p, const uint64_t *counts)
{
	for (flame_type i = 1; i < flame_nr_types(p); i++) {
		if (counts[i])
			return i;
	}
	return 1;
}

flame_type flame_choose_type(const struct flame_profile *p, const char *event, struct flame_diag *diag)
{
	uint64_t *counts = count_samples(p);
	flame_type type = !counts ? 0 : event ? find_type(p, counts, event) : first_type(p, counts);
	char *others = counts ? list_types(p, counts, type) : NULL;
	struct flame_span name;

	free(counts);
	if (!counts) {
		flame_diag_add(diag, FLAME_ERROR, "%s", flame_strerror(FLAME_ENOMEM));
	} else if (!type) {
		flame_diag_add(diag, FLAME_ERROR, "no event '%s' in the input; it has %s", event, others ? others : "others");
	} else if (!event && others && *others) {
		name = flame_string_get(p, flame_type_get(p, type)->name);
		flame_diag_add(diag, FLAME_NOTE, "using %.*s only; not added to it: %s. --event NAME chooses",
			       name.len ? (int)name.len : 15, name.len ? name.s : "what has no name", others ? others : "others");
	}
	free(others);
	return type;
}

void flame_explain_zero(const struct flame_profile *p, flame_type type, struct flame_diag *diag)
{
	struct flame_span name = flame_string_get(p, flame_type_get(p, type)->name);
	uint64_t *counts = count_samples(p);
	char *others = counts ? list_types(p, counts, type) : NULL;

	if (!others || !*others)
		flame_diag_add(diag, FLAME_ERROR, "%u stack%s, but their total is 0: the process was idle or the run too short",
			       flame_nr_samples(p), flame_nr_samples(p) == 1 ? "" : "s");
	else if (counts[type])
		flame_diag_add(diag, FLAME_ERROR, "the total of %.*s is 0: --count counts its %llu sample%s; there are also %s. --event NAME chooses",
			       (int)name.len, name.s, (unsigned long long)counts[type], counts[type] == 1 ? "" : "s", others);
	else
		flame_diag_add(diag, FLAME_ERROR, "no samples of %.*s; there are %s. --event NAME chooses", (int)name.len,
			       name.s, others);
	free(counts);
	free(others);
}

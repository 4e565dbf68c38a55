/* SPDX-License-Identifier: MIT */
/*
 * pprof_frames.c - names of frames and value types, the same for all of pprof's formats.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/demangle.h"
#include "../core/folded.h"
#include "../core/namer.h"
#include "../core/span.h"
#include "../core/table.h"
#include "../core/tidy.h"
#include "pprof.h"

#define EXTRA 64	/* bytes that a name may gain: an address, a line number, brackets */

static struct flame_span base_name(struct flame_span path)
{
	const char *slash;

	span_cut_deleted(&path);
	slash = memrchr(path.s, '/', path.len);
	if (!slash || slash + 1 == path.s + path.len)
		return path;
	return (struct flame_span){ slash + 1, path.len - (size_t)(slash + 1 - path.s) };
}

static bool is_kernel(struct flame_span module)
{
	return span_starts(module, "[kernel") || span_starts(module, "[guest.kernel") ||
	       span_starts(base_name(module), "vmlinux");
}

static bool reserve(struct pprof_scratch *scratch, size_t len)
{
	return array_reserve((void **)&scratch->bytes, &scratch->room, len, 1);
}

/* As for perf: "[libc.so.6]", under --addrs "[libc.so.6 <7f12>]"; without a module the address. */
static size_t unknown_name(const struct flame_reader *rd, char *to, const struct pprof_place *place)
{
	char text[20];
	struct flame_span base = base_name(place->module), address = { text, 0 };

	if (!base.len && !place->address)
		return (size_t)(stpcpy(to, "[unknown]") - to);
	if (!base.len && !rd->options->addrs)
		return (size_t)sprintf(to, "0x%llx", (unsigned long long)place->address);
	if (rd->options->addrs)
		address.len = (size_t)sprintf(text, "%llx", (unsigned long long)place->address);
	return flame_unknown_name(to, base, address);
}

/* Return: the length of the name that is now in @scratch; 0 without memory. */
static size_t known_name(const struct flame_reader *rd, struct pprof_scratch *scratch, struct flame_span symbol)
{
	const struct flame_read_options *o = rd->options;
	enum flame_tidy_language language = o->demangle ? FLAME_TIDY_RUST : FLAME_TIDY_NATIVE;
	struct flame_span base = scratch->shown ? symbol : flame_tidy_offset(symbol), name = base;
	char *demangled = NULL;

	/* A thread's name is no function's: nothing in it is an argument list. */
	if (symbol.len && flame_thread_frame(symbol) == symbol.len) {
		if (!reserve(scratch, symbol.len + EXTRA))
			return 0;
		memcpy(scratch->bytes, symbol.s, symbol.len);
		return symbol.len;
	}
	if (o->demangle && flame_demangle(base, &demangled))
		name = (struct flame_span){ demangled, strlen(demangled) };
	if (!reserve(scratch, name.len + symbol.len + EXTRA)) {
		free(demangled);
		return 0;
	}
	name = o->raw_names || scratch->shown ? flame_tidy_raw(name, scratch->bytes) : flame_tidy_name(name, language, scratch->bytes);
	memmove(scratch->bytes, name.s, name.len);
	free(demangled);
	if (!o->offsets)
		return name.len;
	memcpy(scratch->bytes + name.len, symbol.s + base.len, symbol.len - base.len);
	return name.len + symbol.len - base.len;
}

/* Behind the name: ":file.c:12" under --srcline, ":12" under --lines. */
static size_t add_line(const struct flame_reader *rd, char *to, const struct pprof_place *place)
{
	struct flame_span file = base_name(place->file);
	char *end = to;

	if (rd->options->srcline && file.len) {
		*end++ = ':';
		end = mempcpy(end, file.s, file.len);
	}
	if ((rd->options->srcline || rd->options->lines) && place->line > 0)
		end += sprintf(end, ":%lld", (long long)place->line);
	return (size_t)(end - to);
}

flame_frame pprof_frame(struct flame_reader *rd, struct pprof_scratch *scratch, const struct pprof_place *place)
{
	struct flame_frame_info info = { .kind = place->kind };
	struct flame_span name;
	size_t len;

	if (place->name.len) {
		len = known_name(rd, scratch, place->name);
		if (!len || !reserve(scratch, len + place->file.len + EXTRA))
			return 0;
		len += add_line(rd, scratch->bytes + len, place);
	} else {
		if (!reserve(scratch, place->module.len + EXTRA))
			return 0;
		len = unknown_name(rd, scratch->bytes, place);
	}
	if (info.kind == FLAME_USER && is_kernel(place->module))
		info.kind = FLAME_KERNEL;
	name = (struct flame_span){ scratch->bytes, len };
	if (flame_thread_frame(name) != len)
		name = flame_tidy_raw(name, scratch->bytes);
	info.name = flame_intern(rd->profile, name.s, name.len);
	info.module = flame_intern(rd->profile, place->module.s, place->module.len);
	info.file = flame_intern(rd->profile, place->file.s, place->file.len);
	if (place->line > 0 && place->line <= UINT32_MAX)
		info.line = (uint32_t)place->line;
	return flame_frame_row(rd->profile, &info);
}

flame_frame pprof_label_frame(struct flame_reader *rd, struct pprof_scratch *scratch, struct flame_span text)
{
	struct flame_frame_info info = { .kind = FLAME_TASK };
	struct flame_span name = text.len ? text : PPROF_SPAN("[unknown]");

	if (!reserve(scratch, name.len + 1))
		return 0;
	name = flame_tidy_raw(name, scratch->bytes);
	info.name = flame_intern(rd->profile, name.s, name.len);
	return flame_frame_row(rd->profile, &info);
}

/* Value types. */

/* By how the type's name begins; the first that fits. */
enum flame_value_kind pprof_value_kind(struct flame_span name)
{
	static const struct { const char *start; enum flame_value_kind kind; } kinds[] = {
		{ "cpu", FLAME_VALUE_ON_CPU }, { "samples", FLAME_VALUE_ON_CPU }, { "cycles", FLAME_VALUE_ON_CPU },
		{ "wall", FLAME_VALUE_WALL }, { "offcpu", FLAME_VALUE_OFF_CPU }, { "off-cpu", FLAME_VALUE_OFF_CPU },
		{ "alloc", FLAME_VALUE_ALLOCATION }, { "inuse", FLAME_VALUE_ALLOCATION },
		{ "heap", FLAME_VALUE_ALLOCATION }, { "space", FLAME_VALUE_ALLOCATION },
		{ "objects", FLAME_VALUE_ALLOCATION }, { "contentions", FLAME_VALUE_LOCK },
		{ "delay", FLAME_VALUE_LOCK }, { "lock", FLAME_VALUE_LOCK }, { "mutex", FLAME_VALUE_LOCK },
		{ "block", FLAME_VALUE_LOCK },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (span_starts(name, kinds[i].start))
			return kinds[i].kind;
	}
	return FLAME_VALUE_OTHER;
}

static bool has_type(const struct flame_profile *p, struct flame_span name)
{
	for (flame_type i = 1; i < flame_nr_types(p); i++) {
		struct flame_span other = flame_string_get(p, flame_type_get(p, i)->name);

		if (other.len == name.len && !memcmp(other.s, name.s, name.len))
			return true;
	}
	return false;
}

/* "1e-3 seconds": pprof_write.c writes so what has decimals. Return: the digits; @unit is what is measured. */
static uint32_t cut_scale(struct flame_span *unit)
{
	uint32_t scale = 0;
	size_t i = 3;

	if (!span_starts(*unit, "1e-"))
		return 0;
	for (; i < unit->len && i < 5 && unit->s[i] >= '0' && unit->s[i] <= '9'; i++)
		scale = scale * 10 + (uint32_t)(unit->s[i] - '0');
	if (i == 3 || i == unit->len || unit->s[i] != ' ' || scale > 18)
		return 0;
	*unit = (struct flame_span){ unit->s + i + 1, unit->len - i - 1 };
	return scale;
}

/*
 * Types are told apart by name: a second one of the same name is called NAME/UNIT, a third NAME#3.
 * Return: -1 without memory.
 */
static int unique_name(const struct flame_profile *p, struct flame_span *name, struct flame_span unit, char **text)
{
	struct flame_span first = *name;

	for (int i = 2; has_type(p, *name); i++) {
		int n;

		free(*text);
		n = i == 2 ? asprintf(text, "%.*s/%.*s", (int)first.len, first.s, (int)unit.len, unit.s) :
			     asprintf(text, "%.*s#%d", (int)first.len, first.s, i);
		if (n < 0) {
			*text = NULL;
			return -1;
		}
		*name = (struct flame_span){ *text, (size_t)n };
	}
	return 0;
}

flame_type pprof_type_of_kind(struct flame_reader *rd, struct flame_span name, struct flame_span unit,
			      enum flame_value_kind kind)
{
	struct flame_type_info info = { .kind = kind, .scale = cut_scale(&unit) };
	flame_type row = 0;
	char *text = NULL;

	if (!name.len)
		name = PPROF_SPAN("value");
	if (!unique_name(rd->profile, &name, unit, &text)) {
		if (span_equals(unit, "nanoseconds"))
			unit = PPROF_SPAN("ns");
		info.name = flame_intern(rd->profile, name.s, name.len);
		info.unit = flame_intern(rd->profile, unit.s, unit.len);
		row = flame_type_row(rd->profile, &info);
	}
	free(text);
	return row;
}

flame_type pprof_type(struct flame_reader *rd, struct flame_span name, struct flame_span unit)
{
	return pprof_type_of_kind(rd, name, unit, pprof_value_kind(name));
}

// SPDX-License-Identifier: MIT
/*
 * params.c - reading the parameters. babeltrace2 itself refuses none: an unknown one and one of
 * another type must not pass unnoticed.
 */
#define _GNU_SOURCE
#include "params.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET(member) offsetof(struct params, member)

enum type { TYPE_TEXT, TYPE_BOOL, TYPE_NUMBER, TYPE_NUMBERS, TYPE_TEXTS };

static const char *const type_names[] = {
	[TYPE_TEXT] = "string",
	[TYPE_BOOL] = "boolean",
	[TYPE_NUMBER] = "number",
	[TYPE_NUMBERS] = "integer or array of integers",
	[TYPE_TEXTS] = "string or array of strings",
};

const char *const writer_names[NR_WRITERS] = { [WRITER_SVG] = "svg", [WRITER_FOLDED] = "folded", [WRITER_REPORT] = "report" };

struct param {
	const char *name;
	enum type type;
	size_t offset;
	const char *help;
};

static const struct param table[] = {
#define PARAM(name, type, at, help) { name, TYPE_##type, at, help },
#include "params_list.h"
#undef PARAM
};

#define NR_PARAMS (sizeof(table) / sizeof(table[0]))

void params_each(void (*each)(void *data, const char *name, const char *type, const char *help), void *data)
{
	for (size_t i = 0; i < NR_PARAMS; i++)
		each(data, table[i].name, type_names[table[i].type], table[i].help);
}

static char *message(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *message(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text ? text : strdup("out of memory");
}

/* Command lines give signed integers for 5 and unsigned ones for +5. */
static bool get_number(const bt_value *v, double *number)
{
	if (bt_value_is_signed_integer(v))
		*number = (double)bt_value_integer_signed_get(v);
	else if (bt_value_is_unsigned_integer(v))
		*number = (double)bt_value_integer_unsigned_get(v);
	else if (bt_value_is_real(v))
		*number = bt_value_real_get(v);
	else
		return false;
	return isfinite(*number);
}

static bool set_text(char **to, const bt_value *v)
{
	if (!bt_value_is_string(v))
		return false;
	free(*to);
	*to = strdup(bt_value_string_get(v));
	return *to;
}

static const bt_value *item(const bt_value *v, uint64_t i)
{
	return bt_value_is_array(v) ? bt_value_array_borrow_element_by_index_const(v, i) : v;
}

static bool set_numbers(struct numbers *to, const bt_value *v)
{
	uint64_t nr = bt_value_is_array(v) ? bt_value_array_get_length(v) : 1;

	to->items = calloc(nr + 1, sizeof(*to->items));
	for (; to->items && to->nr < nr; to->nr++) {
		const bt_value *one = item(v, to->nr);

		if (bt_value_is_signed_integer(one))
			to->items[to->nr] = bt_value_integer_signed_get(one);
		else if (bt_value_is_unsigned_integer(one))
			to->items[to->nr] = (int64_t)bt_value_integer_unsigned_get(one);
		else
			return false;
	}
	return to->nr;
}

static bool set_texts(struct texts *to, const bt_value *v)
{
	uint64_t nr = bt_value_is_array(v) ? bt_value_array_get_length(v) : 1;

	to->items = calloc(nr + 1, sizeof(*to->items));
	for (; to->items && to->nr < nr; to->nr++) {
		if (!set_text(&to->items[to->nr], item(v, to->nr)))
			return false;
	}
	return to->nr;
}

static bool set(void *to, enum type type, const bt_value *v)
{
	switch (type) {
	case TYPE_TEXT:
		return set_text(to, v);
	case TYPE_BOOL:
		if (!bt_value_is_bool(v))
			return false;
		*(bool *)to = bt_value_bool_get(v);
		return true;
	case TYPE_NUMBER:
		return get_number(v, to);
	case TYPE_NUMBERS:
		return set_numbers(to, v);
	case TYPE_TEXTS:
		return set_texts(to, v);
	}
	return false;
}

static char *unknown(const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return message("unknown parameter '%s'", name);
	fprintf(f, "unknown parameter '%s'; there are", name);
	for (size_t i = 0; i < NR_PARAMS; i++)
		fprintf(f, "%s %s", i ? "," : "", table[i].name);
	fclose(f);
	return text;
}

struct reading {
	struct params *p;
	enum writer writer;
	char *error;
};

static bt_value_map_foreach_entry_const_func_status read_one(const char *name, const bt_value *v, void *data)
{
	struct reading *r = data;
	char *own = (char *)&r->p->outputs[r->writer];

	for (size_t i = 0; i < NR_PARAMS && !r->error; i++) {
		if (strcmp(table[i].name, name) != 0)
			continue;
		if (!set(i ? (char *)r->p + table[i].offset : own, table[i].type, v))
			r->error = message("parameter '%s' must be of type %s", name, type_names[table[i].type]);
		return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
	}
	if (!r->error)
		r->error = unknown(name);
	return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
}

static bool parse_time(struct params *p)
{
	char *end;

	p->from = strtod(p->time, &end);
	if (*end++ != ',')
		return false;
	if (!*end)
		return p->from >= 0 && p->from < 9e9;
	p->to = strtod(end, &end);
	return !*end && p->from >= 0 && p->to > p->from && p->to < 9e9;
}

static char *check(struct params *p)
{
	static const char *const formats[] = { "markdown", "text", "json" };
	static const char *const roots[] = { "comm", "pid", "tid", "cpu", "hostname", "none" };
	struct flame_transform_options transform = { .only = p->only, .exclude = p->exclude, .focus = p->focus };
	bool known = !p->root, format_known = !p->report_format;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !known; i++)
		known = !strcmp(roots[i], p->root);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && !format_known; i++)
		format_known = !strcmp(formats[i], p->report_format);
	if (!format_known)
		return message("parameter 'report-format' must be markdown, text or json, not '%s'", p->report_format);
	if (!known)
		return message("parameter 'root' must be comm, pid, tid, cpu, hostname or none, not '%s'", p->root);
	if (p->time && !parse_time(p))
		return message("parameter 'time' must be \"FROM,TO\" in seconds, not '%s'", p->time);
	if (p->colors && !flame_palette_known(p->colors))
		return message("parameter 'colors': there is no palette '%s'", p->colors);
	if (p->width < 0 || p->height < 0 || p->fontsize < 0 || p->width > 1e6 || p->height > 1e4 || p->fontsize > 1e4)
		return message("parameters 'width', 'height' and 'fontsize' must be lengths in pixels");
	if (p->fontwidth < 0 || p->fontwidth > 10 || p->factor < 0 || p->total < 0 || p->total > 9e18)
		return message("parameters 'fontwidth', 'factor' and 'total' must be positive, and 'fontwidth' at most 10");
	if (p->bgcolors && p->bgcolors[0] != '#' && !flame_background_known(p->bgcolors))
		return message("parameter 'bgcolors': there is no background '%s'", p->bgcolors);
	for (size_t i = 0; i < p->pairs.nr; i++) {
		if (!strpbrk(p->pairs.items[i], ":,"))
			return message("parameter 'pair' must be \"start:stop\", not '%s'", p->pairs.items[i]);
	}
	return flame_transform_check(&transform);
}

char *params_read(struct params *p, const bt_value *values, enum writer writer)
{
	struct reading r = { .p = p, .writer = writer };

	*p = (struct params){ .minwidth = -1 };
	if (bt_value_map_foreach_entry_const(values, read_one, &r) < 0 && !r.error)
		r.error = message("out of memory");
	if (!r.error)
		r.error = check(p);
	/* `svg` of sink.flame.svg is the same as `output`. */
	if (!r.error && !p->outputs[writer]) {
		p->outputs[writer] = strdup("-");
		if (!p->outputs[writer])
			r.error = message("out of memory");
	}
	return r.error;
}

void params_release(struct params *p)
{
	for (size_t i = 1; i < NR_PARAMS; i++) {
		void *at = (char *)p + table[i].offset;

		if (table[i].type == TYPE_TEXT)
			free(*(char **)at);
		else if (table[i].type == TYPE_NUMBERS)
			free(((struct numbers *)at)->items);
	}
	for (size_t i = 0; i < p->comms.nr; i++)
		free(p->comms.items[i]);
	for (size_t i = 0; i < p->pairs.nr; i++)
		free(p->pairs.items[i]);
	free(p->comms.items);
	free(p->pairs.items);
}

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
#include <sys/stat.h>

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

/* Numbers that make no picture are refused before the trace is read; the limits are those of fgrender's options. */
static const struct range {
	const char *name;
	double low, high;
	bool zero;		/* may be 0, too */
	const char *wants;
} ranges[] = {
	{ "width", 100, 100000, true, "100 to 100000 pixels, or 0" },
	{ "height", 4, 1000, false, "4 to 1000 pixels" },
	{ "minwidth", 0, 1e9, false, "0 pixels or more" },
	{ "fontsize", 1, 500, false, "1 to 500 pixels" },
	{ "fontwidth", 0.01, 10, false, "0.01 to 10" },
	{ "total", 0, 9e18, false, "0 to 9e18" },
	{ "factor", 1e-18, 1e18, false, "above 0, up to 1e18" },
};

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

/* Return: what is wrong with the number @value of parameter @name; NULL: nothing. */
static char *check_range(const char *name, double value)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];

		if (!strcmp(r->name, name) && !(value >= r->low && value <= r->high) && !(r->zero && value == 0))
			return message("parameter '%s' must be %s, not %.15g", name, r->wants, value);
	}
	return NULL;
}

/* Set @param, which is kept at @to. Return: what is wrong, or NULL. */
static char *read_value(const struct param *param, void *to, const bt_value *v)
{
	if (!set(to, param->type, v))
		return message("parameter '%s' must be of type %s", param->name, type_names[param->type]);
	return param->type == TYPE_NUMBER ? check_range(param->name, *(double *)to) : NULL;
}

struct reading {
	struct params *p;
	enum writer writer;
	char *error;
};

static bt_value_map_foreach_entry_const_func_status read_one(const char *name, const bt_value *v, void *data)
{
	struct reading *r = data;
	char **own = &r->p->outputs[r->writer];

	for (size_t i = 0; i < NR_PARAMS && !r->error; i++) {
		char *to = i ? (char *)r->p + table[i].offset : (char *)own;

		if (strcmp(table[i].name, name) != 0)
			continue;
		if (to == (char *)own && *own)
			r->error = message("parameters 'output' and '%s' are the same of this sink: give one of them",
					   writer_names[r->writer]);
		else
			r->error = read_value(&table[i], to, v);
		return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
	}
	if (!r->error)
		r->error = unknown(name);
	return BT_VALUE_MAP_FOREACH_ENTRY_CONST_FUNC_STATUS_OK;
}

bool params_pair(const char *pair, struct flame_span *begin, struct flame_span *end)
{
	const char *at = strchr(pair, ',');
	size_t colons = 0;

	for (const char *p = pair; !at && *p; p++)
		colons += *p == ':';
	/* With three colons the second is the one between the names. */
	at = at ? at : strchr(pair, ':');
	if (at && *at == ':' && colons == 3)
		at = strchr(at + 1, ':');
	if (!at || at == pair || !at[1])
		return false;
	*begin = (struct flame_span){ pair, (size_t)(at - pair) };
	*end = (struct flame_span){ at + 1, strlen(at + 1) };
	return true;
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

const char *params_project(const struct params *p, struct flame_owner *owner)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < p->project.nr && !wrong; i++)
		wrong = flame_owner_add(owner, p->project.items[i]);
	return wrong;
}

static char *check_project(const struct params *p)
{
	struct flame_owner owner = { 0 };
	const char *wrong = params_project(p, &owner);
	char *text = wrong ? message("parameter 'project' %s", wrong) : NULL;

	flame_owner_release(&owner);
	return text;
}

static bool is_background(const char *name)
{
	if (name[0] == '#')
		return strlen(name) == 7 && strspn(name + 1, "0123456789abcdefABCDEF") == 6;
	return flame_background_known(name);
}

static bool same_span(struct flame_span a, struct flame_span b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

/* An event may end one pair and begin another, but not begin two, or end two. */
static char *check_pairs(const struct params *p)
{
	struct flame_span begin, end, other_begin, other_end;

	for (size_t i = 0; i < p->pairs.nr; i++) {
		const char *pair = p->pairs.items[i];

		if (!params_pair(pair, &begin, &end))
			return message("parameter 'pair' must be \"start:stop\", not '%s'", pair);
		for (size_t j = 0; j < i; j++) {
			if (params_pair(p->pairs.items[j], &other_begin, &other_end) &&
			    (same_span(begin, other_begin) || same_span(end, other_end)))
				return message("parameter 'pair': '%s' and '%s' begin or end with the same event", p->pairs.items[j], pair);
		}
	}
	return NULL;
}

static char *check(struct params *p)
{
	static const char *const formats[] = { "markdown", "text", "json" };
	static const char *const roots[] = { "comm", "pid", "tid", "cpu", "hostname", "none" };
	struct flame_transform_options transform = { .only = { p->only }, .exclude = { p->exclude }, .focus = { p->focus } };
	bool known = !p->root, format_known = !p->report_format;
	char *wrong;

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
	if (p->bgcolors && !is_background(p->bgcolors))
		return message("parameter 'bgcolors': there is no background '%s'", p->bgcolors);
	wrong = check_pairs(p);
	if (!wrong)
		wrong = check_project(p);
	return wrong ? wrong : flame_transform_check(&transform);
}

/* Two outputs in one file would be of no use to anybody. What is no plain file, such as /dev/null, may take several. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;
	bool have_one = !stat(a, &one), have_other = !stat(b, &other);

	if (!strcmp(a, "-") || !strcmp(b, "-"))
		return !strcmp(a, b);
	if (have_one && have_other)
		return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
	return !have_one && !have_other && !strcmp(a, b);
}

static char *check_outputs(const struct params *p)
{
	for (enum writer w = 0; w < NR_WRITERS; w++) {
		if (p->outputs[w] && !*p->outputs[w])
			return message("the file to write %s to has no name; \"-\" is standard output", writer_names[w]);
		for (enum writer other = 0; other < w; other++) {
			if (p->outputs[w] && p->outputs[other] && is_same_file(p->outputs[w], p->outputs[other]))
				return message("%s and %s cannot both be written to %s", writer_names[other], writer_names[w],
					       strcmp(p->outputs[w], "-") ? p->outputs[w] : "standard output");
		}
	}
	return NULL;
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
	if (!r.error)
		r.error = check_outputs(p);
	return r.error;
}

static void free_texts(struct texts *t)
{
	for (size_t i = 0; i < t->nr; i++)
		free(t->items[i]);
	free(t->items);
}

void params_release(struct params *p)
{
	for (size_t i = 1; i < NR_PARAMS; i++) {
		void *at = (char *)p + table[i].offset;

		if (table[i].type == TYPE_TEXT)
			free(*(char **)at);
		else if (table[i].type == TYPE_NUMBERS)
			free(((struct numbers *)at)->items);
		else if (table[i].type == TYPE_TEXTS)
			free_texts(at);
	}
}

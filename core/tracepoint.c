/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - descriptions of tracepoints:
 *
 *     17 08 44 "tracing" "0.6\0"  big-endian? (1 byte)  size of long (1)  size of a page (4)
 *     "header_page\0" size (8) text    "header_event\0" size (8) text
 *     number of ftrace's formats (4), each: size (8) text
 *     number of systems (4), each: name\0, number of formats (4), each: size (8) text
 *     size of kallsyms (4), text; size of printk formats (4), text; ...
 *
 * in the byte order of the machine that recorded. The texts are read by libtraceevent.
 */
#define _GNU_SOURCE
#include "tracepoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBTRACEEVENT
#include <byteswap.h>
#include <event-parse.h>

struct flame_tracepoints {
	struct tep_handle *tep;
};

bool flame_tracepoints_available(void)
{
	return true;
}

/* What is left of the section. */
struct cursor {
	struct flame_span rest;
	bool swapped;
	bool bad;
};

static const char *take(struct cursor *c, uint64_t len)
{
	const char *p = c->rest.s;

	if (c->bad || len > c->rest.len) {
		c->bad = true;
		return NULL;
	}
	c->rest.s += len;
	c->rest.len -= len;
	return p;
}

static uint32_t take_u32(struct cursor *c)
{
	const char *p = take(c, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swapped ? bswap_32(v) : v;
}

static uint64_t take_u64(struct cursor *c)
{
	const char *p = take(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swapped ? bswap_64(v) : v;
}

static struct flame_span take_text(struct cursor *c)
{
	uint64_t len = take_u64(c);
	const char *p = take(c, len);

	return p ? (struct flame_span){ p, (size_t)len } : (struct flame_span){ "", 0 };
}

static const char *take_string(struct cursor *c)
{
	const char *end = c->bad ? NULL : memchr(c->rest.s, '\0', c->rest.len);

	return take(c, end ? (uint64_t)(end - c->rest.s) + 1 : UINT64_MAX);
}

static bool skip_text(const char **p, const char *text)
{
	size_t len = strlen(text);
	bool is = !strncmp(*p, text, len);

	*p += is ? len : 0;
	return is;
}

static bool skip_number(const char **p)
{
	size_t len = strspn(*p, "0123456789");

	*p += len;
	return len && len < 10;
}

/* A declaration as the kernel prints it: "unsigned char common_flags", "__data_loc char[] name", "char comm[16]". */
static bool skip_declaration(const char **p)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	size_t words = 0, brackets = 0;

	for (;;) {
		size_t len = strspn(*p, word);

		*p += len;
		words += len > 0;
		if (**p == '[') {
			*p += 1;
			*p += strspn(*p, word);
			if (!words || brackets++ || *(*p)++ != ']')
				return false;
		} else if (**p == ' ' || (**p == '*' && words)) {
			*p += 1;
		} else {
			return words >= 2;
		}
	}
}

/* "\tfield:…;\toffset:8;\tsize:4;\tsigned:1;" */
static bool is_field(const char *line)
{
	return skip_text(&line, "\tfield:") && *line != ' ' && skip_declaration(&line) && skip_text(&line, ";\toffset:") &&
	       skip_number(&line) && skip_text(&line, ";\tsize:") && skip_number(&line) && skip_text(&line, ";\tsigned:") &&
	       skip_number(&line) && skip_text(&line, ";") && (!*line || *line == '\n');
}

static bool is_name(const char *line)
{
	size_t len;

	if (!skip_text(&line, "name: "))
		return false;
	len = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return len && line[len] == '\n';
}

static bool is_id(const char *line)
{
	return skip_text(&line, "ID: ") && skip_number(&line) && *line == '\n';
}

/*
 * What of a format is needed: its name, number and fields, each as the kernel prints it. How it would be
 * printed is a program in an expression language of its own, and goes. Return: false where something else is there.
 */
static bool write_format(FILE *out, const char *text)
{
	bool (*const heads[])(const char *) = { is_name, is_id };
	const char *end = strstr(text, "\nprint fmt:"), *next;
	size_t nr = 0, nr_fields = 0;

	for (; text && text < end; text = next + 1) {
		next = strchr(text, '\n');
		if (nr < 2 && heads[nr](text)) {
			fprintf(out, "%.*s\n", (int)(next - text), text);
			if (++nr == 2)
				fputs("format:\n", out);
		} else if (nr == 2 && is_field(text)) {
			fprintf(out, "%.*s\n", (int)(next - text), text);
			/* The fields that all have are apart from the event's own. */
			if (++nr_fields == 4)
				fputs("\n", out);
		} else if (*text != '\n' && strncmp(text, "format:\n", 8)) {
			return false;
		}
	}
	fputs("\nprint fmt: \"\"\n", out);
	return end && nr == 2 && nr_fields > 4;
}

/* One format at a time. Damaged ones are left out. */
static void parse_event(struct tep_handle *tep, struct flame_span text, const char *system)
{
	char *copy = strndup(text.s, text.len), *clean = NULL;
	size_t size = 0;
	FILE *out = copy ? open_memstream(&clean, &size) : NULL;
	bool ok = out && write_format(out, copy);

	if (out && fclose(out))
		ok = false;
	if (ok)
		tep_parse_event(tep, clean, size, system);
	free(clean);
	free(copy);
}

static bool parse_systems(struct tep_handle *tep, struct cursor *c)
{
	uint32_t nr = take_u32(c);

	for (uint32_t i = 0; i < nr && !c->bad; i++)
		parse_event(tep, take_text(c), "ftrace");
	nr = take_u32(c);
	for (uint32_t i = 0; i < nr && !c->bad; i++) {
		const char *system = take_string(c);
		uint32_t formats = take_u32(c);

		for (uint32_t j = 0; j < formats && !c->bad; j++)
			parse_event(tep, take_text(c), system);
	}
	return !c->bad;
}

static bool parse(struct tep_handle *tep, struct cursor *c)
{
	const char *magic = take(c, 10), *order, *size;
	uint32_t page;
	bool big;

	if (!magic || memcmp(magic, "\x17\x08\x44tracing", 10) || !take_string(c))
		return false;
	order = take(c, 1);
	size = take(c, 1);
	if (!size)
		return false;
	big = *order;
	c->swapped = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	page = take_u32(c);
	tep_set_file_bigendian(tep, big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(tep, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(tep, *size);
	tep_set_page_size(tep, (int)page);
	/* The headers of ftrace's ring buffer are of no use here. */
	for (int i = 0; i < 2; i++) {
		take_string(c);
		take_text(c);
	}
	return parse_systems(tep, c);
}

struct flame_tracepoints *flame_tracepoints_new(struct flame_span text)
{
	struct flame_tracepoints *t = calloc(1, sizeof(*t));
	struct cursor c = { .rest = text };

	if (t)
		t->tep = tep_alloc();
	tep_set_loglevel(TEP_LOG_NONE);
	if (t && t->tep && parse(t->tep, &c))
		return t;
	flame_tracepoints_free(t);
	return NULL;
}

void flame_tracepoints_free(struct flame_tracepoints *t)
{
	if (t && t->tep)
		tep_free(t->tep);
	free(t);
}

static struct tep_event *find_event(const struct flame_tracepoints *t, uint64_t id)
{
	return t && id <= INT32_MAX ? tep_find_event(t->tep, (int)id) : NULL;
}

bool flame_tracepoint_name(const struct flame_tracepoints *t, uint64_t id, const char **system, const char **name)
{
	struct tep_event *event = find_event(t, id);

	if (!event || !event->system || !event->name)
		return false;
	*system = event->system;
	*name = event->name;
	return true;
}

bool flame_tracepoint_number(const struct flame_tracepoints *t, uint64_t id, const char *name, struct flame_span raw,
			     uint64_t *value)
{
	struct tep_event *event = find_event(t, id);
	struct tep_format_field *field = event ? tep_find_any_field(event, name) : NULL;
	unsigned long long v;

	/* Nothing else checks that the field lies in the payload. */
	if (!field || field->offset < 0 || field->size < 0 || (size_t)field->offset > raw.len ||
	    (size_t)field->size > raw.len - (size_t)field->offset)
		return false;
	if (tep_read_number_field(field, raw.s, &v))
		return false;
	*value = field->flags & TEP_FIELD_IS_SIGNED && field->size == 4 ? (uint64_t)(int64_t)(int32_t)v : v;
	return true;
}
#else
bool flame_tracepoints_available(void)
{
	return false;
}

struct flame_tracepoints *flame_tracepoints_new(struct flame_span text)
{
	(void)text;
	return NULL;
}

void flame_tracepoints_free(struct flame_tracepoints *t)
{
	(void)t;
}

bool flame_tracepoint_name(const struct flame_tracepoints *t, uint64_t id, const char **system, const char **name)
{
	(void)t;
	(void)id;
	(void)system;
	(void)name;
	return false;
}

bool flame_tracepoint_number(const struct flame_tracepoints *t, uint64_t id, const char *name, struct flame_span raw,
			     uint64_t *value)
{
	(void)t;
	(void)id;
	(void)name;
	(void)raw;
	(void)value;
	return false;
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * namer.c - frames made of the names that a text prints.
 */
#define _GNU_SOURCE
#include "namer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "tidy.h"

char *flame_namer_room(struct flame_namer *n, size_t len)
{
	return array_reserve((void **)&n->buf, &n->room, len, 1) ? n->buf : NULL;
}

/* ":file:line" or ":line" behind the @len bytes of the name. Return: the new length. */
static size_t add_place(struct flame_namer *n, struct flame_reader *rd, size_t len, const struct flame_frame_info *info)
{
	struct flame_span file = flame_string_get(rd->profile, info->file);
	char line[16];
	size_t nr = (size_t)snprintf(line, sizeof(line), ":%u", info->line);

	if (rd->options->srcline && file.len) {
		n->buf[len++] = ':';
		memcpy(n->buf + len, file.s, file.len);
		len += file.len;
	}
	if (info->line) {
		memcpy(n->buf + len, line, nr);
		len += nr;
	}
	return len;
}

flame_frame flame_namer_frame(struct flame_namer *n, struct flame_reader *rd, struct flame_span name,
			      struct flame_frame_info *info)
{
	bool place = (rd->options->srcline && (info->file || info->line)) || (rd->options->lines && info->line);
	size_t at = n->buf && name.s >= n->buf && name.s < n->buf + n->room ? (size_t)(name.s - n->buf) : SIZE_MAX;
	size_t room = name.len + flame_string_get(rd->profile, info->file).len + 32;
	char *buf = flame_namer_room(n, room + (at == SIZE_MAX ? 0 : at));

	if (!buf)
		return 0;
	if (at != SIZE_MAX)
		name.s = buf + at;
	if (!name.len)
		name = (struct flame_span){ "[unknown]", 9 };
	memmove(buf, name.s, name.len);
	name.s = buf;
	if (place)
		name.len = add_place(n, rd, name.len, info);
	name = flame_tidy_raw(name, buf);
	info->name = flame_intern(rd->profile, name.s, name.len);
	return flame_frame_row(rd->profile, info);
}

flame_frame flame_namer_member(struct flame_namer *n, struct flame_reader *rd, struct flame_span module, char separator,
			       struct flame_span name, struct flame_frame_info *info)
{
	char *buf = flame_namer_room(n, name.len + module.len + 1), *to = buf;

	if (!buf)
		return 0;
	info->module = flame_intern(rd->profile, module.s, module.len);
	if (module.len && !rd->options->simple_names) {
		to = mempcpy(to, module.s, module.len);
		*to++ = separator;
	}
	to = mempcpy(to, name.s, name.len);
	return flame_namer_frame(n, rd, (struct flame_span){ buf, (size_t)(to - buf) }, info);
}

size_t flame_unknown_name(char *to, struct flame_span module, struct flame_span address)
{
	char *end = to;

	*end++ = '[';
	end = module.len ? mempcpy(end, module.s, module.len) : mempcpy(end, "unknown", 7);
	if (address.len) {
		end = mempcpy(end, " <", 2);
		end = mempcpy(end, address.s, address.len);
		*end++ = '>';
	}
	*end++ = ']';
	return (size_t)(end - to);
}

flame_type flame_namer_type(struct flame_profile *p, const char *name, const char *unit, enum flame_value_kind kind)
{
	struct flame_type_info info = {
		.name = flame_intern(p, name, strlen(name)),
		.unit = flame_intern(p, unit, strlen(unit)),
		.kind = kind,
	};

	return flame_type_row(p, &info);
}

void flame_namer_release(struct flame_namer *n)
{
	free(n->buf);
	*n = (struct flame_namer){ 0 };
}

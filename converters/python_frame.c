/* SPDX-License-Identifier: MIT */
/*
 * python_frame.c - frames of Python functions, for the converters of what samples them.
 */
#define _GNU_SOURCE
#include "python_frame.h"

#include <stdio.h>
#include <string.h>

#include "../core/span.h"

struct python_frame python_frame_parse(struct flame_span text)
{
	struct python_frame frame = { .name = text };
	struct flame_span rest = text, place, line;
	const char *colon;
	int64_t value;

	/* Names of generic native functions have "(" of their own, and paths may, in pairs: "a (1).py". */
	if (!span_cut_group(&rest, &place) || place.s < text.s + 2)
		return frame;
	frame.name = rest;
	frame.file = place;
	colon = memrchr(place.s, ':', place.len);
	if (!colon)
		return frame;
	line = span_from(place, (size_t)(colon - place.s) + 1);
	if (!span_is_int(line, &value) || value > UINT32_MAX)
		return frame;
	frame.line = (uint32_t)value;
	frame.file = span_to(place, (size_t)(colon - place.s));
	return frame;
}

/* "name (file:12)" in the namer's room. */
static struct flame_span whole_name(struct flame_namer *n, const struct python_frame *frame)
{
	char *buf = flame_namer_room(n, frame->name.len + frame->file.len + 24);
	size_t len = frame->name.len;

	if (!buf)
		return (struct flame_span){ 0 };
	memcpy(buf, frame->name.s, len);
	buf[len++] = ' ';
	buf[len++] = '(';
	memcpy(buf + len, frame->file.s, frame->file.len);
	len += frame->file.len;
	if (frame->line)
		len += (size_t)sprintf(buf + len, ":%u", frame->line);
	buf[len++] = ')';
	return (struct flame_span){ buf, len };
}

flame_frame python_frame_row(struct flame_namer *n, struct flame_reader *rd, const struct python_frame *frame)
{
	const struct flame_read_options *options = rd->options;
	struct flame_frame_info info = { .line = frame->line, .kind = frame->kind };
	struct flame_span name = frame->name;

	info.file = flame_intern(rd->profile, frame->file.s, frame->file.len);
	if (frame->file.len && !options->simple_names && !options->lines && !options->srcline && !options->places) {
		name = whole_name(n, frame);
		if (!name.s)
			return 0;
	}
	return flame_namer_frame(n, rd, name, &info);
}

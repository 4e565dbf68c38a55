/* SPDX-License-Identifier: MIT */
/* write.c - what the programs and plugins share of writing a profile: as a picture, or in a format. */
#define _GNU_SOURCE
#include "options.h"

#include "../core/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORKER_FROM 16384	/* stacks: fewer are looked at before a thread has started */

/* Percentages of less than there is would go beyond 100. */
static void check_total(const struct tool *tool, const struct flame_profile *p, flame_type type)
{
	double sum = 0, total = (double)tool->svg.total;

	if (!tool->svg.total || tool->quiet)
		return;
	for (uint32_t i = 0; i < flame_nr_samples(p); i++)
		sum += flame_sample_get(p, i)->type == type ? (double)flame_sample_get(p, i)->value : 0;
	for (uint32_t i = 0; i < flame_type_get(p, type)->scale; i++)
		sum /= 10;
	for (uint32_t i = 0; i < tool->svg.total_scale; i++)
		total /= 10;
	if (total < sum)
		tool_message(tool, "warning", "--total %.15g is less than the sum of all samples, %.15g, and is not used", total, sum);
}

/* The names of a differential's types say nothing. What no header names are samples, if they can be. */
static char *differential_count_name(const struct tool *tool, const struct flame_profile *p, flame_type type)
{
	if (flame_type_get(p, type)->unit)
		return tool_count_name(tool, p, type);
	return flame_numbering_of(p, type) == FLAME_NUMBERED_VALUES ? NULL : strdup("units");
}

int tool_render(struct tool *tool, const struct flame_profile *p, flame_type type)
{
	struct flame_svg_options svg = tool->svg;
	struct tool_output out;
	char *countname = NULL;
	int status;

	svg.type = type;
	svg.threads = flame_thread_count(&tool->read);
	svg.also = tool->meanwhile;
	if (!flame_is_differential(p, &svg.before, &svg.type))
		svg.before = 0;
	if (!svg.countname)
		svg.countname = countname = svg.before ? differential_count_name(tool, p, type) : tool_count_name(tool, p, type);
	check_total(tool, p, svg.type);
	status = tool_open_output(tool, &out);
	if (!status) {
		int err;

		tool_buffer_output(&out);
		err = flame_svg_write(p, &svg, out.file);
		if (err == FLAME_EARG)
			tool_message(tool, "error", "negative values can only be drawn as a difference of two profiles: fgdiff BEFORE AFTER");
		if (err == FLAME_EIO && svg.palette_map && !ferror(out.file)) {
			tool_message(tool, "error", "cannot use %s: %s", svg.palette_map, strerror(errno));
			err = FLAME_EARG;
		}
		status = tool_close_output(tool, &out, err);
	}
	free(countname);
	return status;
}

int tool_convert(struct tool *tool, const struct flame_profile *p, flame_type type)
{
	const struct flame_converter *writer = tool->writer ? tool->writer : flame_converter_find("folded");
	struct flame_write_options write = { .type = type };
	struct flame_worker *worker = NULL;
	struct tool_output out;
	int err;

	if (tool_open_output(tool, &out))
		return 1;
	if (writer->writes_by_turns)
		tool_buffer_output(&out);
	else
		tool_drain_output(tool, &out);
	write.threads = flame_thread_count(&tool->read);
	if (tool->meanwhile && write.threads > 1 && flame_nr_stacks(p) >= WORKER_FROM) {
		worker = flame_worker_new();
		flame_worker_start(worker, tool->meanwhile);
	}
	if (!flame_is_differential(p, &write.before, &write.type))
		write.before = 0;
	write.kinds = flame_profile_options(p)->kinds;
	write.header = tool->header;
	write.numbered = tool->program == PROGRAM_RECORD;
	write.all_types = !tool->read.event;
	write.name = tool->inputs[0];
	err = writer->write(p, &write, out.file);
	if (worker)
		flame_worker_end(worker, tool->meanwhile);
	flame_worker_free(worker);
	if (err == FLAME_EARG)
		tool_message(tool, "error", "%s cannot hold this profile, such as values below zero or two columns; folded text can",
			     writer->name);
	return tool_close_output(tool, &out, err);
}

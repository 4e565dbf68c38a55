/* SPDX-License-Identifier: MIT */
/* fgrender - any profile in, an SVG flame graph out. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* Percentages of less than there is would go beyond 100. */
static void check_total(const struct tool *tool, const struct flame_profile *p, flame_type type)
{
	double sum = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++)
		sum += flame_sample_get(p, i)->type == type ? (double)flame_sample_get(p, i)->value : 0;
	for (uint32_t i = 0; i < flame_type_get(p, type)->scale; i++)
		sum /= 10;
	if (tool->svg.total && (double)tool->svg.total < sum && !tool->quiet)
		tool_message(tool, "warning", "--total %lld is less than the sum of all samples, %.15g, and is not used",
			     (long long)tool->svg.total, sum);
}

static int render(struct tool *tool, const struct flame_profile *p, flame_type type)
{
	struct flame_svg_options svg = tool->svg;
	struct tool_output out;
	char *countname = NULL;
	int status;

	svg.type = type;
	if (!flame_is_differential(p, &svg.before, &svg.type))
		svg.before = 0;
	if (!svg.countname && !svg.before)
		svg.countname = countname = tool_count_name(tool, p, type);
	check_total(tool, p, svg.type);
	status = tool_open_output(tool, &out);
	if (!status) {
		int err = flame_svg_write(p, &svg, out.file);

		if (err == FLAME_EARG)
			tool_message(tool, "error", "negative values can only be drawn as a difference of two profiles: fgdiff BEFORE AFTER");
		status = tool_close_output(tool, &out, err);
	}
	free(countname);
	return status;
}

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_RENDER,
		.name = "fgrender",
		.usage = "fgrender [OPTIONS] [FILE]",
		.about = "Draw a profile as a flame graph: an SVG picture to be opened in a browser.\n"
			 "FILE is a profile in any format, or folded text; without it standard input is read.",
		.svg = { .minwidth = -1 },
	};
	struct flame_profile *p;
	flame_type type;
	int status = tool_parse(&tool, argc, argv);

	if (status >= 0)
		return status;
	p = tool_read(&tool, 0);
	type = p ? tool_choose_type(&tool, 0, p) : 0;
	status = type ? render(&tool, p, type) : 1;
	flame_profile_free(p);
	return status;
}

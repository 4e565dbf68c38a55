/* SPDX-License-Identifier: MIT */
/* fgrender - any profile in, an SVG flame graph out. */
#include "options.h"

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
	struct tool_quality quality = { 0 };
	struct flame_profile *p;
	flame_type type;
	int status = tool_parse(&tool, argc, argv);

	if (status >= 0)
		return status;
	p = tool_read(&tool, 0);
	type = p ? tool_choose_type(&tool, 0, p) : 0;
	if (type)
		tool_start_quality(&quality, &tool, 0, p, type);
	status = type ? tool_render(&tool, p, type) : 1;
	tool_end_quality(&quality);
	flame_profile_free(p);
	return status;
}

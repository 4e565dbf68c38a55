/* SPDX-License-Identifier: MIT */
/* fgconv - any profile in, folded text or another format out. */
#include "options.h"

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_CONV,
		.name = "fgconv",
		.usage = "fgconv [OPTIONS] [FILE]",
		.about = "Convert a profile to folded text: a line a stack, \"root;caller;leaf 12\"; or to another format.\n"
			 "FILE may be compressed with gzip or zstd; without it standard input is read.",
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
	status = type ? tool_convert(&tool, p, type) : 1;
	tool_end_quality(&quality);
	flame_profile_free(p);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* fgconv - any profile in, folded text out. */
#include "options.h"

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_CONV,
		.name = "fgconv",
		.usage = "fgconv [OPTIONS] [FILE]",
		.about = "Convert a profile to folded text: a line a stack, \"root;caller;leaf 12\".\n"
			 "FILE may be compressed with gzip or zstd; without it standard input is read.",
		.svg = { .minwidth = -1 },
	};
	struct flame_folded_options folded = { 0 };
	struct tool_output out;
	struct flame_profile *p;
	int status = tool_parse(&tool, argc, argv);

	if (status >= 0)
		return status;
	p = tool_read(&tool, 0);
	folded.type = p ? tool_choose_type(&tool, 0, p) : 0;
	if (!folded.type || tool_open_output(&tool, &out)) {
		flame_profile_free(p);
		return 1;
	}
	if (!flame_is_differential(p, &folded.before, &folded.type))
		folded.before = 0;
	folded.kinds = flame_profile_options(p)->kinds;
	folded.header = tool.header;
	status = tool_close_output(&tool, &out, flame_folded_write(p, &folded, out.file));
	flame_profile_free(p);
	return status;
}

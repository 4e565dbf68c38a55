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
	struct flame_write_options write = { 0 };
	struct tool_output out;
	struct flame_profile *p;
	int status = tool_parse(&tool, argc, argv), err;

	if (status >= 0)
		return status;
	if (!tool.writer)
		tool.writer = flame_converter_find("folded");
	p = tool_read(&tool, 0);
	write.type = p ? tool_choose_type(&tool, 0, p) : 0;
	if (!write.type || tool_open_output(&tool, &out)) {
		flame_profile_free(p);
		return 1;
	}
	if (!flame_is_differential(p, &write.before, &write.type))
		write.before = 0;
	write.kinds = flame_profile_options(p)->kinds;
	write.header = tool.header;
	write.all_types = !tool.read.event;
	write.name = tool.inputs[0];
	err = tool.writer->write(p, &write, out.file);
	if (err == FLAME_EARG)
		tool_message(&tool, "error", "%s cannot hold this profile, such as values below zero or two columns; folded text can",
			     tool.writer->name);
	status = tool_close_output(&tool, &out, err);
	flame_profile_free(p);
	return status;
}

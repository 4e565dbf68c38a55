/* SPDX-License-Identifier: MIT */
/* fgdiff - two profiles in, what changed out. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "../core/diff.h"
#include "../core/units.h"

/* @countname: what both count; NULL: samples. */
static int write_diff(struct tool *tool, const struct flame_profile *p, const char *countname)
{
	struct flame_folded_options folded = { .kinds = FLAME_ALL_KINDS };
	struct flame_svg_options svg = tool->svg;
	struct tool_output out;
	int err;

	if (tool_open_output(tool, &out))
		return 1;
	flame_is_differential(p, &folded.before, &folded.type);
	svg.before = folded.before;
	svg.type = folded.type;
	if (!svg.countname)
		svg.countname = countname;
	if (!tool->to || !strcmp(tool->to, "folded"))
		err = flame_folded_write(p, &folded, out.file);
	else
		err = flame_svg_write(p, &svg, out.file);
	return tool_close_output(tool, &out, err);
}

static bool differs(const struct flame_profile *a, flame_string x, const struct flame_profile *b, flame_string y)
{
	struct flame_span s = flame_string_get(a, x), t = flame_string_get(b, y);

	return s.len && t.len && (s.len != t.len || memcmp(s.s, t.s, s.len));
}

/* Nanoseconds and bytes have no difference. Return: false after printing that the two do not compare. */
static bool comparable(const struct tool *tool, const struct flame_profile *before, flame_type before_type,
		       const struct flame_profile *after, flame_type after_type)
{
	const struct flame_type_info *a = flame_type_get(before, before_type), *b = flame_type_get(after, after_type);
	struct flame_span x = flame_string_get(before, a->name), y = flame_string_get(after, b->name);

	if (!tool->read.count && differs(before, a->unit, after, b->unit)) {
		x = flame_string_get(before, a->unit);
		y = flame_string_get(after, b->unit);
		tool_message(tool, "error", "BEFORE counts %.*s, AFTER %.*s: choose alike ones with --event, or compare samples with --count",
			     (int)x.len, x.s, (int)y.len, y.s);
		return false;
	}
	if (!tool->read.count && a->kind && b->kind && a->kind != b->kind) {
		tool_message(tool, "error", "BEFORE is %s, AFTER %s: choose alike ones with --event, or compare samples with --count",
			     flame_value_kind_name(a->kind), flame_value_kind_name(b->kind));
		return false;
	}
	if (!tool->quiet && differs(before, a->name, after, b->name))
		tool_message(tool, "warning", "BEFORE counts %.*s, AFTER %.*s", (int)x.len, x.s, (int)y.len, y.s);
	return true;
}

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_DIFF,
		.name = "fgdiff",
		.usage = "fgdiff [OPTIONS] BEFORE AFTER",
		.about = "Compare two profiles: folded text with two counts a line, before and after,\n"
			 "or a differential flame graph (--to svg).",
		.svg = { .minwidth = -1 },
	};
	struct flame_profile *before, *after = NULL, *diff = NULL;
	flame_type before_type, after_type = 0;
	int status = tool_parse(&tool, argc, argv), err = 0;
	char *countname = NULL;

	if (status >= 0)
		return status;
	before = tool_read(&tool, 0);
	before_type = before ? tool_choose_type(&tool, 0, before) : 0;
	if (before_type)
		after = tool_read(&tool, 1);
	after_type = after ? tool_choose_type(&tool, 1, after) : 0;
	if (after_type && comparable(&tool, before, before_type, after, after_type))
		err = flame_diff(&diff, before, before_type, after, after_type);
	if (err)
		tool_message(&tool, "error", "%s", flame_strerror(err));
	if (diff)
		countname = tool_count_name(&tool, after, after_type);
	status = diff ? write_diff(&tool, diff, countname) : 1;
	free(countname);
	flame_profile_free(before);
	flame_profile_free(after);
	flame_profile_free(diff);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* fgreport - profiles in, what they say out. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "../core/units.h"

struct inputs {
	struct tool *tool;
	struct flame_report report;
	struct flame_profile *profiles[MAX_INPUTS];	/* owned */
	size_t nr;
};

static bool has_kind(const struct inputs *in, enum flame_value_kind kind)
{
	for (size_t i = 0; i < in->report.nr_parts; i++) {
		if (in->report.parts[i].kind == kind)
			return true;
	}
	return false;
}

static const char *name_of(const struct inputs *in, size_t i)
{
	return strcmp(in->tool->inputs[i], "-") ? in->tool->inputs[i] : "standard input";
}

/* Return: the status to exit with, after printing why; -1 to go on. */
static int explain(const struct inputs *in, size_t i, int err)
{
	const char *input = name_of(in, i);

	if (!err)
		return -1;
	if (err == FLAME_EARG)
		tool_message(in->tool, "error", "%s: negative values are differences, which fgdiff reads", input);
	else if (err == FLAME_EEMPTY)
		tool_message(in->tool, "error", "%s: nothing ran: all samples are idle", input);
	else
		tool_message(in->tool, "error", "%s: %s", input, flame_strerror(err));
	return 1;
}

/* The type of @kind to read of a file with several: the one that says how much, not how often. */
static flame_type type_of_kind(const struct flame_profile *p, enum flame_value_kind kind)
{
	flame_type best = 0;

	for (flame_type type = 1; type < flame_nr_types(p); type++) {
		const struct flame_type_info *info = flame_type_get(p, type);
		struct flame_span unit = flame_string_get(p, info->unit);
		bool counts = unit.len == 5 && !memcmp(unit.s, "count", 5), has = false;

		for (uint32_t i = 0; !has && i < flame_nr_samples(p); i++)
			has = flame_sample_get(p, i)->type == type && flame_sample_get(p, i)->value > 0;
		if (has && info->kind == kind && (!best || !counts)) {
			best = type;
			if (!counts)
				break;
		}
	}
	return best;
}

/*
 * What the report begins with: the time on the processor, where a file holds that beside the time off it.
 * Return: 0 after printing that there is nothing.
 */
static flame_type choose_first(struct inputs *in, size_t i, const struct flame_profile *p)
{
	flame_type type = tool_choose_type(in->tool, i, p), before, after, on_cpu = 0;

	if (type && !in->tool->read.event && !in->tool->read.offcpu && !flame_is_differential(p, &before, &after) &&
	    flame_type_get(p, type)->kind == FLAME_VALUE_OFF_CPU)
		on_cpu = type_of_kind(p, FLAME_VALUE_ON_CPU);
	return on_cpu ? on_cpu : type;
}

/* A file may hold allocations and locks besides samples: each is a part of its own. */
static int add_other_kinds(struct inputs *in, size_t i)
{
	static const enum flame_value_kind kinds[] = {
		FLAME_VALUE_WALL, FLAME_VALUE_OFF_CPU, FLAME_VALUE_LOCK, FLAME_VALUE_ALLOCATION,
	};
	const struct flame_profile *p = in->profiles[i];
	int err = 0;

	for (size_t k = 0; !err && k < sizeof(kinds) / sizeof(*kinds); k++) {
		flame_type type = has_kind(in, kinds[k]) ? 0 : type_of_kind(p, kinds[k]);

		if (type)
			err = flame_report_add(&in->report, p, type, kinds[k], name_of(in, i));
		if (err == FLAME_EEMPTY)
			err = 0;
	}
	return err;
}

/* A pattern that fits nothing is likely mistyped. */
static void warn_unmatched(const struct inputs *in, size_t input, const struct flame_report_part *part)
{
	const struct flame_functions *f = &part->f;
	bool matches = !in->tool->owner.nr_patterns;
	struct flame_diag diag = { 0 };

	for (uint32_t i = 1; !matches && i < f->nr_functions; i++)
		matches = f->functions[i].code == FLAME_CODE_PROJECT;
	if (!matches)
		flame_diag_add(&diag, FLAME_WARNING, "no function, file or module matches --project: nothing in it is the project's");
	tool_print_diag(in->tool, input, &diag);
}

/* Return: the status to exit with, -1 to go on. */
static int add(struct inputs *in, size_t i, bool is_offcpu)
{
	struct flame_profile *p = in->profiles[in->nr++] = tool_read(in->tool, i);
	flame_type type = p ? choose_first(in, i, p) : 0, before;
	enum flame_value_kind kind;
	int err;

	if (!type)
		return 1;
	kind = flame_type_get(p, type)->kind;
	if (is_offcpu && kind == FLAME_VALUE_ON_CPU) {
		tool_message(in->tool, "error", "%s is an on-CPU profile, not one of blocked time", name_of(in, i));
		return 1;
	}
	if (!is_offcpu && has_kind(in, kind)) {
		tool_message(in->tool, "error", "%s measures the same as %s (%s); to compare them give one with --before",
			     name_of(in, i), name_of(in, 0), kind ? flame_value_kind_name(kind) : "a kind that is not known");
		return 2;
	}
	err = flame_report_add(&in->report, p, type, is_offcpu && !kind ? FLAME_VALUE_OFF_CPU : kind, name_of(in, i));
	if (!err)
		warn_unmatched(in, i, &in->report.parts[in->report.nr_parts - 1]);
	if (!err && flame_is_differential(p, &before, &type) && !in->report.has_before)
		err = flame_report_compare(&in->report, p, before, name_of(in, i));
	else if (!err && !in->tool->read.event && !is_offcpu)
		err = add_other_kinds(in, i);
	return explain(in, i, err);
}

static int compare(struct inputs *in, size_t i)
{
	struct flame_profile *p = in->profiles[in->nr++] = tool_read(in->tool, i);
	flame_type type = p ? choose_first(in, i, p) : 0;
	enum flame_value_kind kind;

	if (!type)
		return 1;
	kind = flame_type_get(p, type)->kind;
	if (kind && in->report.parts[0].kind && kind != in->report.parts[0].kind) {
		tool_message(in->tool, "error", "%s measures %s, %s %s: they do not compare; choose alike ones with --event",
			     name_of(in, i), flame_value_kind_name(kind), name_of(in, 0),
			     flame_value_kind_name(in->report.parts[0].kind));
		return 1;
	}
	return explain(in, i, flame_report_compare(&in->report, p, type, name_of(in, i)));
}

static int read_all(struct inputs *in)
{
	struct tool *tool = in->tool;
	size_t nr = tool->nr_inputs;
	int status = -1;

	for (size_t i = 0; status < 0 && i < nr; i++)
		status = add(in, i, false);
	if (status < 0 && tool->offcpu_profile) {
		tool->inputs[in->nr] = tool->offcpu_profile;
		status = add(in, in->nr, true);
	}
	if (status < 0 && tool->before && in->report.has_before) {
		tool_message(tool, "error", "%s holds what was before already: leave --before away", name_of(in, 0));
		return 2;
	}
	if (status < 0 && tool->before) {
		tool->inputs[in->nr] = tool->before;
		status = compare(in, in->nr);
	}
	return status < 0 && flame_report_finish(&in->report) ? explain(in, 0, FLAME_ENOMEM) : status;
}

static int write_report(const struct inputs *in)
{
	const char *to = in->tool->to ? in->tool->to : "markdown";
	struct tool_output out;
	int err;

	if (tool_open_output(in->tool, &out))
		return 1;
	if (!strcmp(to, "json"))
		err = flame_report_write_json(&in->report, out.file);
	else if (!strcmp(to, "text"))
		err = flame_report_write_text(&in->report, out.file);
	else
		err = flame_report_write_markdown(&in->report, out.file);
	return tool_close_output(in->tool, &out, err);
}

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_REPORT,
		.name = "fgreport",
		.usage = "fgreport [OPTIONS] [FILE...]",
		.about = "Read profiles and say where the time goes, whose code it is, and whether the profile can be trusted.\n"
			 "Several files must measure different things: time on the CPU, blocked time, allocations.",
		.svg = { .minwidth = -1 },
		.read = { .places = true, .demangle = true, .inlines = true, .normalize_names = true },
	};
	struct inputs in = { .tool = &tool };
	int status = tool_parse(&tool, argc, argv);

	if (status < 0) {
		/* Events of the scheduler are counted only where one is asked for. */
		tool.read.offcpu_too = !tool.read.event || !strstr(tool.read.event, "sched");
		tool.report.count = tool.read.count;
		flame_report_init(&in.report, &tool.report, &tool.owner);
		status = read_all(&in);
		if (status < 0)
			status = write_report(&in);
		flame_report_release(&in.report);
	}
	for (size_t i = 0; i < in.nr; i++)
		flame_profile_free(in.profiles[i]);
	flame_owner_release(&tool.owner);
	return status;
}

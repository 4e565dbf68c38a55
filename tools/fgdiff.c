/* SPDX-License-Identifier: MIT */
/* fgdiff - two profiles in, what changed out. */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../core/compare_write.h"
#include "../core/diff_check.h"
#include "../core/dispersion.h"
#include "../core/meet.h"
#include "../core/threshold.h"

#define TABLE_TOP 20

struct comparison {
	struct flame_profile *before, *after;
	flame_type before_type, after_type;
	struct flame_diff diff;
	char *countname, *before_countname;	/* what AFTER and BEFORE count; NULL: samples */
	const char **warnings;	/* ended by NULL; of diag */
	struct flame_diag diag;
};

static bool wants(const struct tool *tool, const char *format)
{
	return !strcmp(tool->to ? tool->to : "folded", format);
}

static int write_folded(const struct tool *tool, const struct comparison *c, FILE *out)
{
	struct flame_folded_options folded = {
		.type = c->diff.after.type, .before = c->diff.before.type, .kinds = FLAME_ALL_KINDS,
	};

	/* What is counted, wherever that is no number of samples. */
	if (tool->header || c->countname)
		flame_folded_write_header(c->after, c->after_type, out);
	return flame_folded_write(c->diff.profile, &folded, out);
}

static int write_svg(const struct tool *tool, const struct comparison *c, FILE *out)
{
	struct flame_svg_options svg = tool->svg;

	svg.before = c->diff.before.type;
	svg.type = c->diff.after.type;
	svg.diff = &c->diff;
	svg.compare = tool->compare;
	svg.compare.by_count = tool->svg.compare.by_count;
	if (!svg.countname)
		svg.countname = c->countname;
	return flame_svg_write(c->diff.profile, &svg, out);
}

/* Names of a table that people look at are cut to the lines of their terminal. Return: 0: they are not. */
static unsigned int line_width(const struct tool *tool)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;

	if ((tool->output && strcmp(tool->output, "-")) || !isatty(STDOUT_FILENO))
		return 0;
	if (!width && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	return width < 100000 ? (unsigned int)width : 0;
}

static int write_list(const struct tool *tool, const struct comparison *c, FILE *out)
{
	const char *given = tool->svg.countname;
	const struct flame_compare_write_options options = {
		.compare = tool->compare,
		.before = { tool->inputs[0], given ? given : c->before_countname, c->before, c->before_type },
		.after = { tool->inputs[1], given ? given : c->countname, c->after, c->after_type },
		.warnings = (const char *const *)c->warnings,
		.min = tool->min,
		.top = tool->top || wants(tool, "json") ? tool->top : TABLE_TOP,
		.width = line_width(tool),
		.paths = tool->paths,
	};

	return wants(tool, "json") ? flame_compare_write_json(&c->diff, &options, out) :
				     flame_compare_write_table(&c->diff, &options, out);
}

static int write_diff(struct tool *tool, const struct comparison *c)
{
	struct tool_output out;
	int err;

	if (tool_open_output(tool, &out))
		return 1;
	err = wants(tool, "folded") ? write_folded(tool, c, out.file) :
	      wants(tool, "svg") ? write_svg(tool, c, out.file) : write_list(tool, c, out.file);
	if (err == FLAME_EARG)
		tool_message(tool, "error", "values below zero cannot be compared: give two profiles that are no differences");
	if (err == FLAME_EEMPTY && tool->svg.view == FLAME_VIEW_ELIDED) {
		tool_message(tool, "error", "nothing is gone: all stacks of BEFORE are in AFTER too");
		err = FLAME_EARG;
	}
	return tool_close_output(tool, &out, err);
}

/* Messages that say neither file nor line. */
static void print_plain(const struct tool *tool, const struct flame_diag *diag)
{
	static const char *const severities[] = {
		[FLAME_NOTE] = "note", [FLAME_WARNING] = "warning", [FLAME_ERROR] = "error",
	};

	for (size_t i = 0; i < diag->nr_messages; i++) {
		if (!tool->quiet || diag->messages[i].severity == FLAME_ERROR)
			tool_message(tool, severities[diag->messages[i].severity], "%s", diag->messages[i].text);
	}
}

static int check_captures(struct tool *tool, struct comparison *c)
{
	bool is_text = wants(tool, "folded"), by_count = wants(tool, "svg") ? tool->svg.compare.by_count : is_text;

	flame_diff_check(c->before, c->after, &c->diff, !by_count || tool->normalize, !is_text, &c->diag);
	print_plain(tool, &c->diag);
	c->warnings = calloc(c->diag.nr_messages + 1, sizeof(*c->warnings));
	for (size_t i = 0; c->warnings && i < c->diag.nr_messages; i++)
		c->warnings[i] = c->diag.messages[i].text;
	return c->warnings ? 0 : FLAME_ENOMEM;
}

/* Return: the status to exit with: 1 where a threshold is met, 2 where one never can be, else @status. */
static int apply_thresholds(struct tool *tool, const struct comparison *c, int status)
{
	struct flame_diag diag = { 0 };
	struct flame_thresholds_found found;
	int err = flame_thresholds_apply(&c->diff, &tool->compare, tool->fail_on, tool->nr_fail_on, &diag, &found);

	if (err)
		tool_message(tool, "error", "%s", flame_strerror(err));
	print_plain(tool, &diag);
	flame_diag_release(&diag);
	return err || found.nr_met ? 1 : found.nr_without ? 2 : status;
}

static int read_both(struct tool *tool, struct comparison *c)
{
	c->before = tool_read(tool, 0);
	c->before_type = c->before ? tool_choose_type(tool, 0, c->before) : 0;
	if (c->before_type)
		c->after = tool_read(tool, 1);
	c->after_type = c->after ? tool_choose_type(tool, 1, c->after) : 0;
	return c->after_type ? 0 : 1;
}

/* Runs are added up by the name of what they count. */
static bool counts_same(const struct flame_profile *a, flame_type a_type, const struct flame_profile *b, flame_type b_type)
{
	struct flame_span s = flame_string_get(a, flame_type_get(a, a_type)->name);
	struct flame_span t = flame_string_get(b, flame_type_get(b, b_type)->name);

	return s.len == t.len && !memcmp(s.s, t.s, s.len);
}

/* Put both into one unit. Return: false after printing that they do not compare. */
static bool meet_run(const struct tool *tool, const struct flame_met *side, const struct flame_met *run)
{
	struct flame_diag diag = { 0 };
	int err = flame_types_meet(side, run, tool->read.count, &diag);

	print_plain(tool, &diag);
	flame_diag_release(&diag);
	return !err;
}

/* Return: one more run of @p's type @type, which gets it in *@run_type; NULL after printing why there is none. */
static struct flame_profile *read_run(struct tool *tool, const char *path, const struct flame_met *side, flame_type *run_type)
{
	size_t input = tool->nr_inputs++;
	struct flame_profile *run;

	tool->inputs[input] = path;
	run = tool_read(tool, input);
	*run_type = run ? tool_choose_type(tool, input, run) : 0;
	if (!*run_type)
		goto out;
	if (counts_same(side->profile, side->type, run, *run_type) &&
	    meet_run(tool, side, &(struct flame_met){ run, *run_type, path }))
		return run;
	tool_message(tool, "error", "%s is no run of the same: it counts something else", path);
out:
	flame_profile_free(run);
	return NULL;
}

/* Add the runs in @files to @side, and how much each differs from the one before it to @dispersion. */
static int add_runs(struct tool *tool, const char *const *files, size_t nr, const struct flame_met *side,
		    struct flame_dispersion *dispersion)
{
	struct flame_profile *runs[MAX_RUNS + 1] = { side->profile };
	flame_type types[MAX_RUNS + 1] = { side->type };
	struct tool quiet = *tool;
	size_t nr_runs = 1;
	int err = 0;

	quiet.quiet = true;
	while (!err && nr_runs <= nr) {
		struct flame_profile *run = read_run(tool, files[nr_runs - 1], side, &types[nr_runs]);

		if (!run)
			break;
		runs[nr_runs++] = run;
		err = flame_dispersion_add(dispersion, runs[nr_runs - 2], types[nr_runs - 2], run, types[nr_runs - 1]);
	}
	for (size_t i = 1; i < nr_runs; i++) {
		/* A later one may have been finer. */
		if (!err && !meet_run(&quiet, side, &(struct flame_met){ runs[i], types[i], files[i - 1] }))
			err = FLAME_EARG;
		if (!err)
			err = flame_profile_merge(side->profile, runs[i]);
		flame_profile_free(runs[i]);
	}
	if (err)
		tool_message(tool, "error", "%s", flame_strerror(err));
	return err || nr_runs <= nr ? 1 : 0;
}

static int add_all_runs(struct tool *tool, struct comparison *c)
{
	struct flame_dispersion dispersion = { 0 };
	const struct flame_met before = { c->before, c->before_type, "BEFORE" }, after = { c->after, c->after_type, "AFTER" };
	int status = add_runs(tool, tool->more_before, tool->nr_more_before, &before, &dispersion);

	if (!status)
		status = add_runs(tool, tool->more_after, tool->nr_more_after, &after, &dispersion);
	/* Who says how much the variance is has thought of it. */
	if (!tool->has_run_size && !(tool->compare.dispersion > 0))
		tool->compare.run_size = FLAME_RUN_SIZE;
	tool->compare.runs_before = 1 + (unsigned int)tool->nr_more_before;
	tool->compare.runs_after = 1 + (unsigned int)tool->nr_more_after;
	if (!(tool->compare.dispersion > 0))
		tool->compare.dispersion = flame_dispersion_get(&dispersion);
	return status;
}

/* Return: 0 where the two can be compared, 1 after printing why not. */
static int meet(struct tool *tool, struct comparison *c)
{
	const struct flame_met before = { c->before, c->before_type, "BEFORE" }, after = { c->after, c->after_type, "AFTER" };
	int err = flame_types_meet(&before, &after, tool->read.count, &c->diag);

	/* What stands in the output, too, is printed with what else is to be said of both. */
	if (err)
		print_plain(tool, &c->diag);
	return err ? 1 : 0;
}

static void tell_of_runs(const struct tool *tool)
{
	bool assumed = tool->compare.run_size > 0 && !tool->has_run_size;

	if (assumed && !tool->nr_more_before && !tool->nr_more_after && !tool->quiet)
		tool_message(tool, "note", "one run of each side: how much runs differ besides sampling is assumed "
			     "(--run-size %d); --before FILE and --after FILE add runs that tell whether by more",
			     FLAME_RUN_SIZE);
}

static int compare(struct tool *tool, struct comparison *c)
{
	int err = flame_diff_init(&c->diff, c->before, c->before_type, c->after, c->after_type, tool->normalize,
				  wants(tool, "folded") && !tool->nr_fail_on ? FLAME_DIFF_WRITTEN : FLAME_DIFF_KINDS);
	int status;

	if (!err)
		err = check_captures(tool, c);
	if (err) {
		tool_message(tool, "error", "%s", flame_strerror(err));
		return 1;
	}
	c->countname = tool_count_name(tool, c->after, c->after_type);
	c->before_countname = tool_count_name(tool, c->before, c->before_type);
	/* Folded text alone tests nothing. */
	if (!wants(tool, "folded") || tool->nr_fail_on)
		tell_of_runs(tool);
	status = write_diff(tool, c);
	return tool->nr_fail_on && status != 1 ? apply_thresholds(tool, c, status) : status;
}

int main(int argc, char **argv)
{
	struct tool tool = {
		.program = PROGRAM_DIFF,
		.name = "fgdiff",
		.usage = "fgdiff [OPTIONS] BEFORE AFTER",
		.about = "Compare two profiles: folded text with two counts a line, before and after; a differential\n"
			 "flame graph (--to svg); or what changed and what is noise (--to table, --to json).",
		.svg = { .minwidth = -1 },
	};
	struct comparison c = { 0 };
	int status = tool_parse(&tool, argc, argv);

	if (status >= 0)
		return status;
	status = read_both(&tool, &c);
	if (!status)
		status = add_all_runs(&tool, &c);
	if (!status)
		status = meet(&tool, &c);
	if (!status)
		status = compare(&tool, &c);
	free(c.countname);
	free(c.before_countname);
	free(c.warnings);
	flame_diag_release(&c.diag);
	flame_profile_free(c.before);
	flame_profile_free(c.after);
	flame_diff_release(&c.diff);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* record_output.c - what was recorded, as a picture, as text or as a report, alone or against an earlier recording. */
#define _GNU_SOURCE
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "../core/diff.h"

/* ---- the format ---- */

/* Formats by the endings of names. */
static const struct {
	const char *ending, *format;
} endings[] = {
	{ ".svg", "svg" },
	{ ".md", "markdown" },
	{ ".txt", "text" },
	{ ".speedscope.json", "speedscope" },
	{ ".json", "speedscope" },
	{ ".pb.gz", "pprof" },
	{ ".pb", "pprof" },
	{ ".pprof", "pprof" },
	{ ".folded", "folded" },
	{ ".collapsed", "folded" },
	{ ".stacks", "folded" },
};

/* Return: NULL where nothing tells. */
static const char *format_of_name(const struct tool *tool)
{
	const char *name = tool->output;
	size_t len = strlen(name);

	if (tool->to)
		return tool->to;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t n = strlen(endings[i].ending);

		if (len >= n && !strcmp(name + len - n, endings[i].ending))
			return endings[i].format;
	}
	return NULL;
}

/* Pipes and devices are as standard output, which gets folded text. */
static const char *format_of(const struct tool *tool)
{
	const char *format = format_of_name(tool);
	struct stat st;

	if (!format && (!strcmp(tool->output, "-") || (!stat(tool->output, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))))
		format = "folded";
	return format;
}

bool record_check_format(const struct tool *tool)
{
	char *known = NULL;
	size_t size;
	FILE *f;

	if (format_of(tool))
		return true;
	f = open_memstream(&known, &size);
	for (size_t i = 0; f && i < sizeof(endings) / sizeof(*endings); i++)
		fprintf(f, "%s %s", i ? "," : "", endings[i].ending);
	if (f)
		fclose(f);
	tool_message(tool, "error", "--output %s: what is it to be? Endings that say so are%s; --to FORMAT goes with any name", tool->output,
		     known ? known : "");
	free(known);
	return false;
}

/* Formats of reports, with what writes them. */
static const struct {
	const char *format;
	int (*write)(const struct flame_report *r, FILE *out);
} reports[] = {
	{ "markdown", flame_report_write_markdown },
	{ "text", flame_report_write_text },
	{ "json", flame_report_write_json },
};

#define NR_REPORTS (sizeof(reports) / sizeof(*reports))

/* Return: which of the reports is asked for; NR_REPORTS: none. */
static size_t report_of(const struct tool *tool)
{
	size_t i = 0;

	while (i < NR_REPORTS && strcmp(reports[i].format, format_of(tool)) != 0)
		i++;
	return i;
}

void record_prepare_names(struct tool *tool)
{
	if (report_of(tool) == NR_REPORTS)
		return;
	/* As fgreport reads; but an earlier recording has no inlined functions, and they change names. */
	tool->read.places = true;
	tool->read.inlines = !tool->record.diff;
	tool->read.normalize_names = true;
}

/* ---- the heading ---- */

/* "14,800"; @to has room for 32. */
static const char *with_commas(uint64_t n, char to[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = '\0';
	return to;
}

/* "perf cpu-clock 99 Hz x 30 s, 14,800 samples, host" */
static char *make_title(const struct tool *tool, const struct record_result *r)
{
	struct utsname host;
	char rate[48] = "", lost[48] = "", count[32], *text;

	if (uname(&host))
		host.nodename[0] = '\0';
	if (r->event->attr.freq)
		snprintf(rate, sizeof(rate), " %.0f Hz", tool->record.frequency);
	else if (tool->read.offcpu)
		snprintf(rate, sizeof(rate), " (time off the processor)");
	if (r->nr_lost)
		snprintf(lost, sizeof(lost), ", %llu lost", (unsigned long long)r->nr_lost);
	if (asprintf(&text, "perf %s%s x %.*f s, %s sample%s%s, %s", r->event->name, rate, r->seconds < 9.95 ? 1 : 0, r->seconds,
		     with_commas(r->nr_samples, count), r->nr_samples == 1 ? "" : "s", lost, host.nodename) < 0)
		return NULL;
	return text;
}

/* ---- differences ---- */

static bool has_unit(const struct flame_profile *p, flame_type type)
{
	return flame_string_get(p, flame_type_get(p, type)->unit).len;
}

static bool same_unit(const struct flame_profile *a, flame_type x, const struct flame_profile *b, flame_type y)
{
	struct flame_span s = flame_string_get(a, flame_type_get(a, x)->unit), t = flame_string_get(b, flame_type_get(b, y)->unit);

	return s.len == t.len && !memcmp(s.s, t.s, s.len);
}

/* Return: the recording that --diff names, with its type that compares to @p's @type; NULL after printing why there is none. */
static struct flame_profile *read_before(struct tool *tool, const struct flame_profile *p, flame_type type,
					 flame_type *before_type)
{
	struct tool reader = { .program = PROGRAM_DIFF, .name = tool->name, .read = tool->read, .quiet = tool->quiet,
			       .inputs = { tool->record.diff }, .nr_inputs = 1 };
	struct flame_profile *before;

	reader.read.event = NULL;
	reader.read.offcpu = false;
	before = tool_read(&reader, 0);
	*before_type = before ? tool_choose_type(&reader, 0, before) : 0;
	if (*before_type && has_unit(before, *before_type) && !same_unit(before, *before_type, p, type)) {
		tool_message(tool, "error", "--diff %s counts something else than this recording: record both in the same way",
			     tool->record.diff);
		*before_type = 0;
	} else if (*before_type && !has_unit(before, *before_type) && !tool->quiet) {
		tool_message(tool, "warning", "%s does not say what it counts; fgrecord -o FILE.folded writes that at its start",
			     tool->record.diff);
	}
	if (*before_type)
		return before;
	flame_profile_free(before);
	return NULL;
}

/* ---- reports ---- */

static int write_report(struct tool *tool, const struct record_result *r, flame_type type)
{
	struct flame_profile *before = NULL;
	struct flame_owner owner = { 0 };
	struct flame_report report;
	struct tool_output out;
	flame_type before_type = 0;
	int err = 0, status = 1;

	if (tool->record.diff) {
		before = read_before(tool, r->profile, type, &before_type);
		if (!before)
			return 1;
	}
	flame_report_init(&report, NULL, &owner);
	err = flame_report_add(&report, r->profile, type, FLAME_VALUE_OTHER, r->target->name);
	if (!err && before)
		err = flame_report_compare(&report, before, before_type, tool->record.diff);
	if (err)
		tool_message(tool, "error", "%s", flame_strerror(err));
	else if (!tool_open_output(tool, &out))
		status = tool_close_output(tool, &out, reports[report_of(tool)].write(&report, out.file));
	flame_report_release(&report);
	flame_owner_release(&owner);
	flame_profile_free(before);
	return status;
}

/* ---- all ---- */

static int write_as(struct tool *tool, const struct flame_profile *p, flame_type type)
{
	const char *format = format_of(tool);

	if (!strcmp(format, "svg"))
		return tool_render(tool, p, type);
	tool->writer = flame_converter_find(format);
	return tool_convert(tool, p, type);
}

/* Widths and colours of a differential are fgdiff's. */
static int write_difference(struct tool *tool, const struct flame_profile *p, flame_type type)
{
	struct flame_svg_options given = tool->svg;
	char *countname = given.countname ? NULL : tool_count_name(tool, p, type);
	flame_type before_type;
	struct flame_profile *before = read_before(tool, p, type, &before_type);
	struct flame_diff diff;
	int err = before ? flame_diff_init(&diff, before, before_type, p, type, false, FLAME_DIFF_KINDS) : 0, status = 1;

	if (err)
		tool_message(tool, "error", "%s", flame_strerror(err));
	if (before && !err) {
		if (countname)
			tool->svg.countname = countname;
		tool->svg.diff = &diff;
		/* Its two columns have names of their own. */
		tool->header = false;
		status = write_as(tool, diff.profile, type);
		tool->header = true;
		tool->svg = given;
		flame_diff_release(&diff);
	}
	flame_profile_free(before);
	free(countname);
	return status;
}

static int write_profile(struct tool *tool, struct record_result *r)
{
	flame_type type = tool_choose_type(tool, 0, r->profile);

	if (!type)
		return 1;
	if (report_of(tool) < NR_REPORTS)
		return write_report(tool, r, type);
	tool_warn_quality(tool, 0, r->profile, type);
	return tool->record.diff ? write_difference(tool, r->profile, type) : write_as(tool, r->profile, type);
}

int record_write(struct tool *tool, struct record_result *result, const char *path)
{
	const char *output = tool->output, *given = tool->svg.title, *subtitle = tool->svg.subtitle;
	char *title = given ? NULL : make_title(tool, result), *about = NULL;
	int status;

	/* What decides the format is the name that was given, which @path is made of. */
	if (!given)
		tool->svg.title = title;
	if (!subtitle && asprintf(&about, "%.120s", result->target->name) < 0)
		about = NULL;
	if (!subtitle)
		tool->svg.subtitle = about;
	tool->output = path;
	status = write_profile(tool, result);
	tool->output = output;
	tool->svg.title = given;
	tool->svg.subtitle = subtitle;
	free(title);
	free(about);
	return status;
}

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
#include "../core/folded.h"

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

/* What values are: an event and its unit, each "" where it is not known. */
struct counted {
	struct flame_span event, unit;
};

static struct flame_span span_of(const char *text)
{
	return (struct flame_span){ text, strlen(text) };
}

static struct counted counted_of(const struct flame_profile *p, flame_type type)
{
	const struct flame_type_info *info = flame_type_get(p, type);
	flame_type before, after;

	return (struct counted){ flame_is_differential(p, &before, &after) ? span_of("") : flame_string_get(p, info->name),
				 flame_string_get(p, info->unit) };
}

static struct counted counted_by(const struct tool *tool, const struct record_event *event)
{
	bool is_clock = event->attr.type == PERF_TYPE_SOFTWARE && !record_event_is_counted(event);
	const char *off = tool->read.event ? tool->read.event : "off-cpu";

	return (struct counted){ span_of(tool->read.offcpu ? off : event->name),
				 span_of(tool->read.count ? "samples" : tool->read.offcpu || is_clock ? "ns" : "") };
}

static bool equal(struct flame_span a, struct flame_span b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

/* Return: whether one cannot be compared with the other. Two clocks, or times of two kinds, can. */
static bool are_unlike(const struct counted *a, const struct counted *b)
{
	if (a->unit.len && b->unit.len)
		return !equal(a->unit, b->unit);
	return a->event.len && b->event.len && !equal(a->event, b->event);
}

static bool can_compare(const struct tool *tool, const struct counted *before, const struct counted *now)
{
	const struct flame_span a = before->event.len ? before->event : before->unit, b = now->event.len ? now->event : now->unit;

	if (!are_unlike(before, now))
		return true;
	tool_message(tool, "error", "--diff %s counts something else than this recording, %.*s and not %.*s: record both in the same way",
		     tool->record.diff, (int)a.len, a.s, (int)b.len, b.s);
	return false;
}

bool record_read_before(struct tool *tool, const struct record_event *event, struct record_before *before)
{
	struct tool reader = { .program = PROGRAM_DIFF, .name = tool->name, .read = tool->read,
			       .transform = tool->transform, .quiet = tool->quiet, .inputs = { tool->record.diff }, .nr_inputs = 1 };
	struct counted was, now = counted_by(tool, event);

	reader.read.event = NULL;
	reader.read.offcpu = false;
	before->profile = tool_read(&reader, 0);
	before->type = before->profile ? tool_choose_type(&reader, 0, before->profile) : 0;
	if (!before->type)
		return false;
	was = counted_of(before->profile, before->type);
	if (!was.unit.len && !was.event.len && !tool->quiet)
		tool_message(tool, "warning", "%s does not say what it counts; fgrecord -o FILE.folded writes that at its start",
			     tool->record.diff);
	return can_compare(tool, &was, &now);
}

/* The kernel may have had another event in place of the one that was asked for. */
static bool is_comparable(const struct tool *tool, const struct record_result *r, flame_type type)
{
	struct counted was = counted_of(r->before->profile, r->before->type), now = counted_of(r->profile, type);

	return can_compare(tool, &was, &now);
}

/* ---- reports ---- */

static int write_report(struct tool *tool, const struct record_result *r, flame_type type)
{
	struct flame_owner owner = { 0 };
	struct flame_report report;
	struct tool_output out;
	int err = 0, status = 1;

	flame_report_init(&report, NULL, &owner);
	err = flame_report_add(&report, r->profile, type, FLAME_VALUE_OTHER, r->target->name);
	if (!err && tool->record.diff)
		err = flame_report_compare(&report, r->before->profile, r->before->type, tool->record.diff);
	if (err)
		tool_message(tool, "error", "%s", flame_strerror(err));
	else if (!tool_open_output(tool, &out))
		status = tool_close_output(tool, &out, reports[report_of(tool)].write(&report, out.file));
	flame_report_release(&report);
	flame_owner_release(&owner);
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
static int write_difference(struct tool *tool, const struct record_result *r, flame_type type)
{
	struct flame_svg_options given = tool->svg;
	char *countname = given.countname ? NULL : tool_count_name(tool, r->profile, type);
	struct flame_diff diff;
	int err = flame_diff_init(&diff, r->before->profile, r->before->type, r->profile, type, false, FLAME_DIFF_KINDS), status = 1;

	if (err) {
		tool_message(tool, "error", "%s", flame_strerror(err));
	} else {
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
	free(countname);
	return status;
}

static int write_profile(struct tool *tool, struct record_result *r)
{
	flame_type type = tool_choose_type(tool, 0, r->profile);
	struct tool_quality quality;
	int status;

	if (!type || (tool->record.diff && !is_comparable(tool, r, type)))
		return 1;
	if (report_of(tool) < NR_REPORTS)
		return write_report(tool, r, type);
	tool_start_quality(&quality, tool, 0, r->profile, type);
	status = tool->record.diff ? write_difference(tool, r, type) : write_as(tool, r->profile, type);
	tool_end_quality(&quality);
	return status;
}

int record_write(struct tool *tool, struct record_result *result, const char *path)
{
	const char *output = tool->output, *given = tool->svg.title, *subtitle = tool->svg.subtitle;
	char *title = given ? NULL : make_title(tool, result), *about = NULL;
	int status;

	/* What decides the format is the name that was given, which @path is made of. */
	if (!given)
		tool->svg.title = title;
	if (!subtitle && asprintf(&about, "%.120s%s%.120s", result->target->name, tool->record.diff ? ", against " : "",
				  tool->record.diff ? tool->record.diff : "") < 0)
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

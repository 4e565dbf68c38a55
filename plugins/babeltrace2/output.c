// SPDX-License-Identifier: MIT
/*
 * output.c - at the end: which values to show, the files, and what there is to be said about them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/folded.h"
#include "../../core/report.h"
#include "files.h"
#include "sink.h"

#define ULL(n) ((unsigned long long)(n))

static void append_cause(const struct sink *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append_cause(const struct sink *s, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = shown_text(format, args);
	va_end(args);
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(bt_self_component_sink_as_self_component(s->self), "%s",
							    text ? text : "out of memory");
	free(text);
}

/* ---- which values ---- */

/* The whole name, or a part of it between ':' and '/', as with fgconv's option. */
static bool is_named(const char *name, const char *wanted)
{
	size_t n = strlen(wanted);

	for (const char *at = name; n && (at = strstr(at, wanted)); at++) {
		char before = at == name ? ':' : at[-1], after = at[n] ? at[n] : ':';

		if ((before == ':' || before == '/') && (after == ':' || after == '/'))
			return true;
	}
	return false;
}

static bool comes_before(const struct series *a, const struct series *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->order < b->order;
}

static const struct series *choose(const struct sink *s)
{
	const struct series *best = NULL;
	const char *event = s->params.event;

	for (size_t i = 0; event && i < s->nr_series; i++) {
		if (!strcmp(s->series[i]->name, event))
			return s->series[i];
	}
	for (size_t i = 0; i < s->nr_series; i++) {
		const struct series *one = s->series[i];

		if (event ? is_named(one->name, event) : one->used && (!best || comes_before(one, best)))
			best = best && event ? best : one;
	}
	return best;
}

/* Return: "spans (12 spans), page-faults (3 samples)" without @except; owned by the caller. */
static char *list_others(const struct sink *s, const struct series *except)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < s->nr_series; i++) {
		const struct series *one = s->series[i];

		if (one != except && one->used)
			fprintf(f, "%s%s (%llu %s)", ftell(f) ? ", " : "", one->name, ULL(one->nr), one->what);
	}
	if (f)
		fclose(f);
	return text;
}

static bool has_filters(const struct params *p)
{
	return p->time || p->pids.nr || p->tids.nr || p->comms.nr;
}

static int nothing_there(const struct sink *s)
{
	char *others = list_others(s, NULL);

	spans_say(s);
	if (s->params.event)
		append_cause(s, "no event '%s' with stacks in the trace; it has %s", s->params.event,
			     others && *others ? others : "none");
	else if (!s->counts.events)
		append_cause(s, "there are no events in the trace");
	else if (s->nr_series && has_filters(&s->params))
		append_cause(s, "none of the %llu events is in what the parameters select", ULL(s->counts.events));
	else if (s->nr_series)
		append_cause(s, "none of the %llu events tells of a stack: there are ends without a beginning, or their "
			     "fields are not what they are called", ULL(s->counts.events));
	else
		append_cause(s, "none of the %llu events tells of a stack: neither function tracing, nor callstacks, "
			     "sched_switch or pairs of events", ULL(s->counts.events));
	free(others);
	return -1;
}

/* ---- what is to be said ---- */

struct line {
	enum flame_severity severity;
	size_t offset;		/* of the count in struct counts */
	const char *text;
};

#define COUNT(member) offsetof(struct counts, member)

static const struct line lines[] = {
	{ FLAME_WARNING, COUNT(lost_events), "events were discarded by the tracer" },
	{ FLAME_WARNING, COUNT(lost_packets), "packets were discarded by the tracer" },
	{ FLAME_WARNING, COUNT(lost_unknown), "times events or packets were discarded, and it is not known how many" },
	{ FLAME_WARNING, COUNT(losses_cut), "times a thread's open calls or spans were given up because events were lost; "
	  "what it called later is below [events lost]" },
	{ FLAME_WARNING, COUNT(calls_threadless), "function entries without a thread or a clock are counted, not nested; "
	  "record with `lttng add-context -u -t vpid -t vtid`" },
	{ FLAME_WARNING, COUNT(spans_threadless), "spans without a thread or a clock are counted, not nested; "
	  "record with the context vtid" },
	{ FLAME_NOTE, COUNT(calls_unmatched), "function exits had no entry: calls that began before the trace, "
	  "or whose entry is missing" },
	{ FLAME_NOTE, COUNT(calls_skipped), "calls were left without an exit (longjmp, exceptions, or missing exits)" },
	{ FLAME_WARNING, COUNT(calls_deep), "calls are deeper than BT2_DEPTH_MAX, 4096, and not shown" },
	{ FLAME_NOTE, COUNT(spans_unmatched), "ends of spans had no beginning" },
	{ FLAME_NOTE, COUNT(spans_skipped), "spans were left without an end" },
	{ FLAME_NOTE, COUNT(ended), "calls or spans were open when their thread ended, became another program, or left its id to "
	  "another; they are shown up to then" },
	{ FLAME_WARNING, COUNT(truncated), "stacks were cut off by the recorder, or have more than BT2_CHAIN_MAX, 4096, "
	  "addresses; they are below [truncated]" },
	{ FLAME_WARNING, COUNT(negative), "samples are not shown: their values are below zero, "
	  "which no picture can have" },
	{ FLAME_WARNING, COUNT(maps_skipped), "mappings are not used: a process has more than BT2_MAPS_MAX, 16384" },
	{ FLAME_WARNING, COUNT(images_mixed), "times another file was mapped where one was, more than BT2_COPIED_MAX allows to keep "
	  "apart: names of addresses there may be of another file" },
	{ FLAME_WARNING, COUNT(execs_mixed), "times a process would have become another program, more than BT2_EXECS_MAX, 1024, allows "
	  "for each: several seem to have the same ids, as in containers, and names of addresses there may be of another file" },
	{ FLAME_WARNING, COUNT(empty_chains), "callchains are empty and only the address itself is shown; "
	  "perf's DWARF stacks do not come into CTF" },
};

/* Exits that do not tell their function close what is on top, which may have been left. */
static bool has_blind_exits(const struct sink *s)
{
	for (size_t i = 0; i < s->nr_classes; i++) {
		if (s->classes[i]->roles & ROLE_CALL_EXIT && !s->classes[i]->call_address)
			return true;
	}
	return false;
}

static void say_open(const struct sink *s)
{
	uint64_t calls = 0, spans = 0, off = sleepers_count(s);

	for (size_t i = 0; i < s->nr_threads; i++) {
		calls += s->threads[i]->calls.nr;
		spans += s->threads[i]->spans.nr;
	}
	if (calls)
		sink_say(s, FLAME_NOTE, "%llu calls were open at the end; they are shown up to the last event of their thread",
			 ULL(calls));
	if (calls && has_blind_exits(s))
		sink_say(s, FLAME_NOTE, "exits do not tell of which function they are: if some of those calls were left by longjmp or "
			 "an exception, what came after seems to be called by them; record with the context ip");
	if (spans)
		sink_say(s, FLAME_NOTE, "%llu spans were open at the end; they are shown up to the last span event of their thread",
			 ULL(spans));
	if (off)
		sink_say(s, FLAME_NOTE, "%llu threads were off the processor at the end; that time is not shown",
			 ULL(off));
}

/* Which files were mapped is told by other events than those with the addresses, which may not have been recorded. */
static void say_fileless(const struct sink *s, const struct series *chosen)
{
	unsigned long long nr = s->nr_fileless;

	if (!nr)
		return;
	if (chosen != s->calls && !s->told_maps)
		sink_say(s, FLAME_WARNING, "%llu addresses have no names, for the trace does not tell which files were mapped; "
			 "perf's do with perf data convert --all", nr);
	else if (chosen == s->calls)
		sink_say(s, FLAME_WARNING, "%llu functions have no names, for %s; %s", nr,
			 s->told_maps ? "the trace does not tell of the files they are in" :
					"the trace does not tell which files were mapped",
			 s->told_maps ? "for libraries that are loaded later, preload liblttng-ust-dl.so as well" :
					"enable all events (lttng enable-event -u -a) before the program starts");
}

static void say_all(const struct sink *s, const struct series *chosen)
{
	char *others = list_others(s, chosen);

	if (!s->params.event && others && *others)
		sink_say(s, FLAME_NOTE, "using %s only; not added to it: %s. The parameter event chooses", chosen->name, others);
	free(others);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		uint64_t nr;

		memcpy(&nr, (const char *)&s->counts + lines[i].offset, sizeof(nr));
		if (nr)
			sink_say(s, lines[i].severity, "%llu %s", ULL(nr), lines[i].text);
	}
	say_open(s);
	spans_say(s);
	say_fileless(s, chosen);
}

/* Write @before and which part of the trace was asked for; nothing where that is all of it. */
static void write_range(const struct params *p, const char *before, FILE *f)
{
	const char *comma = p->time ? strchr(p->time, ',') : NULL;

	if (!comma || (comma == p->time && !comma[1]))
		return;
	fputs(before, f);
	if (comma > p->time)
		fprintf(f, "from %.*s s ", (int)(comma - p->time), p->time);
	if (comma[1])
		fprintf(f, "%s %s s ", comma > p->time ? "to" : "up to", comma + 1);
	fputs("after the first event", f);
}

/* Return: the subtitle with the range of time and what was lost; owned by the caller; NULL without memory. */
static char *subtitle(const struct sink *s, const struct series *series)
{
	const struct counts *c = &s->counts;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (s->params.subtitle)
		fputs(s->params.subtitle, f);
	else
		fprintf(f, "%s: %s", series->name, series->about);
	write_range(&s->params, "; ", f);
	if (c->lost_events)
		fprintf(f, "; %llu events lost", ULL(c->lost_events));
	if (c->lost_packets)
		fprintf(f, "; %llu packets lost", ULL(c->lost_packets));
	if (c->lost_unknown)
		fputs("; events lost", f);
	if (c->truncated)
		fprintf(f, "; %llu stacks incomplete", ULL(c->truncated));
	fclose(f);
	return text;
}

/* ---- files ---- */

/* Percentages of less than there is would go beyond 100: the picture takes the sum. */
static void say_total(const struct sink *s, const struct flame_profile *p)
{
	double sum = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++)
		sum += (double)flame_sample_get(p, i)->value;
	if (s->params.total > 0 && s->params.total < sum)
		sink_say(s, FLAME_WARNING, "total, %.15g, is less than the sum of all, %.15g, and is not used", s->params.total, sum);
}

static int write_svg(const struct sink *s, const struct series *series, const struct flame_profile *p, FILE *out)
{
	const struct params *prm = &s->params;
	char *below = subtitle(s, series);
	struct flame_svg_options o = {
		.title = prm->title, .subtitle = below, .colors = prm->colors, .bgcolors = prm->bgcolors, .notes = prm->notes,
		.countname = prm->countname, .fonttype = prm->fonttype, .width = prm->width, .height = prm->height,
		.minwidth = prm->minwidth, .fontsize = prm->fontsize, .fontwidth = prm->fontwidth, .nametype = prm->nametype,
		.total = (int64_t)prm->total, .factor = prm->factor, .inverted = prm->inverted, .hash = prm->hash, .type = 1,
	};
	int err;

	if (!o.countname)
		o.countname = prm->count ? series->what : strcmp(series->unit, "count") != 0 ? series->unit : series->name;
	say_total(s, p);
	err = flame_svg_write(p, &o, out);
	free(below);
	return err;
}

/* Return: owned by the caller; NULL without memory. */
static char *report_input(const struct sink *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs("the trace", f);
	write_range(&s->params, " ", f);
	fclose(f);
	return text;
}

static int write_report(const struct sink *s, const struct series *series, const struct flame_profile *p, FILE *out)
{
	struct flame_report_options options = { .count = s->params.count };
	const char *format = s->params.report_format;
	struct flame_owner owner = { 0 };
	struct flame_report report;
	char *input = report_input(s);
	int err;

	(void)params_project(&s->params, &owner);	/* checked before */
	flame_report_init(&report, &options, &owner);
	err = input ? flame_report_add(&report, p, 1, series->kind, input) : FLAME_ENOMEM;
	if (!err && format && !strcmp(format, "json"))
		err = flame_report_write_json(&report, out);
	else if (!err && format && !strcmp(format, "text"))
		err = flame_report_write_text(&report, out);
	else if (!err)
		err = flame_report_write_markdown(&report, out);
	flame_report_release(&report);
	flame_owner_release(&owner);
	free(input);
	return err;
}

static int write_one(const struct sink *s, const struct series *series, const struct flame_profile *p,
		     enum writer writer, FILE *out)
{
	struct flame_folded_options folded = {
		.type = 1, .kinds = s->params.annotate ? FLAME_ALL_KINDS : 0, .header = s->params.header,
	};

	if (writer == WRITER_FOLDED)
		return flame_folded_write(p, &folded, out);
	if (writer == WRITER_REPORT)
		return write_report(s, series, p, out);
	return write_svg(s, series, p, out);
}

static int write_path(struct sink *s, const struct series *series, const struct flame_profile *p,
		      enum writer writer)
{
	const char *path = s->params.outputs[writer];
	bool standard = !strcmp(path, "-");
	char *temporary = NULL;
	FILE *f = standard ? stdout : file_open(path, &temporary);
	int err = f ? write_one(s, series, p, writer, f) : FLAME_EIO;

	if (f)
		err = file_close(f, path, temporary, err);
	if (err)
		append_cause(s, "cannot write %s to %s: %s", writer_names[writer], standard ? "standard output" : path,
			     err == FLAME_EIO ? strerror(errno) : flame_strerror(err));
	return err ? -1 : 0;
}

static int transform(struct sink *s, struct flame_profile **p)
{
	const struct params *prm = &s->params;
	struct flame_transform_options o = {
		.only = { prm->only }, .exclude = { prm->exclude }, .focus = { prm->focus }, .reverse = prm->reverse,
		.collapse_recursion = prm->collapse_recursion, .strip_hex = prm->strip_hex, .strip_ids = prm->strip_ids,
	};

	if (!o.only[0] && !o.exclude[0] && !o.focus[0] && !o.reverse && !o.collapse_recursion && !o.strip_hex && !o.strip_ids)
		return 0;
	return flame_transform(p, &o);
}

static int write_all(struct sink *s, const struct series *series, struct flame_symbols *symbols)
{
	int status = 0;

	for (enum writer w = 0; w < NR_WRITERS && !status; w++) {
		struct flame_profile_options options = {
			.kinds = w != WRITER_FOLDED || s->params.annotate ? FLAME_ALL_KINDS : 0, .root = FLAME_ROOT_NONE,
			.keep_module = w == WRITER_REPORT, .keep_line = w == WRITER_REPORT,
		};
		struct flame_profile *p;

		if (!s->params.outputs[w])
			continue;
		p = names_resolve(s, series, &options, symbols);
		if (!p || transform(s, &p)) {
			append_cause(s, "cannot put the profile together: %s", flame_strerror(s->error ? s->error : FLAME_ENOMEM));
			status = -1;
		} else if ((s->params.only || s->params.exclude || s->params.focus) && !flame_nr_samples(p)) {
			append_cause(s, "no stack is left: only, exclude or focus dropped all");
			status = -1;
		} else {
			status = write_path(s, series, p, w);
		}
		flame_profile_free(p);
	}
	return status;
}

/* --symbols DIR is the parameter symbols here. Paths may hold "--", too. */
static void option_names(char *text)
{
	static const char *const options[] = { "--symbols", "--symfs", "--kallsyms", "--no-inline" };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		for (char *at = text; (at = strstr(at, options[i])); at++) {
			if (at == text || at[-1] == ' ' || at[-1] == '(')
				memmove(at, at + 2, strlen(at + 2) + 1);
		}
	}
}

/* The messages of the symbols name fgconv's options. */
static void report_symbols(const struct sink *s, const struct flame_symbols *symbols)
{
	struct flame_diag diag = { 0 };

	flame_symbols_report(symbols, &diag);
	for (size_t i = 0; i < diag.nr_messages; i++) {
		char *text = diag.messages[i].text;

		option_names(text);
		sink_say(s, diag.messages[i].severity, "%s", text);
	}
	flame_diag_release(&diag);
}

int output_write(struct sink *s)
{
	const struct params *prm = &s->params;
	struct flame_symbol_options options = {
		.symbol_dir = prm->symbols, .symfs = prm->symfs, .kallsyms = prm->kallsyms, .no_inline = prm->no_inline,
		.debuginfod = true, .lines = prm->outputs[WRITER_REPORT] != NULL,
	};
	const struct series *series;
	struct flame_symbols *symbols;
	int status;

	threads_settle(s);
	for (size_t i = 0; i < s->nr_series; i++)
		series_sum(s->series[i]);
	if (s->error) {
		append_cause(s, "%s", flame_strerror(s->error));
		return -1;
	}
	series = choose(s);
	if (!series || !series->used)
		return nothing_there(s);
	symbols = flame_symbols_new(&options);
	if (!symbols) {
		append_cause(s, "out of memory");
		return -1;
	}
	status = write_all(s, series, symbols);
	if (!status) {
		say_all(s, series);
		report_symbols(s, symbols);
	}
	flame_symbols_free(symbols);
	return status;
}

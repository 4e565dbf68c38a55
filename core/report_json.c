/* SPDX-License-Identifier: MIT */
/*
 * report_json.c - the report for programs. fgreport(1) documents the schema; members may be added,
 * those that are there keep their names and meaning while "schema" is 1.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "json_write.h"
#include "number.h"
#include "report_words.h"

struct writer {
	FILE *out;
	bool is_first;	/* nothing stands before the next member or item */
	unsigned int depth;
};

/* Before each member or item. */
static void next(struct writer *w)
{
	fputs(w->is_first ? "\n" : ",\n", w->out);
	for (unsigned int i = 0; i < w->depth; i++)
		fputc('\t', w->out);
	w->is_first = false;
}

static void put_key(struct writer *w, const char *key)
{
	next(w);
	if (key)
		fprintf(w->out, "\"%s\": ", key);
}

/* @key is NULL for an item of an array. */
static void open_in(struct writer *w, const char *key, char bracket)
{
	put_key(w, key);
	fputc(bracket, w->out);
	w->is_first = true;
	w->depth++;
}

static void close_in(struct writer *w, char bracket)
{
	bool is_empty = w->is_first;

	w->depth--;
	w->is_first = true;
	if (!is_empty)
		next(w);
	fputc(bracket, w->out);
	w->is_first = false;
}

static void put_span(struct writer *w, const char *key, struct flame_span s)
{
	put_key(w, key);
	flame_json_write_string(w->out, s);
}

static void put_string(struct writer *w, const char *key, const char *s)
{
	put_span(w, key, (struct flame_span){ s, strlen(s) });
}

/* null where nothing is known. */
static void put_known(struct writer *w, const char *key, struct flame_span s)
{
	put_key(w, key);
	if (s.len)
		flame_json_write_string(w->out, s);
	else
		fputs("null", w->out);
}

static void put_whole(struct writer *w, const char *key, uint64_t n)
{
	put_key(w, key);
	fprintf(w->out, "%llu", (unsigned long long)n);
}

static void put_number(struct writer *w, const char *key, double n)
{
	put_key(w, key);
	fprintf(w->out, "%.6g", isfinite(n) ? n : 0);
}

/* 0 is null: not known. */
static void put_some(struct writer *w, const char *key, double n)
{
	put_key(w, key);
	if (n > 0 && isfinite(n))
		fprintf(w->out, "%.6g", n);
	else
		fputs("null", w->out);
}

static void put_bool(struct writer *w, const char *key, bool is)
{
	put_key(w, key);
	fputs(is ? "true" : "false", w->out);
}

/* Value / 10^scale as a number of JSON. */
static void put_value(struct writer *w, const char *key, int64_t value, uint32_t scale)
{
	char text[FLAME_NUMBER_MAX] = "";
	size_t len = flame_number_write(text, value, scale);

	put_key(w, key);
	fwrite(text, 1, len, w->out);
}

static void put_function(struct writer *w, const char *key, const struct flame_report_part *part, uint32_t function,
			 flame_frame frame)
{
	const struct flame_function *fn = &part->f.functions[function];
	struct flame_place place = { .file = fn->file };

	if (!function) {
		put_known(w, key, (struct flame_span){ "", 0 });
		return;
	}
	if (frame)
		place = flame_report_place(part->profile, frame);
	open_in(w, key, '{');
	put_span(w, "function", fn->name);
	put_known(w, "module", fn->module);
	put_known(w, "file", place.file.len ? place.file : fn->file);
	put_some(w, "line", place.line);
	put_string(w, "code", flame_code_id(fn->code));
	put_string(w, "why", fn->why ? fn->why : "");
	close_in(w, '}');
}

static void put_piece(struct writer *w, const struct flame_report_part *part, const struct flame_report_piece *piece)
{
	static const char *const kinds[] = {
		[FLAME_PIECE_FUNCTION] = "function", [FLAME_PIECE_CODE] = "code",
		[FLAME_PIECE_SYSCALL] = "syscall", [FLAME_PIECE_ENTRY] = "kernel",
	};
	struct flame_span name;

	open_in(w, NULL, '{');
	put_string(w, "what", kinds[piece->kind]);
	if (piece->kind == FLAME_PIECE_FUNCTION) {
		put_span(w, "name", part->f.functions[piece->id].name);
	} else if (piece->kind == FLAME_PIECE_SYSCALL) {
		flame_kernel_entry(part->f.functions[piece->id].name, &name);
		put_span(w, "name", name);
	} else {
		put_string(w, "name", piece->kind == FLAME_PIECE_CODE ? flame_code_id((enum flame_code)piece->id) :
			   flame_report_entry_id((enum flame_kernel_entry)piece->id));
	}
	put_number(w, "share", piece->share);
	close_in(w, '}');
}

static void put_path(struct writer *w, const struct flame_report_part *part, const struct flame_report_path *path)
{
	const struct flame_call *call = &part->f.calls[path->call];

	open_in(w, NULL, '{');
	put_number(w, "share", path->share);
	put_some(w, "error", path->error);
	put_function(w, "owner", part, path->is_owned ? call->function : 0, path->line);
	put_some(w, "line_share", path->line_share);
	put_number(w, "this_way", path->end_share);
	put_whole(w, "ways", path->nr_ends);
	open_in(w, "steps", '[');
	for (size_t i = 0; i < path->nr_steps; i++) {
		open_in(w, NULL, '{');
		put_span(w, "function", part->f.functions[path->steps[i]].name);
		put_bool(w, "gap", path->gaps[i]);
		close_in(w, '}');
	}
	close_in(w, ']');
	open_in(w, "callers", '[');
	for (size_t i = 0; i < path->nr_callers; i++)
		put_piece(w, part, &path->callers[i]);
	close_in(w, ']');
	open_in(w, "in", '[');
	for (size_t i = 0; i < path->nr_pieces; i++)
		put_piece(w, part, &path->pieces[i]);
	close_in(w, ']');
	close_in(w, '}');
}

static void put_paths(struct writer *w, const struct flame_report_part *part)
{
	open_in(w, "paths", '[');
	for (size_t i = 0; i < part->nr_paths; i++)
		put_path(w, part, &part->paths[i]);
	close_in(w, ']');
	put_whole(w, "paths_more", part->nr_more);
	put_number(w, "paths_rest", part->rest);
}

static void put_tops(struct writer *w, const struct flame_report_part *part)
{
	open_in(w, "top_edges", '[');
	for (size_t i = 0; i < part->nr_tops; i++) {
		const struct flame_report_top *top = &part->tops[i];

		open_in(w, NULL, '{');
		put_number(w, "self", top->self);
		put_some(w, "error", top->error);
		put_number(w, "total", top->total);
		put_function(w, "at", part, top->function, part->f.functions[top->function].line);
		put_function(w, "owner", part, top->owner, top->owner_line);
		put_some(w, "owner_share", top->owner_share);
		close_in(w, '}');
	}
	close_in(w, ']');
}

static void put_kernel(struct writer *w, const struct flame_report_part *part)
{
	open_in(w, "kernel", '[');
	for (size_t i = 0; i < part->nr_entries; i++) {
		const struct flame_report_entry *entry = &part->entries[i];

		open_in(w, NULL, '{');
		put_string(w, "entry", flame_report_entry_id(entry->entry));
		put_known(w, "syscall", entry->name);
		put_number(w, "share", entry->share);
		open_in(w, "works", '{');
		for (size_t work = 0; work < FLAME_NR_WORKS; work++) {
			if (entry->works[work] > 0)
				put_number(w, flame_kernel_work_name((enum flame_kernel_work)work), entry->works[work]);
		}
		close_in(w, '}');
		close_in(w, '}');
	}
	close_in(w, ']');
}

static void put_hints(struct writer *w, const struct flame_report_part *part)
{
	open_in(w, "hints", '[');
	for (size_t i = 0; i < part->nr_hints; i++) {
		open_in(w, NULL, '{');
		put_string(w, "id", part->hints[i].hint->id);
		put_number(w, "share", part->hints[i].share);
		put_string(w, "text", part->hints[i].hint->text);
		put_string(w, "source", part->hints[i].hint->source);
		close_in(w, '}');
	}
	close_in(w, ']');
}

static void put_quality(struct writer *w, const struct flame_report_part *part)
{
	static const char *const severities[] = {
		[FLAME_NOTE] = "note", [FLAME_WARNING] = "warning", [FLAME_ERROR] = "error",
	};

	open_in(w, "quality", '[');
	for (size_t i = 0; i < part->quality.nr_findings; i++) {
		const struct flame_finding *finding = &part->quality.findings[i];

		open_in(w, NULL, '{');
		put_string(w, "id", finding->id);
		put_string(w, "severity", severities[finding->severity]);
		put_number(w, "number", finding->number);
		put_string(w, "unit", finding->unit);
		put_string(w, "what", finding->what);
		put_string(w, "cause", finding->cause);
		put_string(w, "remedy", finding->remedy);
		close_in(w, '}');
	}
	close_in(w, ']');
}

static void put_recording(struct writer *w, const struct flame_report_part *part)
{
	const struct flame_profile *p = part->profile;
	const struct flame_meta *meta = flame_meta_get(p);
	const struct flame_type_info *type = flame_type_get(p, part->type);
	const struct flame_quality *q = &part->quality;

	put_string(w, "input", part->input);
	put_string(w, "kind", flame_report_kind_id(part->kind));
	put_known(w, "event", flame_string_get(p, type->name));
	put_known(w, "unit", flame_string_get(p, type->unit));
	put_value(w, "total", part->f.total, type->scale);
	put_value(w, "idle", part->f.idle, type->scale);
	put_whole(w, "samples", part->nr_samples ? part->nr_samples : q->nr_samples);
	put_bool(w, "samples_at_least", q->at_least && !part->nr_samples);
	put_some(w, "duration_s", q->duration_s);
	put_some(w, "frequency_hz", meta->frequency_hz);
	put_some(w, "period", (double)meta->period);
	put_whole(w, "lost", q->lost);
	put_whole(w, "throttled", q->throttled);
	put_known(w, "tool", flame_string_get(p, meta->tool));
	put_known(w, "command", flame_string_get(p, meta->command));
	put_known(w, "host", flame_string_get(p, meta->host));
	put_known(w, "runtime", flame_string_get(p, meta->runtime));
}

static void put_shares(struct writer *w, const struct flame_report_part *part)
{
	open_in(w, "processes", '[');
	for (size_t i = 0; i < part->nr_tasks; i++) {
		open_in(w, NULL, '{');
		put_span(w, "name", part->tasks[i].name);
		put_number(w, "share", part->tasks[i].share);
		close_in(w, '}');
	}
	close_in(w, ']');
	open_in(w, "spent", '{');
	for (size_t i = 0; i < FLAME_NR_CODES; i++)
		put_number(w, flame_code_id((enum flame_code)i), part->spent[i]);
	close_in(w, '}');
}

static void put_part(struct writer *w, const char *key, const struct flame_report_part *part)
{
	open_in(w, key, '{');
	put_recording(w, part);
	put_shares(w, part);
	put_paths(w, part);
	put_tops(w, part);
	put_kernel(w, part);
	put_hints(w, part);
	put_quality(w, part);
	close_in(w, '}');
}

static void put_interval(struct writer *w, struct flame_interval interval)
{
	put_key(w, "interval");
	if (interval.high > interval.low)
		fprintf(w->out, "[%.6g, %.6g]", interval.low, interval.high);
	else
		fputs("null", w->out);
}

static void put_changes(struct writer *w, const struct flame_report *r)
{
	open_in(w, "changes", '[');
	for (size_t i = 0; i < r->nr_changes; i++) {
		const struct flame_report_change *change = &r->changes[i];

		open_in(w, NULL, '{');
		put_span(w, "function", change->name);
		put_known(w, "file", change->file);
		put_number(w, "before_total", change->before_total);
		put_number(w, "total", change->total);
		put_interval(w, change->interval);
		put_number(w, "before_self", change->before_self);
		put_number(w, "self", change->self);
		close_in(w, '}');
	}
	close_in(w, ']');
	put_whole(w, "changes_within_noise", r->nr_within_noise);
}

int flame_report_write_json(const struct flame_report *r, FILE *out)
{
	struct writer w = { .out = out, .is_first = true, .depth = 1 };

	fputc('{', out);
	put_string(&w, "format", "fgreport");
	put_whole(&w, "schema", 1);
	put_number(&w, "min", r->options.min);
	open_in(&w, "profiles", '[');
	for (size_t i = 0; i < r->nr_parts; i++)
		put_part(&w, NULL, &r->parts[i]);
	close_in(&w, ']');
	if (r->has_before) {
		put_part(&w, "before", &r->before);
		put_changes(&w, r);
	}
	fputs("\n}\n", out);
	return ferror(out) ? FLAME_EIO : 0;
}

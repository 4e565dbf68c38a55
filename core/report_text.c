/* SPDX-License-Identifier: MIT */
/*
 * report_text.c - the report for people: as Markdown, and as plain text. Both say the same; a style
 * is how they say it.
 *
 * Names come from the input. In Markdown they stand in code spans, whose fence is longer than any
 * run of backticks in the name, or are escaped; in both no control byte, no change of direction and
 * no invalid UTF-8 gets through.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "remedy.h"
#include "report_words.h"
#include "span.h"
#include "units.h"
#include "utf8.h"

#define NAME_MAX_BYTES 90	/* longer names are shortened in the middle */
#define TEMPLATE_MAX_BYTES 48	/* longer names lose their template arguments */
#define FINDINGS_MAX 5		/* of quality; JSON has all */
#define HINTS_MAX 5
#define FILE_MAX_BYTES 60	/* longer paths show their end */

struct style {
	const char *h1, *h2, *h3, *item, *more;	/* in front of a heading, an item, what follows an item */
	const char *strong;
	bool is_markdown;
};

static const struct style markdown = {
	.h1 = "# ", .h2 = "## ", .h3 = "### ", .item = "- ", .more = "   ", .strong = "**", .is_markdown = true,
};
static const struct style plain = {
	.h1 = "", .h2 = "", .h3 = "", .item = "  - ", .more = "     ", .strong = "", .is_markdown = false,
};

struct writer {
	const struct flame_report *r;
	const struct flame_report_part *part;
	const struct style *style;
	FILE *out;
};

/* Names. */

/*
 * Bytes of the character at @s that may be shown as they are; 0: none, and *@skip bytes are to be
 * left out for it.
 */
static size_t shown_bytes(const char *s, size_t len, size_t *skip)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? (u[0] >= 0x20 && u[0] != 0x7f) : utf8_sequence(u, len);

	*skip = n ? n : 1;
	/* Controls from U+0080 on, and those that turn the direction of text. */
	if ((n == 2 && u[0] == 0xc2 && u[1] < 0xa0) ||
	    (n == 3 && u[0] == 0xe2 && ((u[1] == 0x80 && (u[2] == 0x8e || u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
					(u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9))))
		return 0;
	return n;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* What Markdown would act on; '_' within a word is none. */
static bool is_active(struct flame_span s, size_t i)
{
	if (s.s[i] == '_')
		return !i || i + 1 == s.len || !is_word(s.s[i - 1]) || !is_word(s.s[i + 1]);
	return strchr("\\`*[]<>#|&~", s.s[i]) != NULL;
}

/* Text outside of code spans. */
static void put_text(const struct writer *w, struct flame_span s)
{
	for (size_t i = 0, skip; i < s.len; i += skip) {
		size_t n = shown_bytes(s.s + i, s.len - i, &skip);

		if (w->style->is_markdown && n == 1 && is_active(s, i))
			fputc('\\', w->out);
		if (n)
			fwrite(s.s + i, 1, n, w->out);
		else
			fputc('?', w->out);
	}
}

static void put_words(const struct writer *w, const char *s)
{
	put_text(w, (struct flame_span){ s, strlen(s) });
}

/* Where a character begins at or before @at. */
static size_t char_start(struct flame_span s, size_t at)
{
	while (at && at < s.len && ((unsigned char)s.s[at] & 0xc0) == 0x80)
		at--;
	return at;
}

static void put_raw(const struct writer *w, struct flame_span s)
{
	for (size_t i = 0, skip; i < s.len; i += skip) {
		size_t n = shown_bytes(s.s + i, s.len - i, &skip);

		if (n)
			fwrite(s.s + i, 1, n, w->out);
		else
			fputc('?', w->out);
	}
}

/* "a<b<c>, d>::e" as "a<…>::e": into @buf, which has room for the name. */
static struct flame_span without_arguments(struct flame_span name, char *buf)
{
	size_t depth = 0, n = 0;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.s[i];
		bool arrow = i && c == '>' && (name.s[i - 1] == '-' || name.s[i - 1] == '=');

		/* One at the start is Rust's "<a as b>::c", and tells most. */
		bool opens = c == '<' && i && !span_ends(span_to(name, i), "operator");

		if (c == '>' && depth && !arrow)
			depth--;
		if (!depth)
			buf[n++] = c;
		if (opens && !depth)
			n = (size_t)(stpcpy(buf + n, "\342\200\246") - buf);
		depth += opens;
	}
	return depth ? name : (struct flame_span){ buf, n };
}

static size_t longest_run(struct flame_span s, char c)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < s.len; i++) {
		run = s.s[i] == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_fence(const struct writer *w, size_t run, bool is_open)
{
	if (!w->style->is_markdown)
		return;
	if (run && !is_open)
		fputc(' ', w->out);
	for (size_t i = 0; i <= run; i++)
		fputc('`', w->out);
	if (run && is_open)
		fputc(' ', w->out);
}

/* A name without its fence, shortened. */
static void put_short(const struct writer *w, struct flame_span name)
{
	char buf[4096];
	size_t head, tail;

	if (name.len > TEMPLATE_MAX_BYTES && name.len < sizeof(buf) / 4)
		name = without_arguments(name, buf);
	if (name.len <= NAME_MAX_BYTES) {
		put_raw(w, name);
		return;
	}
	head = char_start(name, NAME_MAX_BYTES / 2);
	tail = char_start(name, name.len - NAME_MAX_BYTES / 2 + 3);
	put_raw(w, span_to(name, head));
	fputs("\342\200\246", w->out);
	put_raw(w, span_from(name, tail));
}

static void put_code(const struct writer *w, struct flame_span name)
{
	size_t run = longest_run(name, '`');

	if (!name.len)
		return;
	put_fence(w, run, true);
	put_short(w, name);
	put_fence(w, run, false);
}

/* Numbers. */

static void put_percent(const struct writer *w, double share)
{
	fprintf(w->out, share >= 0.0995 ? "%.0f%%" : "%.1f%%", share * 100);
}

static void put_share(const struct writer *w, double share, double error)
{
	fputs(w->style->strong, w->out);
	put_percent(w, share);
	if (error > 0)
		fprintf(w->out, " \302\261%.*f", error >= 0.0995 ? 0 : 1, error * 100);
	fputs(w->style->strong, w->out);
}

/* 1234567 as 1,234,567. */
static void put_count(const struct writer *w, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			fputc(',', w->out);
		fputc(digits[i], w->out);
	}
}

/* Places. */

/* " (src/a.c:12)", as much of it as is known. */
static void put_place(const struct writer *w, struct flame_span file, uint32_t line)
{
	const char *slash;

	if (!file.len && !line)
		return;
	if (span_starts(file, "file://"))
		file = span_from(file, 7);
	fputs(" (", w->out);
	if (!file.len) {
		fprintf(w->out, "line %u)", line);
		return;
	}
	if (file.len > FILE_MAX_BYTES) {
		slash = (const char *)memchr(file.s + file.len - FILE_MAX_BYTES, '/', FILE_MAX_BYTES);
		file = span_from(file, slash ? (size_t)(slash - file.s) : char_start(file, file.len - FILE_MAX_BYTES));
		fputs("\342\200\246", w->out);
	}
	put_text(w, file);
	if (line)
		fprintf(w->out, ":%u", line);
	fputc(')', w->out);
}

/* Where @function is, at @frame where one is known; else in which module. */
static void put_function_place(const struct writer *w, uint32_t function, flame_frame frame)
{
	const struct flame_function *fn = &w->part->f.functions[function];
	struct flame_place place = { .name = fn->name, .file = fn->file };

	if (frame)
		place = flame_report_place(w->part->profile, frame);
	if (!place.file.len)
		place.file = fn->file;
	if (!place.file.len && !place.line && !fn->is_nameless && fn->code != FLAME_CODE_KERNEL)
		place.file = span_base(fn->module);
	put_place(w, place.file, place.line);
}

static void put_name(const struct writer *w, uint32_t function)
{
	put_code(w, w->part->f.functions[function].name);
}

/* The head. */

static void put_measure(const struct writer *w)
{
	const struct flame_report_part *part = w->part;
	const struct flame_type_info *type = flame_type_get(part->profile, part->type);
	struct flame_span name = flame_string_get(part->profile, type->name);
	struct flame_span unit = flame_string_get(part->profile, type->unit);
	char amount[FLAME_AMOUNT_MAX];

	fputs(w->style->item, w->out);
	fprintf(w->out, "Measured: %s",
		part->kind ? flame_report_kind_id(part->kind) : "counts, the input does not say of what");
	if (name.len) {
		fputs(", event ", w->out);
		put_code(w, name);
	}
	if (unit.len) {
		fputs(", in ", w->out);
		put_text(w, unit);
	}
	if (flame_amount(amount, part->f.total, type->scale, unit))
		fprintf(w->out, ", %s in all", amount);
	if ((double)part->f.idle > 0.0005 * (double)part->f.total) {
		fputs("; idle ", w->out);
		put_percent(w, (double)part->f.idle / ((double)part->f.idle + (double)part->f.total));
		fputs(" left out", w->out);
	}
	fputc('\n', w->out);
}

/* How often samples were asked for; what is measured whenever it happens has no rate. */
static void put_rate(const struct writer *w)
{
	const struct flame_meta *meta = flame_meta_get(w->part->profile);
	enum flame_value_kind kind = w->part->kind;
	char period[FLAME_AMOUNT_MAX];

	if (kind == FLAME_VALUE_OFF_CPU || kind == FLAME_VALUE_LOCK || kind == FLAME_VALUE_ALLOCATION)
		return;
	/* The JVM looks at some threads each period, not at each thread that often. */
	if (meta->frequency_hz &&
	    flame_recorder_of(w->part->profile, flame_string_get(w->part->profile, meta->format).s) == FLAME_RECORDER_JFR &&
	    flame_amount(period, 1000000000 / meta->frequency_hz, 0, (struct flame_span){ "ns", 2 }))
		fprintf(w->out, ", of some threads every %s", period);
	else if (meta->frequency_hz)
		fprintf(w->out, ", %u Hz", meta->frequency_hz);
	else if (meta->period > 1)
		fprintf(w->out, ", one in %llu events", (unsigned long long)meta->period);
}

static void put_sampling(const struct writer *w)
{
	const struct flame_quality *q = &w->part->quality;
	char duration[FLAME_AMOUNT_MAX];

	fputs(w->style->item, w->out);
	fputs("Samples: ", w->out);
	put_count(w, w->part->nr_samples ? w->part->nr_samples : q->nr_samples);
	if (q->at_least && !w->part->nr_samples)
		fputs(" or more", w->out);
	put_rate(w);
	if (flame_amount(duration, (int64_t)(q->duration_s * 1e9), 0, (struct flame_span){ "ns", 2 }) && q->duration_s > 0)
		fprintf(w->out, ", %s", duration);
	if (q->lost) {
		fputs(", lost ", w->out);
		put_count(w, q->lost);
	}
	if (q->throttled) {
		fputs(", throttled ", w->out);
		put_count(w, q->throttled);
		fputs(q->throttled == 1 ? " time" : " times", w->out);
	}
	fputc('\n', w->out);
}

static void put_meta(const struct writer *w)
{
	const struct flame_profile *p = w->part->profile;
	const struct flame_meta *meta = flame_meta_get(p);
	const struct {
		const char *label;
		flame_string text;
	} lines[] = {
		{ "tool", meta->tool }, { "host", meta->host }, { "runtime", meta->runtime }, { "command", meta->command },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!lines[i].text)
			continue;
		fputs(any ? ", " : w->style->item, w->out);
		fprintf(w->out, "%s%s ", any ? "" : "Recorded: ", lines[i].label);
		put_code(w, flame_string_get(p, lines[i].text));
		any = true;
	}
	if (any)
		fputc('\n', w->out);
}

static void put_spent(const struct writer *w)
{
	enum flame_code order[FLAME_NR_CODES] = { FLAME_CODE_PROJECT };
	size_t nr = 0;

	/* Larger ones first. */
	for (size_t code = 0; code < FLAME_NR_CODES; code++) {
		size_t i = nr;

		if (w->part->spent[code] < 0.005)
			continue;
		for (; i && w->part->spent[order[i - 1]] < w->part->spent[code]; i--)
			order[i] = order[i - 1];
		order[i] = (enum flame_code)code;
		nr++;
	}
	fputs(w->style->item, w->out);
	fputs("Spent in: ", w->out);
	for (size_t i = 0; i < nr; i++) {
		fprintf(w->out, "%s%s ", i ? ", " : "", flame_code_name(order[i]));
		put_percent(w, w->part->spent[order[i]]);
	}
	fputc('\n', w->out);
}

static void put_tasks(const struct writer *w)
{
	const struct flame_report_part *part = w->part;

	if (part->nr_tasks < 2)
		return;
	fputs(w->style->item, w->out);
	fputs("Processes and threads: ", w->out);
	for (size_t i = 0; i < part->nr_tasks && i < 5; i++) {
		fputs(i ? ", " : "", w->out);
		put_code(w, part->tasks[i].name);
		fputc(' ', w->out);
		put_percent(w, part->tasks[i].share);
	}
	if (part->nr_tasks > 5)
		fprintf(w->out, ", and %zu more", part->nr_tasks - 5);
	fputc('\n', w->out);
}

/* Paths. */

static void put_steps(const struct writer *w, const struct flame_report_path *path)
{
	const struct flame_functions *f = &w->part->f;
	size_t run = 0;

	for (size_t i = 0; i < path->nr_steps; i++) {
		size_t n = longest_run(f->functions[path->steps[i]].name, '`');

		run = n > run ? n : run;
	}
	put_fence(w, run, true);
	for (size_t i = 0; i < path->nr_steps; i++) {
		if (i)
			fputs(path->gaps[i] ? " -> \342\200\246 -> " : " -> ", w->out);
		put_short(w, f->functions[path->steps[i]].name);
	}
	put_fence(w, run, false);
}

static void put_piece(const struct writer *w, const struct flame_report_path *path,
		      const struct flame_report_piece *piece)
{
	bool has_function = piece->kind == FLAME_PIECE_FUNCTION || piece->kind == FLAME_PIECE_SYSCALL;
	const struct flame_function *fn = &w->part->f.functions[has_function ? piece->id : 0];
	struct flame_span name;

	switch (piece->kind) {
	case FLAME_PIECE_FUNCTION:
		if (piece->id == w->part->f.calls[path->call].function)
			fputs("itself", w->out);
		else
			put_code(w, fn->name);
		break;
	case FLAME_PIECE_CODE:
		fputs(flame_code_name((enum flame_code)piece->id), w->out);
		break;
	case FLAME_PIECE_SYSCALL:
		flame_kernel_entry(fn->name, &name);
		fputs("system call ", w->out);
		put_code(w, name);
		break;
	case FLAME_PIECE_ENTRY:
		fputs(flame_report_entry_name((enum flame_kernel_entry)piece->id), w->out);
		break;
	}
	fputc(' ', w->out);
	put_percent(w, piece->share);
}

/* Collectors and compilers of code have many ways: they are one. */
static bool is_grouped(const struct writer *w, const struct flame_report_path *path)
{
	enum flame_code spent = (enum flame_code)w->part->f.calls[path->call].spent;

	return !path->is_owned && (spent == FLAME_CODE_GC || spent == FLAME_CODE_JIT);
}

/* Details stand in a line of their own. */
static void put_detail(const struct writer *w, bool *any)
{
	fputs(*any ? "; " : w->style->more, w->out);
	*any = true;
}

static void put_path_details(const struct writer *w, const struct flame_report_path *path)
{
	const struct flame_call *call = &w->part->f.calls[path->call];
	bool any = false;

	if (is_grouped(w, path))
		return;
	if (!path->is_owned) {
		put_detail(w, &any);
		fprintf(w->out, "no project code on it: %s", flame_code_name((enum flame_code)call->spent));
	}
	if (path->is_owned && path->line_share < 0.995 && flame_report_place(w->part->profile, path->line).line) {
		put_detail(w, &any);
		put_percent(w, path->line_share);
		fputs(" of it at this line", w->out);
	}
	if (path->nr_callers > 1 && path->callers[1].share > 0.05 * path->share) {
		put_detail(w, &any);
		fputs("called by ", w->out);
		for (size_t i = 0; i < path->nr_callers; i++) {
			fputs(i ? ", " : "", w->out);
			put_code(w, w->part->f.functions[path->callers[i].id].name);
			fputc(' ', w->out);
			put_percent(w, path->callers[i].share);
		}
	}
	if (path->nr_pieces > 1 || path->pieces[0].kind != FLAME_PIECE_FUNCTION || path->pieces[0].id != call->function) {
		put_detail(w, &any);
		fputs("spent in ", w->out);
		for (size_t i = 0; i < path->nr_pieces; i++) {
			fputs(i ? ", " : "", w->out);
			put_piece(w, path, &path->pieces[i]);
		}
	}
	if (any)
		fputc('\n', w->out);
}

static void put_path(const struct writer *w, const struct flame_report_path *path, unsigned int nr)
{
	uint32_t function = w->part->f.calls[path->call].function;

	fprintf(w->out, w->style->is_markdown ? "%u. " : "  %u. ", nr);
	put_share(w, path->share, path->error);
	fputc(' ', w->out);
	if (is_grouped(w, path)) {
		fprintf(w->out, "%s, with no project code on it",
			flame_code_name((enum flame_code)w->part->f.calls[path->call].spent));
	} else {
		put_steps(w, path);
		put_function_place(w, function, path->line);
	}
	fputc('\n', w->out);
	put_path_details(w, path);
}

static void put_heading(const struct writer *w, const char *level, const char *text)
{
	fprintf(w->out, "\n%s%s\n%s", level, text, w->style->is_markdown ? "\n" : "");
}

#define SUGGESTED_MAX 3

/* The functions that most is spent in of those that would be the project's, if no pattern said otherwise. */
static size_t find_unmatched(const struct writer *w, uint32_t found[SUGGESTED_MAX])
{
	const struct flame_functions *f = &w->part->f;
	size_t nr = 0;

	for (uint32_t i = 1; i < f->nr_functions; i++) {
		size_t at = nr < SUGGESTED_MAX ? nr++ : SUGGESTED_MAX;

		if (f->functions[i].why != flame_owner_unmatched || !f->functions[i].total) {
			nr -= at < SUGGESTED_MAX;
			continue;
		}
		for (; at && f->functions[found[at - 1]].self < f->functions[i].self; at--) {
			if (at < SUGGESTED_MAX)
				found[at] = found[at - 1];
		}
		if (at < SUGGESTED_MAX)
			found[at] = i;
	}
	return nr;
}

/* No path has an owner: what to do about it. */
static void put_ownerless(const struct writer *w)
{
	uint32_t found[SUGGESTED_MAX];
	bool matches = false;
	size_t nr;

	for (uint32_t i = 1; i < w->part->f.nr_functions; i++)
		matches |= w->part->f.functions[i].code == FLAME_CODE_PROJECT;
	if (!w->r->owner || !w->r->owner->nr_patterns) {
		fputs("No function of the project was found on them; --project REGEX tells which are.", w->out);
	} else if (matches) {
		fputs("What --project matches is on none of them.", w->out);
	} else {
		nr = find_unmatched(w, found);
		fputs("No function, file or module matches --project.", w->out);
		for (size_t i = 0; i < nr; i++) {
			fputs(i ? ", " : " Without it the project's are, among others: ", w->out);
			put_name(w, found[i]);
			put_function_place(w, found[i], w->part->f.functions[found[i]].line);
		}
		fputs(nr ? "." : "", w->out);
	}
	fputs(w->style->is_markdown ? "\n\n" : "\n", w->out);
}

static void put_paths(const struct writer *w)
{
	const struct flame_report_part *part = w->part;
	bool any = false;

	put_heading(w, w->style->h2, part->kind == FLAME_VALUE_OFF_CPU || part->kind == FLAME_VALUE_LOCK ? "Where it waits" :
		    part->kind == FLAME_VALUE_ALLOCATION ? "Where it allocates" : "Hot paths");
	for (size_t i = 0; i < part->nr_paths; i++)
		any |= part->paths[i].is_owned;
	if (!any && part->nr_paths)
		put_ownerless(w);
	else if (part == w->r->parts && part->nr_paths)
		fprintf(w->out, "Each ends with its owner, the project's function nearest to the leaf%s",
			w->style->is_markdown ? ".\n\n" : ".\n");
	for (size_t i = 0; i < part->nr_paths; i++)
		put_path(w, &part->paths[i], (unsigned int)i + 1);
	if (!part->nr_paths) {
		fprintf(w->out, "%sNone has %.3g%% of it.\n", w->style->item, w->r->options.min * 100);
		return;
	}
	if (part->rest < 0.005)
		return;
	fprintf(w->out, "\nThe rest, ");
	put_percent(w, part->rest);
	if (part->nr_more)
		fprintf(w->out, ", is on %zu more path%s and on smaller ones.\n", part->nr_more, part->nr_more == 1 ? "" : "s");
	else
		fprintf(w->out, ", is on paths below %.3g%%.\n", w->r->options.min * 100);
}

/* Widest top edges. */

static void put_top(const struct writer *w, const struct flame_report_top *top)
{
	const struct flame_function *fn = &w->part->f.functions[top->function];

	fputs(w->style->item, w->out);
	put_share(w, top->self, top->error);
	fputc(' ', w->out);
	put_name(w, top->function);
	put_function_place(w, top->function, fn->line);
	if (fn->code != FLAME_CODE_PROJECT)
		fprintf(w->out, ", %s", flame_code_name(fn->code));
	if (top->owner && top->owner_share >= 0.3) {
		fputs(", for ", w->out);
		put_name(w, top->owner);
		put_function_place(w, top->owner, top->owner_line);
		if (top->owner_share < 0.995) {
			fputc(' ', w->out);
			put_percent(w, top->owner_share);
			fputs(" of it", w->out);
		}
	}
	fputc('\n', w->out);
}

static void put_tops(const struct writer *w)
{
	put_heading(w, w->style->h2, "Widest top edges");
	for (size_t i = 0; i < w->part->nr_tops; i++)
		put_top(w, &w->part->tops[i]);
	if (!w->part->nr_tops)
		fprintf(w->out, "%sNo function has %.3g%% of it by itself.\n", w->style->item, w->r->options.min * 100);
}

/* The kernel. */

static void put_works(const struct writer *w, const struct flame_report_entry *entry)
{
	bool any = false;

	for (size_t n = 0; n < 3; n++) {
		size_t best = 0;
		double most = 0.1 * entry->share, bound = 2;

		/* The next largest one; equal ones stand in their order. */
		for (size_t done = 0; done <= n; done++) {
			double found = 0;

			for (size_t i = 1; i < FLAME_NR_WORKS; i++) {
				if (entry->works[i] > found && entry->works[i] < bound) {
					found = entry->works[i];
					best = i;
				}
			}
			bound = found;
		}
		if (bound < most || bound <= 0)
			break;
		fprintf(w->out, "%s%s ", any ? ", " : ": ", flame_kernel_work_name((enum flame_kernel_work)best));
		put_percent(w, bound);
		any = true;
	}
}

static void put_kernel(const struct writer *w)
{
	const struct flame_report_part *part = w->part;
	size_t nr = 0;

	if (part->spent[FLAME_CODE_KERNEL] < w->r->options.min)
		return;
	if (part->f.is_blocked) {
		fprintf(w->out, "\n%sWhat it waits for", w->style->h2);
	} else {
		fprintf(w->out, "\n%sKernel, ", w->style->h2);
		put_percent(w, part->spent[FLAME_CODE_KERNEL]);
	}
	fputs(w->style->is_markdown ? "\n\n" : "\n", w->out);
	if (part->entries[0].entry == FLAME_ENTRY_NONE && part->entries[0].share > 0.99 * part->spent[FLAME_CODE_KERNEL]) {
		fprintf(w->out, "%sWhat it did is not known: there are no symbols of the kernel, or only its leaves.\n",
			w->style->item);
		return;
	}
	for (size_t i = 0; i < part->nr_entries && nr < 6; i++) {
		const struct flame_report_entry *entry = &part->entries[i];
		const char *wait;

		if (entry->share < 0.005)
			break;
		fputs(w->style->item, w->out);
		put_percent(w, entry->share);
		fputc(' ', w->out);
		if (entry->name.len) {
			fputs("system call ", w->out);
			put_code(w, entry->name);
		} else {
			fputs(flame_report_entry_name(entry->entry), w->out);
		}
		wait = part->f.is_blocked ? flame_kernel_wait(entry->entry, entry->name) : NULL;
		if (wait)
			fprintf(w->out, ", %s", wait);
		put_works(w, entry);
		fputc('\n', w->out);
		nr++;
	}
}

/* Hints, quality, files. */

static void put_hints(const struct writer *w)
{
	if (!w->part->nr_hints)
		return;
	put_heading(w, w->style->h2, "Hints");
	for (size_t i = 0; i < w->part->nr_hints && i < HINTS_MAX; i++) {
		const struct flame_given_hint *given = &w->part->hints[i];

		fputs(w->style->item, w->out);
		put_percent(w, given->share);
		fputc(' ', w->out);
		put_words(w, given->hint->text);
		fprintf(w->out, w->style->is_markdown ? " (<%s>)\n" : " (%s)\n", given->hint->source);
	}
}

/* What was said of the same file before, or is told by the sections themselves. */
static bool is_said(const struct writer *w, const struct flame_finding *finding)
{
	const struct flame_report *r = w->r;

	if (!strcmp(finding->id, "idle") && w->part->f.idle)
		return true;
	for (const struct flame_report_part *part = r->parts; part < r->parts + r->nr_parts; part++) {
		if (part == w->part || part->profile != w->part->profile)
			continue;
		for (size_t i = 0; part < w->part && i < part->quality.nr_findings; i++) {
			if (!strcmp(part->quality.findings[i].what, finding->what))
				return true;
		}
	}
	return false;
}

static void put_quality(const struct writer *w)
{
	static const char *const severities[] = {
		[FLAME_NOTE] = "Note", [FLAME_WARNING] = "Warning", [FLAME_ERROR] = "Error",
	};
	const struct flame_quality *q = &w->part->quality;
	size_t nr = 0, nr_more = 0;

	for (size_t i = 0; i < q->nr_findings; i++)
		nr += !is_said(w, &q->findings[i]);
	if (!nr && w->part != w->r->parts)
		return;
	put_heading(w, w->style->h2, "Can it be trusted?");
	nr = 0;
	for (size_t i = 0; i < q->nr_findings; i++) {
		const struct flame_finding *finding = &q->findings[i];

		if (is_said(w, finding))
			continue;
		/* What is left out of a report must be told. */
		if (nr >= FINDINGS_MAX && strcmp(finding->id, "other-events")) {
			nr_more++;
			continue;
		}
		nr++;
		fprintf(w->out, "%s%s: ", w->style->item, severities[finding->severity]);
		put_words(w, finding->what);
		if (*finding->cause) {
			fputs(". Why: ", w->out);
			put_words(w, finding->cause);
		}
		if (*finding->remedy) {
			fputs(". Remedy: ", w->out);
			put_words(w, finding->remedy);
		}
		fputs(".\n", w->out);
	}
	if (nr_more)
		fprintf(w->out, "%sand %zu more: --to json has all.\n", w->style->item, nr_more);
	if (!nr)
		fprintf(w->out, "%sNothing was found that speaks against it.\n", w->style->item);
}

static void put_changes(const struct writer *w)
{
	const struct flame_report *r = w->r;

	put_heading(w, w->style->h2, "Before and after");
	for (size_t i = 0; i < r->nr_changes && i < r->options.top; i++) {
		const struct flame_report_change *change = &r->changes[i];

		fputs(w->style->item, w->out);
		put_code(w, change->name);
		put_place(w, change->file, 0);
		fputc(' ', w->out);
		put_percent(w, change->before_total);
		fputs(" -> ", w->out);
		put_percent(w, change->total);
		if (change->interval.high > change->interval.low)
			fprintf(w->out, " \302\261%.1f", (change->interval.high - change->interval.low) * 50);
		fputs(", itself ", w->out);
		put_percent(w, change->before_self);
		fputs(" -> ", w->out);
		put_percent(w, change->self);
		fputc('\n', w->out);
	}
	if (r->nr_changes > r->options.top)
		fprintf(w->out, "%sand %zu more.\n", w->style->item, r->nr_changes - r->options.top);
	if (!r->nr_changes)
		fprintf(w->out, "%sNo function changed by %.3g%% or more beyond noise.\n", w->style->item, r->options.min * 100);
	if (r->nr_within_noise)
		fprintf(w->out, "%s%zu function%s within noise.\n", w->style->item, r->nr_within_noise,
			r->nr_within_noise == 1 ? " changed" : "s changed");
	if (r->nr_within_noise && (r->before.quality.at_least || r->parts[0].quality.at_least))
		fprintf(w->out, "%sOf sums it is not known how many samples they are, and little can be told from noise: "
			"compare the recordings themselves.\n", w->style->item);
}

/* A file once, with all that was read of it. */
static void put_files(const struct writer *w)
{
	const struct flame_report *r = w->r;

	put_heading(w, w->style->h2, "Files");
	for (size_t i = 0; i < r->nr_parts; i++) {
		bool again = i && r->parts[i].profile == r->parts[i - 1].profile;

		if (!again) {
			fputs(i ? "\n" : "", w->out);
			fputs(w->style->item, w->out);
			put_code(w, (struct flame_span){ r->parts[i].input, strlen(r->parts[i].input) });
		}
		fprintf(w->out, "%s%s", again ? ", " : ": ", flame_report_kind_id(r->parts[i].kind));
	}
	fputc('\n', w->out);
	if (r->has_before) {
		fputs(w->style->item, w->out);
		put_code(w, (struct flame_span){ r->before.input, strlen(r->before.input) });
		fputs(": before\n", w->out);
	}
}

static void put_part(const struct writer *w)
{
	bool is_more = w->part != w->r->parts && w->part->profile == w->part[-1].profile;

	put_measure(w);
	put_sampling(w);
	if (!is_more)
		put_meta(w);
	put_tasks(w);
	put_spent(w);
	if (w->part == &w->r->parts[0] && w->r->has_before)
		put_changes(w);
	put_paths(w);
	if (w->part == &w->r->parts[0] && !w->part->f.is_blocked)
		put_tops(w);
	put_kernel(w);
	put_hints(w);
	put_quality(w);
}

static int write_report(const struct flame_report *r, const struct style *style, FILE *out)
{
	struct writer w = { .r = r, .style = style, .out = out };

	for (size_t i = 0; i < r->nr_parts; i++) {
		w.part = &r->parts[i];
		fprintf(out, "%s%s%s", i ? "\n" : "", style->h1, i ? flame_value_kind_title(w.part->kind) : "");
		fputs(i ? "profile " : "Profile of ", out);
		put_code(&w, (struct flame_span){ w.part->input, strlen(w.part->input) });
		fputs(style->is_markdown ? "\n\n" : "\n", out);
		put_part(&w);
	}
	put_files(&w);
	return ferror(out) ? FLAME_EIO : 0;
}

int flame_report_write_markdown(const struct flame_report *r, FILE *out)
{
	return write_report(r, &markdown, out);
}

int flame_report_write_text(const struct flame_report *r, FILE *out)
{
	return write_report(r, &plain, out);
}

/* SPDX-License-Identifier: MIT */
/* doctor_report.c - what was found, kept in order and printed as text or JSON. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../core/json_write.h"
#include "../core/table.h"
#include "doctor.h"
#include "options.h"

#define LABEL 34	/* columns of the facts' names */

/* ---- adding ---- */

/* Return: a zeroed item behind the last of @items, or NULL without memory. */
static void *add(struct doctor *d, void **items, size_t *nr, size_t *room, size_t size)
{
	void *item;

	if (!array_reserve(items, room, *nr + 1, size)) {
		d->no_memory = true;
		return NULL;
	}
	item = (char *)*items + (*nr)++ * size;
	memset(item, 0, size);
	return item;
}

static char *text_of(struct doctor *d, const char *format, va_list args)
{
	char *text;

	if (!format)
		return NULL;
	if (vasprintf(&text, format, args) >= 0)
		return text;
	d->no_memory = true;
	return NULL;
}

static struct doctor_fact *add_fact(struct doctor *d, enum doctor_section section, enum doctor_type type, const char *key)
{
	struct doctor_fact *f = add(d, (void **)&d->facts, &d->nr_facts, &d->room_facts, sizeof(*f));

	if (f)
		*f = (struct doctor_fact){ .section = section, .type = type, .key = key };
	return f;
}

struct doctor_fact *doctor_text(struct doctor *d, enum doctor_section section, const char *key, const char *text,
				const char *remark, ...)
{
	struct doctor_fact *f = add_fact(d, section, text ? DOCTOR_TEXT : DOCTOR_UNKNOWN, key);
	va_list args;

	if (!f)
		return NULL;
	if (text) {
		f->text = strdup(text);
		d->no_memory |= !f->text;
		f->type = f->text ? DOCTOR_TEXT : DOCTOR_UNKNOWN;
	}
	va_start(args, remark);
	f->remark = text_of(d, remark, args);
	va_end(args);
	return f;
}

void doctor_number(struct doctor *d, enum doctor_section section, const char *key, long long number,
		   const char *remark, ...)
{
	struct doctor_fact *f = add_fact(d, section, DOCTOR_NUMBER, key);
	va_list args;

	if (!f)
		return;
	f->number = number;
	va_start(args, remark);
	f->remark = text_of(d, remark, args);
	va_end(args);
}

void doctor_truth(struct doctor *d, enum doctor_section section, const char *key, bool truth, const char *remark, ...)
{
	struct doctor_fact *f = add_fact(d, section, DOCTOR_TRUTH, key);
	va_list args;

	if (!f)
		return;
	f->number = truth;
	va_start(args, remark);
	f->remark = text_of(d, remark, args);
	va_end(args);
}

struct doctor_finding *doctor_find(struct doctor *d, enum doctor_mark mark, const char *format, ...)
{
	struct doctor_finding *f = add(d, (void **)&d->findings, &d->nr_findings, &d->room_findings, sizeof(*f));
	va_list args;

	if (!f)
		return NULL;
	f->mark = mark;
	va_start(args, format);
	f->text = text_of(d, format, args);
	va_end(args);
	return f;
}

void doctor_remedy(struct doctor_finding *finding, const char *what, const char *format, ...)
{
	va_list args;

	if (!finding)
		return;
	va_start(args, format);
	permission_advise_args(&finding->answer, what, format, args);
	va_end(args);
}

struct doctor_plan *doctor_plan_add(struct doctor *d, const char *purpose, const char *title)
{
	struct doctor_plan *p = add(d, (void **)&d->plans, &d->nr_plans, &d->room_plans, sizeof(*p));

	if (p)
		*p = (struct doctor_plan){ .purpose = purpose, .title = title, .ready = true };
	return p;
}

void doctor_step(struct doctor *d, struct doctor_plan *plan, const char *format, ...)
{
	va_list args;
	char *text;

	if (!plan || plan->nr_steps == DOCTOR_STEPS)
		return;
	va_start(args, format);
	text = text_of(d, format, args);
	va_end(args);
	if (text)
		plan->steps[plan->nr_steps++] = text;
}

bool doctor_is_ready(const struct doctor *d)
{
	for (size_t i = 0; i < d->nr_findings; i++) {
		if (d->findings[i].mark == DOCTOR_PROBLEM)
			return false;
	}
	return !d->nr_plans || d->plans[0].ready;
}

/* ---- text ---- */

static void print_fact(const struct doctor_fact *f, FILE *out)
{
	int used = fprintf(out, "  ");

	for (const char *c = f->key; *c; c++)
		used += fputc(*c == '_' ? ' ' : *c, out) != EOF;
	fprintf(out, "%*s", used < LABEL ? LABEL - used : 1, "");
	if (f->type == DOCTOR_TEXT)
		tool_print_safe(out, f->text);
	else if (f->type == DOCTOR_NUMBER)
		fprintf(out, "%lld", f->number);
	else
		fputs(f->type == DOCTOR_UNKNOWN ? "unknown" : f->number ? "yes" : "no", out);
	if (f->remark) {
		fputs(": ", out);
		tool_print_safe(out, f->remark);
	}
	fputc('\n', out);
}

static void print_answer(const struct permission_answer *answer, const char *indent, FILE *out)
{
	for (unsigned int i = 0; i < answer->nr_remedies; i++) {
		fprintf(out, "%s%s:\n%s    ", indent, answer->remedies[i].what, indent);
		tool_print_safe(out, answer->remedies[i].command);
		fputc('\n', out);
	}
}

static void print_findings(const struct doctor *d, FILE *out)
{
	if (d->nr_findings)
		fputs("\nFindings\n", out);
	for (int mark = DOCTOR_PROBLEM; mark >= DOCTOR_OK; mark--) {
		for (size_t i = 0; i < d->nr_findings; i++) {
			const struct doctor_finding *f = &d->findings[i];

			if ((int)f->mark != mark)
				continue;
			fputs(mark == DOCTOR_PROBLEM ? "  problem: " : "  note: ", out);
			tool_print_safe(out, f->text ? f->text : "");
			fputc('\n', out);
			print_answer(&f->answer, "      ", out);
		}
	}
}

static void print_line(const char *before, const char *text, FILE *out)
{
	if (!text)
		return;
	fputs(before, out);
	tool_print_safe(out, text);
	fputc('\n', out);
}

static void print_plan(const struct doctor_plan *p, FILE *out)
{
	fprintf(out, "\n%s%s\n", p->title, p->ready ? "" : " (not possible now)");
	for (unsigned int i = 0; i < p->nr_steps; i++) {
		fputs("    ", out);
		tool_print_safe(out, p->steps[i]);
		fputc('\n', out);
	}
	print_line("  note: ", p->remark, out);
	print_line("  missing: ", p->missing, out);
	if (!p->needs.why)
		return;
	fputs(p->ready ? "  for all of it, also what the kernel does: " : "  permission: ", out);
	tool_print_safe(out, p->needs.why);
	fputs(p->needs.nr_remedies ? ". Yours to decide, one of\n" : "\n", out);
	print_answer(&p->needs, "      ", out);
}

void doctor_print_text(const struct doctor *d, FILE *out)
{
	static const char *const titles[] = {
		[DOCTOR_HOST] = "Host", [DOCTOR_PROGRAMS] = "\nPrograms", [DOCTOR_TARGET] = "\nTarget",
	};
	int last = -1;

	for (size_t i = 0; i < d->nr_facts; i++) {
		if ((int)d->facts[i].section != last)
			fprintf(out, "%s\n", titles[d->facts[i].section]);
		last = (int)d->facts[i].section;
		print_fact(&d->facts[i], out);
	}
	print_findings(d, out);
	for (size_t i = 0; i < d->nr_plans; i++)
		print_plan(&d->plans[i], out);
}

/* ---- JSON ---- */

static void json_text(const char *text, FILE *out)
{
	if (text)
		flame_json_write_string(out, (struct flame_span){ text, strlen(text) });
	else
		fputs("null", out);
}

static void json_fact(const struct doctor_fact *f, FILE *out)
{
	json_text(f->key, out);
	fputs(": {\"value\": ", out);
	if (f->type == DOCTOR_NUMBER)
		fprintf(out, "%lld", f->number);
	else if (f->type == DOCTOR_TRUTH)
		fputs(f->number ? "true" : "false", out);
	else
		json_text(f->text, out);
	if (f->remark) {
		fputs(", \"remark\": ", out);
		json_text(f->remark, out);
	}
	fputc('}', out);
}

static void json_section(const struct doctor *d, enum doctor_section section, const char *name, FILE *out)
{
	const char *separator = "\n    ";

	fprintf(out, ",\n  \"%s\": {", name);
	for (size_t i = 0; i < d->nr_facts; i++) {
		/* Files are in "modules", with all that is known of them. */
		if (d->facts[i].section != section || !strcmp(d->facts[i].key, "file"))
			continue;
		fputs(separator, out);
		json_fact(&d->facts[i], out);
		separator = ",\n    ";
	}
	fputs("\n  }", out);
}

static void json_answer(const struct permission_answer *answer, FILE *out)
{
	fputc('[', out);
	for (unsigned int i = 0; i < answer->nr_remedies; i++) {
		fputs(i ? ", {\"what\": " : "{\"what\": ", out);
		json_text(answer->remedies[i].what, out);
		fputs(", \"command\": ", out);
		json_text(answer->remedies[i].command, out);
		fputc('}', out);
	}
	fputc(']', out);
}

static void json_module(const struct doctor_module *m, FILE *out)
{
	fputs("{\"path\": ", out);
	json_text(m->path, out);
	fprintf(out, ", \"examined\": %s, \"deleted\": %s, \"mapped\": %llu", m->why ? "false" : "true",
		m->deleted ? "true" : "false", (unsigned long long)m->mapped);
	if (m->why) {
		fputs(", \"why\": ", out);
		json_text(m->why, out);
	}
	fputs(", \"language\": ", out);
	json_text(m->why ? NULL : flame_language_name(m->language), out);
	fputs(", \"compiler\": ", out);
	json_text(m->compiler, out);
	fputs(", \"build_id\": ", out);
	json_text(m->build_id, out);
	fprintf(out, ",\n      \"symtab\": %s, \"dynsym\": %s, \"gnu_debugdata\": %s, \"debug_info\": %s, \"gnu_debuglink\": %s",
		m->symtab ? "true" : "false", m->dynsym ? "true" : "false", m->mini ? "true" : "false",
		m->debug_info ? "true" : "false", m->debug_link ? "true" : "false");
	fprintf(out, ", \"debug_file\": %s, \"symbols\": %zu,\n      \"functions\": %u, \"with_frame\": %u, \"with_frame_pointer\": %u, \"counted_by\": ",
		m->debug_file ? "true" : "false", m->nr_symbols, m->frames.nr_functions, m->frames.nr_frames,
		m->frames.nr_pointers);
	json_text(m->frames.method, out);
	fputs(", \"package\": ", out);
	json_text(m->package, out);
	fputs(", \"debug_package\": ", out);
	json_text(m->debug_package, out);
	fputc('}', out);
}

static void json_plan(const struct doctor_plan *p, FILE *out)
{
	fputs("{\"purpose\": ", out);
	json_text(p->purpose, out);
	fputs(", \"title\": ", out);
	json_text(p->title, out);
	fprintf(out, ", \"ready\": %s,\n      \"commands\": [", p->ready ? "true" : "false");
	for (unsigned int i = 0; i < p->nr_steps; i++) {
		fputs(i ? ", " : "", out);
		json_text(p->steps[i], out);
	}
	fputs("], \"remark\": ", out);
	json_text(p->remark, out);
	fputs(", \"missing\": ", out);
	json_text(p->missing, out);
	fputs(",\n      \"permission\": ", out);
	json_text(p->needs.why, out);
	fputs(", \"remedies\": ", out);
	json_answer(&p->needs, out);
	fputc('}', out);
}

static void json_finding(const struct doctor_finding *f, FILE *out)
{
	fprintf(out, "{\"severity\": \"%s\", \"text\": ", f->mark == DOCTOR_PROBLEM ? "problem" : "note");
	json_text(f->text, out);
	fputs(", \"remedies\": ", out);
	json_answer(&f->answer, out);
	fputc('}', out);
}

void doctor_print_json(const struct doctor *d, FILE *out)
{
	const char *separator = "";

	fprintf(out, "{\n  \"format\": \"fgdoctor\", \"schema\": 1, \"ready\": %s", doctor_is_ready(d) ? "true" : "false");
	json_section(d, DOCTOR_HOST, "host", out);
	json_section(d, DOCTOR_PROGRAMS, "programs", out);
	json_section(d, DOCTOR_TARGET, "target", out);
	fputs(",\n  \"modules\": [", out);
	for (size_t i = 0; i < d->target.nr_modules; i++) {
		if (!d->target.modules[i].examined)
			continue;
		fprintf(out, "%s\n    ", separator);
		json_module(&d->target.modules[i], out);
		separator = ",";
	}
	fputs("],\n  \"findings\": [", out);
	for (size_t i = 0; i < d->nr_findings; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		json_finding(&d->findings[i], out);
	}
	fputs("],\n  \"plans\": [", out);
	for (size_t i = 0; i < d->nr_plans; i++) {
		fputs(i ? ",\n    " : "\n    ", out);
		json_plan(&d->plans[i], out);
	}
	fputs("]\n}\n", out);
}

/* ---- the end ---- */

static void release_target(struct doctor_target *t)
{
	for (size_t i = 0; i < t->nr_modules; i++) {
		struct doctor_module *m = &t->modules[i];

		free(m->path);
		free(m->why);
		free(m->compiler);
		free(m->build_id);
		free(m->package);
		free(m->debug_package);
	}
	free(t->modules);
	free(t->exe);
	free(t->script);
	free(t->words);
	free(t->environment);
}

void doctor_release(struct doctor *d)
{
	for (size_t i = 0; i < d->nr_facts; i++) {
		free(d->facts[i].text);
		free(d->facts[i].remark);
	}
	for (size_t i = 0; i < d->nr_findings; i++) {
		free(d->findings[i].text);
		permission_answer_release(&d->findings[i].answer);
	}
	for (size_t i = 0; i < d->nr_plans; i++) {
		for (unsigned int j = 0; j < d->plans[i].nr_steps; j++)
			free(d->plans[i].steps[j]);
		free(d->plans[i].remark);
		free(d->plans[i].missing);
		permission_answer_release(&d->plans[i].needs);
	}
	for (size_t i = 0; i < DOCTOR_NR_PROGRAMS; i++)
		free(d->programs[i]);
	free(d->debuginfod);
	free(d->facts);
	free(d->findings);
	free(d->plans);
	release_target(&d->target);
}

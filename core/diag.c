/* SPDX-License-Identifier: MIT */
/*
 * diag.c - messages and counted skips. Nothing is printed here.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "span.h"
#include "table.h"

#define STATE_TOLD 60	/* bytes of a state's name that are told */

void flame_diag_release(struct flame_diag *diag)
{
	for (size_t i = 0; i < diag->nr_messages; i++)
		free(diag->messages[i].text);
	free(diag->messages);
	free(diag->skips);
	for (size_t i = 0; i < FLAME_STATES_TOLD; i++)
		free(diag->states_left[i]);
	*diag = (struct flame_diag){ 0 };
}

void flame_diag_forget(struct flame_diag *diag, size_t nr)
{
	while (diag->nr_messages > nr)
		free(diag->messages[--diag->nr_messages].text);
	diag->nr_skips = 0;
}

static void add_text(struct flame_diag *diag, enum flame_severity severity, uint64_t line, char *text)
{
	if (!text || !array_reserve((void **)&diag->messages, &diag->room_messages, diag->nr_messages + 1,
				    sizeof(*diag->messages))) {
		free(text);
		return;
	}
	diag->messages[diag->nr_messages++] = (struct flame_message){ severity, line, text };
}

static void add_format(struct flame_diag *diag, enum flame_severity severity, uint64_t line, const char *format,
		       va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	add_text(diag, severity, line, text);
}

void flame_diag_add(struct flame_diag *diag, enum flame_severity severity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_format(diag, severity, 0, format, args);
	va_end(args);
}

/* Return: the line of the place that is read; 0 where the format has no lines. */
static uint64_t line_of(const struct flame_reader *rd)
{
	return rd->converter && rd->converter->binary ? 0 : flame_input_line_nr(rd->input);
}

int flame_fail(struct flame_reader *rd, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_format(rd->diag, FLAME_ERROR, line_of(rd), format, args);
	va_end(args);
	return err;
}

void flame_note(struct flame_reader *rd, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_format(rd->diag, FLAME_NOTE, 0, format, args);
	va_end(args);
}

void flame_damaged(struct flame_reader *rd, const char *format, ...)
{
	va_list args;

	rd->diag->damaged = true;
	va_start(args, format);
	add_format(rd->diag, FLAME_WARNING, 0, format, args);
	va_end(args);
}

static struct flame_skip *find_skip(struct flame_diag *diag, const char *reason)
{
	for (size_t i = 0; i < diag->nr_skips; i++) {
		if (!strcmp(diag->skips[i].reason, reason))
			return &diag->skips[i];
	}
	return NULL;
}

static void add_skip(struct flame_diag *diag, const struct flame_skip *skip)
{
	struct flame_skip *old = find_skip(diag, skip->reason);

	if (old) {
		old->nr += skip->nr;
		return;
	}
	if (array_reserve((void **)&diag->skips, &diag->room_skips, diag->nr_skips + 1, sizeof(*diag->skips)))
		diag->skips[diag->nr_skips++] = *skip;
}

int flame_skip_at(struct flame_reader *rd, const char *reason, uint64_t line, uint64_t nr)
{
	char *text;

	if (rd->options->strict) {
		add_text(rd->diag, FLAME_ERROR, line, asprintf(&text, "%s (--strict)", reason) < 0 ? NULL : text);
		return FLAME_EFORMAT;
	}
	add_skip(rd->diag, &(struct flame_skip){ reason, line, nr });
	return 0;
}

int flame_skip_before(struct flame_reader *rd, const char *reason, uint64_t lines)
{
	struct flame_skip *old = find_skip(rd->diag, reason);

	/* To count lines takes a look at all before. */
	if (!old)
		return flame_skip_at(rd, reason, line_of(rd) - lines, 1);
	old->nr++;
	return 0;
}

int flame_skip(struct flame_reader *rd, const char *reason)
{
	return flame_skip_before(rd, reason, 0);
}

uint64_t flame_diag_skipped(const struct flame_diag *diag)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < diag->nr_skips; i++)
		nr += diag->skips[i].nr;
	return nr;
}

/* States. */

static void leave_state(struct flame_diag *diag, struct flame_span state)
{
	size_t i = 0;

	state.len = state.len < STATE_TOLD ? state.len : STATE_TOLD;
	for (; i < FLAME_STATES_TOLD && diag->states_left[i]; i++) {
		const char *known = diag->states_left[i];

		if (span_is_nocase(state, (struct flame_span){ known, strlen(known) }))
			return;
	}
	if (i < FLAME_STATES_TOLD && state.len)
		diag->states_left[i] = strndup(state.s, state.len);
}

bool flame_wants_state(struct flame_reader *rd, struct flame_span state)
{
	struct flame_span rest = { rd->options->state, rd->options->state ? strlen(rd->options->state) : 0 }, part;
	uint64_t bit = 1;

	if (!rd->options->state)
		return true;
	for (; span_next(&rest, ',', &part); bit <<= 1) {
		if (!span_is_nocase(span_trim(part), state))
			continue;
		rd->diag->states_found |= bit;
		return true;
	}
	leave_state(rd->diag, state);
	return false;
}

char *flame_diag_states(const struct flame_diag *diag)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < FLAME_STATES_TOLD && diag->states_left[i]; i++)
		fprintf(out, "%s%s", i ? ", " : "; there are: ", diag->states_left[i]);
	if (out)
		fclose(out);
	return text;
}

void flame_diag_report_states(struct flame_diag *diag, const char *list)
{
	struct flame_span rest = { list, strlen(list) }, part;
	char *others = flame_diag_states(diag);

	for (uint64_t bit = 1; bit && span_next(&rest, ',', &part); bit <<= 1) {
		part = span_trim(part);
		if (part.len && !(diag->states_found & bit))
			flame_diag_add(diag, FLAME_NOTE, "no samples are in the state '%.*s' that --state lists%s",
				       (int)part.len, part.s, others ? others : "");
	}
	free(others);
}

void flame_diag_join(struct flame_diag *diag, struct flame_diag *from)
{
	for (size_t i = 0; i < from->nr_messages; i++) {
		struct flame_message *m = &from->messages[i];

		add_text(diag, m->severity, m->line, m->text);
		m->text = NULL;
	}
	for (size_t i = 0; i < from->nr_skips; i++)
		add_skip(diag, &from->skips[i]);
	diag->damaged |= from->damaged;
	diag->states_found |= from->states_found;
	for (size_t i = 0; i < FLAME_STATES_TOLD && from->states_left[i]; i++)
		leave_state(diag, (struct flame_span){ from->states_left[i], strlen(from->states_left[i]) });
	flame_diag_release(from);
}

void flame_diag_report_skips(struct flame_diag *diag)
{
	for (size_t i = 0; i < diag->nr_skips; i++) {
		const struct flame_skip *skip = &diag->skips[i];
		char *text;

		if (skip->nr == 1) {
			if (asprintf(&text, "%s; skipped", skip->reason) < 0)
				text = NULL;
		} else if (asprintf(&text, "%s; skipped, and %llu more like it", skip->reason,
				    (unsigned long long)skip->nr - 1) < 0) {
			text = NULL;
		}
		add_text(diag, FLAME_WARNING, skip->line, text);
	}
}

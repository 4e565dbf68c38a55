/* SPDX-License-Identifier: MIT */
/*
 * quality.c - whether a profile can be trusted.
 */
#define _GNU_SOURCE
#include "quality.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "span.h"
#include "table.h"

/* Fewer, and the widest frames are noise: a frame of 1% is off by half of itself and more below 1521 samples. */
#define FEW_SAMPLES 1000

/* Return: a new string, NULL without memory. */
static char *format_text(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

__attribute__((format(printf, 3, 4))) static bool add(struct flame_quality *q, const struct flame_finding *f,
						     const char *format, ...)
{
	struct flame_finding *new;
	va_list args;

	if (!array_reserve((void **)&q->findings, &q->room_findings, q->nr_findings + 1, sizeof(*q->findings)))
		return false;
	new = &q->findings[q->nr_findings++];
	*new = *f;
	va_start(args, format);
	new->what = format_text(format, args);
	va_end(args);
	new->cause = strdup(f->cause ? f->cause : "");
	new->remedy = strdup(f->remedy ? f->remedy : "");
	return new->what && new->cause && new->remedy;
}

static void survey(struct flame_quality *q, const struct flame_profile *p, flame_type type)
{
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (s->type != type)
			continue;
		q->nr_samples += s->nr_samples;
		q->total += s->value;
		q->nr_stacks++;
	}
	q->duration_s = (double)flame_meta_duration(p) / 1e9;
	q->asked_hz = flame_meta_get(p)->frequency_hz;
	q->lost = flame_lost(p);
	q->throttled = flame_meta_get(p)->throttled;
	if (q->nr_samples)
		q->margin = 100 * 1.96 * sqrt(0.01 * 0.99 / (double)q->nr_samples);
	if (q->duration_s > 0)
		q->achieved_hz = (double)q->nr_samples / q->duration_s;
}

int flame_quality_check(struct flame_quality *q, const struct flame_profile *p, flame_type type,
			const struct flame_quality_options *options)
{
	bool ok = true;

	(void)options;
	*q = (struct flame_quality){ 0 };
	survey(q, p, type);
	if (q->nr_samples < FEW_SAMPLES) {
		struct flame_finding f = {
			.severity = FLAME_WARNING, .id = "few-samples", .unit = "samples", .number = (double)q->nr_samples,
			.cause = (char *)"the recording was short, slow, or of something that hardly ran",
			.remedy = (char *)"record longer or more often",
		};

		ok = add(q, &f, "only %llu samples: a frame of 1%% is 1%% \302\261 %.2g", (unsigned long long)q->nr_samples, q->margin);
	}
	if (!ok)
		flame_quality_release(q);
	return ok ? 0 : FLAME_ENOMEM;
}

void flame_quality_release(struct flame_quality *q)
{
	for (size_t i = 0; i < q->nr_findings; i++) {
		free(q->findings[i].what);
		free(q->findings[i].cause);
		free(q->findings[i].remedy);
	}
	free(q->findings);
	*q = (struct flame_quality){ 0 };
}

const struct flame_finding *flame_quality_find(const struct flame_quality *q, const char *id)
{
	for (size_t i = 0; i < q->nr_findings; i++) {
		if (!strcmp(q->findings[i].id, id))
			return &q->findings[i];
	}
	return NULL;
}

char *flame_quality_summary(const struct flame_quality *q)
{
	char *text = NULL;
	size_t len;
	FILE *out = NULL;

	for (size_t i = 0; i < q->nr_findings; i++) {
		const struct flame_finding *f = &q->findings[i];

		if (!f->summary || f->severity == FLAME_NOTE)
			continue;
		if (!out)
			out = open_memstream(&text, &len);
		else
			fputs("; ", out);
		if (!out)
			return NULL;
		fputs(f->what, out);
	}
	if (out && fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

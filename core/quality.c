/* SPDX-License-Identifier: MIT */
/*
 * quality.c - whether a profile can be trusted. Most findings are a share of the profile and where it begins
 * to matter: one table. survey.c finds the shares, remedy.c what to do.
 */
#define _GNU_SOURCE
#include "quality.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remedy.h"
#include "span.h"
#include "survey.h"
#include "table.h"
#include "units.h"

/*
 * A share of fewer samples is chance: of 100, a true 10% is seen as 4% to 16%. What is not counted by samples, or by
 * who knows what, has to have that many stacks too.
 */
#define JUDGE_SAMPLES 100
#define JUDGE_STACKS 10
/* Time that was measured, not sampled, is not off by chance. */
#define JUDGE_SWITCHES 10
/* A frame of 1% is off by 0.6 percentage points at 1000 samples: by more than half. */
#define FEW_SAMPLES 1000
/* Larger sums of no unit are bytes or times: ten days at 99 Hz are 86 million samples. */
#define MANY_SAMPLES 100000000
/* In a second even one start of a program, or one collection of garbage, is a good part of the whole. */
#define SHORT_SECONDS 1
#define SHORTISH_SECONDS 10
/* Timers run at 1000 Hz and less: a sampler that is faster sees all their phases. */
#define LOCK_STEP_HZ 1000
/* One sample in a hundred does not change what is seen. */
#define LOST_SHARE 0.01
/* Half the rate and less is not just the jitter of a busy machine. */
#define LOW_RATE 0.5
/* A program that ran for a tenth of the time is not explained by its on-CPU time. */
#define LOW_BUSY 0.1
/* On-CPU samples end in the scheduler now and then; off-CPU ones always do. Nobody says which these are. */
#define MIXED_LOW 0.2
#define MIXED_HIGH 0.8
/* Parts of a sentence that a line has room for. */
#define SUMMARY_MAX 3
#define MODULES_TOLD 3

#define NEVER 2.0

struct check {
	struct flame_quality *q;
	const struct flame_profile *p;
	flame_type type;
	enum flame_value_kind kind;
	struct flame_survey survey;
	enum flame_recorder recorder;
	uint32_t depth_max;
	bool native;
	bool ok;		/* there was memory */
};

/* ---- findings ---- */

#define PERCENT_MAX 32

/* "38%", "3.1%", "0.25%". */
static const char *percent(char text[PERCENT_MAX], double share)
{
	double p = share * 100;

	snprintf(text, PERCENT_MAX, p >= 9.95 ? "%.0f%%" : p >= 0.995 ? "%.1f%%" : "%.2g%%", p);
	return text;
}

/* Add the finding @id, with the cause and the remedy of @remedy. @what becomes the finding's; NULL: no memory. */
static void add_text(struct check *c, const char *id, const char *remedy, enum flame_severity severity, double number,
		     const char *unit, char *what)
{
	const struct flame_remedy *r = flame_remedy_find(remedy, c->recorder, c->survey.runtime);
	struct flame_finding f = { .severity = severity, .id = id, .number = number, .unit = unit, .what = what };
	struct flame_quality *q = c->q;

	f.cause = strdup(r->cause);
	f.remedy = strdup(r->remedy);
	if (what && f.cause && f.remedy &&
	    array_reserve((void **)&q->findings, &q->room_findings, q->nr_findings + 1, sizeof(f))) {
		q->findings[q->nr_findings++] = f;
		return;
	}
	free(what);
	free(f.cause);
	free(f.remedy);
	c->ok = false;
}

/* The same with its own remedy; what it says is put together as by printf. */
__attribute__((format(printf, 6, 7))) static void add(struct check *c, const char *id, enum flame_severity severity,
						     double number, const char *unit, const char *format, ...)
{
	va_list args;
	char *what;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	add_text(c, id, id, severity, number, unit, what);
}

/* What was added last is part of the summary. */
static void tell(struct check *c)
{
	if (c->ok)
		c->q->findings[c->q->nr_findings - 1].summary = true;
}

static const char *plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

/* "1 second", "1.5 seconds", "8.60 us". */
static const char *seconds(char text[FLAME_AMOUNT_MAX], double s)
{
	int len = snprintf(text, FLAME_AMOUNT_MAX, "%.3g", s);

	if (s < 0.01)
		flame_amount(text, (int64_t)(s * 1e9), 0, (struct flame_span){ "ns", 2 });
	else
		snprintf(text + len, FLAME_AMOUNT_MAX - (size_t)len, strcmp(text, "1") ? " seconds" : " second");
	return text;
}

/* ---- shares ---- */

/* What is said besides the share. */
enum detail {
	PLAIN,
	LEAF_MODULES,	/* files that the missing symbols of leaves are in */
	ANY_MODULES,
	LIMIT,		/* at which depth */
};

static const struct rule {
	const char *id;
	const char *what;	/* behind "38% of the profile " */
	size_t share;
	enum detail detail;
	double note, warning, error;	/* where they begin; NEVER */
	bool summary;
	uint32_t kinds;		/* enum flame_value_kind bits that it holds for; 0: all */
} rules[] = {
	{ "unknown-leaf", "has no symbol at the leaf", offsetof(struct flame_quality_shares, unknown_leaf), LEAF_MODULES,
	  0.02, 0.10, 0.60, true, 0 },
	{ "no-stack", "has no stack at all", offsetof(struct flame_quality_shares, empty), PLAIN,
	  0.02, 0.20, 0.80, true, 0 },
	{ "kernel-symbols", "is in the kernel, without symbols", offsetof(struct flame_quality_shares, unknown_kernel), PLAIN,
	  0.01, 0.05, NEVER, true, 0 },
	{ "jit-unmapped", "is code compiled at run time, without names",
	  offsetof(struct flame_quality_shares, jit_unmapped), PLAIN, 0.01, 0.05, 0.60, true, 0 },
	{ "addresses", "is bare addresses", offsetof(struct flame_quality_shares, addresses), PLAIN,
	  0.01, 0.10, 0.60, true, 0 },
	{ "unknown-any", "has callers without symbols", offsetof(struct flame_quality_shares, unknown_any), ANY_MODULES,
	  0.10, 0.40, NEVER, true, 0 },
	{ "rootless", "starts in the middle, its callers are missing",
	  offsetof(struct flame_quality_shares, rootless), PLAIN, 0.10, 0.25, 0.80, true, 0 },
	{ "libc-callers", "is in the C library, and the function that called it may be missing",
	  offsetof(struct flame_quality_shares, in_libc), PLAIN, 0.05, 0.25, NEVER, false, 0 },
	{ "shallow", "has one or two frames a stack", offsetof(struct flame_quality_shares, shallow), PLAIN,
	  0.10, 0.25, 0.80, true, 0 },
	{ "truncated", "is cut off", offsetof(struct flame_quality_shares, truncated), LIMIT,
	  0.01, 0.05, 0.50, true, 0 },
	/* The converters warn of it. */
	{ "missed-stacks", "has stacks that the recorder could not keep", offsetof(struct flame_quality_shares, missed), PLAIN,
	  0.001, 0.05, 0.50, false, 0 },
	{ "python-loop", "is in Python's interpreter, without the program's functions",
	  offsetof(struct flame_quality_shares, python_loop), PLAIN, 0.02, 0.10, NEVER, true, 0 },
	{ "interpreter", "is in an interpreter, without the program's functions",
	  offsetof(struct flame_quality_shares, interpreter), PLAIN, 0.02, 0.10, NEVER, true, 0 },
	{ "idle", "is idle", offsetof(struct flame_quality_shares, idle), PLAIN, 0.01, 0.20, NEVER, true,
	  1 << FLAME_VALUE_ON_CPU | 1 << FLAME_VALUE_WALL | 1 << FLAME_VALUE_OTHER },
	/* That is what wall-clock time is recorded for. */
	{ "waiting", "waits", offsetof(struct flame_quality_shares, waiting), PLAIN, 0.10, NEVER, NEVER, false,
	  1 << FLAME_VALUE_WALL },
};

/* The widest files of those whose symbols are missing: " (libfoo.so 30%, bar 5%)". */
static void write_modules(const struct flame_quality *q, bool leaf, FILE *out)
{
	char text[PERCENT_MAX];
	size_t told = 0;

	for (size_t i = 0; i < q->nr_missing && told < MODULES_TOLD; i++) {
		const struct flame_missing *m = &q->missing[i];
		double share = leaf ? m->leaf : m->any - m->leaf;

		if (share < 0.005 || (leaf && (m->kernel || m->jit)))
			continue;
		fprintf(out, "%s%s %s", told++ ? ", " : " (", m->module, percent(text, share));
	}
	if (told)
		putc(')', out);
}

/* "38% of the profile has no symbol …". Return: owned by the caller; NULL without memory. */
static char *share_text(const struct check *c, const struct rule *rule, double share)
{
	char *text = NULL, number[PERCENT_MAX];
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "%s%s of the profile %s", c->q->estimated ? "about " : "", percent(number, share), rule->what);
	if (rule->detail == LEAF_MODULES || rule->detail == ANY_MODULES)
		write_modules(c->q, rule->detail == LEAF_MODULES, out);
	if (rule->detail == LIMIT && c->depth_max)
		fprintf(out, " at %u frames", c->depth_max);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* What helps depends on whose symbols are missing. Return: the finding whose remedy it is. */
static const char *remedy_id(const struct check *c, const struct rule *rule)
{
	const struct flame_missing *widest = NULL;

	for (size_t i = 0; rule->detail == ANY_MODULES && i < c->q->nr_missing; i++) {
		const struct flame_missing *m = &c->q->missing[i];

		if (!widest || m->any - m->leaf > widest->any - widest->leaf)
			widest = m;
	}
	return widest && widest->jit ? "jit-unmapped" : widest && widest->kernel ? "kernel-symbols" : rule->id;
}

/* Leaves without a symbol are told of once, by the most special reason; and callers without their leaves. */
static double share_of(const struct flame_quality_shares *s, const struct rule *rule)
{
	if (rule->detail == LEAF_MODULES)
		return s->unknown_leaf - s->jit_unmapped - s->addresses - s->unknown_kernel;
	if (rule->detail == ANY_MODULES)
		return s->unknown_any - s->unknown_leaf;
	return *(const double *)(const void *)((const char *)s + rule->share);
}

static void check_share(struct check *c, const struct rule *rule)
{
	double share = share_of(&c->q->shares, rule);
	enum flame_severity severity = share >= rule->error ? FLAME_ERROR : share >= rule->warning ? FLAME_WARNING : FLAME_NOTE;
	size_t nr = c->q->nr_findings;

	if (share < rule->note || (rule->kinds && !(rule->kinds >> c->kind & 1)))
		return;
	add_text(c, rule->id, remedy_id(c, rule), severity, share * 100, "%", share_text(c, rule, share));
	if (c->q->nr_findings > nr)
		c->q->findings[nr].summary = rule->summary;
}

/* ---- the recording ---- */

static bool is_sampled(const struct check *c)
{
	return c->kind == FLAME_VALUE_ON_CPU || c->kind == FLAME_VALUE_WALL || c->kind == FLAME_VALUE_OTHER;
}

static void check_number(struct check *c)
{
	const struct flame_quality *q = c->q;
	char text[FLAME_AMOUNT_MAX];
	bool few = q->nr_samples < JUDGE_SAMPLES;

	if (is_sampled(c) && !q->at_least && q->nr_samples < FEW_SAMPLES) {
		add(c, "few-samples", few ? FLAME_ERROR : FLAME_WARNING, (double)q->nr_samples, "samples",
		    "there %s %llu sample%s: what is 1%% may be %.1f percentage points off", q->nr_samples == 1 ? "is" : "are",
		    (unsigned long long)q->nr_samples, plural(q->nr_samples), q->margin);
		if (few)
			tell(c);
	}
	if (q->duration_s > 0 && q->duration_s < SHORTISH_SECONDS)
		add(c, "short", q->duration_s < SHORT_SECONDS ? FLAME_WARNING : FLAME_NOTE, q->duration_s, "s",
		    "the recording took %s", seconds(text, q->duration_s));
}

static void check_losses(struct check *c)
{
	const struct flame_quality *q = c->q;
	double share = (double)q->lost / ((double)q->lost + (double)q->nr_samples);
	char text[PERCENT_MAX];

	if (q->lost && q->nr_samples)
		add(c, "lost", share >= LOST_SHARE ? FLAME_WARNING : FLAME_NOTE, (double)q->lost, "samples",
		    "%llu sample%s lost, %s of all", (unsigned long long)q->lost, q->lost == 1 ? " was" : "s were",
		    percent(text, share));
	if (q->throttled)
		add(c, "throttled", (double)q->throttled >= (double)q->nr_samples * LOST_SHARE ? FLAME_WARNING : FLAME_NOTE,
		    (double)q->throttled, "times", "sampling was held up %llu time%s, as it was too fast",
		    (unsigned long long)q->throttled, plural(q->throttled));
}

/* What the reader warned of when it read: who has the report alone has to know it too. */
static void check_reading(struct check *c)
{
	const struct flame_meta *meta = flame_meta_get(c->p);

	if (meta->damaged)
		add(c, "damaged", FLAME_WARNING, 1, "", "part of the input is damaged or missing, and not in here");
	if (c->kind != FLAME_VALUE_OFF_CPU)
		return;
	if (meta->sampled_switches)
		add(c, "sampled-switches", FLAME_WARNING, 1, "",
		    "not each switch of threads was recorded: times are missing, and others are too long");
	else if (meta->late)
		add(c, "late-switches", FLAME_WARNING, (double)meta->late, "times",
		    "%llu blocked time%s until the thread's next sample, which may be late", (unsigned long long)meta->late,
		    meta->late == 1 ? " lasts" : "s last");
}

static void check_rate(struct check *c)
{
	const struct flame_quality *q = c->q;
	uint32_t hz = (uint32_t)q->asked_hz;
	bool chosen = flame_recorder_is_native(c->recorder);
	double rate = q->asked_hz > 0 ? q->achieved_hz / q->asked_hz : 0;

	if (!is_sampled(c) || !hz)
		return;
	/* Samplers of one thread's wall-clock time have nothing else to do. */
	if (rate > 0 && !q->at_least && rate < (c->kind == FLAME_VALUE_WALL ? LOW_RATE : LOW_BUSY))
		add(c, "low-rate", c->kind == FLAME_VALUE_WALL ? FLAME_WARNING : FLAME_NOTE, q->achieved_hz, "Hz",
		    "%.3g samples a second were taken, %.4g were asked for", q->achieved_hz, q->asked_hz);
	/*
	 * Kernels' timers run at 100, 250, 300 or 1000 Hz, those of programs at any round number. The JVM's period is one of
	 * its own, in which it looks at some threads; Go's timers run by each thread's processor time.
	 */
	if (c->recorder == FLAME_RECORDER_JFR || c->recorder == FLAME_RECORDER_GO)
		return;
	if (hz <= LOCK_STEP_HZ && (hz % 10 == 0 || hz % 25 == 0))
		add(c, "lock-step", chosen ? FLAME_WARNING : FLAME_NOTE, q->asked_hz, "Hz",
		    "samples were taken in step with timers, at %u Hz", hz);
	else
		return;
	tell(c);
}

/* Return: whether both the time and the stacks that end where threads are switched are only some of all. */
static bool is_mixed(const struct check *c, bool added)
{
	double share = c->q->shares.switched_out, stacks = c->survey.switched_stacks;

	/* Samples of busy processors end there too, where threads switch all the time. */
	if (share < MIXED_LOW || (c->kind != FLAME_VALUE_OTHER && !added))
		return false;
	/* Nanoseconds beside counts of samples leave nothing of these but their stacks. */
	return share <= MIXED_HIGH || (stacks <= MIXED_HIGH && c->q->nr_stacks >= JUDGE_STACKS);
}

/* Several profiles one behind the other in one file, or time on and off the processor in one. */
static void check_mixed(struct check *c, bool enough)
{
	struct flame_span added = flame_string_get(c->p, flame_meta_get(c->p)->added);
	double share = c->q->shares.switched_out;
	/* Of sums of something else, only the stacks can be counted. */
	bool mixed = is_mixed(c, added.len > 0) && (enough || added.len || (c->q->at_least && c->q->nr_stacks >= JUDGE_STACKS));
	char text[PERCENT_MAX];

	if (mixed)
		add(c, "mixed-kinds", FLAME_WARNING, share * 100, "%",
		    "time on and off the processor is mixed%s%.*s: %s of the profile ends where threads are switched",
		    added.len ? ", of the events " : "", (int)added.len, added.s, percent(text, share));
	else if (added.len)
		add(c, "mixed-events", FLAME_WARNING, 2, "events", "several events are added up, %.*s, though they may be unlike",
		    (int)added.len, added.s);
	else
		return;
	/* Who read the file said so of the events. */
	if (!added.len)
		tell(c);
}

/* Values of other types, which are not part of what was checked. */
static void check_events(struct check *c)
{
	uint64_t nr[16] = { 0 };
	size_t nr_types = flame_nr_types(c->p) < 16 ? flame_nr_types(c->p) : 16, others = 0;
	char names[256] = "";
	size_t len = 0;

	for (uint32_t i = 0; nr_types > 2 && i < flame_nr_samples(c->p); i++) {
		const struct flame_sample *s = flame_sample_get(c->p, i);

		if (s->type < nr_types && s->type != c->type && s->value)
			nr[s->type] += s->nr_samples;
	}
	for (size_t i = 1; i < nr_types; i++) {
		struct flame_span name = flame_string_get(c->p, flame_type_get(c->p, (flame_type)i)->name);

		/* pprof has the number of samples beside what they measure: that is no other event. */
		if (!nr[i] || span_equals(name, "samples"))
			continue;
		others++;
		if (len + name.len + 3 < sizeof(names))
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s", len ? ", " : "", (int)name.len, name.s);
	}
	if (others)
		add(c, "other-events", FLAME_NOTE, (double)others, "events", "the recording also holds %s", names);
}

/* ---- all ---- */

/* Return: true where @format's values count samples, as long as their unit does not say otherwise. */
static bool holds_sums(const char *format)
{
	const struct flame_converter *converter = format ? flame_converter_find(format) : NULL;

	return (converter && converter->counted) || (format && !strcmp(format, "speedscope"));
}

static void count_samples(struct check *c, const char *format, bool count)
{
	const struct flame_type_info *info = flame_type_get(c->p, c->type);
	struct flame_span unit = flame_string_get(c->p, info->unit);
	bool is_count = !unit.len || span_equals(unit, "count") || span_equals(unit, "samples");
	struct flame_quality *q = c->q;

	q->nr_samples = c->survey.nr_samples;
	/* Folded text may say how many samples there were: then each stack has its number. */
	q->at_least = holds_sums(format) && !count && !(!strcmp(format, "folded") && !flame_profile_options(c->p)->sums);
	if (!q->at_least || !is_count || !is_sampled(c) || q->total < 0 || q->total > MANY_SAMPLES)
		return;
	q->at_least = false;
	q->nr_samples = (uint64_t)q->total;
	for (uint32_t i = 0; i < info->scale; i++)
		q->nr_samples /= 10;
}

static void take_figures(struct check *c)
{
	const struct flame_meta *meta = flame_meta_get(c->p);
	struct flame_quality *q = c->q;

	q->shares = c->survey.shares;
	q->estimated = c->survey.estimated;
	q->total = c->survey.total;
	q->nr_stacks = c->survey.nr_stacks;
	q->duration_s = (double)flame_meta_duration(c->p) / 1e9;
	q->asked_hz = meta->frequency_hz;
	q->lost = flame_lost(c->p);
	q->throttled = meta->throttled;
	if (!c->native)
		q->shares.rootless = q->shares.shallow = 0;
	if (!flame_recorder_has_pointers(c->recorder))
		q->shares.in_libc = 0;
	q->nr_missing = c->survey.nr_missing;
	if (!q->nr_missing)
		return;
	q->missing = calloc(q->nr_missing, sizeof(*q->missing));
	if (!q->missing) {
		q->nr_missing = 0;
		c->ok = false;
		return;
	}
	memcpy(q->missing, c->survey.missing, q->nr_missing * sizeof(*q->missing));
	c->survey.nr_missing = 0;	/* the names have a new owner */
}

/* Folded text of unknown origin is that of a native profiler where threads start as those see it. */
static bool is_native(const struct check *c, const char *format)
{
	bool text = c->recorder == FLAME_RECORDER_ANY && format && !strcmp(format, "folded");

	return flame_recorder_is_native(c->recorder) || (text && c->survey.rooted > 0.1);
}

static void sort_findings(struct flame_quality *q)
{
	for (size_t i = 1; i < q->nr_findings; i++) {
		struct flame_finding f = q->findings[i];
		size_t at = i;

		for (; at && q->findings[at - 1].severity < f.severity; at--)
			q->findings[at] = q->findings[at - 1];
		q->findings[at] = f;
	}
}

/* Stacks without callers are short, too: one line need not say both. */
static void say_once(struct flame_quality *q)
{
	const struct flame_finding *rootless = flame_quality_find(q, "rootless");

	for (size_t i = 0; rootless && rootless->severity != FLAME_NOTE && i < q->nr_findings; i++)
		q->findings[i].summary &= strcmp(q->findings[i].id, "shallow") != 0;
}

static void run(struct check *c, const char *format)
{
	struct flame_quality *q = c->q;
	bool sums = holds_sums(format), blocked = c->kind == FLAME_VALUE_OFF_CPU && !sums;
	bool enough = q->nr_samples >= (blocked ? JUDGE_SWITCHES : JUDGE_SAMPLES) &&
		      ((is_sampled(c) && !sums) || blocked || q->nr_stacks >= JUDGE_STACKS);

	check_number(c);
	for (size_t i = 0; enough && i < sizeof(rules) / sizeof(*rules); i++)
		check_share(c, &rules[i]);
	check_mixed(c, enough);
	say_once(q);
	check_losses(c);
	check_reading(c);
	check_rate(c);
	check_events(c);
	sort_findings(q);
}

int flame_quality_check(struct flame_quality *q, const struct flame_profile *p, flame_type type,
			const struct flame_quality_options *options)
{
	const struct flame_meta *meta = flame_meta_get(p);
	const char *format = options ? options->format : NULL;
	struct check c = { .q = q, .p = p, .type = type, .kind = flame_type_get(p, type)->kind, .ok = true };

	*q = (struct flame_quality){ 0 };
	if (!format && meta->format)
		format = flame_string_get(p, meta->format).s;
	c.recorder = flame_recorder_of(p, format);
	c.depth_max = meta->depth_max ? meta->depth_max : flame_recorder_depth(c.recorder);
	c.ok = !flame_survey_make(&c.survey, p, type, c.depth_max, options && options->quick);
	c.native = c.ok && is_native(&c, format);
	/* Who wrote a file of pprof's is told by what ran. */
	if (c.recorder == FLAME_RECORDER_PPROF && c.survey.runtime == FLAME_RUNTIME_GO)
		c.recorder = FLAME_RECORDER_GO;
	if (c.ok)
		take_figures(&c);
	if (c.ok) {
		count_samples(&c, format, options && options->count);
		/* The normal approximation, at 95%. */
		q->margin = q->nr_samples && !q->at_least ? 100 * 1.96 * sqrt(0.01 * 0.99 / (double)q->nr_samples) : 0;
		q->achieved_hz = q->duration_s > 0 ? (double)q->nr_samples / q->duration_s : 0;
		run(&c, format);
	}
	flame_survey_release(&c.survey);
	if (!c.ok)
		flame_quality_release(q);
	return c.ok ? 0 : FLAME_ENOMEM;
}

void flame_quality_release(struct flame_quality *q)
{
	for (size_t i = 0; i < q->nr_findings; i++) {
		free(q->findings[i].what);
		free(q->findings[i].cause);
		free(q->findings[i].remedy);
	}
	for (size_t i = 0; i < q->nr_missing; i++)
		free(q->missing[i].module);
	free(q->findings);
	free(q->missing);
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
	size_t len, told = 0;
	FILE *out = NULL;

	for (size_t i = 0; i < q->nr_findings && told < SUMMARY_MAX; i++) {
		const struct flame_finding *f = &q->findings[i];

		if (!f->summary || f->severity == FLAME_NOTE)
			continue;
		if (!out)
			out = open_memstream(&text, &len);
		if (!out)
			return NULL;
		fprintf(out, "%s%s", told++ ? "; " : "", f->what);
	}
	if (out && fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

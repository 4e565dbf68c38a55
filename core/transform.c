/* SPDX-License-Identifier: MIT */
/*
 * transform.c - other stacks from the same samples. Each step maps stacks of the old profile to
 * stacks of a new one; a caller's row is below its callees', so one pass in row order does.
 * Regular expressions are matched once a frame, not once a stack.
 */
#define _GNU_SOURCE
#include "transform.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "merge.h"
#include "meta.h"
#include "span.h"
#include "strip.h"
#include "table.h"
#include "tidy.h"

struct step {
	const struct flame_profile *from;
	struct flame_profile *to;
	flame_frame *frames;	/* of from, in to */
	flame_stack *map;	/* of from, in to; or FLAME_STACK_DROPPED */
	bool *matches;		/* frames of from that the expression matches */
	bool raw_names;		/* names that are demangled keep all */
};

/* What to match frames with; each may be NULL. */
struct wanted {
	const char *const *patterns;
	const char *const *names;
};

typedef void step_function(struct step *s);
/* Return: the row in s->to of what @name becomes; 0 without memory. */
typedef flame_string rename_function(struct step *s, struct flame_span name);

static char *compile(regex_t *re, const char *pattern)
{
	char text[256], *message = NULL;
	int err = regcomp(re, pattern, REG_EXTENDED | REG_NOSUB);

	if (!err)
		return NULL;
	regerror(err, re, text, sizeof(text));
	if (asprintf(&message, "'%s' is not a regular expression: %s", pattern, text) < 0)
		message = NULL;
	return message;
}

char *flame_transform_check(const struct flame_transform_options *options)
{
	const char *const *const patterns[] = { options->only, options->exclude, options->focus };
	char *message = NULL;
	regex_t re;

	for (size_t i = 0; i < 3; i++) {
		for (const char *const *pattern = patterns[i]; !message && *pattern; pattern++) {
			message = compile(&re, *pattern);
			if (!message)
				regfree(&re);
		}
	}
	return message;
}

/* Return: 1 where the frame's name matches, or the name with its mark; 0 where neither does; FLAME_ENOMEM. */
static int match_frame(const struct step *s, flame_frame frame, const regex_t *re)
{
	const struct flame_frame_info *info = flame_frame_get(s->from, frame);
	/* Strings of a profile end in a NUL; one inside a name hides what is behind it. */
	const char *name = flame_string_get(s->from, info->name).s, *suffix = flame_kind_suffix(info->kind);
	char *marked;
	int matches;

	if (!regexec(re, name, 0, NULL, 0))
		return 1;
	if (!*suffix)
		return 0;
	if (asprintf(&marked, "%s%s", name, suffix) < 0)
		return FLAME_ENOMEM;
	matches = !regexec(re, marked, 0, NULL, 0);
	free(marked);
	return matches;
}

static int match_pattern(struct step *s, const char *pattern)
{
	uint32_t nr = flame_nr_frames(s->from);
	char *message;
	int matches = 0;
	regex_t re;

	message = compile(&re, pattern);
	if (message) {
		free(message);
		return FLAME_EARG;
	}
	for (uint32_t i = 1; matches >= 0 && i < nr; i++) {
		if (s->matches[i])
			continue;
		matches = match_frame(s, i, &re);
		s->matches[i] = matches > 0;
	}
	regfree(&re);
	return matches < 0 ? matches : 0;
}

static int match_frames(struct step *s, const char *const *patterns)
{
	int err = 0;

	s->matches = calloc(flame_nr_frames(s->from), sizeof(*s->matches));
	if (!s->matches)
		return FLAME_ENOMEM;
	for (; !err && *patterns; patterns++)
		err = match_pattern(s, *patterns);
	return err;
}

static int find_names(struct step *s, const char *const *names)
{
	s->matches = calloc(flame_nr_frames(s->from), sizeof(*s->matches));
	if (!s->matches)
		return FLAME_ENOMEM;
	for (uint32_t i = 1; i < flame_nr_frames(s->from); i++) {
		struct flame_span name = flame_string_get(s->from, flame_frame_get(s->from, i)->name);

		for (const char *const *n = names; *n; n++)
			s->matches[i] |= span_equals(name, *n);
	}
	return 0;
}

static flame_stack push_same(struct step *s, flame_stack i)
{
	return flame_stack_push(s->to, s->map[flame_stack_caller(s->from, i)], s->frames[flame_stack_frame(s->from, i)]);
}

/* Stacks that contain a matching frame, as a flag a stack. Return: NULL without memory. */
static bool *containing(const struct step *s)
{
	uint32_t nr = flame_nr_stacks(s->from);
	bool *has = calloc(nr, sizeof(*has));

	for (uint32_t i = 1; has && i < nr; i++)
		has[i] = has[flame_stack_caller(s->from, i)] || s->matches[flame_stack_frame(s->from, i)];
	return has;
}

/* Keep the stacks of which @wanted contains a match. Rows that are dropped still need a place to hang on. */
static void keep(struct step *s, bool wanted)
{
	uint32_t nr = flame_nr_stacks(s->from);
	bool *has = containing(s), *used = calloc(nr, sizeof(*used));

	for (uint32_t i = nr; has && used && i-- > 1;) {
		used[i] |= has[i] == wanted;
		used[flame_stack_caller(s->from, i)] |= used[i];
	}
	for (uint32_t i = 1; has && used && i < nr; i++)
		s->map[i] = used[i] ? push_same(s, i) : FLAME_STACK_DROPPED;
	for (uint32_t i = 0; has && used && i < nr; i++) {
		if (has[i] != wanted)
			s->map[i] = FLAME_STACK_DROPPED;
	}
	if (!has || !used)
		s->map[0] = FLAME_STACK_DROPPED;
	free(has);
	free(used);
}

static void keep_only(struct step *s)
{
	keep(s, true);
}

static void keep_others(struct step *s)
{
	keep(s, false);
}

static void focus(struct step *s)
{
	uint32_t nr = flame_nr_stacks(s->from);

	s->map[0] = FLAME_STACK_DROPPED;
	for (uint32_t i = 1; i < nr; i++) {
		flame_frame frame = flame_stack_frame(s->from, i);

		if (s->map[flame_stack_caller(s->from, i)] != FLAME_STACK_DROPPED)
			s->map[i] = push_same(s, i);
		else
			s->map[i] = s->matches[frame] ? flame_stack_push(s->to, 0, s->frames[frame]) : FLAME_STACK_DROPPED;
	}
}

static void skip_after(struct step *s)
{
	uint32_t nr = flame_nr_stacks(s->from);

	for (uint32_t i = 1; i < nr; i++) {
		flame_frame frame = flame_stack_frame(s->from, i);

		s->map[i] = s->matches[frame] ? flame_stack_push(s->to, 0, s->frames[frame]) : push_same(s, i);
	}
}

static void collapse_recursion(struct step *s)
{
	uint32_t nr = flame_nr_stacks(s->from);

	for (uint32_t i = 1; i < nr; i++) {
		flame_stack caller = flame_stack_caller(s->from, i);
		bool same = caller && s->frames[flame_stack_frame(s->from, i)] == s->frames[flame_stack_frame(s->from, caller)];

		s->map[i] = same ? s->map[caller] : push_same(s, i);
	}
}

static void copy_stacks(struct step *s)
{
	uint32_t nr = flame_nr_stacks(s->from);

	for (uint32_t i = 1; i < nr; i++)
		s->map[i] = push_same(s, i);
}

static void reverse(struct step *s)
{
	bool *used = calloc(flame_nr_stacks(s->from), sizeof(*used));

	for (uint32_t i = 0; used && i < flame_nr_samples(s->from); i++)
		used[flame_sample_get(s->from, i)->stack] = true;
	for (uint32_t i = 1; used && i < flame_nr_stacks(s->from); i++) {
		flame_stack stack = 0;

		for (flame_stack at = i; used[i] && at; at = flame_stack_caller(s->from, at))
			stack = flame_stack_push(s->to, stack, s->frames[flame_stack_frame(s->from, at)]);
		s->map[i] = stack;
	}
	free(used);
}

static flame_string strip_name(struct step *s, struct flame_span name,
			       size_t (*strip)(char *to, struct flame_span name))
{
	char *buf = malloc(2 * name.len + 16);
	flame_string to = buf ? flame_intern(s->to, buf, strip(buf, name)) : 0;

	free(buf);
	return to;
}

static flame_string strip_hex(struct step *s, struct flame_span name)
{
	return strip_name(s, name, flame_strip_hex);
}

static flame_string strip_ids(struct step *s, struct flame_span name)
{
	return strip_name(s, name, flame_strip_ids);
}

/* Of "module`_Zx", "_Zx (file.cpp:12)" and "_Zx+0x1f" the _Zx. */
static struct flame_span symbol_in(struct flame_span name)
{
	const char *tick = memchr(name.s, '`', name.len), *place;

	if (tick)
		name = span_from(name, (size_t)(tick - name.s) + 1);
	place = memmem(name.s, name.len, " (", 2);
	return place ? span_to(name, (size_t)(place - name.s)) : flame_tidy_offset(name);
}

/* As names of perf's that are demangled: tidy, and what stands around the symbol stays. */
static flame_string demangle(struct step *s, struct flame_span name)
{
	struct flame_span base = symbol_in(name), tidy;
	size_t before = (size_t)(base.s - name.s);
	char *text = NULL, *whole = NULL;
	flame_string to;
	int n;

	if (!flame_demangle(base, &text))
		return flame_intern(s->to, name.s, name.len);
	tidy = (struct flame_span){ text, strlen(text) };
	tidy = s->raw_names ? flame_tidy_raw(tidy, text) : flame_tidy_name(tidy, FLAME_TIDY_RUST, text);
	n = asprintf(&whole, "%.*s%.*s%.*s", (int)before, name.s, (int)tidy.len, tidy.s,
		     (int)(name.len - base.len - before), base.s + base.len);
	to = n < 0 ? 0 : flame_intern(s->to, whole, (size_t)n);
	if (n >= 0)
		free(whole);
	free(text);
	return to;
}

/* Return: whether a name looks mangled: _Z…, __Z… or _R…. */
static bool has_mangled(const struct flame_profile *p)
{
	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		struct flame_span name = symbol_in(flame_string_get(p, flame_frame_get(p, i)->name));

		if (span_starts(name, "_Z") || span_starts(name, "_R") || span_starts(name, "__Z"))
			return true;
	}
	return false;
}

static bool copy_frames(struct step *s, rename_function *rename)
{
	uint32_t nr = flame_nr_frames(s->from);

	s->frames = calloc(nr, sizeof(*s->frames));
	for (uint32_t i = 1; s->frames && i < nr; i++) {
		struct flame_frame_info info = *flame_frame_get(s->from, i);

		info.name = rename && info.name ? rename(s, flame_string_get(s->from, info.name)) :
						  flame_string_copy(s->to, s->from, info.name);
		info.module = flame_string_copy(s->to, s->from, info.module);
		info.file = flame_string_copy(s->to, s->from, info.file);
		s->frames[i] = flame_frame_row(s->to, &info);
	}
	return s->frames;
}

static int run_step(struct flame_profile **p, step_function *function, const struct wanted *wanted,
		    rename_function *rename, bool raw_names)
{
	struct step s = { .from = *p, .to = flame_profile_new(flame_profile_options(*p)), .raw_names = raw_names };
	int err = s.to && copy_frames(&s, rename) ? 0 : FLAME_ENOMEM;

	s.map = calloc(flame_nr_stacks(*p), sizeof(*s.map));
	if (!s.map)
		err = FLAME_ENOMEM;
	if (!err && wanted->patterns)
		err = match_frames(&s, wanted->patterns);
	else if (!err && wanted->names)
		err = find_names(&s, wanted->names);
	/* Types are copied whole, so that the first stays the first. */
	for (uint32_t i = 1; !err && i < flame_nr_types(*p); i++)
		flame_type_copy(s.to, *p, i);
	if (!err) {
		function(&s);
		err = flame_samples_copy(s.to, *p, s.map);
	}
	if (!err)
		err = flame_profile_error(s.to);
	flame_lost_add(s.to, flame_lost(*p));
	flame_meta_copy(s.to, *p);
	free(s.frames);
	free(s.map);
	free(s.matches);
	flame_profile_free(err ? s.to : *p);
	if (!err)
		*p = s.to;
	return err;
}

int flame_transform(struct flame_profile **p, const struct flame_transform_options *o)
{
	const struct {
		bool wanted;
		step_function *function;
		struct wanted frames;
		rename_function *rename;
	} steps[] = {
		{ o->demangle && has_mangled(*p), copy_stacks, { 0 }, demangle },
		{ o->skip_after, skip_after, { .names = o->skip_after }, NULL },
		{ o->strip_hex, copy_stacks, { 0 }, strip_hex },
		{ o->strip_ids, copy_stacks, { 0 }, strip_ids },
		{ o->only[0], keep_only, { .patterns = o->only }, NULL },
		{ o->exclude[0], keep_others, { .patterns = o->exclude }, NULL },
		{ o->focus[0], focus, { .patterns = o->focus }, NULL },
		{ o->collapse_recursion, collapse_recursion, { 0 }, NULL },
		{ o->reverse, reverse, { 0 }, NULL },
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(*steps); i++) {
		if (steps[i].wanted)
			err = run_step(p, steps[i].function, &steps[i].frames, steps[i].rename, o->raw_names);
	}
	return err;
}

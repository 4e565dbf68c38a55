/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BT2_PARAMS_H
#define FLAME_BT2_PARAMS_H
/* params.h - the parameters of the sinks, one table for all of them. */
#include <babeltrace2/babeltrace.h>
#include <stdio.h>

#include "../../core/owner.h"
#include "../../core/render/svg.h"
#include "../../core/transform.h"

enum writer { WRITER_SVG, WRITER_FOLDED, WRITER_REPORT, NR_WRITERS };

/* Numbers that a filter lets pass; none: all. */
struct numbers {
	int64_t *items;		/* owned */
	size_t nr;
};

struct texts {
	char **items;		/* owned */
	size_t nr;
};

struct params {
	char *outputs[NR_WRITERS];	/* owned; NULL: not wanted; "-": standard output */
	char *event, *root, *time;
	char *report_format;
	struct numbers pids, tids;
	struct texts comms, pairs, project;
	bool count, addresses, annotate, header, quiet, no_inline;
	char *symbols, *symfs, *kallsyms;
	char *title, *subtitle, *colors, *bgcolors, *countname, *nametype, *notes, *fonttype;
	double width, minwidth, height, fontsize, fontwidth, total, factor;
	bool inverted, hash;
	char *only, *exclude, *focus;
	bool reverse, collapse_recursion, strip_hex, strip_ids;
	double from, to;		/* of @time; to 0: the end */
};

/*
 * Read @values; @writer is what the component class writes to `output`.
 * Return: NULL, or what is wrong, owned by the caller. Release @p in any case.
 */
char *params_read(struct params *p, const bt_value *values, enum writer writer);
/* Add the patterns of the parameter project to @owner. Return: NULL, or what is wrong, static. */
const char *params_project(const struct params *p, struct flame_owner *owner);
void params_release(struct params *p);
/*
 * Take the pair "start:stop", or "a:start,a:stop", apart: both sides are whole names, or without what is before their
 * colon. Return: false where it is none.
 */
bool params_pair(const char *pair, struct flame_span *begin, struct flame_span *end);
extern const char *const writer_names[NR_WRITERS];
/* Call @each for every parameter: its name, the type's name, and what it does. */
void params_each(void (*each)(void *data, const char *name, const char *type, const char *help), void *data);

#endif

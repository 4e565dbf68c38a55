/* SPDX-License-Identifier: MIT */
#ifndef FLAME_REPORT_H
#define FLAME_REPORT_H
/*
 * report.h - what a profile says: where the time goes, on which paths, whose code it is, what may
 * help. The analysis; writers make text of it.
 */
#include <stdio.h>

#include "functions.h"
#include "hints.h"
#include "quality.h"
#include "significance.h"

struct flame_report_options {
	unsigned int top;	/* functions and paths at most; 0: 8 */
	unsigned int depth;	/* functions of a path that are named; 0: 6 */
	double min;		/* share from which on a path is one of its own, 0 to 1; 0: 0.03 */
	bool count;		/* values were replaced by counts of samples */
};

/* A function where time is spent. */
struct flame_report_top {
	uint32_t function;	/* in part->f */
	double self, total;	/* shares */
	double error;		/* of self, in 19 of 20 recordings; 0: not known */
	uint32_t owner;		/* function of the project that most of it is for; 0: none */
	double owner_share;	/* how much of self that is */
	flame_frame owner_line;	/* frame of the profile, at the owner's line that calls; 0: none */
};

enum flame_piece {
	FLAME_PIECE_FUNCTION,
	FLAME_PIECE_CODE,	/* enum flame_code */
	FLAME_PIECE_SYSCALL,	/* function whose name tells it */
	FLAME_PIECE_ENTRY,	/* enum flame_kernel_entry */
};

/* A part of what a path costs. */
struct flame_report_piece {
	enum flame_piece kind;
	uint32_t id;
	double share;		/* of the profile */
};

#define FLAME_REPORT_PIECES 3
#define FLAME_REPORT_STEPS 64

/*
 * What one function of the project costs with the code of others that it calls, and with smaller
 * functions; but for what has a path of its own. Paths do not overlap: their shares add up.
 */
struct flame_report_path {
	uint32_t call;		/* in part->f: the owner, where it costs most */
	double end_share;	/* what it costs there */
	uint32_t nr_ends;	/* calls of it that cost something, on as many ways from the root */
	bool is_owned;		/* by the project; else the path ends where its share is */
	double share, error;
	flame_frame line;	/* frame of the profile, at the owner's hottest line; 0: none */
	double line_share;	/* how much of the path goes through that line, 0 to 1 */
	uint32_t steps[FLAME_REPORT_STEPS];	/* functions from the root on, the owner last */
	bool gaps[FLAME_REPORT_STEPS];		/* functions in front of the step are not named */
	size_t nr_steps;
	struct flame_report_piece pieces[FLAME_REPORT_PIECES];
	size_t nr_pieces;
	struct flame_report_piece callers[FLAME_REPORT_PIECES];	/* the project's functions that call the owner */
	size_t nr_callers;
};

/* A way into the kernel, and what it did there. */
struct flame_report_entry {
	enum flame_kernel_entry entry;
	struct flame_span name;	/* of the system call; "": not known or none */
	double share;
	double works[FLAME_NR_WORKS];
};

struct flame_report_task {
	struct flame_span name;
	double share;
};

/* One measure of one input. */
struct flame_report_part {
	const char *input;			/* borrowed */
	const struct flame_profile *profile;	/* borrowed */
	flame_type type;
	enum flame_value_kind kind;
	struct flame_functions f;
	struct flame_quality quality;
	uint64_t nr_samples;			/* that errors are computed from; 0: not known */
	struct flame_report_top *tops;		/* owned, as are the others */
	size_t nr_tops;
	struct flame_report_path *paths;
	size_t nr_paths, nr_more;		/* shown, and not shown */
	double rest;				/* share of what is not on the shown paths */
	double spent[FLAME_NR_CODES];		/* shares; they add up */
	struct flame_report_entry *entries;
	size_t nr_entries;
	struct flame_report_task *tasks;
	size_t nr_tasks;
	struct flame_given_hint hints[FLAME_HINTS_MAX];
	size_t nr_hints;
};

/* What a function costs in two recordings. */
struct flame_report_change {
	struct flame_span name;			/* of the after part's profile, or of the before part's */
	struct flame_span file;
	double before_self, self, before_total, total;	/* shares */
	struct flame_interval interval;		/* of the total's change, in 19 of 20 pairs of recordings; 0 to 0: not known */
	bool is_significant;
};

struct flame_report {
	struct flame_report_options options;
	struct flame_owner *owner;		/* borrowed */
	struct flame_report_part *parts;
	size_t nr_parts, room_parts;
	struct flame_report_part before;
	bool has_before;
	struct flame_report_change *changes;	/* the largest first */
	size_t nr_changes, room_changes;
	size_t nr_within_noise;			/* that changed by min or more, but not significantly */
};

/* @options may be NULL. */
void flame_report_init(struct flame_report *r, const struct flame_report_options *options, struct flame_owner *owner);
/*
 * Read @p's @type, which measures @kind; FLAME_VALUE_OTHER: as the type says. @p and @input must
 * outlive the report. Return: 0, FLAME_ENOMEM, FLAME_EOVERFLOW, FLAME_EARG for negative values,
 * FLAME_EEMPTY where all is idle.
 */
int flame_report_add(struct flame_report *r, const struct flame_profile *p, flame_type type, enum flame_value_kind kind,
		     const char *input);
/* The same for what the first part is to be compared with. Call it after that one was added. */
int flame_report_compare(struct flame_report *r, const struct flame_profile *p, flame_type type, const char *input);
/*
 * All was added: what a file holds besides the sections of the report is told once, in its first one. Return: 0 or
 * FLAME_ENOMEM.
 */
int flame_report_finish(struct flame_report *r);
void flame_report_release(struct flame_report *r);

/*
 * What a share may be off by in 19 of 20 recordings of @nr samples: 1.96 standard errors; 0 for no
 * samples.
 */
double flame_share_error(double share, uint64_t nr);
/* Writers. Return: 0, or FLAME_EIO where @out has an error. */
int flame_report_write_markdown(const struct flame_report *r, FILE *out);
int flame_report_write_text(const struct flame_report *r, FILE *out);
int flame_report_write_json(const struct flame_report *r, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_QUALITY_H
#define FLAME_QUALITY_H
/*
 * quality.h - whether a profile can be trusted: what is wrong with it, by how much, why, and what
 * helps with the recorder that made it. Documentation/quality.md lists the findings.
 *
 *	struct flame_quality q;
 *
 *	if (!flame_quality_check(&q, p, type, NULL))
 *		for (size_t i = 0; i < q.nr_findings; i++)
 *			puts(q.findings[i].what);
 *	flame_quality_release(&q);
 */
#include "converter.h"

struct flame_finding {
	enum flame_severity severity;	/* note: to be known; warning: it misleads; error: it says nothing */
	const char *id;		/* never changes: "unknown-leaf"; static storage */
	double number;		/* what was found, in @unit */
	const char *unit;	/* "%", "samples", "Hz", "s", "times", "events"; static storage */
	bool summary;		/* one that flame_quality_summary() tells of */
	/* Sentences without a full stop at their end; owned. Names in them are the input's: escape them. */
	char *what;		/* "38% of the profile has no symbol at the leaf (libfoo.so 30%)" */
	char *cause;		/* "the library is stripped" */
	char *remedy;		/* what to do with this recorder; "" where nothing helps */
};

/* Part of the whole, 0 to 1, by the values of the type that was checked. */
struct flame_quality_shares {
	double unknown_leaf;	/* no symbol where the time is spent */
	double unknown_any;	/* no symbol somewhere in the stack */
	double empty;		/* there is no stack */
	double shallow;		/* one or two frames below the task */
	double in_libc;		/* the innermost frame outside of the kernel is the C library's, reached by frame pointers */
	double truncated;	/* the recorder's limit cut the root off */
	double rootless;	/* starts with none of the functions that threads start with */
	double missed;		/* the recorder could not keep the stack */
	double kernel;		/* leaf in the kernel */
	double idle;		/* nothing ran */
	double waiting;		/* leaf in a call that waits for something */
	double switched_out;	/* leaf where the kernel switches threads */
	double jit_unmapped;	/* leaf in code of a JIT compiler without symbols */
	double addresses;	/* leaf is a bare address */
	double unknown_kernel;	/* leaf in the kernel without a symbol */
	double python_loop;	/* Python's interpreter in the stack, but no function of its program */
	double interpreter;	/* another interpreter in the stack that does not say what it runs */
};

/* A file whose symbols are missing, by the samples that end in it and those that go through it. */
struct flame_missing {
	char *module;	/* "libfoo.so", "[kernel.kallsyms]"; "[unknown]": code of no file; owned */
	double leaf, any;	/* parts of the whole, 0 to 1 */
	bool kernel, jit;	/* what code it is */
};

struct flame_quality {
	struct flame_finding *findings;	/* the worst first, then in the order of Documentation/quality.md */
	size_t nr_findings, room_findings;

	/* The figures behind them; 0 is unknown. */
	uint64_t nr_samples;	/* that were taken; at least as many, where @at_least */
	bool at_least;		/* the input holds sums of something else: only its rows could be counted */
	uint64_t nr_stacks;	/* distinct */
	int64_t total;		/* of the type's values, at its scale */
	double duration_s;
	double asked_hz;	/* as asked for */
	double achieved_hz;	/* samples by duration, all threads together */
	double margin;		/* 1% may be off by this many percentage points, in 19 of 20 recordings */
	uint64_t lost, throttled;
	bool estimated;		/* the shares are those of some samples: within 2 percentage points in 19 of 20 profiles */
	struct flame_quality_shares shares;
	struct flame_missing *missing;	/* the widest first; at most FLAME_QUALITY_MISSING */
	size_t nr_missing;
};

#define FLAME_QUALITY_MISSING 8

struct flame_quality_options {
	const char *format;	/* converter that read the profile; NULL: as flame_read() noted in it */
	bool count;		/* values were replaced by counts of samples */
	bool quick;		/* of large profiles only some samples are looked at, for a glance in a millisecond */
};

/*
 * Check the samples of @type. @options may be NULL.
 * Return: 0; FLAME_ENOMEM, with @q empty but releasable. Other types are only told of.
 */
int flame_quality_check(struct flame_quality *q, const struct flame_profile *p, flame_type type,
			const struct flame_quality_options *options);
void flame_quality_release(struct flame_quality *q);
/* Return: the finding called @id, or NULL. */
const struct flame_finding *flame_quality_find(const struct flame_quality *q, const char *id);
/*
 * What is wrong in one line, for programs that do something else: "38% of the profile has no symbol at the
 * leaf (libfoo.so 30%); 12% is cut off at 127 frames". NULL where nothing is, or without memory; owned by the caller.
 */
char *flame_quality_summary(const struct flame_quality *q);

#endif

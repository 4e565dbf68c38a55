/* SPDX-License-Identifier: MIT */
#ifndef FLAME_HINTS_H
#define FLAME_HINTS_H
/*
 * hints.h - what may help, where a profile shows much of something: a table, each with where the
 * advice comes from. A hint is where to look, not what is wrong.
 */
#include "owner.h"

struct flame_functions;

struct flame_hint {
	const char *id;		/* never changes: "regexp" */
	double min;		/* part of the profile, 0 to 1, from which on it is given */
	const char *text;	/* "A regular expression runs long: look at …"; starts behind "12%: " */
	const char *source;	/* a document's address */
};

/* Return: bits of the hints that a function of this name stands for. */
uint64_t flame_hints_of(struct flame_span name, enum flame_code code);

#define FLAME_HINTS_MAX 64
/* A hint that is given, and what share of the profile it is about. */
struct flame_given_hint {
	const struct flame_hint *hint;
	double share;
};

/*
 * The hints for @f's profile, in the order of their shares. @kind: what it measures. @given has
 * room for FLAME_HINTS_MAX. Return: how many; SIZE_MAX without memory.
 */
size_t flame_hints_give(const struct flame_functions *f, enum flame_value_kind kind, struct flame_given_hint *given);

#endif

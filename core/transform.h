/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TRANSFORM_H
#define FLAME_TRANSFORM_H
#include "flame.h"

struct flame_transform_options {
	const char *only;		/* regular expression: keep stacks with such a frame */
	const char *exclude;		/* drop stacks with such a frame */
	const char *focus;		/* as only, and the callers of the first such frame are cut off */
	bool reverse;			/* leaf first */
	bool collapse_recursion;	/* a frame that calls itself directly counts once */
	bool demangle;			/* names of C++ and Rust, where a converter left them mangled */
	bool raw_names;			/* these with their arguments */
	bool strip_hex;			/* 0x1f2e in a name becomes 0x... */
	bool strip_ids;			/* as flame_strip_ids() */
};

/* Return: NULL, or what is wrong with a regular expression of @options, owned by the caller. */
char *flame_transform_check(const struct flame_transform_options *options);

/*
 * Replace *@p by what @options make of it; the old profile is freed.
 * Return: 0; FLAME_EARG for a bad regular expression; FLAME_ENOMEM. *@p stays valid in any case.
 */
int flame_transform(struct flame_profile **p, const struct flame_transform_options *options);

#endif

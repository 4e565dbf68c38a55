/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TRANSFORM_H
#define FLAME_TRANSFORM_H
#include "flame.h"

#define FLAME_MAX_PATTERNS 16

/*
 * Of several regular expressions a frame has to match one. The text that they are compared with is a frame's name, and
 * where that does not match, the name with its mark: "foo_[k]".
 */
struct flame_transform_options {
	const char *only[FLAME_MAX_PATTERNS + 1];	/* regular expressions up to NULL: keep stacks with such a frame */
	const char *exclude[FLAME_MAX_PATTERNS + 1];	/* drop stacks with such a frame */
	const char *focus[FLAME_MAX_PATTERNS + 1];	/* as only, and the callers of the first such frame are cut off */
	const char *const *skip_after;	/* names up to NULL, or NULL: such a frame becomes the root, the one nearest to the leaf */
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

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FOLDED_H
#define FLAME_FOLDED_H
#include <stdio.h>

#include "flame.h"

/* Names of the two value types of a differential. */
#define FLAME_TYPE_BEFORE "before"
#define FLAME_TYPE_AFTER "after"

/* Return: true where @p is a differential, with its types. */
bool flame_is_differential(const struct flame_profile *p, flame_type *before, flame_type *after);

/*
 * "[pool-1 (retry; x 3) tid=102]": the frame of a thread, as async-profiler writes it, may hold the
 * separator. Return: its length at the start of @s, 0 where there is none.
 */
size_t flame_thread_frame(struct flame_span s);

struct flame_folded_options {
	flame_type type;	/* value to write */
	flame_type before;	/* not 0: two columns, this one first */
	uint32_t kinds;		/* kinds that are written as annotations */
	unsigned int threads;	/* that may be used; up to 1: none but the caller's */
	bool numbered;		/* and with the header "# samples: N", where the values are not numbers of samples */
	bool header;		/* "# event: …", "# unit: …" and "# kind: …" first */
};

/* Write "# event: …", "# unit: …" and "# kind: …", as far as they are known of @type. */
void flame_folded_write_header(const struct flame_profile *p, flame_type type, FILE *out);

/*
 * Write folded text: a line a stack, sorted by frame names (in order of arrival where the profile
 * keeps it), zeros left out. ';' in a name becomes ':', what cannot be shown (utf8_is_shown()) '?'.
 * Return: 0, FLAME_EIO where @out has an error, FLAME_ENOMEM.
 */
int flame_folded_write(const struct flame_profile *p, const struct flame_folded_options *options, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_META_H
#define FLAME_META_H
/*
 * What is known of a recording (struct flame_meta), as lines of folded text:
 *
 *	# tool: perf 6.1.158
 *	# duration: 30012345678 ns
 *	# frequency: 99 Hz
 */
#include <stdio.h>

#include "flame.h"

/* Set the string *@row of @p's to @text, where it is not known yet. Control bytes go when it is written. */
void flame_meta_text(struct flame_profile *p, flame_string *row, struct flame_span text);
/* One sample each @ns nanoseconds was asked for, where nothing is known of that yet. */
void flame_meta_interval(struct flame_profile *p, double ns);
/* What @p does not know yet is taken from @from. Times of samples meet: @p's reach over both. */
void flame_meta_copy(struct flame_profile *p, const struct flame_profile *from);
/*
 * Write @s, a '?' for each character that cannot be shown (utf8_is_shown()) and U+FFFD for each byte that is not UTF-8:
 * what a recording holds must not end a line or act on a terminal.
 */
void flame_text_write(struct flame_span s, FILE *out);
/* Write a line for each that is known, losses included. Errors stay in @out. */
void flame_meta_write(const struct flame_profile *p, FILE *out);
/* Take in @line where it is one of those, without its newline. Return: whether it is. */
bool flame_meta_parse(struct flame_profile *p, struct flame_span line);

/*
 * Sums of @type were read, and the recording says how many samples are behind all of them: give each its part, by
 * its value, and at least one. Nothing happens where it does not say.
 */
void flame_samples_number(struct flame_profile *p, flame_type type);

#endif

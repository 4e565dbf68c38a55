/* SPDX-License-Identifier: MIT */
#ifndef FLAME_AUSTIN_H
#define FLAME_AUSTIN_H
/*
 * austin.h - what the rooms of the reader of austin's files share.
 */
#include "../core/converter.h"

/* Return: whether a file that begins with @head is in austin's binary form. */
bool austin_is_mojo(struct flame_span head);
/*
 * Read the binary form. @line is given what austin would have written as text, line by line.
 * Return: 0, or a failure; what @line returns ends it.
 */
int austin_mojo_read(struct flame_reader *rd, int (*line)(struct flame_reader *rd, struct flame_span line));

#endif

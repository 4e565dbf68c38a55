/* SPDX-License-Identifier: MIT */
#ifndef FLAME_AHEAD_H
#define FLAME_AHEAD_H
/* ahead.h - a thread that reads a file while what it has read is used. */
#include <stdint.h>
#include <sys/types.h>

#define FLAME_AHEAD_FRONT ((size_t)68 << 10)	/* bytes in front of each piece that are the user's */

struct flame_ahead;

/* Return: a reader of the bytes @from .. @to of @fd; NULL without memory or threads. */
struct flame_ahead *flame_ahead_new(int fd, uint64_t from, uint64_t to);

/**
 * flame_ahead_next() - The next piece of the file.
 * @a:		reader
 * @front:	set to FLAME_AHEAD_FRONT bytes with the piece behind them; the user's until the next call but one
 *
 * Return: how many bytes the piece has, 0 at the end, negative with errno where it cannot be read.
 */
ssize_t flame_ahead_next(struct flame_ahead *a, char **front);

/* Ends the reading; all pieces are gone then. @a may be NULL. */
void flame_ahead_free(struct flame_ahead *a);

#endif

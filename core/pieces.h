/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PIECES_H
#define FLAME_PIECES_H
/*
 * What is written in pieces, by two threads in turns: each takes the next piece, writes it into memory that is used
 * again, and the pieces go to the file in their order. The bytes are the same for any number of threads.
 */
#include "out.h"
#include "worker.h"

#define FLAME_PIECES 8	/* in memory */

struct flame_pieces {
	/*
	 * Say in @item what the next piece is. By one thread at a time. Return: 1; 0 where no piece is left; a failure, which
	 * is below 0.
	 */
	int (*next)(void *arg, void *item);
	/* Write the piece @item. By several threads. Return: 0 or a failure. */
	int (*write)(void *arg, void *item, struct flame_out *out);
	void *arg;
	void *items[FLAME_PIECES];	/* the caller's; each is used for many pieces */
};

/* @worker: the other of the two; NULL: all is written by the caller. Return: 0, the failure of a piece, FLAME_EIO with errno where @file takes no more, or FLAME_ENOMEM. */
int flame_pieces_write(const struct flame_pieces *pieces, FILE *file, struct flame_worker *worker);

#endif

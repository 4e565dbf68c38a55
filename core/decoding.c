/* SPDX-License-Identifier: MIT */
/*
 * decoding.c - a ring of pieces between the thread that decodes and the one that reads.
 */
#include "decoding.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NR_PIECES 4
#define PIECE_SIZE ((size_t)128 << 10)	/* all of them stay in a second-level cache */

struct piece {
	char bytes[PIECE_SIZE];
	ssize_t nr;		/* what the source has returned */
	int os_error;
};

struct flame_decoding {
	struct flame_source *below;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t nr_filled, nr_emptied;	/* pieces so far; under lock */
	bool stop;			/* under lock */
	size_t taken;			/* bytes of the piece that is being emptied */
	struct piece pieces[NR_PIECES];
};

/* Return: the next piece to be filled; NULL where no more are wanted. */
static struct piece *wait_for_room(struct flame_decoding *d)
{
	bool stop;

	pthread_mutex_lock(&d->lock);
	while (!d->stop && d->nr_filled - d->nr_emptied == NR_PIECES)
		pthread_cond_wait(&d->changed, &d->lock);
	stop = d->stop;
	pthread_mutex_unlock(&d->lock);
	return stop ? NULL : &d->pieces[d->nr_filled % NR_PIECES];
}

static void count(struct flame_decoding *d, size_t *nr)
{
	pthread_mutex_lock(&d->lock);
	(*nr)++;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static void *decode(void *arg)
{
	struct flame_decoding *d = arg;
	struct piece *piece;

	while ((piece = wait_for_room(d))) {
		ssize_t nr = flame_source_read(d->below, piece->bytes, PIECE_SIZE);

		piece->nr = nr;
		piece->os_error = errno;
		count(d, &d->nr_filled);
		if (nr <= 0)
			break;
	}
	return NULL;
}

struct flame_decoding *flame_decoding_start(struct flame_source *below)
{
	struct flame_decoding *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	d->below = below;
	d->nr_filled = d->nr_emptied = d->taken = 0;
	d->stop = false;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	if (flame_thread_start(&d->thread, decode, d))
		return d;
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->changed);
	free(d);
	return NULL;
}

ssize_t flame_decoding_read(struct flame_decoding *d, char *to, size_t room)
{
	const struct piece *piece;

	pthread_mutex_lock(&d->lock);
	while (d->nr_filled == d->nr_emptied)
		pthread_cond_wait(&d->changed, &d->lock);
	pthread_mutex_unlock(&d->lock);
	piece = &d->pieces[d->nr_emptied % NR_PIECES];
	/* The end and an error stay. */
	if (piece->nr <= 0) {
		errno = piece->os_error;
		return piece->nr;
	}
	if (room > (size_t)piece->nr - d->taken)
		room = (size_t)piece->nr - d->taken;
	memcpy(to, piece->bytes + d->taken, room);
	d->taken += room;
	if (d->taken == (size_t)piece->nr) {
		d->taken = 0;
		count(d, &d->nr_emptied);
	}
	return (ssize_t)room;
}

void flame_decoding_stop(struct flame_decoding *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->changed);
	free(d);
}

/* SPDX-License-Identifier: MIT */
/*
 * ahead.c - pieces of a file in a ring: the thread fills one after the other and waits where the user's begin.
 */
#define _GNU_SOURCE
#include "ahead.h"
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define NR_PIECES 4
#define NR_KEPT 2		/* pieces that the user has */
#define PIECE_SIZE ((size_t)256 << 10)

struct piece {
	char *front;		/* owned; FLAME_AHEAD_FRONT and PIECE_SIZE bytes */
	ssize_t len;
	int os_error;
};

struct flame_ahead {
	int fd;
	uint64_t at, to;
	struct piece pieces[NR_PIECES];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	/* Numbers of pieces since the start; under the lock. */
	uint64_t nr_filled, nr_used;
	bool stop;
};

static void fill(struct flame_ahead *a, struct piece *piece)
{
	size_t n = a->to - a->at < PIECE_SIZE ? (size_t)(a->to - a->at) : PIECE_SIZE;

	piece->len = 0;
	if (!n)
		return;
	do {
		piece->len = pread(a->fd, piece->front + FLAME_AHEAD_FRONT, n, (off_t)a->at);
	} while (piece->len < 0 && errno == EINTR);
	piece->os_error = errno;
	if (piece->len > 0)
		a->at += (uint64_t)piece->len;
}

static void *read_on(void *arg)
{
	struct flame_ahead *a = arg;
	bool more = true;

	while (more) {
		struct piece *piece;

		pthread_mutex_lock(&a->lock);
		while (!a->stop && a->nr_filled - a->nr_used >= NR_PIECES - NR_KEPT)
			pthread_cond_wait(&a->moved, &a->lock);
		piece = &a->pieces[a->nr_filled % NR_PIECES];
		more = !a->stop;
		pthread_mutex_unlock(&a->lock);
		if (!more)
			break;
		fill(a, piece);
		more = piece->len > 0;
		pthread_mutex_lock(&a->lock);
		a->nr_filled++;
		pthread_cond_signal(&a->moved);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

static void release(struct flame_ahead *a)
{
	for (size_t i = 0; i < NR_PIECES; i++)
		free(a->pieces[i].front);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->moved);
	free(a);
}

struct flame_ahead *flame_ahead_new(int fd, uint64_t from, uint64_t to)
{
	struct flame_ahead *a = calloc(1, sizeof(*a));
	bool ok = true;

	if (!a)
		return NULL;
	a->fd = fd;
	a->at = from;
	a->to = to;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->moved, NULL);
	for (size_t i = 0; i < NR_PIECES; i++) {
		a->pieces[i].front = malloc(FLAME_AHEAD_FRONT + PIECE_SIZE);
		ok = ok && a->pieces[i].front;
	}
	if (ok && flame_thread_start(&a->thread, read_on, a))
		return a;
	release(a);
	return NULL;
}

ssize_t flame_ahead_next(struct flame_ahead *a, char **front)
{
	struct piece *piece;

	pthread_mutex_lock(&a->lock);
	while (a->nr_filled == a->nr_used)
		pthread_cond_wait(&a->moved, &a->lock);
	piece = &a->pieces[a->nr_used % NR_PIECES];
	/* The last piece stays the last: it is the end however often it is asked for. */
	if (piece->len > 0)
		a->nr_used++;
	pthread_cond_signal(&a->moved);
	pthread_mutex_unlock(&a->lock);
	*front = piece->front;
	if (piece->len < 0)
		errno = piece->os_error;
	return piece->len;
}

void flame_ahead_free(struct flame_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->moved);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	release(a);
}

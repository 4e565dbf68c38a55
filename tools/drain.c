/* SPDX-License-Identifier: MIT */
/*
 * drain.c - two buffers: one is filled while the other is written. The thread starts with the first
 * full one; what is smaller than a buffer is written at the end, without a thread.
 */
#define _GNU_SOURCE
#include "drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_BYTES ((size_t)256 << 10)

struct drain {
	int fd;
	char *filling, *writing;	/* both of DRAIN_BYTES; owned */
	size_t nr_filling, nr_writing;	/* nr_writing under lock: 0 when the thread is done with it */
	int error;			/* errno of the first failure; under lock */
	bool done;			/* under lock */
	bool started;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* Return: 0 or errno. */
static int write_all(int fd, const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(fd, s, len);

		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			s += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static void *writer(void *arg)
{
	struct drain *d = arg;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		while (!d->nr_writing && !d->done)
			pthread_cond_wait(&d->changed, &d->lock);
		if (!d->nr_writing)
			break;
		if (!d->error) {
			int error;

			pthread_mutex_unlock(&d->lock);
			error = write_all(d->fd, d->writing, d->nr_writing);
			pthread_mutex_lock(&d->lock);
			d->error = error;
		}
		d->nr_writing = 0;
		pthread_cond_signal(&d->changed);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* The full buffer to the thread, or straight to the file where there is none. Return: 0 or errno. */
static int hand_over(struct drain *d)
{
	char *swap = d->filling;
	int error;

	if (!d->started)
		d->started = !pthread_create(&d->thread, NULL, writer, d);
	if (!d->started) {
		if (!d->error)
			d->error = write_all(d->fd, d->filling, d->nr_filling);
		d->nr_filling = 0;
		return d->error;
	}
	pthread_mutex_lock(&d->lock);
	while (d->nr_writing)
		pthread_cond_wait(&d->changed, &d->lock);
	d->filling = d->writing;
	d->writing = swap;
	d->nr_writing = d->nr_filling;
	d->nr_filling = 0;
	error = d->error;
	pthread_cond_signal(&d->changed);
	pthread_mutex_unlock(&d->lock);
	return error;
}

static ssize_t drain_write(void *cookie, const char *s, size_t len)
{
	struct drain *d = cookie;
	size_t left = len;
	int error = 0;

	while (left && !error) {
		size_t n = DRAIN_BYTES - d->nr_filling;

		if (n > left)
			n = left;
		memcpy(d->filling + d->nr_filling, s, n);
		d->nr_filling += n;
		s += n;
		left -= n;
		if (d->nr_filling == DRAIN_BYTES)
			error = hand_over(d);
	}
	errno = error;
	return error ? 0 : (ssize_t)len;
}

static int drain_close(void *cookie)
{
	struct drain *d = cookie;
	int error;

	if (d->started) {
		pthread_mutex_lock(&d->lock);
		d->done = true;
		pthread_cond_signal(&d->changed);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	error = d->error ? d->error : write_all(d->fd, d->filling, d->nr_filling);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->changed);
	free(d->filling);
	free(d->writing);
	free(d);
	errno = error;
	return error ? -1 : 0;
}

FILE *drain_open(int fd)
{
	static const cookie_io_functions_t functions = { .write = drain_write, .close = drain_close };
	struct drain *d = calloc(1, sizeof(*d));
	FILE *file;

	if (!d)
		return NULL;
	d->fd = fd;
	d->filling = malloc(DRAIN_BYTES);
	d->writing = malloc(DRAIN_BYTES);
	file = d->filling && d->writing ? fopencookie(d, "w", functions) : NULL;
	if (!file) {
		free(d->filling);
		free(d->writing);
		free(d);
		return NULL;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	return file;
}

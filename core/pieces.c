/* SPDX-License-Identifier: MIT */
/*
 * pieces.c - slots in a ring: a piece is taken, written, ready, and gone to the file.
 */
#include "pieces.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "flame.h"
#include "spin.h"

struct ring {
	const struct flame_pieces *pieces;
	FILE *file;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Changed under lock. */
	atomic_size_t nr_taken, nr_gone;	/* pieces */
	atomic_bool taking;		/* somebody asks for the next one */
	atomic_bool ended;		/* there is none, or it has failed */
	bool going;			/* somebody writes to the file */
	bool ready[FLAME_PIECES];
	int err;
	int file_errno;			/* of FLAME_EIO; the caller's own is that of its thread alone */
	/* A slot is its piece's. */
	struct flame_out slots[FLAME_PIECES];
};

static bool is_open(const void *arg)
{
	const struct ring *r = arg;

	return r->ended || (!r->taking && r->nr_taken - r->nr_gone < FLAME_PIECES);
}

/* Return: true where the next piece is *@slot's, which is free. */
static bool take(struct ring *r, size_t *slot)
{
	int any;

	spin_wait(&r->lock, &r->changed, is_open, r, 1);
	if (r->ended) {
		pthread_mutex_unlock(&r->lock);
		return false;
	}
	r->taking = true;
	*slot = r->nr_taken % FLAME_PIECES;
	pthread_mutex_unlock(&r->lock);
	any = r->pieces->next(r->pieces->arg, r->pieces->items[*slot]);
	pthread_mutex_lock(&r->lock);
	r->taking = false;
	if (any == 1)
		r->nr_taken++;
	else
		r->ended = true;
	if (any != 1 && any && !r->err)
		r->err = any;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return any == 1;
}

/* A piece is written. Who completes a row of pieces that come next in the file puts them there. */
static void give(struct ring *r, size_t slot, int err)
{
	pthread_mutex_lock(&r->lock);
	if (err && !r->err)
		r->err = err;
	r->ended = r->ended || r->err;
	r->ready[slot] = true;
	while (!r->going && r->ready[r->nr_gone % FLAME_PIECES]) {
		struct flame_out *out = &r->slots[r->nr_gone % FLAME_PIECES];
		int error;

		r->going = true;
		pthread_mutex_unlock(&r->lock);
		error = fwrite(out->buf, 1, out->nr, r->file) < out->nr ? errno : 0;
		flame_out_clear(out);
		pthread_mutex_lock(&r->lock);
		if (error && !r->err) {
			r->err = FLAME_EIO;
			r->file_errno = error;
			r->ended = true;
		}
		r->going = false;
		r->ready[r->nr_gone % FLAME_PIECES] = false;
		r->nr_gone++;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

static void write_pieces(void *arg)
{
	struct ring *r = arg;
	size_t slot;

	while (take(r, &slot)) {
		int err = r->pieces->write(r->pieces->arg, r->pieces->items[slot], &r->slots[slot]);

		give(r, slot, err ? err : r->slots[slot].failed ? FLAME_ENOMEM : 0);
	}
}

int flame_pieces_write(const struct flame_pieces *pieces, FILE *file, struct flame_worker *worker)
{
	struct ring r = { .pieces = pieces, .file = file };
	struct flame_job job = { .work = write_pieces, .arg = &r };

	for (size_t i = 0; i < FLAME_PIECES; i++) {
		if (!flame_out_init(&r.slots[i], NULL))
			r.err = FLAME_ENOMEM;
	}
	r.ended = r.err;
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	flame_worker_start(worker, &job);
	write_pieces(&r);
	flame_worker_end(worker, &job);
	for (size_t i = 0; i < FLAME_PIECES; i++)
		flame_out_release(&r.slots[i]);
	pthread_mutex_destroy(&r.lock);
	pthread_cond_destroy(&r.changed);
	errno = r.file_errno ? r.file_errno : errno;
	return r.err;
}

/* SPDX-License-Identifier: MIT */
/*
 * record_reader.c - a thread that does nothing but empty the kernel's buffers. Whoever makes stacks of the records may
 * take as long as it takes to read the symbols of a large program, and none is lost meanwhile.
 */
#define _GNU_SOURCE
#include "record.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../core/table.h"

#define GROUPS_MAX 1024
#define QUEUE_MAX ((size_t)256 << 20)	/* bytes that wait; beyond it the kernel's buffers fill, and it counts what is lost */
#define WAIT_FIRST_MS 50
#define WAIT_MOST_MS 500
#define WAIT_MORE_MS 100	/* with buffers that nothing waits for */

/* Records, each as it came; a header of size 0 ends a round. */
struct queue {
	char *bytes;
	size_t nr, room;
};

struct record_reader {
	struct buffers *groups[GROUPS_MAX];	/* the first has all processors that were online at the start */
	size_t nr_groups;
	struct queue queue;		/* what was read; under lock */
	struct queue taken;		/* what is worked on */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	int wait_ms;
	bool running, done, is_over, failed;
};

static int append(void *context, const void *data, size_t size)
{
	struct queue *q = context;

	if (!array_reserve((void **)&q->bytes, &q->room, q->nr + size, 1))
		return FLAME_ENOMEM;
	memcpy(q->bytes + q->nr, data, size);
	q->nr += size;
	return 0;
}

/* Empty all buffers once. Under lock. */
static void read_round(struct record_reader *r)
{
	static const struct perf_event_header end;
	size_t most = 0, size = buffers_size(r->groups[0]);
	int longest = r->nr_groups > 1 ? WAIT_MORE_MS : WAIT_MOST_MS;

	if (r->queue.nr > QUEUE_MAX)
		return;
	for (size_t i = 0; !r->failed && i < r->nr_groups; i++) {
		size_t fullest;

		r->failed = buffers_read(r->groups[i], append, &r->queue, &fullest);
		/* Those of threads that came later may be smaller. */
		fullest *= size / buffers_size(r->groups[i]);
		most = fullest > most ? fullest : most;
	}
	r->failed |= append(&r->queue, &end, sizeof(end)) != 0;
	/* As often as they fill, and no more. */
	if (most > size / 4)
		r->wait_ms = r->wait_ms > 1 ? r->wait_ms / 2 : 1;
	else if (most < size / 16)
		r->wait_ms = r->wait_ms * 2 < longest ? r->wait_ms * 2 : longest;
}

/* Wait for the first buffers. Return: whether any have something to record. */
static bool wait_any(struct record_reader *r, size_t nr_groups, int ms)
{
	bool alive = buffers_wait(r->groups[0], ms);

	for (size_t i = 1; i < nr_groups; i++)
		alive |= buffers_wait(r->groups[i], 0);
	return alive;
}

static void *read_all(void *arg)
{
	struct record_reader *r = arg;
	bool alive = true;

	pthread_mutex_lock(&r->lock);
	while (!r->done && alive && !r->failed) {
		size_t nr_groups = r->nr_groups;
		int ms = r->wait_ms;

		pthread_mutex_unlock(&r->lock);
		alive = wait_any(r, nr_groups, ms);
		pthread_mutex_lock(&r->lock);
		read_round(r);
		pthread_cond_signal(&r->changed);
	}
	/* Who is told to stop leaves something to record. */
	r->is_over = !alive || r->failed;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct record_reader *record_reader_start(struct buffers *buffers)
{
	struct record_reader *r = calloc(1, sizeof(*r));
	sigset_t all, old;

	if (!r)
		return NULL;
	r->groups[r->nr_groups++] = buffers;
	r->wait_ms = WAIT_FIRST_MS;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	/* Signals are for the thread that waits for their effect; one that is to wake this one excepted. */
	sigfillset(&all);
	sigdelset(&all, SIGURG);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r->running = !pthread_create(&r->thread, NULL, read_all, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r->running)
		return r;
	record_reader_free(r);
	return NULL;
}

bool record_reader_add(struct record_reader *r, struct buffers *buffers)
{
	bool ok;

	pthread_mutex_lock(&r->lock);
	ok = r->nr_groups < GROUPS_MAX;
	if (ok)
		r->groups[r->nr_groups++] = buffers;
	pthread_mutex_unlock(&r->lock);
	return ok;
}

static void wait_ms(struct record_reader *r, int ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000l;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&r->changed, &r->lock, &until);
}

static int use(struct perfdata_live *live, const struct queue *q)
{
	struct perf_event_header header;
	int err = 0;

	for (size_t at = 0; !err && at < q->nr; at += header.size ? header.size : sizeof(header)) {
		memcpy(&header, q->bytes + at, sizeof(header));
		err = header.size ? perfdata_live_record(live, q->bytes + at, header.size) : perfdata_live_round(live);
	}
	return err;
}

int record_reader_take(struct record_reader *r, int ms, struct perfdata_live *live, bool *over)
{
	struct queue taken;
	int err;

	pthread_mutex_lock(&r->lock);
	if (!r->queue.nr && !r->is_over && ms > 0)
		wait_ms(r, ms);
	taken = r->queue;
	r->queue = r->taken;
	r->queue.nr = 0;
	r->taken = taken;
	*over = r->is_over;
	err = r->failed ? FLAME_ENOMEM : 0;
	pthread_mutex_unlock(&r->lock);
	return err ? err : use(live, &r->taken);
}

void record_reader_look(struct record_reader *r)
{
	pthread_mutex_lock(&r->lock);
	if (!r->is_over)
		read_round(r);
	pthread_mutex_unlock(&r->lock);
}

void record_reader_stop(struct record_reader *r)
{
	if (!r->running)
		return;
	pthread_mutex_lock(&r->lock);
	r->done = true;
	pthread_mutex_unlock(&r->lock);
	pthread_kill(r->thread, SIGURG);
	pthread_join(r->thread, NULL);
	r->running = false;
	/* What came since it looked last. */
	for (size_t i = 0; i < r->nr_groups; i++)
		buffers_disable(r->groups[i]);
	read_round(r);
}

struct buffers_counts record_reader_counts(struct record_reader *r)
{
	struct buffers_counts counts = { 0 }, later = { 0 };

	pthread_mutex_lock(&r->lock);
	buffers_count(r->groups[0], &counts);
	for (size_t i = 1; i < r->nr_groups; i++)
		buffers_count(r->groups[i], &later);
	pthread_mutex_unlock(&r->lock);
	/* Others may count again what the first do. */
	counts.lost += later.lost;
	return counts;
}

void record_reader_free(struct record_reader *r)
{
	if (!r)
		return;
	record_reader_stop(r);
	for (size_t i = 0; i < r->nr_groups; i++)
		buffers_close(r->groups[i]);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->queue.bytes);
	free(r->taken.bytes);
	free(r);
}

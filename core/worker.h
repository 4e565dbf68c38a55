/* SPDX-License-Identifier: MIT */
#ifndef FLAME_WORKER_H
#define FLAME_WORKER_H
/*
 * A thread beside the one that made it, for jobs that need not wait for each other: to start a thread takes longer
 * than many of them. What the worker has not begun when its result is asked for is done by who asks.
 *
 *	struct flame_job job = { .work = sum_up, .arg = &sums };
 *
 *	flame_worker_start(worker, &job);
 *	...
 *	flame_worker_end(worker, &job);
 */
#include <stdatomic.h>

struct flame_worker;

/* Zero but for @work and @arg, which are the caller's; it stays where it is until flame_worker_end(). */
struct flame_job {
	void (*work)(void *arg);
	void *arg;
	struct flame_job *next;	/* of those that wait */
	atomic_int state;	/* enum flame_job_state */
};

enum flame_job_state {
	FLAME_JOB_NEW,		/* nobody has begun it */
	FLAME_JOB_BEGUN,
	FLAME_JOB_DONE,
};

/* Return: a worker; NULL where there is no thread, which is a worker as well: all is done when it is asked for. */
struct flame_worker *flame_worker_new(void);
/* Have @job done: the one that was started last comes first. */
void flame_worker_start(struct flame_worker *w, struct flame_job *job);
/* Return once @job is done, of which each that was started has to be told. One that never was is done now. */
void flame_worker_end(struct flame_worker *w, struct flame_job *job);
void flame_worker_free(struct flame_worker *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * worker.c - a stack of jobs, and the thread that takes them from it.
 */
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "spin.h"
#include "thread.h"

#define PATIENCE 30	/* some 3 ms of spinning */

struct flame_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;	/* a job has come, is done, or no more will come */
	struct flame_job *jobs;	/* changed under lock */
	atomic_bool any;	/* there is one */
	atomic_bool closed;
	atomic_int owner_at;	/* its processor, as it last started a job */
};

/* Return: true where it is the caller's to be done. */
static bool begin(struct flame_job *job)
{
	int new = FLAME_JOB_NEW;

	return atomic_compare_exchange_strong(&job->state, &new, FLAME_JOB_BEGUN);
}

static bool is_wanted(const void *arg)
{
	const struct flame_worker *w = arg;

	return w->any || w->closed;
}

static bool is_done(const void *arg)
{
	const struct flame_job *job = arg;

	return job->state == FLAME_JOB_DONE;
}

/* Under lock. Return: a job that the caller has begun; NULL where there is none. */
static struct flame_job *take(struct flame_worker *w)
{
	struct flame_job *job = w->jobs;

	while (job && !begin(job))
		job = job->next;
	w->jobs = job ? job->next : NULL;
	w->any = w->jobs != NULL;
	return job;
}

/* It lives no longer than there is something to do: the next job is seldom far. */
static void wait_for_job(struct flame_worker *w)
{
	bool slept = spin_wait(&w->lock, &w->changed, is_wanted, w, PATIENCE);

	pthread_mutex_unlock(&w->lock);
	if (slept)
		flame_thread_leave(w->owner_at);
}

static void *run(void *arg)
{
	struct flame_worker *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct flame_job *job = take(w);

		if (job) {
			pthread_mutex_unlock(&w->lock);
			job->work(job->arg);
			pthread_mutex_lock(&w->lock);
			job->state = FLAME_JOB_DONE;
			pthread_cond_broadcast(&w->changed);
			continue;
		}
		if (w->closed)
			break;
		pthread_mutex_unlock(&w->lock);
		wait_for_job(w);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct flame_worker *flame_worker_new(void)
{
	struct flame_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	if (flame_thread_start(&w->thread, run, w))
		return w;
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
	return NULL;
}

void flame_worker_start(struct flame_worker *w, struct flame_job *job)
{
	if (!w)
		return;
	w->owner_at = flame_thread_processor();
	pthread_mutex_lock(&w->lock);
	job->next = w->jobs;
	w->jobs = job;
	w->any = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

/* It is done here: the worker need not come upon it. */
static void withdraw(struct flame_worker *w, const struct flame_job *job)
{
	pthread_mutex_lock(&w->lock);
	for (struct flame_job **at = &w->jobs; *at; at = &(*at)->next) {
		if (*at == job) {
			*at = job->next;
			break;
		}
	}
	w->any = w->jobs != NULL;
	pthread_mutex_unlock(&w->lock);
}

void flame_worker_end(struct flame_worker *w, struct flame_job *job)
{
	if (begin(job)) {
		if (w)
			withdraw(w, job);
		job->work(job->arg);
		job->state = FLAME_JOB_DONE;
		return;
	}
	if (!w)
		return;
	spin_wait(&w->lock, &w->changed, is_done, job, 1);
	pthread_mutex_unlock(&w->lock);
}

void flame_worker_free(struct flame_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->closed = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "thread.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define SHARED_NS 20000	/* with nobody else there a yield takes less than one */
#define CROWDED 256		/* waits without spinning before it is tried again */

/* Of two threads that wait for each other on one processor, the one that was started goes first: if both went they would meet again. */
static _Thread_local bool is_started;
static _Thread_local int nr_shared;	/* yields in a row in which somebody else ran */
static _Thread_local bool has_moved;	/* since the last yield in which nobody did */
static _Thread_local int nr_crowded;	/* times that are left to be told so */

#ifdef __GLIBC__
struct start {
	void *(*work)(void *);
	void *arg;
	cpu_set_t allowed;
};

/* Once it runs elsewhere, it may run anywhere. */
static void *run(void *arg)
{
	struct start start = *(struct start *)arg;

	free(arg);
	sched_setaffinity(0, sizeof(start.allowed), &start.allowed);
	is_started = true;
	return start.work(start.arg);
}

/* Return: false where this is the only processor, or the system does not tell. */
static bool find_others(const cpu_set_t *allowed, cpu_set_t *others)
{
	int here = sched_getcpu();

	if (here < 0 || here >= CPU_SETSIZE)
		return false;
	*others = *allowed;
	CPU_CLR(here, others);
	return CPU_COUNT(others);
}

static bool start_elsewhere(pthread_t *thread, void *(*work)(void *), void *arg)
{
	struct start *start = malloc(sizeof(*start));
	pthread_attr_t attr;
	cpu_set_t others;
	bool ok = start && !sched_getaffinity(0, sizeof(start->allowed), &start->allowed) && find_others(&start->allowed, &others);

	if (ok && !pthread_attr_init(&attr)) {
		start->work = work;
		start->arg = arg;
		ok = !pthread_attr_setaffinity_np(&attr, sizeof(others), &others) && !pthread_create(thread, &attr, run, start);
		pthread_attr_destroy(&attr);
	} else {
		ok = false;
	}
	if (!ok)
		free(start);
	return ok;
}

int flame_thread_processor(void)
{
	return sched_getcpu();
}

static void move(void)
{
	cpu_set_t allowed, others;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || !find_others(&allowed, &others))
		return;
	if (!sched_setaffinity(0, sizeof(others), &others))
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

void flame_thread_leave(int processor)
{
	if (processor >= 0 && sched_getcpu() == processor)
		move();
}
#else
static bool start_elsewhere(pthread_t *thread, void *(*work)(void *), void *arg)
{
	(void)thread;
	(void)work;
	(void)arg;
	return false;
}

int flame_thread_processor(void)
{
	return -1;
}

static void move(void)
{
}

void flame_thread_leave(int processor)
{
	(void)processor;
}
#endif

bool flame_thread_yield(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_MONOTONIC, &before);
	sched_yield();
	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - before.tv_sec) * 1000000000LL + now.tv_nsec - before.tv_nsec < SHARED_NS) {
		nr_shared = 0;
		has_moved = false;
		return true;
	}
	if (++nr_shared <= !is_started)
		return true;
	nr_shared = 0;
	if (has_moved) {
		nr_crowded = CROWDED;
		return false;
	}
	has_moved = true;
	move();
	return true;
}

bool flame_thread_is_crowded(void)
{
	if (nr_crowded)
		nr_crowded--;
	return nr_crowded;
}

bool flame_thread_start(pthread_t *thread, void *(*work)(void *), void *arg)
{
	return start_elsewhere(thread, work, arg) || !pthread_create(thread, NULL, work, arg);
}

void flame_thread_both(void *(*work)(void *), void *a, void *b)
{
	pthread_t thread;
	bool started = flame_thread_start(&thread, work, b);

	work(a);
	if (started)
		pthread_join(thread, NULL);
	else
		work(b);
}

/* SPDX-License-Identifier: MIT */
/*
 * work.c - a program of which the truth is known, in processor time and not in what a clock shows, so that other load
 * does not change it:
 *
 *     work burn SECONDS    34% in json_encode(), 51% in parse(), 15% in main() itself
 *     work lock SECONDS    a thread waits for a mutex for nine tenths of SECONDS, at wait_for_lock()
 *     work deep SECONDS    300 calls deep
 *     work timer SECONDS   wakes 100 times a second, and works for 3 ms each time
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#define BURN(seconds) \
	do { \
		double end = now(CLOCK_PROCESS_CPUTIME_ID) + (seconds); \
		do { \
			for (int i = 0; i < 20000; i++) \
				sink += (unsigned long)i * sink; \
		} while (now(CLOCK_PROCESS_CPUTIME_ID) < end); \
	} while (0)

NOINLINE void json_encode(double seconds)
{
	BURN(seconds);
	sink++;
}

NOINLINE void parse(double seconds)
{
	BURN(seconds);
	sink++;
}

NOINLINE void handle_request(double seconds)
{
	json_encode(seconds * 0.34);
	parse(seconds * 0.51);
	sink++;
}

NOINLINE int deep(int depth, double seconds)
{
	if (!depth)
		BURN(seconds);
	else
		sink += (unsigned long)deep(depth - 1, seconds);
	return (int)sink;
}

static void nap(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&ts, NULL);
}

NOINLINE void wait_for_lock(void)
{
	pthread_mutex_lock(&mutex);
	sink++;
	pthread_mutex_unlock(&mutex);
}

static void *waiter(void *arg)
{
	double end = now(CLOCK_MONOTONIC) + *(double *)arg;

	while (now(CLOCK_MONOTONIC) < end) {
		wait_for_lock();
		sink++;
	}
	return NULL;
}

/* The lock is free for a tenth of the time. */
static void hold_lock(double seconds)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, waiter, &seconds);
	for (int i = 0; i < 10; i++) {
		nap(seconds * 0.09);
		pthread_mutex_unlock(&mutex);
		nap(seconds * 0.01);
		pthread_mutex_lock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void tick(double seconds)
{
	double start = now(CLOCK_MONOTONIC);

	for (int i = 1; i < (int)(seconds * 100); i++) {
		double wait = start + i * 0.01 - now(CLOCK_MONOTONIC);

		if (wait > 0)
			nap(wait);
		parse(0.003);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "burn";
	double seconds = argc > 2 ? atof(argv[2]) : 1;

	if (!strcmp(what, "lock")) {
		hold_lock(seconds);
	} else if (!strcmp(what, "deep")) {
		deep(300, seconds);
	} else if (!strcmp(what, "timer")) {
		tick(seconds);
	} else {
		/* Requests are short: any part of the time is like the whole. */
		for (int i = 0; i < (int)(seconds * 20); i++) {
			handle_request(0.05);
			BURN(0.05 * 0.15);
		}
	}
	return 0;
}

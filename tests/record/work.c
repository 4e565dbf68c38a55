/* SPDX-License-Identifier: MIT */
/*
 * work.c - what fgrecord.sh records: `work MODE SECONDS`, by the processor time that it uses itself.
 *
 *     split       34 of 52 parts in takes_34, 18 in takes_18
 *     threads     1000 threads, each in its turn in takes_34
 *     bursts      1000 threads at once, five times, each in takes_34; prints the processor time that was used
 *     exec        takes_18 for half of the time, then itself as exec'd, in takes_34
 *     fork        children that come and go, each in takes_34
 *     dlopen      work.so, in its takes_library
 *     sleep       off the processor, in sleeps
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 1000

static volatile unsigned long sink;

static double used(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

#define PART(name) \
	__attribute__((noinline)) void name(double seconds) \
	{ \
		double end = used() + seconds; \
		do { \
			for (int i = 0; i < 2000; i++) \
				sink += (unsigned long)i; \
		} while (used() < end); \
	}

#ifdef LIBRARY
PART(takes_library)
#else
static PART(takes_34)
static PART(takes_18)

static __attribute__((noinline)) void sleeps(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
	sink++;
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *in_thread(void *arg)
{
	pthread_mutex_lock(&turn);
	takes_34(*(double *)arg / THREADS);
	pthread_mutex_unlock(&turn);
	return NULL;
}

static void run_threads(double seconds)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_mutex_lock(&turn);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], &attr, in_thread, &seconds);
	puts("ready");
	fflush(stdout);
	getchar();
	pthread_mutex_unlock(&turn);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static double used_by_thread(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *in_burst(void *arg)
{
	double end = used_by_thread() + *(double *)arg;

	while (used_by_thread() < end)
		takes_34(0);
	return NULL;
}

static void run_bursts(double seconds)
{
	double each = seconds / 5 / THREADS;
	pthread_t threads[THREADS];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	puts("ready");
	fflush(stdout);
	getchar();
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], &attr, in_burst, &each);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	printf("%.3f\n", used());
}

static void run_fork(double seconds)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			takes_34(seconds / 20);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void run_dlopen(const char *self, double seconds)
{
	char path[4096];
	void *library;
	void (*takes)(double);

	snprintf(path, sizeof(path), "%s.so", self);
	takes_18(seconds / 2);
	library = dlopen(path, RTLD_NOW);
	takes = library ? (void (*)(double))dlsym(library, "takes_library") : takes_18;
	takes(seconds / 2);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	double seconds = argc > 2 ? atof(argv[2]) : 0;

	if (!strcmp(mode, "split")) {
		for (double all = 0; all < seconds; all += 0.0052) {
			takes_34(0.0034);
			takes_18(0.0018);
		}
	} else if (!strcmp(mode, "threads")) {
		run_threads(seconds);
	} else if (!strcmp(mode, "bursts")) {
		run_bursts(seconds);
	} else if (!strcmp(mode, "exec")) {
		takes_18(seconds / 2);
		snprintf(argv[2], strlen(argv[2]) + 1, "%g", seconds / 2);
		execl("/proc/self/exe", "other", "only", argv[2], (char *)NULL);
	} else if (!strcmp(mode, "only")) {
		takes_34(seconds);
	} else if (!strcmp(mode, "fork")) {
		run_fork(seconds);
	} else if (!strcmp(mode, "dlopen")) {
		run_dlopen(argv[0], seconds);
	} else if (!strcmp(mode, "sleep")) {
		sleeps(seconds);
	} else {
		return 2;
	}
	return 0;
}
#endif

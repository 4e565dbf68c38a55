/* SPDX-License-Identifier: MIT */
/* plugin.c - a library that will be stripped: nobody can tell the name of the function that takes the time. */
#include <time.h>

static volatile unsigned long sink;

/* Larger than what it is found by, so that no exported name covers it. */
static __attribute__((noinline)) void secret(double seconds)
{
	struct timespec ts;
	double end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	end = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9 + seconds;
	do {
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)i * sink;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	} while ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 < end);
}

void plugin_run(double seconds);

void plugin_run(double seconds)
{
	secret(seconds);
	sink++;
}

/* SPDX-License-Identifier: MIT */
/*
 * split.c - spends 60 % of its processor time in takes_six(), 30 % in takes_three() and 10 % in takes_one(), whatever
 * else the machine does: twenty rounds of it, or rounds for as many seconds as its argument says.
 */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static double used(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

#define PART(name, seconds) \
	static __attribute__((noinline)) void name(void) \
	{ \
		double end = used(CLOCK_PROCESS_CPUTIME_ID) + (seconds); \
		do { \
			for (int i = 0; i < 200000; i++) \
				sink += i; \
		} while (used(CLOCK_PROCESS_CPUTIME_ID) < end); \
	}

PART(takes_six, 0.06)
PART(takes_three, 0.03)
PART(takes_one, 0.01)

int main(int argc, char **argv)
{
	double end = argc > 1 ? used(CLOCK_MONOTONIC) + atof(argv[1]) : 0;

	for (int i = 0; argc > 1 ? used(CLOCK_MONOTONIC) < end : i < 20; i++) {
		takes_six();
		takes_three();
		takes_one();
	}
	return 0;
}

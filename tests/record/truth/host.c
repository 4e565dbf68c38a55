/* SPDX-License-Identifier: MIT */
/* host.c - half of the time in the program itself, half in the library. */
#include <time.h>

static volatile unsigned long sink;

void plugin_run(double seconds);

__attribute__((noinline)) void own_work(double seconds)
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
	sink++;
}

int main(void)
{
	for (int i = 0; i < 20; i++) {
		own_work(0.025);
		plugin_run(0.025);
	}
	return 0;
}

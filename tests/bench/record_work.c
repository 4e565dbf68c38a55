/* SPDX-License-Identifier: MIT */
/*
 * record_work.c - a fixed amount of work below stacks of some depth, for tests/bench/record: `record_work ROUNDS`, begun
 * by a line on standard input. Prints the processor time that it took, in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define DEPTH 30

static volatile unsigned long sink;

static __attribute__((noinline)) void leaf(void)
{
	for (unsigned long i = 0; i < 20000; i++)
		sink += i;
}

static __attribute__((noinline)) void other_leaf(void)
{
	for (unsigned long i = 0; i < 10000; i++)
		sink ^= i;
}

static __attribute__((noinline)) void down(int depth, int which)
{
	if (depth > 0)
		down(depth - 1, which);
	else if (which)
		leaf();
	else
		other_leaf();
	sink++;
}

static double used(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	double start;

	if (getchar() == EOF)
		return 1;
	start = used();
	for (long i = 0; i < rounds; i++)
		down((int)(i % DEPTH), (int)(i % 3));
	printf("%.0f\n", used() - start);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Functions that are inlined into each other, for tests/symbols/run. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) int leaf(int x)
{
	volatile int y = x;

	return y * 3;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return leaf(x) + leaf(x + 1);
}

__attribute__((noinline)) int compute(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += middle(i);
	return sum;
}

__attribute__((noinline)) int twice(int n)
{
	return compute(n) + middle(n) + compute(n + 1);
}

int main(int argc, char **argv)
{
	printf("%d\n", twice(argc > 1 ? atoi(argv[1]) : 3));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* lld.elf: clang -O1 -g -gdwarf-5 -fdebug-compilation-dir=/src -nostdlib -static -fuse-ld=lld -Wl,--build-id (14.0.6), of what follows as inline.c */
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

int _start(int n)
{
	return compute(n) + middle(n);
}

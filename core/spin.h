/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SPIN_H
#define FLAME_SPIN_H
/*
 * Waiting for another thread that is nearly done. To sleep and be woken takes longer than that, above all in a virtual
 * machine, where a processor with nothing to do goes back to the host.
 */
#include <pthread.h>
#include <stdbool.h>

#include "thread.h"

#define SPINS 4000	/* some 100 us */
#define YIELD_EACH 64	/* the other thread may be on this very processor */

/* Return: false where spinning is no use. */
static inline bool spin_pause(int i)
{
	if (i % YIELD_EACH == YIELD_EACH - 1 && !flame_thread_yield())
		return false;
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	return true;
}

/*
 * Look @times times SPINS times whether @ready(@arg), which reads what is atomic. What comes of it has to be asked for again, under
 * a lock.
 */
static inline void spin_long(bool (*ready)(const void *), const void *arg, int times)
{
	if (ready(arg) || flame_thread_is_crowded())
		return;
	for (int i = 0; i < times * SPINS && !ready(arg) && spin_pause(i); i++)
		;
}

static inline void spin_until(bool (*ready)(const void *), const void *arg)
{
	spin_long(ready, arg, 1);
}

/* Lock what the other thread holds for longer than a moment. */
static inline void spin_lock(pthread_mutex_t *lock)
{
	for (int i = 0; i < SPINS; i++) {
		if (!pthread_mutex_trylock(lock))
			return;
		if ((!i && flame_thread_is_crowded()) || !spin_pause(i))
			break;
	}
	pthread_mutex_lock(lock);
}

#endif

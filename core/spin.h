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
 * Wait until @ready(@arg), which reads what is atomic and changes under @lock: look @times times SPINS times, then sleep until
 * @changed. @lock is held afterwards. Return: whether this thread has slept.
 */
static inline bool spin_wait(pthread_mutex_t *lock, pthread_cond_t *changed, bool (*ready)(const void *), const void *arg,
			     int times)
{
	bool slept = false;

	if (!ready(arg) && !flame_thread_is_crowded()) {
		for (int i = 0; i < times * SPINS && !ready(arg) && spin_pause(i); i++)
			;
	}
	pthread_mutex_lock(lock);
	for (; !ready(arg); slept = true)
		pthread_cond_wait(changed, lock);
	return slept;
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

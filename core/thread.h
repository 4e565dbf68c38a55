/* SPDX-License-Identifier: MIT */
#ifndef FLAME_THREAD_H
#define FLAME_THREAD_H
#include <pthread.h>
#include <stdbool.h>

/*
 * Start @work(@arg) on a thread, and on another processor than this one where there is one. Left to itself the system
 * may queue a new thread behind the one that made it until it next balances the load, which takes as long as all of the work.
 * Return: false where there is no thread.
 */
bool flame_thread_start(pthread_t *thread, void *(*work)(void *), void *arg);
/* Do @work(@a) and @work(@b) at once; or one after the other, where there is no second thread. */
void flame_thread_both(void *(*work)(void *), void *a, void *b);
/* Return: the number of the processor that this thread runs on; -1: the system does not tell. */
int flame_thread_processor(void);
/*
 * Go on elsewhere if this thread runs on @processor, where another one does that it works with. To be called after a sleep: the
 * system wakes a thread where the one that wakes it runs, if the other processor sleeps, which in a virtual machine looks as
 * if it were away, and finds that out milliseconds later.
 */
void flame_thread_leave(int processor);
/*
 * Let others run on this processor. Where they do for long, one of them is likely to be the thread that this one waits for, and this one
 * goes on on another processor. Return: false where that did not help the last time: the machine is busy, each yield
 * takes as long as others may run, and to sleep is better.
 */
bool flame_thread_yield(void);
/* Return: true for a while after flame_thread_yield() has returned false. */
bool flame_thread_is_crowded(void);

#endif

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

#endif

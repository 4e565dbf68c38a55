/* SPDX-License-Identifier: MIT */
#ifndef FLAME_KERNEL_H
#define FLAME_KERNEL_H
/*
 * kernel.h - what functions of the Linux kernel mean: how it was entered, and what it was doing.
 */
#include "flame.h"

enum flame_kernel_entry {
	FLAME_ENTRY_NONE,
	FLAME_ENTRY_SYSCALL,	/* with a name, where one is known */
	FLAME_ENTRY_FAULT,	/* a page that was not there */
	FLAME_ENTRY_THREAD,	/* a thread of the kernel */
	FLAME_ENTRY_INTERRUPT,	/* and softirqs behind it */
};

/* Return: how the kernel was entered where @function is on the stack; *@name gets the system call's. */
enum flame_kernel_entry flame_kernel_entry(struct flame_span function, struct flame_span *name);

/* Return: what a thread waits for that blocks in this way, "events"; NULL: not known. Static storage. */
const char *flame_kernel_wait(enum flame_kernel_entry entry, struct flame_span name);

enum flame_kernel_work {
	FLAME_WORK_OTHER,
	FLAME_WORK_CLEAR,
	FLAME_WORK_COPY,
	FLAME_WORK_LOCK,
	FLAME_WORK_FUTEX,
	FLAME_WORK_SCHEDULER,
	FLAME_WORK_MEMORY,
	FLAME_WORK_FILES,
	FLAME_WORK_BLOCK,
	FLAME_WORK_NETWORK,
	FLAME_WORK_POLL,
	FLAME_WORK_SLEEP,
	FLAME_WORK_PROCESS,
	FLAME_WORK_SIGNAL,
	FLAME_WORK_PROFILER,
	FLAME_WORK_CRYPTO,
	FLAME_NR_WORKS,
};

/* Return: what @function does; FLAME_WORK_OTHER: no more than its caller. */
enum flame_kernel_work flame_kernel_work(struct flame_span function);
/* Return: "copies", "scheduler"; static storage. */
const char *flame_kernel_work_name(enum flame_kernel_work work);

#endif

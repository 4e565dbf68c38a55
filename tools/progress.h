/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_PROGRESS_H
#define FLAME_TOOLS_PROGRESS_H
/* How far reading has got, on standard error, where that is a terminal and it takes over a second. */
#include <pthread.h>

#include "options.h"

struct progress {
	const char *name;	/* of the program */
	uint64_t nr_bytes;	/* read so far; other threads add to it */
	uint64_t size;		/* of the file; 0: not known */
	bool running;
	bool done;		/* under lock */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* Begin to watch the reading of input @i; sets @tool's read options. */
void progress_start(struct progress *progress, struct tool *tool, size_t i);
void progress_stop(struct progress *progress);

#endif

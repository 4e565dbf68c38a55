/* SPDX-License-Identifier: MIT */
/* record_missing.c - in the place of record_libperf.c where there is no libperf: nothing can be recorded. */
#include "record.h"

bool buffers_available(void)
{
	return false;
}

int buffers_open(struct buffers **buffers, const struct buffers_wanted *wanted, enum buffers_step *step)
{
	(void)wanted;
	*buffers = NULL;
	*step = BUFFERS_OPEN;
	return 38; /* ENOSYS */
}

void buffers_close(struct buffers *b)
{
	(void)b;
}

void buffers_enable(struct buffers *b)
{
	(void)b;
}

void buffers_disable(struct buffers *b)
{
	(void)b;
}

bool buffers_wait(struct buffers *b, int ms)
{
	(void)b;
	(void)ms;
	return false;
}

int buffers_read(struct buffers *b, int (*use)(void *context, const void *data, size_t size), void *context,
		 size_t *fullest)
{
	(void)b;
	(void)use;
	(void)context;
	*fullest = 0;
	return 0;
}

void buffers_count(struct buffers *b, struct buffers_counts *counts)
{
	(void)b;
	(void)counts;
}

size_t buffers_size(const struct buffers *b)
{
	(void)b;
	return 0;
}

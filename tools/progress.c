/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "progress.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000
#define NEXT_MS 200

static void print(const struct progress *p)
{
	uint64_t n = __atomic_load_n(&p->nr_bytes, __ATOMIC_RELAXED);

	if (p->size && n <= p->size)
		fprintf(stderr, "\r%s: %.0f of %.0f MB read", p->name, (double)n / 1e6, (double)p->size / 1e6);
	else
		fprintf(stderr, "\r%s: %.0f MB read", p->name, (double)n / 1e6);
}

/* Return: true where waiting ended because the time is over. Called and left with the lock held. */
static bool wait_ms(struct progress *p, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return pthread_cond_timedwait(&p->changed, &p->lock, &until);
}

static void *watch(void *arg)
{
	struct progress *p = arg;
	bool printed = false;

	pthread_mutex_lock(&p->lock);
	while (!p->done) {
		if (wait_ms(p, printed ? NEXT_MS : FIRST_MS) && !p->done) {
			print(p);
			printed = true;
		}
	}
	pthread_mutex_unlock(&p->lock);
	if (printed)
		fputs("\r\033[K", stderr);
	return NULL;
}

void progress_start(struct progress *p, struct tool *tool, size_t i)
{
	struct stat st;

	*p = (struct progress){ .name = tool->name };
	if (tool->quiet || !isatty(STDERR_FILENO))
		return;
	if (strcmp(tool->inputs[i], "-") && !stat(tool->inputs[i], &st) && S_ISREG(st.st_mode))
		p->size = (uint64_t)st.st_size;
	tool->read.progress = &p->nr_bytes;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->running = !pthread_create(&p->thread, NULL, watch, p);
}

void progress_stop(struct progress *p)
{
	if (!p->running)
		return;
	pthread_mutex_lock(&p->lock);
	p->done = true;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
}

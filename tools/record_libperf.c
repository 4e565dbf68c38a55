/* SPDX-License-Identifier: GPL-2.0 */
/*
 * record_libperf.c - the kernel's events and their buffers, with libperf, whose headers are under this licence. It
 * opens what it is told to and hands out records; what they mean is none of its business.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/perf_event.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/event.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>

#include "record.h"

#define RECORD_MAX 65536	/* a record's size has 16 bits */

/* A buffer. */
struct ring {
	struct perf_mmap *map;
	const char *data;	/* where it begins; NULL: nothing was read yet */
	uint64_t pos;		/* bytes read */
};

struct buffers {
	struct perf_evlist *list;
	struct perf_evsel *event;
	struct perf_cpu_map *cpus;
	struct perf_thread_map *threads;
	struct ring *rings;
	size_t nr_rings, size;
	bool reads_lost;
	char whole[RECORD_MAX];	/* a record that goes on at the buffer's start */
};

static int print_nothing(enum libperf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

bool buffers_available(void)
{
	return true;
}

static int make_lists(struct buffers *b, const struct buffers_wanted *wanted)
{
	struct perf_event_attr attr = *wanted->attr;

	b->cpus = perf_cpu_map__new(wanted->cpus);
	b->threads = wanted->tids ? perf_thread_map__new_array((int)wanted->nr_tids, (pid_t *)wanted->tids) :
				    perf_thread_map__new_dummy();
	b->list = perf_evlist__new();
	b->event = perf_evsel__new(&attr);
	if (!b->cpus || !b->threads || !b->list || !b->event) {
		if (b->event)
			perf_evsel__delete(b->event);
		return ENOMEM;
	}
	perf_evlist__add(b->list, b->event);
	perf_evlist__set_maps(b->list, b->cpus, b->threads);
	return 0;
}

static struct perf_mmap *first_map(struct buffers *b)
{
	return perf_evlist__next_mmap(b->list, NULL, false);
}

static int find_rings(struct buffers *b)
{
	struct perf_mmap *map;
	size_t nr = 0;

	for (map = first_map(b); map; map = perf_evlist__next_mmap(b->list, map, false))
		nr++;
	b->rings = calloc(nr + 1, sizeof(*b->rings));
	if (!b->rings)
		return ENOMEM;
	for (map = first_map(b); map; map = perf_evlist__next_mmap(b->list, map, false))
		b->rings[b->nr_rings++].map = map;
	return 0;
}

/* A thread map of a process, and a buffer for each processor that its events of all threads go to. */
static int open_all(struct buffers *b, const struct buffers_wanted *wanted, enum buffers_step *step)
{
	int err = make_lists(b, wanted);

	*step = BUFFERS_OPEN;
	if (err)
		return err;
	err = -perf_evlist__open(b->list);
	if (err)
		return err;
	*step = BUFFERS_MMAP;
	errno = 0;
	if (perf_evlist__mmap(b->list, (int)wanted->pages) < 0)
		return errno ? errno : EINVAL;
	return find_rings(b);
}

int buffers_open(struct buffers **buffers, const struct buffers_wanted *wanted, enum buffers_step *step)
{
	struct buffers *b = calloc(1, sizeof(*b));
	int err;

	*buffers = NULL;
	if (!b)
		return ENOMEM;
	libperf_init(print_nothing);
	b->size = (size_t)wanted->pages * (size_t)sysconf(_SC_PAGESIZE);
	b->reads_lost = wanted->attr->read_format & PERF_FORMAT_LOST;
	err = open_all(b, wanted, step);
	if (err) {
		buffers_close(b);
		return err;
	}
	*buffers = b;
	return 0;
}

/* libperf 6.1 never gives up an event's own references to the two maps, a few bytes; newer ones do. */
void buffers_close(struct buffers *b)
{
	if (!b)
		return;
	if (b->list) {
		perf_evlist__munmap(b->list);
		perf_evlist__close(b->list);
		perf_evlist__delete(b->list);
	}
	perf_cpu_map__put(b->cpus);
	perf_thread_map__put(b->threads);
	free(b->rings);
	free(b);
}

void buffers_enable(struct buffers *b)
{
	perf_evlist__enable(b->list);
}

void buffers_disable(struct buffers *b)
{
	perf_evlist__disable(b->list);
}

bool buffers_wait(struct buffers *b, int ms)
{
	perf_evlist__poll(b->list, ms);
	return perf_evlist__filter_pollfd(b->list, POLLERR | POLLHUP) > 0;
}

/*
 * libperf 6.1 puts a record that goes on at the buffer's start together, but no more of it than sizeof(union
 * perf_event), and copies of stacks are larger. The record is still in the buffer, so its parts are taken from there.
 */
static const void *whole_record(struct buffers *b, struct ring *ring, const union perf_event *event)
{
	size_t size = event->header.size, at = ring->pos % b->size, first = b->size - at;

	if (!ring->data)
		ring->data = (const char *)event - at;
	ring->pos += size;
	if (size <= first)
		return event;
	memcpy(b->whole, ring->data + at, first);
	memcpy(b->whole + first, ring->data, size - first);
	return b->whole;
}

int buffers_read(struct buffers *b, int (*use)(void *context, const void *data, size_t size), void *context,
		 size_t *fullest)
{
	int err = 0;

	*fullest = 0;
	for (size_t i = 0; !err && i < b->nr_rings; i++) {
		struct ring *ring = &b->rings[i];
		uint64_t start = ring->pos;
		union perf_event *event;

		if (perf_mmap__read_init(ring->map) < 0)
			continue;
		/* Who writes faster than is read here must not keep the other buffers waiting. */
		while (!err && ring->pos - start < b->size && (event = perf_mmap__read_event(ring->map))) {
			size_t size = event->header.size;

			err = use(context, whole_record(b, ring, event), size);
			perf_mmap__consume(ring->map);
		}
		if (ring->pos - start > *fullest)
			*fullest = (size_t)(ring->pos - start);
	}
	return err;
}

void buffers_count(struct buffers *b, struct buffers_counts *counts)
{
	int nr_cpus = perf_cpu_map__nr(b->cpus), nr_threads = perf_thread_map__nr(b->threads);

	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		for (int thread = 0; thread < nr_threads; thread++) {
			struct perf_counts_values values = { 0 };

			if (perf_evsel__read(b->event, cpu, thread, &values))
				continue;
			counts->value += values.val;
			counts->ran += values.run;
			counts->lost += b->reads_lost ? values.lost : 0;
		}
	}
}

size_t buffers_size(const struct buffers *b)
{
	return b->size;
}

/* SPDX-License-Identifier: MIT */
/* chrome_order.c - an external merge sort of events. */
#define _GNU_SOURCE
#include "chrome_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/protobuf.h"
#include "../core/sort.h"
#include "../core/spool.h"
#include "../core/table.h"

#define EVENT_BYTES (5 * FLAME_PB_VARINT_MAX)	/* of the longest event */
#define WRITE_BYTES ((size_t)64 << 10)
#define READ_BYTES ((size_t)1 << 20)		/* that all runs of a file share, */
#define READ_MIN ((size_t)512)			/* each at least this, */
#define READ_MAX ((size_t)64 << 10)		/* and at most this */

/* Order. */

/* Begins and ends in their order, then whole events, the longer outside. */
static uint64_t rank_at_once(const struct chrome_event *e)
{
	return e->dur < 0 ? 0 : UINT64_MAX - (uint64_t)e->dur;
}

static int compare(const struct chrome_event *x, const struct chrome_event *y)
{
	uint64_t a, b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	a = rank_at_once(x);
	b = rank_at_once(y);
	return a < b ? -1 : a > b;
}

static int compare_rows(const void *a, const void *b, void *batch)
{
	const struct chrome_event *events = batch;
	uint32_t i = ((const struct flame_pair *)a)->row, j = ((const struct flame_pair *)b)->row;
	int order = compare(&events[i], &events[j]);

	return order ? order : i < j ? -1 : i > j;
}

static bool is_sorted(const struct chrome_event *events, const struct flame_pair *pairs, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (compare(&events[pairs[i - 1].row], &events[pairs[i].row]) > 0)
			return false;
	}
	return true;
}

/* Return: the batch's rows in order, owned by the caller; NULL without memory. */
static struct flame_pair *sort_batch(struct chrome_order *o)
{
	struct flame_pair *pairs = malloc(o->nr_batch * sizeof(*pairs));
	size_t end;

	for (size_t i = 0; pairs && i < o->nr_batch; i++)
		pairs[i] = (struct flame_pair){ o->batch[i].thread, (uint32_t)i };
	if (!pairs || !flame_sort_pairs(pairs, o->nr_batch)) {
		free(pairs);
		return NULL;
	}
	for (size_t i = 0; i < o->nr_batch; i = end) {
		for (end = i + 1; end < o->nr_batch && pairs[end].key == pairs[i].key; end++)
			;
		if (!is_sorted(o->batch, pairs + i, end - i))
			qsort_r(pairs + i, end - i, sizeof(*pairs), compare_rows, o->batch);
	}
	return pairs;
}

/*
 * Runs. An event is three numbers: 0 for B, 1 for E, 2 and dur for X, all plus one; the time since the thread's event
 * before; the frame. Where another thread's begin there is a 0, and its row; their time counts from 0.
 */

struct encoder {
	struct flame_pb_out out;
	uint32_t thread;
	uint64_t ts;
};

static void put_event(struct encoder *w, const struct chrome_event *e)
{
	if (e->thread != w->thread) {
		flame_pb_put_varint(&w->out, 0);
		flame_pb_put_varint(&w->out, e->thread);
		w->thread = e->thread;
		w->ts = 0;
	}
	flame_pb_put_varint(&w->out, e->dur == CHROME_BEGIN ? 1 : e->dur < 0 ? 2 : 3 + (uint64_t)e->dur);
	flame_pb_put_varint(&w->out, (uint64_t)e->ts - w->ts);
	flame_pb_put_varint(&w->out, e->frame);
	w->ts = (uint64_t)e->ts;
}

/* What a run is read from. */
struct chrome_source {
	struct chrome_event event;	/* the next */
	const char *at, *end;
	char *buf;			/* owned; of a run in the file, which goes on at @file_at */
	size_t room;
	uint64_t file_at, file_end;
};

/* Have the next event's bytes in the view. */
static int fill(const struct chrome_order *o, struct chrome_source *s)
{
	size_t left = (size_t)(s->end - s->at), more = s->room - left;

	if (more > s->file_end - s->file_at)
		more = (size_t)(s->file_end - s->file_at);
	memmove(s->buf, s->at, left);
	s->at = s->buf;
	s->end = s->buf + left + more;
	if (!flame_spool_read(o->fd, s->buf + left, more, s->file_at))
		return FLAME_EIO;
	s->file_at += more;
	return 0;
}

static const char *take_numbers(const char *at, const char *end, uint64_t *numbers, size_t nr)
{
	for (size_t i = 0; at && i < nr; i++)
		at = flame_pb_varint(at, end, &numbers[i]);
	return at;
}

/* Return: 1 with s->event, 0 behind the last, or a failure. */
static int take_event(const struct chrome_order *o, struct chrome_source *s)
{
	uint64_t numbers[3];

	if (s->end - s->at < EVENT_BYTES && s->file_at < s->file_end && fill(o, s))
		return FLAME_EIO;
	if (s->at == s->end)
		return 0;
	if (!*s->at) {
		s->at = take_numbers(s->at + 1, s->end, numbers, 1);
		s->event.thread = (uint32_t)numbers[0];
		s->event.ts = 0;
	}
	s->at = take_numbers(s->at, s->end, numbers, 3);
	if (!s->at) {
		/* What was written is not what is read: the disk's doing. */
		s->at = s->end;
		errno = EIO;
		return FLAME_EIO;
	}
	s->event.dur = numbers[0] == 1 ? CHROME_BEGIN : numbers[0] == 2 ? CHROME_END : (int64_t)(numbers[0] - 3);
	s->event.ts = (int64_t)((uint64_t)s->event.ts + numbers[1]);
	s->event.frame = (flame_frame)numbers[2];
	return 1;
}

/* Merging runs: a heap of their next events. */

static bool is_before(const struct chrome_order *o, uint32_t i, uint32_t j)
{
	int order = compare(&o->sources[i].event, &o->sources[j].event);

	return order < 0 || (!order && i < j);
}

/* The source at @at may have to go down. */
static void sift(struct chrome_order *o, size_t at)
{
	uint32_t moved = o->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < o->nr_heap && is_before(o, o->heap[child + 1], o->heap[child]))
			child++;
		if (child >= o->nr_heap || !is_before(o, o->heap[child], moved))
			break;
		o->heap[at] = o->heap[child];
		at = child;
	}
	o->heap[at] = moved;
}

static void end_merge(struct chrome_order *o)
{
	for (size_t i = 0; i < o->nr_sources; i++)
		free(o->sources[i].buf);
	free(o->sources);
	free(o->heap);
	o->sources = NULL;
	o->heap = NULL;
	o->nr_sources = o->nr_heap = 0;
}

static int open_source(const struct chrome_order *o, struct chrome_source *s, const struct chrome_run *run, size_t room)
{
	if (run->bytes) {
		s->at = run->bytes;
		s->end = run->bytes + run->len;
		return take_event(o, s);
	}
	s->buf = malloc(room);
	if (!s->buf)
		return FLAME_ENOMEM;
	s->at = s->end = s->buf;
	s->room = room;
	s->file_at = run->at;
	s->file_end = run->at + run->len;
	return take_event(o, s);
}

/* Of the runs from @first on; those before are in the file. */
static int start_merge(struct chrome_order *o, size_t first)
{
	size_t nr = o->nr_runs - first, room = nr ? READ_BYTES / nr : 0;

	room = room < READ_MIN ? READ_MIN : room > READ_MAX ? READ_MAX : room;
	o->sources = calloc(nr + 1, sizeof(*o->sources));
	o->heap = calloc(nr + 1, sizeof(*o->heap));
	if (!o->sources || !o->heap)
		return FLAME_ENOMEM;
	for (; o->nr_sources < nr; o->nr_sources++) {
		int got = open_source(o, &o->sources[o->nr_sources], &o->runs[first + o->nr_sources], room);

		if (got < 0) {
			o->nr_sources++;
			return got;
		}
		if (got)
			o->heap[o->nr_heap++] = (uint32_t)o->nr_sources;
	}
	for (size_t i = o->nr_heap / 2; i; i--)
		sift(o, i - 1);
	return 0;
}

int chrome_order_next(struct chrome_order *o, struct chrome_event *event)
{
	struct chrome_source *s;
	int got;

	if (!o->nr_heap)
		return 0;
	s = &o->sources[o->heap[0]];
	*event = s->event;
	got = take_event(o, s);
	if (got < 0)
		return got;
	if (!got)
		o->heap[0] = o->heap[--o->nr_heap];
	if (o->nr_heap > 1)
		sift(o, 0);
	return 1;
}

/* Runs that are too much for memory. */

static bool open_file(struct chrome_order *o)
{
	if (!o->has_file && !o->no_file) {
		o->fd = flame_spool_open();
		o->has_file = o->fd >= 0;
		o->no_file = !o->has_file;
	}
	return !o->no_file;
}

static int flush(const struct chrome_order *o, struct encoder *w, uint64_t *written)
{
	if (w->out.failed || !flame_spool_write(o->fd, w->out.bytes, w->out.len))
		return w->out.failed ? FLAME_ENOMEM : FLAME_EIO;
	*written += w->out.len;
	w->out.len = 0;
	return 0;
}

/* The runs from @first on, merged into the file; *@len: bytes there. */
static int write_merged(struct chrome_order *o, size_t first, uint64_t *len)
{
	struct encoder w = { 0 };
	struct chrome_event e;
	int err = start_merge(o, first), got = 0;

	*len = 0;
	while (!err && (got = chrome_order_next(o, &e)) > 0) {
		put_event(&w, &e);
		if (w.out.len >= WRITE_BYTES)
			err = flush(o, &w, len);
	}
	if (!err)
		err = got < 0 ? got : flush(o, &w, len);
	end_merge(o);
	free(w.out.bytes);
	return err;
}

/* All runs in memory become one in the file. Where that cannot be, they stay. */
static void write_runs(struct chrome_order *o)
{
	size_t first = 0;
	uint64_t len;

	while (first < o->nr_runs && !o->runs[first].bytes)
		first++;
	if (write_merged(o, first, &len)) {
		/* A full disk gets its room back, as far as it gives it. */
		o->no_file = ftruncate(o->fd, (off_t)o->file_end) || true;
		return;
	}
	for (size_t i = first; i < o->nr_runs; i++)
		free(o->runs[i].bytes);
	o->runs[first] = (struct chrome_run){ .at = o->file_end, .len = len };
	o->nr_runs = first + 1;
	o->file_end += len;
	o->memory = 0;
}

static int end_batch(struct chrome_order *o)
{
	struct flame_pair *pairs = sort_batch(o);
	struct encoder w = { 0 };
	char *bytes;

	if (!pairs || !array_reserve((void **)&o->runs, &o->room_runs, o->nr_runs + 1, sizeof(*o->runs))) {
		free(pairs);
		return FLAME_ENOMEM;
	}
	for (size_t i = 0; i < o->nr_batch; i++)
		put_event(&w, &o->batch[pairs[i].row]);
	free(pairs);
	bytes = w.out.failed ? NULL : realloc(w.out.bytes, w.out.len);
	if (!bytes) {
		free(w.out.bytes);
		return FLAME_ENOMEM;
	}
	o->runs[o->nr_runs++] = (struct chrome_run){ .bytes = bytes, .len = w.out.len };
	o->memory += w.out.len;
	o->nr_batch = 0;
	if (o->memory > o->memory_max && open_file(o))
		write_runs(o);
	return 0;
}

int chrome_order_add(struct chrome_order *o, const struct chrome_event *event)
{
	int err = o->nr_batch >= o->batch_max ? end_batch(o) : 0;

	if (err)
		return err;
	if (!array_reserve((void **)&o->batch, &o->room_batch, o->nr_batch + 1, sizeof(*o->batch)))
		return FLAME_ENOMEM;
	o->batch[o->nr_batch++] = *event;
	return 0;
}

int chrome_order_start(struct chrome_order *o)
{
	int err = o->nr_batch ? end_batch(o) : 0;

	free(o->batch);
	o->batch = NULL;
	o->room_batch = 0;
	return err ? err : start_merge(o, 0);
}

void chrome_order_release(struct chrome_order *o)
{
	end_merge(o);
	for (size_t i = 0; i < o->nr_runs; i++)
		free(o->runs[i].bytes);
	free(o->runs);
	free(o->batch);
	if (o->has_file)
		close(o->fd);
	*o = (struct chrome_order){ 0 };
}

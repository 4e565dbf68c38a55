/* SPDX-License-Identifier: MIT */
/* chrome_order.c - an external merge sort of events. */
#define _GNU_SOURCE
#include "chrome_order.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/sort.h"
#include "../core/spool.h"
#include "../core/table.h"

#define EVENT_BYTES 64				/* no event takes more, with its thread and 8 bytes to be written over */
#define SPARE 24				/* bytes behind a run: its numbers are read as 8 bytes each */
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

static inline int compare(const struct chrome_event *x, const struct chrome_event *y)
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

static bool is_sorted(const struct chrome_order *o)
{
	for (size_t i = 1; i < o->nr_batch; i++) {
		if (compare(&o->batch[i - 1], &o->batch[i]) > 0)
			return false;
	}
	return true;
}

static bool are_sorted(const struct chrome_order *o, const struct flame_pair *pairs, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (compare(&o->batch[pairs[i - 1].row], &o->batch[pairs[i].row]) > 0)
			return false;
	}
	return true;
}

/* Return: false without memory; else o->pairs has the batch's rows in order. */
static bool sort_batch(struct chrome_order *o)
{
	struct flame_pair *pairs;
	size_t end;

	if (!array_reserve((void **)&o->pairs, &o->room_pairs, o->nr_batch, sizeof(*pairs)))
		return false;
	pairs = o->pairs;
	for (size_t i = 0; i < o->nr_batch; i++)
		pairs[i] = (struct flame_pair){ o->batch[i].thread, (uint32_t)i };
	if (!flame_sort_pairs(pairs, o->nr_batch))
		return false;
	for (size_t i = 0; i < o->nr_batch; i = end) {
		for (end = i + 1; end < o->nr_batch && pairs[end].key == pairs[i].key; end++)
			;
		if (!are_sorted(o, pairs + i, end - i))
			qsort_r(pairs + i, end - i, sizeof(*pairs), compare_rows, o->batch);
	}
	return true;
}

/*
 * Runs. An event is a byte that tells the lengths of three numbers, and these: the time since the thread's event
 * before; 1 for B, 2 for E, 3 and dur for X; the frame. Where another thread's begin the second number is 0 and the
 * third the thread; their time counts from 0.
 */

/* By their codes: how many bytes a number takes, and what of 8 bytes is its. */
static const uint8_t lengths[8] = { 0, 1, 2, 3, 4, 5, 6, 8 };
static const uint64_t masks[8] = {
	0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, UINT64_MAX,
};

static inline unsigned int code_of(uint64_t number)
{
	unsigned int length = number ? (71 - (unsigned int)__builtin_clzll(number)) / 8 : 0;

	return length < 7 ? length : 7;
}

static inline char *put_number(char *at, uint64_t number, unsigned int code)
{
	number = htole64(number);
	memcpy(at, &number, sizeof(number));
	return at + lengths[code];
}

static inline char *put_numbers(char *at, uint64_t time, uint64_t shape, uint32_t row)
{
	unsigned int a = code_of(time), b = code_of(shape), c = code_of(row | 1);

	*at++ = (char)(a | b << 3 | (c - 1) << 6);
	at = put_number(at, time, a);
	at = put_number(at, shape, b);
	return put_number(at, row, c);
}

static void start_encoder(struct chrome_encoder *w)
{
	w->len = 0;
	w->thread = 0;
}

/* Return: false without memory. */
static inline bool put_event(struct chrome_encoder *w, const struct chrome_event *e)
{
	char *at;

	if (!array_reserve((void **)&w->bytes, &w->room, w->len + EVENT_BYTES, 1))
		return false;
	at = w->bytes + w->len;
	if (e->thread != w->thread) {
		at = put_numbers(at, 0, 0, e->thread);
		w->thread = e->thread;
		w->ts = 0;
	}
	at = put_numbers(at, (uint64_t)e->ts - w->ts,
			 e->dur == CHROME_BEGIN ? 1 : e->dur < 0 ? 2 : 3 + (uint64_t)e->dur, e->frame);
	w->ts = (uint64_t)e->ts;
	w->len = (size_t)(at - w->bytes);
	return true;
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

static inline uint64_t take_number(const char **at, unsigned int code)
{
	uint64_t number;

	memcpy(&number, *at, sizeof(number));
	*at += lengths[code];
	return le64toh(number) & masks[code];
}

/* Return: 1 with s->event, 0 behind the last, or a failure. */
static int take_event(const struct chrome_order *o, struct chrome_source *s)
{
	uint64_t time, shape = 0;
	uint32_t row;

	if (s->end - s->at < EVENT_BYTES && s->file_at < s->file_end && fill(o, s))
		return FLAME_EIO;
	while (s->at < s->end) {
		unsigned int codes = (unsigned char)*s->at++;

		time = take_number(&s->at, codes & 7);
		shape = take_number(&s->at, codes >> 3 & 7);
		row = (uint32_t)take_number(&s->at, (codes >> 6) + 1);
		if (shape)
			break;
		s->event.thread = row;
		s->event.ts = 0;
	}
	if (s->at > s->end) {
		/* What was written is not what is read: the disk's doing. */
		s->at = s->end;
		errno = EIO;
		return FLAME_EIO;
	}
	if (!shape)
		return 0;
	s->event.ts = (int64_t)((uint64_t)s->event.ts + time);
	s->event.dur = shape == 1 ? CHROME_BEGIN : shape == 2 ? CHROME_END : (int64_t)(shape - 3);
	s->event.frame = row;
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
	s->buf = malloc(room + SPARE);
	if (!s->buf)
		return FLAME_ENOMEM;
	s->at = s->end = s->buf;
	s->room = room;
	s->file_at = run->at;
	s->file_end = run->at + run->len;
	return take_event(o, s);
}

/* Of the runs from @first up to @end. */
static int start_merge(struct chrome_order *o, size_t first, size_t end)
{
	size_t nr = end - first, room = nr ? READ_BYTES / nr : 0;

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

static bool append(struct chrome_order *o, const char *bytes, size_t len)
{
	if (!flame_spool_write(o->fd, bytes, len))
		return false;
	o->file_end += len;
	return true;
}

/* The runs from @first up to @end, merged, go to the end of the file. */
static int append_merged(struct chrome_order *o, size_t first, size_t end)
{
	struct chrome_encoder *w = &o->encoder;
	struct chrome_event e;
	int err = start_merge(o, first, end), got = 1;

	start_encoder(w);
	while (!err && got) {
		got = chrome_order_next(o, &e);
		if (got < 0 || (got && !put_event(w, &e)))
			err = got < 0 ? got : FLAME_ENOMEM;
		if (err || (got && w->len < WRITE_BYTES))
			continue;
		if (!append(o, w->bytes, w->len))
			err = FLAME_EIO;
		w->len = 0;
	}
	end_merge(o);
	return err;
}

/* What was written since gives the disk its room back, as far as it does; nothing depends on it. */
static void give_up_file(struct chrome_order *o, uint64_t end)
{
	o->no_file = ftruncate(o->fd, (off_t)end) || true;
	o->file_end = end;
}

/* The runs in the file that are not merged become one, and all others move down. */
static void merge_runs(struct chrome_order *o)
{
	struct chrome_run *first = &o->runs[o->nr_merged];
	size_t gone = o->nr_in_file - o->nr_merged - 1;
	uint64_t at = o->file_end;

	if (append_merged(o, o->nr_merged, o->nr_in_file)) {
		give_up_file(o, at);
		return;
	}
	/* A file system that knows no holes keeps the bytes. */
	fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first->at, (off_t)(at - first->at));
	*first = (struct chrome_run){ .at = at, .len = o->file_end - at };
	memmove(first + 1, o->runs + o->nr_in_file, (o->nr_runs - o->nr_in_file) * sizeof(*first));
	o->nr_runs -= gone;
	o->nr_in_file = ++o->nr_merged;
}

/* Where the file takes no more they stay in memory. */
static void write_runs(struct chrome_order *o)
{
	while (o->nr_in_file < o->nr_runs) {
		struct chrome_run *run = &o->runs[o->nr_in_file];
		uint64_t at = o->file_end;

		if (!append(o, run->bytes, (size_t)run->len)) {
			give_up_file(o, at);
			return;
		}
		free(run->bytes);
		*run = (struct chrome_run){ .at = at, .len = run->len };
		o->memory -= (size_t)run->len;
		o->nr_in_file++;
	}
	if (o->nr_in_file - o->nr_merged > o->runs_max)
		merge_runs(o);
}

static int end_batch(struct chrome_order *o)
{
	struct chrome_encoder *w = &o->encoder;
	bool sorted = is_sorted(o);
	char *bytes;

	if ((!sorted && !sort_batch(o)) ||
	    !array_reserve((void **)&o->runs, &o->room_runs, o->nr_runs + 1, sizeof(*o->runs)))
		return FLAME_ENOMEM;
	start_encoder(w);
	for (size_t i = 0; i < o->nr_batch; i++) {
		if (!put_event(w, &o->batch[sorted ? i : o->pairs[i].row]))
			return FLAME_ENOMEM;
	}
	bytes = malloc(w->len + SPARE);
	if (!bytes)
		return FLAME_ENOMEM;
	memcpy(bytes, w->bytes, w->len);
	o->runs[o->nr_runs++] = (struct chrome_run){ .bytes = bytes, .len = w->len };
	o->memory += w->len;
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

/* What only serves to add events. */
static void end_adding(struct chrome_order *o)
{
	free(o->batch);
	free(o->pairs);
	free(o->encoder.bytes);
	o->batch = NULL;
	o->pairs = NULL;
	o->encoder = (struct chrome_encoder){ 0 };
	o->nr_batch = o->room_batch = o->room_pairs = 0;
}

int chrome_order_start(struct chrome_order *o)
{
	int err = o->nr_batch ? end_batch(o) : 0;

	end_adding(o);
	return err ? err : start_merge(o, 0, o->nr_runs);
}

void chrome_order_release(struct chrome_order *o)
{
	end_merge(o);
	end_adding(o);
	for (size_t i = 0; i < o->nr_runs; i++)
		free(o->runs[i].bytes);
	free(o->runs);
	if (o->has_file)
		close(o->fd);
	*o = (struct chrome_order){ 0 };
}

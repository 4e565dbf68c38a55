/* SPDX-License-Identifier: MIT */
/*
 * feeder.c - batches of paths, and the thread that takes them.
 */
#include "feeder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "table.h"

#define NR_BATCHES 4
#define MAX_ITEMS 512
#define MAX_FRAMES 16384	/* a batch is full with so many; one long path may exceed it */

struct item {
	size_t start, nr;	/* in the batch's frames */
	size_t same;
	struct flame_number count;
	size_t first_sample, nr_samples;	/* in the batch's samples; none: the count is its sample */
};

struct batch {
	flame_frame *frames;
	flame_stack *stacks;	/* one a frame */
	size_t nr_frames, room_frames, room_stacks;
	struct item items[MAX_ITEMS];
	size_t nr_items;
	struct flame_sample *samples;
	size_t nr_samples, room_samples;
};

struct flame_feeder {
	struct flame_profile *p;
	flame_type type;
	struct batch batches[NR_BATCHES];
	flame_stack *last;	/* stacks of the path that was pushed last */
	size_t room_last;
	/* The path that was ended last: its batch, and where its frames are. */
	const struct batch *last_batch;
	size_t last_start;
	atomic_int error;

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t nr_filled, nr_emptied;	/* batches so far; under lock */
	bool done;			/* under lock */
};

/* Taking batches. */

static int add_samples(struct flame_feeder *f, const struct batch *b, const struct item *item)
{
	const struct flame_sample s = {
		.stack = b->stacks[item->start + item->nr - 1], .type = f->type, .value = item->count.value,
	};

	if (!item->nr_samples)
		return flame_sample_add_scaled(f->p, &s, item->count.scale);
	for (size_t i = 0; i < item->nr_samples; i++)
		b->samples[item->first_sample + i].stack = s.stack;
	return flame_samples_add(f->p, b->samples + item->first_sample, item->nr_samples);
}

/* Paths that share little with their neighbours wait for memory together. */
static void push_group(struct flame_feeder *f, struct batch *b, size_t first, size_t nr)
{
	struct flame_path paths[FLAME_PATHS];

	for (size_t i = 0; i < nr; i++) {
		const struct item *item = &b->items[first + i];

		paths[i] = (struct flame_path){ b->frames + item->start, b->stacks + item->start, item->nr, 0, 0, false };
	}
	flame_stack_push_paths(f->p, paths, nr);
}

static bool goes_on(const struct item *item)
{
	return item->same * 4 >= item->nr;
}

/* A path goes on from the one before it, whose stacks are known. */
static void push_behind(struct flame_feeder *f, struct batch *b, size_t i)
{
	const struct item *item = &b->items[i];
	const flame_stack *last = i ? b->stacks + b->items[i - 1].start : f->last;

	memcpy(b->stacks + item->start, last, item->same * sizeof(*last));
	flame_stack_push_all(f->p, last[item->same - 1], b->frames + item->start + item->same, item->nr - item->same,
			     b->stacks + item->start + item->same);
}

static int keep_last(struct flame_feeder *f, const struct batch *b)
{
	const struct item *item = &b->items[b->nr_items - 1];

	if (!array_reserve((void **)&f->last, &f->room_last, item->nr, sizeof(*f->last)))
		return FLAME_ENOMEM;
	memcpy(f->last, b->stacks + item->start, item->nr * sizeof(*f->last));
	return 0;
}

static int take_batch(struct flame_feeder *f, struct batch *b)
{
	int err = 0;

	if (!array_reserve((void **)&b->stacks, &b->room_stacks, b->nr_frames + 1, sizeof(*b->stacks)))
		return FLAME_ENOMEM;
	for (size_t i = 0; i < b->nr_items;) {
		size_t nr = 0;

		if (goes_on(&b->items[i])) {
			push_behind(f, b, i++);
			continue;
		}
		while (nr < FLAME_PATHS && i + nr < b->nr_items && !goes_on(&b->items[i + nr]))
			nr++;
		push_group(f, b, i, nr);
		i += nr;
	}
	for (size_t i = 0; !err && i < b->nr_items; i++)
		err = add_samples(f, b, &b->items[i]);
	return err ? err : keep_last(f, b);
}

static void take(struct flame_feeder *f, struct batch *b)
{
	if (b->nr_items && !f->error)
		f->error = take_batch(f, b);
	b->nr_items = b->nr_frames = b->nr_samples = 0;
}

static void *taker(void *arg)
{
	struct flame_feeder *f = arg;

	pthread_mutex_lock(&f->lock);
	for (;;) {
		if (f->nr_emptied < f->nr_filled) {
			struct batch *b = &f->batches[f->nr_emptied % NR_BATCHES];

			pthread_mutex_unlock(&f->lock);
			take(f, b);
			pthread_mutex_lock(&f->lock);
			f->nr_emptied++;
			pthread_cond_signal(&f->changed);
		} else if (f->done) {
			break;
		} else {
			pthread_cond_wait(&f->changed, &f->lock);
		}
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

/* Filling batches. */

struct flame_feeder *flame_feeder_new(struct flame_profile *p, flame_type type, bool threaded)
{
	struct flame_feeder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->p = p;
	f->type = type;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->threaded = threaded && !pthread_create(&f->thread, NULL, taker, f);
	return f;
}

/* Hand the batch over, and wait for the next one to be free; the last one's frames are still read. */
static void hand_over(struct flame_feeder *f)
{
	if (!f->threaded) {
		take(f, &f->batches[f->nr_filled++ % NR_BATCHES]);
		return;
	}
	pthread_mutex_lock(&f->lock);
	f->nr_filled++;
	pthread_cond_signal(&f->changed);
	while (f->nr_filled - f->nr_emptied > NR_BATCHES - 2)
		pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

flame_frame *flame_feeder_path(struct flame_feeder *f, size_t nr, const flame_frame **last)
{
	struct batch *b = &f->batches[f->nr_filled % NR_BATCHES];

	if (!array_reserve((void **)&b->frames, &b->room_frames, b->nr_frames + nr, sizeof(*b->frames)))
		return NULL;
	*last = f->last_batch ? f->last_batch->frames + f->last_start : NULL;
	return b->frames + b->nr_frames;
}

static int add_item(struct flame_feeder *f, const struct item *item)
{
	struct batch *b = &f->batches[f->nr_filled % NR_BATCHES];

	b->items[b->nr_items] = *item;
	b->items[b->nr_items++].start = b->nr_frames;
	f->last_batch = b;
	f->last_start = b->nr_frames;
	b->nr_frames += item->nr;
	if (b->nr_items == MAX_ITEMS || b->nr_frames >= MAX_FRAMES)
		hand_over(f);
	return f->error;
}

int flame_feeder_add(struct flame_feeder *f, size_t nr, size_t same, struct flame_number count)
{
	return add_item(f, &(struct item){ .nr = nr, .same = same, .count = count });
}

int flame_feeder_add_samples(struct flame_feeder *f, size_t nr, size_t same, const struct flame_sample *samples,
			     size_t nr_samples)
{
	struct batch *b = &f->batches[f->nr_filled % NR_BATCHES];
	size_t first = b->nr_samples;

	if (!array_reserve((void **)&b->samples, &b->room_samples, first + nr_samples, sizeof(*samples)))
		return FLAME_ENOMEM;
	memcpy(b->samples + first, samples, nr_samples * sizeof(*samples));
	b->nr_samples += nr_samples;
	return add_item(f, &(struct item){ .nr = nr, .same = same, .first_sample = first, .nr_samples = nr_samples });
}

int flame_feeder_free(struct flame_feeder *f)
{
	int err;

	if (!f)
		return 0;
	hand_over(f);
	if (f->threaded) {
		pthread_mutex_lock(&f->lock);
		f->done = true;
		pthread_cond_signal(&f->changed);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->thread, NULL);
	}
	err = f->error;
	for (size_t i = 0; i < NR_BATCHES; i++) {
		free(f->batches[i].frames);
		free(f->batches[i].stacks);
		free(f->batches[i].samples);
	}
	free(f->last);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	free(f);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * feeder.c - batches of paths, and the thread that takes them.
 */
#include "feeder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "scan.h"
#include "spin.h"
#include "tables.h"
#include "thread.h"

#define NR_BATCHES 8
#define MAX_BEHIND 6	/* batches: where more are filled and not taken, the one who fills them finds frames too */
#define MAX_ITEMS 256
#define MAX_KEPT 2048	/* paths that came again, and that are remembered for it */
#define EXPECTED 16	/* items, see expect_samples() */
#define MAX_FRAMES 32768	/* a batch is full with so many; one long path may exceed it */
#define MAX_TEXT (1u << 20)	/* or with so many bytes of names */

struct item {
	struct flame_feed feed;
	struct flame_names names;	/* with a finder; where they begin in the batch's text stands in name_text */
	size_t name_text;
	size_t start;		/* in the batch's frames */
	size_t first_sample;	/* in the batch's samples */
	flame_stack root;	/* what its frames are pushed onto */
};

/* The stack of the first @nr_frames frames behind the known ones of an item is to be found again. */
struct mark {
	uint32_t mark;
	uint32_t item;
	uint32_t nr_frames;
};

/* Before item @before: its stack is to be remembered as @number; or samples are added to the one that is. */
struct kept {
	uint32_t number;
	uint32_t before;
	uint32_t nr_samples;	/* 0: the stack of the item before @before is remembered */
	size_t first_sample;
};

struct batch {
	flame_frame *frames;
	flame_stack *stacks;	/* one a frame */
	size_t nr_frames, room_frames, room_stacks;
	char *text;		/* of the frames' names, with a finder */
	uint32_t *ends;		/* in text; one a frame */
	size_t nr_text, room_text, room_ends;
	struct item items[MAX_ITEMS];
	size_t nr_items;
	struct flame_sample *samples;
	size_t nr_samples, room_samples;
	struct mark *marks;	/* by item */
	size_t nr_marks, room_marks;
	struct kept *kept;	/* by item */
	size_t nr_kept, room_kept;
};

struct flame_feeder {
	struct flame_profile *p;
	flame_find_frames *find;	/* NULL: the caller finds them */
	void *find_arg;
	pthread_mutex_t finding;
	atomic_size_t nr_found;		/* batches so far, in their order; changed under finding */
	struct batch batches[NR_BATCHES];
	atomic_int error;
	/* The taker's. */
	flame_stack *marked;	/* the stack of each mark */
	size_t room_marked;
	flame_stack *numbered;	/* the stack of each number */
	size_t room_numbered;
	flame_stack *last;	/* stacks of the path that was pushed last, its root first */
	uint32_t last_skip;	/* frames up to that root */
	size_t room_last;

	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_size_t nr_filled, nr_emptied;	/* batches so far; changed under lock */
	atomic_bool done;			/* changed under lock */
	atomic_int filler_at, taker_at;		/* processors, as each last handed something over */
};

/* Taking batches. */

/* Return: the stack of an item's first @nr_frames frames behind the known ones. */
static flame_stack item_stack(const struct batch *b, const struct item *item, uint32_t nr_frames)
{
	return nr_frames ? b->stacks[item->start + nr_frames - 1] : item->root;
}

static int add_samples(struct flame_feeder *f, const struct batch *b, const struct item *item)
{
	const struct flame_feed *feed = &item->feed;
	const struct flame_sample s = {
		.stack = item_stack(b, item, feed->nr), .type = feed->type, .value = feed->count.value,
	};

	if (!feed->samples)
		return flame_sample_add_scaled(f->p, &s, feed->count.scale);
	for (size_t i = 0; i < feed->nr_samples; i++)
		b->samples[item->first_sample + i].stack = s.stack;
	return flame_samples_add(f->p, b->samples + item->first_sample, feed->nr_samples);
}

/* Paths wait for memory together; each begins at a mark or at the root. */
static void push_group(struct flame_feeder *f, struct batch *b, size_t first, size_t nr)
{
	struct flame_path paths[FLAME_PATHS];

	for (size_t i = 0; i < nr; i++) {
		struct item *item = &b->items[first + i];

		item->root = item->feed.mark ? f->marked[item->feed.mark] : 0;
		paths[i] = (struct flame_path){ b->frames + item->start, b->stacks + item->start, item->feed.nr, 0,
						item->root, false };
	}
	flame_stack_push_paths(f->p, paths, nr);
}

/* A path goes on from the one before it, whose stacks are known. */
static void push_behind(struct flame_feeder *f, struct batch *b, size_t i)
{
	struct item *item = &b->items[i];
	const struct item *before = item - 1;

	item->root = i ? item_stack(b, before, item->feed.skip - before->feed.skip) : f->last[item->feed.skip - f->last_skip];
	flame_stack_push_all(f->p, item->root, b->frames + item->start, item->feed.nr, b->stacks + item->start);
}

static int keep_last(struct flame_feeder *f, const struct batch *b)
{
	const struct item *item = &b->items[b->nr_items - 1];

	if (!array_reserve((void **)&f->last, &f->room_last, item->feed.nr + 1, sizeof(*f->last)))
		return FLAME_ENOMEM;
	f->last[0] = item->root;
	memcpy(f->last + 1, b->stacks + item->start, item->feed.nr * sizeof(*f->last));
	f->last_skip = item->feed.skip;
	return 0;
}

static int set_mark(struct flame_feeder *f, const struct batch *b, const struct mark *m)
{
	if (!array_reserve((void **)&f->marked, &f->room_marked, m->mark + 1, sizeof(*f->marked)))
		return FLAME_ENOMEM;
	f->marked[m->mark] = item_stack(b, &b->items[m->item], m->nr_frames);
	return 0;
}

/*
 * Return: how many items from @first on can be pushed together: none needs the stacks of another.
 * Marks are set in the order of the items, @next is the first that is not set yet.
 */
static size_t group_size(const struct batch *b, size_t first, size_t next)
{
	size_t nr = 0;

	for (; nr < FLAME_PATHS && first + nr < b->nr_items; nr++) {
		const struct item *item = &b->items[first + nr];

		if (item->feed.same)
			break;
		/* Marks are numbered as they are made: all that this batch sets are at or above its first. */
		if (item->feed.mark && next < b->nr_marks && b->marks[next].item < first + nr &&
		    item->feed.mark >= b->marks[next].mark)
			break;
	}
	return nr;
}

/* One more than needed: a batch may begin with a path that has no new frames, and NULL is a failure. */
static bool reserve_frames(struct batch *b, size_t nr)
{
	return array_reserve((void **)&b->frames, &b->room_frames, b->nr_frames + nr + 1, sizeof(*b->frames));
}

/* Where the names of a batch end. Return: false without memory. */
static bool find_ends(struct batch *b)
{
	size_t most = (size_t)scan_count(b->text, b->nr_text, ';') + b->nr_items;

	if (!reserve_frames(b, most) || !array_reserve((void **)&b->ends, &b->room_ends, most, sizeof(*b->ends)))
		return false;
	for (size_t i = 0; i < b->nr_items; i++) {
		struct item *item = &b->items[i];
		uint32_t *ends = b->ends + b->nr_frames;
		size_t end = item->name_text + item->names.len, nr = 0;

		item->start = b->nr_frames;
		if (item->names.any) {
			nr = scan_byte(b->text, item->name_text + item->names.whole, end, ';', ends);
			ends[nr++] = (uint32_t)end;
		}
		item->feed.nr = (uint32_t)nr;
		b->nr_frames += nr;
	}
	return true;
}

/* Find the frames of the first @nr batches, if that is not done. Either thread may: who waits for the other does. */
static void find_frames(struct flame_feeder *f, size_t nr)
{
	if (!f->find || f->nr_found >= nr)
		return;
	spin_lock(&f->finding);
	for (; f->nr_found < nr; f->nr_found++) {
		struct batch *b = &f->batches[f->nr_found % NR_BATCHES];

		if (b->nr_items && !find_ends(b))
			f->error = FLAME_ENOMEM;
		else if (b->nr_frames)
			f->find(f->find_arg, b->text, b->ends, b->nr_frames, b->frames);
	}
	pthread_mutex_unlock(&f->finding);
}

static int take_kept(struct flame_feeder *f, struct batch *b, const struct kept *k)
{
	if (!k->nr_samples) {
		const struct item *item = &b->items[k->before - 1];

		if (!array_reserve((void **)&f->numbered, &f->room_numbered, (size_t)k->number + 1, sizeof(*f->numbered)))
			return FLAME_ENOMEM;
		f->numbered[k->number] = item_stack(b, item, item->feed.nr);
		return 0;
	}
	for (size_t i = 0; i < k->nr_samples; i++)
		b->samples[k->first_sample + i].stack = f->numbered[k->number];
	return flame_samples_add(f->p, b->samples + k->first_sample, k->nr_samples);
}

/* The sums of stacks that were sampled before lie anywhere in memory: they are asked for some items ahead. */
static void expect_samples(const struct flame_feeder *f, const struct batch *b, size_t i)
{
	for (size_t ahead = EXPECTED; ahead; ahead -= EXPECTED / 2) {
		const struct item *item;

		if (i + ahead >= b->nr_items)
			continue;
		item = &b->items[i + ahead];
		profile_expect_samples(f->p, item_stack(b, item, item->feed.nr), ahead < EXPECTED);
	}
}

/* In the order in which they came. */
static int take_samples(struct flame_feeder *f, struct batch *b)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; !err && i <= b->nr_items; i++) {
		for (; !err && next < b->nr_kept && b->kept[next].before == i; next++)
			err = take_kept(f, b, &b->kept[next]);
		if (!err && i < b->nr_items) {
			expect_samples(f, b, i);
			err = add_samples(f, b, &b->items[i]);
		}
	}
	return err;
}

static int take_batch(struct flame_feeder *f, struct batch *b)
{
	size_t next = 0;
	int err = 0;

	if (!array_reserve((void **)&b->stacks, &b->room_stacks, b->nr_frames + 1, sizeof(*b->stacks)))
		return FLAME_ENOMEM;
	for (size_t i = 0; !err && i < b->nr_items;) {
		if (b->items[i].feed.same) {
			push_behind(f, b, i++);
		} else {
			size_t nr = group_size(b, i, next);

			push_group(f, b, i, nr);
			i += nr;
		}
		for (; !err && next < b->nr_marks && b->marks[next].item < i; next++)
			err = set_mark(f, b, &b->marks[next]);
	}
	if (!err)
		err = take_samples(f, b);
	return err || !b->nr_items ? err : keep_last(f, b);
}

/* @nr: of the batch, from 0. */
static void take(struct flame_feeder *f, size_t nr)
{
	struct batch *b = &f->batches[nr % NR_BATCHES];

	find_frames(f, nr + 1);
	if ((b->nr_items || b->nr_kept) && !f->error)
		f->error = take_batch(f, b);
	b->nr_items = b->nr_frames = b->nr_text = b->nr_marks = b->nr_kept = b->nr_samples = 0;
}

static bool is_wanted(const void *arg)
{
	const struct flame_feeder *f = arg;

	return f->nr_emptied < f->nr_filled || f->done;
}

static bool has_room(const void *arg)
{
	const struct flame_feeder *f = arg;

	return f->nr_filled - f->nr_emptied < NR_BATCHES;
}

/* @other_at: where the other thread is. */
static void wait_until(struct flame_feeder *f, bool (*ready)(const void *), const atomic_int *other_at)
{
	bool slept = spin_wait(&f->lock, &f->changed, ready, f, 1);

	pthread_mutex_unlock(&f->lock);
	if (slept)
		flame_thread_leave(*other_at);
}

static void *taker(void *arg)
{
	struct flame_feeder *f = arg;

	for (;;) {
		wait_until(f, is_wanted, &f->filler_at);
		if (f->nr_emptied == f->nr_filled)
			return NULL;
		take(f, f->nr_emptied);
		f->taker_at = flame_thread_processor();
		pthread_mutex_lock(&f->lock);
		f->nr_emptied++;
		pthread_cond_signal(&f->changed);
		pthread_mutex_unlock(&f->lock);
	}
}

/* Filling batches. */

struct flame_feeder *flame_feeder_new(struct flame_profile *p, bool threaded)
{
	struct flame_feeder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->p = p;
	pthread_mutex_init(&f->lock, NULL);
	pthread_mutex_init(&f->finding, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->threaded = threaded && flame_thread_start(&f->thread, taker, f);
	return f;
}

/* Hand the batch over, and wait for the next one to be free. Who has filled more than the other takes finds frames for it. */
static void hand_over(struct flame_feeder *f)
{
	if (!f->threaded) {
		take(f, f->nr_filled++);
		return;
	}
	f->filler_at = flame_thread_processor();
	pthread_mutex_lock(&f->lock);
	f->nr_filled++;
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	while (f->find && f->nr_found < f->nr_filled && f->nr_filled - f->nr_emptied > MAX_BEHIND)
		find_frames(f, f->nr_found + 1);
	wait_until(f, has_room, &f->taker_at);
}

static struct batch *filling(struct flame_feeder *f)
{
	return &f->batches[f->nr_filled % NR_BATCHES];
}

/* A full batch stays until there is more: its last path may still be marked. */
static struct batch *with_room(struct flame_feeder *f)
{
	struct batch *b = filling(f);

	if (b->nr_items < MAX_ITEMS && b->nr_frames < MAX_FRAMES && b->nr_text < MAX_TEXT && b->nr_kept < MAX_KEPT)
		return b;
	hand_over(f);
	return filling(f);
}

flame_frame *flame_feeder_path(struct flame_feeder *f, size_t nr)
{
	struct batch *b = with_room(f);

	return reserve_frames(b, nr) ? b->frames + b->nr_frames : NULL;
}

void flame_feeder_set_find(struct flame_feeder *f, flame_find_frames *find, void *arg)
{
	f->find = find;
	f->find_arg = arg;
}

int flame_feeder_names(struct flame_feeder *f, const struct flame_names *names)
{
	struct batch *b = with_room(f);
	struct item *item = &b->items[b->nr_items];

	if (!array_reserve((void **)&b->text, &b->room_text, b->nr_text + names->len + SCAN_SLACK, 1))
		return FLAME_ENOMEM;
	memcpy(b->text + b->nr_text, names->text, names->len);
	b->text[b->nr_text + names->len] = ';';
	item->names = *names;
	item->name_text = b->nr_text;
	b->nr_text += names->any ? names->len + 1 : 0;
	return 0;
}

static bool copy_samples(struct batch *b, const struct flame_sample *samples, size_t nr)
{
	if (!array_reserve((void **)&b->samples, &b->room_samples, b->nr_samples + nr, sizeof(*b->samples)))
		return false;
	memcpy(b->samples + b->nr_samples, samples, nr * sizeof(*b->samples));
	b->nr_samples += nr;
	return true;
}

int flame_feeder_add(struct flame_feeder *f, const struct flame_feed *feed)
{
	struct batch *b = filling(f);
	size_t first = b->nr_samples;
	struct item *item;

	if (feed->samples && !copy_samples(b, feed->samples, feed->nr_samples))
		return FLAME_ENOMEM;
	item = &b->items[b->nr_items++];
	item->feed = *feed;
	item->start = b->nr_frames;
	item->first_sample = first;
	b->nr_frames += feed->nr;
	return f->error;
}

static int add_kept(struct batch *b, const struct kept *kept)
{
	if (!array_reserve((void **)&b->kept, &b->room_kept, b->nr_kept + 1, sizeof(*b->kept)))
		return FLAME_ENOMEM;
	b->kept[b->nr_kept++] = *kept;
	return 0;
}

int flame_feeder_keep(struct flame_feeder *f, uint32_t number)
{
	struct batch *b = filling(f);
	const struct kept kept = { .number = number, .before = (uint32_t)b->nr_items };

	return add_kept(b, &kept);
}

int flame_feeder_again(struct flame_feeder *f, uint32_t number, const struct flame_sample *samples, size_t nr)
{
	struct batch *b = with_room(f);
	const struct kept kept = {
		.number = number, .before = (uint32_t)b->nr_items, .nr_samples = (uint32_t)nr, .first_sample = b->nr_samples,
	};

	if (!copy_samples(b, samples, nr) || add_kept(b, &kept))
		return FLAME_ENOMEM;
	return f->error;
}

int flame_feeder_mark(struct flame_feeder *f, uint32_t mark, uint32_t nr_frames)
{
	struct batch *b = filling(f);
	uint32_t item = (uint32_t)b->nr_items - 1;

	if (!array_reserve((void **)&b->marks, &b->room_marks, b->nr_marks + 1, sizeof(*b->marks)))
		return FLAME_ENOMEM;
	b->marks[b->nr_marks++] = (struct mark){ mark, item, nr_frames - b->items[item].feed.skip };
	return 0;
}

void flame_feeder_forget(struct flame_feeder *f)
{
	hand_over(f);
}

int flame_feeder_free(struct flame_feeder *f)
{
	int err;

	if (!f)
		return 0;
	hand_over(f);
	if (f->threaded) {
		find_frames(f, f->nr_filled);
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
		free(f->batches[i].text);
		free(f->batches[i].ends);
		free(f->batches[i].marks);
		free(f->batches[i].kept);
		free(f->batches[i].samples);
	}
	free(f->marked);
	free(f->numbered);
	free(f->last);
	pthread_mutex_destroy(&f->lock);
	pthread_mutex_destroy(&f->finding);
	pthread_cond_destroy(&f->changed);
	free(f);
	return err;
}

/* SPDX-License-Identifier: MIT */
/* chrome_sum.c - the stack of events that are open, as time goes by. */
#define _GNU_SOURCE
#include "chrome_sum.h"

#include <errno.h>
#include <string.h>

#include "v8.h"

#include "../core/spool.h"

#define OPEN_SEARCH_MAX 1024	/* how far below the innermost event an E looks for its B */
#define OVERLAP_MAX 128		/* how many events inside one that ends may last longer and still be told apart */

/* An event that has begun. */
struct chrome_open {
	int64_t begun;
	int64_t end;		/* INT64_MAX: of a B */
	int64_t first_end;	/* the earliest, of this and all around it */
	int64_t self;
	flame_frame frame;
	flame_stack stack;
};

/* The time from sum->now to @at belongs to what is open innermost. */
static int spend(struct flame_reader *rd, struct chrome_sum *sum, int64_t at)
{
	struct chrome_open *o = &sum->open[sum->nr_open - 1];
	int64_t from = sum->now > sum->from ? sum->now : sum->from, to = at < sum->to ? at : sum->to, ns;

	sum->now = at;
	if (from >= to)
		return 0;
	if (__builtin_sub_overflow(to, from, &ns) || __builtin_add_overflow(o->self, ns, &o->self))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of an event does not fit 64 bits");
	if (!rd->options->ordered)
		return 0;
	o->self = 0;
	return v8_add_time(rd, o->stack, sum->type, ns, 1);
}

static int close_top(struct flame_reader *rd, struct chrome_sum *sum, int64_t at)
{
	int err = at > sum->now ? spend(rd, sum, at) : 0;
	const struct chrome_open *o = &sum->open[--sum->nr_open];

	if (err || rd->options->ordered)
		return err;
	return v8_add_time(rd, o->stack, sum->type, o->self, 1);
}

/* @o is inside the @nr_around outermost. */
static void put_inside(struct flame_reader *rd, const struct chrome_sum *sum, struct chrome_open *o, size_t nr_around)
{
	const struct chrome_open *around = nr_around ? &sum->open[nr_around - 1] : NULL;
	flame_stack caller = around ? around->stack : chrome_task_root(rd, sum->tasks, sum->thread);

	o->first_end = around && around->first_end < o->end ? around->first_end : o->end;
	o->stack = flame_stack_push(rd->profile, caller, o->frame);
}

/* What is left of an event whose callers change goes to the stack it had. */
static int move_open(struct flame_reader *rd, const struct chrome_sum *sum, struct chrome_open *o, size_t nr_around)
{
	int err = o->self ? v8_add_time(rd, o->stack, sum->type, o->self, 1) : 0;

	o->self = 0;
	put_inside(rd, sum, o, nr_around);
	return err;
}

/*
 * Whether @o, inside @closed which ends now, goes on: an X event that lasts longer, or a B at this very time, which
 * comes after the event that ends, whatever their order in the file.
 */
static bool outlives(const struct chrome_sum *sum, const struct chrome_open *o, const struct chrome_open *closed)
{
	return o->end != INT64_MAX ? o->end > sum->now : o->begun == sum->now && closed->begun < sum->now;
}

/* Close the open event at @at, and B events inside it, whose E is missing. */
static int close_at(struct flame_reader *rd, struct chrome_sum *sum, size_t at)
{
	const struct chrome_open closed = sum->open[at];
	size_t kept = at, nr = sum->nr_open;
	int err = 0;

	for (size_t i = at; !err && i < nr; i++) {
		struct chrome_open *o = &sum->open[i];

		if (i > at && outlives(sum, o, &closed)) {
			err = move_open(rd, sum, o, kept);
			sum->open[kept++] = *o;
			continue;
		}
		sum->nr_unclosed += i > at && o->end == INT64_MAX;
		if (!rd->options->ordered)
			err = v8_add_time(rd, o->stack, sum->type, o->self, 1);
	}
	sum->nr_open = kept;
	return err;
}

/* Of the X events that are open the one that ends first. Where it is too far below the innermost, that one. */
static size_t find_first_end(const struct chrome_sum *sum)
{
	size_t top = sum->nr_open - 1, i = top;
	int64_t end = sum->open[top].first_end;

	while (i && top - i < OVERLAP_MAX && sum->open[i].end != end)
		i--;
	return sum->open[i].end == end ? i : top;
}

static bool is_over(int64_t end, const struct chrome_event *e)
{
	/* An E may be that of a B around or inside. */
	return end < e->ts || (end == e->ts && e->dur != CHROME_END);
}

/* Close the open event at @i when it ends; of a B that is now. */
static int close_in_time(struct flame_reader *rd, struct chrome_sum *sum, size_t i)
{
	int64_t end = sum->open[i].end;
	int err;

	if (end == INT64_MAX)
		end = sum->now;
	if (i == sum->nr_open - 1)
		return close_top(rd, sum, end);
	err = end > sum->now ? spend(rd, sum, end) : 0;
	return err ? err : close_at(rd, sum, i);
}

/* Close what ends before @e, and spend the time until then. */
static int advance(struct flame_reader *rd, struct chrome_sum *sum, const struct chrome_event *e)
{
	int err = 0;

	while (!err && sum->nr_open && is_over(sum->open[sum->nr_open - 1].first_end, e)) {
		size_t i = find_first_end(sum);

		if (!is_over(sum->open[i].end, e))
			break;
		err = close_in_time(rd, sum, i);
	}
	if (!err && sum->nr_open && e->ts > sum->now)
		err = spend(rd, sum, e->ts);
	if (e->ts > sum->now || !sum->nr_open)
		sum->now = e->ts;
	return err;
}

/* An E that no open event has: its B may still come, at the same time. */
static void remember_early(struct chrome_sum *sum, const struct chrome_event *e)
{
	sum->nr_unopened++;
	if (sum->early_ts != e->ts)
		sum->nr_early = 0;
	sum->early_ts = e->ts;
	if (e->frame && sum->nr_early < CHROME_EARLY_MAX)
		sum->early[sum->nr_early++] = e->frame;
}

/* Return: whether the E of a B stood before it: the event takes no time. */
static bool has_early_end(struct chrome_sum *sum, const struct chrome_event *e)
{
	for (size_t i = 0; e->dur == CHROME_BEGIN && e->ts == sum->early_ts && i < sum->nr_early; i++) {
		if (sum->early[i] != e->frame)
			continue;
		sum->early[i] = sum->early[--sum->nr_early];
		sum->nr_unopened--;
		return true;
	}
	return false;
}

static int begin_event(struct flame_reader *rd, struct chrome_sum *sum, const struct chrome_event *e)
{
	struct chrome_open *o;
	int64_t end;

	if (has_early_end(sum, e))
		return 0;
	if (!array_reserve((void **)&sum->open, &sum->room_open, sum->nr_open + 1, sizeof(*sum->open)))
		return FLAME_ENOMEM;
	if (e->dur < 0)
		end = INT64_MAX;
	else if (__builtin_add_overflow(e->ts, e->dur, &end))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of an event does not fit 64 bits");
	o = &sum->open[sum->nr_open];
	*o = (struct chrome_open){ .begun = e->ts, .end = end, .frame = e->frame };
	put_inside(rd, sum, o, sum->nr_open++);
	return o->stack ? 0 : flame_profile_error(rd->profile);
}

static int end_event(struct flame_reader *rd, struct chrome_sum *sum, const struct chrome_event *e)
{
	size_t i = sum->nr_open, searched = 0;

	for (; i && searched < OPEN_SEARCH_MAX; i--, searched++) {
		const struct chrome_open *o = &sum->open[i - 1];

		if (o->end == INT64_MAX && (!e->frame || o->frame == e->frame))
			return close_at(rd, sum, i - 1);
	}
	remember_early(sum, e);
	return 0;
}

/* What is open where the thread's events end. */
static int end_thread(struct flame_reader *rd, struct chrome_sum *sum)
{
	int err = 0;

	while (!err && sum->nr_open) {
		size_t top = sum->nr_open - 1;
		bool is_begun = sum->open[top].end == INT64_MAX;

		sum->nr_unclosed += is_begun;
		err = close_in_time(rd, sum, is_begun ? top : find_first_end(sum));
	}
	return err;
}

static int add_event(struct flame_reader *rd, struct chrome_sum *sum, const struct chrome_event *e)
{
	int err = 0;

	if (e->thread != sum->thread) {
		err = end_thread(rd, sum);
		sum->thread = e->thread;
		sum->nr_early = 0;
	}
	if (!err)
		err = advance(rd, sum, e);
	if (err)
		return err;
	return e->dur == CHROME_END ? end_event(rd, sum, e) : begin_event(rd, sum, e);
}

int chrome_sum_events(struct flame_reader *rd, struct chrome_sum *sum, struct chrome_order *events)
{
	struct chrome_event e;
	int err = chrome_order_start(events), got = 0;

	while (!err && (got = chrome_order_next(events, &e)) > 0)
		err = add_event(rd, sum, &e);
	if (err == FLAME_EIO || got == FLAME_EIO)
		return flame_fail(rd, FLAME_EIO, "events that were put into a file in %s cannot be read back: %s",
				  flame_spool_dir(), strerror(errno));
	return err ? err : end_thread(rd, sum);
}

void chrome_sum_release(struct chrome_sum *sum)
{
	free(sum->open);
	sum->open = NULL;
}

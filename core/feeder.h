/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FEEDER_H
#define FLAME_FEEDER_H
/*
 * Paths of frames on their way into a profile. With two threads one reads text and finds frames,
 * the other finds stacks and adds samples: the tables that they touch are different ones.
 *
 * Until flame_feeder_free() only strings and frames may be added to the profile by others, and these not where the
 * feeder finds frames itself; without a thread of its own, anything.
 */
#include "flame.h"
#include "number.h"

struct flame_feeder;

/* Return: a feeder of samples into @p, with a thread of its own if @threaded; NULL without memory. */
struct flame_feeder *flame_feeder_new(struct flame_profile *p, bool threaded);

/*
 * Find the frames of names: name i ends before the byte @ends[i] of @text, and begins behind the separator there of the
 * one before it. Bytes up to SCAN_SLACK behind the last one can be read. Called by either thread, never by both.
 */
typedef void flame_find_frames(void *arg, const char *text, const uint32_t *ends, size_t nr, flame_frame *frames);

/* From now on paths are names, see flame_feeder_names(), and @find finds their frames. */
void flame_feeder_set_find(struct flame_feeder *f, flame_find_frames *find, void *arg);

/* A path that is to be added; where it begins is known from an earlier one. */
struct flame_feed {
	uint32_t skip;		/* frames that are known already: those of @same or of @mark */
	uint32_t nr;		/* frames behind them */
	bool same;		/* the first @skip are those of the path before, which had known fewer or as many */
	flame_type type;
	uint32_t mark;		/* else: the first @skip are those up to this mark; 0: @skip is 0 */
	struct flame_number count;
	const struct flame_sample *samples;	/* not NULL: its samples, but for their stack, and not @type and @count; copied */
	uint32_t nr_samples;
};

/* Return: room for the @nr frames behind those that are known, the root's first; NULL without memory. */
flame_frame *flame_feeder_path(struct flame_feeder *f, size_t nr);

/* The names of the frames behind those that are known, with ';' between them. */
struct flame_names {
	const char *text;
	size_t len;
	bool any;		/* there are none otherwise, and @text is not read; else one of no bytes is one */
	size_t whole;		/* bytes of the first in which it does not end */
};

/* The same with a finder, which counts them: flame_feed's nr is 0. @names is copied. Return: 0, or FLAME_ENOMEM. */
int flame_feeder_names(struct flame_feeder *f, const struct flame_names *names);

/* End the path. Return: 0, or how feeding has failed so far. */
int flame_feeder_add(struct flame_feeder *f, const struct flame_feed *feed);

/*
 * Remember the first @nr_frames frames (at least its skip) of the path that was added last as @mark. The caller numbers
 * marks upwards from 1, without gaps, and from 1 again after flame_feeder_forget().
 * Return: 0, or FLAME_ENOMEM.
 */
int flame_feeder_mark(struct flame_feeder *f, uint32_t mark, uint32_t nr_frames);
/* All marks are forgotten. */
void flame_feeder_forget(struct flame_feeder *f);

/*
 * Remember the stack of the path that was added last as @number, from 1; the number may be one that stood for another.
 * Return: 0, or FLAME_ENOMEM.
 */
int flame_feeder_keep(struct flame_feeder *f, uint32_t number);
/*
 * Add @samples, which are copied, to the stack that is remembered as @number. For feed->same and flame_feeder_mark() this
 * is no path. Return: as flame_feeder_add().
 */
int flame_feeder_again(struct flame_feeder *f, uint32_t number, const struct flame_sample *samples, size_t nr);

/* Wait until all is in the profile; @f is gone then. Return: 0 or the failure. */
int flame_feeder_free(struct flame_feeder *f);

#endif

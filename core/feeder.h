/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FEEDER_H
#define FLAME_FEEDER_H
/*
 * Paths of frames on their way into a profile. With two threads one reads text and finds frames,
 * the other finds stacks and adds samples: the tables that they touch are different ones.
 *
 * Until flame_feeder_free() only strings and frames may be added to the profile by others.
 */
#include "flame.h"
#include "number.h"

struct flame_feeder;

/* Return: a feeder of samples of @type into @p, with a thread of its own if @threaded; NULL without memory. */
struct flame_feeder *flame_feeder_new(struct flame_profile *p, flame_type type, bool threaded);

/*
 * Begin a path of at most @nr frames. *@last are the frames of the path before (NULL for none).
 * Return: where its frames go, the root's first; NULL without memory.
 */
flame_frame *flame_feeder_path(struct flame_feeder *f, size_t nr, const flame_frame **last);

/*
 * End the path: @nr frames, of which the first @same are those of the path before, and @count
 * samples. Return: 0, or how feeding has failed so far.
 */
int flame_feeder_add(struct flame_feeder *f, size_t nr, size_t same, struct flame_number count);
/*
 * The same with @nr_samples samples of different types and of one task; their stack is the path, and
 * their values are at the scales of their types.
 */
int flame_feeder_add_samples(struct flame_feeder *f, size_t nr, size_t same, const struct flame_sample *samples,
			     size_t nr_samples);

/* Wait until all is in the profile; @f is gone then. Return: 0 or the failure. */
int flame_feeder_free(struct flame_feeder *f);

#endif

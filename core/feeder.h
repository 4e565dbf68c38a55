/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FEEDER_H
#define FLAME_FEEDER_H
/*
 * Paths of frames on their way into a profile. With two threads one reads text and finds frames,
 * the other finds stacks and adds samples: the tables that they touch are different ones.
 *
 * Until flame_feeder_free() only strings and frames may be added to the profile by others; without a
 * thread of its own, anything.
 */
#include "flame.h"
#include "number.h"

struct flame_feeder;

/* Return: a feeder of samples of @type into @p, with a thread of its own if @threaded; NULL without memory. */
struct flame_feeder *flame_feeder_new(struct flame_profile *p, flame_type type, bool threaded);

/* Paths that end from now on are samples of @type. */
void flame_feeder_type(struct flame_feeder *f, flame_type type);

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

/* Wait until all is in the profile; @f is gone then. Return: 0 or the failure. */
int flame_feeder_free(struct flame_feeder *f);

#endif

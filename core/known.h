/* SPDX-License-Identifier: MIT */
#ifndef FLAME_KNOWN_H
#define FLAME_KNOWN_H
/*
 * known.h - paths of frames that begin as earlier ones did: what they have in common is not pushed again, but gone on
 * from. That is the path before, where half of it is the same, or else any earlier one, by whole blocks of frames.
 */
#include "feeder.h"
#include "prefix.h"

/* Zero initialised it knows nothing. */
struct flame_known {
	struct flame_prefixes prefixes;
	flame_frame *last;	/* the path before; owned */
	size_t nr_last, room_last;
	uint32_t last_skip;	/* frames of it that were known */
	/* Remembering costs more than it gives where hardly a path begins as another does: then it pauses. */
	uint32_t nr_tried, nr_paused;	/* paths */
	uint64_t nr_learned;		/* blocks of the paths that were tried */
	uint64_t nr_found;		/* frames of theirs that were known */
};

/*
 * Feed the path of @nr @frames, the root's first; @feed says what its samples are. All paths that @feeder gets must
 * come this way. Return: as flame_feeder_add().
 */
int flame_known_add(struct flame_known *k, struct flame_feeder *feeder, const flame_frame *frames, size_t nr,
		    struct flame_feed *feed);
void flame_known_release(struct flame_known *k);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * known.c - paths of frames, without what is known of them.
 */
#include "known.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

#define BLOCK_FRAMES (FLAME_PREFIX_BLOCK / sizeof(flame_frame))
#define TRIED 4096	/* paths, to see whether it is worth it */
#define PAUSED 65536	/* paths, until it is tried again */
#define WORTH 8		/* frames that must be found for each block that is learned */

static size_t shared_frames(const struct flame_known *k, const flame_frame *frames, size_t nr)
{
	size_t most = nr < k->nr_last ? nr : k->nr_last, i = 0;

	while (i < most && frames[i] == k->last[i])
		i++;
	return i;
}

/* Remember the blocks of a path behind the first @known, the last of which is @id. */
static int learn(struct flame_known *k, struct flame_feeder *feeder, const flame_frame *frames, const uint32_t *hashes,
		 size_t known, size_t nr, uint32_t id)
{
	int err = 0;

	for (size_t i = known; !err && i < nr; i++) {
		struct flame_prefix prefix = { .before = id, .hash = hashes[i], .nr_frames = (uint16_t)((i + 1) * BLOCK_FRAMES) };

		memcpy(prefix.text, frames + i * BLOCK_FRAMES, FLAME_PREFIX_BLOCK);
		id = flame_prefix_add(&k->prefixes, &prefix);
		err = id ? flame_feeder_mark(feeder, id, prefix.nr_frames) : FLAME_ENOMEM;
	}
	return err;
}

/* Feed the frames behind the first feed->skip. */
static int feed_rest(struct flame_known *k, struct flame_feeder *feeder, const flame_frame *frames, size_t nr,
		     struct flame_feed *feed)
{
	flame_frame *to = flame_feeder_path(feeder, nr - feed->skip);

	if (!to || !array_reserve((void **)&k->last, &k->room_last, nr + 1, sizeof(*k->last)))
		return FLAME_ENOMEM;
	memcpy(to, frames + feed->skip, (nr - feed->skip) * sizeof(*to));
	memcpy(k->last, frames, nr * sizeof(*to));
	k->nr_last = nr;
	k->last_skip = feed->skip;
	feed->nr = (uint32_t)(nr - feed->skip);
	return flame_feeder_add(feeder, feed);
}

/* Return: true where blocks of the next path shall be looked for. */
static bool is_worth_it(struct flame_known *k)
{
	if (k->nr_paused) {
		k->nr_paused--;
		return false;
	}
	if (k->nr_tried++ == TRIED) {
		if (k->nr_found < k->nr_learned * WORTH)
			k->nr_paused = PAUSED;
		k->nr_tried = 0;
		k->nr_found = k->nr_learned = 0;
	}
	return true;
}

/* A path that has little in common with the one before. */
static int add_apart(struct flame_known *k, struct flame_feeder *feeder, const flame_frame *frames, size_t nr,
		     struct flame_feed *feed)
{
	const char *bytes = (const char *)frames;
	const struct flame_prefix *found;
	uint32_t hashes[FLAME_PREFIX_BLOCKS];
	size_t nr_blocks = flame_prefix_hash(bytes, nr * sizeof(*frames), hashes), known;
	int err;

	if (flame_prefix_make_room(&k->prefixes))
		flame_feeder_forget(feeder);
	flame_prefix_prefetch(&k->prefixes, hashes, nr_blocks);
	known = flame_prefix_find(&k->prefixes, bytes, hashes, nr_blocks, &found);
	if (found) {
		feed->skip = found->nr_frames;
		feed->mark = found->id;
	}
	k->nr_found += feed->skip;
	k->nr_learned += nr_blocks - known;
	err = feed_rest(k, feeder, frames, nr, feed);
	return err ? err : learn(k, feeder, frames, hashes, known, nr_blocks, feed->mark);
}

int flame_known_add(struct flame_known *k, struct flame_feeder *feeder, const flame_frame *frames, size_t nr,
		    struct flame_feed *feed)
{
	size_t shared = shared_frames(k, frames, nr);

	if (shared && shared >= k->last_skip && shared * 2 >= nr) {
		feed->same = true;
		feed->skip = (uint32_t)shared;
	} else if (nr >= BLOCK_FRAMES && is_worth_it(k)) {
		return add_apart(k, feeder, frames, nr, feed);
	}
	return feed_rest(k, feeder, frames, nr, feed);
}

void flame_known_release(struct flame_known *k)
{
	flame_prefix_release(&k->prefixes);
	free(k->last);
	*k = (struct flame_known){ 0 };
}

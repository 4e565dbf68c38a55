/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHROME_ORDER_H
#define FLAME_CHROME_ORDER_H
/*
 * chrome_order.h - events of a trace, in any order in, thread after thread and each by time out.
 *
 * An event that lies around all others may be the last of the file: most tracers write an event when it ends. So
 * nothing is known of any event's callers before the end, and all have to be kept until then. They are sorted a batch at
 * a time into runs, which hold the differences between one event and the next in some 7 bytes each. Runs that get too
 * much for memory go to a file of no name, runs that get too many are merged into one there, and at the end all are
 * merged. Memory does not follow the number of events, whatever their order; where no file can be written, it does.
 */
#include "../core/flame.h"

/* What an event's dur is where it has none. */
#define CHROME_BEGIN (-1)
#define CHROME_END (-2)

#define CHROME_BATCH 16384			/* events that are sorted at once: they fit a processor's cache */
#define CHROME_RUNS_BYTES ((size_t)4 << 20)	/* of runs in memory */
#define CHROME_RUNS_MAX 512			/* runs in the file that are left as they are */

struct chrome_event {
	int64_t ts, dur;	/* ns */
	flame_frame frame;	/* of an E: 0 where it ends whatever is open */
	uint32_t thread;	/* not 0 */
};

/* Some events, in order. */
struct chrome_run {
	char *bytes;		/* owned; NULL: they are in the file */
	uint64_t at;		/* in the file */
	uint64_t len;
};

/* What events are written by. */
struct chrome_encoder {
	char *bytes;		/* owned */
	size_t len, room;
	uint32_t thread;	/* of the last event, as its time */
	uint64_t ts;
};

struct chrome_source;
struct flame_pair;

/* Zero initialised but for what is marked as the user's; release with chrome_order_release(). */
struct chrome_order {
	size_t batch_max;	/* user's: CHROME_BATCH */
	size_t memory_max;	/* user's: CHROME_RUNS_BYTES */
	size_t runs_max;	/* user's: CHROME_RUNS_MAX */
	struct chrome_event *batch;
	size_t nr_batch, room_batch;
	struct flame_pair *pairs;	/* the batch's rows, to be sorted */
	size_t room_pairs;
	struct chrome_encoder encoder;
	struct chrome_run *runs;	/* in the order of the input: merged ones, others in the file, those in memory */
	size_t nr_runs, nr_merged, nr_in_file, room_runs;
	size_t memory;		/* bytes of runs in memory */
	int fd;			/* if has_file */
	bool has_file, no_file;	/* no_file: none can be written, or no more */
	uint64_t file_end;
	struct chrome_source *sources;	/* of the merge */
	size_t nr_sources;
	uint32_t *heap;		/* of sources that have an event, the one whose event is next first */
	size_t nr_heap;
};

/* Return: 0 or FLAME_ENOMEM. */
int chrome_order_add(struct chrome_order *o, const struct chrome_event *event);
/* All are added. Return: 0, FLAME_ENOMEM, FLAME_EIO with errno where the file cannot be read back. */
int chrome_order_start(struct chrome_order *o);
/*
 * The next event: by thread, then by time, at one time those that begin or end something before whole ones, of
 * these the longer first, and equal ones as they were added. Return: 1; 0 behind the last; FLAME_EIO with errno.
 */
int chrome_order_next(struct chrome_order *o, struct chrome_event *event);
void chrome_order_release(struct chrome_order *o);

#endif

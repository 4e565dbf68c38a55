/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHROME_SUM_H
#define FLAME_CHROME_SUM_H
/*
 * chrome_sum.h - the time of events that lie in each other: a stack's own is that of its innermost event without that
 * of the events inside it.
 */
#include "chrome_order.h"
#include "chrome_task.h"

struct chrome_open;

#define CHROME_EARLY_MAX 16	/* events E at one time whose B may still come */

/* Zero initialised but for what is marked as the user's; release with chrome_sum_release(). */
struct chrome_sum {
	struct chrome_tasks *tasks;	/* user's, borrowed */
	flame_type type;		/* user's: of the samples that are added */
	int64_t from, to;		/* user's: ns; time outside is not counted */
	uint64_t nr_unopened, nr_unclosed;	/* events E without a B, B without an E */
	/* The thread at hand. */
	uint32_t thread;
	int64_t now;
	struct chrome_open *open;
	size_t nr_open, room_open;
	int64_t early_ts;
	flame_frame early[CHROME_EARLY_MAX];
	size_t nr_early;
};

/* All of @events are added: add the samples that they are. Return: 0 or a failure. */
int chrome_sum_events(struct flame_reader *rd, struct chrome_sum *sum, struct chrome_order *events);
void chrome_sum_release(struct chrome_sum *sum);

#endif

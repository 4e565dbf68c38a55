/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PERFDATA_LIVE_H
#define FLAME_PERFDATA_LIVE_H
/*
 * perfdata_live.h - records as the kernel hands them out become samples of a profile while the processes
 * live: the same that the reader of perf.data makes of a file, without the file.
 *
 * All buffers are emptied in rounds: the records of each, in its order, then perfdata_live_round(). Records of
 * different buffers are put in the order of their times.
 */
#include "../core/converter.h"

struct perfdata_live;

/* The event; all records are of this one. Strings and bytes are copied. */
struct perfdata_live_event {
	const void *attr;		/* struct perf_event_attr */
	size_t attr_size;
	const char *name;		/* "cpu-clock", "sched:sched_switch" */
	struct flame_span tracepoints;	/* what flame_tracepoints_new() reads; empty: none */
};

/* @profile, @options and @diag are borrowed. Return: NULL without memory. */
struct perfdata_live *perfdata_live_new(struct flame_profile *profile, const struct flame_read_options *options,
					struct flame_diag *diag, const struct perfdata_live_event *event);
/* @live may be NULL. */
void perfdata_live_free(struct perfdata_live *live);

/* From now on only the processes @pids count, and what they fork. Return: 0, or a failure. */
int perfdata_live_only(struct perfdata_live *live, const int32_t *pids, size_t nr);
/* From now on a thread may be followed by more than one event: what they take of it twice counts once. */
void perfdata_live_single(struct perfdata_live *live);

/* A record of the kernel's at @data, of @size bytes. Return: 0, or a failure. */
int perfdata_live_record(struct perfdata_live *live, const void *data, size_t size);
/* A record about what was there before, without a time or an id at its end. Return: 0, or a failure. */
int perfdata_live_known(struct perfdata_live *live, const void *data, size_t size);
/* Every buffer was emptied once since the last call. Return: 0, or a failure. */
int perfdata_live_round(struct perfdata_live *live);
/* Names that JIT compilers have written since: read them, now that the processes still live. */
int perfdata_live_refresh(struct perfdata_live *live);
/*
 * One profile after another: @live goes on where @before is to end. Before perfdata_live_end(): what was put in
 * there is used, and threads that are blocked go on being so here. Behind it: symbols that were read stay read.
 * Return: 0, or a failure.
 */
int perfdata_live_go_on(struct perfdata_live *live, struct perfdata_live *before);
void perfdata_live_take_symbols(struct perfdata_live *live, struct perfdata_live *before);
/*
 * Nothing comes any more: the profile is finished, and *@profile may be a new one in the place of the one that was
 * given. Return: 0, or a failure.
 */
int perfdata_live_end(struct perfdata_live *live, struct flame_profile **profile);

/* Return: how many samples there were, and in *@lost how many the kernel says that it lost. */
uint64_t perfdata_live_count(const struct perfdata_live *live, uint64_t *lost);
/* Return: the sum of what all samples stand for: nanoseconds of clocks, else events. */
uint64_t perfdata_live_sum(const struct perfdata_live *live);
/* Set *@pids, owned by the caller, to the processes that have not exited. Return: how many; 0 also without memory. */
size_t perfdata_live_processes(const struct perfdata_live *live, int32_t **pids);

#endif

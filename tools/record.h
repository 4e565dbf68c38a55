/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_RECORD_H
#define FLAME_TOOLS_RECORD_H
/*
 * record.h - what the rooms of fgrecord share:
 *
 *     fgrecord.c         the command line and the course of a recording
 *     record_open.c      events are opened, again and in other ways where that is refused
 *     record_reader.c    the thread that empties the buffers
 *     record_event.c     events by their names
 *     record_target.c    what is recorded: processes, a command, the machine
 *     record_proc.c      what /proc tells of what runs already
 *     record_output.c    pictures, text, series of them
 *     record_libperf.c   the kernel's events and buffers, with libperf; the one file under the GPL, as libperf's
 *                        headers are
 *     record_missing.c   in its place where there is no libperf
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../converters/perfdata_live.h"
#include "options.h"

/* ---- record_libperf.c: events that are open, with a buffer for each processor ---- */

struct buffers;

struct buffers_wanted {
	const struct perf_event_attr *attr;
	const char *cpus;		/* "0-3,7" */
	const int32_t *tids;		/* NULL: all that runs on these processors */
	size_t nr_tids;
	unsigned int pages;		/* of each buffer, a power of two */
};

enum buffers_step {
	BUFFERS_OPEN,			/* perf_event_open() */
	BUFFERS_MMAP,
};

/* Return: whether there is libperf in this build. */
bool buffers_available(void);
/* Open all, disabled as the attributes say. Return: 0, or an errno with the step that failed. */
int buffers_open(struct buffers **buffers, const struct buffers_wanted *wanted, enum buffers_step *step);
/* @b may be NULL. */
void buffers_close(struct buffers *b);
void buffers_enable(struct buffers *b);
void buffers_disable(struct buffers *b);
/* Wait until a buffer has filled up to the mark, @ms are over or a signal comes. Return: false where nothing is left to record. */
bool buffers_wait(struct buffers *b, int ms);
/*
 * Hand the records of all buffers to @use, which returns 0 or a failure. Bytes that the fullest had are in *@fullest.
 * Return: 0, or the failure.
 */
int buffers_read(struct buffers *b, int (*use)(void *context, const void *data, size_t size), void *context,
		 size_t *fullest);
/* What the kernel counts besides taking samples, of all threads of an event, those that have ended too. */
struct buffers_counts {
	uint64_t value;		/* of the event: nanoseconds of clocks */
	uint64_t ran;		/* ns that it counted, which is as long as threads ran */
	uint64_t lost;		/* samples for which a buffer had no room; 0 where that is not told (before Linux 6.0) */
};

/* Add to @counts what @b's events have counted. */
void buffers_count(struct buffers *b, struct buffers_counts *counts);
size_t buffers_size(const struct buffers *b);	/* of each, in bytes */

/* ---- record_event.c ---- */

struct record_event {
	struct perf_event_attr attr;
	const char *name;
	char *tracepoints;		/* owned: for flame_tracepoints_new(); NULL: none */
	size_t tracepoints_len;
	bool is_default;		/* the user named none: another may take its place */
	bool is_tracepoint;
	bool is_denied;			/* its description may not be read */
};

/* Set @e to the event that the options ask for. Return: NULL, or what is wrong, to be freed. */
char *record_event_init(struct record_event *e, const struct tool *tool);
/* Return: whether the event is what happens, each time a sample, and not time that passes or a processor's counter. */
bool record_event_is_counted(const struct record_event *e);
/* In place of what this machine has not, another. Return: false where there is none. */
bool record_event_fall_back(struct record_event *e, int error);
void record_event_release(struct record_event *e);

/* ---- record_target.c ---- */

struct record_target {
	int32_t *pids;			/* owned */
	size_t nr_pids;
	int32_t *tids;			/* owned: their threads */
	size_t nr_tids, room_tids;
	int32_t *followed;		/* owned: threads that have events, sorted */
	size_t nr_followed, room_followed;
	uint64_t since;			/* clock ticks since the boot, before the first threads were listed */
	bool all;			/* the machine */
	bool is_refused;		/* the kernel let it be recorded no more before it ended */
	pid_t child;			/* the command; 0: none */
	int go, said;			/* pipes to the child, to let it exec, and from it, to tell why it could not; -1: none */
	char *name;			/* owned: "node server.js", "pid 1234 (node)", "all processors" */
};

/* Return: -1, or the status to exit with after printing why. */
int record_target_init(struct record_target *t, const struct tool *tool);
/* List the threads. Return: false where there are none any more, with errno. */
bool record_target_threads(struct record_target *t);
/* The same of the processes @pids. */
bool record_threads_of(struct record_target *t, const int32_t *pids, size_t nr);
/* List those of the processes @pids that are not followed. Return: how many; 0 also without memory. */
size_t record_threads_besides(struct record_target *t, const int32_t *pids, size_t nr);
/* Those in the list are followed. Return: false without memory. */
bool record_threads_follow(struct record_target *t);
/* Processes that the target has forked since it was listed belong to it. */
void record_target_children(struct record_target *t);
/* Return: whether none of its processes is there any more. */
bool record_target_gone(const struct record_target *t);
/* Return: ns of processor time that its processes have used; 0: cannot be told, as one has ended. */
uint64_t record_target_used(const struct record_target *t);
/* Let the command begin. Return: false after printing that it cannot. */
bool record_target_go(struct record_target *t, const struct tool *tool);
/* After the recording: what became of the command. @over: it has ended, or is about to. */
void record_target_end(struct record_target *t, const struct tool *tool, bool over);
void record_target_release(struct record_target *t);
/* Return: the words with blanks between them, to be freed. */
char *record_join(const char *const *words, int nr);
/* The processors that are online, of those in @list (NULL: of all). Return: "0-3,7", to be freed; NULL: none. */
char *record_cpus(const char *list, unsigned int *nr);
/* Return: those of @list that are not in @known, to be freed; NULL: none. */
char *record_cpus_besides(const char *list, const char *known, unsigned int *nr);

/* ---- record_open.c ---- */

/* The files of --every, the last of them. */
struct record_series {
	char **paths;			/* a ring of --keep; NULL: all stay */
	unsigned int nr;
};

/* What --diff names. */
struct record_before {
	struct flame_profile *profile;	/* owned; NULL: nothing to compare with */
	flame_type type;
};

/* What is open, and what was asked for. */
struct record_session {
	struct tool tool;
	char about[64];			/* what is recorded, as messages begin */
	struct record_event event;
	struct record_target target;
	struct record_reader *reader;
	struct perfdata_live *live;
	struct flame_profile *profile;
	struct flame_diag diag;
	char *cpus;			/* owned: those that have events */
	unsigned int nr_cpus;
	unsigned int pages;		/* of each buffer, as many as were granted */
	double began;			/* by the monotonic clock, in seconds */
	double started, ended;		/* of this profile */
	uint64_t started_at;		/* ns since 1970 */
	double looked, printed;
	uint64_t nr_lost_seen;		/* of this profile, when what is mapped was read again */
	struct record_series series;
	struct record_before before;
	struct buffers_counts counts;	/* in this profile, when it has ended */
	struct buffers_counts counted;	/* until now, in all profiles of a series that have ended */
	uint64_t used, used_until;	/* processor time of the target when the profile began and ended; 0: not known */
	bool told_unfollowed;
	bool is_single;			/* threads may be followed by more than one event */
};

/* Print why the kernel refused with @error, and what would allow it. */
void record_explain(struct record_session *s, enum buffers_step step, int error);
/* Open the events of the target and begin to read. Return: false after printing why not. */
bool record_open(struct record_session *s);
/* Processors that came online since have events too, from now on. Return: 0, or a failure. */
int record_open_more(struct record_session *s);

/* ---- record_reader.c ---- */

struct record_reader;

/* Begin to empty @buffers, which are the reader's from now on. Return: NULL without memory or threads. */
struct record_reader *record_reader_start(struct buffers *buffers);
/* More of them. Return: false where there are too many; they stay the caller's. */
bool record_reader_add(struct record_reader *r, struct buffers *buffers);
/*
 * Put what was read into @live; wait up to @ms where there is nothing. *@over: nothing is left to record.
 * Return: 0, or a failure.
 */
int record_reader_take(struct record_reader *r, int ms, struct perfdata_live *live, bool *over);
/* Read the buffers now, whenever they would have been read next. */
void record_reader_look(struct record_reader *r);
/* Disable all events, and read for the last time. */
void record_reader_stop(struct record_reader *r);
/* Return: what the kernel has counted with the events of the first buffers, and what all have lost. */
struct buffers_counts record_reader_counts(struct record_reader *r);
/* @r may be NULL. */
void record_reader_free(struct record_reader *r);

/* ---- record_proc.c ---- */

/*
 * Tell @live of the kernel, and of the processes @pids or @all with their threads and what they have mapped.
 * Return: 0, or a failure.
 */
int record_known(struct perfdata_live *live, const int32_t *pids, size_t nr_pids, bool all);

/* ---- record_output.c ---- */

/* What has been recorded, and how. */
struct record_result {
	struct flame_profile *profile;
	const struct record_event *event;
	const struct record_target *target;
	const struct record_before *before;
	double seconds;
	uint64_t nr_samples, nr_lost;
};

/*
 * Read the recording that --diff names into @before, before there is another to compare with it. Return: false after
 * printing why it cannot be compared with what @event counts.
 */
bool record_read_before(struct tool *tool, const struct record_event *event, struct record_before *before);

/* Return: false after printing that neither --to nor the end of the output's name says what to write. */
bool record_check_format(const struct tool *tool);
/* Where a report is asked for, frames know their files and lines. */
void record_prepare_names(struct tool *tool);
/* Write to @path. Return: the status to exit with, after printing what failed. */
int record_write(struct tool *tool, struct record_result *result, const char *path);

#endif

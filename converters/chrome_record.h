/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHROME_RECORD_H
#define FLAME_CHROME_RECORD_H
/* chrome_record.h - one event of a trace, as its JSON has it. */
#include "v8.h"

#define CHROME_NAME_SPARE 32	/* bytes behind a name that the user may write to */

/* A text of the event at hand, which the next one overwrites. */
struct chrome_text {
	char *s;	/* owned */
	size_t len, room;
};

/* Zero initialised; release with chrome_record_release(). */
struct chrome_record {
	struct chrome_text name;	/* with room for CHROME_NAME_SPARE more */
	struct chrome_text id;
	struct chrome_text arg_name;
	struct chrome_text frame;	/* sf: of a sample */
	char phase;			/* 0: none, or no letter */
	bool has_ts, has_dur, has_tdur, has_start, has_end;
	int64_t ts, dur, tdur, start, end;	/* ns */
	int64_t pid, tid;		/* below 0: the row of a text */
	int64_t arg_line;
	struct v8_tree nodes;		/* of ProfileChunk and CpuProfile, as the samples and their times */
	uint32_t *samples;
	size_t nr_samples, room_samples;
	int64_t *deltas;
	size_t nr_deltas, room_deltas;
};

/*
 * Read the members of the object that has just begun. Return: 0 or a failure; FLAME_EDAMAGED where the JSON has an
 * error, and the event is then not complete.
 */
int chrome_record_read(struct flame_reader *rd, struct flame_json *json, struct chrome_record *r);
/* Return: true where the event's name is @name. */
bool chrome_record_is(const struct chrome_record *r, const char *name);
void chrome_record_release(struct chrome_record *r);

#endif

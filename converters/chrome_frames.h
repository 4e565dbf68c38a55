/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHROME_FRAMES_H
#define FLAME_CHROME_FRAMES_H
/*
 * chrome_frames.h - the members "samples" and "stackFrames" of a trace, as Hermes (React Native) writes them: samples
 * that name a stack frame, which names its parent. Either may come first. A sample lasts until its thread's next one.
 */
#include "chrome_record.h"
#include "chrome_task.h"

struct chrome_known_frame;
struct chrome_last_sample;

/* Zero initialised but for what is marked as the user's; release with chrome_frames_release(). */
struct chrome_frames {
	struct chrome_tasks *tasks;	/* user's, borrowed */
	flame_type type;		/* user's: of the samples that are added */
	struct flame_profile *sums;	/* stacks of a thread's row and a frame's id, with their time; strings */
	struct chrome_known_frame *frames;	/* by the string of their id */
	size_t nr_frames, room_frames;
	uint64_t nr_known;
	struct chrome_last_sample *last;	/* by thread */
	size_t nr_last, room_last;
	int64_t first;			/* ns: of the first sample */
	uint64_t nr_samples;
	bool has_time;			/* a sample lasts */
	flame_frame *path;
	size_t room_path;
};

/*
 * Read what stands behind the key "samples"; @r is room for one. Return: 0 or a failure; FLAME_EDAMAGED for broken
 * JSON.
 */
int chrome_frames_samples(struct flame_reader *rd, struct flame_json *json, struct chrome_frames *f,
			  struct chrome_record *r);
/* The same behind the key "stackFrames". */
int chrome_frames_read(struct flame_reader *rd, struct flame_json *json, struct chrome_frames *f);
/* All is known: add the samples. Return: 0 or a failure. */
int chrome_frames_add(struct flame_reader *rd, struct chrome_frames *f);
void chrome_frames_release(struct chrome_frames *f);

#endif

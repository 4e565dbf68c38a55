/* SPDX-License-Identifier: MIT */
/*
 * missed.c - stacks that bcc's tools could not keep. Folded text and bcc's own have them alike, so that both
 * converters tell of them by this.
 */
#include "missed.h"

#include <stdlib.h>
#include <string.h>

enum { MISSED_USER = 1, MISSED_KERNEL = 2 };

/* offwaketime adds the error: "[Missed User Stack] -17". */
static unsigned char missed(struct flame_span name)
{
	static const struct { const char *start; unsigned char what; } names[] = {
		{ "[Missed User Stack]", MISSED_USER }, { "[Missed Kernel Stack]", MISSED_KERNEL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i].start);

		if (name.len >= n && !memcmp(name.s, names[i].start, n) && (name.len == n || name.s[n] == ' '))
			return names[i].what;
	}
	return 0;
}

static bool find_frames(const struct flame_profile *p, unsigned char *frames)
{
	bool any = false;

	for (flame_frame i = 1; i < flame_nr_frames(p); i++) {
		frames[i] = missed(flame_string_get(p, flame_frame_get(p, i)->name));
		any |= frames[i] != 0;
	}
	return any;
}

static void warn(struct flame_reader *rd, const struct flame_profile *p, const unsigned char *stacks)
{
	double all = 0, user = 0, kernel = 0;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		all += (double)s->value;
		user += stacks[s->stack] & MISSED_USER ? (double)s->value : 0;
		kernel += stacks[s->stack] & MISSED_KERNEL ? (double)s->value : 0;
	}
	flame_diag_add(rd->diag, FLAME_WARNING,
		       "the recorder missed the user stacks of %.0f and the kernel stacks of %.0f of %.0f: record with a larger --stack-storage-size",
		       user, kernel, all);
}

int flame_warn_missed(struct flame_reader *rd, const struct flame_profile *p)
{
	unsigned char *frames = calloc(flame_nr_frames(p), 1), *stacks = NULL;
	int err;

	if (frames && !find_frames(p, frames)) {
		free(frames);
		return 0;
	}
	stacks = frames ? calloc(flame_nr_stacks(p), 1) : NULL;
	for (flame_stack i = 1; stacks && i < flame_nr_stacks(p); i++)
		stacks[i] = stacks[flame_stack_caller(p, i)] | frames[flame_stack_frame(p, i)];
	if (stacks)
		warn(rd, p, stacks);
	err = stacks ? 0 : FLAME_ENOMEM;
	free(frames);
	free(stacks);
	return err;
}

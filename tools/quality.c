/* SPDX-License-Identifier: MIT */
/*
 * quality.c - the one warning of what is wrong with a profile. It looks at stacks all over memory, which takes as long as
 * to lay out a picture: where there are processors enough, both are done at a time.
 */
#include "options.h"

#include <stdlib.h>

/* What is chosen from a profile, or turned around, says nothing of how it was recorded. */
static bool is_whole(const struct tool *tool)
{
	const struct flame_transform_options *t = &tool->transform;

	return !t->only[0] && !t->exclude[0] && !t->focus[0] && !t->reverse && !tool->read.skip_after;
}

static void check(void *arg)
{
	struct tool_quality *q = arg;
	const struct flame_quality_options options = { .count = q->tool->read.count, .quick = true };

	q->known = !flame_quality_check(&q->quality, q->p, q->type, &options);
}

void tool_start_quality(struct tool_quality *q, struct tool *tool, size_t i, const struct flame_profile *p, flame_type type)
{
	flame_type before, after;

	*q = (struct tool_quality){ .tool = tool, .input = i, .p = p, .type = type, .job = { .work = check, .arg = q } };
	if (!tool->quiet && is_whole(tool) && !flame_is_differential(p, &before, &after))
		tool->meanwhile = &q->job;
}

void tool_end_quality(struct tool_quality *q)
{
	struct flame_diag diag = { 0 };
	char *summary;

	if (!q->tool || q->tool->meanwhile != &q->job)
		return;
	flame_worker_end(NULL, &q->job);
	q->tool->meanwhile = NULL;
	if (!q->known) {
		tool_message(q->tool, "warning", "no memory is left to check the profile");
		return;
	}
	summary = flame_quality_summary(&q->quality);
	if (summary)
		flame_diag_add(&diag, FLAME_WARNING, "%s; fgreport tells more", summary);
	tool_print_diag(q->tool, q->input, &diag);
	free(summary);
	flame_quality_release(&q->quality);
}

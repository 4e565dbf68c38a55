/* SPDX-License-Identifier: MIT */
/*
 * callstack.c - stacks that are printed leaf first.
 */
#include "callstack.h"

#include <stdlib.h>

#include "table.h"

int flame_callstack_add(struct flame_callstack *s, flame_frame frame)
{
	if (s->nr >= FLAME_CALLSTACK_FRAMES) {
		s->nr_dropped++;
		return 0;
	}
	if (!array_reserve((void **)&s->frames, &s->room, s->nr + 1, sizeof(*s->frames)))
		return FLAME_ENOMEM;
	s->frames[s->nr++] = frame;
	return 0;
}

int flame_callstack_end(struct flame_callstack *s, struct flame_profile *p, const struct flame_sample *sample)
{
	struct flame_sample whole = *sample;

	while (s->nr)
		whole.stack = flame_stack_push(p, whole.stack, s->frames[--s->nr]);
	return whole.stack ? flame_sample_add(p, &whole) : flame_profile_error(p);
}

void flame_callstack_release(struct flame_callstack *s)
{
	free(s->frames);
	*s = (struct flame_callstack){ 0 };
}

int flame_stack_text_read(struct flame_reader *rd, int (*read_line)(struct flame_reader *rd, struct flame_span line))
{
	struct flame_stack_text *t = rd->state;
	struct flame_span line;
	int err = 0;

	t->sample.value = 1;
	t->sample.nr_samples = 1;
	if (!t->sample.type)
		t->sample.type = flame_namer_type(rd->profile, "samples", "count", FLAME_VALUE_WALL);
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	return err;
}

int flame_stack_text_end(struct flame_reader *rd)
{
	struct flame_stack_text *t = rd->state;

	t->sample.stack = t->stack.nr ? t->root : 0;
	return flame_callstack_end(&t->stack, rd->profile, &t->sample);
}

void flame_stack_text_release(struct flame_reader *rd)
{
	struct flame_stack_text *t = rd->state;

	flame_callstack_release(&t->stack);
	flame_namer_release(&t->namer);
}

// SPDX-License-Identifier: MIT
/*
 * calls.c - function tracing: each entry opens a frame, its exit closes it, and the time between
 * two events of a thread belongs to the frame on top. Wall time.
 *
 * lttng-ust-cyg-profile: func_entry and func_exit {addr, call_site}; -fast: func_entry {addr},
 * func_exit {} - its address is then the context ip, or not known.
 */
#include <stdlib.h>

#include "sink.h"

/* Without threads calls of one would seem to be nested in those of another: they are counted only. */
static void count_entry(struct sink *s, const struct event *ev, flame_stack stack)
{
	static const struct series like = {
		.unit = "count", .about = "function calls, not nested", .what = "calls", .rank = 4,
	};

	s->counts.calls_threadless++;
	if (in_window(s, ev->time))
		series_add(s, series_get(s, "calls-not-nested", &like), stack, 1, 1);
}

static flame_frame entry_frame(struct sink *s, const struct event *ev, const struct thread *t, uint64_t address)
{
	const char *name = ev->class->debug_info.scope ? field_member_text(ev->event, &ev->class->debug_info, "func") : NULL;

	if (name && *name)
		return code_frame_named(s, t->process->image, address, name);
	return code_frame(s, t->process->image, address, CODE_FUNCTION);
}

/* Loops call the same again: what was on @caller last is still behind the open frames. */
static inline flame_stack stack_again(const struct open_frames *open, flame_stack caller, uint64_t address)
{
	const struct open_frame *last = open->frames + open->nr;

	return open->nr < open->room && last->caller == caller && last->key == address ? last->stack : 0;
}

static flame_stack find_stack(struct sink *s, const struct event *ev, const struct thread *t, flame_stack caller,
			      uint64_t address)
{
	struct call_slot *slot;

	if (!s->recent_calls)
		s->recent_calls = calloc(CALL_SLOTS, sizeof(*s->recent_calls));
	if (!s->recent_calls) {
		sink_fail(s, FLAME_ENOMEM);
		return 0;
	}
	slot = &s->recent_calls[hash_mix(address ^ HASH_A, caller ^ HASH_B) % CALL_SLOTS];
	if (slot->address == address && slot->caller == caller && slot->image == t->image)
		return slot->stack;
	*slot = (struct call_slot){
		.address = address, .caller = caller, .image = t->image,
		.stack = flame_stack_push(s->raw, caller, entry_frame(s, ev, t, address)),
	};
	return slot->stack;
}

void calls_entry(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	struct open_frame frame = { 0 };
	struct open_frames *open;

	if (!t || !t->wanted)
		return;
	if (!field_number(ev->event, &ev->class->address, &frame.key)) {
		s->counts.calls_unmatched++;
		return;
	}
	open = &t->calls;
	open_charge(s, open, ev->time);
	if (open->nr)
		frame.caller = open->frames[open->nr - 1].stack;
	else
		frame.caller = t->lost_root ? t->lost_root : thread_root(s, t, ev);
	frame.stack = stack_again(open, frame.caller, frame.key);
	if (!frame.stack)
		frame.stack = find_stack(s, ev, t, frame.caller, frame.key);
	if (t->tid < 0 || !ev->class->has_clock) {
		count_entry(s, ev, frame.stack);
		return;
	}
	frame.nr = in_window(s, ev->time);
	if (!open_push(s, open, &frame))
		s->counts.calls_deep++;
}

/* Return: how many frames stay open when @address returns; all where none of them is it. */
static uint32_t find_open(const struct open_frames *open, uint64_t address)
{
	uint32_t i = open->nr;

	while (i && open->frames[i - 1].key != address)
		i--;
	return i ? i - 1 : open->nr;
}

void calls_exit(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	struct open_frames *open;
	uint64_t address;
	uint32_t stay;

	if (!t || !t->wanted || t->tid < 0 || !ev->class->has_clock)
		return;
	open = &t->calls;
	open_charge(s, open, ev->time);
	if (open->too_deep) {
		open->too_deep--;
		return;
	}
	if (!open->nr) {
		s->counts.calls_unmatched++;
		return;
	}
	if (!field_number(ev->event, &ev->class->address, &address)) {
		open_close(s, s->calls, open, open->nr - 1);
		return;
	}
	stay = find_open(open, address);
	if (stay == open->nr)
		s->counts.calls_unmatched++;
	else
		s->counts.calls_skipped += open->nr - 1 - stay;	/* left by longjmp, an exception, or their exits are missing */
	open_close(s, s->calls, open, stay);
}

void calls_cut(struct sink *s, struct thread *t)
{
	open_close(s, s->calls, &t->calls, 0);
	t->calls.too_deep = 0;
}

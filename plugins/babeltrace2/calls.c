// SPDX-License-Identifier: MIT
/*
 * calls.c - function tracing: each entry opens a frame, its exit closes it, and the time between
 * two events of a thread belongs to the frame on top. Wall time.
 *
 * lttng-ust-cyg-profile: func_entry and func_exit {addr, call_site}, the latter being the same in both and other
 * in a call of the function by itself; -fast: func_entry {addr}, func_exit {} - its address is then the context ip,
 * or not known.
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

static flame_frame entry_frame(struct sink *s, const struct event *ev, const struct thread *t)
{
	const char *name = ev->class->debug_info.scope ? field_member_text(ev->event, &ev->class->debug_info, "func") : NULL;

	if (name && *name)
		return code_frame_named(s, t->image, ev->address, name);
	return code_frame(s, t->image, ev->address, CODE_FUNCTION);
}

static inline uint32_t call_hash(uint64_t address, flame_stack caller)
{
	return (uint32_t)hash_mix(address ^ HASH_A, caller ^ HASH_B);
}

static void put_call(struct image *m, const struct call_slot *call)
{
	uint32_t i = call_hash(call->address, call->caller) & m->calls_mask;

	while (m->calls[i].stack)
		i = (i + 1) & m->calls_mask;
	m->calls[i] = *call;
}

static bool calls_grow(struct image *m)
{
	struct call_slot *old = m->calls;
	size_t nr = old ? (size_t)m->calls_mask + 1 : 0, room = old ? 2 * nr : 16;

	m->calls = calloc(room, sizeof(*m->calls));
	if (!m->calls) {
		m->calls = old;
		return false;
	}
	m->calls_mask = (uint32_t)room - 1;
	for (size_t i = 0; i < nr; i++) {
		if (old[i].stack)
			put_call(m, &old[i]);
	}
	free(old);
	return true;
}

static flame_stack new_stack(struct sink *s, const struct event *ev, const struct thread *t, flame_stack caller)
{
	struct call_slot call = { .address = ev->address, .caller = caller };
	struct image *m = t->image;

	call.stack = flame_stack_push(s->raw, caller, entry_frame(s, ev, t));
	if ((!m->calls || m->nr_calls >= m->calls_mask / 2) && !calls_grow(m))
		sink_fail(s, FLAME_ENOMEM);
	else if (call.stack)
		put_call(m, &call);
	m->nr_calls++;
	return call.stack;
}

static inline flame_stack find_stack(struct sink *s, const struct event *ev, const struct thread *t, flame_stack caller)
{
	const struct image *m = t->image;

	for (uint32_t i = call_hash(ev->address, caller) & m->calls_mask; m->calls && m->calls[i].stack;
	     i = (i + 1) & m->calls_mask) {
		if (m->calls[i].address == ev->address && m->calls[i].caller == caller)
			return m->calls[i].stack;
	}
	return new_stack(s, ev, t, caller);
}

static flame_stack caller_of(struct sink *s, const struct event *ev, struct thread *t)
{
	const struct open_frames *open = &t->calls;

	if (open->nr)
		return open->frames[open->nr - 1].stack;
	return t->lost_root ? t->lost_root : thread_root(s, t, ev);
}

void calls_entry(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	struct open_frames *open;
	struct open_frame *f;
	flame_stack caller;

	if (!t || !t->wanted)
		return;
	if (!ev->has_address) {
		s->counts.calls_unmatched++;
		return;
	}
	open = &t->calls;
	open_charge(s, t, open, ev);
	caller = caller_of(s, ev, t);
	if (t->tid < 0 || !ev->class->has_clock) {
		count_entry(s, ev, find_stack(s, ev, t, caller));
		return;
	}
	if (!open_room(s, open)) {
		s->counts.calls_deep++;
		return;
	}
	f = &open->frames[open->nr++];
	*f = (struct open_frame){
		.key = ev->address, .site = ev->site, .stack = find_stack(s, ev, t, caller), .counts = in_window(s, ev->time),
	};
}

/* Return: how many frames stay open when @address, called at @site, returns; all where none of them is it. */
static uint32_t find_open(const struct open_frames *open, uint64_t address, uint64_t site)
{
	uint32_t same = 0;

	for (uint32_t i = open->nr; i; i--) {
		const struct open_frame *f = &open->frames[i - 1];

		if (f->key == address && f->site == site)
			return i - 1;
		if (f->key == address && !same)
			same = i;
	}
	return same ? same - 1 : open->nr;
}

/* An exit of something else than what is on top. */
static void exit_other(struct sink *s, struct open_frames *open, uint64_t address, uint64_t site)
{
	uint32_t stay;

	if (open->too_deep) {
		open->too_deep--;
		return;
	}
	stay = find_open(open, address, site);
	if (stay == open->nr)
		s->counts.calls_unmatched++;
	else
		s->counts.calls_skipped += open->nr - 1 - stay;	/* left by longjmp, an exception, or their exits are missing */
	open_close(s, s->calls, open, stay);
}

void calls_exit(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	struct open_frames *open;
	const struct open_frame *top;
	uint64_t address;

	if (!t || !t->wanted || t->tid < 0 || !ev->class->has_clock)
		return;
	open = &t->calls;
	open_charge(s, t, open, ev);
	if (!open->nr) {
		s->counts.calls_unmatched++;
		return;
	}
	top = &open->frames[open->nr - 1];
	address = ev->has_address ? ev->address : top->key;
	if (address == top->key && ev->site == top->site && !open->too_deep)
		open_pop(s, s->calls, open);
	else
		exit_other(s, open, address, ev->site);
}

void calls_cut(struct sink *s, struct thread *t)
{
	open_close(s, s->calls, &t->calls, 0);
	t->calls.too_deep = 0;
}

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

#define CACHE_LINE 64
#define NO_STACK UINT32_MAX	/* no row is that */
#define CALL_HASH 0x7fffffffu	/* the bits of open_frame.hash */

/* ---- the calls that an image has seen ---- */

/*
 * Where a call is follows from the addresses of all its callers, not from their stack, so that memory can fetch it
 * before that is known. Places belong together by twos, a line of the cache.
 */
static inline uint32_t call_hash(uint64_t address, uint32_t caller)
{
	return (uint32_t)((address ^ caller * HASH_A) * HASH_B >> 33);
}

static inline uint32_t first_place(const struct image *m, uint32_t hash)
{
	return hash & m->calls_mask & ~1u;
}

/* Return: the place of the call, or the free one where it belongs. */
static uint32_t call_place(const struct image *m, uint32_t hash, uint64_t address, flame_stack caller)
{
	uint32_t i = first_place(m, hash);

	while (m->calls[i].caller != NO_STACK && (m->calls[i].address != address || m->calls[i].caller != caller))
		i = (i + 1) & m->calls_mask;
	return i;
}

static bool calls_grow(struct image *m)
{
	size_t nr = m->calls ? (size_t)m->calls_mask + 1 : 0, room = nr ? 2 * nr : 16;
	struct call *old = m->calls, *calls = aligned_alloc(CACHE_LINE, room * sizeof(*calls));
	uint32_t *old_hashes = m->call_hashes, *hashes = malloc(room * sizeof(*hashes));

	if (!calls || !hashes) {
		free(calls);
		free(hashes);
		return false;
	}
	for (size_t i = 0; i < room; i++)
		calls[i] = (struct call){ .caller = NO_STACK };
	m->calls = calls;
	m->call_hashes = hashes;
	m->calls_mask = (uint32_t)room - 1;
	for (size_t i = 0; i < nr; i++) {
		uint32_t place;

		if (old[i].caller == NO_STACK)
			continue;
		place = call_place(m, old_hashes[i], old[i].address, old[i].caller);
		calls[place] = old[i];
		hashes[place] = old_hashes[i];
	}
	free(old);
	free(old_hashes);
	return true;
}

/* @ev is the entry, if it is at hand: it may have the name. */
static flame_frame call_frame(struct sink *s, const struct image *m, uint64_t address, const struct event *ev)
{
	const char *name = ev && ev->class->debug_info.scope ?
		field_member_text(ev->event, &ev->class->debug_info, "func") : NULL;

	if (name && *name)
		return code_frame_named(s, m, address, name);
	return code_frame(s, m, address, CODE_FUNCTION);
}

/* Find the stack of @f, which has @caller below it. Return: NULL without memory. */
__attribute__((cold)) static struct call *find_call(struct sink *s, struct image *m, struct open_frame *f,
						    flame_stack caller, const struct event *ev)
{
	struct call *call;
	uint32_t place;

	if ((!m->calls || m->nr_calls >= m->calls_mask / 8 * 5) && !calls_grow(m)) {
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	place = call_place(m, f->hash, f->key, caller);
	call = &m->calls[place];
	if (call->caller == NO_STACK) {
		flame_stack stack = flame_stack_push(s->raw, caller, call_frame(s, m, f->key, ev));

		if (!stack)
			return NULL;
		*call = (struct call){ .address = f->key, .caller = caller, .stack = stack };
		m->call_hashes[place] = f->hash;
		m->nr_calls++;
	}
	f->stack = call->stack;
	return call;
}

/* ---- events ---- */

/* Return: the stack that a call has below it where no other is open. */
static flame_stack bottom_of(struct sink *s, const struct event *ev, struct thread *t)
{
	return t->lost_root ? t->lost_root : thread_root(s, t, ev);
}

static inline void set_bottom(struct open_frames *open, flame_stack stack)
{
	open->frames[-1].stack = stack;
	open->frames[-1].hash = stack & CALL_HASH;
}

/* Of what is open only the frame on top may have no stack: most return before something needs it. */
static void settle_top(struct sink *s, const struct thread *t)
{
	struct open_frame *top;

	if (!t->calls.nr || !t->image)
		return;
	top = &t->calls.frames[t->calls.nr - 1];
	if (!top->stack)
		find_call(s, t->image, top, top[-1].stack, NULL);
}

/* Without threads calls of one would seem to be nested in those of another: they are counted only. */
static void count_entry(struct sink *s, const struct event *ev, struct thread *t)
{
	static const struct series like = {
		.unit = "count", .about = "function calls, not nested", .what = "calls", .rank = 4,
	};
	struct open_frame f = { .key = ev->address };
	flame_stack caller;

	settle_top(s, t);
	caller = t->calls.nr ? t->calls.frames[t->calls.nr - 1].stack : bottom_of(s, ev, t);
	f.hash = call_hash(f.key, caller);
	find_call(s, t->image, &f, caller, ev);
	s->counts.calls_threadless++;
	if (in_window(s, ev->time))
		series_add(s, series_get(s, "calls-not-nested", &like), f.stack, 1, 1);
}

static void enter(struct sink *s, const struct event *ev, struct thread *t)
{
	struct open_frames *open = &t->calls;
	struct open_frame *f;

	if (!ev->has_address) {
		s->counts.calls_unmatched++;
		return;
	}
	open_charge(s, t, open, ev);
	if (t->tid < 0 || !ev->class->has_clock) {
		count_entry(s, ev, t);
		return;
	}
	if (!open_room(s, open)) {
		s->counts.calls_deep++;
		return;
	}
	settle_top(s, t);
	if (!open->nr)
		set_bottom(open, bottom_of(s, ev, t));
	f = &open->frames[open->nr++];
	*f = (struct open_frame){ .key = ev->address, .site = ev->site, .counts = in_window(s, ev->time) };
	f->hash = call_hash(f->key, f[-1].hash);
	find_call(s, t->image, f, f[-1].stack, ev);
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
__attribute__((cold)) static void leave_other(struct sink *s, struct thread *t, uint64_t address, uint64_t site)
{
	struct open_frames *open = &t->calls;
	uint32_t stay;

	if (open->too_deep) {
		open->too_deep--;
		return;
	}
	stay = find_open(open, address, site);
	if (stay == open->nr)
		s->counts.calls_unmatched++;
	else
		s->counts.calls_skipped += open->nr - 1 - stay;	/* by longjmp, an exception, or without an exit */
	settle_top(s, t);
	open_close(s, s->calls, open, stay);
}

static void leave(struct sink *s, const struct event *ev, struct thread *t)
{
	struct open_frames *open = &t->calls;
	const struct open_frame *top;
	uint64_t address;

	if (t->tid < 0 || !ev->class->has_clock)
		return;
	open_charge(s, t, open, ev);
	if (!open->nr) {
		s->counts.calls_unmatched++;
		return;
	}
	top = &open->frames[open->nr - 1];
	address = ev->has_address ? ev->address : top->key;
	if (address == top->key && ev->site == top->site && !open->too_deep) {
		settle_top(s, t);
		open_pop(s, s->calls, open);
	} else {
		leave_other(s, t, address, ev->site);
	}
}

/* ---- what nearly all events are ---- */

/* Return: the thread, where neither it nor the event is in any way special; else NULL. */
static inline struct thread *plain_thread(struct sink *s, const struct event *ev)
{
	struct thread *t = s->recent_threads[(uint32_t)ev->tid % RECENT];
	const struct open_frames *open;

	if (!ev->class->call_plain || !t || t->tid != ev->tid || t->pid != ev->pid ||
	    (ev->class->contexts && thread_of(s, ev) != t))
		return NULL;
	open = &t->calls;
	/* What was seen in the same trace before was on the same host. */
	if (open->trace != ev->trace || open->losses != ev->trace->losses || t->image != t->process->image)
		return NULL;
	return t->wanted && t->tid >= 0 && open->nr < open->room && open->nr - 1 >= open->renewed &&
	       t->image->calls ? t : NULL;
}

/* Return: @one where @first is 1, @other where it is 0, without a branch. */
static inline uint64_t choose(uint64_t first, uint64_t one, uint64_t other)
{
	return other ^ ((one ^ other) & -first);
}

static inline void open_call(struct open_frame *f, const struct event *ev, uint64_t address, uint32_t hash)
{
	f->key = address;
	f->site = ev->site;
	f->value = 0;
	f->stack = 0;
	f->hash = hash & CALL_HASH;
	f->counts = true;
}

/*
 * An entry or an exit, where some call is open. Which of both it is cannot be foretold, and a branch that is taken in
 * vain costs as much as all else here: so what both do is done for either. Both look up the call on top: where it is
 * entered from, its stack is needed, where it is left, its value is added. The frame behind it is written in any case.
 */
static inline void step(struct sink *s, const struct event *ev, struct thread *t)
{
	struct open_frames *open = &t->calls;
	struct open_frame *top = open->frames + open->nr - 1;
	uint64_t entry = ev->class->call_entry;
	uint64_t address = choose(ev->class->call_address, ev->address, top->key);
	uint32_t hash = (uint32_t)choose(entry, call_hash(address, top->hash), top->hash);
	struct image *m = t->image;
	struct call *call = &m->calls[first_place(m, top->hash)];
	int64_t since;

	__builtin_prefetch(&m->calls[first_place(m, hash)], 1);
	call += call->address != top->key;
	if (ev->time > open->time && (__builtin_sub_overflow(ev->time, open->time, &since) ||
				      __builtin_add_overflow(top->value, since, &top->value)))
		sink_fail(s, FLAME_EOVERFLOW);
	open->time = ev->time;
	if (choose(entry, 0, (address ^ top->key) | (ev->site ^ top->site))) {
		leave_other(s, t, address, ev->site);
		return;
	}
	if (call->address != top->key || call->caller != top[-1].stack)
		call = find_call(s, m, top, top[-1].stack, NULL);
	if (!call)
		return;
	top->stack = call->stack;
	tally_add(s, &call->tally, (int64_t)choose(entry, 0, (uint64_t)top->value), 1 - entry);
	open_call(top + 1, ev, address, hash);
	open->nr += 2 * (uint32_t)entry - 1;
}

/* An entry where no call is open. */
static inline void step_first(const struct event *ev, struct thread *t)
{
	struct open_frames *open = &t->calls;
	struct image *m = t->image;
	uint32_t hash;

	set_bottom(open, t->lost_root ? t->lost_root : t->root);
	hash = call_hash(ev->address, open->frames[-1].hash);
	__builtin_prefetch(&m->calls[first_place(m, hash)], 1);
	open->time = ev->time;
	open_call(open->frames, ev, ev->address, hash);
	open->nr = 1;
}

__attribute__((cold)) static void step_rare(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);

	if (!t || !t->wanted)
		return;
	if (ev->class->call_entry)
		enter(s, ev, t);
	else
		leave(s, ev, t);
	if (t->calls.renewed > t->calls.nr)
		t->calls.renewed = t->calls.nr;
}

const struct event *calls_events(struct sink *s, const struct event *ev, const struct event *end)
{
	for (; ev < end && ev->class->roles & (ROLE_CALL_ENTRY | ROLE_CALL_EXIT); ev++) {
		struct thread *t = plain_thread(s, ev);

		if (t && t->calls.nr)
			step(s, ev, t);
		else if (t && ev->class->call_entry)
			step_first(ev, t);
		else
			step_rare(s, ev);
	}
	return ev;
}

void calls_cut(struct sink *s, struct thread *t)
{
	settle_top(s, t);
	open_close(s, s->calls, &t->calls, 0);
	t->calls.too_deep = 0;
	t->calls.renewed = 0;
}

void calls_renew(struct sink *s, struct thread *t)
{
	settle_top(s, t);
	t->calls.renewed = t->calls.nr;
}

void calls_settle(struct sink *s)
{
	for (size_t i = 0; i < s->nr_threads; i++)
		settle_top(s, s->threads[i]);
	for (size_t i = 1; i < s->nr_images; i++) {
		const struct image *m = s->images[i];

		for (size_t j = 0; m->calls && j <= m->calls_mask; j++) {
			struct tally *t = &m->calls[j].tally;

			if (m->calls[j].caller != NO_STACK)
				series_add(s, s->calls, m->calls[j].stack, t->value, t->nr);
			*t = (struct tally){ 0 };
		}
	}
}

// SPDX-License-Identifier: MIT
/*
 * offcpu.c - sched_switch: the thread prev leaves the processor with the stack in the event, and is
 * off it until it is next.
 */
#include "sink.h"

static uint64_t hash_tid(uint32_t host, int32_t tid)
{
	return hash_mix((uint32_t)tid ^ HASH_A, host ^ HASH_C);
}

static uint64_t hash_sleeper(const void *p)
{
	const struct thread *t = p;

	return hash_tid(t->host, t->tid);
}

/* Thread ids are unique on a host, and next has no process in the event. */
static struct thread *sleeper_find(const struct sink *s, uint32_t host, int32_t tid)
{
	const struct pointers *p = &s->sleepers;
	struct thread *last = NULL;

	for (uint32_t i = (uint32_t)hash_tid(host, tid) & p->mask; p->slots && p->slots[i]; i = (i + 1) & p->mask) {
		struct thread *t = p->slots[i];

		/* An id may have been used by several threads; only one of them is off the processor. */
		if (t->tid == tid && t->host == host && (t->off_since || !last))
			last = t;
	}
	return last;
}

static bool is_sleeper(const struct sink *s, const struct thread *t)
{
	const struct pointers *p = &s->sleepers;

	for (uint32_t i = (uint32_t)hash_sleeper(t) & p->mask; p->slots && p->slots[i]; i = (i + 1) & p->mask) {
		if (p->slots[i] == t)
			return true;
	}
	return false;
}

static void switch_out(struct sink *s, const struct event *ev, int32_t tid)
{
	const char *comm = field_text(ev->event, &ev->class->prev_comm);
	struct thread *t = thread_of(s, ev), *before;

	/* Without contexts, or with those of another namespace. */
	if (!t || t->tid != tid)
		t = thread_get(s, ev->trace, -1, tid);
	if (!t)
		return;
	if (comm && *comm)
		thread_set_comm(s, t, comm);
	before = sleeper_find(s, t->host, tid);
	if (before)
		before->off_since = 0;
	if (!is_sleeper(s, t))
		pointers_put(s, &s->sleepers, hash_sleeper(t), t, hash_sleeper);
	if (!t->wanted)
		return;
	t->off_since = ev->time;
	t->off_stack = sample_stack(s, ev, t);
}

static void switch_in(struct sink *s, const struct event *ev, int32_t tid)
{
	struct thread *t = sleeper_find(s, ev->trace->host, tid);
	int64_t time = 0;

	if (!t || !t->off_since)
		return;
	time_add(s, &time, t->off_since, ev->time);
	series_add(s, s->off_cpu, t->off_stack, time, in_window(s, ev->time));
	t->off_since = 0;
}

void switch_event(struct sink *s, const struct event *ev)
{
	uint64_t prev, next;

	if (!ev->class->has_clock || !field_number(ev->event, &ev->class->prev_tid, &prev) ||
	    !field_number(ev->event, &ev->class->next_tid, &next))
		return;
	/* 0 is the idle task, of which each processor has one. */
	if (prev)
		switch_out(s, ev, (int32_t)prev);
	if (next)
		switch_in(s, ev, (int32_t)next);
}

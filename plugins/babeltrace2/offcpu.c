// SPDX-License-Identifier: MIT
/*
 * offcpu.c - sched_switch: the thread prev leaves the processor with the stack in the event, and is
 * off it until it is next.
 */
#include <stdlib.h>

#include "sink.h"

static uint64_t hash_tid(uint32_t host, int32_t tid)
{
	return hash_mix((uint32_t)tid ^ HASH_A, host ^ HASH_C);
}

static uint64_t hash_sleeper(const void *p)
{
	const struct sleeper *sleeper = p;

	return hash_tid(sleeper->host, sleeper->tid);
}

/* Thread ids are unique on a host, and next has no process in the event. */
static struct sleeper *sleeper_find(const struct sink *s, uint32_t host, int32_t tid)
{
	const struct pointers *p = &s->sleepers;

	for (uint32_t i = (uint32_t)hash_tid(host, tid) & p->mask; p->slots && p->slots[i]; i = (i + 1) & p->mask) {
		struct sleeper *sleeper = p->slots[i];

		if (sleeper->tid == tid && sleeper->host == host)
			return sleeper;
	}
	return NULL;
}

static struct sleeper *sleeper_get(struct sink *s, uint32_t host, int32_t tid)
{
	struct sleeper *sleeper = sleeper_find(s, host, tid);

	if (sleeper)
		return sleeper;
	sleeper = calloc(1, sizeof(*sleeper));
	if (!sleeper) {
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	sleeper->host = host;
	sleeper->tid = tid;
	if (!pointers_put(s, &s->sleepers, hash_sleeper(sleeper), sleeper, hash_sleeper)) {
		free(sleeper);
		return NULL;
	}
	return sleeper;
}

uint64_t sleepers_count(const struct sink *s)
{
	const struct pointers *p = &s->sleepers;
	uint64_t nr = 0;

	for (uint32_t i = 0; p->slots && i <= p->mask; i++)
		nr += p->slots[i] && ((const struct sleeper *)p->slots[i])->is_off;
	return nr;
}

static void switch_out(struct sink *s, const struct event *ev, int32_t tid)
{
	const char *comm = field_text(ev->event, &ev->class->prev_comm);
	struct thread *t = thread_of(s, ev);
	struct sleeper *sleeper;

	/* Without contexts, or with those of another namespace. */
	if (!t || t->tid != tid)
		t = thread_get(s, ev->trace, -1, tid);
	if (!t)
		return;
	if (comm && *comm)
		thread_set_comm(s, t, comm);
	sleeper = sleeper_get(s, t->host, tid);
	if (!sleeper)
		return;
	sleeper->is_off = t->wanted;
	if (!t->wanted)
		return;
	sleeper->since = ev->time;
	sleeper->losses = ev->trace->first->host_losses;
	sleeper->stack = sample_stack(s, ev, t);
}

static void switch_in(struct sink *s, const struct event *ev, int32_t tid)
{
	struct sleeper *sleeper = sleeper_find(s, ev->trace->host, tid);
	int64_t time = 0;

	if (!sleeper || !sleeper->is_off)
		return;
	sleeper->is_off = false;
	/* It may have been on a processor meanwhile. */
	if (sleeper->losses != ev->trace->first->host_losses)
		return;
	time_add(s, &time, sleeper->since, ev->time);
	series_add(s, s->off_cpu, sleeper->stack, time, in_window(s, ev->time));
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

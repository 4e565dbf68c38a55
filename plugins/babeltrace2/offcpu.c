// SPDX-License-Identifier: MIT
/*
 * offcpu.c - sched_switch: the thread prev leaves the processor with the stack in the event, and is
 * off it until it is next.
 */
#include <stdlib.h>

#include "sink.h"

/* Of the kernel's states. */
#define EXIT_DEAD 0x10
#define EXIT_ZOMBIE 0x20

static uint64_t hash_tid(uint32_t host, int32_t tid)
{
	return hash_mix((uint32_t)tid ^ HASH_A, host ^ HASH_C);
}

static uint64_t hash_thread_id(const void *p)
{
	const struct thread_id *id = p;

	return hash_tid(id->host, id->tid);
}

/* Events often tell the id without the process. */
struct thread_id *thread_id_find(const struct sink *s, uint32_t host, int32_t tid)
{
	const struct pointers *p = &s->thread_ids;

	for (uint32_t i = (uint32_t)hash_tid(host, tid) & p->mask; p->slots && p->slots[i]; i = (i + 1) & p->mask) {
		struct thread_id *id = p->slots[i];

		if (id->tid == tid && id->host == host)
			return id;
	}
	return NULL;
}

struct thread_id *thread_id_get(struct sink *s, uint32_t host, int32_t tid)
{
	struct thread_id *id = thread_id_find(s, host, tid);

	if (id)
		return id;
	id = calloc(1, sizeof(*id));
	if (!id) {
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	id->host = host;
	id->tid = tid;
	if (!pointers_put(s, &s->thread_ids, hash_thread_id(id), id, hash_thread_id)) {
		free(id);
		return NULL;
	}
	return id;
}

uint64_t sleepers_count(const struct sink *s)
{
	const struct pointers *p = &s->thread_ids;
	uint64_t nr = 0;

	for (uint32_t i = 0; p->slots && i <= p->mask; i++)
		nr += p->slots[i] && ((const struct thread_id *)p->slots[i])->is_off;
	return nr;
}

/* Whoever leaves in this state has ended: what comes back with its id is another. */
static bool is_dead(const struct event *ev)
{
	uint64_t state;

	return field_number(ev->event, &ev->class->prev_state, &state) && state & (EXIT_DEAD | EXIT_ZOMBIE);
}

static void switch_out(struct sink *s, const struct event *ev, int32_t tid)
{
	const char *comm = field_text(ev->event, &ev->class->prev_comm);
	struct thread *t = thread_of(s, ev);
	struct thread_id *sleeper;

	/* Without contexts, or with those of another namespace. */
	if (!t || t->tid != tid)
		t = thread_get(s, ev->trace, -1, tid);
	if (!t)
		return;
	if (t->image != t->process->image)
		thread_renew(s, t);
	if (comm && *comm)
		thread_set_comm(s, t, comm);
	sleeper = thread_id_get(s, t->host, tid);
	if (!sleeper)
		return;
	sleeper->is_off = t->wanted && !is_dead(ev);
	if (!sleeper->is_off)
		return;
	sleeper->since = ev->time;
	sleeper->losses = ev->trace->first->host_losses;
	sleeper->stack = sample_stack(s, ev, t);
}

static void switch_in(struct sink *s, const struct event *ev, int32_t tid)
{
	struct thread_id *sleeper = thread_id_find(s, ev->trace->host, tid);
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

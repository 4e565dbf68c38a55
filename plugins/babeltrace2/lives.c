// SPDX-License-Identifier: MIT
/*
 * lives.c - threads that end, and others that get their ids: what the old one had open is not the new one's.
 *
 * The kernel tells of both (sched_process_exit, _free, _fork, _exec, and perf's own events). LTTng-UST does not, but
 * its contexts procname and pthread_id are read once a thread: where one of them is another, so is the thread, or,
 * where it is the first of its process, the program. With buffers by process each program has a trace.
 */
#include <string.h>

#include "sink.h"

enum { F_TID, F_PID, F_COMM };

static void close_open(struct sink *s, struct thread *t, struct open_frames *open, int64_t time)
{
	open_lost(s, t, open, open->trace);
	if (open->nr)
		time_add(s, &open->frames[open->nr - 1].value, open->time, time);
	s->counts.ended += open->nr;
}

void thread_end(struct sink *s, struct thread *t, int64_t time)
{
	close_open(s, t, &t->calls, time);
	close_open(s, t, &t->spans, time);
	calls_cut(s, t);
	spans_cut(s, t);
	t->lost_root = 0;
	t->name = 0;
	t->pthread = 0;
}

void thread_begin(struct sink *s, struct thread *t)
{
	struct thread_id *id = thread_id_find(s, t->host, t->tid);

	thread_end(s, t, INT64_MIN);
	if (id)
		id->is_off = false;
}

void thread_list(struct sink *s, struct thread *t)
{
	struct thread_id *id = t->tid >= 0 ? thread_id_get(s, t->host, t->tid) : NULL;

	if (!id)
		return;
	t->next = id->threads;
	id->threads = t;
}

/* From now on it is known which threads have an id. */
static void list_threads(struct sink *s)
{
	for (size_t i = 0; i < s->nr_threads && !s->lists_threads; i++)
		thread_list(s, s->threads[i]);
	s->lists_threads = true;
}

/* Return: a thread that has the id, which is listed again with its next event; NULL: none has. */
static struct thread *id_take(struct sink *s, struct thread_id *id)
{
	struct thread *t = id->threads;

	if (!t)
		return NULL;
	id->threads = t->next;
	calls_renew(s, t);
	t->image = NULL;
	return t;
}

/* Nobody has the id any more; @comm: of whom had it; NULL: whatever it was called. */
static void id_end(struct sink *s, struct thread_id *id, const char *comm)
{
	struct thread *t;

	id->is_off = false;
	while ((t = id_take(s, id))) {
		/* Ids of another namespace may be the same by chance. */
		if (!comm || !*comm || !t->comm[0] || !strcmp(comm, t->comm))
			thread_end(s, t, INT64_MIN);
	}
}

/* ---- other programs ---- */

bool process_exec(struct sink *s, struct process *p)
{
	if (p->exec >= BT2_EXECS_MAX) {
		s->counts.execs_mixed++;
		return false;
	}
	process_set_image(p, image_new(s, NULL));
	p->exec++;
	p->dumper = -1;
	return true;
}

bool process_see_trace(struct sink *s, struct process *p, const struct trace *trace)
{
	const char *before = p->program;

	if (!trace->program)
		return false;
	p->program = trace->program;
	if (!before || !strcmp(before, trace->program))
		return false;
	return process_exec(s, p);
}

void thread_see_trace(struct sink *s, struct thread *t, struct trace *trace)
{
	const char *before = t->trace->comm;

	if (process_see_trace(s, t->process, trace))
		thread_renew(s, t);
	/* What the process was called, if the thread has no name of its own. */
	if (trace->comm && before && !strcmp(before, t->comm))
		thread_set_comm(s, t, trace->comm);
	t->trace = trace;
}

static void replace(struct sink *s, struct thread *t)
{
	if (t->pid == t->tid && process_exec(s, t->process))
		thread_renew(s, t);
	else
		thread_end(s, t, INT64_MIN);
}

void thread_see_name(struct sink *s, struct thread *t, const struct event *ev, const char *comm)
{
	if (ev->trace->keeps_names) {
		flame_string name = flame_intern(s->raw, comm, strlen(comm));

		if (t->name && t->name != name)
			replace(s, t);
		t->name = name;
	}
	thread_set_comm(s, t, comm);
}

void thread_see_pthread(struct sink *s, struct thread *t, const struct event *ev)
{
	uint64_t pthread;

	if (!field_number(ev->event, &ev->class->pthread, &pthread) || pthread == t->pthread)
		return;
	if (t->pthread)
		replace(s, t);
	t->pthread = pthread;
}

/* ---- events of the kernel ---- */

/* Return: the id in the event, or NULL. */
static struct thread_id *told_id(struct sink *s, const struct event *ev)
{
	uint64_t tid;

	return field_number(ev->event, &ev->class->f[F_TID], &tid) ? thread_id_find(s, ev->trace->host, (int32_t)tid) : NULL;
}

/* It ends itself, and so is the one that the event is of. Without contexts its id is all there is. */
static void on_exit_event(struct sink *s, const struct event *ev)
{
	struct thread *t = ev->pid >= 0 && ev->tid >= 0 ? thread_of(s, ev) : NULL;
	struct thread_id *id = t ? NULL : told_id(s, ev);

	if (t)
		thread_end(s, t, ev->time);
	if (id)
		id_end(s, id, field_text(ev->event, &ev->class->f[F_COMM]));
}

static void on_free(struct sink *s, const struct event *ev)
{
	struct thread_id *id = told_id(s, ev);

	if (id)
		id_end(s, id, field_text(ev->event, &ev->class->f[F_COMM]));
}

/* Whoever had the id of what begins now has ended. */
static void on_fork(struct sink *s, const struct event *ev)
{
	struct thread_id *id = told_id(s, ev);
	struct thread *t;
	uint64_t pid;

	if (!id)
		return;
	if (!field_number(ev->event, &ev->class->f[F_PID], &pid)) {
		id_end(s, id, NULL);
		return;
	}
	t = thread_get(s, ev->trace, (int32_t)pid, id->tid);
	if (!t)
		return;
	thread_begin(s, t);
	if (t->pid == t->tid)
		process_exec(s, t->process);
}

static void on_exec(struct sink *s, const struct event *ev)
{
	struct thread *t = ev->pid >= 0 ? thread_of(s, ev) : NULL;
	struct thread_id *id = t ? NULL : told_id(s, ev);

	if (t)
		process_exec(s, t->process);
	while (id && (t = id_take(s, id)))
		process_exec(s, t->process);
}

/* ---- which event is which ---- */

struct life {
	const char *name;	/* what is before a colon does not count */
	maps_handler handler;
	const char *tids[2], *pid;
};

static const struct life lives[] = {
	/* perf calls the id of a thread pid, and says nothing of the process. */
	{ "sched_process_exit", on_exit_event, { "tid", "pid" }, NULL },
	{ "sched_process_free", on_free, { "tid", "pid" }, NULL },
	{ "sched_process_fork", on_fork, { "child_tid", "child_pid" }, "child_pid" },
	{ "sched_process_exec", on_exec, { "tid", "pid" }, NULL },
	{ "task_newtask", on_fork, { "tid", "pid" }, NULL },
};

void life_recognise(struct sink *s, struct event_class *c, const char *name)
{
	const char *colon = strrchr(name, ':'), *base = colon ? colon + 1 : name;

	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		const struct life *l = &lives[i];

		if (strcmp(l->name, base) != 0)
			continue;
		c->roles |= ROLE_LIFE;
		c->maps = l->handler;
		c->f[F_TID] = field_find(c->class, l->tids[0], IN_PAYLOAD);
		if (c->f[F_TID].scope && l->pid)
			c->f[F_PID] = field_find(c->class, l->pid, IN_PAYLOAD);
		else if (!c->f[F_TID].scope)
			c->f[F_TID] = field_find(c->class, l->tids[1], IN_PAYLOAD);
		c->f[F_COMM] = field_find(c->class, "comm", IN_PAYLOAD);
		list_threads(s);
	}
}

void life_event(struct sink *s, const struct event *ev)
{
	ev->class->maps(s, ev);
}

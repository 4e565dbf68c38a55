// SPDX-License-Identifier: MIT
/*
 * threads.c - threads and processes, by host and id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/table.h"
#include "sink.h"

/* ---- a table of pointers ---- */

static bool pointers_grow(struct pointers *p, uint64_t (*hash_of)(const void *))
{
	uint32_t mask = p->slots ? 2 * p->mask + 1 : 255;
	void **slots = calloc((size_t)mask + 1, sizeof(void *));

	if (!slots)
		return false;
	for (uint32_t i = 0; p->slots && i <= p->mask; i++) {
		uint32_t j;

		if (!p->slots[i])
			continue;
		for (j = (uint32_t)hash_of(p->slots[i]) & mask; slots[j]; j = (j + 1) & mask)
			;
		slots[j] = p->slots[i];
	}
	free(p->slots);
	p->slots = slots;
	p->mask = mask;
	return true;
}

bool pointers_put(struct sink *s, struct pointers *p, uint64_t hash, void *pointer, uint64_t (*hash_of)(const void *))
{
	uint32_t i;

	if ((!p->slots || p->nr >= p->mask / 2) && !pointers_grow(p, hash_of)) {
		sink_fail(s, FLAME_ENOMEM);
		return false;
	}
	for (i = (uint32_t)hash & p->mask; p->slots[i]; i = (i + 1) & p->mask)
		;
	p->slots[i] = pointer;
	p->nr++;
	return true;
}

/* ---- processes ---- */

static uint64_t hash_ids(uint32_t host, int32_t pid, int32_t tid)
{
	return hash_mix((uint64_t)(uint32_t)pid << 32 ^ (uint32_t)tid ^ HASH_A, host ^ HASH_B);
}

static uint64_t hash_process(const void *p)
{
	const struct process *process = p;

	return hash_ids(process->host, process->pid, 0);
}

static struct process *process_new(struct sink *s, uint32_t host, int32_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p || !array_reserve((void **)&s->processes, &s->room_processes, s->nr_processes + 1,
				 sizeof(struct process *))) {
		free(p);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	*p = (struct process){ .host = host, .pid = pid, .dumper = -1 };
	process_set_image(p, image_new(s, NULL));
	if (!p->image) {
		free(p);
		return NULL;
	}
	s->processes[s->nr_processes++] = p;
	pointers_put(s, &s->by_pid, hash_process(p), p, hash_process);
	return p;
}

struct process *process_get(struct sink *s, uint32_t host, int32_t pid)
{
	const struct pointers *t = &s->by_pid;

	for (uint32_t i = (uint32_t)hash_ids(host, pid, 0) & t->mask; t->slots && t->slots[i]; i = (i + 1) & t->mask) {
		struct process *p = t->slots[i];

		if (p->pid == pid && p->host == host)
			return p;
	}
	return process_new(s, host, pid);
}

/* ---- threads ---- */

static uint64_t hash_thread(const void *p)
{
	const struct thread *t = p;

	return hash_ids(t->host, t->pid, t->tid);
}

static bool passes(const struct numbers *filter, int32_t id)
{
	for (size_t i = 0; i < filter->nr; i++) {
		if (filter->items[i] == id)
			return true;
	}
	return !filter->nr;
}

static bool is_wanted(const struct sink *s, const struct thread *t)
{
	const struct texts *comms = &s->params.comms;
	bool named = !comms->nr;

	for (size_t i = 0; i < comms->nr && !named; i++)
		named = !strcmp(comms->items[i], t->comm);
	return named && passes(&s->params.pids, t->pid) && passes(&s->params.tids, t->tid);
}

flame_frame text_frame(struct sink *s, const char *text, size_t len, enum flame_kind kind)
{
	struct flame_frame_info info = { .kind = kind };

	info.name = len ? flame_intern(s->raw, text, len) : flame_intern(s->raw, "[unknown]", 9);
	return flame_frame_row(s->raw, &info);
}

static void set_root(struct sink *s, struct thread *t)
{
	struct flame_task_info task = { .pid = t->pid, .tid = t->tid, .comm = flame_intern(s->raw, t->comm, strlen(t->comm)) };
	const char *root = s->params.root;

	t->root = 0;
	/* Of what nothing is known there is nothing to name. */
	if (t->pid < 0 && t->tid < 0 && !t->comm[0] && (!root || strcmp(root, "hostname") != 0))
		root = "none";
	if (!root || !strcmp(root, "comm") || !strcmp(root, "pid") || !strcmp(root, "tid"))
		t->root = flame_task_root(s->raw, &task);
	if (root && !strcmp(root, "hostname") && t->trace && t->trace->hostname)
		t->root = flame_stack_push(s->raw, 0, text_frame(s, t->trace->hostname, strlen(t->trace->hostname), FLAME_TASK));
	t->lost_root = 0;
	t->wanted = is_wanted(s, t);
}

void thread_set_comm(struct sink *s, struct thread *t, const char *comm)
{
	if (!strncmp(t->comm, comm, sizeof(t->comm) - 1))
		return;
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
	set_root(s, t);
}

static struct thread *thread_new(struct sink *s, struct trace *trace, int32_t pid, int32_t tid)
{
	struct thread *t = calloc(1, sizeof(*t));

	if (!t || !array_reserve((void **)&s->threads, &s->room_threads, s->nr_threads + 1, sizeof(struct thread *))) {
		free(t);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	t->host = trace->host;
	t->pid = pid;
	t->tid = tid;
	t->trace = trace;
	s->threads[s->nr_threads++] = t;
	t->process = process_get(s, trace->host, pid);
	if (t->process) {
		t->exec = t->process->exec;
		t->image = t->process->image;
	}
	if (trace->comm)
		snprintf(t->comm, sizeof(t->comm), "%s", trace->comm);
	set_root(s, t);
	pointers_put(s, &s->by_tid, hash_thread(t), t, hash_thread);
	if (s->lists_threads)
		thread_list(s, t);
	return t->process ? t : NULL;
}

struct thread *thread_find(struct sink *s, struct trace *trace, int32_t pid, int32_t tid)
{
	struct thread **recent = &s->recent_threads[(uint32_t)tid % RECENT], *t;
	const struct pointers *p = &s->by_tid;

	for (uint32_t i = (uint32_t)hash_ids(trace->host, pid, tid) & p->mask; p->slots && p->slots[i];
	     i = (i + 1) & p->mask) {
		t = p->slots[i];
		if (t->tid == tid && t->pid == pid && t->host == trace->host)
			return *recent = t;
	}
	return *recent = thread_new(s, trace, pid, tid);
}

void thread_renew(struct sink *s, struct thread *t)
{
	calls_renew(s, t);
	if (!t->image && s->lists_threads)
		thread_list(s, t);
	t->image = t->process->image;
	/* Another program runs in the process: nothing that was open will be closed. */
	if (t->exec != t->process->exec) {
		t->exec = t->process->exec;
		thread_end(s, t, INT64_MIN);
	}
}

flame_stack thread_root(struct sink *s, struct thread *t, const struct event *ev)
{
	char text[32];
	uint64_t cpu;

	if (!s->params.root || strcmp(s->params.root, "cpu") != 0)
		return t->root;
	/* LTTng and perf tell the processor in the packet, not in the event. */
	if (!field_number(ev->event, &ev->class->cpu, &cpu)) {
		const bt_stream *stream = bt_event_borrow_stream_const(ev->event);
		const bt_packet *packet = bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream)) ?
			bt_event_borrow_packet_const(ev->event) : NULL;
		const bt_field *all = packet ? bt_packet_borrow_context_field_const(packet) : NULL;
		const bt_field *f = all ? bt_field_structure_borrow_member_field_by_name_const(all, "cpu_id") : NULL;

		if (!f || !bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
			return 0;
		cpu = bt_field_integer_unsigned_get_value(f);
	}
	snprintf(text, sizeof(text), "cpu%llu", (unsigned long long)cpu);
	return flame_stack_push(s->raw, 0, text_frame(s, text, strlen(text), FLAME_TASK));
}

/* ---- what is open in a thread ---- */

bool open_grow(struct sink *s, struct open_frames *open)
{
	/* There may be very many threads, with few open frames each. Doubled, 8 is BT2_DEPTH_MAX at last. */
	uint32_t room = open->room ? 2 * open->room : 8;
	struct open_frame *frames;

	if (open->nr >= BT2_DEPTH_MAX || open->too_deep) {
		open->too_deep++;
		return false;
	}
	frames = realloc(open->frames ? open->frames - 1 : NULL, (room + 2) * sizeof(*frames));
	if (!frames) {
		sink_fail(s, FLAME_ENOMEM);
		return false;
	}
	if (!open->frames)
		frames[0] = (struct open_frame){ 0 };
	/* One lies before the first. */
	open->frames = frames + 1;
	open->room = room;
	/* cppcheck-suppress memleak */
	return true;
}

void open_release(struct open_frames *open)
{
	if (open->frames)
		free(open->frames - 1);
}

void open_close(struct sink *s, struct series *series, struct open_frames *open, uint32_t stay)
{
	while (open->nr > stay)
		open_pop(s, series, open);
}

void open_lost(struct sink *s, struct thread *t, struct open_frames *open, struct trace *trace)
{
	static const char name[] = "[events lost]";
	bool calls = open == &t->calls, lost = open->trace && open->losses != open->trace->losses;

	if (trace != open->trace)
		thread_see_trace(s, t, trace);
	open->trace = trace;
	open->losses = trace ? trace->losses : 0;
	if (!lost || !open->nr)
		return;
	s->counts.losses_cut++;
	/* Only where there were callers is it known that they are missing. */
	if (calls && !t->lost_root)
		t->lost_root = flame_stack_push(s->raw, t->root, text_frame(s, name, sizeof(name) - 1, FLAME_MARKER));
	if (calls)
		calls_cut(s, t);
	else
		spans_cut(s, t);
}

static void settle(struct sink *s, struct series *series, struct thread *t, struct open_frames *open)
{
	open_lost(s, t, open, open->trace);
	for (uint32_t i = 0; i < open->nr; i++) {
		struct open_frame *f = &open->frames[i];

		series_add(s, series, f->stack, f->value, f->counts);
		f->value = 0;
		f->counts = false;
	}
}

void threads_settle(struct sink *s)
{
	calls_settle(s);
	for (size_t i = 0; i < s->nr_threads; i++) {
		settle(s, s->calls, s->threads[i], &s->threads[i]->calls);
		settle(s, s->spans, s->threads[i], &s->threads[i]->spans);
	}
}

void trace_cut(struct trace *trace)
{
	trace->losses++;
	trace->first->host_losses++;
}

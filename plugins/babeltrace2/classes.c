// SPDX-License-Identifier: MIT
/*
 * classes.c - what the events of a class are good for, found when the first of them comes.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/table.h"
#include "sink.h"

static uint64_t hash_pointer(const void *p)
{
	return hash_mix((uint64_t)(uintptr_t)p, HASH_A);
}

static uint64_t hash_class(const void *p)
{
	return hash_pointer(((const struct event_class *)p)->class);
}

/* Return: the first of @names that there is. */
static struct field find_first(const bt_event_class *class, const char *const *names, unsigned int scopes)
{
	struct field f = { 0 };

	for (; *names && !f.scope; names++)
		f = field_find(class, *names, scopes);
	return f;
}

/* Which thread an event is of. perf writes that into the payload, LTTng into contexts. */
static void find_thread_fields(struct event_class *c)
{
	static const char *const pid[] = { "pid", "vpid", NULL }, *const tid[] = { "tid", "vtid", NULL };

	c->ids.pid = field_find(c->class, "perf_pid", IN_PAYLOAD);
	c->ids.tid = field_find(c->class, "perf_tid", IN_PAYLOAD);
	if (!c->ids.pid.scope)
		c->ids.pid = find_first(c->class, pid, IN_CONTEXT);
	if (!c->ids.tid.scope)
		c->ids.tid = find_first(c->class, tid, IN_CONTEXT);
	ids_prepare(&c->ids);
	c->comm = field_find(c->class, "procname", IN_CONTEXT);
	c->pthread = field_find(c->class, "pthread_id", IN_CONTEXT);
	c->contexts = c->comm.scope || c->pthread.scope;
	c->ip = field_find(c->class, "ip", IN_CONTEXT);
	c->cpu = field_find(c->class, "cpu_id", IN_CONTEXT);
	c->debug_info = field_find(c->class, "debug_info", IN_COMMON);
}

/* Return: whether the address is always there where it has to be, and nothing else has to be looked at. */
static bool is_plain_call(const struct sink *s, const struct event_class *c)
{
	const char *root = s->params.root;
	bool number = c->address.shape == SHAPE_UNSIGNED || c->address.shape == SHAPE_SIGNED;

	return c->has_clock && !c->debug_info.scope && (number || (!c->call_entry && !c->call_address)) &&
	       !s->params.time && (!root || strcmp(root, "cpu") != 0);
}

static void find_calls(struct sink *s, struct event_class *c, const char *name)
{
	static const char prefix[] = "lttng_ust_cyg_profile";
	static const struct series like = { .unit = "ns", .about = "wall time of function calls", .what = "calls",
					    .kind = FLAME_VALUE_WALL, .rank = 0 };
	const char *end = strrchr(name, ':');

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || !end)
		return;
	if (!strcmp(end, ":func_entry"))
		c->roles |= ROLE_CALL_ENTRY;
	else if (!strcmp(end, ":func_exit"))
		c->roles |= ROLE_CALL_EXIT;
	else
		return;
	c->address = field_find(c->class, "addr", IN_PAYLOAD);
	if (!c->address.scope && c->roles & ROLE_CALL_EXIT)
		c->address = c->ip;
	c->call_address = c->address.scope;
	c->site = field_find(c->class, "call_site", IN_PAYLOAD);
	c->call_entry = c->roles & ROLE_CALL_ENTRY;
	c->call_plain = is_plain_call(s, c);
	s->calls = series_get(s, "calls", &like);
}

/* Return: the name of the series of an event's samples, which is not that of another kind. */
static const char *sample_name(const char *name, char *room, size_t size)
{
	static const char *const taken[] = { "calls", "calls-not-nested", "off-cpu", "spans", "spans-not-nested" };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (!strcmp(name, taken[i])) {
			snprintf(room, size, "event:%s", name);
			return room;
		}
	}
	return name;
}

static struct series *sample_series(struct sink *s, const struct event_class *c, const char *name)
{
	struct series like = { .unit = "count", .about = "samples of an event", .what = "samples", .rank = 1 };
	static const char *const on_cpu[] = { "cpu-clock", "task-clock", "cycles", "cpu_core/cycles/", "cpu_atom/cycles/" };
	static const char *const in_ns[] = { "cpu-clock", "task-clock" };
	char room[32];

	like.order = bt_event_class_get_id(c->class);
	for (size_t i = 0; c->perf_chain && i < sizeof(on_cpu) / sizeof(on_cpu[0]); i++) {
		if (!strncmp(name, on_cpu[i], strlen(on_cpu[i])))
			like.kind = FLAME_VALUE_ON_CPU;
	}
	for (size_t i = 0; c->perf_chain && i < sizeof(in_ns) / sizeof(in_ns[0]); i++) {
		if (!strncmp(name, in_ns[i], strlen(in_ns[i])))
			like.unit = "ns";
	}
	/* How often threads are switched says less than how long they are away. */
	if (c->roles & ROLE_SWITCH)
		like.rank = 3;
	return series_get(s, sample_name(name, room, sizeof(room)), &like);
}

static void find_sample(struct sink *s, struct event_class *c)
{
	static const char *const user[] = { "callstack_user", "callstack", "callchain", NULL };
	static const char *const weight[] = { "weight", "period", NULL };

	c->user_chain = field_find(c->class, "perf_callchain", IN_PAYLOAD);
	c->address = c->address.scope ? c->address : field_find(c->class, "perf_ip", IN_PAYLOAD);
	c->perf_chain = c->user_chain.scope || field_find(c->class, "perf_ip", IN_PAYLOAD).scope;
	if (!c->perf_chain) {
		c->user_chain = find_first(c->class, user, ANYWHERE);
		c->kernel_chain = field_find(c->class, "callstack_kernel", IN_CONTEXT);
	}
	if (c->user_chain.content != SHAPE_ARRAY)
		c->user_chain = (struct field){ 0 };
	if (c->kernel_chain.content != SHAPE_ARRAY)
		c->kernel_chain = (struct field){ 0 };
	if (!c->perf_chain && !c->user_chain.scope && !c->kernel_chain.scope)
		return;
	c->weight = c->perf_chain ? field_find(c->class, "perf_period", IN_PAYLOAD) :
				    find_first(c->class, weight, IN_PAYLOAD);
	c->roles |= ROLE_SAMPLE;
	c->series = sample_series(s, c, c->name);
}

static void find_switch(struct sink *s, struct event_class *c, const char *name)
{
	static const struct series like = { .unit = "ns", .about = "time off the processor", .what = "switches",
					    .kind = FLAME_VALUE_OFF_CPU, .rank = 2 };
	static const char *const prev[] = { "prev_tid", "prev_pid", NULL }, *const next[] = { "next_tid", "next_pid", NULL };
	size_t len = strlen(name), tail = strlen("sched_switch");

	if (len < tail || strcmp(name + len - tail, "sched_switch") != 0)
		return;
	c->prev_tid = find_first(c->class, prev, IN_PAYLOAD);
	c->next_tid = find_first(c->class, next, IN_PAYLOAD);
	c->prev_comm = field_find(c->class, "prev_comm", IN_PAYLOAD);
	c->prev_state = field_find(c->class, "prev_state", IN_PAYLOAD);
	if (!c->prev_tid.scope || !c->next_tid.scope)
		return;
	c->roles |= ROLE_SWITCH;
	s->off_cpu = series_get(s, "off-cpu", &like);
}

static bool has_clock(const bt_event_class *class)
{
	return bt_stream_class_borrow_default_clock_class_const(bt_event_class_borrow_stream_class_const(class));
}

/* Return: NULL where there is none, as always under MIP 0. */
static const char *class_namespace(const struct sink *s, const bt_event_class *class)
{
#ifdef HAVE_BT2_MIP_1
	if (s->mip > 0)
		return bt_event_class_get_namespace(class);
#endif
	(void)s;
	(void)class;
	return NULL;
}

bool class_is_named(const struct sink *s, const bt_event_class *class, const char *name)
{
	const char *space = class_namespace(s, class), *own = bt_event_class_get_name(class);
	size_t n = space ? strlen(space) : 0;

	if (!own)
		return false;
	if (!space)
		return !strcmp(own, name);
	return !strncmp(name, space, n) && name[n] == ':' && !strcmp(name + n + 1, own);
}

/* Equal names in two namespaces are two events. Return: owned by the caller. */
static char *full_name(const struct sink *s, const bt_event_class *class)
{
	const char *space = class_namespace(s, class), *own = bt_event_class_get_name(class);
	char *text = NULL;

	if (own && asprintf(&text, "%s%s%s", space ? space : "", space ? ":" : "", own) < 0)
		text = NULL;
	return text;
}

static void find_roles(struct sink *s, struct event_class *c, const char *name)
{
	find_calls(s, c, name);
	maps_recognise(c, name);
	if (c->roles)
		return;
	find_switch(s, c, name);
	find_sample(s, c);
	spans_recognise(s, c);
	life_recognise(s, c, name);
	if (!strcmp(name, "ros2:rclcpp_callback_register")) {
		c->roles |= ROLE_CALLBACK_NAME;
		c->f[0] = field_find(c->class, "callback", IN_PAYLOAD);
		c->f[1] = field_find(c->class, "symbol", IN_PAYLOAD);
	}
}

static struct event_class *class_new(struct sink *s, const bt_event_class *class)
{
	const char *name = bt_event_class_get_name(class);
	struct event_class *c = calloc(1, sizeof(*c));

	if (!c || !array_reserve((void **)&s->classes, &s->room_classes, s->nr_classes + 1, sizeof(struct event_class *))) {
		free(c);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	s->classes[s->nr_classes++] = c;
	c->class = class;
	bt_event_class_get_ref(class);
	c->has_clock = has_clock(class);
	pointers_put(s, &s->by_class, hash_pointer(class), c, hash_class);
	find_thread_fields(c);
	if (name) {
		c->name = full_name(s, class);
		if (c->name)
			find_roles(s, c, name);
		else
			sink_fail(s, FLAME_ENOMEM);
	}
	c->plain = !c->roles || (c->has_clock && c->ids.both);
	return c;
}

struct event_class *class_find(struct sink *s, const bt_event_class *class)
{
	struct event_class **recent = class_place(s, class), *c;
	const struct pointers *p = &s->by_class;

	for (uint32_t i = (uint32_t)hash_pointer(class) & p->mask; p->slots && p->slots[i]; i = (i + 1) & p->mask) {
		c = p->slots[i];
		if (c->class == class)
			return *recent = c;
	}
	return *recent = class_new(s, class);
}

/* ---- traces ---- */

static const bt_value *environment(const bt_trace *trace, const char *name)
{
	return bt_trace_borrow_environment_entry_value_by_name_const(trace, name);
}

static char *environment_text(const bt_trace *trace, const char *name)
{
	const bt_value *v = environment(trace, name);

	return v && bt_value_is_string(v) ? strdup(bt_value_string_get(v)) : NULL;
}

static long long environment_number(const bt_trace *trace, const char *name)
{
	const bt_value *v = environment(trace, name);

	return v && bt_value_is_signed_integer(v) ? bt_value_integer_signed_get(v) : -1;
}

/* LTTng tells its version in numbers, perf as text. */
static char *tool_of(const bt_trace *trace)
{
	const bt_value *name = environment(trace, "tracer_name"), *version = environment(trace, "version");
	long long major = environment_number(trace, "tracer_major"), minor = environment_number(trace, "tracer_minor");
	char *text = NULL;
	int n;

	if (!name || !bt_value_is_string(name))
		return NULL;
	if (major >= 0 && minor >= 0)
		n = asprintf(&text, "%s %lld.%lld", bt_value_string_get(name), major, minor);
	else if (version && bt_value_is_string(version))
		n = asprintf(&text, "%s %s", bt_value_string_get(name), bt_value_string_get(version));
	else
		return strdup(bt_value_string_get(name));
	return n < 0 ? NULL : text;
}

/* With buffers by process LTTng-UST tells of the process. Return: its program's name and when that began. */
static char *program_of(const bt_trace *trace)
{
	char *name = environment_text(trace, "procname"), *since = environment_text(trace, "vpid_datetime"), *text = NULL;

	if (name && since && asprintf(&text, "%s %s", name, since) < 0)
		text = NULL;
	free(name);
	free(since);
	return text;
}

static void set_host(const struct sink *s, struct trace *t)
{
	t->first = t;
	t->host = (uint32_t)s->nr_traces + 1;
	for (size_t i = 0; i < s->nr_traces; i++) {
		struct trace *other = s->traces[i];

		if (other->hostname == t->hostname ||
		    (other->hostname && t->hostname && !strcmp(other->hostname, t->hostname))) {
			t->first = other->first;
			t->host = other->host;
			return;
		}
	}
}

static struct trace *trace_new(struct sink *s, const bt_trace *trace)
{
	long long pid = environment_number(trace, "vpid");
	struct trace *t = calloc(1, sizeof(*t));

	if (!t || !array_reserve((void **)&s->traces, &s->room_traces, s->nr_traces + 1, sizeof(struct trace *))) {
		free(t);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	t->trace = trace;
	bt_trace_get_ref(trace);
	t->pid = pid >= 0 && pid <= INT32_MAX ? (int32_t)pid : -1;
	t->comm = environment_text(trace, "procname");
	t->hostname = environment_text(trace, "hostname");
	if (!t->hostname)
		t->hostname = environment_text(trace, "host");	/* perf */
	t->tool = tool_of(trace);
	t->keeps_names = t->tool && !strncmp(t->tool, "lttng-ust", strlen("lttng-ust"));
	t->program = program_of(trace);
	set_host(s, t);
	s->traces[s->nr_traces++] = t;
	return t;
}

struct trace *trace_find(struct sink *s, const bt_trace *trace)
{
	for (size_t i = 0; i < s->nr_traces; i++) {
		if (s->traces[i]->trace == trace)
			return s->last_trace = s->traces[i];
	}
	return s->last_trace = trace_new(s, trace);
}

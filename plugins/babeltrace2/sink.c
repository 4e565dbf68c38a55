// SPDX-License-Identifier: MIT
/*
 * sink.c - the component's life, and each message's way to the rooms that it is for.
 */
#define _GNU_SOURCE
#include "sink.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/meta.h"
#include "../../core/table.h"
#include "plugin.h"

#define CHAINS_MAX ((size_t)64 << 20)	/* bytes of chains whose stacks are remembered */
#define CALLBACKS_MAX ((size_t)16 << 20)

void sink_fail(struct sink *s, int err)
{
	if (!s->error)
		s->error = err;
}

/* Names come from the trace and may hold anything. */
char *shown_text(const char *format, va_list args)
{
	char *raw = NULL, *text = NULL;
	size_t size;
	FILE *f;

	if (vasprintf(&raw, format, args) < 0)
		return NULL;
	f = open_memstream(&text, &size);
	if (f) {
		flame_text_write((struct flame_span){ raw, strlen(raw) }, f);
		fclose(f);
	}
	free(raw);
	return text;
}

void sink_say(const struct sink *s, enum flame_severity severity, const char *format, ...)
{
	static const char *const words[] = { [FLAME_NOTE] = "note", [FLAME_WARNING] = "warning", [FLAME_ERROR] = "error" };
	va_list args;
	char *text;

	if (s->params.quiet || s->level > BT_LOGGING_LEVEL_WARNING)
		return;
	va_start(args, format);
	text = shown_text(format, args);
	va_end(args);
	fprintf(stderr, "flame: %s: %s\n", words[severity], text ? text : "out of memory");
	free(text);
}

/* ---- values ---- */

struct series *series_get(struct sink *s, const char *name, const struct series *like)
{
	struct series *series;

	for (size_t i = 0; i < s->nr_series; i++) {
		if (!strcmp(s->series[i]->name, name))
			return s->series[i];
	}
	series = malloc(sizeof(*series));
	if (!series || !array_reserve((void **)&s->series, &s->room_series, s->nr_series + 1, sizeof(struct series *))) {
		free(series);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	*series = *like;
	series->name = strdup(name);
	if (!series->name) {
		free(series);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	return s->series[s->nr_series++] = series;
}

bool series_reserve(struct sink *s, struct series *series, flame_stack stack)
{
	size_t before = series->room;

	if (!array_reserve((void **)&series->tallies, &series->room, (size_t)stack + 1, sizeof(*series->tallies))) {
		sink_fail(s, FLAME_ENOMEM);
		return false;
	}
	memset(series->tallies + before, 0, (series->room - before) * sizeof(*series->tallies));
	return true;
}

void series_sum(struct series *series)
{
	series->nr = 0;
	series->used = false;
	for (size_t i = 0; i < series->room; i++) {
		series->nr += series->tallies[i].nr;
		series->used |= series->tallies[i].nr || series->tallies[i].value;
	}
}

/* ---- messages ---- */

struct role_handler {
	enum role role;
	void (*handle)(struct sink *s, const struct event *ev);
};

static const struct role_handler role_handlers[] = {
	{ ROLE_SWITCH, switch_event },
	{ ROLE_SAMPLE, sample_event },
	{ ROLE_SPAN_END, span_end },	/* an event may end one pair and begin another */
	{ ROLE_SPAN_BEGIN, span_begin },
	{ ROLE_CALLBACK_NAME, callback_name },
	{ ROLE_LIFE, life_event },	/* after what its event has besides */
};

static inline void dispatch(struct sink *s, const struct event *ev)
{
	unsigned int roles = ev->class->roles;

	if (roles & ROLE_MAPS) {
		if (ev->class->maps)
			ev->class->maps(s, ev);
	} else {
		for (size_t i = 0; i < sizeof(role_handlers) / sizeof(role_handlers[0]); i++) {
			if (roles & role_handlers[i].role)
				role_handlers[i].handle(s, ev);
		}
	}
}

/* perf's events that tell what was there before have the time 0. */
static void start_clock(struct sink *s, const struct event *ev)
{
	const struct params *p = &s->params;

	if (!ev->class->has_clock || (!ev->time && ev->class->roles & ROLE_MAPS))
		return;
	s->started = true;
	s->first_time = ev->time;
	s->since_1970 = bt_clock_class_origin_is_unix_epoch(bt_stream_class_borrow_default_clock_class_const(
		bt_event_class_borrow_stream_class_const(ev->class->class)));
	if (!p->time)
		return;
	if (__builtin_add_overflow(ev->time, llround(p->from * 1e9), &s->from))
		s->from = INT64_MAX;
	if (p->to && __builtin_add_overflow(ev->time, llround(p->to * 1e9), &s->to))
		s->to = INT64_MAX;
}

/* Return: false where the time cannot be told. */
static inline bool read_time(struct sink *s, const bt_message *message, struct event *ev)
{
	ev->time = 0;
	if (ev->class->has_clock) {
		const bt_clock_snapshot *snapshot = bt_message_event_borrow_default_clock_snapshot_const(message);

		if (bt_clock_snapshot_get_ns_from_origin(snapshot, &ev->time) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK) {
			s->counts.clockless++;
			return false;
		}
		s->last_time = ev->time;
	} else {
		s->counts.clockless++;
	}
	if (!s->started)
		start_clock(s, ev);
	return true;
}

/* Return: false where the event is of no use. */
static bool read_event(struct sink *s, const bt_message *message, struct event *ev)
{
	/* The beginning of each stream has been seen: where there is one trace, the event is of it. */
	ev->trace = s->nr_traces == 1 ? s->traces[0] : trace_get(s, bt_event_borrow_stream_const(ev->event));
	if (!ev->trace || !read_time(s, message, ev) || !ev->class->roles)
		return false;
	ev->pid = ev->trace->pid;
	ev->tid = -1;
	ids_get(ev->event, &ev->class->ids, &ev->pid, &ev->tid);
	return true;
}

/* Return: how many of the events are of use; these are moved to the front. */
static size_t read_events(struct sink *s, const bt_message *const *messages, struct event *events, size_t nr)
{
	size_t nr_read = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!read_event(s, messages[i], &events[i]))
			continue;
		if (nr_read < i)
			events[nr_read] = events[i];
		nr_read++;
	}
	return nr_read;
}

/*
 * The same for events of one trace whose classes are all plain. Each loop has so little to do for an event that the
 * processor is ahead by several, for all of which it waits for memory at once.
 * Return: false where some time cannot be told; nothing has happened then.
 */
static bool read_plain(struct sink *s, const bt_message *const *messages, struct event *events, size_t nr)
{
	struct trace *trace = s->traces[0];
	int64_t time = s->last_time;

	for (size_t i = 0; i < nr; i++) {
		const bt_clock_snapshot *snapshot = bt_message_event_borrow_default_clock_snapshot_const(messages[i]);

		if (bt_clock_snapshot_get_ns_from_origin(snapshot, &time) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
			return false;
		events[i].time = time;
	}
	for (size_t i = 0; i < nr; i++) {
		struct event *ev = &events[i];

		ev->trace = trace;
		ids_get_both(ev->event, &ev->class->ids, &ev->pid, &ev->tid);
	}
	s->last_time = time;
	return true;
}

static void on_loss(struct sink *s, const bt_stream *stream, bool counted, uint64_t nr, uint64_t *sum)
{
	struct trace *trace = trace_get(s, stream);

	if (counted)
		*sum += nr;
	else
		s->counts.lost_unknown++;
	if (trace)
		trace_cut(trace);
}

static void on_other_message(struct sink *s, const bt_message *m, bt_message_type type)
{
	uint64_t nr = 0;
	bool counted;

	switch (type) {
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		trace_get(s, bt_message_stream_beginning_borrow_stream_const(m));
		break;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		counted = bt_message_discarded_events_get_count(m, &nr) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
		on_loss(s, bt_message_discarded_events_borrow_stream_const(m), counted, nr, &s->counts.lost_events);
		break;
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		counted = bt_message_discarded_packets_get_count(m, &nr) == BT_PROPERTY_AVAILABILITY_AVAILABLE;
		on_loss(s, bt_message_discarded_packets_borrow_stream_const(m), counted, nr, &s->counts.lost_packets);
		break;
	default:
		break;
	}
}

static inline void read_call(struct event *ev)
{
	const struct event_class *c = ev->class;

	field_number(ev->event, &c->address, &ev->address);
	if (c->site.scope)
		field_number(ev->event, &c->site, &ev->site);
}

/*
 * Whether an event is an entry or an exit cannot be foretold: a branch on that for each would keep the processor from
 * reading the next while this one waits for memory, so that what several hold is read without such branches.
 */
static void read_calls(struct event *events, size_t nr)
{
	struct event *calls[EVENTS_AT_ONCE];
	size_t nr_calls = 0;

	for (size_t i = 0; i < nr; i++) {
		events[i].site = 0;
		calls[nr_calls] = &events[i];
		nr_calls += events[i].class->call_address;
	}
	for (size_t i = 0; i < nr_calls; i++)
		read_call(calls[i]);
}

/* Handle the events that @messages begins with. Return: how many messages that were. */
static uint64_t on_events(struct sink *s, const bt_message *const *messages, uint64_t nr)
{
	const bt_message *kept[EVENTS_AT_ONCE];
	struct event events[EVENTS_AT_ONCE];
	bool plain = s->started && s->nr_traces == 1;
	size_t nr_events = 0;
	uint64_t i;

	for (i = 0; i < nr && i < EVENTS_AT_ONCE && bt_message_get_type(messages[i]) == BT_MESSAGE_TYPE_EVENT; i++) {
		struct event *ev = &events[nr_events];

		ev->event = bt_message_event_borrow_event_const(messages[i]);
		ev->class = class_get(s, bt_event_borrow_class_const(ev->event));
		if (!ev->class)
			return i;
		kept[nr_events] = messages[i];
		plain &= ev->class->plain;
		nr_events += ev->class->roles || !s->started;
	}
	s->counts.events += i;
	if (!plain || !read_plain(s, kept, events, nr_events))
		nr_events = read_events(s, kept, events, nr_events);
	read_calls(events, nr_events);
	for (const struct event *ev = events, *end = events + nr_events; ev < end && !s->error; ) {
		if (ev->class->roles & (ROLE_CALL_ENTRY | ROLE_CALL_EXIT))
			ev = calls_events(s, ev, end);
		else
			dispatch(s, ev++);
	}
	return i;
}

static void on_messages(struct sink *s, const bt_message *const *messages, uint64_t nr)
{
	for (uint64_t i = 0; i < nr && !s->error; ) {
		bt_message_type type = bt_message_get_type(messages[i]);

		if (type == BT_MESSAGE_TYPE_EVENT)
			i += on_events(s, messages + i, nr - i);
		else
			on_other_message(s, messages[i++], type);
	}
	samples_settle(s);
}

/* ---- the component ---- */

static void fail_component(struct sink *s, int err)
{
	s->failed = true;
	BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(bt_self_component_sink_as_self_component(s->self),
							    "flame: %s", flame_strerror(err));
}

static bt_component_class_sink_consume_method_status finish(struct sink *s)
{
	s->done = true;
	if (output_write(s)) {
		s->failed = true;
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_END;
}

bt_component_class_sink_consume_method_status flame_sink_consume(bt_self_component_sink *self)
{
	struct sink *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	bt_message_array_const messages;
	uint64_t nr = 0;

	switch (bt_message_iterator_next(s->iterator, &messages, &nr)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return finish(s);
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_AGAIN;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_MEMORY_ERROR:
		s->failed = true;
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_MEMORY_ERROR;
	default:
		/* babeltrace2 tells what is wrong: this is only where it was noticed. */
		s->failed = true;
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(bt_self_component_sink_as_self_component(self),
								    "flame: the trace could not be read to its end; nothing is written");
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	on_messages(s, messages, nr);
	for (uint64_t i = 0; i < nr; i++)
		bt_message_put_ref(messages[i]);
	if (!s->error)
		s->error = flame_profile_error(s->raw);
	if (s->error) {
		fail_component(s, s->error);
		return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_SINK_CONSUME_METHOD_STATUS_OK;
}

bt_component_class_sink_graph_is_configured_method_status flame_sink_configured(bt_self_component_sink *self)
{
	struct sink *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));
	bt_self_component_port_input *port = bt_self_component_sink_borrow_input_port_by_name(self, "in");

	switch (bt_message_iterator_create_from_sink_component(self, port, &s->iterator)) {
	case BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_OK:
		return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_OK;
	case BT_MESSAGE_ITERATOR_CREATE_FROM_SINK_COMPONENT_STATUS_MEMORY_ERROR:
		return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_MEMORY_ERROR;
	default:
		return BT_COMPONENT_CLASS_SINK_GRAPH_IS_CONFIGURED_METHOD_STATUS_ERROR;
	}
}

static void free_all(void *items, size_t nr)
{
	void **p = items;

	for (size_t i = 0; i < nr; i++)
		free(p[i]);
	free(items);
}

static void sink_free(struct sink *s)
{
	for (size_t i = 0; i < s->nr_series; i++) {
		free(s->series[i]->name);
		free(s->series[i]->tallies);
	}
	for (size_t i = 0; i < s->nr_classes; i++) {
		bt_event_class_put_ref(s->classes[i]->class);
		free(s->classes[i]->name);
	}
	for (size_t i = 0; i < s->nr_traces; i++) {
		bt_trace_put_ref(s->traces[i]->trace);
		free(s->traces[i]->comm);
		free(s->traces[i]->hostname);
		free(s->traces[i]->tool);
		free(s->traces[i]->program);
	}
	for (size_t i = 0; i < s->nr_threads; i++) {
		open_release(&s->threads[i]->calls);
		open_release(&s->threads[i]->spans);
	}
	for (size_t i = 1; i < s->nr_images; i++) {
		free(s->images[i]->maps);
		free(s->images[i]->calls);
		free(s->images[i]->call_hashes);
	}
	free_all(s->series, s->nr_series);
	free_all(s->classes, s->nr_classes);
	free_all(s->traces, s->nr_traces);
	free_all(s->threads, s->nr_threads);
	free_all(s->processes, s->nr_processes);
	free_all(s->images, s->nr_images);
	free(s->by_class.slots);
	free(s->by_tid.slots);
	free(s->by_pid.slots);
	free_all(s->thread_ids.slots, s->thread_ids.slots ? (size_t)s->thread_ids.mask + 1 : 0);
	free(s->codes);
	free(s->chain);
	flame_cache_release(&s->chains);
	flame_cache_release(&s->callbacks);
	flame_profile_free(s->raw);
	params_release(&s->params);
	bt_message_iterator_put_ref(s->iterator);
	free(s);
}

/* After SIGINT, and behind a live source, the end never comes: what there is is written now. */
void flame_sink_finalize(bt_self_component_sink *self)
{
	struct sink *s = bt_self_component_get_data(bt_self_component_sink_as_self_component(self));

	if (s->iterator && !s->done && !s->failed && !s->error && s->counts.events) {
		sink_say(s, FLAME_WARNING, "interrupted: what came until now is written");
		if (output_write(s))
			bt_current_thread_clear_error();
	}
	sink_free(s);
}

static enum flame_root root_of(const char *root)
{
	if (root && !strcmp(root, "pid"))
		return FLAME_ROOT_PID;
	return root && !strcmp(root, "tid") ? FLAME_ROOT_TID : FLAME_ROOT_COMM;
}

bt_component_class_initialize_method_status flame_sink_initialize(bt_self_component_sink *self, const bt_value *values,
								  enum writer writer)
{
	bt_self_component *component = bt_self_component_sink_as_self_component(self);
	struct flame_profile_options options = { .kinds = FLAME_ALL_KINDS };
	struct sink *s = calloc(1, sizeof(*s));
	char *wrong = s ? params_read(&s->params, values, writer) : NULL;

	if (s && !wrong) {
		options.root = root_of(s->params.root);
		s->raw = flame_profile_new(&options);
	}
	if (wrong)
		BT_CURRENT_THREAD_ERROR_APPEND_CAUSE_FROM_COMPONENT(component, "%s", wrong);
	if (wrong || !s || !s->raw) {
		if (s)
			sink_free(s);
		free(wrong);
		return wrong ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR :
			       BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	}
	s->self = self;
	s->mip = bt_self_component_get_graph_mip_version(component);
	s->level = bt_component_get_logging_level(bt_component_sink_as_component_const(
		bt_self_component_sink_as_component_sink(self)));
	s->from = INT64_MIN;
	s->to = INT64_MAX;
	s->chains.max_bytes = CHAINS_MAX;
	s->callbacks.max_bytes = CALLBACKS_MAX;
	bt_self_component_set_data(component, s);
	if (bt_self_component_sink_add_input_port(self, "in", NULL, NULL) != BT_SELF_COMPONENT_ADD_PORT_STATUS_OK) {
		bt_self_component_set_data(component, NULL);
		sink_free(s);
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
	}
	return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

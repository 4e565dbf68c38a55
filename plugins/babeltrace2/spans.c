// SPDX-License-Identifier: MIT
/*
 * spans.c - pairs of events that begin and end something: X_entry and X_exit, syscall_entry_X and
 * syscall_exit_X, sys_enter_X and sys_exit_X, X_begin and X_end, X_before and X_after, X_start and X_end
 * (ROS 2), or what the parameter pair says. They nest by thread, as calls do. Wall time.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "sink.h"

struct rule {
	const char *begin, *end;
	bool prefix;		/* before the name, not behind it */
};

static const struct rule rules[] = {
	{ "_entry", "_exit", false },
	{ "_begin", "_end", false },
	{ "_start", "_end", false },
	{ "_before", "_after", false },
	{ "syscall_entry_", "syscall_exit_", true },
	{ "sys_enter_", "sys_exit_", true },
};

static const char *base_name(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

/* Return: the rest of @base without @mark; empty where it does not have it. */
static struct flame_span without(const char *base, const char *mark, bool prefix)
{
	size_t len = strlen(base), n = strlen(mark);

	if (len <= n || strncmp(prefix ? base : base + len - n, mark, n) != 0)
		return (struct flame_span){ base, 0 };
	return (struct flame_span){ prefix ? base + n : base, len - n };
}

static bool has_event(const struct sink *s, const bt_event_class *beside, const char *name)
{
	const bt_trace_class *trace =
		bt_stream_class_borrow_trace_class_const(bt_event_class_borrow_stream_class_const(beside));

	for (uint64_t i = 0; i < bt_trace_class_get_stream_class_count(trace); i++) {
		const bt_stream_class *stream = bt_trace_class_borrow_stream_class_by_index_const(trace, i);

		for (uint64_t j = 0; j < bt_stream_class_get_event_class_count(stream); j++) {
			if (class_is_named(s, bt_stream_class_borrow_event_class_by_index_const(stream, j), name))
				return true;
		}
	}
	return false;
}

/* What never ends is no span: the other half has to be there. */
static bool has_other(const struct sink *s, const struct event_class *c, const struct rule *r, struct flame_span x, bool begins)
{
	const char *name = c->name, *base = base_name(name), *mark = begins ? r->end : r->begin;
	char *other = NULL;
	bool found;

	if (r->prefix ? asprintf(&other, "%.*s%s%.*s", (int)(base - name), name, mark, (int)x.len, x.s) < 0 :
			asprintf(&other, "%.*s%.*s%s", (int)(base - name), name, (int)x.len, x.s, mark) < 0)
		return false;
	found = has_event(s, c->class, other);
	free(other);
	return found;
}

static void set_pair(struct sink *s, struct event_class *c, struct flame_span key, struct flame_span shown, bool begins)
{
	static const struct series like = { .unit = "ns", .about = "wall time between paired events", .what = "spans",
					    .kind = FLAME_VALUE_WALL, .rank = 2 };
	struct field name = field_find(c->class, "name", IN_PAYLOAD);

	c->roles |= begins ? ROLE_SPAN_BEGIN : ROLE_SPAN_END;
	if (!begins) {
		c->span_ended = flame_intern(s->raw, key.s, key.len);
	} else {
		c->span = flame_intern(s->raw, key.s, key.len);
		c->span_name = flame_intern(s->raw, shown.s, shown.len);
	}
	c->span_text = name.content == SHAPE_TEXT ? name : (struct field){ 0 };
	c->callback = field_find(c->class, "callback", IN_PAYLOAD);
	s->spans = series_get(s, "spans", &like);
}

/* The whole name, or what is behind a colon of it. */
static bool is_named(const char *name, struct flame_span wanted)
{
	size_t len = strlen(name);

	return len >= wanted.len && !memcmp(name + len - wanted.len, wanted.s, wanted.len) &&
	       (len == wanted.len || name[len - wanted.len - 1] == ':');
}

static bool by_parameter(struct sink *s, struct event_class *c, const char *name)
{
	bool found = false;

	for (size_t i = 0; i < s->params.pairs.nr; i++) {
		const char *pair = s->params.pairs.items[i];
		struct flame_span begin, end, key = { pair, strlen(pair) };

		if (!params_pair(pair, &begin, &end))
			continue;
		for (int begins = 0; begins <= 1; begins++) {
			if (!is_named(name, begins ? begin : end))
				continue;
			set_pair(s, c, key, begin, begins);
			found = true;
		}
	}
	return found;
}

/* A pair with an event that never came is most often a name that was mistyped. */
void spans_say(const struct sink *s)
{
	for (size_t i = 0; i < s->params.pairs.nr; i++) {
		const char *pair = s->params.pairs.items[i];
		struct flame_span side[2];

		for (int j = 0; j < 2 && params_pair(pair, &side[0], &side[1]); j++) {
			bool found = false;

			for (size_t k = 0; k < s->nr_classes && !found; k++) {
				const char *name = s->classes[k]->name;

				found = name && is_named(name, side[j]);
			}
			if (!found)
				sink_say(s, FLAME_WARNING, "pair '%s': there is no event '%.*s' in the trace", pair,
					 (int)side[j].len, side[j].s);
		}
	}
}

void spans_recognise(struct sink *s, struct event_class *c)
{
	const char *name = c->name, *base = base_name(name);

	if (by_parameter(s, c, name))
		return;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *r = &rules[i];

		for (int begins = 1; begins >= 0; begins--) {
			struct flame_span x = without(base, begins ? r->begin : r->end, r->prefix), key;

			if (!x.len || !has_other(s, c, r, x, begins))
				continue;
			/* With what stands before the colon, so that equal names of two providers differ. */
			key = r->prefix ? x : (struct flame_span){ name, (size_t)(x.s + x.len - name) };
			set_pair(s, c, key, x, begins);
			return;
		}
	}
}

/* ---- names of ROS 2 callbacks ---- */

struct callback_key {
	uint64_t address;
	uint32_t host;
	int32_t pid;
};

void callback_name(struct sink *s, const struct event *ev)
{
	const char *symbol = field_text(ev->event, &ev->class->f[1]);
	struct thread *t = thread_of(s, ev);
	struct callback_key key = { 0 };

	if (!t || !symbol || !field_number(ev->event, &ev->class->f[0], &key.address))
		return;
	key.host = t->host;
	key.pid = t->pid;
	flame_cache_put(&s->callbacks, (const char *)&key, sizeof(key), hash_bytes((const char *)&key, sizeof(key)),
			flame_intern(s->raw, symbol, strlen(symbol)));
}

static flame_string find_callback(const struct sink *s, const struct event *ev, const struct thread *t)
{
	struct callback_key key = { .host = t->host, .pid = t->pid };
	uint32_t name;

	if (!field_number(ev->event, &ev->class->callback, &key.address) ||
	    !flame_cache_get(&s->callbacks, (const char *)&key, sizeof(key), hash_bytes((const char *)&key, sizeof(key)), &name))
		return 0;
	return name;
}

/* ---- events ---- */

static flame_frame span_frame(struct sink *s, const struct event *ev, const struct thread *t)
{
	const char *name = field_text(ev->event, &ev->class->span_text);
	struct flame_frame_info info = { .kind = FLAME_USER };

	if (name && *name)
		return text_frame(s, name, strlen(name), FLAME_USER);
	info.name = find_callback(s, ev, t);
	if (!info.name)
		info.name = ev->class->span_name;
	return flame_frame_row(s->raw, &info);
}

void span_begin(struct sink *s, const struct event *ev)
{
	static const struct series like = { .unit = "count", .about = "beginnings of spans, not nested", .what = "spans",
					    .rank = 5 };
	struct open_frame frame = { .key = ev->class->span, .counts = in_window(s, ev->time) };
	struct thread *t = thread_of(s, ev);
	flame_stack caller;

	if (!t || !t->wanted)
		return;
	open_charge(s, t, &t->spans, ev);
	caller = t->spans.nr ? t->spans.frames[t->spans.nr - 1].stack : thread_root(s, t, ev);
	frame.stack = flame_stack_push(s->raw, caller, span_frame(s, ev, t));
	if (t->tid < 0 || !ev->class->has_clock) {
		s->counts.spans_threadless++;
		if (frame.counts)
			series_add(s, series_get(s, "spans-not-nested", &like), frame.stack, 1, 1);
	} else if (open_room(s, &t->spans)) {
		t->spans.frames[t->spans.nr++] = frame;
	}
}

void span_end(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	struct open_frames *open;
	uint32_t i;

	if (!t || !t->wanted || t->tid < 0 || !ev->class->has_clock)
		return;
	open = &t->spans;
	open_charge(s, t, open, ev);
	if (open->too_deep) {
		open->too_deep--;
		return;
	}
	for (i = open->nr; i && open->frames[i - 1].key != ev->class->span_ended; i--)
		;
	if (!i) {
		s->counts.spans_unmatched++;
		return;
	}
	s->counts.spans_skipped += open->nr - i;
	open_close(s, s->spans, open, i - 1);
}

void spans_cut(struct sink *s, struct thread *t)
{
	open_close(s, s->spans, &t->spans, 0);
	t->spans.too_deep = 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * austin_mojo.c - MOJO, the binary form of austin's files: "MOJ", a version, and events. Each begins with its kind:
 *
 *     1 metadata          key, value
 *     2 stack             process, interpreter (from version 3 on), thread: a sample begins
 *     3 frame             key, keys of file and function, line (from version 2 on also its end and columns)
 *     4 frame             that austin could not read
 *     5 frame             key
 *     6 frame             of the kernel
 *     7, 8                the sample is of garbage collection, of an idle thread
 *     9, 10               time, memory
 *     11 string           key, text
 *     12 string           key
 *
 * Texts end with a zero byte; numbers have 6 bits and a sign in their first byte, 7 bits in each that follows, the
 * lowest first, and bit 7 tells that one follows. Keys are a process's own. A sample ends where the next begins. The
 * lines that are made of these are those that austin writes as text; see austin.c.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <string.h>

#include "../core/idmap.h"
#include "../core/span.h"
#include "../core/table.h"
#include "austin.h"

#define MOJO_VERSION_MAX 3
#define MOJO_EVENT_MAX ((size_t)64 << 10)	/* bytes of one event */
#define MOJO_SAMPLE_MAX ((size_t)1 << 20)	/* bytes of a sample as text */

/* Keys that need no string of their own. */
enum { KEY_EMPTY, KEY_UNKNOWN };

struct cursor {
	const char *p, *end;
	bool cut;	/* there was less than was asked for */
};

struct mojo_frame {
	uint64_t file, function;	/* where their texts begin */
	int64_t line;
};

struct mojo {
	struct flame_reader *rd;
	int (*line)(struct flame_reader *rd, struct flame_span line);
	int64_t version;
	struct idmap strings;		/* value: where in texts */
	struct idmap by_key;		/* value: index of the frame */
	char *texts;			/* each with its zero byte */
	size_t nr_texts, room_texts;
	struct mojo_frame *frames;
	size_t nr_frames, room_frames;
	bool full, memory;		/* what numbers samples have */

	/* The sample at hand. */
	char *sample;
	size_t nr_sample, room_sample;
	bool open, idle, has_number, too_long;
	int64_t pid, time, change;
};

/* Bytes. */

static int64_t take_number(struct cursor *c)
{
	uint64_t value = 0;
	bool negative = false;

	for (unsigned int i = 0;; i++) {
		unsigned char byte;

		if (c->p >= c->end || i > 9) {
			c->cut = true;
			return 0;
		}
		byte = (unsigned char)*c->p++;
		if (!i) {
			negative = byte & 0x40;
			value = byte & 0x3f;
		} else {
			value |= (uint64_t)(byte & 0x7f) << (7 * i - 1);
		}
		if (!(byte & 0x80))
			break;
	}
	value &= INT64_MAX;
	return negative ? -(int64_t)value : (int64_t)value;
}

static struct flame_span take_text(struct cursor *c)
{
	const char *zero = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
	struct flame_span s = { c->p, zero ? (size_t)(zero - c->p) : 0 };

	c->cut |= !zero;
	c->p = zero ? zero + 1 : c->end;
	return s;
}

/* A key as one that no other process has. */
static uint64_t own_key(const struct mojo *m, int64_t key)
{
	return (uint64_t)key ^ ((uint64_t)m->pid * 0x9e3779b97f4a7c15u);
}

/* Samples. */

/* Append to the sample. @clean: what separates frames and lines must not be in it. Return: false without memory. */
static bool append(struct mojo *m, struct flame_span s, bool clean)
{
	if (m->nr_sample + s.len > MOJO_SAMPLE_MAX) {
		m->too_long = true;
		return true;
	}
	if (!array_reserve((void **)&m->sample, &m->room_sample, m->nr_sample + s.len, 1))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char byte = s.s[i];

		m->sample[m->nr_sample++] = !clean ? byte : byte == ';' ? ':' : (unsigned char)byte < ' ' ? '?' : byte;
	}
	return true;
}

static bool append_text(struct mojo *m, const char *text)
{
	return append(m, (struct flame_span){ text, strlen(text) }, true);
}

static bool append_number(struct mojo *m, const char *before, int64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%s%" PRId64, before, value);

	return append(m, (struct flame_span){ text, (size_t)n }, false);
}

/* Give the sample's line away. */
static int end_sample(struct mojo *m)
{
	bool ok = true;
	int err;

	if (!m->open)
		return 0;
	m->open = false;
	if (m->too_long)
		return flame_skip(m->rd, "a stack that is too long (MOJO_SAMPLE_MAX)");
	if (!m->has_number)
		return flame_skip(m->rd, "a sample without numbers");
	if (m->memory && !m->full)
		ok = append_number(m, " ", m->change);
	else
		ok = append_number(m, " ", m->time);
	if (m->full)
		ok = ok && append_number(m, ",", m->idle) && append_number(m, ",", m->change);
	err = ok ? m->line(m->rd, (struct flame_span){ m->sample, m->nr_sample }) : FLAME_ENOMEM;
	return err;
}

/* "4d10" is "19728" in text; from version 4 of austin on threads have names. */
static bool append_thread(struct mojo *m, struct flame_span thread)
{
	uint64_t tid = 0;

	for (size_t i = 0; i < thread.len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = memchr(digits, thread.s[i], 16);

		if (!digit || thread.len > 15)
			return append(m, thread, true);
		tid = tid << 4 | (uint64_t)(digit - digits);
	}
	return append_number(m, "", (int64_t)tid);
}

/* Events. Return: 0 or a failure; what they have done does not count where the cursor is cut. */

static int read_metadata(struct mojo *m, struct cursor *c)
{
	struct flame_span key = take_text(c), value = take_text(c);
	int err = c->cut ? 0 : end_sample(m);

	if (err || c->cut)
		return err;
	if (span_equals(key, "mode")) {
		m->full = span_equals(value, "full");
		m->memory = m->full || span_equals(value, "memory");
	}
	m->nr_sample = 0;
	m->too_long = false;
	if (!append_text(m, "# ") || !append(m, key, true) || !append_text(m, ": ") || !append(m, value, true))
		return FLAME_ENOMEM;
	return m->line(m->rd, (struct flame_span){ m->sample, m->nr_sample });
}

static int read_stack(struct mojo *m, struct cursor *c)
{
	int64_t pid = take_number(c), interpreter = m->version >= 3 ? take_number(c) : 0;
	struct flame_span thread = take_text(c);
	int err = c->cut ? 0 : end_sample(m);

	if (err || c->cut)
		return err;
	m->open = true;
	m->idle = m->has_number = m->too_long = false;
	m->nr_sample = 0;
	m->time = m->change = 0;
	m->pid = pid;
	return append_number(m, "P", pid) && append_number(m, ";T", interpreter) && append_text(m, ":") &&
	       append_thread(m, thread) ? 0 : FLAME_ENOMEM;
}

/* Return: where the text of the string @key begins. */
static uint64_t find_text(const struct mojo *m, int64_t key)
{
	uint64_t at = key == KEY_EMPTY ? KEY_EMPTY : KEY_UNKNOWN;

	idmap_value(&m->strings, own_key(m, key), &at);
	return at;
}

static bool push_frame(struct mojo *m, const struct mojo_frame *frame)
{
	return append(m, (struct flame_span){ ";", 1 }, false) && append_text(m, m->texts + frame->file) &&
	       append_text(m, ":") && append_text(m, m->texts + frame->function) && append_number(m, ":", frame->line);
}

static int read_frame(struct mojo *m, struct cursor *c)
{
	int64_t key = take_number(c), file = take_number(c), function = take_number(c);
	struct mojo_frame frame = { .line = take_number(c) };
	uint64_t index = m->nr_frames;

	for (int i = 0; m->version >= 2 && i < 3; i++)
		take_number(c);
	if (c->cut)
		return 0;
	frame.file = find_text(m, file);
	frame.function = find_text(m, function);
	idmap_value(&m->by_key, own_key(m, key), &index);
	if (!array_reserve((void **)&m->frames, &m->room_frames, m->nr_frames + 1, sizeof(frame)) ||
	    !idmap_set(&m->by_key, own_key(m, key), index))
		return FLAME_ENOMEM;
	m->nr_frames += index == m->nr_frames;
	m->frames[index] = frame;
	return 0;
}

static int read_reference(struct mojo *m, struct cursor *c)
{
	int64_t key = take_number(c);
	uint64_t index;
	bool ok;

	if (c->cut)
		return 0;
	if (idmap_value(&m->by_key, own_key(m, key), &index))
		ok = push_frame(m, &m->frames[index]);
	else
		ok = append(m, (struct flame_span){ ";:INVALID:", 10 }, false);
	return ok ? 0 : FLAME_ENOMEM;
}

static int read_invalid(struct mojo *m, struct cursor *c)
{
	(void)c;
	return append(m, (struct flame_span){ ";:INVALID:", 10 }, false) ? 0 : FLAME_ENOMEM;
}

static int read_kernel(struct mojo *m, struct cursor *c)
{
	struct flame_span name = take_text(c);

	if (c->cut)
		return 0;
	return append(m, (struct flame_span){ ";kernel:", 8 }, false) && append(m, name, true) && append_text(m, ":0") ?
		0 : FLAME_ENOMEM;
}

static int read_gc(struct mojo *m, struct cursor *c)
{
	(void)c;
	return append(m, (struct flame_span){ ";:GC:", 5 }, false) ? 0 : FLAME_ENOMEM;
}

static int read_idle(struct mojo *m, struct cursor *c)
{
	(void)c;
	m->idle = true;
	return 0;
}

static int read_time(struct mojo *m, struct cursor *c)
{
	m->time = take_number(c);
	m->has_number = true;
	return 0;
}

static int read_memory(struct mojo *m, struct cursor *c)
{
	m->change = take_number(c);
	m->has_number = true;
	return 0;
}

static bool add_text(struct mojo *m, struct flame_span s)
{
	if (!array_reserve((void **)&m->texts, &m->room_texts, m->nr_texts + s.len + 1, 1))
		return false;
	memcpy(m->texts + m->nr_texts, s.s, s.len);
	m->nr_texts += s.len;
	m->texts[m->nr_texts++] = 0;
	return true;
}

static int read_string(struct mojo *m, struct cursor *c)
{
	int64_t key = take_number(c);
	struct flame_span text = take_text(c);
	uint64_t at = m->nr_texts;

	if (c->cut)
		return 0;
	return add_text(m, text) && idmap_set(&m->strings, own_key(m, key), at) ? 0 : FLAME_ENOMEM;
}

static int skip_key(struct mojo *m, struct cursor *c)
{
	(void)m;
	take_number(c);
	return 0;
}

static int (*const events[])(struct mojo *m, struct cursor *c) = {
	NULL, read_metadata, read_stack, read_frame, read_invalid, read_reference, read_kernel, read_gc, read_idle,
	read_time, read_memory, read_string, skip_key,
};

/* Return: 1 to go on, 0 at the end, or a failure. */
static int read_event(struct mojo *m)
{
	struct flame_reader *rd = m->rd;
	struct flame_span view = flame_peek(rd->input, MOJO_EVENT_MAX);
	struct cursor c = { view.s + 1, view.s + view.len, false };
	unsigned char kind = view.len ? (unsigned char)view.s[0] : 0;
	unsigned long long at = flame_input_offset(rd->input);
	int err;

	if (!view.len)
		return end_sample(m);
	if (kind >= sizeof(events) / sizeof(*events) || !events[kind]) {
		flame_damaged(rd, "austin: at offset %llu is no event of a MOJO file (%u); what came before is used", at, kind);
		return end_sample(m);
	}
	err = events[kind](m, &c);
	if (err)
		return err;
	if (c.cut) {
		flame_damaged(rd, view.len < MOJO_EVENT_MAX ? "austin: the file ends inside the event at offset %llu" :
			      "austin: the event at offset %llu is too long (MOJO_EVENT_MAX); what came before is used", at);
		return 0;
	}
	flame_take(rd->input, (size_t)(c.p - view.s));
	return 1;
}

bool austin_is_mojo(struct flame_span head)
{
	return head.len > 3 && !memcmp(head.s, "MOJ", 3) && head.s[3] > 0 && head.s[3] < ' ';
}

int austin_mojo_read(struct flame_reader *rd, int (*line)(struct flame_reader *rd, struct flame_span line))
{
	struct mojo m = { .rd = rd, .line = line };
	struct flame_span head = flame_peek(rd->input, 4);
	struct cursor c = { head.s + 3, head.s + head.len, false };
	int err;

	rd->input->binary = true;
	m.version = take_number(&c);
	if (m.version > MOJO_VERSION_MAX)
		return flame_fail(rd, FLAME_EFORMAT, "austin: version %d of the MOJO format is not known here; austin's own "
				  "tool makes text of it: mojo2austin FILE FILE.austin", (int)m.version);
	flame_take(rd->input, 4);
	/* KEY_EMPTY and KEY_UNKNOWN are also where their texts begin. */
	err = 1;
	if (!add_text(&m, (struct flame_span){ "", 0 }) || !add_text(&m, (struct flame_span){ "<unknown>", 9 }))
		err = FLAME_ENOMEM;
	while (err > 0)
		err = read_event(&m);
	idmap_release(&m.strings);
	idmap_release(&m.by_key);
	free(m.texts);
	free(m.frames);
	free(m.sample);
	return err;
}

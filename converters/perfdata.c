/* SPDX-License-Identifier: MIT */
/*
 * perfdata - what `perf record` writes, without perf: perf.data, the same through a pipe
 * (perf record -o -), and the directories of perf record --threads.
 *
 *     "PERFILE2" sizes; sections of attributes, data and features    (a file)
 *     "PERFILE2" 16, and everything as records                        (a pipe)
 *     record: type (4 bytes), misc (2), size (2), fields
 *
 * Documentation/formats/perfdata.md has the layout. Seen: perf 6.1 on kernel 6.18. Not read: AUX traces
 * (Intel PT, CoreSight), counts of perf stat, branch stacks but for --call-graph lbr.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/event.h"
#include "../core/span.h"
#include "../core/spool.h"
#include "perfdata.h"

#define MAGIC "PERFILE2"
#define SWAPPED_MAGIC "2ELIFREP"
#define FILE_HEADER 104
#define PIPE_HEADER 16

struct section {
	uint64_t offset, size;
};

static int probe(struct flame_span head)
{
	bool is = head.len >= 16 && (!memcmp(head.s, MAGIC, 8) || !memcmp(head.s, SWAPPED_MAGIC, 8));

	return is ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

/* ---- samples ---- */

int perfdata_sample_add(struct perfdata *pd, flame_type type, uint64_t value, flame_stack stack, flame_task task)
{
	struct flame_sample s = { .stack = stack, .type = type, .task = task, .value = (int64_t)value };

	if (value > INT64_MAX)
		return flame_fail(pd->rd, FLAME_EOVERFLOW, "the period does not fit 64 bits");
	return flame_sample_add(pd->rd->profile, &s);
}

/* The values of a group's counters: what each grew by is a sample of its event. */
static int add_group(struct perfdata *pd, const struct perfdata_sample *s, flame_stack stack, flame_task task)
{
	uint64_t format = s->attr->read_format, nr = 1;
	size_t each = 8 + (format & PERFDATA_READ_ID ? 8 : 0) + (format & PERFDATA_READ_LOST ? 8 : 0);
	const char *p = s->read;
	int err = 0;

	if (format & PERFDATA_READ_GROUP) {
		nr = perfdata_u64(pd, p);
		p += 8;
	}
	p += (format & PERFDATA_READ_ENABLED ? 8 : 0) + (format & PERFDATA_READ_RUNNING ? 8 : 0);
	for (uint64_t i = 0; !err && i < nr; i++, p += each) {
		struct perfdata_id *id = format & PERFDATA_READ_ID ? perfdata_id_find(pd, perfdata_u64(pd, p + 8)) : s->id;
		uint64_t value = perfdata_u64(pd, p), grown;

		if (!id)
			continue;
		grown = value - id->last;
		id->last = value;
		if (grown)
			err = perfdata_sample_add(pd, perfdata_attr_type(pd, &pd->events.attrs[id->attr]), grown, stack, task);
	}
	return err;
}

/* Return: true where --time leaves the sample out. */
static bool is_outside(struct perfdata *pd, const struct perfdata_sample *s)
{
	if (!s->has_time)
		return false;
	if (!pd->has_start)
		pd->start = s->time;
	pd->has_start = true;
	return flame_is_outside_time(pd->rd->options, (int64_t)(s->time - pd->start));
}

static bool is_blocked_read(const struct perfdata *pd)
{
	return pd->rd->options->offcpu ||
	       (pd->rd->options->offcpu_too && pd->any_switch && flame_tracepoints_available());
}

static int use_sample(struct perfdata *pd, const struct perfdata_sample *s)
{
	uint32_t thread = perfdata_thread_row(pd, s->pid, s->tid);
	flame_type type = perfdata_attr_type(pd, s->attr);
	bool blocked = is_blocked_read(pd), is_out = blocked && s->attr->is_switch;
	flame_stack stack;
	flame_task task;
	int err;

	if (!thread || !type)
		return FLAME_ENOMEM;
	if (blocked && s->has_time) {
		/* Any sample tells that its thread runs. */
		err = perfdata_switch_in(pd, thread, s->time, false);
		if (err || (!is_out && pd->rd->options->offcpu))
			return err;
	}
	if (!is_out && !s->has_read && perfdata_is_deferred(pd, s))
		return perfdata_defer(pd, s, thread, type);
	err = perfdata_stack_of(pd, s, thread, &stack);
	if (err)
		return err;
	perfdata_stack_count(pd, stack);
	task = pd->tasks.threads[thread].task;
	if (is_out)
		return perfdata_switch_out(pd, s, thread, stack);
	if (pd->rd->options->offcpu)
		return 0;
	if (s->has_read)
		return add_group(pd, s, stack, task);
	return perfdata_sample_add(pd, type, s->period ? s->period : 1, stack, task);
}

static int read_sample(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_sample s;
	const char *problem = perfdata_sample_parse(pd, r, &s);

	if (problem)
		return flame_skip(pd->rd, problem);
	if (is_outside(pd, &s) || (pd->live && !perfdata_live_wants(pd, &s)))
		return 0;
	if (s.has_time && s.time > pd->last)
		pd->last = s.time;
	if (s.has_time && (s.time < pd->first || !pd->first))
		pd->first = s.time;
	return use_sample(pd, &s);
}

/* ---- other records ---- */

static int read_switch(struct perfdata *pd, const struct perfdata_record *r, uint64_t time)
{
	int32_t tid = perfdata_tail_tid(pd, r);
	uint32_t thread;

	if (!is_blocked_read(pd) || r->misc & PERFDATA_MISC_SWITCH_OUT || tid <= 0 || !time)
		return 0;
	thread = perfdata_thread_row(pd, -1, tid);
	return thread ? perfdata_switch_in(pd, thread, time, true) : FLAME_ENOMEM;
}

/*
 * What a thread does in the kernel it does while it runs. Often its end is all that tells: a main thread waits for the others, and
 * exits.
 */
static int see_running(struct perfdata *pd, const struct perfdata_record *r, uint64_t time)
{
	int32_t tid;
	uint32_t thread;

	if (!is_blocked_read(pd) || !time)
		return 0;
	if (r->type == PERFDATA_EXIT && r->size >= 24)
		tid = (int32_t)perfdata_u32(pd, r->data + 16);
	else if (r->type == PERFDATA_COMM || r->type == PERFDATA_FORK || r->type == PERFDATA_MMAP || r->type == PERFDATA_MMAP2)
		tid = perfdata_tail_tid(pd, r);
	else
		return 0;
	if (tid <= 0)
		return 0;
	thread = perfdata_thread_row(pd, -1, tid);
	return thread ? perfdata_switch_in(pd, thread, time, false) : FLAME_ENOMEM;
}

static void note_unknown(struct perfdata *pd, uint32_t type)
{
	pd->unknown_type = type;
	pd->nr_unknown_types++;
}

int perfdata_record(struct perfdata *pd, const struct perfdata_record *r, uint64_t time)
{
	int err;

	if (time && time < pd->last_time)
		pd->nr_late++;
	else if (time)
		pd->last_time = time;
	switch (r->type) {
	case PERFDATA_SAMPLE:
		return read_sample(pd, r);
	case PERFDATA_LOST:
		if (r->size >= 24)
			flame_lost_add(pd->rd->profile, perfdata_u64(pd, r->data + 16));
		return 0;
	case PERFDATA_LOST_SAMPLES:
		if (r->size >= 16)
			flame_lost_add(pd->rd->profile, perfdata_u64(pd, r->data + 8));
		return 0;
	case PERFDATA_THROTTLE:
		pd->nr_throttled++;
		return 0;
	case PERFDATA_SWITCH:
	case PERFDATA_SWITCH_CPU_WIDE:
		return read_switch(pd, r, time);
	case PERFDATA_CALLCHAIN_DEFERRED:
		return perfdata_defer_end(pd, r);
	default:
		if (r->type >= PERFDATA_KERNEL_TYPES || !r->type)
			note_unknown(pd, r->type);
		err = see_running(pd, r, time);
		return err ? err : perfdata_task_record(pd, r);
	}
}

static bool read_build_ids(struct perfdata *pd, struct flame_span section)
{
	while (section.len >= 8) {
		size_t size = perfdata_u16(pd, section.s + 6);

		if (size < 8 || size > section.len || !perfdata_build_id_add(pd, section.s, size))
			return false;
		section.s += size;
		section.len -= size;
	}
	return true;
}

static bool read_string(char *to, size_t room, struct flame_span section)
{
	size_t len;

	if (section.len < 4)
		return false;
	len = strnlen(section.s + 4, section.len - 4);
	if (len >= room)
		len = room - 1;
	memcpy(to, section.s + 4, len);
	to[len] = '\0';
	return true;
}

/* The command line's words, one blank between them. Return: false where it is damaged. */
static bool read_command(struct perfdata *pd, struct flame_span section)
{
	uint32_t nr = section.len >= 4 ? perfdata_u32(pd, section.s) : 0;
	struct flame_meta *meta = flame_meta(pd->rd->profile);
	char *text = malloc(section.len + 1), *to = text;

	section = span_from(section, 4);
	for (uint32_t i = 0; text && i < nr; i++) {
		uint32_t len = section.len >= 4 ? perfdata_u32(pd, section.s) : UINT32_MAX;

		if (len > section.len - 4 || section.len < 4) {
			free(text);
			return false;
		}
		if (i)
			*to++ = ' ';
		to = mempcpy(to, section.s + 4, strnlen(section.s + 4, len));
		section = span_from(section, (size_t)len + 4);
	}
	if (text && !meta->command)
		meta->command = flame_intern(pd->rd->profile, text, (size_t)(to - text));
	free(text);
	return true;
}

/* What the recording says of itself, besides what its reading needs. Return: false where it is damaged. */
static bool read_about(struct perfdata *pd, unsigned int feature, struct flame_span section)
{
	struct flame_meta *meta = flame_meta(pd->rd->profile);
	char version[64] = "perf ";

	if (feature == PERFDATA_CMDLINE)
		return read_command(pd, section);
	if (feature == PERFDATA_NRCPUS) {
		/* Those that there are, and those that run. */
		if (section.len >= 8)
			meta->nr_cpus = perfdata_u32(pd, section.s + 4);
		return section.len >= 8;
	}
	if (!read_string(version + 5, sizeof(version) - 5, section))
		return false;
	meta->tool = flame_intern(pd->rd->profile, version, strlen(version));
	return true;
}

/* Return: false where it is damaged. */
static bool read_feature(struct perfdata *pd, unsigned int feature, struct flame_span section)
{
	switch (feature) {
	case PERFDATA_TRACING_DATA:
		if (!pd->tracepoints)
			pd->tracepoints = flame_tracepoints_new(section);
		return pd->tracepoints || !flame_tracepoints_available();
	case PERFDATA_BUILD_ID:
		return read_build_ids(pd, section);
	case PERFDATA_ARCH:
		return read_string(pd->arch, sizeof(pd->arch), section);
	case PERFDATA_HOSTNAME:
		if (!read_string(pd->host, sizeof(pd->host), section))
			return false;
		flame_meta(pd->rd->profile)->host = flame_intern(pd->rd->profile, pd->host, strlen(pd->host));
		return true;
	case PERFDATA_VERSION:
	case PERFDATA_NRCPUS:
	case PERFDATA_CMDLINE:
		return read_about(pd, feature, section);
	case PERFDATA_OSRELEASE:
		return read_string(pd->release, sizeof(pd->release), section);
	case PERFDATA_EVENT_DESC:
		return perfdata_attr_names(pd, section);
	default:
		return true;
	}
}

static void feature_damaged(struct perfdata *pd, unsigned int feature)
{
	pd->rd->diag->damaged = true;
	flame_diag_add(pd->rd->diag, FLAME_WARNING, "perf.data: section %u of the header is damaged, and is not used",
		       feature);
}

/* An event's description as a record. */
static int read_attr_record(struct perfdata *pd, const struct perfdata_record *r)
{
	uint32_t size = r->size >= 16 ? perfdata_u32(pd, r->data + 12) : 0;

	if (!size)
		size = 64;
	if (size > r->size - 8)
		return flame_fail(pd->rd, FLAME_EFORMAT, "an event's description is longer than its record");
	return perfdata_attr_add(pd, (struct flame_span){ r->data + 8, size }, r->data + 8 + size, (r->size - 8 - size) / 8);
}

/* The descriptions of tracepoints stand behind their record. */
static void read_tracing(struct perfdata *pd, struct perfdata_stream *s, const struct perfdata_record *r)
{
	uint64_t size = r->size >= 12 ? ((uint64_t)perfdata_u32(pd, r->data + 8) + 7) & ~7ull : 0;

	if (size <= FLAME_VIEW_MAX) {
		if (!read_feature(pd, PERFDATA_TRACING_DATA, perfdata_stream_behind(s, (size_t)size)))
			feature_damaged(pd, PERFDATA_TRACING_DATA);
		return;
	}
	flame_diag_add(pd->rd->diag, FLAME_WARNING,
		       "the descriptions of tracepoints are longer than 16 MiB (FLAME_VIEW_MAX), and are not used");
	perfdata_stream_skip(s, size);
}

/* A record of perf's own, as soon as it is met. */
static int read_user_record(struct perfdata *pd, struct perfdata_stream *s, const struct perfdata_record *r)
{
	unsigned int feature;

	switch (r->type) {
	case PERFDATA_HEADER_ATTR:
		return pd->pipe ? read_attr_record(pd, r) : 0;
	case PERFDATA_EVENT_UPDATE:
		perfdata_attr_update(pd, r);
		return 0;
	case PERFDATA_HEADER_TRACING:
		read_tracing(pd, s, r);
		return 0;
	case PERFDATA_HEADER_BUILD_ID:
		return perfdata_build_id_add(pd, r->data, r->size) ? 0 : FLAME_ENOMEM;
	case PERFDATA_AUXTRACE:
		pd->nr_aux++;
		if (r->size >= 16)
			perfdata_stream_skip(s, perfdata_u64(pd, r->data + 8));
		return 0;
	case PERFDATA_HEADER_FEATURE:
		if (r->size < 16)
			return 0;
		feature = (unsigned int)perfdata_u64(pd, r->data + 8);
		if (!read_feature(pd, feature, (struct flame_span){ r->data + 16, r->size - 16 }))
			feature_damaged(pd, feature);
		return 0;
	default:
		if (r->type >= PERFDATA_USER_TYPES_END)
			note_unknown(pd, r->type);
		return 0;
	}
}

/* ---- streams ---- */

/* The stream's next record that has a turn. Return: 1, 0 at the end, or a failure. */
static int fetch(struct perfdata *pd, struct perfdata_stream *s)
{
	int ret, err;

	for (;;) {
		ret = perfdata_stream_next(s, &s->head, &s->head_time);
		if (ret <= 0 || s->head.type < PERFDATA_USER_TYPES)
			return ret;
		err = read_user_record(pd, s, &s->head);
		if (err)
			return err;
	}
}

/* Return: the stream whose record is the oldest; NULL where all have ended. */
static struct perfdata_stream *oldest(struct perfdata *pd)
{
	struct perfdata_stream *found = NULL;

	for (size_t i = 0; i < pd->nr_streams; i++) {
		struct perfdata_stream *s = &pd->streams[i];

		if (s->has_head && (!found || s->head_time < found->head_time))
			found = s;
	}
	return found;
}

/* All streams' records, in the order of their times. */
static int read_streams(struct perfdata *pd)
{
	struct perfdata_stream *s;
	int err = 0;

	for (size_t i = 0; !err && i < pd->nr_streams; i++) {
		int ret = fetch(pd, &pd->streams[i]);

		pd->streams[i].has_head = ret > 0;
		err = ret < 0 ? ret : 0;
	}
	while (!err && (s = oldest(pd))) {
		err = perfdata_record(pd, &s->head, s->head_time);
		if (!err) {
			int ret = fetch(pd, s);

			s->has_head = ret > 0;
			err = ret < 0 ? ret : 0;
		}
	}
	for (size_t i = 0; !err && i < pd->nr_streams; i++) {
		if (pd->streams[i].owns && pd->streams[i].in->error == FLAME_EIO)
			err = flame_fail(pd->rd, FLAME_EIO, "cannot read: %s", strerror(pd->streams[i].in->os_error));
	}
	return err;
}

/* ---- a file ---- */

/* What is known of the file that is read. */
struct file {
	struct flame_input *whole;
	int fd;
	uint64_t size;
	struct section attrs, data, features;
	uint64_t attr_size;
	unsigned char bits[PERFDATA_FEATURES / 8];
};

/* Read a section that was checked against the file. Return: owned by the caller; NULL where it cannot be read. */
static char *read_section(const struct file *f, const struct section *s)
{
	char *p = malloc(s->size + 1);
	size_t done = 0;

	while (p && done < s->size) {
		ssize_t got = pread(f->fd, p + done, s->size - done, (off_t)(s->offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			free(p);
			return NULL;
		}
		done += (size_t)got;
	}
	return p;
}

static bool is_inside(const struct file *f, const struct section *s)
{
	return s->offset <= f->size && s->size <= f->size - s->offset;
}

static struct section get_section(const struct perfdata *pd, const char *p)
{
	return (struct section){ perfdata_u64(pd, p), perfdata_u64(pd, p + 8) };
}

static int read_header(struct perfdata *pd, struct file *f)
{
	struct section all = { 0, FILE_HEADER };
	char *h = f->size >= FILE_HEADER ? read_section(f, &all) : NULL;

	if (!h)
		return flame_fail(pd->rd, FLAME_EDAMAGED, "perf.data: the header is cut off");
	f->attr_size = perfdata_u64(pd, h + 16);
	f->attrs = get_section(pd, h + 24);
	f->data = get_section(pd, h + 40);
	memcpy(f->bits, h + 72, sizeof(f->bits));
	/* Words of 64 bits. */
	for (size_t i = 0; pd->big_endian && i < sizeof(f->bits); i++)
		f->bits[i ^ 7] = (unsigned char)h[72 + i];
	free(h);
	return 0;
}

/* The sections behind the data. Return: how many there are. */
static size_t nr_features(const struct file *f)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < PERFDATA_FEATURES; i++)
		nr += f->bits[i / 8] >> (i % 8) & 1;
	return nr;
}

static int read_attr(struct perfdata *pd, const struct file *f, const char *p)
{
	size_t size = (size_t)f->attr_size - 16;
	struct section ids = get_section(pd, p + size);
	char *text = NULL;
	int err;

	if (!is_inside(f, &ids) || ids.size > PERFDATA_SECTION_MAX)
		return flame_fail(pd->rd, FLAME_EDAMAGED, "perf.data: the ids of an event lie outside of the file");
	if (ids.size) {
		text = read_section(f, &ids);
		if (!text)
			return FLAME_ENOMEM;
	}
	err = perfdata_attr_add(pd, (struct flame_span){ p, size }, text, (size_t)ids.size / 8);
	free(text);
	return err;
}

static int read_attrs(struct perfdata *pd, const struct file *f)
{
	char *text;
	int err = 0;

	if (f->attr_size < 64 + 16 || f->attr_size > 4096)
		return flame_fail(pd->rd, FLAME_EDAMAGED, "perf.data: an event's description of %llu bytes",
				  (unsigned long long)f->attr_size);
	if (!is_inside(f, &f->attrs) || f->attrs.size < f->attr_size || f->attrs.size > PERFDATA_SECTION_MAX)
		return flame_fail(pd->rd, FLAME_EDAMAGED, "perf.data: the descriptions of the events lie outside of the file");
	text = read_section(f, &f->attrs);
	if (!text)
		return FLAME_ENOMEM;
	for (uint64_t at = 0; !err && at + f->attr_size <= f->attrs.size; at += f->attr_size)
		err = read_attr(pd, f, text + at);
	free(text);
	return err;
}

static void read_feature_section(struct perfdata *pd, const struct file *f, unsigned int feature,
				 const struct section *s)
{
	static const unsigned int wanted[] = { PERFDATA_TRACING_DATA, PERFDATA_BUILD_ID, PERFDATA_ARCH, PERFDATA_EVENT_DESC,
					       PERFDATA_HOSTNAME, PERFDATA_OSRELEASE, PERFDATA_VERSION,
					       PERFDATA_NRCPUS, PERFDATA_CMDLINE };
	char *text;
	bool ok;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (wanted[i] != feature)
			continue;
		text = is_inside(f, s) && s->size <= PERFDATA_SECTION_MAX ? read_section(f, s) : NULL;
		ok = text && read_feature(pd, feature, (struct flame_span){ text, (size_t)s->size });
		if (!ok)
			feature_damaged(pd, feature);
		free(text);
	}
}

/* Tables of sections behind the data; of a recording that was not finished there are none. */
static void read_features(struct perfdata *pd, const struct file *f)
{
	struct section table = { f->data.offset + f->data.size, nr_features(f) * 16 };
	char *text = is_inside(f, &table) ? read_section(f, &table) : NULL;
	size_t at = 0;

	if (!text) {
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "perf.data: the header's sections are cut off: events and files are known by their numbers only");
		pd->rd->diag->damaged = true;
		return;
	}
	for (unsigned int i = 0; i < PERFDATA_FEATURES; i++) {
		struct section s;

		if (!(f->bits[i / 8] >> (i % 8) & 1))
			continue;
		s = get_section(pd, text + at);
		at += 16;
		read_feature_section(pd, f, i, &s);
		pd->nr_unknown_features += i >= PERFDATA_FEATURES_KNOWN;
	}
	free(text);
}

/* Return: true where records follow each other from @at on, as far as can be seen. */
static bool is_chain(const struct perfdata *pd, struct flame_span text, size_t at)
{
	enum { CHAIN = 8 };
	size_t nr = 0;

	for (; nr < CHAIN && at + 8 <= text.len; nr++) {
		uint32_t type = perfdata_u32(pd, text.s + at);
		size_t size = perfdata_u16(pd, text.s + at + 6);

		if (!type || type >= PERFDATA_USER_TYPES_END || size < 8)
			return false;
		at += size;
	}
	return nr == CHAIN;
}

/*
 * perf inject writes its header over the first records that came through a pipe. Those behind it are
 * whole again from where one follows the other.
 */
static void step_over_header(struct perfdata *pd, struct file *f)
{
	struct section s = { f->attrs.offset + f->attrs.size, (uint64_t)64 << 10 };
	uint64_t end = f->data.offset + f->data.size;
	char *text;

	if (!f->data.size || f->attrs.offset < f->data.offset || s.offset >= end)
		return;
	if (s.size > end - s.offset)
		s.size = end - s.offset;
	text = is_inside(f, &s) && is_inside(f, &f->data) ? read_section(f, &s) : NULL;
	for (size_t at = 0; text && at < s.size; at += 4) {
		if (!is_chain(pd, (struct flame_span){ text, (size_t)s.size }, at))
			continue;
		f->data.offset = s.offset + at;
		f->data.size = end - f->data.offset;
		break;
	}
	free(text);
}

/* Where the records are; what of them is missing is told. */
static int check_data(struct perfdata *pd, struct file *f)
{
	if (f->data.offset <= f->size)
		step_over_header(pd, f);
	if (f->data.offset > f->size)
		return flame_fail(pd->rd, FLAME_EDAMAGED, "perf.data: the records lie outside of the file");
	if (!f->data.size) {
		pd->cut = true;
		pd->rd->diag->damaged = true;
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "perf.data: perf did not finish the recording; its records are read up to the end of the file");
		f->data.size = f->size - f->data.offset;
		return 0;
	}
	if (!is_inside(f, &f->data)) {
		pd->cut = true;
		pd->rd->diag->damaged = true;
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "perf.data: the end of the file is missing: %llu of %llu bytes of records are there",
			       (unsigned long long)(f->size - f->data.offset), (unsigned long long)f->data.size);
		f->data.size = f->size - f->data.offset;
	}
	return 0;
}

static int add_stream(struct perfdata *pd, struct flame_input *whole, uint64_t from, uint64_t to)
{
	struct perfdata_stream *s = &pd->streams[pd->nr_streams];
	int err = flame_input_open_slice(&s->own, whole, from, to);

	if (err)
		return err;
	pd->nr_streams++;
	s->owns = true;
	return perfdata_stream_open(s, pd, &s->own, PERFDATA_WINDOW_MAX);
}

/* The files data.0, data.1, … of a directory that hold what each of perf's threads wrote. */
static int add_files(struct perfdata *pd, const struct file *f)
{
	int err = 0;

	for (unsigned int i = 0; !err && f->whole->directory >= 0; i++) {
		struct flame_input whole = *f->whole;
		struct stat st;
		char name[32];

		snprintf(name, sizeof(name), "data.%u", i);
		whole.fd = openat(f->whole->directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (whole.fd < 0)
			break;
		if (i >= PERFDATA_FILES_MAX || fstat(whole.fd, &st) || !S_ISREG(st.st_mode)) {
			close(whole.fd);
			return flame_fail(pd->rd, FLAME_EOVERFLOW, "%s is no file, or one of more than %d (PERFDATA_FILES_MAX)", name,
					  PERFDATA_FILES_MAX);
		}
		pd->files[pd->nr_files++] = whole.fd;
		err = add_stream(pd, &whole, 0, (uint64_t)st.st_size);
	}
	for (size_t i = 0; i < pd->nr_streams; i++)
		pd->streams[i].window = PERFDATA_WINDOW_MAX / pd->nr_streams;
	return err;
}

/* Of a directory that perf record --threads wrote only the file in it was given; it has all but the samples. */
static int check_directory(struct perfdata *pd, const struct file *f)
{
	static const char what[] = "perf.data: it is one file of a directory that perf record --threads wrote, and samples are in those beside it: give the directory";

	if (!(f->bits[PERFDATA_DIR_FORMAT / 8] >> (PERFDATA_DIR_FORMAT % 8) & 1) || f->whole->directory >= 0)
		return 0;
	if (!flame_nr_samples(pd->rd->profile))
		return flame_fail(pd->rd, FLAME_EEMPTY, "%s", what);
	flame_damaged(pd->rd, "%s", what);
	return 0;
}

static int read_file(struct perfdata *pd, struct file *f)
{
	int err = read_header(pd, f);

	if (!err)
		err = read_attrs(pd, f);
	if (!err)
		err = check_data(pd, f);
	if (!err && !pd->cut)
		read_features(pd, f);
	if (!err)
		err = add_stream(pd, f->whole, f->data.offset, f->data.offset + f->data.size);
	if (!err)
		err = add_files(pd, f);
	for (size_t i = 0; !err && i < pd->nr_streams && i + 1 < flame_thread_count(pd->rd->options); i++)
		flame_input_read_ahead(&pd->streams[i].own);
	if (!err)
		err = read_streams(pd);
	return err ? err : check_directory(pd, f);
}

/* ---- inputs ---- */

/* A piped or compressed file has its tables behind the records that need them: it is written to a file of no name. */
static int spool(struct perfdata *pd)
{
	struct flame_input *in = pd->rd->input;
	bool ok;

	pd->spool = flame_spool_open();
	ok = pd->spool >= 0;
	while (ok) {
		struct flame_span view = flame_peek(in, 1);

		if (!view.len)
			return 0;
		ok = flame_spool_write(pd->spool, view.s, view.len);
		flame_take(in, view.len);
	}
	return flame_fail(pd->rd, FLAME_EIO, "a recording through a pipe needs room for a copy in %s: %s",
			  flame_spool_dir(), strerror(errno));
}

static int read_layout(struct perfdata *pd)
{
	struct flame_input *in = pd->rd->input, spooled;
	struct file f = { .whole = in, .fd = in->fd };
	struct stat st;
	int err;

	if (flame_input_can_slice(in, &f.size))
		return read_file(pd, &f);
	err = spool(pd);
	if (err)
		return err;
	if (fstat(pd->spool, &st))
		return flame_fail(pd->rd, FLAME_EIO, "cannot read: %s", strerror(errno));
	spooled = *in;
	spooled.fd = f.fd = pd->spool;
	spooled.progress = NULL;
	f.whole = &spooled;
	f.size = (uint64_t)st.st_size;
	return read_file(pd, &f);
}

static int read_pipe(struct perfdata *pd)
{
	struct perfdata_stream *s = &pd->streams[pd->nr_streams++];
	int err;

	pd->pipe = true;
	flame_take(pd->rd->input, PIPE_HEADER);
	err = perfdata_stream_open(s, pd, pd->rd->input, PERFDATA_WINDOW_MAX);
	return err ? err : read_streams(pd);
}

/* Return: true where the event to be used is one of the scheduler's. */
static bool counts_sched(const struct flame_reader *rd)
{
	struct flame_span name = flame_string_get(rd->profile, flame_type_get(rd->profile, 1)->name);

	if (rd->options->event)
		return strstr(rd->options->event, "sched");
	return name.len > 6 && !memcmp(name.s, "sched:", 6);
}

static void tell_more(struct perfdata *pd)
{
	struct flame_reader *rd = pd->rd;

	if (is_blocked_read(pd))
		perfdata_switch_notes(pd);
	else if (pd->any_sched && counts_sched(rd))
		flame_note(rd, "sched: events are counted, which is not off-CPU time; --offcpu makes that of sched_switch");
	if (!pd->any_deep && flame_nr_samples(rd->profile))
		flame_note(rd, "no sample has more than one frame: record with callchains (perf record -g)");
	if (flame_lost(rd->profile))
		flame_diag_add(rd->diag, FLAME_WARNING, "perf lost %llu samples: record at a lower rate, or with larger buffers (-m)",
			       (unsigned long long)flame_lost(rd->profile));
	perfdata_unwind_notes(pd);
	perfdata_stack_notes(pd);
}

static void tell(struct perfdata *pd)
{
	struct flame_reader *rd = pd->rd;
	uint64_t nr_forced = 0;

	flame_meta(rd->profile)->throttled += pd->nr_throttled;
	flame_meta_time(rd->profile, pd->first);
	flame_meta_time(rd->profile, pd->last);
	for (size_t i = 0; i < pd->nr_streams; i++)
		nr_forced += pd->streams[i].nr_forced;
	if (pd->nr_late)
		flame_diag_add(rd->diag, FLAME_WARNING,
			       "%llu records came out of the order of time%s: what was mapped when may be wrong for some samples",
			       (unsigned long long)pd->nr_late,
			       nr_forced ? ", as more had to wait than there is room for (PERFDATA_WINDOW_MAX)" : "");
	if (pd->nr_throttled)
		flame_note(rd, "the kernel throttled events %llu time%s: fewer samples were taken than asked for",
			   (unsigned long long)pd->nr_throttled, pd->nr_throttled == 1 ? "" : "s");
	if (pd->nr_unknown_types)
		flame_note(rd, "%llu records of types that are not known here were left out, the last of type %u: from a newer perf?",
			   (unsigned long long)pd->nr_unknown_types, pd->unknown_type);
	if (pd->nr_unknown_features)
		flame_note(rd, "%zu sections of the header are not known here and were left out: from a newer perf?",
			   pd->nr_unknown_features);
	if (pd->nr_no_user_chain)
		flame_note(rd, "of %llu samples the user callchain did not come", (unsigned long long)pd->nr_no_user_chain);
	if (pd->nr_aux)
		flame_note(rd, "%llu AUX traces (such as Intel PT) were left out", (unsigned long long)pd->nr_aux);
	perfdata_task_notes(pd);
	tell_more(pd);
}

static int read_recording(struct flame_reader *rd)
{
	struct perfdata *pd = rd->state;
	struct flame_span head = flame_peek(rd->input, PIPE_HEADER);
	int err;

	pd->rd = rd;
	pd->spool = -1;
	if (head.len < PIPE_HEADER || probe(head) == FLAME_SCORE_NOT)
		return flame_fail(rd, FLAME_EFORMAT, "perf.data: it does not begin with PERFILE2");
	pd->swapped = !memcmp(head.s, SWAPPED_MAGIC, 8);
	pd->big_endian = pd->swapped != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	pd->streams = calloc(PERFDATA_FILES_MAX + 1, sizeof(*pd->streams));
	pd->files = calloc(PERFDATA_FILES_MAX, sizeof(*pd->files));
	err = pd->streams && pd->files ? perfdata_tasks_init(pd) : FLAME_ENOMEM;
	if (!err)
		err = perfdata_stack_init(pd);
	if (!err)
		err = perfdata_u64(pd, head.s + 8) == PIPE_HEADER ? read_pipe(pd) : read_layout(pd);
	if (!err)
		err = perfdata_defer_flush(pd);
	if (!err)
		tell(pd);
	return err;
}

static void release(struct flame_reader *rd)
{
	struct perfdata *pd = rd->state;

	if (!pd->rd)
		return;
	for (size_t i = 0; i < pd->nr_streams; i++)
		perfdata_stream_release(&pd->streams[i]);
	for (size_t i = 0; i < pd->nr_files; i++)
		close(pd->files[i]);
	if (pd->spool >= 0)
		close(pd->spool);
	free(pd->streams);
	free(pd->files);
	free(pd->build_ids);
	flame_cache_release(&pd->build_id_names);
	flame_tracepoints_free(pd->tracepoints);
	perfdata_attrs_release(pd);
	perfdata_tasks_release(pd);
	perfdata_stack_release(pd);
	perfdata_defer_release(pd);
}

const struct flame_converter flame_perfdata_converter = {
	.name = "perfdata",
	.summary = "perf.data, what perf record writes (file, pipe or directory)",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_OFFCPU,
	.state_size = sizeof(struct perfdata),
	.binary = true,
	.directory_file = "data",
	.kinds_written = FLAME_KIND_BIT(FLAME_JIT_INLINED),
	.probe = probe,
	.read = read_recording,
	.release = release,
};

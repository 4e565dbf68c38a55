/* SPDX-License-Identifier: MIT */
/*
 * perfdata_attr.c - the events of a perf.data file. Which event a record belongs to is told by an id in it.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "../core/event.h"
#include "perfdata.h"

#define ATTR_MIN 64	/* of the first version of struct perf_event_attr */
#define NONE UINT32_MAX

/* A field that older kernels did not have is 0. */
static uint64_t attr_u64(const struct perfdata *pd, struct flame_span attr, size_t at)
{
	return at + 8 <= attr.len ? perfdata_u64(pd, attr.s + at) : 0;
}

/* The flags are a bit field: its bits begin at the other end in the other byte order, byte by byte. */
static uint64_t read_flags(const struct perfdata *pd, const char *p)
{
	uint64_t flags = 0;

	for (unsigned int i = 0; i < 64; i++) {
		unsigned int bit = pd->big_endian ? 7 - i % 8 : i % 8;

		flags |= (uint64_t)((unsigned char)p[i / 8] >> bit & 1) << i;
	}
	return flags;
}

/* Where ids and times stand, from the sample's start and from other records' ends. */
static void lay_out(struct perfdata_attr *a)
{
	static const uint64_t before_id[] = { PERFDATA_IP, PERFDATA_TID, PERFDATA_TIME, PERFDATA_ADDR };
	static const uint64_t tail[] = { PERFDATA_TID, PERFDATA_TIME, PERFDATA_ID, PERFDATA_STREAM_ID, PERFDATA_CPU,
					 PERFDATA_IDENTIFIER };
	uint32_t at = 8;

	a->id_at = NONE;
	if (a->sample_type & PERFDATA_ID) {
		for (size_t i = 0; i < sizeof(before_id) / sizeof(*before_id); i++)
			at += a->sample_type & before_id[i] ? 8 : 0;
		a->id_at = at;
	}
	if (a->sample_type & PERFDATA_IDENTIFIER)
		a->id_at = 8;
	if (!(a->flags & PERFDATA_SAMPLE_ID_ALL))
		return;
	for (size_t i = sizeof(tail) / sizeof(*tail); i-- > 0;) {
		if (!(a->sample_type & tail[i]))
			continue;
		a->tail += 8;
		if (tail[i] == PERFDATA_TIME)
			a->tail_time = a->tail;
		if (tail[i] == PERFDATA_IDENTIFIER || (tail[i] == PERFDATA_ID && !a->tail_id))
			a->tail_id = a->tail;
	}
}

static struct perfdata_attr parse_attr(const struct perfdata *pd, struct flame_span attr)
{
	struct perfdata_attr a = {
		.type = perfdata_u32(pd, attr.s),
		.config = perfdata_u64(pd, attr.s + 8),
		.sample_type = perfdata_u64(pd, attr.s + 24),
		.read_format = perfdata_u64(pd, attr.s + 32),
		.flags = read_flags(pd, attr.s + 40),
		.branch_type = attr_u64(pd, attr, 72),
		.regs_user = attr_u64(pd, attr, 80),
	};

	/* Two bits; of the other byte order the first is the higher one. */
	a.precise = pd->big_endian ? (unsigned int)(a.flags >> 15 & 1) << 1 | (unsigned int)(a.flags >> 16 & 1) :
				     (unsigned int)(a.flags >> 15 & 3);
	if (a.flags & PERFDATA_FREQ)
		a.frequency = perfdata_u64(pd, attr.s + 16);
	else
		a.period = perfdata_u64(pd, attr.s + 16);
	if (attr.len >= 110)
		a.depth_max = perfdata_u16(pd, attr.s + 108);
	if (attr.len >= 92)
		a.stack_user = perfdata_u32(pd, attr.s + 88);
	lay_out(&a);
	return a;
}

static uint32_t id_hash(uint64_t id)
{
	return (uint32_t)hash_mix(id ^ HASH_A, HASH_B);
}

struct perfdata_id *perfdata_id_find(const struct perfdata *pd, uint64_t id)
{
	const struct perfdata_attrs *e = &pd->events;
	uint32_t row;

	for (uint32_t i = id_hash(id) & e->index.mask; e->index.slots && (row = e->index.slots[i]);
	     i = (i + 1) & e->index.mask) {
		if (e->ids[row].id == id)
			return &e->ids[row];
	}
	return NULL;
}

static bool add_id(struct perfdata *pd, uint64_t id, uint32_t attr)
{
	struct perfdata_attrs *e = &pd->events;

	if (perfdata_id_find(pd, id))
		return true;
	if (!e->nr_ids)
		e->nr_ids = 1;
	if (!array_reserve((void **)&e->ids, &e->room_ids, e->nr_ids + 1, sizeof(*e->ids)))
		return false;
	if (!index_has_room(&e->index)) {
		if (!index_grow(&e->index))
			return false;
		for (size_t i = 1; i < e->nr_ids; i++)
			index_put(&e->index, id_hash(e->ids[i].id), (uint32_t)i);
	}
	e->ids[e->nr_ids] = (struct perfdata_id){ .id = id, .attr = attr };
	index_put(&e->index, id_hash(id), (uint32_t)e->nr_ids++);
	return true;
}

int perfdata_attr_add(struct perfdata *pd, struct flame_span attr, const char *ids, size_t nr_ids)
{
	struct perfdata_attrs *e = &pd->events;
	uint32_t size = attr.len >= 8 ? perfdata_u32(pd, attr.s + 4) : 0;

	if (attr.len < ATTR_MIN)
		return flame_fail(pd->rd, FLAME_EFORMAT, "an event's attributes have %zu bytes, which is less than any version has",
				  attr.len);
	if (size >= ATTR_MIN && size < attr.len)
		attr.len = size;
	if (e->nr_attrs >= PERFDATA_EVENTS_MAX)
		return flame_fail(pd->rd, FLAME_EOVERFLOW, "more than %d events (PERFDATA_EVENTS_MAX)", PERFDATA_EVENTS_MAX);
	if (nr_ids > PERFDATA_IDS_MAX - e->nr_ids)
		return flame_fail(pd->rd, FLAME_EOVERFLOW, "more than %d ids of events (PERFDATA_IDS_MAX)", PERFDATA_IDS_MAX);
	if (!array_reserve((void **)&e->attrs, &e->room_attrs, e->nr_attrs + 1, sizeof(*e->attrs)))
		return FLAME_ENOMEM;
	e->attrs[e->nr_attrs] = parse_attr(pd, attr);
	for (size_t i = 0; i < nr_ids; i++) {
		if (!add_id(pd, perfdata_u64(pd, ids + 8 * i), (uint32_t)e->nr_attrs))
			return FLAME_ENOMEM;
	}
	e->nr_attrs++;
	return 0;
}

struct perfdata_attr *perfdata_attr_of_tail(const struct perfdata *pd, const struct perfdata_record *r)
{
	const struct perfdata_attrs *e = &pd->events;
	const struct perfdata_attr *first = e->attrs;
	struct perfdata_id *id;

	if (!e->nr_attrs)
		return NULL;
	/* As long as all are alike it does not matter which one it is. */
	if (e->nr_attrs == 1 || !first->tail_id || r->size < 8 + (size_t)first->tail_id)
		return &e->attrs[0];
	id = perfdata_id_find(pd, perfdata_u64(pd, r->data + r->size - first->tail_id));
	return &e->attrs[id ? id->attr : 0];
}

/* Names. */

static void set_name(struct perfdata_attr *a, const char *name, size_t len)
{
	char *copy;

	len = strnlen(name, len);
	copy = len ? strndup(name, len) : NULL;
	if (!copy)
		return;
	free(a->name);
	a->name = copy;
}

/* An event with its ids and its name at *@at of the section. Return: false where it does not fit. */
static bool read_event_name(struct perfdata *pd, struct flame_span section, size_t *at, uint32_t attr_size, uint32_t nr)
{
	struct perfdata_attrs *e = &pd->events;
	struct perfdata_attr *a = nr < e->nr_attrs ? &e->attrs[nr] : NULL;
	uint32_t nr_ids, len;
	const char *name;

	if (attr_size > section.len - *at || section.len - *at - attr_size < 8)
		return false;
	*at += attr_size;
	nr_ids = perfdata_u32(pd, section.s + *at);
	len = perfdata_u32(pd, section.s + *at + 4);
	*at += 8;
	if (len > section.len - *at)
		return false;
	name = section.s + *at;
	*at += len;
	if (nr_ids > (section.len - *at) / 8)
		return false;
	if (nr_ids) {
		struct perfdata_id *id = perfdata_id_find(pd, perfdata_u64(pd, section.s + *at));

		a = id ? &e->attrs[id->attr] : a;
	}
	*at += (size_t)nr_ids * 8;
	if (a)
		set_name(a, name, len);
	return true;
}

bool perfdata_attr_names(struct perfdata *pd, struct flame_span section)
{
	uint32_t nr, attr_size;
	size_t at = 8;

	if (section.len < 8)
		return false;
	nr = perfdata_u32(pd, section.s);
	attr_size = perfdata_u32(pd, section.s + 4);
	for (uint32_t i = 0; i < nr; i++) {
		if (!read_event_name(pd, section, &at, attr_size, i))
			return false;
	}
	return true;
}

void perfdata_attr_update(struct perfdata *pd, const struct perfdata_record *r)
{
	enum { UPDATE_NAME = 2 };
	struct perfdata_id *id;

	if (r->size <= 24 || perfdata_u64(pd, r->data + 8) != UPDATE_NAME)
		return;
	id = perfdata_id_find(pd, perfdata_u64(pd, r->data + 16));
	if (id)
		set_name(&pd->events.attrs[id->attr], r->data + 24, r->size - 24);
}

/* What perf would call an event whose name the recording does not tell. */

static const char *known_event(uint32_t type, uint64_t config)
{
	static const char *const hardware[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
		"stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
	};
	static const char *const software[] = {
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
		"alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
	};

	if (type == 0 && config < sizeof(hardware) / sizeof(*hardware))
		return hardware[config];
	if (type == 1 && config < sizeof(software) / sizeof(*software))
		return software[config];
	return NULL;
}

/* The letters behind ':' of an event's name; @to has room for 16. */
static void write_modifiers(const struct perfdata_attr *a, char *to)
{
	uint64_t f = a->flags;
	bool guest_excluded = false;
	char *start = to++;

	if (f & (PERFDATA_EXCLUDE_KERNEL | PERFDATA_EXCLUDE_USER | PERFDATA_EXCLUDE_HV)) {
		guest_excluded = true;
		if (!(f & PERFDATA_EXCLUDE_KERNEL))
			*to++ = 'k';
		if (!(f & PERFDATA_EXCLUDE_USER))
			*to++ = 'u';
		if (!(f & PERFDATA_EXCLUDE_HV))
			*to++ = 'h';
	}
	for (unsigned int i = 0; i < a->precise; i++) {
		guest_excluded = true;
		*to++ = 'p';
	}
	if (f & PERFDATA_EXCLUDE_HOST || !(f & PERFDATA_EXCLUDE_GUEST) != guest_excluded) {
		if (!(f & PERFDATA_EXCLUDE_HOST))
			*to++ = 'H';
		if (!(f & PERFDATA_EXCLUDE_GUEST))
			*to++ = 'G';
	}
	*start = ':';
	*to = '\0';
	if (to == start + 1)
		*start = '\0';
}

static char *make_name(const struct perfdata *pd, const struct perfdata_attr *a)
{
	enum { TRACEPOINT = 2 };
	const char *known = known_event(a->type, a->config), *system, *event;
	char modifiers[16], *name;
	int n;

	write_modifiers(a, modifiers);
	if (a->type == TRACEPOINT && flame_tracepoint_name(pd->tracepoints, a->config, &system, &event))
		n = asprintf(&name, "%s:%s", system, event);
	else if (known)
		n = asprintf(&name, "%s%s", known, modifiers);
	else if (a->type == TRACEPOINT)
		n = asprintf(&name, "tracepoint-%llu", (unsigned long long)a->config);
	else
		n = asprintf(&name, "event-%u-0x%llx%s", a->type, (unsigned long long)a->config, modifiers);
	return n < 0 ? NULL : name;
}

/* The first event's is what is used by default. */
static void note_rate(struct perfdata *pd, const struct perfdata_attr *a)
{
	struct flame_meta *meta = flame_meta(pd->rd->profile);

	if (meta->frequency_hz || meta->period)
		return;
	meta->frequency_hz = a->frequency <= UINT32_MAX ? (uint32_t)a->frequency : 0;
	meta->period = a->period;
	meta->depth_max = a->depth_max;
}

static flame_type make_type(struct perfdata *pd, struct perfdata_attr *a)
{
	note_rate(pd, a);
	flame_meta(pd->rd->profile)->copied_stacks |= (a->sample_type & PERFDATA_STACK_USER) != 0;
	if (!a->name)
		a->name = make_name(pd, a);
	if (!a->name)
		return 0;
	a->value = flame_event_type(pd->rd->profile, (struct flame_span){ a->name, strlen(a->name) },
				    a->sample_type & PERFDATA_PERIOD || a->period);
	a->is_switch = !strcmp(a->name, "sched:sched_switch");
	pd->any_switch |= a->is_switch;
	pd->any_sched |= !strncmp(a->name, "sched:", 6);
	return a->value;
}

/* Types are made in the order of the recorder's events, whichever was sampled first. */
flame_type perfdata_attr_type(struct perfdata *pd, struct perfdata_attr *a)
{
	struct perfdata_attrs *e = &pd->events;

	for (size_t i = 0; !a->value && i < e->nr_attrs && (e->attrs[i].value || make_type(pd, &e->attrs[i])); i++)
		;
	return a->value;
}

void perfdata_attrs_release(struct perfdata *pd)
{
	struct perfdata_attrs *e = &pd->events;

	for (size_t i = 0; i < e->nr_attrs; i++)
		free(e->attrs[i].name);
	free(e->attrs);
	free(e->ids);
	free(e->index.slots);
}

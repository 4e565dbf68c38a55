/* SPDX-License-Identifier: MIT */
/*
 * perfdata_sample.c - takes samples apart. The order of the fields is that of perf's own reader.
 */
#include "perfdata.h"

/* What is left of a record. */
struct cursor {
	const struct perfdata *pd;
	const char *p, *end;
	bool cut;
};

static const char *take(struct cursor *c, uint64_t len)
{
	const char *p = c->p;

	if (len > (uint64_t)(c->end - c->p)) {
		c->cut = true;
		return NULL;
	}
	c->p += len;
	return p;
}

static uint64_t take_u64(struct cursor *c)
{
	const char *p = take(c, 8);

	return p ? perfdata_u64(c->pd, p) : 0;
}

/* @nr items of @size bytes each. */
static const char *take_items(struct cursor *c, uint64_t nr, uint64_t size)
{
	if (nr > UINT16_MAX) {
		c->cut = true;
		return NULL;
	}
	return take(c, nr * size);
}

static void read_ids(struct cursor *c, struct perfdata_sample *s)
{
	uint64_t type = s->attr->sample_type;
	const char *p;

	if (type & PERFDATA_IDENTIFIER)
		take(c, 8);
	if (type & PERFDATA_IP)
		s->ip = take_u64(c);
	if (type & PERFDATA_TID && (p = take(c, 8))) {
		s->pid = (int32_t)perfdata_u32(c->pd, p);
		s->tid = (int32_t)perfdata_u32(c->pd, p + 4);
	}
	if (type & PERFDATA_TIME) {
		s->time = take_u64(c);
		s->has_time = true;
	}
	if (type & PERFDATA_ADDR)
		take(c, 8);
	if (type & PERFDATA_ID)
		s->event_id = take_u64(c);
	if (type & PERFDATA_STREAM_ID)
		take(c, 8);
	if (type & PERFDATA_CPU && (p = take(c, 8)))
		s->cpu = perfdata_u32(c->pd, p);
	s->period = type & PERFDATA_PERIOD ? take_u64(c) : s->attr->period;
}

/* Values of counters: one, or those of a group. */
static void read_counters(struct cursor *c, struct perfdata_sample *s)
{
	uint64_t format = s->attr->read_format, nr = 1;
	uint64_t each = 8 + (format & PERFDATA_READ_ID ? 8 : 0) + (format & PERFDATA_READ_LOST ? 8 : 0);
	const char *start = c->p;

	if (format & PERFDATA_READ_GROUP)
		nr = take_u64(c);
	if (format & PERFDATA_READ_ENABLED)
		take(c, 8);
	if (format & PERFDATA_READ_RUNNING)
		take(c, 8);
	take_items(c, nr, each);
	s->has_read = !c->cut;
	s->read = start;
	s->read_end = c->p;
}

static void read_branches(struct cursor *c, struct perfdata_sample *s)
{
	enum { HW_INDEX = 1 << 17 };

	s->nr_branches = take_u64(c);
	if (s->attr->branch_type & HW_INDEX)
		take(c, 8);
	s->branches = take_items(c, s->nr_branches, 24);
}

static void read_stack(struct cursor *c, struct perfdata_sample *s)
{
	s->stack_size = take_u64(c);
	if (!s->stack_size || c->cut)
		return;
	s->stack = take(c, s->stack_size);
	s->stack_used = take_u64(c);
	if (s->stack_used > s->stack_size)
		s->stack_used = s->stack_size;
	s->has_stack = !c->cut;
}

static void read_rest(struct cursor *c, struct perfdata_sample *s)
{
	uint64_t type = s->attr->sample_type;
	const char *p;

	if (type & PERFDATA_READ)
		read_counters(c, s);
	if (type & PERFDATA_CALLCHAIN) {
		s->nr_chain = take_u64(c);
		s->chain = take_items(c, s->nr_chain, 8);
		s->has_chain = true;
	}
	if (type & PERFDATA_RAW && (p = take(c, 4))) {
		s->raw_len = perfdata_u32(c->pd, p);
		s->raw = take(c, s->raw_len);
		/* Padded so that what follows is aligned in the record. */
		if (s->raw)
			take(c, -(4 + (uint64_t)s->raw_len) & 7);
	}
	if (type & PERFDATA_BRANCHES)
		read_branches(c, s);
	if (type & PERFDATA_REGS_USER) {
		s->regs_abi = take_u64(c);
		s->nr_regs = s->regs_abi ? (uint32_t)__builtin_popcountll(s->attr->regs_user) : 0;
		s->regs = take_items(c, s->nr_regs, 8);
	}
	if (type & PERFDATA_STACK_USER)
		read_stack(c, s);
}

const char *perfdata_sample_parse(const struct perfdata *pd, const struct perfdata_record *r,
				  struct perfdata_sample *s)
{
	const struct perfdata_attrs *e = &pd->events;
	struct cursor c = { .pd = pd, .p = r->data + 8, .end = r->data + r->size };
	uint32_t id_at = e->nr_attrs ? e->attrs[0].id_at : UINT32_MAX;

	*s = (struct perfdata_sample){ .pid = -1, .tid = -1, .mode = r->misc & PERFDATA_MISC_CPUMODE };
	if (!e->nr_attrs)
		return "a sample before any event was described";
	if (id_at != UINT32_MAX && (size_t)id_at + 8 <= r->size)
		s->id = perfdata_id_find(pd, perfdata_u64(pd, r->data + id_at));
	if (!s->id && e->nr_attrs > 1 && e->nr_ids)
		return "a sample of an event that is not described";
	s->attr = &e->attrs[s->id ? s->id->attr : 0];
	read_ids(&c, s);
	read_rest(&c, s);
	return c.cut ? "a sample that is shorter than its fields" : NULL;
}

uint64_t perfdata_time(const struct perfdata *pd, const struct perfdata_record *r)
{
	const struct perfdata_attrs *e = &pd->events;
	const struct perfdata_attr *a = e->attrs;
	uint32_t at = 8;
	uint64_t time;

	if (r->type >= PERFDATA_USER_TYPES || !e->nr_attrs)
		return 0;
	if (r->type == PERFDATA_SAMPLE) {
		if (e->nr_attrs > 1 && a->id_at != UINT32_MAX && (size_t)a->id_at + 8 <= r->size) {
			struct perfdata_id *id = perfdata_id_find(pd, perfdata_u64(pd, r->data + a->id_at));

			a = &e->attrs[id ? id->attr : 0];
		}
		for (uint64_t bit = PERFDATA_IP; bit <= PERFDATA_TID; bit <<= 1)
			at += a->sample_type & bit ? 8 : 0;
		at += a->sample_type & PERFDATA_IDENTIFIER ? 8 : 0;
		if (!(a->sample_type & PERFDATA_TIME) || at + 8 > r->size)
			return 0;
		time = perfdata_u64(pd, r->data + at);
	} else {
		a = perfdata_attr_of_tail(pd, r);
		if (!a->tail_time || r->size < 8 + (size_t)a->tail)
			return 0;
		time = perfdata_u64(pd, r->data + r->size - a->tail_time);
	}
	return time == UINT64_MAX ? 0 : time;
}

int32_t perfdata_tail_tid(const struct perfdata *pd, const struct perfdata_record *r)
{
	const struct perfdata_attr *a = perfdata_attr_of_tail(pd, r);

	if (!a || !(a->sample_type & PERFDATA_TID) || !a->tail || r->size < 8 + (size_t)a->tail)
		return -1;
	return (int32_t)perfdata_u32(pd, r->data + r->size - a->tail + 4);
}

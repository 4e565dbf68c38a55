/* SPDX-License-Identifier: MIT */
/*
 * jfr.c - recordings of the JDK Flight Recorder, written by the JDK (8u262, 11 and later) or by
 * async-profiler (2 and later, also with older JDKs 8).
 *
 * A file is a row of chunks, each complete in itself: a header of 68 bytes, then events. Two kinds
 * of events tell how to read the others: the metadata describes all types, and checkpoints hold the
 * constant pools that events refer to. Events are read by the names of their fields, never by a
 * fixed order, because the JDK and async-profiler, and their versions, differ in it.
 *
 * Seen: files of JDK 8, 11, 17, 21 and 25 to 28, of async-profiler 4.5, and of both one after the other.
 * Not read: version 1 of the format (Oracle's JDK 7 to 8, OpenJDK 9 and 10), uncompressed integers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/converter.h"
#include "../core/meta.h"
#include "../core/span.h"
#include "jfr_chunk.h"
#include "jfr_pools.h"
#include "../core/table.h"

#define NEAR_IDS 4096			/* types' ids are numbers from 1 on */

/* What is done with an event. */
enum action {
	SAMPLE,
	EXECUTION,	/* a sample of CPU time or, of async-profiler, of wall-clock time: its state tells */
	FREE,		/* of memory */
	DATA_LOSS,	/* bytes that the JVM had no room for */
	CPU_LOST,	/* samples that it had none for */
	SETTING,	/* of the recording */
	JVM_INFO,
	CPU_INFO,
};

/* Fields that matter, by the slots of an event's program. */
enum slot { TIME, THREAD, STACK, STATE, AMOUNT, AMOUNT2, LEAF, FAILED, BIASED, ADDRESS, NR_SLOTS };

enum leaf { NO_LEAF, CLASS_LEAF, OUTSIDE_LEAF, OBJECT_LEAF, METHOD_LEAF };

struct kind {
	const char *event;
	const char *type;	/* its value type's name: events of one type are added */
	const char *amount, *amount2;	/* field that is the value; the second where the first is 0. NULL: 1 each */
	const char *leaf;	/* field whose class becomes the leaf frame */
	const char *unit;
	enum flame_value_kind value_kind;
	enum leaf leaf_kind;
	enum action action;
};

#define CPU FLAME_VALUE_ON_CPU
#define ALLOC FLAME_VALUE_ALLOCATION
#define LOCK FLAME_VALUE_LOCK
#define WALL FLAME_VALUE_WALL
#define OFF FLAME_VALUE_OFF_CPU
#define ANY FLAME_VALUE_OTHER

/*
 * In the order of preference. Events in and outside of TLABs are two halves of one measure and are
 * added; ObjectAllocationSample is another measure of the same and is not. Waiting to enter a
 * monitor and being parked are added as time lost to locks, as async-profiler does; waiting to be
 * notified is no such loss.
 */
static const struct kind kinds[] = {
	{ "jdk.ExecutionSample", "cpu:jdk.ExecutionSample", NULL, NULL, NULL, "count", CPU, NO_LEAF, EXECUTION },
	{ "jdk.CPUTimeSample", "cpu:jdk.CPUTimeSample", "samplingPeriod", NULL, NULL, "ns", CPU, NO_LEAF, SAMPLE },
	{ "profiler.WallClockSample", "wall:profiler.WallClockSample", "samples", NULL, NULL, "count", WALL, NO_LEAF, SAMPLE },
	{ "jdk.ExecutionSample", "wall:jdk.ExecutionSample", NULL, NULL, NULL, "count", WALL, NO_LEAF, EXECUTION },
	{ "jdk.ObjectAllocationInNewTLAB", "alloc:TLAB", "tlabSize", "allocationSize", "objectClass", "bytes", ALLOC,
	  CLASS_LEAF, SAMPLE },
	{ "jdk.ObjectAllocationOutsideTLAB", "alloc:TLAB", "allocationSize", NULL, "objectClass", "bytes", ALLOC,
	  OUTSIDE_LEAF, SAMPLE },
	{ "jdk.ObjectAllocationSample", "alloc:jdk.ObjectAllocationSample", "weight", NULL, "objectClass", "bytes", ALLOC,
	  CLASS_LEAF, SAMPLE },
	{ "profiler.LiveObject", "live:profiler.LiveObject", "allocationSize", NULL, "objectClass", "bytes", ALLOC,
	  CLASS_LEAF, SAMPLE },
	{ "jdk.OldObjectSample", "live:jdk.OldObjectSample", "objectSize", NULL, "object", "bytes", ALLOC, OBJECT_LEAF, SAMPLE },
	{ "jdk.JavaMonitorEnter", "lock:enter/park", "duration", NULL, "monitorClass", "ns", LOCK, CLASS_LEAF, SAMPLE },
	{ "jdk.ThreadPark", "lock:enter/park", "duration", NULL, "parkedClass", "ns", LOCK, CLASS_LEAF, SAMPLE },
	{ "profiler.NativeLock", "lock:profiler.NativeLock", "duration", NULL, NULL, "ns", LOCK, NO_LEAF, SAMPLE },
	{ "jdk.JavaMonitorWait", "lock:jdk.JavaMonitorWait", "duration", NULL, "monitorClass", "ns", LOCK, CLASS_LEAF, SAMPLE },
	{ "profiler.Malloc", "nativemem:profiler.Malloc", "size", NULL, NULL, "bytes", ALLOC, NO_LEAF, SAMPLE },
	{ "jdk.MethodTrace", "trace:jdk.MethodTrace", "duration", NULL, "method", "ns", WALL, METHOD_LEAF, SAMPLE },
	{ "profiler.MethodTrace", "trace:profiler.MethodTrace", "duration", NULL, "method", "ns", WALL, METHOD_LEAF, SAMPLE },
	{ "jdk.NativeMethodSample", "native:jdk.NativeMethodSample", NULL, NULL, NULL, "count", ANY, NO_LEAF, SAMPLE },
	{ "jdk.JavaExceptionThrow", "exceptions:jdk.JavaExceptionThrow", NULL, NULL, NULL, "count", ANY, NO_LEAF, SAMPLE },
	{ "jdk.JavaErrorThrow", "exceptions:jdk.JavaErrorThrow", NULL, NULL, NULL, "count", ANY, NO_LEAF, SAMPLE },
	{ "jdk.FileRead", "file:read/write/force", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "jdk.FileWrite", "file:read/write/force", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "jdk.FileForce", "file:read/write/force", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "jdk.SocketRead", "socket:read/write", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "jdk.SocketWrite", "socket:read/write", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "jdk.ThreadSleep", "jdk.ThreadSleep", "duration", NULL, NULL, "ns", OFF, NO_LEAF, SAMPLE },
	{ "profiler.Free", NULL, NULL, NULL, NULL, NULL, ANY, NO_LEAF, FREE },
	{ "jdk.DataLoss", NULL, "amount", NULL, NULL, NULL, ANY, NO_LEAF, DATA_LOSS },
	{ "jdk.CPUTimeSamplesLost", NULL, "lostSamples", NULL, NULL, NULL, ANY, NO_LEAF, CPU_LOST },
	{ "jdk.ActiveSetting", NULL, "id", "value", "name", NULL, ANY, NO_LEAF, SETTING },
	{ "jdk.JVMInformation", NULL, NULL, "jvmVersion", NULL, NULL, ANY, NO_LEAF, JVM_INFO },
	{ "jdk.CPUInformation", NULL, "hwThreads", NULL, NULL, NULL, ANY, NO_LEAF, CPU_INFO },
};

#define NR_NAMED (sizeof(kinds) / sizeof(*kinds))

/* All other events that have a stack: their duration where they have one, else their number. */
static const struct kind timed = { "", NULL, "duration", NULL, NULL, "ns", ANY, NO_LEAF, SAMPLE };
static const struct kind counted = { "", NULL, NULL, NULL, NULL, "count", ANY, NO_LEAF, SAMPLE };

/* How to read one type of event; belongs to the schema. */
struct plan {
	const struct kind *kind;
	const struct jfr_class *class;
	struct jfr_program program;
	enum jfr_unit unit;	/* of the amount, where it is a time */
	bool counts;			/* the amount is missing: 1 each */
	bool has_state;
	bool weighs;		/* the amount is how many samples it stands for */
	bool malloc;
	flame_type type, wall;		/* 0 until the first sample */
	struct jfr_value values[NR_SLOTS];	/* of an event; of fields that the type lacks, 0 */
};

/* Equal events of a chunk, until the pools are known. */
struct sum {
	uint64_t stack, thread, leaf;
	uint32_t plan, state;
	int64_t value;
	uint64_t nr;
};

/* Look-ups of several events overlap, as each may have to wait for memory. */
#define PENDING 32

struct pending {
	struct sum key;
	uint32_t hash;
};

/* An event whose time matters: in a flame chart, and with --leak. */
struct timed_event {
	uint64_t time;
	uint64_t address;	/* of memory */
	int64_t value;
	uint64_t nr;
	uint32_t sum;		/* UINT32_MAX: memory that is freed */
	uint32_t seq;		/* order of equal times */
};

/* Memory that was allocated. */
struct block {
	struct flame_sample sample;
	uint32_t nr;		/* 0: it was freed */
};

struct state {
	struct jfr_chunk chunk;
	struct jfr_schema schema;
	bool has_schema;
	struct plan *plans;
	size_t nr_plans, room_plans;
	struct idmap plan_ids;		/* type id -> plan */
	uint16_t near_plans[NEAR_IDS];	/* the same for low ids; plan + 1, 0: none */
	struct jfr_pools pools;
	uint64_t *checkpoints;
	size_t nr_checkpoints, room_checkpoints;
	struct sum *sums;
	size_t nr_sums, room_sums;
	struct index sum_index;
	struct pending pending[PENDING];	/* events on their way to the sums */
	unsigned int nr_pending;
	struct timed_event *timed;
	size_t nr_timed, room_timed;
	struct idmap addresses;
	struct block *blocks;
	size_t nr_blocks, room_blocks;
	flame_type types[NR_NAMED];
	uint64_t used, lost;		/* samples of the chunk; those whose stacks are missing */
	bool has_first;
	double first_ns;		/* when the first sample was taken, for --time */
	/* What the recorder itself says was lost. */
	uint64_t failed, biased, lost_bytes, lost_samples;
};

/* ---- Metadata and pools ---- */

static bool note_checkpoint(struct state *st, uint64_t at)
{
	if (!array_reserve((void **)&st->checkpoints, &st->room_checkpoints, st->nr_checkpoints + 1, sizeof(*st->checkpoints)))
		return false;
	st->checkpoints[st->nr_checkpoints++] = at;
	return true;
}

/* Look at all events for metadata and checkpoints, and find where the events end. */
static int survey(struct state *st)
{
	struct jfr_walker w;
	struct jfr_event e;
	int err = jfr_walk(&w, &st->chunk);

	st->nr_checkpoints = 0;
	st->chunk.metadata = 0;
	while (!err && jfr_next(&w, &e)) {
		if (!e.type)
			st->chunk.metadata = e.at;
		else if (e.type == 1 && !note_checkpoint(st, e.at))
			err = FLAME_ENOMEM;
	}
	if (err)
		return err;
	st->chunk.size = w.at + w.pos;
	st->chunk.broken_at = w.broken_at;
	return 0;
}

/* The pools of the checkpoint at @at; *@delta is where the one before it is. */
static int read_checkpoint(struct state *st, uint64_t at, int64_t *delta)
{
	struct jfr_cursor c;
	int err = jfr_fetch(&st->chunk, at, 1, &c);

	if (err)
		return err;
	jfr_varint(&c);
	jfr_varint(&c);
	*delta = (int64_t)jfr_varint(&c);
	if (c.p < c.end)
		c.p++;
	else
		c.bad = true;
	return c.bad ? FLAME_EFORMAT : jfr_pools_add(&st->pools, &c);
}

/* Checkpoints are chained from the last one back. Return: FLAME_EFORMAT where the chain is broken. */
static int follow_chain(struct state *st)
{
	uint64_t at = st->chunk.pools;
	int64_t delta;
	int err;

	for (;;) {
		err = read_checkpoint(st, at, &delta);
		if (err || !delta)
			return err;
		if (delta > 0 || (uint64_t)-delta > at)
			return FLAME_EFORMAT;
		at -= (uint64_t)-delta;
	}
}

static int read_pools(struct state *st)
{
	int err = st->chunk.damaged ? FLAME_EFORMAT : follow_chain(st);
	int64_t delta;

	if (err != FLAME_EFORMAT)
		return err;
	if (!st->chunk.damaged)
		err = survey(st);
	else
		err = 0;
	st->chunk.damaged = true;
	for (size_t i = st->nr_checkpoints; (!err || err == FLAME_EFORMAT) && i-- > 0;)
		err = read_checkpoint(st, st->checkpoints[i], &delta);
	return err == FLAME_EFORMAT ? 0 : err;
}

/* Return: true where --event names this event, so that it is not added to others. */
static bool is_asked(const struct flame_read_options *o, const struct kind *kind)
{
	const char *last = strrchr(kind->event, '.');

	return o->event && (!strcmp(o->event, kind->event) || (last && !strcmp(o->event, last + 1)));
}

static flame_type make_type(struct flame_reader *rd, const char *name, const char *event, bool counts, const struct kind *kind)
{
	const char *unit = counts ? "count" : kind->unit;
	struct flame_type_info info = { .unit = flame_intern(rd->profile, unit, strlen(unit)), .kind = kind->value_kind };
	char *text;
	int len = asprintf(&text, "%s%s%s", name, event, counts && kind->amount ? "/count" : "");

	if (len < 0)
		return 0;
	info.name = flame_intern(rd->profile, text, (size_t)len);
	free(text);
	return flame_type_row(rd->profile, &info);
}

/* Types of the named kinds, in the order of preference. */
static void make_types(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < NR_NAMED; i++) {
		const char *colon = kinds[i].type ? strchr(kinds[i].type, ':') : NULL;
		char group[32] = "";

		if (!kinds[i].type)
			continue;
		if (colon && strcmp(colon + 1, kinds[i].event) && is_asked(rd->options, &kinds[i])) {
			memcpy(group, kinds[i].type, (size_t)(colon + 1 - kinds[i].type));
			st->types[i] = make_type(rd, group, kinds[i].event, false, &kinds[i]);
		} else {
			st->types[i] = make_type(rd, kinds[i].type, "", false, &kinds[i]);
		}
	}
}

/* Return: the kind of an event; NULL where it is none that is used. */
static const struct kind *find_kind(const struct jfr_types *types, const struct jfr_class *class)
{
	const struct jfr_field *stack;
	const struct jfr_class *type;

	for (size_t i = 0; i < NR_NAMED; i++) {
		if (span_is(class->name, kinds[i].event))
			return &kinds[i];
	}
	stack = class->event ? jfr_field_find(types, class, "stackTrace") : NULL;
	type = stack ? jfr_class_of_id(types, stack->type) : NULL;
	if (!type || !span_is(type->name, "jdk.types.StackTrace"))
		return NULL;
	return jfr_field_find(types, class, "duration") ? &timed : &counted;
}

static enum jfr_unit unit_of(const struct jfr_types *types, const struct jfr_class *class, const struct kind *kind,
			     const char *name)
{
	const struct jfr_field *f = name && kind->unit && !strcmp(kind->unit, "ns") ? jfr_field_find(types, class, name) : NULL;

	return !f ? JFR_UNIT_NONE : f->unit ? f->unit : JFR_TICKS;
}

static bool wants_time(const struct flame_read_options *o)
{
	return o->time_from > 0 || o->time_to > 0;
}

static bool wants_thread(const struct flame_read_options *o)
{
	return o->threads || o->keep_task || o->root > FLAME_ROOT_NONE;
}

static int add_plan(struct flame_reader *rd, const struct jfr_class *class, const struct kind *kind)
{
	struct state *st = rd->state;
	const struct jfr_types *types = &st->schema.types;
	const struct flame_read_options *o = rd->options;
	/* Each field that is read costs time, so it is only those that are needed. */
	const char *names[NR_SLOTS] = {
		[TIME] = o->ordered || o->leak || wants_time(o) ? "startTime" : NULL, [STACK] = "stackTrace", [STATE] = o->state || kind->action == EXECUTION ? "state" : NULL, [AMOUNT] = kind->amount,
		[AMOUNT2] = kind->amount2, [LEAF] = kind->leaf, [FAILED] = "failed", [BIASED] = "biased", [ADDRESS] = o->leak ? "address" : NULL,
	};
	struct plan plan = { .kind = kind, .class = class };
	int err;

	if (wants_thread(o))
		names[THREAD] = jfr_field_find(types, class, "sampledThread") ? "sampledThread" : "eventThread";
	plan.has_state = jfr_field_find(types, class, "state") != NULL;
	plan.counts = !kind->amount || !jfr_field_find(types, class, kind->amount);
	plan.unit = unit_of(types, class, kind, kind->amount);
	plan.weighs = !plan.counts && kind->unit && !strcmp(kind->unit, "count");
	plan.malloc = !strcmp(kind->event, "profiler.Malloc");
	if (kind >= kinds && kind < kinds + NR_NAMED && !(plan.counts && kind->amount))
		plan.type = st->types[kind - kinds];
	if (kind->action == EXECUTION) {
		for (size_t i = 0; i < NR_NAMED; i++) {
			if (kinds[i].action == EXECUTION)
				plan.wall = st->types[i];
		}
	}
	err = jfr_compile(&plan.program, types, class, names, NR_SLOTS, false);
	if (err || !array_reserve((void **)&st->plans, &st->room_plans, st->nr_plans + 1, sizeof(*st->plans)) ||
	    idmap_add(&st->plan_ids, class->id, (uint32_t)st->nr_plans) == UINT32_MAX) {
		free(plan.program.steps);
		return err == FLAME_EFORMAT ? flame_skip(rd, "a type of event nests too deep or is not defined") : FLAME_ENOMEM;
	}
	st->plans[st->nr_plans++] = plan;
	if (class->id < NEAR_IDS && st->nr_plans <= UINT16_MAX)
		st->near_plans[class->id] = (uint16_t)st->nr_plans;
	return 0;
}

static void release_schema(struct state *st)
{
	for (size_t i = 0; i < st->nr_plans; i++)
		free(st->plans[i].program.steps);
	st->nr_plans = 0;
	idmap_clear(&st->plan_ids);
	memset(st->near_plans, 0, sizeof(st->near_plans));
	jfr_schema_release(&st->schema);
	st->has_schema = false;
}

/* The content of the metadata event. Return: FLAME_EDAMAGED where there is none. */
static int fetch_metadata(struct state *st, struct jfr_cursor *c)
{
	int err = jfr_fetch(&st->chunk, st->chunk.metadata, 0, c);

	for (int i = 0; !err && i < 3; i++)
		jfr_varint(c);	/* when, how long, number of the metadata */
	return err == FLAME_EFORMAT || (!err && c->bad) ? FLAME_EDAMAGED : err;
}

/*
 * Chunks of one recording have the same metadata, which are then read once.
 * Return: 0, FLAME_EDAMAGED where they cannot be read, or a failure.
 */
static int read_metadata(struct flame_reader *rd)
{
	struct state *st = rd->state;
	const struct jfr_types *types = &st->schema.types;
	struct jfr_cursor c;
	int err = fetch_metadata(st, &c);

	if (err || (st->has_schema && jfr_types_same(types, c.p, (size_t)(c.end - c.p))))
		return err;
	release_schema(st);
	err = jfr_schema_read(&st->schema, c.p, (size_t)(c.end - c.p));
	st->has_schema = !err;
	for (size_t i = 0; st->has_schema && !err && i < types->nr_classes; i++) {
		const struct kind *kind = find_kind(types, &types->classes[i]);

		err = kind ? add_plan(rd, &types->classes[i], kind) : 0;
	}
	return err == FLAME_EFORMAT && !st->has_schema ? FLAME_EDAMAGED : err;
}

/* ---- Samples ---- */

/* Return: false where it does not fit. */
static bool to_ns(const struct jfr_chunk *c, uint64_t n, enum jfr_unit unit, int64_t *value)
{
	static const uint64_t scale[] = {
		[JFR_UNIT_NONE] = 1, [JFR_NANOSECONDS] = 1, [JFR_MICROSECONDS] = 1000,
		[JFR_MILLISECONDS] = 1000000, [JFR_SECONDS] = 1000000000,
	};
	unsigned __int128 v = unit == JFR_TICKS ? (unsigned __int128)n * 1000000000 / (c->frequency ? c->frequency : 1000000000) :
						  (unsigned __int128)n * scale[unit];

	*value = (int64_t)v;
	return v <= INT64_MAX;
}

/* Nanoseconds since 1970 of a time in ticks. */
static double time_of(const struct jfr_chunk *c, uint64_t ticks)
{
	return (double)c->start_ns + (double)(int64_t)(ticks - c->start_ticks) * 1e9 / (c->frequency ? (double)c->frequency : 1e9);
}

static bool out_of_time(const struct flame_reader *rd, uint64_t ticks)
{
	const struct flame_read_options *o = rd->options;
	struct state *st = rd->state;
	double t;

	if (!wants_time(o))
		return false;
	t = (time_of(&st->chunk, ticks) - st->first_ns) / 1e9;
	return t < o->time_from || (o->time_to > 0 && t > o->time_to);
}

/* The value of an event. Return: false where it does not fit 63 bits. */
static bool value_of(const struct jfr_chunk *c, const struct plan *plan, const struct jfr_value *v, int64_t *value)
{
	uint64_t n = v[AMOUNT].n;

	*value = 1;
	if (plan->counts)
		return true;
	if (!n && plan->kind->amount2)
		n = v[AMOUNT2].n;
	if (plan->unit)
		return to_ns(c, n, plan->unit, value);
	*value = (int64_t)n;
	return n <= INT64_MAX;
}

static uint32_t sum_hash(const struct sum *s)
{
	uint64_t a = s->stack ^ (s->leaf << 32 | s->leaf >> 32), b = s->thread << 16 ^ (uint64_t)s->plan << 48 ^ s->state;

	return (uint32_t)hash_mix(a ^ HASH_A, b ^ HASH_B);
}

static bool same_sum(const struct sum *a, const struct sum *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->leaf == b->leaf && a->plan == b->plan && a->state == b->state;
}

static bool grow_sums(struct state *st)
{
	if (!index_grow(&st->sum_index))
		return false;
	for (size_t i = 0; i < st->nr_sums; i++)
		index_put(&st->sum_index, sum_hash(&st->sums[i]), (uint32_t)i + 1);
	return true;
}

/* Return: the sum that is like @key; NULL without memory. */
static struct sum *find_sum(struct state *st, const struct sum *key, uint32_t hash)
{
	struct index *x = &st->sum_index;
	uint32_t row;

	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (same_sum(&st->sums[row - 1], key))
			return &st->sums[row - 1];
	}
	if (!array_reserve((void **)&st->sums, &st->room_sums, st->nr_sums + 1, sizeof(*st->sums)) ||
	    (!index_has_room(x) && !grow_sums(st)))
		return NULL;
	st->sums[st->nr_sums] = *key;
	st->sums[st->nr_sums].value = 0;
	st->sums[st->nr_sums++].nr = 0;
	index_put(x, hash, (uint32_t)st->nr_sums);
	return &st->sums[st->nr_sums - 1];
}

static int add_timed(struct state *st, const struct jfr_value *v, int64_t value, uint64_t nr, uint32_t sum)
{
	if (!array_reserve((void **)&st->timed, &st->room_timed, st->nr_timed + 1, sizeof(*st->timed)))
		return FLAME_ENOMEM;
	st->timed[st->nr_timed] = (struct timed_event){
		.time = v[TIME].n, .address = v[ADDRESS].n, .value = value, .nr = nr, .sum = sum,
		.seq = (uint32_t)st->nr_timed,
	};
	st->nr_timed++;
	return 0;
}

/* The events that wait, into their sums. */
static int add_pending(struct flame_reader *rd)
{
	struct state *st = rd->state;
	unsigned int nr = st->nr_pending;

	st->nr_pending = 0;
	for (unsigned int i = 0; st->sum_index.slots && i < nr; i++) {
		uint32_t row = st->sum_index.slots[st->pending[i].hash & st->sum_index.mask];

		__builtin_prefetch(&st->sums[row ? row - 1 : 0]);
	}
	for (unsigned int i = 0; i < nr; i++) {
		const struct sum *key = &st->pending[i].key;
		struct sum *sum = find_sum(st, key, st->pending[i].hash);

		if (!sum)
			return FLAME_ENOMEM;
		if (__builtin_add_overflow(sum->value, key->value, &sum->value))
			return flame_fail(rd, FLAME_EOVERFLOW, "the sum of %.*s does not fit 64 bits",
					  (int)st->plans[key->plan].class->name.len, st->plans[key->plan].class->name.s);
		sum->nr += key->nr;
	}
	return 0;
}

static int add_event(struct flame_reader *rd, uint32_t plan_nr, const struct jfr_value *v)
{
	struct state *st = rd->state;
	const struct plan *plan = &st->plans[plan_nr];
	/* Filled in where it stays: copying it would cost as much as all the rest. */
	struct pending *pending = &st->pending[st->nr_pending];
	struct sum *key = &pending->key, *sum;

	if (!value_of(&st->chunk, plan, v, &key->value))
		return flame_skip(rd, "the value of an event does not fit 63 bits");
	key->stack = v[STACK].n;
	key->thread = v[THREAD].n;
	key->leaf = v[LEAF].n;
	key->plan = plan_nr;
	key->state = (uint32_t)v[STATE].n;
	key->nr = plan->weighs ? (uint64_t)key->value : 1;
	pending->hash = sum_hash(key);
	if (rd->options->ordered || (rd->options->leak && plan->malloc)) {
		sum = find_sum(st, key, pending->hash);
		return sum ? add_timed(st, v, key->value, key->nr, (uint32_t)(sum - st->sums)) : FLAME_ENOMEM;
	}
	if (st->sum_index.slots)
		__builtin_prefetch(&st->sum_index.slots[pending->hash & st->sum_index.mask]);
	return ++st->nr_pending == PENDING ? add_pending(rd) : 0;
}

/* Return: false where the event is shorter than its fields. @room bytes can be read, those behind it too. */
static inline bool read_fields(const struct jfr_program *program, struct jfr_cursor *c, size_t room, struct jfr_value *v)
{
	if (!program->nr_gets || room < program->most + 8)
		return jfr_run(program, c, v);
	return jfr_run_gets(program, c->p, v) <= c->end;
}

/* The text of the field @name, whose value is @v; valid until the next one. */
static struct flame_span event_text(struct flame_reader *rd, const struct plan *plan, const char *name,
				    struct jfr_value v, const struct jfr_event *e)
{
	struct state *st = rd->state;

	return jfr_pools_text(&st->pools, jfr_field_find(&st->schema.types, plan->class, name), v, e->c.end);
}

/* "20 ms" Return: in ns; 0 where it does not say. */
static double period_ns(struct flame_span period)
{
	int64_t n;
	size_t digits = span_digits(period, &n);
	struct flame_span unit = span_trim(span_from(period, digits));
	double factor = span_equals(unit, "ns") ? 1 : span_equals(unit, "us") ? 1e3 : span_equals(unit, "ms") ? 1e6 :
			span_equals(unit, "s") ? 1e9 : 0;

	return digits ? (double)n * factor : 0;
}

/* The JDK has a period for each type of event; async-profiler's settings are its own. */
static void take_setting(struct flame_reader *rd, const struct plan *plan, const struct jfr_event *e)
{
	struct state *st = rd->state;
	const struct jfr_class *samples = jfr_class_find(&st->schema.types, "jdk.ExecutionSample");
	struct flame_meta *meta = flame_meta(rd->profile);
	struct flame_span text = event_text(rd, plan, "name", plan->values[LEAF], e);
	bool period = span_equals(text, "period") && samples && plan->values[AMOUNT].n == samples->id;
	bool version = span_equals(text, "version"), interval = span_equals(text, "interval");
	bool depth = span_equals(text, "jstackdepth");
	char tool[64];
	int64_t n;

	if (!period && !version && !interval && !depth)
		return;
	text = event_text(rd, plan, "value", plan->values[AMOUNT2], e);
	if (period)
		flame_meta_interval(rd->profile, period_ns(text));
	else if (version && !meta->tool && text.len < 32)
		meta->tool = flame_intern(rd->profile, tool, (size_t)snprintf(tool, sizeof(tool), "async-profiler %.*s",
									       (int)text.len, text.s));
	else if (interval && span_is_int(text, &n))
		flame_meta_interval(rd->profile, (double)n);
	else if (depth && span_is_int(text, &n) && n <= INT32_MAX)
		meta->depth_max = (uint32_t)n;
}

/* What is known of the recording. */
static void take_about(struct flame_reader *rd, const struct plan *plan, const struct jfr_event *e)
{
	struct flame_meta *meta = flame_meta(rd->profile);
	struct flame_span text;

	if (plan->kind->action == SETTING) {
		take_setting(rd, plan, e);
	} else if (plan->kind->action == CPU_INFO) {
		meta->nr_cpus = plan->values[AMOUNT].n <= UINT16_MAX ? (uint32_t)plan->values[AMOUNT].n : 0;
	} else if (!meta->runtime) {
		/* "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6), built on …" */
		text = event_text(rd, plan, "jvmVersion", plan->values[AMOUNT2], e);
		flame_meta_text(rd->profile, &meta->runtime, span_to(text, span_find(text, " for ")));
	}
}

static int take_event(struct flame_reader *rd, uint32_t plan_nr, struct jfr_event *e)
{
	struct state *st = rd->state;
	struct plan *plan = &st->plans[plan_nr];
	struct jfr_value *v = plan->values;

	if (!read_fields(&plan->program, &e->c, e->room, v))
		return flame_skip(rd, "an event is shorter than its fields");
	switch (plan->kind->action) {
	case DATA_LOSS:
		st->lost_bytes += v[AMOUNT].n;
		return 0;
	case CPU_LOST:
		st->lost_samples += v[AMOUNT].n;
		flame_lost_add(rd->profile, v[AMOUNT].n);
		return 0;
	case FREE:
		return rd->options->leak ? add_timed(st, v, 0, 0, UINT32_MAX) : 0;
	case SETTING:
	case JVM_INFO:
	case CPU_INFO:
		take_about(rd, plan, e);
		return 0;
	default:
		break;
	}
	if (out_of_time(rd, v[TIME].n))
		return 0;
	st->failed += v[FAILED].n;
	st->biased += v[BIASED].n;
	return add_event(rd, plan_nr, v);
}

/* Return: true with the plan for events of @type. */
static inline bool find_plan(const struct state *st, uint64_t type, uint32_t *plan)
{
	if (type >= NEAR_IDS)
		return idmap_get(&st->plan_ids, type, plan);
	*plan = st->near_plans[type] - 1u;
	return *plan != UINT32_MAX && type > 1;
}

static int scan_events(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct jfr_walker w;
	struct jfr_event e;
	int err = jfr_walk(&w, &st->chunk);

	while (!err && jfr_next(&w, &e)) {
		uint32_t plan;

		if (!find_plan(st, e.type, &plan))
			continue;
		err = e.partial ? flame_skip(rd, "an event is longer than 1 MiB (JFR_WINDOW)") : take_event(rd, plan, &e);
	}
	if (!err)
		err = add_pending(rd);
	if (w.torn || w.broken_at) {
		st->chunk.damaged = true;
		st->chunk.broken_at = w.broken_at;
	}
	return err;
}

/* When the first sample of the recording was taken: --time counts from there. */
static int find_first(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct jfr_walker w;
	struct jfr_event e;
	int err = jfr_walk(&w, &st->chunk);

	while (!err && jfr_next(&w, &e)) {
		struct jfr_value v[NR_SLOTS] = { { 0 } };
		uint32_t plan;
		double t;

		if (e.partial || !find_plan(st, e.type, &plan) || !st->plans[plan].kind->unit ||
		    !jfr_run(&st->plans[plan].program, &e.c, v))
			continue;
		t = time_of(&st->chunk, v[TIME].n);
		if (!st->has_first || t < st->first_ns)
			st->first_ns = t;
		st->has_first = true;
	}
	return err;
}

/* ---- From a chunk's sums to the profile ---- */

/* Whether the thread was in the state that is asked for; without "STATE_", in any case. */
static bool wants_state(struct flame_reader *rd, struct flame_span state)
{
	if (span_starts(state, "STATE_") && rd->options->state && !span_in_list(state, rd->options->state))
		state = span_from(state, strlen("STATE_"));
	return flame_wants_state(rd, state);
}

/* async-profiler's samples of CPU time have a state of their own; the others are of wall-clock time. */
static bool is_wall(const struct jfr_pools *pools, struct flame_span state)
{
	return pools->has_default_state && state.len && !span_is(state, "STATE_DEFAULT");
}

static flame_type type_of(struct flame_reader *rd, struct plan *plan, struct flame_span state)
{
	struct state *st = rd->state;
	char name[256];

	if (plan->kind->action == EXECUTION && is_wall(&st->pools, state))
		return plan->wall;
	if (!plan->type && plan->kind->type) {
		plan->type = make_type(rd, plan->kind->type, "", plan->counts, plan->kind);
	} else if (!plan->type) {
		size_t len = plan->class->name.len < sizeof(name) ? plan->class->name.len : sizeof(name) - 1;

		memcpy(name, plan->class->name.s, len);
		name[len] = '\0';
		plan->type = make_type(rd, name, "", plan->counts, plan->kind);
	}
	return plan->type;
}

static flame_frame leaf_of(struct jfr_pools *pools, enum leaf leaf, uint64_t id)
{
	switch (leaf) {
	case CLASS_LEAF:
		return jfr_pools_class(pools, id, FLAME_JIT_INLINED);
	case OUTSIDE_LEAF:
		return jfr_pools_class(pools, id, FLAME_KERNEL);
	case OBJECT_LEAF:
		return jfr_pools_object(pools, id, FLAME_JIT_INLINED);
	case METHOD_LEAF:
		return jfr_pools_method(pools, id, FLAME_JIT);
	default:
		return 0;
	}
}

/* The root that the options ask for, and the task. */
static flame_stack root_of(struct flame_reader *rd, const struct sum *sum, flame_task *task)
{
	struct state *st = rd->state;
	const struct flame_read_options *o = rd->options;
	bool named = o->root > FLAME_ROOT_NONE;
	struct flame_task_info info = { .pid = -1, .tid = -1 };
	flame_stack root = 0;
	flame_frame thread;

	*task = 0;
	if (!wants_thread(o))
		return 0;
	thread = jfr_pools_thread(&st->pools, sum->thread, &info);
	if (o->keep_task)
		*task = flame_task_row(rd->profile, &info);
	if (named)
		root = flame_task_root(rd->profile, &info);
	return o->threads ? flame_stack_push(rd->profile, root, thread) : root;
}

/* Return: false where the sum is left out. */
static bool resolve(struct flame_reader *rd, const struct sum *sum, struct flame_sample *s)
{
	struct state *st = rd->state;
	struct plan *plan = &st->plans[sum->plan];
	struct flame_span state = { "", 0 };
	flame_frame leaf;

	if (plan->has_state && (plan->kind->action == EXECUTION || rd->options->state))
		state = jfr_pools_state(&st->pools, sum->state);
	if (!wants_state(rd, state))
		return false;
	s->type = type_of(rd, plan, state);
	if (st->chunk.damaged && sum->stack && !jfr_pools_has(&st->pools, JFR_STACKS, sum->stack)) {
		st->lost += sum->nr;
		return false;
	}
	s->stack = jfr_pools_stack(&st->pools, sum->stack, root_of(rd, sum, &s->task));
	leaf = leaf_of(&st->pools, plan->kind->leaf_kind, sum->leaf);
	if (leaf)
		s->stack = flame_stack_push(rd->profile, s->stack, leaf);
	st->used += sum->nr;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct timed_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int add_block(struct state *st, const struct timed_event *e, const struct flame_sample *s)
{
	struct idmap_slot *slot;

	if (!array_reserve((void **)&st->blocks, &st->room_blocks, st->nr_blocks + 1, sizeof(*st->blocks)) ||
	    idmap_add(&st->addresses, e->address, (uint32_t)st->nr_blocks) == UINT32_MAX)
		return FLAME_ENOMEM;
	/* Memory that was freed unseen and allocated again: the new block counts. */
	slot = idmap_slot(&st->addresses, e->address);
	if (slot->value - 1 < st->nr_blocks)
		st->blocks[slot->value - 1].nr = 0;
	slot->value = (uint32_t)st->nr_blocks + 1;
	st->blocks[st->nr_blocks++] = (struct block){ *s, 1 };
	return 0;
}

static void free_block(struct state *st, uint64_t address)
{
	uint32_t row;

	if (idmap_get(&st->addresses, address, &row))
		st->blocks[row].nr = 0;
}

/* Events whose order matters, in this order. */
static int add_in_order(struct flame_reader *rd, const struct flame_sample *samples)
{
	struct state *st = rd->state;
	int err = 0;

	qsort(st->timed, st->nr_timed, sizeof(*st->timed), by_time);
	for (size_t i = 0; !err && i < st->nr_timed; i++) {
		const struct timed_event *e = &st->timed[i];
		struct flame_sample s;

		if (e->sum == UINT32_MAX) {
			free_block(st, e->address);
			continue;
		}
		s = samples[e->sum];
		s.value = e->value;
		s.nr_samples = e->nr;
		if (!s.type)
			continue;
		if (rd->options->leak && st->plans[st->sums[e->sum].plan].malloc)
			err = add_block(st, e, &s);
		else
			err = flame_sample_add(rd->profile, &s);
	}
	return err;
}

/* The stacks of the next sums at once, which is faster than one after the other. */
static void make_stacks(struct state *st, size_t from)
{
	uint64_t ids[FLAME_PATHS];
	size_t nr = 0;

	while (nr < FLAME_PATHS && from + nr < st->nr_sums) {
		ids[nr] = st->sums[from + nr].stack;
		nr++;
	}
	jfr_pools_stacks(&st->pools, ids, nr);
}

static int add_sums(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_sample *samples = st->nr_timed ? calloc(st->nr_sums + 1, sizeof(*samples)) : NULL;
	int err = st->nr_timed && !samples ? FLAME_ENOMEM : 0;
	bool rooted = wants_thread(rd->options);

	for (size_t i = 0; !err && i < st->nr_sums; i++) {
		const struct sum *sum = &st->sums[i];
		struct flame_sample s = { .value = sum->value, .nr_samples = sum->nr };

		if (i % FLAME_PATHS == 0 && !rooted)
			make_stacks(st, i);
		if (!resolve(rd, sum, &s))
			continue;
		if (samples)
			samples[i] = s;
		if (sum->nr)
			err = flame_sample_add(rd->profile, &s);
	}
	if (!err && samples)
		err = add_in_order(rd, samples);
	free(samples);
	return err;
}

/* ---- Chunks ---- */

static void reset_sums(struct state *st)
{
	st->nr_sums = 0;
	st->nr_pending = 0;
	st->nr_timed = 0;
	if (st->sum_index.slots)
		memset(st->sum_index.slots, 0, ((size_t)st->sum_index.mask + 1) * sizeof(*st->sum_index.slots));
	st->sum_index.nr = 0;
	st->used = st->lost = 0;
}

static void report_broken_event(struct flame_reader *rd, const struct jfr_chunk *c)
{
	unsigned long long at = c->offset + c->broken_at;

	rd->diag->damaged = true;
	if (c->broken_at)
		flame_diag_add(rd->diag, FLAME_WARNING, "corrupted: the event at offset %llu has a size of 0, or one below its own header's; the rest of its chunk is not used", at);
}

/* Newer JDKs write metadata each time they flush, so that what was written can be read. */
static void report_unreadable(struct flame_reader *rd, bool unfinished)
{
	struct state *st = rd->state;
	const struct jfr_chunk *c = &st->chunk;
	const char *why = c->metadata ? "cannot be read" : !unfinished ? "are missing" :
			  "are missing; JDKs before 14 and async-profiler write them when a chunk is complete (JFR.dump, maxchunksize, chunksize)";

	report_broken_event(rd, c);
	flame_diag_add(rd->diag, FLAME_WARNING, "nothing of the chunk at offset %llu is used: its metadata, which tell what its events mean, %s",
		       (unsigned long long)c->offset, why);
}

static void report_damage(struct flame_reader *rd, bool unfinished)
{
	struct state *st = rd->state;

	report_broken_event(rd, &st->chunk);
	flame_diag_add(rd->diag, FLAME_WARNING, "the chunk at offset %llu is %s: samples used: %llu, left out because their stacks are in what is missing: %llu",
		       (unsigned long long)st->chunk.offset, unfinished ? "not finished or cut off" : "broken",
		       (unsigned long long)st->used, (unsigned long long)st->lost);
}

/* Metadata where the header tells, or else wherever they are. */
static int find_metadata(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = 0;

	if (st->chunk.damaged) {
		jfr_chunk_damaged(&st->chunk);
		err = survey(st);
	}
	if (!err)
		err = read_metadata(rd);
	if (err == FLAME_EDAMAGED && !st->chunk.damaged) {
		jfr_chunk_damaged(&st->chunk);
		err = survey(st);
		if (!err)
			err = read_metadata(rd);
	}
	return err;
}

static int use_chunk(struct flame_reader *rd)
{
	struct state *st = rd->state;
	bool unfinished = st->chunk.damaged;
	int err = find_metadata(rd);

	if (err == FLAME_EDAMAGED) {
		report_unreadable(rd, unfinished);
		return 0;
	}
	if (err)
		return err;
	jfr_pools_start(&st->pools, &st->schema, rd);
	err = read_pools(st);
	if (!err)
		jfr_pools_ready(&st->pools);
	if (!err && !st->has_first && wants_time(rd->options))
		err = find_first(rd);
	if (!err)
		err = scan_events(rd);
	if (!err)
		err = add_sums(rd);
	if (!err && st->chunk.damaged)
		report_damage(rd, unfinished);
	return err;
}

/* A chunk spans the time from its start; unfinished ones do not tell how long. */
static void note_times(struct flame_reader *rd)
{
	const struct jfr_chunk *c = &((struct state *)rd->state)->chunk;
	struct flame_meta *meta = flame_meta(rd->profile);

	if (!meta->start_ns)
		meta->start_ns = c->start_ns;
	flame_meta_time(rd->profile, c->start_ns);
	if (c->duration_ns < UINT64_MAX - c->start_ns)
		flame_meta_time(rd->profile, c->start_ns + c->duration_ns);
}

static int read_chunk(struct flame_reader *rd, struct flame_span head)
{
	struct state *st = rd->state;
	int err;

	if (!jfr_is_header(head))
		return flame_fail(rd, FLAME_EFORMAT, "JFR version %u.%u; versions 2.0 and 2.1 can be read",
				  (unsigned int)(unsigned char)head.s[5], (unsigned int)(unsigned char)head.s[7]);
	reset_sums(st);
	err = jfr_chunk_read(rd, &st->chunk);
	if (!err)
		err = use_chunk(rd);
	if (!err && !wants_time(rd->options))
		note_times(rd);
	return err ? err : jfr_chunk_leave(rd, &st->chunk);
}

static int add_blocks(struct flame_reader *rd)
{
	struct state *st = rd->state;
	int err = 0;

	for (size_t i = 0; !err && i < st->nr_blocks; i++) {
		if (st->blocks[i].nr)
			err = flame_sample_add(rd->profile, &st->blocks[i].sample);
	}
	return err;
}

static int read_recording(struct flame_reader *rd)
{
	int err = 0;

	make_types(rd);
	while (!err) {
		struct flame_span head = flame_peek(rd->input, JFR_HEADER);
		uint64_t at = flame_input_offset(rd->input), nr;

		if (!head.len)
			break;
		if (jfr_is_magic(head) && head.len >= JFR_HEADER) {
			err = read_chunk(rd, head);
			continue;
		}
		nr = jfr_skip_to_header(rd);
		flame_damaged(rd, jfr_is_magic(head) ? "the header of the chunk at offset %llu is cut off" :
			      "at offset %llu, where a chunk should begin, are %llu bytes of something else; they are not used",
			      (unsigned long long)at, (unsigned long long)nr);
	}
	return err ? err : add_blocks(rd);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	jfr_chunk_release(&st->chunk);
	release_schema(st);
	jfr_pools_release(&st->pools);
	idmap_release(&st->plan_ids);
	idmap_release(&st->addresses);
	free(st->plans);
	free(st->checkpoints);
	free(st->sums);
	free(st->sum_index.slots);
	free(st->timed);
	free(st->blocks);
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	st->failed += slice->failed;
	st->biased += slice->biased;
	st->lost_bytes += slice->lost_bytes;
	st->lost_samples += slice->lost_samples;
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	const struct state *st = rd->state;

	(void)profile;
	if (st->lost_bytes)
		flame_diag_add(rd->diag, FLAME_WARNING, "the JVM lost %llu bytes of events (jdk.DataLoss): its buffers were too small (memorysize)",
			       (unsigned long long)st->lost_bytes);
	if (st->lost_samples)
		flame_diag_add(rd->diag, FLAME_WARNING, "the JVM lost %llu samples (jdk.CPUTimeSamplesLost): sample at a lower rate",
			       (unsigned long long)st->lost_samples);
	if (st->failed)
		flame_note(rd, "the stack of %llu samples could not be taken (jdk.CPUTimeSample, failed); they are [unknown]",
			   (unsigned long long)st->failed);
	if (st->biased)
		flame_note(rd, "the stacks of %llu samples were taken at a safepoint behind where the sample fell (jdk.CPUTimeSample, biased)",
			   (unsigned long long)st->biased);
	return 0;
}

/* Chunks are read by several threads, unless what happens in one matters for the next. */
static uint64_t piece(struct flame_reader *rd, struct flame_span head)
{
	const struct flame_read_options *o = rd->options;

	return o->leak || wants_time(o) || !jfr_is_header(head) ? 0 : jfr_chunk_length(head);
}

static int probe(struct flame_span head)
{
	return jfr_is_magic(head) ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

const struct flame_converter flame_jfr_converter = {
	.name = "jfr",
	.binary = true,
	.summary = "recordings of Java Flight Recorder and async-profiler (.jfr)",
	.choices = FLAME_CHOICE_TIME | FLAME_CHOICE_STATE | FLAME_CHOICE_LEAK |
		   FLAME_CHOICE_SIMPLE | FLAME_CHOICE_JAVA | FLAME_CHOICE_BCI,
	.state_size = sizeof(struct state),
	.probe = probe,
	.read = read_recording,
	.release = release,
	.piece = piece,
	.join = join,
	.finish = finish,
};

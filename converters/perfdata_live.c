/* SPDX-License-Identifier: MIT */
/*
 * perfdata_live.c - records that come from the kernel's buffers. What is different from a file: there is one event
 * and no header; files are looked for where the processes that live see them; and a JIT compiler may
 * name its code later than it runs. Of such code a frame stands in, a hole, until the end.
 */
#define _GNU_SOURCE
#include "perfdata_live.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/merge.h"
#include "../core/meta.h"
#include "perfdata.h"

#define HOLES_BYTES ((size_t)8 << 20)	/* of addresses that are remembered to have one */
#define OWNERS_BYTES ((size_t)16 << 20)	/* of threads and processors whose event is remembered */
#define TASKS_SPARE 16384		/* threads and processes that may have exited without being forgotten */
#define OUTSIDE_TOLD 0.01		/* of all samples; program starts have some */
#define SYMBOLS_MODULES_MAX 16384	/* with more, what was read for one profile is not kept for the next */

struct hole {
	flame_frame frame;	/* that stands in for it */
	uint32_t module;
	uint64_t address;
	bool is_caller;
	bool filled;
	flame_frame *frames;	/* owned: what it is, the innermost first */
	uint32_t nr;
};

struct perfdata_live {
	struct perfdata pd;
	struct flame_reader rd;
	struct perfdata_stream stream;
	struct hole *holes;
	size_t nr_holes, room_holes, nr_unfilled;
	struct flame_cache hole_rows;
	size_t nr_tasks;	/* threads and processes after those that exited were forgotten last */
	uint64_t nr_samples, nr_lost;
	uint64_t sum;		/* of what the samples stand for */
	bool is_only;		/* processes that are not wanted are left out */
	bool is_single;		/* threads may have several events, of which one counts */
	struct flame_cache owners;	/* that one, of each thread on each processor */
};

/* ---- holes ---- */

flame_frame perfdata_live_hole(struct perfdata *pd, uint32_t module, uint64_t address, bool is_caller)
{
	struct perfdata_live *live = pd->live;
	struct { uint64_t address; uint32_t module, is_caller; } key = { address, module, is_caller };
	uint64_t hash = hash_bytes((const char *)&key, sizeof(key));
	struct flame_frame_info info = { .kind = FLAME_JIT };
	char name[32];
	uint32_t row;
	int n;

	if (flame_cache_get(&live->hole_rows, (const char *)&key, sizeof(key), hash, &row))
		return live->holes[row].frame;
	if (!array_reserve((void **)&live->holes, &live->room_holes, live->nr_holes + 1, sizeof(*live->holes)))
		return 0;
	row = (uint32_t)live->nr_holes;
	/* A name that no code has, so that none is equal to it. */
	n = snprintf(name, sizeof(name), "\001%u", row);
	info.name = flame_intern(pd->rd->profile, name, (size_t)n);
	live->holes[row] = (struct hole){ .module = module, .address = address, .is_caller = is_caller };
	live->holes[row].frame = flame_frame_row(pd->rd->profile, &info);
	if (!live->holes[row].frame)
		return 0;
	live->nr_holes++;
	live->nr_unfilled++;
	flame_cache_put(&live->hole_rows, (const char *)&key, sizeof(key), hash, row);
	return live->holes[row].frame;
}

/* What is in the hole is what its address is called now. Return: 0, or a failure. */
static int fill(struct perfdata_live *live, struct hole *h)
{
	struct perfdata *pd = &live->pd;

	if (!perfdata_address_frames(pd, h->module, h->address, h->is_caller))
		return flame_profile_error(pd->rd->profile) ? flame_profile_error(pd->rd->profile) : FLAME_ENOMEM;
	h->frames = malloc((pd->nr_frames + 1) * sizeof(*h->frames));
	if (!h->frames)
		return FLAME_ENOMEM;
	memcpy(h->frames, pd->frames, pd->nr_frames * sizeof(*h->frames));
	h->nr = (uint32_t)pd->nr_frames;
	h->filled = true;
	live->nr_unfilled--;
	return 0;
}

static bool has_name(struct perfdata_live *live, const struct hole *h)
{
	struct perfdata *pd = &live->pd;
	bool inlines = pd->rd->options->inlines && !pd->rd->options->no_inline;
	flame_module row = perfdata_module_symbols(pd, h->module, inlines);

	return flame_symbols_find(pd->symbols[inlines].s, row, h->address, h->is_caller)->nr_frames ||
	       (h->is_caller && flame_symbols_find(pd->symbols[inlines].s, row, h->address, false)->nr_frames);
}

int perfdata_live_refresh(struct perfdata_live *live)
{
	struct perfdata *pd = &live->pd;
	bool inlines = pd->rd->options->inlines && !pd->rd->options->no_inline;
	bool *looked = live->nr_unfilled ? calloc(pd->tasks.nr_modules, sizeof(*looked)) : NULL;
	int err = 0;

	for (size_t i = 0; !err && looked && i < live->nr_holes; i++) {
		struct hole *h = &live->holes[i];

		if (h->filled)
			continue;
		if (!looked[h->module]) {
			looked[h->module] = true;
			flame_symbols_refresh(pd->symbols[inlines].s, perfdata_module_symbols(pd, h->module, inlines));
		}
		if (has_name(live, h))
			err = fill(live, h);
	}
	free(looked);
	return err;
}

/* A profile of the same stacks with the holes filled in. */
static int replace_profile(struct perfdata_live *live, struct flame_profile **profile)
{
	struct flame_profile *from = live->rd.profile, *to = flame_profile_new(flame_profile_options(from));
	flame_frame *frames = to ? flame_frames_copy(to, from) : NULL;
	uint32_t *hole_of = calloc(flame_nr_frames(from), sizeof(*hole_of)), nr = flame_nr_stacks(from);
	flame_stack *stacks = calloc(nr, sizeof(*stacks));
	int err = frames && hole_of && stacks ? 0 : FLAME_ENOMEM;

	for (uint32_t i = 0; !err && i < live->nr_holes; i++)
		hole_of[live->holes[i].frame] = i + 1;
	for (uint32_t i = 1; !err && i < nr; i++) {
		flame_frame frame = flame_stack_frame(from, i);
		const struct hole *h = hole_of[frame] ? &live->holes[hole_of[frame] - 1] : NULL;

		stacks[i] = stacks[flame_stack_caller(from, i)];
		if (!h)
			stacks[i] = flame_stack_push(to, stacks[i], frames[frame]);
		for (uint32_t j = h ? h->nr : 0; j-- > 0;)
			stacks[i] = flame_stack_push(to, stacks[i], frames[h->frames[j]]);
	}
	if (!err)
		err = flame_samples_copy(to, from, stacks);
	if (!err)
		err = flame_profile_error(to);
	if (!err) {
		flame_lost_add(to, flame_lost(from));
		flame_meta_copy(to, from);
	}
	free(frames);
	free(hole_of);
	free(stacks);
	flame_profile_free(err ? to : from);
	if (!err)
		*profile = live->rd.profile = to;
	return err;
}

static int fill_all(struct perfdata_live *live, struct flame_profile **profile)
{
	int err = perfdata_live_refresh(live);

	for (size_t i = 0; !err && i < live->nr_holes; i++) {
		if (!live->holes[i].filled)
			err = fill(live, &live->holes[i]);
	}
	return err || !live->nr_holes ? err : replace_profile(live, profile);
}

/* ---- what is recorded ---- */

/*
 * Of a thread that two events follow, one that was opened for it and one that it has from who created it, the event
 * counts that was seen first. On another processor that may be the other one.
 */
static bool is_of_owner(struct perfdata_live *live, const struct perfdata_sample *s)
{
	const struct perfdata_tasks *t = &live->pd.tasks;
	uint32_t row = perfdata_thread_row(&live->pd, s->pid, s->tid), owner = (uint32_t)s->event_id;
	struct { int32_t tid; uint32_t birth, cpu; } key = { s->tid, row ? t->threads[row].birth : 0, s->cpu };
	uint64_t hash = hash_bytes((const char *)&key, sizeof(key));
	uint32_t known;

	if (flame_cache_get(&live->owners, (const char *)&key, sizeof(key), hash, &known))
		return known == owner;
	flame_cache_put(&live->owners, (const char *)&key, sizeof(key), hash, owner);
	return true;
}

bool perfdata_live_wants(struct perfdata *pd, struct perfdata_sample *s)
{
	struct perfdata_live *live = pd->live;

	if (live->is_only && !pd->tasks.processes[perfdata_process_find(&pd->tasks, s->pid)].is_wanted)
		return false;
	if (live->is_single && !is_of_owner(live, s))
		return false;
	/* A thread that has ended has no id any more, but its process does. */
	if (s->tid == -1 && s->pid > 0)
		s->tid = s->pid;
	live->nr_samples++;
	live->sum += s->period;
	return true;
}

int perfdata_live_only(struct perfdata_live *live, const int32_t *pids, size_t nr)
{
	live->is_only = true;
	for (size_t i = 0; i < nr; i++) {
		uint32_t row = perfdata_process_row(&live->pd.tasks, pids[i]);

		if (!row)
			return FLAME_ENOMEM;
		live->pd.tasks.processes[row].is_wanted = true;
	}
	return 0;
}

void perfdata_live_single(struct perfdata_live *live)
{
	live->is_single = true;
}

/* ---- records ---- */

/* What is ready, in its order. */
static int use_ready(struct perfdata_live *live)
{
	struct perfdata_record r;
	uint64_t time;
	int err = 0;

	while (!err && perfdata_stream_take(&live->stream, &r, &time))
		err = perfdata_record(&live->pd, &r, time);
	return err;
}

static struct perfdata_record record_at(const struct perfdata_live *live, const char *data, size_t size)
{
	return (struct perfdata_record){ .data = data, .type = perfdata_u32(&live->pd, data),
					 .misc = perfdata_u16(&live->pd, data + 4), .size = size };
}

int perfdata_live_record(struct perfdata_live *live, const void *data, size_t size)
{
	struct perfdata_record r;
	uint64_t time;
	int err;

	if (size < 8)
		return 0;
	r = record_at(live, data, size);
	if (r.type == PERFDATA_LOST && size >= 24)
		live->nr_lost += perfdata_u64(&live->pd, r.data + 16);
	if (r.type == PERFDATA_LOST_SAMPLES && size >= 16)
		live->nr_lost += perfdata_u64(&live->pd, r.data + 8);
	time = perfdata_time(&live->pd, &r);
	if (!time)
		return perfdata_record(&live->pd, &r, 0);
	err = perfdata_stream_put(&live->stream, data, size, time);
	return err ? err : use_ready(live);
}

int perfdata_live_known(struct perfdata_live *live, const void *data, size_t size)
{
	struct perfdata_record r = record_at(live, data, size);

	return perfdata_record(&live->pd, &r, 0);
}

int perfdata_live_round(struct perfdata_live *live)
{
	struct perfdata_tasks *t = &live->pd.tasks;
	int err = perfdata_stream_round(&live->stream, false);

	if (!err)
		err = use_ready(live);
	/* Memory follows what there is, not all that there ever was. */
	if (!err && t->nr_threads + t->nr_processes > 2 * live->nr_tasks + TASKS_SPARE) {
		err = perfdata_tasks_forget(&live->pd) ? 0 : FLAME_ENOMEM;
		live->nr_tasks = t->nr_threads + t->nr_processes;
	}
	return err;
}

/* ---- beginning and end ---- */

static int add_event(struct perfdata_live *live, const struct perfdata_live_event *event)
{
	struct perfdata *pd = &live->pd;
	int err = perfdata_attr_add(pd, (struct flame_span){ event->attr, event->attr_size }, NULL, 0);

	if (err)
		return err;
	pd->events.attrs[0].name = strdup(event->name);
	if (!pd->events.attrs[0].name)
		return FLAME_ENOMEM;
	if (event->tracepoints.len)
		pd->tracepoints = flame_tracepoints_new(event->tracepoints);
	return 0;
}

/* Return: @old's hole, where @frame is one. */
static struct hole *hole_of(struct perfdata_live *live, flame_frame frame)
{
	for (size_t i = 0; i < live->nr_holes; i++) {
		if (live->holes[i].frame == frame)
			return &live->holes[i];
	}
	return NULL;
}

static flame_stack push_copy(struct flame_profile *to, flame_stack caller, const struct flame_profile *from, flame_frame frame)
{
	struct flame_frame_info info = *flame_frame_get(from, frame);

	info.name = flame_string_copy(to, from, info.name);
	info.module = flame_string_copy(to, from, info.module);
	info.file = flame_string_copy(to, from, info.file);
	return flame_stack_push(to, caller, flame_frame_row(to, &info));
}

/* The same stack in the profile of @live. Return: 0, or a failure. */
static int copy_stack(struct perfdata_live *live, struct perfdata_live *before, flame_stack old, flame_stack *new)
{
	const struct flame_profile *from = before->rd.profile;
	struct perfdata *pd = &live->pd;
	int err = 0;

	pd->nr_frames = 0;
	for (; old; old = flame_stack_caller(from, old)) {
		if (!array_reserve((void **)&pd->frames, &pd->room_frames, pd->nr_frames + 1, sizeof(*pd->frames)))
			return FLAME_ENOMEM;
		pd->frames[pd->nr_frames++] = flame_stack_frame(from, old);
	}
	*new = 0;
	for (size_t i = pd->nr_frames; !err && i-- > 0;) {
		struct hole *h = hole_of(before, pd->frames[i]);

		if (!h)
			*new = push_copy(live->rd.profile, *new, from, pd->frames[i]);
		else if (!h->filled)
			err = fill(before, h);
		for (uint32_t j = h && !err ? h->nr : 0; j-- > 0;)
			*new = push_copy(live->rd.profile, *new, from, h->frames[j]);
	}
	return err ? err : flame_profile_error(live->rd.profile);
}

/* Threads that are blocked stay so, with their stack. */
static int take_blocked(struct perfdata_live *live, struct perfdata_live *before)
{
	int err = 0;

	for (size_t i = 1; !err && i < before->pd.tasks.nr_threads; i++) {
		const struct perfdata_thread *old = &before->pd.tasks.threads[i];
		struct perfdata_thread *new;
		flame_stack stack = 0;
		uint32_t row;

		if (!old->is_out)
			continue;
		row = perfdata_thread_row(&live->pd, old->pid, old->tid);
		err = row ? copy_stack(live, before, old->out_stack, &stack) : FLAME_ENOMEM;
		new = &live->pd.tasks.threads[row];
		new->is_out = !err;
		new->out_time = old->out_time;
		new->out_stack = stack;
		new->out_type = flame_type_copy(live->rd.profile, before->rd.profile, old->out_type);
	}
	return err;
}

static int take_wanted(struct perfdata_live *live, const struct perfdata_live *before)
{
	int err = 0;

	live->is_single = before->is_single;
	for (size_t i = 1; !err && before->is_only && i < before->pd.tasks.nr_processes; i++) {
		const struct perfdata_process *p = &before->pd.tasks.processes[i];

		if (p->is_wanted && !p->exited)
			err = perfdata_live_only(live, &p->pid, 1);
	}
	live->is_only = before->is_only;
	return err;
}

int perfdata_live_go_on(struct perfdata_live *live, struct perfdata_live *before)
{
	int err = perfdata_stream_round(&before->stream, true);

	if (!err)
		err = use_ready(before);
	live->stream.newest_before = before->stream.newest_before;
	if (!err)
		err = take_wanted(live, before);
	return !err && live->rd.options->offcpu ? take_blocked(live, before) : err;
}

void perfdata_live_take_symbols(struct perfdata_live *live, struct perfdata_live *before)
{
	for (size_t i = 0; i < 2 && before->pd.tasks.nr_modules < SYMBOLS_MODULES_MAX; i++) {
		live->pd.symbols[i].s = before->pd.symbols[i].s;
		before->pd.symbols[i].s = NULL;
	}
}

struct perfdata_live *perfdata_live_new(struct flame_profile *profile, const struct flame_read_options *options,
					struct flame_diag *diag, const struct perfdata_live_event *event)
{
	struct perfdata_live *live = calloc(1, sizeof(*live));
	struct perfdata *pd;

	if (!live)
		return NULL;
	pd = &live->pd;
	live->rd = (struct flame_reader){ .converter = flame_converter_find("perfdata"), .options = options,
					  .profile = profile, .diag = diag, .state = pd };
	pd->rd = &live->rd;
	pd->live = live;
	pd->spool = -1;
	pd->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	live->hole_rows.max_bytes = HOLES_BYTES;
	live->owners.max_bytes = OWNERS_BYTES;
	perfdata_stream_open(&live->stream, pd, NULL, PERFDATA_WINDOW_MAX);
	if (perfdata_tasks_init(pd) || perfdata_stack_init(pd) || add_event(live, event)) {
		perfdata_live_free(live);
		return NULL;
	}
	if (options->offcpu)
		perfdata_switch_types(pd);
	return live;
}

void perfdata_live_free(struct perfdata_live *live)
{
	if (!live)
		return;
	perfdata_stream_release(&live->stream);
	flame_tracepoints_free(live->pd.tracepoints);
	perfdata_attrs_release(&live->pd);
	perfdata_tasks_release(&live->pd);
	perfdata_stack_release(&live->pd);
	perfdata_defer_release(&live->pd);
	flame_cache_release(&live->hole_rows);
	flame_cache_release(&live->owners);
	for (size_t i = 0; i < live->nr_holes; i++)
		free(live->holes[i].frames);
	free(live->holes);
	free(live);
}

static void tell(struct perfdata_live *live)
{
	struct perfdata *pd = &live->pd;
	struct flame_reader *rd = &live->rd;

	if (pd->nr_late)
		flame_diag_add(rd->diag, FLAME_WARNING,
			       "%llu records came out of the order of time: what was mapped when may be wrong for some samples",
			       (unsigned long long)pd->nr_late);
	if (pd->nr_throttled)
		flame_note(rd, "the kernel throttled events %llu time%s: fewer samples were taken than asked for",
			   (unsigned long long)pd->nr_throttled, pd->nr_throttled == 1 ? "" : "s");
	if (pd->most_outside > 1 && pd->nr_outside > OUTSIDE_TOLD * (double)live->nr_samples)
		flame_note(rd, "%llu samples have callers outside of all code, up to %zu in a row, for which one [unknown] stands: "
			   "code without frame pointers has no others; --call-graph dwarf finds its callers",
			   (unsigned long long)pd->nr_outside, pd->most_outside);
	perfdata_task_notes(pd);
	perfdata_unwind_notes(pd);
	perfdata_stack_notes(pd);
}

int perfdata_live_end(struct perfdata_live *live, struct flame_profile **profile)
{
	int err = perfdata_stream_round(&live->stream, true);

	if (!err)
		err = use_ready(live);
	if (!err)
		err = perfdata_defer_flush(&live->pd);
	if (!err)
		err = fill_all(live, profile);
	if (!err)
		tell(live);
	return err;
}

uint64_t perfdata_live_count(const struct perfdata_live *live, uint64_t *lost)
{
	*lost = live->nr_lost;
	return live->nr_samples;
}

uint64_t perfdata_live_sum(const struct perfdata_live *live)
{
	return live->sum;
}

size_t perfdata_live_processes(const struct perfdata_live *live, int32_t **pids)
{
	const struct perfdata_tasks *t = &live->pd.tasks;
	size_t nr = 0;

	*pids = calloc(t->nr_processes, sizeof(**pids));
	for (size_t i = 1; *pids && i < t->nr_processes; i++) {
		if (!t->processes[i].exited && (t->processes[i].is_wanted || !live->is_only))
			(*pids)[nr++] = t->processes[i].pid;
	}
	return nr;
}

/* SPDX-License-Identifier: MIT */
/*
 * perfdata_switch.c - off-CPU time, from samples of sched:sched_switch: the stack of a thread that is
 * switched out weighs the nanoseconds until it is switched in again. Time that a thread was blocked and
 * time that it only waited for a processor are two value types.
 */
#include "perfdata.h"

#define BLOCKED "off-cpu"
#define PREEMPTED "runqueue"

/* Return: the value type; 0 without memory. */
static flame_type switch_type(struct perfdata *pd, bool blocked)
{
	struct flame_type_info info = { .kind = FLAME_VALUE_OFF_CPU };
	const char *name = blocked ? BLOCKED : PREEMPTED;

	info.name = flame_intern(pd->rd->profile, name, strlen(name));
	info.unit = flame_intern(pd->rd->profile, "ns", 2);
	return flame_type_row(pd->rd->profile, &info);
}

void perfdata_switch_types(struct perfdata *pd)
{
	switch_type(pd, true);
	switch_type(pd, false);
}

int perfdata_switch_in(struct perfdata *pd, uint32_t row, uint64_t time, bool is_switch)
{
	struct perfdata_thread *th = &pd->tasks.threads[row];
	struct flame_sample s = { .stack = th->out_stack, .type = th->out_type, .task = th->task };

	if (!th->is_out)
		return 0;
	th->is_out = false;
	if (time < th->out_time || time - th->out_time > INT64_MAX)
		return 0;
	pd->nr_ended++;
	pd->nr_guessed += !is_switch;
	s.value = (int64_t)(time - th->out_time);
	return flame_sample_add(pd->rd->profile, &s);
}

/* Return: true with the number in the field of the tracepoint's payload. */
static bool field(const struct perfdata *pd, const struct perfdata_sample *s, const char *name, uint64_t *value)
{
	struct flame_span raw = { s->raw, s->raw_len };

	return s->raw && flame_tracepoint_number(pd->tracepoints, s->attr->config, name, raw, value);
}

int perfdata_switch_out(struct perfdata *pd, const struct perfdata_sample *s, uint32_t row, flame_stack stack)
{
	/* What the kernel reports of tasks: TASK_RUNNING, or with this bit one that was preempted. */
	enum { STATES = 0xff, DEAD = 0x30 };
	struct perfdata_thread *th = &pd->tasks.threads[row];
	uint64_t next, state;
	uint32_t next_row;
	int err = 0;

	/* Whatever comes first: blocked time is what is looked for. */
	if (!pd->nr_switches++)
		perfdata_switch_types(pd);
	if (!field(pd, s, "prev_state", &state) || !field(pd, s, "next_pid", &next))
		return flame_skip(pd->rd, "a sample of sched_switch whose fields cannot be read");
	/* The idle thread waits for nothing, nor do the dead. */
	if (th->tid > 0 && !(state & DEAD)) {
		th->is_out = true;
		th->out_time = s->time;
		th->out_stack = stack;
		th->out_type = switch_type(pd, state & STATES);
	}
	if (!next || (int32_t)next == s->tid)
		return 0;
	next_row = perfdata_thread_row(pd, -1, (int32_t)next);
	if (!next_row)
		return FLAME_ENOMEM;
	err = perfdata_switch_in(pd, next_row, s->time, true);
	return err;
}

/* Return: true where the recording was told to leave switches out, as with perf record -F. */
static bool is_sampled(const struct perfdata *pd)
{
	for (size_t i = 0; i < pd->events.nr_attrs; i++) {
		const struct perfdata_attr *a = &pd->events.attrs[i];

		if (a->is_switch && (a->flags & PERFDATA_FREQ || a->period > 1))
			return true;
	}
	return false;
}

void perfdata_switch_notes(struct perfdata *pd)
{
	uint64_t open = 0;

	if (!pd->nr_switches)
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "--offcpu: there are no samples of sched:sched_switch; record with perf record -a -g -e sched:sched_switch");
	else if (!flame_tracepoints_available())
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "--offcpu: this build has no libtraceevent, which reads the fields of sched_switch");
	else if (!pd->tracepoints)
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "--offcpu: the recording does not describe its tracepoints: was it finished?");
	flame_meta(pd->rd->profile)->sampled_switches |= pd->nr_switches && is_sampled(pd);
	flame_meta(pd->rd->profile)->late += pd->nr_guessed;
	if (pd->nr_switches && is_sampled(pd))
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "--offcpu: not each switch was recorded, so times are missing and others are too long: -F is for "
			       "all events of perf record; leave it out, or use -e cpu-clock/freq=99/ -e sched:sched_switch");
	for (size_t i = 1; i < pd->tasks.nr_threads; i++)
		open += pd->tasks.threads[i].is_out;
	if (open)
		flame_note(pd->rd, "%llu thread%s still switched out at the end of the recording: that time is not counted",
			   (unsigned long long)open, open == 1 ? " was" : "s were");
	if (pd->nr_guessed)
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "of %llu blocked times %llu end at what the thread did next, which may be late: "
			       "record switches in as well (perf record -a, or --switch-events)",
			       (unsigned long long)pd->nr_ended, (unsigned long long)pd->nr_guessed);
}

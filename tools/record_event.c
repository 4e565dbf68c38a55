/* SPDX-License-Identifier: MIT */
/*
 * record_event.c - the event to record: the processor's cycles where it counts them, else the clock; one that the
 * user names; or sched:sched_switch for time off the processor.
 */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_MAX 65536	/* bytes of a tracepoint's description */

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} events[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
};

#define NR_EVENTS (sizeof(events) / sizeof(*events))

/* Return: what the file holds, to be freed; NULL with errno. */
static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(FORMAT_MAX) : NULL;

	*len = text ? fread(text, 1, FORMAT_MAX, f) : 0;
	if (f)
		fclose(f);
	return text;
}

/* A description as trace-cmd and perf write it, of this one tracepoint. */
static void describe(struct record_event *e, const char *system, const char *format, size_t len)
{
	static const char magic[] = "\x17\x08\x44tracing";
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE), none = 0, one = 1;
	uint64_t size = len, empty = 0;
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	FILE *f = open_memstream(&e->tracepoints, &e->tracepoints_len);

	if (!f)
		return;
	fwrite(magic, 1, sizeof(magic) - 1, f);
	fwrite("0.6", 1, 4, f);
	fputc(big ? 1 : 0, f);
	fputc((int)sizeof(long), f);
	fwrite(&page, sizeof(page), 1, f);
	fwrite("header_page", 1, 12, f);
	fwrite(&empty, sizeof(empty), 1, f);
	fwrite("header_event", 1, 13, f);
	fwrite(&empty, sizeof(empty), 1, f);
	fwrite(&none, sizeof(none), 1, f);
	fwrite(&one, sizeof(one), 1, f);
	fwrite(system, 1, strlen(system) + 1, f);
	fwrite(&one, sizeof(one), 1, f);
	fwrite(&size, sizeof(size), 1, f);
	fwrite(format, 1, len, f);
	fwrite(&none, sizeof(none), 1, f);	/* kallsyms */
	fwrite(&none, sizeof(none), 1, f);	/* formats of printk */
	fwrite(&empty, sizeof(empty), 1, f);	/* names of processes */
	fclose(f);
}

bool record_event_is_counted(const struct record_event *e)
{
	const struct perf_event_attr *attr = &e->attr;
	bool is_clock = attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK;

	return attr->type == PERF_TYPE_TRACEPOINT || (attr->type == PERF_TYPE_SOFTWARE && !is_clock);
}

/*
 * Where the kernel is to hold a frequency for what it counts itself, a sample says what the next one stands for, and
 * sums are many times too large while it adapts. What happens now and then can be taken each time.
 */
static void take_each(struct record_event *e)
{
	e->attr.freq = 0;
	e->attr.sample_period = 1;
}

/* Return: NULL, or what is wrong. */
static char *set_tracepoint(struct record_event *e, const char *name)
{
	static const char *const mounts[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	const char *colon = strchr(name, ':'), *id;
	char system[64], path[2][256], *format = NULL, *wrong = NULL;
	size_t len = 0;

	if (colon == name || !colon[1] || strchr(name, '/') || (size_t)(colon - name) >= sizeof(system))
		return strdup("a tracepoint is SYSTEM:NAME, such as sched:sched_switch");
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	for (size_t i = 0; i < 2 && !format; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/events/%s/%.100s/format", mounts[i], system, colon + 1);
		format = read_file(path[i], &len);
		if (!format && errno == EACCES)
			break;
	}
	id = format ? memmem(format, len, "\nID: ", 5) : NULL;
	e->is_tracepoint = true;
	e->is_denied = !format && (errno == EACCES || errno == EPERM);
	if (!id) {
		if (asprintf(&wrong, "the tracepoint %s cannot be read: %s: %s", name, path[0], strerror(format ? EINVAL : errno)) < 0)
			wrong = NULL;
		free(format);
		return wrong ? wrong : strdup("out of memory");
	}
	e->attr.type = PERF_TYPE_TRACEPOINT;
	e->attr.config = strtoull(id + 5, NULL, 10);
	e->attr.sample_type |= PERF_SAMPLE_RAW;
	take_each(e);
	describe(e, system, format, len);
	free(format);
	return e->tracepoints ? NULL : strdup("out of memory");
}

/* Return: whether @name is one of ours with something behind it. */
static bool is_modified(const char *name)
{
	size_t len = strcspn(name, ":");

	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (name[len] && strlen(events[i].name) == len && !strncmp(name, events[i].name, len))
			return true;
	}
	return false;
}

static char *set_name(struct record_event *e, const char *name)
{
	char *known = NULL;
	size_t size;
	FILE *f;

	e->name = name;
	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (!strcmp(name, events[i].name)) {
			e->attr.type = events[i].type;
			e->attr.config = events[i].config;
			if (record_event_is_counted(e))
				take_each(e);
			return NULL;
		}
	}
	if (is_modified(name))
		return strdup("modifiers of events, such as the u of cycles:u, are perf's; --only and --exclude choose among stacks");
	if (strchr(name, ':'))
		return set_tracepoint(e, name);
	f = open_memstream(&known, &size);
	if (f) {
		fprintf(f, "no event %s; there are", name);
		for (size_t i = 0; i < NR_EVENTS; i++)
			fprintf(f, " %s", events[i].name);
		fputs(", and tracepoints, SYSTEM:NAME", f);
		fclose(f);
	}
	return known ? known : strdup("out of memory");
}

/* The registers that a stack is unwound with. */
static uint64_t user_registers(void)
{
#if defined(__x86_64__)
	return 0xff0fff;	/* all but the segments, of which the kernel refuses some */
#elif defined(__aarch64__)
	return (1ull << 33) - 1;
#else
	return 0;
#endif
}

static char *set_call_graph(struct record_event *e, const struct tool_record *o)
{
	if (!o->stack_bytes)
		return NULL;
	if (!user_registers())
		return strdup("--call-graph dwarf: not on machines like this; fp goes everywhere");
	e->attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	e->attr.sample_regs_user = user_registers();
	e->attr.sample_stack_user = o->stack_bytes;
	e->attr.exclude_callchain_user = 1;
	return NULL;
}

/* Without a counter of cycles the kernel's clock does as well. Processors of two kinds count each in its own way. */
static const char *default_event(void)
{
	static const char *const counters[] = { "cpu", "armv8_pmuv3_0" };
	char path[64];

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", counters[i]);
		if (!access(path, F_OK))
			return "cycles";
	}
	return "cpu-clock";
}

char *record_event_init(struct record_event *e, const struct tool *tool)
{
	const struct tool_record *o = &tool->record;
	char *wrong;

	*e = (struct record_event){ .attr = {
		.size = sizeof(e->attr),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.read_format = PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.freq = 1,
		.sample_freq = (uint64_t)o->frequency,
		.disabled = 1,
		.inherit = !o->all,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.sample_id_all = 1,
		.exclude_idle = 1,
		.exclude_guest = 1,
		.enable_on_exec = o->nr_command > 0 && !o->all,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(o->pages * (unsigned long)sysconf(_SC_PAGESIZE) / 2),
	} };
	/* Whose event it is: more than one may follow a thread. */
	if (!o->all)
		e->attr.sample_type |= PERF_SAMPLE_ID | PERF_SAMPLE_CPU;
	if (tool->read.offcpu) {
		/* What the processes switch to is not theirs, and tells nothing of when they go on. */
		e->attr.context_switch = !o->all;
		e->attr.exclude_idle = 0;
		wrong = set_name(e, "sched:sched_switch");
	} else {
		e->is_default = !tool->read.event;
		wrong = set_name(e, tool->read.event ? tool->read.event : default_event());
	}
	return wrong ? wrong : set_call_graph(e, o);
}

bool record_event_fall_back(struct record_event *e, int error)
{
	/* Bits that older kernels do not know, the newest first. */
	if (error == EINVAL && e->attr.read_format & PERF_FORMAT_LOST) {
		e->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		return true;
	}
	if (error == EINVAL && e->attr.ksymbol) {
		e->attr.ksymbol = 0;
		return true;
	}
	if ((error == ENOENT || error == ENODEV || error == EOPNOTSUPP) && e->is_default && strcmp(e->name, "cpu-clock") != 0) {
		free(set_name(e, "cpu-clock"));
		return true;
	}
	return false;
}

void record_event_release(struct record_event *e)
{
	free(e->tracepoints);
	e->tracepoints = NULL;
}

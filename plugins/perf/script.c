/* SPDX-License-Identifier: MIT */
/*
 * script.c - the functions that `perf script -s flame.so` calls, of a perf with perf-script-so.patch. Nothing is read
 * that lies behind the size of a structure.
 */
#include "perf_script_so.h"
#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define END_OF(type, field) (offsetof(struct type, field) + sizeof(((struct type *)NULL)->field))

static int (*ask)(void *context, uint64_t address, struct perf_script_so_place *place);

static bool resolve(void *context, uint64_t address, struct plugin_place *place)
{
	struct perf_script_so_place found = { .size = sizeof(found) };

	if (ask(context, address, &found))
		return false;
	*place = (struct plugin_place){
		.symbol = found.symbol, .module = found.dso, .address = found.dso_offset, .offset = found.symbol_offset,
		.is_kernel = found.is_kernel, .build_id = found.build_id_size ? found.build_id : NULL,
		.build_id_len = found.build_id_size,
	};
	return true;
}

static int start_script(const struct perf_script_so_host *host, int argc, const char **argv, void **data)
{
	if (host->size < END_OF(perf_script_so_host, resolve) || host->version != PERF_SCRIPT_SO_VERSION)
		return -1;
	ask = host->resolve;
	*data = plugin_new((char **)argv, argc);
	return *data ? 0 : -1;
}

static void take_sample(void *data, const struct perf_script_so_sample *sample, void *context)
{
	struct flame_user_state user = { .regs_mask = sample->regs_mask, .regs = sample->regs, .stack = sample->stack,
					 .stack_size = sample->stack_size };
	struct plugin_sample s = {
		.event = sample->event, .comm = sample->comm, .attr = sample->attr, .ip = sample->ip, .time = sample->time,
		.addr = sample->addr, .id = sample->id, .stream_id = sample->stream_id, .period = sample->period,
		.pid = sample->pid, .tid = sample->tid, .cpu = sample->cpu, .mode = sample->cpumode,
		.misc = (uint16_t)sample->misc, .resolve = resolve, .context = context, .user = &user,
	};

	if (sample->size < END_OF(perf_script_so_sample, stack_size) || !s.attr)
		return;
	s.chain = sample->callchain;
	s.nr_chain = s.chain ? sample->nr_callchain : 0;
	s.branches = sample->branches;
	s.nr_branches = s.branches ? sample->nr_branches : 0;
	if (sample->regs && sample->regs_abi == PERF_SAMPLE_REGS_ABI_64)
		user.nr_regs = (size_t)__builtin_popcountll(user.regs_mask);
	plugin_sample(data, &s);
}

static void end_script(void *data)
{
	plugin_end(data);
}

EXPORT const struct perf_script_so perf_script_so = {
	.size = sizeof(perf_script_so), .version = PERF_SCRIPT_SO_VERSION, .start = start_script, .sample = take_sample,
	.end = end_script,
};

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dlfilter.c - the functions that `perf script --dlfilter flame.so` calls. perf's structures begin with their
 * sizes: nothing is read that lies behind, so that older and newer versions of perf may load this.
 */
#include <perf/perf_dlfilter.h>

#include "plugin.h"

#define EXPORT __attribute__((visibility("default")))
#define HAS(s, field) ((s)->size >= offsetof(struct perf_dlfilter_sample, field) + sizeof((s)->field))

EXPORT struct perf_dlfilter_fns perf_dlfilter_fns;

/* What is known of the address that was asked for last; perf itself owns the strings. */
static struct perf_dlfilter_al al;

static bool resolve(void *context, uint64_t address, struct plugin_place *place)
{
	void (*cleanup)(void *context, struct perf_dlfilter_al *al);

	/* Newer versions of perf hold what they answer until this function of theirs is called, the first reserved one. */
	memcpy(&cleanup, perf_dlfilter_fns.reserved, sizeof(cleanup));
	if (cleanup && al.size)
		cleanup(context, &al);
	memset(&al, 0, sizeof(al));
	al.size = sizeof(al);
	if (perf_dlfilter_fns.resolve_address(context, address, &al)) {
		al.size = 0;
		return false;
	}
	*place = (struct plugin_place){
		.symbol = al.sym, .module = al.dso, .address = al.addr, .offset = al.symoff, .is_kernel = al.is_kernel_ip,
		.build_id = al.buildid, .build_id_len = al.buildid ? al.buildid_size : 0,
	};
	return true;
}

EXPORT int start(void **data, void *ctx)
{
	int nr = 0;
	char **args = perf_dlfilter_fns.args(ctx, &nr);

	*data = plugin_new(args, nr);
	return *data ? 0 : -1;
}

EXPORT int stop(void *data, void *ctx)
{
	(void)ctx;
	plugin_end(data);
	return 0;
}

EXPORT int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
{
	const struct perf_dlfilter_al *where = perf_dlfilter_fns.resolve_ip(ctx);
	struct plugin_sample s = {
		.attr = perf_dlfilter_fns.attr(ctx), .ip = sample->ip, .pid = sample->pid, .tid = sample->tid, .time = sample->time,
		.addr = sample->addr, .id = sample->id, .stream_id = sample->stream_id, .period = sample->period,
		.cpu = sample->cpu, .mode = sample->cpumode, .misc = sample->misc, .resolve = resolve, .context = ctx,
	};

	if (!HAS(sample, event) || !s.attr)
		return 1;
	s.event = sample->event;
	s.comm = where && where->size >= offsetof(struct perf_dlfilter_al, comm) + sizeof(where->comm) ? where->comm : NULL;
	s.chain = (const uint64_t *)sample->raw_callchain;
	s.nr_chain = s.chain ? sample->raw_callchain_nr : 0;
	s.branches = sample->brstack;
	s.nr_branches = s.branches ? sample->brstack_nr : 0;
	plugin_sample(data, &s);
	return 1;	/* perf has nothing to print */
}

EXPORT const char *filter_description(const char **long_description)
{
	*long_description =
		"  Options, each with a --dlarg of its own:\n"
		"    to=svg       draw a picture; else folded text is written, or to=FORMAT\n"
		"    o=FILE       write to FILE, not to standard output\n"
		"  and those of fgconv and fgrender, such as pid, event=cycles, kernel, title=TEXT; --dlarg help lists all.\n"
		"  Example: perf script --dlfilter flame.so --dlarg to=svg --dlarg o=flame.svg\n";
	return "flame graphs, as SVG or folded stacks";
}

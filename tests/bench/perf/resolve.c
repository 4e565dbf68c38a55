/* SPDX-License-Identifier: GPL-2.0 */
/*
 * resolve.c - a filter of perf script that asks what is at each address of each callchain, and does nothing else.
 */
#include <perf/perf_dlfilter.h>
#include <stddef.h>
#include <string.h>

#define CONTEXT_MAX ((__u64)-4095)	/* what is above are the kernel's markers */

struct perf_dlfilter_fns perf_dlfilter_fns;

int filter_event(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
{
	struct perf_dlfilter_al al;

	(void)data;
	for (__u64 i = 0; sample->raw_callchain && i < sample->raw_callchain_nr; i++) {
		if (sample->raw_callchain[i] >= CONTEXT_MAX)
			continue;
		memset(&al, 0, sizeof(al));
		al.size = sizeof(al);
		perf_dlfilter_fns.resolve_address(ctx, sample->raw_callchain[i], &al);
	}
	return 1;
}

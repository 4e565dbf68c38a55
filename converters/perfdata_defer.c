/* SPDX-License-Identifier: MIT */
/*
 * perfdata_defer.c - kernels from 6.19 on can take the user's part of a callchain when the thread returns to its
 * program (perf record --call-graph fp,defer). Until then a sample ends in a marker and a cookie; the
 * record with the rest has the same cookie.
 */
#include <stdlib.h>

#include "perfdata.h"

bool perfdata_is_deferred(const struct perfdata *pd, const struct perfdata_sample *s)
{
	return s->has_chain && s->nr_chain >= 2 &&
	       perfdata_u64(pd, s->chain + 8 * (s->nr_chain - 2)) == PERFDATA_MARKER_USER_DEFERRED;
}

/* Return: a free row; 0 without memory. */
static uint32_t new_row(struct perfdata *pd)
{
	uint32_t row = pd->free_deferred;

	if (row) {
		pd->free_deferred = pd->deferred[row].next;
		return row;
	}
	if (!pd->nr_deferred)
		pd->nr_deferred = 1;
	if (!array_reserve((void **)&pd->deferred, &pd->room_deferred, pd->nr_deferred + 1, sizeof(*pd->deferred)))
		return 0;
	pd->deferred[pd->nr_deferred] = (struct perfdata_deferred){ 0 };
	return (uint32_t)pd->nr_deferred++;
}

/* Add the sample in @row with the user's part @ips, where it has come. */
static int add(struct perfdata *pd, uint32_t row, uint32_t thread, const char *ips, size_t nr)
{
	struct perfdata_deferred *d = &pd->deferred[row];
	uint64_t *key = perfdata_chain_key(pd, d->nr + nr + 1), *to;
	flame_stack stack;
	int err;

	if (!key)
		return FLAME_ENOMEM;
	to = key + PERFDATA_KEY_HEAD;
	memcpy(to, d->chain, d->nr * sizeof(*to));
	to += d->nr;
	if (ips)
		*to++ = PERFDATA_MARKER_USER;
	else
		pd->nr_no_user_chain++;
	for (size_t i = 0; i < nr; i++)
		*to++ = perfdata_u64(pd, ips + 8 * i);
	err = perfdata_stack_of_key(pd, (size_t)(to - key) - PERFDATA_KEY_HEAD, thread, &stack);
	if (!err)
		err = perfdata_sample_add(pd, d->type, d->value, stack, pd->tasks.threads[thread].task);
	pd->deferred_bytes -= d->nr * sizeof(*d->chain);
	free(d->chain);
	*d = (struct perfdata_deferred){ .next = pd->free_deferred };
	pd->free_deferred = row;
	return err;
}

/* All that wait in @thread, the oldest first; those of @cookie get @ips. */
static int add_all(struct perfdata *pd, uint32_t thread, uint64_t cookie, const char *ips, size_t nr)
{
	uint32_t row = pd->tasks.threads[thread].deferred, oldest = 0;
	int err = 0;

	pd->tasks.threads[thread].deferred = 0;
	while (row) {
		uint32_t next = pd->deferred[row].next;

		pd->deferred[row].next = oldest;
		oldest = row;
		row = next;
	}
	while (!err && oldest) {
		uint32_t next = pd->deferred[oldest].next;
		bool comes = ips && pd->deferred[oldest].cookie == cookie;

		err = add(pd, oldest, thread, comes ? ips : NULL, comes ? nr : 0);
		oldest = next;
	}
	return err;
}

int perfdata_defer(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_type type)
{
	size_t nr = (size_t)s->nr_chain - 2;
	uint32_t row = new_row(pd);
	struct perfdata_deferred *d = &pd->deferred[row];

	if (!row)
		return FLAME_ENOMEM;
	d->chain = malloc((nr + 1) * sizeof(*d->chain));
	if (!d->chain)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		d->chain[i] = perfdata_u64(pd, s->chain + 8 * i);
	d->nr = nr;
	d->cookie = perfdata_u64(pd, s->chain + 8 * (nr + 1));
	d->type = type;
	d->value = s->period ? s->period : 1;
	d->next = pd->tasks.threads[thread].deferred;
	pd->tasks.threads[thread].deferred = row;
	pd->deferred_bytes += nr * sizeof(*d->chain);
	return pd->deferred_bytes > PERFDATA_DEFERRED_MAX ? perfdata_defer_flush(pd) : 0;
}

int perfdata_defer_end(struct perfdata *pd, const struct perfdata_record *r)
{
	int32_t tid = perfdata_tail_tid(pd, r);
	uint64_t nr = r->size >= 24 ? perfdata_u64(pd, r->data + 16) : 0;
	uint32_t thread;

	if (r->size < 24 || nr > (r->size - 24) / 8)
		return flame_skip(pd->rd, "a user callchain that is shorter than its fields");
	thread = tid < 0 ? 0 : perfdata_thread_row(pd, -1, tid);
	return thread ? add_all(pd, thread, perfdata_u64(pd, r->data + 8), r->data + 24, (size_t)nr) : 0;
}

int perfdata_defer_flush(struct perfdata *pd)
{
	int err = 0;

	for (uint32_t i = 1; !err && pd->nr_deferred && i < pd->tasks.nr_threads; i++)
		err = add_all(pd, i, 0, NULL, 0);
	return err;
}

void perfdata_defer_release(struct perfdata *pd)
{
	for (size_t i = 1; i < pd->nr_deferred; i++)
		free(pd->deferred[i].chain);
	free(pd->deferred);
}

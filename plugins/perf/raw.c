/* SPDX-License-Identifier: MIT */
/*
 * raw.c - the copy of a stack and the registers that `perf record --call-graph dwarf` stores. perf does not pass them
 * on to filters, but a callchain that it passes lies in the record of its sample, and they behind it. This leans
 * on how perf is made and not on what it promises: the record is used only where everything in front of the callchain,
 * back to the record's header, is what perf says of the sample.
 */
#define _GNU_SOURCE
#include <sys/uio.h>
#include <unistd.h>

#include "plugin.h"

#define HEADER 8
#define COUNTERS_MAX 64		/* of a group, in front of a callchain */

/* The fields in front of the callchain, as words; those that cannot be known are not compared. */
struct expected {
	uint64_t words[16];
	bool known[16];
	size_t nr;
};

static void expect(struct expected *e, bool present, uint64_t word, bool known)
{
	if (!present)
		return;
	e->words[e->nr] = word;
	e->known[e->nr++] = known;
}

/* Two words of 32 bits, as they lie in memory. */
static uint64_t two(uint32_t first, uint32_t second)
{
	uint32_t both[2] = { first, second };
	uint64_t word;

	memcpy(&word, both, sizeof(word));
	return word;
}

static void expect_all(struct expected *e, const struct plugin_sample *s)
{
	uint64_t type = s->attr->sample_type;
	/* perf replaces what counters of groups have in common by what each has. */
	bool same = !(type & PERF_SAMPLE_READ);

	expect(e, type & PERF_SAMPLE_IDENTIFIER, s->id, same);
	expect(e, type & PERF_SAMPLE_IP, s->ip, true);
	expect(e, type & PERF_SAMPLE_TID, two((uint32_t)s->pid, (uint32_t)s->tid), true);
	expect(e, type & PERF_SAMPLE_TIME, s->time, true);
	expect(e, type & PERF_SAMPLE_ADDR, s->addr, true);
	expect(e, type & PERF_SAMPLE_ID, s->id, same);
	expect(e, type & PERF_SAMPLE_STREAM_ID, s->stream_id, true);
	expect(e, type & PERF_SAMPLE_CPU, two((uint32_t)s->cpu, 0), true);
	expect(e, type & PERF_SAMPLE_PERIOD, s->period, same);
}

/* Return: false where reading @len bytes at @p could end the program. */
static bool is_readable(const void *p, size_t len)
{
	char copy[HEADER + 16 * 8 + 32 + COUNTERS_MAX * 24];
	struct iovec to = { copy, len }, from = { (void *)(uintptr_t)p, len };
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	/* What follows can be read: it is the callchain. */
	if ((uintptr_t)p / page == ((uintptr_t)p + len) / page)
		return true;
	return len <= sizeof(copy) && process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)len;
}

/* Return: the record's header, if the fields in front of the callchain take up @len bytes and are @e; else NULL. */
static const char *check_head(const struct plugin_sample *s, const struct expected *e, size_t len)
{
	const char *start = (const char *)(s->chain - 1) - len - HEADER;
	struct perf_event_header header;
	uint64_t word;

	if (!is_readable(start, len + HEADER))
		return NULL;
	memcpy(&header, start, sizeof(header));
	if (header.type != PERF_RECORD_SAMPLE || header.misc != s->misc || header.size < HEADER + len + 8)
		return NULL;
	for (size_t i = 0; i < e->nr; i++) {
		memcpy(&word, start + HEADER + 8 * i, sizeof(word));
		if (e->known[i] && word != e->words[i])
			return NULL;
	}
	return start;
}

/* Return: whether the record at @start can be read up to the end that its header tells. */
static bool is_whole(const char *start)
{
	enum { PAGES_MAX = UINT16_MAX / 4096 + 2 };
	char copy[PAGES_MAX];
	struct iovec to = { copy, 0 }, from[PAGES_MAX];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)start;
	struct perf_event_header header;
	uintptr_t end;

	memcpy(&header, start, sizeof(header));
	/* A byte of each page behind the first. */
	for (end = at + header.size - 1; (at | (page - 1)) < end && to.iov_len < PAGES_MAX; to.iov_len++) {
		at = (at | (page - 1)) + 1;
		from[to.iov_len] = (struct iovec){ (void *)at, 1 };
	}
	return !to.iov_len || process_vm_readv(getpid(), &to, 1, from, to.iov_len, 0) == (ssize_t)to.iov_len;
}

static const char *find_record(const struct plugin_sample *s)
{
	uint64_t type = s->attr->sample_type, format = s->attr->read_format, nr;
	size_t each = 8 + (format & PERF_FORMAT_ID ? 8 : 0) + (format & (1U << 4) /* PERF_FORMAT_LOST */ ? 8 : 0);
	size_t times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) + (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	struct expected e = { .nr = 0 };
	const char *found;

	expect_all(&e, s);
	memcpy(&nr, s->chain - 1, sizeof(nr));
	if (nr != s->nr_chain)
		return NULL;
	if (!(type & PERF_SAMPLE_READ))
		return check_head(s, &e, 8 * e.nr);
	if (!(format & PERF_FORMAT_GROUP))
		return check_head(s, &e, 8 * e.nr + times + each);
	/*
	 * How many counters there are stands in front of them: try. What counters hold may look like a record, whose end
	 * may be anywhere.
	 */
	for (uint64_t i = 1; i <= COUNTERS_MAX; i++) {
		found = check_head(s, &e, 8 * e.nr + 8 + times + i * each);
		if (!found)
			continue;
		memcpy(&nr, found + HEADER + 8 * e.nr, sizeof(nr));
		if (nr == i)
			return is_whole(found) ? found : NULL;
	}
	return NULL;
}

/* What is left of the record. */
struct cursor {
	const char *p, *end;
};

static const char *take(struct cursor *c, uint64_t len)
{
	const char *p = c->p;

	if (!p || len > (uint64_t)(c->end - p)) {
		c->p = NULL;
		return NULL;
	}
	c->p += len;
	return p;
}

static uint64_t take_u64(struct cursor *c)
{
	const char *p = take(c, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

/* Go past what stands between the callchain and the registers. */
static void skip_to_registers(struct cursor *c, const struct plugin_sample *s)
{
	uint64_t type = s->attr->sample_type, nr;
	uint32_t len = 0;
	const char *p;

	if (take_u64(c) > UINT16_MAX / 8)
		c->p = NULL;
	take(c, 8 * s->nr_chain);
	if (type & PERF_SAMPLE_RAW && (p = take(c, 4))) {
		memcpy(&len, p, sizeof(len));
		take(c, len);
		take(c, -(4 + (uint64_t)len) & 7);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		nr = take_u64(c);
		if (s->attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			take(c, 8);
		take(c, nr > UINT16_MAX ? UINT64_MAX : 24 * nr);
	}
}

bool plugin_raw_state(const struct plugin_sample *s, struct flame_user_state *state, uint64_t *regs)
{
	const uint64_t wanted = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const char *record = s->chain && (s->attr->sample_type & wanted) == wanted ? find_record(s) : NULL;
	struct perf_event_header header;
	struct cursor c;
	uint64_t size, used;
	const char *p;

	if (!record)
		return false;
	memcpy(&header, record, sizeof(header));
	c = (struct cursor){ (const char *)(s->chain - 1), record + header.size };
	skip_to_registers(&c, s);
	*state = (struct flame_user_state){ .regs_mask = s->attr->sample_regs_user, .regs = regs };
	if (take_u64(&c) == PERF_SAMPLE_REGS_ABI_64) {
		state->nr_regs = (size_t)__builtin_popcountll(state->regs_mask);
		p = take(&c, 8 * state->nr_regs);
		if (p)
			memcpy(regs, p, 8 * state->nr_regs);
	}
	size = take_u64(&c);
	state->stack = take(&c, size);
	used = size ? take_u64(&c) : 0;
	state->stack_size = used < size ? (size_t)used : (size_t)size;
	return c.p != NULL;
}

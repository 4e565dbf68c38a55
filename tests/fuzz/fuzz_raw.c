/* SPDX-License-Identifier: MIT */
/*
 * fuzz_raw.c - flame.so's walk of a sample's record in perf's memory: the input is the attribute's fields and the
 * record, which ends where a page does that may not be read. Of the record perf's fields are taken as perf would, or some
 * of them changed, so that they agree or do not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "../../plugins/perf/raw.c"
#include "fuzz.h"

#define ROOM ((size_t)128 << 10)

static uint64_t word(const char *record, size_t size, size_t *at)
{
	uint64_t v = 0;

	if (*at + 8 <= size)
		memcpy(&v, record + *at, sizeof(v));
	*at += 8;
	return v;
}

/* What perf makes of the record. Return: where its callchain is. */
static size_t parse(const char *record, size_t size, struct plugin_sample *s)
{
	uint64_t type = s->attr->sample_type, format = s->attr->read_format, nr = 1, v;
	size_t at = HEADER;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = word(record, size, &at);
	if (type & PERF_SAMPLE_IP)
		s->ip = word(record, size, &at);
	if (type & PERF_SAMPLE_TID) {
		v = word(record, size, &at);
		memcpy(&s->pid, &v, 4);
		memcpy(&s->tid, (char *)&v + 4, 4);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = word(record, size, &at);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = word(record, size, &at);
	if (type & PERF_SAMPLE_ID)
		s->id = word(record, size, &at);
	if (type & PERF_SAMPLE_STREAM_ID)
		s->stream_id = word(record, size, &at);
	if (type & PERF_SAMPLE_CPU) {
		v = word(record, size, &at);
		memcpy(&s->cpu, &v, 4);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = word(record, size, &at);
	if (type & PERF_SAMPLE_READ) {
		if (format & PERF_FORMAT_GROUP)
			nr = word(record, size, &at) % 100;
		at += format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0;
		at += format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0;
		at += nr * (8 + (format & PERF_FORMAT_ID ? 8 : 0) + (format & 16 ? 8 : 0));
	}
	return at;
}

/* All that was found lies in the record. */
static void check(const char *record, size_t size, const struct flame_user_state *state)
{
	const char *stack = state->stack;

	if (state->nr_regs > FLAME_UNWIND_REGS_MAX)
		abort();
	if (state->stack_size && (stack < record || state->stack_size > size || stack + state->stack_size > record + size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *memory;
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER };
	struct plugin_sample s = { .attr = &attr };
	uint64_t regs[FLAME_UNWIND_REGS_MAX], nr;
	struct flame_user_state state;
	struct perf_event_header header;
	uint32_t change;
	char *record;
	size_t at;

	if (!memory) {
		memory = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED || mprotect(memory + ROOM - 4096, 4096, PROT_NONE) || mprotect(memory, 4096, PROT_NONE))
			abort();
	}
	attr.sample_type |= fuzz_bits(&data, &size, 4);
	attr.read_format = fuzz_bits(&data, &size, 1);
	attr.branch_sample_type = (uint64_t)fuzz_bits(&data, &size, 1) << 16;
	attr.sample_regs_user = fuzz_bits(&data, &size, 4);
	change = fuzz_bits(&data, &size, 1);
	size &= ~(size_t)7;
	if (size < 16 || size > UINT16_MAX)
		return 0;
	record = memory + ROOM - 4096 - size;
	memcpy(record, data, size);
	/* perf has checked the header. */
	memcpy(&header, record, sizeof(header));
	header.type = PERF_RECORD_SAMPLE;
	header.size = (uint16_t)size;
	memcpy(record, &header, sizeof(header));
	s.misc = header.misc;
	at = parse(record, size, &s);
	nr = word(record, size, &at);
	if (at > size)
		return 0;
	/* perf has checked that the callchain is in the record. */
	nr %= (size - at) / 8 + 1;
	memcpy(record + at - 8, &nr, sizeof(nr));
	s.chain = (const uint64_t *)(record + at);
	s.nr_chain = nr;
	s.ip ^= change & 1;
	s.time ^= change & 2;
	s.misc ^= change & 4;
	if (plugin_raw_state(&s, &state, regs))
		check(record, size, &state);
	return 0;
}

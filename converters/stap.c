/* SPDX-License-Identifier: MIT */
/*
 * stap - stacks that a SystemTap script counted with print_stack() and print_ustack():
 *
 *      0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]
 *      0xffffffff8101c6a3 : default_idle+0x53/0x1d0 [kernel]
 *             2404
 *
 * The leaf comes first, the number ends the record. Seen: SystemTap as its documentation and FlameGraph's script
 * show it.
 */
#define _GNU_SOURCE
#include <string.h>

#include "../core/callstack.h"
#include "../core/converter.h"
#include "../core/namer.h"
#include "../core/span.h"

struct frame {
	struct flame_span address, name, whole, module;	/* whole: with offset and size */
};

/* "0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel] (inexact)". */
static bool parse_frame(struct flame_span text, struct frame *f)
{
	struct flame_span rest = text;
	size_t at;

	if (!span_word(&rest, &f->address) || !span_starts(f->address, "0x"))
		return false;
	rest = span_trim(rest);
	f->name = f->whole = f->module = (struct flame_span){ "", 0 };
	if (!rest.len)
		return true;
	if (!span_starts(rest, ": "))
		return span_starts(rest, "(inexact)");
	rest = span_trim(span_from(rest, 2));
	if (span_ends(rest, " (inexact)"))
		rest.len -= 10;
	if (span_ends(rest, "]")) {
		const char *open = memrchr(rest.s, '[', rest.len);

		if (open) {
			f->module = (struct flame_span){ open + 1, (size_t)(rest.s + rest.len - open) - 2 };
			rest = span_trim(span_to(rest, (size_t)(open - rest.s)));
		}
	}
	at = span_find(rest, "+0x");
	f->whole = rest;
	f->name = span_to(rest, at);
	return true;
}

static int read_frame(struct flame_reader *rd, struct flame_span text)
{
	struct flame_stack_text *st = rd->state;
	struct flame_frame_info info = { 0 };
	struct frame f;

	if (!parse_frame(text, &f))
		return flame_skip(rd, "a line that is neither a frame nor a count");
	if (rd->options->offsets)
		f.name = f.whole;
	info.module = flame_intern(rd->profile, f.module.s, f.module.len);
	if (f.address.len == 18 && span_starts(f.address, "0xffff"))
		info.kind = FLAME_KERNEL;
	if (!f.name.len && rd->options->addrs)
		f.name = f.address;
	return flame_callstack_add(&st->stack, flame_namer_frame(&st->namer, rd, f.name, &info));
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct flame_stack_text *st = rd->state;
	struct flame_sample s = st->sample;

	line = span_trim(line);
	if (!line.len)
		return 0;
	if (!span_is_int(line, &s.value))
		return read_frame(rd, line);
	if (!st->stack.nr)
		return flame_skip(rd, "a number without a stack before it");
	s.nr_samples = s.value ? (uint64_t)s.value : 1;
	return flame_callstack_end(&st->stack, rd->profile, &s);
}

static int read(struct flame_reader *rd)
{
	struct flame_stack_text *st = rd->state;
	int err;

	st->sample.type = flame_namer_type(rd->profile, "samples", "count", FLAME_VALUE_OTHER);
	err = flame_stack_text_read(rd, read_line);
	if (!err && st->stack.nr)
		flame_damaged(rd, "the text ends inside a stack, before its count; the stacks before are used");
	return err;
}

static int probe(struct flame_span head)
{
	struct flame_span line;
	size_t nr = 0;

	while (span_line(&head, &line)) {
		struct frame f;
		int64_t count;

		line = span_trim(line);
		if (!line.len)
			continue;
		if (nr && span_is_int(line, &count))
			return FLAME_SCORE_RECORD;
		if (!parse_frame(line, &f))
			return FLAME_SCORE_NOT;
		nr += f.name.len > 0;
	}
	return FLAME_SCORE_NOT;
}

const struct flame_converter flame_stap_converter = {
	.name = "stap",
	.summary = "stacks counted by SystemTap",
	.state_size = sizeof(struct flame_stack_text),
	.counted = true,
	.probe = probe,
	.read = read,
	.release = flame_stack_text_release,
};

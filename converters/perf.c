/* SPDX-License-Identifier: MIT */
/*
 * perf - the text of `perf script`:
 *
 *     comm 31216 [000]  1145.160351:    1001001 cpu-clock:ppp:
 *     	           3fb90 leaf+0x230 (/usr/lib/libc.so.6)
 *     	            193a caller+0x4a (/opt/work)
 *
 * (a blank line ends a sample). Written by perf since 2.6.31 with any -F fields, and by simpleperf's
 * report_sample.py. Seen: perf 3.2 to 7.2. Documentation/formats/perf.md has the grammar. Not read:
 * branch stacks, registers, instructions, cgroups; mmap, comm, fork, exit and switch records.
 *
 * A sample is looked up whole: the bytes of its frames, in one hash, lead to its stack. Where that
 * fails its lines are looked up by their bytes, and only a line never seen before is taken apart.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/event.h"
#include "../core/meta.h"
#include "../core/native.h"
#include "../core/scan.h"
#include "../core/span.h"
#include "perf_text.h"

#define BLOCK_CACHE_BYTES ((size_t)6 << 20)	/* of whole samples; stays near the processor */
#define LINE_CACHE_BYTES ((size_t)4 << 20)
#define ROOT_CACHE_BYTES ((size_t)1 << 20)
#define MAX_EVENT 256

/* Frames of one line: more than one where a JIT compiler's symbol holds inlined ones. */
#define MANY_FRAMES 0x80000000u

/* What a whole sample led to under one root; samples of equal frames are chained. */
struct block {
	flame_stack root, stack;
	uint32_t next;	/* index + 1 */
};

/* A sample that was read whole and waits for others, so that their look-ups in memory overlap. */
struct pending {
	struct flame_span text;	/* of its frames */
	uint64_t hash;
	flame_stack root, stack;
	flame_stack base;	/* what its frames are pushed onto: root, or nothing under --skip-after */
	bool found;		/* stack is known; else its frames are those behind start */
	size_t start, nr;
	flame_type type;
	int64_t value;
};

struct state {
	/* Set by prepare(). */
	bool headerless;	/* no line but frames: perf script -F ip,sym */
	int64_t start;		/* time of the first sample, ns */

	/* The sample at hand. */
	bool open;
	bool ignored;		/* outside --time */
	bool in_record;		/* what is indented goes on with a record: PERF_RECORD_NAMESPACES */
	bool has_only;		/* header->rest holds a frame, to be used if none follows */
	flame_stack root;
	flame_type type;
	int64_t value;
	flame_frame only;
	flame_frame *frames;	/* leaf first */
	size_t nr_frames, room_frames;

	struct pending pending[FLAME_PATHS];
	size_t nr_pending;
	flame_frame *path_frames;	/* of all pending ones, the root's first */
	flame_stack *path_stacks;
	size_t nr_path_frames, room_path_frames, room_path_stacks;

	/* A line that is a header if a frame follows. */
	char weak[256];
	size_t weak_len;

	/* The names last seen, and what they led to. */
	char event[MAX_EVENT];
	size_t event_len;
	flame_type event_type;
	struct flame_cache roots;	/* of comms, with their ids where these show; value: a stack */

	struct flame_cache lines;	/* value: a frame, or an index in many with MANY_FRAMES */
	flame_frame *many;		/* a count, then that many frames */
	size_t nr_many, room_many;
	struct flame_cache blocks;	/* value: an index in block */
	struct block *block;
	size_t nr_block, room_block;
	uint32_t *seen;			/* hashes of samples seen once: only a second time are they worth keeping */
	struct flame_native_namer namer;

	int64_t first, last;		/* times of samples, ns; 0: none yet */
	bool no_memory;			/* for some frame */
	bool too_big;			/* some period does not fit */
	bool any_deep;			/* some sample has more than one frame */
	bool any_sched;
	bool any_deferred;		/* user parts of callchains stand for themselves, behind the samples */
};

#define NR_SEEN (1u << 14)

/* Return: as lines' values; 0 without memory. */
static uint32_t line_frames(struct flame_reader *rd, const struct perf_frame *f)
{
	struct state *st = rd->state;
	struct flame_native code = { .symbol = f->symbol, .module = f->module, .address = f->address,
				     .inlined = f->inlined, .demangle = rd->options->demangle };
	size_t nr = flame_native_frames(&st->namer, rd, &code);

	if (nr <= 1)
		return nr ? st->namer.frames[0] : 0;
	if (!array_reserve((void **)&st->many, &st->room_many, st->nr_many + nr + 1, sizeof(*st->many)))
		return 0;
	st->many[st->nr_many] = (flame_frame)nr;
	memcpy(st->many + st->nr_many + 1, st->namer.frames, nr * sizeof(*st->many));
	st->nr_many += nr + 1;
	return MANY_FRAMES | (uint32_t)(st->nr_many - nr - 1);
}

/* Frames of the sample at hand. */

static bool push_frame(struct state *st, flame_frame frame)
{
	if (!array_reserve((void **)&st->frames, &st->room_frames, st->nr_frames + 1, sizeof(*st->frames)))
		return false;
	st->frames[st->nr_frames++] = frame;
	return true;
}

static bool push_line_value(struct state *st, uint32_t value)
{
	const flame_frame *many;
	bool ok = true;

	if (!(value & MANY_FRAMES))
		return push_frame(st, value);
	many = &st->many[value & ~MANY_FRAMES];
	for (uint32_t i = many[0]; ok && i > 0; i--)
		ok = push_frame(st, many[i]);
	return ok;
}

/* What the line's frames are, as lines' values. Return: false where it is not a frame. */
static bool find_line(struct flame_reader *rd, struct flame_span line, uint32_t *value)
{
	struct state *st = rd->state;
	uint64_t hash = hash_bytes(line.s, line.len);
	uint32_t generation = st->lines.generation;
	struct perf_frame f;

	if (flame_cache_get(&st->lines, line.s, line.len, hash, value))
		return true;
	if (!perf_parse_frame(line, &f))
		return false;
	*value = line_frames(rd, &f);
	if (!*value) {
		st->no_memory = true;
		return false;
	}
	flame_cache_put(&st->lines, line.s, line.len, hash, *value);
	/* Values that stood for several frames went with the old generation. */
	if (st->lines.generation != generation && !(*value & MANY_FRAMES))
		st->nr_many = 0;
	return true;
}

/* Return: false where the line is not a frame. */
static bool push_line(struct flame_reader *rd, struct flame_span line)
{
	uint32_t value;

	return find_line(rd, line, &value) && push_line_value(rd->state, value);
}

/* --skip-after: the frame of that name that is nearest to the leaf becomes the root. */
static bool cut_callers(struct flame_reader *rd)
{
	struct state *st = rd->state;

	return flame_skip_after(rd, st->frames, &st->nr_frames);
}

static flame_stack push_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	flame_stack stack = cut_callers(rd) ? 0 : st->root;

	for (size_t i = st->nr_frames; i-- > 0;)
		stack = flame_stack_push(rd->profile, stack, st->frames[i]);
	st->any_deep |= st->nr_frames > 1;
	return stack;
}

static int add_sample(struct flame_reader *rd, flame_stack stack)
{
	struct state *st = rd->state;
	struct flame_sample s = { .stack = stack, .type = st->type, .value = st->value };

	if (st->no_memory)
		return FLAME_ENOMEM;
	if (st->too_big)
		return flame_fail(rd, FLAME_EOVERFLOW, "the period does not fit 64 bits");
	return flame_sample_add(rd->profile, &s);
}

static int close_sample(struct flame_reader *rd)
{
	struct state *st = rd->state;
	bool open = st->open;

	st->open = false;
	st->weak_len = 0;
	if (!open || st->ignored)
		return 0;
	if (!st->nr_frames && st->has_only && !push_line_value(st, st->only))
		return FLAME_ENOMEM;
	return add_sample(rd, push_frames(rd));
}

/* Headers. */

static flame_type find_type(struct flame_reader *rd, const struct perf_header *h)
{
	struct state *st = rd->state;

	if (st->event_type && st->event_len == h->event.len && !memcmp(st->event, h->event.s, h->event.len))
		return st->event_type;
	st->event_type = flame_event_type(rd->profile, h->event, h->period != 0);
	st->any_sched |= span_starts(h->event, "sched:");
	st->event_len = h->event.len < MAX_EVENT ? h->event.len : 0;
	memcpy(st->event, h->event.s, st->event_len);
	if (h->event.len >= MAX_EVENT) {
		flame_type type = st->event_type;

		st->event_type = 0;
		return type;
	}
	return st->event_type;
}

/* What names the root frame in the sample's first line. */
static struct flame_span root_text(const struct flame_reader *rd, const struct perf_header *h)
{
	struct flame_span text = h->comm;

	/* The ids follow the comm; any text up to the time tells them apart, but pid and tid are enough. */
	if (rd->options->root == FLAME_ROOT_PID || rd->options->root == FLAME_ROOT_TID)
		text.len = (size_t)(h->ids_end - text.s);
	return text;
}

static flame_stack find_root(struct flame_reader *rd, const struct perf_header *h)
{
	struct state *st = rd->state;
	struct flame_span text = root_text(rd, h);
	uint64_t hash = hash_bytes(text.s, text.len);
	struct flame_task_info task = { .pid = h->pid, .tid = h->tid };
	flame_stack root;

	if (flame_cache_get(&st->roots, text.s, text.len, hash, &root))
		return root;
	task.comm = flame_intern(rd->profile, h->comm.s, h->comm.len);
	root = flame_task_root(rd->profile, &task);
	flame_cache_put(&st->roots, text.s, text.len, hash, root);
	return root;
}

static bool is_outside(const struct flame_reader *rd, const struct perf_header *h)
{
	const struct state *st = rd->state;

	return h->has_time && flame_is_outside_time(rd->options, h->time - st->start);
}

/* Nearly all samples come later than those before. */
static void note_time(struct state *st, int64_t time)
{
	if (time > st->last)
		st->last = time;
	if (time < st->first || !st->first)
		st->first = time;
}

static void open_sample(struct flame_reader *rd, const struct perf_header *h)
{
	struct state *st = rd->state;

	st->open = true;
	st->in_record = false;
	st->weak_len = 0;
	st->nr_frames = 0;
	st->has_only = false;
	st->ignored = is_outside(rd, h);
	if (h->has_time && !st->ignored)
		note_time(st, h->time);
	st->root = find_root(rd, h);
	st->type = find_type(rd, h);
	st->value = h->period ? (int64_t)h->period : 1;
	st->too_big |= h->period > INT64_MAX;
}

/* Behind a frame: registers, instructions and branches, which -F adds. */
static struct flame_span cut_extras(struct flame_span frame)
{
	static const char *const extras[] = { ") ABI:", ") insn:", ") 0x" };

	for (size_t i = 0; i < sizeof(extras) / sizeof(*extras); i++)
		frame = span_to(frame, span_find(frame, extras[i]) + 1);
	return frame;
}

/* The only frame of a sample without a callchain stands on its first line, behind a payload or addresses of data. */
static void note_only_frame(struct flame_reader *rd, const struct perf_header *h)
{
	struct state *st = rd->state;
	struct perf_frame f;
	struct flame_span rest = span_to(h->rest, span_find(h->rest, ") => ") + 1), line, address;

	if (!rest.len)
		return;
	/* A frame's line starts with a blank, and one stands before the rest; behind "=>" is where a branch leads. */
	line = (struct flame_span){ rest.s - 1, rest.len + 1 };
	address = perf_find_address(h->ids_end, rest);
	if (address.len)
		line = span_from(line, (size_t)(address.s - rest.s));
	line = cut_extras(line);
	if (perf_parse_frame(line, &f) && (address.len || (f.symbol.len && (h->event.len || f.address.len > 4))))
		st->has_only = find_line(rd, line, &st->only);
}

static void read_record(struct flame_reader *rd, struct flame_span record)
{
	struct flame_span number = { "", 0 };
	const char *lost = memmem(record.s, record.len, "LOST", 4);
	uint64_t nr = 0;

	if (span_starts(record, "DEFERRED"))
		((struct state *)rd->state)->any_deferred = true;
	if (!lost)
		return;
	for (size_t i = record.len; i-- > 0 && record.s[i] >= '0' && record.s[i] <= '9';)
		number = (struct flame_span){ record.s + i, record.len - i };
	for (size_t i = 0; i < number.len && nr < UINT64_MAX / 100; i++)
		nr = nr * 10 + (uint64_t)(number.s[i] - '0');
	flame_lost_add(rd->profile, nr);
}

static int read_header(struct flame_reader *rd, const struct perf_header *h)
{
	struct state *st = rd->state;
	int err = close_sample(rd);

	if (err)
		return err;
	st->in_record = h->record.len;
	if (h->record.len) {
		read_record(rd, h->record);
		return 0;
	}
	open_sample(rd, h);
	note_only_frame(rd, h);
	return 0;
}

/* What perf script --header tells of the recording: "# hostname : vm". */

/* Return: the number behind @key in an event's description, 0 where it is not there. */
static uint64_t event_number(struct flame_span text, const char *key)
{
	struct flame_span at = span_from(text, span_find(text, key));
	int64_t value;

	at = span_from(at, strlen(key));
	return at.len && span_digits(at, &value) ? (uint64_t)value : 0;
}

/* Of several events the first one's, which is what is used by default. */
static void read_event_line(struct flame_meta *meta, struct flame_span text)
{
	uint64_t every = event_number(text, "sample_freq } = "), depth = event_number(text, "sample_max_stack = ");

	if (meta->frequency_hz || meta->period)
		return;
	if (event_number(text, " freq = "))
		meta->frequency_hz = every <= UINT32_MAX ? (uint32_t)every : 0;
	else
		meta->period = every;
	if (!meta->depth_max)
		meta->depth_max = depth <= UINT16_MAX ? (uint32_t)depth : 0;
}

static void read_comment(struct flame_reader *rd, struct flame_span line)
{
	struct flame_meta *meta = flame_meta(rd->profile);
	size_t colon = span_find(line, " : ");
	struct flame_span key = span_trim(span_from(span_to(line, colon), 1)), value = span_trim(span_from(line, colon + 3));
	char tool[64] = "perf ";
	int64_t nr;

	if (colon == line.len || !value.len)
		return;
	if (span_equals(key, "hostname"))
		flame_meta_text(rd->profile, &meta->host, value);
	else if (span_equals(key, "cmdline"))
		flame_meta_text(rd->profile, &meta->command, value);
	else if (span_equals(key, "nrcpus online") && span_is_int(value, &nr) && nr <= UINT16_MAX && !meta->nr_cpus)
		meta->nr_cpus = (uint32_t)nr;
	else if (span_equals(key, "event"))
		read_event_line(meta, value);
	if (!span_equals(key, "perf version") || value.len >= sizeof(tool) - 5)
		return;
	memcpy(tool + 5, value.s, value.len);
	flame_meta_text(rd->profile, &meta->tool, (struct flame_span){ tool, 5 + value.len });
}

/* Lines, one at a time. */

static int drop_weak(struct flame_reader *rd)
{
	struct state *st = rd->state;

	if (!st->weak_len)
		return 0;
	st->weak_len = 0;
	return flame_skip(rd, "a line that is neither the first of a sample nor a stack frame");
}

/* A frame is at hand: open the sample that it belongs to. Return: false where there is none. */
static bool open_for_frame(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct perf_header h = perf_no_header;

	if (st->weak_len)
		perf_parse_weak_header((struct flame_span){ st->weak, st->weak_len }, &h);
	else if (!st->headerless)
		return false;
	open_sample(rd, &h);
	return true;
}

static int read_frame(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct perf_frame f;

	if ((st->in_record && !st->open) || perf_is_branch_text(line))
		return 0;
	if (!perf_parse_frame(line, &f))
		return flame_skip(rd, "a stack frame without an address");
	if (!st->open && !open_for_frame(rd))
		return flame_skip(rd, "a stack frame without a sample before it");
	return push_line(rd, line) ? 0 : FLAME_ENOMEM;
}

/* "file.c:12" to its parts. Return: false for "lib[offset]" and "??:0", which tell nothing. */
static bool parse_place(struct flame_span place, struct flame_span *file, int64_t *line)
{
	const char *colon = memrchr(place.s, ':', place.len);

	if (!colon || colon == place.s)
		return false;
	*file = span_to(place, (size_t)(colon - place.s));
	return !span_equals(*file, "??") && span_is_int(span_from(place, file->len + 1), line) && *line >= 0 &&
	       *line <= UINT32_MAX;
}

/* "  file.c:12" behind a frame, from -F +srcline; perf puts the mark of an inlined frame behind it. */
static int read_srcline(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span place = span_trim(line), file;
	struct flame_frame_info info;
	flame_frame *frame;
	bool has_place;
	int64_t nr;

	if (st->has_only && !st->nr_frames && !push_line_value(st, st->only))
		return FLAME_ENOMEM;
	if (!st->nr_frames)
		return 0;
	frame = &st->frames[st->nr_frames - 1];
	info = *flame_frame_get(rd->profile, *frame);
	if (info.kind == FLAME_USER && span_ends(place, " (inlined)"))
		info.kind = FLAME_INLINED;
	place = span_to(span_to(place, span_find(place, " (inlined)")), span_find(place, " (discriminator"));
	has_place = (rd->options->srcline || rd->options->places) && parse_place(place, &file, &nr);
	if (has_place && !rd->options->places)
		info.name = flame_name_at_line(&st->namer, rd, flame_string_get(rd->profile, info.name), place);
	*frame = info.name ? flame_frame_row(rd->profile, &info) : 0;
	if (*frame && has_place && rd->options->places)
		flame_frame_place(rd->profile, frame, file, (uint32_t)nr);
	return *frame ? 0 : FLAME_ENOMEM;
}

/* Keep the line: it is a sample's first if a frame follows. */
static int read_weak(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct perf_header h;
	int err = close_sample(rd);

	if (!err)
		err = drop_weak(rd);
	if (err)
		return err;
	if (!perf_parse_weak_header(line, &h) || line.len > sizeof(st->weak))
		return flame_skip(rd, "a line that is neither the first of a sample nor a stack frame");
	memcpy(st->weak, line.s, line.len);
	st->weak_len = line.len;
	return 0;
}

/* A line that starts with a blank but not with a tab: a padded first line, a frame, or what -F adds to frames. */
static int read_indented(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct perf_header h;
	struct perf_frame f;
	int err;

	if (perf_parse_header(line, &h) || perf_parse_flat_header(line, &h))
		return read_header(rd, &h);
	if (perf_parse_frame(line, &f) && !perf_is_header(line) && (st->open || st->weak_len || st->headerless)) {
		/* Callchains start with a tab: without any first lines this is a sample of its own. */
		if (!st->headerless)
			return read_frame(rd, line);
		err = close_sample(rd);
		return err ? err : read_frame(rd, line);
	}
	if (!st->open || (!st->nr_frames && !st->has_only))
		return read_weak(rd, line);
	return read_srcline(rd, line);
}

static int read_text(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct perf_header h;

	if (perf_parse_header(line, &h) || perf_parse_flat_header(line, &h))
		return read_header(rd, &h);
	if (st->open && st->nr_frames)
		return flame_skip(rd, "a line that is neither the first of a sample nor a stack frame");
	return read_weak(rd, line);
}

static bool is_empty(struct flame_span line)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.s[i] != ' ' && line.s[i] != '\t')
			return false;
	}
	return true;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	int err;

	if (is_empty(line)) {
		err = close_sample(rd);
		return err ? err : drop_weak(rd);
	}
	if (perf_is_comment(line)) {
		read_comment(rd, line);
		return 0;
	}
	if (line.s[0] == '\t')
		return read_frame(rd, line);
	return line.s[0] == ' ' ? read_indented(rd, line) : read_text(rd, line);
}

/* Whole samples. */

/* Return: the block's stack under the sample's root, where that is known. */
static bool find_block(struct state *st, uint32_t index, flame_stack *stack)
{
	for (uint32_t i = index + 1; i; i = st->block[i - 1].next) {
		if (st->block[i - 1].root == st->root) {
			*stack = st->block[i - 1].stack;
			return true;
		}
	}
	return false;
}

/* Remember what a block led to, from the second time on that it is seen. */
static void keep_block(struct state *st, const struct pending *s)
{
	uint32_t *seen = &st->seen[(s->hash >> 40) % NR_SEEN], generation = st->blocks.generation, index;
	struct block b = { s->root, s->stack, 0 };
	bool known = flame_cache_get(&st->blocks, s->text.s, s->text.len, s->hash, &index);

	if (!known && *seen != (uint32_t)s->hash) {
		*seen = (uint32_t)s->hash;
		return;
	}
	if (!array_reserve((void **)&st->block, &st->room_block, st->nr_block + 1, sizeof(*st->block)))
		return;
	if (known) {
		b.next = st->block[index].next;
		st->block[index].next = (uint32_t)st->nr_block + 1;
		st->block[st->nr_block++] = b;
		return;
	}
	flame_cache_put(&st->blocks, s->text.s, s->text.len, s->hash, (uint32_t)st->nr_block);
	if (st->blocks.generation != generation) {
		/* The cache started anew; so do its values. */
		st->nr_block = 0;
		flame_cache_release(&st->blocks);
		return;
	}
	st->block[st->nr_block++] = b;
}

/* Return: false where a line is not a plain frame: then the lines are read one at a time. */
static bool parse_block(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;

	st->nr_frames = 0;
	while (text.len) {
		const char *nl = memchr(text.s, '\n', text.len);
		size_t n = (size_t)(nl - text.s);

		if (text.s[0] != '\t' || !push_line(rd, (struct flame_span){ text.s, n }))
			return false;
		text.s += n + 1;
		text.len -= n + 1;
	}
	return true;
}

/* Take over the frames of the block just parsed. */
static bool keep_frames(struct flame_reader *rd, struct pending *s)
{
	struct state *st = rd->state;

	s->base = cut_callers(rd) ? 0 : s->root;
	s->start = st->nr_path_frames;
	s->nr = st->nr_frames;
	st->any_deep |= s->nr > 1;
	if (!array_reserve((void **)&st->path_frames, &st->room_path_frames, s->start + s->nr, sizeof(*st->path_frames)))
		return false;
	for (size_t i = st->nr_frames; i-- > 0;)
		st->path_frames[st->nr_path_frames++] = st->frames[i];
	return true;
}

/* The stacks of pending samples, and then the samples in their order. */
static int add_pending(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_path paths[FLAME_PATHS];
	size_t nr = 0;
	int err = 0;

	if (!array_reserve((void **)&st->path_stacks, &st->room_path_stacks, st->nr_path_frames + 1,
			   sizeof(*st->path_stacks)))
		return FLAME_ENOMEM;
	for (size_t i = 0; i < st->nr_pending; i++) {
		const struct pending *s = &st->pending[i];

		if (!s->found)
			paths[nr++] = (struct flame_path){ st->path_frames + s->start, st->path_stacks + s->start, s->nr, 0,
							   s->base, false };
	}
	flame_stack_push_paths(rd->profile, paths, nr);
	for (size_t i = 0; !err && i < st->nr_pending; i++) {
		struct pending *s = &st->pending[i];

		if (!s->found) {
			s->stack = s->nr ? st->path_stacks[s->start + s->nr - 1] : s->base;
			keep_block(st, s);
		}
		st->type = s->type;
		st->value = s->value;
		err = add_sample(rd, s->stack);
	}
	st->nr_pending = st->nr_path_frames = 0;
	return err;
}

/* Return: false where the block is to be read a line at a time. */
static bool read_block(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	struct pending *s = &st->pending[st->nr_pending];
	uint32_t index;

	*s = (struct pending){ .text = text, .hash = hash_bytes(text.s, text.len), .root = st->root, .type = st->type,
			       .value = st->value };
	s->found = flame_cache_get(&st->blocks, text.s, text.len, s->hash, &index) && find_block(st, index, &s->stack);
	if (!s->found && (!parse_block(rd, text) || !keep_frames(rd, s)))
		return false;
	st->nr_pending++;
	return true;
}

/* The sample's lines: the header, and behind it the frames up to an empty line. Return: false where they are not all in the view. */
static bool find_sample(struct flame_span view, struct flame_span *header, struct flame_span *frames)
{
	const char *nl = view.len && view.s[0] != ' ' && view.s[0] != '\t' && view.s[0] != '#' ?
				 memchr(view.s, '\n', view.len) : NULL;
	size_t n, end;

	if (!nl || nl == view.s || nl[-1] == '\r')
		return false;
	n = (size_t)(nl - view.s);
	*header = (struct flame_span){ view.s, n };
	if (n + 1 >= view.len || nl[1] != '\t')
		return false;
	end = scan_empty_line(nl + 1, view.len - n - 1);
	*frames = (struct flame_span){ nl + 1, end };
	return end < view.len - n - 1;
}

/*
 * Read samples while they come whole and plain. Return: 0 where the next line is to be read on its
 * own, or a failure.
 */
static int read_samples(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span view = flame_peek(rd->input, 1), header, frames;
	struct perf_header h;
	int err = 0;

	while (!err) {
		while (view.len && view.s[0] == '\n') {
			view.s++;
			view.len--;
			flame_take(rd->input, 1);
		}
		if (!find_sample(view, &header, &frames) || !perf_parse_header(header, &h) || h.record.len)
			break;
		open_sample(rd, &h);
		st->open = false;
		if (!st->ignored && !read_block(rd, frames))
			break;
		if (st->nr_pending == FLAME_PATHS)
			err = add_pending(rd);
		flame_take(rd->input, (size_t)(frames.s + frames.len + 1 - view.s));
		view.len -= (size_t)(frames.s + frames.len + 1 - view.s);
		view.s = frames.s + frames.len + 1;
	}
	return err ? err : add_pending(rd);
}

/* More than a sample in the view, so that the end of one is not looked for twice. */
static void fill_view(struct flame_input *in)
{
	size_t have = in->end - in->pos;

	if (have < (size_t)64 << 10)
		flame_peek(in, (size_t)128 << 10);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0;

	st->roots.max_bytes = ROOT_CACHE_BYTES;
	st->lines.max_bytes = LINE_CACHE_BYTES;
	st->blocks.max_bytes = BLOCK_CACHE_BYTES;
	st->seen = calloc(NR_SEEN, sizeof(*st->seen));
	if (!st->seen)
		return FLAME_ENOMEM;
	while (!err) {
		fill_view(rd->input);
		if (!st->open && !st->weak_len && !rd->options->srcline && !rd->options->places)
			err = read_samples(rd);
		if (err || !flame_line(rd->input, &line))
			break;
		err = read_line(rd, line);
	}
	if (!err && rd->input->error && st->open) {
		st->open = false;
		err = flame_skip(rd, "the sample that the end of the input cuts off");
	}
	if (!err)
		err = close_sample(rd);
	flame_meta_time(rd->profile, (uint64_t)st->first);
	flame_meta_time(rd->profile, (uint64_t)st->last);
	return err ? err : drop_weak(rd);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	free(st->frames);
	free(st->path_frames);
	free(st->path_stacks);
	free(st->many);
	free(st->block);
	free(st->seen);
	flame_native_namer_release(&st->namer);
	flame_cache_release(&st->roots);
	flame_cache_release(&st->lines);
	flame_cache_release(&st->blocks);
}

/* What all slices must know: whether there are first lines at all, and when the first sample was. */

struct survey {
	size_t nr_headers, nr_weak, nr_frames, nr_resolved, nr_other;
	size_t nr_indented;	/* with blanks before something that is neither a frame nor leads to one */
	bool weak_indented;
	bool has_start;
	int64_t start;
};

/* A report's line, "38  17.7%  17.7%": the first word behind the number is a share. */
static bool is_share(struct flame_span symbol)
{
	const char *end = memchr(symbol.s, ' ', symbol.len);
	size_t n = end ? (size_t)(end - symbol.s) : symbol.len;

	n -= n && symbol.s[n - 1] == ')';
	return n && symbol.s[n - 1] == '%';
}

static void note_start(struct survey *sv, const struct perf_header *h)
{
	if (sv->has_start || !h->has_time || h->record.len)
		return;
	sv->has_start = true;
	sv->start = h->time;
}

static void survey_line(struct survey *sv, struct flame_span line, bool *weak)
{
	struct perf_header h;
	struct perf_frame f;

	if (line.s[0] != '\t' && perf_parse_header(line, &h)) {
		sv->nr_headers++;
		note_start(sv, &h);
	} else if (line.s[0] != '\t' && perf_parse_flat_header(line, &h)) {
		sv->nr_frames++;
		sv->nr_resolved++;
		note_start(sv, &h);
		*weak = false;
		return;
	} else if (perf_parse_frame(line, &f) && (line.s[0] == '\t' || !perf_is_header(line))) {
		/* A number alone is no address. */
		if (!f.symbol.len && f.address.len < 5)
			return;
		if (f.symbol.len && is_share(f.symbol)) {
			sv->nr_other++;
			return;
		}
		sv->nr_frames++;
		sv->nr_resolved += f.symbol.len > 0;
		sv->nr_weak += *weak;
		sv->nr_indented -= *weak && sv->weak_indented;
	} else if (line.s[0] != ' ' && line.s[0] != '\t') {
		sv->nr_other += !perf_parse_weak_header(line, &h);
	} else {
		sv->nr_indented++;
	}
	sv->weak_indented = line.s[0] == ' ';
	*weak = line.s[0] != '\t' && !perf_parse_header(line, &h) && (!perf_parse_frame(line, &f) || perf_is_header(line)) &&
		perf_parse_weak_header(line, &h);
}

static struct survey survey(struct flame_span head)
{
	struct survey sv = { 0 };
	struct flame_span line;
	bool weak = false;

	while (span_line(&head, &line)) {
		if (!is_empty(line) && !perf_is_comment(line))
			survey_line(&sv, line, &weak);
	}
	return sv;
}

static int prepare(struct flame_reader *rd, struct flame_span head)
{
	struct state *st = rd->state;
	struct survey sv = survey(head);

	st->headerless = !sv.nr_headers && !sv.nr_weak;
	st->start = sv.start;
	return 0;
}

static int probe(struct flame_span head)
{
	struct survey sv = survey(head);

	if (!sv.nr_headers && !sv.nr_frames)
		return FLAME_SCORE_NOT;
	if (sv.nr_other > sv.nr_headers + sv.nr_frames)
		return FLAME_SCORE_NOT;
	/* Without first lines the frames are all that tells it from any other text. */
	if (!sv.nr_headers && sv.nr_indented + sv.nr_other > sv.nr_frames)
		return FLAME_SCORE_NOT;
	if (sv.nr_headers)
		return sv.nr_frames ? FLAME_SCORE_RECORD + 10 : FLAME_SCORE_RECORD;
	return sv.nr_resolved ? FLAME_SCORE_SHAPE + 5 : FLAME_SCORE_SHAPE;
}

/* A first line starts a sample whatever stands before it. */
static size_t split(struct flame_reader *rd, struct flame_span text)
{
	const struct state *st = rd->state;
	struct flame_span rest = text, line;
	struct perf_header h;

	if (st->headerless || !span_line(&rest, &line))
		return text.len;
	while (rest.len && memchr(rest.s, '\n', rest.len)) {
		size_t at = (size_t)(rest.s - text.s);

		span_line(&rest, &line);
		if (line.len && line.s[0] != '\t' && !perf_is_comment(line) && perf_parse_header(line, &h))
			return at;
	}
	return text.len;
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	st->any_deep |= slice->any_deep;
	st->any_sched |= slice->any_sched;
	st->any_deferred |= slice->any_deferred;
}

/* Samples whose first line does not name their event count with the first one. */
static int join_unnamed(struct flame_profile *p)
{
	for (flame_type i = 1; flame_nr_types(p) > 2 && i < flame_nr_types(p); i++) {
		if (!flame_type_get(p, i)->name)
			return i == 1 ? flame_type_join(p, 1, 2) : flame_type_join(p, 1, i);
	}
	return 0;
}

/* Return: true where the event to be used is one of the scheduler's. */
static bool counts_sched(const struct flame_reader *rd, const struct flame_profile *p)
{
	if (rd->options->event)
		return strstr(rd->options->event, "sched");
	return span_starts(flame_string_get(p, flame_type_get(p, 1)->name), "sched:");
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	struct state *st = rd->state;
	uint64_t lost = flame_lost(*profile);
	int err;

	if (!flame_nr_samples(*profile))
		return 0;
	err = join_unnamed(*profile);
	if (!st->any_deep)
		flame_note(rd, "no sample has more than one frame: record with callchains (perf record -g)");
	if (st->any_sched && counts_sched(rd, *profile))
		flame_note(rd, "sched: events are counted, which is not off-CPU time");
	if (st->any_deferred)
		flame_note(rd, "user parts of callchains that stand behind the samples are left out: perf script without "
			   "--no-merge-callchain joins them");
	if (lost)
		flame_diag_add(rd->diag, FLAME_WARNING, "perf lost %llu samples: record at a lower rate, or with larger buffers (-m)",
			       (unsigned long long)lost);
	return err;
}

const struct flame_converter flame_perf_converter = {
	.name = "perf",
	.summary = "text of perf script (and simpleperf)",
	.choices = FLAME_CHOICE_TIME,
	.state_size = sizeof(struct state),
	.kinds_written = FLAME_KIND_BIT(FLAME_JIT_INLINED),
	.probe = probe,
	.prepare = prepare,
	.read = read,
	.release = release,
	.split = split,
	.join = join,
	.finish = finish,
};

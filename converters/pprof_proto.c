/* SPDX-License-Identifier: MIT */
/*
 * pprof_proto.c - the message Profile of profile.proto.
 *
 * Its fields come in any order, and samples before what they refer to: Go writes names last. So
 * all fields are read first. Samples stay the bytes that they were, which is the shortest they can
 * be; locations, functions and names go into tables. Then each location's frames are made, once,
 * and the samples are looked at: one by one, where stacks come again and again, else by pprof_bulk.c.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../core/bulk.h"
#include "../core/hash.h"
#include "../core/meta.h"
#include "../core/protobuf.h"
#include "../core/span.h"
#include "../core/table.h"
#include "../core/units.h"
#include "pprof.h"

#define NR_COMMENTS 1000	/* that are looked at for the kinds of types */
#define BROKEN 1		/* a message is none; not a failure */
#define SEEN_BYTES ((size_t)8 << 20)	/* of stacks that are known by the bytes of their locations */
#define TRIED 16384	/* samples, to see whether stacks, or how they end, come again */
#define WORTH 16	/* one in so many must */
#define PAUSED 262144	/* samples, until it is tried again */

/* The fields of Profile. */
enum profile_field {
	SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE, DROP_FRAMES, KEEP_FRAMES, TIME_NANOS,
	DURATION_NANOS, PERIOD_TYPE, PERIOD, COMMENT, DEFAULT_SAMPLE_TYPE, DOC_URL, NR_PROFILE_FIELDS,
};

/* Names are indices in the string table, 0 where there is none. */
struct pprof_value_type {
	uint64_t type, unit;
};

struct pprof_mapping {
	uint64_t file;
};

struct pprof_function {
	uint64_t name, system_name, file;
};

struct pprof_line {
	uint64_t function;
	int64_t line;
};

/* Strings. */

static bool add_string(struct pprof_strings *t, struct flame_span s)
{
	if (!array_reserve((void **)&t->ends, &t->room, t->nr + 1, sizeof(*t->ends)) ||
	    !array_reserve((void **)&t->bytes, &t->room_bytes, t->nr_bytes + s.len + 1, 1))
		return false;
	memcpy(t->bytes + t->nr_bytes, s.s, s.len);
	t->nr_bytes += s.len;
	t->ends[t->nr++] = t->nr_bytes;
	return true;
}

/* Return: false where the table does not go so far; then *@s is empty. */
static bool get_string(const struct pprof_strings *t, uint64_t i, struct flame_span *s)
{
	size_t start = i && i < t->nr ? t->ends[i - 1] : 0;

	*s = (struct flame_span){ "", 0 };
	if (!i)
		return true;
	if (i >= t->nr)
		return false;
	*s = (struct flame_span){ t->bytes + start, t->ends[i] - start };
	return true;
}

/* Ids: mostly 1, 2, 3 …, but any 64-bit numbers may be used. */

static bool add_id(struct pprof_index *x, uint64_t id)
{
	if (x->nr >= UINT32_MAX / 4 || !array_reserve((void **)&x->ids, &x->room, x->nr + 1, sizeof(*x->ids)))
		return false;
	x->ids[x->nr++] = id;
	return true;
}

/* All ids are there. Return: 0, FLAME_ENOMEM, or FLAME_EFORMAT with *@bad set to an id that is 0 or there twice. */
static int index_ids(struct pprof_index *x, uint64_t *bad)
{
	uint64_t most = 0;

	for (size_t i = 0; i < x->nr; i++)
		most = x->ids[i] > most ? x->ids[i] : most;
	x->hashed = most > (uint64_t)x->nr * 4 + 1024;
	x->nr_rows = x->hashed ? 256 : most + 1;
	while (x->hashed && x->nr_rows < (uint64_t)x->nr * 2)
		x->nr_rows *= 2;
	x->rows = calloc(x->nr_rows, sizeof(*x->rows));
	if (!x->rows)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < x->nr; i++) {
		uint32_t *slot = pprof_id_slot(x, x->ids[i]);

		*bad = x->ids[i];
		if (!x->ids[i] || *slot)
			return FLAME_EFORMAT;
		*slot = (uint32_t)i + 1;
	}
	return 0;
}

/* The first pass: all fields into their tables. */

/* Set @numbers[nr] for each field nr of @message that is a number and below @most. Return: false where it is none. */
static bool read_numbers(struct flame_span message, uint64_t *numbers, uint32_t most)
{
	struct flame_pb pb = flame_pb(message);
	struct flame_pb_field f;
	enum flame_pb_result result;

	memset(numbers, 0, most * sizeof(*numbers));
	while ((result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD) {
		if (f.nr < most && f.wire == FLAME_PB_VARINT)
			numbers[f.nr] = f.number;
	}
	return result == FLAME_PB_END;
}

static int malformed(struct flame_reader *rd, const char *what)
{
	return flame_fail(rd, FLAME_EFORMAT, "malformed profile: at byte %llu %s",
			  (unsigned long long)flame_input_offset(rd->input), what);
}

static int read_sample_type(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	uint64_t n[3];

	if (!read_numbers(message, n, 3))
		return malformed(rd, "a sample type is broken");
	if (p->nr_types == PPROF_TYPES_MAX)
		return flame_fail(rd, FLAME_EFORMAT, "there are more than %d sample types (PPROF_TYPES_MAX)", PPROF_TYPES_MAX);
	if (!array_reserve((void **)&p->types, &p->room_types, p->nr_types + 1, sizeof(*p->types)))
		return FLAME_ENOMEM;
	p->types[p->nr_types++] = (struct pprof_value_type){ n[1], n[2] };
	return 0;
}

static int read_mapping(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	uint64_t n[6];

	if (!read_numbers(message, n, 6))
		return malformed(rd, "a mapping is broken");
	if (!array_reserve((void **)&p->mappings, &p->room_mappings, p->nr_mappings + 1, sizeof(*p->mappings)) ||
	    !add_id(&p->mapping_index, n[1]))
		return FLAME_ENOMEM;
	p->mappings[p->nr_mappings++] = (struct pprof_mapping){ n[5] };
	return 0;
}

static int read_function(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	uint64_t n[5];

	if (!read_numbers(message, n, 5))
		return malformed(rd, "a function is broken");
	if (!array_reserve((void **)&p->functions, &p->room_functions, p->nr_functions + 1, sizeof(*p->functions)) ||
	    !add_id(&p->function_index, n[1]))
		return FLAME_ENOMEM;
	p->functions[p->nr_functions++] = (struct pprof_function){ n[2], n[3], n[4] };
	return 0;
}

static int add_line(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	uint64_t n[3];

	if (!read_numbers(message, n, 3))
		return malformed(rd, "a line is broken");
	if (p->nr_lines >= UINT32_MAX ||
	    !array_reserve((void **)&p->lines, &p->room_lines, p->nr_lines + 1, sizeof(*p->lines)))
		return FLAME_ENOMEM;
	p->lines[p->nr_lines++] = (struct pprof_line){ n[1], (int64_t)n[2] };
	return 0;
}

static int read_location(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	struct pprof_location l = { .first = (uint32_t)p->nr_lines };
	struct flame_pb pb = flame_pb(message);
	struct flame_pb_field f;
	enum flame_pb_result result;
	uint64_t id = 0;
	int err = 0;

	while (!err && (result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD) {
		if (f.nr == 4 && f.wire == FLAME_PB_BYTES)
			err = add_line(rd, p, f.bytes);
		else if (f.wire == FLAME_PB_VARINT && f.nr >= 1 && f.nr <= 3)
			*(f.nr == 1 ? &id : f.nr == 2 ? &l.mapping : &l.address) = f.number;
	}
	if (err)
		return err;
	if (result != FLAME_PB_END)
		return malformed(rd, "a location is broken");
	l.nr = (uint32_t)p->nr_lines - l.first;
	if (!array_reserve((void **)&p->locations, &p->room_locations, p->nr_locations + 1, sizeof(*p->locations)) ||
	    !add_id(&p->location_index, id))
		return FLAME_ENOMEM;
	p->locations[p->nr_locations++] = l;
	return 0;
}

/* Fields of samples, as in the file. */
static int keep_samples(struct pprof_proto *p, const char *fields, size_t len)
{
	p->nr_sample_bytes += len;
	if (!len || p->whole)
		return 0;
	if (!array_reserve((void **)&p->bytes, &p->room_bytes, p->nr_bytes + len, 1))
		return FLAME_ENOMEM;
	memcpy(p->bytes + p->nr_bytes, fields, len);
	p->nr_bytes += len;
	return 0;
}

/* A sample begins behind @before bytes of the fields at hand. Without memory, and beyond 4 GiB, the others have no start. */
static void note_start(struct pprof_proto *p, const char *run, size_t before)
{
	size_t start = (p->whole ? (size_t)(run - p->bytes) : p->nr_bytes) + before;

	if (p->nr_starts == p->nr_samples++ && start < UINT32_MAX &&
	    array_reserve((void **)&p->starts, &p->room_starts, p->nr_starts + 1, sizeof(*p->starts)))
		p->starts[p->nr_starts++] = (uint32_t)start;
}

static int add_comments(struct pprof_proto *p, const struct flame_pb_field *f)
{
	const char *at = NULL;
	uint64_t value;

	while (flame_pb_next_number(f, &at, &value)) {
		if (!array_reserve((void **)&p->comments, &p->room_comments, p->nr_comments + 1, sizeof(*p->comments)))
			return FLAME_ENOMEM;
		p->comments[p->nr_comments++] = value;
	}
	return 0;
}

static void read_period_type(struct pprof_proto *p, struct flame_span message)
{
	uint64_t n[3];

	if (read_numbers(message, n, 3)) {
		p->period_type = n[1];
		p->period_unit = n[2];
	}
}

static int read_message(struct flame_reader *rd, struct pprof_proto *p, const struct flame_pb_field *f)
{
	switch (f->nr) {
	case SAMPLE_TYPE:
		return read_sample_type(rd, p, f->bytes);
	case MAPPING:
		return read_mapping(rd, p, f->bytes);
	case LOCATION:
		return read_location(rd, p, f->bytes);
	case FUNCTION:
		return read_function(rd, p, f->bytes);
	case STRING_TABLE:
		if (!p->strings.nr && f->bytes.len)
			return malformed(rd, "the string table does not begin with an empty string");
		return add_string(&p->strings, f->bytes) ? 0 : FLAME_ENOMEM;
	case PERIOD_TYPE:
		read_period_type(p, f->bytes);
		return 0;
	case COMMENT:
		return add_comments(p, f);
	default:
		return 0;
	}
}

static int read_number(struct pprof_proto *p, const struct flame_pb_field *f)
{
	switch (f->nr) {
	case DROP_FRAMES:
		p->drop_frames = f->number;
		break;
	case KEEP_FRAMES:
		p->keep_frames = f->number;
		break;
	case TIME_NANOS:
		/* Profiles one after the other look like one, whose ids then mean several things. */
		p->twice |= p->time && f->number;
		p->time = (int64_t)f->number;
		break;
	case DURATION_NANOS:
		p->duration = (int64_t)f->number;
		break;
	case PERIOD:
		p->period = (int64_t)f->number;
		break;
	case COMMENT:
		return add_comments(p, f);
	case DEFAULT_SAMPLE_TYPE:
		p->default_type = f->number;
		break;
	default:
		break;
	}
	return 0;
}

static int read_field(struct flame_reader *rd, struct pprof_proto *p, const struct flame_pb_field *f)
{
	if (f->wire == FLAME_PB_BYTES)
		return read_message(rd, p, f);
	if (f->nr <= STRING_TABLE || f->nr == PERIOD_TYPE)
		return malformed(rd, "a number stands where a message should");
	return read_number(p, f);
}

/* The input ends within a field. Whether anything can be kept is seen later. */
static int cut_off(struct flame_reader *rd)
{
	rd->diag->damaged = true;
	return 0;
}

/* Damage of the file itself is reported by the input. */
static void warn_cut_off(struct flame_reader *rd)
{
	if (rd->diag->damaged && !rd->input->error)
		flame_diag_add(rd->diag, FLAME_WARNING,
			       "the profile ends in the middle of a field, at byte %llu; what came before is used",
			       (unsigned long long)flame_input_offset(rd->input));
}

/* Fields up to here have been used. */
static void take(struct flame_reader *rd, const struct pprof_proto *p, size_t len)
{
	if (p->whole)
		flame_input_used(rd->input, len);
	else
		flame_take(rd->input, len);
}

static int too_long(struct flame_reader *rd)
{
	return malformed(rd, "a field is longer than 16 MiB (FLAME_VIEW_MAX)");
}

/*
 * Take the fields that are all in @pb; samples, which are most of a file, in runs.
 * Return: 0 or a failure, with how it ended in *@result.
 */
static int take_fields(struct flame_reader *rd, struct pprof_proto *p, struct flame_pb *pb, enum flame_pb_result *result)
{
	const char *run = pb->at, *before = pb->at;
	struct flame_pb_field f;
	int err = 0;

	while (!err && (*result = flame_pb_next(pb, &f)) == FLAME_PB_FIELD) {
		if (f.nr == SAMPLE && f.wire == FLAME_PB_BYTES) {
			note_start(p, run, (size_t)(before - run));
		} else {
			err = keep_samples(p, run, (size_t)(before - run));
			take(rd, p, (size_t)(before - run));
			run = before;
			if (!err)
				err = f.bytes.len > FLAME_VIEW_MAX ? too_long(rd) : read_field(rd, p, &f);
			take(rd, p, err ? 0 : (size_t)(pb->at - run));
			run = pb->at;
		}
		before = pb->at;
	}
	if (!err)
		err = keep_samples(p, run, (size_t)(before - run));
	/* With groups before a field that is not all here yet. */
	take(rd, p, err ? 0 : (size_t)(pb->at - run));
	return err;
}

static int no_field(struct flame_reader *rd)
{
	return malformed(rd, "there is no field of a message");
}

/* A plain file, which is in memory. */
static int read_whole(struct flame_reader *rd, struct pprof_proto *p)
{
	struct flame_pb pb = flame_pb((struct flame_span){ p->bytes, p->nr_bytes });
	enum flame_pb_result result = FLAME_PB_END;
	int err = take_fields(rd, p, &pb, &result);

	p->nr_bytes = (size_t)(pb.at - p->bytes);
	if (err)
		return err;
	if (result == FLAME_PB_BAD)
		return no_field(rd);
	if (result == FLAME_PB_SHORT && pb.want > FLAME_VIEW_MAX && (size_t)(pb.end - pb.at) >= FLAME_VIEW_MAX)
		return too_long(rd);
	return result == FLAME_PB_SHORT || rd->input->error ? cut_off(rd) : 0;
}

static int read_fields(struct flame_reader *rd, struct pprof_proto *p)
{
	size_t want = 1;
	int err = 0;

	p->whole = flame_input_take_all(rd->input, flame_thread_count(rd->options) > 1, &p->bytes, &p->nr_bytes);
	if (p->whole)
		return read_whole(rd, p);
	while (!err) {
		struct flame_span view = flame_peek(rd->input, want);
		struct flame_pb pb = flame_pb(view);
		enum flame_pb_result result = FLAME_PB_END;

		if (view.len < want && view.len)
			return rd->input->eof ? cut_off(rd) : too_long(rd);
		if (!view.len)
			return rd->input->error ? cut_off(rd) : 0;
		err = take_fields(rd, p, &pb, &result);
		if (!err && result == FLAME_PB_BAD)
			err = no_field(rd);
		want = result == FLAME_PB_SHORT ? pb.want : 1;
	}
	return err;
}

/* Between the passes. */

static int nothing_kept(struct flame_reader *rd)
{
	return flame_fail(rd, FLAME_EDAMAGED, "%s, before the names and places that the samples need: nothing can be kept",
			  rd->input->damage ? rd->input->damage : "the profile ends in the middle");
}

static int bad_reference(struct flame_reader *rd, const char *what, uint64_t id)
{
	if (rd->diag->damaged)
		return nothing_kept(rd);
	return flame_fail(rd, FLAME_EFORMAT, "malformed profile: %s %llu, which is not there", what, (unsigned long long)id);
}

static int index_table(struct flame_reader *rd, struct pprof_index *x, const char *what)
{
	uint64_t bad = 0;
	int err = index_ids(x, &bad);

	if (err == FLAME_EFORMAT)
		return flame_fail(rd, err, bad ? "malformed profile: %s id %llu is there twice; are these several profiles?" :
				  "malformed profile: a %s has the reserved id %llu", what, (unsigned long long)bad);
	return err;
}

static int get_name(struct flame_reader *rd, const struct pprof_proto *p, uint64_t i, struct flame_span *s)
{
	return get_string(&p->strings, i, s) ? 0 : bad_reference(rd, "it refers to string", i);
}

/* Return: the index of the type that is used by default. */
static size_t default_type(const struct pprof_proto *p)
{
	struct flame_span name, type;

	if (p->default_type && get_string(&p->strings, p->default_type, &name)) {
		for (size_t i = 0; i < p->nr_types; i++) {
			if (get_string(&p->strings, p->types[i].type, &type) && type.len == name.len &&
			    !memcmp(type.s, name.s, name.len))
				return i;
		}
	}
	return p->nr_types - 1;
}

/* Return: true with the text behind @start in comment @i, one of our own. */
static bool get_comment(const struct pprof_proto *p, size_t i, const char *start, struct flame_span *text)
{
	size_t n = strlen(start);

	if (!get_string(&p->strings, p->comments[i], text) || !span_starts(*text, start))
		return false;
	*text = (struct flame_span){ text->s + n, text->len - n };
	return true;
}

/* "wall time": the kind of the type that is called so. Without a comment its name tells. */
static enum flame_value_kind type_kind(const struct pprof_proto *p, struct flame_span name)
{
	struct flame_span text;

	for (size_t i = 0; i < p->nr_comments && i < NR_COMMENTS; i++) {
		const char *blank = get_comment(p, i, PPROF_KIND_COMMENT, &text) ? memchr(text.s, ' ', text.len) : NULL;
		size_t n = blank ? (size_t)(blank - text.s) : 0;

		if (blank && text.len - n - 1 == name.len && !memcmp(blank + 1, name.s, name.len))
			return flame_value_kind_find((struct flame_span){ text.s, n });
	}
	return pprof_value_kind(name);
}

/* Whether the unit of the type that is called so is there only because one must be. */
static bool is_without_unit(const struct pprof_proto *p, struct flame_span name)
{
	struct flame_span text;

	for (size_t i = 0; i < p->nr_comments && i < NR_COMMENTS; i++) {
		if (get_comment(p, i, PPROF_UNIT_COMMENT, &text) && text.len == name.len && !memcmp(text.s, name.s, name.len))
			return true;
	}
	return false;
}

static bool has_comment(const struct pprof_proto *p, const char *start)
{
	struct flame_span text;

	for (size_t i = 0; i < p->nr_comments && i < NR_COMMENTS; i++) {
		if (get_comment(p, i, start, &text))
			return true;
	}
	return false;
}

/* The default one first, then the others in their order. */
static int make_types(struct flame_reader *rd, struct pprof_proto *p)
{
	size_t first = default_type(p);

	p->type_rows = calloc(p->nr_types, sizeof(*p->type_rows));
	p->is_count = calloc(p->nr_types, sizeof(*p->is_count));
	if (!p->type_rows || !p->is_count)
		return FLAME_ENOMEM;
	for (size_t n = 0; n < p->nr_types; n++) {
		size_t i = !n ? first : n <= first ? n - 1 : n;
		struct flame_span name, unit;
		int err = get_name(rd, p, p->types[i].type, &name);

		if (!err)
			err = get_name(rd, p, p->types[i].unit, &unit);
		if (err)
			return err;
		p->type_rows[i] = pprof_type_of_kind(rd, name, unit, type_kind(p, name));
		if (p->type_rows[i] && is_without_unit(p, name))
			flame_type_convert(rd->profile, p->type_rows[i], 0, 1);
		p->is_count[i] = span_equals(unit, "count");
	}
	return 0;
}

/* pprof_write.c puts the kind of a frame behind the system's name: "work_[j]" is the function work. */
static enum flame_kind kind_of(struct flame_span name, struct flame_span system, enum flame_kind otherwise)
{
	if (system.len <= name.len || system.s[system.len - 1] != ']' || memcmp(system.s, name.s, name.len))
		return otherwise;
	for (int kind = 0; kind < FLAME_NR_KINDS; kind++) {
		const char *suffix = flame_kind_suffix((enum flame_kind)kind);

		if (*suffix && span_equals(span_from(system, name.len), suffix))
			return (enum flame_kind)kind;
	}
	return otherwise;
}

/* Line @i of a location: all but the last are inlined. */
static int line_place(struct flame_reader *rd, const struct pprof_proto *p, const struct pprof_location *l, uint32_t i,
		      struct pprof_place *place)
{
	const struct pprof_line *line = &p->lines[l->first + i];
	uint32_t row = pprof_find_id(&p->function_index, line->function);
	const struct pprof_function *f = row ? &p->functions[row - 1] : NULL;
	struct flame_span system;
	int err;

	place->line = line->line;
	place->kind = i + 1 < l->nr ? FLAME_INLINED : FLAME_USER;
	place->name = place->file = (struct flame_span){ "", 0 };
	if (!f)
		return line->function && rd->diag->damaged ? bad_reference(rd, "a line refers to function", line->function) : 0;
	err = get_name(rd, p, f->name, &place->name);
	if (!err && f->system_name != f->name)
		err = get_name(rd, p, f->system_name, &system);
	if (!err && f->system_name != f->name) {
		if (!place->name.len)
			place->name = system;
		else
			place->kind = kind_of(place->name, system, place->kind);
	}
	return err ? err : get_name(rd, p, f->file, &place->file);
}

static int add_frame(struct flame_reader *rd, struct pprof_proto *p, const struct pprof_place *place)
{
	flame_frame frame = pprof_frame(rd, &p->scratch, place);

	if (!frame || p->nr_frames >= UINT32_MAX ||
	    !array_reserve((void **)&p->frames, &p->room_frames, p->nr_frames + 1, sizeof(*p->frames)))
		return FLAME_ENOMEM;
	p->frames[p->nr_frames++] = frame;
	return 0;
}

/* Lines are made in their order, the leaf's first: of frames that count as equal the first one made tells the file. */
static void turn_frames(flame_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		flame_frame frame = frames[i];

		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = frame;
	}
}

/*
 * Where a stack ended before its last slot, Go since 1.23 writes what is in the others, too: the return address 0,
 * less one, and a line without a function or with one that has no name.
 */
static bool is_unused(const struct pprof_proto *p, const struct pprof_location *l)
{
	if (l->address != UINT64_MAX)
		return false;
	for (uint32_t i = 0; i < l->nr; i++) {
		uint32_t row = pprof_find_id(&p->function_index, p->lines[l->first + i].function);

		if (row && (p->functions[row - 1].name || p->functions[row - 1].system_name))
			return false;
	}
	return true;
}

/* Replace the location's lines by frames, the root's first. */
static int make_frames(struct flame_reader *rd, struct pprof_proto *p, struct pprof_location *l)
{
	struct pprof_place place = PPROF_NOWHERE;
	uint32_t row = pprof_find_id(&p->mapping_index, l->mapping), first = (uint32_t)p->nr_frames;
	int err = row ? get_name(rd, p, p->mappings[row - 1].file, &place.module) : 0;

	place.address = l->address;
	if (is_unused(p, l))
		l->nr = 0;
	else if (!l->nr && !err)
		err = add_frame(rd, p, &place);
	for (uint32_t i = 0; !err && i < l->nr; i++) {
		err = line_place(rd, p, l, i, &place);
		if (!err)
			err = add_frame(rd, p, &place);
	}
	l->first = first;
	l->nr = (uint32_t)p->nr_frames - first;
	if (!err)
		turn_frames(p->frames + first, l->nr);
	return err;
}

/* The second pass: samples. */

/* Return: FLAME_EFORMAT for a location that is not there. */
static int put_location(struct pprof_proto *p, struct pprof_sample *s, uint64_t id)
{
	uint32_t row = pprof_find_id(&p->location_index, id);
	const struct pprof_location *l;

	if (!row)
		return FLAME_EFORMAT;
	l = &p->locations[row - 1];
	if (!array_reserve((void **)&s->frames, &s->room_frames, s->nr_frames + l->nr, sizeof(*s->frames)))
		return FLAME_ENOMEM;
	for (uint32_t i = l->nr; i-- > 0;)
		s->frames[s->nr_frames++] = p->frames[l->first + i];
	return 0;
}

static int put_packed(struct flame_reader *rd, struct pprof_proto *p, struct flame_span ids)
{
	struct pprof_sample *s = p->sample;
	const char *at = ids.s, *end = ids.s + ids.len;
	int err = 0;

	while (!err && at < end) {
		uint64_t id;

		at = flame_pb_varint(at, end, &id);
		if (!at)
			return BROKEN;
		err = put_location(p, s, id);
		if (err == FLAME_EFORMAT)
			return bad_reference(rd, "a sample refers to location", id);
	}
	return err;
}

/* Frames of the locations that wait for it. */
static int put_waiting(struct flame_reader *rd, struct pprof_proto *p)
{
	struct flame_span ids = p->sample->ids;

	p->sample->ids.len = 0;
	return ids.len ? put_packed(rd, p, ids) : 0;
}

/* Nearly always all locations are packed in one field: whether these very bytes came before is asked first. */
static int put_locations(struct flame_reader *rd, struct pprof_proto *p, const struct flame_pb_field *f)
{
	struct pprof_sample *s = p->sample;
	bool first = !s->ids.len && !s->nr_frames;
	int err = put_waiting(rd, p);

	if (err)
		return err;
	s->whole = first && f->wire == FLAME_PB_BYTES;
	if (f->wire == FLAME_PB_BYTES) {
		s->ids = f->bytes;
		return 0;
	}
	err = put_location(p, s, f->number);
	return err == FLAME_EFORMAT ? bad_reference(rd, "a sample refers to location", f->number) : err;
}

static bool put_values(struct pprof_sample *s, const struct flame_pb_field *f)
{
	const char *at = NULL;
	uint64_t value;

	while (flame_pb_next_number(f, &at, &value)) {
		if (s->nr_values < PPROF_TYPES_MAX)
			s->values[s->nr_values] = (int64_t)value;
		s->nr_values++;
	}
	return at;
}

static int put_label(struct pprof_sample *s, struct flame_span bytes)
{
	if (!array_reserve((void **)&s->labels, &s->room_labels, s->nr_labels + 1, sizeof(*s->labels)))
		return FLAME_ENOMEM;
	s->labels[s->nr_labels++] = (struct pprof_label){ bytes };
	return 0;
}

/* Return: 0, BROKEN, or a failure. */
static int parse_sample(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	struct pprof_sample *s = p->sample;
	struct flame_pb pb = flame_pb(message);
	struct flame_pb_field f;
	enum flame_pb_result result;
	int err = 0;

	s->nr_frames = s->nr_values = s->nr_labels = s->ids.len = 0;
	s->whole = false;
	while (!err && (result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD) {
		if (f.wire != FLAME_PB_BYTES && f.wire != FLAME_PB_VARINT)
			continue;
		if (f.nr == 1)
			err = put_locations(rd, p, &f);
		else if (f.nr == 2)
			err = put_values(s, &f) ? 0 : BROKEN;
		else if (f.nr == 3 && f.wire == FLAME_PB_BYTES && s->nr_wanted)
			err = put_label(s, f.bytes);
	}
	return err ? err : result == FLAME_PB_END ? 0 : BROKEN;
}

/* Labels. */

/* Keys that profilers use for the thread, its name before its number. */
static const char *const thread_keys[] = {
	"thread", "thread_name", "thread name", "thread_id", "thread id", "tid", "thread native id", "os_thread_id",
};

static bool put_text(struct pprof_sample *s, struct flame_span text)
{
	if (!array_reserve((void **)&s->text, &s->room_text, s->nr_text + text.len + 1, 1))
		return false;
	memcpy(s->text + s->nr_text, text.s, text.len);
	s->nr_text += text.len;
	return true;
}

/* "value", or "12 bytes" for a number with a unit. */
static int put_label_value(struct flame_reader *rd, const struct pprof_proto *p, const uint64_t *n)
{
	struct pprof_sample *s = p->sample;
	struct flame_span text, unit;
	char number[32];
	int err = get_name(rd, p, n[2], &text);

	if (!err)
		err = get_name(rd, p, n[4], &unit);
	if (err)
		return err;
	if (s->nr_text && !put_text(s, PPROF_SPAN(",")))
		return FLAME_ENOMEM;
	if (n[2])
		return put_text(s, text) ? 0 : FLAME_ENOMEM;
	text = (struct flame_span){ number, (size_t)sprintf(number, "%lld%s", (long long)n[3], unit.len ? " " : "") };
	return put_text(s, text) && put_text(s, unit) ? 0 : FLAME_ENOMEM;
}

/* Collect in s->text the values of the sample's labels @key; several are joined by commas. */
static int find_label(struct flame_reader *rd, const struct pprof_proto *p, const char *key)
{
	struct pprof_sample *s = p->sample;

	s->nr_text = 0;
	for (size_t i = 0; i < s->nr_labels; i++) {
		struct flame_span name;
		uint64_t n[5];
		int err;

		if (!read_numbers(s->labels[i].bytes, n, 5))
			continue;
		err = get_name(rd, p, n[1], &name);
		if (!err && span_equals(name, key))
			err = put_label_value(rd, p, n);
		if (err)
			return err;
	}
	return 0;
}

static int find_wanted(struct flame_reader *rd, const struct pprof_proto *p, const char *key)
{
	struct pprof_sample *s = p->sample;
	int err = 0;

	if (key)
		return find_label(rd, p, key);
	s->nr_text = 0;
	for (size_t i = 0; !err && !s->nr_text && i < sizeof(thread_keys) / sizeof(*thread_keys); i++)
		err = find_label(rd, p, thread_keys[i]);
	return err;
}

/* Put a frame for each label that is wanted and there. */
static int put_label_frames(struct flame_reader *rd, struct pprof_proto *p, flame_frame *to, size_t *nr)
{
	struct pprof_sample *s = p->sample;

	for (size_t i = 0; i < s->nr_wanted; i++) {
		int err = find_wanted(rd, p, s->wanted[i]);

		if (err)
			return err;
		if (!s->nr_text)
			continue;
		s->seen[i] = true;
		to[*nr] = pprof_label_frame(rd, &p->scratch, (struct flame_span){ s->text, s->nr_text });
		if (!to[(*nr)++])
			return FLAME_ENOMEM;
	}
	return 0;
}

static void choose_labels(const struct flame_reader *rd, struct pprof_sample *s)
{
	if (rd->options->threads)
		s->wanted[s->nr_wanted++] = NULL;
	for (size_t i = 0; rd->options->labels && rd->options->labels[i] && s->nr_wanted < PPROF_LABELS_MAX; i++)
		s->wanted[s->nr_wanted++] = rd->options->labels[i];
}

static void note_labels(struct flame_reader *rd, const struct pprof_sample *s)
{
	for (size_t i = 0; i < s->nr_wanted; i++) {
		if (!s->seen[i] && s->wanted[i])
			flame_note(rd, "no sample has a label '%s'", s->wanted[i]);
		else if (!s->seen[i])
			flame_note(rd, "no sample says its thread");
	}
}

/* Stacks. */

/*
 * Fill @rows with what is to be added. A value of 0 adds nothing. How many samples a value stands
 * for is told by the count before it: samples/count, cpu/nanoseconds; alloc_objects/count,
 * alloc_space/bytes. Return: how many rows.
 */
size_t pprof_sample_rows(const struct pprof_proto *p, const int64_t *values, struct flame_sample *rows)
{
	int64_t count = 0;
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_types; i++) {
		if (p->is_count[i])
			count = values[i];
		if (values[i])
			rows[nr++] = (struct flame_sample){
				.type = p->type_rows[i], .value = values[i], .nr_samples = count > 0 ? (uint64_t)count : 1,
			};
	}
	return nr;
}

/* The root's frame first. */
static size_t put_frames(const struct pprof_sample *s, flame_frame *to)
{
	for (size_t i = 0; i < s->nr_frames; i++)
		to[i] = s->frames[s->nr_frames - 1 - i];
	return s->nr_frames;
}

/* The frame of that name that is nearest to the leaf becomes the root. */
static size_t skip_callers(const struct flame_reader *rd, flame_frame *frames, size_t nr)
{
	const char *const *names = rd->options->skip_after;

	for (size_t i = nr; names && i-- > 0;) {
		struct flame_span name = flame_string_get(rd->profile, flame_frame_get(rd->profile, frames[i])->name);

		for (size_t k = 0; names[k]; k++) {
			if (!span_equals(name, names[k]))
				continue;
			memmove(frames, frames + i, (nr - i) * sizeof(*frames));
			return nr - i;
		}
	}
	return nr;
}

/* Return: true where it is worth looking whether a stack came before. Of a file that holds each once this pauses. */
static bool is_worth_it(struct pprof_worth *w)
{
	if (w->nr_paused) {
		w->nr_paused--;
		return false;
	}
	if (w->nr_tried++ == TRIED) {
		if (w->nr_found < TRIED / WORTH)
			w->nr_paused = PAUSED;
		w->nr_tried = w->nr_found = 0;
	}
	return true;
}

/*
 * The bytes that tell the stack: of its locations; where labels are asked for, behind them the rows of their @nr frames and
 * how many these are. Return: an empty span where it cannot be told so.
 */
static struct flame_span stack_key(struct pprof_proto *p, size_t nr)
{
	struct pprof_sample *s = p->sample;
	size_t size = nr * sizeof(*p->path);
	uint32_t number = (uint32_t)nr;

	if (!s->whole || !p->feeder || !is_worth_it(&p->seen.worth))
		return (struct flame_span){ NULL, 0 };
	if (!s->nr_wanted)
		return s->ids;
	if (!array_reserve((void **)&s->key, &s->room_key, s->ids.len + size + sizeof(number), 1))
		return (struct flame_span){ NULL, 0 };
	memcpy(mempcpy(mempcpy(s->key, s->ids.s, s->ids.len), p->path, size), &number, sizeof(number));
	return (struct flame_span){ s->key, s->ids.len + size + sizeof(number) };
}

/* Remember the path that was added last by @key. */
static int keep_stack(struct pprof_proto *p, struct flame_span key, uint64_t hash)
{
	struct pprof_seen *seen = &p->seen;

	/* It would start anew by itself, but then numbers could not be used again. */
	if (seen->stacks.nr_bytes + key.len > seen->stacks.max_bytes) {
		flame_cache_release(&seen->stacks);
		seen->nr = 0;
	}
	flame_cache_put(&seen->stacks, key.s, key.len, hash, ++seen->nr);
	return flame_feeder_keep(p->feeder, seen->nr);
}

/* Without a feeder. */
static int push_path(struct flame_profile *p, const flame_frame *frames, size_t nr, const struct flame_feed *feed)
{
	struct flame_sample *rows = (struct flame_sample *)feed->samples;
	flame_stack stack = 0;

	for (size_t i = 0; i < nr; i++)
		stack = flame_stack_push(p, stack, frames[i]);
	for (size_t i = 0; i < feed->nr_samples; i++)
		rows[i].stack = stack;
	return flame_samples_add(p, rows, feed->nr_samples);
}

static int add_path(struct flame_profile *profile, struct pprof_proto *p, const flame_frame *frames, size_t nr,
		    struct flame_feed *feed)
{
	flame_frame *to = p->feeder ? flame_feeder_path(p->feeder, nr) : NULL;

	if (!p->feeder)
		return push_path(profile, frames, nr, feed);
	if (!to)
		return FLAME_ENOMEM;
	memcpy(to, frames, nr * sizeof(*frames));
	*feed = (struct flame_feed){ .samples = feed->samples, .nr_samples = feed->nr_samples, .nr = (uint32_t)nr };
	return flame_feeder_add(p->feeder, feed);
}

/* A stack that did not come before, or of which this is not known. The first @nr frames of p->path are there. */
static int add_new(struct flame_reader *rd, struct pprof_proto *p, size_t nr, struct flame_feed *feed)
{
	struct pprof_sample *s = p->sample;
	int err = put_waiting(rd, p);

	if (err)
		return err;
	if (!array_reserve((void **)&p->path, &p->room_path, s->nr_frames + PPROF_LABELS_MAX + 1, sizeof(*p->path)))
		return FLAME_ENOMEM;
	nr += put_frames(s, p->path + nr);
	if (!s->nr_frames && !(p->path[nr++] = pprof_frame(rd, &p->scratch, &PPROF_NOWHERE)))
		return FLAME_ENOMEM;
	return add_path(rd->profile, p, p->path, skip_callers(rd, p->path, nr), feed);
}

/* Return: 0, BROKEN, or a failure. */
static int add_stack(struct flame_reader *rd, struct pprof_proto *p)
{
	struct flame_sample rows[PPROF_TYPES_MAX];
	size_t nr_rows = pprof_sample_rows(p, p->sample->values, rows), nr = 0;
	struct flame_feed feed = { .samples = rows, .nr_samples = (uint32_t)nr_rows };
	struct flame_span key;
	uint64_t hash = 0;
	uint32_t number;
	int err;

	if (!nr_rows)
		return 0;
	if (!array_reserve((void **)&p->path, &p->room_path, PPROF_LABELS_MAX + 1, sizeof(*p->path)))
		return FLAME_ENOMEM;
	err = p->sample->nr_labels ? put_label_frames(rd, p, p->path, &nr) : 0;
	if (err)
		return err;
	key = stack_key(p, nr);
	if (key.len) {
		hash = hash_bytes(key.s, key.len);
		if (flame_cache_get(&p->seen.stacks, key.s, key.len, hash, &number)) {
			p->seen.worth.nr_found++;
			return flame_feeder_again(p->feeder, number, rows, nr_rows);
		}
	}
	err = add_new(rd, p, nr, &feed);
	return err || !key.len ? err : keep_stack(p, key, hash);
}

int pprof_sample_read(struct flame_reader *rd, struct pprof_proto *p, struct flame_span message)
{
	int err = parse_sample(rd, p, message);

	if (!err && p->sample->nr_values != p->nr_types)
		return flame_skip(rd, "a sample does not have one value for each sample type");
	if (!err)
		err = add_stack(rd, p);
	return err == BROKEN ? flame_skip(rd, "a sample's message is broken") : err;
}

/* Where none is added to another; but not more than take the memory that the samples in the file do. */
static size_t sums_at_most(const struct pprof_proto *p)
{
	size_t nr = p->nr_types * p->nr_samples, most = p->nr_sample_bytes / sizeof(struct flame_sample);

	return nr < most ? nr : most;
}

/* As they come: one stack is pushed while the next sample is looked at. */
static int feed_samples(struct flame_reader *rd, struct pprof_proto *p)
{
	struct flame_pb pb = flame_pb((struct flame_span){ p->bytes, p->nr_bytes });
	struct flame_pb_field f;
	int err = 0, fed;

	p->feeder = flame_feeder_new(rd->profile, flame_thread_count(rd->options) > 1);
	if (!p->feeder)
		return FLAME_ENOMEM;
	p->seen.stacks.max_bytes = SEEN_BYTES;
	while (!err && flame_pb_next(&pb, &f) == FLAME_PB_FIELD) {
		if (f.nr == SAMPLE)
			err = pprof_sample_read(rd, p, f.bytes);
	}
	fed = flame_feeder_free(p->feeder);
	p->feeder = NULL;
	return err ? err : fed;
}

static int read_samples(struct flame_reader *rd, struct pprof_proto *p)
{
	int err = FLAME_BULK_NOT;

	p->sample = calloc(1, sizeof(*p->sample));
	if (!p->sample)
		return FLAME_ENOMEM;
	flame_samples_expect(rd->profile, sums_at_most(p));
	choose_labels(rd, p->sample);
	if (pprof_bulk_is_worth(rd, p))
		err = pprof_bulk_read(rd, p);
	if (err == FLAME_BULK_NOT)
		err = feed_samples(rd, p);
	if (!err)
		note_labels(rd, p->sample);
	return err;
}

/* What the profile says about itself. */

static void print_time(FILE *out, int64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[64];

	if (ns > 0 && gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		fprintf(out, ", recorded %s", text);
}

static void print_string(FILE *out, const struct pprof_proto *p, const char *before, uint64_t i)
{
	struct flame_span s;

	if (get_string(&p->strings, i, &s) && s.len)
		fprintf(out, "%s%.*s", before, (int)(s.len < 200 ? s.len : 200), s.s);
}

static void note_profile(struct flame_reader *rd, const struct pprof_proto *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	print_time(out, p->time);
	if (p->duration > 0)
		fprintf(out, ", %.6g s long", (double)p->duration / 1e9);
	if (p->period > 1) {
		fprintf(out, ", one sample each %lld", (long long)p->period);
		print_string(out, p, " ", p->period_unit);
		print_string(out, p, " of ", p->period_type);
	}
	for (size_t i = 0; i < p->nr_comments && i < 8; i++) {
		struct flame_span text_behind;

		if (!get_comment(p, i, PPROF_OWN_COMMENT, &text_behind))
			print_string(out, p, ", comment: ", p->comments[i]);
	}
	fclose(out);
	if (text && *text)
		flame_note(rd, "%s", text + 2);
	free(text);
	if (p->drop_frames)
		flame_note(rd, "go tool pprof would hide some frames of this profile (drop_frames); here all are shown");
}

static void note_meta(struct flame_reader *rd, const struct pprof_proto *p)
{
	struct flame_meta *meta = flame_meta(rd->profile);
	struct flame_span unit;

	meta->start_ns = p->time > 0 ? (uint64_t)p->time : 0;
	meta->duration_ns = p->duration > 0 ? (uint64_t)p->duration : 0;
	if (p->period > 0 && get_string(&p->strings, p->period_unit, &unit) && span_equals(unit, "nanoseconds"))
		flame_meta_interval(rd->profile, (double)p->period);
	else if (p->period > 0)
		meta->period = (uint64_t)p->period;
}

static int resolve(struct flame_reader *rd, struct pprof_proto *p)
{
	int err = index_table(rd, &p->mapping_index, "mapping");

	if (!err)
		err = index_table(rd, &p->function_index, "function");
	if (!err)
		err = index_table(rd, &p->location_index, "location");
	if (!err)
		err = make_types(rd, p);
	p->scratch.shown = has_comment(p, PPROF_NAMES_COMMENT);
	for (size_t i = 0; !err && i < p->nr_locations; i++)
		err = make_frames(rd, p, &p->locations[i]);
	if (!err && !array_reserve((void **)&p->frames, &p->room_frames, p->nr_frames + PPROF_FRAMES_AT_ONCE, sizeof(*p->frames)))
		return FLAME_ENOMEM;
	return err;
}

int pprof_proto_read(struct flame_reader *rd, struct pprof_proto *p)
{
	int err;

	rd->input->binary = true;
	err = read_fields(rd, p);
	if (err)
		return err;
	if (p->twice)
		return flame_fail(rd, FLAME_EFORMAT,
				  "several profiles one after the other; give them one by one, or merge them: go tool pprof -proto FILE…");
	if (!p->nr_sample_bytes && rd->diag->damaged)
		return nothing_kept(rd);
	if (!p->nr_sample_bytes)
		return flame_fail(rd, FLAME_EEMPTY, "the profile has no samples");
	if (!p->nr_types)
		return flame_fail(rd, FLAME_EFORMAT, "malformed profile: it has samples, but does not say of what (no sample types)");
	err = resolve(rd, p);
	if (!err) {
		note_profile(rd, p);
		note_meta(rd, p);
	}
	if (!err)
		err = read_samples(rd, p);
	if (!err)
		warn_cut_off(rd);
	return err;
}

void pprof_proto_release(struct pprof_proto *p)
{
	struct pprof_index *const indices[] = { &p->mapping_index, &p->function_index, &p->location_index };

	for (size_t i = 0; i < 3; i++) {
		free(indices[i]->ids);
		free(indices[i]->rows);
	}
	free(p->strings.bytes);
	free(p->strings.ends);
	free(p->types);
	free(p->mappings);
	free(p->functions);
	free(p->locations);
	free(p->lines);
	free(p->comments);
	free(p->bytes);
	free(p->starts);
	free(p->frames);
	free(p->type_rows);
	free(p->is_count);
	free(p->path);
	flame_cache_release(&p->seen.stacks);
	free(p->scratch.bytes);
	if (p->sample) {
		free(p->sample->frames);
		free(p->sample->labels);
		free(p->sample->text);
		free(p->sample->key);
	}
	free(p->sample);
}

/* Recognition. */

/* A type and its unit are numbers of strings. What OTLP and Perfetto have in this place are messages in messages. */
static bool is_value_type(struct flame_span message)
{
	struct flame_pb pb = flame_pb(message);
	struct flame_pb_field f;
	enum flame_pb_result result;

	while ((result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD) {
		if (f.wire != FLAME_PB_VARINT)
			return false;
	}
	return result == FLAME_PB_END;
}

/* Messages that are all of numbers must be; a string can be anything. */
static bool fits(const struct flame_pb_field *f)
{
	static const unsigned char wires[NR_PROFILE_FIELDS] = {
		[SAMPLE_TYPE] = FLAME_PB_BYTES, [SAMPLE] = FLAME_PB_BYTES, [MAPPING] = FLAME_PB_BYTES,
		[LOCATION] = FLAME_PB_BYTES, [FUNCTION] = FLAME_PB_BYTES, [STRING_TABLE] = FLAME_PB_BYTES,
		[PERIOD_TYPE] = FLAME_PB_BYTES,
	};
	uint64_t numbers[1];

	if (f->nr >= NR_PROFILE_FIELDS)
		return f->nr < NR_PROFILE_FIELDS + 16;	/* there may be new ones */
	if (f->nr == COMMENT)
		return f->wire == FLAME_PB_VARINT || f->wire == FLAME_PB_BYTES;
	if (f->wire != (enum flame_pb_wire)wires[f->nr])
		return false;
	if (f->nr == SAMPLE_TYPE || f->nr == PERIOD_TYPE)
		return is_value_type(f->bytes);
	return f->wire != FLAME_PB_BYTES || f->nr == STRING_TABLE || read_numbers(f->bytes, numbers, 1);
}

/* Letters are tags and lengths too. Samples and the empty first string of a profile are none. */
static bool is_text(struct flame_span head)
{
	for (size_t i = 0; i < head.len; i++) {
		char c = head.s[i];

		if ((unsigned char)c < ' ' && c != '\t' && c != '\n' && c != '\r')
			return false;
	}
	return true;
}

int pprof_proto_probe(struct flame_span head)
{
	struct flame_pb pb = flame_pb(head);
	struct flame_pb_field f;
	enum flame_pb_result result;
	bool seen[NR_PROFILE_FIELDS] = { false };
	size_t nr = 0, kinds = 0;

	while ((result = flame_pb_next(&pb, &f)) == FLAME_PB_FIELD) {
		if (!fits(&f))
			return FLAME_SCORE_NOT;
		if (f.nr >= NR_PROFILE_FIELDS)
			continue;
		kinds += !seen[f.nr];
		seen[f.nr] = true;
		nr++;
	}
	if (is_text(head))
		return FLAME_SCORE_NOT;
	if (!nr || result == FLAME_PB_BAD || (result == FLAME_PB_SHORT && head.len < FLAME_HEAD_SIZE && nr < 2))
		return FLAME_SCORE_NOT;
	return nr >= 3 && kinds >= 2 ? FLAME_SCORE_RECORD + 20 : FLAME_SCORE_SHAPE + 5;
}

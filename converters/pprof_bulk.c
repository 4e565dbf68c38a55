/* SPDX-License-Identifier: MIT */
/*
 * pprof_bulk.c - a large profile in which hardly a stack comes twice: all stacks are pushed first, and then the samples
 * are added in their order.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/bulk.h"
#include "../core/table.h"
#include "pprof.h"

#define BULK_FROM 2048	/* samples: fewer are added as they come */
#define TRIED 16384	/* samples, to see whether stacks come again */
#define WORTH 16	/* one in so many may */
#define USUAL 8		/* more than PPROF_FRAMES_AT_ONCE */

struct bulk {
	struct flame_reader *rd;
	struct pprof_proto *p;
	/* Of locations by id, where ids are not hashed: USUAL times the first of their frames, and how many; 0: unusual. */
	uint32_t *usual;
	uint64_t nr_usual;
};

/* The sample that begins at @bytes. */
static struct flame_pb sample_at(const struct pprof_proto *p, const char *bytes)
{
	struct flame_pb pb = { bytes, p->bytes + p->nr_bytes, 0 };
	struct flame_pb_field f = { 0 };

	return flame_pb_next(&pb, &f) == FLAME_PB_FIELD ? flame_pb(f.bytes) : (struct flame_pb){ bytes, bytes, 0 };
}

/* Room for @nr more frames, and for what is copied beyond them. */
static bool reserve(struct flame_bulk_path *path, size_t nr)
{
	return array_reserve((void **)&path->frames, &path->room, path->nr + nr + PPROF_FRAMES_AT_ONCE, sizeof(*path->frames));
}

/* Append a location's frames, the root's first. */
static int put_location(const struct pprof_proto *p, uint64_t id, struct flame_bulk_path *path)
{
	uint32_t row = pprof_find_id(&p->location_index, id);
	const struct pprof_location *l = row ? &p->locations[row - 1] : NULL;

	if (!l)
		return FLAME_EFORMAT;
	if (!reserve(path, l->nr))
		return FLAME_ENOMEM;
	memcpy(path->frames + path->nr, p->frames + l->first, l->nr * sizeof(*path->frames));
	path->nr += l->nr;
	return 0;
}

/*
 * The same for those at the end of the first @at bytes of @ids, as long as they are usual ones: of few frames, which are
 * copied whether they are so many or not, and for which there is room. Return: where the last of them begins.
 */
static size_t put_usual(const struct bulk *b, struct flame_span ids, size_t at, size_t most, struct flame_bulk_path *path)
{
	const unsigned char *bytes = (const unsigned char *)ids.s;
	const uint32_t *usual = b->usual;
	const flame_frame *frames = b->p->frames;
	flame_frame *to = path->frames;
	uint32_t *marks = path->marks;
	size_t nr = path->nr, room = path->room, nr_usual = b->nr_usual;

	/* A number that does not end; behind the others one begins. */
	if (room < PPROF_FRAMES_AT_ONCE || bytes[at - 1] & 0x80)
		return at;
	room -= PPROF_FRAMES_AT_ONCE;
	while (at && nr < most && nr <= room) {
		size_t begin = at - 1, id = bytes[begin];
		uint32_t where;

		if (begin && bytes[begin - 1] & 0x80) {
			marks[ids.len - begin] = 0;
			id = id << 7 | (bytes[--begin] & 0x7f);
			if (begin && bytes[begin - 1] & 0x80)
				break;
		}
		where = id < nr_usual ? usual[id] : 0;
		if (!where)
			break;
		memcpy(to + nr, frames + where / USUAL, PPROF_FRAMES_AT_ONCE * sizeof(*to));
		nr += where % USUAL;
		at = begin;
		marks[ids.len - at] = (uint32_t)nr;
	}
	path->nr = nr;
	return at;
}

/* The last of the first @at bytes of @ids. */
static int put_last(const struct bulk *b, struct flame_span ids, size_t *at, struct flame_bulk_path *path)
{
	uint64_t id;
	const char *begin = flame_pb_varint_before(ids.s, ids.s + *at, &id);
	int err = begin ? put_location(b->p, id, path) : FLAME_EFORMAT;

	if (err)
		return err;
	while (ids.s + *at > begin)
		path->marks[ids.len - --*at] = 0;
	path->marks[ids.len - *at] = (uint32_t)path->nr;
	return 0;
}

/*
 * Return: how many bytes at the end of @ids, whole locations, are those of the path before, whose frames are there. A
 * mark is how many frames the bytes behind it make, 0 within a location.
 */
static size_t find_same(struct flame_span ids, struct flame_bulk_path *path)
{
	const char *a = ids.s + ids.len, *b = path->last + path->nr_last;
	size_t most = ids.len < path->nr_last ? ids.len : path->nr_last, n = 0;

	while (n + 8 <= most && hash_load64(a - n - 8) == hash_load64(b - n - 8))
		n += 8;
	while (n < most && a[-(ptrdiff_t)n - 1] == b[-(ptrdiff_t)n - 1])
		n++;
	/* What begins there in the other path may go on in this one. */
	if (n && n < ids.len && a[-(ptrdiff_t)n - 1] & 0x80)
		n--;
	while (n && !path->marks[n])
		n--;
	path->nr = path->same = n ? path->marks[n] : 0;
	return n;
}

/* Packed locations, from the last one on, which is the root's. */
static int put_backwards(const struct bulk *b, struct flame_span ids, size_t most, struct flame_bulk_path *path)
{
	size_t at;
	int err = 0;

	if (!array_reserve((void **)&path->marks, &path->room_marks, ids.len + 1, sizeof(*path->marks)))
		return FLAME_ENOMEM;
	at = ids.len - find_same(ids, path);
	path->nr_last = 0;
	while (!err && at && path->nr < most) {
		at = put_usual(b, ids, at, most, path);
		if (at && path->nr < most)
			err = put_last(b, ids, &at, path);
	}
	if (!err && !at) {
		path->last = ids.s;
		path->nr_last = ids.len;
	}
	return err;
}

static void turn(flame_frame *frames, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		flame_frame frame = frames[i];

		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = frame;
	}
}

/* Locations that come in fields of their own, as do one and two of them from Go. */
static int put_fields(const struct bulk *b, struct flame_pb message, struct flame_bulk_path *path)
{
	struct flame_pb_field f;
	int err = 0;

	while (!err && flame_pb_next(&message, &f) == FLAME_PB_FIELD) {
		const char *at = NULL;
		uint64_t id;

		while (!err && f.nr == 1 && flame_pb_next_number(&f, &at, &id)) {
			size_t before = path->nr;

			err = put_location(b->p, id, path);
			if (!err)
				turn(path->frames + before, path->nr - before);
		}
		if (f.nr == 1 && !at)
			err = FLAME_EFORMAT;
	}
	if (!err)
		turn(path->frames, path->nr);
	return err;
}

/* What is taken from a sample's message. */
struct parsed {
	struct flame_span ids;	/* of the field that locations are packed in */
	const char *field;	/* where that begins; NULL: there are others of locations, or none */
};

/* Return: false for what is no message, has not a value for each type, or no value but 0. */
static bool parse(const struct pprof_proto *p, struct flame_pb message, int64_t *values, struct parsed *s)
{
	const char *begin = message.at;
	struct flame_pb_field f;
	enum flame_pb_result result;
	size_t nr_fields = 0, nr = 0;
	int64_t any = 0;

	s->field = NULL;
	for (; (result = flame_pb_next(&message, &f)) == FLAME_PB_FIELD; begin = message.at) {
		const char *at = NULL;
		uint64_t value;

		if (f.nr == 1) {
			s->field = !nr_fields++ && f.wire == FLAME_PB_BYTES ? begin : NULL;
			s->ids = f.bytes;
		}
		if (f.nr != 2 || !values)
			continue;
		for (; flame_pb_next_number(&f, &at, &value); nr++) {
			if (nr == p->nr_types)
				return false;
			values[nr] = (int64_t)value;
			any |= values[nr];
		}
		if (!at)
			return false;
	}
	return result == FLAME_PB_END && (!values || (nr == p->nr_types && any));
}

/* A path begins with its sample, or with the field that its locations are packed in. */
static int decode(const void *arg, uint32_t *start, size_t most, int64_t *values, struct flame_bulk_path *path)
{
	const struct bulk *b = arg;
	struct flame_pb pb = { b->p->bytes + *start, b->p->bytes + b->p->nr_bytes, 0 };
	struct flame_pb_field f;
	struct parsed s;
	int err;

	path->nr = path->same = 0;
	if (flame_pb_next(&pb, &f) != FLAME_PB_FIELD)
		return FLAME_EFORMAT;
	if (f.nr == 1)
		return put_backwards(b, f.bytes, most, path);
	if (!parse(b->p, flame_pb(f.bytes), values, &s))
		return FLAME_EFORMAT;
	if (!s.field) {
		path->nr_last = 0;
		err = put_fields(b, flame_pb(f.bytes), path);
	} else {
		err = put_backwards(b, s.ids, most, path);
		if (values)
			*start = (uint32_t)(s.field - b->p->bytes);
	}
	return err || path->nr ? err : FLAME_EFORMAT;
}

static size_t make_samples(const void *arg, const int64_t *values, struct flame_sample *samples)
{
	const struct bulk *b = arg;

	return pprof_sample_rows(b->p, values, samples);
}

/* Something is wrong with it, it has no value or no location. */
static int left_out(void *arg, size_t i)
{
	struct bulk *b = arg;
	struct flame_pb message = sample_at(b->p, b->p->bytes + b->p->starts[i]);

	return pprof_sample_read(b->rd, b->p, (struct flame_span){ message.at, (size_t)(message.end - message.at) });
}

static bool find_usual(struct bulk *b)
{
	const struct pprof_index *x = &b->p->location_index;

	if (x->hashed)
		return true;
	b->nr_usual = x->nr_rows;
	b->usual = calloc(x->nr_rows, sizeof(*b->usual));
	for (size_t i = 0; b->usual && i < x->nr; i++) {
		const struct pprof_location *l = &b->p->locations[i];

		if (l->nr <= PPROF_FRAMES_AT_ONCE && l->first < UINT32_MAX / USUAL)
			b->usual[x->ids[i]] = l->first * USUAL + l->nr;
	}
	return b->usual;
}

static void done(void *arg)
{
	struct bulk *b = arg;

	free(b->p->bytes);
	b->p->bytes = NULL;
}

int pprof_bulk_read(struct flame_reader *rd, struct pprof_proto *p)
{
	struct bulk b = { .rd = rd, .p = p };
	const struct flame_bulk bulk = {
		.decode = decode, .make_samples = make_samples, .left_out = left_out, .done = done, .arg = &b,
		.bytes = p->bytes, .nr_bytes = p->nr_sample_bytes, .starts = p->starts, .nr = p->nr_samples,
		.nr_values = p->nr_types, .threaded = flame_thread_count(rd->options) > 1,
	};
	int err = find_usual(&b) ? flame_bulk_add(rd->profile, &bulk) : FLAME_ENOMEM;

	free(b.usual);
	return err;
}

/* Return: true where some of the first samples have locations that came before among them. */
static bool come_again(const struct pprof_proto *p)
{
	uint64_t *seen = calloc(TRIED * 2, sizeof(*seen));
	size_t nr = 0, most = p->nr_samples < TRIED ? p->nr_samples : TRIED;

	for (size_t i = 0; seen && i < most; i++) {
		struct parsed s = { .field = NULL };
		uint64_t hash, k;

		if (!parse(p, sample_at(p, p->bytes + p->starts[i]), NULL, &s) || !s.field)
			continue;
		hash = hash_bytes(s.ids.s, s.ids.len) | 1;
		for (k = hash >> 32; seen[k % (TRIED * 2)] && seen[k % (TRIED * 2)] != hash;)
			k++;
		nr += seen[k % (TRIED * 2)] == hash;
		seen[k % (TRIED * 2)] = hash;
	}
	if (!seen)
		return true;
	free(seen);
	return nr >= most / WORTH;
}

bool pprof_bulk_is_worth(const struct flame_reader *rd, const struct pprof_proto *p)
{
	return p->nr_samples >= BULK_FROM && p->nr_starts == p->nr_samples && !p->sample->nr_wanted &&
	       !rd->options->skip_after && p->nr_types * p->nr_samples <= p->nr_sample_bytes / sizeof(struct flame_sample) * 2 &&
	       !flame_profile_options(rd->profile)->ordered && !flame_nr_samples(rd->profile) &&
	       !come_again(p);
}

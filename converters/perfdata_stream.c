/* SPDX-License-Identifier: MIT */
/*
 * perfdata_stream.c - the records of one file, one after the other.
 *
 * perf writes what it finds in the buffers of all processors, round after round: records are in order
 * within a buffer only. What is older than all that the round before held is surely complete, so two
 * rounds of records wait here. Packed records are unpacked by one decoder; a record may begin in one of them
 * and end in the next.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "perfdata.h"

#define HEADER 8
#define UNPACK_ROOM ((size_t)256 << 10)
#define PACKED_MAX ((size_t)1 << 20)	/* bytes of one packed record; perf writes up to 64 KiB */

int perfdata_stream_open(struct perfdata_stream *s, const struct perfdata *pd, struct flame_input *in, size_t window)
{
	s->pd = pd;
	s->in = in;
	s->window = window;
	return 0;
}

void perfdata_stream_release(struct perfdata_stream *s)
{
	if (s->owns)
		flame_input_close(&s->own);
	flame_zstd_free(s->zstd);
	free(s->unpacked);
	free(s->packed);
	free(s->waiting);
	free(s->spare);
	free(s->rounds[0].bytes);
	free(s->rounds[1].bytes);
}

static int damaged(const struct perfdata_stream *s, const char *what, uint64_t offset)
{
	struct flame_reader *rd = s->pd->rd;

	flame_damaged(rd, "perf.data: %s at byte %llu; what came before is used", what,
		      (unsigned long long)offset);
	return 0;
}

/* Unpacking. */

/* More bytes behind those that are unpacked. Return: 1, 0 where there are none at hand, or a failure. */
static int unpack(struct perfdata_stream *s)
{
	struct flame_zstd_step step = { 0 };

	if (s->packed_pos == s->packed_end && !s->packed_full)
		return 0;
	if (!s->zstd) {
		if (!flame_zstd_available())
			return flame_fail(s->pd->rd, FLAME_EARG,
					  "the records are compressed (perf record -z), and this build has no libzstd");
		s->zstd = flame_zstd_new();
		if (!s->zstd)
			return FLAME_ENOMEM;
	}
	if (!array_reserve((void **)&s->unpacked, &s->unpacked_room, UNPACK_ROOM, 1))
		return FLAME_ENOMEM;
	memmove(s->unpacked, s->unpacked + s->unpacked_pos, s->unpacked_end - s->unpacked_pos);
	s->unpacked_end -= s->unpacked_pos;
	s->unpacked_pos = 0;
	step = (struct flame_zstd_step){
		.in = s->packed, .in_len = s->packed_end, .in_pos = s->packed_pos,
		.out = s->unpacked + s->unpacked_end, .out_room = s->unpacked_room - s->unpacked_end,
	};
	if (!flame_zstd_decode(s->zstd, &step)) {
		s->packed_pos = s->packed_end;
		s->packed_full = false;
		s->ended = true;
		return damaged(s, "compressed records that cannot be decompressed", s->offset);
	}
	s->packed_pos = step.in_pos;
	s->packed_full = step.out_len == step.out_room;
	s->unpacked_end += step.out_len;
	return step.out_len || s->packed_pos < s->packed_end ? 1 : 0;
}

/* Return: whether a whole record is unpacked; its size in *@size. */
static bool has_unpacked(const struct perfdata_stream *s, size_t *size)
{
	size_t n = s->unpacked_end - s->unpacked_pos;

	if (n < HEADER)
		return false;
	*size = perfdata_u16(s->pd, s->unpacked + s->unpacked_pos + 6);
	return *size < HEADER || *size <= n;
}

static void fill_record(struct perfdata_stream *s, struct perfdata_record *r, const char *data, size_t size)
{
	*r = (struct perfdata_record){
		.data = data, .size = size, .type = perfdata_u32(s->pd, data), .misc = perfdata_u16(s->pd, data + 4),
		.offset = s->offset,
	};
}

/* Return: 1 with a record that was packed, 0 where none is at hand, or a failure. */
static int next_unpacked(struct perfdata_stream *s, struct perfdata_record *r)
{
	size_t size;
	int ret;

	while (!has_unpacked(s, &size)) {
		ret = unpack(s);
		if (ret <= 0)
			return ret;
	}
	if (size < HEADER) {
		s->ended = true;
		return damaged(s, "a compressed record of fewer than 8 bytes", s->offset);
	}
	fill_record(s, r, s->unpacked + s->unpacked_pos, size);
	s->unpacked_pos += size;
	return 1;
}

/* Bytes in the record at hand: those of the second kind can have more than its 16 bits can tell. */
static size_t record_size(const struct perfdata_stream *s, const char *p, size_t len)
{
	size_t size = perfdata_u16(s->pd, p + 6);

	if (perfdata_u32(s->pd, p) == PERFDATA_COMPRESSED2 && len >= 16) {
		uint64_t data = perfdata_u64(s->pd, p + 8);

		if (data <= PACKED_MAX && ((16 + data + 7) & ~7ull) > size)
			size = (size_t)((16 + data + 7) & ~7ull);
	}
	return size;
}

/* Keep what @r has packed. */
static int take_packed(struct perfdata_stream *s, const struct perfdata_record *r)
{
	size_t start = r->type == PERFDATA_COMPRESSED2 ? 16 : 8, len = r->size;

	if (r->type == PERFDATA_COMPRESSED2 && r->size >= 16 && perfdata_u64(s->pd, r->data + 8) < r->size - 16)
		len = 16 + (size_t)perfdata_u64(s->pd, r->data + 8);
	if (len < start)
		return 0;
	if (!array_reserve((void **)&s->packed, &s->packed_room, len - start, 1))
		return FLAME_ENOMEM;
	memcpy(s->packed, r->data + start, len - start);
	s->packed_pos = 0;
	s->packed_end = len - start;
	return 0;
}

/* The next record of the input. Return: 1, 0 at its end. */
static int next_plain(struct perfdata_stream *s, struct perfdata_record *r)
{
	struct flame_span view = flame_peek(s->in, 16);
	size_t size;

	s->offset = flame_input_offset(s->in);
	if (!view.len || s->ended)
		return 0;
	size = view.len < HEADER ? HEADER : record_size(s, view.s, view.len);
	if (size < HEADER) {
		s->ended = true;
		return damaged(s, "a record of fewer than 8 bytes", s->offset);
	}
	if (size > view.len)
		view = flame_peek(s->in, size);
	if (view.len < size) {
		s->ended = true;
		return s->in->error ? 0 : damaged(s, "a record that the end cuts off", s->offset);
	}
	fill_record(s, r, view.s, size);
	flame_take(s->in, size);
	return 1;
}

/* The next record as it stands. Return: 1, 0 at the end, or a failure. */
static int next_record(struct perfdata_stream *s, struct perfdata_record *r)
{
	int ret;

	for (;;) {
		ret = next_unpacked(s, r);
		if (ret)
			return ret;
		ret = next_plain(s, r);
		if (!ret && !s->ended && s->unpacked_pos < s->unpacked_end) {
			s->ended = true;
			return damaged(s, "a compressed record that the end cuts off", s->offset);
		}
		if (ret <= 0 || (r->type != PERFDATA_COMPRESSED && r->type != PERFDATA_COMPRESSED2))
			return ret;
		ret = take_packed(s, r);
		if (ret)
			return ret;
	}
}

struct flame_span perfdata_stream_behind(struct perfdata_stream *s, size_t len)
{
	struct flame_span view = flame_peek(s->in, len);

	if (view.len > len)
		view.len = len;
	flame_take(s->in, view.len);
	return view;
}

void perfdata_stream_skip(struct perfdata_stream *s, uint64_t len)
{
	while (len) {
		struct flame_span view = flame_peek(s->in, 1);
		size_t n = view.len < len ? view.len : (size_t)len;

		if (!n)
			return;
		flame_take(s->in, n);
		len -= n;
	}
}

/* Putting in order. */

/* Merge w[from .. mid) and w[mid .. to), both sorted, through @spare. Of equal times the first comes first. */
static void merge_runs(struct perfdata_waiting *w, size_t from, size_t mid, size_t to, struct perfdata_waiting *spare)
{
	size_t i = 0, j = mid, n = mid - from, at = from;

	memcpy(spare, w + from, n * sizeof(*w));
	while (i < n && j < to)
		w[at++] = w[j].time < spare[i].time ? w[j++] : spare[i++];
	memcpy(w + at, spare + i, (n - i) * sizeof(*w));
}

static size_t run_end(const struct perfdata_waiting *w, size_t from, size_t nr)
{
	while (from + 1 < nr && w[from].time <= w[from + 1].time)
		from++;
	return from + 1 < nr ? from + 1 : nr;
}

/* Few runs, each long: one a processor's buffer. */
static bool sort_waiting(struct perfdata_stream *s)
{
	struct perfdata_waiting *w = s->waiting;
	size_t nr = s->nr_waiting;

	if (!array_reserve((void **)&s->spare, &s->room_spare, nr, sizeof(*s->spare)))
		return false;
	for (size_t first = run_end(w, 0, nr); first < nr; first = run_end(w, 0, nr)) {
		/* Pairs of runs, from the start on; once more until there is one. */
		for (size_t from = 0; from < nr;) {
			size_t mid = run_end(w, from, nr), to = mid < nr ? run_end(w, mid, nr) : nr;

			if (mid < nr)
				merge_runs(w, from, mid, to, s->spare);
			from = to;
		}
	}
	return true;
}

/* What is no newer than @until can be handed out. */
static int end_round(struct perfdata_stream *s, uint64_t until)
{
	if (!sort_waiting(s))
		return FLAME_ENOMEM;
	s->ready = 0;
	while (s->ready < s->nr_waiting && s->waiting[s->ready].time <= until)
		s->ready++;
	s->newest_before = s->newest;
	s->round ^= 1;
	return 0;
}

static int wait_for_order(struct perfdata_stream *s, const struct perfdata_record *r, uint64_t time)
{
	struct perfdata_round *round = &s->rounds[s->round];

	if (!array_reserve((void **)&s->waiting, &s->room_waiting, s->nr_waiting + 1, sizeof(*s->waiting)) ||
	    !array_reserve((void **)&round->bytes, &round->room, round->nr + r->size, 1))
		return FLAME_ENOMEM;
	s->waiting[s->nr_waiting++] = (struct perfdata_waiting){ time, round->nr, s->round };
	memcpy(round->bytes + round->nr, r->data, r->size);
	round->nr += r->size;
	if (time > s->newest)
		s->newest = time;
	if (round->nr < s->window)
		return 0;
	s->nr_forced++;
	return end_round(s, s->newest_before);
}

static int hand_out(struct perfdata_stream *s, struct perfdata_record *r, uint64_t *time)
{
	const struct perfdata_waiting *w = &s->waiting[s->next++];
	const char *data = s->rounds[w->round].bytes + w->at;

	fill_record(s, r, data, perfdata_u16(s->pd, data + 6));
	*time = w->time;
	return 1;
}

/* All that was ready is out: forget it. */
static void drop_handed_out(struct perfdata_stream *s)
{
	if (!s->ready)
		return;
	memmove(s->waiting, s->waiting + s->ready, (s->nr_waiting - s->ready) * sizeof(*s->waiting));
	s->nr_waiting -= s->ready;
	s->next = s->ready = 0;
	/* The round that begins uses the bytes of the one before the last. */
	s->rounds[s->round].nr = 0;
}

int perfdata_stream_put(struct perfdata_stream *s, const char *data, size_t size, uint64_t time)
{
	return wait_for_order(s, &(struct perfdata_record){ .data = data, .size = size }, time);
}

int perfdata_stream_round(struct perfdata_stream *s, bool last)
{
	return end_round(s, last ? UINT64_MAX : s->newest_before);
}

bool perfdata_stream_take(struct perfdata_stream *s, struct perfdata_record *r, uint64_t *time)
{
	if (s->next < s->ready)
		return hand_out(s, r, time);
	drop_handed_out(s);
	return false;
}

int perfdata_stream_next(struct perfdata_stream *s, struct perfdata_record *r, uint64_t *time)
{
	int ret;

	for (;;) {
		if (s->next < s->ready)
			return hand_out(s, r, time);
		drop_handed_out(s);
		ret = next_record(s, r);
		if (ret < 0)
			return ret;
		if (!ret) {
			if (!s->nr_waiting)
				return 0;
			ret = end_round(s, UINT64_MAX);
		} else if (r->type == PERFDATA_FINISHED_ROUND) {
			ret = end_round(s, s->newest_before);
		} else {
			*time = perfdata_time(s->pd, r);
			if (!*time)
				return 1;
			ret = wait_for_order(s, r, *time);
		}
		if (ret)
			return ret;
	}
}

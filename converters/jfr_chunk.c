/* SPDX-License-Identifier: MIT */
/*
 * jfr_chunk.c - a JFR file is a row of chunks: a header of 68 bytes with big-endian numbers, then
 * events, each with its own size in front. A chunk of usual size is read as a whole. A longer one
 * stays in its file, or goes to a temporary one if it comes through a pipe or a decoder: what
 * explains its events stands behind them, so it has to be read twice.
 */
#define _GNU_SOURCE
#include "jfr_chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/spool.h"
#include "../core/table.h"

#define UNFINISHED_SIZE ((uint64_t)1 << 30)	/* async-profiler's, until it knows better */
#define EVENT_HEADER 18				/* size and type are nine bytes at most */

static const char header_start[] = { 'F', 'L', 'R', 0, 0, 2, 0 };

static uint64_t be(const unsigned char *p, unsigned int n)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

bool jfr_is_magic(struct flame_span s)
{
	return s.len >= 4 && !memcmp(s.s, header_start, 4);
}

bool jfr_is_header(struct flame_span s)
{
	return s.len >= sizeof(header_start) && !memcmp(s.s, header_start, sizeof(header_start));
}

uint64_t jfr_chunk_length(struct flame_span head)
{
	const unsigned char *h = (const unsigned char *)head.s;
	uint64_t size;

	/* While a chunk is written its header has a number that tells how often it was brought up to date. */
	if (head.len < JFR_HEADER || h[64])
		return 0;
	size = be(h + 8, 8);
	return size < JFR_HEADER || size > INT64_MAX || (size == UNFINISHED_SIZE && !be(h + 24, 8)) ? 0 : size;
}

static int start_spool(struct jfr_chunk *c)
{
	c->fd = flame_spool_open();
	c->in_file = c->spooled = c->fd >= 0;
	return c->spooled && flame_spool_write(c->fd, c->image, (size_t)c->size) ? 0 : FLAME_EIO;
}

static int append(struct jfr_chunk *c, const char *s, size_t len)
{
	int err = !c->in_file && c->size + len > JFR_IMAGE_MAX ? start_spool(c) : 0;

	if (err)
		return err;
	if (c->in_file) {
		if (!flame_spool_write(c->fd, s, len))
			return FLAME_EIO;
	} else {
		if (!array_reserve((void **)&c->image, &c->room, (size_t)c->size + len, 1))
			return FLAME_ENOMEM;
		memcpy(c->image + c->size, s, len);
	}
	c->size += len;
	return 0;
}

/* The chunk's first @size bytes, fewer at the end of the input. */
static int load_bytes(struct flame_reader *rd, struct jfr_chunk *c, uint64_t size)
{
	int err = 0;

	while (!err && c->size < size) {
		struct flame_span s = flame_peek(rd->input, 1);

		if (!s.len)
			break;
		if (s.len > size - c->size)
			s.len = (size_t)(size - c->size);
		err = append(c, s.s, s.len);
		flame_take(rd->input, s.len);
	}
	return err;
}

/* Events, one by one, up to the next chunk or the end: for a chunk that does not know its size. */
static int load_events(struct flame_reader *rd, struct jfr_chunk *c)
{
	int err = load_bytes(rd, c, JFR_HEADER);

	while (!err) {
		struct flame_span s = flame_peek(rd->input, EVENT_HEADER);
		struct jfr_cursor at = { (const unsigned char *)s.s, (const unsigned char *)s.s + s.len, false };
		uint64_t size = jfr_varint(&at);

		if (!s.len || jfr_is_header(s) || at.bad || size < 2 || size > INT64_MAX)
			break;
		err = load_bytes(rd, c, c->size + size);
	}
	return err;
}

/* The chunk stays in the file. */
static void use_file(struct flame_reader *rd, struct jfr_chunk *c, uint64_t size, uint64_t left)
{
	c->in_file = true;
	c->fd = flame_input_fd(rd->input);
	c->base = c->offset;
	c->size = size < left ? size : left;
}

/* Return: how many bytes of the file are left for the input; UINT64_MAX where it is no file. */
static uint64_t bytes_left(const struct flame_reader *rd, uint64_t offset)
{
	int fd = flame_input_fd(rd->input);
	struct stat st;
	uint64_t end;

	if (fd < 0 || fstat(fd, &st))
		return UINT64_MAX;
	end = (uint64_t)st.st_size < rd->input->limit ? (uint64_t)st.st_size : rd->input->limit;
	return end > offset ? end - offset : 0;
}

static void forget(struct jfr_chunk *c)
{
	if (c->spooled)
		close(c->fd);
	for (size_t i = 0; i < c->nr_blobs; i++)
		free(c->blobs[i]);
	*c = (struct jfr_chunk){
		.image = c->image, .room = c->room, .window = c->window, .blobs = c->blobs, .room_blobs = c->room_blobs,
	};
}

int jfr_chunk_read(struct flame_reader *rd, struct jfr_chunk *c)
{
	struct flame_span head = flame_peek(rd->input, JFR_HEADER);
	const unsigned char *h = (const unsigned char *)head.s;
	uint64_t size = jfr_chunk_length(head), left;
	int err;

	forget(c);
	c->offset = flame_input_offset(rd->input);
	c->pools = be(h + 16, 8);
	c->metadata = be(h + 24, 8);
	c->start_ns = be(h + 32, 8);
	c->duration_ns = be(h + 40, 8);
	c->start_ticks = be(h + 48, 8);
	c->frequency = be(h + 56, 8);
	c->damaged = !size;
	left = bytes_left(rd, c->offset);
	if (left != UINT64_MAX && left > JFR_IMAGE_MAX && (!size || size > JFR_IMAGE_MAX)) {
		use_file(rd, c, size ? size : left, left);
		err = 0;
	} else {
		err = size ? load_bytes(rd, c, size) : load_events(rd, c);
	}
	c->damaged |= c->size < size;
	c->loaded = c->size;
	return err;
}

/*
 * Each time it flushes, the JDK puts a copy of the chunk's own header into a checkpoint: the chunk as
 * it is then, which ends with the copy. Return: true where @p, @len bytes of the image, is one.
 */
static bool is_own_header(const struct jfr_chunk *c, const unsigned char *p, size_t len)
{
	uint64_t end = (uint64_t)(p - c->image) + JFR_HEADER;

	/* Where the input ends in it, by what there is of it. */
	return (len < 16 || be(p + 8, 8) == end) && (len < 40 || be(p + 32, 8) == c->start_ns) &&
	       (len < 56 || be(p + 48, 8) == c->start_ticks);
}

/* Return: where in the image another chunk begins; its end where none does. */
static uint64_t find_next(const struct jfr_chunk *c)
{
	const unsigned char *end = c->image + c->loaded, *next = c->image + JFR_HEADER;

	if (c->in_file)
		return c->loaded;
	while (next < end && (next = memmem(next, (size_t)(end - next), header_start, sizeof(header_start)))) {
		if (!is_own_header(c, next, (size_t)(end - next)))
			return (uint64_t)(next - c->image);
		next += JFR_HEADER;
	}
	return c->loaded;
}

void jfr_chunk_damaged(struct jfr_chunk *c)
{
	uint64_t next = find_next(c);

	c->damaged = true;
	if (next < c->size)
		c->size = next;
}

int jfr_chunk_leave(struct flame_reader *rd, struct jfr_chunk *c)
{
	struct jfr_walker w;
	struct jfr_event e;
	uint64_t end = c->damaged ? find_next(c) : c->loaded;
	int err = 0;

	if (c->damaged && c->in_file && !c->spooled) {
		err = jfr_walk(&w, c);
		while (!err && jfr_next(&w, &e))
			;
		end = w.at + w.pos;
	}
	if (c->in_file && !c->spooled)
		flame_input_seek(rd->input, c->offset + end);
	else if (end < c->loaded)
		err = flame_unread(rd->input, (const char *)c->image + end, (size_t)(c->loaded - end));
	return err;
}

void jfr_chunk_release(struct jfr_chunk *c)
{
	forget(c);
	free(c->image);
	free(c->window);
	free(c->blobs);
	*c = (struct jfr_chunk){ 0 };
}

uint64_t jfr_skip_to_header(struct flame_reader *rd)
{
	uint64_t nr = 0;

	for (;;) {
		struct flame_span s = flame_peek(rd->input, sizeof(header_start) + 1);
		const char *next = s.len > 1 ? memmem(s.s + 1, s.len - 1, header_start, sizeof(header_start)) : NULL;
		size_t step = next ? (size_t)(next - s.s) :
			      s.len > sizeof(header_start) ? s.len - sizeof(header_start) + 1 : s.len;

		if (!s.len || (nr && jfr_is_header(s)))
			return nr;
		flame_take(rd->input, step);
		nr += step;
	}
}

static void fill(struct jfr_walker *w, uint64_t at)
{
	const struct jfr_chunk *c = w->chunk;
	size_t want = c->size - at < JFR_WINDOW ? (size_t)(c->size - at) : JFR_WINDOW;

	w->at = at;
	w->pos = w->len = 0;
	while (w->len < want) {
		ssize_t got = pread(c->fd, c->window + w->len, want - w->len, (off_t)(c->base + at + w->len));

		if (got <= 0)
			break;
		w->len += (size_t)got;
	}
}

int jfr_walk(struct jfr_walker *w, struct jfr_chunk *chunk)
{
	*w = (struct jfr_walker){ .chunk = chunk, .buf = chunk->image };
	if (!chunk->in_file) {
		w->len = (size_t)chunk->size;
		w->pos = w->len < JFR_HEADER ? w->len : JFR_HEADER;
		return 0;
	}
	if (!chunk->window)
		chunk->window = malloc(JFR_WINDOW);
	if (!chunk->window)
		return FLAME_ENOMEM;
	w->buf = chunk->window;
	fill(w, chunk->size < JFR_HEADER ? chunk->size : JFR_HEADER);
	return 0;
}

/* Have @want bytes of the event in the window if there are. */
static bool move_window(struct jfr_walker *w, uint64_t want)
{
	const struct jfr_chunk *c = w->chunk;
	uint64_t at = w->at + w->pos;
	size_t have = w->len - w->pos;

	if (!c->in_file || have >= want || have >= c->size - at || !w->pos)
		return false;
	fill(w, at);
	return true;
}

/* Read the event's size and type. Return: false where it is none. */
static bool read_event(struct jfr_walker *w, struct jfr_event *e)
{
	const unsigned char *start = w->buf + w->pos;
	size_t len = w->len - w->pos;

	e->at = w->at + w->pos;
	if (!len || (*start == 'F' && jfr_is_header((struct flame_span){ (const char *)start, len })))
		return false;
	e->c = (struct jfr_cursor){ start, start + len, false };
	e->size = jfr_varint(&e->c);
	e->type = jfr_varint(&e->c);
	if (e->c.bad || e->size > w->chunk->size - e->at)
		w->torn = true;
	else if (e->size < (uint64_t)(e->c.p - start))
		w->broken_at = e->at;
	e->partial = e->size > len;
	return !w->torn && !w->broken_at;
}

bool jfr_next(struct jfr_walker *w, struct jfr_event *e)
{
	if (w->len - w->pos < EVENT_HEADER)
		move_window(w, EVENT_HEADER);
	if (!read_event(w, e))
		return false;
	if (e->partial && move_window(w, e->size) && !read_event(w, e))
		return false;
	if (e->partial) {
		e->c.end = e->c.p;
		fill(w, e->at + e->size);
		return true;
	}
	e->room = (size_t)(e->c.end - e->c.p);
	e->c.end = w->buf + w->pos + e->size;
	w->pos += (size_t)e->size;
	return true;
}

/* An event's bytes from the file; they live as long as the chunk. */
static int fetch_from_file(struct jfr_chunk *chunk, uint64_t at, uint64_t size, unsigned char **blob)
{
	size_t done = 0;

	/* @size is no more than what the file has. */
	if (!array_reserve((void **)&chunk->blobs, &chunk->room_blobs, chunk->nr_blobs + 1, sizeof(*chunk->blobs)))
		return FLAME_ENOMEM;
	*blob = malloc((size_t)size);
	if (!*blob)
		return FLAME_ENOMEM;
	chunk->blobs[chunk->nr_blobs++] = *blob;
	while (done < size) {
		ssize_t got = pread(chunk->fd, *blob + done, (size_t)size - done, (off_t)(chunk->base + at + done));

		if (got <= 0)
			return FLAME_EFORMAT;
		done += (size_t)got;
	}
	return 0;
}

int jfr_fetch(struct jfr_chunk *chunk, uint64_t at, uint64_t type, struct jfr_cursor *c)
{
	unsigned char buf[EVENT_HEADER], *start = buf;
	ssize_t got = EVENT_HEADER;
	uint64_t size, header;
	int err;

	if (at < JFR_HEADER || at >= chunk->size)
		return FLAME_EFORMAT;
	if (!chunk->in_file)
		start = chunk->image + at;
	else
		got = pread(chunk->fd, buf, sizeof(buf), (off_t)(chunk->base + at));
	if (got < 0 || (uint64_t)got > chunk->size - at)
		got = got < 0 ? 0 : (ssize_t)(chunk->size - at);
	*c = (struct jfr_cursor){ start, start + got, false };
	size = jfr_varint(c);
	if (jfr_varint(c) != type || c->bad || size > chunk->size - at || size < (uint64_t)(c->p - start))
		return FLAME_EFORMAT;
	header = (uint64_t)(c->p - start);
	err = chunk->in_file ? fetch_from_file(chunk, at, size, &start) : 0;
	*c = (struct jfr_cursor){ start + header, start + size, false };
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * input.c - one buffer between the operating system and the converters.
 */
#define _GNU_SOURCE
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ahead.h"
#include "pages.h"
#include "scan.h"
#include "source.h"
#include "thread.h"

#define BUFFER_SIZE ((size_t)256 << 10)	/* stays in the second-level cache */
#define MAX_LAYERS 3			/* of compression */
#define READ_AT_ONCE ((size_t)1 << 20)
#define MIN_READ 64			/* decoders put at least one character at a time */

static int input_init(struct flame_input *in, int fd, const char *name)
{
	*in = (struct flame_input){ .name = name, .fd = fd, .directory = -1, .limit = UINT64_MAX };
	in->buf = malloc(BUFFER_SIZE);
	in->room = BUFFER_SIZE;
	return in->buf ? 0 : FLAME_ENOMEM;
}

static bool starts_with(struct flame_span s, const char *magic, size_t len)
{
	return s.len >= len && !memcmp(s.s, magic, len);
}

/* Put a decoder between source and buffer; what is buffered goes back to it. */
static int decode(struct flame_input *in, enum flame_encoding encoding)
{
	int err = flame_source_decode(&in->source, encoding, in->buf + in->pos, in->end - in->pos);

	in->pos = in->end = 0;
	in->base = 0;
	in->eof = false;
	return err;
}

static int recognise_encoding(struct flame_input *in)
{
	struct flame_span head = flame_peek(in, 4);
	int err = 0;

	/* A .pprof is compressed by its writer, and then often once more by what stores or sends it. */
	for (int i = 0; !err && i < MAX_LAYERS; i++) {
		if (starts_with(head, "\x1f\x8b", 2))
			err = decode(in, FLAME_GZIP);
		else if (starts_with(head, "\x28\xb5\x2f\xfd", 4))
			err = decode(in, FLAME_ZSTD);
		else
			break;
		if (!err)
			head = flame_peek(in, 4);
	}
	if (err)
		return err;
	if (starts_with(head, "\xff\xfe", 2))
		err = decode(in, FLAME_UTF16LE);
	else if (starts_with(head, "\xfe\xff", 2))
		err = decode(in, FLAME_UTF16BE);
	if (err)
		return err;
	head = flame_peek(in, 4);
	if (starts_with(head, "\xef\xbb\xbf", 3))
		flame_take(in, 3);
	return 0;
}

int flame_input_open_fd(struct flame_input *in, int fd, const char *name)
{
	int err = input_init(in, fd, name);

	if (!err)
		in->source = flame_source_new(fd);
	if (!err && !in->source)
		err = FLAME_ENOMEM;
	if (!err)
		err = recognise_encoding(in);
	if (err)
		flame_input_close(in);
	return err;
}

int flame_input_open(struct flame_input *in, const char *path)
{
	bool standard = !strcmp(path, "-");
	int fd, err;

	*in = (struct flame_input){ .fd = -1, .directory = -1 };
	fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return FLAME_EIO;
	err = flame_input_open_fd(in, fd, standard ? "standard input" : path);
	if (err)
		close(fd);
	return err;
}

int flame_input_open_slice(struct flame_input *in, const struct flame_input *whole, uint64_t from, uint64_t to)
{
	int err = input_init(in, whole->fd, whole->name);

	in->progress = whole->progress;
	in->base = from;
	in->limit = to;
	in->slice = true;
	return err;
}

int flame_input_decode_ahead(struct flame_input *in)
{
	return in->source && flame_source_is_decoded(in->source) ? flame_source_read_ahead(&in->source) : 0;
}

void flame_input_read_ahead(struct flame_input *in)
{
	if (in->slice && !in->ahead)
		in->ahead = flame_ahead_new(in->fd, in->base + in->end, in->limit);
}

void flame_input_close(struct flame_input *in)
{
	if (!in->ahead_owns)
		free(in->buf);
	flame_ahead_free(in->ahead);
	flame_source_free(in->source);
	*in = (struct flame_input){ .fd = -1, .directory = -1 };
}

bool flame_input_can_slice(const struct flame_input *in, uint64_t *size)
{
	struct stat st;

	if (!in->source || !flame_source_is_plain(in->source) || fstat(in->fd, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

int flame_input_fd(const struct flame_input *in)
{
	return in->slice ? in->fd : -1;
}

/* Go on in a buffer of one's own, with room for @want bytes. Return: false without memory. */
static bool stop_ahead(struct flame_input *in, size_t want)
{
	size_t left = in->end - in->pos, room = want > BUFFER_SIZE ? want : BUFFER_SIZE;
	char *buf;

	if (in->ahead_owns) {
		if (room < left + MIN_READ)
			room = left + MIN_READ;
		buf = malloc(room);
		if (!buf)
			return false;
		memcpy(buf, in->buf + in->pos, left);
		in->buf = buf;
		in->room = room;
		in->base += in->pos;
		in->pos = 0;
		in->end = left;
	}
	in->ahead_owns = false;
	flame_ahead_free(in->ahead);
	in->ahead = NULL;
	return true;
}

void flame_input_seek(struct flame_input *in, uint64_t offset)
{
	if (in->ahead && !stop_ahead(in, 0)) {
		in->eof = true;
		in->error = FLAME_ENOMEM;
		return;
	}
	in->base = offset;
	in->pos = in->end = 0;
	in->eof = false;
}

static uint64_t count_lines(const char *s, size_t len)
{
	return scan_count(s, len, '\n');
}

/* Move the view to the buffer's start. Pipes count lines here: they cannot be read again for it. */
static void compact(struct flame_input *in)
{
	if (!in->pos)
		return;
	if (in->source && !flame_source_is_plain(in->source))
		in->lines += count_lines(in->buf, in->pos);
	in->behind_line = in->buf[in->pos - 1] == '\n';
	memmove(in->buf, in->buf + in->pos, in->end - in->pos);
	in->base += in->pos;
	in->end -= in->pos;
	in->pos = 0;
}

static ssize_t read_slice(struct flame_input *in)
{
	uint64_t at = in->base + in->end;
	size_t n = in->room - in->end;
	ssize_t got;

	if (at >= in->limit)
		return 0;
	if (n > in->limit - at)
		n = (size_t)(in->limit - at);
	do {
		got = pread(in->fd, in->buf + in->end, n, (off_t)at);
	} while (got < 0 && errno == EINTR);
	return got;
}

static void filled(struct flame_input *in, ssize_t got)
{
	if (got > 0) {
		in->end += (size_t)got;
		if (in->progress)
			__atomic_fetch_add(in->progress, (uint64_t)got, __ATOMIC_RELAXED);
		return;
	}
	in->eof = true;
	if (got < 0) {
		in->error = in->slice ? FLAME_EIO : flame_source_error(in->source, &in->damage);
		in->os_error = errno;
	}
}

static void fill(struct flame_input *in)
{
	filled(in, in->slice ? read_slice(in) :
			       flame_source_read(in->source, in->buf + in->end, in->room - in->end));
}

/* The piece that was read ahead takes the place of the buffer, with what is left of that in front. */
static void take_piece(struct flame_input *in)
{
	size_t left = in->end - in->pos;
	uint64_t offset = in->base + in->end;
	char *front;
	ssize_t got = flame_ahead_next(in->ahead, &front);

	if (got > 0) {
		memcpy(front + FLAME_AHEAD_FRONT - left, in->buf + in->pos, left);
		if (!in->ahead_owns)
			free(in->buf);
		in->ahead_owns = true;
		in->buf = front + FLAME_AHEAD_FRONT - left;
		in->pos = 0;
		in->end = left;
		in->base = offset - left;
	}
	filled(in, got);
}

static bool grow(struct flame_input *in)
{
	char *buf = in->room < FLAME_VIEW_MAX ? realloc(in->buf, in->room * 2) : NULL;

	if (!buf)
		return false;
	in->buf = buf;
	in->room *= 2;
	return true;
}

struct flame_span flame_peek(struct flame_input *in, size_t want)
{
	while (in->end - in->pos < want && !in->eof) {
		if (in->ahead && in->end - in->pos <= FLAME_AHEAD_FRONT) {
			take_piece(in);
			continue;
		}
		if (in->ahead && !stop_ahead(in, want < FLAME_VIEW_MAX ? want : FLAME_VIEW_MAX))
			break;
		compact(in);
		if (in->room - in->end < MIN_READ && !grow(in))
			break;
		fill(in);
	}
	return (struct flame_span){ in->buf + in->pos, in->end - in->pos };
}

/* A part of a file that is read at once. */
struct part {
	int fd;
	char *to;
	uint64_t from;
	size_t want, got;
	int os_error;
};

static void *read_part(void *arg)
{
	struct part *part = arg;

	while (part->got < part->want) {
		size_t n = part->want - part->got < READ_AT_ONCE ? part->want - part->got : READ_AT_ONCE;
		ssize_t got = pread(part->fd, part->to + part->got, n, (off_t)(part->from + part->got));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			part->os_error = errno;
		if (got <= 0)
			break;
		part->got += (size_t)got;
	}
	return NULL;
}

bool flame_input_take_all(struct flame_input *in, bool threaded, char **bytes, size_t *len)
{
	size_t have = in->end - in->pos, half;
	uint64_t size, at = in->base + in->end;
	struct part first, second;
	char *all;

	if (in->eof || !flame_input_can_slice(in, &size) || size < at || size - at > SIZE_MAX / 2 - have)
		return false;
	all = malloc(have + (size_t)(size - at) + 1);
	if (!all)
		return false;
	flame_pages_advise(all, have + (size_t)(size - at));
	memcpy(all, in->buf + in->pos, have);
	half = threaded ? (size_t)(size - at) / 2 : 0;
	first = (struct part){ .fd = in->fd, .to = all + have, .from = at, .want = (size_t)(size - at) - half };
	second = (struct part){ .fd = in->fd, .to = first.to + first.want, .from = at + first.want, .want = half };
	if (half)
		flame_thread_both(read_part, &first, &second);
	else
		read_part(&first);
	*bytes = all;
	*len = have + first.got + (first.got == first.want ? second.got : 0);
	in->base += in->pos;
	in->pos = in->end = 0;
	in->eof = true;
	if (in->progress)
		__atomic_fetch_add(in->progress, *len - have, __ATOMIC_RELAXED);
	if (first.os_error || second.os_error) {
		in->error = FLAME_EIO;
		in->os_error = first.os_error ? first.os_error : second.os_error;
	}
	return true;
}

int flame_unread(struct flame_input *in, const char *bytes, size_t len)
{
	size_t left = in->end - in->pos;

	if (in->ahead && !stop_ahead(in, 0))
		return FLAME_ENOMEM;
	if (len > in->pos) {
		if (in->room < len + left + MIN_READ) {
			char *buf = realloc(in->buf, len + left + MIN_READ);

			if (!buf)
				return FLAME_ENOMEM;
			in->buf = buf;
			in->room = len + left + MIN_READ;
		}
		memmove(in->buf + len, in->buf + in->pos, left);
		in->base = in->base + in->pos - len;
		in->pos = len;
		in->end = len + left;
	}
	in->pos -= len;
	memcpy(in->buf + in->pos, bytes, len);
	return 0;
}

/* Step over what is left of a line that is longer than any view. */
static void skip_long_line(struct flame_input *in)
{
	if (!in->nr_long++)
		in->long_line = flame_input_line_nr(in) + (in->base + in->pos > 0);
	for (;;) {
		char *nl = memchr(in->buf + in->pos, '\n', in->end - in->pos);

		in->pos = nl ? (size_t)(nl - in->buf) + 1 : in->end;
		if (nl || !flame_peek(in, 1).len)
			return;
	}
}

bool flame_line(struct flame_input *in, struct flame_span *line)
{
	size_t seen = 0;

	for (;;) {
		size_t len = in->end - in->pos;
		char *nl = memchr(in->buf + in->pos + seen, '\n', len - seen);

		if (!nl && !in->eof) {
			seen = len;
			if (flame_peek(in, len + 1).len == len && !in->eof) {
				skip_long_line(in);
				seen = 0;
			}
			continue;
		}
		/* Where the input is cut off, so is its last line: half a number is a wrong number. */
		if (!nl && (!len || in->error))
			return false;
		*line = (struct flame_span){ in->buf + in->pos, nl ? (size_t)(nl - in->buf) - in->pos : len };
		in->pos += line->len + (nl != NULL);
		if (line->len && line->s[line->len - 1] == '\r')
			line->len--;
		return true;
	}
}

/* A plain file can be read again for its line numbers, which then cost nothing until a message needs one. */
static uint64_t count_file_lines(const struct flame_input *in, uint64_t to)
{
	char buf[1 << 14];
	uint64_t nr = 0, at = 0;

	while (at < to) {
		size_t want = to - at < sizeof(buf) ? (size_t)(to - at) : sizeof(buf);
		ssize_t got = pread(in->fd, buf, want, (off_t)at);

		if (got <= 0)
			break;
		nr += count_lines(buf, (size_t)got);
		at += (uint64_t)got;
	}
	return nr;
}

uint64_t flame_input_line_nr(const struct flame_input *in)
{
	uint64_t size, before = in->base + in->pos;

	if (in->binary)
		return 0;
	if (in->slice || flame_input_can_slice(in, &size))
		return count_file_lines(in, before ? before - 1 : 0) + 1;
	if (!in->pos)
		return in->lines + !in->behind_line;
	return in->lines + count_lines(in->buf, in->pos - 1) + 1;
}

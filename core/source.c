/* SPDX-License-Identifier: MIT */
/*
 * source.c - reading bytes and decoding them. gzip: RFC 1952 through zlib, any number of members;
 * zstd: RFC 8878 through libzstd, any number of frames; UTF-16 with a byte order mark.
 */
#include "source.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "decoding.h"
#include "flame.h"
#include "unzstd.h"
#include "utf8.h"

#define CHUNK ((size_t)128 << 10)
#define ALONE ((uint64_t)1 << 20)	/* bytes that are read before a thread is worth it */
#define BYTE_ORDER_MARK 0xfeff

struct flame_source {
	enum flame_encoding encoding;
	int fd;
	bool regular;
	struct flame_source *below;	/* owned; NULL for a file descriptor */
	unsigned char *in;		/* bytes from below, not decoded yet: in[pos .. end) */
	size_t pos, end, room;
	z_stream gz;
	struct flame_zstd *zstd;
	bool done;			/* between gzip members or zstd frames */
	uint32_t pending;		/* UTF-16: a high surrogate, or 0 */
	uint64_t nr_alone;		/* read ahead: bytes that went by before */
	bool alone;			/* and there is no thread to be had */
	struct flame_decoding *decoding;
	int stop;			/* what makes a read of fd that waits return; -1: nobody reads ahead */
	const char *damage;
};

struct flame_source *flame_source_new(int fd)
{
	struct flame_source *s = calloc(1, sizeof(*s));
	struct stat st;

	if (!s)
		return NULL;
	s->fd = fd;
	s->stop = -1;
	s->regular = !fstat(fd, &st) && S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0;
	return s;
}

static struct flame_source *lowest(struct flame_source *s)
{
	while (s->below)
		s = s->below;
	return s;
}

static void stop_decoding(struct flame_source *s)
{
	int stop = lowest(s)->stop;

	if (s->decoding && stop >= 0)
		eventfd_write(stop, 1);
	flame_decoding_stop(s->decoding);
}

void flame_source_free(struct flame_source *s)
{
	if (!s)
		return;
	stop_decoding(s);
	if (s->stop >= 0)
		close(s->stop);
	flame_source_free(s->below);
	if (s->encoding == FLAME_GZIP)
		inflateEnd(&s->gz);
	flame_zstd_free(s->zstd);
	free(s->in);
	free(s);
}

static int start_decoder(struct flame_source *s)
{
	if (s->encoding == FLAME_GZIP)
		return inflateInit2(&s->gz, 15 + 16) == Z_OK ? 0 : FLAME_ENOMEM;
	if (s->encoding == FLAME_ZSTD) {
		s->zstd = flame_zstd_new();
		return s->zstd ? 0 : flame_zstd_available() ? FLAME_ENOMEM : FLAME_EARG;
	}
	return 0;
}

int flame_source_decode(struct flame_source **source, enum flame_encoding encoding, const char *head, size_t len)
{
	struct flame_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return FLAME_ENOMEM;
	s->room = len > CHUNK ? len : CHUNK;
	s->in = malloc(s->room);
	if (!s->in) {
		free(s);
		return FLAME_ENOMEM;
	}
	memcpy(s->in, head, len);
	s->end = len;
	s->stop = -1;
	s->encoding = encoding;
	err = start_decoder(s);
	if (err) {
		s->encoding = FLAME_PLAIN;
		flame_source_free(s);
		return err;
	}
	s->below = *source;
	*source = s;
	return 0;
}

int flame_source_read_ahead(struct flame_source **source)
{
	struct flame_source *s = calloc(1, sizeof(*s));

	if (!s)
		return FLAME_ENOMEM;
	s->encoding = FLAME_AHEAD;
	s->stop = -1;
	s->below = *source;
	*source = s;
	return 0;
}

bool flame_source_is_decoded(const struct flame_source *s)
{
	return s->below;
}

bool flame_source_is_plain(const struct flame_source *s)
{
	return !s->below && s->regular;
}

int flame_source_error(const struct flame_source *s, const char **damage)
{
	for (; s; s = s->below) {
		if (s->damage) {
			*damage = s->damage;
			return FLAME_EDAMAGED;
		}
	}
	return FLAME_EIO;
}

/* More bytes behind in[end), moved to the start first. Return: as read(2). */
static ssize_t refill(struct flame_source *s)
{
	ssize_t got;

	memmove(s->in, s->in + s->pos, s->end - s->pos);
	s->end -= s->pos;
	s->pos = 0;
	got = flame_source_read(s->below, (char *)s->in + s->end, s->room - s->end);
	if (got > 0)
		s->end += (size_t)got;
	return got;
}

static ssize_t damaged(struct flame_source *s, const char *what)
{
	s->damage = what;
	return -1;
}

/* Behind a member may come another one, or zeros that fill a block. Anything else is not ours to drop. */
static ssize_t next_member(struct flame_source *s)
{
	ssize_t got = 1;

	while (s->pos < s->end && !s->in[s->pos])
		s->pos++;
	while (s->end - s->pos < 2 && got > 0) {
		got = refill(s);
		while (s->pos < s->end && !s->in[s->pos])
			s->pos++;
	}
	if (got < 0 || s->pos == s->end)
		return got < 0 ? -1 : 0;
	if (s->end - s->pos < 2 || s->in[s->pos] != 0x1f || s->in[s->pos + 1] != 0x8b)
		return damaged(s, "behind the gzip data comes something else");
	s->done = false;
	inflateReset(&s->gz);
	return 1;
}

static ssize_t read_gzip(struct flame_source *s, char *to, size_t room)
{
	for (;;) {
		ssize_t more = 1;
		int ret;

		if (s->done && (more = next_member(s)) <= 0)
			return more;
		if (s->pos == s->end && (more = refill(s)) <= 0)
			return more ? more : damaged(s, "the gzip data ends in the middle");
		s->gz.next_in = s->in + s->pos;
		s->gz.avail_in = (uInt)(s->end - s->pos);
		s->gz.next_out = (Bytef *)to;
		s->gz.avail_out = (uInt)room;
		ret = inflate(&s->gz, Z_NO_FLUSH);
		s->pos = s->end - s->gz.avail_in;
		s->done = ret == Z_STREAM_END;
		if (room != s->gz.avail_out)
			return (ssize_t)(room - s->gz.avail_out);
		if (ret != Z_OK && ret != Z_STREAM_END && ret != Z_BUF_ERROR)
			return damaged(s, "the gzip data is corrupt");
	}
}

static ssize_t read_zstd(struct flame_source *s, char *to, size_t room)
{
	for (;;) {
		struct flame_zstd_step step = { .in = s->in, .in_len = s->end, .in_pos = s->pos, .out = to, .out_room = room };

		if (s->pos == s->end) {
			ssize_t more = refill(s);

			if (more <= 0)
				return more || s->done ? more : damaged(s, "the zstd data ends in the middle");
			continue;
		}
		if (!flame_zstd_decode(s->zstd, &step))
			return damaged(s, "the zstd data is corrupt");
		s->pos = step.in_pos;
		s->done = flame_zstd_is_whole(s->zstd);
		if (step.out_len)
			return (ssize_t)step.out_len;
	}
}

static ssize_t read_utf16(struct flame_source *s, char *to, size_t room)
{
	size_t n = 0;

	while (!n) {
		if (s->end - s->pos < 2) {
			ssize_t more = refill(s);

			if (more <= 0)
				return more;
			continue;
		}
		while (s->end - s->pos >= 2 && room - n >= UTF16_UNIT_BYTES) {
			unsigned char a = s->in[s->pos], b = s->in[s->pos + 1];

			uint32_t unit = s->encoding == FLAME_UTF16LE ? a | (uint32_t)b << 8 : b | (uint32_t)a << 8;

			n += unit == BYTE_ORDER_MARK ? utf16_end(&s->pending, to + n) : utf16_put(&s->pending, to + n, unit);
			s->pos += 2;
		}
	}
	return (ssize_t)n;
}

/* Wait for bytes, but no longer than they are wanted. */
static bool wait_fd(const struct flame_source *s)
{
	struct pollfd fds[2] = { { .fd = s->fd, .events = POLLIN }, { .fd = s->stop, .events = POLLIN } };

	while (poll(fds, 2, -1) < 0) {
		if (errno != EINTR)
			return true;
	}
	return !fds[1].revents;
}

static ssize_t read_fd(struct flame_source *s, char *to, size_t room)
{
	ssize_t got;

	if (s->stop >= 0 && !s->regular && !wait_fd(s))
		return 0;
	do {
		got = read(s->fd, to, room);
	} while (got < 0 && errno == EINTR);
	return got;
}

static ssize_t read_ahead(struct flame_source *s, char *to, size_t room)
{
	struct flame_source *bottom = lowest(s);
	ssize_t got;

	if (!s->decoding && !s->alone && s->nr_alone >= ALONE) {
		bottom->stop = eventfd(0, EFD_CLOEXEC);
		if (bottom->stop >= 0 || bottom->regular)
			s->decoding = flame_decoding_start(s->below);
		s->alone = !s->decoding;
	}
	if (s->decoding)
		return flame_decoding_read(s->decoding, to, room);
	got = flame_source_read(s->below, to, room);
	s->nr_alone += got > 0 ? (uint64_t)got : 0;
	return got;
}

ssize_t flame_source_read(struct flame_source *s, char *to, size_t room)
{
	switch (s->encoding) {
	case FLAME_GZIP:
		return read_gzip(s, to, room);
	case FLAME_ZSTD:
		return read_zstd(s, to, room);
	case FLAME_UTF16LE:
	case FLAME_UTF16BE:
		return read_utf16(s, to, room);
	case FLAME_AHEAD:
		return read_ahead(s, to, room);
	default:
		return read_fd(s, to, room);
	}
}

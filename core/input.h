/* SPDX-License-Identifier: MIT */
#ifndef FLAME_INPUT_H
#define FLAME_INPUT_H
/*
 * Bytes of a file, pipe or slice of a file; gzip, zstd and UTF-16 are decoded on the way. Memory
 * stays bounded: a view of more than FLAME_VIEW_MAX bytes is refused.
 */
#include "flame.h"

#define FLAME_VIEW_MAX ((size_t)16 << 20)	/* longest line or record: 16 MiB */
#define FLAME_HEAD_SIZE ((size_t)64 << 10)	/* what probes see */
#define FLAME_HEAD_MAX ((size_t)1 << 20)	/* the same, where they knew nothing by that */

struct flame_input {
	const char *name;	/* for messages; borrowed */
	char *buf;		/* owned; the view is buf[pos .. end) */
	size_t pos, end, room;
	uint64_t base;		/* offset of buf[0] in the decoded input */
	uint64_t lines;		/* newlines before buf[0]; not counted in slices and plain files */
	bool behind_line;	/* the byte before buf[0] is a newline */
	uint64_t limit;		/* of a slice: offset of its end; else UINT64_MAX */
	uint64_t nr_long;	/* lines left out because they were longer than FLAME_VIEW_MAX */
	uint64_t long_line;	/* the number of the first of them */
	struct flame_source *source;	/* owned; NULL in slices */
	struct flame_ahead *ahead;	/* owned; NULL: nobody reads ahead */
	bool ahead_owns;	/* buf is a piece of it */
	int fd;
	int directory;		/* that the file stands for; -1: none. Borrowed */
	bool eof;
	bool slice;
	bool binary;		/* set by a converter: there are no lines to be named in messages */
	uint64_t *progress;	/* bytes read are added to it; borrowed, shared by slices; NULL: nobody asks */
	int error;		/* FLAME_EIO, FLAME_EDAMAGED: the input ended early */
	int os_error;		/* errno of FLAME_EIO */
	const char *damage;	/* what is wrong with a damaged input */
};

/* Open @path ("-": standard input). Return: 0, FLAME_EIO with errno, FLAME_ENOMEM. */
int flame_input_open(struct flame_input *in, const char *path);
/* Read from @fd, which stays the caller's; @name is for messages. */
int flame_input_open_fd(struct flame_input *in, int fd, const char *name);
/* Bytes @from .. @to of the plain file that @whole has open and that must stay open. */
int flame_input_open_slice(struct flame_input *in, const struct flame_input *whole, uint64_t from, uint64_t to);
/* Of a slice: from here on a thread reads what comes next while the view is used, if there is one to be had. */
void flame_input_read_ahead(struct flame_input *in);
void flame_input_close(struct flame_input *in);
/* From here on a thread decodes ahead, where there is something to decode. Return: 0 or FLAME_ENOMEM. */
int flame_input_decode_ahead(struct flame_input *in);
/* Return: true where slices can be opened, with the file's size in *@size. */
bool flame_input_can_slice(const struct flame_input *in, uint64_t *size);

/*
 * Of a slice of a plain file: bytes can be read anywhere in it, too.
 * Return: what pread(2) reads from; -1 where the input can only be read on.
 */
int flame_input_fd(const struct flame_input *in);
/* Of such a slice: go on at @offset of the file. */
void flame_input_seek(struct flame_input *in, uint64_t offset);

/*
 * Have at least @want bytes in the view, fewer only at the end or beyond FLAME_VIEW_MAX.
 * Return: the view; valid until the next call.
 */
struct flame_span flame_peek(struct flame_input *in, size_t want);
/* Step over @n bytes of the view. */
static inline void flame_take(struct flame_input *in, size_t n)
{
	in->pos += n;
}
/*
 * Take all that is left of a plain file at once, read by two threads if @threaded; *@bytes is the caller's to free. There
 * is nothing in the view then, and the next function tells the input where in the file one is.
 * Return: false where that cannot be done; the input is as it was then.
 */
bool flame_input_take_all(struct flame_input *in, bool threaded, char **bytes, size_t *len);
/* Of what was taken so, @n more bytes have been used. */
static inline void flame_input_used(struct flame_input *in, size_t n)
{
	in->base += n;
}
/*
 * Put @len bytes back that were taken last, however long ago they left the view.
 * Return: 0 or FLAME_ENOMEM.
 */
int flame_unread(struct flame_input *in, const char *bytes, size_t len);
/*
 * The next line without its end ("\n" or "\r\n"), valid until the next call. The last line needs
 * no end, unless the input is damaged there: then it is left out. Lines beyond FLAME_VIEW_MAX are stepped over and counted in nr_long.
 * Return: true for a line, false at the end or after in->error.
 */
bool flame_line(struct flame_input *in, struct flame_span *line);

/* Return: whether all was read, and the last byte ends no line: where each line has an end the input is cut off. */
static inline bool flame_input_ends_in_line(const struct flame_input *in)
{
	return !in->error && in->pos && in->pos == in->end && in->buf[in->pos - 1] != '\n';
}

/* Where the view starts. */
static inline uint64_t flame_input_offset(const struct flame_input *in)
{
	return in->base + in->pos;
}
/* Return: the number (from 1) of the line that holds the byte before the view, or the first; 0 in binary input. */
uint64_t flame_input_line_nr(const struct flame_input *in);

#endif

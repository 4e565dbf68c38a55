/* SPDX-License-Identifier: MIT */
#ifndef FLAME_OUT_H
#define FLAME_OUT_H
/* A buffer for what is written: on its way to a file, or all in memory. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FLAME_OUT_BUFFER 65536

struct flame_out {
	FILE *file;		/* not owned; NULL: all stays in the buffer */
	char *buf;		/* owned */
	size_t nr, room;
	bool failed;		/* something is missing for want of memory */
};

/* Return: false without memory. Release it in either case. */
bool flame_out_init(struct flame_out *out, FILE *file);
void flame_out_release(struct flame_out *out);
/* To the file. An error sticks to the stream; who writes asks for it once, at the end. */
void flame_out_flush(struct flame_out *out);
/* Empty what is all in memory; a large buffer becomes a small one. */
void flame_out_clear(struct flame_out *out);
void flame_out_make_room(struct flame_out *out, size_t nr);
void flame_out_bytes(struct flame_out *out, const char *s, size_t len);

/* Return: where the next @nr bytes go, FLAME_OUT_BUFFER at most; what was written there is told to flame_out_took(). */
static inline char *flame_out_reserve(struct flame_out *out, size_t nr)
{
	if (nr > out->room - out->nr)
		flame_out_make_room(out, nr);
	return out->buf + out->nr;
}

static inline void flame_out_took(struct flame_out *out, const char *end)
{
	out->nr = (size_t)(end - out->buf);
}

static inline void flame_out_string(struct flame_out *out, const char *s)
{
	flame_out_bytes(out, s, strlen(s));
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SOURCE_H
#define FLAME_SOURCE_H
/* Where bytes come from: a file descriptor, or a decoder on top of another source. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum flame_encoding {
	FLAME_PLAIN,
	FLAME_GZIP,
	FLAME_ZSTD,
	FLAME_UTF16LE,
	FLAME_UTF16BE,
	FLAME_AHEAD,	/* no encoding: a thread reads ahead */
};

struct flame_source;

/* Read from @fd, which stays the caller's. Return: NULL without memory. */
struct flame_source *flame_source_new(int fd);
void flame_source_free(struct flame_source *source);
/*
 * Put a decoder on top of *@source. @head are bytes that were already read from it.
 * Return: 0, FLAME_ENOMEM, or FLAME_EARG where this build lacks the decoder; *@source stays to be freed.
 */
int flame_source_decode(struct flame_source **source, enum flame_encoding encoding, const char *head, size_t len);
/*
 * From now on, when enough was read to make it worth it, a thread reads and decodes ahead of flame_source_read().
 * Return: 0 or FLAME_ENOMEM.
 */
int flame_source_read_ahead(struct flame_source **source);
/* Return: bytes read, 0 at the end, -1 for an error. */
ssize_t flame_source_read(struct flame_source *source, char *to, size_t room);
/* After -1. Return: FLAME_EIO with errno, or FLAME_EDAMAGED with what is wrong in *@damage. */
int flame_source_error(const struct flame_source *source, const char **damage);
/* Return: true where there is a decoder. */
bool flame_source_is_decoded(const struct flame_source *source);
/* Return: true where the bytes are those of a file, one to one. */
bool flame_source_is_plain(const struct flame_source *source);

#endif

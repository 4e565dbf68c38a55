/* SPDX-License-Identifier: MIT */
#ifndef FLAME_UNZSTD_H
#define FLAME_UNZSTD_H
/* zstd data (RFC 8878), any number of frames, a piece at a time. The only user of libzstd. */
#include <stdbool.h>
#include <stddef.h>

struct flame_zstd;

/* Return: whether this build can decode at all. */
bool flame_zstd_available(void);
/* Return: a decoder at the start of a frame; NULL without memory or without libzstd. */
struct flame_zstd *flame_zstd_new(void);
/* @z may be NULL. */
void flame_zstd_free(struct flame_zstd *z);

struct flame_zstd_step {
	const void *in;
	size_t in_len, in_pos;	/* in_pos moves over what was used */
	void *out;
	size_t out_room, out_len;	/* out_len is set */
};

/*
 * Decode some: call again until the input is used up and the output was not filled.
 * Return: false where the data is corrupt; the decoder is then of no use.
 */
bool flame_zstd_decode(struct flame_zstd *z, struct flame_zstd_step *step);
/* Return: true between frames. */
bool flame_zstd_is_whole(const struct flame_zstd *z);

#endif

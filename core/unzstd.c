/* SPDX-License-Identifier: MIT */
/*
 * unzstd.c - libzstd's stream decoder, or nothing where the build lacks it.
 */
#include "unzstd.h"

#include <stdlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>

struct flame_zstd {
	ZSTD_DStream *stream;
	bool whole;
};

bool flame_zstd_available(void)
{
	return true;
}

struct flame_zstd *flame_zstd_new(void)
{
	struct flame_zstd *z = calloc(1, sizeof(*z));

	if (z)
		z->stream = ZSTD_createDStream();
	if (z && !z->stream) {
		free(z);
		return NULL;
	}
	return z;
}

void flame_zstd_free(struct flame_zstd *z)
{
	if (z)
		ZSTD_freeDStream(z->stream);
	free(z);
}

bool flame_zstd_decode(struct flame_zstd *z, struct flame_zstd_step *step)
{
	ZSTD_outBuffer out = { step->out, step->out_room, 0 };
	ZSTD_inBuffer in = { step->in, step->in_len, step->in_pos };
	size_t ret = ZSTD_decompressStream(z->stream, &out, &in);

	if (ZSTD_isError(ret))
		return false;
	z->whole = !ret;
	step->in_pos = in.pos;
	step->out_len = out.pos;
	return true;
}

bool flame_zstd_is_whole(const struct flame_zstd *z)
{
	return z->whole;
}
#else
bool flame_zstd_available(void)
{
	return false;
}

struct flame_zstd *flame_zstd_new(void)
{
	return NULL;
}

void flame_zstd_free(struct flame_zstd *z)
{
	(void)z;
}

bool flame_zstd_decode(struct flame_zstd *z, struct flame_zstd_step *step)
{
	(void)z;
	(void)step;
	return false;
}

bool flame_zstd_is_whole(const struct flame_zstd *z)
{
	(void)z;
	return true;
}
#endif

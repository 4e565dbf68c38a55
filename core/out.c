/* SPDX-License-Identifier: MIT */
#include "out.h"

#include <stdint.h>
#include <stdlib.h>

#define BUFFER_KEPT ((size_t)512 << 10)

bool flame_out_init(struct flame_out *out, FILE *file)
{
	*out = (struct flame_out){ .file = file, .buf = malloc(FLAME_OUT_BUFFER) };
	out->room = out->buf ? FLAME_OUT_BUFFER : 0;
	return out->buf;
}

void flame_out_release(struct flame_out *out)
{
	free(out->buf);
	*out = (struct flame_out){ 0 };
}

void flame_out_flush(struct flame_out *out)
{
	fwrite(out->buf, 1, out->nr, out->file);
	out->nr = 0;
}

void flame_out_clear(struct flame_out *out)
{
	char *smaller = out->room > BUFFER_KEPT ? realloc(out->buf, FLAME_OUT_BUFFER) : NULL;

	if (smaller) {
		out->buf = smaller;
		out->room = FLAME_OUT_BUFFER;
	}
	out->nr = 0;
}

void flame_out_make_room(struct flame_out *out, size_t nr)
{
	char *larger;

	if (out->file) {
		flame_out_flush(out);
		return;
	}
	larger = out->room > SIZE_MAX / 2 ? NULL : realloc(out->buf, out->room * 2);
	if (larger) {
		out->buf = larger;
		out->room *= 2;
	}
	if (nr > out->room - out->nr) {
		out->failed = true;
		out->nr = 0;
	}
}

void flame_out_bytes(struct flame_out *out, const char *s, size_t len)
{
	while (len) {
		size_t n = len < FLAME_OUT_BUFFER ? len : FLAME_OUT_BUFFER;

		memcpy(flame_out_reserve(out, n), s, n);
		out->nr += n;
		s += n;
		len -= n;
	}
}

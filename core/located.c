/* SPDX-License-Identifier: MIT */
/*
 * located.c - values that stand for the frames of places.
 */
#include "located.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

#define MANY_FRAMES 0x80000000u	/* a value that is an index in many: a count and that many frames */

uint32_t *flame_located_value(struct flame_located_symbols *symbols, uint32_t row)
{
	size_t nr = (size_t)row + 1;

	if (nr > symbols->nr_values) {
		if (!array_reserve((void **)&symbols->values, &symbols->room_values, nr, sizeof(*symbols->values)))
			return NULL;
		memset(symbols->values + symbols->nr_values, 0, (nr - symbols->nr_values) * sizeof(*symbols->values));
		symbols->nr_values = nr;
	}
	return &symbols->values[row];
}

void flame_located_symbols_release(struct flame_located_symbols *symbols)
{
	flame_symbols_free(symbols->s);
	free(symbols->values);
	*symbols = (struct flame_located_symbols){ 0 };
}

uint32_t flame_located_put(struct flame_located_frames *l, const flame_frame *frames, size_t nr)
{
	size_t at = l->nr;

	if (nr <= 1)
		return nr ? frames[0] : 0;
	if (at + nr >= MANY_FRAMES || !array_reserve((void **)&l->many, &l->room, at + nr + 1, sizeof(*l->many)))
		return 0;
	l->many[at] = (flame_frame)nr;
	memcpy(l->many + at + 1, frames, nr * sizeof(*frames));
	l->nr += nr + 1;
	return MANY_FRAMES | (uint32_t)at;
}

const flame_frame *flame_located_get(const struct flame_located_frames *l, const uint32_t *value, size_t *nr)
{
	const flame_frame *many;

	if (!(*value & MANY_FRAMES)) {
		*nr = *value != 0;
		return value;
	}
	many = &l->many[*value & ~MANY_FRAMES];
	*nr = many[0];
	return many + 1;
}

void flame_located_frames_release(struct flame_located_frames *l)
{
	free(l->many);
	*l = (struct flame_located_frames){ 0 };
}

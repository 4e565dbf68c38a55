/* SPDX-License-Identifier: MIT */
#ifndef FLAME_LOCATED_H
#define FLAME_LOCATED_H
/*
 * located.h - the frames of places that symbols tell of, made once. A value stands for them, as most places have just
 * one frame. Zero initialised all of it is empty.
 */
#include "native.h"
#include "symbol.h"

struct flame_located_symbols {
	struct flame_symbols *s;	/* owned; NULL: not made yet */
	uint32_t *values;		/* by location's row; 0: not made yet */
	size_t nr_values, room_values;
};

/* Return: where the value of the location @row is; NULL without memory. Valid until the next call. */
uint32_t *flame_located_value(struct flame_located_symbols *symbols, uint32_t row);
void flame_located_symbols_release(struct flame_located_symbols *symbols);

/* What values with several frames stand for. */
struct flame_located_frames {
	flame_frame *many;
	size_t nr, room;
};

/* Return: a value that stands for @nr frames; 0 for none, and without memory. */
uint32_t flame_located_put(struct flame_located_frames *l, const flame_frame *frames, size_t nr);
/* Return: the *@nr frames that *@value stands for, none for 0; valid until it changes, and until the next put. */
const flame_frame *flame_located_get(const struct flame_located_frames *l, const uint32_t *value, size_t *nr);
void flame_located_frames_release(struct flame_located_frames *l);

#endif

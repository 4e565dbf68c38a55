/* SPDX-License-Identifier: MIT */
#ifndef FLAME_NAMER_H
#define FLAME_NAMER_H
/*
 * namer.h - frames made of the names that a text prints, with what the options want behind them, and value types made of
 * words. Most text formats need just this, and it is the same for all of them.
 */
#include "converter.h"

/* Zero initialised; one a reader, as it holds the buffer that names are written in. */
struct flame_namer {
	char *buf;	/* owned */
	size_t room;
};

/* Return: room for @len bytes, valid until the next call; NULL without memory. */
char *flame_namer_room(struct flame_namer *n, size_t len);
/*
 * @name becomes safe for folded text; an empty one is "[unknown]". --lines puts @info's line behind it,
 * --srcline file and line. @name may lie in the namer's room. @info: what else is known of the frame; its name
 * is set. Return: the frame; 0 after a failure.
 */
flame_frame flame_namer_frame(struct flame_namer *n, struct flame_reader *rd, struct flame_span name,
			      struct flame_frame_info *info);
/* The same with "@module@separator" before the name, under --simple-names without; that is @info's module too. */
flame_frame flame_namer_member(struct flame_namer *n, struct flame_reader *rd, struct flame_span module, char separator,
			       struct flame_span name, struct flame_frame_info *info);
#define FLAME_UNKNOWN_EXTRA 16	/* bytes beside module and address */
/*
 * What code without a name is called: "[module]", with an address "[module <address>]"; a module of no bytes is
 * unknown. Return: the length of what was written.
 */
size_t flame_unknown_name(char *to, struct flame_span module, struct flame_span address);
/* Return: the row of the value type; strings are interned. */
flame_type flame_namer_type(struct flame_profile *p, const char *name, const char *unit, enum flame_value_kind kind);
void flame_namer_release(struct flame_namer *n);

#endif

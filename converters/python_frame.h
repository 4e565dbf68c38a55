/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PYTHON_FRAME_H
#define FLAME_PYTHON_FRAME_H
/* Python functions, as py-spy and austin tell of them: a name alone says little, so the file is part of it. */
#include "../core/namer.h"

struct python_frame {
	struct flame_span name;
	struct flame_span file;		/* empty: not known */
	uint32_t line;			/* 0: not known */
	enum flame_kind kind;
};

/* "name (file:12)", "name (file)", "name". */
struct python_frame python_frame_parse(struct flame_span text);
/*
 * The frame is shown as "name (file:12)"; with --simple-names as "name", with --lines as "name:12", with --srcline as
 * "name:file:12". Return: 0 after a failure.
 */
flame_frame python_frame_row(struct flame_namer *n, struct flame_reader *rd, const struct python_frame *frame);

#endif

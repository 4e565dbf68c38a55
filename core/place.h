/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PLACE_H
#define FLAME_PLACE_H
/*
 * place.h - where in its source a function is, as far as the text that profilers print for it says
 * so:
 *
 *	fib (app/x.py:12)	fib:12		fib:x.c:12
 *	fib app/x.js:12:3	app/x.py:12:fib
 */
#include "flame.h"

struct flame_place {
	struct flame_span name;		/* without its place */
	struct flame_span file;		/* of no bytes: not known */
	uint32_t line;			/* 0: not known */
};

/* Take @text apart. All spans lie in it; a text without a place is a name. Linear, and allocates nothing. */
struct flame_place flame_place_parse(struct flame_span text);

#endif

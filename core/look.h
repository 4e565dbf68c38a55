/* SPDX-License-Identifier: MIT */
#ifndef FLAME_LOOK_H
#define FLAME_LOOK_H
#include "flame.h"

/* Return: what an input that no converter took looks like, and what to do with it. Static storage. */
const char *flame_look(struct flame_span head);

#endif

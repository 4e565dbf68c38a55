/* SPDX-License-Identifier: MIT */
#ifndef FLAME_LOOK_H
#define FLAME_LOOK_H
#include <stdbool.h>

#include "flame.h"

/* Return: what an input that no converter took looks like, and what to do with it. Static storage. */
const char *flame_look(struct flame_span head);

/* Return: whether @head is of a report, though its lines may fit a format. */
bool flame_look_report(struct flame_span head);

#endif

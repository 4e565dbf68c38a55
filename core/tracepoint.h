/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TRACEPOINT_H
#define FLAME_TRACEPOINT_H
/* The kernel's tracepoints, as a recording describes them. The only user of libtraceevent. */
#include "flame.h"

struct flame_tracepoints;

/* Return: whether this build can read them at all. */
bool flame_tracepoints_available(void);
/*
 * Read the descriptions, "\x17\x08\x44tracing" and what follows, as trace-cmd and perf write them.
 * Return: owned by the caller; NULL without memory, for damaged ones, or without libtraceevent.
 */
struct flame_tracepoints *flame_tracepoints_new(struct flame_span text);
/* @t may be NULL. */
void flame_tracepoints_free(struct flame_tracepoints *t);
/* Return: true with "system" and "event" of tracepoint @id, which live as long as @t. @t may be NULL. */
bool flame_tracepoint_name(const struct flame_tracepoints *t, uint64_t id, const char **system, const char **name);
/* Return: true with the number that field @name of tracepoint @id has in the payload @raw. @t may be NULL. */
bool flame_tracepoint_number(const struct flame_tracepoints *t, uint64_t id, const char *name, struct flame_span raw,
			     uint64_t *value);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DECODING_H
#define FLAME_DECODING_H
/*
 * decoding.h - a thread that reads from a source, and so decodes, ahead of who wants the bytes. They are the same, and
 * so is the place of an error: it comes when all bytes before it were taken.
 */
#include <sys/types.h>

#include "source.h"

struct flame_decoding;

/* @below is the thread's until flame_decoding_stop(). Return: NULL where there is no memory or thread to be had. */
struct flame_decoding *flame_decoding_start(struct flame_source *below);
/* Return: as flame_source_read(@below). */
ssize_t flame_decoding_read(struct flame_decoding *d, char *to, size_t room);
/* End the thread, which must not wait in a read. @d may be NULL. */
void flame_decoding_stop(struct flame_decoding *d);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SPOOL_H
#define FLAME_SPOOL_H
/*
 * spool.h - files of no name, for what is too much for memory. They lie in TMPDIR, or in /tmp, and are gone when they
 * are closed, however the program ends.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return: the directory they lie in; static storage or the environment's. */
const char *flame_spool_dir(void);
/* Return: a new one, the caller's to close; -1 with errno. */
int flame_spool_open(void);
/* Return: false with errno; some of the @len bytes may be written then. */
bool flame_spool_write(int fd, const void *bytes, size_t len);
/* Read @len bytes at @at. Return: false with errno; also where the file ends before. */
bool flame_spool_read(int fd, void *bytes, size_t len, uint64_t at);

#endif

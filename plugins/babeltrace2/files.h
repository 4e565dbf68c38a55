/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BT2_FILES_H
#define FLAME_BT2_FILES_H
/* files.h - output files: what is at a path stays there until all is written. */
#include <stdbool.h>
#include <stdio.h>

/*
 * Open @path for writing. A regular file is written to *@temporary beside it, which a signal that ends the process
 * removes. Return: NULL with errno.
 */
FILE *file_open(const char *path, char **temporary);
/*
 * Close @f, and where there is no @err put @temporary, which may be NULL and is freed, in place of @path; else remove it.
 * Return: @err, or FLAME_EIO with errno.
 */
int file_close(FILE *f, const char *path, char *temporary, int err);

#endif

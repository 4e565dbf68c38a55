/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_DRAIN_H
#define FLAME_TOOLS_DRAIN_H
#include <stdbool.h>
#include <stdio.h>

/*
 * A stream whose bytes a second thread writes to @fd, so that what makes them need not wait for the
 * system. @fd stays the caller's. fclose() waits until all is written, and fails with errno set where some write did;
 * earlier, the stream's error indicator is set. Return: NULL with errno set.
 */
FILE *drain_open(int fd);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef REPLACE_H
#define REPLACE_H
/* Output files that are replaced as a whole. Of the programs and of the plugin for babeltrace2; what a signal does differs. */
#include <stdbool.h>
#include <sys/types.h>

/* Return: false for a device, a pipe and a link, which are written to as they are. */
bool replace_is_whole(const char *path);
/* Return: the permissions that the new file gets: those of the one that is there, or what the umask leaves. Sets that for a moment. */
mode_t replace_mode(const char *path);
/*
 * Return: a template for mkstemp(), beside @path and with a name of its own length: the output's may be as long as names
 * can be. Owned by the caller; NULL with errno.
 */
char *replace_template(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "replace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool replace_is_whole(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

mode_t replace_mode(const char *path)
{
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	return stat(path, &st) ? 0666 & ~mask : st.st_mode & 0777;
}

char *replace_template(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name;

	if (asprintf(&name, "%.*s.fgtools-XXXXXX", slash ? (int)(slash + 1 - path) : 0, path) >= 0)
		return name;
	errno = ENOMEM;
	return NULL;
}

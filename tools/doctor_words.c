/* SPDX-License-Identifier: MIT */
/* doctor_words.c - reading small files, and words for a shell. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/table.h"
#include "doctor.h"

char *doctor_format(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

const char *doctor_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_plain(const char *word)
{
	for (const char *c = word; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("_-./:=+,@%^", *c))
			return false;
	}
	return *word;
}

char *doctor_quote(const char *word)
{
	size_t len = 3, at = 0;
	char *text;

	if (is_plain(word))
		return strdup(word);
	for (const char *c = word; *c; c++)
		len += *c == '\'' ? 4 : 1;
	text = malloc(len);
	if (!text)
		return NULL;
	text[at++] = '\'';
	for (const char *c = word; *c; c++) {
		if (*c == '\'')
			at = (size_t)(stpcpy(text + at, "'\\''") - text);
		else
			text[at++] = *c;
	}
	text[at++] = '\'';
	text[at] = '\0';
	return text;
}

char *doctor_read(const char *path, size_t max, size_t *len)
{
	/* A named pipe in place of a file must not stop us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	void *bytes = NULL;
	size_t room = 0;
	ssize_t n = 1;

	*len = 0;
	while (fd >= 0 && n > 0 && *len < max) {
		if (!array_reserve(&bytes, &room, *len + 4096 + 1, 1)) {
			n = -1;
			errno = ENOMEM;
			break;
		}
		n = read(fd, (char *)bytes + *len, max - *len < room - *len - 1 ? max - *len : room - *len - 1);
		*len += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	if (!error && bytes) {
		((char *)bytes)[*len] = '\0';
		return bytes;
	}
	free(bytes);
	errno = error;
	return NULL;
}

char *doctor_read_at(size_t max, size_t *len, const char *format, ...)
{
	va_list args;
	char *path, *text;

	va_start(args, format);
	if (vasprintf(&path, format, args) < 0)
		path = NULL;
	va_end(args);
	text = path ? doctor_read(path, max, len) : NULL;
	free(path);
	return text;
}

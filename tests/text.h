/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TEST_TEXT_H
#define FLAME_TEST_TEXT_H
/* For unit tests: profiles from text and back. Include behind cmocka.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../core/converter.h"
#include "../core/folded.h"

/* Return: a file in memory that holds @s, at its start; closed by the caller. */
static inline int text_fd(const char *s, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	while (len) {
		ssize_t n = write(fd, s, len);

		assert_true(n > 0);
		s += n;
		len -= (size_t)n;
	}
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Read @text. Return: flame_read()'s. */
static inline int text_read(struct flame_profile **p, const char *text, size_t len,
			    const struct flame_read_options *options, struct flame_diag *diag)
{
	int fd = text_fd(text, len), err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = flame_read(p, path, options, diag);
	close(fd);
	return err;
}

/* Return: the profile of folded @text, which must be without faults. */
static inline struct flame_profile *text_profile(const char *text)
{
	struct flame_read_options options = { .from = "folded", .threads_max = 1 };
	struct flame_diag diag = { 0 };
	struct flame_profile *p;

	assert_int_equal(text_read(&p, text, strlen(text), &options, &diag), 0);
	assert_int_equal(diag.nr_messages, 0);
	flame_diag_release(&diag);
	return p;
}

/* Return: type @type of @p as folded text, all annotations written; freed by the caller. */
static inline char *text_folded(const struct flame_profile *p, flame_type type)
{
	struct flame_folded_options options = { .type = type, .kinds = FLAME_ALL_KINDS };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	if (!flame_is_differential(p, &options.before, &options.type))
		options.before = 0;
	assert_int_equal(flame_folded_write(p, &options, f), 0);
	fclose(f);
	return text;
}

static inline void assert_folded(const struct flame_profile *p, flame_type type, const char *want)
{
	char *text = text_folded(p, type);

	assert_string_equal(text, want);
	free(text);
}

/* A small generator, the same everywhere. */
static inline uint32_t text_random(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)(*state >> 8) * below) >> 24);
}

#endif

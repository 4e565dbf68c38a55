/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TEST_FUZZ_H
#define FLAME_TEST_FUZZ_H
/* What the fuzz targets share: any bytes through flame_read(), and out again. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../core/converter.h"

/*
 * Read @data as @from (NULL: recognised), with options taken from the bits of @bits. Messages are
 * dropped. Return: the profile, owned by the caller, or NULL.
 */
struct flame_profile *fuzz_read(const char *from, uint32_t bits, const uint8_t *data, size_t size);
/* Write @p as folded text to nowhere. */
void fuzz_write_folded(const struct flame_profile *p, bool header, uint32_t kinds);
/* Write @p in every format that can be written. */
void fuzz_write_all(const struct flame_profile *p);
/* Check the quality of @p, and what is said of it. */
void fuzz_quality(const struct flame_profile *p);
/* Transform as @bits say. @p may be replaced. */
void fuzz_transform(struct flame_profile **p, uint32_t bits);
/* A stream that drops what is written to it. */
FILE *fuzz_null(void);
/* Cut @nr bytes off the input as options. Return: them as a number, 0 where there are too few. */
uint32_t fuzz_bits(const uint8_t **data, size_t *size, size_t nr);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif

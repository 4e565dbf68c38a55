/* SPDX-License-Identifier: MIT */
#ifndef FLAME_ELF_READ_H
#define FLAME_ELF_READ_H
/* Numbers of the file's own byte order and width. Callers have checked that the bytes are there. */
#include <string.h>

#include "elf.h"

static inline uint16_t get16(const struct flame_elf *elf, const unsigned char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return elf->swapped ? __builtin_bswap16(v) : v;
}

static inline uint32_t get32(const struct flame_elf *elf, const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return elf->swapped ? __builtin_bswap32(v) : v;
}

static inline uint64_t get64(const struct flame_elf *elf, const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return elf->swapped ? __builtin_bswap64(v) : v;
}

/* A field that is 4 bytes wide at @at32 in files of 32 bits, 8 bytes at @at64 in others. */
static inline uint64_t get_word(const struct flame_elf *elf, const unsigned char *p, size_t at32, size_t at64)
{
	return elf->is_64 ? get64(elf, p + at64) : get32(elf, p + at32);
}

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DWARF_H
#define FLAME_DWARF_H
/*
 * dwarf.h - inlined functions and lines from the debug information of a file, by libdw where the
 * build found it (nodwarf.c stands in where it did not).
 *
 * The tree of a compilation unit is walked once, at the first address in it; later addresses in it
 * are binary searches. Work is bounded by the size of the unit, whatever it holds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flame_dwarf;

#define FLAME_DWARF_DEPTH_MAX 256	/* of nested functions; what is deeper is not looked at */
#define FLAME_DWARF_RANGES_MAX 16777216	/* of a file's functions; later ones are not looked at */
#define FLAME_DWARF_FRAMES_MAX 128	/* at an address; the innermost are left out */

struct flame_dwarf_frame {
	const char *name;	/* as linkers see it, or as it is in the source; NULL: not known */
	const char *file;	/* NULL: not known */
	uint32_t line;		/* 0: not known */
};

/* Return: whether this build can read debug information at all. */
bool flame_dwarf_available(void);
/* Return: the debug information of the file at @path; NULL where it has none, or without memory. */
struct flame_dwarf *flame_dwarf_open(const char *path, bool lines);
/* @d may be NULL. */
void flame_dwarf_free(struct flame_dwarf *d);

/**
 * flame_dwarf_find() - The functions at an address, outermost first.
 * @d:		debug information
 * @address:	as the file is linked
 * @frames:	set to the function and to what was inlined into it; strings live as long as @d
 *
 * Return: how many there are; 0 where there is no debug information for @address.
 */
size_t flame_dwarf_find(struct flame_dwarf *d, uint64_t address,
			struct flame_dwarf_frame frames[FLAME_DWARF_FRAMES_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * nodwarf.c - stands in for dwarf.c and unwind.c where the build has no libdw; the Makefile leaves
 * those two out then.
 */
#ifndef HAVE_LIBDW

#include "dwarf.h"

bool flame_dwarf_available(void)
{
	return false;
}

struct flame_dwarf *flame_dwarf_open(const char *path, bool lines)
{
	(void)path;
	(void)lines;
	return NULL;
}

void flame_dwarf_free(struct flame_dwarf *d)
{
	(void)d;
}

size_t flame_dwarf_find(struct flame_dwarf *d, uint64_t address, struct flame_dwarf_frame frames[FLAME_DWARF_FRAMES_MAX])
{
	(void)d;
	(void)address;
	(void)frames;
	return 0;
}

#else

/* A translation unit may not be empty. */
typedef int flame_has_libdw;

#endif

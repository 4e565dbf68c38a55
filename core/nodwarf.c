/* SPDX-License-Identifier: MIT */
/*
 * nodwarf.c - stands in for dwarf.c, unwind.c and cfi.c where the build has no libdw; the Makefile leaves
 * those three out then.
 */
#ifndef HAVE_LIBDW

#include "dwarf.h"
#include "flame.h"
#include "unwind.h"

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

bool flame_unwind_available(void)
{
	return false;
}

struct flame_unwind_files *flame_unwind_files_new(void)
{
	return NULL;
}

void flame_unwind_files_free(struct flame_unwind_files *files)
{
	(void)files;
}

struct flame_unwind *flame_unwind_new(uint32_t machine, struct flame_unwind_files *files)
{
	(void)machine;
	(void)files;
	return NULL;
}

void flame_unwind_only_libdw(struct flame_unwind *u)
{
	(void)u;
}

void flame_unwind_free(struct flame_unwind *u)
{
	(void)u;
}

int flame_unwind_map(struct flame_unwind *u, const struct flame_mapping *mapping)
{
	(void)u;
	(void)mapping;
	return 0;
}

void flame_unwind_clear(struct flame_unwind *u)
{
	(void)u;
}

struct flame_unwind *flame_unwind_copy(const struct flame_unwind *u)
{
	(void)u;
	return NULL;
}

enum flame_unwind_end flame_unwind_stack(struct flame_unwind *u, const struct flame_user_state *state,
					 uint64_t ips[FLAME_UNWIND_FRAMES_MAX], size_t *nr)
{
	(void)u;
	(void)state;
	(void)ips;
	*nr = 0;
	return FLAME_UNWIND_NOTHING;
}

#else

/* A translation unit may not be empty. */
typedef int flame_has_libdw;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * memory.c - how the programs ask the system for memory. Of a profile of some megabytes a third of the time would
 * go into touching fresh pages of 4 KiB, and into telling the other processor about each that is given back.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "options.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define POOL ((size_t)64 << 20)	/* only what is touched of it takes memory */
#define ALIGN_FROM ((off_t)4 << 20)	/* bytes of input */

static char *huge_pages;	/* of the pool; NULL: there is none */
static char *before_pages;	/* what of the pool lies before them, so that nothing else is put there; never freed */

void tool_prepare_memory(void)
{
#ifdef __GLIBC__
	char *pool;

	/* One heap for all threads, which keeps what was freed. Blocks above grow by remapping, and go back. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, (int)POOL);
	mallopt(M_TRIM_THRESHOLD, (int)(2 * POOL));
	pool = malloc(POOL - HUGE_PAGE);
	if (pool) {
		/* The page it begins in is left out, and so is the part that is left over at its end. */
		size_t skip = HUGE_PAGE - (uintptr_t)pool % HUGE_PAGE;

		if (!madvise(pool + skip, POOL - 2 * HUGE_PAGE, MADV_HUGEPAGE))
			huge_pages = pool + skip;
		free(pool);
	}
	mallopt(M_MMAP_THRESHOLD, (int)(POOL / 8));
#endif
}

void tool_align_memory(const char *path)
{
	struct stat st;

	if (!huge_pages || before_pages || stat(path, &st) || !S_ISREG(st.st_mode) || st.st_size < ALIGN_FROM)
		return;
	before_pages = malloc(HUGE_PAGE / 2);
	if (before_pages && before_pages < huge_pages) {
		size_t left = (size_t)(huge_pages - before_pages);

		free(before_pages);
		before_pages = malloc(left);
	}
}

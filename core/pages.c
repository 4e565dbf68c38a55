/* SPDX-License-Identifier: MIT */
/*
 * pages.c - huge pages for large blocks.
 */
#define _GNU_SOURCE
#include "pages.h"

#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096u	/* or more, and then a failure, which does not matter */

void flame_pages_advise(void *block, size_t size)
{
	uintptr_t start = ((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(PAGE - 1);

	if (block && size >= FLAME_LARGE)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

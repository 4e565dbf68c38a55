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
	size_t skip = (PAGE - (uintptr_t)block % PAGE) % PAGE;

	if (block && size >= FLAME_LARGE)
		madvise((char *)block + skip, (size - skip) / PAGE * PAGE, MADV_HUGEPAGE);
}

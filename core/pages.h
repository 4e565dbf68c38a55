/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PAGES_H
#define FLAME_PAGES_H
/*
 * Huge pages for blocks whose size is known when they are made: of one that is filled from one end to the other, the
 * page faults of 4 KiB each cost more than what is put into it. Blocks that grow gain nothing by them.
 */
#include <stddef.h>

#define FLAME_LARGE ((size_t)4 << 20)	/* bytes */

/* Ask the system for huge pages in the @size bytes at @block, which nobody has used yet; below FLAME_LARGE it does nothing. */
void flame_pages_advise(void *block, size_t size);

#endif

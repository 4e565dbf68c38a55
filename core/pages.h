/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PAGES_H
#define FLAME_PAGES_H
#include <stddef.h>

#define FLAME_LARGE ((size_t)4 << 20)

/*
 * Ask the system for huge pages in @block of malloc(), of @size bytes: of a block that is filled from one end to the
 * other, a fresh page of 4 KiB costs as much time as what is put into it. Below FLAME_LARGE it does nothing.
 */
void flame_pages_large(void *block, size_t size);

#endif

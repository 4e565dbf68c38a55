/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MINIDEBUG_H
#define FLAME_MINIDEBUG_H
/*
 * minidebug.h - .gnu_debugdata: symbols that distributions leave in stripped files, as a small ELF file
 * that is compressed with xz.
 */
#include "elf.h"

/* More than this is not unpacked, in bytes: the largest seen have 10 MiB. */
#define FLAME_MINIDEBUG_MAX (256u << 20)

/*
 * Unpack what @elf has. @mini: set; its bytes are in *@image, which the caller frees after it.
 * Return: true where there is something; false also where the build has no liblzma.
 */
bool flame_minidebug_open(const struct flame_elf *elf, struct flame_elf *mini, void **image);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_FRAMEPOINTER_H
#define FLAME_FRAMEPOINTER_H
/*
 * framepointer.h - how many functions of a file keep a frame pointer, so that callchains can be
 * followed by it. Counted, not guessed: by the call frame information (CFI) that compilers leave for exceptions
 * even in stripped files, or by the first instructions of each function.
 *
 * Functions that make no frame are not counted as such: they call nothing, or only jump, and callchains
 * pass them by in either case.
 */
#include "elf.h"

#define FLAME_FRAMES_MAX 4194304	/* functions that are looked at; later ones are not */

struct flame_frame_count {
	uint32_t nr_functions;	/* all that were looked at */
	uint32_t nr_frames;	/* those that make a frame */
	uint32_t nr_pointers;	/* of these: that set the frame pointer */
	const char *method;	/* "CFI", "prologues"; NULL: nothing could be counted */
	const char *why;	/* nothing could be counted: a constant string; else NULL */
};

/*
 * Count the functions of @elf. @symbols: those of it, or of the file with its debug information; used where there
 * is no CFI; may be NULL. Machines: x86-64 and aarch64.
 */
void flame_count_frames(const struct flame_elf *elf, const struct flame_symtab *symbols,
			struct flame_frame_count *count);

#endif

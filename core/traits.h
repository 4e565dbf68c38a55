/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TRAITS_H
#define FLAME_TRAITS_H
/*
 * traits.h - what a frame's name and module tell of it, whatever profiler wrote them. Tables in traits.c
 * hold the names.
 */
#include "flame.h"

enum flame_trait {
	FLAME_TRAIT_UNKNOWN = 1 << 0,	/* no symbol: "[unknown]", "[libfoo.so]", "0x7f12…" */
	FLAME_TRAIT_KERNEL = 1 << 1,
	FLAME_TRAIT_TRUNCATED = 1 << 2,	/* stands for callers that are missing */
	FLAME_TRAIT_MISSED = 1 << 3,	/* stands for a stack that the recorder could not keep */
	FLAME_TRAIT_ROOT = 1 << 4,	/* what threads start with: _start, clone, kthread */
	FLAME_TRAIT_IDLE = 1 << 5,	/* nothing ran: swapper, (idle) */
	FLAME_TRAIT_PYTHON_LOOP = 1 << 6,	/* Python's interpreter, whatever it runs */
	FLAME_TRAIT_SCRIPT = 1 << 7,	/* a function of a program that an interpreter runs */
	FLAME_TRAIT_LOOP = 1 << 8,	/* an interpreter, other than Python's */
	FLAME_TRAIT_TASK = 1 << 9,	/* names a process or a thread */
	/* Whose code it is. */
	FLAME_TRAIT_JVM = 1 << 10,
	FLAME_TRAIT_NODE = 1 << 11,
	FLAME_TRAIT_PYTHON = 1 << 12,
	FLAME_TRAIT_GO = 1 << 13,
	FLAME_TRAIT_RUST = 1 << 14,
	FLAME_TRAIT_DOTNET = 1 << 15,
	FLAME_TRAIT_LIBC = 1 << 16,	/* the C library or the dynamic linker */
	/* These matter of a leaf, or of the first frame: survey.c has other uses for the bits of a stack. */
	FLAME_TRAIT_ADDRESS = 1 << 17,	/* unknown, and a bare address */
	FLAME_TRAIT_JIT = 1 << 18,	/* unknown, as the code was made at run time and nobody wrote a map of it */
	FLAME_TRAIT_NOWHERE = 1 << 19,	/* unknown, and so is its file */
	FLAME_TRAIT_WAIT = 1 << 20,	/* a thread waits: epoll_wait, Unsafe.park */
	FLAME_TRAIT_SCHED = 1 << 21,	/* a thread was switched out: __schedule */
	FLAME_TRAIT_START = 1 << 22,	/* a root that nothing but the start of a program leads to */
	FLAME_TRAIT_MAIN = 1 << 23,	/* called main: what starts programs leads to it, if only unknown frames stand before it */
};

#define FLAME_NR_STACK_TRAITS 17

/* The C library is not told apart by its file where that is not known: by what waits there. */
#define FLAME_TRAITS_IN_LIBC (FLAME_TRAIT_LIBC | FLAME_TRAIT_WAIT)

/* Return: whether @name is no name: an address, or the mapping of code that was made at run time. */
bool flame_is_nameless(struct flame_span name);
/* Return: enum flame_trait bits. */
uint32_t flame_frame_traits(const struct flame_profile *p, flame_frame row);
/* Return: the file that an unknown frame's code is in, "libfoo.so"; "[unknown]" where that is unknown too. */
struct flame_span flame_frame_module(const struct flame_profile *p, flame_frame row);

#endif

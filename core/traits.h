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
	FLAME_TRAIT_ADDRESS = 1 << 1,	/* and that is a bare address */
	FLAME_TRAIT_JIT = 1 << 2,	/* and the code was made at run time, and nobody wrote a map of it */
	FLAME_TRAIT_KERNEL = 1 << 3,
	FLAME_TRAIT_TRUNCATED = 1 << 4,	/* stands for callers that are missing */
	FLAME_TRAIT_MISSED = 1 << 5,	/* stands for a stack that the recorder could not keep */
	FLAME_TRAIT_ROOT = 1 << 6,	/* what threads start with: _start, clone, kthread */
	FLAME_TRAIT_IDLE = 1 << 7,	/* nothing ran: swapper, (idle) */
	FLAME_TRAIT_WAIT = 1 << 8,	/* a thread waits: epoll_wait, Unsafe.park */
	FLAME_TRAIT_SCHED = 1 << 9,	/* a thread was switched out: __schedule */
	FLAME_TRAIT_PYTHON_LOOP = 1 << 10,	/* Python's interpreter, whatever it runs */
	FLAME_TRAIT_SCRIPT = 1 << 11,	/* a function of a program that an interpreter runs */
	FLAME_TRAIT_LOOP = 1 << 12,	/* an interpreter, other than Python's */
	FLAME_TRAIT_TASK = 1 << 13,	/* names a process or a thread */
	/* Whose code it is. */
	FLAME_TRAIT_JVM = 1 << 14,
	FLAME_TRAIT_NODE = 1 << 15,
	FLAME_TRAIT_PYTHON = 1 << 16,
	FLAME_TRAIT_GO = 1 << 17,
	FLAME_TRAIT_RUST = 1 << 18,
	FLAME_TRAIT_DOTNET = 1 << 19,
	FLAME_TRAIT_LIBC = 1 << 20,	/* the C library or the dynamic linker */

	FLAME_TRAIT_NOWHERE = 1 << 21,	/* no symbol, and no file either */
};

#define FLAME_NR_TRAITS 22

/* Return: enum flame_trait bits. */
uint32_t flame_frame_traits(const struct flame_profile *p, flame_frame row);
/* Return: the file that an unknown frame's code is in, "libfoo.so"; "[unknown]" where that is unknown too. */
struct flame_span flame_frame_module(const struct flame_profile *p, flame_frame row);

#endif

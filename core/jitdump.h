/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JITDUMP_H
#define FLAME_JITDUMP_H
/*
 * jitdump.h - what JIT compilers write of their code for perf inject: jit-PID.dump of V8, of Java's libperf-jvmti and others.
 *
 *     header: "JiTD" as a number, version, size, machine, 0, pid (4 bytes each), time, flags (8)
 *     record: id, size (4 bytes each), time (8), fields
 *       0 loaded: pid, tid (4), address, code's address, code's size, index (8), name, NUL, code
 *       1 moved:  pid, tid (4), address, old and new address of the code, its size, index (8)
 *
 * of the byte order of the machine that wrote it. Lines and unwind tables are not read.
 */
#include "flame.h"

struct flame_jit_code {
	uint64_t start, size;
	struct flame_span name;		/* valid during the call */
};

/**
 * flame_jitdump_read() - Tell of all code in a dump, in the order of loading.
 * @path:	a regular file
 * @tell:	called for each; what is not 0 ends the reading
 * @arg:	passed on
 *
 * Return: 0; FLAME_EIO with errno; FLAME_EFORMAT for what is no dump; FLAME_EDAMAGED for one that is cut off or
 * damaged, where what came before was told; FLAME_ENOMEM; or what @tell returned.
 */
int flame_jitdump_read(const char *path, int (*tell)(void *arg, const struct flame_jit_code *code), void *arg);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0 */
#ifndef PERF_SCRIPT_SO_H
#define PERF_SCRIPT_SO_H
/*
 * perf_script_so.h - what a shared object exports so that `perf script -s NAME.so` runs it as a script.
 * Stock perf has no such scripts; perf-script-so.patch adds them.
 *
 * Structures begin with their sizes. Later versions add fields at the end only: who reads a structure that
 * the other side made leaves alone what lies behind its size.
 */
#include <stdint.h>

#define PERF_SCRIPT_SO_VERSION 1
#define PERF_SCRIPT_SO_NAME "perf_script_so"

/* What is at an address. Strings are valid until the next question or the end of the sample. */
struct perf_script_so_place {
	uint32_t size;		/* set by the script before it asks */
	uint32_t is_kernel;
	const char *symbol;	/* NULL: none is known */
	const char *dso;	/* NULL: nothing is mapped there */
	uint64_t symbol_offset;	/* of the address, from the symbol's start */
	uint64_t dso_offset;	/* of the address, in the file */
	const void *build_id;
	uint64_t build_id_size;	/* 0: not known */
};

struct perf_script_so_sample {
	uint32_t size;
	int32_t pid, tid, cpu;
	uint32_t misc;		/* of the record's header */
	uint32_t cpumode;	/* PERF_RECORD_MISC_KERNEL, …_USER… */
	uint64_t ip, time, addr, id, stream_id, period;
	const char *event, *comm;
	const void *attr;	/* struct perf_event_attr */
	/* As recorded, from callee to caller, with the kernel's markers of contexts. */
	const uint64_t *callchain;
	uint64_t nr_callchain;
	const void *branches;	/* struct perf_branch_entry */
	uint64_t nr_branches;
	/* Of --call-graph dwarf; not unwound. */
	uint64_t regs_abi, regs_mask;
	const uint64_t *regs;	/* one for each bit of the mask; NULL: none */
	const void *stack;	/* from the stack pointer on; NULL: none */
	uint64_t stack_size;
};

/* What perf does for a script. */
struct perf_script_so_host {
	uint32_t size;
	uint32_t version;
	/* What is at @address in the process of the sample that @context came with. Return: 0, or -1. */
	int (*resolve)(void *context, uint64_t address, struct perf_script_so_place *place);
};

/* The script exports one of these under the name PERF_SCRIPT_SO_NAME. */
struct perf_script_so {
	uint32_t size;
	uint32_t version;	/* PERF_SCRIPT_SO_VERSION */
	/*
	 * @argv: what follows the script's name on perf's command line. @data: passed on to the others.
	 * Return: 0, or a negative number, which ends perf.
	 */
	int (*start)(const struct perf_script_so_host *host, int argc, const char **argv, void **data);
	void (*sample)(void *data, const struct perf_script_so_sample *sample, void *context);
	/* After the last sample, while what was resolved is still known. */
	void (*end)(void *data);
};

#endif

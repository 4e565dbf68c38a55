/* SPDX-License-Identifier: MIT */
#ifndef FLAME_UNWIND_H
#define FLAME_UNWIND_H
/*
 * unwind.h - callchains from the registers and the copy of the stack that `perf record --call-graph
 * dwarf` takes, by the unwind tables of the files that were mapped (libdw; without it nothing is
 * unwound). One object for each process; it stays, because opening files is what costs.
 *
 * An object may be used by one thread at a time; different objects are independent.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flame_unwind;
struct flame_unwind_files;

/* Whose registers they are; what an ELF file's e_machine says. */
enum flame_machine {
	FLAME_MACHINE_X86_64 = 62,
	FLAME_MACHINE_AARCH64 = 183,
};

#define FLAME_UNWIND_FRAMES_MAX 1024	/* of a callchain; the frames near the root are left out */
#define FLAME_UNWIND_REGS_MAX 64	/* registers of a sample */

/* A mapping of a file with code, as an MMAP record tells it. */
struct flame_mapping {
	uint64_t start, end;
	uint64_t offset;	/* in the file */
	const char *path;	/* of the file that is to be read, see flame_symbols_file(); copied */
};

/* What a sample holds of its thread. All is borrowed for the call. */
struct flame_user_state {
	uint64_t regs_mask;	/* perf_event_attr.sample_regs_user */
	const uint64_t *regs;	/* the values, one for each bit set in @regs_mask, lowest first */
	size_t nr_regs;
	const void *stack;	/* the copy, from the stack pointer on */
	size_t stack_size;	/* what of it was really copied (dyn_size) */
};

enum flame_unwind_end {
	FLAME_UNWIND_COMPLETE,	/* the thread's first function was reached */
	FLAME_UNWIND_SHORT,	/* the copy of the stack ended: callers are missing */
	FLAME_UNWIND_NO_TABLE,	/* a frame is in no known mapping, or in a file without unwind tables */
	FLAME_UNWIND_TOO_DEEP,	/* FLAME_UNWIND_FRAMES_MAX */
	FLAME_UNWIND_NOTHING,	/* not even the first frame: no registers, or of a 32-bit program, or no libdw */
};

/* Return: whether this build can unwind at all. */
bool flame_unwind_available(void);

/*
 * The unwind tables of files, for processes that map the same ones. Return: NULL without memory or without
 * libdw. It and all its unwinders may be used by one thread at a time.
 */
struct flame_unwind_files *flame_unwind_files_new(void);
/* Its unwinders may outlive this. @files may be NULL. */
void flame_unwind_files_free(struct flame_unwind_files *files);

/*
 * @files: shared with other unwinders; NULL: its own.
 * Return: an unwinder for a process on a machine, or NULL without memory or without libdw.
 */
struct flame_unwind *flame_unwind_new(uint32_t machine, struct flame_unwind_files *files);
/* Use libdw for all stacks, to compare with. */
void flame_unwind_only_libdw(struct flame_unwind *u);
/* @u may be NULL. */
void flame_unwind_free(struct flame_unwind *u);

/**
 * flame_unwind_map() - Tell of a mapping.
 * @u:		unwinder
 * @mapping:	it takes the place of what was mapped there before
 *
 * Files are opened when a stack first leads into them.
 *
 * Return: 0 or FLAME_ENOMEM.
 */
int flame_unwind_map(struct flame_unwind *u, const struct flame_mapping *mapping);
/* Forget all mappings, as exec does. */
void flame_unwind_clear(struct flame_unwind *u);
/* Return: an unwinder with the same mappings, for a process that was forked; NULL without memory. */
struct flame_unwind *flame_unwind_copy(const struct flame_unwind *u);

/**
 * flame_unwind_stack() - Unwind a sample.
 * @u:		unwinder
 * @state:	registers and stack
 * @ips:	set to addresses, the innermost first: where the sample was taken, then return addresses
 *		less one, so that they lie in the call; what a signal interrupted stays as it is. Look them
 *		up as they are. perf prints the same.
 * @nr:		set to how many; those that were found, however it ends
 *
 * Return: why it ends there.
 */
enum flame_unwind_end flame_unwind_stack(struct flame_unwind *u, const struct flame_user_state *state,
					 uint64_t ips[FLAME_UNWIND_FRAMES_MAX], size_t *nr);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CFI_H
#define FLAME_CFI_H
/*
 * cfi.h - how to get from a function to its caller, for the addresses of an ELF file: the rows of its unwind tables
 * (.eh_frame, .debug_frame), each worked out once by libdw and then a look-up. Of x86-64 only, and of the rules
 * that compilers use; what else there is, is told.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLAME_CFI_REGS 17	/* DWARF's numbers: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8 r8 … 16 return address */
#define FLAME_CFI_SP 7
#define FLAME_CFI_RA 16
#define FLAME_CFI_SAVED_MAX 8

enum flame_cfi_kind {
	FLAME_CFI_OTHER,	/* rules that a row has no place for: expressions, a signal's frame; or no rules at all */
	FLAME_CFI_STEP,
};

/* Rules at an address. CFA: the stack pointer before the call. All bytes are of fields, so that rows are compared as they are. */
struct flame_cfi_row {
	int32_t cfa_offset;	/* CFA is a register and so much */
	uint32_t kept;		/* bits of the registers whose values the caller had too; of the others none is known */
	int32_t saved_offset[FLAME_CFI_SAVED_MAX];	/* these registers are at CFA and so much */
	uint8_t saved_reg[FLAME_CFI_SAVED_MAX];
	uint8_t nr_saved;
	uint8_t cfa_reg;
	uint8_t kind;
	uint8_t ends;		/* there is no caller */
};

struct flame_cfi;

/* Return: the tables of the file at @path, if it is of x86-64; NULL if not, or without memory. */
struct flame_cfi *flame_cfi_open(const char *path);
/* @c may be NULL. */
void flame_cfi_free(struct flame_cfi *c);
/* Return: true with the address that the code at @offset in the file is linked at; false where there is no code. */
bool flame_cfi_address(const struct flame_cfi *c, uint64_t offset, uint64_t *address);
/* Return: the row at @address, as the file is linked; valid until the next call, or as long as @c if it is kept. */
const struct flame_cfi_row *flame_cfi_row(struct flame_cfi *c, uint64_t address);
bool flame_cfi_is_kept(const struct flame_cfi *c, const struct flame_cfi_row *row);

struct flame_unwind_files;

/* Return: @files, which now has one more owner. */
struct flame_unwind_files *flame_unwind_files_share(struct flame_unwind_files *files);
/* Return: the tables of the file at @path, opened at the first call; NULL where there are none. */
struct flame_cfi *flame_unwind_files_get(struct flame_unwind_files *files, const char *path);

#endif

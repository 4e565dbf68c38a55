/* SPDX-License-Identifier: MIT */
/*
 * cfi.c - rows of unwind tables, by libdw's interpreter. Programs have few different rows, so each is kept once.
 */
#include "cfi.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "elf.h"
#include "idmap.h"
#include "table.h"
#include "unwind.h"

#define ADDRESSES_MAX 1048576	/* of a file that are remembered; the rows of others are worked out each time */

struct flame_cfi {
	struct flame_elf elf;
	Elf *file;		/* the same for libdw */
	Dwarf *dwarf;
	Dwarf_CFI *tables[2];	/* .eh_frame and .debug_frame; NULL: there is none */
	struct idmap addresses;	/* value: a row */
	struct flame_cfi_row **rows;	/* row 0 is none */
	size_t nr_rows, room_rows;
	struct index index;	/* of rows */
	struct arena arena;
	struct flame_cfi_row spare;
};

void flame_cfi_free(struct flame_cfi *c)
{
	if (!c)
		return;
	/* That of .debug_frame is the Dwarf's. */
	if (c->tables[0])
		dwarf_cfi_end(c->tables[0]);
	dwarf_end(c->dwarf);
	elf_end(c->file);
	flame_elf_release(&c->elf);
	idmap_release(&c->addresses);
	free(c->rows);
	free(c->index.slots);
	arena_release(&c->arena);
	free(c);
}

/* It is only mapped, since there may be more files than a process may have open. */
static Elf *open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf *file;

	elf_version(EV_CURRENT);
	file = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (file && elf_cntl(file, ELF_C_FDREAD)) {
		elf_end(file);
		file = NULL;
	}
	if (fd >= 0)
		close(fd);
	return file;
}

struct flame_cfi *flame_cfi_open(const char *path)
{
	struct flame_cfi *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (!flame_elf_open(&c->elf, path) && c->elf.machine == EM_X86_64 && c->elf.is_64)
		c->file = open_file(path);
	if (!c->file) {
		flame_cfi_free(c);
		return NULL;
	}
	c->tables[0] = dwarf_getcfi_elf(c->file);
	if (flame_elf_section(&c->elf, ".debug_frame")) {
		c->dwarf = dwarf_begin_elf(c->file, DWARF_C_READ, NULL);
		c->tables[1] = c->dwarf ? dwarf_getcfi(c->dwarf) : NULL;
	}
	return c;
}

bool flame_cfi_address(const struct flame_cfi *c, uint64_t offset, uint64_t *address)
{
	return flame_elf_code(&c->elf, offset, address);
}

/* ---- rows ---- */

static bool fits(Dwarf_Word offset, int32_t *to)
{
	int64_t n = (int64_t)offset;

	*to = (int32_t)n;
	return n == *to;
}

/* CFA is a register and an offset. */
static bool set_cfa(struct flame_cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Word offset;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) || nr != 1)
		return false;
	if (ops->atom == DW_OP_bregx) {
		offset = ops->number2;
		row->cfa_reg = (uint8_t)(ops->number < FLAME_CFI_REGS ? ops->number : FLAME_CFI_REGS);
	} else if (ops->atom >= DW_OP_breg0 && ops->atom < DW_OP_breg0 + FLAME_CFI_REGS) {
		offset = ops->number;
		row->cfa_reg = (uint8_t)(ops->atom - DW_OP_breg0);
	} else {
		return false;
	}
	return row->cfa_reg < FLAME_CFI_REGS && fits(offset, &row->cfa_offset);
}

/* What becomes of register @reg. Return: false where the row has no place for it. */
static bool set_register(struct flame_cfi_row *row, Dwarf_Frame *frame, uint8_t reg)
{
	Dwarf_Op memory[3], *ops;
	int32_t offset;
	size_t nr;

	if (dwarf_frame_register(frame, reg, memory, &ops, &nr))
		return false;
	if (!nr) {
		row->kept |= ops ? 0 : 1u << reg;
		row->ends |= ops && reg == FLAME_CFI_RA;
		return true;
	}
	if (ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	/* The value of CFA itself; the only register that has it is the stack pointer. */
	if (nr == 2 && ops[1].atom == DW_OP_stack_value)
		return reg == FLAME_CFI_SP;
	if (nr > 2 || (nr == 2 && ops[1].atom != DW_OP_plus_uconst) || row->nr_saved == FLAME_CFI_SAVED_MAX ||
	    !fits(nr == 2 ? ops[1].number : 0, &offset) || reg == FLAME_CFI_SP)
		return false;
	row->saved_reg[row->nr_saved] = reg;
	row->saved_offset[row->nr_saved++] = offset;
	return true;
}

static void decode_frame(struct flame_cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Addr start, end;
	bool is_signal;

	if (dwarf_frame_info(frame, &start, &end, &is_signal) != FLAME_CFI_RA || is_signal || !set_cfa(row, frame))
		return;
	for (uint8_t reg = 0; reg < FLAME_CFI_REGS; reg++) {
		if (!set_register(row, frame, reg))
			return;
	}
	/* The stack pointer is CFA's value, and the return address was saved. */
	if (row->kept >> FLAME_CFI_SP & 1 || row->kept >> FLAME_CFI_RA & 1)
		return;
	row->kind = FLAME_CFI_STEP;
}

static void decode(struct flame_cfi *c, uint64_t address, struct flame_cfi_row *row)
{
	Dwarf_Frame *frame;

	memset(row, 0, sizeof(*row));
	for (size_t i = 0; i < 2; i++) {
		if (!c->tables[i] || dwarf_cfi_addrframe(c->tables[i], address, &frame))
			continue;
		decode_frame(row, frame);
		free(frame);
		return;
	}
}

static bool grow_index(struct flame_cfi *c)
{
	if (!index_grow(&c->index))
		return false;
	for (size_t i = 1; i < c->nr_rows; i++)
		index_put(&c->index, (uint32_t)hash_bytes((const char *)c->rows[i], sizeof(**c->rows)), (uint32_t)i);
	return true;
}

/* Return: the number of the one row that is equal to @row; 0 without memory. */
static uint32_t intern(struct flame_cfi *c, const struct flame_cfi_row *row)
{
	uint32_t hash = (uint32_t)hash_bytes((const char *)row, sizeof(*row)), nr;
	struct flame_cfi_row *kept;

	if (!index_has_room(&c->index) && !grow_index(c))
		return 0;
	for (uint32_t i = hash & c->index.mask; (nr = c->index.slots[i]); i = (i + 1) & c->index.mask) {
		if (!memcmp(c->rows[nr], row, sizeof(*row)))
			return nr;
	}
	if (!array_reserve((void **)&c->rows, &c->room_rows, c->nr_rows + 2, sizeof(*c->rows)))
		return 0;
	kept = arena_get(&c->arena, sizeof(*kept));
	if (!kept)
		return 0;
	c->nr_rows += !c->nr_rows;
	memcpy(kept, row, sizeof(*row));
	c->rows[c->nr_rows] = kept;
	index_put(&c->index, hash, (uint32_t)c->nr_rows);
	return (uint32_t)c->nr_rows++;
}

const struct flame_cfi_row *flame_cfi_row(struct flame_cfi *c, uint64_t address)
{
	uint32_t row;

	if (idmap_get(&c->addresses, address, &row))
		return c->rows[row];
	decode(c, address, &c->spare);
	row = c->addresses.nr < ADDRESSES_MAX ? intern(c, &c->spare) : 0;
	if (!row || idmap_add(&c->addresses, address, row) != row)
		return &c->spare;
	return c->rows[row];
}

bool flame_cfi_is_kept(const struct flame_cfi *c, const struct flame_cfi_row *row)
{
	return row != &c->spare;
}

/* ---- files ---- */

struct file {
	char *path;		/* owned */
	struct flame_cfi *cfi;	/* NULL: there is none */
};

struct flame_unwind_files {
	size_t owners;
	struct file *files;	/* row 0 is none */
	size_t nr, room;
	struct index index;
};

struct flame_unwind_files *flame_unwind_files_new(void)
{
	struct flame_unwind_files *files = calloc(1, sizeof(*files));

	if (files) {
		files->owners = 1;
		files->nr = 1;
	}
	return files;
}

struct flame_unwind_files *flame_unwind_files_share(struct flame_unwind_files *files)
{
	files->owners++;
	return files;
}

void flame_unwind_files_free(struct flame_unwind_files *files)
{
	if (!files || --files->owners)
		return;
	for (size_t i = 1; files->files && i < files->nr; i++) {
		free(files->files[i].path);
		flame_cfi_free(files->files[i].cfi);
	}
	free(files->files);
	free(files->index.slots);
	free(files);
}

static uint32_t hash_path(const char *path)
{
	return (uint32_t)hash_bytes(path, strlen(path));
}

static bool grow_files(struct flame_unwind_files *files)
{
	if (!index_grow(&files->index))
		return false;
	for (size_t i = 1; i < files->nr; i++)
		index_put(&files->index, hash_path(files->files[i].path), (uint32_t)i);
	return true;
}

struct flame_cfi *flame_unwind_files_get(struct flame_unwind_files *files, const char *path)
{
	uint32_t hash = hash_path(path);
	struct file file;

	if (!index_has_room(&files->index) && !grow_files(files))
		return NULL;
	for (uint32_t i = hash & files->index.mask; files->index.slots[i]; i = (i + 1) & files->index.mask) {
		if (!strcmp(files->files[files->index.slots[i]].path, path))
			return files->files[files->index.slots[i]].cfi;
	}
	file.path = strdup(path);
	if (!file.path || !array_reserve((void **)&files->files, &files->room, files->nr + 1, sizeof(file))) {
		free(file.path);
		return NULL;
	}
	file.cfi = flame_cfi_open(path);
	files->files[files->nr] = file;
	index_put(&files->index, hash, (uint32_t)files->nr++);
	return file.cfi;
}

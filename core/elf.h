/* SPDX-License-Identifier: MIT */
#ifndef FLAME_ELF_H
#define FLAME_ELF_H
/*
 * elf.h - the parts of an ELF file that names of addresses come from. Reads files of either byte
 * order and of 32 and 64 bits, without a library: every offset, size and count is checked against
 * the file, work is linear in it, and no more of it is touched than is used.
 */
#include "flame.h"
#include "symtab.h"

/* Sections and segments beyond these are not looked at. */
#define FLAME_ELF_SECTIONS_MAX 65536
#define FLAME_ELF_SEGMENTS_MAX 256

struct flame_elf_segment {
	uint64_t offset, file_size, address, memory_size, align;
	bool load, executable;
};

struct flame_elf_section {
	const char *name;	/* in the file; ended by NUL */
	uint64_t address, offset, size, entry_size;
	uint32_t type, link, info;
	uint64_t flags;
};

/* A file in memory. */
struct flame_elf {
	const unsigned char *data;
	size_t size;
	void *mapping;		/* @data, where it is unmapped with it; NULL: it is the caller's */
	bool is_64, swapped;
	uint16_t type, machine;
	struct flame_elf_segment *segments;
	struct flame_elf_section *sections;
	size_t nr_segments, nr_sections;
	struct flame_span build_id;
	const char *damage;	/* what is wrong with it, a constant string; NULL: nothing that was noticed */
};

/**
 * flame_elf_open() - Map a file.
 * @elf:	set; release it in any case
 * @path:	must be a regular file
 *
 * Return: 0, FLAME_EIO with errno, FLAME_EFORMAT for what is no ELF file, FLAME_ENOMEM.
 */
int flame_elf_open(struct flame_elf *elf, const char *path);
/* The same for a file that is in memory already, and stays the caller's. */
int flame_elf_init(struct flame_elf *elf, const void *data, size_t size);
void flame_elf_release(struct flame_elf *elf);

/* Return: the first section called @name, or NULL. */
const struct flame_elf_section *flame_elf_section(const struct flame_elf *elf, const char *name);
/* Return: the bytes of @section; empty where it has none in the file. */
struct flame_span flame_elf_bytes(const struct flame_elf *elf, const struct flame_elf_section *section);
/*
 * Return: true with the address that the byte at @offset of the file is linked at: by an executable
 * segment, or else by any that is loaded.
 */
bool flame_elf_address(const struct flame_elf *elf, uint64_t offset, uint64_t *address);
/*
 * The same, by an executable segment only. Ask for the byte itself and not for the start of its mapping: lld lets
 * segments share a page of the file, so that the mapping of one begins with the end of another.
 */
bool flame_elf_code(const struct flame_elf *elf, uint64_t offset, uint64_t *address);
/* Return: true with the name and checksum that .gnu_debuglink holds. */
bool flame_elf_debuglink(const struct flame_elf *elf, const char **name, uint32_t *crc);
/* Return: the name of the @i-th library that @elf asks for, in the file; NULL where there are no more. */
const char *flame_elf_needed(const struct flame_elf *elf, size_t i);
/* Return: the directories in which @elf wants them to be looked for, divided by colons, in the file; NULL for none. */
const char *flame_elf_runpath(const struct flame_elf *elf);
/* Return: true where @elf has a symbol table of its own besides the dynamic one. */
bool flame_elf_has_symtab(const struct flame_elf *elf);

/**
 * flame_elf_symbols() - Add the functions of .symtab, or where there is none those of .dynsym.
 * @elf:	the file
 * @table:	gets them; names stay in @elf, which must outlive it
 *
 * Return: 0 or FLAME_ENOMEM.
 */
int flame_elf_symbols(const struct flame_elf *elf, struct flame_symtab *table);
/* The same for the entries of the PLT, which have no symbols of their own. Of x86-64 only. */
int flame_elf_plt(const struct flame_elf *elf, struct flame_symtab *table);

#endif

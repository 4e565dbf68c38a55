/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MODULE_H
#define FLAME_MODULE_H
/* module.h - what symbol.c knows of a module: its files, opened when its first address is looked up. */
#include "debugfile.h"
#include "dwarf.h"
#include "symbol.h"
#include "symtab.h"
#include "symtext.h"

/* The kernel's symbols, which the kernel and its modules share. */
struct kernel {
	bool opened;
	struct flame_symtext text;
	struct flame_symtab table;
	uint64_t delta;		/* recorded addresses are so much above those in the table */
	char *why;		/* there are none; owned */
};

struct module {
	struct flame_module_info info;	/* strings are in the arena of all */
	uint8_t build_id[FLAME_BUILD_ID_MAX];
	bool opened;
	struct flame_elf elf, debug;	/* the file, and the one with its debug information */
	struct flame_elf mini;		/* what a stripped file has of its own symbols */
	void *mini_image;		/* its bytes; owned */
	bool has_elf, has_debug;
	char *path, *debug_path;	/* owned */
	void *image;			/* of the vdso; owned */
	int image_fd;			/* a file with it; 0: none */
	struct flame_symtext text;
	struct flame_symtab table;
	struct flame_dwarf *dwarf;
	bool dwarf_opened;
	char *why;			/* symbols are missing; owned; NULL: as far as is known none are */
	uint64_t nr_unknown;		/* addresses without a symbol */
};

/*
 * Open what @m needs. @kernel_info: the module that is the kernel, or NULL.
 * Return: 0, also where nothing is found (m->why), or FLAME_ENOMEM.
 */
int module_open(struct module *m, const struct flame_symbol_options *options, struct kernel *kernel,
		const struct flame_module_info *kernel_info);
/* Return: the debug information of @m, opened at the first call; NULL where there is none. */
struct flame_dwarf *module_dwarf(struct module *m, const struct flame_symbol_options *options);
/* Return: a path that @m's file can be opened by; NULL where there is none. */
const char *module_path(struct module *m);
void module_release(struct module *m);
void kernel_release(struct kernel *kernel);

#endif

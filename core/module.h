/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MODULE_H
#define FLAME_MODULE_H
/* module.h - what symbol.c knows of a module: its files, opened when its first address is looked up. */
#include <time.h>

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

/* A perf map that its writer may still write to. */
struct map_file {
	char *path;			/* owned; NULL: none was found yet */
	int fd;				/* the file, where its path goes with its writer; 0: not kept */
	uint64_t size, done;		/* its bytes when it was read last; whole lines among them */
	uint64_t inode;
	struct timespec changed;
	char last[64];			/* bytes before done */
	struct flame_symtext *more;	/* what was read later; owned */
	size_t nr_more, room_more;
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
	struct map_file map;		/* of a PERF_MAP */
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
/*
 * Read what was written to the file of a PERF_MAP since it was read. Return: 0 with *@grown telling whether that
 * was anything, or FLAME_ENOMEM.
 */
int module_refresh(struct module *m, const struct flame_symbol_options *options, bool *grown);
/* Return: the debug information of @m, opened at the first call; NULL where there is none. */
struct flame_dwarf *module_dwarf(struct module *m, const struct flame_symbol_options *options);
/* Return: a path that @m's file can be opened by; NULL where there is none. */
const char *module_path(struct module *m);
void module_release(struct module *m);
void kernel_release(struct kernel *kernel);

#endif

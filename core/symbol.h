/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SYMBOL_H
#define FLAME_SYMBOL_H
/*
 * symbol.h - names for addresses: of ELF files, the kernel, perf maps and lists of symbols that the
 * recording itself carries; with inlined functions and lines from DWARF where they are asked for.
 *
 * Who has addresses names the module that each lies in once (flame_module_row()) and looks up
 * address after address (flame_symbols_find()). Files are opened at the first look-up of their
 * module. Each (module, address) is worked out once; later look-ups of it cost a probe of a table
 * and allocate nothing. Nothing is printed: what went wrong is told by flame_symbols_report().
 *
 * One object may be used by one thread at a time; different objects are independent.
 */
#include "converter.h"

struct flame_symbols;

/* Module's row; 0 is none. */
typedef uint32_t flame_module;

/* Longest name that is looked at, in bytes; longer symbols are left out. */
#define FLAME_SYMBOL_NAME_MAX 65536
/* Longest build-id, in bytes; 20 is usual. */
#define FLAME_BUILD_ID_MAX 64

/* Where to look. Zero initialised it is the default. Strings belong to the caller and outlive the object. */
struct flame_symbol_options {
	const char *symbol_dir;	/* files here come first: by build-id, then by name; NULL: none */
	const char *symfs;	/* root that the modules' paths are below; NULL: / */
	const char *kallsyms;	/* the kernel's symbols, in the form of /proc/kallsyms; NULL: see this_machine */
	bool mangled;		/* names stay as they are in the file */
	bool arguments;		/* demangled names have their argument lists; perf's text leaves them out */
	bool no_inline;		/* no inlined frames */
	bool lines;		/* file and line of each frame */
	bool debuginfod;	/* files may be fetched, if DEBUGINFOD_URLS is set also */
	/*
	 * The addresses were recorded on this machine since it was booted: its kernel, its vdso and
	 * what running processes see as their root may be used even where no build-id proves it.
	 */
	bool this_machine;
};

/* What a module is, and what its addresses mean. */
enum flame_module_kind {
	FLAME_MODULE_FILE,		/* ELF file: offsets in the file (address - start of mapping + its offset) */
	FLAME_MODULE_VDSO,		/* offsets in the vdso's image */
	FLAME_MODULE_KERNEL,		/* addresses */
	FLAME_MODULE_KERNEL_MODULE,	/* addresses; path is "[ext4]" or ".../ext4.ko.xz" */
	FLAME_MODULE_PERF_MAP,		/* addresses; symbols of /tmp/perf-PID.map */
	FLAME_MODULE_LIST,		/* addresses; symbols by flame_module_add_symbol() */
};

/* Modules that differ in any part are different modules. */
struct flame_module_info {
	enum flame_module_kind kind;
	const char *path;		/* as the recording names it; NULL or "": none */
	const void *build_id;		/* NULL: not known, and then no file is refused */
	size_t build_id_len;
	int32_t pid;			/* FILE, VDSO: whose root the path is in (with this_machine); PERF_MAP: whose map; 0: none */
	int32_t ns_pid;			/* PERF_MAP: pid in its own namespace, 0: the same */
	bool elsewhere;			/* FILE: the path is another file's here: only below @pid's root, by build-id and in the options' places */
	/*
	 * KERNEL: the address that the symbol @reference ("_text" if NULL) had in the recording, so
	 * that symbols of the same kernel at another boot fit; 0: it did not move.
	 */
	uint64_t reference_address;
	const char *reference;
};

/* A function at an address. */
struct flame_symbol_frame {
	const char *name;	/* demangled, unless the options say otherwise; never NULL nor empty; ended by NUL */
	const char *file;	/* source file; NULL: not known or not asked for */
	uint32_t name_len;
	uint32_t line;		/* 0: not known */
	enum flame_kind kind;	/* USER, INLINED, KERNEL or JIT */
};

/* What is at an address. */
struct flame_location {
	uint32_t row;		/* a dense number from 1 in the order of first use, for tables of the caller's own */
	uint32_t nr_frames;	/* 0: no symbol */
	uint64_t offset;	/* what was looked up, from its symbol's start; callers look up address - 1 */
	const struct flame_symbol_frame *frames;	/* outermost first: the function, then what was inlined into it */
};

/* Set @to to what the user of a program asked for; what only the caller knows is left as it is. */
void flame_symbol_options_set(struct flame_symbol_options *to, const struct flame_read_options *from);

/* Return: a new object, or NULL without memory. @options may be NULL; it is copied, not its strings. */
struct flame_symbols *flame_symbols_new(const struct flame_symbol_options *options);
/* @s may be NULL. */
void flame_symbols_free(struct flame_symbols *s);

/**
 * flame_module_row() - Name a module.
 * @s:		symbols
 * @info:	the module; copied
 *
 * Looks nothing up and opens nothing. Costs a search; keep the row.
 *
 * Return: the row of the module equal to @info; 0 without memory.
 */
flame_module flame_module_row(struct flame_symbols *s, const struct flame_module_info *info);

/**
 * flame_module_add_symbol() - Add a symbol to a LIST module, or to a PERF_MAP one.
 * @s:		symbols
 * @module:	its row
 * @start:	first address
 * @size:	in bytes; 0: up to the next symbol
 * @name:	of any bytes; copied; an empty one is left out
 * @kind:	of its frames
 *
 * A symbol takes the place of what older ones have at its addresses, as code that a JIT compiler
 * moves does; locations that were looked up before stay as they are.
 *
 * Return: 0, FLAME_ENOMEM, FLAME_EARG for another kind of module, or for a name that is too long
 * (FLAME_SYMBOL_NAME_MAX).
 */
int flame_module_add_symbol(struct flame_symbols *s, flame_module module, uint64_t start, uint64_t size,
			    struct flame_span name, enum flame_kind kind);

/**
 * flame_symbols_find() - The functions at an address.
 * @s:		symbols
 * @module:	where it is; 0: nowhere
 * @address:	offset or address, as the kind of module says
 * @is_caller:	it is a return address: the call before it is what is looked up, at @address - 1
 *
 * Return: the location, valid for @s's life and the same pointer for equal questions; never NULL.
 * Without a symbol, or without memory, it has no frames.
 */
const struct flame_location *flame_symbols_find(struct flame_symbols *s, flame_module module, uint64_t address,
						bool is_caller);

/**
 * flame_symbols_refresh() - Read what was written to a perf map since it was read.
 * @s:		symbols
 * @module:	a PERF_MAP module
 *
 * Addresses that had no symbol are looked up anew, and have a new location where there is one now. Code
 * that moved keeps the name that it had when it was looked up.
 *
 * Return: true where there was something new.
 */
bool flame_symbols_refresh(struct flame_symbols *s, flame_module module);

/**
 * flame_symbols_file() - The file that a module's code was found in, for unwinding.
 * @s:		symbols
 * @module:	a FILE or VDSO module
 *
 * Return: the path of an ELF file that may be used for @module, valid for @s's life; of the vdso
 * perhaps one in /proc/self/fd. NULL where there is none, or the one there is was refused.
 */
const char *flame_symbols_file(struct flame_symbols *s, flame_module module);

/**
 * flame_symbols_address() - Translate an offset in a module's file to the address that it is linked at.
 * @s:		symbols
 * @module:	a FILE or VDSO module
 * @offset:	in the file
 * @address:	set to the address in the file's own terms
 *
 * Return: false where no executable segment holds @offset, or there is no file.
 */
bool flame_symbols_address(struct flame_symbols *s, flame_module module, uint64_t offset, uint64_t *address);

/**
 * flame_symbols_report() - Tell what went wrong.
 * @s:		symbols
 * @diag:	gets a warning for each module that was asked for and has no symbols: a file that is not
 *		there, one that is not the recorded one, one that is damaged, one without symbols. The
 *		modules with the most look-ups without an answer come first, and up to
 *		FLAME_SYMBOL_REPORTS of them by themselves. Many for the same reason share one.
 */
void flame_symbols_report(const struct flame_symbols *s, struct flame_diag *diag);
#define FLAME_SYMBOL_REPORTS 8

/* Return: how many distinct (module, address) have been looked up, and in *@unknown how many had no symbol. */
uint64_t flame_symbols_count(const struct flame_symbols *s, uint64_t *unknown);

#endif

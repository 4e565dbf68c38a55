/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DEBUGFILE_H
#define FLAME_DEBUGFILE_H
/*
 * debugfile.h - where the files of a module are: the program or library itself, the file with its
 * debug information, the symbols of the kernel that was recorded.
 */
#include "elf.h"
#include "symbol.h"

/* What is looked for. */
struct flame_file_wanted {
	const struct flame_symbol_options *options;
	const struct flame_module_info *module;
	struct flame_span build_id;	/* empty: not known */
};

/* What came of it. */
struct flame_file_found {
	struct flame_elf elf;
	char *path;		/* the caller frees it; NULL: not found */
	char *refused;		/* a file that is there and is not the one; the caller frees it */
	const char *damage;	/* of a file that is there and could not be read; a constant string */
};

/*
 * Find the file of a FILE or VDSO module. A file whose build-id is not the wanted one is refused.
 * Return: 0 with found->path and found->elf set, or with found->path NULL; FLAME_ENOMEM.
 */
int flame_find_binary(const struct flame_file_wanted *wanted, struct flame_file_found *found);
/* Find the debug file of @binary, by its build-id or by its .gnu_debuglink. */
int flame_find_debug(const struct flame_file_wanted *wanted, const struct flame_file_found *binary,
		     struct flame_file_found *found);
/* Return: the path of a file of the kernel's symbols that perf has kept for this build-id, to be freed; or NULL. */
char *flame_find_kept_kallsyms(const struct flame_file_wanted *wanted);
/* Return: whether two build-ids are the same; one may be padded with zeros. */
bool flame_build_id_equal(struct flame_span a, struct flame_span b);
/* Write @id in hexadecimal digits. Return: @to. */
const char *flame_build_id_text(struct flame_span id, char to[2 * FLAME_BUILD_ID_MAX + 1]);

/*
 * debuginfod: the path of a fetched file, to be freed; NULL where there is none, DEBUGINFOD_URLS is
 * not set or libdebuginfod is not installed.
 */
char *flame_debuginfod_find(struct flame_span build_id, bool debug);

#endif

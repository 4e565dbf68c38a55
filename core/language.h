/* SPDX-License-Identifier: MIT */
#ifndef FLAME_LANGUAGE_H
#define FLAME_LANGUAGE_H
/* language.h - what an ELF file was written in, by what its compiler left in it, also where it is stripped. */
#include "elf.h"

enum flame_language {
	FLAME_LANGUAGE_UNKNOWN,
	FLAME_LANGUAGE_C,
	FLAME_LANGUAGE_CXX,
	FLAME_LANGUAGE_RUST,
	FLAME_LANGUAGE_GO,
};

/* Return: the language of @elf. C where it has code of no other. */
enum flame_language flame_elf_language(const struct flame_elf *elf);
/* Return: its name, a constant string. */
const char *flame_language_name(enum flame_language language);
/* Return: whether @elf has an engine of JavaScript in it that exports V8's functions. */
bool flame_elf_has_v8(const struct flame_elf *elf);
/* What the compiler says of itself, such as "GCC: (Debian 12.2.0-14) 12.2.0". Return: empty where it does not. */
struct flame_span flame_elf_compiler(const struct flame_elf *elf, enum flame_language language);

#endif

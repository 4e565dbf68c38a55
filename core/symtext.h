/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SYMTEXT_H
#define FLAME_SYMTEXT_H
/* symtext.h - symbols that are text: /proc/kallsyms and perf maps. */
#include "symtab.h"

/* More of a file is not read, in bytes. */
#define FLAME_SYMTEXT_MAX (1u << 30)

struct flame_symtext {
	char *text;		/* names are in it */
	size_t len;
	size_t nr_hidden;	/* kallsyms: functions whose address is 0, because the reader may not see it */
};

/*
 * Read @path into @text. Return: 0, FLAME_EIO with errno, FLAME_ENOMEM; FLAME_EOVERFLOW beyond
 * FLAME_SYMTEXT_MAX. Release it in any case.
 */
int flame_symtext_read(struct flame_symtext *text, const char *path);
/* The same from byte @offset on. */
int flame_symtext_read_from(struct flame_symtext *text, const char *path, uint64_t offset);
/* Add the functions of "ADDRESS TYPE NAME[\t[MODULE]]" lines. Changes the text; read it once. Return: 0 or FLAME_ENOMEM. */
int flame_symtext_kallsyms(struct flame_symtext *text, struct flame_symtab *table);
/* Add the functions of "START SIZE NAME" lines; what is behind the second blank is the name. */
int flame_symtext_perf_map(struct flame_symtext *text, struct flame_symtab *table);
void flame_symtext_release(struct flame_symtext *text);

#endif

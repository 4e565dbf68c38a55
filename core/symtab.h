/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SYMTAB_H
#define FLAME_SYMTAB_H
/*
 * symtab.h - a table of symbols that is filled, then sealed, then searched.
 *
 * Of symbols with the same start the best is kept: one that has a size, then one that is not weak,
 * then a global one, then one with fewer leading underscores, then the longest name, then the first
 * that was added. That is how perf chooses too. Where symbols overlap, the one that starts last has
 * the address, and what encloses it has the rest.
 */
#include "flame.h"
#include "segments.h"

enum flame_symbol_rank {
	FLAME_SYMBOL_LOCAL = 0,
	FLAME_SYMBOL_GLOBAL = 1,
	FLAME_SYMBOL_STRONG = 2,	/* bit: not weak */
	FLAME_SYMBOL_SIZED = 4,		/* bit: set by flame_symtab_add() */
};

struct flame_symtab_entry {
	uint64_t start;
	uint64_t end;		/* past its last byte */
	const char *name;	/* at most @room bytes, ended by a NUL or by @room */
	const char *shown;	/* for who searches: what was made of the name; NULL at first */
	uint32_t room;
	uint32_t order;		/* of adding */
	uint8_t rank;
	uint8_t kind;		/* enum flame_kind */
	bool plt;		/* the jump to it, "NAME@plt" */
};

/* A zero-initialised one is empty. */
struct flame_symtab {
	struct flame_symtab_entry *entries;
	size_t nr, room;
	uint32_t nr_added;
	struct flame_segments segments;
	bool newest;	/* of overlapping symbols the one added last has the address: code that came and went */
	bool sealed;
};

#define FLAME_SYMTAB_MAX 67108864	/* symbols of one table; more are left out */

/*
 * Add a symbol. @size 0: it reaches to the next symbol, but not beyond @limit.
 * Return: 0 or FLAME_ENOMEM.
 */
int flame_symtab_add(struct flame_symtab *table, const struct flame_symtab_entry *entry, uint64_t size, uint64_t limit);
/* Sort, choose and resolve. Return: 0 or FLAME_ENOMEM. */
int flame_symtab_seal(struct flame_symtab *table);
/* Return: the symbol that has @address, or NULL. The table is sealed. */
struct flame_symtab_entry *flame_symtab_find(const struct flame_symtab *table, uint64_t address);
void flame_symtab_release(struct flame_symtab *table);

#endif

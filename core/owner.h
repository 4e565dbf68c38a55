/* SPDX-License-Identifier: MIT */
#ifndef FLAME_OWNER_H
#define FLAME_OWNER_H
/*
 * owner.h - whose code a function is: the project's, or a library's, a runtime's, the kernel's. The
 * first function of the project on the way from the leaf to the root owns what a stack costs: it is
 * there that something can be changed.
 */
#include <regex.h>

#include "flame.h"

/* Whose code it is. */
enum flame_code {
	FLAME_CODE_PROJECT,	/* that which is left when all else is known */
	FLAME_CODE_LIBRARY,	/* of third parties: vendored, installed by a package manager */
	FLAME_CODE_STANDARD,	/* library of the language */
	FLAME_CODE_LIBC,	/* C library and loader */
	FLAME_CODE_RUNTIME,	/* interpreter, virtual machine, event loop, scheduler */
	FLAME_CODE_GC,		/* garbage collection */
	FLAME_CODE_JIT,		/* compilers at run time, and loading code */
	FLAME_CODE_ALLOCATOR,
	FLAME_CODE_LOCK,	/* waiting for or handing on locks, in user space */
	FLAME_CODE_KERNEL,
	FLAME_CODE_IDLE,	/* nothing ran */
	FLAME_CODE_TYPE,	/* no code: what is allocated, or locked */
	FLAME_CODE_UNKNOWN,	/* no symbol, and not known to be the project's */
	FLAME_NR_CODES,
};

/* Return: "your code", "garbage collection" and so on; static storage. */
const char *flame_code_name(enum flame_code code);
/* Return: the same as a word that never changes, for machines: "project", "gc". */
const char *flame_code_id(enum flame_code code);

/* What is known of a function. Spans of no bytes are unknown. */
struct flame_code_place {
	struct flame_span name, module, file;
	enum flame_kind kind;
};

#define FLAME_OWNER_PATTERNS 32

/* What the user says the project is. */
struct flame_owner {
	regex_t patterns[FLAME_OWNER_PATTERNS];
	size_t nr_patterns;
	bool is_go;	/* user's: some of the program is written in Go: "sort.Sort" is its library's */
	bool is_rust;	/* user's: in Rust: so is "core::ops::f" */
};

/*
 * Add @pattern, an extended regular expression for names, files or modules. Return: NULL, or what
 * is wrong, static.
 */
const char *flame_owner_add(struct flame_owner *o, const char *pattern);
void flame_owner_release(struct flame_owner *o);
/* The reason given for what would be the project's, if there were no patterns, none of which matches. */
extern const char flame_owner_unmatched[];

/*
 * Return: whose code @place is. *@why, where it is not NULL, gets the reason in static storage.
 * With patterns, the project is what one of them matches and nothing else.
 */
enum flame_code flame_owner_code(const struct flame_owner *o, const struct flame_code_place *place, const char **why);
/* Return: whether the function's name shows that this is a Go program. */
bool flame_owner_shows_go(struct flame_span name);
/* The same for Rust. */
bool flame_owner_shows_rust(struct flame_span name);
/* Return: whether the name stands for code without a symbol: "[libc.so.6]", "[unknown]", an address. */
bool flame_owner_is_nameless(struct flame_span name);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DEMANGLE_H
#define FLAME_DEMANGLE_H
/* Mangled names of C++ and Rust (legacy and v0), by libiberty where the build found it. */
#include "flame.h"

/* Neither a mangled name nor what it stands for may be longer, in bytes. */
#define FLAME_DEMANGLE_MAX 65536

/* Return: whether this build can demangle at all. */
bool flame_demangle_available(void);

/**
 * flame_demangle() - Demangle a symbol.
 * @name:	symbol without an offset; need not be a mangled one
 * @out:	set to the demangled name with its arguments, ended by NUL; the caller frees it
 *
 * Knows names that start with _Z, __Z (macOS) and _R. Does not recurse deeper than libiberty's
 * limits, which also refuse C++ names over 1024 bytes.
 *
 * Return: false if @name is none of these, is damaged or beyond a limit, or memory is short: then
 * @out is NULL and the symbol is best shown as it is.
 */
bool flame_demangle(struct flame_span name, char **out);
/* The same without the function's own arguments and what it returns. */
bool flame_demangle_name(struct flame_span name, char **out);

#endif

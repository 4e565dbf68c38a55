/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TIDY_H
#define FLAME_TIDY_H
/*
 * Names for frames, made of the symbols that profilers print.
 *
 * All functions take any bytes of any length, are linear in it, allocate nothing and keep no
 * state. Results lie in the given name or in the caller's buffer and live as long as those; they
 * are never longer than the name. Bytes above 0x7f pass unchanged.
 */
#include "flame.h"

/* Where a symbol comes from, which tells how to read it. */
enum flame_tidy_language {
	FLAME_TIDY_NATIVE,	/* ELF file or kernel: C, C++, Go, Rust, … */
	FLAME_TIDY_PERF_MAP,	/* perf-PID.map or jitdump: Java, JavaScript, Python, … */
	FLAME_TIDY_RUST,	/* FLAME_TIDY_NATIVE that also repairs legacy Rust symbols */
};

/**
 * flame_tidy_offset() - Cut the offset "+0x1f" off the end of a symbol.
 * @name:	symbol; one that is nothing but an offset stays
 *
 * Return: @name without it. Only hexadecimal digits may follow the "+0x".
 */
struct flame_span flame_tidy_offset(struct flame_span name);

/**
 * flame_tidy_name() - The name that a frame shows by default.
 * @name:	symbol without its offset (see flame_tidy_offset())
 * @language:	what kind of symbol it is
 * @buf:	at least @name.len bytes; may be @name.s itself, but not otherwise overlap it
 *
 * Native symbols lose their argument list with the qualifiers behind it: "A::f(int) const" is
 * "A::f". Arguments inside a name ("f(int)::{lambda()#1}") stay, as do " [clone .cold]" and
 * "@plt" behind them. A name whose brackets do not match stays whole.
 *
 * Symbols of a perf map lose the leading L of a JVM class ("Lcom/acme/A;::f") and a JVM method
 * descriptor ("(I[B)V", also one that is cut short after such a class); nothing else of theirs is
 * taken for arguments.
 *
 * FLAME_TIDY_RUST also makes "_$LT$a..B$u20$as$u20$c..D$GT$::f::h0123456789abcdef", which is a
 * Rust symbol taken for C++, to "<a::B as c::D>::f".
 *
 * In all of them ';' becomes ':' and control bytes become '?'; quotes stay.
 *
 * Return: the name, in @name or in @buf; empty only if @name is.
 */
struct flame_span flame_tidy_name(struct flame_span name, enum flame_tidy_language language,
				  char *buf);

/**
 * flame_tidy_raw() - A symbol as it is, made safe for the folded format.
 * @name:	symbol
 * @buf:	as for flame_tidy_name()
 *
 * Return: @name with ':' for ';' and '?' for control bytes: @name itself if it has none of them,
 * else in @buf.
 */
struct flame_span flame_tidy_raw(struct flame_span name, char *buf);

/**
 * flame_tidy_half_rust() - Legacy Rust symbols that a C++ demangler took apart lose hash and escapes.
 * @name:	symbol without its offset
 * @buf:	as for flame_tidy_name()
 *
 * For tools of macOS and DTrace, which demangle as far as C++ goes. Unlike FLAME_TIDY_RUST this keeps the '_' of
 * "a::_$u7b$$u7b$closure$u7d$$u7d$" ("a::_{{closure}}"), as other readers of these tools' output do, and arguments.
 *
 * Return: as flame_tidy_raw().
 */
struct flame_span flame_tidy_half_rust(struct flame_span name, char *buf);

/**
 * flame_tidy_next_inlined() - Take the next method from a chain of inlined JVM methods.
 * @rest:	symbol of a perf map, such as "LA;::outer->LB;::mid->LC;::leaf"; advanced
 * @name:	set to the outermost method that is left, not tidied yet
 *
 * Only "->" between two methods splits. Any other symbol comes out whole.
 *
 * Return: false when nothing is left; then @name is unchanged.
 */
bool flame_tidy_next_inlined(struct flame_span *rest, struct flame_span *name);

#endif

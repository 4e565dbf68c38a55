/* SPDX-License-Identifier: MIT */
/*
 * language.c - traces of compilers: sections, names of libraries, mangled names, paths of sources in constants.
 */
#define _GNU_SOURCE
#include "language.h"

#include <elf.h>
#include <string.h>

#include "span.h"

#define NR_NEEDED 256		/* libraries that are looked at */
#define NR_COMMENTS 64		/* compilers that are looked at */

static bool has_bytes(const struct flame_elf *elf, const char *section, const char *bytes)
{
	struct flame_span s = flame_elf_bytes(elf, flame_elf_section(elf, section));

	return s.len && memmem(s.s, s.len, bytes, strlen(bytes));
}

static bool needs(const struct flame_elf *elf, const char *prefix)
{
	const char *name;

	for (size_t i = 0; i < NR_NEEDED && (name = flame_elf_needed(elf, i)); i++) {
		if (!strncmp(name, prefix, strlen(prefix)))
			return true;
	}
	return false;
}

/* The bytes are looked for in the section; no bytes: the section is enough. */
static const struct {
	enum flame_language language;
	const char *section, *bytes;
} traces[] = {
	{ FLAME_LANGUAGE_GO, ".go.buildinfo", NULL },
	{ FLAME_LANGUAGE_GO, ".gopclntab", NULL },
	{ FLAME_LANGUAGE_GO, ".note.go.buildid", NULL },
	{ FLAME_LANGUAGE_RUST, ".comment", "rustc version" },
	{ FLAME_LANGUAGE_RUST, ".strtab", "rust_begin_unwind" },
	{ FLAME_LANGUAGE_RUST, ".strtab", "__rust_alloc" },
	{ FLAME_LANGUAGE_CXX, ".dynstr", "_ZN" },
	{ FLAME_LANGUAGE_CXX, ".dynstr", "_ZS" },
	{ FLAME_LANGUAGE_CXX, ".strtab", "_ZN" },
	{ FLAME_LANGUAGE_CXX, ".strtab", "_ZS" },
};

/* Messages of Rust's library name its sources: "/rustc/" and the 40 digits of a commit. */
static bool has_rust_paths(const struct flame_elf *elf)
{
	static const char start[] = "/rustc/", digits[] = "0123456789abcdef";
	struct flame_span rest = flame_elf_bytes(elf, flame_elf_section(elf, ".rodata"));
	const char *at;

	while ((at = memmem(rest.s, rest.len, start, sizeof(start) - 1))) {
		rest = span_from(rest, (size_t)(at - rest.s) + sizeof(start) - 1);
		for (size_t i = 0; i < rest.len && memchr(digits, rest.s[i], 16); i++) {
			if (i == 39)
				return true;
		}
	}
	return false;
}

static bool has_trace(const struct flame_elf *elf, enum flame_language language)
{
	for (size_t i = 0; i < sizeof(traces) / sizeof(*traces); i++) {
		if (traces[i].language != language)
			continue;
		if (traces[i].bytes ? has_bytes(elf, traces[i].section, traces[i].bytes) :
				      flame_elf_section(elf, traces[i].section) != NULL)
			return true;
	}
	return false;
}

enum flame_language flame_elf_language(const struct flame_elf *elf)
{
	if (has_trace(elf, FLAME_LANGUAGE_GO))
		return FLAME_LANGUAGE_GO;
	/* Names of Rust may have C++'s form. */
	if (has_trace(elf, FLAME_LANGUAGE_RUST) || has_rust_paths(elf))
		return FLAME_LANGUAGE_RUST;
	if (has_trace(elf, FLAME_LANGUAGE_CXX) || needs(elf, "libstdc++.") || needs(elf, "libc++."))
		return FLAME_LANGUAGE_CXX;
	return FLAME_LANGUAGE_C;
}

const char *flame_language_name(enum flame_language language)
{
	static const char *const names[] = {
		[FLAME_LANGUAGE_UNKNOWN] = "unknown", [FLAME_LANGUAGE_C] = "C", [FLAME_LANGUAGE_CXX] = "C++",
		[FLAME_LANGUAGE_RUST] = "Rust", [FLAME_LANGUAGE_GO] = "Go",
	};

	return names[language];
}

bool flame_elf_has_v8(const struct flame_elf *elf)
{
	return has_bytes(elf, ".dynstr", "_ZN2v87Isolate");
}

struct flame_span flame_elf_compiler(const struct flame_elf *elf, enum flame_language language)
{
	struct flame_span rest = flame_elf_bytes(elf, flame_elf_section(elf, ".comment")), part, best = { "", 0 };

	for (size_t i = 0; i < NR_COMMENTS && span_next(&rest, '\0', &part); i++) {
		bool is_rust = span_starts(part, "rustc");

		if (part.len && !span_starts(part, "Linker:") && (!best.len || (is_rust && language == FLAME_LANGUAGE_RUST)))
			best = part;
	}
	return best;
}

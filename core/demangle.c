/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - C++ and Rust symbols through libiberty.
 */
#include "demangle.h"

#ifdef HAVE_LIBIBERTY

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/* Collects the text that libiberty prints in pieces. */
struct demangle_sink {
	char *text;
	size_t len;
	size_t size;
	jmp_buf give_up;
};

/*
 * Back references let a short name stand for an exponentially long one, and libiberty has no way
 * for its caller to end printing. Jumping out is sound: it holds nothing there but its stack,
 * except for a few bytes of a punycode identifier.
 */
static void sink_add(const char *text, size_t len, void *arg)
{
	struct demangle_sink *sink = arg;

	if (len >= FLAME_DEMANGLE_MAX - sink->len)
		longjmp(sink->give_up, 1);
	if (sink->len + len >= sink->size) {
		size_t size = 2 * (sink->len + len) + 64;
		char *bigger = realloc(sink->text, size);

		if (!bigger)
			longjmp(sink->give_up, 1);
		sink->text = bigger;
		sink->size = size;
	}
	memcpy(sink->text + sink->len, text, len);
	sink->len += len;
	sink->text[sink->len] = '\0';
}

static bool demangle_into(struct demangle_sink *sink, const char *mangled, int options)
{
	if (setjmp(sink->give_up))
		return false;
	/* First Rust: its legacy names are valid C++ names too. */
	if (rust_demangle_callback(mangled, options, sink_add, sink))
		return sink->len;
	sink->len = 0;
	return mangled[1] == 'Z' && cplus_demangle_v3_callback(mangled, options, sink_add, sink) &&
	       sink->len;
}

static char *span_dup(struct flame_span s)
{
	char *copy = malloc(s.len + 1);

	if (copy) {
		memcpy(copy, s.s, s.len);
		copy[s.len] = '\0';
	}
	return copy;
}

bool flame_demangle_available(void)
{
	return true;
}

static bool demangle(struct flame_span name, int options, char **out)
{
	struct demangle_sink sink = { 0 };
	char *mangled;
	bool ok;

	*out = NULL;
	if (name.len > 3 && !memcmp(name.s, "__Z", 3)) {
		name.s++;
		name.len--;
	}
	if (name.len < 3 || name.len > FLAME_DEMANGLE_MAX || name.s[0] != '_' ||
	    (name.s[1] != 'Z' && name.s[1] != 'R') || memchr(name.s, '\0', name.len))
		return false;
	mangled = span_dup(name);
	if (!mangled)
		return false;
	ok = demangle_into(&sink, mangled, options);
	free(mangled);
	if (ok)
		*out = sink.text;
	else
		free(sink.text);
	return ok;
}

bool flame_demangle(struct flame_span name, char **out)
{
	return demangle(name, DMGL_PARAMS | DMGL_ANSI, out);
}

bool flame_demangle_name(struct flame_span name, char **out)
{
	return demangle(name, DMGL_NO_OPTS, out);
}

#else

bool flame_demangle_available(void)
{
	return false;
}

bool flame_demangle(struct flame_span name, char **out)
{
	(void)name;
	*out = NULL;
	return false;
}

bool flame_demangle_name(struct flame_span name, char **out)
{
	return flame_demangle(name, out);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * strip.c - names without what is another in each run or build: one scan from left to right. At each place
 * a rule may take what stands there for an id, and put something else in its place.
 */
#define _GNU_SOURCE
#include "strip.h"

#include <ctype.h>
#include <string.h>

#include "span.h"

#define MIN_HEX 8		/* digits from which on a number without 0x is an address or a hash */
#define RUST_HASH 16
#define MAX_ENDS 8		/* that stand one behind the other */
#define LAMBDA_REACH 256	/* bytes before a number in which "lambda$" makes it one of a lambda */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return isxdigit((unsigned char)c);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static size_t count(struct flame_span s, size_t from, bool (*is)(char))
{
	size_t n = from;

	while (n < s.len && is(s.s[n]))
		n++;
	return n - from;
}

static size_t put(char *to, size_t n, const char *text)
{
	size_t len = strlen(text);

	memcpy(to + n, text, len);
	return n + len;
}

/* Return: the length of "0x1f2e" at @at; 0 where it is none. */
static size_t hex_number(struct flame_span s, size_t at)
{
	size_t n;

	if (at + 2 >= s.len || s.s[at] != '0' || s.s[at + 1] != 'x')
		return 0;
	n = count(s, at + 2, is_hex);
	return n ? n + 2 : 0;
}

size_t flame_strip_hex(char *to, struct flame_span name)
{
	size_t n = 0;

	for (size_t i = 0; i < name.len;) {
		size_t len = hex_number(name, i);

		if (len)
			n = put(to, n, "0x...");
		else
			to[n++] = name.s[i];
		i += len ? len : 1;
	}
	return n;
}

/* Ends of names. Each returns the length without it. */

/* "foo [clone .cold]" */
static size_t without_clone_note(struct flame_span s)
{
	size_t at = span_find(s, " [clone ");

	return at < s.len && s.s[s.len - 1] == ']' ? at : s.len;
}

/* "foo::h0123456789abcdef" */
static size_t without_rust_hash(struct flame_span s)
{
	size_t start = s.len - RUST_HASH;

	if (s.len < RUST_HASH + 4 || memcmp(s.s + start - 3, "::h", 3) || count(s, start, is_hex) != RUST_HASH)
		return s.len;
	return start - 3;
}

/* "_ZN3foo3bar17h0123456789abcdefE": the same, not demangled; it loses what its demangled name does. */
static size_t without_mangled_hash(struct flame_span s)
{
	size_t start = s.len - RUST_HASH - 1;

	if (s.len < RUST_HASH + 8 || memcmp(s.s, "_ZN", 3) || s.s[s.len - 1] != 'E' || memcmp(s.s + start - 3, "17h", 3) ||
	    count(s, start, is_hex) < RUST_HASH)
		return s.len;
	return start - 3;
}

/* "memcpy@@GLIBC_2.14" */
static size_t without_symbol_version(struct flame_span s)
{
	const char *at = s.len ? memchr(s.s, '@', s.len) : NULL;
	size_t start = at ? (size_t)(at - s.s) : s.len, i = start;

	while (i < s.len && s.s[i] == '@')
		i++;
	if (i == start || i == s.len || !isupper((unsigned char)s.s[i]))
		return s.len;
	while (i < s.len && (isupper((unsigned char)s.s[i]) || s.s[i] == '_' || s.s[i] == '.' || is_digit(s.s[i])))
		i++;
	return i == s.len && start && is_digit(s.s[i - 1]) ? start : s.len;
}

/* "foo.constprop.0.cold", "foo.llvm.123" */
static size_t without_clone(struct flame_span s)
{
	static const char *const clones[] = {
		".cold", ".isra", ".constprop", ".part", ".llvm", ".lto_priv", ".localalias", ".clone",
	};
	size_t end = s.len;

	while (end && is_digit(s.s[end - 1]))
		end--;
	if (end && end < s.len && s.s[end - 1] == '.')
		end--;
	else
		end = s.len;
	for (size_t i = 0; i < sizeof(clones) / sizeof(*clones); i++) {
		size_t n = strlen(clones[i]);

		if (end > n && !memcmp(s.s + end - n, clones[i], n))
			return end - n;
	}
	return s.len;
}

static struct flame_span without_ends(struct flame_span s)
{
	static size_t (*const ends[])(struct flame_span) = {
		without_clone_note, without_symbol_version, without_clone, without_rust_hash, without_mangled_hash,
	};
	size_t len = s.len + 1;

	for (int n = 0; n < MAX_ENDS && s.len < len; n++) {
		len = s.len;
		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
			s.len = ends[i](s);
	}
	return s;
}

/* Ids within names. Each returns the length of what stands at @at, 0 where it is no such id, and what replaces it. */

static size_t prefixed_hex(struct flame_span s, size_t at, const char **with)
{
	*with = "0x...";
	return hex_number(s, at);
}

/* "7f3a12bc9d10", "<7f12a0>" */
static size_t bare_hex(struct flame_span s, size_t at, const char **with)
{
	size_t n = at && is_word(s.s[at - 1]) ? 0 : count(s, at, is_hex), nr_digits = 0;
	bool in_angle = at && s.s[at - 1] == '<' && at + n < s.len && s.s[at + n] == '>';

	if (!n || (at + n < s.len && is_word(s.s[at + n])))
		return 0;
	for (size_t i = 0; i < n; i++)
		nr_digits += is_digit(s.s[at + i]);
	*with = "...";
	return nr_digits && (n >= MIN_HEX || in_angle) ? n : 0;
}

/* "$$Lambda$14/0x0000000800c03000", "$$Lambda.0x00007f", "$$Lambda$87+0x00007f3334007a08/1172131546" */
static size_t java_lambda(struct flame_span s, size_t at, const char **with)
{
	size_t end = at + 8;

	*with = "$$Lambda";
	if (!span_starts(span_from(s, at), *with))
		return 0;
	while (end + 1 < s.len && strchr("$/.+", s.s[end]) && is_digit(s.s[end + 1])) {
		size_t hex = hex_number(s, end + 1);

		end += 1 + (hex ? hex : count(s, end + 1, is_digit));
	}
	return end - at;
}

/* "libc.so.6" */
static size_t library_version(struct flame_span s, size_t at, const char **with)
{
	size_t end = at + 3;

	*with = ".so";
	if (!span_starts(span_from(s, at), ".so."))
		return 0;
	while (end + 1 < s.len && s.s[end] == '.' && is_digit(s.s[end + 1]))
		end += 1 + count(s, end + 1, is_digit);
	return end - at;
}

/* "3.11", "1.2.3" */
static size_t version(struct flame_span s, size_t at, const char **with)
{
	size_t n = at && is_digit(s.s[at - 1]) ? 0 : count(s, at, is_digit), end = at + n;

	*with = "N";
	if (!n)
		return 0;
	while (end + 1 < s.len && s.s[end] == '.' && is_digit(s.s[end + 1]))
		end += 1 + count(s, end + 1, is_digit);
	return end > at + n ? end - at : 0;
}

static bool ends_with(struct flame_span s, const char *word)
{
	size_t n = strlen(word);

	return s.len >= n && !strncasecmp(s.s + s.len - n, word, n);
}

/* What stands before numbers that count things of one kind; only lower case matters. */
static const char *const counters[] = {
	"thread", "worker", "thread ", "worker ", "thread_", "worker_", "tid=", "pid=", "$proxy", "accessor", ".func",
	".gowrap", "$_", "'lambda",
};

static bool is_in_lambda(struct flame_span before)
{
	if (before.len > LAMBDA_REACH)
		before = span_from(before, before.len - LAMBDA_REACH);
	return span_find(before, "lambda$") < before.len;
}

/* "pool-1-thread-12", "GC Thread#3", "java-12/13", "{closure#0}", "Thread7", "lambda$main$0" */
static size_t counted(struct flame_span s, size_t at, const char **with)
{
	size_t n = !at || is_digit(s.s[at - 1]) ? 0 : count(s, at, is_digit);
	struct flame_span before = span_to(s, at);

	*with = "N";
	if (!n)
		return 0;
	if (strchr("-#/", s.s[at - 1]) && !(at + n < s.len && is_word(s.s[at + n])))
		return n;
	if (s.s[at - 1] == '$' && is_in_lambda(before))
		return n;
	if (s.s[at - 1] == ':' && span_starts(s, "kworker/"))
		return n;
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		if (ends_with(before, counters[i]))
			return n;
	}
	return 0;
}

size_t flame_strip_ids(char *to, struct flame_span name)
{
	static size_t (*const rules[])(struct flame_span, size_t, const char **) = {
		prefixed_hex, bare_hex, java_lambda, library_version, version, counted,
	};
	struct flame_span s = without_ends(name);
	size_t n = 0;

	for (size_t i = 0; i < s.len;) {
		const char *with = "";
		size_t len = 0;

		for (size_t r = 0; !len && r < sizeof(rules) / sizeof(*rules); r++)
			len = rules[r](s, i, &with);
		if (len)
			n = put(to, n, with);
		else
			to[n++] = s.s[i];
		i += len ? len : 1;
	}
	return n;
}

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_SPAN_H
#define FLAME_SPAN_H
/* Cutting up a line of text. All functions take any bytes, and spans of no bytes. */
#include <string.h>
#include <strings.h>

#include "flame.h"

static inline bool span_equals(struct flame_span s, const char *word)
{
	size_t n = strlen(word);

	return s.len == n && !memcmp(s.s, word, n);
}

static inline bool span_starts(struct flame_span s, const char *word)
{
	size_t n = strlen(word);

	return s.len >= n && !memcmp(s.s, word, n);
}

static inline bool span_ends(struct flame_span s, const char *word)
{
	size_t n = strlen(word);

	return s.len >= n && !memcmp(s.s + s.len - n, word, n);
}

/* Return: where @word starts in @s; s.len where it does not. */
static inline size_t span_find(struct flame_span s, const char *word)
{
	const char *at = s.len ? (const char *)memmem(s.s, s.len, word, strlen(word)) : NULL;

	return at ? (size_t)(at - s.s) : s.len;
}

static inline struct flame_span span_from(struct flame_span s, size_t at)
{
	if (at > s.len)
		at = s.len;
	return (struct flame_span){ s.s + at, s.len - at };
}

static inline struct flame_span span_to(struct flame_span s, size_t at)
{
	return (struct flame_span){ s.s, at < s.len ? at : s.len };
}

static inline bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline struct flame_span span_trim_end(struct flame_span s)
{
	while (s.len && is_space(s.s[s.len - 1]))
		s.len--;
	return s;
}

static inline struct flame_span span_trim_start(struct flame_span s)
{
	while (s.len && is_space(s.s[0])) {
		s.s++;
		s.len--;
	}
	return s;
}

static inline struct flame_span span_trim(struct flame_span s)
{
	return span_trim_start(span_trim_end(s));
}

/* What stands before the next @separator is taken off @rest. Return: false where nothing is left. */
static inline bool span_next(struct flame_span *rest, char separator, struct flame_span *part)
{
	const char *at;

	if (!rest->s)
		return false;
	at = rest->len ? (const char *)memchr(rest->s, separator, rest->len) : NULL;
	*part = (struct flame_span){ rest->s, at ? (size_t)(at - rest->s) : rest->len };
	rest->s = at ? at + 1 : NULL;
	rest->len -= at ? part->len + 1 : rest->len;
	return true;
}

static inline bool span_is_nocase(struct flame_span a, struct flame_span b)
{
	return a.len == b.len && !strncasecmp(a.s, b.s, b.len);
}

/* Return: true where @word is one of those in @list, "RUNNABLE,SLEEPING", in any case. */
static inline bool span_in_list(struct flame_span word, const char *list)
{
	struct flame_span rest = { list, strlen(list) }, part;

	while (span_next(&rest, ',', &part)) {
		if (span_is_nocase(span_trim(part), word))
			return true;
	}
	return false;
}

/* The next word between blanks is taken off @rest. Return: false where none is left. */
static inline bool span_word(struct flame_span *rest, struct flame_span *word)
{
	*rest = span_trim_start(*rest);
	word->s = rest->s;
	word->len = 0;
	while (word->len < rest->len && !is_space(rest->s[word->len]))
		word->len++;
	*rest = span_from(*rest, word->len);
	return word->len > 0;
}

/* The last word between blanks, and the blanks behind it, are taken off @s. Return: it; of no bytes where none is left. */
static inline struct flame_span span_last_word(struct flame_span *s)
{
	size_t end = span_trim_end(*s).len, start;

	for (start = end; start && !is_space(s->s[start - 1]);)
		start--;
	s->len = start;
	return (struct flame_span){ s->s + start, end - start };
}

/*
 * The "(…)" that ends @s, where a blank stands before it; its parentheses may nest. Cut off, and the blanks before it.
 * Return: false where there is none.
 */
static inline bool span_cut_group(struct flame_span *s, struct flame_span *inside)
{
	size_t depth = 0, last = 0;

	if (!s->len || s->s[s->len - 1] != ')')
		return false;
	for (size_t i = s->len; i-- > 0;) {
		if (s->s[i] == ')')
			depth++;
		else if (s->s[i] == '(' && --depth == 0) {
			last = i;
			break;
		}
	}
	/* Unbalanced, as in "/tmp/a)b": what follows the last blank and parenthesis. */
	for (size_t i = s->len; depth && !last && i-- > 1;) {
		if (s->s[i] == '(' && is_space(s->s[i - 1]))
			last = i;
	}
	if (last && !is_space(s->s[last - 1]))
		return false;
	if (s->s[last] != '(')
		return false;
	*inside = (struct flame_span){ s->s + last + 1, s->len - last - 2 };
	s->len = last;
	*s = span_trim(*s);
	return true;
}

/* A line of @text, which is advanced behind it. Return: false at its end. */
static inline bool span_line(struct flame_span *text, struct flame_span *line)
{
	*line = (struct flame_span){ "", 0 };
	if (!text->len)
		return false;
	span_next(text, '\n', line);
	if (!text->s)
		text->len = 0;
	if (line->len && line->s[line->len - 1] == '\r')
		line->len--;
	return true;
}

/*
 * The next cell of a line of comma-separated values is taken off @rest. Quotes around it go; two quotes in it
 * are one, for which @buf has room for @rest. Blanks before the quote stay, as they may tell a depth. Return:
 * false where no cell is left.
 */
static inline bool span_cell(struct flame_span *rest, char separator, char *buf, struct flame_span *cell)
{
	size_t i = 0, nr = 0;
	bool quoted = false;

	if (!rest->s)
		return false;
	for (; i < rest->len && (quoted || rest->s[i] != separator); i++) {
		if (rest->s[i] != '"')
			buf[nr++] = rest->s[i];
		else if (quoted && i + 1 < rest->len && rest->s[i + 1] == '"')
			buf[nr++] = rest->s[i++];
		else
			quoted = !quoted;
	}
	*cell = (struct flame_span){ buf, nr };
	rest->s = i < rest->len ? rest->s + i + 1 : NULL;
	rest->len -= i < rest->len ? i + 1 : rest->len;
	return true;
}

/* Digits at the start of @s. Return: how many; 0 also where the number does not fit. */
static inline size_t span_digits(struct flame_span s, int64_t *value)
{
	size_t n = 0;

	*value = 0;
	for (; n < s.len && s.s[n] >= '0' && s.s[n] <= '9'; n++) {
		if (__builtin_mul_overflow(*value, (int64_t)10, value) ||
		    __builtin_add_overflow(*value, (int64_t)(s.s[n] - '0'), value))
			return 0;
	}
	return n;
}

/* Return: true where all of @s is a number of digits that fits. */
static inline bool span_is_int(struct flame_span s, int64_t *value)
{
	return s.len && span_digits(s, value) == s.len;
}

/* What stands behind the last '/'. */
static inline struct flame_span span_base(struct flame_span path)
{
	const char *slash = path.len ? (const char *)memrchr(path.s, '/', path.len) : NULL;

	return slash ? span_from(path, (size_t)(slash - path.s) + 1) : path;
}

/* Cut off what the kernel puts behind the path of a file that is gone. Return: whether it was there. */
static inline bool span_cut_deleted(struct flame_span *path)
{
	static const char deleted[] = " (deleted)";

	if (path->len < sizeof(deleted) || !span_ends(*path, deleted))
		return false;
	path->len -= sizeof(deleted) - 1;
	return true;
}

/* Return: the name of the file that a module is, without its folders. */
static inline struct flame_span span_module_base(struct flame_span module)
{
	span_cut_deleted(&module);
	return span_base(module);
}

#endif

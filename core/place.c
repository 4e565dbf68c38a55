/* SPDX-License-Identifier: MIT */
/*
 * place.c - file and line from the names of frames.
 */
#define _GNU_SOURCE
#include "place.h"

#include "span.h"

#define EXTENSION_MAX 5	/* letters of ".swift" and shorter ones */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "x.py", "/usr/bin/tool", "<frozen importlib>", "node:fs": what a function's name does not look like. */
static bool is_file(struct flame_span s)
{
	size_t n = 0;

	if (!s.len)
		return false;
	if (s.s[0] == '/' || span_starts(s, "node:") || span_starts(s, "file:"))
		return s.len > 1;
	if (s.s[0] == '<' && s.s[s.len - 1] == '>')
		return true;
	while (n < s.len && n <= EXTENSION_MAX && is_letter(s.s[s.len - 1 - n]))
		n++;
	return n && n <= EXTENSION_MAX && n + 1 < s.len && s.s[s.len - 1 - n] == '.' && is_letter(s.s[s.len - 2 - n]);
}

/* Cut ":12" off the end of *@s. Return: whether it was there. */
static bool cut_line(struct flame_span *s, uint32_t *line)
{
	size_t n = s->len;
	int64_t value;

	while (n && s->s[n - 1] >= '0' && s->s[n - 1] <= '9')
		n--;
	if (n < 2 || n == s->len || s->s[n - 1] != ':' || s->s[n - 2] == ':' || !span_is_int(span_from(*s, n), &value) ||
	    value > UINT32_MAX)
		return false;
	*line = (uint32_t)value;
	s->len = n - 1;
	return true;
}

/* "x.py:12" or "x.js:12:3" or "x.py". */
static bool parse_file(struct flame_span s, struct flame_place *place)
{
	uint32_t line = 0;

	/* Of two numbers the second is a column. */
	if (cut_line(&s, &line))
		cut_line(&s, &line);
	if (!is_file(s))
		return false;
	place->line = line;
	place->file = s;
	return true;
}

/* "fib (x.py:12)" */
static bool parse_parentheses(struct flame_span text, struct flame_place *place)
{
	const char *open;
	size_t at;

	if (text.len < 5 || text.s[text.len - 1] != ')')
		return false;
	open = (const char *)memrchr(text.s, '(', text.len);
	if (!open || open < text.s + 2 || open[-1] != ' ')
		return false;
	at = (size_t)(open - text.s);
	if (!parse_file((struct flame_span){ open + 1, text.len - at - 2 }, place))
		return false;
	place->name = span_to(text, at - 1);
	return true;
}

static bool is_absolute(struct flame_span s)
{
	return s.s[0] == '/' || span_starts(s, "node:") || span_starts(s, "file:");
}

/*
 * "fib x.js:12:3"; a name may hold blanks, and so may a path that begins with its root: else it is
 * the last word.
 */
static bool parse_words(struct flame_span text, struct flame_place *place)
{
	struct flame_span rest = text, part;
	uint32_t line = 0;

	if (!cut_line(&rest, &line))
		return false;
	for (rest = text; span_next(&rest, ' ', &part) && rest.s;) {
		bool is_last = !rest.len || !memchr(rest.s, ' ', rest.len);

		if (!rest.len || rest.s - text.s < 2 || (!is_absolute(rest) && !is_last))
			continue;
		place->name = span_to(text, (size_t)(rest.s - text.s) - 1);
		return parse_file(rest, place);
	}
	return false;
}

/* "x.py:12:fib" */
static bool parse_front(struct flame_span text, struct flame_place *place)
{
	const char *colon = (const char *)memrchr(text.s, ':', text.len);
	struct flame_span file;

	if (!colon || colon == text.s || colon + 1 == text.s + text.len)
		return false;
	file = span_to(text, (size_t)(colon - text.s));
	if (!cut_line(&file, &place->line) || !is_file(file)) {
		place->line = 0;
		return false;
	}
	if (colon[1] >= '0' && colon[1] <= '9') {
		place->line = 0;
		return false;
	}
	place->file = file;
	place->name = span_from(text, (size_t)(colon - text.s) + 1);
	return true;
}

/* "fib:12" and "fib:x.c:12" */
static bool parse_end(struct flame_span text, struct flame_place *place)
{
	const char *colon;
	struct flame_span file;

	if (!cut_line(&text, &place->line))
		return false;
	place->name = text;
	colon = (const char *)memrchr(text.s, ':', text.len);
	file = colon ? span_from(text, (size_t)(colon - text.s) + 1) : text;
	if (colon && colon > text.s && colon[-1] != ':' && is_file(file)) {
		place->file = file;
		place->name = span_to(text, (size_t)(colon - text.s));
	}
	return true;
}

/* "py::fib:/app/x.py", as Python writes it for perf. */
static bool parse_python(struct flame_span text, struct flame_place *place)
{
	size_t at = span_find(text, ":/");

	if (!span_starts(text, "py::") || at == text.len || at < 5)
		return false;
	place->name = span_from(span_to(text, at), 4);
	place->file = span_from(text, at + 1);
	return true;
}

/* "LazyCompile:*fib", "JS:~fib": how V8 compiled it is no part of the function. */
static struct flame_span cut_tier(struct flame_span text)
{
	static const char *const starts[] = { "LazyCompile:", "Function:", "JS:", "Script:", "Eval:" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		struct flame_span rest = span_from(text, strlen(starts[i]));

		if (!span_starts(text, starts[i]))
			continue;
		while (rest.len > 1 && strchr("*~^+-", rest.s[0]))
			rest = span_from(rest, 1);
		return rest.len && rest.s[0] != ' ' ? rest : text;
	}
	return text;
}

struct flame_place flame_place_parse(struct flame_span text)
{
	struct flame_place place = { .name = text, .file = { text.s, 0 } };

	if (text.len < 3 || text.s[0] == '[')
		return place;
	place.name = text = cut_tier(text);
	if (parse_python(text, &place) || parse_parentheses(text, &place) || parse_front(text, &place) ||
	    parse_words(text, &place))
		return place;
	place.name = text;
	parse_end(text, &place);
	return place;
}

/* SPDX-License-Identifier: MIT */
/*
 * tidy.c - makes names of symbols: drops what tells apart calls or builds of one function.
 */
#include "tidy.h"

#include <string.h>

#include "utf8.h"

/* Names with more open brackets than this at once stay whole. */
#define TIDY_DEPTH_MAX 1024

enum byte_class {
	BYTE_REPLACED = 1,	/* cannot stand in a folded line */
	BYTE_PAREN = 2,		/* may start an argument list or a descriptor */
	BYTE_DOLLAR = 4,	/* may start an escape of Rust */
	BYTE_WORD = 8,		/* part of an identifier */
	BYTE_JAVA = 16,		/* part of a JVM name: of hidden classes '+', of Kotlin '-' */
	BYTE_PACKAGE = 32,	/* separates the parts of a JVM class name */
	BYTE_COLON = 64,	/* may start a hash of Rust */
};

#define BYTE_LETTER (BYTE_WORD | BYTE_JAVA)

static const unsigned char byte_class[256] = {
	[0 ... 0x1f] = BYTE_REPLACED,
	[0x7f] = BYTE_REPLACED,
	[';'] = BYTE_REPLACED,
	['('] = BYTE_PAREN,
	['$'] = BYTE_DOLLAR | BYTE_LETTER,
	['_'] = BYTE_LETTER,
	['0' ... '9'] = BYTE_LETTER,
	['A' ... 'Z'] = BYTE_LETTER,
	['a' ... 'z'] = BYTE_LETTER,
	[0x80 ... 0xff] = BYTE_LETTER,
	['+'] = BYTE_JAVA,
	['-'] = BYTE_JAVA,
	['/'] = BYTE_PACKAGE,
	['.'] = BYTE_PACKAGE,
	[':'] = BYTE_COLON,
};

static bool is_class(char c, unsigned int classes)
{
	return byte_class[(unsigned char)c] & classes;
}

static unsigned int classes_seen(struct flame_span s)
{
	unsigned int seen = 0;

	for (size_t i = 0; i < s.len; i++)
		seen |= byte_class[(unsigned char)s.s[i]];
	return seen;
}

static size_t skip_class(struct flame_span s, size_t pos, unsigned int classes)
{
	while (pos < s.len && is_class(s.s[pos], classes))
		pos++;
	return pos;
}

static bool has_at(struct flame_span s, size_t pos, const char *text)
{
	size_t len = strlen(text);

	return pos <= s.len && len <= s.len - pos && !memcmp(s.s + pos, text, len);
}

static bool has_byte_at(struct flame_span s, size_t pos, char c)
{
	return pos < s.len && s.s[pos] == c;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static struct flame_span replace_bytes(struct flame_span s, char *buf)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.s[i];

		if (is_class(c, BYTE_REPLACED))
			c = c == ';' ? ':' : '?';
		buf[i] = c;
	}
	return (struct flame_span){ buf, s.len };
}

struct flame_span flame_tidy_raw(struct flame_span name, char *buf)
{
	return classes_seen(name) & BYTE_REPLACED ? replace_bytes(name, buf) : name;
}

struct flame_span flame_tidy_offset(struct flame_span name)
{
	size_t i = name.len;

	while (i && (is_hex(name.s[i - 1]) || (name.s[i - 1] >= 'A' && name.s[i - 1] <= 'F')))
		i--;
	if (i < name.len && i > 3 && has_at(name, i - 3, "+0x"))
		name.len = i - 3;
	return name;
}

/*
 * Native symbols. One pass matches the brackets and remembers the last group of parentheses
 * outside of all others that can be an argument list.
 */
struct native_scan {
	struct flame_span name;
	size_t pos;
	size_t depth;
	char open[TIDY_DEPTH_MAX];	/* the brackets that are open here */
	size_t call_end;		/* where "operator()" ended */
	bool candidate;			/* the open outermost group can be an argument list */
	size_t group_start;
	size_t args_start;		/* 0: none seen */
	size_t args_end;
};

/* Operators that would be taken for brackets; the longer of two that start alike comes first. */
static const char *const bracket_operators[] = {
	"()", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "<", ">",
};

/* Skips one byte, or all of "operator<<". */
static void skip_word(struct native_scan *scan)
{
	static const char keyword[] = "operator";
	struct flame_span name = scan->name;
	size_t pos = scan->pos++;

	if (!has_at(name, pos, keyword) || (pos && is_class(name.s[pos - 1], BYTE_WORD)))
		return;
	pos += sizeof(keyword) - 1;
	scan->pos = pos;
	for (size_t i = 0; i < sizeof(bracket_operators) / sizeof(*bracket_operators); i++) {
		if (has_at(name, pos, bracket_operators[i])) {
			scan->pos = pos + strlen(bracket_operators[i]);
			break;
		}
	}
	if (has_at(name, pos, "()"))
		scan->call_end = scan->pos;
}

/*
 * Arguments follow a name at once. After '.' stands a receiver of Go, after ':' "(anonymous
 * namespace)", after a blank a pointer to a function or LLVM's " (.cold)"; after ')' the name is
 * inside the group before, as in "void (*f(int))(char)".
 */
static bool may_open_args(const struct native_scan *scan)
{
	unsigned char before;

	if (!scan->pos)
		return false;
	before = (unsigned char)scan->name.s[scan->pos - 1];
	if (before == ')')
		return scan->pos == scan->call_end;
	return before > ' ' && before != '.' && before != ':';
}

static bool open_bracket(struct native_scan *scan, char open)
{
	if (scan->depth == TIDY_DEPTH_MAX)
		return false;
	if (!scan->depth) {
		scan->candidate = open == '(' && may_open_args(scan);
		scan->group_start = scan->pos;
	}
	scan->open[scan->depth++] = open;
	return true;
}

static void close_angle(struct native_scan *scan)
{
	if (scan->depth && scan->open[scan->depth - 1] == '<')
		scan->depth--;
}

static bool close_bracket(struct native_scan *scan, char open)
{
	/* A '<' inside of other brackets that has no '>' was a comparison or a shift. */
	while (scan->depth && scan->open[scan->depth - 1] == '<')
		scan->depth--;
	if (!scan->depth || scan->open[scan->depth - 1] != open)
		return false;
	scan->depth--;
	if (!scan->depth && scan->candidate) {
		scan->args_start = scan->group_start;
		scan->args_end = scan->pos + 1;
	}
	return true;
}

/* Return: false if the brackets do not match. */
static bool scan_byte(struct native_scan *scan)
{
	char c = scan->name.s[scan->pos];
	bool ok = true;

	switch (c) {
	case 'o':
		skip_word(scan);
		return true;
	case '-':
		/* The '>' of an arrow is no bracket. */
		scan->pos += has_byte_at(scan->name, scan->pos + 1, '>') ? 2 : 1;
		return true;
	case '<':
	case '(':
	case '[':
	case '{':
		ok = open_bracket(scan, c);
		break;
	case '>':
		close_angle(scan);
		break;
	case ')':
		ok = close_bracket(scan, '(');
		break;
	case ']':
		ok = close_bracket(scan, '[');
		break;
	case '}':
		ok = close_bracket(scan, '{');
		break;
	}
	scan->pos++;
	return ok;
}

static size_t skip_qualifiers(struct flame_span name, size_t pos)
{
	static const char *const qualifiers[] = {
		" const", " volatile", " __restrict", " noexcept", " &&", " &",
	};
	size_t i = 0;

	while (i < sizeof(qualifiers) / sizeof(*qualifiers)) {
		size_t end = pos + strlen(qualifiers[i]);

		if (has_at(name, pos, qualifiers[i]) &&
		    (end == name.len || !is_class(name.s[end], BYTE_WORD))) {
			pos = end;
			i = 0;
		} else {
			i++;
		}
	}
	return pos;
}

/* What may follow the arguments and tells apart functions: GCC's and LLVM's clones, "@plt". */
static bool is_suffix(struct flame_span s)
{
	if (!s.len || *s.s == '@')
		return true;
	return (has_at(s, 0, " [clone ") && s.s[s.len - 1] == ']') ||
	       (has_at(s, 0, " (.") && s.s[s.len - 1] == ')');
}

static struct flame_span drop_args(struct flame_span name, char *buf)
{
	struct native_scan scan;
	struct flame_span tail;
	size_t start;

	/* Not all of it: clearing the brackets would cost more than the scan. */
	scan.name = name;
	scan.pos = scan.depth = scan.call_end = 0;
	scan.candidate = false;
	scan.args_start = scan.args_end = 0;
	while (scan.pos < name.len) {
		if (!scan_byte(&scan))
			return name;
	}
	start = scan.args_start;
	if (scan.depth || !start)
		return name;
	tail.s = name.s + skip_qualifiers(name, scan.args_end);
	tail.len = (size_t)(name.s + name.len - tail.s);
	if (!is_suffix(tail))
		return name;
	if (!tail.len)
		return (struct flame_span){ name.s, start };
	memmove(buf, name.s, start);
	memmove(buf + start, tail.s, tail.len);
	return (struct flame_span){ buf, start + tail.len };
}

/* Legacy Rust symbols, demangled by a tool that took them for C++. */
static const struct {
	char name[4];
	char byte;
} rust_escapes[] = {
	{ "SP$", '@' }, { "BP$", '*' }, { "RF$", '&' }, { "LT$", '<' },
	{ "GT$", '>' }, { "LP$", '(' }, { "RP$", ')' }, { "C$", ',' },
};

/* Reads "u7e$" at @pos. Return: its length, 0 if it is not one. */
static size_t read_rust_code(struct flame_span s, size_t pos, uint32_t *code)
{
	size_t i = pos + 1;

	if (!has_byte_at(s, pos, 'u'))
		return 0;
	*code = 0;
	for (; i < s.len && i - pos <= 6 && is_hex(s.s[i]); i++)
		*code = *code << 4 | (uint32_t)(s.s[i] <= '9' ? s.s[i] - '0' : s.s[i] - 'a' + 10);
	if (i == pos + 1 || !has_byte_at(s, i, '$'))
		return 0;
	if (*code < 0x20 || *code == 0x7f || *code > 0x10ffff || *code >> 11 == 0xd800 >> 11)
		return 0;
	return i + 1 - pos;
}

/*
 * Reads the escape at @pos.
 * Return: its length, 0 if there is none. @out gets its *@len bytes, which are fewer.
 */
static size_t read_rust_escape(struct flame_span s, size_t pos, char *out, size_t *len)
{
	uint32_t code;
	size_t used;

	if (s.s[pos] != '$')
		return 0;
	for (size_t i = 0; i < sizeof(rust_escapes) / sizeof(*rust_escapes); i++) {
		if (has_at(s, pos + 1, rust_escapes[i].name)) {
			*out = rust_escapes[i].byte;
			*len = 1;
			return 1 + strlen(rust_escapes[i].name);
		}
	}
	used = read_rust_code(s, pos + 1, &code);
	if (!used)
		return 0;
	*len = utf8_put(out, code);
	return 1 + used;
}

static bool has_rust_escape(struct flame_span s)
{
	char out[4];
	size_t len;

	for (size_t i = 0; i < s.len; i++) {
		if (read_rust_escape(s, i, out, &len))
			return true;
	}
	return false;
}

/* Bytes of "::h0123456789abcdef", which ends each legacy symbol. */
#define RUST_HASH_LEN 19

/* Return: where the hash starts, behind at least one byte; @s.len if there is none. */
static size_t find_rust_hash(struct flame_span s)
{
	for (size_t i = s.len < RUST_HASH_LEN ? 0 : s.len - RUST_HASH_LEN + 1; i-- > 1;) {
		size_t end = i + 3;

		if (!has_at(s, i, "::h"))
			continue;
		while (end < i + RUST_HASH_LEN && is_hex(s.s[end]))
			end++;
		if (end == i + RUST_HASH_LEN &&
		    (end == s.len || s.s[end] == '.' || s.s[end] == ' '))
			return i;
	}
	return s.len;
}

/* Return: @s without its hash and LLVM's number for a copy of the function; other suffixes stay. */
static struct flame_span drop_rust_hash(struct flame_span s, size_t hash, char *buf)
{
	size_t tail = hash + RUST_HASH_LEN;

	if (hash == s.len)
		return s;
	if (tail == s.len || has_at(s, tail, ".llvm."))
		return (struct flame_span){ s.s, hash };
	memmove(buf, s.s, hash);
	memmove(buf + hash, s.s + tail, s.len - tail);
	return (struct flame_span){ buf, s.len - RUST_HASH_LEN };
}

/* @inner: the '_' goes in each part of the path; else only at the start. */
static struct flame_span repair_rust(struct flame_span s, bool inner, char *buf)
{
	size_t nr = 0, colons = 2;	/* 2: a part of the path starts here */
	size_t i = 0, used, len;
	char out[4];

	while (i < s.len) {
		/* The '_' is put there since a part cannot start with '$'. */
		if (colons == 2 && (inner || !i) && has_at(s, i, "_$"))
			i++;
		used = read_rust_escape(s, i, out, &len);
		colons = s.s[i] == ':' ? colons % 2 + 1 : 0;
		if (!used && has_at(s, i, "..")) {
			used = 2;
			len = 2;
			memcpy(out, "::", 2);
		} else if (!used) {
			used = len = 1;
			out[0] = s.s[i];
		}
		memcpy(buf + nr, out, len);
		nr += len;
		i += used;
	}
	return (struct flame_span){ buf, nr };
}

static struct flame_span tidy_rust(struct flame_span name, unsigned int seen, char *buf)
{
	size_t hash = seen & BYTE_COLON ? find_rust_hash(name) : name.len;
	bool escaped = seen & BYTE_DOLLAR && has_rust_escape(name);

	if (hash == name.len && !escaped)
		return seen & BYTE_PAREN ? drop_args(name, buf) : name;
	/* Of an escaped ';' the bytes are only known now. */
	return flame_tidy_raw(repair_rust(drop_rust_hash(name, hash, buf), true, buf), buf);
}

struct flame_span flame_tidy_half_rust(struct flame_span name, char *buf)
{
	size_t hash = find_rust_hash(name);

	if (hash < name.len)
		name = repair_rust(drop_rust_hash(name, hash, buf), false, buf);
	return flame_tidy_raw(name, buf);
}

/* JVM names. Symbols of perf maps are often cut short, so that is told apart from being wrong. */
enum parsed {
	PARSED_WRONG,
	PARSED_CUT,	/* ends before it is complete */
	PARSED_WHOLE,
};

/* Parses a class "Lcom/acme/Cache;" and moves @pos behind it. */
static enum parsed parse_class(struct flame_span s, size_t *pos)
{
	size_t start = *pos + 1;

	if (!has_byte_at(s, *pos, 'L'))
		return PARSED_WRONG;
	*pos = skip_class(s, start, BYTE_JAVA | BYTE_PACKAGE);
	if (*pos > start && is_class(s.s[start], BYTE_PACKAGE))
		return PARSED_WRONG;
	if (*pos == s.len)
		return PARSED_CUT;
	if (*pos == start || s.s[*pos] != ';' || is_class(s.s[*pos - 1], BYTE_PACKAGE))
		return PARSED_WRONG;
	++*pos;
	return PARSED_WHOLE;
}

/* A class that the perf map had no room for; paths such as "Lib/os.py" have a '.'. */
static bool is_cut_class(struct flame_span s)
{
	size_t pos = 0;

	return parse_class(s, &pos) == PARSED_CUT && memchr(s.s, '/', s.len) &&
	       !memchr(s.s, '.', s.len);
}

static enum parsed parse_type(struct flame_span s, size_t *pos)
{
	while (has_byte_at(s, *pos, '['))
		++*pos;
	if (*pos == s.len)
		return PARSED_CUT;
	if (s.s[*pos] == 'L')
		return parse_class(s, pos);
	return memchr("BCDFIJSZ", s.s[(*pos)++], 8) ? PARSED_WHOLE : PARSED_WRONG;
}

/* Parses the descriptor "(I[Lcom/acme/Cache;)V" that fills @s from its '(' at @pos on. */
static enum parsed parse_descriptor(struct flame_span s, size_t pos)
{
	enum parsed parsed = PARSED_WHOLE;

	pos++;
	while (parsed == PARSED_WHOLE && pos < s.len && s.s[pos] != ')')
		parsed = parse_type(s, &pos);
	if (parsed != PARSED_WHOLE)
		return parsed;
	if (pos++ == s.len || pos == s.len)
		return PARSED_CUT;
	if (s.s[pos] == 'V')
		pos++;
	else
		parsed = parse_type(s, &pos);
	return pos == s.len ? parsed : PARSED_WRONG;
}

/* Return: length of "::" or "." at @pos, between a class and its method; 0: neither. */
static size_t separator_len(struct flame_span s, size_t pos)
{
	return has_at(s, pos, "::") ? 2 : has_byte_at(s, pos, '.');
}

static struct flame_span tidy_java(struct flame_span name)
{
	const char *paren = memchr(name.s, '(', name.len);
	size_t args = paren ? (size_t)(paren - name.s) : 0;
	size_t class_end = 0;
	bool is_jvm = parse_class(name, &class_end) == PARSED_WHOLE &&
		      (class_end == name.len || separator_len(name, class_end));

	if (args) {
		enum parsed parsed = parse_descriptor(name, args);
		char before = paren[-1];

		if ((parsed == PARSED_WHOLE && (is_class(before, BYTE_JAVA) || before == '>')) ||
		    (parsed == PARSED_CUT && is_jvm))
			name.len = args;
	}
	if (is_jvm || is_cut_class(name)) {
		name.s++;
		name.len--;
	}
	return name;
}

/* Return: end of the method's name at @pos, @pos if there is none. */
static size_t skip_method(struct flame_span s, size_t pos)
{
	static const char *const special[] = { "<init>", "<clinit>" };

	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
		if (has_at(s, pos, special[i]))
			return pos + strlen(special[i]);
	}
	return skip_class(s, pos, BYTE_JAVA);
}

/* Return: where the name of the method starts in "LA;::f", "a.b.A.f", "a/b/A::f"; 0: nowhere. */
static size_t find_method(struct flame_span s)
{
	size_t pos = 0, sep;

	if (parse_class(s, &pos) == PARSED_WHOLE) {
		sep = separator_len(s, pos);
		return sep ? pos + sep : 0;
	}
	pos = skip_class(s, 0, BYTE_JAVA | BYTE_PACKAGE);
	if (pos && has_at(s, pos, "::"))
		return pos + 2;
	while (pos && s.s[pos - 1] != '.')
		pos--;
	return pos > 1 ? pos : 0;
}

static bool is_java_method(struct flame_span s)
{
	size_t start = find_method(s), end;

	if (!start)
		return is_cut_class(s);
	end = skip_method(s, start);
	/* "Ptr::operator->" */
	if (end == start || has_at((struct flame_span){ s.s, end }, start, "operator"))
		return false;
	return end == s.len || (s.s[end] == '(' && parse_descriptor(s, end) != PARSED_WRONG);
}

static struct flame_span before_arrow(struct flame_span s)
{
	const char *end = s.s + s.len;

	for (const char *p = s.s; p + 1 < end; p++) {
		p = memchr(p, '-', (size_t)(end - p - 1));
		if (!p)
			break;
		if (p[1] == '>')
			return (struct flame_span){ s.s, (size_t)(p - s.s) };
	}
	return s;
}

bool flame_tidy_next_inlined(struct flame_span *rest, struct flame_span *name)
{
	struct flame_span outer, inner;

	if (!rest->len)
		return false;
	outer = before_arrow(*rest);
	if (outer.len < rest->len) {
		inner = (struct flame_span){ outer.s + outer.len + 2, rest->len - outer.len - 2 };
		if (is_java_method(outer) && is_java_method(before_arrow(inner))) {
			*name = outer;
			*rest = inner;
			return true;
		}
	}
	*name = *rest;
	rest->s += rest->len;
	rest->len = 0;
	return true;
}

struct flame_span flame_tidy_name(struct flame_span name, enum flame_tidy_language language,
				  char *buf)
{
	unsigned int seen = classes_seen(name);

	if (language == FLAME_TIDY_RUST)
		name = tidy_rust(name, seen, buf);
	else if (language == FLAME_TIDY_NATIVE && seen & BYTE_PAREN)
		name = drop_args(name, buf);
	else if (language == FLAME_TIDY_PERF_MAP &&
		 seen & (BYTE_PAREN | BYTE_REPLACED | BYTE_PACKAGE))
		name = tidy_java(name);
	return seen & BYTE_REPLACED ? replace_bytes(name, buf) : name;
}

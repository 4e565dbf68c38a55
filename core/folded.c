/* SPDX-License-Identifier: MIT */
/*
 * folded.c - writing folded text: one walk down the sorted call tree. The line is built in place,
 * so a frame's name is copied once for all stacks above it.
 */
#define _GNU_SOURCE
#include "folded.h"

#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "number.h"
#include "order.h"
#include "sort.h"
#include "table.h"
#include "units.h"

#define OUT_SIZE ((size_t)64 << 10)

/* A stack on the way down. */
struct open_stack {
	flame_stack stack;
	size_t child;		/* where it stands in children; SIZE_MAX: an only child */
	size_t start;		/* length of the line before its name */
};

struct writer {
	const struct flame_profile *p;
	const struct flame_folded_options *options;
	FILE *out;
	char *buf;		/* whole lines to be written */
	size_t nr_buf;
	char *line;		/* the path at hand */
	size_t nr_line, room_line;
	struct flame_span *names;	/* of frames, with annotations, as they are written */
	char *text;			/* that names point into */
	/*
	 * Children of stacks that have more than one, by caller and name. All other stacks have none
	 * or the one in the next row, so that most of the walk needs no look-up.
	 */
	struct flame_pair *children;	/* key: caller, row: stack */
	size_t nr_children;
	uint64_t *branches;		/* a bit a stack: its children are in children */
	struct flame_pair *selves;	/* key: stack, row: sample; by stack */
	uint32_t *first_self;		/* of 64 stacks each: where theirs begin in selves */
	uint64_t *follows;		/* a bit a stack: its caller is the row before it */
	struct open_stack *open;
};

static bool find_type(const struct flame_profile *p, const char *name, flame_type *type)
{
	for (*type = 1; *type < flame_nr_types(p); (*type)++) {
		struct flame_span s = flame_string_get(p, flame_type_get(p, *type)->name);

		if (s.len == strlen(name) && !memcmp(s.s, name, s.len))
			return true;
	}
	return false;
}

bool flame_is_differential(const struct flame_profile *p, flame_type *before, flame_type *after)
{
	flame_type first, second;

	if (!find_type(p, FLAME_TYPE_BEFORE, &first) || !find_type(p, FLAME_TYPE_AFTER, &second))
		return false;
	*before = first;
	*after = second;
	return true;
}

size_t flame_thread_frame(struct flame_span s)
{
	const char *close = s.len && s.s[0] == '[' ? memchr(s.s, ']', s.len) : NULL;
	const char *tid = close ? memmem(s.s, (size_t)(close - s.s), "tid=", 4) : NULL;

	if (!tid || tid + 4 == close)
		return 0;
	for (const char *c = tid + 4; c < close; c++) {
		if (*c < '0' || *c > '9')
			return 0;
	}
	return (size_t)(close - s.s) + 1;
}

/* py-spy's frame of a process, process 12:"sh -c 'a; b'", has a command line in it, and is written as py-spy does. */
static bool is_process(struct flame_span name, enum flame_kind kind)
{
	return kind == FLAME_TASK && name.len > 8 && !memcmp(name.s, "process ", 8);
}

static size_t put_name(char *to, struct flame_span name, enum flame_kind kind)
{
	bool task;

	if (!name.len)
		name = (struct flame_span){ "[unknown]", 9 };
	task = flame_thread_frame(name) == name.len || is_process(name, kind);
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.s[i];

		to[i] = c == ';' && !task ? ':' : c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	return name.len;
}

static bool prepare_names(struct writer *w)
{
	uint32_t nr = flame_nr_frames(w->p);
	size_t len = 0;

	for (uint32_t i = 0; i < nr; i++)
		len += flame_string_get(w->p, flame_frame_get(w->p, i)->name).len + 16;
	w->names = malloc(nr * sizeof(*w->names));
	w->text = malloc(len);
	if (!w->names || !w->text)
		return false;
	len = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct flame_frame_info *info = flame_frame_get(w->p, i);
		char *to = w->text + len;
		size_t n = put_name(to, flame_string_get(w->p, info->name), info->kind);

		if (w->options->kinds & FLAME_KIND_BIT(info->kind))
			n += (size_t)(stpcpy(to + n, flame_kind_suffix(info->kind)) - (to + n));
		w->names[i] = (struct flame_span){ to, n };
		len += n;
	}
	return true;
}

static void flush(struct writer *w)
{
	fwrite(w->buf, 1, w->nr_buf, w->out);
	w->nr_buf = 0;
}

static void put_line(struct writer *w, struct flame_span path, const char *numbers, size_t len)
{
	if (path.len + len + 1 > OUT_SIZE - w->nr_buf)
		flush(w);
	if (path.len + len + 1 > OUT_SIZE) {
		fwrite(path.s, 1, path.len, w->out);
		path.len = 0;
	}
	memcpy(w->buf + w->nr_buf, path.s, path.len);
	memcpy(w->buf + w->nr_buf + path.len, numbers, len);
	w->nr_buf += path.len + len;
	w->buf[w->nr_buf++] = '\n';
}

static size_t put_value(char *to, const struct writer *w, flame_type type, int64_t value)
{
	to[0] = ' ';
	return 1 + flame_number_write(to + 1, value, flame_type_get(w->p, type)->scale);
}

static void put_stack(struct writer *w, struct flame_span path, int64_t before, int64_t value)
{
	char numbers[2 * (FLAME_NUMBER_MAX + 1)];
	size_t len = 0;

	if (!value && !before)
		return;
	if (!path.len)
		path = (struct flame_span){ "[unknown]", 9 };
	if (w->options->before)
		len = put_value(numbers, w, w->options->before, before);
	len += put_value(numbers + len, w, w->options->type, value);
	put_line(w, path, numbers, len);
}

static bool push_name(struct writer *w, flame_stack stack)
{
	struct flame_span name = w->names[flame_stack_frame(w->p, stack)];

	if (!array_reserve((void **)&w->line, &w->room_line, w->nr_line + name.len + 1, 1))
		return false;
	if (w->nr_line)
		w->line[w->nr_line++] = ';';
	memcpy(w->line + w->nr_line, name.s, name.len);
	w->nr_line += name.len;
	return true;
}

static bool has_bit(const uint64_t *bits, flame_stack stack)
{
	return bits[stack / 64] >> (stack % 64) & 1;
}

static void set_bit(uint64_t *bits, flame_stack stack)
{
	bits[stack / 64] |= 1ull << (stack % 64);
}

/* Mark the stacks that branch, and collect their children. */
static bool survey(struct writer *w)
{
	uint32_t nr = flame_nr_stacks(w->p), nr_heads = flame_nr_stack_heads(w->p);
	size_t words = nr / 64 + 1;

	w->branches = calloc(words, sizeof(*w->branches));
	w->follows = malloc(words * sizeof(*w->follows));
	w->children = malloc((2 * (size_t)nr_heads + 1) * sizeof(*w->children));
	if (!w->branches || !w->follows || !w->children)
		return false;
	memset(w->follows, 0xff, words * sizeof(*w->follows));
	for (uint32_t i = 0; i < nr_heads; i++) {
		flame_stack caller, stack = flame_stack_head(w->p, i, &caller);

		w->follows[stack / 64] &= ~(1ull << (stack % 64));
		w->children[w->nr_children++] = (struct flame_pair){ caller, stack };
	}
	/* Behind the last one comes none. */
	w->follows[nr / 64] &= ~(1ull << (nr % 64));
	for (uint32_t i = 0; i < nr_heads; i++) {
		flame_stack caller = w->children[i].key;

		if (!has_bit(w->branches, caller) && has_bit(w->follows, caller + 1))
			w->children[w->nr_children++] = (struct flame_pair){ caller, caller + 1 };
		set_bit(w->branches, caller);
	}
	return true;
}

static bool sort_children(struct writer *w)
{
	uint32_t *ranks = flame_frame_ranks(w->p);
	bool ok = ranks;

	for (size_t i = 0; ok && i < w->nr_children; i++)
		w->children[i].key = ranks[flame_stack_frame(w->p, w->children[i].row)];
	ok = ok && flame_sort_pairs(w->children, w->nr_children);
	for (size_t i = 0; ok && i < w->nr_children; i++)
		w->children[i].key = flame_stack_caller(w->p, w->children[i].row);
	free(ranks);
	return ok && flame_sort_pairs(w->children, w->nr_children);
}

/* Return: the index of @caller's first child. */
static size_t first_child(const struct writer *w, flame_stack caller)
{
	size_t low = 0, high = w->nr_children;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->children[mid].key < caller)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool sort_selves(struct writer *w)
{
	uint32_t nr = flame_nr_samples(w->p), words = flame_nr_stacks(w->p) / 64 + 1;

	w->selves = malloc(((size_t)nr + 1) * sizeof(*w->selves));
	w->first_self = calloc((size_t)words + 1, sizeof(*w->first_self));
	if (!w->selves || !w->first_self)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		w->selves[i] = (struct flame_pair){ flame_sample_get(w->p, i)->stack, i };
		w->first_self[w->selves[i].key / 64 + 1]++;
	}
	for (uint32_t i = 1; i <= words; i++)
		w->first_self[i] += w->first_self[i - 1];
	return flame_sort_pairs(w->selves, nr);
}

static int put_sums(struct writer *w, flame_stack stack)
{
	int64_t before = 0, now = 0;
	bool fits = true;

	if (!flame_stack_has_samples(w->p, stack))
		return 0;
	for (uint32_t i = w->first_self[stack / 64]; i < w->first_self[stack / 64 + 1]; i++) {
		const struct flame_sample *s = flame_sample_get(w->p, w->selves[i].row);

		if (w->selves[i].key != stack)
			continue;
		if (s->type == w->options->type)
			fits &= !__builtin_add_overflow(now, s->value, &now);
		else if (s->type == w->options->before)
			fits &= !__builtin_add_overflow(before, s->value, &before);
	}
	put_stack(w, (struct flame_span){ w->line, w->nr_line }, before, now);
	return fits ? 0 : FLAME_EOVERFLOW;
}

/* Set *@next to the first stack that @stack calls. Return: false where it calls none. */
static bool go_down(const struct writer *w, flame_stack stack, struct open_stack *next)
{
	next->child = SIZE_MAX;
	next->stack = stack + 1;
	if (!has_bit(w->branches, stack))
		return has_bit(w->follows, stack + 1);
	next->child = first_child(w, stack);
	next->stack = w->children[next->child].row;
	return true;
}

/* Set *@open to the next one that the same stack calls. Return: false where there is none. */
static bool go_on(const struct writer *w, struct open_stack *open)
{
	size_t next = open->child + 1;

	if (open->child == SIZE_MAX || next == w->nr_children || w->children[next].key != w->children[open->child].key)
		return false;
	open->child = next;
	open->stack = w->children[next].row;
	return true;
}

static int write_sorted(struct writer *w)
{
	size_t depth = 0, room = 0;
	flame_stack at = 0;

	if (!survey(w) || !sort_children(w) || !sort_selves(w))
		return FLAME_ENOMEM;
	for (;;) {
		int err = put_sums(w, at);

		if (err)
			return err;
		if (!array_reserve((void **)&w->open, &room, depth + 1, sizeof(*w->open)))
			return FLAME_ENOMEM;
		if (go_down(w, at, &w->open[depth])) {
			w->open[depth++].start = w->nr_line;
		} else {
			while (depth && !go_on(w, &w->open[depth - 1]))
				depth--;
			if (!depth)
				return 0;
			w->nr_line = w->open[depth - 1].start;
		}
		at = w->open[depth - 1].stack;
		if (!push_name(w, at))
			return FLAME_ENOMEM;
	}
}

static int write_in_order(struct writer *w)
{
	flame_stack *path = NULL;
	size_t room = 0;
	bool ok = true;

	for (uint32_t i = 0; ok && i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);
		size_t n = 0;

		if (s->type != w->options->type)
			continue;
		for (flame_stack at = s->stack; ok && at; at = flame_stack_caller(w->p, at)) {
			ok = array_reserve((void **)&path, &room, n + 1, sizeof(*path));
			if (ok)
				path[n++] = at;
		}
		w->nr_line = 0;
		while (ok && n)
			ok = push_name(w, path[--n]);
		if (ok)
			put_stack(w, (struct flame_span){ w->line, w->nr_line }, 0, s->value);
	}
	free(path);
	return ok ? 0 : FLAME_ENOMEM;
}

void flame_folded_write_header(const struct flame_profile *p, flame_type type, FILE *out)
{
	const struct flame_type_info *info = flame_type_get(p, type);
	const char *kind = flame_value_kind_name(info->kind);
	const struct {
		const char *key;
		struct flame_span text;
	} lines[] = {
		{ "event", flame_string_get(p, info->name) },
		{ "unit", flame_string_get(p, info->unit) },
		{ "kind", { kind, strlen(kind) } },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (!lines[i].text.len)
			continue;
		fprintf(out, "# %s: ", lines[i].key);
		flame_text_write(lines[i].text, out);
		putc('\n', out);
	}
}

int flame_folded_write(const struct flame_profile *p, const struct flame_folded_options *options, FILE *out)
{
	struct writer w = { .p = p, .options = options, .out = out, .buf = malloc(OUT_SIZE) };
	int err = w.buf && prepare_names(&w) ? 0 : FLAME_ENOMEM;

	if (!err && options->header) {
		flame_folded_write_header(p, options->type, out);
		flame_meta_write(p, out);
	}
	if (!err)
		err = flame_profile_options(p)->ordered ? write_in_order(&w) : write_sorted(&w);
	if (!err)
		flush(&w);
	free(w.buf);
	free(w.line);
	free(w.names);
	free(w.text);
	free(w.children);
	free(w.branches);
	free(w.selves);
	free(w.first_self);
	free(w.follows);
	free(w.open);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}

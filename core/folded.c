/* SPDX-License-Identifier: MIT */
/*
 * folded.c - writing folded text: one walk down the sorted call tree. The line is built in place,
 * so a frame's name is copied once for all stacks above it. Most stacks are links of a chain: they have one child, in
 * the next row, and no samples. The walk takes a chain as one step.
 */
#define _GNU_SOURCE
#include "folded.h"

#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "number.h"
#include "order.h"
#include "sort.h"
#include "tables.h"
#include "units.h"
#include "utf8.h"

#define OUT_SIZE ((size_t)64 << 10)
#define NAME_BLOCK 16	/* bytes that are copied at once; texts and lines have so much room behind their end */

/* A stack on the way down that has brothers. */
struct open_stack {
	size_t child;		/* where it stands in children */
	size_t start;		/* length of the line before its name */
};

/* What is known of 64 stacks, a bit each: the walk goes to and fro, and finds all in one line of the cache. */
struct block {
	uint64_t follows;	/* its caller is the row before it */
	uint64_t branches;	/* its children are in children */
	uint64_t summed;	/* it has a sum */
	uint64_t stops;		/* it ends a chain */
	uint32_t branches_before, sums_before;	/* all there are in the blocks before */
};

/* The values of a stack's samples. */
struct sum {
	int64_t before, value;
};

struct writer {
	const struct flame_profile *p;
	const struct flame_folded_options *options;
	FILE *out;
	char *buf;		/* whole lines to be written */
	size_t nr_buf;
	char *line;		/* the path at hand, with a ';' before each name */
	size_t nr_line, room_line;
	struct flame_span *names;	/* of frames, with annotations, as they stand in the line */
	char *text;			/* that names point into */
	struct block *blocks;
	size_t nr_blocks;
	/*
	 * Children of stacks that have more than one, by caller and name. All other stacks have none
	 * or the one in the next row, so that most of the walk needs no look-up.
	 */
	struct flame_pair *children;	/* key: caller, row: stack */
	size_t nr_children;
	uint32_t *first_child;		/* in children, of the stacks that branch, by their order */
	struct sum *sums;		/* of the stacks that have one, by their order */
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
	size_t len = 0;
	bool task;

	if (!name.len)
		name = (struct flame_span){ "[unknown]", 9 };
	task = flame_thread_frame(name) == name.len || is_process(name, kind);
	for (size_t i = 0, n; i < name.len; i += n) {
		uint32_t code;

		n = utf8_decode(name.s + i, name.len - i, &code);
		/* Bytes that are not UTF-8 stay: what reads this may know their encoding. */
		memcpy(to + len, name.s + i, n);
		if (!utf8_is_shown(code) || (code == ';' && !task)) {
			to[len++] = code == ';' ? ':' : '?';
			continue;
		}
		len += n;
	}
	return len;
}

static bool prepare_names(struct writer *w)
{
	uint32_t nr = flame_nr_frames(w->p);
	size_t len = 0;

	for (uint32_t i = 0; i < nr; i++)
		len += flame_string_get(w->p, flame_frame_get(w->p, i)->name).len + 16;
	w->names = malloc(nr * sizeof(*w->names));
	w->text = malloc(len + NAME_BLOCK);
	if (!w->names || !w->text)
		return false;
	len = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct flame_frame_info *info = flame_frame_get(w->p, i);
		char *to = w->text + len;
		size_t n = 1 + put_name(to + 1, flame_string_get(w->p, info->name), info->kind);

		to[0] = ';';
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

static void put_stack(struct writer *w, int64_t before, int64_t value)
{
	struct flame_span path = { "[unknown]", 9 };
	char numbers[2 * (FLAME_NUMBER_MAX + 1)];
	size_t len = 0;

	if (!value && !before)
		return;
	if (w->nr_line)
		path = (struct flame_span){ w->line + 1, w->nr_line - 1 };
	if (w->options->before)
		len = put_value(numbers, w, w->options->before, before);
	len += put_value(numbers + len, w, w->options->type, value);
	put_line(w, path, numbers, len);
}

/* Append the names of @nr stacks, one behind the other in their rows. */
static bool push_names(struct writer *w, flame_stack first, size_t nr)
{
	const flame_frame *frames = w->p->stacks + first;

	for (size_t i = 0; i < nr; i++) {
		struct flame_span name = w->names[frames[i] & ~STACK_HEAD];
		char *to;

		if (w->nr_line + name.len + NAME_BLOCK > w->room_line &&
		    !array_reserve((void **)&w->line, &w->room_line, w->nr_line + name.len + NAME_BLOCK, 1))
			return false;
		to = w->line + w->nr_line;
		memcpy(to, name.s, NAME_BLOCK);
		if (name.len > NAME_BLOCK)
			memcpy(to + NAME_BLOCK, name.s + NAME_BLOCK, name.len - NAME_BLOCK);
		w->nr_line += name.len;
	}
	return true;
}

static bool has_bit(uint64_t bits, flame_stack stack)
{
	return bits >> (stack % 64) & 1;
}

static uint64_t bit(flame_stack stack)
{
	return 1ull << (stack % 64);
}

/* Return: how many stacks before @stack have their bit in @bits, of a block with @before in those before it. */
static size_t number_of(uint64_t bits, uint32_t before, flame_stack stack)
{
	return before + (size_t)__builtin_popcountll(bits & (bit(stack) - 1));
}

static struct block *block_of(const struct writer *w, flame_stack stack)
{
	return &w->blocks[stack / 64];
}

static size_t sum_of(const struct writer *w, flame_stack stack)
{
	const struct block *b = block_of(w, stack);

	return number_of(b->summed, b->sums_before, stack);
}

/* Mark the stacks that branch, and collect their children. */
static bool survey(struct writer *w)
{
	uint32_t nr = flame_nr_stacks(w->p), nr_heads = flame_nr_stack_heads(w->p);

	w->nr_blocks = nr / 64 + 1;
	w->blocks = calloc(w->nr_blocks, sizeof(*w->blocks));
	w->children = malloc((2 * (size_t)nr_heads + 1) * sizeof(*w->children));
	if (!w->blocks || !w->children)
		return false;
	for (size_t i = 0; i < w->nr_blocks; i++)
		w->blocks[i].follows = ~0ull;
	for (uint32_t i = 0; i < nr_heads; i++) {
		flame_stack caller, stack = flame_stack_head(w->p, i, &caller);

		block_of(w, stack)->follows &= ~bit(stack);
		w->children[w->nr_children++] = (struct flame_pair){ caller, stack };
	}
	/* Behind the last one comes none. */
	block_of(w, nr)->follows &= ~bit(nr);
	for (uint32_t i = 0; i < nr_heads; i++) {
		flame_stack caller = w->children[i].key;
		struct block *b = block_of(w, caller);

		if (!has_bit(b->branches, caller) && has_bit(block_of(w, caller + 1)->follows, caller + 1))
			w->children[w->nr_children++] = (struct flame_pair){ caller, caller + 1 };
		b->branches |= bit(caller);
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

/* Where the children of each branch begin; they are sorted by it. */
static bool index_children(struct writer *w)
{
	uint32_t nr = 0;

	w->first_child = malloc((w->nr_children + 1) * sizeof(*w->first_child));
	if (!w->first_child)
		return false;
	for (size_t i = 0; i < w->nr_blocks; i++) {
		w->blocks[i].branches_before = nr;
		nr += (uint32_t)__builtin_popcountll(w->blocks[i].branches);
	}
	nr = 0;
	for (size_t i = 0; i < w->nr_children; i++) {
		if (!i || w->children[i].key != w->children[i - 1].key)
			w->first_child[nr++] = (uint32_t)i;
	}
	return true;
}

static bool is_written(const struct writer *w, const struct flame_sample *s)
{
	return s->type == w->options->type || (s->type == w->options->before && s->type);
}

static int add_up(struct writer *w)
{
	uint32_t nr_samples = flame_nr_samples(w->p), nr = 0;

	for (uint32_t i = 0; i < nr_samples; i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);

		if (is_written(w, s))
			block_of(w, s->stack)->summed |= bit(s->stack);
	}
	for (size_t i = 0; i < w->nr_blocks; i++) {
		w->blocks[i].sums_before = nr;
		nr += (uint32_t)__builtin_popcountll(w->blocks[i].summed);
	}
	w->sums = calloc((size_t)nr + 1, sizeof(*w->sums));
	if (!w->sums)
		return FLAME_ENOMEM;
	for (uint32_t i = 0; i < nr_samples; i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);
		struct sum *sum = is_written(w, s) ? &w->sums[sum_of(w, s->stack)] : NULL;
		int64_t *to = sum && s->type == w->options->type ? &sum->value : sum ? &sum->before : NULL;

		if (to && __builtin_add_overflow(*to, s->value, to))
			return FLAME_EOVERFLOW;
	}
	return 0;
}

/* What ends a chain: a sum, a branch, and a stack without a child in the next row. */
static void find_stops(struct writer *w)
{
	for (size_t i = 0; i < w->nr_blocks; i++) {
		struct block *b = &w->blocks[i];
		uint64_t next = i + 1 < w->nr_blocks ? b[1].follows << 63 : 0;

		b->stops = b->branches | b->summed | ~(b->follows >> 1 | next);
	}
}

/* Return: where the chain that begins with @stack ends. */
static flame_stack chain_end(const struct writer *w, flame_stack stack)
{
	size_t i = stack / 64;
	uint64_t stops = w->blocks[i].stops & ~0ull << (stack % 64);

	/* The last stack has no child, and so ends a chain. */
	while (!stops)
		stops = w->blocks[++i].stops;
	return (flame_stack)(i * 64 + (size_t)__builtin_ctzll(stops));
}

/* Brothers are far from each other: fetch what the walk will see of those that it comes to soon. */
static void fetch_brothers(const struct writer *w, size_t child)
{
	if (child + 8 < w->nr_children) {
		__builtin_prefetch(block_of(w, w->children[child + 8].row));
		__builtin_prefetch(&w->p->stacks[w->children[child + 8].row]);
	}
	if (child + 4 < w->nr_children)
		__builtin_prefetch(&w->sums[sum_of(w, chain_end(w, w->children[child + 4].row))]);
}

/* Go to the next one that the same stack calls. Return: false where there is none. */
static bool go_on(const struct writer *w, struct open_stack *open)
{
	size_t next = open->child + 1;

	if (next == w->nr_children || w->children[next].key != w->children[open->child].key)
		return false;
	open->child = next;
	fetch_brothers(w, next);
	return true;
}

/* Set *@next to the stack behind @at in the order of the lines. Return: 1, 0 for none, FLAME_ENOMEM. */
static int go_next(struct writer *w, size_t *depth, size_t *room, flame_stack at, flame_stack *next)
{
	const struct block *b = block_of(w, at);

	if (has_bit(b->branches, at)) {
		if (!array_reserve((void **)&w->open, room, *depth + 1, sizeof(*w->open)))
			return FLAME_ENOMEM;
		w->open[(*depth)++] = (struct open_stack){
			.child = w->first_child[number_of(b->branches, b->branches_before, at)], .start = w->nr_line,
		};
	} else if (has_bit(block_of(w, at + 1)->follows, at + 1)) {
		*next = at + 1;
		return 1;
	} else {
		while (*depth && !go_on(w, &w->open[*depth - 1]))
			(*depth)--;
		if (!*depth)
			return 0;
		w->nr_line = w->open[*depth - 1].start;
	}
	*next = w->children[w->open[*depth - 1].child].row;
	return 1;
}

static int write_sorted(struct writer *w)
{
	size_t depth = 0, room = 0;
	flame_stack at = 0, next;
	int err;

	if (!survey(w) || !sort_children(w) || !index_children(w))
		return FLAME_ENOMEM;
	err = add_up(w);
	if (err)
		return err;
	find_stops(w);
	for (;;) {
		if (has_bit(block_of(w, at)->summed, at)) {
			const struct sum *sum = &w->sums[sum_of(w, at)];

			put_stack(w, sum->before, sum->value);
		}
		err = go_next(w, &depth, &room, at, &next);
		if (err <= 0)
			return err;
		at = chain_end(w, next);
		if (!push_names(w, next, at - next + 1))
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
			ok = push_names(w, path[--n], 1);
		if (ok)
			put_stack(w, 0, s->value);
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

/* How many samples are behind the values, where these do not say it themselves. */
static void write_number(const struct flame_profile *p, flame_type type, FILE *out)
{
	uint64_t nr = 0;
	bool same = true;

	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		const struct flame_sample *s = flame_sample_get(p, i);

		if (s->type != type)
			continue;
		nr += s->nr_samples;
		same &= s->value >= 0 && (uint64_t)s->value == s->nr_samples;
	}
	if (!same && !flame_profile_options(p)->sums)
		fprintf(out, "# samples: %llu\n", (unsigned long long)nr);
}

int flame_folded_write(const struct flame_profile *p, const struct flame_folded_options *options, FILE *out)
{
	struct writer w = { .p = p, .options = options, .out = out, .buf = malloc(OUT_SIZE) };
	int err = w.buf && prepare_names(&w) ? 0 : FLAME_ENOMEM;

	if (!err && options->header) {
		flame_folded_write_header(p, options->type, out);
		flame_meta_write(p, out);
		if (options->numbered)
			write_number(p, options->type, out);
	}
	if (!err)
		err = flame_profile_options(p)->ordered ? write_in_order(&w) : write_sorted(&w);
	if (!err)
		flush(&w);
	free(w.buf);
	free(w.line);
	free(w.names);
	free(w.text);
	free(w.blocks);
	free(w.children);
	free(w.first_child);
	free(w.sums);
	free(w.open);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * folded.c - writing folded text: one walk down the sorted call tree. The line is built in place,
 * so a frame's name is copied once for all stacks above it. Pieces of the walk are written by two threads.
 */
#define _GNU_SOURCE
#include "folded.h"

#include <stdlib.h>
#include <string.h>

#include "folded_walk.h"
#include "meta.h"
#include "number.h"
#include "pieces.h"
#include "tables.h"
#include "units.h"
#include "utf8.h"

#define NAME_BLOCK 16	/* bytes that are copied at once; texts and lines have so much room behind their end */
#define PIECE_FRAMES 3072	/* of the lines of a piece, about */
#define PIECE_STEPS 1024
#define LINE_KEPT ((size_t)1 << 20)	/* bytes of room that are kept for the next line */
#define THREAD_FROM 4096	/* stacks that branch off: fewer are written before a thread has started */

struct writer {
	const struct flame_profile *p;
	const struct flame_folded_options *options;
	struct flame_span *names;	/* of frames, with annotations, as they stand in the line */
	char *text;			/* that names point into */
	struct flame_walk walk;
};

/* The path at hand, with a ';' before each name; NAME_BLOCK bytes of room are behind it. */
struct line {
	char *text;
	size_t len, room;
};

/* Some steps of the walk, and where it was before them. */
struct piece {
	struct flame_step *steps;
	size_t nr_steps, room_steps;
	flame_stack at;
	flame_stack *branches;
	size_t nr_branches, room_branches;
	/* For the one who writes it. */
	struct line line;
	size_t *ends;		/* of the line at each branch */
	size_t room_ends;
	flame_stack *path;
	size_t room_path;
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

static size_t put_value(char *to, const struct writer *w, flame_type type, int64_t value, bool is_unsigned)
{
	uint32_t scale = flame_type_get(w->p, type)->scale;

	to[0] = ' ';
	return 1 + (is_unsigned ? flame_number_write_unsigned(to + 1, (uint64_t)value, scale) :
				  flame_number_write(to + 1, value, scale));
}

static void put_line(const struct writer *w, const struct line *line, const struct flame_step *step, struct flame_out *out)
{
	struct flame_span path = { "[unknown]", 9 };
	size_t len = 0;
	char *d;

	if (line->len)
		path = (struct flame_span){ line->text + 1, line->len - 1 };
	flame_out_bytes(out, path.s, path.len);
	d = flame_out_reserve(out, 2 * (FLAME_NUMBER_MAX + 1) + 1);
	if (w->options->before)
		len = put_value(d, w, w->options->before, step->before, step->before_is_unsigned);
	len += put_value(d + len, w, w->options->type, step->value, step->value_is_unsigned);
	d[len] = '\n';
	flame_out_took(out, d + len + 1);
}

/* Append the names of @nr stacks, one behind the other in their rows. */
static bool push_names(const struct writer *w, struct line *line, flame_stack first, size_t nr)
{
	const flame_frame *frames = w->p->stacks + first;

	for (size_t i = 0; i < nr; i++) {
		struct flame_span name = w->names[frames[i] & ~STACK_HEAD];
		char *to;

		if (line->len + name.len + NAME_BLOCK > line->room &&
		    !array_reserve((void **)&line->text, &line->room, line->len + name.len + NAME_BLOCK, 1))
			return false;
		to = line->text + line->len;
		memcpy(to, name.s, NAME_BLOCK);
		if (name.len > NAME_BLOCK)
			memcpy(to + NAME_BLOCK, name.s + NAME_BLOCK, name.len - NAME_BLOCK);
		line->len += name.len;
	}
	return true;
}

/* The stacks from @stack down to what the root calls. Return: how many; SIZE_MAX without memory. */
static size_t find_path(const struct flame_profile *p, flame_stack stack, flame_stack **path, size_t *room)
{
	size_t nr = 0;

	for (; stack; stack = flame_stack_caller(p, stack)) {
		if (!array_reserve((void **)path, room, nr + 1, sizeof(**path)))
			return SIZE_MAX;
		(*path)[nr++] = stack;
	}
	return nr;
}

/* Note which branches on the way to @stack end where the line ends. Return: how many there are by now. */
static size_t note_ends(const struct piece *piece, size_t nr, flame_stack stack)
{
	for (; nr < piece->nr_branches && piece->branches[nr] == stack; nr++)
		piece->ends[nr] = piece->line.len;
	return nr;
}

/* The line as it was before the piece. */
static bool begin_line(const struct writer *w, struct piece *piece)
{
	size_t nr = find_path(w->p, piece->at, &piece->path, &piece->room_path), nr_ends;

	if (nr == SIZE_MAX ||
	    !array_reserve((void **)&piece->ends, &piece->room_ends, piece->nr_branches + piece->nr_steps, sizeof(*piece->ends)))
		return false;
	piece->line.len = 0;
	nr_ends = note_ends(piece, 0, 0);
	while (nr--) {
		if (!push_names(w, &piece->line, piece->path[nr], 1))
			return false;
		nr_ends = note_ends(piece, nr_ends, piece->path[nr]);
	}
	return true;
}

static int write_piece(void *arg, void *item, struct flame_out *out)
{
	const struct writer *w = arg;
	struct piece *piece = item;

	if (!begin_line(w, piece))
		return FLAME_ENOMEM;
	for (size_t i = 0; i < piece->nr_steps; i++) {
		const struct flame_step *step = &piece->steps[i];

		if (step->opens)
			piece->ends[step->level - 1] = piece->line.len;
		else if (!step->goes_on)
			piece->line.len = piece->ends[step->level - 1];
		if (!push_names(w, &piece->line, step->first, step->nr))
			return FLAME_ENOMEM;
		if (step->has_value)
			put_line(w, &piece->line, step, out);
	}
	if (piece->line.room > LINE_KEPT) {
		free(piece->line.text);
		piece->line = (struct line){ 0 };
	}
	return 0;
}

/* Where the walk is now. */
static bool begin_piece(const struct flame_walk *walk, struct piece *piece)
{
	piece->at = walk->at;
	piece->nr_steps = 0;
	piece->nr_branches = walk->nr_branches;
	if (!array_reserve((void **)&piece->branches, &piece->room_branches, walk->nr_branches, sizeof(*piece->branches)) ||
	    !array_reserve((void **)&piece->steps, &piece->room_steps, PIECE_STEPS, sizeof(*piece->steps)))
		return false;
	for (size_t i = 0; i < walk->nr_branches; i++)
		piece->branches[i] = walk->branches[i].stack;
	return true;
}

static int next_piece(void *arg, void *item)
{
	struct writer *w = arg;
	struct piece *piece = item;
	size_t nr_frames = 0;
	int more = 1;

	if (!begin_piece(&w->walk, piece))
		return FLAME_ENOMEM;
	while (piece->nr_steps < PIECE_STEPS && nr_frames < PIECE_FRAMES) {
		struct flame_step *step = &piece->steps[piece->nr_steps];

		more = flame_walk_next(&w->walk, step);
		if (more <= 0)
			break;
		nr_frames += step->has_value ? w->walk.nr_frames : 0;
		piece->nr_steps++;
	}
	return more < 0 ? more : piece->nr_steps > 0;
}

static void release_piece(struct piece *piece)
{
	free(piece->steps);
	free(piece->branches);
	free(piece->line.text);
	free(piece->ends);
	free(piece->path);
}

static int write_sorted(struct writer *w, FILE *file)
{
	struct piece *items = calloc(FLAME_PIECES, sizeof(*items));
	struct flame_pieces pieces = { .next = next_piece, .write = write_piece, .arg = w };
	int err = items ? flame_walk_init(&w->walk, w->p, w->options->type, w->options->before) : FLAME_ENOMEM;
	bool many = w->options->threads > 1 && flame_nr_stack_heads(w->p) >= THREAD_FROM;
	struct flame_worker *worker = many ? flame_worker_new() : NULL;

	for (size_t i = 0; items && i < FLAME_PIECES; i++)
		pieces.items[i] = &items[i];
	if (!err)
		err = flame_pieces_write(&pieces, file, worker);
	for (size_t i = 0; items && i < FLAME_PIECES; i++)
		release_piece(&items[i]);
	free(items);
	flame_worker_free(worker);
	flame_walk_release(&w->walk);
	return err;
}

static int write_in_order(struct writer *w, FILE *file)
{
	struct flame_out out;
	struct line line = { 0 };
	flame_stack *path = NULL;
	size_t room = 0;
	bool ok = flame_out_init(&out, file);

	for (uint32_t i = 0; ok && i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);
		const struct flame_step step = { .value = s->value };
		size_t n;

		if (s->type != w->options->type || !s->value)
			continue;
		n = find_path(w->p, s->stack, &path, &room);
		ok = n < SIZE_MAX;
		line.len = 0;
		while (ok && n)
			ok = push_names(w, &line, path[--n], 1);
		if (ok)
			put_line(w, &line, &step, &out);
	}
	if (ok)
		flame_out_flush(&out);
	flame_out_release(&out);
	free(line.text);
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
	struct writer w = { .p = p, .options = options };
	int err = prepare_names(&w) ? 0 : FLAME_ENOMEM;

	if (!err && options->header) {
		flame_folded_write_header(p, options->type, out);
		flame_meta_write(p, out);
		if (options->numbered)
			write_number(p, options->type, out);
	}
	if (!err)
		err = flame_profile_options(p)->ordered ? write_in_order(&w, out) : write_sorted(&w, out);
	free(w.names);
	free(w.text);
	return err ? err : ferror(out) ? FLAME_EIO : 0;
}

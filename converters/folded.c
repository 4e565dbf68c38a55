/* SPDX-License-Identifier: MIT */
/*
 * folded - folded (collapsed) stacks:
 *
 *     comm;root;caller;leaf_[k] 12
 *
 * Written by FlameGraph's and inferno's stackcollapse tools, async-profiler, bcc -f, py-spy, austin
 * and fgconv. No specification; Documentation/formats/folded.md has the grammar. Not read: what
 * stands in '#' lines, but for fgconv's own "# event: NAME" and "# unit: UNIT".
 *
 * The path of a line is compared with that of the line before: what they share is on the stack
 * already. The rest is looked up by the bytes of each frame.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/feeder.h"
#include "../core/folded.h"
#include "../core/merge.h"
#include "../core/missed.h"
#include "../core/number.h"
#include "../core/scan.h"

#define CACHE_BYTES ((size_t)64 << 20)

/* The text of a path, and where each of its frames ends. */
struct path {
	char *bytes;
	size_t len, room;
	uint32_t *ends;
	size_t nr, room_ends;
};

struct state {
	bool one_column;	/* some line had only one number */
	bool two_columns;	/* some line had two */
	struct path path, last;
	struct flame_feeder *feeder;
	struct flame_cache frames;	/* by their bytes */
	struct flame_short_cache short_frames;
	char event[64], unit[64];	/* from our header; "" where it had none */
};

/* The annotation at the end of @name says its kind; it is cut off. */
static enum flame_kind cut_kind(struct flame_span *name)
{
	static const struct { char letter; enum flame_kind kind; } kinds[] = {
		{ 'k', FLAME_KERNEL }, { 'i', FLAME_INLINED }, { 'j', FLAME_JIT },
		{ '0', FLAME_INTERPRETED }, { '1', FLAME_C1 }, { 'w', FLAME_WAKER },
	};
	const char *s = name->s + name->len - 4;

	if (name->len <= 2 && name->len && !memcmp(name->s, "--", name->len))
		return FLAME_MARKER;
	if (name->len <= 4 || s[0] != '_' || s[1] != '[' || s[3] != ']')
		return FLAME_USER;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].letter == s[2]) {
			name->len -= 4;
			return kinds[i].kind;
		}
	}
	return FLAME_USER;
}

static flame_frame new_frame(struct flame_profile *p, struct flame_span name)
{
	struct flame_frame_info info = { 0 };

	if (!name.len)
		name = (struct flame_span){ "[unknown]", 9 };
	info.kind = cut_kind(&name);
	info.name = flame_intern(p, name.s, name.len);
	return flame_frame_row(p, &info);
}

static flame_frame find_long_frame(struct flame_reader *rd, struct flame_span name)
{
	struct state *st = rd->state;
	uint64_t hash = hash_bytes(name.s, name.len);
	flame_frame frame;

	if (flame_cache_get(&st->frames, name.s, name.len, hash, &frame))
		return frame;
	frame = new_frame(rd->profile, name);
	flame_cache_put(&st->frames, name.s, name.len, hash, frame);
	return frame;
}

/* @name lies in a path, so that FLAME_SHORT_KEY bytes can be read. */
static inline flame_frame find_frame(struct flame_reader *rd, const char *name, size_t len)
{
	struct state *st = rd->state;
	struct flame_short_key key;
	flame_frame frame;

	if (len > FLAME_SHORT_KEY)
		return find_long_frame(rd, (struct flame_span){ name, len });
	key = flame_short_key(name, len);
	if (flame_short_get(&st->short_frames, key, len, flame_short_hash(key, len), &frame))
		return frame;
	frame = new_frame(rd->profile, (struct flame_span){ name, len });
	flame_short_put(&st->short_frames, key, len, frame);
	return frame;
}

/* Copy @s, with room behind it to be scanned in blocks, and note its frames' ends. */
static bool set_path(struct path *path, struct flame_span s)
{
	size_t skip = flame_thread_frame(s);

	if (!array_reserve((void **)&path->bytes, &path->room, s.len + SCAN_SLACK, 1) ||
	    !array_reserve((void **)&path->ends, &path->room_ends, s.len + 1, sizeof(*path->ends)))
		return false;
	memcpy(path->bytes, s.s, s.len);
	path->len = s.len;
	path->nr = scan_byte(path->bytes, skip, s.len, ';', path->ends);
	path->ends[path->nr++] = (uint32_t)s.len;
	return true;
}

/* Return: how many frames the paths share from the root. */
static size_t shared_frames(const struct path *a, const struct path *b)
{
	size_t same = common_prefix(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
	size_t nr = 0, most = a->nr < b->nr ? a->nr : b->nr;

	while (nr < most && a->ends[nr] == b->ends[nr] && a->ends[nr] <= same)
		nr++;
	return nr;
}

/* Frames that the path shares with the one before are known; the others are looked up by their bytes. */
static void find_frames(struct flame_reader *rd, const struct path *path, flame_frame *frames, size_t from)
{
	for (size_t i = from; i < path->nr; i++) {
		size_t start = i ? path->ends[i - 1] + 1 : 0;

		frames[i] = find_frame(rd, path->bytes + start, path->ends[i] - start);
	}
}

static int add_path(struct flame_reader *rd, struct flame_span s, struct flame_number count)
{
	struct state *st = rd->state;
	struct path *path = &st->path, swap;
	const flame_frame *last;
	flame_frame *frames;
	size_t same;
	int err;

	if (!set_path(path, s))
		return FLAME_ENOMEM;
	frames = flame_feeder_path(st->feeder, path->nr, &last);
	if (!frames)
		return FLAME_ENOMEM;
	same = shared_frames(path, &st->last);
	if (same)
		memcpy(frames, last, same * sizeof(*frames));
	find_frames(rd, path, frames, same);
	err = flame_feeder_add(st->feeder, path->nr, same, count);
	swap = st->last;
	st->last = *path;
	*path = swap;
	return err;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Cut the last blank-separated word off @line. */
static struct flame_span cut_word(struct flame_span *line)
{
	size_t end = line->len, start;

	while (end && is_blank(line->s[end - 1]))
		end--;
	for (start = end; start && !is_blank(line->s[start - 1]);)
		start--;
	line->len = start;
	while (line->len && is_blank(line->s[line->len - 1]))
		line->len--;
	return (struct flame_span){ line->s + start, end - start };
}

static bool set_header(char *to, size_t room, struct flame_span line, const char *key)
{
	size_t n = strlen(key);

	if (line.len <= n || memcmp(line.s, key, n) || line.len - n >= room)
		return false;
	memcpy(to, line.s + n, line.len - n);
	to[line.len - n] = '\0';
	return true;
}

static void read_comment(struct state *st, struct flame_span line)
{
	if (!set_header(st->event, sizeof(st->event), line, "# event: "))
		set_header(st->unit, sizeof(st->unit), line, "# unit: ");
}

static flame_type make_type(struct flame_profile *p, const char *name, const char *unit)
{
	struct flame_type_info info = {
		.name = flame_intern(p, name, strlen(name)),
		.unit = flame_intern(p, unit, strlen(unit)),
	};

	return flame_type_row(p, &info);
}

/* A blank and a number, with something before them; told from the end, as most lines have none. */
static bool ends_in_number(struct flame_span s)
{
	struct flame_number n;
	size_t i = s.len;

	while (i && ((s.s[i - 1] >= '0' && s.s[i - 1] <= '9') || s.s[i - 1] == '.' || s.s[i - 1] == '-'))
		i--;
	return i > 1 && is_blank(s.s[i - 1]) &&
	       flame_number_parse((struct flame_span){ s.s + i, s.len - i }, &n) == FLAME_NUMBER_OK;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span rest = line, last = cut_word(&rest);
	struct flame_number n;

	if (!last.len)
		return 0;
	if (line.s[0] == '#') {
		read_comment(st, line);
		return 0;
	}
	switch (flame_number_parse(last, &n)) {
	case FLAME_NUMBER_NONE:
		return flame_skip(rd, "no count at the end of the line");
	case FLAME_NUMBER_TOO_BIG:
		return flame_fail(rd, FLAME_EOVERFLOW, "the count %.*s does not fit 64 bits",
				  (int)(last.len < 40 ? last.len : 40), last.s);
	default:
		break;
	}
	/* A frame that is a blank, before the one that separates the count. */
	if (rest.len && rest.s[rest.len - 1] == ';' && last.s - (rest.s + rest.len) > 1)
		rest.len++;
	line = rest;
	if (ends_in_number(line))
		st->two_columns = true;
	else
		st->one_column = true;
	return add_path(rd, line, n);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	flame_type type = make_type(rd->profile, st->event, st->unit);
	struct flame_span line;
	int err = 0, fed;

	st->frames.max_bytes = CACHE_BYTES;
	st->feeder = flame_feeder_new(rd->profile, type, flame_thread_count(rd->options) > 1);
	if (!st->feeder)
		return FLAME_ENOMEM;
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	fed = flame_feeder_free(st->feeder);
	if (fed == FLAME_EOVERFLOW)
		flame_diag_add(rd->diag, FLAME_ERROR, "the sum of the counts does not fit 64 bits");
	return fed ? fed : err;
}

static void release_path(struct path *path)
{
	free(path->bytes);
	free(path->ends);
	*path = (struct path){ 0 };
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	release_path(&st->path);
	release_path(&st->last);
	flame_cache_release(&st->frames);
	flame_short_release(&st->short_frames);
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	st->one_column |= slice->one_column;
	st->two_columns |= slice->two_columns;
}

/* The header stands at the start, where only the first slice would see it. */
static int prepare(struct flame_reader *rd, struct flame_span head)
{
	while (head.len && head.s[0] == '#') {
		const char *nl = memchr(head.s, '\n', head.len);
		size_t n = nl ? (size_t)(nl - head.s) : head.len;

		read_comment(rd->state, (struct flame_span){ head.s, n && head.s[n - 1] == '\r' ? n - 1 : n });
		head.s += nl ? n + 1 : n;
		head.len -= nl ? n + 1 : n;
	}
	return 0;
}

/* Where the last frame of a stack ends in a number, that is the first column. */
static bool cut_before(const struct flame_profile *p, flame_stack stack, struct flame_span *name,
		       struct flame_number *before)
{
	const struct flame_frame_info *info = flame_frame_get(p, flame_stack_frame(p, stack));
	struct flame_span word;

	*name = flame_string_get(p, info->name);
	word = cut_word(name);
	return name->len && flame_number_parse(word, before) == FLAME_NUMBER_OK;
}

struct columns {
	struct flame_profile *from, *to;
	flame_stack *map;
	flame_type before, after;
};

static int add_column(struct columns *c, flame_stack stack, flame_type type, int64_t value, uint32_t scale, uint64_t nr)
{
	const struct flame_sample s = { .stack = stack, .type = type, .value = value, .nr_samples = nr };

	return flame_sample_add_scaled(c->to, &s, scale);
}

static int split_sample(struct columns *c, const struct flame_sample *s)
{
	flame_stack caller = c->map[flame_stack_caller(c->from, s->stack)];
	uint32_t scale = flame_type_get(c->from, s->type)->scale;
	struct flame_number before;
	struct flame_span name;
	flame_stack stack;
	int err;

	if (!cut_before(c->from, s->stack, &name, &before)) {
		/* A single number in a file of two columns: the same before and after. */
		err = add_column(c, c->map[s->stack], c->before, s->value, scale, s->nr_samples);
		return err ? err : add_column(c, c->map[s->stack], c->after, s->value, scale, s->nr_samples);
	}
	/* Equal lines were summed: each of them had this first number. */
	if (__builtin_mul_overflow(before.value, (int64_t)s->nr_samples, &before.value))
		return FLAME_EOVERFLOW;
	stack = flame_stack_push(c->to, caller, new_frame(c->to, name));
	err = add_column(c, stack, c->before, before.value, before.scale, s->nr_samples);
	return err ? err : add_column(c, stack, c->after, s->value, scale, s->nr_samples);
}

/*
 * Until the last line was seen, a second number was part of the last frame's name: only where every
 * line has one is it a column.
 */
static int split_columns(struct columns *c)
{
	flame_frame *frames;
	int err = 0;

	c->before = make_type(c->to, FLAME_TYPE_BEFORE, "");
	c->after = make_type(c->to, FLAME_TYPE_AFTER, "");
	frames = flame_frames_copy(c->to, c->from);
	c->map = frames ? flame_stacks_copy(c->to, c->from, frames) : NULL;
	free(frames);
	if (!c->map)
		return FLAME_ENOMEM;
	for (uint32_t i = 0; !err && i < flame_nr_samples(c->from); i++)
		err = split_sample(c, flame_sample_get(c->from, i));
	free(c->map);
	if (!err)
		err = flame_types_align(c->to, c->before, c->after);
	return err ? err : flame_profile_error(c->to);
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	struct state *st = rd->state;
	int columns = rd->options->columns;
	struct columns c = { .from = *profile };
	int err = flame_warn_missed(rd, *profile);

	if (err)
		return err;

	if (!columns && st->two_columns && st->one_column)
		flame_note(rd, "some lines end in two numbers: the first is taken as part of the name (--columns 2: as the count before)");
	if (columns == 1 || !st->two_columns || (!columns && st->one_column))
		return 0;
	c.to = flame_profile_new(flame_profile_options(*profile));
	if (!c.to)
		return FLAME_ENOMEM;
	err = split_columns(&c);
	if (!columns)
		flame_note(rd, "every line ends in two numbers: read as before and after (--columns 1 takes the first as part of the name)");
	flame_profile_free(*profile);
	*profile = c.to;
	return err;
}

/* A line is folded when it ends in a blank and a number, and something stands before it. */
static bool is_folded_line(struct flame_span line, bool *has_separator)
{
	struct flame_number n;
	struct flame_span word = cut_word(&line);

	if (!line.len || flame_number_parse(word, &n) == FLAME_NUMBER_NONE)
		return false;
	*has_separator |= memchr(line.s, ';', line.len) != NULL;
	return true;
}

static int probe(struct flame_span head)
{
	size_t good = 0, bad = 0;
	bool has_separator = false;

	while (head.len && good + bad < 200) {
		const char *nl = memchr(head.s, '\n', head.len);
		struct flame_span line = { head.s, nl ? (size_t)(nl - head.s) : head.len };

		head.s += line.len + (nl != NULL);
		head.len -= line.len + (nl != NULL);
		while (line.len && (is_blank(line.s[line.len - 1]) || line.s[line.len - 1] == '\r'))
			line.len--;
		/* A line that the head cuts off tells nothing. */
		if (!line.len || line.s[0] == '#' || (!nl && good + bad))
			continue;
		if (is_folded_line(line, &has_separator))
			good++;
		else
			bad++;
	}
	if (!good || bad > good)
		return FLAME_SCORE_NOT;
	return bad || !has_separator ? FLAME_SCORE_SHAPE : FLAME_SCORE_RECORD;
}

static int write(const struct flame_profile *p, const struct flame_write_options *options, FILE *out)
{
	struct flame_folded_options folded = {
		.type = options->type, .before = options->before, .kinds = options->kinds, .header = options->header,
	};

	return flame_folded_write(p, &folded, out);
}

const struct flame_converter flame_folded_converter = {
	.name = "folded",
	.summary = "folded (collapsed) stacks, a line each: root;caller;leaf 12",
	.state_size = sizeof(struct state),
	.kinds_written = FLAME_KIND_BIT(FLAME_KERNEL) | FLAME_KIND_BIT(FLAME_INLINED) | FLAME_KIND_BIT(FLAME_JIT) |
			 FLAME_KIND_BIT(FLAME_INTERPRETED) | FLAME_KIND_BIT(FLAME_C1) | FLAME_KIND_BIT(FLAME_WAKER),
	.counted = true,
	.probe = probe,
	.prepare = prepare,
	.read = read,
	.release = release,
	.join = join,
	.finish = finish,
	.write = write,
};

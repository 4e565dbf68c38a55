/* SPDX-License-Identifier: MIT */
/*
 * folded - folded (collapsed) stacks:
 *
 *     comm;root;caller;leaf_[k] 12
 *
 * Written by FlameGraph's and inferno's stackcollapse tools, async-profiler, bcc -f, py-spy, austin
 * and fgconv. No specification; Documentation/formats/folded.md has the grammar. Not read: what
 * stands in '#' lines, but for fgconv's own "# event: NAME", "# unit: UNIT" and "# kind: KIND".
 *
 * What a path shares with the line before, or with any earlier line by whole blocks of bytes, is on
 * the stack already. The rest is looked up by the bytes of each frame. Some lines are kept waiting while memory
 * fetches what they will be compared with.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/feeder.h"
#include "../core/folded.h"
#include "../core/merge.h"
#include "../core/meta.h"
#include "../core/missed.h"
#include "../core/number.h"
#include "../core/prefix.h"
#include "../core/scan.h"
#include "../core/span.h"
#include "../core/units.h"

#define CACHE_BYTES ((size_t)64 << 20)

#define MAX_WAITING 8	/* lines, a power of two */
#define MAX_EXPECTED (1u << 18)	/* lines and stacks; larger tables grow by remapping */
#define STACK_BYTES 32		/* of text a stack, at least in most files */

/* The text of a path. */
struct path {
	char *bytes;
	size_t len, room;
	size_t known;		/* frames at its start that it shares with an earlier one */
	size_t start;		/* where the first frame behind them begins */
	size_t thread;		/* length of the thread's frame at its start */
	size_t shared;		/* bytes that it shares with the path before */
	uint32_t hashes[FLAME_PREFIX_BLOCKS];
	size_t nr_blocks;
	struct flame_number count;
};

struct state {
	bool one_column;	/* some line had only one number */
	bool two_columns;	/* some line had two */
	uint32_t scale;		/* of the count with the most digits behind the point */
	struct path paths[MAX_WAITING];	/* a ring: the waiting ones, and the one before them */
	size_t nr_come, nr_gone;
	struct flame_prefixes prefixes;
	struct flame_feeder *feeder;
	flame_type type;
	struct flame_cache frames;	/* by their bytes */
	struct flame_short_cache short_frames;
	char event[64], unit[64], kind[16];	/* from our header; "" where it had none */
	char other[64];		/* event of a header further on, as in files one behind the other; "" where there is none */
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

/* @name lies in the text of paths, so that FLAME_SHORT_KEY bytes can be read. */
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

/* Copy @s, with room behind it to be scanned in blocks. */
static bool set_path(struct path *path, struct flame_span s)
{
	if (!array_reserve((void **)&path->bytes, &path->room, s.len + SCAN_SLACK, 1))
		return false;
	memcpy(path->bytes, s.s, s.len);
	path->len = s.len;
	path->thread = flame_thread_frame(s);
	return true;
}

/* Return: how many frames end in @path from @from up to @to; none does within that of the thread. */
static size_t count_ends(const struct path *path, size_t from, size_t to)
{
	if (from < path->thread)
		from = path->thread;
	return from < to ? (size_t)scan_count(path->bytes + from, to - from, ';') : 0;
}

/* Return: true where a frame of @path ends at byte @end. */
static bool ends_at(const struct path *path, size_t end)
{
	return end == path->len || path->bytes[end] == ';';
}

/*
 * Return: how many frames from the root the paths share, with where the last of them ends in *@end; 0 where these are fewer
 * than were known of the last one.
 */
static size_t shared_frames(const struct path *path, const struct path *last, size_t *end)
{
	size_t shared = path->shared;

	if (path->thread != last->thread)
		return 0;
	if (!ends_at(path, shared) || !ends_at(last, shared)) {
		const char *at = shared ? memrchr(path->bytes, ';', shared) : NULL;

		if (!at)
			return 0;
		shared = (size_t)(at - path->bytes);
	}
	*end = shared;
	if (shared < path->thread || shared + 1 < last->start)
		return 0;
	return shared + 1 == last->start ? last->known : last->known + 1 + count_ends(path, last->start, shared);
}

static void find_frames(void *arg, const char *text, const uint32_t *ends, size_t nr, flame_frame *frames)
{
	struct flame_reader *rd = arg;
	size_t start = 0;

	for (size_t i = 0; i < nr; i++) {
		frames[i] = find_frame(rd, text + start, ends[i] - start);
		start = ends[i] + 1;
	}
}

/* Hand on @path from the byte @start on. A path that ends with what is known has no more names, not one of no bytes. */
static int feed(struct flame_reader *rd, struct path *path, size_t start, struct flame_feed *feed)
{
	struct state *st = rd->state;
	struct flame_names names = { path->bytes + start, 0, start <= path->len, 0 };

	path->known = feed->skip;
	path->start = start;
	names.len = names.any ? path->len - start : 0;
	names.whole = start < path->thread ? path->thread - start : 0;
	if (flame_feeder_names(st->feeder, &names))
		return FLAME_ENOMEM;
	return flame_feeder_add(st->feeder, feed);
}

/* Remember two blocks of @path behind @known ones, the last of which is @id; more seldom come again. */
static int learn(struct state *st, const struct path *path, size_t known, uint32_t id)
{
	size_t nr_frames = path->known, from = path->start;
	int err = 0;

	for (size_t i = known; !err && i < path->nr_blocks && i < known + 2; i++) {
		size_t end = (i + 1) * FLAME_PREFIX_BLOCK;
		struct flame_prefix prefix = { .before = id, .hash = path->hashes[i] };
		const char *last = memrchr(path->bytes + path->start, ';', end - path->start);

		nr_frames += count_ends(path, from, end);
		from = end;
		prefix.nr_frames = (uint16_t)nr_frames;
		prefix.tail = (uint16_t)(path->bytes + end - (last ? last + 1 : path->bytes + path->start));
		memcpy(prefix.text, path->bytes + end - FLAME_PREFIX_BLOCK, FLAME_PREFIX_BLOCK);
		id = flame_prefix_add(&st->prefixes, &prefix);
		err = id ? flame_feeder_mark(st->feeder, id, prefix.nr_frames) : FLAME_ENOMEM;
	}
	return err;
}

/* A path that shares little with the one before. */
static int feed_apart(struct flame_reader *rd, struct path *path)
{
	struct state *st = rd->state;
	struct flame_feed item = { .type = st->type, .count = path->count };
	const struct flame_prefix *found;
	size_t start = 0, known;
	int err;

	if (flame_prefix_make_room(&st->prefixes))
		flame_feeder_forget(st->feeder);
	known = flame_prefix_find(&st->prefixes, path->bytes, path->hashes, path->nr_blocks, &found);
	if (found) {
		item.skip = found->nr_frames;
		item.mark = found->id;
		start = known * FLAME_PREFIX_BLOCK - found->tail;
	}
	err = feed(rd, path, start, &item);
	return err ? err : learn(st, path, known, item.mark);
}

static int feed_oldest(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct path *path = &st->paths[st->nr_gone % MAX_WAITING];
	const struct path *last = &st->paths[(st->nr_gone - 1) % MAX_WAITING];
	struct flame_feed item = { .same = true, .type = st->type, .count = path->count };
	size_t same, end;
	bool first = !st->nr_gone;

	st->nr_gone++;
	if (first || path->nr_blocks)
		return feed_apart(rd, path);
	same = shared_frames(path, last, &end);
	if (!same)
		return feed_apart(rd, path);
	item.skip = (uint32_t)same;
	return feed(rd, path, end + 1, &item);
}

/* Half of a path is in the one before it: nothing need be fetched. Blocks of a thread's frame may mean something else. */
static void prepare_path(struct state *st, struct path *path)
{
	const struct path *last = &st->paths[(st->nr_come - 1) % MAX_WAITING];

	path->shared = common_prefix(path->bytes, last->bytes, path->len < last->len ? path->len : last->len);
	path->nr_blocks = 0;
	if (path->shared * 2 >= path->len || path->thread)
		return;
	path->nr_blocks = flame_prefix_hash(path->bytes, path->len, path->hashes);
	flame_prefix_prefetch(&st->prefixes, path->hashes, path->nr_blocks);
}

static int add_path(struct flame_reader *rd, struct flame_span s, struct flame_number count)
{
	struct state *st = rd->state;
	struct path *path = &st->paths[st->nr_come % MAX_WAITING];

	if (!set_path(path, s))
		return FLAME_ENOMEM;
	path->count = count;
	prepare_path(st, path);
	st->nr_come++;
	return st->nr_come - st->nr_gone == MAX_WAITING - 1 ? feed_oldest(rd) : 0;
}

/* Cut the last word off @line, and the blanks around it. */
static inline struct flame_span cut_word(struct flame_span *line)
{
	struct flame_span word = span_last_word(line);

	*line = span_trim_end(*line);
	return word;
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

static void read_comment(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	const struct {
		const char *key;
		char *value;
		size_t room;
	} keys[] = {
		{ "# event: ", st->event, sizeof(st->event) }, { "# unit: ", st->unit, sizeof(st->unit) },
		{ "# kind: ", st->kind, sizeof(st->kind) },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char other[sizeof(st->other)] = "";

		/* What the whole is called was made known before the first line. */
		if (!set_header(rd->profile ? other : keys[i].value, keys[i].room, line, keys[i].key))
			continue;
		if (*other && strcmp(other, keys[i].value) && !st->other[0] && (keys[i].value[0] || st->nr_come))
			memcpy(st->other, other, sizeof(st->other));
		return;
	}
	if (rd->profile)
		flame_meta_parse(rd->profile, line);
}

static flame_type make_type(struct flame_profile *p, const char *name, const char *unit, const char *kind)
{
	struct flame_type_info info = {
		.name = flame_intern(p, name, strlen(name)),
		.unit = flame_intern(p, unit, strlen(unit)),
		.kind = flame_value_kind_find((struct flame_span){ kind, strlen(kind) }),
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
	return i > 1 && is_space(s.s[i - 1]) &&
	       flame_number_parse((struct flame_span){ s.s + i, s.len - i }, &n) == FLAME_NUMBER_OK;
}

/* A count that only fits without a sign. Return: 0 where it is none. */
static uint64_t parse_unsigned(struct flame_span s)
{
	uint64_t value = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.s[i] < '0' || s.s[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(s.s[i] - '0'), &value))
			return 0;
	}
	return value;
}

/* The same stack as often as its count needs. */
static int add_unsigned(struct flame_reader *rd, struct flame_span line, struct flame_span count)
{
	uint64_t rest = ends_in_number(line) ? 0 : parse_unsigned(count);
	struct state *st = rd->state;
	int err = 0;

	if (!rest)
		return flame_fail(rd, FLAME_EOVERFLOW, "the count %.*s does not fit 64 bits", (int)(count.len < 40 ? count.len : 40),
				  count.s);
	st->one_column = true;
	for (struct flame_number part = { 0 }; !err && rest; rest -= (uint64_t)part.value) {
		part.value = rest < INT64_MAX ? (int64_t)rest : INT64_MAX;
		err = add_path(rd, line, part);
	}
	return err;
}

static int read_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span rest = line, last = cut_word(&rest);
	enum flame_number_result result;
	struct flame_number n;

	if (!last.len)
		return 0;
	if (line.s[0] == '#') {
		read_comment(rd, line);
		return 0;
	}
	result = flame_number_parse(last, &n);
	if (result == FLAME_NUMBER_NONE)
		return flame_skip(rd, "no count at the end of the line");
	/* A frame that is a blank, before the one that separates the count. */
	if (rest.len && rest.s[rest.len - 1] == ';' && last.s - (rest.s + rest.len) > 1)
		rest.len++;
	line = rest;
	if (result == FLAME_NUMBER_TOO_BIG)
		return add_unsigned(rd, line, last);
	if (n.scale > st->scale)
		st->scale = n.scale;
	if (ends_in_number(line))
		st->two_columns = true;
	else
		st->one_column = true;
	return add_path(rd, line, n);
}

/*
 * Tables that grow leave behind what they were, all of which is memory that was never touched before. Of a file it is
 * known how long it is, and its first lines tell how many there will be.
 */
static void expect_lines(struct flame_reader *rd)
{
	struct flame_span head = flame_peek(rd->input, FLAME_HEAD_SIZE);
	uint64_t size, lines = scan_count(head.s, head.len, '\n');

	if (!head.len || !flame_input_can_slice(rd->input, &size))
		return;
	/* Lines differ in length. */
	lines = (uint64_t)((double)lines * 1.125 * (double)size / (double)head.len);
	flame_samples_expect(rd->profile, lines < MAX_EXPECTED ? lines : MAX_EXPECTED);
	flame_stacks_expect(rd->profile, size / STACK_BYTES < MAX_EXPECTED ? size / STACK_BYTES : MAX_EXPECTED);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span line;
	int err = 0, fed;

	st->frames.max_bytes = CACHE_BYTES;
	st->type = make_type(rd->profile, st->event, st->unit, st->kind);
	st->feeder = flame_feeder_new(rd->profile, flame_thread_count(rd->options) > 1);
	if (!st->feeder)
		return FLAME_ENOMEM;
	flame_feeder_set_find(st->feeder, find_frames, rd);
	expect_lines(rd);
	while (!err && flame_line(rd->input, &line))
		err = read_line(rd, line);
	while (!err && st->nr_gone < st->nr_come)
		err = feed_oldest(rd);
	fed = flame_feeder_free(st->feeder);
	return fed ? fed : err;
}


static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	for (size_t i = 0; i < MAX_WAITING; i++) {
		free(st->paths[i].bytes);
	}
	flame_prefix_release(&st->prefixes);
	flame_cache_release(&st->frames);
	flame_short_release(&st->short_frames);
}

static void join(struct flame_reader *rd, const void *from)
{
	struct state *st = rd->state;
	const struct state *slice = from;

	st->one_column |= slice->one_column;
	st->two_columns |= slice->two_columns;
	if (slice->scale > st->scale)
		st->scale = slice->scale;
	if (!st->other[0])
		memcpy(st->other, slice->other, sizeof(st->other));
}

/* The header stands at the start, where only the first slice would see it. */
static int prepare(struct flame_reader *rd, struct flame_span head)
{
	while (head.len && head.s[0] == '#') {
		const char *nl = memchr(head.s, '\n', head.len);
		size_t n = nl ? (size_t)(nl - head.s) : head.len;

		read_comment(rd, (struct flame_span){ head.s, n && head.s[n - 1] == '\r' ? n - 1 : n });
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
static int split_columns(struct columns *c, const struct state *st)
{
	/* The types' own names are taken: what counts an event has that as its unit. */
	const char *unit = (*st->unit && strcmp(st->unit, "count")) || !*st->event ? st->unit : st->event;
	flame_frame *frames;
	int err = 0;

	c->before = make_type(c->to, FLAME_TYPE_BEFORE, unit, st->kind);
	c->after = make_type(c->to, FLAME_TYPE_AFTER, unit, st->kind);
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

/* Files one behind the other: what they measure differs. */
static void note_added(struct flame_reader *rd, struct flame_profile *p)
{
	const struct state *st = rd->state;
	char names[2 * sizeof(st->event) + sizeof(" and ") + sizeof("one without a name")];
	int len = snprintf(names, sizeof(names), "%s and %s", st->event[0] ? st->event : "one without a name", st->other);

	flame_meta_text(p, &flame_meta(p)->added, (struct flame_span){ names, (size_t)len });
	flame_diag_add(rd->diag, FLAME_WARNING, "several events are added up, %s, though they may be unlike: give the files one by one",
		       names);
}

static int finish(struct flame_reader *rd, struct flame_profile **profile)
{
	struct state *st = rd->state;
	int columns = rd->options->columns;
	struct columns c = { .from = *profile };
	int err = flame_warn_missed(rd, *profile);

	if (err)
		return err;
	if (st->other[0])
		note_added(rd, *profile);
	if (flame_type_get(*profile, 1)->scale < st->scale)
		flame_note(rd, "counts are rounded to %u digits behind the point: with more of them their sum does not fit 64 bits",
			   flame_type_get(*profile, 1)->scale);
	if (!columns && st->two_columns && st->one_column)
		flame_note(rd, "some lines end in two numbers: the first is taken as part of the name (--columns 2: as the count before)");
	if (columns == 1 || !st->two_columns || (!columns && st->one_column)) {
		flame_samples_number(*profile, 1);
		return 0;
	}
	c.to = flame_profile_new(flame_profile_options(*profile));
	if (!c.to)
		return FLAME_ENOMEM;
	flame_meta_copy(c.to, *profile);
	err = split_columns(&c, st);
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

#define NAME_MAX_PROBED 4096

/*
 * A first stack that is longer than the head: more than one name, the first no longer than names are, and nothing that
 * no name has.
 */
static bool is_long_stack(struct flame_span head)
{
	const char *separator = head.len < FLAME_HEAD_SIZE ? NULL : memchr(head.s, ';', NAME_MAX_PROBED);

	if (!separator || strchr("{[<", head.s[0]))
		return false;
	for (size_t i = 0; i < head.len; i++) {
		if ((unsigned char)head.s[i] < ' ' && head.s[i] != '\t')
			return false;
	}
	return true;
}

static int probe(struct flame_span head)
{
	size_t good = 0, bad = 0;
	bool has_separator = false;

	if (is_long_stack(head))
		return FLAME_SCORE_SHAPE;
	while (head.len && good + bad < 200) {
		const char *nl = memchr(head.s, '\n', head.len);
		struct flame_span line = { head.s, nl ? (size_t)(nl - head.s) : head.len };

		head.s += line.len + (nl != NULL);
		head.len -= line.len + (nl != NULL);
		while (line.len && (is_space(line.s[line.len - 1]) || line.s[line.len - 1] == '\r'))
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
	/* Any text may have lines that end in a number. */
	if (bad && !has_separator)
		return FLAME_SCORE_NOT;
	return bad || !has_separator ? FLAME_SCORE_SHAPE : FLAME_SCORE_RECORD;
}

static int write(const struct flame_profile *p, const struct flame_write_options *options, FILE *out)
{
	struct flame_folded_options folded = {
		.type = options->type, .before = options->before, .kinds = options->kinds, .header = options->header,
		.numbered = options->numbered, .threads = options->threads,
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
	.writes_by_turns = true,
};

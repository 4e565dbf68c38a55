/* SPDX-License-Identifier: MIT */
/*
 * bulk.c - paths in groups by their first frames, and the stacks of each group apart from those of the others.
 */
#include "bulk.h"

#include <stdatomic.h>
#include <string.h>

#include "hash.h"
#include "pages.h"
#include "tables.h"
#include "thread.h"

#define BEGINNING 16	/* frames behind those that all have in common, by which paths are told apart */
#define COMMON_MAX 64	/* of those in common that are stepped over at once */
#define LOOKED_AT 64	/* paths, for what they have in common */
#define LARGE 8		/* a group of more than one in so many paths is divided further */
#define LARGE_FROM 4096	/* and of more than so many */
#define DIVIDED_MAX 64	/* groups, in all */
#define FEW 8		/* beginnings: fewer than one in so many paths */
#define FEW_FROM 1024	/* or than so many more */
#define THREAD_FROM 16384	/* paths */
#define CHUNKS 64	/* pieces that all groups are shared out in */
#define AHEAD 8		/* paths that memory fetches while one is looked at */
#define ROW_BYTES 8	/* of paths, that make a stack; a guess, for the room that is asked for at once */
#define LEAF (1u << 31)	/* in the number of a path's beginning: it has no more frames */
#define NONE UINT32_MAX	/* instead of that: there is no path */
#define AGAIN (1u << 31)	/* in what is known of a path: the number of another one of the same stack, which is the first */
#define ON_ROOT (1u << 31)	/* in a head's caller: it is a row of the profile, not of the part */
#define EVEN_MAX 8	/* values of a path */
#define APART 128	/* bytes: what two threads write to does not share a line of the cache, or two that are fetched at once */
#define TOO_MANY FLAME_BULK_NOT	/* beginnings; not a failure */

struct item {
	uint32_t start;
	uint32_t path;
};

/* Paths of more than @depth frames, of which the first are those of @root. */
struct group {
	uint32_t first, nr;	/* items */
	flame_stack root;
	uint32_t depth;
};

struct beginning {
	uint32_t hash;
	uint32_t nr;
	size_t first;		/* in frames */
};

/* Different beginnings, in the order in which they came. */
struct beginnings {
	struct beginning *rows;
	size_t nr, room;
	flame_frame *frames;
	size_t nr_frames, room_frames;
	struct index index;
};

/* Some paths of a group, whose beginnings are looked at. */
struct scan {
	_Alignas(APART) const struct flame_bulk *bulk;
	struct item *items;
	size_t nr;
	int64_t *values;	/* of all paths, where these are to be found; else NULL */
	uint32_t *kinds;	/* of each item: its beginning, and LEAF */
	size_t depth, most;	/* beginnings are the frames from this one to that */
	size_t nr_most;		/* beginnings */
	struct beginnings beginnings;
	struct flame_bulk_path *path;
	int err;
};

/* What is done by one thread while stacks are made. */
struct chunk {
	uint32_t first_group, end_group;
	size_t first_row, end_row, first_head, end_head;	/* of @part */
	const struct part *part;
};

/* The first path of a stack in the group at hand. */
struct sampled {
	uint32_t row;		/* 0: free */
	uint32_t path;
};

struct part {
	_Alignas(APART) struct work *work;
	bool backwards;		/* chunks from the last on; rows are not those of the profile */
	flame_frame *stacks;
	size_t nr, room;
	struct head *heads;
	size_t nr_heads, room_heads;
	uint32_t *rows;		/* of the path at hand */
	size_t room_rows;
	struct head_slot *slots;	/* of the group at hand, its number of slots being mask + 1 */
	struct sampled *sampled;	/* as many */
	uint32_t mask;
	size_t room_slots, room_sampled;
	struct flame_bulk_path path;
	int err;
};

struct work {
	struct flame_profile *p;
	const struct flame_bulk *bulk;
	struct item *items;
	struct group *groups;
	size_t nr_groups, room_groups;
	int64_t *values;	/* by path, nr_values each */
	uint32_t *paths;	/* of each: its stack, 0 for one that is left out, or the first path of the same stack and AGAIN */
	struct chunk chunks[CHUNKS + 1];
	size_t nr_chunks;
	bool threaded;
	atomic_size_t nr_taken;		/* chunks */
	struct part parts[2];
};

/* Beginnings. */

static void release_beginnings(struct beginnings *b)
{
	free(b->rows);
	free(b->frames);
	free(b->index.slots);
}

static bool grow_index(struct beginnings *b)
{
	if (!index_grow(&b->index))
		return false;
	for (size_t i = 0; i < b->nr; i++)
		index_put(&b->index, b->rows[i].hash, (uint32_t)i + 1);
	return true;
}

/* Return: the number of the beginning, which may be new; NONE without memory. */
static uint32_t find_beginning(struct beginnings *b, const flame_frame *frames, size_t nr, uint32_t hash)
{
	size_t size = nr * sizeof(*frames);

	for (uint32_t i = hash & b->index.mask; b->index.slots && b->index.slots[i]; i = (i + 1) & b->index.mask) {
		const struct beginning *row = &b->rows[b->index.slots[i] - 1];

		if (row->hash == hash && row->nr == nr && !memcmp(b->frames + row->first, frames, size))
			return b->index.slots[i] - 1;
	}
	if ((!index_has_room(&b->index) && !grow_index(b)) ||
	    !array_reserve((void **)&b->rows, &b->room, b->nr + 1, sizeof(*b->rows)) ||
	    !array_reserve((void **)&b->frames, &b->room_frames, b->nr_frames + nr, sizeof(*b->frames)))
		return NONE;
	memcpy(b->frames + b->nr_frames, frames, size);
	b->rows[b->nr] = (struct beginning){ hash, (uint32_t)nr, b->nr_frames };
	b->nr_frames += nr;
	index_put(&b->index, hash, (uint32_t)b->nr + 1);
	return (uint32_t)b->nr++;
}

static int scan_item(struct scan *s, struct item *item, uint32_t *kind)
{
	const flame_frame *frames;
	size_t nr;
	int64_t *values = s->values ? s->values + item->path * s->bulk->nr_values : NULL;
	int err;

	*kind = NONE;
	err = s->bulk->decode(s->bulk->arg, &item->start, s->most + 1, values, s->path);
	if (err == FLAME_EFORMAT || (!err && s->path->nr <= s->depth))
		return 0;
	if (err)
		return err;
	frames = s->path->frames + s->depth;
	nr = (s->path->nr < s->most ? s->path->nr : s->most) - s->depth;
	*kind = find_beginning(&s->beginnings, frames, nr, (uint32_t)hash_bytes((const char *)frames, nr * sizeof(*frames)));
	if (*kind == NONE)
		return FLAME_ENOMEM;
	if (s->path->nr <= s->most)
		*kind |= LEAF;
	return s->beginnings.nr > s->nr_most ? TOO_MANY : 0;
}

static void *run_scan(void *arg)
{
	struct scan *s = arg;

	for (size_t i = 0; !s->err && i < s->nr; i++) {
		if (i + AHEAD < s->nr)
			__builtin_prefetch(s->bulk->bytes + s->items[i + AHEAD].start);
		s->err = scan_item(s, &s->items[i], &s->kinds[i]);
	}
	return NULL;
}

/* Beginnings of the second scan become such of the first. */
static int join_scans(struct scan *a, const struct scan *b)
{
	const struct beginnings *from = &b->beginnings;
	uint32_t *map = malloc((from->nr + 1) * sizeof(*map));
	int err = map ? 0 : FLAME_ENOMEM;

	for (size_t i = 0; !err && i < from->nr; i++) {
		map[i] = find_beginning(&a->beginnings, from->frames + from->rows[i].first, from->rows[i].nr, from->rows[i].hash);
		err = map[i] == NONE ? FLAME_ENOMEM : a->beginnings.nr > a->nr_most ? TOO_MANY : 0;
	}
	for (size_t i = 0; !err && i < b->nr; i++) {
		if (b->kinds[i] != NONE)
			b->kinds[i] = map[b->kinds[i] & ~LEAF] | (b->kinds[i] & LEAF);
	}
	free(map);
	return err;
}

/* All of the paths that @s is to look at; its beginnings are to be released. Return: 0, TOO_MANY or a failure. */
static int scan_all(struct scan *s, struct flame_bulk_path *other)
{
	struct scan both[2] = { *s, *s };
	int err;

	if (!s->bulk->threaded || s->nr < THREAD_FROM) {
		run_scan(s);
		return s->err;
	}
	both[0].nr /= 2;
	both[1].nr -= both[0].nr;
	both[1].items += both[0].nr;
	both[1].kinds += both[0].nr;
	both[1].path = other;
	flame_thread_both(run_scan, &both[0], &both[1]);
	err = both[0].err < 0 ? both[0].err : both[1].err < 0 ? both[1].err : both[0].err | both[1].err;
	if (!err)
		err = join_scans(&both[0], &both[1]);
	s->beginnings = both[0].beginnings;
	release_beginnings(&both[1].beginnings);
	return err;
}

/* Groups. */

/* Return: how many frames all of a group's paths seem to have in common, from the root on. */
static size_t find_common(struct work *w, const struct group *g)
{
	struct flame_bulk_path *one = &w->parts[0].path, *other = &w->parts[1].path, *path = one;
	size_t step = g->nr / LOOKED_AT + 1, common = g->depth + COMMON_MAX;

	for (size_t i = 0; i < g->nr; i += step) {
		size_t n = 0;

		if (w->bulk->decode(w->bulk->arg, &w->items[g->first + i].start, common, NULL, path))
			continue;
		if (path == one) {
			common = one->nr < common ? one->nr : common;
			path = other;
			continue;
		}
		while (n < common && n < other->nr && one->frames[n] == other->frames[n])
			n++;
		common = n;
	}
	return path == other && common > g->depth ? common : g->depth;
}

/* Push the beginnings onto the group's root. Return: their stacks, NULL without memory. */
static flame_stack *push_beginnings(struct work *w, flame_stack root, const struct scan *s)
{
	const struct beginnings *b = &s->beginnings;
	flame_stack *stacks = malloc((b->nr + 1) * sizeof(*stacks));
	flame_stack *path = malloc((s->most - s->depth) * sizeof(*path));
	bool ok = stacks && path;

	for (size_t i = 0; ok && i < b->nr; i++)
		stacks[i] = flame_stack_push_all(w->p, root, b->frames + b->rows[i].first, b->rows[i].nr, path);
	free(path);
	if (ok && !w->p->error)
		return stacks;
	free(stacks);
	return NULL;
}

/* Where the items of each beginning go: groups are in the order of these. Return: false without memory. */
static bool add_groups(struct work *w, const struct group *g, const struct scan *s, const flame_stack *stacks,
		       uint32_t *next)
{
	uint32_t first = g->first;

	for (size_t i = 0; i < s->nr; i++) {
		if (!(s->kinds[i] & LEAF))
			next[s->kinds[i]]++;
	}
	for (size_t i = 0; i < s->beginnings.nr; i++) {
		uint32_t nr = next[i];

		next[i] = first - g->first;
		if (!nr)
			continue;
		if (!array_reserve((void **)&w->groups, &w->room_groups, w->nr_groups + 1, sizeof(*w->groups)))
			return false;
		w->groups[w->nr_groups++] = (struct group){ first, nr, stacks[i], (uint32_t)s->most };
		first += nr;
	}
	return true;
}

/* Paths whose beginning is all of them have their stack; the others are put together by it. */
static int place_items(struct work *w, const struct group *g, const struct scan *s)
{
	flame_stack *stacks = push_beginnings(w, g->root, s);
	uint32_t *next = calloc(s->beginnings.nr + 1, sizeof(*next));
	struct item *sorted = malloc((s->nr + 1) * sizeof(*sorted));
	uint32_t *firsts = malloc((s->beginnings.nr + 1) * sizeof(*firsts));
	bool ok = stacks && next && sorted && firsts && add_groups(w, g, s, stacks, next);
	int failed = w->p->error, err = ok ? 0 : failed ? failed : FLAME_ENOMEM;
	size_t nr = 0;

	if (ok)
		memset(firsts, 0xff, s->beginnings.nr * sizeof(*firsts));
	for (size_t i = 0; !err && i < s->nr; i++) {
		uint32_t kind = s->kinds[i];

		if (!(kind & LEAF)) {
			sorted[next[kind]++] = s->items[i];
			nr++;
		} else if (kind == NONE) {
			w->paths[s->items[i].path] = 0;
		} else if (firsts[kind & ~LEAF] == NONE) {
			firsts[kind & ~LEAF] = s->items[i].path;
			w->paths[s->items[i].path] = stacks[kind & ~LEAF];
		} else {
			w->paths[s->items[i].path] = firsts[kind & ~LEAF] | AGAIN;
		}
	}
	if (!err)
		memcpy(w->items + g->first, sorted, nr * sizeof(*sorted));
	free(stacks);
	free(next);
	free(sorted);
	free(firsts);
	return err;
}

/* Divide a group into several, which become the last ones. Return: 0, TOO_MANY where it stays as it is, or a failure. */
static int divide(struct work *w, struct group g)
{
	size_t common = find_common(w, &g);
	struct scan s = {
		.bulk = w->bulk, .items = w->items + g.first, .nr = g.nr, .depth = g.depth, .values = g.depth ? NULL : w->values,
		.nr_most = g.nr / FEW + FEW_FROM, .kinds = malloc((g.nr + 1) * sizeof(*s.kinds)),
		.path = &w->parts[0].path,
	};
	int err = s.kinds ? TOO_MANY : FLAME_ENOMEM;

	for (size_t nr = g.depth ? BEGINNING / 2 : BEGINNING; err == TOO_MANY && nr; nr /= 2) {
		s.most = common + nr;
		err = scan_all(&s, &w->parts[1].path);
		if (!err)
			err = place_items(w, &g, &s);
		release_beginnings(&s.beginnings);
		s.beginnings = (struct beginnings){ 0 };
		s.err = 0;
	}
	free(s.kinds);
	return err;
}

static int make_groups(struct work *w)
{
	size_t nr = w->bulk->nr, large = nr / LARGE > LARGE_FROM ? nr / LARGE : LARGE_FROM;
	int err = divide(w, (struct group){ 0, (uint32_t)nr, 0, 0 });

	for (size_t i = 0, nr_divided = 0; !err && i < w->nr_groups && nr_divided < DIVIDED_MAX; i++) {
		if (w->groups[i].nr <= large)
			continue;
		err = divide(w, w->groups[i]);
		if (err == TOO_MANY)
			err = 0;
		else
			w->groups[i].nr = 0;
		nr_divided++;
	}
	return err;
}

/* Stacks. */

/* Slots for the heads and the sampled stacks of a group of @nr paths, of which each makes one at most. Return: false without memory. */
static bool clear_slots(struct part *t, size_t nr)
{
	size_t nr_slots = 16;

	while (nr_slots < nr + nr / 4)
		nr_slots *= 2;
	if (!array_reserve((void **)&t->slots, &t->room_slots, nr_slots, sizeof(*t->slots)) ||
	    !array_reserve((void **)&t->sampled, &t->room_sampled, nr_slots, sizeof(*t->sampled)))
		return false;
	memset(t->slots, 0, nr_slots * sizeof(*t->slots));
	memset(t->sampled, 0, nr_slots * sizeof(*t->sampled));
	t->mask = (uint32_t)nr_slots - 1;
	return true;
}

/* Return: the slot of the head that @caller calls by @frame, or where it goes. */
static struct head_slot *find_slot(const struct part *t, uint32_t caller, flame_frame frame)
{
	uint32_t i = hash_pair(caller, frame) & t->mask;

	while (t->slots[i].stack && (t->slots[i].caller != caller || t->slots[i].frame != frame))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

/* Frames that are called one by the other, behind the last row. */
static void append(struct part *t, const flame_frame *frames, size_t nr)
{
	memcpy(t->stacks + t->nr, frames, nr * sizeof(*frames));
	t->nr += nr;
}

static bool reserve_rows(struct part *t, size_t nr)
{
	return array_reserve((void **)&t->stacks, &t->room, t->nr + nr, sizeof(*t->stacks)) &&
	       array_reserve((void **)&t->heads, &t->room_heads, t->nr_heads + 1, sizeof(*t->heads)) &&
	       array_reserve((void **)&t->rows, &t->room_rows, nr, sizeof(*t->rows));
}

/* Frames that are called one by the other, behind the last row; @rows gets theirs. */
static void append_path(struct part *t, const flame_frame *frames, size_t nr, uint32_t *rows)
{
	uint32_t first = (uint32_t)t->nr;

	append(t, frames, nr);
	for (size_t i = 0; i < nr; i++)
		rows[i] = first + (uint32_t)i;
}

/*
 * Push the path at hand from its frame @i on, which @at calls; there is room. The rows of those in front are in t->rows,
 * which gets the others.
 */
static void push(struct part *t, uint32_t at, size_t i)
{
	const flame_frame *frames = t->path.frames;
	size_t nr = t->path.nr;
	struct head_slot *slot;

	for (; i < nr; at = t->rows[i++] = slot->stack) {
		/* What the root calls is never in the row behind its. */
		while (i < nr && at + 1 < t->nr && t->stacks[at + 1] == frames[i])
			t->rows[i++] = ++at;
		if (i == nr)
			return;
		if (at + 1 == t->nr) {
			append_path(t, frames + i, nr - i, t->rows + i);
			return;
		}
		slot = find_slot(t, at, frames[i]);
		if (!slot->stack) {
			*slot = (struct head_slot){ at, frames[i], (flame_stack)t->nr };
			t->heads[t->nr_heads++] = (struct head){ slot->stack, at };
			append_path(t, frames + i, nr - i, t->rows + i);
			t->stacks[slot->stack] |= STACK_HEAD;
			return;
		}
	}
}

/* The same for all of a path that is on the group's root. @first: there is none before. Return: its row. */
static uint32_t push_path(struct part *t, const struct group *g, bool first)
{
	size_t same = first ? 0 : t->path.same;

	if (same > g->depth)
		push(t, t->rows[same - 1], same);
	else
		push(t, g->root | ON_ROOT, g->depth);
	return t->rows[t->path.nr - 1];
}

/* Return: the first path of the group that ends at @row: @path, if there is none yet. */
static uint32_t first_path(const struct part *t, uint32_t row, uint32_t path)
{
	uint32_t i = hash_pair(row, 0) & t->mask;

	while (t->sampled[i].row && t->sampled[i].row != row)
		i = (i + 1) & t->mask;
	if (!t->sampled[i].row)
		t->sampled[i] = (struct sampled){ row, path };
	return t->sampled[i].path;
}

static int push_group(struct part *t, const struct group *g)
{
	const struct flame_bulk *bulk = t->work->bulk;
	struct item *items = t->work->items + g->first;

	if (!clear_slots(t, g->nr))
		return FLAME_ENOMEM;
	for (uint32_t i = 0; i < g->nr; i++) {
		uint32_t row, first;
		int err;

		/* A group's paths may be anywhere, and those of the next one are behind its. */
		if (g->first + i + AHEAD < t->work->bulk->nr) {
			const char *bytes = bulk->bytes + items[i + AHEAD].start;

			__builtin_prefetch(bytes);
			__builtin_prefetch(bytes + 64);
			__builtin_prefetch(bytes + 128);
		}
		err = bulk->decode(bulk->arg, &items[i].start, SIZE_MAX, NULL, &t->path);
		if (err == FLAME_EFORMAT) {
			t->work->paths[items[i].path] = 0;
			continue;
		}
		if (!err && !reserve_rows(t, t->path.nr))
			err = FLAME_ENOMEM;
		if (!err && t->nr + t->path.nr >= ON_ROOT)
			err = FLAME_EOVERFLOW;
		if (err)
			return err;
		row = push_path(t, g, !i);
		first = first_path(t, row, items[i].path);
		t->work->paths[items[i].path] = first == items[i].path ? row : first | AGAIN;
	}
	return 0;
}

static struct chunk *take_chunk(struct part *t, size_t *nr_own)
{
	struct work *w = t->work;

	if (t->err || atomic_fetch_add(&w->nr_taken, 1) >= w->nr_chunks)
		return NULL;
	++*nr_own;
	return &w->chunks[t->backwards ? w->nr_chunks - *nr_own : *nr_own - 1];
}

static void *run_part(void *arg)
{
	struct part *t = arg;
	struct chunk *c;
	size_t nr_own = 0;

	while ((c = take_chunk(t, &nr_own))) {
		c->first_row = t->nr;
		c->first_head = t->nr_heads;
		for (uint32_t i = c->first_group; !t->err && i < c->end_group; i++)
			t->err = push_group(t, &t->work->groups[i]);
		c->end_row = t->nr;
		c->end_head = t->nr_heads;
		c->part = t;
	}
	return NULL;
}

/* Consecutive groups with about as many paths each. */
static void make_chunks(struct work *w)
{
	size_t most = w->bulk->nr / CHUNKS + 1, nr = most;

	for (uint32_t i = 0; i < w->nr_groups; i++) {
		if (nr >= most) {
			w->chunks[w->nr_chunks++] = (struct chunk){ .first_group = i };
			nr = 0;
		}
		w->chunks[w->nr_chunks - 1].end_group = i + 1;
		nr += w->groups[i].nr;
	}
}

/* The first part goes on where the profile ends; the other begins with a row that is none, as 0 is. */
static int begin_parts(struct work *w)
{
	struct flame_profile *p = w->p;
	size_t nr_rows = w->bulk->nr_bytes / ROW_BYTES;
	struct part *own = &w->parts[0], *other = &w->parts[1];

	other->work = w;
	other->backwards = true;
	*own = (struct part){ .work = w, .path = own->path, .stacks = p->stacks, .nr = p->nr_stacks, .room = p->room_stacks,
			      .heads = p->heads, .nr_heads = p->nr_heads, .room_heads = p->room_heads };
	p->stacks = NULL;
	p->heads = NULL;
	if (!array_reserve((void **)&own->stacks, &own->room, p->nr_stacks + nr_rows, sizeof(*own->stacks)) ||
	    !array_reserve((void **)&own->heads, &own->room_heads, p->nr_heads + w->bulk->nr, sizeof(*own->heads)))
		return FLAME_ENOMEM;
	flame_pages_advise(own->stacks + own->nr, nr_rows * sizeof(*own->stacks));
	if (!w->threaded)
		return 0;
	if (!array_reserve((void **)&other->stacks, &other->room, nr_rows / 2 + 1, sizeof(*other->stacks)))
		return FLAME_ENOMEM;
	flame_pages_advise(other->stacks, nr_rows / 2 * sizeof(*other->stacks));
	append(other, &(flame_frame){ 0 }, 1);
	return 0;
}

/* Rows of the other part, behind those that there are. */
static int add_chunk(struct work *w, const struct chunk *c)
{
	struct part *own = &w->parts[0];
	const struct part *t = &w->parts[1];
	uint32_t shift = (uint32_t)(own->nr - c->first_row);
	size_t nr_rows = c->end_row - c->first_row, nr_heads = c->end_head - c->first_head;

	if (!array_reserve((void **)&own->stacks, &own->room, own->nr + nr_rows, sizeof(*own->stacks)) ||
	    !array_reserve((void **)&own->heads, &own->room_heads, own->nr_heads + nr_heads, sizeof(*own->heads)))
		return FLAME_ENOMEM;
	if (own->nr + nr_rows >= ON_ROOT)
		return FLAME_EOVERFLOW;
	append(own, t->stacks + c->first_row, nr_rows);
	for (size_t i = c->first_head; i < c->end_head; i++) {
		struct head head = t->heads[i];

		head.stack += shift;
		head.caller += head.caller & ON_ROOT ? 0 : shift;
		own->heads[own->nr_heads++] = head;
	}
	for (uint32_t k = c->first_group; k < c->end_group; k++) {
		const struct group *g = &w->groups[k];

		for (uint32_t i = 0; i < g->nr; i++) {
			uint32_t *path = &w->paths[w->items[g->first + i].path];

			*path += *path && !(*path & AGAIN) ? shift : 0;
		}
	}
	return 0;
}

/* Bits and numbers of the rows from @first on, whose heads are those from @first_head on. Return: false without memory. */
static bool mark_rows(struct flame_profile *p, size_t first, size_t first_head)
{
	size_t head = first_head, words = p->nr_stacks / 64 + 1, word = (first + 63) / 64;

	if (!profile_reserve_stacks(p, 1))
		return false;
	memset(p->is_head + word, 0, (words - word) * sizeof(*p->is_head));
	memset(p->is_sampled + word, 0, (words - word) * sizeof(*p->is_sampled));
	for (; head < p->nr_heads; head++) {
		flame_stack row = p->heads[head].stack;

		for (; word <= row / 64; word++)
			p->heads_before[word] = (uint32_t)head;
		p->heads[head].caller &= ~ON_ROOT;
		p->is_head[row / 64] |= 1ull << (row % 64);
	}
	for (; word < words; word++)
		p->heads_before[word] = (uint32_t)head;
	return true;
}

/* All rows of the parts become the profile's. */
static int end_parts(struct work *w)
{
	struct flame_profile *p = w->p;
	struct part *own = &w->parts[0], *other = &w->parts[1];
	size_t first = p->nr_stacks, first_head = p->nr_heads;
	int err = own->err ? own->err : other->err;

	for (size_t i = 0; !err && i < w->nr_chunks; i++) {
		if (w->chunks[i].part == other)
			err = add_chunk(w, &w->chunks[i]);
	}
	p->stacks = own->stacks;
	p->room_stacks = own->room;
	p->heads = own->heads;
	p->room_heads = own->room_heads;
	if (!err) {
		p->nr_stacks = own->nr;
		p->nr_heads = own->nr_heads;
		if (!mark_rows(p, first, first_head))
			err = FLAME_ENOMEM;
	}
	free(other->stacks);
	free(other->heads);
	return err;
}

static int make_stacks(struct work *w)
{
	int err;

	make_chunks(w);
	err = begin_parts(w);
	if (!err && w->threaded)
		flame_thread_both(run_part, &w->parts[0], &w->parts[1]);
	else if (!err)
		run_part(&w->parts[0]);
	w->parts[0].err = err ? err : w->parts[0].err;
	return end_parts(w);
}

/* Samples. */

/* Add samples to those of the same stack, the first of which is in @row. */
static int add_to(struct flame_profile *p, size_t row, const struct flame_sample *samples, size_t nr)
{
	flame_stack stack = p->samples[row].stack;
	int err = 0;

	for (size_t k = 0; !err && k < nr; k++) {
		struct flame_sample s = samples[k];
		size_t i = row;

		s.stack = stack;
		while (i < p->nr_samples && p->samples[i].stack == stack && p->samples[i].type != s.type)
			i++;
		if (i == p->nr_samples || p->samples[i].stack != stack)
			err = flame_sample_add(p, &s);
		else
			err = profile_sample_sum(p, &p->samples[i], &s);
	}
	return err;
}

/*
 * Add what path @i adds, to samples of its stack where there are some; afterwards what is known of a first path is the
 * row of its first sample.
 */
static int add_path(struct work *w, size_t i, struct flame_sample *samples)
{
	size_t nr, row = w->p->nr_samples;
	uint32_t path = w->paths[i];

	if (!path)
		return w->bulk->left_out(w->bulk->arg, i);
	nr = w->bulk->make_samples(w->bulk->arg, w->values + i * w->bulk->nr_values, samples);
	if (path & AGAIN)
		return add_to(w->p, w->paths[path & ~AGAIN], samples, nr);
	for (size_t k = 0; k < nr; k++)
		samples[k].stack = path;
	w->paths[i] = (uint32_t)row;
	return flame_samples_add(w->p, samples, nr);
}

/* All of them in their order. */
static int add_in_order(struct work *w)
{
	struct flame_sample *samples = malloc((w->bulk->nr_values + 1) * sizeof(*samples));
	int err = samples ? 0 : FLAME_ENOMEM;

	for (size_t i = 0; !err && i < w->bulk->nr; i++) {
		size_t ahead = i + AHEAD < w->bulk->nr ? i + AHEAD : i;

		if (w->paths[ahead] & AGAIN && (w->paths[ahead] & ~AGAIN) < i)
			__builtin_prefetch(&w->p->samples[w->paths[w->paths[ahead] & ~AGAIN]]);
		err = add_path(w, i, samples);
	}
	free(samples);
	return err;
}

/* Paths whose values are none of them 0: how many samples each has is known then, and so is where they go. */
struct share {
	_Alignas(APART) struct work *w;
	size_t first, end;	/* paths */
	size_t row;		/* of the samples of the first of them */
	size_t nr_new;		/* paths whose stack no other had before */
	bool even;		/* it is as said */
	struct flame_sample samples[EVEN_MAX];
};

static void *count_new(void *arg)
{
	struct share *s = arg;
	const struct work *w = s->w;
	size_t nr = w->bulk->nr_values;
	bool even = true;

	for (size_t i = s->first; i < s->end; i++) {
		s->nr_new += !(w->paths[i] & AGAIN);
		even &= w->paths[i] != 0;
	}
	for (size_t i = s->first * nr; i < s->end * nr; i++)
		even &= w->values[i] != 0;
	s->even = even;
	return NULL;
}

static void *put_new(void *arg)
{
	struct share *s = arg;
	const struct work *w = s->w;
	size_t nr = w->bulk->nr_values;

	for (size_t i = s->first; i < s->end; i++) {
		flame_stack stack = w->paths[i];

		if (stack & AGAIN)
			continue;
		w->paths[i] = (uint32_t)s->row;
		w->bulk->make_samples(w->bulk->arg, w->values + i * nr, s->samples);
		for (size_t k = 0; k < nr; k++) {
			s->samples[k].stack = stack;
			profile_sample_put(w->p, s->row++, &s->samples[k]);
		}
		__atomic_fetch_or(&w->p->is_sampled[stack / 64], 1ull << (stack % 64), __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The samples of paths whose stack came before. */
static int add_again(struct work *w, struct flame_sample *samples)
{
	int err = w->p->error;

	for (size_t i = 0; !err && i < w->bulk->nr; i++) {
		size_t ahead = i + AHEAD < w->bulk->nr ? i + AHEAD : i;

		if (w->paths[ahead] & AGAIN)
			__builtin_prefetch(&w->p->samples[w->paths[w->paths[ahead] & ~AGAIN]]);
		if (w->paths[i] & AGAIN)
			err = add_path(w, i, samples);
	}
	return err;
}

/* Return: 0, a failure, or FLAME_BULK_NOT with nothing done. */
static int add_evenly(struct work *w)
{
	size_t nr = w->bulk->nr, nr_values = w->bulk->nr_values, nr_rows;
	struct share shares[2] = { { .w = w, .end = nr / 2 }, { .w = w, .first = nr / 2, .end = nr } };
	struct flame_profile *p = w->p;

	if (nr_values > EVEN_MAX || p->nr_samples)
		return FLAME_BULK_NOT;
	flame_thread_both(count_new, &shares[0], &shares[1]);
	nr_rows = (shares[0].nr_new + shares[1].nr_new) * nr_values;
	if (!shares[0].even || !shares[1].even || nr_rows >= AGAIN)
		return FLAME_BULK_NOT;
	w->bulk->done(w->bulk->arg);
	if (!array_reserve((void **)&p->samples, &p->room_samples, nr_rows, sizeof(*p->samples)))
		return FLAME_ENOMEM;
	shares[1].row = shares[0].nr_new * nr_values;
	flame_thread_both(put_new, &shares[0], &shares[1]);
	p->nr_samples = nr_rows;
	return add_again(w, shares[0].samples);
}

static int add_samples(struct work *w)
{
	int err = w->threaded ? add_evenly(w) : FLAME_BULK_NOT;
	bool all = true;

	if (err != FLAME_BULK_NOT)
		return err;
	for (size_t i = 0; i < w->bulk->nr; i++)
		all &= w->paths[i] != 0;
	if (all)
		w->bulk->done(w->bulk->arg);
	return add_in_order(w);
}

static bool begin_work(struct work *w)
{
	size_t nr = w->bulk->nr, nr_values = nr * w->bulk->nr_values;

	w->items = malloc((nr + 1) * sizeof(*w->items));
	w->paths = malloc((nr + 1) * sizeof(*w->paths));
	w->values = malloc((nr_values + 1) * sizeof(*w->values));
	if (!w->items || !w->paths || !w->values)
		return false;
	flame_pages_advise(w->items, nr * sizeof(*w->items));
	flame_pages_advise(w->values, nr_values * sizeof(*w->values));
	for (size_t i = 0; i < nr; i++)
		w->items[i] = (struct item){ w->bulk->starts[i], (uint32_t)i };
	return true;
}

static void end_work(struct work *w)
{
	free(w->items);
	free(w->paths);
	free(w->values);
	free(w->groups);
	for (size_t i = 0; i < 2; i++) {
		free(w->parts[i].path.frames);
		free(w->parts[i].path.marks);
		free(w->parts[i].rows);
		free(w->parts[i].slots);
		free(w->parts[i].sampled);
	}
}

int flame_bulk_add(struct flame_profile *p, const struct flame_bulk *bulk)
{
	struct work w = { .p = p, .bulk = bulk, .threaded = bulk->threaded && bulk->nr >= THREAD_FROM };
	int err = p->error;

	if (!err && !begin_work(&w))
		err = FLAME_ENOMEM;
	if (!err)
		err = make_groups(&w);
	if (!err)
		err = make_stacks(&w);
	if (!err)
		err = add_samples(&w);
	p->in_groups |= !err;
	end_work(&w);
	return err;
}

bool flame_bulk_is_in_groups(const struct flame_profile *p)
{
	return p->in_groups;
}

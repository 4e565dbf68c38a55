/* SPDX-License-Identifier: MIT */
/*
 * folded_walk.c - down the sorted call tree. Most stacks are links of a chain: they have one child, in the next row, and
 * no samples. The walk takes a chain as one step.
 */
#include "folded_walk.h"

#include <stdlib.h>

#include "order.h"
#include "tables.h"

/* What is known of 64 stacks, a bit each: the walk goes to and fro, and finds all in one line of the cache. */
struct flame_walk_block {
	uint64_t follows;	/* its caller is the row before it */
	uint64_t branches;	/* its children are in children */
	uint64_t summed;	/* it has a sum */
	uint64_t stops;		/* it ends a chain */
	uint32_t branches_before, sums_before;	/* all there are in the blocks before */
};

/* The values of a stack's samples. */
struct flame_walk_sum {
	int64_t before, value;
};

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

static struct flame_walk_block *block_of(const struct flame_walk *w, flame_stack stack)
{
	return &w->blocks[stack / 64];
}

static size_t sum_of(const struct flame_walk *w, flame_stack stack)
{
	const struct flame_walk_block *b = block_of(w, stack);

	return number_of(b->summed, b->sums_before, stack);
}

/* Mark the stacks that branch, and collect their children. */
static bool survey(struct flame_walk *w)
{
	uint32_t nr = flame_nr_stacks(w->p), nr_heads = flame_nr_stack_heads(w->p);

	w->nr_blocks = nr / 64 + 1;
	w->blocks = calloc(w->nr_blocks, sizeof(*w->blocks));
	w->children = calloc(2 * (size_t)nr_heads + 1, sizeof(*w->children));
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
		struct flame_walk_block *b = block_of(w, caller);

		if (!has_bit(b->branches, caller) && has_bit(block_of(w, caller + 1)->follows, caller + 1))
			w->children[w->nr_children++] = (struct flame_pair){ caller, caller + 1 };
		b->branches |= bit(caller);
	}
	return true;
}

static bool sort_children(struct flame_walk *w)
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
static bool index_children(struct flame_walk *w)
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

static bool is_written(const struct flame_walk *w, const struct flame_sample *s)
{
	return s->type == w->type || (s->type == w->before && s->type);
}

static bool is_big(const struct flame_walk_big *big, flame_stack stack)
{
	return big->is && big->stack == stack;
}

static int add_big(struct flame_walk_big *big, const struct flame_sample *s, int64_t *sum)
{
	uint64_t whole = (uint64_t)*sum;

	if (s->value < 0 || (!is_big(big, s->stack) && (big->is || *sum < 0)) ||
	    __builtin_add_overflow(whole, (uint64_t)s->value, &whole))
		return FLAME_EOVERFLOW;
	*big = (struct flame_walk_big){ true, s->stack };
	*sum = (int64_t)whole;
	return 0;
}

static int add_value(struct flame_walk *w, const struct flame_sample *s)
{
	struct flame_walk_sum *sums = &w->sums[sum_of(w, s->stack)];
	struct flame_walk_big *big = s->type == w->type ? &w->big_value : &w->big_before;
	int64_t *to = s->type == w->type ? &sums->value : &sums->before, sum;

	if (is_big(big, s->stack) || __builtin_add_overflow(*to, s->value, &sum))
		return add_big(big, s, to);
	*to = sum;
	return 0;
}

static int add_up(struct flame_walk *w)
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
		int err = is_written(w, s) ? add_value(w, s) : 0;

		if (err)
			return err;
	}
	return 0;
}

/* What ends a chain: a sum, a branch, and a stack without a child in the next row. */
static void find_stops(struct flame_walk *w)
{
	for (size_t i = 0; i < w->nr_blocks; i++) {
		struct flame_walk_block *b = &w->blocks[i];
		uint64_t next = i + 1 < w->nr_blocks ? b[1].follows << 63 : 0;

		b->stops = b->branches | b->summed | ~(b->follows >> 1 | next);
	}
}

/* Return: where the chain that begins with @stack ends. */
static flame_stack chain_end(const struct flame_walk *w, flame_stack stack)
{
	size_t i = stack / 64;
	uint64_t stops = w->blocks[i].stops & ~0ull << (stack % 64);

	/* The last stack has no child, and so ends a chain. */
	while (!stops)
		stops = w->blocks[++i].stops;
	return (flame_stack)(i * 64 + (size_t)__builtin_ctzll(stops));
}

/* Brothers are far from each other: fetch what the walk will see of those that it comes to soon. */
static void fetch_brothers(const struct flame_walk *w, size_t child)
{
	if (child + 8 < w->nr_children) {
		__builtin_prefetch(block_of(w, w->children[child + 8].row));
		__builtin_prefetch(&w->p->stacks[w->children[child + 8].row]);
	}
	if (child + 4 < w->nr_children)
		__builtin_prefetch(&w->sums[sum_of(w, chain_end(w, w->children[child + 4].row))]);
}

/* Go to the next one that the same stack calls. Return: false where there is none. */
static bool go_on(const struct flame_walk *w, struct flame_branch *open)
{
	size_t next = open->child + 1;

	if (next == w->nr_children || w->children[next].key != w->children[open->child].key)
		return false;
	open->child = next;
	fetch_brothers(w, next);
	return true;
}

/* Go to the stack behind w->at in the order of the lines, and say in @step how. Return: 1, 0 for none, FLAME_ENOMEM. */
static int go_next(struct flame_walk *w, struct flame_step *step)
{
	const struct flame_walk_block *b = block_of(w, w->at);

	if (has_bit(b->branches, w->at)) {
		if (!array_reserve((void **)&w->branches, &w->room_branches, w->nr_branches + 1, sizeof(*w->branches)))
			return FLAME_ENOMEM;
		w->branches[w->nr_branches++] = (struct flame_branch){
			.stack = w->at,
			.child = w->first_child[number_of(b->branches, b->branches_before, w->at)],
			.nr_frames = w->nr_frames,
		};
		step->opens = true;
	} else if (has_bit(block_of(w, w->at + 1)->follows, w->at + 1)) {
		step->goes_on = true;
		step->first = w->at + 1;
		return 1;
	} else {
		while (w->nr_branches && !go_on(w, &w->branches[w->nr_branches - 1]))
			w->nr_branches--;
		if (!w->nr_branches)
			return 0;
		w->nr_frames = w->branches[w->nr_branches - 1].nr_frames;
	}
	step->first = w->children[w->branches[w->nr_branches - 1].child].row;
	return 1;
}

/* What the stack of the step has itself. */
static void take_value(const struct flame_walk *w, struct flame_step *step)
{
	const struct flame_walk_sum *sum;

	if (!has_bit(block_of(w, w->at)->summed, w->at))
		return;
	sum = &w->sums[sum_of(w, w->at)];
	step->has_value = sum->value || sum->before;
	step->value = sum->value;
	step->before = sum->before;
	step->value_is_unsigned = is_big(&w->big_value, w->at);
	step->before_is_unsigned = is_big(&w->big_before, w->at);
}

int flame_walk_next(struct flame_walk *w, struct flame_step *step)
{
	int more = 1;

	*step = (struct flame_step){ 0 };
	if (!w->started) {
		w->started = step->goes_on = true;
	} else {
		more = go_next(w, step);
		if (more <= 0)
			return more;
		w->at = chain_end(w, step->first);
		step->nr = w->at - step->first + 1;
		w->nr_frames += step->nr;
	}
	step->level = (uint32_t)w->nr_branches;
	take_value(w, step);
	return more;
}

int flame_walk_init(struct flame_walk *w, const struct flame_profile *p, flame_type type, flame_type before)
{
	int err;

	w->p = p;
	w->type = type;
	w->before = before;
	if (!survey(w) || !sort_children(w) || !index_children(w))
		return FLAME_ENOMEM;
	err = add_up(w);
	if (!err)
		find_stops(w);
	return err;
}

void flame_walk_release(struct flame_walk *w)
{
	free(w->blocks);
	free(w->children);
	free(w->first_child);
	free(w->sums);
	free(w->branches);
}

/* SPDX-License-Identifier: MIT */
/*
 * layout.c - from the stack table to boxes.
 *
 * Totals are one pass from the table's end to its start. A stack whose row follows its caller's
 * passes its sums on in a variable; only the others (at most one a distinct sample) need memory, so
 * that a table of tens of millions of rows is laid out without a second array of that size.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

#include "../order.h"
#include "../sort.h"
#include "../table.h"
#include "../worker.h"
#include "chart.h"

#define AHEAD 12

/* What is known of a stack once all above it has been seen. */
struct sums {
	int64_t now, now_self;
	int64_t before, before_self;
	int64_t width;		/* now, and what is gone */
	uint64_t nr_frames;	/* in this stack and above it */
};

/* What a head hands on to its caller, and what of a differential: a million heads are not rare. */
struct head_sums {
	int64_t now;
	uint64_t nr_frames;
};

struct head_before {
	int64_t before;
	int64_t width;
};

struct node {
	flame_stack stack;
	uint32_t caller;	/* index in nodes */
	flame_frame frame;
	struct sums sums;
};

struct builder {
	const struct flame_profile *p;
	const struct flame_layout_options *options;
	struct flame_pair *selves;	/* key: stack, row: sample; by stack */
	size_t nr_selves;
	struct flame_pair *heads;	/* key: caller, row: number of the head; by caller */
	struct head_sums *sums;		/* of stacks that do not follow their caller */
	struct head_before *befores;	/* NULL: no differential, widths are what there is now */
	size_t nr_heads;
	uint32_t *head_nodes;		/* how many nodes there were with that of the head; 0: it is none */
	uint32_t *ranks;		/* of frames, by name */
	struct node *nodes;		/* to be drawn; by stack, the highest first, then the lowest */
	size_t nr_nodes, room_nodes;
	struct sums all;
};

static bool is_drawn_type(const struct builder *b, const struct flame_sample *s)
{
	return s->type == b->options->type || (b->options->before && s->type == b->options->before);
}

static int collect_selves(struct builder *b)
{
	uint32_t nr = flame_nr_samples(b->p);

	b->selves = malloc((nr + 1) * sizeof(*b->selves));
	if (!b->selves)
		return FLAME_ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct flame_sample *s = flame_sample_get(b->p, i);

		if (!is_drawn_type(b, s))
			continue;
		if (s->value < 0)
			return FLAME_EARG;
		b->selves[b->nr_selves++] = (struct flame_pair){ s->stack, i };
	}
	return flame_sort_pairs(b->selves, b->nr_selves) ? 0 : FLAME_ENOMEM;
}

static int collect_heads(struct builder *b)
{
	b->nr_heads = flame_nr_stack_heads(b->p);
	b->heads = malloc((b->nr_heads + 1) * sizeof(*b->heads));
	b->sums = calloc(b->nr_heads + 1, sizeof(*b->sums));
	b->head_nodes = malloc((b->nr_heads + 1) * sizeof(*b->head_nodes));
	if (!b->heads || !b->sums || !b->head_nodes)
		return FLAME_ENOMEM;
	if (b->options->before || b->options->view != FLAME_VIEW_AFTER) {
		b->befores = calloc(b->nr_heads + 1, sizeof(*b->befores));
		if (!b->befores)
			return FLAME_ENOMEM;
	}
	for (uint32_t i = 0; i < b->nr_heads; i++) {
		flame_stack_head(b->p, i, &b->heads[i].key);
		b->heads[i].row = i;
	}
	return flame_sort_pairs(b->heads, b->nr_heads) ? 0 : FLAME_ENOMEM;
}

static void add_head(const struct builder *b, struct sums *to, uint32_t head)
{
	const struct head_sums *from = &b->sums[head];

	to->now += from->now;
	to->nr_frames += from->nr_frames;
	to->width += b->befores ? b->befores[head].width : from->now;
	to->before += b->befores ? b->befores[head].before : 0;
}

/* The stack of @head was looked at last. */
static void keep_head(struct builder *b, size_t head, flame_stack stack, const struct sums *sums)
{
	bool is_node = b->nr_nodes && b->nodes[b->nr_nodes - 1].stack == stack;

	b->head_nodes[head] = is_node ? (uint32_t)b->nr_nodes : 0;
	b->sums[head] = (struct head_sums){ sums->now, sums->nr_frames };
	if (b->befores)
		b->befores[head] = (struct head_before){ sums->before, sums->width };
}

/* The grand total is checked on the way in, so that sums of parts cannot overflow. */
static int add_self(struct builder *b, struct sums *to, const struct flame_sample *s)
{
	int64_t *all = s->type == b->options->type ? &b->all.now : &b->all.before;

	/* Widths are of both, where nothing is in common. */
	if (__builtin_add_overflow(*all, s->value, all) || b->all.now > INT64_MAX - b->all.before)
		return FLAME_EOVERFLOW;
	if (s->type == b->options->type) {
		to->now += s->value;
		to->now_self += s->value;
	} else {
		to->before += s->value;
		to->before_self += s->value;
	}
	return 0;
}

/* How wide the part is that nothing lies on. */
static int64_t own_width(enum flame_view view, int64_t now, int64_t now_self, int64_t before_self)
{
	switch (view) {
	case FLAME_VIEW_COMBINED:
		return now_self > before_self ? now_self : before_self;
	case FLAME_VIEW_ELIDED:
		return now ? 0 : before_self;
	default:
		return now ? now_self : before_self;
	}
}

static int add_node(struct builder *b, flame_stack stack, const struct sums *sums)
{
	if (!sums->width || (double)sums->width < b->options->min_total)
		return 0;
	if (!array_reserve((void **)&b->nodes, &b->room_nodes, b->nr_nodes + 1, sizeof(*b->nodes)))
		return FLAME_ENOMEM;
	b->nodes[b->nr_nodes++] = (struct node){ .stack = stack, .sums = *sums };
	return 0;
}

/* Return: the next lower stack at which anything happens; the rows between share @stack's sums. */
static flame_stack next_event(const struct builder *b, size_t self, size_t head, flame_stack lowest)
{
	flame_stack next = lowest;

	if (self && b->selves[self - 1].key > next)
		next = b->selves[self - 1].key;
	if (head && b->heads[head - 1].key > next)
		next = b->heads[head - 1].key;
	return next;
}

/* Return: the highest of the run's rows that may be drawn. */
static flame_stack highest_drawn(const struct builder *b, flame_stack from, flame_stack to)
{
	/* The row before @to may be the root; of a row that is too deep, all above it are. */
	return b->options->max_depth && from - to > b->options->max_depth ? to + b->options->max_depth : from;
}

/* Rows @to .. @from, each the caller of the one above it, with nothing of their own. */
static int add_run(struct builder *b, flame_stack from, flame_stack to, struct sums *sums)
{
	uint64_t nr = (uint64_t)from - to + 1;
	int err = 0;

	sums->now_self = sums->before_self = 0;
	if (!sums->width)
		return 0;
	if ((double)sums->width < b->options->min_total) {
		sums->nr_frames += nr;
		return 0;
	}
	sums->nr_frames += from - highest_drawn(b, from, to);
	for (flame_stack i = highest_drawn(b, from, to); !err && i >= to; i--) {
		sums->nr_frames++;
		err = add_node(b, i, sums);
	}
	return err;
}

/* Samples and heads are scattered in memory; what is taken a little later is fetched now. */
static void fetch_ahead(const struct builder *b, size_t self, size_t head)
{
	if (self > AHEAD)
		__builtin_prefetch(flame_sample_get(b->p, b->selves[self - AHEAD].row));
	if (head > AHEAD)
		__builtin_prefetch(&b->sums[b->heads[head - AHEAD].row]);
}

static int add_own(struct builder *b, struct sums *sums, flame_stack stack, size_t *self, size_t *head)
{
	int err = 0;

	sums->now_self = sums->before_self = 0;
	fetch_ahead(b, *self, *head);
	for (; *head && b->heads[*head - 1].key == stack; --*head)
		add_head(b, sums, b->heads[*head - 1].row);
	for (; !err && *self && b->selves[*self - 1].key == stack; --*self)
		err = add_self(b, sums, flame_sample_get(b->p, b->selves[*self - 1].row));
	sums->width += own_width(b->options->view, sums->now, sums->now_self, sums->before_self);
	return err;
}

/*
 * Sum up all stacks and keep those that are wide enough to be drawn. Stacks between two heads are
 * a chain, each the caller of the next; only where samples or heads join it do the sums change.
 */
static int sum_stacks(struct builder *b)
{
	size_t self = b->nr_selves, head = b->nr_heads, nr = b->nr_heads;
	flame_stack top = flame_nr_stacks(b->p), bottom, caller, i;
	int err = 0;

	/* Mostly there are fewer. Memory that is not touched costs nothing. */
	if (!array_reserve((void **)&b->nodes, &b->room_nodes, b->nr_heads + 1, sizeof(*b->nodes)))
		return FLAME_ENOMEM;
	do {
		struct sums sums = { 0 };

		bottom = nr ? flame_stack_head(b->p, nr - 1, &caller) : 0;
		for (i = top; !err && i > bottom;) {
			flame_stack next = next_event(b, self, head, bottom);

			/* Between: rows i - 1 down to next + 1. */
			if (i - 1 > next)
				err = add_run(b, i - 1, next + 1, &sums);
			if (!err)
				err = add_own(b, &sums, next, &self, &head);
			i = next;
			if (!i)
				break;
			sums.nr_frames += sums.width > 0;
			if (!err)
				err = add_node(b, i, &sums);
		}
		if (nr)
			keep_head(b, nr - 1, bottom, &sums);
		else
			b->all = sums;
		top = bottom;
	} while (!err && nr-- > 0);
	return err;
}

static void reverse_nodes(struct builder *b)
{
	for (size_t i = 0, k = b->nr_nodes - 1; i < k; i++, k--) {
		struct node swap = b->nodes[i];

		b->nodes[i] = b->nodes[k];
		b->nodes[k] = swap;
	}
}

/*
 * Nodes from the lowest stack up, each with the index of its caller's node, which is as wide and so there; 0 is the root. It is
 * the node before, but for heads, which are in the order of their callers.
 */
static int link_nodes(struct builder *b)
{
	struct node root = { .sums = b->all };
	uint32_t caller = 0;

	if (!array_reserve((void **)&b->nodes, &b->room_nodes, b->nr_nodes + 1, sizeof(*b->nodes)))
		return FLAME_ENOMEM;
	b->nodes[b->nr_nodes++] = root;
	reverse_nodes(b);
	for (uint32_t i = 1; i < b->nr_nodes; i++)
		b->nodes[i].caller = i - 1;
	for (size_t i = 0; i < b->nr_heads; i++) {
		uint32_t node = b->head_nodes[b->heads[i].row];

		if (!node)
			continue;
		while (b->nodes[caller].stack < b->heads[i].key)
			caller++;
		b->nodes[b->nr_nodes - node].caller = caller;
	}
	return 0;
}

/* Who was called by whom: node i's children are rows[first[i]] up to rows[first[i + 1]], by name. */
struct children {
	uint32_t *rows, *first;	/* owned */
};

/* Return: nodes but the root, by name; NULL without memory. */
static struct flame_pair *sort_by_name(struct builder *b)
{
	struct flame_pair *order = malloc(b->nr_nodes * sizeof(*order));

	for (uint32_t i = 1; order && i < b->nr_nodes; i++) {
		struct node *node = &b->nodes[i];

		node->frame = flame_stack_frame(b->p, node->stack);
		order[i - 1] = (struct flame_pair){ b->ranks[node->frame], i };
	}
	if (order && flame_sort_pairs(order, b->nr_nodes - 1))
		return order;
	free(order);
	return NULL;
}

static int find_children(struct builder *b, struct children *c)
{
	struct flame_pair *order = sort_by_name(b);
	size_t nr = b->nr_nodes;
	uint32_t *first = c->first = calloc(nr + 2, sizeof(*c->first));

	c->rows = malloc(nr * sizeof(*c->rows));
	if (!order || !first || !c->rows) {
		free(order);
		return FLAME_ENOMEM;
	}
	/* Where a node's children begin stands one further on until they are there. */
	for (size_t i = 1; i < nr; i++)
		first[b->nodes[i].caller + 2]++;
	for (size_t i = 1; i <= nr; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i + 1 < nr; i++)
		c->rows[first[b->nodes[order[i].row].caller + 1]++] = order[i].row;
	free(order);
	return 0;
}

static struct flame_box node_box(const struct builder *b, uint32_t node, uint32_t depth, int64_t start)
{
	const struct sums *s = &b->nodes[node].sums;

	return (struct flame_box){
		.frame = b->nodes[node].frame,
		.stack = b->nodes[node].stack,
		.depth = depth,
		.nr_frames = 1,
		.flags = node && !s->now ? FLAME_BOX_GONE : 0,
		.start = start,
		.width = s->width,
		.total = s->now,
		.self = s->now_self,
		.before_total = s->before,
		.before_self = s->before_self,
	};
}

/* A box that is being filled. */
struct open_box {
	uint32_t box;
	uint32_t next, end;	/* of the children that are not on it yet */
	int64_t edge;		/* where its next child starts */
	int64_t now;		/* samples above it that no box stands for yet */
	uint64_t nr_hidden;	/* frames above it that no box stands for yet */
};

/* There is room for it. Of the children some are not on the box where that is as deep as may be. */
static void add_rest(struct flame_layout *layout, const struct builder *b, const struct open_box *open)
{
	const struct flame_box *box = &layout->boxes[open->box];
	int64_t self = own_width(b->options->view, box->total, box->self, box->before_self);
	int64_t rest = box->start + box->width - self - open->edge;
	bool deep = open->next != open->end;

	*(deep ? &layout->nr_deep : &layout->nr_hidden) += open->nr_hidden;
	if (!open->nr_hidden || rest <= 0 || (double)rest < b->options->min_total)
		return;
	layout->boxes[layout->nr_boxes++] = (struct flame_box){
		.caller = open->box,
		.depth = box->depth + 1,
		.nr_frames = open->nr_hidden > UINT32_MAX ? UINT32_MAX : (uint32_t)open->nr_hidden,
		.flags = deep ? FLAME_BOX_REST | FLAME_BOX_DEEP : FLAME_BOX_REST,
		.start = open->edge,
		.width = rest,
		.total = open->now,
	};
}

/* Boxes that are being filled, the innermost last. */
struct open_boxes {
	struct open_box *items;
	size_t room;
};

static int place(struct flame_layout *layout, const struct builder *b, const struct children *c, struct open_boxes *boxes)
{
	struct open_box *open;
	size_t depth = 0, room = 0, max_depth = b->options->max_depth;

	/* Rests are few: most boxes are of a node. */
	if (!array_reserve((void **)&boxes->items, &boxes->room, 1, sizeof(*boxes->items)) ||
	    !array_reserve((void **)&layout->boxes, &room, b->nr_nodes + b->nr_nodes / 16 + 2, sizeof(*layout->boxes)))
		return FLAME_ENOMEM;
	layout->boxes[layout->nr_boxes++] = node_box(b, 0, 0, 0);
	open = boxes->items;
	open[0] = (struct open_box){ 0, c->first[0], c->first[1], 0, b->all.now - b->all.now_self, b->all.nr_frames };
	for (;;) {
		struct open_box *top = &open[depth];
		const struct sums *s;
		uint32_t node;

		if (!array_reserve((void **)&layout->boxes, &room, layout->nr_boxes + 1, sizeof(*layout->boxes)))
			return FLAME_ENOMEM;
		if (top->next == top->end || (max_depth && depth == max_depth)) {
			add_rest(layout, b, top);
			if (!depth--)
				return 0;
			continue;
		}
		if (!array_reserve((void **)&boxes->items, &boxes->room, depth + 2, sizeof(*boxes->items)))
			return FLAME_ENOMEM;
		open = boxes->items;
		top = &open[depth++];
		node = c->rows[top->next++];
		/* The one beside it, in a while. */
		__builtin_prefetch(&b->nodes[c->rows[top->next == top->end ? top->next - 1 : top->next]]);
		s = &b->nodes[node].sums;
		open[depth] = (struct open_box){ layout->nr_boxes, c->first[node], c->first[node + 1], top->edge,
						 s->now - s->now_self, s->nr_frames - 1 };
		layout->boxes[layout->nr_boxes] = node_box(b, node, (uint32_t)depth, top->edge);
		layout->boxes[layout->nr_boxes++].caller = top->box;
		top->edge += s->width;
		top->now -= s->now;
		top->nr_hidden -= s->nr_frames;
	}
}

static int place_nodes(struct flame_layout *layout, struct builder *b)
{
	struct children children = { 0 };
	struct open_boxes open = { 0 };
	int err = find_children(b, &children);

	if (!err)
		err = place(layout, b, &children, &open);
	free(children.rows);
	free(children.first);
	free(open.items);
	return err;
}

static int find_ranks(struct builder *b)
{
	b->ranks = flame_frame_ranks(b->p);
	return b->ranks ? 0 : FLAME_ENOMEM;
}

/* A part of the work, which needs none of the others that run meanwhile. */
struct part {
	int (*work)(struct builder *b);
	struct builder *b;
	int err;
};

static void do_part(void *arg)
{
	struct part *part = arg;

	part->err = part->work(part->b);
}

/* The sums of all stacks, and how their frames are ordered. */
static int sum_up(struct builder *b)
{
	struct part heads = { collect_heads, b, 0 }, ranks = { find_ranks, b, 0 };
	struct flame_job heads_job = { .work = do_part, .arg = &heads }, ranks_job = { .work = do_part, .arg = &ranks };
	struct flame_worker *worker = b->options->worker;
	int err;

	flame_worker_start(worker, &ranks_job);
	flame_worker_start(worker, &heads_job);
	err = collect_selves(b);
	flame_worker_end(worker, &heads_job);
	err = err ? err : heads.err;
	if (!err)
		err = sum_stacks(b);
	flame_worker_end(worker, &ranks_job);
	return err ? err : ranks.err;
}

static int lay_out_sorted(struct flame_layout *layout, const struct flame_profile *p,
			  const struct flame_layout_options *options)
{
	struct builder b = { .p = p, .options = options };
	int err = sum_up(&b);

	if (!err && (!b.all.now || !b.all.width))
		err = FLAME_EEMPTY;
	if (!err)
		err = link_nodes(&b);
	if (!err)
		err = place_nodes(layout, &b);
	layout->total = b.all.now;
	layout->before = b.all.before;
	layout->width = b.all.width;
	free(b.selves);
	free(b.heads);
	free(b.sums);
	free(b.befores);
	free(b.head_nodes);
	free(b.ranks);
	free(b.nodes);
	return err;
}

int flame_layout_init(struct flame_layout *layout, const struct flame_profile *p,
		      const struct flame_layout_options *options)
{
	int err;

	*layout = (struct flame_layout){ 0 };
	err = options->in_order ? flame_chart_lay_out(layout, p, options) : lay_out_sorted(layout, p, options);
	for (uint32_t i = 0; !err && i < layout->nr_boxes; i++) {
		if (layout->boxes[i].depth > layout->max_depth)
			layout->max_depth = layout->boxes[i].depth;
	}
	if (err)
		flame_layout_release(layout);
	return err;
}

void flame_layout_release(struct flame_layout *layout)
{
	free(layout->boxes);
	*layout = (struct flame_layout){ 0 };
}

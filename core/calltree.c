/* SPDX-License-Identifier: MIT */
/*
 * calltree.c - what each node of a printed call tree used by itself.
 */
#include "calltree.h"

#include <stdlib.h>

#include "table.h"

/*
 * The printed value is finer than the difference of rounded totals, but it misses what children that are not printed
 * used: it is taken where rounding explains the difference.
 */
static int64_t self_of(struct flame_calltree *tree, const struct flame_calltree_node *node)
{
	int64_t rest, apart;

	if (__builtin_sub_overflow(node->value.total, node->children, &rest))
		rest = 0;
	if (node->value.self >= 0 && !__builtin_sub_overflow(rest, node->value.self, &apart) &&
	    llabs(apart) <= node->value.slack + node->children_slack)
		return node->value.self;
	if (rest >= 0)
		return rest;
	if (-rest > node->value.slack + node->children_slack)
		tree->nr_short++;
	return 0;
}

/* The frames of all open nodes, the innermost as the root. */
static flame_stack push_inverted(const struct flame_calltree *tree)
{
	flame_stack stack = 0;

	for (size_t i = tree->nr; i-- > 0;)
		stack = flame_stack_push(tree->profile, stack, tree->nodes[i].frame);
	return stack;
}

/* The innermost node is complete. */
static int close_node(struct flame_calltree *tree)
{
	const struct flame_calltree_node *node = &tree->nodes[tree->nr - 1];
	struct flame_sample s = { .task = tree->task, .type = tree->type };
	int err = 0;

	if (node->has_value)
		s.value = self_of(tree, node);
	if (node->has_children && tree->rest_type)
		s.type = tree->rest_type;
	if (s.value) {
		s.stack = tree->inverted ? push_inverted(tree) : node->stack;
		s.nr_samples = tree->counts ? (uint64_t)s.value : 1;
		err = flame_sample_add(tree->profile, &s);
	}
	tree->nr--;
	return err;
}

static int close_to(struct flame_calltree *tree, uint64_t depth)
{
	int err = 0;

	while (!err && tree->nr && tree->nodes[tree->nr - 1].depth >= depth)
		err = close_node(tree);
	return err;
}

/* Slack is small, and a hostile sum of it must not wrap. */
static int64_t add_slack(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX / 4 ? INT64_MAX / 4 : sum;
}

static int add_to_parent(struct flame_calltree *tree, const struct flame_calltree_value *value)
{
	struct flame_calltree_node *parent = &tree->nodes[tree->nr - 1];

	parent->has_children = true;
	parent->children_slack = add_slack(parent->children_slack, value->slack);
	return __builtin_add_overflow(parent->children, value->total, &parent->children) ? FLAME_EOVERFLOW : 0;
}

int flame_calltree_enter(struct flame_calltree *tree, uint64_t depth, flame_frame frame,
			 const struct flame_calltree_value *value)
{
	struct flame_calltree_node node = { .depth = depth, .frame = frame, .has_value = value };
	int err = close_to(tree, depth);

	if (err)
		return err;
	if (tree->nr >= FLAME_CALLTREE_DEPTH)
		return FLAME_EOVERFLOW;
	if (!array_reserve((void **)&tree->nodes, &tree->room, tree->nr + 1, sizeof(*tree->nodes)))
		return FLAME_ENOMEM;
	if (value) {
		node.value = *value;
		node.value.slack = add_slack(value->slack, 0);
	}
	if (value && tree->nr)
		err = add_to_parent(tree, &node.value);
	if (!tree->inverted)
		node.stack = flame_stack_push(tree->profile, flame_calltree_stack(tree), frame);
	tree->nodes[tree->nr++] = node;
	return err;
}

int flame_calltree_end(struct flame_calltree *tree)
{
	return close_to(tree, 0);
}

flame_stack flame_calltree_stack(const struct flame_calltree *tree)
{
	return tree->nr ? tree->nodes[tree->nr - 1].stack : 0;
}

void flame_calltree_release(struct flame_calltree *tree)
{
	free(tree->nodes);
	tree->nodes = NULL;
	tree->nr = tree->room = 0;
}

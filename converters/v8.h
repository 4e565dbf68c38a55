/* SPDX-License-Identifier: MIT */
#ifndef FLAME_V8_H
#define FLAME_V8_H
/*
 * v8.h - what V8's profiles have in common, whether a .cpuprofile, a .heapprofile or parts of a Chrome trace: a tree of
 * call frames, and samples that name its nodes.
 */
#include "../core/converter.h"
#include "../core/json.h"
#include "../core/table.h"

#define V8_NO_ID UINT32_MAX

enum v8_role {
	V8_FUNCTION,
	V8_ROOT,	/* "(root)", which is no frame */
	V8_IDLE,	/* "(idle)" */
	V8_INTERRUPT,	/* "(program)", "(garbage collector)": V8 saw no stack, but there was one before it */
};

struct v8_node {
	uint32_t id;		/* V8_NO_ID: none */
	uint32_t parent;	/* its row, 0: none */
	flame_frame frame;	/* 0: the node was named, never described */
	flame_stack stack;	/* of v8_tree_stack() */
	uint8_t role;
	uint8_t state;
	bool described;		/* it was there itself, not only as a child or parent */
	int64_t value;		/* hitCount or selfSize */
	uint64_t nr_samples;	/* of a timeline, on their way to the profile */
	int64_t ns;		/* their sum */
};

struct v8_open;

/* Row 0 is none. Zero-initialised; release with v8_tree_release(). */
struct v8_tree {
	struct v8_node *nodes;
	size_t nr, room;
	struct index ids;
	uint32_t *low_ids;	/* rows of ids that are not far above the number of nodes; 0: ask ids */
	size_t nr_low, room_low;
	flame_stack root;	/* all stacks begin with it */
	bool has_values;	/* some node has a hitCount or selfSize */
	bool head;		/* the old layout was seen: nodes lie in each other */
	struct v8_open *open;	/* nodes whose end was not read yet */
	size_t nr_open, room_open;
	char *text;		/* names are made here */
	size_t room_text;
	uint32_t *path;
	size_t room_path;
};

/*
 * Read what follows a "nodes" or "head" key: an array of nodes, or one node, whose children are ids or nodes
 * themselves. Return: 0 or a failure; FLAME_EDAMAGED where the JSON has an error, with what came before in the tree.
 */
int v8_tree_read(struct flame_reader *rd, struct flame_json *json, struct v8_tree *tree);
/* Add the nodes of @from by their ids. Return: 0 or FLAME_ENOMEM. */
int v8_tree_merge(struct v8_tree *tree, const struct v8_tree *from);
/* Forget the nodes. */
void v8_tree_reset(struct v8_tree *tree);
void v8_tree_release(struct v8_tree *tree);
/* Return: the row of node @id, 0 where there is none. */
uint32_t v8_tree_find(const struct v8_tree *tree, uint32_t id);
/* The stack of node @row. Return: 0 or a failure. */
int v8_tree_stack(struct flame_reader *rd, struct v8_tree *tree, uint32_t row, flame_stack *stack);

/* Sums of samples on their way to the profile, of interrupts, whose stacks are no node's. */
#define V8_SUMS 1024
#define V8_SUMS_FIRST 8
struct v8_sum {
	flame_stack stack;
	uint64_t nr;		/* 0: free */
	int64_t ns;
};

/* Samples in the order of their time. A sample lasts until the next one. */
struct v8_timeline {
	struct v8_tree *tree;		/* borrowed */
	flame_type type;
	int64_t raw;			/* ns: the sum of the deltas */
	int64_t now;			/* ns: the same without steps back */
	int64_t first;			/* ns: the first sample's time */
	bool started;
	bool counts;			/* times are not known: each sample counts 1 */
	bool pending;			/* a sample waits for its end */
	uint32_t row;			/* its node, 0 where the stack is no node's */
	flame_stack stack;		/* its stack */
	flame_stack last;		/* of the last sample of a function, 0 where V8 was idle since */
	struct v8_sum *sums;		/* a power of two of them, V8_SUMS at most; NULL until needed; owned */
	uint32_t nr_sums;
};

/* The next sample, of node @id, @delta ns behind the one before. Return: 0 or a failure. */
int v8_timeline_sample(struct flame_reader *rd, struct v8_timeline *line, uint32_t id, int64_t delta);
/* The last sample ends at @end ns, or at its start where that is later. No other follows; @line is released. */
int v8_timeline_end(struct flame_reader *rd, struct v8_timeline *line, int64_t end);

void v8_timeline_release(struct v8_timeline *line);

/* Add @nr samples of @ns together to @stack, as microseconds. Return: 0 or a failure. */
int v8_add_time(struct flame_reader *rd, flame_stack stack, flame_type type, int64_t ns, uint64_t nr);
/* Return: the type's row. */
flame_type v8_type(struct flame_reader *rd, const char *name, const char *unit, enum flame_value_kind kind);
/* The last number, as microseconds. Return: nanoseconds, false where it does not fit. */
bool v8_microseconds(const struct flame_json *json, int64_t *ns);
/* Return: the last number as an id, V8_NO_ID where it is none. */
uint32_t v8_id(const struct flame_json *json);
/* The text in the last token's place, made safe to be a frame's name. */
flame_frame v8_text_frame(struct flame_reader *rd, struct flame_span name, enum flame_kind kind);

/* Return: a bit for each of @keys (up to 32, ended by NULL) that stands at the top of the object in @head. */
uint32_t v8_top_keys(struct flame_span head, const char *const *keys);

#endif

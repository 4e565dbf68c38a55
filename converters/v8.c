/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "v8.h"

#include <inttypes.h>
#include <stdio.h>

#include "../core/hash.h"
#include "../core/tidy.h"

#define LOW_IDS 1024		/* ids below it, or four times the nodes, are looked up without a hash */
#define FILE_NAME_MAX 200	/* of an anonymous function's place: a data: URL is not a name */

/* A node that is being read. */
struct v8_open {
	uint32_t row;
	flame_string name, url;
	int64_t line;		/* from 1; 0: not known */
	bool described;		/* the frame is made */
	bool named;		/* there was a functionName */
	int64_t tick_line;	/* where it ran most itself; 0: not known */
};

enum { UNVISITED, VISITING, VISITED };

/* Nodes by id. */

static uint32_t id_hash(uint32_t id)
{
	return hash_pair(id, 0);
}

uint32_t v8_tree_find(const struct v8_tree *tree, uint32_t id)
{
	const struct index *x = &tree->ids;
	uint32_t row;

	if (id < tree->nr_low && tree->low_ids[id])
		return tree->low_ids[id];
	for (uint32_t i = id_hash(id) & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (tree->nodes[row].id == id)
			return row;
	}
	return 0;
}

static uint32_t add_node(struct v8_tree *tree)
{
	if (!tree->nr)
		tree->nr = 1;
	if (tree->nr >= V8_NO_ID ||
	    !array_reserve((void **)&tree->nodes, &tree->room, tree->nr + 1, sizeof(*tree->nodes)))
		return 0;
	if (tree->nr == 1)
		tree->nodes[0] = (struct v8_node){ .id = V8_NO_ID };
	tree->nodes[tree->nr] = (struct v8_node){ .id = V8_NO_ID };
	return (uint32_t)tree->nr++;
}

/* Without memory the index alone will do. */
static void set_low_id(struct v8_tree *tree, uint32_t row, uint32_t id)
{
	if (id >= LOW_IDS && id / 4 >= tree->nr)
		return;
	if (id >= tree->nr_low) {
		if (!array_reserve((void **)&tree->low_ids, &tree->room_low, (size_t)id + 1, sizeof(*tree->low_ids)))
			return;
		memset(tree->low_ids + tree->nr_low, 0, (id + 1 - tree->nr_low) * sizeof(*tree->low_ids));
		tree->nr_low = (size_t)id + 1;
	}
	tree->low_ids[id] = row;
}

static bool set_id(struct v8_tree *tree, uint32_t row, uint32_t id)
{
	if (!index_has_room(&tree->ids)) {
		if (!index_grow(&tree->ids))
			return false;
		for (uint32_t i = 1; i < tree->nr; i++) {
			if (tree->nodes[i].id != V8_NO_ID)
				index_put(&tree->ids, id_hash(tree->nodes[i].id), i);
		}
	}
	tree->nodes[row].id = id;
	index_put(&tree->ids, id_hash(id), row);
	set_low_id(tree, row, id);
	return true;
}

/* Return: the node's row; 0 without memory. */
static uint32_t node_of_id(struct v8_tree *tree, uint32_t id)
{
	uint32_t row = v8_tree_find(tree, id);

	if (!row) {
		row = add_node(tree);
		if (row && !set_id(tree, row, id))
			return 0;
	}
	return row;
}

void v8_tree_reset(struct v8_tree *tree)
{
	if (tree->ids.nr)
		memset(tree->ids.slots, 0, ((size_t)tree->ids.mask + 1) * sizeof(*tree->ids.slots));
	tree->ids.nr = 0;
	tree->nr_low = 0;
	tree->nr = 0;
	tree->nr_open = 0;
	tree->has_values = tree->head = false;
}

void v8_tree_release(struct v8_tree *tree)
{
	free(tree->nodes);
	free(tree->ids.slots);
	free(tree->low_ids);
	free(tree->open);
	free(tree->text);
	free(tree->path);
	*tree = (struct v8_tree){ 0 };
}

static void merge_node(struct v8_node *to, const struct v8_node *from)
{
	if (!from->frame && from->role == V8_FUNCTION)
		return;
	to->frame = from->frame;
	to->role = from->role;
	to->value = from->value;
}

int v8_tree_merge(struct v8_tree *tree, const struct v8_tree *from)
{
	for (size_t i = 1; i < from->nr; i++) {
		const struct v8_node *node = &from->nodes[i], *parent = &from->nodes[node->parent];
		uint32_t row, above = 0;

		if (node->id == V8_NO_ID)
			continue;
		row = node_of_id(tree, node->id);
		if (!row)
			return FLAME_ENOMEM;
		if (node->parent && parent->id != V8_NO_ID) {
			above = node_of_id(tree, parent->id);
			if (!above)
				return FLAME_ENOMEM;
		}
		merge_node(&tree->nodes[row], node);
		if (above)
			tree->nodes[row].parent = above;
	}
	tree->has_values |= from->has_values;
	return 0;
}

/* Names. */

static enum v8_role role_of(struct flame_span name)
{
	static const struct { const char *name; enum v8_role role; } roles[] = {
		{ "(root)", V8_ROOT }, { "(idle)", V8_IDLE },
		{ "(program)", V8_INTERRUPT }, { "(garbage collector)", V8_INTERRUPT },
	};

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		if (name.len == strlen(roles[i].name) && !memcmp(name.s, roles[i].name, name.len))
			return roles[i].role;
	}
	return V8_FUNCTION;
}

/* The last part of a URL's path. */
static struct flame_span file_of(struct flame_span url)
{
	const char *end = url.s + url.len, *slash;

	if (url.len >= 5 && !memcmp(url.s, "data:", 5))
		return (struct flame_span){ url.s, 5 };
	for (const char *c = url.s; c < end; c++) {
		if (*c == '?' || *c == '#') {
			end = c;
			break;
		}
	}
	while (end > url.s + 1 && end[-1] == '/')
		end--;
	slash = memrchr(url.s, '/', (size_t)(end - url.s));
	if (slash && slash + 1 < end)
		url.s = slash + 1;
	url.len = (size_t)(end - url.s);
	if (url.len > FILE_NAME_MAX)
		url.len = FILE_NAME_MAX;
	return url;
}

/* "name", "(anonymous) file:12", with --lines "name:12", with --srcline "name:file:12"; in tree->text. */
static struct flame_span full_name(struct flame_reader *rd, struct v8_tree *tree, struct flame_span name,
				   struct flame_span url, int64_t line)
{
	bool anonymous = !name.len, place = (anonymous || rd->options->srcline) && url.len;
	struct flame_span file = file_of(url), text;
	size_t len = 0;

	if (anonymous)
		name = (struct flame_span){ "(anonymous)", 11 };
	if (!array_reserve((void **)&tree->text, &tree->room_text, name.len + file.len + 32, 1))
		return (struct flame_span){ 0 };
	memcpy(tree->text, name.s, name.len);
	len = name.len;
	if (place) {
		tree->text[len++] = anonymous ? ' ' : ':';
		memcpy(tree->text + len, file.s, file.len);
		len += file.len;
	}
	if (line > 0 && (place || (rd->options->lines && url.len)))
		len += (size_t)sprintf(tree->text + len, ":%" PRId64, line);
	text = (struct flame_span){ tree->text, len };
	return flame_tidy_raw(text, tree->text);
}

/* Make the open node's frame, once its place is known. Return: false without memory. */
static bool describe(struct flame_reader *rd, struct v8_tree *tree, struct v8_open *open)
{
	struct v8_node *node = &tree->nodes[open->row];
	struct flame_span name = flame_string_get(rd->profile, open->name);
	struct flame_span url = flame_string_get(rd->profile, open->url);
	struct flame_frame_info info = { .file = open->url };

	if (open->described || !open->named)
		return true;
	open->described = true;
	node->role = (uint8_t)(url.len ? V8_FUNCTION : role_of(name));
	name = full_name(rd, tree, name, url, open->line);
	if (!name.s)
		return false;
	info.line = open->line > 0 && open->line <= UINT32_MAX ? (uint32_t)open->line : 0;
	info.name = flame_intern(rd->profile, name.s, name.len);
	node->frame = flame_frame_row(rd->profile, &info);
	return node->frame != 0;
}

flame_frame v8_text_frame(struct flame_reader *rd, struct flame_span name, enum flame_kind kind)
{
	struct flame_frame_info info = { .kind = kind };
	char *buf = NULL;

	if (name.len) {
		buf = malloc(name.len);
		if (!buf)
			return 0;
		name = flame_tidy_raw(name, buf);
	} else {
		name = (struct flame_span){ "[unknown]", 9 };
	}
	info.name = flame_intern(rd->profile, name.s, name.len);
	free(buf);
	return flame_frame_row(rd->profile, &info);
}

/* Reading. */

/* A node's place is where its function begins, or better where it ran. Return: false without memory. */
static bool set_tick_line(struct flame_reader *rd, struct v8_tree *tree, const struct v8_open *open)
{
	flame_frame *frame = &tree->nodes[open->row].frame;
	struct flame_frame_info info = *flame_frame_get(rd->profile, *frame);

	if (!*frame || !info.file || open->tick_line <= 0 || open->tick_line > UINT32_MAX)
		return true;
	info.line = (uint32_t)open->tick_line;
	*frame = flame_frame_row(rd->profile, &info);
	return *frame != 0;
}

bool v8_microseconds(const struct flame_json *json, int64_t *ns)
{
	struct flame_number n;

	if (flame_json_decimal(json, &n) != FLAME_NUMBER_OK)
		return false;
	for (; n.scale > 4; n.scale--)
		n.value /= 10;
	if (n.scale == 4)
		n.value = n.value / 10 + (n.value % 10 >= 5) - (n.value % 10 <= -5);
	for (; n.scale < 3; n.scale++) {
		if (__builtin_mul_overflow(n.value, 10, &n.value))
			return false;
	}
	*ns = n.value;
	return true;
}

uint32_t v8_id(const struct flame_json *json)
{
	int64_t id;

	return flame_json_int(json, &id) && id >= 0 && id < V8_NO_ID ? (uint32_t)id : V8_NO_ID;
}

static struct v8_open *top(struct v8_tree *tree)
{
	return &tree->open[tree->nr_open - 1];
}

static int open_node(struct v8_tree *tree)
{
	uint32_t row = add_node(tree), parent = tree->nr_open ? top(tree)->row : 0;

	if (!row || !array_reserve((void **)&tree->open, &tree->room_open, tree->nr_open + 1, sizeof(*tree->open)))
		return FLAME_ENOMEM;
	tree->nodes[row].parent = parent;
	tree->head |= parent != 0;
	tree->open[tree->nr_open++] = (struct v8_open){ .row = row };
	return 0;
}

static int close_node(struct flame_reader *rd, struct v8_tree *tree)
{
	bool ok = describe(rd, tree, top(tree)) && set_tick_line(rd, tree, top(tree));

	tree->nr_open--;
	return ok ? 0 : FLAME_ENOMEM;
}

/*
 * Row @row takes over @id from row @old, which only other nodes have named so far. Those that have @old as their parent
 * come to @row through it, as a node without a frame adds nothing to a stack.
 */
static void take_id(struct v8_tree *tree, uint32_t row, uint32_t old)
{
	struct v8_node *node = &tree->nodes[row], *named = &tree->nodes[old];
	uint32_t i = id_hash(named->id) & tree->ids.mask;

	while (tree->ids.slots[i] != old)
		i = (i + 1) & tree->ids.mask;
	tree->ids.slots[i] = row;
	node->id = named->id;
	if (node->id < tree->nr_low && tree->low_ids[node->id])
		tree->low_ids[node->id] = row;
	if (!node->parent && named->parent != row)
		node->parent = named->parent;
	named->id = V8_NO_ID;
	named->parent = row;
}

/* The open node's own id, which its parent may have named before. */
static int name_node(struct flame_reader *rd, struct v8_tree *tree, uint32_t id)
{
	uint32_t row = top(tree)->row, old = v8_tree_find(tree, id);

	if (id == V8_NO_ID)
		return flame_skip(rd, "a node's id is not a number from 0 to 4294967294");
	if (tree->nodes[row].id != V8_NO_ID)
		return flame_skip(rd, "a node has two ids");
	tree->nodes[row].described = true;
	if (!old)
		return set_id(tree, row, id) ? 0 : FLAME_ENOMEM;
	if (tree->nodes[old].described)
		return flame_skip(rd, "two nodes have the same id");
	take_id(tree, row, old);
	return 0;
}

static int link_child(struct v8_tree *tree, uint32_t parent, uint32_t id)
{
	uint32_t row = id == V8_NO_ID ? 0 : node_of_id(tree, id);

	if (id == V8_NO_ID)
		return 0;
	if (!row)
		return FLAME_ENOMEM;
	if (row != parent)
		tree->nodes[row].parent = parent;
	return 0;
}

enum key {
	OTHER, CALL_FRAME, CHILDREN, FUNCTION_NAME, HIT_COUNT, ID, LINE_NUMBER, PARENT, POSITION_TICKS, SELF_SIZE, URL,
};

static enum key key_of(const struct flame_json *json)
{
	static const struct { const char *name; enum key key; } keys[] = {
		{ "callFrame", CALL_FRAME }, { "children", CHILDREN }, { "functionName", FUNCTION_NAME },
		{ "hitCount", HIT_COUNT }, { "id", ID }, { "lineNumber", LINE_NUMBER }, { "parent", PARENT },
		{ "positionTicks", POSITION_TICKS }, { "selfSize", SELF_SIZE }, { "url", URL },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (flame_json_is(json, keys[i].name))
			return keys[i].key;
	}
	return OTHER;
}

/* Strings and numbers of a call frame, or of a node of the old layout, whose lines count from 1. */
static int read_place(struct flame_reader *rd, struct flame_json *json, struct v8_open *open, enum key key,
		      int64_t first_line)
{
	enum flame_json_token token = flame_json_next(json);
	int64_t line;

	if (key == LINE_NUMBER && token == FLAME_JSON_NUMBER) {
		if (flame_json_int(json, &line) && line >= first_line && line < INT32_MAX)
			open->line = line + 1 - first_line;
		return 0;
	}
	if (token == FLAME_JSON_STRING && (key == URL || key == FUNCTION_NAME)) {
		flame_string text = flame_intern(rd->profile, json->text.s, json->text.len);

		if (key == URL)
			open->url = text;
		else
			open->name = text;
		open->named |= key == FUNCTION_NAME;
		return 0;
	}
	return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
}

static int read_call_frame(struct flame_reader *rd, struct flame_json *json, struct v8_open *open)
{
	enum flame_json_token token = flame_json_next(json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT)
		return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
	while (!err && (token = flame_json_next(json)) == FLAME_JSON_KEY) {
		enum key key = key_of(json);

		if (key == FUNCTION_NAME || key == URL || key == LINE_NUMBER)
			err = read_place(rd, json, open, key, 0);
		else if (flame_json_skip(json) == FLAME_JSON_ERROR)
			err = FLAME_EDAMAGED;
	}
	/* A frame without a name is one: DevTools leaves out what is empty. */
	open->named |= token == FLAME_JSON_OBJECT_END;
	return err ? err : token == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
}

/* A line and how often it was met. Return: false at an error of the JSON. */
static bool read_tick(struct flame_json *json, int64_t *line, int64_t *ticks)
{
	enum flame_json_token token;

	while ((token = flame_json_next(json)) == FLAME_JSON_KEY) {
		int64_t *value = flame_json_is(json, "line") ? line : flame_json_is(json, "ticks") ? ticks : NULL;

		token = flame_json_next(json);
		if (value && token == FLAME_JSON_NUMBER && !flame_json_int(json, value))
			*value = 0;
		if (!flame_json_skip_rest(json, token))
			return false;
	}
	return token == FLAME_JSON_OBJECT_END;
}

/* The line that was met most; of equal ones the first. */
static int read_ticks(struct flame_json *json, struct v8_open *open)
{
	enum flame_json_token token = flame_json_next(json);
	int64_t most = 0;

	if (token != FLAME_JSON_ARRAY)
		return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
	while ((token = flame_json_next(json)) != FLAME_JSON_ARRAY_END) {
		int64_t line = 0, ticks = 0;

		if (token == FLAME_JSON_OBJECT ? !read_tick(json, &line, &ticks) : !flame_json_skip_rest(json, token))
			return FLAME_EDAMAGED;
		if (ticks > most || (ticks == most && ticks && line < open->tick_line)) {
			most = ticks;
			open->tick_line = line;
		}
	}
	return 0;
}

static int read_number(struct flame_reader *rd, struct flame_json *json, struct v8_tree *tree, enum key key)
{
	enum flame_json_token token = flame_json_next(json);
	struct v8_node *node = &tree->nodes[top(tree)->row];

	if (token != FLAME_JSON_NUMBER)
		return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
	if (key == ID)
		return name_node(rd, tree, v8_id(json));
	if (key == PARENT) {
		uint32_t above = v8_id(json) == V8_NO_ID ? 0 : node_of_id(tree, v8_id(json)), row = top(tree)->row;

		if (!above && v8_id(json) != V8_NO_ID)
			return FLAME_ENOMEM;
		if (above != row)
			tree->nodes[row].parent = above;
		return 0;
	}
	if (!flame_json_int(json, &node->value)) {
		double value = flame_json_double(json);

		if (!(value >= -9e18 && value <= 9e18))
			return flame_skip(rd, "a node's value does not fit 64 bits");
		node->value = (int64_t)value;
	}
	tree->has_values |= node->value != 0;
	return 0;
}

/* A member of the open node, behind its key. *@children is set where its children's list has begun. */
static int read_member(struct flame_reader *rd, struct flame_json *json, struct v8_tree *tree, bool *children)
{
	enum key key = key_of(json);
	enum flame_json_token token;
	int err;

	switch (key) {
	case CALL_FRAME:
		err = read_call_frame(rd, json, top(tree));
		if (!describe(rd, tree, top(tree)))
			return FLAME_ENOMEM;
		return err;
	case CHILDREN:
		token = flame_json_next(json);
		*children = token == FLAME_JSON_ARRAY;
		return *children || flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
	case FUNCTION_NAME:
	case LINE_NUMBER:
	case URL:
		return read_place(rd, json, top(tree), key, 1);
	case POSITION_TICKS:
		if (rd->options->places)
			return read_ticks(json, top(tree));
		return flame_json_skip(json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
	case OTHER:
		return flame_json_skip(json) == FLAME_JSON_ERROR ? FLAME_EDAMAGED : 0;
	default:
		return read_number(rd, json, tree, key);
	}
}

/* Read members and elements until what was opened around the first node ends. @in_list: in a list of nodes. */
static int read_nodes(struct flame_reader *rd, struct flame_json *json, struct v8_tree *tree, bool in_list)
{
	uint32_t outside = json->depth - 1;
	int err = 0;

	while (!err && json->depth > outside) {
		enum flame_json_token token = flame_json_next(json);

		if (token == FLAME_JSON_ERROR)
			err = FLAME_EDAMAGED;
		else if (token == FLAME_JSON_KEY)
			err = read_member(rd, json, tree, &in_list);
		else if (token == FLAME_JSON_OBJECT && in_list)
			err = open_node(tree);
		else if (token == FLAME_JSON_NUMBER && tree->nr_open)
			err = link_child(tree, top(tree)->row, v8_id(json));
		else if (token == FLAME_JSON_OBJECT_END)
			err = close_node(rd, tree);
		else if (token != FLAME_JSON_ARRAY_END)
			err = flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
		/* Behind a node comes the list that it lies in, behind a list the node that has it. */
		if (token == FLAME_JSON_OBJECT || token == FLAME_JSON_ARRAY_END)
			in_list = false;
		else if (token == FLAME_JSON_OBJECT_END)
			in_list = true;
	}
	return err;
}

int v8_tree_read(struct flame_reader *rd, struct flame_json *json, struct v8_tree *tree)
{
	enum flame_json_token token = flame_json_next(json);
	int err = 0;

	if (token != FLAME_JSON_OBJECT && token != FLAME_JSON_ARRAY)
		return flame_json_skip_rest(json, token) ? 0 : FLAME_EDAMAGED;
	if (token == FLAME_JSON_OBJECT)
		err = open_node(tree);
	tree->head |= token == FLAME_JSON_OBJECT;
	if (!err)
		err = read_nodes(rd, json, tree, token == FLAME_JSON_ARRAY);
	/* What a cut-off file tells of its last nodes. */
	for (; tree->nr_open; tree->nr_open--) {
		if (!describe(rd, tree, top(tree)) && !err)
			err = FLAME_ENOMEM;
	}
	return err;
}

/* Stacks. */

/* The rows from @row up to one whose stack is known, in tree->path. Return: how many; 0 without memory. */
static size_t path_up(struct flame_reader *rd, struct v8_tree *tree, uint32_t row, int *err)
{
	size_t nr = 0;

	while (row && tree->nodes[row].state != VISITED) {
		if (!array_reserve((void **)&tree->path, &tree->room_path, nr + 1, sizeof(*tree->path))) {
			*err = FLAME_ENOMEM;
			return 0;
		}
		tree->nodes[row].state = VISITING;
		tree->path[nr++] = row;
		row = tree->nodes[row].parent;
		if (row && tree->nodes[row].state == VISITING) {
			*err = flame_skip(rd, "nodes are each other's parents");
			tree->nodes[tree->path[nr - 1]].parent = 0;
			break;
		}
	}
	return nr;
}

int v8_tree_stack(struct flame_reader *rd, struct v8_tree *tree, uint32_t row, flame_stack *stack)
{
	int err = 0;
	size_t nr = tree->nodes[row].state == VISITED ? 0 : path_up(rd, tree, row, &err);

	while (nr--) {
		struct v8_node *node = &tree->nodes[tree->path[nr]], *parent = &tree->nodes[node->parent];

		node->stack = node->parent ? parent->stack : tree->root;
		if (node->frame && node->role != V8_ROOT)
			node->stack = flame_stack_push(rd->profile, node->stack, node->frame);
		node->state = VISITED;
	}
	*stack = tree->nodes[row].stack;
	return err;
}

/* Samples in time. */

int v8_add_time(struct flame_reader *rd, flame_stack stack, flame_type type, int64_t ns, uint64_t nr)
{
	struct flame_sample s = { .stack = stack, .type = type, .value = ns, .nr_samples = nr };

	if (ns % 1000)
		return flame_sample_add_scaled(rd->profile, &s, 3);
	s.value /= 1000;
	return flame_sample_add_scaled(rd->profile, &s, 0);
}

flame_type v8_type(struct flame_reader *rd, const char *name, const char *unit, enum flame_value_kind kind)
{
	struct flame_type_info info = {
		.name = flame_intern(rd->profile, name, strlen(name)),
		.unit = flame_intern(rd->profile, unit, strlen(unit)),
		.kind = kind,
	};

	return flame_type_row(rd->profile, &info);
}

/* --time counts from the first sample. */
static bool out_of_time(const struct flame_reader *rd, const struct v8_timeline *line, int64_t at)
{
	double t;

	if (rd->options->time_from <= 0 && rd->options->time_to <= 0)
		return false;
	t = ((double)at - (double)line->first) / 1e9;
	return t < rd->options->time_from || (rd->options->time_to > 0 && t > rd->options->time_to);
}

void v8_timeline_release(struct v8_timeline *line)
{
	free(line->sums);
	line->sums = NULL;
	line->nr_sums = 0;
}

static int add_sum(struct flame_reader *rd, const struct v8_timeline *line, const struct v8_sum *sum)
{
	struct flame_sample s = {
		.stack = sum->stack, .type = line->type, .value = (int64_t)sum->nr, .nr_samples = sum->nr,
	};

	if (!sum->nr)
		return 0;
	if (line->counts)
		return flame_sample_add(rd->profile, &s);
	return v8_add_time(rd, sum->stack, line->type, sum->ns, sum->nr);
}

static bool grow_sums(struct v8_timeline *line, uint32_t nr)
{
	struct v8_sum *sums = calloc(nr, sizeof(*sums));

	if (!sums)
		return false;
	for (uint32_t i = 0; i < line->nr_sums; i++) {
		if (line->sums[i].nr)
			sums[line->sums[i].stack % nr] = line->sums[i];
	}
	free(line->sums);
	line->sums = sums;
	line->nr_sums = nr;
	return true;
}

/*
 * A trace may have a timeline for each of thousands of threads: the table is small until two stacks want one place.
 * Return: the place of line->stack; NULL without memory.
 */
static struct v8_sum *sum_place(struct v8_timeline *line)
{
	struct v8_sum *sum;

	if (!line->sums && !grow_sums(line, V8_SUMS_FIRST))
		return NULL;
	sum = &line->sums[line->stack % line->nr_sums];
	while (sum->nr && sum->stack != line->stack && line->nr_sums < V8_SUMS) {
		if (!grow_sums(line, line->nr_sums * 2))
			return NULL;
		sum = &line->sums[line->stack % line->nr_sums];
	}
	return sum;
}

static int add_interrupt(struct flame_reader *rd, struct v8_timeline *line, int64_t ns)
{
	struct v8_sum *sum = sum_place(line);
	int err = 0;

	if (!sum)
		return FLAME_ENOMEM;
	if (sum->stack != line->stack) {
		err = add_sum(rd, line, sum);
		*sum = (struct v8_sum){ .stack = line->stack };
	}
	sum->nr++;
	return __builtin_add_overflow(sum->ns, ns, &sum->ns) ? FLAME_EOVERFLOW : err;
}

/*
 * There are millions of samples and few stacks: adding them up in the nodes first halves the time of all. Where the
 * order of samples matters each goes on its own.
 */
static inline int add_sample(struct flame_reader *rd, struct v8_timeline *line, int64_t ns)
{
	struct v8_node *node = &line->tree->nodes[line->row];

	if (rd->options->ordered)
		return add_sum(rd, line, &(struct v8_sum){ line->stack, 1, ns });
	if (!line->row)
		return add_interrupt(rd, line, ns);
	node->nr_samples++;
	return __builtin_add_overflow(node->ns, ns, &node->ns) ? FLAME_EOVERFLOW : 0;
}

static int flush_sums(struct flame_reader *rd, struct v8_timeline *line)
{
	int err = 0;

	for (size_t i = 1; !err && i < line->tree->nr; i++) {
		struct v8_node *node = &line->tree->nodes[i];

		err = add_sum(rd, line, &(struct v8_sum){ node->stack, node->nr_samples, node->ns });
		node->nr_samples = 0;
		node->ns = 0;
	}
	/* The order of samples should not tell how large the table was. */
	if (!err && line->sums && !grow_sums(line, V8_SUMS))
		err = FLAME_ENOMEM;
	for (size_t i = 0; !err && line->sums && i < line->nr_sums; i++)
		err = add_sum(rd, line, &line->sums[i]);
	v8_timeline_release(line);
	return err;
}

static int end_sample(struct flame_reader *rd, struct v8_timeline *line, int64_t end)
{
	int64_t begin = line->now;

	line->now = end;
	if (!line->pending)
		return 0;
	line->pending = false;
	return add_sample(rd, line, end - begin);
}

/* The stack of a sample of node @row, and what that tells of the next. */
static int set_stack(struct flame_reader *rd, struct v8_timeline *line, uint32_t row)
{
	struct v8_tree *tree = line->tree;
	const struct v8_node *node = &tree->nodes[row];
	int err = node->state == VISITED ? 0 : v8_tree_stack(rd, tree, row, &line->stack);

	line->row = row;
	line->stack = node->stack;
	if (node->role == V8_FUNCTION) {
		line->last = line->stack;
		return err;
	}
	if (node->role != V8_INTERRUPT)
		line->last = 0;
	if (node->role == V8_ROOT || line->last) {
		line->stack = flame_stack_push(rd->profile, line->last ? line->last : tree->root, node->frame);
		line->row = 0;
	}
	return err;
}

int v8_timeline_sample(struct flame_reader *rd, struct v8_timeline *line, uint32_t id, int64_t delta)
{
	uint32_t row = v8_tree_find(line->tree, id);
	int64_t next;
	int err;

	if (__builtin_add_overflow(line->raw, delta, &line->raw))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of a sample does not fit 64 bits");
	/* A step back is a clock's whim: the sample is taken to be as late as the one before. */
	next = line->started && line->raw < line->now ? line->now : line->raw;
	if (line->started && __builtin_sub_overflow(next, line->now, &delta))
		return flame_fail(rd, FLAME_EOVERFLOW, "the time of a sample does not fit 64 bits");
	err = end_sample(rd, line, next);
	if (!line->started)
		line->first = next;
	line->started = true;
	if (err)
		return err;
	if (!row || (!line->tree->nodes[row].frame))
		return flame_skip(rd, "a sample names a node that is not there");
	err = set_stack(rd, line, row);
	line->pending = !(rd->options->no_idle && line->tree->nodes[row].role == V8_IDLE) && !out_of_time(rd, line, next);
	return err;
}

int v8_timeline_end(struct flame_reader *rd, struct v8_timeline *line, int64_t end)
{
	int64_t lasted;
	int err;

	if (end < line->now || __builtin_sub_overflow(end, line->now, &lasted))
		end = line->now;
	err = end_sample(rd, line, end);
	/* By a clock of no origin. */
	if (line->started && !line->counts && line->first >= 0 && line->now > line->first) {
		flame_meta_time(rd->profile, (uint64_t)line->first + 1);
		flame_meta_time(rd->profile, (uint64_t)line->now + 1);
	}
	return err ? err : flush_sums(rd, line);
}

/* Recognition. */

uint32_t v8_top_keys(struct flame_span head, const char *const *keys)
{
	struct flame_json json;
	uint32_t found = 0;

	flame_json_init_span(&json, head);
	if (flame_json_next(&json) == FLAME_JSON_OBJECT) {
		while (flame_json_next(&json) == FLAME_JSON_KEY) {
			for (size_t i = 0; keys[i]; i++) {
				if (flame_json_is(&json, keys[i]))
					found |= 1u << i;
			}
			if (flame_json_skip(&json) == FLAME_JSON_ERROR)
				break;
		}
	}
	flame_json_release(&json);
	return found;
}

/* SPDX-License-Identifier: MIT */
/*
 * profile.c - the tables of a profile and what keeps their rows distinct.
 */
#include "flame.h"

#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "table.h"

#define MAX_SCALE 18	/* decimal digits that fit int64_t */

struct string {
	uint64_t offset;	/* into bytes */
	uint32_t len;
	uint32_t hash;
};

/* A stack whose row does not follow its caller's. */
struct head {
	flame_stack stack;
	flame_stack caller;
};

struct head_slot {
	flame_stack caller;
	flame_frame frame;
	flame_stack stack;	/* 0: free */
};

struct flame_profile {
	struct flame_profile_options options;
	int error;

	char *bytes;
	size_t nr_bytes, room_bytes;
	struct string *strings;
	size_t nr_strings, room_strings;
	struct index string_index;

	struct flame_frame_info *frames;
	size_t nr_frames, room_frames;
	struct index frame_index;

	/*
	 * Most stacks are the first child of the row before them: long unshared tails. Those need no
	 * caller and no entry in the index, just 4 bytes for the frame and a 0 in is_head. The others
	 * are heads, found by their number: the heads before the word (heads_before) and in it.
	 */
	flame_frame *stacks;		/* the frame of each */
	size_t nr_stacks, room_stacks;
	uint64_t *is_head;		/* a bit a stack */
	uint32_t *heads_before;		/* a number a word of is_head */
	size_t room_is_head, room_heads_before;
	struct head *heads;
	size_t nr_heads, room_heads;
	/* Heads by caller and frame. The slot holds all that is asked for: one cache miss a look-up. */
	struct head_slot *head_slots;
	uint32_t head_mask;

	struct flame_task_info *tasks;
	size_t nr_tasks, room_tasks;
	struct index task_index;

	struct flame_type_info *types;
	size_t nr_types, room_types;

	struct flame_sample *samples;
	size_t nr_samples, room_samples;
	/* Holds row + 1. Made only when a stack is sampled again: many inputs have none twice. */
	struct index sample_index;
	uint64_t *is_sampled;	/* a bit a stack: some sample has it */
	size_t room_is_sampled;
	uint64_t lost;
};

static const char *const errors[] = {
	[-FLAME_OK] = "no error",
	[-FLAME_ENOMEM] = "out of memory",
	[-FLAME_EIO] = "input or output failed",
	[-FLAME_EFORMAT] = "not in this format",
	[-FLAME_EDAMAGED] = "the input is damaged",
	[-FLAME_EOVERFLOW] = "a sum does not fit 64 bits",
	[-FLAME_EEMPTY] = "there are no samples",
	[-FLAME_EARG] = "an argument is out of range",
};

const char *flame_strerror(int err)
{
	size_t i = err > 0 ? 0 : (size_t)-(int64_t)err;

	return i < sizeof(errors) / sizeof(*errors) ? errors[i] : "unknown error";
}

const char *flame_kind_suffix(enum flame_kind kind)
{
	static const char *const suffixes[FLAME_NR_KINDS] = {
		[FLAME_KERNEL] = "_[k]", [FLAME_INLINED] = "_[i]", [FLAME_JIT] = "_[j]",
		[FLAME_JIT_INLINED] = "_[i]", [FLAME_INTERPRETED] = "_[0]", [FLAME_C1] = "_[1]",
		[FLAME_WAKER] = "_[w]",
	};

	return (unsigned int)kind < FLAME_NR_KINDS && suffixes[kind] ? suffixes[kind] : "";
}

static uint32_t fail(struct flame_profile *p, int err)
{
	if (!p->error)
		p->error = err;
	return 0;
}

/* Room for one more item; rows are 32 bits. */
#define GROW(p, what)                                                                              \
	((p)->nr_##what >= UINT32_MAX - 1                                                          \
		 ? (fail(p, FLAME_EOVERFLOW), false)                                               \
		 : array_reserve((void **)&(p)->what, &(p)->room_##what, (p)->nr_##what + 1,       \
				 sizeof(*(p)->what)) || (fail(p, FLAME_ENOMEM), false))

/* Room for @nr more stacks. */
static bool stacks_reserve(struct flame_profile *p, size_t nr)
{
	size_t words = (p->nr_stacks + nr) / 64 + 1;

	if (nr >= UINT32_MAX - 1 - p->nr_stacks)
		return fail(p, FLAME_EOVERFLOW);
	if (array_reserve((void **)&p->stacks, &p->room_stacks, p->nr_stacks + nr, sizeof(*p->stacks)) &&
	    array_reserve((void **)&p->is_head, &p->room_is_head, words, sizeof(*p->is_head)) &&
	    array_reserve((void **)&p->is_sampled, &p->room_is_sampled, words, sizeof(*p->is_sampled)) &&
	    array_reserve((void **)&p->heads_before, &p->room_heads_before, words, sizeof(*p->heads_before)))
		return true;
	return fail(p, FLAME_ENOMEM);
}

struct flame_profile *flame_profile_new(const struct flame_profile_options *options)
{
	struct flame_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (options)
		p->options = *options;
	if (!GROW(p, strings) || !GROW(p, frames) || !GROW(p, tasks) || !GROW(p, types) ||
	    !stacks_reserve(p, 1) || !array_reserve((void **)&p->bytes, &p->room_bytes, 4096, 1)) {
		flame_profile_free(p);
		return NULL;
	}
	p->bytes[p->nr_bytes++] = '\0';
	p->strings[p->nr_strings++] = (struct string){ 0 };
	p->frames[p->nr_frames++] = (struct flame_frame_info){ 0 };
	p->is_head[0] = p->is_sampled[0] = p->heads_before[0] = 0;
	p->stacks[p->nr_stacks++] = 0;
	p->tasks[p->nr_tasks++] = (struct flame_task_info){ .pid = -1, .tid = -1 };
	p->types[p->nr_types++] = (struct flame_type_info){ 0 };
	return p;
}

void flame_profile_free(struct flame_profile *p)
{
	if (!p)
		return;
	free(p->bytes);
	free(p->strings);
	free(p->string_index.slots);
	free(p->frames);
	free(p->frame_index.slots);
	free(p->stacks);
	free(p->is_head);
	free(p->is_sampled);
	free(p->heads_before);
	free(p->heads);
	free(p->head_slots);
	free(p->tasks);
	free(p->task_index.slots);
	free(p->types);
	free(p->samples);
	free(p->sample_index.slots);
	free(p);
}

int flame_profile_error(const struct flame_profile *p)
{
	return p->error;
}

const struct flame_profile_options *flame_profile_options(const struct flame_profile *p)
{
	return &p->options;
}

/* Strings. */

static bool string_index_grow(struct flame_profile *p)
{
	if (!index_grow(&p->string_index))
		return false;
	for (size_t i = 1; i < p->nr_strings; i++)
		index_put(&p->string_index, p->strings[i].hash, (uint32_t)i);
	return true;
}

static flame_string string_add(struct flame_profile *p, const char *s, size_t len, uint32_t hash)
{
	if (len >= UINT32_MAX)
		return fail(p, FLAME_EOVERFLOW);
	if (!GROW(p, strings))
		return 0;
	if (!array_reserve((void **)&p->bytes, &p->room_bytes, p->nr_bytes + len + 1, 1))
		return fail(p, FLAME_ENOMEM);
	if (!index_has_room(&p->string_index) && !string_index_grow(p))
		return fail(p, FLAME_ENOMEM);
	memcpy(p->bytes + p->nr_bytes, s, len);
	p->bytes[p->nr_bytes + len] = '\0';
	p->strings[p->nr_strings] = (struct string){ p->nr_bytes, (uint32_t)len, hash };
	p->nr_bytes += len + 1;
	index_put(&p->string_index, hash, (uint32_t)p->nr_strings);
	return (flame_string)p->nr_strings++;
}

flame_string flame_intern(struct flame_profile *p, const char *s, size_t len)
{
	const struct index *x = &p->string_index;
	uint32_t hash, row;

	if (!len || p->error)
		return 0;
	hash = (uint32_t)hash_bytes(s, len);
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		const struct string *str = &p->strings[row];

		if (str->hash == hash && str->len == len && !memcmp(p->bytes + str->offset, s, len))
			return row;
	}
	return string_add(p, s, len, hash);
}

struct flame_span flame_string_get(const struct flame_profile *p, flame_string row)
{
	if (row >= p->nr_strings)
		row = 0;
	return (struct flame_span){ p->bytes + p->strings[row].offset, p->strings[row].len };
}

/* Frames. */

/* What the profile does not keep apart counts as the same. */
static struct flame_frame_info frame_key(const struct flame_profile *p, const struct flame_frame_info *info)
{
	struct flame_frame_info key = { .name = info->name };

	if (p->options.kinds & FLAME_KIND_BIT(info->kind))
		key.kind = info->kind;
	if (p->options.keep_module)
		key.module = info->module;
	if (p->options.keep_line) {
		key.file = info->file;
		key.line = info->line;
	}
	return key;
}

static uint32_t frame_hash(const struct flame_frame_info *key)
{
	return hash_pair(hash_pair(key->name, key->module * 16 + key->kind), hash_pair(key->file, key->line));
}

static bool frame_equal(const struct flame_frame_info *a, const struct flame_frame_info *b)
{
	return a->name == b->name && a->kind == b->kind && a->module == b->module && a->file == b->file &&
	       a->line == b->line;
}

static bool frame_index_grow(struct flame_profile *p)
{
	if (!index_grow(&p->frame_index))
		return false;
	for (size_t i = 1; i < p->nr_frames; i++) {
		struct flame_frame_info key = frame_key(p, &p->frames[i]);

		index_put(&p->frame_index, frame_hash(&key), (uint32_t)i);
	}
	return true;
}

flame_frame flame_frame_row(struct flame_profile *p, const struct flame_frame_info *info)
{
	struct flame_frame_info key = frame_key(p, info);
	const struct index *x = &p->frame_index;
	uint32_t hash = frame_hash(&key), row;

	if (p->error)
		return 0;
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		struct flame_frame_info other = frame_key(p, &p->frames[row]);

		if (frame_equal(&other, &key))
			return row;
	}
	if (!GROW(p, frames))
		return 0;
	if (!index_has_room(&p->frame_index) && !frame_index_grow(p))
		return fail(p, FLAME_ENOMEM);
	p->frames[p->nr_frames] = *info;
	index_put(&p->frame_index, hash, (uint32_t)p->nr_frames);
	return (flame_frame)p->nr_frames++;
}

const struct flame_frame_info *flame_frame_get(const struct flame_profile *p, flame_frame row)
{
	return &p->frames[row < p->nr_frames ? row : 0];
}

uint32_t flame_nr_frames(const struct flame_profile *p)
{
	return (uint32_t)p->nr_frames;
}

/* Stacks. */

static bool is_head(const struct flame_profile *p, size_t row)
{
	return p->is_head[row / 64] >> (row % 64) & 1;
}

static const struct head *find_head(const struct flame_profile *p, size_t row)
{
	uint64_t below = p->is_head[row / 64] & ((1ull << (row % 64)) - 1);

	return &p->heads[p->heads_before[row / 64] + (uint32_t)__builtin_popcountll(below)];
}

static void put_head_slot(struct flame_profile *p, const struct head_slot *slot)
{
	uint32_t i = hash_pair(slot->caller, slot->frame) & p->head_mask;

	while (p->head_slots[i].stack)
		i = (i + 1) & p->head_mask;
	p->head_slots[i] = *slot;
}

static bool head_slots_grow(struct flame_profile *p)
{
	struct head_slot *old = p->head_slots;
	size_t nr_old = old ? (size_t)p->head_mask + 1 : 0, nr = old ? nr_old * 2 : 256;

	p->head_slots = calloc(nr, sizeof(*p->head_slots));
	if (!p->head_slots) {
		p->head_slots = old;
		return false;
	}
	p->head_mask = (uint32_t)nr - 1;
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].stack)
			put_head_slot(p, &old[i]);
	}
	free(old);
	return true;
}

/* Append a row; there is room for it. */
static flame_stack append_stack(struct flame_profile *p, flame_frame frame)
{
	size_t row = p->nr_stacks++;

	if (row % 64 == 0) {
		p->is_head[row / 64] = p->is_sampled[row / 64] = 0;
		p->heads_before[row / 64] = (uint32_t)p->nr_heads;
	}
	p->stacks[row] = frame;
	return (flame_stack)row;
}

static flame_stack add_head(struct flame_profile *p, flame_stack caller, flame_frame frame)
{
	flame_stack row;

	if (!stacks_reserve(p, 1) || !GROW(p, heads))
		return 0;
	if ((!p->head_slots || p->nr_heads >= p->head_mask / 8 * 5) && !head_slots_grow(p))
		return fail(p, FLAME_ENOMEM);
	row = append_stack(p, frame);
	p->is_head[row / 64] |= 1ull << (row % 64);
	p->heads[p->nr_heads++] = (struct head){ row, caller };
	put_head_slot(p, &(struct head_slot){ caller, frame, row });
	return row;
}

flame_stack flame_stack_push(struct flame_profile *p, flame_stack caller, flame_frame frame)
{
	size_t next = (size_t)caller + 1;

	if (next < p->nr_stacks && p->stacks[next] == frame && !is_head(p, next))
		return (flame_stack)next;
	if (p->error || caller >= p->nr_stacks)
		return 0;
	/* The newest stack has called nothing yet. */
	if (next == p->nr_stacks)
		return stacks_reserve(p, 1) ? append_stack(p, frame) : 0;
	for (uint32_t i = hash_pair(caller, frame) & p->head_mask; p->head_slots; i = (i + 1) & p->head_mask) {
		const struct head_slot *slot = &p->head_slots[i];

		if (!slot->stack)
			break;
		if (slot->caller == caller && slot->frame == frame)
			return slot->stack;
	}
	return add_head(p, caller, frame);
}

flame_stack flame_stack_push_all(struct flame_profile *p, flame_stack caller, const flame_frame *frames, size_t nr,
				 flame_stack *stacks)
{
	size_t i = 0;

	for (; i < nr && (size_t)caller + 1 != p->nr_stacks; i++)
		stacks[i] = caller = flame_stack_push(p, caller, frames[i]);
	if (i == nr || p->error || !stacks_reserve(p, nr - i))
		return p->error ? 0 : caller;
	for (; i < nr; i++)
		stacks[i] = caller = append_stack(p, frames[i]);
	return caller;
}

static flame_stack path_top(const struct flame_path *path)
{
	return path->done ? path->stacks[path->done - 1] : path->root;
}

/* Follow the chain of first children as far as it goes; it lies in memory in a row. */
static void follow_chain(const struct flame_profile *p, struct flame_path *path)
{
	size_t next = (size_t)path_top(path) + 1;

	while (path->done < path->nr && next < p->nr_stacks && p->stacks[next] == path->frames[path->done] &&
	       !is_head(p, next))
		path->stacks[path->done++] = (flame_stack)next++;
}

/* One step of one path, up to the next place where memory must be waited for. */
static void step_path(struct flame_profile *p, struct flame_path *path)
{
	flame_stack top;

	if (path->probing) {
		flame_frame frame = path->frames[path->done];

		top = flame_stack_push(p, path_top(path), frame);
		path->stacks[path->done++] = top;
		path->probing = false;
		if ((size_t)top + 1 < p->nr_stacks) {
			__builtin_prefetch(&p->stacks[top + 1]);
			__builtin_prefetch(&p->is_head[(top + 1) / 64]);
			return;
		}
	}
	follow_chain(p, path);
	top = path_top(path);
	if (path->done == path->nr)
		return;
	if ((size_t)top + 1 == p->nr_stacks) {
		flame_stack_push_all(p, top, path->frames + path->done, path->nr - path->done,
				     path->stacks + path->done);
		path->done = path->nr;
		return;
	}
	if (p->head_slots)
		__builtin_prefetch(&p->head_slots[hash_pair(top, path->frames[path->done]) & p->head_mask]);
	path->probing = true;
}

void flame_stack_push_paths(struct flame_profile *p, struct flame_path *paths, size_t nr)
{
	struct flame_path *open[FLAME_PATHS];
	size_t nr_open = 0;

	for (size_t i = 0; i < nr; i++) {
		if (paths[i].done < paths[i].nr)
			open[nr_open++] = &paths[i];
	}
	while (nr_open) {
		for (size_t i = 0; i < nr_open;) {
			step_path(p, open[i]);
			if (open[i]->done < open[i]->nr)
				i++;
			else
				open[i] = open[--nr_open];
		}
	}
}

flame_stack flame_stack_caller(const struct flame_profile *p, flame_stack row)
{
	if (!row || row >= p->nr_stacks)
		return 0;
	return is_head(p, row) ? find_head(p, row)->caller : row - 1;
}

flame_frame flame_stack_frame(const struct flame_profile *p, flame_stack row)
{
	return p->stacks[row < p->nr_stacks ? row : 0];
}

uint32_t flame_nr_stack_heads(const struct flame_profile *p)
{
	return (uint32_t)p->nr_heads;
}

flame_stack flame_stack_head(const struct flame_profile *p, uint32_t nr, flame_stack *caller)
{
	*caller = p->heads[nr].caller;
	return p->heads[nr].stack;
}

uint32_t flame_nr_stacks(const struct flame_profile *p)
{
	return (uint32_t)p->nr_stacks;
}

/* Tasks. */

static uint32_t task_hash(const struct flame_task_info *t)
{
	return hash_pair(hash_pair((uint32_t)t->pid, (uint32_t)t->tid), t->comm);
}

static bool task_index_grow(struct flame_profile *p)
{
	if (!index_grow(&p->task_index))
		return false;
	for (size_t i = 1; i < p->nr_tasks; i++)
		index_put(&p->task_index, task_hash(&p->tasks[i]), (uint32_t)i);
	return true;
}

flame_task flame_task_row(struct flame_profile *p, const struct flame_task_info *info)
{
	const struct index *x = &p->task_index;
	uint32_t hash = task_hash(info), row;

	if (p->error)
		return 0;
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		const struct flame_task_info *t = &p->tasks[row];

		if (t->pid == info->pid && t->tid == info->tid && t->comm == info->comm)
			return row;
	}
	if (!GROW(p, tasks))
		return 0;
	if (!index_has_room(&p->task_index) && !task_index_grow(p))
		return fail(p, FLAME_ENOMEM);
	p->tasks[p->nr_tasks] = *info;
	index_put(&p->task_index, hash, (uint32_t)p->nr_tasks);
	return (flame_task)p->nr_tasks++;
}

const struct flame_task_info *flame_task_get(const struct flame_profile *p, flame_task row)
{
	return &p->tasks[row < p->nr_tasks ? row : 0];
}

uint32_t flame_nr_tasks(const struct flame_profile *p)
{
	return (uint32_t)p->nr_tasks;
}

static size_t id_text(char *buf, char before, int32_t id)
{
	return (size_t)(id < 0 ? sprintf(buf, "%c?", before) : sprintf(buf, "%c%d", before, id));
}

/* A comm is one frame of a folded line: blanks, separators and control bytes give way. */
static size_t comm_text(char *buf, size_t room, struct flame_span comm)
{
	size_t n = comm.len < room ? comm.len : room;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)comm.s[i];

		buf[i] = c == ' ' || c == '\t' ? '_' : c == ';' ? ':' : c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	return n;
}

flame_stack flame_task_root(struct flame_profile *p, const struct flame_task_info *task)
{
	struct flame_frame_info info = { .kind = FLAME_TASK };
	char name[256 + 2 * 16];
	size_t len;

	if (p->options.root == FLAME_ROOT_NONE)
		return 0;
	len = comm_text(name, 256, flame_string_get(p, task->comm));
	if (p->options.root == FLAME_ROOT_PID || p->options.root == FLAME_ROOT_TID)
		len += id_text(name + len, '-', task->pid);
	if (p->options.root == FLAME_ROOT_TID)
		len += id_text(name + len, '/', task->tid);
	if (!len)
		return 0;
	info.name = flame_intern(p, name, len);
	return flame_stack_push(p, 0, flame_frame_row(p, &info));
}

/* Value types. A handful at most, so a walk finds them. */

flame_type flame_type_row(struct flame_profile *p, const struct flame_type_info *info)
{
	for (size_t i = 1; i < p->nr_types; i++) {
		if (p->types[i].name == info->name)
			return (flame_type)i;
	}
	if (p->error || !GROW(p, types))
		return 0;
	p->types[p->nr_types] = *info;
	return (flame_type)p->nr_types++;
}

const struct flame_type_info *flame_type_get(const struct flame_profile *p, flame_type row)
{
	return &p->types[row < p->nr_types ? row : 0];
}

uint32_t flame_nr_types(const struct flame_profile *p)
{
	return (uint32_t)p->nr_types;
}

static bool scale_up(int64_t *value, uint32_t digits)
{
	while (digits--) {
		if (__builtin_mul_overflow(*value, 10, value))
			return false;
	}
	return true;
}

int flame_type_rescale(struct flame_profile *p, flame_type type, uint32_t scale)
{
	uint32_t old = type < p->nr_types ? p->types[type].scale : MAX_SCALE;

	if (p->error || scale <= old)
		return p->error;
	if (scale > MAX_SCALE)
		goto overflow;
	for (size_t i = 0; i < p->nr_samples; i++) {
		if (p->samples[i].type == type && !scale_up(&p->samples[i].value, scale - old))
			goto overflow;
	}
	p->types[type].scale = scale;
	return 0;
overflow:
	fail(p, FLAME_EOVERFLOW);
	return p->error;
}

/* Samples. */

/* Stacks that came one after the other share a cache line of slots; beyond that they are scattered. */
static uint32_t sample_hash(const struct flame_sample *s)
{
	uint32_t line = hash_pair(s->stack / 16, s->task * 31 + s->type);

	return line * 16 + s->stack % 16;
}

static bool same_place(const struct flame_sample *a, const struct flame_sample *b)
{
	return a->stack == b->stack && a->task == b->task && a->type == b->type;
}

/* Return: the row of the sample with @s's stack, task and type, or -1; the index must be there. */
static int64_t find_indexed(const struct flame_profile *p, const struct flame_sample *s)
{
	const struct index *x = &p->sample_index;
	uint32_t row;

	for (uint32_t i = sample_hash(s) & x->mask; (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (same_place(&p->samples[row - 1], s))
			return row - 1;
	}
	return -1;
}

/* Have room in the index for one more sample than there are, with all of them in it. */
static bool make_sample_index(struct flame_profile *p)
{
	bool ok = true;

	while (ok && (!p->sample_index.slots || p->nr_samples >= p->sample_index.mask / 2))
		ok = index_grow(&p->sample_index);
	for (size_t i = p->sample_index.nr; ok && i < p->nr_samples; i++)
		index_put(&p->sample_index, sample_hash(&p->samples[i]), (uint32_t)i + 1);
	return ok;
}

/* Return: the sample to add @s to, or NULL; p->error may be set. */
static struct flame_sample *sample_find(struct flame_profile *p, const struct flame_sample *s)
{
	int64_t row;

	if (p->options.ordered)
		return p->nr_samples && same_place(&p->samples[p->nr_samples - 1], s) ?
			       &p->samples[p->nr_samples - 1] : NULL;
	if (!flame_stack_has_samples(p, s->stack))
		return NULL;
	if (p->sample_index.nr < p->nr_samples && !make_sample_index(p)) {
		fail(p, FLAME_ENOMEM);
		return NULL;
	}
	row = find_indexed(p, s);
	return row < 0 ? NULL : &p->samples[row];
}

int flame_sample_add(struct flame_profile *p, const struct flame_sample *sample)
{
	struct flame_sample s = *sample, *sum;

	if (p->error)
		return p->error;
	if (!s.nr_samples)
		s.nr_samples = 1;
	if (!p->options.keep_task)
		s.task = 0;
	if (p->options.count) {
		s.value = (int64_t)s.nr_samples;
		if (!scale_up(&s.value, flame_type_get(p, s.type)->scale))
			fail(p, FLAME_EOVERFLOW);
	}
	sum = sample_find(p, &s);
	if (sum) {
		if (__builtin_add_overflow(sum->value, s.value, &sum->value) ||
		    __builtin_add_overflow(sum->nr_samples, s.nr_samples, &sum->nr_samples))
			fail(p, FLAME_EOVERFLOW);
		return p->error;
	}
	if (p->error || !GROW(p, samples))
		return p->error;
	p->samples[p->nr_samples++] = s;
	p->is_sampled[s.stack / 64] |= 1ull << (s.stack % 64);
	return 0;
}

/* Put all samples in again, so that those that have become equal are summed. */
static void sum_again(struct flame_profile *p)
{
	struct flame_sample *old = p->samples;
	size_t nr = p->nr_samples;

	free(p->sample_index.slots);
	p->sample_index = (struct index){ 0 };
	p->samples = NULL;
	p->nr_samples = p->room_samples = 0;
	memset(p->is_sampled, 0, (p->nr_stacks / 64 + 1) * sizeof(*p->is_sampled));
	for (size_t i = 0; i < nr; i++)
		flame_sample_add(p, &old[i]);
	free(old);
}

int flame_type_join(struct flame_profile *p, flame_type into, flame_type from)
{
	uint32_t scale = p->types[into].scale > p->types[from].scale ? p->types[into].scale : p->types[from].scale;

	flame_type_rescale(p, into, scale);
	flame_type_rescale(p, from, scale);
	if (!p->types[into].name)
		p->types[into] = p->types[from];
	for (size_t i = 0; i < p->nr_samples; i++) {
		flame_type type = p->samples[i].type == from ? into : p->samples[i].type;

		p->samples[i].type = type > from ? type - 1 : type;
	}
	memmove(&p->types[from], &p->types[from + 1], (p->nr_types - from - 1) * sizeof(*p->types));
	p->nr_types--;
	sum_again(p);
	return p->error;
}

uint32_t flame_nr_samples(const struct flame_profile *p)
{
	return (uint32_t)p->nr_samples;
}

const struct flame_sample *flame_sample_get(const struct flame_profile *p, uint32_t row)
{
	return &p->samples[row];
}

bool flame_stack_has_samples(const struct flame_profile *p, flame_stack stack)
{
	return stack < p->nr_stacks && p->is_sampled[stack / 64] >> (stack % 64) & 1;
}

void flame_lost_add(struct flame_profile *p, uint64_t nr)
{
	if (__builtin_add_overflow(p->lost, nr, &p->lost))
		p->lost = UINT64_MAX;
}

uint64_t flame_lost(const struct flame_profile *p)
{
	return p->lost;
}

/* SPDX-License-Identifier: MIT */
/* chrome_task.c - threads and processes of a trace, and what their names do to stacks. */
#define _GNU_SOURCE
#include "chrome_task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "v8.h"

#include "../core/hash.h"
#include "../core/merge.h"

static uint32_t task_hash(int64_t pid, int64_t tid)
{
	return (uint32_t)hash_mix((uint64_t)pid ^ HASH_A, (uint64_t)tid ^ HASH_B);
}

uint32_t chrome_task_row(struct chrome_tasks *tasks, int64_t pid, int64_t tid)
{
	struct index *x = &tasks->index;
	uint32_t hash = task_hash(pid, tid), row;

	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (tasks->rows[row].pid == pid && tasks->rows[row].tid == tid)
			return row;
	}
	if (!tasks->nr)
		tasks->nr = 1;
	if (!array_reserve((void **)&tasks->rows, &tasks->room, tasks->nr + 1, sizeof(*tasks->rows)))
		return 0;
	if (!index_has_room(x)) {
		if (!index_grow(x))
			return 0;
		for (uint32_t i = 1; i < tasks->nr; i++)
			index_put(x, task_hash(tasks->rows[i].pid, tasks->rows[i].tid), i);
	}
	row = (uint32_t)tasks->nr++;
	tasks->rows[row] = (struct chrome_task){ .pid = pid, .tid = tid };
	index_put(x, hash, row);
	return row;
}

/* No name of the input has a byte 1. */
flame_stack chrome_task_root(struct flame_reader *rd, struct chrome_tasks *tasks, uint32_t row)
{
	struct chrome_task *t = &tasks->rows[row];
	struct flame_frame_info info = { .kind = FLAME_TASK };
	char text[16];

	if (!tasks->marks || t->root)
		return t->root;
	info.name = flame_intern(rd->profile, text, (size_t)snprintf(text, sizeof(text), "\1%" PRIu32, row));
	t->mark = flame_frame_row(rd->profile, &info);
	t->root = flame_stack_push(rd->profile, 0, t->mark);
	return t->root;
}

static int32_t task_id(int64_t id)
{
	return id >= 0 && id <= INT32_MAX ? (int32_t)id : -1;
}

struct flame_span chrome_task_text(const struct flame_profile *p, const struct chrome_task *t, char *buf, size_t room)
{
	if (t->name)
		return flame_string_get(p, t->name);
	if (t->tid < 0 && t->tid > CHROME_NO_TID)
		return flame_string_get(p, (flame_string)-t->tid);
	return (struct flame_span){ buf, (size_t)snprintf(buf, room, "tid %" PRId64, t->tid) };
}

/* The marks become root frames, or nothing. */
struct naming {
	struct flame_reader *rd;
	struct chrome_tasks *tasks;
	const char *only;
	struct flame_profile *to;
};

static flame_stack named_root(const struct naming *n, const struct chrome_task *t)
{
	const struct flame_read_options *options = n->rd->options;
	struct flame_profile *from = n->rd->profile;
	uint32_t process = chrome_task_row(n->tasks, t->pid, CHROME_NO_TID);
	char buf[32];
	struct flame_span text = chrome_task_text(from, t, buf, sizeof(buf)), comm = text;
	struct flame_task_info task = { .pid = task_id(t->pid), .tid = task_id(t->tid) };
	flame_stack root = 0;

	if (n->only && (text.len != strlen(n->only) || memcmp(text.s, n->only, text.len) != 0))
		return FLAME_STACK_DROPPED;
	if (options->root == FLAME_ROOT_PID || options->root == FLAME_ROOT_TID) {
		if (process && n->tasks->rows[process].name)
			comm = flame_string_get(from, n->tasks->rows[process].name);
		task.comm = flame_intern(n->to, comm.s, comm.len);
		root = flame_task_root(n->to, &task);
	}
	if (options->threads) {
		struct flame_reader other = *n->rd;

		other.profile = n->to;
		root = flame_stack_push(n->to, root, v8_text_frame(&other, text, FLAME_TASK));
	}
	return root;
}

static int map_stacks(const struct naming *n, const flame_frame *frames, flame_stack *stacks)
{
	const struct flame_profile *from = n->rd->profile;
	flame_stack *roots = calloc(flame_nr_frames(from), sizeof(*roots));
	bool *is_mark = calloc(flame_nr_frames(from), sizeof(*is_mark));

	for (size_t i = 1; roots && is_mark && i < n->tasks->nr; i++) {
		/* A copy: naming a thread may add its process. */
		struct chrome_task t = n->tasks->rows[i];

		if (!t.mark)
			continue;
		is_mark[t.mark] = true;
		roots[t.mark] = named_root(n, &t);
	}
	for (uint32_t i = 1; roots && is_mark && i < flame_nr_stacks(from); i++) {
		flame_stack caller = flame_stack_caller(from, i);
		flame_frame frame = flame_stack_frame(from, i);

		if (!caller && is_mark[frame])
			stacks[i] = roots[frame];
		else if (stacks[caller] == FLAME_STACK_DROPPED)
			stacks[i] = FLAME_STACK_DROPPED;
		else
			stacks[i] = flame_stack_push(n->to, stacks[caller], frames[frame]);
	}
	free(is_mark);
	free(roots);
	return roots && is_mark ? flame_profile_error(n->to) : FLAME_ENOMEM;
}

static int name_tasks(struct naming *n)
{
	struct flame_profile *from = n->rd->profile;
	flame_frame *frames;
	flame_stack *stacks = calloc(flame_nr_stacks(from), sizeof(*stacks));
	int err;

	n->to = flame_profile_new(flame_profile_options(from));
	frames = n->to ? flame_frames_copy(n->to, from) : NULL;
	err = frames && stacks ? map_stacks(n, frames, stacks) : FLAME_ENOMEM;
	for (flame_type i = 1; !err && i < flame_nr_types(from); i++)
		flame_type_copy(n->to, from, i);
	if (!err)
		err = flame_samples_copy(n->to, from, stacks);
	free(frames);
	free(stacks);
	if (err) {
		flame_profile_free(n->to);
		return err;
	}
	flame_profile_free(from);
	n->rd->profile = n->to;
	return 0;
}

/* Return: the threads that have samples; owned by the caller; NULL without memory. */
static char *list_tasks(const struct flame_reader *rd, const struct chrome_tasks *tasks)
{
	char buf[32], *text = NULL;
	size_t size, nr = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 1; out && i < tasks->nr && nr < 20; i++) {
		struct flame_span name = chrome_task_text(rd->profile, &tasks->rows[i], buf, sizeof(buf));

		if (tasks->rows[i].mark)
			fprintf(out, "%s%.*s", nr++ ? ", " : "", (int)(name.len < 60 ? name.len : 60), name.s);
	}
	if (out)
		fclose(out);
	return text;
}

int chrome_tasks_name(struct flame_reader *rd, struct chrome_tasks *tasks, const char *only)
{
	struct naming n = { rd, tasks, only, NULL };
	bool chosen = only && flame_nr_samples(rd->profile);
	char *threads = chosen ? list_tasks(rd, tasks) : NULL;
	int err = name_tasks(&n);

	if (!err && chosen && !flame_nr_samples(rd->profile))
		err = flame_fail(rd, FLAME_EARG, "there is no thread '%s' with samples in it; there are: %s", only,
				 threads ? threads : "others");
	free(threads);
	return err;
}

void chrome_tasks_release(struct chrome_tasks *tasks)
{
	free(tasks->rows);
	free(tasks->index.slots);
	*tasks = (struct chrome_tasks){ 0 };
}

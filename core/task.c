/* SPDX-License-Identifier: MIT */
/*
 * task.c - a profile's threads, and the root frames made of them.
 */
#include <stdio.h>

#include "hash.h"
#include "tables.h"

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
		return profile_fail(p, FLAME_ENOMEM);
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

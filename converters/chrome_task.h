/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHROME_TASK_H
#define FLAME_CHROME_TASK_H
/*
 * chrome_task.h - the threads and processes of a trace, and root frames for them. Their names may stand behind all
 * that they did, so a mark is the root until the end.
 */
#include "../core/converter.h"
#include "../core/table.h"

#define CHROME_NO_TID INT64_MIN

/* A process too: with no tid. */
struct chrome_task {
	int64_t pid, tid;	/* below 0: the row of a text */
	flame_string name;	/* 0: not known yet */
	flame_frame mark;	/* stands for its root frames until all names are known; 0: not needed yet */
	flame_stack root;
};

/* Zero initialised but for what is marked as the user's; release with chrome_tasks_release(). */
struct chrome_tasks {
	bool marks;		/* user's: stacks begin with their thread's mark */
	struct chrome_task *rows;	/* row 0 is none */
	size_t nr, room;
	struct index index;
};

/* Return: the thread's row, 0 without memory. */
uint32_t chrome_task_row(struct chrome_tasks *tasks, int64_t pid, int64_t tid);
/* Return: the stack that those of thread @row begin with. */
flame_stack chrome_task_root(struct flame_reader *rd, struct chrome_tasks *tasks, uint32_t row);
/* Return: the thread's name; its id, printed to @buf, where it has none. */
struct flame_span chrome_task_text(const struct flame_profile *p, const struct chrome_task *t, char *buf, size_t room);
/*
 * All names are known: marks become root frames, or nothing. Of all threads only those called @only are kept, unless
 * it is NULL. Return: 0, FLAME_EARG after an error where there are none, or another failure.
 */
int chrome_tasks_name(struct flame_reader *rd, struct chrome_tasks *tasks, const char *only);
void chrome_tasks_release(struct chrome_tasks *tasks);

#endif

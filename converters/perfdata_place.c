/* SPDX-License-Identifier: MIT */
/*
 * perfdata_place.c - where processes see their files. The path of a process in a container says nothing of the file
 * that is at this path here: it is looked for below the root of a process that lives, /proc/PID/root. Which process is in
 * a container is seen in /proc while it is recorded; a file tells with NAMESPACES records (perf record --namespaces).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/elf.h"
#include "perfdata.h"

#define PLACES_MAX 4096			/* roots of processes that are told apart */

/* Where processes see their files: one root directory in one mount namespace. */
struct perfdata_place {
	unsigned long ns;
	dev_t device;
	ino_t inode;
	int32_t pid;		/* one that sees it */
};

static unsigned long mount_namespace(int32_t pid)
{
	char path[64], target[64];
	unsigned long ns;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	return sscanf(target, "mnt:[%lu]", &ns) == 1 ? ns : 0;
}

static bool look_at(int32_t pid, struct perfdata_place *place)
{
	char path[64];
	struct stat st;

	*place = (struct perfdata_place){ .pid = pid, .ns = mount_namespace(pid) };
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	if (!place->ns || stat(path, &st))
		return false;
	place->device = st.st_dev;
	place->inode = st.st_ino;
	return true;
}

static uint32_t place_row(struct perfdata_tasks *t, int32_t pid)
{
	struct perfdata_place found;

	if (!look_at(pid, &found))
		return 0;
	for (size_t i = 1; i < t->nr_places; i++) {
		struct perfdata_place *p = &t->places[i], now;

		if (p->device != found.device || p->inode != found.inode || p->ns != found.ns)
			continue;
		/* Who showed it first may be gone. */
		if (i > 1 && (!look_at(p->pid, &now) || now.ns != p->ns || now.inode != p->inode))
			p->pid = pid;
		return (uint32_t)i;
	}
	if (t->nr_places >= PLACES_MAX ||
	    !array_reserve((void **)&t->places, &t->room_places, t->nr_places + 1, sizeof(found)))
		return 0;
	t->places[t->nr_places] = found;
	return (uint32_t)t->nr_places++;
}

/* Row 0 is none, row 1 is ours. Return: the place's row; 0 where it cannot be told. */
static uint32_t find_place(struct perfdata_tasks *t, int32_t pid)
{
	if (!t->nr_places) {
		if (!array_reserve((void **)&t->places, &t->room_places, 1, sizeof(*t->places)))
			return 0;
		t->places[0] = (struct perfdata_place){ 0 };
		t->nr_places = 1;
		place_row(t, getpid());
	}
	return place_row(t, pid);
}

int32_t perfdata_root(struct perfdata *pd, int32_t pid)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t row = perfdata_process_find(t, pid);
	struct perfdata_process *p = &t->processes[row];

	if (!row || !(pd->live || perfdata_is_elsewhere(pd, pid)))
		return 0;
	/* By now the pid may be another process's. */
	if (!pd->live && (!perfdata_is_this_machine(pd) || mount_namespace(pid) != p->mount_ns))
		return 0;
	if (!p->place)
		p->place = find_place(t, pid);
	return p->place > 1 ? t->places[p->place].pid : 0;
}

bool perfdata_is_elsewhere(struct perfdata *pd, int32_t pid)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t row = perfdata_process_find(t, pid);

	if (!row || !t->processes[row].mount_ns)
		return false;
	/* perf tells of its own namespace, or of that of the process 1, before those of what it records. */
	if (!t->is_own_ns && perfdata_is_this_machine(pd)) {
		t->is_own_ns = true;
		t->mount_ns = mount_namespace(getpid());
	}
	return t->processes[row].mount_ns != t->mount_ns;
}

bool perfdata_is_file_here(const struct perfdata_module *m)
{
	struct flame_span id = { (const char *)m->build_id, m->build_id_len };
	struct flame_elf elf;
	bool same = !flame_elf_open(&elf, m->name) && elf.build_id.len <= id.len && elf.build_id.len &&
		    !memcmp(elf.build_id.s, id.s, elf.build_id.len);

	flame_elf_release(&elf);
	return same;
}

int32_t perfdata_ns_pid(int32_t pid)
{
	char path[64], line[256];
	int32_t found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		/* The outermost namespace comes first. */
		if (!strncmp(line, "NSpid:", 6) && last)
			found = (int32_t)strtol(last, NULL, 10);
	}
	if (f)
		fclose(f);
	return found;
}

/* "pid, tid, number, (device, inode)..." in the order of perf's: net, uts, ipc, pid, user, mnt, cgroup. */
int perfdata_namespaces(struct perfdata *pd, const struct perfdata_record *r)
{
	enum { HEAD = 24, EACH = 16, MOUNT = 5 };
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t row;
	uint64_t ns;

	if (r->size < HEAD)
		return flame_skip(pd->rd, "a namespaces record that is shorter than its fields");
	if (perfdata_u64(pd, r->data + 16) <= MOUNT || r->size < HEAD + EACH * (MOUNT + 1))
		return 0;
	row = perfdata_process_row(t, (int32_t)perfdata_u32(pd, r->data + 8));
	if (!row)
		return FLAME_ENOMEM;
	ns = perfdata_u64(pd, r->data + HEAD + EACH * MOUNT + 8);
	if (!t->mount_ns)
		t->mount_ns = ns;
	t->processes[row].mount_ns = ns;
	t->processes[row].place = 0;
	return 0;
}

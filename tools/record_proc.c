/* SPDX-License-Identifier: MIT */
/*
 * record_proc.c - what runs already when a recording begins, as records like those that the kernel writes of what
 * begins later: names of threads, files that are mapped, modules of the kernel.
 */
#define _GNU_SOURCE
#include "record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NAME_MAX_BYTES 4096

/* The fields that records have in common, then theirs. */
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[24];
};

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char name[NAME_MAX_BYTES];
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[NAME_MAX_BYTES];
};

/* Bytes of a record that ends in @name, which begins at @at. */
static uint16_t record_size(size_t at, const char *name)
{
	return (uint16_t)((at + strlen(name) + 1 + 7) & ~(size_t)7);
}

static int known_thread(struct perfdata_live *live, int32_t pid, int32_t tid)
{
	struct comm_record r = { .header = { .type = PERF_RECORD_COMM }, .pid = (uint32_t)pid, .tid = (uint32_t)tid };
	char path[64];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	ok = fgets(r.comm, sizeof(r.comm), f);
	fclose(f);
	r.comm[strcspn(r.comm, "\n")] = '\0';
	r.header.size = record_size(offsetof(struct comm_record, comm), r.comm);
	return ok ? perfdata_live_known(live, &r, r.header.size) : 0;
}

static int known_threads(struct perfdata_live *live, int32_t pid)
{
	char path[32];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = known_thread(live, pid, (int32_t)strtol(entry->d_name, NULL, 10));
	}
	if (dir)
		closedir(dir);
	return err;
}

/* The kernel writes a newline in a name as \012. */
static void copy_name(char *to, const char *from)
{
	size_t len = 0;

	for (; *from && *from != '\n' && len + 1 < NAME_MAX_BYTES; from++) {
		bool is = !strncmp(from, "\\012", 4);

		to[len++] = is ? '\n' : *from;
		from += is ? 3 : 0;
	}
	to[len] = '\0';
}

/* "7f00-7f10 r-xp 00001000 08:01 1234    /lib/libc.so.6" */
static int known_map(struct perfdata_live *live, int32_t pid, const char *line)
{
	struct mmap2_record r = { .header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
				  .pid = (uint32_t)pid, .tid = (uint32_t)pid, .flags = MAP_PRIVATE };
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, perms, &offset, &major, &minor, &inode, &at) < 7 || !at)
		return 0;
	if (perms[2] != 'x')
		return 0;
	r.addr = start;
	r.len = end - start;
	r.pgoff = offset;
	r.major = major;
	r.minor = minor;
	r.inode = inode;
	r.prot = PROT_EXEC | (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0);
	if (perms[3] == 's')
		r.flags = MAP_SHARED;
	copy_name(r.name, line + at);
	/* What the kernel calls memory without a file; "[anon:...]" is a name that a program gave it. */
	if (!r.name[0] || !strncmp(r.name, "[anon", 5))
		strcpy(r.name, "//anon");
	r.header.size = record_size(offsetof(struct mmap2_record, name), r.name);
	return perfdata_live_known(live, &r, r.header.size);
}

static int known_process(struct perfdata_live *live, int32_t pid)
{
	int err = known_threads(live, pid);
	char path[32], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !err && getline(&line, &room, f) > 0)
		err = known_map(live, pid, line);
	if (f)
		fclose(f);
	free(line);
	return err;
}

static int known_kernel_map(struct perfdata_live *live, uint64_t start, uint64_t len, const char *name)
{
	struct mmap_record r = { .header = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL },
				 .pid = UINT32_MAX, .addr = start, .len = len };

	snprintf(r.name, sizeof(r.name), "%s", name);
	r.header.size = record_size(offsetof(struct mmap_record, name), r.name);
	return perfdata_live_known(live, &r, r.header.size);
}

/* All of the upper half; then its modules: "ext4 983040 1 - Live 0xffffffffc0000000". */
static int known_kernel(struct perfdata_live *live)
{
	int err = known_kernel_map(live, 1ull << 63, (1ull << 63) - 4096, "[kernel.kallsyms]");
	char *line = NULL, name[64], text[72];
	FILE *f = fopen("/proc/modules", "re");
	unsigned long size, address;
	size_t room = 0;

	while (f && !err && getline(&line, &room, f) > 0) {
		if (sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &size, &address) != 3 || !address)
			continue;
		snprintf(text, sizeof(text), "[%s]", name);
		err = known_kernel_map(live, address, size, text);
	}
	if (f)
		fclose(f);
	free(line);
	return err;
}

static int known_processes(struct perfdata_live *live)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = known_process(live, (int32_t)strtol(entry->d_name, NULL, 10));
	}
	if (dir)
		closedir(dir);
	return err;
}

int record_known(struct perfdata_live *live, const int32_t *pids, size_t nr_pids, bool all)
{
	int err = known_kernel(live);

	for (size_t i = 0; !err && i < nr_pids; i++)
		err = known_process(live, pids[i]);
	return !err && all ? known_processes(live) : err;
}

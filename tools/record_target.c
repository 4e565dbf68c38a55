/* SPDX-License-Identifier: MIT */
/* record_target.c - what is recorded: processes that run, a command that is started, or all processors. */
#define _GNU_SOURCE
#include "record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../core/table.h"

#define PIDS_MAX 4096
#define CPUS_MAX 4096

/* ---- processes ---- */

static bool add_tid(struct record_target *t, int32_t tid)
{
	if (!array_reserve((void **)&t->tids, &t->room_tids, t->nr_tids + 1, sizeof(*t->tids)))
		return false;
	t->tids[t->nr_tids++] = tid;
	return true;
}

static bool add_threads(struct record_target *t, int32_t pid)
{
	char path[32];
	struct dirent *entry;
	bool ok = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && ok && (entry = readdir(dir))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			ok = add_tid(t, (int32_t)strtol(entry->d_name, NULL, 10));
	}
	if (dir)
		closedir(dir);
	return ok;
}

bool record_threads_of(struct record_target *t, const int32_t *pids, size_t nr)
{
	t->nr_tids = 0;
	for (size_t i = 0; i < nr; i++) {
		if (!add_threads(t, pids[i])) {
			errno = ENOMEM;
			return false;
		}
	}
	errno = ESRCH;
	return t->nr_tids;
}

bool record_target_threads(struct record_target *t)
{
	struct timespec now;

	if (!t->since && !clock_gettime(CLOCK_BOOTTIME, &now))
		t->since = (uint64_t)now.tv_sec * (uint64_t)sysconf(_SC_CLK_TCK) +
			   (uint64_t)now.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000;
	return record_threads_of(t, t->pids, t->nr_pids);
}

static int compare_ids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

size_t record_threads_besides(struct record_target *t, const int32_t *pids, size_t nr)
{
	size_t left = 0;

	if (!record_threads_of(t, pids, nr) && errno == ENOMEM)
		return 0;
	for (size_t i = 0; i < t->nr_tids; i++) {
		if (!t->nr_followed || !bsearch(&t->tids[i], t->followed, t->nr_followed, sizeof(*t->tids), compare_ids))
			t->tids[left++] = t->tids[i];
	}
	t->nr_tids = left;
	return left;
}

bool record_threads_follow(struct record_target *t)
{
	if (!t->nr_tids)
		return true;
	if (!array_reserve((void **)&t->followed, &t->room_followed, t->nr_followed + t->nr_tids, sizeof(*t->followed)))
		return false;
	for (size_t i = 0; i < t->nr_tids; i++)
		t->followed[t->nr_followed++] = t->tids[i];
	qsort(t->followed, t->nr_followed, sizeof(*t->followed), compare_ids);
	return true;
}

/* Return: the parent of a process that began at or after @since; 0: none. */
static int32_t parent_of(const char *pid, uint64_t since)
{
	char path[300], line[1024], *p;
	unsigned long long start = 0;
	int32_t ppid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.255s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	/* "1 (name) S 0 ..."; the 22nd field is the start. */
	if (fgets(line, sizeof(line), f) && (p = strrchr(line, ')')) &&
	    sscanf(p, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ppid, &start) < 2)
		ppid = 0;
	fclose(f);
	return start >= since ? ppid : 0;
}

static bool has_pid(const struct record_target *t, int32_t pid)
{
	for (size_t i = 0; i < t->nr_pids; i++) {
		if (t->pids[i] == pid)
			return true;
	}
	return false;
}

void record_target_children(struct record_target *t)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && t->nr_pids < PIDS_MAX && (entry = readdir(dir))) {
		int32_t pid = isdigit((unsigned char)entry->d_name[0]) ? (int32_t)strtol(entry->d_name, NULL, 10) : 0;
		int32_t parent = pid ? parent_of(entry->d_name, t->since) : 0;

		if (parent && has_pid(t, parent) && !has_pid(t, pid))
			t->pids[t->nr_pids++] = pid;
	}
	if (dir)
		closedir(dir);
}

bool record_target_gone(const struct record_target *t)
{
	for (size_t i = 0; i < t->nr_pids; i++) {
		if (!kill(t->pids[i], 0) || errno != ESRCH)
			return false;
	}
	return true;
}

uint64_t record_target_used(const struct record_target *t)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->nr_pids; i++) {
		struct timespec used;
		clockid_t clock;

		if (clock_getcpuclockid(t->pids[i], &clock) || clock_gettime(clock, &used))
			return 0;
		sum += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	}
	return sum;
}

/* Return: the name of the process, to be freed; NULL: there is none. */
static char *comm_of(int32_t pid)
{
	char path[32], name[64], *text = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = '\0';
		text = strdup(name);
	}
	if (f)
		fclose(f);
	return text;
}

static int bad_pid(const struct tool *tool, const char *what, const char *text)
{
	tool_message(tool, "error", "--process %s '%.32s'", what, text);
	return 2;
}

static int add_pid(struct record_target *t, const struct tool *tool, long pid)
{
	char *comm = comm_of((int32_t)pid), *name;
	int n;

	if (!comm) {
		tool_message(tool, "error", "there is no process %ld%s", pid, errno == EACCES ? " that may be seen" : "");
		return 1;
	}
	n = asprintf(&name, "%s%spid %ld (%s)", t->name ? t->name : "", t->name ? ", " : "", pid, comm);
	free(comm);
	free(t->name);
	t->name = n < 0 ? NULL : name;
	t->pids[t->nr_pids++] = (int32_t)pid;
	return t->name ? -1 : 1;
}

static int add_pids(struct record_target *t, const struct tool *tool, const char *list)
{
	int status = -1;

	t->pids = calloc(PIDS_MAX, sizeof(*t->pids));
	if (!t->pids)
		return 1;
	for (const char *p = list; status < 0 && *p;) {
		char *end;
		long pid = strtol(p, &end, 10);

		if (end == p || (*end && *end != ',') || pid <= 0 || pid > INT32_MAX)
			return bad_pid(tool, "wants process ids, apart by commas, not", p);
		if (t->nr_pids == PIDS_MAX)
			return bad_pid(tool, "is more than 4096 processes (PIDS_MAX)", p);
		status = add_pid(t, tool, pid);
		p = *end ? end + 1 : end;
	}
	return status < 0 && !t->nr_pids ? bad_pid(tool, "wants process ids, not", list) : status;
}

/* ---- a command ---- */

/* In the child: wait for the word, then become the command. What goes wrong is told through @said. */
static void run(int go, int said, const char *const *command)
{
	char byte;
	int error;

	if (read(go, &byte, 1) != 1)
		_exit(0);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	execvp(command[0], (char *const *)command);
	error = errno;
	if (write(said, &error, sizeof(error)) != sizeof(error))
		_exit(126);
	_exit(127);
}

static int start(struct record_target *t, const struct tool *tool)
{
	int go[2], said[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(said, O_CLOEXEC) || (t->child = fork()) < 0) {
		tool_message(tool, "error", "cannot start %s: %s", tool->record.command[0], strerror(errno));
		return 1;
	}
	if (!t->child) {
		close(go[1]);
		close(said[0]);
		run(go[0], said[1], tool->record.command);
	}
	close(go[0]);
	close(said[1]);
	t->go = go[1];
	t->said = said[0];
	t->pids = calloc(1, sizeof(*t->pids));
	if (!t->pids)
		return 1;
	t->pids[t->nr_pids++] = t->child;
	return -1;
}

bool record_target_go(struct record_target *t, const struct tool *tool)
{
	int error = 0;

	if (!t->child)
		return true;
	if (write(t->go, "", 1) != 1)
		return false;
	close(t->go);
	t->go = -1;
	if (read(t->said, &error, sizeof(error)) == sizeof(error)) {
		tool_message(tool, "error", "cannot run %s: %s", tool->record.command[0], strerror(error));
		return false;
	}
	return true;
}

#define END_ROUNDS 50	/* of 10 ms */

/* Return: a process that is neither gone nor about to be; 0: none. */
static int32_t living(const struct record_target *t)
{
	for (size_t i = 0; i < t->nr_pids; i++) {
		char path[32], state = 'X', line[512], *p;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", t->pids[i]);
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f) && (p = strrchr(line, ')')) && p[1])
			state = p[2];
		if (f)
			fclose(f);
		if (!strchr("ZXx", state))
			return t->pids[i];
	}
	return 0;
}

/* The kernel takes the events off a process that becomes another user's. Events end a little before a process does. */
static void find_refused(struct record_target *t, const struct tool *tool)
{
	int32_t pid = living(t);

	for (int i = 0; pid && i < END_ROUNDS; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		pid = living(t);
	}
	t->is_refused = pid;
	if (pid && !tool->quiet)
		tool_message(tool, "warning", "process %d goes on, but the kernel lets it be recorded no more: it runs a program now that is "
			     "setuid, or may not be read; %s", (int)pid, t->child ? "as root it may be" : "begin again with its pid");
}

void record_target_end(struct record_target *t, const struct tool *tool, bool over)
{
	int status;
	pid_t ended;

	if (over && !t->all)
		find_refused(t, tool);
	ended = t->child ? waitpid(t->child, &status, WNOHANG) : -1;
	/* It was started to be recorded: as with perf record, it does not outlive the recording. */
	if (!ended && !kill(t->child, SIGTERM) && !tool->quiet)
		tool_message(tool, "note", "the recording is over: %s, process %d, was ended by SIGTERM; -p records what is to run on",
			     tool->record.command[0], (int)t->child);
	if (ended != t->child)
		return;
	t->child = 0;
	if (tool->quiet)
		return;
	if (WIFSIGNALED(status))
		tool_message(tool, "note", "%s was ended by signal %d (%s)", tool->record.command[0], WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		tool_message(tool, "note", "%s ended with status %d", tool->record.command[0], WEXITSTATUS(status));
}

char *record_join(const char *const *words, int nr)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; f && i < nr; i++)
		fprintf(f, "%s%s", i ? " " : "", words[i]);
	if (f)
		fclose(f);
	return text;
}

int record_target_init(struct record_target *t, const struct tool *tool)
{
	const struct tool_record *o = &tool->record;
	int status = -1;

	*t = (struct record_target){ .all = o->all, .go = -1, .said = -1 };
	if (o->pids)
		return add_pids(t, tool, o->pids);
	if (o->nr_command)
		status = start(t, tool);
	t->name = o->nr_command ? record_join(o->command, o->nr_command) : strdup("all processors");
	return t->name ? status : 1;
}

void record_target_release(struct record_target *t)
{
	if (t->go >= 0)
		close(t->go);
	if (t->said >= 0)
		close(t->said);
	free(t->pids);
	free(t->tids);
	free(t->followed);
	free(t->name);
}

/* ---- processors ---- */

/* Set what @list holds in @set. Return: false where it is no list. */
static bool read_list(const char *list, bool set[CPUS_MAX])
{
	while (*list && *list != '\n') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (end == list || !isdigit((unsigned char)*list))
			return false;
		if (*end == '-') {
			list = end + 1;
			to = strtoul(list, &end, 10);
			if (end == list || !isdigit((unsigned char)*list))
				return false;
		}
		if (to < from || (*end && *end != ',' && *end != '\n'))
			return false;
		for (unsigned long i = from; i <= to && i < CPUS_MAX; i++)
			set[i] = true;
		list = *end == ',' ? end + 1 : end;
	}
	return true;
}

/* Return: those in @a for which being in @b is @both, to be freed; NULL: none. */
static char *write_list(const bool *a, const bool *b, bool both, unsigned int *nr)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	*nr = 0;
	for (unsigned int i = 0; f && i < CPUS_MAX; i++) {
		if (a[i] && b[i] == both)
			fprintf(f, "%s%u", (*nr)++ ? "," : "", i);
	}
	if (f)
		fclose(f);
	if (*nr)
		return text;
	free(text);
	return NULL;
}

char *record_cpus(const char *list, unsigned int *nr)
{
	bool online[CPUS_MAX] = { false }, wanted[CPUS_MAX] = { false };
	char line[4096] = "";
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	*nr = 0;
	if (!read_list(line[0] ? line : "0", online) || (list && !read_list(list, wanted)))
		return NULL;
	return write_list(online, list ? wanted : online, true, nr);
}

char *record_cpus_besides(const char *list, const char *known, unsigned int *nr)
{
	bool all[CPUS_MAX] = { false }, there[CPUS_MAX] = { false };

	*nr = 0;
	return read_list(list, all) && read_list(known, there) ? write_list(all, there, false, nr) : NULL;
}

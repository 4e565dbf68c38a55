/* SPDX-License-Identifier: MIT */
/*
 * record_open.c - events are opened. The kernel refuses for many reasons: some go away when it is asked for less, or once
 * more; of the others the user is told, with what would allow it. Nothing on the host is changed.
 */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "permission.h"

#define TRIES 100	/* to list threads of which some go and come all the time */
#define TRIES_ALL 4	/* with all of them */
#define ROUNDS 64	/* to look for threads that were created meanwhile */

/* Each thread has an event on each processor, and each event a descriptor. The limit is our own process's. */
static void raise_limit(rlim_t wanted)
{
	struct rlimit limit, more = { wanted, wanted };

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	if (limit.rlim_max >= wanted)
		more.rlim_max = limit.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &more))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- why not ---- */

/* Return: whether one of the processes is not ours. */
static bool is_foreign(const struct record_target *t)
{
	for (size_t i = 0; i < t->nr_pids; i++) {
		char path[32];
		struct stat st;

		/* Of one that is protected, /proc belongs to root. */
		snprintf(path, sizeof(path), "/proc/%d", t->pids[i]);
		if (!stat(path, &st) && st.st_uid != geteuid())
			return true;
	}
	return false;
}

void record_explain(struct record_session *s, enum buffers_step step, int error)
{
	struct permission_request request = {
		.kernel = !s->event.attr.exclude_kernel, .cpus = s->target.all, .tracepoint = s->event.is_tracepoint,
		.other_user = is_foreign(&s->target), .buffer = step == BUFFERS_MMAP,
		.frequency = s->event.attr.freq ? (long)s->event.attr.sample_freq : 0, .program = s->tool.record.program,
	};
	struct permission_answer answer;
	struct permission_host host;

	permission_read(&host, "");
	permission_explain(&host, &request, error, &answer);
	tool_message(&s->tool, "error", "cannot record %s%s%s: %s", s->event.name, s->target.name ? " of " : "",
		     s->target.name ? s->target.name : "", answer.why ? answer.why : strerror(error));
	for (unsigned int i = 0; i < answer.nr_remedies; i++)
		fprintf(stderr, "  %s:\n      %s\n", answer.remedies[i].what, answer.remedies[i].command);
	permission_answer_release(&answer);
}

static void tell_failure(struct record_session *s, enum buffers_step step, int error)
{
	if (step == BUFFERS_OPEN && error == EMFILE)
		tool_message(&s->tool, "error", "%zu threads on %u processors need an open file each, which is more than may be open: "
			     "ulimit -n %zu; or add -a, which needs one a processor, and root", s->target.nr_tids, s->nr_cpus,
			     s->target.nr_tids * s->nr_cpus + 256);
	else
		record_explain(s, step, error);
}

/* ---- other ways ---- */

/* A thread has ended since it was listed, or a processor was taken off. */
static bool list_again(struct record_session *s, int error)
{
	char *cpus;

	if (error == ENODEV) {
		cpus = record_cpus(s->tool.record.cpus, &s->nr_cpus);
		if (!cpus)
			return false;
		free(s->cpus);
		s->cpus = cpus;
	}
	return s->target.all || record_target_threads(&s->target);
}

/* Where there is always one that has ended meanwhile, fewer are tried at once. The others come later. */
static void try_fewer(struct record_target *t, int tries)
{
	if (tries > TRIES_ALL)
		t->nr_tids = tries - TRIES_ALL < 32 && t->nr_tids >> (tries - TRIES_ALL) ? t->nr_tids >> (tries - TRIES_ALL) : 1;
}

/* Users may record their programs where they may not see what the kernel does for these. */
static bool without_kernel(struct record_session *s)
{
	struct perf_event_attr *attr = &s->event.attr;

	if (attr->exclude_kernel || s->target.all || s->event.is_tracepoint)
		return false;
	attr->exclude_kernel = attr->exclude_hv = 1;
	return true;
}

/* Return: whether there is something else to try. */
static bool another_way(struct record_session *s, enum buffers_step step, int error, int *tries)
{
	if (step == BUFFERS_MMAP) {
		s->pages /= 2;
		return error == EPERM && s->pages;
	}
	if (record_event_fall_back(&s->event, error))
		return true;
	if (error == ESRCH || error == ENODEV) {
		if (++*tries >= TRIES || !list_again(s, error))
			return false;
		try_fewer(&s->target, *tries);
		return true;
	}
	return (error == EACCES || error == EPERM) && without_kernel(s);
}

static struct buffers *open_buffers(struct record_session *s)
{
	struct buffers *buffers;
	enum buffers_step step;
	int error, tries = 0;

	s->pages = s->tool.record.pages;
	for (;;) {
		struct buffers_wanted wanted = { .attr = &s->event.attr, .cpus = s->cpus, .pages = s->pages,
						 .tids = s->target.all ? NULL : s->target.tids, .nr_tids = s->target.nr_tids };

		raise_limit((rlim_t)(s->target.all ? 1 : s->target.nr_tids) * s->nr_cpus + 256);
		error = buffers_open(&buffers, &wanted, &step);
		if (!error)
			return buffers;
		if (!another_way(s, step, error, &tries)) {
			tell_failure(s, step, error);
			return NULL;
		}
	}
}

static void tell_less(struct record_session *s)
{
	if (s->tool.quiet)
		return;
	if (s->event.attr.exclude_kernel)
		tool_message(&s->tool, "note", "without what the kernel does for it: kernel.perf_event_paranoid allows users no more; fgdoctor tells");
	if (s->pages < s->tool.record.pages)
		tool_message(&s->tool, "note", "buffers of %u pages in place of %u: kernel.perf_event_mlock_kb allows users no more",
			     s->pages, s->tool.record.pages);
}

/* ---- threads that come while others are opened ---- */

/* Events on @cpus of what is listed, besides those that there are. Return: 0, or an errno. */
static int open_on(struct record_session *s, const char *cpus)
{
	struct record_target *t = &s->target;
	struct perf_event_attr attr = s->event.attr;
	struct buffers_wanted wanted = { .attr = &attr, .cpus = cpus, .pages = s->pages };
	enum buffers_step step;
	struct buffers *more;
	int error;

	attr.enable_on_exec = 0;
	if (!t->all) {
		wanted.tids = t->tids;
		wanted.nr_tids = t->nr_tids;
	}
	raise_limit((rlim_t)(t->all ? 1 : t->nr_followed + t->nr_tids) * (s->nr_cpus + 1) + 256);
	/* What users may lock is used up by the first buffers. */
	while ((error = buffers_open(&more, &wanted, &step)) == EPERM && step == BUFFERS_MMAP && wanted.pages > 1)
		wanted.pages /= 2;
	if (error)
		return error;
	buffers_enable(more);
	if (record_reader_add(s->reader, more))
		return 0;
	buffers_close(more);
	return ENOBUFS;
}

static void tell_unfollowed(struct record_session *s, size_t nr, int error)
{
	const char *more = error == EMFILE ? ": ulimit -n allows no more open files; or add -a, which needs one a processor, and root" : "";

	/* A processor that went again is no loss. */
	if (!s->tool.quiet && !s->told_unfollowed && error != ENODEV)
		tool_message(&s->tool, "warning", "%zu thread%s cannot be followed (%s)%s", nr, nr == 1 ? "" : "s", strerror(error), more);
	s->told_unfollowed |= error != ENODEV;
}

/*
 * Threads that were created by others before these had their events. Each round lists those that came during the one
 * before, and some of them may be followed already: whom a thread creates has its events. Nothing tells which, so that
 * what both events of a thread take counts once. @pids: NULL are the target's own, and what they fork meanwhile.
 * Return: false where some cannot be followed.
 */
static bool follow_late(struct record_session *s, const char *cpus, const int32_t *pids, size_t nr_pids)
{
	struct record_target *t = &s->target;
	int error = 0, tries = 0;

	for (int round = 0; !error && round < ROUNDS; round++) {
		size_t nr;

		if (!pids)
			record_target_children(t);
		nr = record_threads_besides(t, pids ? pids : t->pids, pids ? nr_pids : t->nr_pids);
		if (!nr)
			return true;
		try_fewer(t, tries);
		s->is_single = true;
		error = open_on(s, cpus);
		if (!error && !record_threads_follow(t))
			error = ENOMEM;
		if (error == ESRCH) {
			tries++;
			error = 0;
		} else if (error) {
			tell_unfollowed(s, nr, error);
		}
	}
	return !error;
}

bool record_open(struct record_session *s)
{
	struct buffers *buffers;

	if (!s->target.all && !record_target_threads(&s->target)) {
		tell_failure(s, BUFFERS_OPEN, errno);
		return false;
	}
	buffers = open_buffers(s);
	if (!buffers)
		return false;
	tell_less(s);
	if (!s->event.attr.enable_on_exec)
		buffers_enable(buffers);
	s->reader = record_reader_start(buffers);
	if (!s->reader)
		buffers_close(buffers);
	if (!s->reader || !record_threads_follow(&s->target)) {
		tool_message(&s->tool, "error", "%s", flame_strerror(FLAME_ENOMEM));
		return false;
	}
	if (!s->target.all && !s->target.child)
		follow_late(s, s->cpus, NULL, 0);
	return true;
}

/* ---- processors that come and go ---- */

/* Events on @cpus of all that is recorded now. What ran there unseen is read from /proc. Return: 1, 0 for later, or a failure. */
static int follow_to(struct record_session *s, const char *cpus)
{
	struct record_target *t = &s->target;
	int32_t *pids = NULL;
	size_t nr_pids = t->all ? 0 : perfdata_live_processes(s->live, &pids);
	int32_t *all = realloc(pids, (nr_pids + t->nr_pids + 1) * sizeof(*pids));
	int ret = FLAME_ENOMEM;

	if (!all) {
		free(pids);
		return ret;
	}
	for (size_t i = 0; !t->all && i < t->nr_pids; i++) {
		bool known = false;

		for (size_t j = 0; j < nr_pids; j++)
			known |= all[j] == t->pids[i];
		if (!known)
			all[nr_pids++] = t->pids[i];
	}
	/* On these processors nobody is followed yet. */
	t->nr_followed = 0;
	ret = t->all ? !open_on(s, cpus) : follow_late(s, cpus, all, nr_pids) && t->nr_followed;
	if (ret) {
		int err = record_known(s->live, all, nr_pids, t->all);

		ret = err ? err : 1;
	}
	if (s->is_single)
		perfdata_live_single(s->live);
	free(all);
	return ret;
}

int record_open_more(struct record_session *s)
{
	unsigned int nr_online, nr_new;
	char *online = record_cpus(s->tool.record.cpus, &nr_online);
	char *new = online ? record_cpus_besides(online, s->cpus, &nr_new) : NULL, *all;
	int ret = new ? follow_to(s, new) : 0;

	if (ret == 1) {
		if (!s->tool.quiet)
			tool_message(&s->tool, "note", "processor %s came online, and is recorded too", new);
		if (asprintf(&all, "%s,%s", s->cpus, new) >= 0) {
			free(s->cpus);
			s->cpus = all;
			s->nr_cpus += nr_new;
		}
	} else if (online && s->target.all && nr_online < s->nr_cpus) {
		/* Its event is dead; when it comes back it gets a new one. Those of threads live on. */
		free(s->cpus);
		s->cpus = online;
		s->nr_cpus = nr_online;
		online = NULL;
	}
	free(new);
	free(online);
	return ret < 0 ? ret : 0;
}

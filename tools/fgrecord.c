/* SPDX-License-Identifier: MIT */
/* fgrecord - from what runs to a flame graph, without a file in between. */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_FIRST_MS 100
#define WAIT_MOST_MS 500
#define TRIES 100	/* to list threads of which some go and come all the time */
#define REFRESH_SECONDS 1

struct session {
	struct tool tool;
	struct record_event event;
	struct record_target target;
	struct buffers *buffers;
	struct perfdata_live *live;
	struct flame_profile *profile;
	struct flame_diag diag;
	char *cpus;			/* owned */
	unsigned int nr_cpus;
	unsigned int pages;
	int wait_ms;
	double started, ended;		/* seconds of the monotonic clock */
	double refreshed, printed;
	uint64_t started_at;		/* ns since 1970 */
	bool progress;			/* is printed */
};

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	stopped = 1;
	/* Who asks twice means it. */
	signal(sig, SIG_DFL);
}

static void wake(int sig)
{
	(void)sig;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- opening ---- */

/* Each thread has an event on each processor, and each event a descriptor. */
static void raise_limit(rlim_t wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	if (limit.rlim_max < wanted) {
		struct rlimit more = { wanted, wanted };

		if (!setrlimit(RLIMIT_NOFILE, &more))
			return;
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void tell_failure(struct session *s, enum buffers_step step, int error)
{
	const struct tool *tool = &s->tool;

	if (error == EMFILE || error == ENFILE)
		tool_message(tool, "error", "%zu threads on %u processors need as many open files each, and the limit is lower: "
			     "ulimit -n, or record the machine with -a", s->target.nr_tids, s->nr_cpus);
	else if (error == ESRCH)
		tool_message(tool, "error", "%s is gone", s->target.name);
	else
		tool_message(tool, "error", "%s: %s: %s", step == BUFFERS_OPEN ? "the kernel opens no event" : "no buffers",
			     s->event.name, strerror(error));
}

/* Something else that may go where this did not. Return: whether there is. */
static bool try_another_way(struct session *s, enum buffers_step step, int error, int *tries)
{
	if (step == BUFFERS_MMAP) {
		s->pages /= 2;
		return error == EPERM && s->pages;
	}
	if (record_event_fall_back(&s->event, error))
		return true;
	/* A thread has ended since it was listed, or a processor was taken off. */
	if ((error == ESRCH || error == ENODEV) && ++*tries < TRIES) {
		if (error == ENODEV) {
			free(s->cpus);
			s->cpus = record_cpus(s->tool.record.cpus, &s->nr_cpus);
		}
		return s->cpus && (s->target.all || record_target_threads(&s->target));
	}
	if ((error == EACCES || error == EPERM) && !s->event.attr.exclude_kernel && !s->target.all && !s->event.tracepoints) {
		s->event.attr.exclude_kernel = 1;
		s->event.attr.exclude_hv = 1;
		return true;
	}
	return false;
}

static bool open_buffers(struct session *s)
{
	enum buffers_step step;
	int error, tries = 0;

	s->pages = s->tool.record.pages;
	if (!s->target.all && !record_target_threads(&s->target)) {
		tell_failure(s, BUFFERS_OPEN, errno);
		return false;
	}
	for (;;) {
		struct buffers_wanted wanted = { .attr = &s->event.attr, .cpus = s->cpus, .pages = s->pages,
						 .tids = s->target.all ? NULL : s->target.tids, .nr_tids = s->target.nr_tids };

		raise_limit((rlim_t)(s->target.all ? 1 : s->target.nr_tids) * s->nr_cpus + 256);
		error = buffers_open(&s->buffers, &wanted, &step);
		if (!error)
			return true;
		if (!try_another_way(s, step, error, &tries)) {
			tell_failure(s, step, error);
			return false;
		}
	}
}

static void fill_meta(struct session *s)
{
	struct flame_meta *meta = flame_meta(s->profile);
	struct utsname host;
	char text[64];
	int n = snprintf(text, sizeof(text), "fgrecord %s", FLAME_VERSION);

	meta->tool = flame_intern(s->profile, text, (size_t)n);
	meta->command = flame_intern(s->profile, s->tool.record.command_line, strlen(s->tool.record.command_line));
	if (!uname(&host))
		meta->host = flame_intern(s->profile, host.nodename, strlen(host.nodename));
	meta->start_ns = s->started_at;
	meta->nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	if (s->event.attr.freq)
		meta->frequency_hz = (uint32_t)s->event.attr.sample_freq;
	else
		meta->period = s->event.attr.sample_period;
}

static bool open_profile(struct session *s, struct perfdata_live *before)
{
	const struct flame_read_options *o = &s->tool.read;
	struct flame_profile_options options = { .kinds = o->kinds, .keep_line = o->srcline, .count = o->count, .root = o->root };
	struct perfdata_live_event event = { .attr = &s->event.attr, .attr_size = sizeof(s->event.attr), .name = s->event.name,
					     .tracepoints = { s->event.tracepoints, s->event.tracepoints_len } };
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	s->started_at = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	s->started = s->refreshed = now();
	s->profile = flame_profile_new(&options);
	if (s->profile)
		s->live = perfdata_live_new(s->profile, o, &s->diag, &event, before);
	if (!s->live) {
		tool_message(&s->tool, "error", "%s", flame_strerror(FLAME_ENOMEM));
		return false;
	}
	fill_meta(s);
	return true;
}

/* ---- recording ---- */

static int use_record(void *context, const void *data, size_t size)
{
	return perfdata_live_record(context, data, size);
}

/* Empty all buffers once. Return: 0, or a failure. */
static int read_round(struct session *s)
{
	size_t fullest, size = buffers_size(s->buffers);
	int err = buffers_read(s->buffers, use_record, s->live, &fullest);

	if (!err)
		err = perfdata_live_round(s->live);
	/* As often as they fill, and no more. */
	if (fullest > size / 4)
		s->wait_ms = s->wait_ms > 1 ? s->wait_ms / 2 : 1;
	else if (fullest < size / 16 && s->wait_ms < WAIT_MOST_MS)
		s->wait_ms = s->wait_ms * 2 < WAIT_MOST_MS ? s->wait_ms * 2 : WAIT_MOST_MS;
	return err;
}

static void print_progress(struct session *s, double time)
{
	uint64_t lost, nr = perfdata_live_count(s->live, &lost);
	const struct tool_record *o = &s->tool.record;

	if (!s->progress || time - s->printed < 1)
		return;
	s->printed = time;
	fprintf(stderr, "\r%s: %.0f s", s->tool.name, time - s->started);
	if (o->duration > 0)
		fprintf(stderr, " of %.0f s", o->duration);
	fprintf(stderr, ", %llu samples", (unsigned long long)nr);
	if (lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)lost);
	fputs("\033[K", stderr);
}

static bool child_ended(const struct session *s)
{
	siginfo_t info = { 0 };

	return s->target.child && !waitid(P_PID, (id_t)s->target.child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == s->target.child;
}

static int keep_up(struct session *s, double time)
{
	if (time - s->refreshed < REFRESH_SECONDS)
		return 0;
	s->refreshed = time;
	return perfdata_live_refresh(s->live);
}

/* Until the time is over, the target is gone or the user stops it. Return: 0, or a failure. */
static int record(struct session *s)
{
	const struct tool_record *o = &s->tool.record;
	double end = o->duration > 0 ? s->started + o->duration : 0;
	bool alive = true;
	int err = 0;

	while (!err && alive && !stopped) {
		double time = now();
		int ms = s->wait_ms;

		if (end > 0 && time >= end)
			break;
		if (end > 0 && (end - time) * 1000 < ms)
			ms = (int)((end - time) * 1000) + 1;
		alive = !child_ended(s) && buffers_wait(s->buffers, ms);
		err = read_round(s);
		if (!err)
			err = keep_up(s, now());
		print_progress(s, now());
	}
	buffers_disable(s->buffers);
	s->ended = now();
	if (!err)
		err = read_round(s);
	if (s->progress)
		fputs("\r\033[K", stderr);
	return err;
}

/* ---- the end ---- */

static void tell_result(struct session *s, struct record_result *r)
{
	uint64_t told, total = buffers_lost(s->buffers);

	r->nr_samples = perfdata_live_count(s->live, &told);
	r->nr_lost = total > told ? total : told;
	/* The last that were lost are told of by no record, as none came behind them. */
	flame_lost_add(s->profile, r->nr_lost - told);
	if (r->nr_lost)
		flame_diag_add(&s->diag, FLAME_WARNING,
			       "%llu records were lost and %llu samples taken: the buffers were full; -m makes them larger, -F asks for less",
			       (unsigned long long)r->nr_lost, (unsigned long long)r->nr_samples);
	if (!r->nr_samples)
		flame_diag_add(&s->diag, FLAME_ERROR, s->tool.read.offcpu ? "no samples in %.1f s: no thread was switched out" :
			       "no samples in %.1f s: nothing ran; --offcpu shows what is waited for", r->seconds);
}

static int finish(struct session *s, const char *path)
{
	struct record_result r = { .event = &s->event, .target = &s->target, .seconds = s->ended - s->started };
	int err, status;

	flame_meta(s->profile)->duration_ns = (uint64_t)(r.seconds * 1e9);
	err = perfdata_live_end(s->live, &s->profile);
	if (!err) {
		tell_result(s, &r);
		err = flame_transform(&s->profile, &s->tool.transform);
	}
	if (!err && r.nr_samples && !flame_nr_samples(s->profile)) {
		flame_diag_add(&s->diag, FLAME_ERROR, s->tool.read.offcpu ? "no thread went on within the time that was recorded" :
			       "no stack is left: --only, --exclude or --focus dropped all");
	}
	if (err)
		flame_diag_add(&s->diag, FLAME_ERROR, "%s", flame_strerror(err));
	tool_print_diag(&s->tool, 0, &s->diag);
	s->diag = (struct flame_diag){ 0 };
	if (err || !flame_nr_samples(s->profile))
		return 1;
	r.profile = s->profile;
	status = record_write(&s->tool, &r, path);
	if (!status && !s->tool.quiet && path && strcmp(path, "-") != 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "%s: %llu samples in %.1f s: %s\n", s->tool.name, (unsigned long long)r.nr_samples, r.seconds, path);
	return status;
}

static int record_and_write(struct session *s)
{
	int err;

	if (!open_buffers(s) || !open_profile(s, NULL))
		return 1;
	/* First the events, then what was there before: nothing falls in between. */
	if (!s->event.attr.enable_on_exec)
		buffers_enable(s->buffers);
	err = record_known(s->live, &s->target);
	if (err) {
		tool_message(&s->tool, "error", "%s", flame_strerror(err));
		return 1;
	}
	s->started = now();
	if (!record_target_go(&s->target, &s->tool))
		return 1;
	err = record(s);
	if (err) {
		flame_diag_add(&s->diag, FLAME_ERROR, "%s", flame_strerror(err));
		tool_print_diag(&s->tool, 0, &s->diag);
		return 1;
	}
	record_target_end(&s->target, &s->tool);
	return finish(s, s->tool.output);
}

static void on_signals(void)
{
	struct sigaction act = { .sa_handler = stop };

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	act.sa_handler = wake;
	sigaction(SIGCHLD, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void release(struct session *s)
{
	buffers_close(s->buffers);
	perfdata_live_free(s->live);
	flame_profile_free(s->profile);
	flame_diag_release(&s->diag);
	record_event_release(&s->event);
	record_target_release(&s->target);
	free(s->cpus);
	free(s->tool.record.command_line);
}

/* Return: -1 to go on, or the status to exit with, after printing why. */
static int prepare(struct session *s)
{
	struct tool *tool = &s->tool;
	int status;
	char *wrong;

	if (!buffers_available()) {
		tool_message(tool, "error", "this build has no libperf, which records: in the source of fgtools, `make libperf` builds it from "
			     "the kernel's source (Debian: apt-get install linux-source), then `make` builds fgrecord with it");
		return 1;
	}
	s->cpus = record_cpus(tool->record.cpus, &s->nr_cpus);
	if (!s->cpus) {
		tool_message(tool, "error", "--cpu %s: none of these processors is online; a list is 0-3,7", tool->record.cpus);
		return 1;
	}
	wrong = record_event_init(&s->event, tool);
	if (wrong) {
		tool_message(tool, "error", "%s", wrong);
		free(wrong);
		return 1;
	}
	on_signals();
	status = record_target_init(&s->target, tool);
	tool->inputs[0] = s->target.name ? s->target.name : "";
	return status;
}

int main(int argc, char **argv)
{
	struct session s = {
		.tool = {
			.program = PROGRAM_RECORD,
			.name = "fgrecord",
			.usage = "fgrecord [OPTIONS] -p PID | -a | COMMAND [ARGUMENTS]",
			.about = "Record where a program spends its time, and draw it as a flame graph.",
			.svg = { .minwidth = -1 },
		},
		.wait_ms = WAIT_FIRST_MS,
	};
	int status = tool_parse(&s.tool, argc, argv);

	if (status >= 0)
		return status;
	s.tool.record.command_line = record_join((const char *const *)argv, argc);
	if (!s.tool.record.command_line)
		return 1;
	s.progress = !s.tool.quiet && isatty(STDERR_FILENO);
	status = prepare(&s);
	if (status < 0)
		status = record_and_write(&s);
	release(&s);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* fgrecord - from what runs to a flame graph, without a file in between. */
#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SECONDS 1	/* between two looks at perf maps and processors */
#define WAIT_MS 500
#define UNSAMPLED_MOST 0.05	/* of what ran may be in no sample untold: what each thread did after its last */
#define UNSAMPLED_SAMPLES 10	/* and as much as this many stand for */
#define UNFOLLOWED_MOST 0.1	/* of what was used: the two clocks differ a little */

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	/* Who asks twice means it. */
	if (stopped) {
		tool_remove_unfinished();
		signal(sig, SIG_DFL);
		raise(sig);
	}
	stopped = 1;
}

static void wake(int sig)
{
	(void)sig;
}

static void on_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP }, wakes[] = { SIGCHLD, SIGURG };
	struct sigaction act = { .sa_handler = stop }, before;
	bool ignores_hangup;

	ignores_hangup = !sigaction(SIGHUP, NULL, &before) && before.sa_handler == SIG_IGN;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &act, NULL);
	/* As nohup wants it. */
	if (ignores_hangup)
		signal(SIGHUP, SIG_IGN);
	act.sa_handler = wake;
	for (size_t i = 0; i < sizeof(wakes) / sizeof(*wakes); i++)
		sigaction(wakes[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int no_memory(const struct record_session *s)
{
	tool_message(&s->tool, "error", "%s", flame_strerror(FLAME_ENOMEM));
	return 1;
}

/* ---- profiles ---- */

static void fill_meta(struct record_session *s)
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

/* Begin a profile. Return: false without memory. */
static bool open_profile(struct record_session *s)
{
	const struct flame_read_options *o = &s->tool.read;
	struct flame_profile_options options = { .kinds = o->kinds, .keep_line = o->srcline || o->places,
						 .keep_module = o->places, .count = o->count, .root = o->root };
	struct perfdata_live_event event = { .attr = &s->event.attr, .attr_size = sizeof(s->event.attr), .name = s->event.name,
					     .tracepoints = { s->event.tracepoints, s->event.tracepoints_len } };
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	s->started_at = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	s->started = now();
	s->nr_lost_seen = 0;
	s->used = record_target_used(&s->target);
	s->live = NULL;
	s->profile = flame_profile_new(&options);
	if (s->profile)
		s->live = perfdata_live_new(s->profile, o, &s->diag, &event);
	if (s->live)
		fill_meta(s);
	return s->live;
}

/* Return: what the kernel has counted since the profile began. */
static struct buffers_counts count(struct record_session *s)
{
	struct buffers_counts total = record_reader_counts(s->reader), before = s->counted;

	s->counted = total;
	return (struct buffers_counts){ .value = total.value - before.value, .ran = total.ran - before.ran,
					.lost = total.lost - before.lost };
}

/* What is counted from here on belongs to the next profile, however long it takes to name and write this one. */
static void end_profile(struct record_session *s)
{
	s->ended = now();
	s->counts = count(s);
	s->used_until = record_target_used(&s->target);
}

/* What was lost and not told of by a record, as none came behind. Return: all that was lost. */
static uint64_t count_lost(struct record_session *s, uint64_t here, uint64_t told)
{
	if (here <= told)
		return told;
	flame_lost_add(s->profile, here - told);
	return here;
}

/*
 * The kernel counts also what it takes no sample of: threads that end before their first. Its clocks count the kernel's
 * time where samples may not.
 */
static void tell_unsampled(struct record_session *s, const struct record_result *r)
{
	const struct perf_event_attr *attr = &s->event.attr;
	double each = r->nr_samples ? (double)perfdata_live_sum(s->live) / (double)r->nr_samples : 1e9 / s->tool.record.frequency;
	double sampled = (double)perfdata_live_sum(s->live) + (double)r->nr_lost * each, all = (double)s->counts.value;

	if (s->target.all || s->tool.read.offcpu || (attr->exclude_kernel && attr->type == PERF_TYPE_SOFTWARE))
		return;
	if (all - sampled > all * UNSAMPLED_MOST && all - sampled > UNSAMPLED_SAMPLES * each)
		flame_diag_add(&s->diag, FLAME_WARNING, "%.0f %% of what ran is in no sample: threads that live for less than the %.3g ms between two "
			       "samples are seldom seen; -F asks for more samples%s",
			       100 * (all - sampled) / all, 1000 / s->tool.record.frequency,
			       s->tool.record.nr_command ? ", and -a as root misses none, but records the whole machine" :
			       ", and -a -p PID as root misses none");
}

/* What ran and was not even counted. s->counts has it of the threads that were followed from the start only. */
static void tell_unfollowed(struct record_session *s)
{
	uint64_t used = s->target.all || s->tool.record.nr_command || s->tool.record.cpus || s->is_single ? 0 :
			s->used_until;
	double missed = s->used && used > s->used ? (double)(used - s->used) - (double)s->counts.ran : 0;

	if (missed > UNFOLLOWED_MOST * (double)(used - s->used) && missed > UNSAMPLED_SAMPLES * 1e9 / s->tool.record.frequency)
		flame_diag_add(&s->diag, FLAME_WARNING, "%.1f s of the %.1f s of processor time that was used were not recorded: the kernel did not "
			       "follow all threads", missed / 1e9, (double)(used - s->used) / 1e9);
}

static void tell_samples(struct record_session *s, struct record_result *r)
{
	/* Some files of a series may be missing for that reason. */
	enum flame_severity empty = s->tool.record.every > 0 ? FLAME_NOTE : FLAME_ERROR;
	uint64_t told;

	r->nr_samples = perfdata_live_count(s->live, &told);
	r->nr_lost = count_lost(s, s->counts.lost, told);
	tell_unsampled(s, r);
	tell_unfollowed(s);
	if (r->nr_lost)
		flame_diag_add(&s->diag, FLAME_WARNING,
			       "%llu records were lost, and %llu samples taken: the buffers were full; -m makes them larger, -F asks for less",
			       (unsigned long long)r->nr_lost, (unsigned long long)r->nr_samples);
	if (!r->nr_samples && s->tool.read.offcpu)
		flame_diag_add(&s->diag, empty, "no samples in %.1f s: no thread was switched out and went on; what is blocked all "
			       "the time is not seen", r->seconds);
	else if (!r->nr_samples && r->nr_lost)
		flame_diag_add(&s->diag, empty, "no samples in %.1f s: all were lost, as the buffers have no room for them; -m makes them larger", r->seconds);
	else if (!r->nr_samples && s->target.is_refused)
		flame_diag_add(&s->diag, empty, "no samples in %.3f s: what ran may not be recorded", r->seconds);
	else if (!r->nr_samples && record_event_is_counted(&s->event))
		flame_diag_add(&s->diag, empty, "no samples in %.3f s: there were no %s", r->seconds, s->event.name);
	else if (!r->nr_samples)
		flame_diag_add(&s->diag, empty, "no samples in %.3f s: nothing ran for long enough, which is %.3g ms at %.0f Hz; -F asks for "
			       "more samples, --offcpu shows what is waited for",
			       r->seconds, 1000 / s->tool.record.frequency, s->tool.record.frequency);
}

/* Write the profile to @path. Return: the status to exit with, after printing what failed. */
static int finish(struct record_session *s, const char *path)
{
	struct record_result r = { .event = &s->event, .target = &s->target, .before = &s->before, .seconds = s->ended - s->started };
	int err = perfdata_live_end(s->live, &s->profile), status;

	if (!err) {
		flame_meta(s->profile)->duration_ns = (uint64_t)(r.seconds * 1e9);
		tell_samples(s, &r);
		err = flame_transform(&s->profile, &s->tool.transform);
	}
	if (err)
		flame_diag_add(&s->diag, FLAME_ERROR, "%s", flame_strerror(err));
	else if (r.nr_samples && !flame_nr_samples(s->profile))
		flame_diag_add(&s->diag, FLAME_ERROR, s->tool.read.offcpu ? "no thread that was switched out went on meanwhile" :
			       "no stack is left: --only, --exclude or --focus dropped all");
	tool_print_diag(&s->tool, 0, &s->diag);
	if (!err && !r.nr_samples && s->tool.record.every > 0)
		return 0;
	if (err || !flame_nr_samples(s->profile))
		return 1;
	r.profile = s->profile;
	status = record_write(&s->tool, &r, path);
	if (!status && !s->tool.quiet && strcmp(path, "-") != 0)
		tool_message(&s->tool, "note", "%llu samples in %.1f s: %s", (unsigned long long)r.nr_samples, r.seconds, path);
	return status;
}

/* ---- a series ---- */

/* The file of the profile that began at s->started_at, to be freed. */
static char *name_file(const struct record_session *s)
{
	time_t t = (time_t)(s->started_at / 1000000000);
	char name[4096];
	struct tm tm;

	if (s->tool.record.every > 0 && localtime_r(&t, &tm) && strftime(name, sizeof(name), s->tool.output, &tm))
		return strdup(name);
	return strdup(s->tool.output);
}

/* The files that were written; the oldest goes when there are more than --keep. */
static void keep_last(struct record_session *s, char *path)
{
	struct record_series *series = &s->series;
	char **slot = &series->paths[series->nr++ % s->tool.record.keep];
	bool again = false;

	/* Names that come again were written over. */
	for (unsigned int i = 0; *slot && i < s->tool.record.keep; i++)
		again |= &series->paths[i] != slot && series->paths[i] && !strcmp(series->paths[i], *slot);
	if (*slot && !again && strcmp(*slot, path) != 0)
		unlink(*slot);
	free(*slot);
	*slot = path;
}

static int finish_file(struct record_session *s)
{
	char *path = name_file(s);
	int status;

	if (!path)
		return no_memory(s);
	status = finish(s, path);
	if (!status && s->series.paths)
		keep_last(s, path);
	else
		free(path);
	return status;
}

/* The next profile begins where this one ends, which is written. Return: the status, after printing what failed. */
static int next_profile(struct record_session *s)
{
	struct flame_profile *profile = s->profile;
	struct perfdata_live *live = s->live;
	struct record_session old;
	int32_t *pids = NULL;
	size_t nr_pids;
	int err, status;

	end_profile(s);
	old = *s;
	old.diag = s->diag;
	s->diag = (struct flame_diag){ 0 };
	if (!open_profile(s)) {
		perfdata_live_free(s->live);
		flame_profile_free(s->profile);
		s->live = live;
		s->profile = profile;
		return no_memory(s);
	}
	err = perfdata_live_go_on(s->live, live);
	nr_pids = perfdata_live_processes(live, &pids);
	if (!err)
		err = record_known(s->live, pids, s->target.all ? 0 : nr_pids, s->target.all);
	free(pids);
	status = finish_file(&old);
	s->series = old.series;
	perfdata_live_take_symbols(s->live, live);
	perfdata_live_free(live);
	flame_profile_free(old.profile);
	return err ? no_memory(s) : status;
}

/* ---- recording ---- */

static void print_progress(struct record_session *s, double time)
{
	uint64_t lost, nr = perfdata_live_count(s->live, &lost);

	if (s->tool.quiet || time - s->printed < 1 || !isatty(STDERR_FILENO))
		return;
	s->printed = time;
	fprintf(stderr, "\r%s: %.0f s", s->tool.name, time - s->began);
	if (s->tool.record.duration > 0)
		fprintf(stderr, " of %.0f s", s->tool.record.duration);
	fprintf(stderr, ", %llu samples", (unsigned long long)nr);
	if (lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)lost);
	fputs("\033[K", stderr);
}

static bool child_ended(const struct record_session *s)
{
	siginfo_t info = { 0 };

	return s->target.child && !waitid(P_PID, (id_t)s->target.child, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == s->target.child;
}

/* Where all processors are recorded for the sake of some processes, nothing else tells of their end. */
static bool target_ended(const struct record_session *s)
{
	int32_t *pids = NULL;
	bool ended = s->target.all && s->target.nr_pids && !s->target.child && record_target_gone(&s->target) &&
		     !perfdata_live_processes(s->live, &pids);

	free(pids);
	return ended;
}

/* Of what was lost some may have told of files and names. */
static int know_again(struct record_session *s)
{
	int32_t *pids = NULL;
	uint64_t lost;
	size_t nr;
	int err;

	perfdata_live_count(s->live, &lost);
	if (lost == s->nr_lost_seen)
		return 0;
	s->nr_lost_seen = lost;
	nr = s->target.all ? 0 : perfdata_live_processes(s->live, &pids);
	err = record_known(s->live, pids, nr, s->target.all);
	free(pids);
	return err;
}

/* What is not told by records: names of code that compilers made, processors. */
static int look(struct record_session *s, double time)
{
	int err;

	if (time - s->looked < LOOK_SECONDS)
		return 0;
	s->looked = time;
	err = perfdata_live_refresh(s->live);
	if (!err)
		err = know_again(s);
	return err ? err : record_open_more(s);
}

static double earlier(double a, double b)
{
	return a > 0 && (!(b > 0) || a < b) ? a : b;
}

/*
 * Record until @until (0: for ever), the user stops it or the target is gone. Return: 0, or a failure.
 */
static int record(struct record_session *s, double until, bool *over)
{
	double time = now();
	int err = 0;

	for (*over = false; !err && !*over && !stopped && !(until > 0 && time >= until); time = now()) {
		double ms = until > 0 && (until - time) * 1000 < WAIT_MS ? (until - time) * 1000 + 1 : WAIT_MS;

		err = record_reader_take(s->reader, (int)ms, s->live, over);
		if (!err)
			err = look(s, time);
		print_progress(s, time);
		*over |= child_ended(s) || target_ended(s);
	}
	return err;
}

/* Return: the status to exit with. */
static int record_all(struct record_session *s)
{
	const struct tool_record *o = &s->tool.record;
	double end = o->duration > 0 ? s->began + o->duration : 0, next = o->every > 0 ? s->began + o->every : 0;
	int err = 0, status = 0;
	bool over = false;

	while (!err && !over && !stopped && !(end > 0 && now() >= end)) {
		err = record(s, earlier(end, next), &over);
		/* What ends with the recording is written behind it. */
		if (err || over || stopped || !(next > 0) || (end > 0 && next >= end))
			continue;
		/* What was sampled before belongs here. */
		record_reader_look(s->reader);
		err = record_reader_take(s->reader, 0, s->live, &over);
		if (err)
			break;
		status |= next_profile(s);
		next += o->every;
	}
	record_reader_stop(s->reader);
	end_profile(s);
	if (!err)
		err = record_reader_take(s->reader, 0, s->live, &over);
	if (!s->tool.quiet && isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (err)
		return no_memory(s);
	record_target_end(&s->target, &s->tool, over);
	return status | finish_file(s);
}

static int run(struct record_session *s)
{
	int err;

	/* First the events, then what was there before: nothing falls in between. */
	if (!record_open(s))
		return 1;
	if (!open_profile(s))
		return no_memory(s);
	if (s->is_single)
		perfdata_live_single(s->live);
	err = s->tool.record.all && s->tool.record.pids ? perfdata_live_only(s->live, s->target.pids, s->target.nr_pids) : 0;
	if (!err)
		err = record_known(s->live, s->target.pids, s->target.child ? 0 : s->target.nr_pids, s->target.all);
	if (err)
		return no_memory(s);
	s->started = s->began = s->looked = now();
	return record_target_go(&s->target, &s->tool) ? record_all(s) : 1;
}

static void release(struct record_session *s)
{
	record_reader_free(s->reader);
	perfdata_live_free(s->live);
	flame_profile_free(s->profile);
	flame_profile_free(s->before.profile);
	flame_diag_release(&s->diag);
	record_event_release(&s->event);
	record_target_release(&s->target);
	for (unsigned int i = 0; s->series.paths && i < s->tool.record.keep; i++)
		free(s->series.paths[i]);
	free(s->series.paths);
	free(s->cpus);
	free(s->tool.record.command_line);
}

/* What cannot be written is said before it is recorded. Return: false after printing why. */
static bool can_write_to(const struct tool *tool, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	struct stat st;
	int error = 0;

	if (!*path)
		error = ENOENT;
	else if (!stat(path, &st))
		error = S_ISDIR(st.st_mode) ? EISDIR : S_ISREG(st.st_mode) || !access(path, W_OK) ? 0 : errno;
	if (!error && dir && (stat(path, &st) || S_ISREG(st.st_mode)) && access(dir, W_OK | X_OK))
		error = errno;
	free(dir);
	if (error)
		tool_message(tool, "error", "cannot write %s: %s", path, strerror(error));
	return !error;
}

/* Of a series, the first file. */
static bool can_write(struct record_session *s)
{
	char *path;
	bool ok;

	if (!strcmp(s->tool.output, "-"))
		return true;
	s->started_at = (uint64_t)time(NULL) * 1000000000;
	path = name_file(s);
	ok = path && can_write_to(&s->tool, path);
	free(path);
	return ok;
}

/* Return: whether each file of a series gets a name of its own, also just behind midnight. */
static bool name_changes(const struct record_session *s)
{
	struct record_session first = { .tool = s->tool }, second = first;
	time_t t = time(NULL);
	struct tm tm;
	char *a, *b;
	bool ok;

	if (!(s->tool.record.every > 0) || !strcmp(s->tool.output, "-") || !localtime_r(&t, &tm))
		return true;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	tm.tm_isdst = -1;
	first.started_at = (uint64_t)mktime(&tm) * 1000000000;
	second.started_at = first.started_at + (uint64_t)(s->tool.record.every * 1e9);
	a = name_file(&first);
	b = name_file(&second);
	ok = a && b && strcmp(a, b) != 0;
	free(a);
	free(b);
	if (!ok)
		tool_message(&s->tool, "error", "--every %g: two files one after the other would have the same name; %%s in the name of -o %s, or "
			     "%%H%%M%%S, changes with each second", s->tool.record.every, s->tool.output);
	return ok;
}

/* A command line may be longer than all that is said of it. */
static void name_target(struct record_session *s)
{
	const char *name = s->target.name ? s->target.name : "";
	size_t room = sizeof(s->about) - 4, len = strlen(name);

	if (len > room + 3) {
		/* Not in the middle of a letter. */
		for (len = room; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
		snprintf(s->about, sizeof(s->about), "%.*s...", (int)len, name);
	} else {
		snprintf(s->about, sizeof(s->about), "%s", name);
	}
	s->tool.inputs[0] = s->about;
}

/* As it was called, where a shell would find no other; one that is on the path is called by its name. */
static const char *program_of(const char *typed)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";

	return typed && strchr(typed, '/') && typed[0] != '-' && !typed[strspn(typed, safe)] ? typed : "fgrecord";
}

/* Return: -1 to go on, or the status to exit with, after printing why. */
static int prepare(struct record_session *s)
{
	struct tool *tool = &s->tool;
	int status;
	char *wrong;

	if (!record_check_format(tool) || !name_changes(s))
		return 2;
	if (!buffers_available()) {
		tool_message(tool, "error", "this build has no libperf, which records: in the source of fgtools, `make libperf` builds it from "
			     "the kernel's source (Debian: apt-get install linux-source), then `make` builds fgrecord with it");
		return 1;
	}
	record_prepare_names(tool);
	s->cpus = record_cpus(tool->record.cpus, &s->nr_cpus);
	if (!s->cpus) {
		tool_message(tool, "error", "--cpu %s: none of these processors is online", tool->record.cpus);
		return 1;
	}
	wrong = record_event_init(&s->event, tool);
	if (wrong) {
		if (s->event.is_denied)
			record_explain(s, BUFFERS_OPEN, EACCES);
		else
			tool_message(tool, "error", "%s", wrong);
		free(wrong);
		return 1;
	}
	if (!can_write(s) || (tool->record.diff && !record_read_before(tool, &s->event, &s->before)))
		return 1;
	if (tool->record.keep) {
		s->series.paths = calloc(tool->record.keep, sizeof(*s->series.paths));
		if (!s->series.paths)
			return no_memory(s);
	}
	on_signals();
	status = record_target_init(&s->target, tool);
	name_target(s);
	return status;
}

int main(int argc, char **argv)
{
	struct record_session s = {
		.tool = {
			.program = PROGRAM_RECORD,
			.name = "fgrecord",
			.usage = "fgrecord [OPTIONS] -p PID | -a | COMMAND [ARGUMENTS]",
			.about = "Record where a program spends its time, and draw it as a flame graph.",
			.svg = { .minwidth = -1 },
		},
	};
	int status = tool_parse(&s.tool, argc, argv);

	if (status >= 0)
		return status;
	s.tool.record.program = program_of(argv[0]);
	s.tool.record.command_line = record_join((const char *const *)argv, argc);
	status = s.tool.record.command_line ? prepare(&s) : no_memory(&s);
	if (status < 0)
		status = run(&s);
	release(&s);
	return status;
}

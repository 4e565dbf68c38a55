/* SPDX-License-Identifier: MIT */
/*
 * permission.c - the kernel's rules for perf events (kernel/events/core.c of Linux 4.19 to 6.18) in words:
 *
 *	perf_event_paranoid	without CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8) in the first user namespace
 *	 > 2			no events at all (Debian, Ubuntu and Android add this): EACCES
 *	 > 1			no events of the kernel: EACCES
 *	 > 0			no events of whole CPUs: EACCES
 *	 > -1			no tracepoints with data: EPERM
 *
 * Another user's process: as for ptrace: EACCES. A container's seccomp filter: mostly EPERM.
 */
#define _GNU_SOURCE
#include "permission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE 512

static const char out_of_container[] = "outside of the container, where the process has another pid";

/* What changes the host cannot be done where sudo gives no rights. */
static const char *for_all_users(const struct permission_host *host)
{
	if (host->user_namespace)
		return "outside of this user namespace, for all users of the host, until it starts again";
	if (host->no_new_privs)
		return "from a shell without no_new_privs, for all users of the host, until it starts again";
	return "for all users of the host, until it starts again";
}

static FILE *open_below(const char *root, const char *path)
{
	char name[PATH_MAX];
	int fd = -1;

	/* A named pipe in place of a file must not stop us. */
	if (snprintf(name, sizeof(name), "%s%s", root, path) < (int)sizeof(name))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

static long read_long(const char *root, const char *path)
{
	FILE *f = open_below(root, path);
	long value = PERMISSION_UNKNOWN;
	char text[32], *end;

	if (!f)
		return value;
	if (fgets(text, sizeof(text), f)) {
		errno = 0;
		value = strtol(text, &end, 10);
		if (end == text || errno || (*end && *end != '\n'))
			value = PERMISSION_UNKNOWN;
	}
	fclose(f);
	return value;
}

/* "Uid:\t1000\t1000\t..." has the real, then the effective one. */
static void read_status(struct permission_host *host, const char *root)
{
	FILE *f = open_below(root, "/proc/self/status");
	char line[LINE];
	long value;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %*d %ld", &value) == 1)
			host->uid = value;
		else if (!strncmp(line, "CapEff:", 7))
			host->capabilities = strtoull(line + 7, NULL, 16);
		else if (sscanf(line, "Seccomp: %ld", &value) == 1)
			host->seccomp = value != 0;
		else if (sscanf(line, "NoNewPrivs: %ld", &value) == 1)
			host->no_new_privs = value != 0;
	}
	if (f)
		fclose(f);
}

/* The first user namespace maps all ids to themselves. */
static bool has_user_namespace(const char *root)
{
	FILE *f = open_below(root, "/proc/self/uid_map");
	unsigned long inside, outside, nr;
	bool other = false;
	char line[LINE];

	if (!f)
		return false;
	if (fgets(line, sizeof(line), f) && sscanf(line, "%lu %lu %lu", &inside, &outside, &nr) == 3)
		other = inside || outside || nr != 4294967295ul;
	fclose(f);
	return other;
}

static unsigned int read_version(const char *root)
{
	FILE *f = open_below(root, "/proc/sys/kernel/osrelease");
	unsigned int major = 0, minor = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%3u.%3u", &major, &minor) != 2 || minor > 99)
		major = minor = 0;
	fclose(f);
	return major * 100 + minor;
}

void permission_read(struct permission_host *host, const char *root)
{
	*host = (struct permission_host){
		.paranoid = read_long(root, "/proc/sys/kernel/perf_event_paranoid"),
		.kptr_restrict = read_long(root, "/proc/sys/kernel/kptr_restrict"),
		.max_sample_rate = read_long(root, "/proc/sys/kernel/perf_event_max_sample_rate"),
		.max_stack = read_long(root, "/proc/sys/kernel/perf_event_max_stack"),
		.mlock_kb = read_long(root, "/proc/sys/kernel/perf_event_mlock_kb"),
		.bpf_disabled = read_long(root, "/proc/sys/kernel/unprivileged_bpf_disabled"),
		.ptrace_scope = read_long(root, "/proc/sys/kernel/yama/ptrace_scope"),
		.uid = PERMISSION_UNKNOWN,
		.version = read_version(root),
		.user_namespace = has_user_namespace(root),
	};
	read_status(host, root);
}

bool permission_is_privileged(const struct permission_host *host)
{
	return !host->user_namespace && host->capabilities & (PERMISSION_PERFMON | PERMISSION_SYS_ADMIN);
}

/* ---- rules ---- */

/* The highest perf_event_paranoid at which users may do what is asked for. */
struct rule {
	long highest;
	int error;
	const char *what;
};

static const struct rule rules[] = {
	{ -1, EPERM, "tracepoints need" },
	{ 0, EACCES, "recording whole CPUs needs" },
	{ 1, EACCES, "recording the kernel needs" },
	{ 2, EACCES, "any event needs" },
};

static const struct rule *rule_of(const struct permission_request *request)
{
	return &rules[request->tracepoint ? 0 : request->cpus ? 1 : request->kernel ? 2 : 3];
}

/* Return: whether the setting is what forbids it. */
static bool is_paranoid(const struct permission_host *host, const struct permission_request *request)
{
	const struct rule *rule = rule_of(request);

	if (host->events_allowed && rule->highest == 2)
		return false;
	return !permission_is_privileged(host) && host->paranoid != PERMISSION_UNKNOWN && host->paranoid > rule->highest;
}

/* Whom ptrace admits may also be recorded. */
static bool is_foreign(const struct permission_host *host, const struct permission_request *request)
{
	return request->other_user && !permission_is_privileged(host) &&
	       (host->user_namespace || !(host->capabilities & PERMISSION_SYS_PTRACE));
}

int permission_expect(const struct permission_host *host, const struct permission_request *request)
{
	if (host->paranoid == PERMISSION_UNKNOWN)
		return ENOSYS;
	if (host->max_sample_rate > 0 && request->frequency > host->max_sample_rate)
		return EINVAL;
	if (is_paranoid(host, request))
		return rule_of(request)->error;
	return is_foreign(host, request) ? EACCES : 0;
}

/* ---- words ---- */

static void say(struct permission_answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct permission_answer *answer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(&answer->why, format, args) < 0)
		answer->why = NULL;
	va_end(args);
}

void permission_advise_args(struct permission_answer *answer, const char *what, const char *format, va_list args)
{
	struct permission_remedy *r = &answer->remedies[answer->nr_remedies];

	if (answer->nr_remedies == PERMISSION_REMEDIES)
		return;
	if (vasprintf(&r->command, format, args) < 0)
		r->command = NULL;
	r->what = what;
	answer->nr_remedies += r->command != NULL;
}

static void advise(struct permission_answer *answer, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void advise(struct permission_answer *answer, const char *what, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	permission_advise_args(answer, what, format, args);
	va_end(args);
}

static const char *capability(const struct permission_host *host)
{
	return host->version && host->version < 508 ? "cap_sys_admin" : "cap_perfmon";
}

static void advise_sudo(const struct permission_request *request, const char *what, struct permission_answer *answer)
{
	const char *program = request->program ? request->program : "perf";

	advise(answer, what, "sudo %s%s", request->command ? request->command : program, request->command ? "" : " ...");
}

static void advise_capability(const struct permission_host *host, const struct permission_request *request,
			      struct permission_answer *answer)
{
	const char *program = request->program ? request->program : "perf";

	if (host->user_namespace) {
		advise_sudo(request, "outside of this user namespace; in a container's, processes have other pids outside", answer);
		return;
	}
	if (host->no_new_privs)
		return;
	advise_sudo(request, request->starts ? "as root, this once, and the program with it" : "as root, this once", answer);
	advise(answer, "for whoever may run this file, until it is replaced",
	       "sudo setcap %s=ep \"$(readlink -f \"$(command -v %s)\")\"", capability(host), program);
}

static const char *capability_name(const struct permission_host *host)
{
	return host->version && host->version < 508 ? "CAP_SYS_ADMIN" : "CAP_PERFMON";
}

static void explain_paranoid(const struct permission_host *host, const struct permission_request *request,
			     struct permission_answer *answer)
{
	const struct rule *rule = rule_of(request);

	say(answer, "kernel.perf_event_paranoid is %ld: %s %ld or lower there, or %s%s", host->paranoid, rule->what,
	    rule->highest, capability_name(host),
	    host->user_namespace ? " outside of this user namespace" : "");
	advise_capability(host, request, answer);
	advise(answer, for_all_users(host), "sudo sysctl kernel.perf_event_paranoid=%ld",
	       rule->highest);
}

static void explain_foreign(const struct permission_host *host, const struct permission_request *request,
			    struct permission_answer *answer)
{
	say(answer, "the process is another user's or protected (setuid): recording it needs its user, or %s%s",
	    capability_name(host), host->user_namespace ? " outside of this user namespace" : "");
	advise_capability(host, request, answer);
}

static void explain_seccomp(const struct permission_host *host, const struct permission_request *request,
			    struct permission_answer *answer)
{
	say(answer, "a seccomp filter, as containers have, or a security module forbids perf_event_open()");
	advise(answer, out_of_container, "sudo %s ...", request->program ? request->program : "perf");
	advise(answer, "a container that may record", "docker run --cap-add %s ...", capability_name(host) + 4);
}

static void explain_refusal(const struct permission_host *host, const struct permission_request *request, int error,
			    struct permission_answer *answer)
{
	if (is_paranoid(host, request)) {
		explain_paranoid(host, request, answer);
	} else if (is_foreign(host, request)) {
		explain_foreign(host, request, answer);
	} else if (host->seccomp) {
		explain_seccomp(host, request, answer);
	} else {
		say(answer, "%s: no setting that is known forbids it: a security module (SELinux, AppArmor, "
			    "lockdown) may",
		    strerror(error));
		if (!permission_is_privileged(host))
			advise_capability(host, request, answer);
	}
}

static void explain_buffer(const struct permission_host *host, int error, struct permission_answer *answer)
{
	if (error != EPERM) {
		say(answer, "the ring buffer cannot be mapped: %s", strerror(error));
		return;
	}
	if (host->mlock_kb == PERMISSION_UNKNOWN)
		say(answer, "the ring buffers are larger than users may have: use smaller ones");
	else
		say(answer, "the ring buffers are larger than kernel.perf_event_mlock_kb, %ld KiB a CPU: use "
			    "smaller ones",
		    host->mlock_kb);
	advise(answer, "for this shell, as far as its hard limit goes", "ulimit -l unlimited");
	if (host->mlock_kb != PERMISSION_UNKNOWN && host->mlock_kb < LONG_MAX / 4)
		advise(answer, for_all_users(host), "sudo sysctl kernel.perf_event_mlock_kb=%ld",
		       host->mlock_kb * 4);
}

static void explain_invalid(const struct permission_host *host, const struct permission_request *request,
			    struct permission_answer *answer)
{
	if (host->max_sample_rate == PERMISSION_UNKNOWN || request->frequency <= host->max_sample_rate) {
		say(answer, "the kernel does not know what is asked for: it may be older than the profiler");
		return;
	}
	say(answer, "%ld Hz is above kernel.perf_event_max_sample_rate, which is %ld: use a lower frequency",
	    request->frequency, host->max_sample_rate);
	advise(answer, for_all_users(host), "sudo sysctl kernel.perf_event_max_sample_rate=%ld",
	       request->frequency);
}

/* What has no permission to do with. */
static const struct {
	int error;
	const char *why;
	const char *what, *command;
	bool with_clock;	/* the clock does as well */
} others[] = {
	{ ENOENT, "there is no such event: virtual machines often have no hardware counters, cpu-clock is "
		  "always there",
	  NULL, NULL, true },
	{ EOPNOTSUPP, "the hardware cannot sample this event: cpu-clock is always there",
	  NULL, NULL, true },
	{ ENODEV, "the hardware has no such event, or the CPU is not online: cpu-clock is always there",
	  NULL, NULL, true },
	{ EBUSY, "another program has the hardware counters to itself", NULL, NULL, true },
	{ ESRCH, "the process is gone, or has another pid in this PID namespace", NULL, NULL, false },
	{ EMFILE, "one event a thread and CPU is open, and no more files may be", "for this shell, as far as its hard limit goes",
	  "ulimit -n \"$(ulimit -Hn)\"", false },
	{ ENFILE, "no more files may be open on this host", NULL, NULL, false },
	{ ENOSYS, "this kernel has no perf events", NULL, NULL, false },
	{ EOVERFLOW, "callchains are asked for that are deeper than kernel.perf_event_max_stack", NULL, NULL, false },
	{ E2BIG, "the kernel is older than the profiler and does not know what is asked for", NULL, NULL, false },
	{ ENOMEM, "the kernel has no memory for it", NULL, NULL, false },
};

/* Return: what opens the events, as it is called to record. */
static const char *recorder(const struct permission_request *request)
{
	return request->program && strcmp(request->program, "perf") ? request->program : "perf record";
}

static void explain_other(const struct permission_request *request, int error, struct permission_answer *answer)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (others[i].error != error)
			continue;
		say(answer, "%s", others[i].why);
		if (others[i].with_clock)
			advise(answer, "the kernel's clock in place of a counter", "%s -e cpu-clock ...", recorder(request));
		if (others[i].command)
			advise(answer, others[i].what, "%s", others[i].command);
		return;
	}
	say(answer, "%s", error ? strerror(error) : "nothing forbids it");
}

void permission_explain(const struct permission_host *host, const struct permission_request *request, int error,
			struct permission_answer *answer)
{
	*answer = (struct permission_answer){ 0 };
	if (request->buffer)
		explain_buffer(host, error, answer);
	else if (error == EACCES || error == EPERM)
		explain_refusal(host, request, error, answer);
	else if (error == EINVAL)
		explain_invalid(host, request, answer);
	else
		explain_other(request, error, answer);
}

void permission_answer_release(struct permission_answer *answer)
{
	free(answer->why);
	for (unsigned int i = 0; i < answer->nr_remedies; i++)
		free(answer->remedies[i].command);
	*answer = (struct permission_answer){ 0 };
}

/* SPDX-License-Identifier: MIT */
/*
 * doctor_host.c - what the host allows: settings, our own rights, which events there are, which programs.
 *
 * Events are opened for our own process and closed at once, without anything read of them; below a --root nothing
 * is opened or run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"

#define SMALL 65536		/* bytes of a file in /proc or /etc that are looked at */
#define VERSION_WAIT 5000	/* ms for a program to tell its version */

static bool exists(const struct doctor *d, const char *path)
{
	char *name = doctor_format("%s%s", d->root, path);
	bool there = name && !access(name, R_OK);

	free(name);
	return there;
}

/* ---- settings ---- */

/* What a value of a setting means; the first row whose value is not below the setting's. */
struct meaning {
	long upto;
	const char *text;
};

static const struct meaning paranoid[] = {
	{ -1, "users may record everything" },
	{ 0, "users may record all but tracepoints" },
	{ 1, "users may record their own processes, also in the kernel, and no whole CPUs" },
	{ 2, "users may record only the user part of their own processes" },
	{ LONG_MAX, "users may not record at all, in kernels of Debian and Ubuntu; others know no such level" },
};

static const struct meaning kptr[] = {
	{ 0, "addresses of the kernel are shown to who may record the kernel" },
	{ 1, "addresses of the kernel are shown only with CAP_SYSLOG" },
	{ LONG_MAX, "addresses of the kernel are shown to nobody: its frames have no names" },
};

static const struct meaning bpf[] = {
	{ 0, "users may load programs of BPF" },
	{ LONG_MAX, "only root or CAP_BPF loads programs of BPF" },
};

static const struct meaning ptrace_scope[] = {
	{ 0, "a user's processes may look into each other" },
	{ 1, "only a parent looks into a process: py-spy and the like need root for one that runs" },
	{ 2, "only root (CAP_SYS_PTRACE) looks into processes" },
	{ LONG_MAX, "nobody looks into processes until the host starts again" },
};

static void add_setting(struct doctor *d, const char *key, long value, const struct meaning *m)
{
	if (value == PERMISSION_UNKNOWN) {
		doctor_text(d, DOCTOR_HOST, key, NULL, "the kernel has no such setting, or it cannot be read");
		return;
	}
	while (m && value > m->upto)
		m++;
	doctor_number(d, DOCTOR_HOST, key, value, m ? "%s" : NULL, m ? m->text : "");
}

static void add_settings(struct doctor *d)
{
	const struct permission_host *h = &d->host;

	add_setting(d, "perf_event_paranoid", h->paranoid, paranoid);
	add_setting(d, "kptr_restrict", h->kptr_restrict, kptr);
	add_setting(d, "perf_event_max_sample_rate", h->max_sample_rate, NULL);
	add_setting(d, "perf_event_max_stack", h->max_stack, NULL);
	add_setting(d, "perf_event_mlock_kb", h->mlock_kb, NULL);
	add_setting(d, "unprivileged_bpf_disabled", h->bpf_disabled, bpf);
	if (h->ptrace_scope == PERMISSION_UNKNOWN)
		doctor_text(d, DOCTOR_HOST, "ptrace_scope", "none", "the kernel has no Yama: a user's processes "
								    "may look into each other");
	else
		add_setting(d, "ptrace_scope", h->ptrace_scope, ptrace_scope);
}

static void add_kernel(struct doctor *d)
{
	size_t len;
	char *release = doctor_read_at(SMALL, &len, "%s/proc/sys/kernel/osrelease", d->root);
	struct utsname host;

	if (release)
		release[strcspn(release, "\n")] = '\0';
	if (*d->root || uname(&host))
		host.machine[0] = '\0';
	doctor_text(d, DOCTOR_HOST, "kernel", release, host.machine[0] ? "%s" : NULL, host.machine);
	free(release);
}

/* ---- our own rights ---- */

static const struct {
	const char *name;
	uint64_t bit;
} capabilities[] = {
	{ "CAP_PERFMON", PERMISSION_PERFMON }, { "CAP_SYS_ADMIN", PERMISSION_SYS_ADMIN },
	{ "CAP_BPF", PERMISSION_BPF }, { "CAP_SYS_PTRACE", PERMISSION_SYS_PTRACE },
};

static void add_rights(struct doctor *d)
{
	char text[128] = "";

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++) {
		if (d->host.capabilities & capabilities[i].bit)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? " " : "",
				 capabilities[i].name);
	}
	if (d->host.uid == PERMISSION_UNKNOWN)
		doctor_text(d, DOCTOR_HOST, "user_id", NULL, NULL);
	else
		doctor_number(d, DOCTOR_HOST, "user_id", d->host.uid, NULL);
	doctor_text(d, DOCTOR_HOST, "capabilities", *text ? text : "none",
		    *text && d->host.user_namespace ? "they do not count, as they are those of a user namespace" : NULL);
	doctor_truth(d, DOCTOR_HOST, "user_namespace", d->host.user_namespace, NULL);
	doctor_truth(d, DOCTOR_HOST, "seccomp_filter", d->host.seccomp,
		     d->host.seccomp ? "it may forbid perf_event_open(), bpf() and ptrace()" : NULL);
	doctor_truth(d, DOCTOR_HOST, "no_new_privs", d->host.no_new_privs,
		     d->host.no_new_privs ? "sudo and file capabilities do nothing here" : NULL);
}

/* Signs of a container: a file, or what a file has in it. */
static const struct {
	const char *path, *text, *name;
} containers[] = {
	{ "/.dockerenv", NULL, "docker" }, { "/run/.containerenv", NULL, "podman" },
	{ "/proc/self/cgroup", "kubepods", "kubernetes" }, { "/proc/self/cgroup", "docker", "docker" },
	{ "/proc/self/cgroup", "libpod", "podman" }, { "/proc/self/cgroup", "lxc", "lxc" },
	{ "/proc/1/environ", "container=", "a container" },
};

static void add_container(struct doctor *d)
{
	const char *name = NULL;
	size_t len;

	for (size_t i = 0; !name && i < sizeof(containers) / sizeof(*containers); i++) {
		char *text;

		if (!containers[i].text) {
			name = exists(d, containers[i].path) ? containers[i].name : NULL;
			continue;
		}
		text = doctor_read_at(SMALL, &len, "%s%s", d->root, containers[i].path);
		if (text && memmem(text, len, containers[i].text, strlen(containers[i].text)))
			name = containers[i].name;
		free(text);
	}
	doctor_text(d, DOCTOR_HOST, "container", name ? name : "none",
		    name ? "only its own processes are seen, and its settings are those of the host" : NULL);
}

/* ---- events ---- */

/* Return: 0, or the errno that opening the event for ourselves fails with. */
static int try_event(uint32_t type, uint64_t config, bool kernel)
{
	struct perf_event_attr attr = {
		.type = type, .size = PERF_ATTR_SIZE_VER5, .config = config, .freq = 1, .sample_freq = 99,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, .disabled = 1, .exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

static void add_event(struct doctor *d, const char *key, int error)
{
	if (!error)
		doctor_truth(d, DOCTOR_HOST, key, true, NULL);
	else
		doctor_truth(d, DOCTOR_HOST, key, false, "perf_event_open: %s", strerror(error));
}

/* Counters are units of the processor that the kernel has a driver for. */
static bool has_counters(const struct doctor *d)
{
	return exists(d, "/sys/bus/event_source/devices/cpu") || exists(d, "/sys/bus/event_source/devices/cpu_core") ||
	       exists(d, "/sys/bus/event_source/devices/armv8_pmuv3_0") ||
	       exists(d, "/sys/bus/event_source/devices/armv8_pmuv3");
}

static void add_events(struct doctor *d)
{
	struct permission_request kernel = { .kernel = true }, user = { 0 };

	d->tried = !*d->root;
	if (d->tried) {
		d->clock_error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
		d->kernel_error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true);
		d->cycles_error = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false);
		d->has_counters = !d->cycles_error;
		d->host.events_allowed = !d->clock_error;
		add_event(d, "event_cpu_clock", d->clock_error);
		add_event(d, "event_cpu_clock_kernel", d->kernel_error);
		add_event(d, "event_cycles", d->cycles_error);
	} else {
		d->clock_error = permission_expect(&d->host, &user);
		d->kernel_error = permission_expect(&d->host, &kernel);
		d->has_counters = has_counters(d);
		doctor_truth(d, DOCTOR_HOST, "hardware_counters", d->has_counters, "by /sys; no event is opened below --root");
	}
}

/* ---- what else there is to see ---- */

static void add_kallsyms(struct doctor *d)
{
	size_t len;
	char *text = doctor_read_at(4096, &len, "%s/proc/kallsyms", d->root);
	bool named = text && strspn(text, "0") < strcspn(text, " \n");

	doctor_truth(d, DOCTOR_HOST, "kernel_symbols", named,
		     named ? NULL : "the addresses in /proc/kallsyms cannot be read: frames of the kernel have "
				    "no names");
	free(text);
}

static void add_tracing(struct doctor *d)
{
	bool btf = exists(d, "/sys/kernel/btf/vmlinux");

	d->tracefs = exists(d, "/sys/kernel/tracing/events/sched/sched_switch/id") ||
		     exists(d, "/sys/kernel/debug/tracing/events/sched/sched_switch/id");
	doctor_truth(d, DOCTOR_HOST, "tracefs", d->tracefs,
		     d->tracefs ? NULL : "sched:sched_switch cannot be looked up: not mounted, or for root only");
	doctor_truth(d, DOCTOR_HOST, "btf", btf, btf ? NULL : "bpftrace knows no types of the kernel");
}

/* Servers of debug information, by the distribution's ID in os-release. */
static const char *const servers[][2] = {
	{ "arch", "https://debuginfod.archlinux.org" }, { "debian", "https://debuginfod.debian.net" },
	{ "fedora", "https://debuginfod.fedoraproject.org/" }, { "opensuse", "https://debuginfod.opensuse.org/" },
	{ "ubuntu", "https://debuginfod.ubuntu.com" },
};

/* Return: whether the line ID= of os-release has @id. */
static bool is_distribution(const char *release, const char *id)
{
	for (const char *line = release; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *value = line + 3;

		if (strncmp(line, "ID=", 3))
			continue;
		value += *value == '"';
		return !strncmp(value, id, strlen(id));
	}
	return false;
}

static void add_debuginfod(struct doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	const char *server = NULL;
	size_t len;
	char *release = doctor_read_at(SMALL, &len, "%s/etc/os-release", d->root);

	if (!release)
		release = doctor_read_at(SMALL, &len, "%s/usr/lib/os-release", d->root);
	for (size_t i = 0; release && i < sizeof(servers) / sizeof(*servers); i++) {
		if (is_distribution(release, servers[i][0]))
			server = servers[i][1];
	}
	d->debuginfod = server ? strdup(server) : NULL;
	if (urls && *urls)
		doctor_text(d, DOCTOR_HOST, "debuginfod", urls, NULL);
	else
		doctor_text(d, DOCTOR_HOST, "debuginfod", "not set", server ? "export DEBUGINFOD_URLS=%s fetches debug information when "
									      "it is needed" : NULL,
			    server);
	free(release);
}

/* ---- programs ---- */

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

char *doctor_which(const struct doctor *d, const char *name)
{
	const char *path = getenv("PATH");
	char *at = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin"), *rest = at, *dir, *found = NULL;

	while (at && !found && (dir = strsep(&rest, ":"))) {
		char *below = doctor_format("%s%s/%s", d->root, *dir ? dir : ".", name);

		if (below && is_executable(below))
			found = strdup(below + strlen(d->root));
		free(below);
	}
	free(at);
	return found;
}

/* What the program at @path prints for --version, up to @max bytes of its first line. Return: false without any. */
static bool ask_version(const char *path, char *text, size_t max)
{
	char *argv[] = { (char *)path, (char *)"--version", NULL };
	posix_spawn_file_actions_t actions;
	struct pollfd pollfd;
	ssize_t n = -1;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, path, &actions, NULL, argv, environ))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	pollfd = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	if (pid > 0 && poll(&pollfd, 1, VERSION_WAIT) == 1)
		n = read(fds[0], text, max - 1);
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return *text;
}

static const struct {
	const char *name, *use;
} programs[DOCTOR_NR_PROGRAMS] = {
	[DOCTOR_PERF] = { "perf", "samples of any process" },
	[DOCTOR_FGRECORD] = { "fgrecord", "samples of any process, drawn at once" },
	[DOCTOR_BPFTRACE] = { "bpftrace", "whatever the kernel sees, as root" },
	[DOCTOR_ASPROF] = { "asprof", "async-profiler, for a JVM" },
	[DOCTOR_JCMD] = { "jcmd", "starts JFR in a JVM" },
	[DOCTOR_JAVA] = { "java", NULL },
	[DOCTOR_NODE] = { "node", NULL },
	[DOCTOR_PYSPY] = { "py-spy", "samples of Python" },
	[DOCTOR_GO] = { "go", NULL },
	[DOCTOR_RBSPY] = { "rbspy", "samples of Ruby" },
	[DOCTOR_DOTNET_TRACE] = { "dotnet-trace", "samples of .NET" },
};

static void add_programs(struct doctor *d)
{
	for (size_t i = 0; i < DOCTOR_NR_PROGRAMS; i++) {
		char version[128] = "";
		char *path = d->programs[i] = doctor_which(d, programs[i].name);

		if (path && i == DOCTOR_PERF && !*d->root)
			ask_version(path, version, sizeof(version));
		if (*version)
			doctor_text(d, DOCTOR_PROGRAMS, programs[i].name, path, "%s", version);
		else if (programs[i].use)
			doctor_text(d, DOCTOR_PROGRAMS, programs[i].name, path ? path : "not found", "%s", programs[i].use);
		else
			doctor_text(d, DOCTOR_PROGRAMS, programs[i].name, path ? path : "not found", NULL);
	}
}

void doctor_host(struct doctor *d)
{
	permission_read(&d->host, d->root);
	add_kernel(d);
	add_settings(d);
	add_rights(d);
	add_container(d);
	add_events(d);
	add_kallsyms(d);
	add_tracing(d);
	add_debuginfod(d);
	add_programs(d);
}

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_PERMISSION_H
#define FLAME_TOOLS_PERMISSION_H
/*
 * permission.h - what the host allows a profiler: the settings that decide it, and why an event could not
 * be opened, with the commands that would allow it. Looks and tells; nothing is ever changed.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define PERMISSION_UNKNOWN LONG_MIN	/* of a setting: the kernel has none, or it cannot be read */
#define PERMISSION_REMEDIES 4

/* Bits of permission_host.capabilities, by their numbers in the kernel. */
#define PERMISSION_SYS_PTRACE (1ull << 19)
#define PERMISSION_SYS_ADMIN (1ull << 21)
#define PERMISSION_PERFMON (1ull << 38)
#define PERMISSION_BPF (1ull << 39)

struct permission_host {
	long paranoid;		/* kernel.perf_event_paranoid */
	long kptr_restrict;
	long max_sample_rate;	/* Hz */
	long max_stack;		/* frames of a callchain */
	long mlock_kb;		/* of a user's ring buffers */
	long bpf_disabled;	/* kernel.unprivileged_bpf_disabled */
	long ptrace_scope;	/* of Yama */
	long uid;		/* ours, effective */
	unsigned int version;	/* of Linux: 608 is 6.8; 0: unknown */
	uint64_t capabilities;	/* ours, effective */
	bool user_namespace;	/* then the kernel's own checks pass over our capabilities */
	/* Not read: it was seen that we may open events. Kernels without the highest level pass over it. */
	bool events_allowed;
	bool seccomp;		/* a filter decides on system calls */
	bool no_new_privs;	/* neither sudo nor file capabilities give any */
};

/* What is to be recorded. All zero: user code of a process of one's own. */
struct permission_request {
	bool kernel;		/* also what the kernel does for it */
	bool cpus;		/* all processes of a CPU */
	bool tracepoint;	/* sched:sched_switch and the like */
	bool other_user;	/* a process of another user, or one that is protected (setuid) */
	bool buffer;		/* it is the mmap() of the ring buffer that failed */
	long frequency;		/* Hz; 0: not known */
	const char *program;	/* that opens the events; NULL: perf */
	const char *command;	/* all of what is typed, for sudo; NULL: "PROGRAM ..." */
	bool starts;		/* the command starts the program that is recorded */
};

struct permission_remedy {
	const char *what;	/* a constant string: what the command would do */
	char *command;		/* as typed in a shell */
};

/* Release it with permission_answer_release(). */
struct permission_answer {
	char *why;		/* one line; NULL without memory */
	struct permission_remedy remedies[PERMISSION_REMEDIES];
	unsigned int nr_remedies;	/* the least of the changes first */
};

/* Read the settings. @root: in place of "/", ends without a slash; "" for the host. */
void permission_read(struct permission_host *host, const char *root);
/* Return: whether the kernel's limits for users do not hold for us. */
bool permission_is_privileged(const struct permission_host *host);
/*
 * Return: the errno that perf_event_open() fails with under these settings, 0 where it would go through.
 * What other modules of the kernel (seccomp, SELinux) forbid is not known before it is tried.
 */
int permission_expect(const struct permission_host *host, const struct permission_request *request);
/*
 * Say why perf_event_open() failed with @error, or mmap() of its buffer. Set @answer, whatever @error is: what
 * no setting would allow has no remedies.
 */
void permission_explain(const struct permission_host *host, const struct permission_request *request, int error,
			struct permission_answer *answer);
/* Add a command, put together as by vprintf(); what is beyond PERMISSION_REMEDIES is left out. */
void permission_advise_args(struct permission_answer *answer, const char *what, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
void permission_answer_release(struct permission_answer *answer);

#endif

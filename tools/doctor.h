/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_DOCTOR_H
#define FLAME_TOOLS_DOCTOR_H
/*
 * doctor.h - what fgdoctor finds out, in the order in which it is found: facts about the host and the
 * target (doctor_host.c, doctor_target.c, doctor_file.c), the commands that follow from them (doctor_plan.c), and
 * how all of it is printed (doctor_report.c). Everything is read; nothing is changed.
 */
#include <stdio.h>

#include "../core/framepointer.h"
#include "../core/language.h"
#include "permission.h"

#define DOCTOR_MODULES_MAX 512	/* different files that a process has mapped; later ones are counted */
#define DOCTOR_EXAMINED_MAX 6	/* of these: examined, the largest */
#define DOCTOR_WORDS_MAX 1048576	/* bytes of a command line or an environment */

enum doctor_mark {
	DOCTOR_OK,
	DOCTOR_NOTE,
	DOCTOR_PROBLEM,
};

enum doctor_section {
	DOCTOR_HOST,
	DOCTOR_PROGRAMS,
	DOCTOR_TARGET,
};

enum doctor_type {
	DOCTOR_UNKNOWN,
	DOCTOR_TEXT,
	DOCTOR_NUMBER,
	DOCTOR_TRUTH,
};

struct doctor_fact {
	enum doctor_section section;
	enum doctor_type type;
	const char *key;	/* in JSON, a constant; shown with blanks in place of '_' */
	char *text;		/* owned; of DOCTOR_TEXT */
	long long number;	/* of DOCTOR_NUMBER and DOCTOR_TRUTH */
	char *remark;		/* owned; what it means; NULL: nothing is to be said */
};

struct doctor_finding {
	enum doctor_mark mark;
	char *text;			/* owned */
	struct permission_answer answer;	/* commands that would help; its why is not used */
};

/* A way to record the target: commands that are typed one after the other. */
#define DOCTOR_STEPS 5
struct doctor_plan {
	const char *purpose;		/* "on-cpu", "off-cpu"; constant */
	const char *title;		/* constant */
	char *steps[DOCTOR_STEPS];	/* owned */
	unsigned int nr_steps;
	bool ready;			/* nothing that is known prevents it */
	char *remark;			/* owned; what the result lacks; NULL: nothing is to be said */
	char *missing;			/* owned; what is not installed or not loaded; NULL: nothing */
	struct permission_answer needs;	/* permissions; why is NULL where none are needed */
};

enum doctor_runtime {
	RUNTIME_NATIVE,
	RUNTIME_JVM,
	RUNTIME_NODE,
	RUNTIME_PYTHON,
	RUNTIME_RUBY,
	RUNTIME_DOTNET,
	RUNTIME_GO,
};

/* Programs that record; their paths are in doctor.programs. */
enum doctor_program {
	DOCTOR_PERF, DOCTOR_FGRECORD, DOCTOR_BPFTRACE, DOCTOR_ASPROF, DOCTOR_JCMD, DOCTOR_JAVA, DOCTOR_NODE, DOCTOR_PYSPY,
	DOCTOR_GO, DOCTOR_RBSPY, DOCTOR_DOTNET_TRACE, DOCTOR_NR_PROGRAMS,
};

/* A file with code of the target. */
struct doctor_module {
	char *path;		/* as the target sees it; owned */
	uint64_t mapped;	/* bytes of code in memory */
	bool deleted;		/* is no longer at its path */
	bool examined;
	char *why;		/* it could not be; owned */
	bool symtab, dynsym, mini, debug_info, debug_link, debug_file;
	size_t nr_symbols;
	struct flame_frame_count frames;
	enum flame_language language;
	bool v8;
	char *compiler, *build_id, *package, *debug_package;	/* owned; NULL: unknown */
};

struct doctor_target {
	enum { TARGET_NONE, TARGET_PROCESS, TARGET_PROGRAM } kind;
	long pid;
	const char *name;		/* as it was given */
	char *exe;			/* program's path, as it sees it; owned; NULL: unknown */
	bool is_shimmed;		/* exe is what the shim that was named starts */
	char *script;			/* that the program interprets; owned; NULL: none */
	const char *const *arguments;	/* of a command, with its name; ended by NULL */
	char *words, *environment;	/* of a process, each ended by a NUL; owned */
	size_t words_len, environment_len;
	bool environment_known;
	enum doctor_runtime runtime;
	unsigned int version;		/* of Python: 312 is 3.12; of Java: 17; 0: unknown */
	bool embeds_python;
	bool is_zombie;
	bool other_user, other_pid_namespace, other_mount_namespace;
	long inner_pid;			/* in its own PID namespace */
	bool agent, jitdump, perf_map;
	bool stops;			/* it could not be examined: nothing else is to be said */
	struct doctor_module *modules;
	size_t nr_modules, room_modules, nr_left_out;
	struct doctor_module *main;	/* the one that runs its code; NULL: unknown */
};

struct doctor {
	const char *root;		/* before all paths; "" is the host itself */
	unsigned int frequency, seconds;
	struct permission_host host;
	bool tried;			/* events were really opened */
	int clock_error, kernel_error, cycles_error;	/* errno of each; 0: it went through */
	bool has_counters;
	bool tracefs;			/* sched:sched_switch can be looked up */
	char *programs[DOCTOR_NR_PROGRAMS];	/* owned; NULL: not found */
	char *debuginfod;		/* a server for this distribution; owned; NULL: none is known */
	struct doctor_target target;
	struct doctor_fact *facts;
	size_t nr_facts, room_facts;
	struct doctor_finding *findings;
	size_t nr_findings, room_findings;
	struct doctor_plan *plans;
	size_t nr_plans, room_plans;
	bool no_memory;			/* something is missing from the report */
};

/* ---- doctor_report.c ---- */

/* Add a fact. @text may be NULL: unknown. @remark, a format, may be NULL. Return: the fact, or NULL without memory. */
struct doctor_fact *doctor_text(struct doctor *d, enum doctor_section section, const char *key, const char *text,
				const char *remark, ...) __attribute__((format(printf, 5, 6)));
void doctor_number(struct doctor *d, enum doctor_section section, const char *key, long long number,
		   const char *remark, ...) __attribute__((format(printf, 5, 6)));
void doctor_truth(struct doctor *d, enum doctor_section section, const char *key, bool truth, const char *remark, ...)
	__attribute__((format(printf, 5, 6)));
struct doctor_finding *doctor_find(struct doctor *d, enum doctor_mark mark, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Add a plan without steps. Return: NULL without memory. */
struct doctor_plan *doctor_plan_add(struct doctor *d, const char *purpose, const char *title);
void doctor_step(struct doctor *d, struct doctor_plan *plan, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Add a command that would help with @finding, which may be NULL. */
void doctor_remedy(struct doctor_finding *finding, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Return: whether the target, or without one the host, can be recorded now. */
bool doctor_is_ready(const struct doctor *d);
void doctor_print_text(const struct doctor *d, FILE *out);
void doctor_print_json(const struct doctor *d, FILE *out);
void doctor_release(struct doctor *d);

/* ---- doctor_host.c ---- */

void doctor_host(struct doctor *d);
/* Return: the path of an executable file below the root, as PATH finds @name; to be freed; NULL: none. */
char *doctor_which(const struct doctor *d, const char *name);

/* ---- doctor_target.c ---- */

/* Find and examine what @name is: a pid, a path, or a command. */
void doctor_target(struct doctor *d, const char *name, const char *const *arguments);
/* Return: whether the process was started with @word, or with one that begins so where it ends with '='. */
bool doctor_has_word(const struct doctor_target *t, const char *word);
/* Return: what @variable is in the target's environment; NULL: not set, or unknown. */
const char *doctor_variable(const struct doctor_target *t, const char *variable);

/* ---- doctor_file.c ---- */

/* Examine the file of @m, which is at @path for us. */
void doctor_file(struct doctor *d, struct doctor_module *m, const char *path);
/* Facts about the modules that were examined. */
void doctor_files(struct doctor *d);

/* ---- doctor_plan.c ---- */

void doctor_plan(struct doctor *d);

/* ---- doctor_words.c ---- */

/* Return: @word as a shell reads it, to be freed. */
char *doctor_quote(const char *word);
/* Read a file, at most @max bytes; a NUL is behind them. Return: the bytes, to be freed; NULL with errno. */
char *doctor_read(const char *path, size_t max, size_t *len);
/* The same with a path that is made of @format, and nothing but the text. */
char *doctor_read_at(size_t max, size_t *len, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Return: a text, to be freed; NULL without memory. */
char *doctor_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return: the last part of @path. */
const char *doctor_base(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PERF_PLUGIN_H
#define FLAME_PERF_PLUGIN_H
/*
 * plugin.h - what the rooms of flame.so share. Only dlfilter.c and script.c know perf's interfaces; the others are told what
 * it tells in the structures below, so that they do not depend on its versions.
 *
 *     dlfilter.c   the functions that perf calls for --dlfilter
 *     script.c     the functions that a patched perf calls for -s
 *     plugin.c     options, messages, output
 *     samples.c    samples to stacks
 *     raw.c        registers and copies of stacks in the record that a callchain lies in
 *     unwind.c     callchains from these
 */
#include <linux/perf_event.h>

#include "../../core/cache.h"
#include "../../core/located.h"
#include "../../core/unwind.h"
#include "../../tools/options.h"

/* What is at an address, as perf says. Strings are valid until the next question. */
struct plugin_place {
	const char *symbol;	/* NULL: none is known */
	const char *module;	/* path, or a name such as "[kernel.kallsyms]"; NULL: nothing is mapped there */
	uint64_t address;	/* of files the offset in the file */
	uint64_t offset;	/* from the symbol's start */
	const void *build_id;
	size_t build_id_len;
	bool is_kernel;
};

struct plugin_sample {
	const char *event;
	const char *comm;
	const struct perf_event_attr *attr;
	uint64_t ip, time, addr, id, stream_id, period;
	int32_t pid, tid, cpu;
	unsigned int mode;		/* PERF_RECORD_MISC_CPUMODE_MASK of misc */
	uint16_t misc;
	const uint64_t *chain;		/* NULL: the event has none */
	uint64_t nr_chain;
	const struct perf_branch_entry *branches;
	uint64_t nr_branches;
	const struct flame_user_state *user;	/* registers and copy of the stack; NULL: see plugin_raw_state() */
	/* Ask perf what is at @address in the sample's process. Return: false where nothing is. */
	bool (*resolve)(void *context, uint64_t address, struct plugin_place *place);
	void *context;			/* of resolve */
};

struct plugin_process;

#define PLUGIN_KNOWN 16384	/* places in files that are remembered */

/* A place in a file, asked for in one way. */
struct plugin_known {
	const char *module;	/* as perf says it; compared by where it is */
	uint64_t address;
	uint32_t value;		/* of located frames; 0: not looked up, or not known */
	uint32_t way;		/* 0: free */
};

struct plugin {
	struct tool tool;
	struct flame_reader rd;
	struct flame_diag diag;
	struct flame_profile *profile;
	char **args;		/* the options as a program's */
	int nr_args;

	struct flame_located_symbols symbols[2];	/* without and with inlined functions */
	struct flame_native_namer namer;
	struct flame_cache chains;		/* root, process and addresses: a stack */
	struct plugin_known *known;
	struct flame_located_frames located;
	uint64_t *key;
	size_t room_key;
	flame_frame *leaf_first;		/* frames of the sample at hand */
	size_t nr_leaf_first, room_leaf_first;
	flame_frame *path;
	flame_stack *path_stacks;
	size_t room_path, room_path_stacks;

	struct plugin_process *processes;
	size_t nr_processes, room_processes;
	struct flame_unwind_files *files;

	/* The sample before: samples of one thread come in rows. */
	int32_t last_pid, last_tid;
	char last_comm[32];
	flame_stack last_root;
	flame_task last_task;
	char *last_event;
	flame_type last_type;
	bool last_has_period;

	bool has_start;
	uint64_t start;
	int failed;		/* first failure: what follows is not read */
	uint64_t nr_samples, nr_copies, nr_not_found, nr_not_unwound, nr_cut;
	uint64_t nr_unnamed;	/* addresses in files for which neither perf nor we have a name */
};

/* ---- plugin.c ---- */

/* Return: a plugin that has taken its options, or NULL after printing why not. */
struct plugin *plugin_new(char **args, int nr);
/* Write what was asked for; print what went wrong. Releases @p, which may be NULL. */
void plugin_end(struct plugin *p);

/* ---- samples.c ---- */

/* Return: 0, or a failure that is kept in @p. */
int plugin_sample(struct plugin *p, const struct plugin_sample *s);
/* Return: the row that @place's file has in the symbols; 0 where it is no file. */
flame_module plugin_module(struct plugin *p, int32_t pid, const struct plugin_place *place, bool inlines);
void plugin_samples_report(struct plugin *p);
void plugin_samples_release(struct plugin *p);

/* ---- raw.c ---- */

/*
 * Find what `perf record --call-graph dwarf` stores of a thread in the record behind @s's callchain.
 * @regs: room for FLAME_UNWIND_REGS_MAX values. Return: false where there is none, or it cannot be found for sure.
 */
bool plugin_raw_state(const struct plugin_sample *s, struct flame_user_state *state, uint64_t *regs);

/* ---- unwind.c ---- */

/*
 * The user's part of @s's callchain, from the copy of its stack. Return: how many addresses are in @ips, the
 * innermost first; *@cut: callers are missing.
 */
size_t plugin_unwind(struct plugin *p, const struct plugin_sample *s, uint64_t ips[FLAME_UNWIND_FRAMES_MAX], bool *cut);
void plugin_unwind_release(struct plugin *p);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_H
#define FLAME_H
/*
 * flame.h - profiles of stacks, read from any profiler and written as flame graphs.
 *
 * Everything lives in one profile: tables of strings, frames, stacks and tasks, and the sampled
 * values. Rows of a table are named by 32-bit numbers; row 0 of each table is "none". A row stays
 * valid for the profile's life; a pointer or span into a table does not survive a call that adds a
 * row. Everything goes at once with flame_profile_free().
 *
 * Failure is sticky, as with ferror(3): after the first failure calls that return rows return 0,
 * and flame_sample_add() and flame_profile_error() tell what went wrong.
 *
 * A profile may be used by one thread at a time. Different profiles are independent.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAME_VERSION "0.1.0"

/* What can go wrong. Functions that can fail return 0 or one of these. */
enum flame_err {
	FLAME_OK = 0,
	FLAME_ENOMEM = -1,	/* out of memory */
	FLAME_EIO = -2,		/* the operating system refused; errno tells why */
	FLAME_EFORMAT = -3,	/* the input is not what it should be */
	FLAME_EDAMAGED = -4,	/* the input ends early or is broken; what came before is usable */
	FLAME_EOVERFLOW = -5,	/* a sum does not fit 64 bits, or a table is full */
	FLAME_EEMPTY = -6,	/* the input holds no samples */
	FLAME_EARG = -7,	/* an argument is out of its range */
};

/* Return: a short English sentence for @err (static storage), never NULL. */
const char *flame_strerror(int err);

/* Bytes of somebody else's memory; not terminated by NUL. */
struct flame_span {
	const char *s;
	size_t len;
};

typedef uint32_t flame_string;
typedef uint32_t flame_frame;
typedef uint32_t flame_stack;
typedef uint32_t flame_task;
typedef uint32_t flame_type;

/* What a frame's code is. The folded format writes some of these as `_[k]` and so on. */
enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,		/* _[k] */
	FLAME_INLINED,		/* _[i] inlined by a compiler ahead of time */
	FLAME_JIT,		/* _[j] compiled at run time */
	FLAME_JIT_INLINED,	/* _[i] inlined into compiled-at-run-time code */
	FLAME_INTERPRETED,	/* _[0] */
	FLAME_C1,		/* _[1] compiled by a quick first-tier compiler */
	FLAME_WAKER,		/* _[w] stack of the thread that woke the sampled one */
	FLAME_TASK,		/* a root frame that names a process or thread */
	FLAME_MARKER,		/* separators such as "-" and "--" */
	FLAME_NR_KINDS,
};

#define FLAME_KIND_BIT(kind) (1u << (kind))
#define FLAME_ALL_KINDS ((1u << FLAME_NR_KINDS) - 1)

/* Return: the folded format's annotation of @kind ("_[k]"), "" where there is none. */
const char *flame_kind_suffix(enum flame_kind kind);

/* A frame's parts. Rows 0 and line 0 mean unknown. */
struct flame_frame_info {
	flame_string name;
	flame_string module;	/* DSO, file of the executable code */
	flame_string file;	/* source file */
	uint32_t line;
	enum flame_kind kind;
};

/* A thread. -1 is unknown. */
struct flame_task_info {
	int32_t pid;
	int32_t tid;
	flame_string comm;	/* 0 or "": no name known */
};

/* What may be added up and compared. */
enum flame_value_kind {
	FLAME_VALUE_OTHER,
	FLAME_VALUE_ON_CPU,
	FLAME_VALUE_OFF_CPU,
	FLAME_VALUE_WALL,
	FLAME_VALUE_ALLOCATION,
	FLAME_VALUE_LOCK,
};

/*
 * What a sample's value measures. A value v stands for v / 10^scale units, so that the fractions
 * of folded files stay exact.
 */
struct flame_type_info {
	flame_string name;	/* "cycles", "wall", "alloc_space"; 0: not known */
	flame_string unit;	/* "count", "ns", "bytes"; 0: not known */
	enum flame_value_kind kind;
	uint32_t scale;
};

/*
 * Equal (stack, task, type) are summed on arrival, so memory follows the number of distinct stacks.
 * value is the sum of the samples' weights, nr_samples how many there were.
 */
struct flame_sample {
	flame_stack stack;
	flame_task task;
	flame_type type;
	int64_t value;
	uint64_t nr_samples;
};

/* Root frames made from a sample's task. */
enum flame_root {
	FLAME_ROOT_COMM,	/* comm */
	FLAME_ROOT_NONE,
	FLAME_ROOT_PID,		/* comm-pid */
	FLAME_ROOT_TID,		/* comm-pid/tid */
};

/*
 * What a profile keeps apart. Set once, before the first row; zero initialised it is what folded
 * text needs: frames with equal names are equal.
 */
struct flame_profile_options {
	uint32_t kinds;		/* FLAME_KIND_BIT()s that tell frames of equal name apart; others count as user */
	bool keep_module;	/* frames of equal name in different modules differ */
	bool keep_line;		/* frames of equal name at different file:line differ */
	bool keep_task;		/* samples of different tasks are kept apart */
	bool ordered;		/* keep the order of arrival: only adjacent equal samples are summed */
	bool count;		/* each sample weighs 1, whatever its value */
	bool sums;		/* the input holds sums: nr_samples tells how often a stack stood there, not how often it was sampled */
	enum flame_root root;
};

struct flame_profile;

/* Return: a new, empty profile, or NULL without memory. @options may be NULL; it is copied. */
struct flame_profile *flame_profile_new(const struct flame_profile_options *options);
/* @p may be NULL. */
void flame_profile_free(struct flame_profile *p);
/* Return: 0, or the first failure. */
int flame_profile_error(const struct flame_profile *p);
const struct flame_profile_options *flame_profile_options(const struct flame_profile *p);

/* Return: the row of these bytes; 0 for no bytes, and after a failure. */
flame_string flame_intern(struct flame_profile *p, const char *s, size_t len);
/* Return: the bytes of @row, terminated by a NUL that len does not count; valid until a string is added. */
struct flame_span flame_string_get(const struct flame_profile *p, flame_string row);

/*
 * Return: the row of the frame equal to @info in what the profile keeps apart. What it does not
 * keep apart is taken from the first such frame.
 */
flame_frame flame_frame_row(struct flame_profile *p, const struct flame_frame_info *info);
const struct flame_frame_info *flame_frame_get(const struct flame_profile *p, flame_frame row);
/* Return: the row past the last frame: valid rows are 1 .. nr - 1. */
uint32_t flame_nr_frames(const struct flame_profile *p);

/*
 * Stacks are the call tree: a stack is its caller's stack and a frame. 0 is the empty stack.
 * A caller's row is always below its own.
 * Return: the stack of @frame called by @caller; 0 after a failure.
 */
flame_stack flame_stack_push(struct flame_profile *p, flame_stack caller, flame_frame frame);
/*
 * Push @nr frames, the caller's first, onto @caller; @stacks gets the stack up to each of them.
 * Return: the last one; @caller for no frames; 0 after a failure.
 */
flame_stack flame_stack_push_all(struct flame_profile *p, flame_stack caller, const flame_frame *frames, size_t nr,
				 flame_stack *stacks);
/* A stack to be pushed frame by frame. */
struct flame_path {
	const flame_frame *frames;	/* the root's first */
	flame_stack *stacks;		/* gets the stack up to each frame */
	size_t nr;
	size_t done;			/* frames pushed; 0 at first, but for those whose stacks are known */
	flame_stack root;		/* the stack to push them onto */
	bool probing;			/* 0 at first */
};

/*
 * Push up to FLAME_PATHS paths at once. The same as flame_stack_push_all() one after the other, but
 * while one waits for memory the others go on.
 */
#define FLAME_PATHS 16
void flame_stack_push_paths(struct flame_profile *p, struct flame_path *paths, size_t nr);
flame_stack flame_stack_caller(const struct flame_profile *p, flame_stack row);
flame_frame flame_stack_frame(const struct flame_profile *p, flame_stack row);
/* Return: the row past the last stack. */
uint32_t flame_nr_stacks(const struct flame_profile *p);
/*
 * Most stacks stand in the row behind their caller's. Those that do not are heads, numbered from 0
 * in the order of their rows; a pass over all stacks need only look up these.
 */
uint32_t flame_nr_stack_heads(const struct flame_profile *p);
/* Return: the stack that is head @nr, and its caller in *@caller. */
flame_stack flame_stack_head(const struct flame_profile *p, uint32_t nr, flame_stack *caller);

flame_task flame_task_row(struct flame_profile *p, const struct flame_task_info *info);
const struct flame_task_info *flame_task_get(const struct flame_profile *p, flame_task row);
uint32_t flame_nr_tasks(const struct flame_profile *p);
/* Return: the stack that samples of @task begin with: empty or one root frame, as the options say. */
flame_stack flame_task_root(struct flame_profile *p, const struct flame_task_info *task);

/* Value types are told apart by name. Row 1 is the first seen. Return: the type's row. */
flame_type flame_type_row(struct flame_profile *p, const struct flame_type_info *info);
const struct flame_type_info *flame_type_get(const struct flame_profile *p, flame_type row);
uint32_t flame_nr_types(const struct flame_profile *p);
/*
 * Raise @type's scale to @scale: values so far are multiplied. Scales are at most 18, and less where the sum of the
 * values would not fit. Return: 0, FLAME_ENOMEM or the profile's earlier failure.
 */
int flame_type_rescale(struct flame_profile *p, flame_type type, uint32_t scale);
/* Give both types the larger scale of the two, or the largest that both can have. Return: as flame_type_rescale(). */
int flame_types_align(struct flame_profile *p, flame_type a, flame_type b);
/*
 * The values of @type are put into @unit, of which @ratio (1000) make one of the unit that they are in: they stay what
 * they measure. Return: 0, or FLAME_EOVERFLOW where a value does not fit.
 */
int flame_type_convert(struct flame_profile *p, flame_type type, flame_string unit, int64_t ratio);
/*
 * Samples of type @from become samples of type @into, which takes @from's name where it has none;
 * rows of types behind @from move down by one. Return: 0 or the failure.
 */
int flame_type_join(struct flame_profile *p, flame_type into, flame_type from);

/*
 * Add a sample: @sample->value to the sum of its kind, @sample->nr_samples (0 means 1) to the count.
 * Of sums (options.sums) those that do not fit one row go on in another one.
 * Return: 0, FLAME_EOVERFLOW where a sum would not fit, or the profile's earlier failure.
 */
int flame_sample_add(struct flame_profile *p, const struct flame_sample *sample);
/*
 * The same for samples of one stack and one task whose types all differ: where the stack has none
 * yet, no sums need be looked for.
 */
int flame_samples_add(struct flame_profile *p, const struct flame_sample *samples, size_t nr);
/* About @nr samples will come: large tables are filled faster where that is known. Fewer or more may. */
void flame_samples_expect(struct flame_profile *p, size_t nr);
/* The same for stacks. */
void flame_stacks_expect(struct flame_profile *p, size_t nr);
/*
 * The same for a value at @scale: the type's scale is raised to it, or the value to the type's. Where the sum of all
 * values would not fit with so many digits, the last of them are rounded away.
 */
int flame_sample_add_scaled(struct flame_profile *p, const struct flame_sample *sample, uint32_t scale);
uint32_t flame_nr_samples(const struct flame_profile *p);	/* rows, 0 .. nr - 1 */
const struct flame_sample *flame_sample_get(const struct flame_profile *p, uint32_t row);
/* Return: true where some sample has just this @stack. */
bool flame_stack_has_samples(const struct flame_profile *p, flame_stack stack);
/*
 * What is known of a recording besides its samples. Rows of strings; 0 is unknown everywhere.
 * A converter fills in what its file says, and nothing that it does not say.
 */
struct flame_meta {
	flame_string tool;	/* that recorded, with its version: "perf 6.1.158" */
	flame_string command;	/* the recorder's command line, its arguments apart by blanks */
	flame_string host;
	flame_string runtime;	/* what ran: "OpenJDK 25.0.1", "node v18.20.4" */
	flame_string format;	/* name of the converter that read it */
	flame_string added;	/* events that were added up though they may be unlike: "cycles and off-cpu" */
	uint64_t start_ns;	/* since 1970 */
	uint64_t duration_ns;	/* of the recording, as the recorder says */
	uint64_t first_ns, last_ns;	/* of its samples, by the recorder's clock; flame_meta_time() */
	uint64_t nr_samples;	/* that folded text says are behind its sums, until flame_samples_number() */
	uint64_t throttled;	/* times that sampling was held up because it was too fast */
	uint64_t period;	/* events between two samples, where the recorder counts these */
	uint32_t frequency_hz;	/* that samples were asked for, a CPU or a thread */
	uint32_t depth_max;	/* frames that the recorder keeps of a stack at most */
	uint32_t nr_cpus;	/* of the machine */
	uint64_t late;		/* blocked times whose end was not recorded: they last until the thread's next sample */
	bool copied_stacks;	/* parts of the stack were recorded, to be unwound */
	bool sampled_switches;	/* of the switches of threads, samples were taken: not each is there */
	bool damaged;		/* part of the input could not be read */
};

/* What is known of @p's recording, to be read and filled in; owned by @p. */
struct flame_meta *flame_meta(struct flame_profile *p);
const struct flame_meta *flame_meta_get(const struct flame_profile *p);
/* A sample was taken at @ns. */
void flame_meta_time(struct flame_profile *p, uint64_t ns);
/* Return: how long was recorded, in ns: what the recorder says, or else from the first sample to the last; 0: unknown. */
uint64_t flame_meta_duration(const struct flame_profile *p);
/* Losses that the recorder itself reported. */
void flame_lost_add(struct flame_profile *p, uint64_t nr);
uint64_t flame_lost(const struct flame_profile *p);

/*
 * Add everything of @from to @p, in @from's order. Types meet by name, and share the larger scale.
 * Return: 0 or the failure; @p is then unusable.
 */
int flame_profile_merge(struct flame_profile *p, const struct flame_profile *from);

#ifdef __cplusplus
}
#endif
#endif

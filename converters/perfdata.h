/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PERFDATA_H
#define FLAME_PERFDATA_H
/*
 * perfdata.h - what the rooms of the perf.data reader share:
 *
 *     perfdata.c         layouts: file, pipe, directory; the loop over all records
 *     perfdata_attr.c    events: their attributes, ids and names
 *     perfdata_stream.c  records one after the other, unpacked and in the order of their times
 *     perfdata_sample.c  the fields of a sample
 *     perfdata_task.c    processes, threads and what they have mapped
 *     perfdata_place.c   roots and mount namespaces of processes
 *     perfdata_stack.c   callchains to stacks
 *     perfdata_unwind.c  callchains from copies of stacks
 *     perfdata_jit.c     names of compiled code, from the dumps of its compilers
 *     perfdata_defer.c   samples whose user callchain comes later
 *     perfdata_switch.c  off-CPU time
 *     perfdata_live.c    the same from the kernel's buffers, without a file
 */
#include <byteswap.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/located.h"
#include "../core/table.h"
#include "../core/tracepoint.h"
#include "../core/unwind.h"
#include "../core/unzstd.h"

/* Limits, reported with their names where they are met. */
#define PERFDATA_EVENTS_MAX 16384
#define PERFDATA_IDS_MAX 16777216
#define PERFDATA_SECTION_MAX ((uint64_t)64 << 20)	/* bytes of a header section that is read whole */
#define PERFDATA_FILES_MAX 512				/* of a directory */
#define PERFDATA_MAPS_MAX 65536				/* mappings of a process; the kernel's own limit is 65530 */
#define PERFDATA_CHAIN_MAX 8192				/* entries of a callchain: more than any record holds */
#define PERFDATA_WINDOW_MAX ((size_t)48 << 20)		/* bytes of records that wait to be put in order */
#define PERFDATA_MODULES_MAX 1048576
#define PERFDATA_UNWINDERS 64				/* processes whose files stay open at once */
#define PERFDATA_DEFERRED_MAX ((size_t)16 << 20)	/* bytes of callchains that wait for their user's part */

enum perfdata_record_type {
	PERFDATA_MMAP = 1, PERFDATA_LOST = 2, PERFDATA_COMM = 3, PERFDATA_EXIT = 4, PERFDATA_THROTTLE = 5,
	PERFDATA_FORK = 7, PERFDATA_SAMPLE = 9, PERFDATA_MMAP2 = 10, PERFDATA_LOST_SAMPLES = 13, PERFDATA_SWITCH = 14,
	PERFDATA_SWITCH_CPU_WIDE = 15, PERFDATA_NAMESPACES = 16, PERFDATA_KSYMBOL = 17, PERFDATA_CALLCHAIN_DEFERRED = 22,
	PERFDATA_KERNEL_TYPES = 23,	/* types from here to USER_TYPES are not known */
	PERFDATA_USER_TYPES = 64,
	PERFDATA_HEADER_ATTR = 64, PERFDATA_HEADER_TRACING = 66, PERFDATA_HEADER_BUILD_ID = 67,
	PERFDATA_FINISHED_ROUND = 68, PERFDATA_AUXTRACE = 71, PERFDATA_EVENT_UPDATE = 78, PERFDATA_HEADER_FEATURE = 80,
	PERFDATA_COMPRESSED = 81, PERFDATA_FINISHED_INIT = 82, PERFDATA_COMPRESSED2 = 83, PERFDATA_USER_TYPES_END = 87,
};

/* Sections of the header, by their bits. */
enum perfdata_feature {
	PERFDATA_TRACING_DATA = 1, PERFDATA_BUILD_ID = 2, PERFDATA_HOSTNAME = 3, PERFDATA_OSRELEASE = 4,
	PERFDATA_VERSION = 5, PERFDATA_ARCH = 6, PERFDATA_NRCPUS = 7, PERFDATA_CMDLINE = 11, PERFDATA_EVENT_DESC = 12,
	PERFDATA_DIR_FORMAT = 24, PERFDATA_FEATURES_KNOWN = 35, PERFDATA_FEATURES = 256,
};

/* Bits of sample_type. */
enum {
	PERFDATA_IP = 1 << 0, PERFDATA_TID = 1 << 1, PERFDATA_TIME = 1 << 2, PERFDATA_ADDR = 1 << 3,
	PERFDATA_READ = 1 << 4, PERFDATA_CALLCHAIN = 1 << 5, PERFDATA_ID = 1 << 6, PERFDATA_CPU = 1 << 7,
	PERFDATA_PERIOD = 1 << 8, PERFDATA_STREAM_ID = 1 << 9, PERFDATA_RAW = 1 << 10, PERFDATA_BRANCHES = 1 << 11,
	PERFDATA_REGS_USER = 1 << 12, PERFDATA_STACK_USER = 1 << 13, PERFDATA_IDENTIFIER = 1 << 16,
};

/* Bits of read_format. */
enum {
	PERFDATA_READ_ENABLED = 1, PERFDATA_READ_RUNNING = 2, PERFDATA_READ_ID = 4, PERFDATA_READ_GROUP = 8,
	PERFDATA_READ_LOST = 16,
};

/* Bits of an attribute's flags. */
#define PERFDATA_EXCLUDE_USER (1ull << 4)
#define PERFDATA_EXCLUDE_KERNEL (1ull << 5)
#define PERFDATA_EXCLUDE_HV (1ull << 6)
#define PERFDATA_FREQ (1ull << 10)
#define PERFDATA_SAMPLE_ID_ALL (1ull << 18)
#define PERFDATA_EXCLUDE_HOST (1ull << 19)
#define PERFDATA_EXCLUDE_GUEST (1ull << 20)

/* Bits of a record's misc. */
#define PERFDATA_MISC_CPUMODE 7
#define PERFDATA_MISC_MMAP_DATA (1 << 13)
#define PERFDATA_MISC_COMM_EXEC (1 << 13)
#define PERFDATA_MISC_SWITCH_OUT (1 << 13)
#define PERFDATA_MISC_SWITCH_PREEMPT (1 << 14)
#define PERFDATA_MISC_MMAP_BUILD_ID (1 << 14)
#define PERFDATA_MISC_BUILD_ID_SIZE (1 << 15)

enum perfdata_mode { PERFDATA_MODE_KERNEL = 1, PERFDATA_MODE_USER = 2, PERFDATA_MODE_OTHER = 3 };

/* An event: struct perf_event_attr and what is known of it. */
struct perfdata_attr {
	uint32_t type, stack_user;
	uint64_t config, sample_type, read_format, flags, branch_type, regs_user;
	uint64_t period;	/* fixed one; 0 where perf adapted it to a frequency */
	uint64_t frequency;	/* that one, or 0 */
	uint16_t depth_max;	/* entries of a callchain; 0: the kernel's default */
	unsigned int precise;
	uint32_t id_at;		/* where its id stands in a sample; UINT32_MAX: nowhere */
	uint32_t tail;		/* bytes of the sample_id behind other records; 0: none */
	uint32_t tail_id, tail_time;	/* where id and time stand from the record's end; 0: nowhere */
	char *name;		/* owned; NULL: not told, and made up at the first sample */
	flame_type value;	/* 0: no sample yet */
	bool is_switch;		/* sched:sched_switch */
};

struct perfdata_id {
	uint64_t id;
	uint64_t last;		/* value that the group's counter had, for PERFDATA_READ */
	uint32_t attr;
};

struct perfdata_attrs {
	struct perfdata_attr *attrs;
	size_t nr_attrs, room_attrs;
	struct perfdata_id *ids;	/* row 0 is none */
	size_t nr_ids, room_ids;
	struct index index;		/* of ids */
};

/* One record, in one piece. */
struct perfdata_record {
	const char *data;
	uint32_t type;
	uint16_t misc;
	size_t size;
	uint64_t offset;	/* of it, or of the record that it was packed in */
};

/* A record that waits for those that come late. */
struct perfdata_waiting {
	uint64_t time;
	size_t at;		/* in its round's bytes */
	uint32_t round;		/* 0 or 1 */
};

struct perfdata_round {
	char *bytes;
	size_t nr, room;
};

/* One file's records. */
struct perfdata_stream {
	struct flame_input *in;
	struct flame_input own;		/* what @in is, where it is not the reader's */
	bool owns;
	const struct perfdata *pd;
	/* Unpacking. */
	struct flame_zstd *zstd;
	char *unpacked;
	size_t unpacked_pos, unpacked_end, unpacked_room;
	char *packed;			/* what of a packed record is not unpacked yet */
	size_t packed_pos, packed_end, packed_room;
	bool packed_full;		/* the decoder holds more than there was room for */
	uint64_t offset;		/* of the record at hand */
	/* Putting in order. */
	struct perfdata_waiting *waiting, *spare;
	size_t nr_waiting, nr_sorted, room_waiting, room_spare;
	size_t next, ready;
	struct perfdata_round rounds[2];
	uint32_t round;
	uint64_t newest, newest_before;	/* time of the newest record; at the end of the round before */
	size_t window;			/* most bytes of a round */
	bool ended;
	uint64_t nr_forced;		/* rounds that were ended because the window was full */
	/* The record that is next of this stream, where several are merged. */
	struct perfdata_record head;
	uint64_t head_time;
	bool has_head;
};

/* Fields of a sample; pointers are into its record, of its byte order. */
struct perfdata_sample {
	struct perfdata_attr *attr;
	struct perfdata_id *id;		/* NULL: not told */
	uint64_t ip, time, period;
	uint64_t event_id;		/* as it was recorded; 0: not told */
	uint32_t cpu;
	int32_t pid, tid;
	unsigned int mode;
	const char *read, *read_end;
	const char *chain;
	uint64_t nr_chain;
	const char *raw;
	uint32_t raw_len;
	const char *branches;
	uint64_t nr_branches;
	uint64_t regs_abi;
	const char *regs;
	uint32_t nr_regs;
	const char *stack;
	uint64_t stack_size, stack_used;
	bool has_time, has_chain, has_stack, has_read;
};

/* Code of a file, of the kernel or of a JIT compiler. */
struct perfdata_module {
	char *name;		/* owned: as perf prints it */
	enum flame_module_kind kind;
	bool is_symbol;		/* it is one function, and its name the symbol */
	uint64_t reference;	/* KERNEL: address of the symbol that the recording names; 0: none */
	char *reference_name;	/* owned, as name */
	uint32_t hash;
	unsigned char build_id[20];
	uint8_t build_id_len;
	int32_t pid;		/* 0: the same in all processes */
	int32_t ns_pid;		/* PERF_MAP: its pid in its own namespace; 0: not known */
	bool elsewhere;		/* FILE: what is at this path here is another file */
	flame_module symbols[2];	/* row in each of the symbols; 0: not looked up yet */
};

struct perfdata_map {
	uint64_t start, end;
	uint64_t offset;	/* what start is in the module */
	uint32_t module;
};

/* Shared by processes that were forked until one of them changes it. */
struct perfdata_maps {
	uint32_t refs;
	uint32_t version;	/* no two states of any have the same */
	uint32_t files;		/* the same of the files among them, which are what unwinding needs */
	struct perfdata_map *maps;	/* by start; never overlap */
	size_t nr, room;
};

struct perfdata_process {
	int32_t pid;
	bool exited;
	bool is_wanted;			/* see perfdata_live_only() */
	struct perfdata_maps *maps;	/* NULL: nothing mapped */
	struct flame_unwind *unwind;	/* NULL: nothing unwound yet */
	uint32_t unwind_files;		/* what of maps it knows */
	uint32_t place;			/* where its files are; 0: not looked at yet */
	uint64_t mount_ns;		/* as a record says; 0: none does */
};

struct perfdata_thread {
	int32_t tid, pid;
	uint32_t birth;		/* no other thread of this id has the same */
	flame_string comm;	/* 0: not known */
	flame_stack root;
	flame_task task;
	bool has_root;
	bool exited;
	/* Off-CPU time. */
	bool is_out;
	uint64_t out_time;
	flame_stack out_stack;
	flame_type out_type;
	/* Samples whose user part comes later. */
	uint32_t deferred;	/* row of the newest; 0: none */
};

/* What a JIT compiler wrote of its code. */
struct perfdata_dump {
	int32_t pid;
	char *path;	/* owned */
};

struct perfdata_tasks {
	struct perfdata_process *processes;	/* row 0 is none */
	size_t nr_processes, room_processes;
	struct index process_index;
	struct perfdata_thread *threads;	/* row 0 is none */
	size_t nr_threads, room_threads;
	struct index thread_index;
	struct perfdata_module *modules;	/* row 0 is none */
	size_t nr_modules, room_modules;
	struct index module_index;
	struct perfdata_maps kernel;
	uint32_t *unwinding;	/* a ring of processes with an unwinder */
	size_t nr_unwinding;
	struct flame_unwind_files *unwind_files;
	uint32_t versions;
	struct perfdata_place *places;
	size_t nr_places, room_places;
	uint64_t mount_ns;	/* that of who recorded; 0: not known */
	bool is_own_ns;		/* it is ours */
	uint32_t nr_births;
	uint32_t *exited;	/* a ring of processes */
	size_t nr_exited;
	struct perfdata_dump *dumps;
	size_t nr_dumps, room_dumps;
	bool too_many_maps, too_many_modules;
};

/* A sample that waits for its user callchain. */
struct perfdata_deferred {
	uint32_t next;		/* of the same thread, older; 0: none */
	uint64_t cookie;
	flame_type type;
	uint64_t value;
	uint64_t *chain;	/* owned: the kernel's part */
	size_t nr;
};

/* What the header says of a file's code. */
struct perfdata_build_id {
	unsigned char id[20];
	uint8_t len;
};

struct perfdata_live;

struct perfdata {
	struct flame_reader *rd;
	struct perfdata_live *live;	/* NULL: the records are those of a file */
	bool swapped;		/* the other byte order */
	bool big_endian;	/* the recording's */
	bool pipe;
	struct perfdata_attrs events;
	struct perfdata_build_id *build_ids;
	size_t nr_build_ids, room_build_ids;
	struct flame_cache build_id_names;	/* value: a build-id's index */
	char arch[32], host[64], release[64];	/* "": not told */
	struct flame_located_symbols symbols[2];	/* without and with inlined functions; made at the first address */
	struct flame_tracepoints *tracepoints;
	struct perfdata_tasks tasks;
	struct perfdata_stream *streams;
	size_t nr_streams;
	int *files;		/* of a directory, open */
	size_t nr_files;
	int spool;		/* file that a piped recording was written to; -1: none */

	/* Stacks. */
	struct flame_native_namer namer;
	struct flame_cache chains;	/* root, maps, kernel and addresses: a stack */
	struct flame_located_frames located;
	uint64_t *key;			/* of a chain */
	size_t room_key;
	flame_frame *frames;		/* of the sample at hand, leaf first */
	size_t nr_frames, room_frames;
	flame_frame *path;
	flame_stack *path_stacks;
	/* Of a live recording: stacks whose callers lie outside of all code. */
	bool *outside;		/* by stack */
	size_t room_outside, most_outside;
	uint64_t nr_outside;
	size_t room_path, room_path_stacks;

	struct perfdata_deferred *deferred;	/* row 0 is none; free ones are linked through next */
	size_t nr_deferred, room_deferred;
	uint32_t free_deferred;
	size_t deferred_bytes;		/* of their chains */

	/* What was met. */
	bool has_start;
	uint64_t start;		/* time of the first sample */
	uint64_t first, last;	/* times of the samples that are used; 0: none yet */
	uint64_t last_time;	/* of the last record that was used */
	bool machine_asked, this_machine;	/* see perfdata_is_this_machine() */
	uint64_t nr_late, nr_throttled, nr_unknown_types, nr_unwound, nr_unwound_cut, nr_not_unwound, nr_aux, nr_no_user_chain;
	uint64_t nr_guessed;	/* blocked times whose end was not recorded */
	uint64_t nr_switches, nr_ended;
	uint32_t unknown_type;
	size_t nr_unknown_features;
	bool any_deep, any_sched, any_switch;
	bool cut;		/* the recording was not finished */
};

static inline uint16_t perfdata_u16(const struct perfdata *pd, const char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swapped ? bswap_16(v) : v;
}

static inline uint32_t perfdata_u32(const struct perfdata *pd, const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swapped ? bswap_32(v) : v;
}

static inline uint64_t perfdata_u64(const struct perfdata *pd, const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swapped ? bswap_64(v) : v;
}

/* ---- perfdata_attr.c ---- */

/* Add the event that @attr describes in @len bytes, and its @nr_ids ids. Return: 0, or after flame_fail(). */
int perfdata_attr_add(struct perfdata *pd, struct flame_span attr, const char *ids, size_t nr_ids);
/* The section of the header with the events' names. Return: false where it is damaged. */
bool perfdata_attr_names(struct perfdata *pd, struct flame_span section);
/* A record with a name for an event. */
void perfdata_attr_update(struct perfdata *pd, const struct perfdata_record *r);
/* Return: the id's row, or NULL. */
struct perfdata_id *perfdata_id_find(const struct perfdata *pd, uint64_t id);
/* Return: the event of a record that is no sample, or NULL where there are no events. */
struct perfdata_attr *perfdata_attr_of_tail(const struct perfdata *pd, const struct perfdata_record *r);
/* Return: the type of @attr's samples; makes it. */
flame_type perfdata_attr_type(struct perfdata *pd, struct perfdata_attr *attr);
void perfdata_attrs_release(struct perfdata *pd);

/* Keep what the section or record says of a file: "header, pid, build-id, name". Return: false without memory. */
bool perfdata_build_id_add(struct perfdata *pd, const char *record, size_t size);

/* ---- perfdata_stream.c ---- */

int perfdata_stream_open(struct perfdata_stream *s, const struct perfdata *pd, struct flame_input *in, size_t window);
void perfdata_stream_release(struct perfdata_stream *s);
/*
 * The next record in the order of time; @r is valid until the next call. User-space records come as
 * they stand. Return: 1, 0 at the end, negative after flame_fail().
 */
int perfdata_stream_next(struct perfdata_stream *s, struct perfdata_record *r, uint64_t *time);
/* Return: the bytes of a record with @type's extra bytes behind it, such as tracing data; fewer where it is cut. */
struct flame_span perfdata_stream_behind(struct perfdata_stream *s, size_t len);
void perfdata_stream_skip(struct perfdata_stream *s, uint64_t len);
/*
 * Without an input: put in the record that stands at @data, with its time. Take what is ready before the
 * next is put in. Return: 0 or FLAME_ENOMEM.
 */
int perfdata_stream_put(struct perfdata_stream *s, const char *data, size_t size, uint64_t time);
/* All buffers were read once more; @last: for the last time. Return: 0 or FLAME_ENOMEM. */
int perfdata_stream_round(struct perfdata_stream *s, bool last);
/* Return: true with the next record that is ready. */
bool perfdata_stream_take(struct perfdata_stream *s, struct perfdata_record *r, uint64_t *time);

/* ---- perfdata_sample.c ---- */

/* Return: NULL, or why the sample cannot be used. */
const char *perfdata_sample_parse(const struct perfdata *pd, const struct perfdata_record *r,
				  struct perfdata_sample *s);
/* Return: the time of @r, 0 where it has none. */
uint64_t perfdata_time(const struct perfdata *pd, const struct perfdata_record *r);
/* The thread that a record that is no sample says it belongs to; -1: unknown. */
int32_t perfdata_tail_tid(const struct perfdata *pd, const struct perfdata_record *r);

/* ---- perfdata_task.c ---- */

int perfdata_tasks_init(struct perfdata *pd);
void perfdata_tasks_release(struct perfdata *pd);
/* MMAP, MMAP2, COMM, FORK, EXIT, NAMESPACES, KSYMBOL. Return: 0 or FLAME_ENOMEM, or after flame_skip(). */
int perfdata_task_record(struct perfdata *pd, const struct perfdata_record *r);
/* Forget what has exited, but for processes of which late samples may come: rows change. Return: false without memory. */
bool perfdata_tasks_forget(struct perfdata *pd);
/* Return: the thread's row; 0 without memory. */
uint32_t perfdata_thread_row(struct perfdata *pd, int32_t pid, int32_t tid);
/* Return: what @pid has mapped; NULL: nothing. */
const struct perfdata_maps *perfdata_maps_of(struct perfdata *pd, int32_t pid);
/* Return: the process's row, which may be new; 0 without memory. */
uint32_t perfdata_process_row(struct perfdata_tasks *t, int32_t pid);
/* Return: the process's row; 0: not known. */
uint32_t perfdata_process_find(const struct perfdata_tasks *t, int32_t pid);
/* Return: the mapping that holds @address, or NULL. */
const struct perfdata_map *perfdata_map_find(const struct perfdata_maps *maps, uint64_t address);
/* The stack that samples of the thread begin with. */
flame_stack perfdata_thread_root(struct perfdata *pd, uint32_t thread);

/* ---- perfdata_place.c ---- */

/* A record of what namespaces a process is in. Return: 0 or FLAME_ENOMEM, or after flame_skip(). */
int perfdata_namespaces(struct perfdata *pd, const struct perfdata_record *r);
/* Return: whether @pid was recorded in another mount namespace than who recorded, or than ours. */
bool perfdata_is_elsewhere(struct perfdata *pd, int32_t pid);
/* Return: a process whose /proc/PID/root is the root of @pid's files; 0: it is ours, or cannot be seen. */
int32_t perfdata_root(struct perfdata *pd, int32_t pid);
/* Return: @pid, which lives, in its own namespace; 0: not known. */
int32_t perfdata_ns_pid(int32_t pid);
/* Return: whether the file at the module's path here has its build-id. */
bool perfdata_is_file_here(const struct perfdata_module *m);

/* ---- perfdata_stack.c ---- */

/* The recording is this machine's if its names are, and its kernel has run ever since. */
bool perfdata_is_this_machine(struct perfdata *pd);
int perfdata_stack_init(struct perfdata *pd);
void perfdata_stack_release(struct perfdata *pd);
/* In front of the addresses in pd->key stands what else tells stacks apart. */
#define PERFDATA_KEY_HEAD 3
#define PERFDATA_MARKER_USER ((uint64_t)-512)
#define PERFDATA_MARKER_USER_DEFERRED ((uint64_t)-640)

/* Return: pd->key with room for @nr addresses and markers; NULL without memory. */
uint64_t *perfdata_chain_key(struct perfdata *pd, size_t nr);
/* The stack of the @nr addresses and markers in pd->key. Return: 0, or a failure. */
int perfdata_stack_of_key(struct perfdata *pd, size_t nr, uint32_t thread, flame_stack *stack);
/* Return: 0 with the sample's stack, or a failure. */
int perfdata_stack_of(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_stack *stack);

/* The frames of @address in @module, innermost first, in pd->frames. Return: false after a failure. */
bool perfdata_address_frames(struct perfdata *pd, uint32_t module, uint64_t address, bool is_caller);
/* Return: the module's row in the symbols with or without inlined functions; 0 without memory. */
flame_module perfdata_module_symbols(struct perfdata *pd, uint32_t module, bool inlines);
void perfdata_stack_notes(struct perfdata *pd);
/* A sample has @stack: it counts among those whose callers lie outside of all code, where they do. */
void perfdata_stack_count(struct perfdata *pd, flame_stack stack);
/* What had no place among the mappings. */
void perfdata_task_notes(struct perfdata *pd);

/* ---- perfdata_unwind.c ---- */

/*
 * The user's part of a sample's callchain, from the copy of its stack. Return: how many addresses are in
 * @ips, the innermost first; *@cut: callers are missing.
 */
size_t perfdata_unwind(struct perfdata *pd, const struct perfdata_sample *s, int32_t pid,
		       uint64_t ips[FLAME_UNWIND_FRAMES_MAX], bool *cut);
void perfdata_unwind_notes(struct perfdata *pd);

/* ---- perfdata_jit.c ---- */

/* @pid has mapped the file at @path: remember it if it is a dump. Return: false without memory. */
bool perfdata_jit_note(struct perfdata *pd, int32_t pid, const char *path);
/* Name the code of @pid in its PERF_MAP module @module. Return: 0 or FLAME_ENOMEM. */
int perfdata_jit_symbols(struct perfdata *pd, int32_t pid, struct flame_symbols *symbols, flame_module module);
void perfdata_jit_release(struct perfdata *pd);

/* ---- perfdata_defer.c ---- */

/* Return: true where the user's part of the callchain comes in a record of its own. */
bool perfdata_is_deferred(const struct perfdata *pd, const struct perfdata_sample *s);
/* Keep a sample until that comes. Return: 0, or a failure. */
int perfdata_defer(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_type type);
/* The record with a user callchain: add the samples that waited for it. Return: 0, or a failure. */
int perfdata_defer_end(struct perfdata *pd, const struct perfdata_record *r);
/* Add the samples for which none came. Return: 0, or a failure. */
int perfdata_defer_flush(struct perfdata *pd);
void perfdata_defer_release(struct perfdata *pd);

/* ---- perfdata.c ---- */

/* A record of the kernel's, in its turn. Return: 0, or a failure. */
int perfdata_record(struct perfdata *pd, const struct perfdata_record *r, uint64_t time);
int perfdata_sample_add(struct perfdata *pd, flame_type type, uint64_t value, flame_stack stack, flame_task task);

/* ---- perfdata_switch.c ---- */

/* A sample of sched_switch with its stack. Return: 0, or a failure. */
int perfdata_switch_out(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_stack stack);
/* The thread is seen running at @time; @is_switch: it was switched in just then. Return: 0, or a failure. */
int perfdata_switch_in(struct perfdata *pd, uint32_t thread, uint64_t time, bool is_switch);
void perfdata_switch_notes(struct perfdata *pd);
/* Make both types, time that threads were blocked first. */
void perfdata_switch_types(struct perfdata *pd);

/* ---- perfdata_live.c ---- */

/*
 * A frame for code that a JIT compiler has not named yet, to be filled in at the end.
 * Return: its row; 0 after a failure.
 */
flame_frame perfdata_live_hole(struct perfdata *pd, uint32_t module, uint64_t address, bool is_caller);
/* Return: whether the sample is of what is recorded, and not one that another event has taken too. */
bool perfdata_live_wants(struct perfdata *pd, struct perfdata_sample *s);

#endif

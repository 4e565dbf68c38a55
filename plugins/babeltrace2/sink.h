/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BT2_SINK_H
#define FLAME_BT2_SINK_H
/*
 * sink.h - what the rooms of the plugin share. Events come in one by one (sink.c); each kind of
 * event class has roles, found once (classes.c); the rooms of the roles (calls.c, samples.c,
 * offcpu.c, spans.c, maps.c) turn them into values of stacks; at the end the addresses in the
 * stacks get names (names.c) and the files are written (output.c).
 *
 * While events come in, a stack is a row of @raw, whose frames are texts or addresses, and values
 * lie in arrays by that row: memory follows the number of distinct stacks.
 */
#include <babeltrace2/babeltrace.h>
#include <stdarg.h>
#include <string.h>

#include "../../core/cache.h"
#include "../../core/flame.h"
#include "../../core/symbol.h"
#include "fields.h"
#include "params.h"

/* Frames that one thread may have open; what is called deeper is not shown, and counted. */
#define BT2_DEPTH_MAX 4096
/* Addresses in one recorded stack; the rest towards the root is cut off, and counted. */
#define BT2_CHAIN_MAX 4096
/* Mappings of one process; more are not used, and counted. */
#define BT2_MAPS_MAX 16384
/* Mappings in images that are copies of others; later ones change the image that there is, which is counted. */
#define BT2_COPIED_MAX ((size_t)1 << 20)

/* Events that are handled together; babeltrace2 hands over up to 15 messages at a time. */
#define EVENTS_AT_ONCE 16

/* Times that a process becomes another program; more are not followed, and counted: they are several with one id. */
#define BT2_EXECS_MAX 1024

/* Roles of an event class. */
enum role {
	ROLE_CALL_ENTRY = 1 << 0,
	ROLE_CALL_EXIT = 1 << 1,
	ROLE_SAMPLE = 1 << 2,
	ROLE_SWITCH = 1 << 3,
	ROLE_SPAN_BEGIN = 1 << 4,
	ROLE_SPAN_END = 1 << 5,
	ROLE_MAPS = 1 << 6,
	ROLE_CALLBACK_NAME = 1 << 7,
	ROLE_LIFE = 1 << 8,	/* it tells of a thread that begins or ends */
};

struct sink;
struct event_class;

/* One event at hand. */
struct event {
	const bt_event *event;
	struct event_class *class;
	struct trace *trace;
	int64_t time;		/* ns from the clock's origin; 0 where the stream has no clock */
	int32_t pid, tid;	/* -1: not known */
	uint64_t address;	/* of a call */
	uint64_t site;		/* where it was called; 0: not known */
	bool has_address;
};

struct tally {
	int64_t value;
	uint64_t nr;
};

/* Values of stacks that may be added up: a value type to be. */
struct series {
	char *name;		/* owned */
	const char *unit;	/* "ns" or "count" */
	const char *about;	/* for the subtitle */
	const char *what;	/* what is counted: "calls", "samples" */
	enum flame_value_kind kind;
	int rank;		/* the lowest that has samples is the default */
	uint64_t order;		/* of one rank, the lowest: as the trace lists its events */
	struct tally *tallies;	/* by row of the stack */
	size_t room;
	/* Known at the end, by series_sum(). */
	uint64_t nr;		/* samples in all */
	bool used;		/* some stack has a value or a count */
};

typedef void (*maps_handler)(struct sink *s, const struct event *ev);

/* What is known of an event class; found when its first event comes. */
struct event_class {
	/* What every event needs is together. */
	const bt_event_class *class;	/* a reference is held */
	unsigned int roles;
	bool has_clock;
	bool plain;		/* it has a clock, a process and a thread, where those of tracers are; or it has no role */
	bool contexts;		/* @comm or @pthread is there */
	bool call_entry, call_address;		/* it is an entry; it is a call, and has that */
	bool call_plain;			/* a call that nests in the thread's root */
	struct ids ids;
	struct field address, site;		/* of a call */
	struct field comm, pthread, ip, cpu, debug_info;
	char *name;		/* with its namespace; owned; NULL: it has none */
	struct field kernel_chain, user_chain;	/* of a sample; perf's has both kinds in one */
	struct field weight;
	bool perf_chain;
	struct series *series;			/* of its samples */
	struct field prev_tid, prev_comm, prev_state, next_tid;
	flame_string span, span_name;	/* the pair that it begins; what that is called */
	flame_string span_ended;	/* the pair that it ends */
	struct field span_text, callback;	/* of a span */
	maps_handler maps;			/* or of ROLE_LIFE */
	struct field f[6];			/* that the handler needs */
};

struct trace {
	const bt_trace *trace;	/* a reference is held */
	uint32_t host;		/* number of its host name */
	int32_t pid;		/* of all its events (buffers by process); -1: not known */
	char *comm;		/* owned; NULL: not known */
	char *hostname;		/* owned; NULL: not known */
	char *tool;		/* that recorded, "lttng-ust 2.13"; owned; NULL: not known */
	bool keeps_names;	/* the tool reads a thread's name once: another name is another thread's */
	char *program;		/* of all its events, by name and start; owned; NULL: not known */
	uint32_t losses;	/* times that events of it were lost */
	struct trace *first;	/* of this host: its losses count those of all */
	uint32_t host_losses;
};

/* Something mapped into a process. */
struct mapping {
	uint64_t start, end;	/* end 0: up to the next one */
	flame_string path;
	uint8_t build_id[FLAME_BUILD_ID_MAX];
	uint8_t nr_build_id;
	bool linked;		/* addresses, or with @moved address - start, are what the file was linked at */
	bool moved;
};

/* A function that was called, by its address and its caller's stack. */
struct call {
	uint64_t address;
	flame_stack caller, stack;
	struct tally tally;	/* added to the series of calls at the end */
};

/* What a process has mapped during some part of its life; addresses belong to one of these. */
struct image {
	uint32_t id;
	uint32_t users;		/* processes that have it now */
	struct mapping *maps;	/* sorted by start */
	size_t nr, room;
	struct call *calls;	/* at most five eighths of them are used */
	uint32_t *call_hashes;	/* of each */
	uint32_t calls_mask, nr_calls;
};

struct process {
	uint32_t host;
	int32_t pid;
	struct image *image;
	int64_t dumper;		/* thread that told the mappings; -1: none has */
	uint32_t exec;		/* how often it has become another program; each begins with another image */
	const char *program;	/* of the trace that it was last seen in; NULL: not known */
};

/* A call or span that is open. What it has itself goes to its series when it is closed. */
struct open_frame {
	uint64_t key;		/* address, or the pair's row */
	uint64_t site;		/* of a call; 0: not known */
	int64_t value;
	flame_stack stack;	/* of a call: 0 while it is not known */
	uint32_t hash : 31;	/* of a call: of its address and those of its callers */
	uint32_t counts : 1;	/* it began in the window */
};

struct open_frames {
	struct open_frame *frames;	/* there is one below the first, too, and one behind the last that has room */
	uint32_t nr, room;
	uint32_t too_deep;	/* open beyond BT2_DEPTH_MAX */
	uint32_t renewed;	/* of calls: so many were opened when the thread had another image */
	int64_t time;		/* of the last event: what came since belongs to the top */
	struct trace *trace;	/* of the last event */
	uint32_t losses;	/* trace->losses then */
};

struct thread {
	uint32_t host;
	int32_t pid, tid;
	bool wanted;		/* by the filters */
	struct process *process;
	struct image *image;	/* process->image when it was last seen; NULL: not since it ended */
	uint32_t exec;		/* process->exec then */
	flame_stack root;
	flame_stack lost_root;	/* root while callers are unknown because events were lost; 0: they are known */
	struct open_frames calls, spans;
	struct trace *trace;
	char comm[64];
	flame_string name;	/* that a tracer gave which reads it once; 0: not known */
	uint64_t pthread;	/* 0: not known */
	struct thread *next;	/* of its id */
};

/* A thread id: one thread's at a time on a host, whatever the process. */
struct thread_id {
	uint32_t host;
	int32_t tid;
	struct thread *threads;	/* that have it and have not ended; only where s->lists_threads */
	bool is_off;		/* it has left a processor */
	int64_t since;
	flame_stack stack;
	uint32_t losses;	/* trace->first->host_losses when it left */
};

/* Numbers for the summary. */
struct counts {
	uint64_t events, clockless;
	uint64_t lost_events, lost_packets, lost_unknown;	/* unknown: messages without a count */
	uint64_t calls_unmatched, calls_skipped, calls_deep, calls_threadless, losses_cut;
	uint64_t spans_unmatched, spans_skipped, spans_threadless;
	uint64_t truncated, empty_chains, negative;
	uint64_t ended;		/* calls and spans that were open when their thread ended */
	uint64_t maps_skipped, images_mixed, execs_mixed;
};

/* Table of pointers by a 64-bit hash; the owner compares. */
struct pointers {
	void **slots;
	uint32_t mask, nr;
};

/* Places in a small cache that takes the newest of each place. */
#define RECENT 64

struct code_slot {
	uint64_t address;
	uint32_t image_flags;
	flame_frame frame;
};

/* A sample whose stack is looked for together with those of others: while one waits for memory the next goes on. */
struct pending {
	struct series *series;
	const struct image *image;
	uint64_t hash;
	int64_t weight;
	size_t at, nr;		/* words of its chain */
	flame_stack root;
	bool truncated;
};

#define NR_PENDING 16

struct sink {
	bt_self_component_sink *self;
	bt_message_iterator *iterator;
	struct params params;
	int level;		/* bt_logging_level */
	uint64_t mip;		/* version of the graph's message protocol */
	bool failed, done;
	int error;		/* first enum flame_err of ours */

	struct flame_profile *raw;
	struct series **series;
	size_t nr_series, room_series;
	struct series *calls, *off_cpu, *spans;

	struct event_class **classes;
	size_t nr_classes, room_classes;
	struct pointers by_class;
	struct event_class *recent_classes[RECENT];	/* by address; entries and exits alternate */
	struct trace **traces;
	size_t nr_traces, room_traces;
	struct trace *last_trace;
	struct thread **threads;
	size_t nr_threads, room_threads;
	struct pointers by_tid, thread_ids;	/* ids are owned by their table */
	bool lists_threads;	/* some event tells of ends by the thread id alone */
	struct thread *recent_threads[RECENT];	/* by thread id */
	struct process **processes;
	size_t nr_processes, room_processes;
	struct pointers by_pid;
	struct image **images;	/* by id; 0 is none */
	size_t nr_images, room_images;
	size_t nr_copied;	/* mappings */
	bool told_maps;		/* some event told of a mapping */
	uint64_t nr_fileless;	/* addresses in none of the mappings, when names were looked for */
	uint64_t kernel_text;	/* where perf says the kernel's _text is */

	struct code_slot *codes;
	uint32_t codes_mask, nr_codes;
	struct flame_cache chains, callbacks;
	uint64_t *chain;	/* words of the chains that are pending, then those of the one at hand */
	size_t nr_chain, room_chain;
	struct pending pending[NR_PENDING];
	size_t nr_pending;

	int64_t first_time, last_time, from, to;	/* window of the time parameter */
	bool started, since_1970;	/* the clock's origin is that of the calendar */
	struct counts counts;
};

/* ---- sink.c ---- */
__attribute__((cold)) void sink_fail(struct sink *s, int err);
/* Return: the text without what would do something to a terminal; owned by the caller; NULL without memory. */
char *shown_text(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
/* Write a message to standard error, if the log level lets it. */
void sink_say(const struct sink *s, enum flame_severity severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Make room for @stack in @series. Return: false without memory, and where there is no series or stack. */
__attribute__((cold)) bool series_reserve(struct sink *s, struct series *series, flame_stack stack);
static inline void tally_add(struct sink *s, struct tally *t, int64_t value, uint64_t nr)
{
	if (__builtin_add_overflow(t->value, value, &t->value))
		sink_fail(s, FLAME_EOVERFLOW);
	t->nr += nr;
}

/* Add to @stack's value in @series; nothing happens where the stack is none. */
static inline void series_add(struct sink *s, struct series *series, flame_stack stack, int64_t value, uint64_t nr)
{
	if (!series || !stack || (stack >= series->room && !series_reserve(s, series, stack)))
		return;
	tally_add(s, &series->tallies[stack], value, nr);
}

struct series *series_get(struct sink *s, const char *name, const struct series *like);
/* Find out whether @series has anything. */
void series_sum(struct series *series);
/* Add the time from @from to @to, as far as it lies in the window, to *@sum. */
static inline void time_add(struct sink *s, int64_t *sum, int64_t from, int64_t to)
{
	int64_t time;

	if (from < s->from)
		from = s->from;
	if (to > s->to)
		to = s->to;
	/* Clocks of two processors may differ by a little. */
	if (to <= from)
		return;
	if (__builtin_sub_overflow(to, from, &time) || __builtin_add_overflow(*sum, time, sum))
		sink_fail(s, FLAME_EOVERFLOW);
}

static inline bool in_window(const struct sink *s, int64_t time)
{
	return time >= s->from && time <= s->to;
}

/* ---- classes.c ---- */
__attribute__((cold)) struct event_class *class_find(struct sink *s, const bt_event_class *class);
__attribute__((cold)) struct trace *trace_find(struct sink *s, const bt_trace *trace);
/* Whether @name is that of @class, with its namespace. */
bool class_is_named(const struct sink *s, const bt_event_class *class, const char *name);

static inline struct event_class **class_place(struct sink *s, const bt_event_class *class)
{
	return &s->recent_classes[(uintptr_t)class / sizeof(void *) / 4 % RECENT];
}

/* Return: NULL without memory. */
static inline struct event_class *class_get(struct sink *s, const bt_event_class *class)
{
	struct event_class *c = *class_place(s, class);

	return c && c->class == class ? c : class_find(s, class);
}

/* Return: NULL without memory. */
static inline struct trace *trace_get(struct sink *s, const bt_stream *stream)
{
	const bt_trace *trace = bt_stream_borrow_trace_const(stream);

	return s->last_trace && s->last_trace->trace == trace ? s->last_trace : trace_find(s, trace);
}

/* ---- threads.c ---- */
/* Return: NULL without memory. */
__attribute__((cold)) struct thread *thread_find(struct sink *s, struct trace *trace, int32_t pid, int32_t tid);
/* The process has mapped something else, or is another program, or the thread had ended. */
__attribute__((cold)) void thread_renew(struct sink *s, struct thread *t);

static inline struct thread *thread_get(struct sink *s, struct trace *trace, int32_t pid, int32_t tid)
{
	struct thread *t = s->recent_threads[(uint32_t)tid % RECENT];

	return t && t->tid == tid && t->pid == pid && t->host == trace->host ? t : thread_find(s, trace, pid, tid);
}

void thread_set_comm(struct sink *s, struct thread *t, const char *comm);
/* The root of a sample: the thread's, or what the root parameter says. */
flame_stack thread_root(struct sink *s, struct thread *t, const struct event *ev);
struct process *process_get(struct sink *s, uint32_t host, int32_t pid);
/* Events of @trace were lost: nobody knows what is open. Threads take notice when their next event comes. */
void trace_cut(struct trace *trace);
/* Make room for one more frame. Return: false where it is too deep, or there is no memory. */
__attribute__((cold)) bool open_grow(struct sink *s, struct open_frames *open);
void open_release(struct open_frames *open);
/* Close all but @stay frames. */
void open_close(struct sink *s, struct series *series, struct open_frames *open, uint32_t stay);
/* At the end: what the open ones have until now is added. */
void threads_settle(struct sink *s);
/* Return: false without memory. */
bool pointers_put(struct sink *s, struct pointers *p, uint64_t hash, void *pointer, uint64_t (*hash_of)(const void *));
flame_frame text_frame(struct sink *s, const char *text, size_t len, enum flame_kind kind);

/* ---- lives.c ---- */
/* What is open in it is closed: the frame on top was until @time, or if that is before it, until its last event. */
void thread_end(struct sink *s, struct thread *t, int64_t time);
/* It has its id from now on: whoever had it has ended. */
void thread_begin(struct sink *s, struct thread *t);
/* Remember that the thread has its id now. */
void thread_list(struct sink *s, struct thread *t);
/* An event names the thread. Another name may be that of another thread. */
void thread_see_name(struct sink *s, struct thread *t, const struct event *ev, const char *comm);
void thread_see_pthread(struct sink *s, struct thread *t, const struct event *ev);
/* The process is another program from now on. Return: false where that was so too often. */
bool process_exec(struct sink *s, struct process *p);
/* Its events come from @trace now. */
void thread_see_trace(struct sink *s, struct thread *t, struct trace *trace);
/* Return: whether the process is another program by what @trace tells of it. */
bool process_see_trace(struct sink *s, struct process *p, const struct trace *trace);
void life_recognise(struct sink *s, struct event_class *c, const char *name);
void life_event(struct sink *s, const struct event *ev);

/*
 * Return: the thread that @ev is of, up to date; NULL without memory. Compilers would make a call of it,
 * which costs every event more than all that it does itself.
 */
__attribute__((always_inline)) static inline struct thread *thread_of(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_get(s, ev->trace, ev->pid, ev->tid);

	if (!t)
		return NULL;
	if (t->image != t->process->image)
		thread_renew(s, t);
	if (ev->class->comm.scope) {
		const char *comm = field_text(ev->event, &ev->class->comm);

		if (comm && strncmp(t->comm, comm, sizeof(t->comm) - 1) != 0)
			thread_see_name(s, t, ev, comm);
	}
	if (ev->class->pthread.scope)
		thread_see_pthread(s, t, ev);
	return t;
}

/* Events were lost since the last one that is @open, or this one is of another trace. */
__attribute__((cold)) void open_lost(struct sink *s, struct thread *t, struct open_frames *open, struct trace *trace);

/* The time since the last event belongs to the frame on top. */
static inline void open_charge(struct sink *s, struct thread *t, struct open_frames *open, const struct event *ev)
{
	if (open->trace != ev->trace || open->losses != ev->trace->losses)
		open_lost(s, t, open, ev->trace);
	if (open->nr)
		time_add(s, &open->frames[open->nr - 1].value, open->time, ev->time);
	open->time = ev->time;
}

/* Return: false where there is no room for one more frame. */
static inline bool open_room(struct sink *s, struct open_frames *open)
{
	return (open->nr < open->room && !open->too_deep) || open_grow(s, open);
}

/* Close the frame on top. */
static inline void open_pop(struct sink *s, struct series *series, struct open_frames *open)
{
	const struct open_frame *f = &open->frames[--open->nr];

	series_add(s, series, f->stack, f->value, f->counts);
}

/* ---- the rooms of the roles ---- */
/* Handle the calls that the events from @ev to @end begin with. Return: what is behind them. */
const struct event *calls_events(struct sink *s, const struct event *ev, const struct event *end);
void calls_cut(struct sink *s, struct thread *t);
/* To be called before @t->image becomes another. */
void calls_renew(struct sink *s, struct thread *t);
/* At the end: what calls had that were closed is added to their series. */
void calls_settle(struct sink *s);
/* Return: the event's stack, whatever it holds. */
flame_stack sample_stack(struct sink *s, const struct event *ev, struct thread *t);
void sample_event(struct sink *s, const struct event *ev);
/* Find the stacks of the samples that are pending, and add their values. */
void samples_settle(struct sink *s);
void switch_event(struct sink *s, const struct event *ev);
/* Return: how many threads are off the processor. */
uint64_t sleepers_count(const struct sink *s);
/* Return: NULL where no event has named it. */
struct thread_id *thread_id_find(const struct sink *s, uint32_t host, int32_t tid);
/* Return: NULL without memory. */
struct thread_id *thread_id_get(struct sink *s, uint32_t host, int32_t tid);
void span_begin(struct sink *s, const struct event *ev);
void span_end(struct sink *s, const struct event *ev);
void spans_cut(struct sink *s, struct thread *t);
void callback_name(struct sink *s, const struct event *ev);
/* Tell of pairs that the user asked for and the trace does not have. */
void spans_say(const struct sink *s);
void spans_recognise(struct sink *s, struct event_class *c);
void maps_recognise(struct event_class *c, const char *name);

/* ---- names.c ---- */
enum code_flag { CODE_KERNEL = 1, CODE_CALLER = 2, CODE_FUNCTION = 4 };
#define CODE_FLAG_BITS 3
/* Return: the raw frame of an address. */
flame_frame code_frame(struct sink *s, const struct image *image, uint64_t address, unsigned int flags);
/* As above, shown as @name. */
flame_frame code_frame_named(struct sink *s, const struct image *image, uint64_t address, const char *name);
/* Return: a new profile of @series alone, whose addresses have names; NULL without memory. */
struct flame_profile *names_resolve(struct sink *s, const struct series *series,
				    const struct flame_profile_options *options, struct flame_symbols *symbols);

/* ---- maps.c ---- */
/* Return: a new image with the mappings of @copy, which may be NULL; NULL without memory. */
struct image *image_new(struct sink *s, const struct image *copy);
/* Nothing happens where @image is NULL. */
void process_set_image(struct process *p, struct image *image);
const struct mapping *image_find(const struct image *image, uint64_t address, uint64_t *end);

/* ---- output.c ---- */
/* Write all outputs and the summary. Return: 0, or -1 after an error was appended. */
int output_write(struct sink *s);

#endif

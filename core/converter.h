/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CONVERTER_H
#define FLAME_CONVERTER_H
/*
 * converter.h - what a converter sees. A converter reads one format: it pulls lines or bytes from
 * rd->input and pushes samples into rd->profile. See Documentation/contributing.md.
 */
#include <stdio.h>

#include "flame.h"
#include "input.h"

/* How sure a probe is. */
enum flame_score {
	FLAME_SCORE_NOT = 0,
	FLAME_SCORE_SHAPE = 20,		/* could be: the shape of its lines fits */
	FLAME_SCORE_RECORD = 60,	/* is, unless it is made to look so: a whole record fits */
	FLAME_SCORE_MAGIC = 100,	/* says so itself */
};

/* What the user asked for; zero initialised it is the default. Strings belong to the caller. */
struct flame_read_options {
	const char *from;		/* format's name; NULL: recognised by content */
	const char *event;		/* value type to use; NULL: the first that has samples */
	const char *profile;		/* number (from 1) or name, in files that hold several; NULL: as the format says */
	const char *const *skip_after;	/* ended by NULL; a frame of this name becomes the root */
	const char *const *labels;	/* ended by NULL; the value of each becomes a root frame */
	const char *state;		/* only samples of threads in this state; NULL: all */
	enum flame_root root;
	bool threads;			/* the thread's name is the root frame */
	bool lines;			/* line numbers behind names, name:12 */
	bool bci;			/* bytecode index behind names, name@12 */
	bool simple_names;		/* classes without their package */
	bool dot;			/* a dot between class and method */
	bool normalize_names;		/* numbers of generated classes go */
	bool no_idle;			/* leave out samples that say that nothing ran */
	bool leak;			/* of allocations only those that were not freed */
	uint32_t kinds;			/* kinds that matter for the output (flame_profile_options.kinds) */
	bool keep_task;
	bool ordered;
	bool addrs;			/* unknown symbols with their address */
	bool offsets;			/* keep "+0x1f" */
	bool srcline;			/* file:line after the name */
	bool places;			/* names bare; frames keep file, line and module apart, where they are known */
	bool raw_names;
	bool demangle;
	const char *symbol_dir;		/* files with symbols, by build-id or name; NULL: none */
	const char *symfs;		/* root that the paths of recorded files are below; NULL: / */
	const char *kallsyms;		/* symbols of the recorded kernel; NULL: those that are known to fit */
	bool no_inline;			/* no frames for what compilers inlined */
	bool count;
	bool inlines;			/* frames for inlined functions also where perf has none */
	bool offcpu;			/* time that threads were blocked instead of samples */
	bool offcpu_too;		/* that time beside samples, where switches of threads were recorded */
	bool strict;			/* the first record that cannot be used is an error */
	int columns;			/* of folded text: 1 or 2 numbers a line; 0: by what every line has */
	double time_from, time_to;	/* seconds since the first sample; time_to 0: to the end */
	uint64_t *progress;		/* counts decoded bytes as they are read, atomically; NULL: nobody asks */
	unsigned int threads_max;	/* 0: as many as processors */
};

enum flame_severity {
	FLAME_NOTE,
	FLAME_WARNING,
	FLAME_ERROR,
};

/* Messages are collected here, in the order of the input; the library never prints. */
struct flame_message {
	enum flame_severity severity;
	uint64_t line;		/* 0: none */
	char *text;		/* owned */
};

#define FLAME_STATES_TOLD 16

struct flame_diag {
	struct flame_message *messages;
	size_t nr_messages, room_messages;
	struct flame_skip *skips;	/* records left out, by reason */
	size_t nr_skips, room_skips;
	bool damaged;		/* part of the input could not be read */
	uint64_t states_found;	/* a bit for each state that --state lists, of the first 64 */
	char *states_left[FLAME_STATES_TOLD];	/* some that it does not list; owned */
};

void flame_diag_release(struct flame_diag *diag);
/* Return: how many threads @options allow on this machine; at least 1. */
unsigned int flame_thread_count(const struct flame_read_options *options);
/* Add a message without a place. */
void flame_diag_add(struct flame_diag *diag, enum flame_severity severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Return: how many records were skipped, whatever the reason. */
uint64_t flame_diag_skipped(const struct flame_diag *diag);

/* One reading of one input, or of one slice of it. All pointers are borrowed. */
struct flame_reader {
	const struct flame_converter *converter;
	const struct flame_read_options *options;
	struct flame_profile *profile;
	struct flame_input *input;
	struct flame_diag *diag;
	void *state;		/* converter->state_size bytes; zero, then prepared */
};

/* For what cannot go on. Adds an error with its place. Return: @err. */
int flame_fail(struct flame_reader *rd, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
/*
 * For a record that cannot be used: counted, and the first of each reason reported with its place.
 * @reason is a constant string that starts with what is wrong ("no count at the end of the line").
 * Return: 0, or FLAME_EFORMAT under --strict.
 */
int flame_skip(struct flame_reader *rd, const char *reason);
/* Return: whether --state lists @state, or is not given; messages then know which states there are. */
bool flame_wants_state(struct flame_reader *rd, struct flame_span state);
void flame_note(struct flame_reader *rd, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Part of the input is not there, or not readable: a warning says what, and the exit status tells that it is damaged. */
void flame_damaged(struct flame_reader *rd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a writer writes; the strings belong to the caller. */
struct flame_write_options {
	flame_type type;		/* value to write */
	flame_type before;		/* not 0: a differential, and this its first value */
	uint32_t kinds;			/* kinds that are written as annotations, where the format knows these */
	bool numbered;			/* folded: "# samples: N" in the header, where the values do not tell how many there were */
	bool header;			/* folded: "# event: …", "# unit: …" and "# kind: …" first */
	unsigned int threads;		/* that may be used; up to 1: none but the caller's */
	bool all_types;			/* formats that hold several values a sample: write all, @type first */
	const char *name;		/* of the input, for formats that hold a name */
};

#define FLAME_PIECE_HEAD 128	/* what is seen of each piece before it is read */

/* The options that choose samples, and those that shorten names, for which not every format has something. */
enum flame_choice {
	FLAME_CHOICE_TIME = 1 << 0,
	FLAME_CHOICE_STATE = 1 << 1,
	FLAME_CHOICE_PROFILE = 1 << 2,
	FLAME_CHOICE_LABEL = 1 << 3,
	FLAME_CHOICE_LEAK = 1 << 4,
	FLAME_CHOICE_OFFCPU = 1 << 5,
	FLAME_CHOICE_IDLE = 1 << 6,
	FLAME_CHOICE_SIMPLE = 1 << 7,	/* --simple-names */
	FLAME_CHOICE_JAVA = 1 << 8,	/* --dot, --normalize-names */
	FLAME_CHOICE_BCI = 1 << 9,
};

/*
 * Most of a converter is optional: a format is read, written, or both.
 * Types should be made in the order of preference: the first that has samples is what is used by default.
 */
struct flame_converter {
	const char *name;
	const char *summary;
	size_t state_size;
	bool binary;		/* there are no lines: messages say an offset themselves */
	bool counted;		/* values are counts of samples already: --count changes nothing */
	const char *directory_file;	/* a directory with such a file is read through it; NULL: no directories */
	uint32_t choices;	/* enum flame_choice: what it heeds; a note tells of what else is asked for */
	uint32_t kinds_written;	/* kinds that the format itself spells out, so that they always matter */
	/* @head: the first 64 KiB, 1 MiB where nobody knew these, or all if it is less. Return: an enum flame_score, or between. */
	int (*probe)(struct flame_span head);
	/* Optional: learn from the head what all slices must know. Runs once; its state is copied to each slice. */
	int (*prepare)(struct flame_reader *rd, struct flame_span head);
	/* Return: 0, or a failure after flame_fail(); the profile's own failures may be left to the caller. */
	int (*read)(struct flame_reader *rd);
	/* Optional: release what @read left in the state. */
	void (*release)(struct flame_reader *rd);
	/*
	 * Optional: the input may be read in slices that begin at records. @text starts somewhere in
	 * the input. Return: the offset in it where a record begins; text.len where none does.
	 */
	size_t (*split)(struct flame_reader *rd, struct flame_span text);
	/*
	 * Optional, instead of @split: the input is a row of pieces that can be read each by itself, and
	 * the start of each tells its length. @head: a piece's first bytes, FLAME_PIECE_HEAD unless the
	 * input ends. Return: the piece's length; 0 where it does not tell: all that follows is then
	 * read as one. A slice is a run of pieces.
	 */
	uint64_t (*piece)(struct flame_reader *rd, struct flame_span head);
	/* Optional: once after all slices have been merged; may replace *@profile. */
	int (*finish)(struct flame_reader *rd, struct flame_profile **profile);
	/*
	 * Optional: write a profile in this format.
	 * Return: 0, FLAME_EIO where @out has an error, FLAME_EARG for what the format cannot hold, FLAME_ENOMEM.
	 */
	int (*write)(const struct flame_profile *p, const struct flame_write_options *options, FILE *out);
	bool writes_by_turns;		/* with options->threads, so that none is needed that only hands on to the file */
	/* Optional: fold slice state @from into @rd's before finish(). */
	void (*join)(struct flame_reader *rd, const void *from);
	/*
	 * Optional: whether what comes behind slice state @slice is to be read as prepare(), which left @prepared, had it.
	 * Where it is not, the input is read again, by one thread.
	 */
	bool (*goes_on)(const void *prepared, const void *slice);
};

/* All converters, ended by NULL. */
extern const struct flame_converter *const flame_converters[];
/* Return: the converter called @name, or NULL. */
const struct flame_converter *flame_converter_find(const char *name);

/*
 * Read @path ("-": standard input) into a new profile.
 * Return: 0 with *@profile owned by the caller, or a failure with an error in @diag and *@profile NULL.
 * diag->damaged tells that what could be read is there, but not all of the input was readable.
 */
int flame_read(struct flame_profile **profile, const char *path, const struct flame_read_options *options,
	       struct flame_diag *diag);

/*
 * Choose the value type to use: the one that @event names, or else the first with samples; notes the others.
 * "cycles" also names "cycles:u", "cpu_core/cycles/"; "sched_switch" also "sched:sched_switch".
 * Return: its row, or 0 after an error in @diag that lists the types.
 */
flame_type flame_choose_type(const struct flame_profile *p, const char *event, struct flame_diag *diag);
/* All values of @type are 0: an error in @diag says so, and what other types there are. */
void flame_explain_zero(const struct flame_profile *p, flame_type type, struct flame_diag *diag);

#endif

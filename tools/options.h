/* SPDX-License-Identifier: MIT */
#ifndef FLAME_TOOLS_OPTIONS_H
#define FLAME_TOOLS_OPTIONS_H
/* The option table that all programs share: parsing, help and the check of the documents come from it. */
#include "../core/converter.h"
#include "../core/folded.h"
#include "../core/quality.h"
#include "../core/render/svg.h"
#include "../core/report.h"
#include "../core/transform.h"

enum program {
	PROGRAM_CONV = 1,
	PROGRAM_RENDER = 2,
	PROGRAM_DIFF = 4,
	PROGRAM_REPORT = 8,
	PROGRAM_DOCTOR = 16,
	PROGRAM_RECORD = 32,
};

#define MAX_SKIP_AFTER 32
#define MAX_LABELS 16
#define MAX_RUNS 32
#define MAX_INPUTS (2 + 2 * MAX_RUNS)
#define MAX_FAIL_ON 32
#define MAX_REPORTED 14	/* inputs of a report, besides those of options */

/* How fgrecord records, and what fgdoctor prints. */
struct tool_record {
	const char *pids, *cpus;	/* lists; NULL: not given */
	bool all;			/* the machine */
	bool callchains;		/* -g: they are recorded without it too */
	bool slow;			/* --long */
	double frequency, duration, every;	/* Hz, seconds; 0: not given */
	unsigned int stack_bytes;	/* to copy of each stack, for --call-graph dwarf; 0: frame pointers */
	unsigned int pages;		/* of a buffer; 0: not given */
	unsigned int keep;		/* files of a series; 0: all */
	const char *diff;
	const char *const *command;	/* of argv */
	int nr_command;
	char *command_line;		/* of fgrecord itself; owned */
	const char *program;		/* what a shell calls it by */
};

struct tool {
	enum program program;
	const char *name;
	const char *usage;
	const char *about;

	struct flame_read_options read;
	struct flame_transform_options transform;
	struct flame_svg_options svg;
	const char *skip_after[MAX_SKIP_AFTER + 1];
	size_t nr_skip_after;
	const char *labels[MAX_LABELS + 1];
	size_t nr_labels;
	const char *output;		/* NULL: standard output */
	const char *to;			/* output format of fgdiff, fgreport and fgrecord; NULL: not given */
	struct flame_compare_options compare;
	bool has_run_size;		/* given, not the default */
	const char *fail_on[MAX_FAIL_ON];
	size_t nr_fail_on;
	double min;			/* percent */
	unsigned int top;		/* 0: as the format has it */
	bool paths;
	bool normalize;
	struct tool_record record;
	const struct flame_converter *writer;	/* fgconv's; NULL: folded */
	uint32_t annotate;		/* kinds written as annotations */
	bool header;
	bool quiet;
	struct flame_report_options report;
	struct flame_owner owner;	/* fgreport's; released by it */
	const char *before;		/* fgreport's; NULL: nothing to compare with */
	const char *offcpu_profile;	/* fgreport's; NULL: none */
	bool json;
	const char *root;		/* fgdoctor's, before all paths; NULL: the host's own */
	const char *inputs[MAX_INPUTS];
	size_t nr_inputs;
	const char *more_before[MAX_RUNS], *more_after[MAX_RUNS];	/* fgdiff's further runs */
	size_t nr_more_before, nr_more_after;
	bool damaged;			/* some input was damaged */
	const char *const *refused;	/* options that it does not have, ended by NULL; NULL: it has all */
	unsigned char given[16];	/* a bit for each row of the table of options */
	struct flame_job *meanwhile;	/* to be done while a profile is written; NULL: none */
	bool is_plugin;			/* options come one by one, without dashes */
};

/*
 * Parse the command line. Return: -1 to go on, or the status to exit with (--help, --version,
 * --list-formats, --list-options, wrong usage), after printing. Before going on memory is prepared.
 */
int tool_parse(struct tool *tool, int argc, char **argv);

/* Tell malloc() how much to take at a time, before the bulk of it is taken. */
void tool_prepare_memory(void);
/* The bulk is to come, of the profile in the file @path: if that is large, none of it is put into small pages. */
void tool_align_memory(const char *path);

/* Read input number @i and apply the stack options. Return: NULL after printing why. */
struct flame_profile *tool_read(struct tool *tool, size_t i);
/* Return: the type to use, 0 after printing that there is none such. */
flame_type tool_choose_type(struct tool *tool, size_t i, const struct flame_profile *p);

/* One warning of what is wrong with a profile, looked for while the profile is written. Zero: there is none. */
struct tool_quality {
	struct tool *tool;
	size_t input;
	const struct flame_profile *p;
	flame_type type;
	struct flame_quality quality;
	bool known;	/* quality holds what was found */
	struct flame_job job;
};

/* Begin to look at the @type of @p, as input number @i gave it; not under --quiet. Nobody may change @p until the end. */
void tool_start_quality(struct tool_quality *q, struct tool *tool, size_t i, const struct flame_profile *p, flame_type type);
/* Print the warning, where anything is wrong. */
void tool_end_quality(struct tool_quality *q);
/* What is counted: the unit where it is known, or the event. Owned by the caller; NULL: samples. */
char *tool_count_name(const struct tool *tool, const struct flame_profile *p, flame_type type);

/* Print what @diag has to say of input number @i, and release it. */
void tool_print_diag(struct tool *tool, size_t i, struct flame_diag *diag);

/* Draw @p. Return: the status to exit with, after printing what failed. */
int tool_render(struct tool *tool, const struct flame_profile *p, flame_type type);
/* The same in the format that is asked for. */
int tool_convert(struct tool *tool, const struct flame_profile *p, flame_type type);

/* Write @s with nothing in it that acts on a terminal. */
void tool_print_safe(FILE *out, const char *s);

/* Print a message of this program on standard error. */
void tool_message(const struct tool *tool, const char *severity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Output goes to a file beside the one asked for, which takes its name only when all is written.
 */
struct tool_output {
	FILE *file;		/* to be written to */
	FILE *below;		/* what a thread writes @file's bytes to; NULL: there is none */
	char *buffer;		/* owned; NULL: the stream's own */
	char *temporary;	/* owned; NULL for standard output, devices and pipes */
};

/* Return: 0, or 1 after printing why. */
int tool_open_output(const struct tool *tool, struct tool_output *out);
/* From now on the system is given large pieces, each beginning with a page, which it takes in half the time. */
void tool_buffer_output(struct tool_output *out);
/* From now on a thread writes to the file what is written to out->file, if threads may be used. */
void tool_drain_output(const struct tool *tool, struct tool_output *out);
/* Remove what is not complete. For handlers of signals that end the program; one that has none does so by itself. */
void tool_remove_unfinished(void);
/* @err: how writing went. Return: the status to exit with, after printing what failed. */
int tool_close_output(const struct tool *tool, struct tool_output *out, int err);

#endif

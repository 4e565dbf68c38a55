/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../core/number.h"
#include "../core/threshold.h"

enum type {
	FLAG,		/* bool */
	TEXT,		/* const char * */
	PATTERN,	/* one more of const char *[FLAME_MAX_PATTERNS + 1] */
	NUMBER,		/* double, not negative */
	COUNT,		/* unsigned int */
	CUSTOM,		/* by function */
};

struct option {
	const char *name;	/* without "--" */
	char letter;		/* 0: none */
	enum type type;
	unsigned int programs;
	const char *argument;	/* its name in help; NULL: takes none */
	const char *help;
	size_t offset;		/* of the field in struct tool */
	/* Return: NULL, or what is wrong with @value. */
	const char *(*set)(struct tool *tool, const char *value);
};

#define STACKS (PROGRAM_CONV | PROGRAM_RENDER | PROGRAM_DIFF)	/* what shows or writes stacks as they are */
#define ALL (STACKS | PROGRAM_REPORT)
#define SAMPLES (ALL | PROGRAM_RECORD)	/* what also goes for samples that are not read from a file */
#define EVERY (SAMPLES | PROGRAM_DOCTOR)	/* also what reads no samples */
#define TEXT_MARKS (PROGRAM_CONV | PROGRAM_DIFF)
#define DRAWING (PROGRAM_RENDER | PROGRAM_RECORD)
#define PICTURE (DRAWING | PROGRAM_DIFF)	/* what a differential has too */
#define RECORD PROGRAM_RECORD
#define FIELD(field) offsetof(struct tool, field)

static const char *set_pid(struct tool *tool, const char *value)
{
	(void)value;
	tool->read.root = FLAME_ROOT_PID;
	return NULL;
}

static const char *set_tid(struct tool *tool, const char *value)
{
	(void)value;
	tool->read.root = FLAME_ROOT_TID;
	return NULL;
}

static const char *set_no_comm(struct tool *tool, const char *value)
{
	(void)value;
	tool->read.root = FLAME_ROOT_NONE;
	return NULL;
}

static const char *set_kernel(struct tool *tool, const char *value)
{
	(void)value;
	tool->annotate |= FLAME_KIND_BIT(FLAME_KERNEL);
	return NULL;
}

static const char *set_jit(struct tool *tool, const char *value)
{
	(void)value;
	tool->annotate |= FLAME_KIND_BIT(FLAME_JIT);
	return NULL;
}

static const char *set_inline(struct tool *tool, const char *value)
{
	(void)value;
	tool->annotate |= FLAME_KIND_BIT(FLAME_INLINED);
	return NULL;
}

static const char *set_all(struct tool *tool, const char *value)
{
	(void)value;
	tool->annotate = FLAME_ALL_KINDS;
	return NULL;
}

static const char *set_skip_after(struct tool *tool, const char *value)
{
	if (tool->nr_skip_after == MAX_SKIP_AFTER)
		return "is given more than 32 times (MAX_SKIP_AFTER)";
	tool->skip_after[tool->nr_skip_after++] = value;
	/* Readers that can leave out what is not wanted do; what others read is cut afterwards. */
	tool->read.skip_after = tool->transform.skip_after = tool->skip_after;
	return NULL;
}

static const char *set_label(struct tool *tool, const char *value)
{
	if (tool->nr_labels == MAX_LABELS)
		return "is given more than 16 times (MAX_LABELS)";
	tool->labels[tool->nr_labels++] = value;
	tool->read.labels = tool->labels;
	return NULL;
}

static const char *set_time(struct tool *tool, const char *value)
{
	char *end;
	const char *comma = strchr(value, ',');

	if (!comma)
		return "wants FROM,TO in seconds since the first sample, such as 2.5,10 or 5,";
	tool->read.time_from = value == comma ? 0 : strtod(value, &end);
	if (value != comma && end != comma)
		return "wants a number of seconds before the comma";
	tool->read.time_to = comma[1] ? strtod(comma + 1, &end) : 0;
	if (comma[1] && *end)
		return "wants a number of seconds behind the comma";
	if (tool->read.time_from < 0 || (comma[1] && tool->read.time_to <= tool->read.time_from))
		return "wants FROM below TO, and neither negative";
	return NULL;
}

static const char *set_columns(struct tool *tool, const char *value)
{
	if (strcmp(value, "1") && strcmp(value, "2"))
		return "wants 1 or 2";
	tool->read.columns = value[0] - '0';
	return NULL;
}

static const char *set_state(struct tool *tool, const char *value)
{
	if (strspn(value, ", ") == strlen(value))
		return "wants a state, or several: A,B";
	tool->read.state = value;
	return NULL;
}

/* strtod() also takes hexadecimal, infinity and nan. */
static bool is_decimal(const char *value)
{
	return strspn(value, "0123456789.+-e%") == strlen(value);
}

static const char *set_length(double *to, const char *value, double low, double high)
{
	char *end;

	*to = strtod(value, &end);
	return end == value || *end || !is_decimal(value) || !(*to >= low && *to <= high) ? "is out of range" : NULL;
}

static const char *set_width(struct tool *tool, const char *value)
{
	return set_length(&tool->svg.width, value, 100, 100000) ? "wants 100 to 100000 pixels" : NULL;
}

static const char *set_height(struct tool *tool, const char *value)
{
	return set_length(&tool->svg.height, value, 4, 1000) ? "wants 4 to 1000 pixels" : NULL;
}

static const char *set_fontsize(struct tool *tool, const char *value)
{
	return set_length(&tool->svg.fontsize, value, 1, 500) ? "wants 1 to 500 pixels" : NULL;
}

static const char *set_bgcolors(struct tool *tool, const char *value)
{
	bool hex = value[0] == '#' && strlen(value) == 7 && strspn(value + 1, "0123456789abcdefABCDEF") == 6;

	tool->svg.bgcolors = value;
	return hex || flame_background_known(value) ? NULL : "wants yellow, blue, green, grey or #rrggbb";
}

static const char *set_minwidth(struct tool *tool, const char *value)
{
	char *end;

	tool->svg.minwidth = strtod(value, &end);
	tool->svg.minwidth_percent = *end == '%';
	if (end == value || !is_decimal(value) || (*end && strcmp(end, "%")) || !(tool->svg.minwidth >= 0 && tool->svg.minwidth < 1e9))
		return "wants pixels (0.1) or percent (0.5%)";
	return NULL;
}

/* Colours of a differential. Return: false where @value is none. */
static bool set_delta_colors(struct tool *tool, const char *value)
{
	bool blind = !strcmp(value, "colorblind");

	if (!blind && strcmp(value, "red-blue"))
		return false;
	tool->svg.delta_colors = blind ? FLAME_DELTA_ORANGE_BLUE : FLAME_DELTA_RED_BLUE;
	return true;
}

static const char *set_colors(struct tool *tool, const char *value)
{
	if (set_delta_colors(tool, value))
		return NULL;
	if (!flame_palette_known(value))
		return "wants a palette that there is; --help lists them";
	tool->svg.colors = value;
	return NULL;
}

static const char *set_total(struct tool *tool, const char *value)
{
	struct flame_number total;

	if (flame_number_parse((struct flame_span){ value, strlen(value) }, &total) != FLAME_NUMBER_OK || total.value < 0)
		return "wants a number that fits 64 bits";
	tool->svg.total = total.value;
	tool->svg.total_scale = total.scale;
	return NULL;
}

static const char *set_cp(struct tool *tool, const char *value)
{
	(void)value;
	tool->svg.palette_map = "palette.map";
	return NULL;
}

static const char *set_delta(struct tool *tool, const char *value)
{
	if (strcmp(value, "self") && strcmp(value, "total"))
		return "wants self or total";
	tool->svg.delta_self = value[0] == 's';
	return NULL;
}

static bool is_one_of(const char *value, const char *const *words)
{
	while (*words && strcmp(*words, value))
		words++;
	return *words;
}

static const char *set_diff_to(struct tool *tool, const char *value)
{
	static const char *const formats[] = { "folded", "svg", "table", "json", NULL };

	if (!is_one_of(value, formats))
		return "wants folded, svg, table or json";
	tool->to = value;
	return NULL;
}

/* Return: whether @value is a whole number from 1 to @max. */
static bool set_whole(unsigned int *to, const char *value, unsigned int max)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	*to = (unsigned int)n;
	return end != value && !*end && *value != '-' && n >= 1 && n <= max;
}

/* Paths are put behind it. */
static const char *set_root(struct tool *tool, const char *value)
{
	size_t len = strlen(value);

	tool->root = value;
	return !len || value[len - 1] == '/' ? "wants a directory, without a slash at its end" : NULL;
}

static const char *set_report_to(struct tool *tool, const char *value)
{
	if (strcmp(value, "markdown") && strcmp(value, "text") && strcmp(value, "json"))
		return "wants markdown, text or json";
	tool->to = value;
	return NULL;
}

static const char *set_project(struct tool *tool, const char *value)
{
	return flame_owner_add(&tool->owner, value);
}

static const char *set_report_min(struct tool *tool, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || !is_decimal(value) || (*end && strcmp(end, "%")) || !(percent > 0 && percent <= 100))
		return "wants percent above 0, up to 100";
	tool->report.min = percent / 100;
	return NULL;
}

static const char *set_view(struct tool *tool, const char *value)
{
	static const char *const views[] = {
		[FLAME_VIEW_AFTER] = "after", [FLAME_VIEW_COMBINED] = "combined", [FLAME_VIEW_ELIDED] = "elided",
	};

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++) {
		if (strcmp(views[i], value))
			continue;
		tool->svg.view = (enum flame_view)i;
		return NULL;
	}
	return "wants after, combined or elided";
}

static const char *set_diff_colors(struct tool *tool, const char *value)
{
	return set_delta_colors(tool, value) ? NULL : "wants red-blue or colorblind";
}

static const char *set_confidence(struct tool *tool, const char *value)
{
	const char *wrong = set_length(&tool->compare.confidence, value, 50, 99.9999);

	tool->compare.confidence /= 100;
	return wrong ? "wants 50 to 99.9999 percent" : NULL;
}

static const char *set_dispersion(struct tool *tool, const char *value)
{
	return set_length(&tool->compare.dispersion, value, 1, 1e6) ? "wants 1 or more" : NULL;
}

static const char *set_run_size(struct tool *tool, const char *value)
{
	const char *wrong = set_length(&tool->compare.run_size, value, 0, 1e12);

	tool->has_run_size = true;
	return wrong || (tool->compare.run_size > 0 && tool->compare.run_size < 10) ? "wants 10 samples or more, or 0" : NULL;
}

static const char *set_min(struct tool *tool, const char *value)
{
	return set_length(&tool->min, value, 0, 100) ? "wants 0 to 100 percent" : NULL;
}

static const char *set_before(struct tool *tool, const char *value)
{
	if (tool->nr_more_before == MAX_RUNS)
		return "is given more than 32 times (MAX_RUNS)";
	tool->more_before[tool->nr_more_before++] = value;
	return NULL;
}

static const char *set_after(struct tool *tool, const char *value)
{
	if (tool->nr_more_after == MAX_RUNS)
		return "is given more than 32 times (MAX_RUNS)";
	tool->more_after[tool->nr_more_after++] = value;
	return NULL;
}

static const char *set_fail_on(struct tool *tool, const char *value)
{
	static char why[300];
	char *wrong;

	if (tool->nr_fail_on == MAX_FAIL_ON)
		return "is given more than 32 times (MAX_FAIL_ON)";
	tool->fail_on[tool->nr_fail_on++] = value;
	wrong = flame_threshold_check(value);
	if (!wrong)
		return NULL;
	snprintf(why, sizeof(why), "%s", wrong);
	free(wrong);
	return why;
}

static const char *set_from(struct tool *tool, const char *value)
{
	const struct flame_converter *c = flame_converter_find(value);

	if (!c)
		return "wants a format; --list-formats tells which there are";
	tool->read.from = value;
	return c->read ? NULL : "wants a format that can be read; --list-formats tells which";
}

static const char *set_to(struct tool *tool, const char *value)
{
	static const char *const recorded[] = { "svg", "markdown", "text", "json", NULL };
	const struct flame_converter *c = flame_converter_find(value);

	if (tool->program == PROGRAM_RECORD) {
		tool->to = value;
		return is_one_of(value, recorded) || (c && c->write) ? NULL :
		       "wants svg, folded, markdown, text, json, or what fgconv --list-formats calls written";
	}
	if (tool->program == PROGRAM_CONV) {
		tool->writer = c;
		return c && c->write ? NULL : "wants a format that can be written; --list-formats tells which";
	}
	return set_diff_to(tool, value);
}

static const char *set_frequency(struct tool *tool, const char *value)
{
	return set_length(&tool->record.frequency, value, 1, 100000) || tool->record.frequency != (double)(long)tool->record.frequency ?
		       "wants a whole number of Hz from 1 to 100000" : NULL;
}

static const char *set_duration(struct tool *tool, const char *value)
{
	return set_length(&tool->record.duration, value, 0.001, 1e8) ? "wants seconds, from 0.001 to 100000000" : NULL;
}

static const char *set_whole_duration(struct tool *tool, const char *value)
{
	unsigned int seconds;

	if (!set_whole(&seconds, value, 86400))
		return "wants 1 to 86400 seconds";
	tool->record.duration = seconds;
	return NULL;
}

static const char *set_every(struct tool *tool, const char *value)
{
	return set_length(&tool->record.every, value, 0.1, 1e8) ? "wants seconds, from 0.1 to 100000000" : NULL;
}

static const char *set_pages(struct tool *tool, const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (end == value || *end || n < 1 || n > 262144 || (n & (n - 1)))
		return "wants a power of two from 1 to 262144";
	tool->record.pages = (unsigned int)n;
	return NULL;
}

static const char *set_cpus(struct tool *tool, const char *value)
{
	const char *p = value;
	bool ok = *p;

	while (ok && *p) {
		char *end;
		unsigned long from = strtoul(p, &end, 10);

		ok = isdigit((unsigned char)*p);
		if (ok && *end == '-') {
			p = end + 1;
			ok = isdigit((unsigned char)*p) && from <= strtoul(p, &end, 10);
		}
		ok &= !*end || (*end == ',' && end[1]);
		p = *end ? end + 1 : end;
	}
	tool->record.cpus = value;
	return ok ? NULL : "wants a list of processors and ranges from lower to higher, such as 0-3,7";
}

/* Bytes of a stack: the kernel takes multiples of 8 below 65536. */
static const char *set_call_graph(struct tool *tool, const char *value)
{
	unsigned long n = 8192;
	char *end;

	tool->record.stack_bytes = 0;
	if (!strcmp(value, "fp"))
		return NULL;
	if (strncmp(value, "dwarf", 5) || (value[5] && value[5] != ','))
		return "wants fp, dwarf or dwarf,BYTES";
	if (value[5]) {
		n = strtoul(value + 6, &end, 10);
		if (end == value + 6 || *end || n < 8 || n > 65528)
			return "wants 8 to 65528 bytes of stack behind dwarf,";
	}
	tool->record.stack_bytes = (unsigned int)((n + 7) & ~7ul);
	return NULL;
}

static const struct option options[] = {
	{ "help", 'h', CUSTOM, EVERY, NULL, "print this and exit", 0, NULL },
	{ "version", 'V', CUSTOM, EVERY, NULL, "print the version and exit", 0, NULL },
	{ "list-formats", 0, CUSTOM, ALL, NULL, "print the input formats and exit", 0, NULL },
	{ "process", 'p', TEXT, RECORD, "PID,...", "record these processes", FIELD(record.pids), NULL },
	{ "all-processors", 'a', FLAG, RECORD, NULL, "record all that runs on this machine; with -p, of it what is of these processes", FIELD(record.all), NULL },
	{ "cpu", 'C', CUSTOM, RECORD, "LIST", "only on these processors, such as 0-3,7", 0, set_cpus },
	{ "duration", 'd', CUSTOM, RECORD, "SECONDS", "how long (default: until it ends, or Ctrl-C)", 0, set_duration },
	{ "frequency", 'F', CUSTOM, RECORD, "HZ", "samples a second on each processor (default: 99)", 0, set_frequency },
	{ "long", 0, FLAG, RECORD, NULL, "for long recordings: 49 Hz", FIELD(record.slow), NULL },
	{ "callchains", 'g', FLAG, RECORD, NULL, "record callchains, which is done anyway", FIELD(record.callchains), NULL },
	{ "call-graph", 0, CUSTOM, RECORD, "MODE", "fp: by frame pointers (default); dwarf or dwarf,BYTES: unwound from copies of stacks", 0, set_call_graph },
	{ "mmap-pages", 'm', CUSTOM, RECORD, "PAGES", "of the buffer of each processor, a power of two (default: 128; 1024 for dwarf)", 0, set_pages },
	{ "every", 0, CUSTOM, RECORD, "SECONDS", "begin a new file every SECONDS; %H%M%S and the like in FILE's name are the time", 0, set_every },
	{ "keep", 0, COUNT, RECORD, "N", "of these files keep the last N", FIELD(record.keep), NULL },
	{ "diff", 0, TEXT, RECORD, "BEFORE", "write the difference to the profile in BEFORE", FIELD(record.diff), NULL },
	{ "from", 0, CUSTOM, ALL, "FORMAT", "input format (default: recognised by content)", 0, set_from },
	{ "output", 'o', TEXT, RECORD, "FILE", "write to FILE, complete or not at all (default: flame.svg, or standard output with --to; -: standard output)", FIELD(output), NULL },
	{ "event", 'e', TEXT, RECORD, "NAME", "event to record (default: cycles, or cpu-clock where nothing counts them)", FIELD(read.event), NULL },
	{ "offcpu", 0, FLAG, RECORD, NULL, "time that threads are blocked, from sched:sched_switch", FIELD(read.offcpu), NULL },
	{ "output", 'o', TEXT, ALL | PROGRAM_DOCTOR, "FILE", "write to FILE, complete or not at all (default: standard output)", FIELD(output), NULL },
	{ "event", 'e', TEXT, ALL, "NAME", "event to use (default: the first in the input)", FIELD(read.event), NULL },
	{ "profile", 0, TEXT, ALL, "N|NAME", "profile to use of a file that holds several (default: its main one)", FIELD(read.profile), NULL },
	{ "count", 0, FLAG, SAMPLES, NULL, "each sample weighs 1, whatever its period", FIELD(read.count), NULL },
	{ "offcpu", 0, FLAG, ALL, NULL, "time that threads were blocked, from sched:sched_switch in perf.data", FIELD(read.offcpu), NULL },
	{ "time", 0, CUSTOM, ALL, "FROM,TO", "only samples FROM to TO seconds after the first", 0, set_time },
	{ "columns", 0, CUSTOM, ALL, "N", "folded text has 1 or 2 counts a line (default: 2 if every line has two)", 0, set_columns },
	{ "pid", 0, CUSTOM, SAMPLES, NULL, "root frame comm-pid", 0, set_pid },
	{ "tid", 0, CUSTOM, SAMPLES, NULL, "root frame comm-pid/tid", 0, set_tid },
	{ "no-comm", 0, CUSTOM, SAMPLES, NULL, "no root frame for the command", 0, set_no_comm },
	{ "threads", 0, FLAG, ALL, NULL, "root frame for the thread, by its name", FIELD(read.threads), NULL },
	{ "label", 0, CUSTOM, ALL, "KEY", "root frame for the samples' label KEY (repeatable)", 0, set_label },
	{ "state", 0, CUSTOM, ALL, "STATE", "only samples of threads in this state, or these: A,B", 0, set_state },
	{ "no-idle", 0, FLAG, ALL, NULL, "leave out samples that say that nothing ran", FIELD(read.no_idle), NULL },
	{ "leak", 0, FLAG, ALL, NULL, "of native allocations only those that were not freed", FIELD(read.leak), NULL },
	{ "kernel", 0, CUSTOM, TEXT_MARKS, NULL, "mark kernel frames with _[k]", 0, set_kernel },
	{ "jit", 0, CUSTOM, TEXT_MARKS, NULL, "mark frames of a JIT compiler with _[j]", 0, set_jit },
	{ "inline", 0, CUSTOM, TEXT_MARKS, NULL, "mark inlined frames with _[i]", 0, set_inline },
	{ "all", 0, CUSTOM, TEXT_MARKS, NULL, "all of these marks", 0, set_all },
	{ "addrs", 0, FLAG, SAMPLES, NULL, "show the address of frames without a symbol", FIELD(read.addrs), NULL },
	{ "offsets", 0, FLAG, STACKS | RECORD, NULL, "keep +0x1f behind names", FIELD(read.offsets), NULL },
	{ "srcline", 0, FLAG, RECORD, NULL, "add :file:line, from debug information", FIELD(read.srcline), NULL },
	{ "srcline", 0, FLAG, STACKS, NULL, "add :file:line from perf script -F +srcline", FIELD(read.srcline), NULL },
	{ "lines", 0, FLAG, STACKS, NULL, "line numbers behind the names of managed code", FIELD(read.lines), NULL },
	{ "bci", 0, FLAG, STACKS, NULL, "bytecode indices behind the names of Java methods", FIELD(read.bci), NULL },
	{ "simple-names", 0, FLAG, STACKS, NULL, "classes without their package", FIELD(read.simple_names), NULL },
	{ "dot", 0, FLAG, STACKS, NULL, "packages with dots: java.lang.Thread.run", FIELD(read.dot), NULL },
	{ "normalize-names", 0, FLAG, STACKS, NULL, "no numbers in the names of lambdas and hidden classes", FIELD(read.normalize_names), NULL },
	{ "raw-names", 0, FLAG, STACKS | RECORD, NULL, "keep argument lists and all else of names", FIELD(read.raw_names), NULL },
	{ "demangle", 0, FLAG, STACKS, NULL, "demangle C++ and Rust names", FIELD(read.demangle), NULL },
	{ "symbols", 0, TEXT, SAMPLES, "DIR", "look for the recorded programs and their debug files here first", FIELD(read.symbol_dir), NULL },
	{ "symfs", 0, TEXT, ALL, "DIR", "the recorded programs are below DIR, as on the machine that was recorded", FIELD(read.symfs), NULL },
	{ "kallsyms", 0, TEXT, ALL, "FILE", "symbols of the recorded kernel, a copy of its /proc/kallsyms", FIELD(read.kallsyms), NULL },
	{ "inlines", 0, FLAG, STACKS | RECORD, NULL, "frames for inlined functions also in callchains by frame pointers", FIELD(read.inlines), NULL },
	{ "no-inline", 0, FLAG, SAMPLES, NULL, "no frames for functions that were inlined; it is faster", FIELD(read.no_inline), NULL },
	{ "skip-after", 0, CUSTOM, SAMPLES, "NAME", "frame NAME becomes the root (repeatable)", 0, set_skip_after },
	{ "only", 0, PATTERN, SAMPLES, "REGEX", "only stacks with a frame that matches (repeatable: one of them)", FIELD(transform.only), NULL },
	{ "exclude", 0, PATTERN, SAMPLES, "REGEX", "no stacks with a frame that matches (repeatable)", FIELD(transform.exclude), NULL },
	{ "focus", 0, PATTERN, SAMPLES, "REGEX", "only what the first frame that matches calls, and it as root (repeatable)", FIELD(transform.focus), NULL },
	{ "reverse", 0, FLAG, STACKS | RECORD, NULL, "leaf first: who calls the hot functions", FIELD(transform.reverse), NULL },
	{ "collapse-recursion", 0, FLAG, STACKS | RECORD, NULL, "a frame that calls itself counts once", FIELD(transform.collapse_recursion), NULL },
	{ "strip-hex", 's', FLAG, SAMPLES, NULL, "replace 0x1f2e in names by 0x...", FIELD(transform.strip_hex), NULL },
	{ "strip-ids", 0, FLAG, SAMPLES, NULL, "names without addresses, numbers of threads, clones, lambdas and versions", FIELD(transform.strip_ids), NULL },
	{ "header", 0, FLAG, PROGRAM_CONV | PROGRAM_DIFF, NULL, "start with \"# event:\", \"# unit:\" and \"# kind:\" lines", FIELD(header), NULL },
	{ "to", 0, CUSTOM, PROGRAM_CONV, "FORMAT", "output format (default: folded)", 0, set_to },
	{ "to", 0, CUSTOM, PROGRAM_DIFF, "FORMAT", "folded (default), svg, table or json", 0, set_to },
	{ "to", 0, CUSTOM, RECORD, "FORMAT", "svg, folded, markdown, text, json or another (default: as FILE's name ends)", 0, set_to },
	{ "normalize", 'n', FLAG, PROGRAM_DIFF, NULL, "scale the counts before so that both totals are equal", FIELD(normalize), NULL },
	{ "before", 0, CUSTOM, PROGRAM_DIFF, "FILE", "one more run of BEFORE, to learn how much equal runs differ (repeatable)", 0, set_before },
	{ "after", 0, CUSTOM, PROGRAM_DIFF, "FILE", "one more run of AFTER (repeatable)", 0, set_after },
	{ "confidence", 0, CUSTOM, PROGRAM_DIFF, "PERCENT", "that what is called a change is none by chance (default: 95)", 0, set_confidence },
	{ "dispersion", 0, CUSTOM, PROGRAM_DIFF, "N", "the variance is N times that of independent samples (default: 1, or found)", 0, set_dispersion },
	{ "run-size", 0, CUSTOM, PROGRAM_DIFF, "N", "single runs differ as samples of N do, besides sampling; 0: not (default: 3000)", 0, set_run_size },
	{ "min", 0, CUSTOM, PROGRAM_DIFF, "PERCENT", "list only what has this share before or after (default: 0)", 0, set_min },
	{ "top", 0, COUNT, PROGRAM_DIFF, "N", "list at most N that changed and N that did not (default: 20 in a table)", FIELD(top), NULL },
	{ "paths", 0, FLAG, PROGRAM_DIFF, NULL, "list paths too, not only functions", FIELD(paths), NULL },
	{ "fail-on", 0, CUSTOM, PROGRAM_DIFF, "FRAME>N%", "fail where FRAME (a regular expression) grew by over N points (repeatable)", 0, set_fail_on },
	{ "to", 0, CUSTOM, PROGRAM_REPORT, "FORMAT", "markdown (default), text or json", 0, set_report_to },
	{ "project", 0, CUSTOM, PROGRAM_REPORT, "REGEX", "functions, files and modules that are yours (repeatable; default: inferred)", 0, set_project },
	{ "before", 0, TEXT, PROGRAM_REPORT, "FILE", "profile of the time before a change, to compare with", FIELD(before), NULL },
	{ "offcpu-profile", 0, TEXT, PROGRAM_REPORT, "FILE", "profile of blocked time, in a section of its own", FIELD(offcpu_profile), NULL },
	{ "top", 0, COUNT, PROGRAM_REPORT, "N", "functions and paths at most (default: 8)", FIELD(report.top), NULL },
	{ "min", 0, CUSTOM, PROGRAM_REPORT, "PERCENT", "least share of a path or function (default: 3)", 0, set_report_min },
	{ "depth", 0, COUNT, PROGRAM_REPORT, "N", "functions of a path that are named (default: 6)", FIELD(report.depth), NULL },
	{ "title", 0, TEXT, PICTURE & ~RECORD, "TEXT", "heading (default: Flame Graph)", FIELD(svg.title), NULL },
	{ "title", 0, TEXT, RECORD, "TEXT", "heading (default: how it was recorded)", FIELD(svg.title), NULL },
	{ "subtitle", 0, TEXT, PICTURE & ~RECORD, "TEXT", "second line", FIELD(svg.subtitle), NULL },
	{ "subtitle", 0, TEXT, RECORD, "TEXT", "second line (default: what was recorded)", FIELD(svg.subtitle), NULL },
	{ "width", 0, CUSTOM, PICTURE, "PIXELS", "fixed width (default: as wide as the page)", 0, set_width },
	{ "height", 0, CUSTOM, PICTURE, "PIXELS", "of a frame (default: 16)", 0, set_height },
	{ "minwidth", 0, CUSTOM, PICTURE, "N[%]", "frames narrower than N pixels or percent are drawn together (default: 0.1)", 0, set_minwidth },
	{ "fonttype", 0, TEXT, PICTURE, "FONT", "font family (default: Verdana and the like)", FIELD(svg.fonttype), NULL },
	{ "fontsize", 0, CUSTOM, PICTURE, "PIXELS", "(default: 12)", 0, set_fontsize },
	{ "fontwidth", 0, NUMBER, PICTURE, "N", "mean width of a letter as a part of the font size (default: measured)", FIELD(svg.fontwidth), NULL },
	{ "countname", 0, TEXT, PICTURE, "TEXT", "what is counted (default: the unit, else samples)", FIELD(svg.countname), NULL },
	{ "nametype", 0, TEXT, PICTURE, "TEXT", "what frames are (default: Function:)", FIELD(svg.nametype), NULL },
	{ "colors", 0, CUSTOM, DRAWING, "PALETTE", "colours (default: auto)", 0, set_colors },
	{ "colors", 0, CUSTOM, PROGRAM_DIFF, "COLOURS", "of more and less: red-blue (default) or colorblind", 0, set_diff_colors },
	{ "bgcolors", 0, CUSTOM, PICTURE, "COLOUR", "yellow, blue, green, grey or #rrggbb", 0, set_bgcolors },
	{ "hash", 0, FLAG, DRAWING, NULL, "colours from a hash of the name that likens similar names", FIELD(svg.hash), NULL },
	{ "random", 0, FLAG, DRAWING, NULL, "random colours; the picture differs each time", FIELD(svg.random), NULL },
	{ "cp", 0, CUSTOM, PROGRAM_RENDER, NULL, "keep colours in palette.map from one picture to the next", 0, set_cp },
	{ "inverted", 0, FLAG, PICTURE, NULL, "root on top: an icicle graph", FIELD(svg.inverted), NULL },
	{ "flamechart", 0, FLAG, PROGRAM_RENDER, NULL, "samples in their order from left to right", FIELD(svg.in_order), NULL },
	{ "negate", 0, FLAG, PICTURE, NULL, "swap red and blue of a differential", FIELD(svg.negate), NULL },
	{ "delta", 0, CUSTOM, PICTURE, "self|total", "change that colours a differential (default: total)", 0, set_delta },
	{ "counts", 0, FLAG, PICTURE, NULL, "the colours of a differential show the change of counts, not of shares", FIELD(svg.compare.by_count), NULL },
	{ "view", 0, CUSTOM, PICTURE, "VIEW", "widths of a differential: after (default), combined or elided", 0, set_view },
	{ "total", 0, CUSTOM, PICTURE, "N", "base of the percentages (default: the sum)", 0, set_total },
	{ "factor", 0, NUMBER, PICTURE, "N", "show counts times N", FIELD(svg.factor), NULL },
	{ "notes", 0, TEXT, PICTURE, "TEXT", "comment in the picture's file", FIELD(svg.notes), NULL },
	{ "frequency", 'F', CUSTOM, PROGRAM_DOCTOR, "HZ", "samples a second of the commands that are printed (default: 99)", 0, set_frequency },
	{ "duration", 'd', CUSTOM, PROGRAM_DOCTOR, "SECONDS", "time to record of the commands that are printed (default: 30)", 0, set_whole_duration },
	{ "json", 0, FLAG, PROGRAM_DOCTOR, NULL, "print JSON", FIELD(json), NULL },
	{ "root", 0, CUSTOM, PROGRAM_DOCTOR, "DIR", "look at files below DIR in place of /, and open no events", 0, set_root },
	{ "strict", 0, FLAG, ALL, NULL, "stop at the first line that cannot be used", FIELD(read.strict), NULL },
	{ "quiet", 'q', FLAG, SAMPLES, NULL, "no notes and warnings, only errors", FIELD(quiet), NULL },
	{ "threads-max", 0, COUNT, ALL, "N", "threads to read with (default: one a processor)", FIELD(read.threads_max), NULL },
};

#define NR_OPTIONS (sizeof(options) / sizeof(*options))

_Static_assert(NR_OPTIONS <= 8 * sizeof(((struct tool *)NULL)->given), "tool.given is too small");

static bool has_option(const struct tool *tool, const struct option *o)
{
	bool has = o->programs & tool->program;

	for (size_t i = 0; has && tool->refused && tool->refused[i]; i++)
		has = strcmp(tool->refused[i], o->name) != 0;
	return has;
}

/* Who wrote a plugin's options sees no help at hand: list them. */
static void list_options(const struct tool *tool)
{
	fprintf(stderr, "%s: the options are: to=svg to=FORMAT o=FILE", tool->name);
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		if (has_option(tool, &options[i]))
			fprintf(stderr, " %s%s%s", options[i].name, options[i].argument ? "=" : "",
				options[i].argument ? options[i].argument : "");
	}
	fputc('\n', stderr);
}

static int usage_error(const struct tool *tool)
{
	if (tool->is_plugin)
		list_options(tool);
	else
		fprintf(stderr, "%s --help tells more\n", tool->name);
	return 2;
}

static void print_help(const struct tool *tool)
{
	printf("usage: %s\n%s\n\n", tool->usage, tool->about);
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option *o = &options[i];
		char left[64];

		if (!has_option(tool, o))
			continue;
		snprintf(left, sizeof(left), "%c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
			 o->letter ? "," : " ", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
		printf("  %-28s %s\n", left, o->help);
	}
	if (tool->program & DRAWING) {
		printf("\nPalettes:");
		for (size_t i = 0; flame_palette_names[i]; i++)
			printf(" %s", flame_palette_names[i]);
		putchar('\n');
	}
	if (tool->program == PROGRAM_DOCTOR) {
		printf("\nExit status: 0 the first of the printed commands can be used now; 1 something prevents it, or the target\n"
		       "cannot be examined; 2 wrong usage.\n");
		return;
	}
	if (tool->program == PROGRAM_RECORD) {
		printf("\nExit status: 0 recorded and written; 1 failed, nothing was written; 2 wrong usage.\n");
		return;
	}
	printf("\nExit status: 0 all of the input was used; 1 failed, nothing was written; 2 wrong usage;\n"
	       "3 written, but part of the input is damaged and could not be read.\n");
}

static void list_formats(void)
{
	for (size_t i = 0; flame_converters[i]; i++) {
		const struct flame_converter *c = flame_converters[i];

		printf("%-12s %s%s\n", c->name, c->summary, c->read ? c->write ? " (read and written)" : "" : " (written)");
	}
}

/* Options of flamegraph.pl, which scripts abbreviate as it allows: --col is --colors, whatever else begins so here. */
static bool is_flamegraph_pl(const struct option *o)
{
	static const char *const names[] = {
		"title", "subtitle", "width", "height", "minwidth", "fonttype", "fontsize", "fontwidth", "countname", "nametype",
		"colors", "bgcolors", "hash", "random", "cp", "reverse", "inverted", "flamechart", "negate", "notes", "total", "factor",
		"help", NULL,
	};

	return is_one_of(o->name, names);
}

/*
 * Return: the option called @name (of @len bytes) that this program has; or the only one that begins so, or the only one
 * of flamegraph.pl where the program draws; NULL where there is none.
 */
static const struct option *find_option(const struct tool *tool, const char *name, size_t len)
{
	const struct option *found = NULL, *known = NULL;
	size_t nr_found = 0, nr_known = 0;

	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const struct option *o = &options[i];

		if (!has_option(tool, o) || strncmp(o->name, name, len))
			continue;
		if (!o->name[len])
			return o;
		found = o;
		nr_found++;
		if (!is_flamegraph_pl(o))
			continue;
		known = o;
		nr_known++;
	}
	if (!len || nr_found == 1)
		return len ? found : NULL;
	return tool->program == PROGRAM_RENDER && nr_known == 1 ? known : NULL;
}

static const struct option *find_letter(const struct tool *tool, char letter)
{
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		if (options[i].letter == letter && options[i].programs & tool->program)
			return &options[i];
	}
	return NULL;
}

/* How many single-letter edits lie between two names, at most. */
static size_t distance(const char *a, size_t len, const char *b)
{
	size_t row[64], nr = strlen(b);

	if (nr >= 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= nr; j++)
		row[j] = j;
	for (size_t i = 1; i <= len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nr; j++) {
			size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);

			if (up + 1 < best)
				best = up + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			diagonal = up;
		}
	}
	return row[nr];
}

/* Say which options begin as @arg does, where there are several. Return: false where there are not. */
static bool list_candidates(const struct tool *tool, const char *arg, size_t len)
{
	char text[512] = "";
	size_t nr = 0, used = 0;

	for (size_t i = 0; i < NR_OPTIONS && len > 2 && !strncmp(arg, "--", 2); i++) {
		if (!has_option(tool, &options[i]) || strncmp(options[i].name, arg + 2, len - 2))
			continue;
		nr++;
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " --%s", options[i].name);
	}
	if (nr > 1)
		tool_message(tool, "error", "%.*s could be%s", (int)len, arg, text);
	return nr > 1;
}

static int unknown_option(const struct tool *tool, const char *arg, size_t len)
{
	const struct option *best = NULL;
	size_t best_distance = 4;

	if (list_candidates(tool, arg, len))
		return usage_error(tool);
	for (size_t i = 0; i < NR_OPTIONS && arg[0] == '-' && arg[1] == '-' && len < 64; i++) {
		size_t d = has_option(tool, &options[i]) ? distance(arg + 2, len - 2, options[i].name) : SIZE_MAX;

		if (d < best_distance) {
			best_distance = d;
			best = &options[i];
		}
	}
	if (best)
		tool_message(tool, "error", "no option %.*s; did you mean --%s?", (int)len, arg, best->name);
	else
		tool_message(tool, "error", "no option %.*s", (int)len, arg);
	return usage_error(tool);
}

static const char *set_number(double *to, const char *value)
{
	char *end;

	*to = strtod(value, &end);
	return end == value || *end || !is_decimal(value) || !(*to > 0 && *to < 1e9) ? "wants a number above 0" : NULL;
}

static const char *add_pattern(const char **to, const char *value)
{
	for (size_t i = 0; i < FLAME_MAX_PATTERNS; i++) {
		if (to[i])
			continue;
		to[i] = value;
		return NULL;
	}
	return "is given more than 16 times (FLAME_MAX_PATTERNS)";
}

static const char *set_count(unsigned int *to, const char *value)
{
	return set_whole(to, value, 1024) ? NULL : "wants a number from 1 to 1024";
}

/* Return: NULL, or what is wrong with @value. */
static const char *set_option(struct tool *tool, const struct option *o, const char *value)
{
	void *field = (char *)tool + o->offset;

	switch (o->type) {
	case FLAG:
		*(bool *)field = true;
		return NULL;
	case TEXT:
		*(const char **)field = value;
		return NULL;
	case PATTERN:
		return add_pattern(field, value);
	case NUMBER:
		return set_number(field, value);
	case COUNT:
		return set_count(field, value);
	default:
		return o->set(tool, value);
	}
}

/* Options that answer at once. Return: the status to exit with; -1 where @o is none of them. */
static int answer(const struct tool *tool, const struct option *o)
{
	if (o->type != CUSTOM || o->set)
		return -1;
	if (!strcmp(o->name, "help"))
		print_help(tool);
	else if (!strcmp(o->name, "version"))
		printf("%s %s\n", tool->name, FLAME_VERSION);
	else
		list_formats();
	return fflush(stdout) ? 1 : 0;
}

/* @value: what stands behind '=', or NULL. Return: -1 to go on, else the status to exit with. */
static int take_option(struct tool *tool, const struct option *o, const char *value, int argc, char **argv, int *i)
{
	const char *wrong;
	int status = answer(tool, o);

	if (status >= 0)
		return status;
	if (!o->argument && value) {
		tool_message(tool, "error", "--%s takes no value", o->name);
		return usage_error(tool);
	}
	if (o->argument && !value) {
		if (*i + 1 >= argc) {
			tool_message(tool, "error", "--%s wants %s", o->name, o->argument);
			return usage_error(tool);
		}
		value = argv[++*i];
	}
	wrong = set_option(tool, o, value);
	tool->given[(o - options) / 8] |= (unsigned char)(1 << (o - options) % 8);
	if (!wrong)
		return -1;
	tool_message(tool, "error", "--%s %s (not '%s')", o->name, wrong, value ? value : "");
	return usage_error(tool);
}

static int take_letters(struct tool *tool, const char *arg, int argc, char **argv, int *i)
{
	for (const char *c = arg + 1; *c; c++) {
		const struct option *o = find_letter(tool, *c);
		int status;

		if (!o)
			return unknown_option(tool, arg, strlen(arg));
		status = take_option(tool, o, o->argument && c[1] ? c + 1 : NULL, argc, argv, i);
		if (status >= 0 || o->argument)
			return status;
	}
	return -1;
}

static int take_input(struct tool *tool, const char *arg)
{
	size_t most = tool->program == PROGRAM_DIFF ? 2 : tool->program == PROGRAM_REPORT ? MAX_REPORTED : 1;

	if (tool->nr_inputs == most) {
		tool_message(tool, "error", "more than %zu input file%s: '%s'", most, most > 1 ? "s" : "", arg);
		return usage_error(tool);
	}
	tool->inputs[tool->nr_inputs++] = arg;
	return -1;
}

/* What fgrecord was told, and what goes without saying. */
static int check_record(struct tool *tool)
{
	struct tool_record *o = &tool->record;
	const char *wrong = NULL;

	if (!o->pids && !o->all && !o->nr_command)
		wrong = "what is to be recorded? -p PID is a process, -a all of them, and anything else a command to run";
	else if (o->pids && o->nr_command)
		wrong = "-p PID records a process that runs already, so that no command goes with it";
	else if (o->slow && o->frequency > 0)
		wrong = "--long means 49 Hz, -F says otherwise: give one of them";
	else if (o->every > 0 && !tool->output)
		wrong = "--every needs -o FILE, with %H%M%S or the like in its name";
	else if (o->every > 0 && strcmp(tool->output, "-") && !strchr(tool->output, '%'))
		wrong = "--every would write over its own file: give FILE a name with %H%M%S or the like";
	else if (o->keep && !(o->every > 0))
		wrong = "--keep says how many files of --every stay";
	else if (tool->read.offcpu && tool->read.event && strcmp(tool->read.event, "off-cpu") && strcmp(tool->read.event, "runqueue"))
		wrong = "--offcpu records the events off-cpu and runqueue: -e chooses one of them";
	if (wrong) {
		tool_message(tool, "error", "%s", wrong);
		return usage_error(tool);
	}
	if (!(o->frequency > 0))
		o->frequency = o->slow ? 49 : 99;
	/* A copied stack takes 25 times as much as a callchain. */
	if (!o->pages)
		o->pages = o->stack_bytes ? 1024 : 128;
	/* Another format goes where it is asked to: a pipe, a file that says what it is. */
	if (!tool->output)
		tool->output = tool->to && strcmp(tool->to, "svg") ? "-" : "flame.svg";
	tool->header = true;
	/* A picture tells kinds by colours; text without marks has none. */
	tool->read.kinds = FLAME_ALL_KINDS;
	return -1;
}

/* What only some of fgdiff's outputs show. What draws a picture goes with none of the others. */
static const struct {
	const char *name, *formats;
} diff_formats[] = {
	{ "header", "folded" }, { "jit", "folded" }, { "inline", "folded" },
	{ "top", "table, json" }, { "min", "table, json" }, { "paths", "table, json" },
	{ "countname", "svg, table" }, { "colors", "svg" },
	{ "confidence", "svg, table, json" }, { "dispersion", "svg, table, json" }, { "run-size", "svg, table, json" },
};

static const char *formats_of(const struct option *o)
{
	for (size_t i = 0; i < sizeof(diff_formats) / sizeof(*diff_formats); i++) {
		if (!strcmp(diff_formats[i].name, o->name))
			return diff_formats[i].formats;
	}
	return o->programs & PROGRAM_RENDER && !(o->programs & PROGRAM_CONV) ? "svg" : NULL;
}

/* An option that changes nothing would be taken for one that did. */
static int check_diff(const struct tool *tool)
{
	const char *to = tool->to ? tool->to : "folded";

	if (tool->nr_inputs != 2) {
		tool_message(tool, "error", "two profiles are needed: BEFORE and AFTER");
		return usage_error(tool);
	}
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		const char *formats = tool->given[i / 8] >> i % 8 & 1 ? formats_of(&options[i]) : NULL;

		/* Thresholds are tested, whatever is written. */
		if (!formats || strstr(formats, to) || (tool->nr_fail_on && strstr(formats, "svg, table, json")))
			continue;
		tool_message(tool, "error", "--%s changes nothing with --to %s: it is for --to %s", options[i].name, to, formats);
		return usage_error(tool);
	}
	return -1;
}

/* A directory that is not there has no symbols, and nothing else would tell that its name is mistyped. */
static void check_directories(const struct tool *tool)
{
	const struct { const char *option, *path; } directories[] = {
		{ "symbols", tool->read.symbol_dir }, { "symfs", tool->read.symfs },
	};

	for (size_t i = 0; !tool->quiet && i < sizeof(directories) / sizeof(*directories); i++) {
		const char *path = directories[i].path;
		struct stat st;

		if (!path || !*path)
			continue;
		if (stat(path, &st))
			tool_message(tool, "warning", "--%s %s: %s: no symbols are found there", directories[i].option, path, strerror(errno));
		else if (!S_ISDIR(st.st_mode))
			tool_message(tool, "warning", "--%s %s: it is no directory: no symbols are found there", directories[i].option, path);
	}
}

static size_t count_standard(const char *const *paths, size_t nr)
{
	size_t found = 0;

	for (size_t i = 0; i < nr; i++)
		found += paths[i] && !strcmp(paths[i], "-");
	return found;
}

/* What stands there is gone when it has been read, and the second reader would call it empty. */
static bool reads_standard_twice(const struct tool *tool)
{
	const char *const more[] = { tool->before, tool->offcpu_profile };

	return count_standard(tool->inputs, tool->nr_inputs) + count_standard(tool->more_before, tool->nr_more_before) +
	       count_standard(tool->more_after, tool->nr_more_after) + count_standard(more, 2) > 1;
}

static int check(struct tool *tool)
{
	char *wrong = flame_transform_check(&tool->transform);

	if (wrong) {
		tool_message(tool, "error", "%s", wrong);
		free(wrong);
		return usage_error(tool);
	}
	if (tool->program == PROGRAM_RECORD)
		return check_record(tool);
	if (tool->program == PROGRAM_DIFF && check_diff(tool) >= 0)
		return 2;
	if (tool->program == PROGRAM_DOCTOR && tool->nr_inputs) {
		tool_message(tool, "error", "wants a pid, a file or a command, not '%s'", tool->inputs[0]);
		return usage_error(tool);
	}
	if (tool->program == PROGRAM_DOCTOR)
		return -1;
	if (!tool->nr_inputs)
		tool->inputs[tool->nr_inputs++] = "-";
	if (reads_standard_twice(tool)) {
		tool_message(tool, "error", "standard input (-) can only be read once: save one of the profiles to a file");
		return usage_error(tool);
	}
	tool->read.kinds = tool->program & (PROGRAM_RENDER | PROGRAM_REPORT) ? FLAME_ALL_KINDS : tool->annotate;
	tool->read.ordered = tool->svg.in_order;
	return -1;
}

/* What is no option begins a command; its own options are none of ours. */
static void take_command(struct tool *tool, int nr, char **words)
{
	bool dashes = !strcmp(words[0], "--");

	tool->record.command = (const char *const *)words + dashes;
	tool->record.nr_command = nr - dashes;
}

int tool_parse(struct tool *tool, int argc, char **argv)
{
	bool only_inputs = false;
	int status = -1;

	/* Beyond `ulimit -f` writing fails then, and is dealt with. What is run inherits it, so not there. */
	if (!(tool->program & (PROGRAM_RECORD | PROGRAM_DOCTOR)))
		signal(SIGXFSZ, SIG_IGN);
	for (int i = 1; status < 0 && i < argc; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '=');
		size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
		const struct option *o;

		if (tool->program & (PROGRAM_RECORD | PROGRAM_DOCTOR) && (arg[0] != '-' || !strcmp(arg, "--"))) {
			take_command(tool, argc - i, argv + i);
			break;
		}
		if (only_inputs || arg[0] != '-' || !arg[1]) {
			status = take_input(tool, arg);
		} else if (!strcmp(arg, "--")) {
			only_inputs = true;
		} else if (arg[1] != '-') {
			status = take_letters(tool, arg, argc, argv, &i);
		} else {
			o = find_option(tool, arg + 2, len - 2);
			status = o ? take_option(tool, o, equals ? equals + 1 : NULL, argc, argv, &i) :
				     unknown_option(tool, arg, len);
		}
	}
	if (status < 0)
		status = check(tool);
	if (status < 0) {
		check_directories(tool);
		tool_prepare_memory();
	}
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * look.c - names for inputs that no converter reads, so that the message can say what to do.
 */
#define _GNU_SOURCE
#include "look.h"

#include <string.h>

struct look {
	const char *start;	/* bytes at the start, or NULL */
	size_t len;
	const char *contains;	/* text anywhere in the head, or NULL */
	const char *advice;
};

#define START(magic) magic, sizeof(magic) - 1

/* Reports made from profiles, and binary files, whose lines may look like those of a format. */
static const struct look reports[] = {
	{ START("\x7f" "ELF"), NULL, "a program (ELF), not a profile of it: record it first, e.g. perf record -g -- PROGRAM" },
	{ START("BZh"), "1AY&SY", "a bzip2 file; unpack it first: bzcat FILE | fgconv" },
	{ START("\xfd" "7zXZ"), NULL, "an xz file; unpack it first: xzcat FILE | fgconv" },
	{ START("\x04\x22\x4d\x18"), NULL, "an lz4 file; unpack it first: lz4cat FILE | fgconv" },
	{ START("PK\3\4"), NULL, "a zip archive; unpack it first" },
	{ START("\x89PNG"), NULL, "a PNG picture; give the profile that it was made from" },
	{ START("PeriodType:"), "\nSamples:\n", "the text of pprof -raw; give the profile that it was made from" },
	{ START("Comment:"), "\nSamples:\n", "the text of pprof -raw; give the profile that it was made from" },
	{ START("-----"), "\nProfile data file '", "the text of callgrind_annotate, which has no stacks; give the callgrind.out file" },
};

static const struct look looks[] = {
	{ START("\xc1\x1f\xfc\xc1"), NULL, "a CTF trace; this version cannot read it yet" },
	{ START("\x04\x08"), NULL, "a Ruby Marshal dump, as stackprof writes; let stackprof make JSON of it: stackprof --json FILE" },
	{ START("--- threadz "), NULL, "a dump of threads of gperftools; go tool pprof -proto FILE makes a profile of it that can be read" },
	{ START("\0\0\0\0\3\0\0\0\1\0\0\0"), NULL, "a CPU profile of Java; go tool pprof -proto FILE makes one of it that can be read" },
	{ START("\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0"), NULL, "a CPU profile of Java; go tool pprof -proto FILE makes one of it that can be read" },
	{ START("--- heapz "), NULL, "a heap profile of Java; go tool pprof -proto FILE makes one of it that can be read" },
	{ NULL, 0, " flat%   sum%", "the text of pprof -top, which has no stacks; give the profile that it was made from" },
	{ NULL, 0, "\n-----------+-----", "the text of pprof -traces; give the profile that it was made from" },
	{ NULL, 0, "  Mode: ", "the text of stackprof, which has no stacks; let stackprof make JSON of the dump: stackprof --json FILE" },
	{ START("Statistical profiling result from "), NULL, "the text of node --prof-process; record with node --cpu-prof" },
	{ START("Traceback (most recent call last)"), NULL, "the error of a Python program: the command that was to record failed" },
	{ START("[Errno "), NULL, "the error of a Python program: the command that was to record failed" },
	{ START("Total: "), " samples\n", "the text of gperftools' pprof, which has no stacks; give the profile that it was made from" },
	{ START("v8-version,"), NULL, "a log of V8's ticks (--prof); record with node --cpu-prof" },
	{ START("go 1."), " trace", "an execution trace of Go; make a profile of it: go tool trace -pprof=sched FILE" },
	{ NULL, 0, "\n Event Type ", "the summary of a JFR recording; give the recording itself" },
	{ START("v 1"), "\nX ", "a recording of heaptrack; let its tool make stacks of it: heaptrack_print -F stacks.folded FILE" },
	{ START("desc: "), "\nsnapshot=", "a heap profile of massif; this version cannot read it" },
	{ NULL, 0, "\"linux-perf-json-version\"", "the JSON of perf data convert; give perf.data itself" },
	{ NULL, 0, "\"dhatFileVersion\"", "a profile of DHAT; this version cannot read it" },
	{ NULL, 0, "# Overhead", "the text of perf report, which has no single stacks; give that of perf script" },
	{ NULL, 0, " PERF_RECORD_SAMPLE(", "the dump of perf script -D; give the text of perf script without -D" },
	{ NULL, 0, "<svg", "an SVG picture, perhaps a flame graph already; give the profile that it was made from" },
	{ NULL, 0, "<!DOCTYPE html", "an HTML page; give the profile that it was made from" },
	{ NULL, 0, "<html", "an HTML page; give the profile that it was made from" },
	{ START("\n"), "track_event", "a trace of Perfetto; make JSON of it: traceconv json FILE FILE.json" },
	{ START("\n"), "linux.ftrace", "a trace of Perfetto; make JSON of it: traceconv json FILE FILE.json" },
	{ START("\n"), "thread.name", "profiles of OpenTelemetry (OTLP); this version cannot read them" },
	{ START("\x12"), "thread.name", "profiles of OpenTelemetry (OTLP); this version cannot read them" },
	{ START("{"), NULL, "JSON; this version cannot read it yet" },
	{ START("["), NULL, "JSON; this version cannot read it yet" },
};

static bool looks_like(const struct look *look, struct flame_span head)
{
	if (look->start && (head.len < look->len || memcmp(head.s, look->start, look->len)))
		return false;
	return !look->contains || memmem(head.s, head.len, look->contains, strlen(look->contains));
}

static const char *find(const struct look *table, size_t nr, struct flame_span head)
{
	for (size_t i = 0; i < nr; i++) {
		if (looks_like(&table[i], head))
			return table[i].advice;
	}
	return NULL;
}

bool flame_look_report(struct flame_span head)
{
	return find(reports, sizeof(reports) / sizeof(*reports), head) != NULL;
}

const char *flame_look(struct flame_span head)
{
	const char *advice = find(reports, sizeof(reports) / sizeof(*reports), head);

	if (!advice)
		advice = find(looks, sizeof(looks) / sizeof(*looks), head);
	if (advice)
		return advice;
	return memchr(head.s, '\0', head.len) ? "some binary file" :
		"text in no known format (of perf script, leave -F away or name comm,tid,time,event,ip,sym,dso)";
}

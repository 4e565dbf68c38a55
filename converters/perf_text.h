/* SPDX-License-Identifier: MIT */
#ifndef FLAME_PERF_TEXT_H
#define FLAME_PERF_TEXT_H
/* The two kinds of line of `perf script`'s text: what happened to whom, and the frames of a stack. */
#include "../core/flame.h"

/*
 * The first line of a sample:
 *
 *     comm pid/tid [cpu] time: period event: rest
 *
 * where any part may be missing. A comm may look like all that follows it.
 */
struct perf_header {
	struct flame_span comm;
	int32_t pid, tid;		/* -1: not printed */
	const char *ids_end;		/* where the ids end, in the text that begins with comm */
	bool has_time;
	int64_t time;			/* ns */
	uint64_t period;		/* 0: not printed */
	struct flame_span event;	/* without the final ':'; empty: not printed */
	struct flame_span rest;		/* cgroup, tracepoint payload, or the only frame */
	struct flame_span record;	/* "PERF_RECORD_LOST …" and the like where the line is not a sample; else empty */
};

struct perf_frame {
	struct flame_span address;	/* hexadecimal digits */
	struct flame_span symbol;	/* with offset; may be empty or "[unknown]" */
	struct flame_span module;	/* may be empty or "[unknown]" */
	bool inlined;
};

/* Nothing known; its spans are empty, not NULL. */
extern const struct perf_header perf_no_header;

/* Return: true for what perf script --header writes; a comm may begin with '#' too. */
bool perf_is_comment(struct flame_span line);
/* Return: true where the line is surely a sample's first: it has a time, or an event behind an id. */
bool perf_parse_header(struct flame_span line, struct perf_header *header);
/* The same for lines that are a first line only if a frame follows: "comm", "comm pid", "event:". */
bool perf_parse_weak_header(struct flame_span line, struct perf_header *header);
/* The same for a sample without a callchain, which is one line, and so is its frame: "comm      4005d0 f". */
bool perf_parse_flat_header(struct flame_span line, struct perf_header *header);
/* Where in @text, a part of the line that starts at @line, a frame starts; of no bytes where none does. */
struct flame_span perf_find_address(const char *line, struct flame_span text);
/* Return: true where the line is a blank, an address and what follows it. */
bool perf_parse_frame(struct flame_span line, struct perf_frame *frame);
/* Return: true for what -F +brstackinsn adds behind the frames: "\tmain+0x30:", "\t00000000004019f0\tinsn: c3". */
bool perf_is_branch_text(struct flame_span line);
/* Return: true where @line, which may look like a frame, leads to frames: "2004008 cpu-clock:", "20512 [000]". */
bool perf_is_header(struct flame_span line);

#endif

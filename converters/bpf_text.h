/* SPDX-License-Identifier: MIT */
#ifndef FLAME_BPF_TEXT_H
#define FLAME_BPF_TEXT_H
/*
 * bpf_text.h - what bpftrace and bcc share: lines of frames, the leaf's first, whose text leads to a
 * frame by a cache, and paths of them on their way into the profile.
 */
#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/feeder.h"

/* Whose code it is, as far as the text tells; of several frames these add up. */
#define BPF_USER (-1)
#define BPF_KERNEL 1
#define BPF_SURE 1000	/* an address tells, not a name */

/* The parts of a frame's line. */
struct bpf_frame {
	struct flame_span symbol;	/* without offset; an address where there is no symbol */
	struct flame_span offset;	/* "+12", "+0x1f" */
	struct flame_span module;
	struct flame_span source;	/* "file.c:12" */
	bool inlined;
	int side;
};

void bpf_parse_frame(struct flame_span line, struct bpf_frame *f);
/*
 * Put blanks back into a line of the modes perf and build_id that has none, as in the JSON of bpftrace 0.24 and newer.
 * @buf: at least line.len + 2 bytes. Return: @line, or in @buf.
 */
struct flame_span bpf_respace(struct flame_span line, char *buf);
/* Return: BPF_USER, BPF_KERNEL, or 0 where the name does not tell. */
int bpf_name_side(struct flame_span name);

/* What is known of a frame, by its row. */
struct bpf_known {
	int side;
	flame_frame kernel;	/* the same frame as the kernel's; 0: not made yet */
};

struct bpf_text {
	struct flame_feeder *feeder;
	struct flame_cache lines[3];	/* by the bytes of a line: without address, with a user's, with a kernel's */
	struct bpf_known *known;
	size_t nr_known, room_known;
	char *name;
	size_t room_name;
	flame_frame *frames;		/* of the record at hand, as its lines come */
	size_t nr_frames, room_frames;
	bool has_paths;			/* some path was added */
};

/* All lines were read: tell if the last one has no end. */
void bpf_text_check_end(struct flame_reader *rd);
/* Return: 0 or FLAME_ENOMEM. */
int bpf_text_init(struct bpf_text *t, struct flame_reader *rd);
/* Everything goes into the profile. Return: @err, how reading ended, or else the failure. */
int bpf_text_end(struct bpf_text *t, int err);
/* The end of the input cuts off @what ("a stack"). @reason: to skip it, where the input tells of damage itself. */
int bpf_text_cut(struct flame_reader *rd, const char *what, const char *reason);
void bpf_text_release(struct bpf_text *t);

/* Return: the frame of @line, blanks around it do not matter, with its side in *@side; 0 without memory. */
flame_frame bpf_find_frame(struct bpf_text *t, struct flame_reader *rd, struct flame_span line, int *side);
/* Return: a frame of just this name; 0 without memory. */
flame_frame bpf_make_frame(struct bpf_text *t, struct flame_reader *rd, struct flame_span name, enum flame_kind kind);
/* Return: @frame as one of the kernel, where the profile tells these apart. */
flame_frame bpf_kernel_frame(struct bpf_text *t, struct flame_reader *rd, flame_frame frame);
/* Append to t->frames. Return: false without memory, or where @frame is 0. */
bool bpf_push(struct bpf_text *t, flame_frame frame);

/* Begin a path of @nr frames. Return: where they go, the root's first; NULL without memory. */
flame_frame *bpf_path(struct bpf_text *t, size_t nr);
/* End it. */
int bpf_path_add(struct bpf_text *t, size_t nr, flame_type type, int64_t value);

/* Parse all of @s, a whole number. */
enum flame_number_result bpf_integer(struct flame_span s, int64_t *value);

#endif

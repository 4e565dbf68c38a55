/* SPDX-License-Identifier: MIT */
#ifndef FLAME_NATIVE_H
#define FLAME_NATIVE_H
/*
 * native.h - frames of code that profilers name by symbol and module: what kind it is, what it is
 * called by default and under the options. All readers of such code make their frames here, so that
 * one function has one name whatever it was read from.
 */
#include "converter.h"

struct flame_location;

/* One address as a profiler prints it. Spans may be empty, but are not NULL. */
struct flame_native {
	struct flame_span symbol;	/* with "+0x1f", where it is known; "[unknown]" is unknown too */
	struct flame_span module;	/* path or "[kernel.kallsyms]"; "[unknown]" is unknown too */
	struct flame_span address;	/* hexadecimal digits, for --addrs */
	bool inlined;
	bool demangle;			/* the symbol may be mangled */
};

/* Room for names and frames that are being made. Zero-initialise. */
struct flame_native_namer {
	char *name;
	size_t room_name;
	char *symbol;	/* with its offset */
	size_t room_symbol;
	flame_frame *frames;
	size_t nr_frames, room_frames;
};

/*
 * The frames of @code in namer->frames, the outermost first: more than one where a JIT compiler's
 * symbol holds inlined functions. Return: how many; 0 after a failure.
 */
size_t flame_native_frames(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code);
/* Replace *@frame by one that is at @file:@line, its name as it is. Return: false after a failure. */
bool flame_frame_place(struct flame_profile *p, flame_frame *frame, struct flame_span file, uint32_t line);
/* The same for what symbols tell of an address in @module, with its inlined functions; @is_caller: it was looked up as one. */
size_t flame_location_frames(struct flame_native_namer *namer, struct flame_reader *rd, struct flame_span module,
			     const struct flame_location *loc, bool is_caller);
/* Under --offsets, code->symbol gets @offset behind it, in the namer's room. Return: false without memory. */
bool flame_native_offset(struct flame_native_namer *namer, const struct flame_reader *rd, struct flame_native *code,
			 uint64_t offset);
/* Return: the name "@name:@line", where @line is "file.c:12"; 0 after a failure. */
flame_string flame_name_at_line(struct flame_native_namer *namer, struct flame_reader *rd, struct flame_span name,
				struct flame_span line);
void flame_native_namer_release(struct flame_native_namer *namer);

/*
 * --skip-after: of @frames, the leaf first, the nearest to the leaf with such a name becomes the last.
 * Return: true where there is one: then the stack has no root but this frame.
 */
bool flame_skip_after(const struct flame_reader *rd, const flame_frame *frames, size_t *nr);

#endif

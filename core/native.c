/* SPDX-License-Identifier: MIT */
/*
 * native.c - names and kinds of native frames.
 */
#define _GNU_SOURCE
#include "native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "namer.h"
#include "span.h"
#include "symbol.h"
#include "table.h"
#include "tidy.h"

/* What a module tells of its code. */

static bool is_jit(struct flame_span module)
{
	struct flame_span base = span_module_base(module);

	if (span_starts(module, "[JIT") || span_starts(module, "/memfd:doublemapper") || span_starts(base, "jitted-"))
		return true;
	return span_starts(base, "perf-") && span_ends(base, ".map");
}

/* @unknown: no symbol was found. The unresolved vdso counts as kernel, as it always did; its functions do not. */
static bool is_kernel(struct flame_span module, bool unknown)
{
	static const char *const user[] = { "[vdso]", "[heap]", "[stack", "[anon", "[vvar]", "[uprobes]", "[vsyscall]" };
	struct flame_span base = span_module_base(module);

	if (span_equals(module, "[unknown]") || span_starts(module, "[JIT"))
		return false;
	if (span_equals(module, "[vdso]") && unknown)
		return true;
	for (size_t i = 0; i < sizeof(user) / sizeof(*user); i++) {
		if (span_starts(module, user[i]))
			return false;
	}
	return span_starts(module, "[") || span_starts(base, "vmlinux") || span_equals(module, "/proc/kcore") ||
	       span_starts(module, "bpf_") || span_ends(base, ".ko") || span_ends(base, ".ko.gz") || span_ends(base, ".ko.xz") ||
	       span_ends(base, ".ko.zst");
}

/* Names. */

static bool reserve_name(struct flame_native_namer *namer, size_t len)
{
	return array_reserve((void **)&namer->name, &namer->room_name, len, 1);
}

static bool is_unknown(struct flame_span s)
{
	return !s.len || span_equals(s, "[unknown]");
}

/* "[libc.so.6]" where the module is known, with the address under --addrs. */
static struct flame_span unknown_name(struct flame_native_namer *namer, bool addrs, const struct flame_native *code)
{
	struct flame_span base = is_unknown(code->module) ? (struct flame_span){ "", 0 } : span_module_base(code->module);
	size_t len = flame_unknown_name(namer->name, base, addrs ? code->address : (struct flame_span){ "", 0 });

	return flame_tidy_raw((struct flame_span){ namer->name, len }, namer->name);
}

static struct flame_span tidy(struct flame_native_namer *namer, const struct flame_read_options *options,
			      struct flame_span symbol, enum flame_tidy_language language)
{
	struct flame_span base = flame_tidy_offset(symbol), name;

	if (options->raw_names)
		return flame_tidy_raw(options->offsets ? symbol : base, namer->name);
	name = flame_tidy_name(base, language, namer->name);
	if (!options->offsets || base.len == symbol.len)
		return name;
	memmove(namer->name, name.s, name.len);
	memcpy(namer->name + name.len, symbol.s + base.len, symbol.len - base.len);
	return (struct flame_span){ namer->name, name.len + symbol.len - base.len };
}

/* Frames. */

static bool add_frame(struct flame_native_namer *namer, struct flame_reader *rd, struct flame_span name,
		      struct flame_span module, enum flame_kind kind)
{
	struct flame_frame_info info = {
		.name = flame_intern(rd->profile, name.s, name.len),
		.module = flame_intern(rd->profile, module.s, module.len),
		.kind = kind,
	};
	flame_frame frame = flame_frame_row(rd->profile, &info);

	if (!frame || !array_reserve((void **)&namer->frames, &namer->room_frames, namer->nr_frames + 1,
				     sizeof(*namer->frames)))
		return false;
	namer->frames[namer->nr_frames++] = frame;
	return true;
}

static bool add_symbol(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code,
		       enum flame_kind kind)
{
	enum flame_tidy_language language = code->demangle ? FLAME_TIDY_RUST : FLAME_TIDY_NATIVE;
	struct flame_span symbol = code->symbol, base = flame_tidy_offset(symbol);
	char *demangled = NULL, *whole = NULL;
	bool ok;

	if (code->demangle && flame_demangle(base, &demangled)) {
		int n = asprintf(&whole, "%s%.*s", demangled, (int)(symbol.len - base.len), base.s + base.len);

		if (n >= 0)
			symbol = (struct flame_span){ whole, (size_t)n };
		else
			whole = NULL;
	}
	ok = reserve_name(namer, symbol.len + 1) &&
	     add_frame(namer, rd, tidy(namer, rd->options, symbol, language), code->module, kind);
	free(demangled);
	free(whole);
	return ok;
}

/* A JIT compiler's symbol: "outer->inlined->leaf" are three frames. */
static bool add_jit(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code)
{
	struct flame_span rest = code->symbol, name;
	enum flame_kind kind = FLAME_JIT;

	if (!reserve_name(namer, rest.len + 1))
		return false;
	while (flame_tidy_next_inlined(&rest, &name)) {
		if (!add_frame(namer, rd, tidy(namer, rd->options, name, FLAME_TIDY_PERF_MAP), code->module, kind))
			return false;
		kind = FLAME_JIT_INLINED;
	}
	return true;
}

static bool add_unknown(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code,
			enum flame_kind kind)
{
	return reserve_name(namer, code->module.len + code->address.len + 16) &&
	       add_frame(namer, rd, unknown_name(namer, rd->options->addrs, code), code->module,
			 is_jit(code->module) ? FLAME_JIT : kind);
}

static bool add_frames(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code)
{
	bool unknown = is_unknown(code->symbol);
	enum flame_kind kind = code->inlined ? FLAME_INLINED : is_kernel(code->module, unknown) ? FLAME_KERNEL : FLAME_USER;

	if (unknown)
		return add_unknown(namer, rd, code, kind);
	return is_jit(code->module) ? add_jit(namer, rd, code) : add_symbol(namer, rd, code, kind);
}

size_t flame_native_frames(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_native *code)
{
	namer->nr_frames = 0;
	return add_frames(namer, rd, code) ? namer->nr_frames : 0;
}

bool flame_native_offset(struct flame_native_namer *namer, const struct flame_reader *rd, struct flame_native *code,
			 uint64_t offset)
{
	if (!rd->options->offsets || !code->symbol.len)
		return true;
	if (!array_reserve((void **)&namer->symbol, &namer->room_symbol, code->symbol.len + 24, 1))
		return false;
	memcpy(namer->symbol, code->symbol.s, code->symbol.len);
	code->symbol.len += (size_t)sprintf(namer->symbol + code->symbol.len, "+0x%llx", (unsigned long long)offset);
	code->symbol.s = namer->symbol;
	return true;
}

bool flame_frame_place(struct flame_profile *p, flame_frame *frame, struct flame_span file, uint32_t line)
{
	struct flame_frame_info info = *flame_frame_get(p, *frame);

	info.file = flame_intern(p, file.s, file.len);
	info.line = line;
	*frame = flame_frame_row(p, &info);
	return *frame != 0;
}

flame_string flame_name_at_line(struct flame_native_namer *namer, struct flame_reader *rd, struct flame_span name,
				struct flame_span line)
{
	if (!reserve_name(namer, name.len + line.len + 2))
		return 0;
	memcpy(namer->name, name.s, name.len);
	namer->name[name.len] = ':';
	memcpy(namer->name + name.len + 1, line.s, line.len);
	name = flame_tidy_raw((struct flame_span){ namer->name, name.len + 1 + line.len }, namer->name);
	return flame_intern(rd->profile, name.s, name.len);
}

/* --srcline: where in its source the frame that was made last is. */
static bool add_line(struct flame_native_namer *namer, struct flame_reader *rd, const struct flame_symbol_frame *f)
{
	flame_frame *frame = &namer->frames[namer->nr_frames - 1];
	struct flame_frame_info info;
	const char *base;
	char *line;
	int n;

	if ((!rd->options->srcline && !rd->options->places) || !f->file || !f->line)
		return true;
	if (rd->options->places)
		return flame_frame_place(rd->profile, frame, (struct flame_span){ f->file, strlen(f->file) }, f->line);
	base = strrchr(f->file, '/');
	n = asprintf(&line, "%s:%u", base ? base + 1 : f->file, f->line);
	if (n < 0)
		return false;
	info = *flame_frame_get(rd->profile, *frame);
	info.name = flame_name_at_line(namer, rd, flame_string_get(rd->profile, info.name), (struct flame_span){ line, (size_t)n });
	free(line);
	*frame = flame_frame_row(rd->profile, &info);
	return *frame != 0;
}

size_t flame_location_frames(struct flame_native_namer *namer, struct flame_reader *rd, struct flame_span module,
			     const struct flame_location *loc, bool is_caller)
{
	namer->nr_frames = 0;
	for (uint32_t i = 0; i < loc->nr_frames; i++) {
		const struct flame_symbol_frame *f = &loc->frames[i];
		struct flame_native code = { .symbol = { f->name, f->name_len }, .module = module, .address = { "", 0 },
					     .inlined = f->kind == FLAME_INLINED };

		if (!flame_native_offset(namer, rd, &code, loc->offset + is_caller) || !add_frames(namer, rd, &code) ||
		    !add_line(namer, rd, f))
			return 0;
	}
	return namer->nr_frames;
}

void flame_native_namer_release(struct flame_native_namer *namer)
{
	free(namer->name);
	free(namer->symbol);
	free(namer->frames);
	*namer = (struct flame_native_namer){ 0 };
}

/* Return: true where @frame has one of the names of --skip-after. */
static bool is_skipped_after(const struct flame_reader *rd, flame_frame frame)
{
	struct flame_span name = flame_string_get(rd->profile, flame_frame_get(rd->profile, frame)->name);

	for (size_t i = 0; rd->options->skip_after[i]; i++) {
		if (span_equals(name, rd->options->skip_after[i]))
			return true;
	}
	return false;
}

bool flame_skip_after(const struct flame_reader *rd, const flame_frame *frames, size_t *nr)
{
	for (size_t i = 0; rd->options->skip_after && i < *nr; i++) {
		if (is_skipped_after(rd, frames[i])) {
			*nr = i + 1;
			return true;
		}
	}
	return false;
}

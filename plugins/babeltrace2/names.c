// SPDX-License-Identifier: MIT
/*
 * names.c - raw frames of addresses, and at the end the functions that they are in.
 *
 * A raw frame's name is a text, or NUL and what says which address: struct code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/elf.h"
#include "../../core/table.h"
#include "sink.h"

struct code {
	char nul;
	uint8_t flags;
	char spare[2];
	uint32_t image;
	uint64_t address;
};

/* ---- while events come in ---- */

static struct code_slot *code_slot(struct sink *s, uint64_t address, uint32_t image_flags)
{
	uint32_t i = (uint32_t)hash_mix(address ^ HASH_A, image_flags ^ HASH_B) & s->codes_mask;

	while (s->codes[i].frame && (s->codes[i].address != address || s->codes[i].image_flags != image_flags))
		i = (i + 1) & s->codes_mask;
	return &s->codes[i];
}

static bool codes_grow(struct sink *s)
{
	struct code_slot *old = s->codes;
	uint32_t nr = old ? s->codes_mask + 1 : 0;

	s->codes = calloc(old ? 2 * (size_t)nr : 1024, sizeof(*s->codes));
	if (!s->codes) {
		s->codes = old;
		return false;
	}
	s->codes_mask = old ? 2 * nr - 1 : 1023;
	for (uint32_t i = 0; i < nr; i++) {
		if (old[i].frame)
			*code_slot(s, old[i].address, old[i].image_flags) = old[i];
	}
	free(old);
	return true;
}

/* debug-info writes "main+0" and "main+0x12". Return: the length without that. */
static size_t without_offset(const char *name)
{
	const char *plus = strrchr(name, '+');
	size_t n = plus ? strspn(plus + 1, "0123456789abcdefABCDEFx") : 0;

	return n && !plus[1 + n] && plus[1] >= '0' && plus[1] <= '9' ? (size_t)(plus - name) : strlen(name);
}

static flame_frame new_frame(struct sink *s, uint32_t image, uint64_t address, unsigned int flags, const char *name)
{
	struct code code = { .flags = (uint8_t)flags, .image = image, .address = address };
	struct flame_frame_info info = { .kind = flags & CODE_KERNEL ? FLAME_KERNEL : FLAME_USER };

	if (name)
		info.name = flame_intern(s->raw, name, without_offset(name));
	if (!info.name)
		info.name = flame_intern(s->raw, (const char *)&code, sizeof(code));
	return flame_frame_row(s->raw, &info);
}

static flame_frame get_frame(struct sink *s, const struct image *image, uint64_t address, unsigned int flags,
			     const char *name)
{
	uint32_t id = image && !(flags & CODE_KERNEL) ? image->id : 0, key = id << CODE_FLAG_BITS | flags;
	struct code_slot *slot;

	if ((!s->codes || s->nr_codes > s->codes_mask / 2) && !codes_grow(s)) {
		sink_fail(s, FLAME_ENOMEM);
		return 0;
	}
	slot = code_slot(s, address, key);
	if (!slot->frame) {
		*slot = (struct code_slot){ address, key, new_frame(s, id, address, flags, name) };
		s->nr_codes += slot->frame != 0;
	}
	return slot->frame;
}

flame_frame code_frame(struct sink *s, const struct image *image, uint64_t address, unsigned int flags)
{
	return get_frame(s, image, address, flags, NULL);
}

flame_frame code_frame_named(struct sink *s, const struct image *image, uint64_t address, const char *name)
{
	return get_frame(s, image, address, CODE_FUNCTION, name);
}

/* ---- at the end ---- */

/* The executable segments of a file, to get from addresses to offsets. */
struct layout {
	flame_module module;
	struct flame_elf_segment *segments;	/* owned */
	size_t nr;
};

/* The final frames of a raw one are @nr from @first in the list of all. */
struct resolved {
	uint32_t first, nr;
	bool done;
};

struct resolver {
	struct sink *s;
	struct flame_profile *p;
	struct flame_symbols *symbols;
	struct layout *layouts;
	size_t nr_layouts, room_layouts;
	struct resolved *frames;	/* by raw frame */
	flame_frame *list;
	size_t nr_list, room_list;
	flame_stack *stacks;		/* by raw stack */
	uint64_t nr_fileless;
};

static const struct layout *layout_get(struct resolver *r, flame_module module)
{
	const char *path;
	struct flame_elf elf;
	struct layout *l;

	for (size_t i = 0; i < r->nr_layouts; i++) {
		if (r->layouts[i].module == module)
			return &r->layouts[i];
	}
	if (!array_reserve((void **)&r->layouts, &r->room_layouts, r->nr_layouts + 1, sizeof(*r->layouts)))
		return NULL;
	l = &r->layouts[r->nr_layouts++];
	*l = (struct layout){ .module = module };
	path = flame_symbols_file(r->symbols, module);
	if (!path)
		return l;
	if (!flame_elf_open(&elf, path)) {
		l->segments = elf.nr_segments ? calloc(elf.nr_segments, sizeof(*l->segments)) : NULL;
		for (size_t i = 0; l->segments && i < elf.nr_segments; i++) {
			if (elf.segments[i].load && elf.segments[i].executable)
				l->segments[l->nr++] = elf.segments[i];
		}
	}
	flame_elf_release(&elf);
	return l;
}

/* Set @offset to where in its file @address is. Return: false where that is not known. */
static bool file_offset(struct resolver *r, flame_module module, const struct mapping *map, uint64_t address,
			uint64_t *offset)
{
	const struct layout *l = layout_get(r, module);
	uint64_t at = map->moved || !map->linked ? address - map->start : address;

	if (!l || !l->segments)
		return false;
	for (size_t i = 0; i < l->nr; i++) {
		const struct flame_elf_segment *seg = &l->segments[i];
		uint64_t skip = seg->offset & 4095;	/* the page that the mapping begins with */

		/* perf: what is mapped is the code, from its page on. */
		if (!map->linked && at < seg->file_size + skip) {
			*offset = seg->offset - skip + at;
			return true;
		}
		if (map->linked && at >= seg->address && at - seg->address < seg->file_size) {
			*offset = at - seg->address + seg->offset;
			return true;
		}
	}
	return false;
}

static bool list_add(struct resolver *r, const struct flame_frame_info *info)
{
	flame_frame frame = flame_frame_row(r->p, info);

	if (!frame || !array_reserve((void **)&r->list, &r->room_list, r->nr_list + 1, sizeof(*r->list)))
		return false;
	r->list[r->nr_list++] = frame;
	return true;
}

static void add_location(struct resolver *r, const struct flame_location *l, const char *module)
{
	for (uint32_t i = 0; i < l->nr_frames; i++) {
		struct flame_frame_info info = {
			.name = flame_intern(r->p, l->frames[i].name, l->frames[i].name_len),
			.module = module ? flame_intern(r->p, module, strlen(module)) : 0,
			.kind = l->frames[i].kind,
			.line = l->frames[i].line,
		};
		const char *file = l->frames[i].file;

		if (file)
			info.file = flame_intern(r->p, file, strlen(file));

		if (!list_add(r, &info))
			sink_fail(r->s, FLAME_ENOMEM);
	}
}

/* Functions stay apart also without symbols; other addresses only where the user wants them. */
static void add_unknown(struct resolver *r, const struct code *code, const struct mapping *map)
{
	char text[320];
	const char *path = map ? flame_string_get(r->s->raw, map->path).s : NULL;
	const char *base = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	bool address = code->flags & CODE_FUNCTION || r->s->params.addresses;
	struct flame_frame_info info = { .kind = code->flags & CODE_KERNEL ? FLAME_KERNEL : FLAME_USER };
	size_t len = base ? strlen(base) : 0;

	/* "[vdso]" has its brackets already. */
	if (base && base[0] == '[' && len > 2) {
		base++;
		len -= 2;
	}
	if (code->flags & CODE_KERNEL)
		snprintf(text, sizeof(text), "[kernel]");
	else if (base)
		snprintf(text, sizeof(text), "[%.*s]", len > 255 ? 255 : (int)len, base);
	else
		snprintf(text, sizeof(text), "[unknown]");
	if (address)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "+0x%llx",
			 (unsigned long long)(map && (map->moved || !map->linked) ? code->address - map->start : code->address));
	info.name = flame_intern(r->p, text, strlen(text));
	if (!list_add(r, &info))
		sink_fail(r->s, FLAME_ENOMEM);
}

static const struct flame_location *find_user(struct resolver *r, const struct code *code, const struct mapping *map)
{
	const char *path = flame_string_get(r->s->raw, map->path).s;
	struct flame_module_info info = {
		.kind = strstr(path, "vdso") && path[0] == '[' ? FLAME_MODULE_VDSO : FLAME_MODULE_FILE,
		.path = path,
		.build_id = map->nr_build_id ? map->build_id : NULL,
		.build_id_len = map->nr_build_id,
	};
	flame_module module = flame_module_row(r->symbols, &info);
	bool caller = code->flags & CODE_CALLER;
	uint64_t offset;

	if (!file_offset(r, module, map, code->address - caller, &offset)) {
		/* Nothing is found, but counted, so that it is told of. */
		if (!flame_symbols_file(r->symbols, module))
			flame_symbols_find(r->symbols, module, code->address - map->start, caller);
		return NULL;
	}
	return flame_symbols_find(r->symbols, module, offset + caller, caller);
}

static void resolve_code(struct resolver *r, const struct code *code)
{
	struct flame_module_info kernel = { .kind = FLAME_MODULE_KERNEL, .path = "the kernel",
					    .reference_address = r->s->kernel_text };
	const struct mapping *map = NULL;
	const struct flame_location *l = NULL;
	uint64_t end;

	if (code->flags & CODE_KERNEL) {
		l = flame_symbols_find(r->symbols, flame_module_row(r->symbols, &kernel), code->address,
				       code->flags & CODE_CALLER);
	} else {
		if (code->image)
			map = image_find(r->s->images[code->image], code->address - (code->flags & CODE_CALLER ? 1 : 0), &end);
		if (map)
			l = find_user(r, code, map);
		else
			r->nr_fileless++;
	}
	if (l && l->nr_frames)
		add_location(r, l, map ? flame_string_get(r->s->raw, map->path).s : "[kernel]");
	else
		add_unknown(r, code, map);
}

/* Calls of functions say which function; what is inlined at its start was not called. */
static void resolve_frame(struct resolver *r, flame_frame frame)
{
	const struct flame_frame_info *raw = flame_frame_get(r->s->raw, frame);
	struct flame_span name = flame_string_get(r->s->raw, raw->name);
	struct resolved *to = &r->frames[frame];
	struct code code;

	to->done = true;
	to->first = (uint32_t)r->nr_list;
	if (name.len == sizeof(code) && !name.s[0]) {
		memcpy(&code, name.s, sizeof(code));
		resolve_code(r, &code);
		if (code.flags & CODE_FUNCTION && r->nr_list > to->first + 1)
			r->nr_list = to->first + 1;
	} else {
		struct flame_frame_info info = { .name = flame_intern(r->p, name.s, name.len), .kind = raw->kind };

		list_add(r, &info);
	}
	to->nr = (uint32_t)r->nr_list - to->first;
}

static flame_stack resolve_stack(struct resolver *r, flame_stack row)
{
	flame_frame frame = flame_stack_frame(r->s->raw, row);
	flame_stack stack = r->stacks[flame_stack_caller(r->s->raw, row)];

	if (!r->frames[frame].done)
		resolve_frame(r, frame);
	for (uint32_t i = 0; i < r->frames[frame].nr; i++)
		stack = flame_stack_push(r->p, stack, r->list[r->frames[frame].first + i]);
	return stack;
}

/* Stacks with a value, and what these stand on. */
static void mark_used(const struct sink *s, const struct series *series, bool *used)
{
	for (flame_stack row = flame_nr_stacks(s->raw) - 1; row; row--) {
		if (row < series->room && (series->tallies[row].nr || series->tallies[row].value))
			used[row] = true;
		if (used[row])
			used[flame_stack_caller(s->raw, row)] = true;
	}
}

static int fill(struct resolver *r, const struct series *series, const bool *used)
{
	struct flame_type_info info = {
		.name = flame_intern(r->p, series->name, strlen(series->name)),
		.kind = series->kind,
	};
	const char *unit = r->s->params.count ? "count" : series->unit;
	struct flame_sample sample = { 0 };
	int err = 0;

	info.unit = flame_intern(r->p, unit, strlen(unit));
	sample.type = flame_type_row(r->p, &info);

	for (flame_stack row = 1; row < flame_nr_stacks(r->s->raw) && !err; row++) {
		if (!used[row])
			continue;
		r->stacks[row] = resolve_stack(r, row);
		if (row >= series->room || (!series->tallies[row].nr && !series->tallies[row].value))
			continue;
		sample.stack = r->stacks[row];
		sample.value = r->s->params.count ? (int64_t)series->tallies[row].nr : series->tallies[row].value;
		sample.nr_samples = series->tallies[row].nr;
		err = flame_sample_add(r->p, &sample);
	}
	return err ? err : flame_profile_error(r->p);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* What the traces tell of the recording; of several hosts or tracers none. */
static void note_meta(struct resolver *r)
{
	const struct sink *s = r->s;
	const struct trace *first = s->nr_traces ? s->traces[0] : NULL;
	struct flame_meta *meta = flame_meta(r->p);
	bool one_host = first && first->hostname, one_tool = first && first->tool;
	int64_t from = s->first_time > s->from ? s->first_time : s->from, to = s->last_time < s->to ? s->last_time : s->to;

	for (size_t i = 1; first && i < s->nr_traces; i++) {
		one_host &= s->traces[i]->host == first->host;
		one_tool &= same_text(s->traces[i]->tool, first->tool);
	}
	if (one_host)
		meta->host = flame_intern(r->p, first->hostname, strlen(first->hostname));
	if (one_tool)
		meta->tool = flame_intern(r->p, first->tool, strlen(first->tool));
	if (s->started && from > 0 && to > from) {
		flame_meta_time(r->p, (uint64_t)from);
		flame_meta_time(r->p, (uint64_t)to);
		if (s->since_1970)
			meta->start_ns = (uint64_t)from;
	}
	flame_lost_add(r->p, s->counts.lost_events);
}

struct flame_profile *names_resolve(struct sink *s, const struct series *series,
				    const struct flame_profile_options *options, struct flame_symbols *symbols)
{
	struct resolver r = { .s = s, .symbols = symbols, .p = flame_profile_new(options) };
	bool *used = calloc(flame_nr_stacks(s->raw), sizeof(*used));
	int err = FLAME_ENOMEM;

	r.frames = calloc(flame_nr_frames(s->raw), sizeof(*r.frames));
	r.stacks = calloc(flame_nr_stacks(s->raw), sizeof(*r.stacks));
	if (r.p && used && r.frames && r.stacks) {
		mark_used(s, series, used);
		err = fill(&r, series, used);
		note_meta(&r);
		s->nr_fileless = r.nr_fileless;
	}
	for (size_t i = 0; i < r.nr_layouts; i++)
		free(r.layouts[i].segments);
	free(r.layouts);
	free(r.frames);
	free(r.list);
	free(r.stacks);
	free(used);
	if (err) {
		sink_fail(s, err);
		flame_profile_free(r.p);
		return NULL;
	}
	return r.p;
}

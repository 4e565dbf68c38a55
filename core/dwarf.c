/* SPDX-License-Identifier: MIT */
/*
 * dwarf.c - inlined functions and lines, by libdw.
 *
 * libdw is asked for units, ranges, names and lines. The tree of a unit is walked here, byte after
 * byte: that is faster than to ask for one entry after the other, and libdw's own walks may never
 * end over damaged debug information.
 */
#include "dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segments.h"
#include "table.h"

#define NO_FUNCTION UINT32_MAX
#define ABBREVS_MAX 262144	/* kinds of entries of a unit; the largest of real ones have thousands */
#define ATTRIBUTES_MAX 1024	/* of an entry */
#define RANGES_OF_FUNCTION_MAX 65536

/* A function, or a place where one was inlined. */
struct function {
	Dwarf_Off die;
	uint32_t outer;		/* the function that it is in, or NO_FUNCTION */
	uint16_t depth;
	bool inlined;
	bool resolved;		/* the frame is set */
	struct flame_dwarf_frame frame;	/* its name; file and line are where it was inlined to */
};

struct unit {
	Dwarf_Off die;
	Dwarf_Off end;		/* offset of the next unit */
	bool walked;
	Dwarf *dbg;		/* where its functions are: of a skeleton the split file */
	struct function *functions;
	size_t nr_functions, room_functions;
	struct flame_segments segments;	/* items: functions */
};

struct flame_dwarf {
	Elf *elf;
	Dwarf *dbg;
	bool lines;
	bool swapped;
	struct unit *units;
	size_t nr_units, room_units;
	struct flame_segments segments;	/* items: units */
	size_t nr_ranges, max_ranges;
};

/* Ranges of one unit, or of all. */
struct ranges {
	struct flame_range *ranges;
	size_t nr, room;
};

bool flame_dwarf_available(void)
{
	return true;
}

/* Add the ranges of @die. Return: false without memory. */
static bool add_ranges(struct flame_dwarf *d, struct ranges *r, Dwarf_Die *die, uint32_t item, uint32_t priority)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	for (int i = 0; i < RANGES_OF_FUNCTION_MAX && d->nr_ranges < d->max_ranges; i++) {
		at = dwarf_ranges(die, at, &base, &start, &end);
		if (at <= 0)
			break;
		/* Functions that the linker left out begin at 0. */
		if (start >= end || !start)
			continue;
		if (!array_reserve((void **)&r->ranges, &r->room, r->nr + 1, sizeof(*r->ranges)))
			return false;
		r->ranges[r->nr++] = (struct flame_range){ .start = start, .end = end, .item = item,
							   .priority = priority };
		d->nr_ranges++;
	}
	return true;
}

/* ---- units ---- */

static bool add_unit(struct flame_dwarf *d, struct ranges *r, Dwarf_Off die_offset, Dwarf_Off end)
{
	Dwarf_Die die;

	if (!dwarf_offdie(d->dbg, die_offset, &die))
		return true;
	if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit)
		return true;
	if (!array_reserve((void **)&d->units, &d->room_units, d->nr_units + 1, sizeof(*d->units)))
		return false;
	d->units[d->nr_units] = (struct unit){ .die = die_offset, .end = end };
	return add_ranges(d, r, &die, (uint32_t)d->nr_units++, 1);
}

/* What old compilers say about units only here. */
static bool add_aranges(struct flame_dwarf *d, struct ranges *r)
{
	Dwarf_Aranges *aranges;
	size_t nr;

	if (dwarf_getaranges(d->dbg, &aranges, &nr))
		return true;
	for (size_t i = 0; i < nr && d->nr_ranges < d->max_ranges; i++) {
		Dwarf_Addr start;
		Dwarf_Word len;
		Dwarf_Off off;
		size_t low = 0, high = d->nr_units;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &len, &off) || !start)
			continue;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (d->units[middle].die < off)
				low = middle + 1;
			else
				high = middle;
		}
		if (low == d->nr_units || d->units[low].die != off)
			continue;
		if (!array_reserve((void **)&r->ranges, &r->room, r->nr + 1, sizeof(*r->ranges)))
			return false;
		r->ranges[r->nr++] = (struct flame_range){ .start = start, .end = start + len, .item = (uint32_t)low };
		d->nr_ranges++;
	}
	return true;
}

static bool read_units(struct flame_dwarf *d)
{
	Dwarf_Off at = 0, next;
	struct ranges r = { 0 };
	size_t header;
	bool ok = true;

	while (ok && !dwarf_next_unit(d->dbg, at, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) && next > at) {
		ok = add_unit(d, &r, at + header, next);
		at = next;
	}
	ok = ok && add_aranges(d, &r) && flame_segments_make(&d->segments, r.ranges, r.nr);
	free(r.ranges);
	return ok && d->segments.nr;
}

/* Map the file; its descriptor is closed again, since there may be more files than a process may have open. */
static bool open_file(struct flame_dwarf *d, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *ident;
	struct stat st;

	/*
	 * The functions of damaged information may all have the same long list of ranges. A range takes some
	 * bytes, but fewer where the section is compressed.
	 */
	d->max_ranges = FLAME_DWARF_RANGES_MAX;
	if (fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size < FLAME_DWARF_RANGES_MAX / 2)
		d->max_ranges = 2 * (size_t)st.st_size;
	elf_version(EV_CURRENT);
	d->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	d->dbg = d->elf ? dwarf_begin_elf(d->elf, DWARF_C_READ, NULL) : NULL;
	ident = d->dbg ? elf_getident(d->elf, NULL) : NULL;
	if (ident)
		d->swapped = (ident[EI_DATA] == ELFDATA2LSB) != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	if (ident && elf_cntl(d->elf, ELF_C_FDREAD))
		ident = NULL;
	if (fd >= 0)
		close(fd);
	return ident;
}

struct flame_dwarf *flame_dwarf_open(const char *path, bool lines)
{
	struct flame_dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->lines = lines;
	if (!open_file(d, path) || !read_units(d)) {
		flame_dwarf_free(d);
		return NULL;
	}
	return d;
}

void flame_dwarf_free(struct flame_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->nr_units; i++) {
		free(d->units[i].functions);
		flame_segments_release(&d->units[i].segments);
	}
	free(d->units);
	flame_segments_release(&d->segments);
	if (d->dbg)
		dwarf_end(d->dbg);
	elf_end(d->elf);
	free(d);
}

/* ---- the tree of a unit ---- */

/* What all entries of a kind have in common. */
struct abbrev {
	uint32_t forms;		/* index of its first form */
	uint32_t fixed;		/* size of all attributes, where no form's size depends on its contents */
	uint16_t nr_forms;
	uint16_t tag;
	bool known, has_children, has_code, is_fixed;
};

struct walk {
	struct flame_dwarf *d;
	struct unit *unit;
	const unsigned char *at, *end;
	Dwarf_Off offset;	/* of @start */
	const unsigned char *start;
	uint8_t address_size, offset_size;
	uint16_t version;
	struct abbrev *abbrevs;
	size_t nr_abbrevs, room_abbrevs;
	uint16_t *forms;
	size_t nr_forms, room_forms;
	struct ranges ranges;
	uint32_t outer[FLAME_DWARF_DEPTH_MAX + 1];
	bool no_memory;
};

enum form_size {
	FORM_ADDRESS = 200,	/* as the unit says */
	FORM_OFFSET,
	FORM_REF_ADDR,
	FORM_LEB,
	FORM_STRING,
	FORM_BLOCK,		/* length in LEB128 */
	FORM_BLOCK1,
	FORM_BLOCK2,
	FORM_BLOCK4,
	FORM_INDIRECT,
	FORM_UNKNOWN,
};

/* Return: how many bytes, or one of the above. */
static enum form_size form_size(unsigned int form)
{
	static const uint8_t sizes[0x2d] = {
		[0] = FORM_UNKNOWN, [0x02] = FORM_UNKNOWN,
		[DW_FORM_addr] = FORM_ADDRESS, [DW_FORM_block2] = FORM_BLOCK2, [DW_FORM_block4] = FORM_BLOCK4,
		[DW_FORM_data2] = 2, [DW_FORM_data4] = 4, [DW_FORM_data8] = 8, [DW_FORM_string] = FORM_STRING,
		[DW_FORM_block] = FORM_BLOCK, [DW_FORM_block1] = FORM_BLOCK1, [DW_FORM_data1] = 1, [DW_FORM_flag] = 1,
		[DW_FORM_sdata] = FORM_LEB, [DW_FORM_strp] = FORM_OFFSET, [DW_FORM_udata] = FORM_LEB,
		[DW_FORM_ref_addr] = FORM_REF_ADDR, [DW_FORM_ref1] = 1, [DW_FORM_ref2] = 2, [DW_FORM_ref4] = 4,
		[DW_FORM_ref8] = 8, [DW_FORM_ref_udata] = FORM_LEB, [DW_FORM_indirect] = FORM_INDIRECT,
		[DW_FORM_sec_offset] = FORM_OFFSET, [DW_FORM_exprloc] = FORM_BLOCK, [DW_FORM_flag_present] = 0,
		[DW_FORM_strx] = FORM_LEB, [DW_FORM_addrx] = FORM_LEB, [DW_FORM_ref_sup4] = 4,
		[DW_FORM_strp_sup] = FORM_OFFSET, [DW_FORM_data16] = 16, [DW_FORM_line_strp] = FORM_OFFSET,
		[DW_FORM_ref_sig8] = 8, [DW_FORM_implicit_const] = 0, [DW_FORM_loclistx] = FORM_LEB,
		[DW_FORM_rnglistx] = FORM_LEB, [DW_FORM_ref_sup8] = 8, [DW_FORM_strx1] = 1, [DW_FORM_strx2] = 2,
		[DW_FORM_strx3] = 3, [DW_FORM_strx4] = 4, [DW_FORM_addrx1] = 1, [DW_FORM_addrx2] = 2,
		[DW_FORM_addrx3] = 3, [DW_FORM_addrx4] = 4,
	};

	if (form < sizeof(sizes))
		return sizes[form];
	if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
		return FORM_LEB;
	return form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt ? FORM_OFFSET : FORM_UNKNOWN;
}

/* Return: a form's size in this unit, or one that has to be read. */
static unsigned int unit_form_size(const struct walk *w, unsigned int form)
{
	enum form_size size = form_size(form);

	if (size == FORM_ADDRESS)
		return w->address_size;
	if (size == FORM_OFFSET)
		return w->offset_size;
	if (size == FORM_REF_ADDR)
		return w->version <= 2 ? w->address_size : w->offset_size;
	return size;
}

static bool add_abbrev(struct walk *w, Dwarf_Abbrev *source)
{
	struct abbrev a = { .known = true, .is_fixed = true, .forms = (uint32_t)w->nr_forms };
	unsigned int code = dwarf_getabbrevcode(source), name, form;
	size_t nr = 0, old = w->nr_abbrevs;

	if (code >= ABBREVS_MAX)
		return true;
	a.tag = (uint16_t)dwarf_getabbrevtag(source);
	a.has_children = dwarf_abbrevhaschildren(source);
	/* dwarf_getattrcnt() of elfutils 0.188 counts too many where one is an implicit constant. */
	for (; nr < ATTRIBUTES_MAX && !dwarf_getabbrevattr(source, nr, &name, &form, NULL); nr++) {
		unsigned int size;

		if (!array_reserve((void **)&w->forms, &w->room_forms, w->nr_forms + 1, sizeof(*w->forms)))
			return false;
		w->forms[w->nr_forms++] = (uint16_t)(form <= UINT16_MAX ? form : 0);
		size = unit_form_size(w, w->forms[w->nr_forms - 1]);
		a.is_fixed = a.is_fixed && size < FORM_ADDRESS;
		a.fixed += size;
		a.has_code = a.has_code || name == DW_AT_low_pc || name == DW_AT_ranges;
	}
	a.nr_forms = (uint16_t)nr;
	if (!array_reserve((void **)&w->abbrevs, &w->room_abbrevs, (size_t)code + 1, sizeof(*w->abbrevs)))
		return false;
	if (code >= old) {
		memset(w->abbrevs + old, 0, (code + 1 - old) * sizeof(*w->abbrevs));
		w->nr_abbrevs = (size_t)code + 1;
	}
	w->abbrevs[code] = a;
	return true;
}

static bool read_abbrevs(struct walk *w, Dwarf_Die *die)
{
	Dwarf_Off at = 0;
	size_t len = 0;

	for (unsigned int i = 0; i < ABBREVS_MAX; i++) {
		Dwarf_Abbrev *a = dwarf_getabbrev(die, at, &len);

		if (!a || a == DWARF_END_ABBREV || !len)
			break;
		if (!add_abbrev(w, a))
			return false;
		at += len;
	}
	return w->nr_abbrevs;
}

/* Return: false where it does not end in the unit, or does not fit 64 bits. */
static bool take_leb(struct walk *w, uint64_t *value)
{
	unsigned int shift = 0;

	*value = 0;
	while (w->at < w->end) {
		unsigned char byte = *w->at++;

		if (shift < 64)
			*value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128))
			return true;
		shift += 7;
	}
	return false;
}

static bool skip(struct walk *w, uint64_t size)
{
	if (size > (uint64_t)(w->end - w->at))
		return false;
	w->at += size;
	return true;
}

/* A length of 1, 2 or 4 bytes, and as many bytes. */
static bool skip_block(struct walk *w, unsigned int size)
{
	uint64_t len = 0;

	if (size > (size_t)(w->end - w->at))
		return false;
	for (unsigned int i = 0; i < size; i++) {
		bool big = w->d->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

		len |= (uint64_t)w->at[i] << 8 * (big ? size - 1 - i : i);
	}
	return skip(w, size) && skip(w, len);
}

static bool skip_string(struct walk *w)
{
	const unsigned char *nul = memchr(w->at, '\0', (size_t)(w->end - w->at));

	if (nul)
		w->at = nul + 1;
	return nul;
}

static bool skip_form(struct walk *w, unsigned int form)
{
	uint64_t value;
	unsigned int size = unit_form_size(w, form);

	/* An indirect form may not be another one of that kind, which would be a loop. */
	if (size == FORM_INDIRECT) {
		if (!take_leb(w, &value) || value > UINT16_MAX || value == DW_FORM_implicit_const)
			return false;
		size = unit_form_size(w, (unsigned int)value);
	}
	switch (size) {
	case FORM_LEB:
		return take_leb(w, &value);
	case FORM_STRING:
		return skip_string(w);
	case FORM_BLOCK:
		return take_leb(w, &value) && skip(w, value);
	case FORM_BLOCK1:
	case FORM_BLOCK2:
	case FORM_BLOCK4:
		return skip_block(w, size == FORM_BLOCK1 ? 1 : size == FORM_BLOCK2 ? 2 : 4);
	default:
		return size < FORM_ADDRESS && skip(w, size);
	}
}

static bool skip_attributes(struct walk *w, const struct abbrev *a)
{
	if (a->is_fixed)
		return skip(w, a->fixed);
	for (size_t i = 0; i < a->nr_forms; i++) {
		if (!skip_form(w, w->forms[a->forms + i]))
			return false;
	}
	return true;
}

/* Return: the function's number; @outer where there is no code of it. */
static uint32_t add_function(struct walk *w, Dwarf_Off offset, const struct abbrev *a, uint32_t outer)
{
	struct unit *u = w->unit;
	struct function *f;
	uint16_t depth = outer == NO_FUNCTION ? 0 : (uint16_t)(u->functions[outer].depth + 1);
	size_t before = w->ranges.nr;
	Dwarf_Die die;

	if (!dwarf_offdie(u->dbg, offset, &die) || u->nr_functions >= NO_FUNCTION)
		return outer;
	if (!array_reserve((void **)&u->functions, &u->room_functions, u->nr_functions + 1, sizeof(*f)) ||
	    !add_ranges(w->d, &w->ranges, &die, (uint32_t)u->nr_functions, depth)) {
		w->no_memory = true;
		return outer;
	}
	if (w->ranges.nr == before)
		return outer;
	u->functions[u->nr_functions] = (struct function){ .die = offset, .outer = outer, .depth = depth,
							   .inlined = a->tag == DW_TAG_inlined_subroutine };
	return (uint32_t)u->nr_functions++;
}

static void walk_tree(struct walk *w)
{
	size_t depth = 0;

	w->outer[0] = NO_FUNCTION;
	while (w->at < w->end && !w->no_memory) {
		Dwarf_Off offset = w->offset + (Dwarf_Off)(w->at - w->start);
		uint32_t outer = w->outer[depth < FLAME_DWARF_DEPTH_MAX ? depth : FLAME_DWARF_DEPTH_MAX];
		const struct abbrev *a;
		uint64_t code;

		if (!take_leb(w, &code))
			return;
		if (!code) {
			/* The end of the last children is the end of the tree. */
			if (depth-- <= 1)
				return;
			continue;
		}
		a = code < w->nr_abbrevs ? &w->abbrevs[code] : NULL;
		if (!a || !a->known || !skip_attributes(w, a))
			return;
		if (a->has_code && (a->tag == DW_TAG_subprogram || a->tag == DW_TAG_inlined_subroutine ||
				    a->tag == DW_TAG_entry_point) && depth < FLAME_DWARF_DEPTH_MAX)
			outer = add_function(w, offset, a, a->tag == DW_TAG_subprogram ? NO_FUNCTION : outer);
		if (a->has_children && ++depth <= FLAME_DWARF_DEPTH_MAX)
			w->outer[depth] = outer;
	}
}

/* Set what is to be walked: of a skeleton the unit in the split file. */
static bool walk_init(struct walk *w, struct flame_dwarf *d, struct unit *u, Dwarf_Die *die)
{
	Dwarf_Die sub = { 0 };
	Dwarf_Half version;
	uint8_t address_size, offset_size, type;
	Dwarf_Off at = 0, next;
	size_t header;

	if (!dwarf_offdie(d->dbg, u->die, die) ||
	    dwarf_cu_info(die->cu, &version, &type, NULL, &sub, NULL, &address_size, &offset_size))
		return false;
	*w = (struct walk){ .d = d, .unit = u, .version = version, .address_size = address_size,
			    .offset_size = offset_size, .offset = u->die };
	u->dbg = d->dbg;
	next = u->end;
	if (type == DW_UT_skeleton && sub.cu) {
		*die = sub;
		u->dbg = dwarf_cu_getdwarf(sub.cu);
		w->offset = dwarf_dieoffset(&sub);
		for (next = 0; next <= w->offset; at = next) {
			if (dwarf_next_unit(u->dbg, at, &next, &header, NULL, NULL, NULL, NULL, NULL, NULL) || next <= at)
				return false;
		}
	}
	w->at = w->start = die->addr;
	w->end = w->start + (next - w->offset);
	return next > w->offset;
}

static bool walk(struct flame_dwarf *d, struct unit *u)
{
	struct walk w;
	Dwarf_Die die;
	bool ok;

	u->walked = true;
	if (!walk_init(&w, d, u, &die))
		return false;
	ok = read_abbrevs(&w, &die);
	if (ok) {
		walk_tree(&w);
		ok = !w.no_memory && flame_segments_make(&u->segments, w.ranges.ranges, w.ranges.nr);
	}
	free(w.abbrevs);
	free(w.forms);
	free(w.ranges.ranges);
	return ok;
}

/* ---- what is at an address ---- */

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static void resolve_name(Dwarf_Die *die, struct flame_dwarf_frame *frame)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !frame->name; i++)
		frame->name = string_of(die, names[i]);
	if (frame->name && !*frame->name)
		frame->name = NULL;
}

/* Where the function was inlined to. */
static void resolve_call(Dwarf_Die *die, Dwarf_Die *unit, struct flame_dwarf_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t nr;

	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) && line <= UINT32_MAX)
		frame->line = (uint32_t)line;
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) &&
	    !dwarf_getsrcfiles(unit, &files, &nr) && file < nr)
		frame->file = dwarf_filesrc(files, file, NULL, NULL);
}

static void resolve(struct flame_dwarf *d, struct unit *u, struct function *f)
{
	Dwarf_Die die, unit;

	f->resolved = true;
	if (!dwarf_offdie(u->dbg, f->die, &die))
		return;
	resolve_name(&die, &f->frame);
	if (d->lines && f->inlined && dwarf_offdie(d->dbg, u->die, &unit))
		resolve_call(&die, &unit, &f->frame);
}

/* The innermost frame is where the line table says, the others where the calls were. */
static void set_lines(struct flame_dwarf *d, struct unit *u, uint64_t address, struct flame_dwarf_frame *frames,
		      size_t nr)
{
	struct flame_dwarf_frame last = { 0 };
	Dwarf_Die unit;
	Dwarf_Line *line;
	int number;

	for (size_t i = 0; i + 1 < nr; i++) {
		frames[i].file = frames[i + 1].file;
		frames[i].line = frames[i + 1].line;
	}
	line = dwarf_offdie(d->dbg, u->die, &unit) ? dwarf_getsrc_die(&unit, address) : NULL;
	if (line && !dwarf_lineno(line, &number)) {
		last.line = number > 0 ? (uint32_t)number : 0;
		last.file = dwarf_linesrc(line, NULL, NULL);
	}
	frames[nr - 1].file = last.file;
	frames[nr - 1].line = last.line;
}

size_t flame_dwarf_find(struct flame_dwarf *d, uint64_t address, struct flame_dwarf_frame frames[FLAME_DWARF_FRAMES_MAX])
{
	uint32_t item = flame_segments_find(&d->segments, address), chain[FLAME_DWARF_DEPTH_MAX + 1];
	struct unit *u = item == FLAME_SEGMENT_NONE ? NULL : &d->units[item];
	size_t nr = 0, nr_frames = 0;

	if (!u || (!u->walked && !walk(d, u)))
		return 0;
	for (item = flame_segments_find(&u->segments, address); item < u->nr_functions && nr <= FLAME_DWARF_DEPTH_MAX;
	     item = u->functions[item].outer)
		chain[nr++] = item;
	while (nr && nr_frames < FLAME_DWARF_FRAMES_MAX) {
		struct function *f = &u->functions[chain[--nr]];

		if (!f->resolved)
			resolve(d, u, f);
		frames[nr_frames++] = f->frame;
	}
	if (nr_frames && d->lines)
		set_lines(d, u, address, frames, nr_frames);
	return nr_frames;
}

/* SPDX-License-Identifier: MIT */
/*
 * framepointer.c - frame pointers, by the CFI in .eh_frame and by prologues.
 *
 * CFI of x86-64 says itself what the address of a frame is reckoned from: a function with a frame pointer has
 *
 *	push %rbp		DW_CFA_def_cfa_offset 16, DW_CFA_offset rbp
 *	mov  %rsp, %rbp		DW_CFA_def_cfa_register rbp
 *
 * and one without only changes the offset from the stack pointer. On aarch64 the frame's address stays reckoned from
 * the stack pointer in both: CFI only tells where functions begin, and their instructions decide.
 */
#include "framepointer.h"

#include <elf.h>

#include "elf_read.h"
#include "protobuf.h"

#define PROLOGUE_X86 48		/* bytes of a function in which its frame is made */
#define PROLOGUE_ARM 64

/* Numbers of registers in CFI. */
enum { X86_RBP = 6 };

/* ---- prologues ---- */

enum frame {
	FRAME_NONE,	/* makes none */
	FRAME_PLAIN,
	FRAME_POINTER,
};

/* Return: the bytes of the function at @address, at most @max; empty where the file has none. */
static struct flame_span code_at(const struct flame_elf *elf, uint64_t address, uint64_t max)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct flame_elf_segment *s = &elf->segments[i];
		uint64_t at = address - s->address, room;

		if (!s->load || !s->executable || address < s->address || at >= s->file_size || s->offset > elf->size ||
		    at >= elf->size - s->offset)
			continue;
		room = s->file_size - at;
		room = room < elf->size - s->offset - at ? room : elf->size - s->offset - at;
		return (struct flame_span){ (const char *)elf->data + s->offset + at, room < max ? room : max };
	}
	return (struct flame_span){ "", 0 };
}

/* Bytes that tell of a frame wherever they stand among the first of a function. */
struct pattern {
	enum frame frame;
	unsigned char bytes[5];
	unsigned char len;
	bool first;	/* only as the function's first instruction, but for endbr64 */
};

static const struct pattern x86[] = {
	{ FRAME_POINTER, { 0x48, 0x89, 0xe5 }, 3, false },	/* mov %rsp, %rbp */
	{ FRAME_POINTER, { 0x48, 0x8b, 0xec }, 3, false },
	{ FRAME_POINTER, { 0x48, 0x8d, 0x6c, 0x24 }, 4, false },	/* lea N(%rsp), %rbp: Go before 1.21 */
	{ FRAME_POINTER, { 0x48, 0x8d, 0xac, 0x24 }, 4, false },
	{ FRAME_PLAIN, { 0x48, 0x83, 0xec }, 3, false },	/* sub $N, %rsp */
	{ FRAME_PLAIN, { 0x48, 0x81, 0xec }, 3, false },
	{ FRAME_PLAIN, { 0x50 }, 1, true },			/* push, perhaps only for its room */
	{ FRAME_PLAIN, { 0x53 }, 1, true },
	{ FRAME_PLAIN, { 0x55 }, 1, true },
	{ FRAME_PLAIN, { 0x41, 0x54 }, 2, true },
	{ FRAME_PLAIN, { 0x41, 0x55 }, 2, true },
	{ FRAME_PLAIN, { 0x41, 0x56 }, 2, true },
	{ FRAME_PLAIN, { 0x41, 0x57 }, 2, true },
};

static bool matches(const struct pattern *p, struct flame_span code, size_t at)
{
	return p->len <= code.len - at && !memcmp(code.s + at, p->bytes, p->len);
}

static enum frame frame_x86(struct flame_span code)
{
	static const struct pattern endbr = { FRAME_NONE, { 0xf3, 0x0f, 0x1e, 0xfa }, 4, true };
	size_t start = code.len && matches(&endbr, code, 0) ? 4 : 0;
	enum frame frame = FRAME_NONE;

	for (size_t at = start; at < code.len; at++) {
		for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++) {
			if (x86[i].frame > frame && (at == start || !x86[i].first) && matches(&x86[i], code, at))
				frame = x86[i].frame;
		}
	}
	return frame;
}

/* One instruction: the bits of @mask are those of @bits. */
static const struct {
	enum frame frame;
	uint32_t mask, bits;
} arm[] = {
	{ FRAME_POINTER, 0xffffffff, 0x910003fd },	/* mov x29, sp */
	{ FRAME_POINTER, 0xffc003ff, 0x910003fd },	/* add x29, sp, #N */
	{ FRAME_POINTER, 0xffc003ff, 0xd10003fd },	/* sub x29, sp, #N: Go */
	{ FRAME_PLAIN, 0xffc07fff, 0xa9807bfd },	/* stp x29, x30, [sp, #-N]! */
	{ FRAME_PLAIN, 0xffc07fff, 0xa9007bfd },	/* stp x29, x30, [sp, #N] */
	{ FRAME_PLAIN, 0xffc07fe0, 0xa9007be0 },	/* stp xN, x30, [sp, #N] */
	{ FRAME_PLAIN, 0xffc07fe0, 0xa9807be0 },
	{ FRAME_PLAIN, 0xffc003ff, 0xf90003fe },	/* str x30, [sp, #N] */
	{ FRAME_PLAIN, 0xffe00fff, 0xf8000ffe },	/* str x30, [sp, #-N]! */
};

static enum frame frame_arm(struct flame_span code)
{
	enum frame frame = FRAME_NONE;

	for (size_t at = 0; at + 4 <= code.len; at += 4) {
		const unsigned char *p = (const unsigned char *)code.s + at;
		/* Instructions are little-endian whatever the data are. */
		uint32_t word = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;

		for (size_t i = 0; i < sizeof(arm) / sizeof(*arm); i++) {
			if (arm[i].frame > frame && (word & arm[i].mask) == arm[i].bits)
				frame = arm[i].frame;
		}
	}
	return frame;
}

static void add(struct flame_frame_count *count, enum frame frame)
{
	count->nr_functions++;
	count->nr_frames += frame != FRAME_NONE;
	count->nr_pointers += frame == FRAME_POINTER;
}

static void add_prologue(const struct flame_elf *elf, uint64_t address, uint64_t size, struct flame_frame_count *count)
{
	bool is_arm = elf->machine == EM_AARCH64;
	uint64_t max = is_arm ? PROLOGUE_ARM : PROLOGUE_X86;
	struct flame_span code = code_at(elf, address, size && size < max ? size : max);

	if (code.len && count->nr_functions < FLAME_FRAMES_MAX)
		add(count, is_arm ? frame_arm(code) : frame_x86(code));
}

static void count_prologues(const struct flame_elf *elf, const struct flame_symtab *symbols,
			    struct flame_frame_count *count)
{
	for (size_t i = 0; symbols && i < symbols->nr; i++) {
		const struct flame_symtab_entry *e = &symbols->entries[i];

		if (!e->plt && (!i || e->start != e[-1].start))
			add_prologue(elf, e->start, e->end > e->start ? e->end - e->start : 0, count);
	}
}

/* ---- CFI ---- */

/* What is left of an entry. After a failure nothing is. */
struct cfi {
	const unsigned char *at, *end;
};

static void cfi_fail(struct cfi *c)
{
	c->at = c->end;
}

static void cfi_skip(struct cfi *c, uint64_t len)
{
	if (len > (uint64_t)(c->end - c->at))
		cfi_fail(c);
	else
		c->at += len;
}

static uint64_t cfi_leb(struct cfi *c)
{
	uint64_t value = 0;
	const char *end = flame_pb_varint((const char *)c->at, (const char *)c->end, &value);

	c->at = end ? (const unsigned char *)end : c->end;
	return end ? value : 0;
}

/* What follows an instruction. */
enum operands {
	OP_NONE, OP_LEB, OP_LEB_LEB, OP_BLOCK, OP_LEB_BLOCK, OP_1, OP_2, OP_4, OP_8, OP_ADDRESS, OP_BAD,
};

static const unsigned char operands[64] = {
	[0x00] = OP_NONE, [0x01] = OP_ADDRESS, [0x02] = OP_1, [0x03] = OP_2, [0x04] = OP_4,
	[0x05] = OP_LEB_LEB, [0x06] = OP_LEB, [0x07] = OP_LEB, [0x08] = OP_LEB, [0x09] = OP_LEB_LEB,
	[0x0a] = OP_NONE, [0x0b] = OP_NONE, [0x0c] = OP_LEB_LEB, [0x0d] = OP_LEB, [0x0e] = OP_LEB, [0x0f] = OP_BLOCK,
	[0x10] = OP_LEB_BLOCK, [0x11] = OP_LEB_LEB, [0x12] = OP_LEB_LEB, [0x13] = OP_LEB, [0x14] = OP_LEB_LEB,
	[0x15] = OP_LEB_LEB, [0x16] = OP_LEB_BLOCK, [0x17 ... 0x1c] = OP_BAD, [0x1d] = OP_8, [0x1e ... 0x2c] = OP_BAD,
	[0x2d] = OP_NONE, [0x2e] = OP_LEB, [0x2f] = OP_LEB_LEB, [0x30 ... 0x3f] = OP_BAD,
};

enum { DEF_CFA = 0x0c, DEF_CFA_REGISTER = 0x0d, DEF_CFA_OFFSET = 0x0e, DEF_CFA_EXPRESSION = 0x0f, DEF_CFA_SF = 0x12,
       DEF_CFA_OFFSET_SF = 0x13 };

/* Step over what follows @op. Return: its first number, where it has one. */
static uint64_t cfi_operands(struct cfi *c, unsigned char op, size_t address_size)
{
	static const unsigned char sizes[] = { [OP_1] = 1, [OP_2] = 2, [OP_4] = 4, [OP_8] = 8 };
	enum operands kind = operands[op];
	uint64_t value = 0;

	if (kind == OP_BAD)
		cfi_fail(c);
	else if (kind >= OP_1 && kind <= OP_8)
		cfi_skip(c, sizes[kind]);
	else if (kind == OP_ADDRESS)
		cfi_skip(c, address_size);
	else if (kind != OP_NONE)
		value = cfi_leb(c);
	if (kind == OP_LEB_LEB)
		cfi_leb(c);
	else if (kind == OP_BLOCK)
		cfi_skip(c, value);
	else if (kind == OP_LEB_BLOCK)
		cfi_skip(c, cfi_leb(c));
	return value;
}

/* What a function's instructions make of its frame. */
static enum frame frame_cfi(struct cfi *c, size_t address_size)
{
	enum frame frame = FRAME_NONE;

	while (c->at < c->end) {
		unsigned char op = *c->at++;
		uint64_t value;

		if (op >> 6) {
			/* DW_CFA_offset has a number behind it, DW_CFA_advance_loc and _restore have none. */
			if (op >> 6 == 2)
				cfi_leb(c);
			continue;
		}
		value = cfi_operands(c, op, address_size);
		if ((op == DEF_CFA || op == DEF_CFA_REGISTER || op == DEF_CFA_SF) && value == X86_RBP)
			return FRAME_POINTER;
		/* The entries of the PLT share one FDE, which is an expression. */
		if (op == DEF_CFA_EXPRESSION)
			return FRAME_NONE;
		if ((op >= DEF_CFA && op <= DEF_CFA_OFFSET) || op == DEF_CFA_SF || op == DEF_CFA_OFFSET_SF)
			frame = FRAME_PLAIN;
	}
	return frame;
}

/* What entries share: how addresses are written. */
struct cie {
	uint64_t offset;	/* in the section */
	bool valid, augmented;
	unsigned char encoding;
};

#define PE_FORMAT 0x0f
#define PE_PCREL 0x10
#define PE_APPLICATION 0x70

/* Return: bytes of an address in @encoding; 0 where it is of no fixed size. */
static size_t encoded_size(const struct flame_elf *elf, unsigned char encoding)
{
	static const unsigned char sizes[16] = { [2] = 2, [3] = 4, [4] = 8, [10] = 2, [11] = 4, [12] = 8 };

	return encoding & PE_FORMAT ? sizes[encoding & PE_FORMAT] : elf->is_64 ? 8 : 4;
}

/* The letters of a CIE's augmentation tell what its data are. */
static void read_augmentation(const struct flame_elf *elf, struct cfi *c, const char *letters, struct cie *cie)
{
	cfi_leb(c);
	for (const char *l = letters + 1; *l; l++) {
		if (*l == 'R' && c->at < c->end)
			cie->encoding = *c->at++;
		else if (*l == 'L')
			cfi_skip(c, 1);
		else if (*l == 'P' && c->at < c->end)
			cfi_skip(c, encoded_size(elf, *c->at++));
		else if (*l != 'S' && *l != 'B')
			return;
	}
}

static void read_cie(const struct flame_elf *elf, struct cfi c, uint64_t offset, struct cie *cie)
{
	const char *letters = (const char *)c.at + 1;
	unsigned char version = c.at < c.end ? *c.at : 0;
	size_t room = (size_t)(c.end - c.at), len = room > 1 ? strnlen(letters, room - 1 < 16 ? room - 1 : 16) : 16;

	*cie = (struct cie){ .offset = offset };
	if ((version != 1 && version != 3) || len >= 16 || len + 1 >= room)
		return;
	cfi_skip(&c, len + 2);
	cfi_leb(&c);
	cfi_leb(&c);
	if (version == 1)
		cfi_skip(&c, 1);
	else
		cfi_leb(&c);
	cie->augmented = letters[0] == 'z';
	cie->valid = !letters[0] || cie->augmented;
	if (cie->augmented)
		read_augmentation(elf, &c, letters, cie);
}

/* Return: true with the body of the entry at @offset of the section, and the number that it begins with. */
static bool entry_at(const struct flame_elf *elf, struct flame_span section, uint64_t offset, struct cfi *body,
		     uint32_t *id)
{
	const unsigned char *p = (const unsigned char *)section.s;
	uint32_t len;

	if (offset + 8 > section.len)
		return false;
	len = get32(elf, p + offset);
	if (len < 4 || len > section.len - offset - 4)
		return false;	/* the end; entries of more than 4 GiB are not looked at */
	*id = get32(elf, p + offset + 4);
	*body = (struct cfi){ p + offset + 8, p + offset + 4 + len };
	return true;
}

/* Return: true with the address that stands at @c, which is @pc of the file's memory. */
static bool read_address(const struct flame_elf *elf, struct cfi *c, unsigned char encoding, uint64_t pc,
			 uint64_t *address)
{
	size_t size = encoded_size(elf, encoding);

	if (!size || size > (size_t)(c->end - c->at))
		return false;
	*address = size == 2 ? (uint64_t)(int16_t)get16(elf, c->at) :
		   size == 4 ? (uint64_t)(int32_t)get32(elf, c->at) : get64(elf, c->at);
	if ((encoding & PE_APPLICATION) == PE_PCREL)
		*address += pc;
	c->at += size;
	return true;
}

/* One function: @c stands behind the number that leads to its CIE. */
static void add_fde(const struct flame_elf *elf, const struct flame_elf_section *section, struct flame_span bytes,
		    struct cfi c, const struct cie *cie, struct flame_frame_count *count)
{
	uint64_t pc = section->address + (uint64_t)((const char *)c.at - bytes.s), start, size;

	if (!read_address(elf, &c, cie->encoding, pc, &start) ||
	    !read_address(elf, &c, cie->encoding & PE_FORMAT, 0, &size))
		return;
	if (elf->machine == EM_AARCH64) {
		add_prologue(elf, start, size, count);
		return;
	}
	if (cie->augmented)
		cfi_skip(&c, cfi_leb(&c));
	if (c.at < c.end)
		add(count, frame_cfi(&c, encoded_size(elf, cie->encoding)));
}

static void count_cfi(const struct flame_elf *elf, struct flame_frame_count *count)
{
	const struct flame_elf_section *section = flame_elf_section(elf, ".eh_frame");
	struct flame_span bytes = flame_elf_bytes(elf, section);
	struct cie cie = { .offset = UINT64_MAX };
	struct cfi body, parent;
	uint64_t offset = 0;
	uint32_t id, zero;

	while (count->nr_functions < FLAME_FRAMES_MAX && entry_at(elf, bytes, offset, &body, &id)) {
		uint64_t from = offset + 4 - id;

		offset = (uint64_t)((const char *)body.end - bytes.s);
		if (!id || from > bytes.len)
			continue;
		if (from != cie.offset) {
			cie = (struct cie){ .offset = from };
			if (entry_at(elf, bytes, from, &parent, &zero) && !zero)
				read_cie(elf, parent, from, &cie);
		}
		if (cie.valid)
			add_fde(elf, section, bytes, body, &cie, count);
	}
}

void flame_count_frames(const struct flame_elf *elf, const struct flame_symtab *symbols,
			struct flame_frame_count *count)
{
	*count = (struct flame_frame_count){ 0 };
	if (!elf->is_64 || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64)) {
		count->why = "code of this machine is not looked at";
		return;
	}
	count_cfi(elf, count);
	/* Go and assembly have next to no CFI, and what there is comes from the C library's start files. */
	if (symbols && symbols->nr > 2 * (size_t)count->nr_functions) {
		*count = (struct flame_frame_count){ 0 };
		count_prologues(elf, symbols, count);
		count->method = "prologues";
	} else {
		count->method = elf->machine == EM_AARCH64 ? "prologues" : "CFI";
	}
	if (count->nr_functions)
		return;
	count->method = NULL;
	count->why = "it has neither CFI nor symbols of functions";
}

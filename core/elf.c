/* SPDX-License-Identifier: MIT */
/*
 * elf.c - headers, build-id and symbols of ELF files.
 */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_read.h"
#include "symbol.h"

/*
 * Sections of a damaged file may all be the same bytes; so that reading them all is not the square of
 * its size, what lies beyond these is not looked at.
 */
#define SECTION_NAME 256	/* bytes of a section's name */
#define NOTES_SIZE 65536	/* bytes of notes */
#define NR_NOTES 64
#define NR_PLTS 8

static bool in_file(const struct flame_elf *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

/* ---- headers ---- */

static int read_segments(struct flame_elf *elf, size_t nr)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	uint64_t offset = get_word(elf, elf->data, 28, 32);

	if (!nr)
		return 0;
	if (nr > FLAME_ELF_SEGMENTS_MAX)
		nr = FLAME_ELF_SEGMENTS_MAX;
	if (get16(elf, elf->data + (elf->is_64 ? 54 : 42)) != size || !in_file(elf, offset, nr * size)) {
		elf->damage = "its segments lie outside of it";
		return 0;
	}
	elf->segments = calloc(nr, sizeof(*elf->segments));
	if (!elf->segments)
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const unsigned char *p = elf->data + offset + i * size;
		uint32_t type = get32(elf, p);

		if (type != PT_LOAD && type != PT_NOTE)
			continue;
		elf->segments[elf->nr_segments++] = (struct flame_elf_segment){
			.load = type == PT_LOAD, .executable = get32(elf, p + (elf->is_64 ? 4 : 24)) & PF_X,
			.offset = get_word(elf, p, 4, 8), .address = get_word(elf, p, 8, 16),
			.file_size = get_word(elf, p, 16, 32), .memory_size = get_word(elf, p, 20, 40),
			.align = get_word(elf, p, 28, 48),
		};
	}
	return 0;
}

static const char *string_at(const struct flame_elf *elf, const struct flame_elf_section *strings, uint64_t at)
{
	struct flame_span s = flame_elf_bytes(elf, strings);
	size_t room = at < s.len ? s.len - at : 0;

	return room && memchr(s.s + at, '\0', room < SECTION_NAME ? room : SECTION_NAME) ? s.s + at : "";
}

static void read_section(const struct flame_elf *elf, const unsigned char *p, struct flame_elf_section *section)
{
	*section = (struct flame_elf_section){
		.name = "", .type = get32(elf, p + 4), .flags = get_word(elf, p, 8, 8),
		.address = get_word(elf, p, 12, 16), .offset = get_word(elf, p, 16, 24),
		.size = get_word(elf, p, 20, 32), .link = get32(elf, p + (elf->is_64 ? 40 : 24)),
		.info = get32(elf, p + (elf->is_64 ? 44 : 28)), .entry_size = get_word(elf, p, 36, 56),
	};
}

static int read_sections(struct flame_elf *elf)
{
	size_t size = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint64_t offset = get_word(elf, elf->data, 32, 40), nr = get16(elf, elf->data + (elf->is_64 ? 60 : 48));
	uint32_t names = get16(elf, elf->data + (elf->is_64 ? 62 : 50));
	struct flame_elf_section first;

	if (!offset)
		return 0;
	if (get16(elf, elf->data + (elf->is_64 ? 58 : 46)) != size || !in_file(elf, offset, size)) {
		elf->damage = "its section table lies outside of it";
		return 0;
	}
	/* Numbers that do not fit the header are in the first section. */
	read_section(elf, elf->data + offset, &first);
	nr = nr ? nr : first.size;
	names = names == SHN_XINDEX ? first.link : names;
	if (nr > FLAME_ELF_SECTIONS_MAX)
		nr = FLAME_ELF_SECTIONS_MAX;
	if (!in_file(elf, offset, nr * size)) {
		elf->damage = "its section table lies outside of it";
		nr = (elf->size - offset) / size;
	}
	elf->sections = calloc(nr, sizeof(*elf->sections));
	if (!elf->sections)
		return FLAME_ENOMEM;
	elf->nr_sections = nr;
	for (size_t i = 0; i < nr; i++)
		read_section(elf, elf->data + offset + i * size, &elf->sections[i]);
	if (names >= nr)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		uint32_t name = get32(elf, elf->data + offset + i * size);

		elf->sections[i].name = string_at(elf, &elf->sections[names], name);
	}
	return 0;
}

/* ---- notes ---- */

static bool find_build_id(struct flame_elf *elf, uint64_t offset, uint64_t size)
{
	if (!in_file(elf, offset, size))
		return false;
	if (size > NOTES_SIZE)
		size = NOTES_SIZE;
	while (size >= 12) {
		const unsigned char *p = elf->data + offset;
		uint64_t name = get32(elf, p), desc = get32(elf, p + 4);
		uint64_t all = 12 + ((name + 3) & ~3ull) + ((desc + 3) & ~3ull);

		if (all > size)
			return false;
		if (name == 4 && !memcmp(p + 12, "GNU", 4) && get32(elf, p + 8) == NT_GNU_BUILD_ID && desc &&
		    desc <= FLAME_BUILD_ID_MAX) {
			elf->build_id = (struct flame_span){ (const char *)p + 16, desc };
			return true;
		}
		offset += all;
		size -= all;
	}
	return false;
}

static void read_notes(struct flame_elf *elf)
{
	size_t nr = 0;

	for (size_t i = 0; i < elf->nr_sections; i++) {
		const struct flame_elf_section *s = &elf->sections[i];

		if (s->type == SHT_NOTE && nr++ < NR_NOTES && find_build_id(elf, s->offset, s->size))
			return;
	}
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct flame_elf_segment *s = &elf->segments[i];

		if (!s->load && find_build_id(elf, s->offset, s->file_size))
			return;
	}
}

/* ---- opening ---- */

static bool host_is_little(void)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

int flame_elf_init(struct flame_elf *elf, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t nr_segments;
	int err;

	*elf = (struct flame_elf){ .data = data, .size = size };
	if (size < EI_NIDENT || memcmp(p, ELFMAG, SELFMAG) || (p[EI_CLASS] != ELFCLASS32 && p[EI_CLASS] != ELFCLASS64) ||
	    (p[EI_DATA] != ELFDATA2LSB && p[EI_DATA] != ELFDATA2MSB))
		return FLAME_EFORMAT;
	elf->is_64 = p[EI_CLASS] == ELFCLASS64;
	elf->swapped = (p[EI_DATA] == ELFDATA2LSB) != host_is_little();
	if (size < (elf->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
		return FLAME_EFORMAT;
	elf->type = get16(elf, p + 16);
	elf->machine = get16(elf, p + 18);
	err = read_sections(elf);
	if (err)
		return err;
	nr_segments = get16(elf, p + (elf->is_64 ? 56 : 44));
	if (nr_segments == PN_XNUM)
		nr_segments = elf->nr_sections ? elf->sections[0].info : 0;
	err = read_segments(elf, nr_segments);
	if (!err)
		read_notes(elf);
	return err;
}

int flame_elf_open(struct flame_elf *elf, const char *path)
{
	/* A named pipe in place of a file must not stop us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err, saved;
	void *data = MAP_FAILED;
	struct stat st;

	*elf = (struct flame_elf){ 0 };
	if (fd < 0)
		return FLAME_EIO;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size <= SIZE_MAX)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	else
		errno = EINVAL;
	saved = errno;
	close(fd);
	errno = saved;
	if (data == MAP_FAILED)
		return FLAME_EIO;
	err = flame_elf_init(elf, data, (size_t)st.st_size);
	elf->mapping = data;
	return err;
}

void flame_elf_release(struct flame_elf *elf)
{
	free(elf->segments);
	free(elf->sections);
	if (elf->mapping)
		munmap(elf->mapping, elf->size);
	*elf = (struct flame_elf){ 0 };
}

/* ---- questions ---- */

const struct flame_elf_section *flame_elf_section(const struct flame_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->nr_sections; i++) {
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	}
	return NULL;
}

struct flame_span flame_elf_bytes(const struct flame_elf *elf, const struct flame_elf_section *section)
{
	if (!section || section->type == SHT_NOBITS || !in_file(elf, section->offset, section->size))
		return (struct flame_span){ "", 0 };
	return (struct flame_span){ (const char *)elf->data + section->offset, section->size };
}

static bool address_of(const struct flame_elf *elf, uint64_t offset, bool executable, uint64_t *address)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct flame_elf_segment *s = &elf->segments[i];

		if (!s->load || s->executable != executable || offset < s->offset || offset - s->offset >= s->file_size)
			continue;
		*address = offset - s->offset + s->address;
		return true;
	}
	return false;
}

bool flame_elf_code(const struct flame_elf *elf, uint64_t offset, uint64_t *address)
{
	return address_of(elf, offset, true, address);
}

bool flame_elf_address(const struct flame_elf *elf, uint64_t offset, uint64_t *address)
{
	return address_of(elf, offset, true, address) || address_of(elf, offset, false, address);
}

bool flame_elf_debuglink(const struct flame_elf *elf, const char **name, uint32_t *crc)
{
	struct flame_span s = flame_elf_bytes(elf, flame_elf_section(elf, ".gnu_debuglink"));
	const char *end = memchr(s.s, '\0', s.len);
	size_t at;

	if (!end || end == s.s || memchr(s.s, '/', (size_t)(end - s.s)))
		return false;
	at = ((size_t)(end - s.s) + 4) & ~(size_t)3;
	if (at + 4 > s.len)
		return false;
	*name = s.s;
	*crc = get32(elf, (const unsigned char *)s.s + at);
	return true;
}

static const struct flame_elf_section *section_of_type(const struct flame_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == type && flame_elf_bytes(elf, &elf->sections[i]).len)
			return &elf->sections[i];
	}
	return NULL;
}

/* The @i-th string of the dynamic section that has @wanted. */
static const char *dynamic_string(const struct flame_elf *elf, uint64_t wanted, size_t i)
{
	const struct flame_elf_section *dynamic = section_of_type(elf, SHT_DYNAMIC);
	struct flame_span bytes = flame_elf_bytes(elf, dynamic);
	size_t size = elf->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);

	if (!dynamic || dynamic->link >= elf->nr_sections)
		return NULL;
	for (size_t at = 0; at + size <= bytes.len; at += size) {
		const unsigned char *p = (const unsigned char *)bytes.s + at;
		uint64_t tag = get_word(elf, p, 0, 0);

		if (tag == DT_NULL)
			return NULL;
		if (tag == wanted && !i--)
			return string_at(elf, &elf->sections[dynamic->link], get_word(elf, p, 4, 8));
	}
	return NULL;
}

const char *flame_elf_needed(const struct flame_elf *elf, size_t i)
{
	return dynamic_string(elf, DT_NEEDED, i);
}

const char *flame_elf_runpath(const struct flame_elf *elf)
{
	const char *path = dynamic_string(elf, DT_RUNPATH, 0);

	return path ? path : dynamic_string(elf, DT_RPATH, 0);
}

bool flame_elf_has_symtab(const struct flame_elf *elf)
{
	return section_of_type(elf, SHT_SYMTAB);
}

/* ---- symbols ---- */

/* A symbol table with its strings. */
struct symbols {
	const struct flame_elf *elf;
	struct flame_span bytes, strings;
	size_t entry_size;
};

struct symbol {
	uint64_t value, size;
	uint32_t name;
	uint16_t section;
	uint8_t type, bind, visibility;
};

static bool symbols_open(const struct flame_elf *elf, const struct flame_elf_section *section, struct symbols *out)
{
	if (!section || section->link >= elf->nr_sections)
		return false;
	*out = (struct symbols){ .elf = elf, .bytes = flame_elf_bytes(elf, section),
				 .strings = flame_elf_bytes(elf, &elf->sections[section->link]),
				 .entry_size = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym) };
	return true;
}

static struct symbol symbol_at(const struct symbols *t, size_t i)
{
	const unsigned char *p = (const unsigned char *)t->bytes.s + i * t->entry_size;
	bool is_64 = t->elf->is_64;
	uint8_t info = p[is_64 ? 4 : 12];

	return (struct symbol){ .name = get32(t->elf, p), .type = info & 15, .bind = info >> 4,
				.visibility = p[is_64 ? 5 : 13] & 3, .section = get16(t->elf, p + (is_64 ? 6 : 14)),
				.value = get_word(t->elf, p, 4, 8), .size = get_word(t->elf, p, 8, 16) };
}

/* Marks of the assembler, which are no functions: "$x" and "$d" of ARM, ".L" of compilers. */
static bool is_mark(const struct flame_elf *elf, const char *name, size_t room)
{
	if (room > 1 && name[0] == '.' && name[1] == 'L')
		return true;
	return name[0] == '$' && (elf->machine == EM_ARM || elf->machine == EM_AARCH64 || elf->machine == EM_RISCV);
}

/* Return: whether a symbol names code, by what it says and by its section. */
static bool is_function(const struct flame_elf *elf, const struct symbol *s, const char *name, size_t room)
{
	const struct flame_elf_section *section = s->section < elf->nr_sections ? &elf->sections[s->section] : NULL;

	if (s->section == SHN_UNDEF || s->section == SHN_ABS || s->section == SHN_COMMON)
		return false;
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	return s->type == STT_NOTYPE && section && section->flags & SHF_EXECINSTR && !is_mark(elf, name, room) &&
	       s->visibility != STV_HIDDEN && s->visibility != STV_INTERNAL;
}

static int add_symbol(const struct symbols *t, const struct symbol *s, struct flame_symtab *table)
{
	const struct flame_elf *elf = t->elf;
	const struct flame_elf_section *section = s->section < elf->nr_sections ? &elf->sections[s->section] : NULL;
	size_t room = s->name < t->strings.len ? t->strings.len - s->name : 0;
	struct flame_symtab_entry e = { .start = s->value, .kind = FLAME_USER };
	uint64_t limit = UINT64_MAX;

	if (!room)
		return 0;
	e.name = t->strings.s + s->name;
	e.room = room < FLAME_SYMBOL_NAME_MAX ? (uint32_t)room : FLAME_SYMBOL_NAME_MAX;
	if (!is_function(elf, s, e.name, room))
		return 0;
	e.rank = (s->bind == STB_WEAK ? 0 : FLAME_SYMBOL_STRONG) | (s->bind == STB_GLOBAL ? FLAME_SYMBOL_GLOBAL : 0);
	/* The lowest bit of an ARM function's address says that its code is Thumb. */
	if (elf->machine == EM_ARM && s->type == STT_FUNC)
		e.start &= ~1ull;
	if (section && section->address <= e.start && e.start - section->address <= section->size)
		limit = section->address + section->size;
	return flame_symtab_add(table, &e, s->size, limit);
}

int flame_elf_symbols(const struct flame_elf *elf, struct flame_symtab *table)
{
	const struct flame_elf_section *section = section_of_type(elf, SHT_SYMTAB);
	struct symbols t;
	int err = 0;

	if (!section)
		section = section_of_type(elf, SHT_DYNSYM);
	if (!symbols_open(elf, section, &t))
		return 0;
	for (size_t i = 1; !err && i < t.bytes.len / t.entry_size; i++) {
		struct symbol s = symbol_at(&t, i);

		err = add_symbol(&t, &s, table);
	}
	return err;
}

/* ---- entries of the PLT, which have no symbols ---- */

/* What the relocations put into the slots of the GOT. */
struct slot {
	uint64_t address;
	uint64_t resolver;	/* which chooses the function when the file is loaded; 0: @symbol is it */
	uint32_t symbol;	/* 0: none is known */
};

struct slots {
	struct slot *slots;
	size_t nr;
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_resolvers(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->resolver < y->resolver ? -1 : x->resolver > y->resolver;
}

/* Return: the first of the slots that the function at @resolver fills; NULL: none. */
static struct slot *resolved_by(const struct slots *slots, uint64_t resolver)
{
	size_t low = 0, high = slots->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots->slots[middle].resolver < resolver)
			low = middle + 1;
		else
			high = middle;
	}
	return low < slots->nr && slots->slots[low].resolver == resolver ? &slots->slots[low] : NULL;
}

/* The slots of memcpy and the like inside of the C library have no symbol, but a resolver that has its name. */
static void name_resolved(const struct symbols *t, const struct slots *slots)
{
	qsort(slots->slots, slots->nr, sizeof(*slots->slots), compare_resolvers);
	for (size_t i = 1; i < t->bytes.len / t->entry_size; i++) {
		struct symbol s = symbol_at(t, i);
		struct slot *slot = s.type == STT_GNU_IFUNC && s.value ? resolved_by(slots, s.value) : NULL;

		/* Of several names the one for users. */
		if (slot && s.name < t->strings.len && (!slot->symbol || t->strings.s[s.name] != '_'))
			slot->symbol = (uint32_t)i;
	}
	for (size_t i = 1; i < slots->nr; i++) {
		if (slots->slots[i].resolver && slots->slots[i].resolver == slots->slots[i - 1].resolver)
			slots->slots[i].symbol = slots->slots[i - 1].symbol;
	}
}

static bool slots_read(const struct symbols *t, struct slots *out)
{
	const struct flame_elf *elf = t->elf;
	static const size_t size = sizeof(Elf64_Rela);
	size_t room = 0;

	*out = (struct slots){ 0 };
	for (size_t i = 0; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == SHT_RELA && elf->sections[i].flags & SHF_ALLOC)
			room += flame_elf_bytes(elf, &elf->sections[i]).len / size;
	}
	/* Sections of a damaged file may all be the same bytes. */
	if (!room || room > elf->size / size * 2)
		return false;
	out->slots = calloc(room, sizeof(*out->slots));
	for (size_t i = 0; out->slots && i < elf->nr_sections; i++) {
		struct flame_span s = flame_elf_bytes(elf, &elf->sections[i]);

		if (elf->sections[i].type != SHT_RELA || !(elf->sections[i].flags & SHF_ALLOC))
			continue;
		for (size_t j = 0; j < s.len / size; j++) {
			const unsigned char *p = (const unsigned char *)s.s + j * size;
			uint64_t info = get64(elf, p + 8);
			uint32_t type = (uint32_t)info;

			if (info >> 32 && (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT))
				out->slots[out->nr++] = (struct slot){ .address = get64(elf, p), .symbol = (uint32_t)(info >> 32) };
			else if (type == R_X86_64_IRELATIVE)
				out->slots[out->nr++] = (struct slot){ .address = get64(elf, p), .resolver = get64(elf, p + 16) };
		}
	}
	if (out->nr)
		name_resolved(t, out);
	if (out->nr)
		qsort(out->slots, out->nr, sizeof(*out->slots), compare_slots);
	return out->nr;
}

/*
 * An entry jumps through its slot: ff 25 and where the slot is from the next instruction, perhaps
 * behind endbr64 and a bnd prefix. Return: true with the slot's address.
 */
static bool plt_slot(const struct flame_elf *elf, const unsigned char *p, size_t size, uint64_t address, uint64_t *slot)
{
	static const unsigned char endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = size >= 4 && !memcmp(p, endbr, 4) ? 4 : 0;

	if (at < size && p[at] == 0xf2)
		at++;
	if (at + 6 > size || p[at] != 0xff || p[at + 1] != 0x25)
		return false;
	*slot = address + at + 6 + (uint64_t)(int64_t)(int32_t)get32(elf, p + at + 2);
	return true;
}

/* Return: the size of the section's entries: 8 bytes where a jump is all that they are, as in .plt.got and in static programs. */
static size_t plt_step(const struct flame_elf *elf, struct flame_span code)
{
	const unsigned char *p = (const unsigned char *)code.s;
	uint64_t slot;

	if (code.len < 16)
		return 8;
	return plt_slot(elf, p, 8, 0, &slot) && plt_slot(elf, p + 8, 8, 0, &slot) ? 8 : 16;
}

/* The entries of one section; that they are a PLT's is added to the name when it is shown. */
static int plt_add(const struct symbols *t, const struct slots *slots, const struct flame_elf_section *plt,
		   struct flame_symtab *table)
{
	struct flame_span code = flame_elf_bytes(t->elf, plt);
	size_t step = plt_step(t->elf, code);
	int err = 0;

	for (size_t at = 0; !err && at + step <= code.len; at += step) {
		struct flame_symtab_entry e = { .start = plt->address + at, .kind = FLAME_USER, .plt = true,
						.rank = FLAME_SYMBOL_STRONG };
		struct slot key = { 0 }, *slot;
		struct symbol s;

		if (!plt_slot(t->elf, (const unsigned char *)code.s + at, step, e.start, &key.address))
			continue;
		slot = bsearch(&key, slots->slots, slots->nr, sizeof(key), compare_slots);
		if (!slot || !slot->symbol || slot->symbol >= t->bytes.len / t->entry_size)
			continue;
		s = symbol_at(t, slot->symbol);
		if (s.name >= t->strings.len)
			continue;
		e.name = t->strings.s + s.name;
		e.room = t->strings.len - s.name < FLAME_SYMBOL_NAME_MAX ? (uint32_t)(t->strings.len - s.name) :
									    FLAME_SYMBOL_NAME_MAX;
		err = flame_symtab_add(table, &e, step, 0);
	}
	return err;
}

int flame_elf_plt(const struct flame_elf *elf, struct flame_symtab *table)
{
	struct slots slots;
	struct symbols t;
	size_t nr = 0;
	int err = 0;

	/* A static program has only slots that a resolver fills. */
	if (elf->machine != EM_X86_64 || !elf->is_64 || (!symbols_open(elf, section_of_type(elf, SHT_DYNSYM), &t) &&
							 !symbols_open(elf, section_of_type(elf, SHT_SYMTAB), &t)))
		return 0;
	if (slots_read(&t, &slots)) {
		for (size_t i = 0; !err && i < elf->nr_sections; i++) {
			if (!strncmp(elf->sections[i].name, ".plt", 4) && elf->sections[i].flags & SHF_EXECINSTR && nr++ < NR_PLTS)
				err = plt_add(&t, &slots, &elf->sections[i], table);
		}
	}
	free(slots.slots);
	return err;
}

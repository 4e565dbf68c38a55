/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - unwinding by rows of the files' tables (cfi.c), where a frame costs a look-up and reading what it saved.
 * A stack with a frame that has no such row is unwound with libdwfl: a process has one Dwfl, which is
 * attached once to callbacks that answer from the sample at hand. Files are opened, and reported to it,
 * when a stack first leads into them. Both ways come to the same.
 */
#include "unwind.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cfi.h"
#include "elf.h"
#include "table.h"

#define NR_STEPS 4096		/* addresses whose rows are at hand */
#define STACK_SPAN (1ull << 30)	/* addresses so far above the stack pointer may still be of the stack */
#define THREAD 1		/* libdwfl wants a number */

struct mapping {
	uint64_t start, end, offset;
	char *path;		/* owned; NULL: nothing to read */
	bool reported;		/* to libdwfl, or tried in vain */
	bool opened;		/* cfi is set, or it was tried in vain */
	struct flame_cfi *cfi;	/* of the files' */
};

/* The row at an address of the process. */
struct step {
	uint64_t ip;
	const struct flame_cfi_row *row;	/* NULL: a free place */
};

struct flame_unwind {
	uint32_t machine;
	Dwfl *dwfl;
	bool attached;
	bool stale;		/* what was reported has been replaced */
	struct mapping *mappings;	/* by address; they do not overlap */
	size_t nr_mappings, room_mappings;
	struct flame_unwind_files *files;
	struct step *steps;	/* by address; what is new takes the place of what is there */
	bool only_libdw;
	/* The sample at hand. */
	const struct flame_user_state *state;
	uint64_t sp;
	uint64_t *ips;
	size_t nr;
	bool is_short, is_deep;
};

/* ---- registers ---- */

static bool get_reg(const struct flame_user_state *state, unsigned int reg, uint64_t *value)
{
	uint64_t below = reg < 64 ? (1ull << reg) - 1 : 0;
	size_t at;

	if (reg >= 64 || !(state->regs_mask >> reg & 1))
		return false;
	at = (size_t)__builtin_popcountll(state->regs_mask & below);
	if (at >= state->nr_regs)
		return false;
	*value = state->regs[at];
	return true;
}

/* perf's numbers of the registers that DWARF numbers from 0. */
struct machine {
	uint32_t machine;
	uint8_t nr, sp, pc;
	uint8_t regs[32];
};

static const struct machine machines[] = {
	{ FLAME_MACHINE_X86_64, 17, 7, 8, { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 } },
	{ FLAME_MACHINE_AARCH64, 32, 31, 32, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
					       21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31 } },
};

static const struct machine *machine_of(uint32_t machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (machines[i].machine == machine)
			return &machines[i];
	}
	return NULL;
}

/* ---- what libdwfl asks ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return THREAD;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

/* A word of the copy of the stack. Return: false where there is none. */
static inline bool read_word(struct flame_unwind *u, uint64_t address, uint64_t *word)
{
	uint64_t at = address - u->sp;

	if (address >= u->sp && u->state->stack_size >= sizeof(*word) && at <= u->state->stack_size - sizeof(*word)) {
		memcpy(word, (const char *)u->state->stack + at, sizeof(*word));
		return true;
	}
	if (address >= u->sp && at < STACK_SPAN)
		u->is_short = true;
	return false;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	uint64_t word;

	(void)dwfl;
	if (!read_word(arg, address, &word))
		return false;
	*result = word;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct flame_unwind *u = arg;
	const struct machine *m = machine_of(u->machine);
	uint64_t pc;

	for (unsigned int i = 0; i < m->nr; i++) {
		Dwarf_Word value;
		uint64_t reg;

		if (!get_reg(u->state, m->regs[i], &reg))
			continue;
		value = reg;
		if (!dwfl_thread_state_registers(thread, (int)i, 1, &value))
			return false;
	}
	if (!get_reg(u->state, m->pc, &pc))
		return false;
	dwfl_thread_state_register_pc(thread, pc);
	return true;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* Unwind tables are in the file itself; its debug file is not looked for, which may ask the network. */
static int no_debug_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file,
			 const char *link, GElf_Word crc, char **debug_name)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)debug_name;
	return -1;
}

/*
 * Open a reported file, whose name is its path. libdwfl would keep it open; here it is only mapped, since
 * all the processes of a machine have more files than a process may have open.
 */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	(void)module;
	(void)userdata;
	(void)base;
	(void)file;
	elf_version(EV_CURRENT);
	*elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (*elf && elf_cntl(*elf, ELF_C_FDREAD)) {
		elf_end(*elf);
		*elf = NULL;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static const Dwfl_Callbacks file_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = no_debug_file,
	.section_address = dwfl_offline_section_address,
};

/* ---- mappings ---- */

bool flame_unwind_available(void)
{
	return true;
}

struct flame_unwind *flame_unwind_new(uint32_t machine, struct flame_unwind_files *files)
{
	struct flame_unwind *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->machine = machine;
	u->files = files ? flame_unwind_files_share(files) : flame_unwind_files_new();
	if (!u->files) {
		free(u);
		return NULL;
	}
	return u;
}

void flame_unwind_only_libdw(struct flame_unwind *u)
{
	u->only_libdw = true;
}

static void forget_steps(struct flame_unwind *u)
{
	if (u->steps)
		memset(u->steps, 0, NR_STEPS * sizeof(*u->steps));
}

void flame_unwind_clear(struct flame_unwind *u)
{
	for (size_t i = 0; i < u->nr_mappings; i++)
		free(u->mappings[i].path);
	u->nr_mappings = 0;
	u->stale = true;
	forget_steps(u);
}

void flame_unwind_free(struct flame_unwind *u)
{
	if (!u)
		return;
	flame_unwind_clear(u);
	free(u->mappings);
	free(u->steps);
	flame_unwind_files_free(u->files);
	dwfl_end(u->dwfl);
	free(u);
}

/* Return: the first mapping that ends behind @address. */
static size_t mapping_from(const struct flame_unwind *u, uint64_t address)
{
	size_t low = 0, high = u->nr_mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (u->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Put @m at @at, in place of @nr mappings. Return: false without memory. */
static bool replace(struct flame_unwind *u, size_t at, size_t nr, const struct mapping *m, size_t nr_new)
{
	size_t behind = u->nr_mappings - at - nr;

	if (!array_reserve((void **)&u->mappings, &u->room_mappings, u->nr_mappings + nr_new, sizeof(*m)))
		return false;
	memmove(u->mappings + at + nr_new, u->mappings + at + nr, behind * sizeof(*m));
	memcpy(u->mappings + at, m, nr_new * sizeof(*m));
	u->nr_mappings = u->nr_mappings - nr + nr_new;
	return true;
}

static bool same_file(const struct mapping *m, const struct flame_mapping *mapping)
{
	return m->path && mapping->path && !strcmp(m->path, mapping->path) &&
	       m->start - m->offset == mapping->start - mapping->offset;
}

/* What stays of mapping @i before and behind a new one. Return: how many in @rest. */
static size_t remains(const struct mapping *m, const struct flame_mapping *mapping, struct mapping rest[2])
{
	size_t nr = 0;

	if (m->start < mapping->start) {
		rest[nr] = *m;
		rest[nr].opened = false;
		rest[nr].end = mapping->start;
		rest[nr++].path = m->path ? strdup(m->path) : NULL;
	}
	if (m->end > mapping->end) {
		rest[nr] = *m;
		rest[nr].opened = false;
		rest[nr].offset += mapping->end - m->start;
		rest[nr].start = mapping->end;
		rest[nr++].path = m->path ? strdup(m->path) : NULL;
	}
	return nr;
}

int flame_unwind_map(struct flame_unwind *u, const struct flame_mapping *mapping)
{
	struct mapping m = { .start = mapping->start, .end = mapping->end, .offset = mapping->offset };
	size_t at = mapping_from(u, mapping->start);

	if (m.start >= m.end)
		return 0;
	if (at < u->nr_mappings && same_file(&u->mappings[at], mapping) && u->mappings[at].start == m.start &&
	    u->mappings[at].end == m.end)
		return 0;
	forget_steps(u);
	while (at < u->nr_mappings && u->mappings[at].start < m.end) {
		struct mapping rest[2], old = u->mappings[at];
		size_t nr = remains(&old, mapping, rest);

		u->stale = u->stale || (old.reported && !same_file(&old, mapping));
		if (!replace(u, at, 1, rest, nr)) {
			for (size_t i = 0; i < nr; i++)
				free(rest[i].path);
			return FLAME_ENOMEM;
		}
		free(old.path);
		while (at < u->nr_mappings && u->mappings[at].end <= m.start)
			at++;
		if (at < u->nr_mappings && u->mappings[at].start >= m.end)
			break;
	}
	m.path = mapping->path ? strdup(mapping->path) : NULL;
	if ((mapping->path && !m.path) || !replace(u, at, 0, &m, 1)) {
		free(m.path);
		return FLAME_ENOMEM;
	}
	return 0;
}

struct flame_unwind *flame_unwind_copy(const struct flame_unwind *u)
{
	struct flame_unwind *copy = flame_unwind_new(u->machine, u->files);

	for (size_t i = 0; copy && i < u->nr_mappings; i++) {
		const struct mapping *m = &u->mappings[i];
		struct flame_mapping mapping = { .start = m->start, .end = m->end, .offset = m->offset, .path = m->path };

		if (flame_unwind_map(copy, &mapping)) {
			flame_unwind_free(copy);
			return NULL;
		}
	}
	return copy;
}

/* ---- files ---- */

/* Return: the mapping that @ip is in and that has a file; NULL: none. */
static struct mapping *mapping_at(struct flame_unwind *u, uint64_t ip)
{
	size_t at = mapping_from(u, ip);
	struct mapping *m = at < u->nr_mappings && u->mappings[at].start <= ip ? &u->mappings[at] : NULL;

	return m && m->path ? m : NULL;
}

/* Set the addresses between which all of @elf is linked. Return: false where it is not loaded at all. */
static bool linked_at(const struct flame_elf *elf, uint64_t *low, uint64_t *high)
{
	bool found = false;

	*high = 0;
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct flame_elf_segment *s = &elf->segments[i];

		if (!s->load)
			continue;
		if (!found)
			*low = s->align ? s->address & -s->align : s->address;
		if (s->address + s->memory_size > *high)
			*high = s->address + s->memory_size;
		found = true;
	}
	return found && *low < *high;
}

/* Where @ip is in the file of its mapping. */
static uint64_t offset_of(const struct mapping *m, uint64_t ip)
{
	return m->offset + (ip - m->start);
}

/* Return: false where @ip is no code of the file, which tells nothing of where that lies. */
static bool report_file(struct flame_unwind *u, const struct mapping *m, uint64_t ip)
{
	uint64_t address = 0, low = 0, high = 0, bias;
	struct flame_elf elf;
	bool usable = !flame_elf_open(&elf, m->path) && elf.machine == u->machine && linked_at(&elf, &low, &high);
	bool found = usable && flame_elf_code(&elf, offset_of(m, ip), &address);

	flame_elf_release(&elf);
	/* Addresses of the process are so much above those of the file. */
	bias = ip - address;
	if (!found || low + bias >= high + bias)
		return !usable || found;
	dwfl_report_begin_add(u->dwfl);
	dwfl_report_module(u->dwfl, m->path, low + bias, high + bias);
	dwfl_report_end(u->dwfl, NULL, NULL);
	return true;
}

/* See to it that libdwfl knows the file that @ip is in. Return: whether it does. */
static bool report(struct flame_unwind *u, uint64_t ip)
{
	struct mapping *m = mapping_at(u, ip);

	if (!m)
		return false;
	if (!m->reported)
		m->reported = dwfl_addrmodule(u->dwfl, ip) || report_file(u, m, ip);
	return dwfl_addrmodule(u->dwfl, ip);
}

static bool attach(struct flame_unwind *u)
{
	if (u->stale && u->dwfl) {
		dwfl_end(u->dwfl);
		u->dwfl = NULL;
		for (size_t i = 0; i < u->nr_mappings; i++)
			u->mappings[i].reported = false;
	}
	u->stale = false;
	if (!u->dwfl) {
		u->attached = false;
		u->dwfl = dwfl_begin(&file_callbacks);
	}
	return u->dwfl;
}

/* ---- stacks, by rows ---- */

/* Return: the row at @ip; NULL where there is no code of a file. */
static const struct flame_cfi_row *find_row(struct flame_unwind *u, uint64_t ip, struct step *step)
{
	struct mapping *m = mapping_at(u, ip);
	const struct flame_cfi_row *row;
	uint64_t address = 0;

	if (!m)
		return NULL;
	if (!m->opened)
		m->cfi = flame_unwind_files_get(u->files, m->path);
	m->opened = true;
	if (!m->cfi || !flame_cfi_address(m->cfi, offset_of(m, ip), &address))
		return NULL;
	row = flame_cfi_row(m->cfi, address);
	if (flame_cfi_is_kept(m->cfi, row))
		*step = (struct step){ ip, row };
	return row;
}

static inline const struct flame_cfi_row *row_at(struct flame_unwind *u, uint64_t ip)
{
	struct step *step = &u->steps[(ip ^ ip >> 12) % NR_STEPS];

	return step->row && step->ip == ip ? step->row : find_row(u, ip, step);
}

/* Registers of a frame, by DWARF's numbers. */
struct registers {
	uint64_t values[FLAME_CFI_REGS];
	uint32_t known;		/* bits */
};

static void load_registers(const struct flame_user_state *state, const struct machine *m, struct registers *r)
{
	r->known = 0;
	for (unsigned int i = 0; i < FLAME_CFI_REGS; i++)
		r->known |= (uint32_t)get_reg(state, m->regs[i], &r->values[i]) << i;
}

/* From a frame to its caller. Return: false where there is none, or it is not known. */
static inline bool step_out(struct flame_unwind *u, const struct flame_cfi_row *row, struct registers *r)
{
	uint64_t cfa = r->values[row->cfa_reg] + (uint64_t)(int64_t)row->cfa_offset;

	if (!(r->known >> row->cfa_reg & 1))
		return false;
	r->known &= row->kept;
	for (unsigned int i = 0; i < row->nr_saved; i++) {
		unsigned int reg = row->saved_reg[i];

		r->known |= (uint32_t)read_word(u, cfa + (uint64_t)(int64_t)row->saved_offset[i], &r->values[reg]) << reg;
	}
	r->values[FLAME_CFI_SP] = cfa;
	r->known |= 1u << FLAME_CFI_SP;
	return r->known >> FLAME_CFI_RA & 1 && r->values[FLAME_CFI_RA];
}

/* Return: false where a frame has rules that are none of a row's. */
static bool unwind_by_rows(struct flame_unwind *u, const struct machine *m, uint64_t *ips, size_t *nr,
			   enum flame_unwind_end *end)
{
	struct registers r;
	size_t n = 0;

	load_registers(u->state, m, &r);
	for (uint64_t ip = r.values[FLAME_CFI_RA];; ip = r.values[FLAME_CFI_RA] - 1) {
		const struct flame_cfi_row *row;

		u->is_short = false;
		*end = FLAME_UNWIND_TOO_DEEP;
		if (n == FLAME_UNWIND_FRAMES_MAX)
			break;
		ips[n++] = ip;
		row = row_at(u, ip);
		*end = FLAME_UNWIND_NO_TABLE;
		if (!row)
			break;
		if (row->kind != FLAME_CFI_STEP)
			return false;
		if (!step_out(u, row, &r)) {
			*end = u->is_short ? FLAME_UNWIND_SHORT : FLAME_UNWIND_COMPLETE;
			break;
		}
	}
	*nr = n;
	return true;
}

/* ---- stacks, by libdwfl ---- */

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct flame_unwind *u = arg;
	Dwarf_Addr pc;
	bool is_activation = !u->nr;

	/* What could not be read of the frames below does not matter: this one was reached. */
	u->is_short = false;
	if (!dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	if (u->nr == FLAME_UNWIND_FRAMES_MAX) {
		u->is_deep = true;
		return DWARF_CB_ABORT;
	}
	/* To tell whether a signal interrupted it libdwfl goes on to its caller: it must know the file by then. */
	if (!report(u, pc - !is_activation) && !report(u, pc)) {
		u->ips[u->nr++] = pc - !is_activation;
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(frame, &pc, &is_activation))
		return DWARF_CB_ABORT;
	if (!is_activation)
		pc--;
	u->ips[u->nr++] = pc;
	return report(u, pc) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static enum flame_unwind_end unwind_by_libdw(struct flame_unwind *u, uint64_t pc, uint64_t *ips, size_t *nr)
{
	int result;

	ips[0] = pc;
	*nr = 1;
	if (!attach(u))
		return FLAME_UNWIND_NOTHING;
	if (!report(u, pc))
		return FLAME_UNWIND_NO_TABLE;
	if (!u->attached && !dwfl_attach_state(u->dwfl, NULL, THREAD, &thread_callbacks, u))
		return FLAME_UNWIND_NO_TABLE;
	u->attached = true;
	u->ips = ips;
	u->nr = 0;
	u->is_short = u->is_deep = false;
	result = dwfl_getthread_frames(u->dwfl, THREAD, take_frame, u);
	if (u->nr)
		*nr = u->nr;
	if (u->is_deep)
		return FLAME_UNWIND_TOO_DEEP;
	/* libdwfl takes a return address that it cannot read for the end of the stack. */
	if (u->is_short)
		return FLAME_UNWIND_SHORT;
	return result ? FLAME_UNWIND_NO_TABLE : FLAME_UNWIND_COMPLETE;
}

enum flame_unwind_end flame_unwind_stack(struct flame_unwind *u, const struct flame_user_state *state,
					 uint64_t ips[FLAME_UNWIND_FRAMES_MAX], size_t *nr)
{
	const struct machine *m = machine_of(u->machine);
	enum flame_unwind_end end;
	uint64_t pc;

	*nr = 0;
	if (!m || !get_reg(state, m->pc, &pc) || !get_reg(state, m->sp, &u->sp))
		return FLAME_UNWIND_NOTHING;
	u->state = state;
	if (u->machine == FLAME_MACHINE_X86_64 && !u->only_libdw) {
		if (!u->steps)
			u->steps = calloc(NR_STEPS, sizeof(*u->steps));
		if (u->steps && unwind_by_rows(u, m, ips, nr, &end))
			return end;
	}
	return unwind_by_libdw(u, pc, ips, nr);
}

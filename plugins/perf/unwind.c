/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - callchains from copies of stacks. perf tells filters of no mappings; but it says which file an address lies
 * in and where, and the file says how far its code reaches. So a mapping is learnt when a stack first
 * leads into it, and the stack is unwound again.
 */
#define _GNU_SOURCE
#include <sys/utsname.h>

#include "../../core/elf.h"
#include "plugin.h"

#define PROCESSES_MAX 64	/* whose files stay open at once */
#define TRIES_MAX 256		/* mappings that one stack may be the first to lead into */

struct learnt {
	uint64_t start, end;
};

struct plugin_process {
	int32_t pid;
	struct flame_unwind *unwind;
	struct learnt *maps;
	size_t nr_maps, room_maps;
	uint64_t used;		/* number of the sample that it was last used for */
};

static uint32_t machine(void)
{
	struct utsname name;

	if (uname(&name))
		return 0;
	return !strcmp(name.machine, "x86_64") ? FLAME_MACHINE_X86_64 : !strcmp(name.machine, "aarch64") ? FLAME_MACHINE_AARCH64 : 0;
}

static void release(struct plugin_process *process)
{
	flame_unwind_free(process->unwind);
	free(process->maps);
	*process = (struct plugin_process){ 0 };
}

void plugin_unwind_release(struct plugin *p)
{
	for (size_t i = 0; i < p->nr_processes; i++)
		release(&p->processes[i]);
	free(p->processes);
	flame_unwind_files_free(p->files);
}

/* Return: the process, perhaps in the place of the one that was not used for longest; NULL without memory. */
static struct plugin_process *find_process(struct plugin *p, int32_t pid)
{
	struct plugin_process *oldest = NULL, *process;

	for (size_t i = 0; i < p->nr_processes; i++) {
		process = &p->processes[i];
		if (process->pid == pid && process->unwind) {
			process->used = p->nr_samples;
			return process;
		}
		if (!oldest || process->used < oldest->used)
			oldest = process;
	}
	if (!p->files)
		p->files = flame_unwind_files_new();
	if (p->nr_processes == PROCESSES_MAX) {
		process = oldest;
		release(process);
	} else {
		if (!array_reserve((void **)&p->processes, &p->room_processes, p->nr_processes + 1, sizeof(*process)))
			return NULL;
		process = &p->processes[p->nr_processes++];
	}
	*process = (struct plugin_process){ .pid = pid, .unwind = flame_unwind_new(machine(), p->files), .used = p->nr_samples };
	return process->unwind ? process : NULL;
}

static const struct learnt *find_map(const struct plugin_process *process, uint64_t address)
{
	for (size_t i = process->nr_maps; i-- > 0;) {
		const struct learnt *m = &process->maps[i];

		if (address >= m->start && address < m->end)
			return m;
	}
	return NULL;
}

/* Set @map to the mapping of the code of @path around @address, which is @offset in the file. */
static bool measure(const char *path, uint64_t address, uint64_t offset, struct flame_mapping *map)
{
	struct flame_elf elf;
	bool found = false;

	if (!flame_elf_open(&elf, path)) {
		for (size_t i = 0; !found && i < elf.nr_segments; i++) {
			const struct flame_elf_segment *s = &elf.segments[i];

			if (!s->load || !s->executable || offset < s->offset || offset - s->offset >= s->file_size)
				continue;
			map->offset = s->offset & ~4095ull;
			map->start = address - (offset - map->offset);
			map->end = (address + (s->file_size - (offset - s->offset)) + 4095) & ~4095ull;
			found = map->start < map->end;
		}
	}
	flame_elf_release(&elf);
	return found;
}

/* Tell the unwinder what is mapped at @address. Return: false where that is no file, or it is known. */
static bool learn(struct plugin *p, const struct plugin_sample *s, struct plugin_process *process, uint64_t address)
{
	struct flame_mapping map = { 0 };
	struct plugin_place place;
	bool inlines = !p->tool.read.no_inline;
	flame_module module;

	if (find_map(process, address) || !s->resolve(s->context, address, &place))
		return false;
	module = plugin_module(p, s->pid, &place, inlines);
	map.path = module ? flame_symbols_file(p->symbols[inlines].s, module) : NULL;
	if (!map.path || !measure(map.path, address, place.address, &map) ||
	    !array_reserve((void **)&process->maps, &process->room_maps, process->nr_maps + 1, sizeof(*process->maps)))
		return false;
	process->maps[process->nr_maps++] = (struct learnt){ map.start, map.end };
	return !flame_unwind_map(process->unwind, &map);
}

/* Learn all that @ips lead into. Return: false where nothing is new. */
static bool learn_all(struct plugin *p, const struct plugin_sample *s, struct plugin_process *process, const uint64_t *ips, size_t nr)
{
	bool found = false;

	for (size_t i = 0; i < nr; i++)
		found |= learn(p, s, process, ips[i]);
	return found;
}

size_t plugin_unwind(struct plugin *p, const struct plugin_sample *s, uint64_t ips[FLAME_UNWIND_FRAMES_MAX], bool *cut)
{
	uint64_t regs[FLAME_UNWIND_REGS_MAX];
	struct flame_user_state state;
	struct plugin_process *process;
	enum flame_unwind_end end;
	size_t nr = 0;

	*cut = false;
	if (s->user) {
		state = *s->user;
	} else if (!plugin_raw_state(s, &state, regs)) {
		p->nr_not_found++;
		return 0;
	}
	/* Of a thread of the kernel. A copy is also empty where the stack's page was not there yet: what runs is known then. */
	if (!state.nr_regs && !state.stack_size)
		return 0;
	p->nr_copies++;
	process = find_process(p, s->pid);
	if (!process) {
		p->nr_not_unwound++;
		return 0;
	}
	end = flame_unwind_stack(process->unwind, &state, ips, &nr);
	for (int i = 0; i < TRIES_MAX && learn_all(p, s, process, ips, nr); i++)
		end = flame_unwind_stack(process->unwind, &state, ips, &nr);
	*cut = end == FLAME_UNWIND_SHORT || end == FLAME_UNWIND_TOO_DEEP;
	p->nr_cut += *cut;
	p->nr_not_unwound += end == FLAME_UNWIND_NOTHING;
	return nr;
}

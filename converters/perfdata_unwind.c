/* SPDX-License-Identifier: MIT */
/*
 * perfdata_unwind.c - callchains of perf record --call-graph dwarf: one unwinder a process, kept.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "perfdata.h"

static uint32_t machine(struct perfdata *pd)
{
	static const struct {
		const char *arch;
		uint32_t machine;
	} machines[] = { { "x86_64", FLAME_MACHINE_X86_64 }, { "aarch64", FLAME_MACHINE_AARCH64 } };
	struct utsname name;

	/* A recording that was not finished does not tell. */
	if (!pd->arch[0] && !uname(&name) && strlen(name.machine) < sizeof(pd->arch))
		memcpy(pd->arch, name.machine, strlen(name.machine) + 1);
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (!strcmp(pd->arch, machines[i].arch))
			return machines[i].machine;
	}
	return 0;
}

/* A new unwinder takes the place of the one that has been there for longest. */
static struct flame_unwind *new_unwinder(struct perfdata *pd, uint32_t row)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t is = machine(pd), *slot;
	struct perfdata_process *old;

	if (!is || pd->swapped)
		return NULL;
	if (!t->unwinding)
		t->unwinding = calloc(PERFDATA_UNWINDERS, sizeof(*t->unwinding));
	if (!t->unwinding)
		return NULL;
	slot = &t->unwinding[t->nr_unwinding++ % PERFDATA_UNWINDERS];
	old = &t->processes[*slot];
	flame_unwind_free(old->unwind);
	old->unwind = NULL;
	old->unwind_files = 0;
	*slot = row;
	if (!t->unwind_files)
		t->unwind_files = flame_unwind_files_new();
	return flame_unwind_new(is, t->unwind_files);
}

/* Tell the unwinder of all files that are mapped now. */
static int tell_maps(struct perfdata *pd, struct perfdata_process *p)
{
	bool inlines = !pd->rd->options->no_inline;
	int err = 0;

	flame_unwind_clear(p->unwind);
	for (size_t i = 0; !err && i < p->maps->nr; i++) {
		const struct perfdata_map *map = &p->maps->maps[i];
		struct flame_mapping mapping = { .start = map->start, .end = map->end, .offset = map->offset };

		if (pd->tasks.modules[map->module].kind != FLAME_MODULE_FILE &&
		    pd->tasks.modules[map->module].kind != FLAME_MODULE_VDSO)
			continue;
		mapping.path = flame_symbols_file(pd->symbols[inlines].s, perfdata_module_symbols(pd, map->module, inlines));
		if (mapping.path)
			err = flame_unwind_map(p->unwind, &mapping);
	}
	p->unwind_files = p->maps->files;
	return err;
}

static struct flame_unwind *unwinder(struct perfdata *pd, int32_t pid)
{
	uint32_t row = perfdata_process_find(&pd->tasks, pid);
	struct perfdata_process *p = &pd->tasks.processes[row];

	if (!row || !p->maps || !p->maps->nr ||
	    !perfdata_module_symbols(pd, p->maps->maps[0].module, !pd->rd->options->no_inline))
		return NULL;
	if (!p->unwind)
		p->unwind = new_unwinder(pd, row);
	if (p->unwind && p->unwind_files != p->maps->files && tell_maps(pd, p))
		return NULL;
	return p->unwind;
}

size_t perfdata_unwind(struct perfdata *pd, const struct perfdata_sample *s, int32_t pid,
		       uint64_t ips[FLAME_UNWIND_FRAMES_MAX], bool *cut)
{
	enum { ABI_64 = 2 };
	struct flame_unwind *u = s->regs_abi == ABI_64 ? unwinder(pd, pid) : NULL;
	uint64_t regs[FLAME_UNWIND_REGS_MAX];
	struct flame_user_state state = { .regs_mask = s->attr->regs_user, .regs = regs, .nr_regs = s->nr_regs,
					  .stack = s->stack, .stack_size = (size_t)s->stack_used };
	enum flame_unwind_end end;
	size_t nr = 0;

	*cut = false;
	pd->nr_unwound++;
	if (!u) {
		pd->nr_not_unwound++;
		return 0;
	}
	for (uint32_t i = 0; i < s->nr_regs; i++)
		regs[i] = perfdata_u64(pd, s->regs + 8 * i);
	end = flame_unwind_stack(u, &state, ips, &nr);
	*cut = end == FLAME_UNWIND_SHORT || end == FLAME_UNWIND_TOO_DEEP;
	pd->nr_unwound_cut += *cut;
	pd->nr_not_unwound += end == FLAME_UNWIND_NOTHING;
	return nr;
}

void perfdata_unwind_notes(struct perfdata *pd)
{
	struct flame_diag *diag = pd->rd->diag;

	if (pd->nr_not_unwound && !flame_unwind_available())
		flame_diag_add(diag, FLAME_WARNING, "this build has no libdw: the user stacks of --call-graph dwarf are not unwound");
	else if (pd->nr_not_unwound)
		flame_diag_add(diag, FLAME_WARNING, "%llu of %llu user stacks could not be unwound%s%s",
			       (unsigned long long)pd->nr_not_unwound, (unsigned long long)pd->nr_unwound,
			       machine(pd) ? "" : ": not for machines like ", machine(pd) ? "" : pd->arch);
	if (pd->nr_unwound_cut)
		flame_diag_add(diag, FLAME_WARNING,
			       "%llu of %llu copies of stacks were too short: their callers are missing, [truncated]; "
			       "record more with --call-graph dwarf,65528",
			       (unsigned long long)pd->nr_unwound_cut, (unsigned long long)pd->nr_unwound);
}

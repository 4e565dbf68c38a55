/* SPDX-License-Identifier: MIT */
/*
 * perfdata_task.c - who runs what: processes with their mappings, threads with their names, as
 * records of mmap, exec, fork and exit tell.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "../core/span.h"
#include "perfdata.h"

#define EXITED_KEPT 4096	/* processes whose mappings are kept after their exit: samples may come late */

static uint32_t id_hash(int32_t id)
{
	return hash_pair((uint32_t)id, 0x9e3779b9u);
}

/* Make room in @x for one more of @nr rows. */
static bool index_room(struct index *x, uint32_t (*hash_of)(const struct perfdata_tasks *t, size_t row),
		       const struct perfdata_tasks *t, size_t nr)
{
	if (index_has_room(x))
		return true;
	if (!index_grow(x))
		return false;
	for (size_t i = 1; i < nr; i++)
		index_put(x, hash_of(t, i), (uint32_t)i);
	return true;
}

static uint32_t process_hash(const struct perfdata_tasks *t, size_t row)
{
	return id_hash(t->processes[row].pid);
}

static uint32_t thread_hash(const struct perfdata_tasks *t, size_t row)
{
	return id_hash(t->threads[row].tid);
}

static uint32_t module_hash(const struct perfdata_tasks *t, size_t row)
{
	return t->modules[row].hash;
}

/* Mappings. */

static void release_maps(struct perfdata_maps *maps)
{
	if (!maps || --maps->refs)
		return;
	free(maps->maps);
	free(maps);
}

/* The process's mappings, to be changed: its own, and of a new version. Return: NULL without memory. */
static struct perfdata_maps *own_maps(struct perfdata_tasks *t, struct perfdata_process *p)
{
	struct perfdata_maps *maps = p->maps, *copy;

	if (!maps || maps->refs > 1) {
		copy = calloc(1, sizeof(*copy));
		if (!copy)
			return NULL;
		copy->refs = 1;
		if (maps && maps->nr) {
			if (!array_reserve((void **)&copy->maps, &copy->room, maps->nr + 1, sizeof(*copy->maps))) {
				free(copy);
				return NULL;
			}
			for (size_t i = 0; i < maps->nr; i++)
				copy->maps[i] = maps->maps[i];
			copy->nr = maps->nr;
			copy->files = maps->files;
		}
		release_maps(maps);
		p->maps = maps = copy;
	}
	maps->version = ++t->versions;
	return maps;
}

/* Return: the first mapping that ends behind @address. */
static size_t first_behind(const struct perfdata_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (maps->maps[mid].end > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

const struct perfdata_map *perfdata_map_find(const struct perfdata_maps *maps, uint64_t address)
{
	size_t i = maps ? first_behind(maps, address) : 0;

	return maps && i < maps->nr && maps->maps[i].start <= address ? &maps->maps[i] : NULL;
}

/* Put @map in, over what is there: of older mappings what it does not cover stays. Return: false without memory. */
static bool insert_map(struct perfdata_maps *maps, const struct perfdata_map *map)
{
	size_t from = first_behind(maps, map->start), to = from;
	struct perfdata_map pieces[3];
	size_t nr = 0;

	while (to < maps->nr && maps->maps[to].start < map->end)
		to++;
	if (from < to && maps->maps[from].start < map->start) {
		pieces[nr] = maps->maps[from];
		pieces[nr++].end = map->start;
	}
	pieces[nr++] = *map;
	if (from < to && maps->maps[to - 1].end > map->end) {
		pieces[nr] = maps->maps[to - 1];
		pieces[nr].offset += map->end - pieces[nr].start;
		pieces[nr++].start = map->end;
	}
	if (!array_reserve((void **)&maps->maps, &maps->room, maps->nr + 3, sizeof(*maps->maps)))
		return false;
	memmove(maps->maps + from + nr, maps->maps + to, (maps->nr - to) * sizeof(*maps->maps));
	memcpy(maps->maps + from, pieces, nr * sizeof(*pieces));
	maps->nr += nr - (to - from);
	return true;
}

static void remove_map(struct perfdata_maps *maps, uint64_t start, uint64_t end)
{
	size_t from = first_behind(maps, start);

	if (from == maps->nr || maps->maps[from].start != start || maps->maps[from].end != end)
		return;
	maps->nr--;
	memmove(maps->maps + from, maps->maps + from + 1, (maps->nr - from) * sizeof(*maps->maps));
}

/* Processes and threads. */

uint32_t perfdata_process_find(const struct perfdata_tasks *t, int32_t pid)
{
	const struct index *x = &t->process_index;
	uint32_t row;

	for (uint32_t i = id_hash(pid) & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (t->processes[row].pid == pid)
			return row;
	}
	return 0;
}

uint32_t perfdata_process_row(struct perfdata_tasks *t, int32_t pid)
{
	uint32_t row = perfdata_process_find(t, pid);

	if (row)
		return row;
	if (!array_reserve((void **)&t->processes, &t->room_processes, t->nr_processes + 1, sizeof(*t->processes)) ||
	    !index_room(&t->process_index, process_hash, t, t->nr_processes))
		return 0;
	t->processes[t->nr_processes] = (struct perfdata_process){ .pid = pid };
	index_put(&t->process_index, id_hash(pid), (uint32_t)t->nr_processes);
	return (uint32_t)t->nr_processes++;
}

static uint32_t find_thread(const struct perfdata_tasks *t, int32_t tid)
{
	const struct index *x = &t->thread_index;
	uint32_t row;

	for (uint32_t i = id_hash(tid) & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (t->threads[row].tid == tid)
			return row;
	}
	return 0;
}

uint32_t perfdata_thread_row(struct perfdata *pd, int32_t pid, int32_t tid)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t row = find_thread(t, tid);

	if (row) {
		t->threads[row].exited = false;
		/* The first that is told of a thread may be a switch to it, without its process. */
		if (pid != -1 && t->threads[row].pid != pid) {
			t->threads[row].pid = pid;
			t->threads[row].has_root = false;
		}
		return row;
	}
	if (!array_reserve((void **)&t->threads, &t->room_threads, t->nr_threads + 1, sizeof(*t->threads)) ||
	    !index_room(&t->thread_index, thread_hash, t, t->nr_threads))
		return 0;
	t->threads[t->nr_threads] = (struct perfdata_thread){ .tid = tid, .pid = pid };
	index_put(&t->thread_index, id_hash(tid), (uint32_t)t->nr_threads);
	return (uint32_t)t->nr_threads++;
}

const struct perfdata_maps *perfdata_maps_of(struct perfdata *pd, int32_t pid)
{
	uint32_t row = perfdata_process_find(&pd->tasks, pid);

	return row ? pd->tasks.processes[row].maps : NULL;
}

/* perf's name for a thread that nothing named. */
static flame_string unnamed(struct perfdata *pd, int32_t tid)
{
	char name[16];
	int n = tid ? snprintf(name, sizeof(name), ":%d", tid) : snprintf(name, sizeof(name), "swapper");

	return flame_intern(pd->rd->profile, name, (size_t)n);
}

flame_stack perfdata_thread_root(struct perfdata *pd, uint32_t row)
{
	struct perfdata_thread *th = &pd->tasks.threads[row];
	struct flame_task_info task = { .pid = th->pid, .tid = th->tid, .comm = th->comm };

	if (th->has_root)
		return th->root;
	if (!task.comm)
		task.comm = unnamed(pd, th->tid);
	th->root = flame_task_root(pd->rd->profile, &task);
	th->task = pd->rd->options->keep_task ? flame_task_row(pd->rd->profile, &task) : 0;
	th->has_root = true;
	return th->root;
}

static void forget_maps(struct perfdata_process *p)
{
	release_maps(p->maps);
	p->maps = NULL;
}

/* Keep the mappings for what comes late, but not those of all processes that there ever were. */
static int note_exit(struct perfdata_tasks *t, uint32_t row)
{
	struct perfdata_process *p = &t->processes[row];
	uint32_t *slot = &t->exited[t->nr_exited++ % EXITED_KEPT];

	p->exited = true;
	if (*slot && t->processes[*slot].exited)
		forget_maps(&t->processes[*slot]);
	*slot = row;
	return 0;
}

/* Processes without mappings are those that exited longest ago. @rows gets each process's new row. */
static void forget_processes(struct perfdata_tasks *t, uint32_t *rows)
{
	size_t nr = 1;

	for (size_t i = 1; i < t->nr_processes; i++) {
		const struct perfdata_process *p = &t->processes[i];

		if (p->exited && !p->maps && !p->unwind)
			continue;
		rows[i] = (uint32_t)nr;
		t->processes[nr++] = *p;
	}
	t->nr_processes = nr;
	for (size_t i = 0; i < EXITED_KEPT; i++)
		t->exited[i] = rows[t->exited[i]];
	for (size_t i = 0; t->unwinding && i < PERFDATA_UNWINDERS; i++)
		t->unwinding[i] = rows[t->unwinding[i]];
}

bool perfdata_tasks_forget(struct perfdata *pd)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t *rows = calloc(t->nr_processes, sizeof(*rows));
	size_t nr = 1;

	if (!rows)
		return false;
	forget_processes(t, rows);
	free(rows);
	for (size_t i = 1; i < t->nr_threads; i++) {
		if (!t->threads[i].exited || t->threads[i].deferred)
			t->threads[nr++] = t->threads[i];
	}
	t->nr_threads = nr;
	index_clear(&t->process_index);
	index_clear(&t->thread_index);
	for (size_t i = 1; i < t->nr_processes; i++)
		index_put(&t->process_index, process_hash(t, i), (uint32_t)i);
	for (size_t i = 1; i < t->nr_threads; i++)
		index_put(&t->thread_index, thread_hash(t, i), (uint32_t)i);
	return true;
}

/* Modules. */

static bool same_module(const struct perfdata_module *a, const struct perfdata_module *b)
{
	return a->hash == b->hash && a->pid == b->pid && a->ns_pid == b->ns_pid && a->elsewhere == b->elsewhere && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->name, b->name);
}

/* Return: the row of @wanted, whose name is copied; 0 without memory, or for one too many. */
static uint32_t module_row(struct perfdata *pd, struct perfdata_module *wanted)
{
	struct perfdata_tasks *t = &pd->tasks;
	const struct index *x = &t->module_index;
	uint32_t row;

	wanted->hash = (uint32_t)hash_bytes(wanted->name, strlen(wanted->name)) ^ hash_pair((uint32_t)wanted->pid, 1) ^
		       (uint32_t)hash_bytes((const char *)wanted->build_id, wanted->build_id_len);
	for (uint32_t i = wanted->hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		if (same_module(&t->modules[row], wanted))
			return row;
	}
	if (t->nr_modules >= PERFDATA_MODULES_MAX) {
		t->too_many_modules = true;
		return 0;
	}
	if (!array_reserve((void **)&t->modules, &t->room_modules, t->nr_modules + 1, sizeof(*t->modules)) ||
	    !index_room(&t->module_index, module_hash, t, t->nr_modules))
		return 0;
	t->modules[t->nr_modules] = *wanted;
	t->modules[t->nr_modules].name = strdup(wanted->name);
	if (wanted->reference_name)
		t->modules[t->nr_modules].reference_name = strdup(wanted->reference_name);
	if (!t->modules[t->nr_modules].name) {
		free(t->modules[t->nr_modules].reference_name);
		return 0;
	}
	index_put(&t->module_index, wanted->hash, (uint32_t)t->nr_modules);
	return (uint32_t)t->nr_modules++;
}

/* The header's table of build-ids. */

bool perfdata_build_id_add(struct perfdata *pd, const char *record, size_t size)
{
	enum { NAME = 36, ID = 12 };
	struct perfdata_build_id b = { .len = 20 };
	size_t len = size > NAME ? strnlen(record + NAME, size - NAME) : 0;

	if (!len)
		return true;
	if (perfdata_u16(pd, record + 4) & PERFDATA_MISC_BUILD_ID_SIZE && (unsigned char)record[ID + 20] <= 20)
		b.len = (uint8_t)record[ID + 20];
	memcpy(b.id, record + ID, b.len);
	if (!array_reserve((void **)&pd->build_ids, &pd->room_build_ids, pd->nr_build_ids + 1, sizeof(*pd->build_ids)))
		return false;
	pd->build_id_names.max_bytes = PERFDATA_SECTION_MAX;
	flame_cache_put(&pd->build_id_names, record + NAME, len, hash_bytes(record + NAME, len), (uint32_t)pd->nr_build_ids);
	pd->build_ids[pd->nr_build_ids++] = b;
	return true;
}

static void find_build_id(const struct perfdata *pd, struct perfdata_module *m)
{
	size_t len = strlen(m->name);
	uint32_t row;

	if (m->build_id_len || !flame_cache_get(&pd->build_id_names, m->name, len, hash_bytes(m->name, len), &row))
		return;
	m->build_id_len = pd->build_ids[row].len;
	memcpy(m->build_id, pd->build_ids[row].id, m->build_id_len);
}

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

/* Memory without a file, in which a JIT compiler may have put code. */
static bool is_anonymous(const char *name, uint32_t flags)
{
	enum { HUGETLB = 0x40000 };

	return flags & HUGETLB || !strcmp(name, "//anon") ||
	       starts_with(name, "/dev/zero") || starts_with(name, "/anon_hugepage");
}

static bool is_data(const char *name)
{
	return starts_with(name, "[stack") || starts_with(name, "/SYSV") || !strcmp(name, "[heap]");
}

/* What an mmap record says. */
struct mapping {
	int32_t pid;
	unsigned int mode;
	uint64_t start, len, offset;
	uint32_t flags;
	bool executable;
	char name[4096];
	unsigned char build_id[20];
	uint8_t build_id_len;
};

static bool parse_mapping(const struct perfdata *pd, const struct perfdata_record *r, struct mapping *m)
{
	enum { EXEC = 4 };
	size_t name = r->type == PERFDATA_MMAP2 ? 72 : 40, len;

	if (r->size <= name)
		return false;
	m->pid = (int32_t)perfdata_u32(pd, r->data + 8);
	m->mode = r->misc & PERFDATA_MISC_CPUMODE;
	m->start = perfdata_u64(pd, r->data + 16);
	m->len = perfdata_u64(pd, r->data + 24);
	m->offset = perfdata_u64(pd, r->data + 32);
	m->flags = 0;
	m->build_id_len = 0;
	m->executable = !(r->misc & PERFDATA_MISC_MMAP_DATA);
	if (r->type == PERFDATA_MMAP2) {
		m->executable = perfdata_u32(pd, r->data + 64) & EXEC;
		m->flags = perfdata_u32(pd, r->data + 68);
		if (r->misc & PERFDATA_MISC_MMAP_BUILD_ID && (unsigned char)r->data[40] <= 20) {
			m->build_id_len = (uint8_t)r->data[40];
			memcpy(m->build_id, r->data + 44, m->build_id_len);
		}
	}
	len = strnlen(r->data + name, r->size - name);
	if (len == r->size - name || len >= sizeof(m->name))
		return false;
	memcpy(m->name, r->data + name, len + 1);
	return true;
}

/* A file that is gone is to be had from its process only. */
static bool is_deleted(const char *path)
{
	return span_cut_deleted(&(struct flame_span){ path, strlen(path) });
}

/*
 * Say below whose root the file is. perf itself may have read the build-id in its header from the file that has this path
 * here, so one that this file has is none; what the kernel told with the mapping is the file's own.
 */
static void set_root(struct perfdata *pd, const struct mapping *m, struct perfdata_module *module)
{
	if (pd->live) {
		module->pid = is_deleted(m->name) ? m->pid : perfdata_root(pd, m->pid);
	} else if (perfdata_is_elsewhere(pd, m->pid)) {
		module->pid = perfdata_root(pd, m->pid);
		module->elsewhere = !m->build_id_len;
		if (module->elsewhere && perfdata_is_file_here(module))
			module->build_id_len = 0;
	}
}

/* Return: the module's row; 0 without memory. */
static uint32_t module_of(struct perfdata *pd, const struct mapping *m, bool *identity)
{
	struct perfdata_module module = { 0 };
	char map_name[32];

	module.name = (char *)m->name;
	*identity = is_anonymous(m->name, m->flags) || is_data(m->name);
	if (*identity && m->executable) {
		snprintf(map_name, sizeof(map_name), "/tmp/perf-%d.map", m->pid);
		module.name = map_name;
		module.pid = m->pid;
		module.ns_pid = pd->live || perfdata_root(pd, m->pid) ? perfdata_ns_pid(m->pid) : 0;
		module.kind = FLAME_MODULE_PERF_MAP;
	} else if (!strcmp(m->name, "[vdso]")) {
		module.kind = FLAME_MODULE_VDSO;
	}
	module.build_id_len = m->build_id_len;
	memcpy(module.build_id, m->build_id, m->build_id_len);
	if (!*identity)
		find_build_id(pd, &module);
	if (!*identity && module.kind == FLAME_MODULE_FILE)
		set_root(pd, m, &module);
	return module_row(pd, &module);
}

static int map_user(struct perfdata *pd, const struct mapping *m)
{
	struct perfdata_tasks *t = &pd->tasks;
	uint32_t row = perfdata_process_row(t, m->pid);
	struct perfdata_map map = { m->start, m->start + m->len, m->offset, 0 };
	struct perfdata_maps *maps;
	bool identity;

	if (!row)
		return FLAME_ENOMEM;
	map.module = module_of(pd, m, &identity);
	/* While it runs a dump is not complete; its perf map is looked at again and again. */
	if (m->executable && !pd->live && !perfdata_jit_note(pd, m->pid, m->name))
		return FLAME_ENOMEM;
	if (!map.module)
		return t->too_many_modules ? 0 : FLAME_ENOMEM;
	if (identity)
		map.offset = map.start;
	else if (!strcmp(m->name, "[vdso]"))
		map.offset = 0;
	maps = own_maps(t, &t->processes[row]);
	if (!maps)
		return FLAME_ENOMEM;
	if (m->executable && t->modules[map.module].kind == FLAME_MODULE_FILE)
		maps->files = maps->version;
	if (maps->nr + 2 > PERFDATA_MAPS_MAX) {
		t->too_many_maps = true;
		return 0;
	}
	return insert_map(maps, &map) ? 0 : FLAME_ENOMEM;
}

/* "[kernel.kallsyms]_text" and modules; addresses stay as they are. */
static int map_kernel(struct perfdata *pd, struct mapping *m)
{
	struct perfdata_tasks *t = &pd->tasks;
	struct perfdata_map map = { m->start, m->start + m->len, m->start, 0 };
	bool main_kernel = starts_with(m->name, "[kernel.kallsyms]");
	struct perfdata_module module = { .name = m->name, .kind = FLAME_MODULE_KERNEL_MODULE };
	char *slash = strrchr(m->name, '/'), *dot, reference[64];

	if (main_kernel) {
		snprintf(reference, sizeof(reference), "%s", m->name + strlen("[kernel.kallsyms]"));
		m->name[strlen("[kernel.kallsyms]")] = '\0';
		module.kind = FLAME_MODULE_KERNEL;
		module.reference = m->offset;
		module.reference_name = reference[0] ? reference : NULL;
	}
	if (!main_kernel && m->name[0] != '[' && slash) {
		/* perf calls the module in a file ext4.ko.xz [ext4]. */
		*slash = '[';
		module.name = slash;
		dot = strstr(slash, ".ko");
		if (dot)
			memcpy(dot, "]", 2);
	}
	module.build_id_len = m->build_id_len;
	memcpy(module.build_id, m->build_id, m->build_id_len);
	if (main_kernel)
		find_build_id(pd, &module);
	if (!m->len)
		map.end = UINT64_MAX;
	map.module = module_row(pd, &module);
	if (!map.module)
		return t->too_many_modules ? 0 : FLAME_ENOMEM;
	t->kernel.version = ++t->versions;
	return insert_map(&t->kernel, &map) ? 0 : FLAME_ENOMEM;
}

static int read_mapping(struct perfdata *pd, const struct perfdata_record *r)
{
	struct mapping m;

	if (!parse_mapping(pd, r, &m))
		return flame_skip(pd->rd, "a mapping record that is shorter than its fields");
	if (m.len > UINT64_MAX - m.start)
		return flame_skip(pd->rd, "a mapping that ends beyond all addresses");
	if (m.mode == PERFDATA_MODE_KERNEL)
		return map_kernel(pd, &m);
	return m.mode == PERFDATA_MODE_USER && m.len ? map_user(pd, &m) : 0;
}

static int read_comm(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_tasks *t = &pd->tasks;
	int32_t pid, tid;
	uint32_t row;
	size_t len;

	if (r->size <= 16)
		return flame_skip(pd->rd, "a comm record that is shorter than its fields");
	pid = (int32_t)perfdata_u32(pd, r->data + 8);
	tid = (int32_t)perfdata_u32(pd, r->data + 12);
	row = perfdata_thread_row(pd, pid, tid);
	if (!row)
		return FLAME_ENOMEM;
	len = strnlen(r->data + 16, r->size - 16);
	t->threads[row].comm = flame_intern(pd->rd->profile, r->data + 16, len < 255 ? len : 255);
	t->threads[row].has_root = false;
	/* What made a container execs what runs in it. */
	if (r->misc & PERFDATA_MISC_COMM_EXEC && (row = perfdata_process_find(t, pid)))
		t->processes[row].place = 0;
	/*
	 * What an old program had mapped stays until something new lies there: while exec is under way,
	 * the stack is still that of the call in the old one.
	 */
	return 0;
}

/* The child has its parent's name, and a copy of what it has mapped. */
static int fork_process(struct perfdata_tasks *t, int32_t pid, int32_t ppid)
{
	uint32_t parent = perfdata_process_find(t, ppid), child = perfdata_process_row(t, pid);

	if (!child)
		return FLAME_ENOMEM;
	forget_maps(&t->processes[child]);
	t->processes[child].exited = false;
	t->processes[child].is_wanted = parent && t->processes[parent].is_wanted;
	t->processes[child].place = parent ? t->processes[parent].place : 0;
	t->processes[child].mount_ns = parent ? t->processes[parent].mount_ns : 0;
	if (!parent || !t->processes[parent].maps)
		return 0;
	t->processes[child].maps = t->processes[parent].maps;
	t->processes[child].maps->refs++;
	return 0;
}

static int read_fork(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_tasks *t = &pd->tasks;
	int32_t pid, ppid, tid, ptid;
	uint32_t row, parent;
	flame_string comm;

	if (r->size < 24)
		return flame_skip(pd->rd, "a fork record that is shorter than its fields");
	pid = (int32_t)perfdata_u32(pd, r->data + 8);
	ppid = (int32_t)perfdata_u32(pd, r->data + 12);
	tid = (int32_t)perfdata_u32(pd, r->data + 16);
	ptid = (int32_t)perfdata_u32(pd, r->data + 20);
	/* One that perf found already running names itself as its parent. */
	parent = tid == ptid ? 0 : find_thread(t, ptid);
	comm = parent ? t->threads[parent].comm : 0;
	row = perfdata_thread_row(pd, pid, tid);
	if (!row)
		return FLAME_ENOMEM;
	if (tid != ptid)
		t->threads[row] = (struct perfdata_thread){ .tid = tid, .pid = pid, .comm = comm, .birth = ++t->nr_births,
							    .deferred = t->threads[row].deferred };
	return pid != ppid && tid != ptid ? fork_process(t, pid, ppid) : 0;
}

static int read_exit(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_tasks *t = &pd->tasks;
	int32_t pid, tid;
	uint32_t row;

	if (r->size < 24)
		return flame_skip(pd->rd, "an exit record that is shorter than its fields");
	pid = (int32_t)perfdata_u32(pd, r->data + 8);
	tid = (int32_t)perfdata_u32(pd, r->data + 16);
	row = find_thread(t, tid);
	if (row) {
		t->threads[row].is_out = false;
		t->threads[row].exited = true;
	}
	row = pid == tid ? perfdata_process_find(t, pid) : 0;
	return row ? note_exit(t, row) : 0;
}

/* Code that the kernel made at run time: BPF programs, trampolines. Its one symbol is its name. */
static int read_ksymbol(struct perfdata *pd, const struct perfdata_record *r)
{
	enum { UNREGISTER = 1 };
	struct perfdata_tasks *t = &pd->tasks;
	struct perfdata_map map;
	char name[256];
	struct perfdata_module module = { .name = name };
	size_t len;

	if (r->size <= 24)
		return flame_skip(pd->rd, "a ksymbol record that is shorter than its fields");
	len = strnlen(r->data + 24, r->size - 24);
	map.start = perfdata_u64(pd, r->data + 8);
	map.end = map.start + perfdata_u32(pd, r->data + 16);
	map.offset = map.start;
	if (map.end <= map.start || !len || len >= sizeof(name))
		return flame_skip(pd->rd, "a ksymbol record without a name or a place");
	t->kernel.version = ++t->versions;
	if (perfdata_u16(pd, r->data + 22) & UNREGISTER) {
		remove_map(&t->kernel, map.start, map.end);
		return 0;
	}
	memcpy(name, r->data + 24, len);
	name[len] = '\0';
	module.is_symbol = true;
	map.module = module_row(pd, &module);
	if (!map.module)
		return t->too_many_modules ? 0 : FLAME_ENOMEM;
	return insert_map(&t->kernel, &map) ? 0 : FLAME_ENOMEM;
}

int perfdata_task_record(struct perfdata *pd, const struct perfdata_record *r)
{
	switch (r->type) {
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		return read_mapping(pd, r);
	case PERFDATA_COMM:
		return read_comm(pd, r);
	case PERFDATA_FORK:
		return read_fork(pd, r);
	case PERFDATA_EXIT:
		return read_exit(pd, r);
	case PERFDATA_KSYMBOL:
		return read_ksymbol(pd, r);
	case PERFDATA_NAMESPACES:
		return perfdata_namespaces(pd, r);
	default:
		return 0;
	}
}

int perfdata_tasks_init(struct perfdata *pd)
{
	struct perfdata_tasks *t = &pd->tasks;

	t->nr_processes = t->nr_threads = t->nr_modules = 1;
	t->exited = calloc(EXITED_KEPT, sizeof(*t->exited));
	if (!t->exited || !array_reserve((void **)&t->processes, &t->room_processes, 1, sizeof(*t->processes)) ||
	    !array_reserve((void **)&t->threads, &t->room_threads, 1, sizeof(*t->threads)) ||
	    !array_reserve((void **)&t->modules, &t->room_modules, 1, sizeof(*t->modules)))
		return FLAME_ENOMEM;
	t->processes[0] = (struct perfdata_process){ 0 };
	t->threads[0] = (struct perfdata_thread){ 0 };
	t->modules[0] = (struct perfdata_module){ 0 };
	return 0;
}

void perfdata_tasks_release(struct perfdata *pd)
{
	struct perfdata_tasks *t = &pd->tasks;

	for (size_t i = 1; i < t->nr_processes; i++) {
		release_maps(t->processes[i].maps);
		flame_unwind_free(t->processes[i].unwind);
	}
	for (size_t i = 1; i < t->nr_modules; i++) {
		free(t->modules[i].name);
		free(t->modules[i].reference_name);
	}
	free(t->processes);
	free(t->threads);
	free(t->modules);
	free(t->process_index.slots);
	free(t->thread_index.slots);
	free(t->module_index.slots);
	free(t->exited);
	free(t->places);
	free(t->unwinding);
	flame_unwind_files_free(t->unwind_files);
	perfdata_jit_release(pd);
	free(t->kernel.maps);
}

void perfdata_task_notes(struct perfdata *pd)
{
	if (pd->tasks.too_many_maps)
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "a process has mapped more than %d files at once (PERFDATA_MAPS_MAX); the others have no names",
			       PERFDATA_MAPS_MAX);
	if (pd->tasks.too_many_modules)
		flame_diag_add(pd->rd->diag, FLAME_WARNING,
			       "more than %d files are mapped (PERFDATA_MODULES_MAX); the others have no names",
			       PERFDATA_MODULES_MAX);
}

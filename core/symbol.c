/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - looking up addresses, and remembering what was found.
 */
#include "symbol.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "demangle.h"
#include "hash.h"
#include "module.h"
#include "table.h"

/* What was found at an address of a module. Open addressing; row 0 is free. */
struct slot {
	uint64_t address;
	uint32_t module;
	uint32_t row;
};

/* A name as it is shown, by the bytes it was made of. */
struct name {
	struct flame_span key;
	const char *shown;
	uint32_t hash, shown_len;
};

#define ALIKE_NAMED 3	/* modules of those that lack symbols for the same reason */

struct flame_symbols {
	struct flame_symbol_options options;
	struct arena arena;
	struct module *modules;		/* row 0 is none */
	size_t nr_modules, room_modules;
	struct index by_info;
	struct slot *slots;
	size_t mask;			/* number of slots - 1 */
	const struct flame_location **locations;
	size_t nr_locations, room_locations;
	uint64_t nr_unknown;
	struct name *names;		/* row 0 is none */
	size_t nr_names, room_names;
	struct index by_name;
	struct kernel kernel;
};

static const struct flame_location nothing;

void flame_symbol_options_set(struct flame_symbol_options *to, const struct flame_read_options *from)
{
	to->symbol_dir = from->symbol_dir;
	to->symfs = from->symfs;
	to->kallsyms = from->kallsyms;
	to->no_inline = from->no_inline;
	to->lines = from->srcline || from->places;
	to->arguments = from->raw_names;
	to->debuginfod = true;
}

struct flame_symbols *flame_symbols_new(const struct flame_symbol_options *options)
{
	struct flame_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	if (options)
		s->options = *options;
	s->nr_modules = s->nr_locations = s->nr_names = 1;
	s->mask = 1023;
	s->slots = calloc(s->mask + 1, sizeof(*s->slots));
	if (!s->slots || !array_reserve((void **)&s->modules, &s->room_modules, 1, sizeof(*s->modules)) ||
	    !array_reserve((void **)&s->locations, &s->room_locations, 1, sizeof(*s->locations)) ||
	    !array_reserve((void **)&s->names, &s->room_names, 1, sizeof(*s->names))) {
		flame_symbols_free(s);
		return NULL;
	}
	memset(s->modules, 0, sizeof(*s->modules));
	s->locations[0] = &nothing;
	return s;
}

void flame_symbols_free(struct flame_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 1; s->modules && i < s->nr_modules; i++)
		module_release(&s->modules[i]);
	kernel_release(&s->kernel);
	arena_release(&s->arena);
	free(s->modules);
	free(s->by_info.slots);
	free(s->slots);
	free(s->locations);
	free(s->names);
	free(s->by_name.slots);
	free(s);
}

/* ---- modules ---- */

static uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strlen(text)) : 1;
}

static uint32_t info_hash(const struct flame_module_info *info)
{
	uint64_t h = hash_mix(hash_text(info->path) ^ HASH_A, (uint64_t)info->kind ^ HASH_B);

	if (info->build_id)
		h = hash_mix(h ^ HASH_A, hash_bytes(info->build_id, info->build_id_len));
	h = hash_mix(h ^ HASH_A, (uint64_t)(uint32_t)info->pid << 32 ^ (uint32_t)info->ns_pid ^ HASH_C);
	return (uint32_t)hash_mix(h ^ HASH_A, info->reference_address ^ hash_text(info->reference));
}

static bool text_equal(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool info_equal(const struct flame_module_info *a, const struct flame_module_info *b)
{
	return a->kind == b->kind && a->pid == b->pid && a->ns_pid == b->ns_pid && a->elsewhere == b->elsewhere &&
	       a->reference_address == b->reference_address && a->build_id_len == b->build_id_len &&
	       (!a->build_id_len || !memcmp(a->build_id, b->build_id, a->build_id_len)) && text_equal(a->path, b->path) &&
	       text_equal(a->reference, b->reference);
}

/* Copy @info into @m. Return: false without memory. */
static bool copy_info(struct flame_symbols *s, struct module *m, const struct flame_module_info *info)
{
	*m = (struct module){ .info = *info };
	if (info->path) {
		m->info.path = arena_copy(&s->arena, info->path, strlen(info->path));
		if (!m->info.path)
			return false;
	}
	if (info->reference) {
		m->info.reference = arena_copy(&s->arena, info->reference, strlen(info->reference));
		if (!m->info.reference)
			return false;
	}
	if (info->build_id) {
		m->info.build_id = arena_copy(&s->arena, info->build_id, info->build_id_len);
		if (!m->info.build_id)
			return false;
	}
	return true;
}

static bool modules_grow(struct flame_symbols *s)
{
	if (index_has_room(&s->by_info))
		return true;
	if (!index_grow(&s->by_info))
		return false;
	for (size_t i = 1; i < s->nr_modules; i++)
		index_put(&s->by_info, info_hash(&s->modules[i].info), (uint32_t)i);
	return true;
}

flame_module flame_module_row(struct flame_symbols *s, const struct flame_module_info *info)
{
	struct flame_module_info wanted = *info;
	uint32_t hash;

	if (!wanted.build_id || !wanted.build_id_len || wanted.build_id_len > FLAME_BUILD_ID_MAX) {
		wanted.build_id = NULL;
		wanted.build_id_len = 0;
	}
	hash = info_hash(&wanted);
	if (!modules_grow(s))
		return 0;
	for (uint32_t i = hash & s->by_info.mask; s->by_info.slots[i]; i = (i + 1) & s->by_info.mask) {
		if (info_equal(&s->modules[s->by_info.slots[i]].info, &wanted))
			return s->by_info.slots[i];
	}
	if (!array_reserve((void **)&s->modules, &s->room_modules, s->nr_modules + 1, sizeof(*s->modules)) ||
	    !copy_info(s, &s->modules[s->nr_modules], &wanted))
		return 0;
	index_put(&s->by_info, hash, (uint32_t)s->nr_modules);
	return (flame_module)s->nr_modules++;
}

int flame_module_add_symbol(struct flame_symbols *s, flame_module module, uint64_t start, uint64_t size,
			    struct flame_span name, enum flame_kind kind)
{
	struct module *m = module && module < s->nr_modules ? &s->modules[module] : NULL;
	struct flame_symtab_entry e = { .start = start, .kind = (uint8_t)kind, .rank = FLAME_SYMBOL_STRONG };

	if (!m || (m->info.kind != FLAME_MODULE_LIST && m->info.kind != FLAME_MODULE_PERF_MAP) ||
	    name.len > FLAME_SYMBOL_NAME_MAX)
		return FLAME_EARG;
	e.name = arena_copy(&s->arena, name.s, name.len);
	if (!e.name)
		return FLAME_ENOMEM;
	e.room = (uint32_t)name.len;
	m->table.newest = true;
	return flame_symtab_add(&m->table, &e, size, UINT64_MAX);
}

/* ---- names ---- */

/* Return: the name to show for @key, which stays where it is; NULL without memory. */
static const char *make_shown(struct flame_symbols *s, struct flame_span key)
{
	char *demangled = NULL;
	const char *shown;
	bool ok = false;

	if (!s->options.mangled)
		ok = s->options.arguments ? flame_demangle(key, &demangled) : flame_demangle_name(key, &demangled);
	shown = ok ? arena_copy(&s->arena, demangled, strlen(demangled)) : arena_copy(&s->arena, key.s, key.len);
	free(demangled);
	return shown;
}

static bool names_grow(struct flame_symbols *s)
{
	if (!array_reserve((void **)&s->names, &s->room_names, s->nr_names + 1, sizeof(*s->names)))
		return false;
	if (index_has_room(&s->by_name))
		return true;
	if (!index_grow(&s->by_name))
		return false;
	for (size_t i = 1; i < s->nr_names; i++)
		index_put(&s->by_name, s->names[i].hash, (uint32_t)i);
	return true;
}

/* Demangling costs more than all else of a look-up, and many addresses share a name. */
static const struct name *show(struct flame_symbols *s, struct flame_span key)
{
	uint32_t hash = (uint32_t)hash_bytes(key.s, key.len);
	struct name *n;

	if (!names_grow(s))
		return NULL;
	for (uint32_t i = hash & s->by_name.mask; s->by_name.slots[i]; i = (i + 1) & s->by_name.mask) {
		n = &s->names[s->by_name.slots[i]];
		if (n->hash == hash && n->key.len == key.len && !memcmp(n->key.s, key.s, key.len))
			return n;
	}
	n = &s->names[s->nr_names];
	*n = (struct name){ .key = key, .hash = hash, .shown = make_shown(s, key) };
	if (!n->shown || strlen(n->shown) > UINT32_MAX)
		return NULL;
	n->shown_len = (uint32_t)strlen(n->shown);
	index_put(&s->by_name, hash, (uint32_t)s->nr_names++);
	return n;
}

static bool set_name(struct flame_symbols *s, struct flame_symbol_frame *frame, struct flame_span key)
{
	const struct name *n = key.len ? show(s, key) : NULL;

	if (!n)
		return false;
	frame->name = n->shown;
	frame->name_len = n->shown_len;
	return n->shown_len;
}

static bool set_symbol(struct flame_symbols *s, struct flame_symbol_frame *frame, const struct flame_symtab_entry *e)
{
	static const char suffix[] = "@plt";
	char *name;

	frame->kind = e->kind;
	if (!set_name(s, frame, (struct flame_span){ e->name, strnlen(e->name, e->room) }))
		return false;
	if (!e->plt)
		return true;
	name = arena_get(&s->arena, frame->name_len + sizeof(suffix));
	if (!name)
		return false;
	memcpy(name, frame->name, frame->name_len);
	memcpy(name + frame->name_len, suffix, sizeof(suffix));
	frame->name = name;
	frame->name_len += sizeof(suffix) - 1;
	return true;
}

/* ---- looking up ---- */

/* What is put together for a location. */
struct found {
	struct flame_symbol_frame frames[FLAME_DWARF_FRAMES_MAX];
	uint32_t nr;
	uint64_t offset;
};

/*
 * Add what the debug information knows: names of inlined functions, and lines of all. The function
 * itself gets its name too, "f" for "f.part.0" and "f.cold", as in perf's text.
 */
static void add_dwarf(struct flame_symbols *s, struct module *m, uint64_t address, struct found *found)
{
	struct flame_dwarf *d = module_dwarf(m, &s->options);
	struct flame_dwarf_frame frames[FLAME_DWARF_FRAMES_MAX];
	size_t nr = d ? flame_dwarf_find(d, address, frames) : 0;
	bool no_inline = s->options.no_inline;

	for (size_t i = 0; i < nr && (!i || !no_inline); i++) {
		struct flame_symbol_frame named = { .kind = i ? FLAME_INLINED : FLAME_USER }, *f = &found->frames[i ? found->nr : 0];
		bool ok = frames[i].name && set_name(s, &named, (struct flame_span){ frames[i].name, strlen(frames[i].name) });

		if (ok && (!no_inline || !found->nr))
			*f = named;
		if (ok && (i || !found->nr))
			found->nr++;
		if (!ok && (i || !found->nr))
			continue;
		/* Without inlined functions the line of the innermost is the function's. */
		f->file = frames[no_inline ? nr - 1 : i].file;
		f->line = frames[no_inline ? nr - 1 : i].line;
	}
}

static void find_in_file(struct flame_symbols *s, struct module *m, uint64_t offset, struct found *found)
{
	const struct flame_symtab_entry *e;
	uint64_t address;

	if (!m->has_elf || !flame_elf_address(&m->elf, offset, &address))
		return;
	e = flame_symtab_find(&m->table, address);
	if (e && set_symbol(s, &found->frames[0], e)) {
		found->nr = 1;
		found->offset = address - e->start;
	}
	if (s->options.lines || !s->options.no_inline)
		add_dwarf(s, m, address, found);
}

static void find_in_table(struct flame_symbols *s, const struct flame_symtab *table, uint64_t address,
			  struct found *found)
{
	const struct flame_symtab_entry *e = flame_symtab_find(table, address);

	if (!e || !set_symbol(s, &found->frames[0], e))
		return;
	found->nr = 1;
	found->offset = address - e->start;
}

static const struct flame_module_info *kernel_info(const struct flame_symbols *s)
{
	for (size_t i = 1; i < s->nr_modules; i++) {
		if (s->modules[i].info.kind == FLAME_MODULE_KERNEL)
			return &s->modules[i].info;
	}
	return NULL;
}

static bool resolve(struct flame_symbols *s, struct module *m, uint64_t address, struct found *found)
{
	bool kernel = m->info.kind == FLAME_MODULE_KERNEL || m->info.kind == FLAME_MODULE_KERNEL_MODULE;

	found->nr = 0;
	found->offset = 0;
	memset(&found->frames[0], 0, sizeof(found->frames[0]));
	if (module_open(m, &s->options, &s->kernel, m->opened ? NULL : kernel_info(s)))
		return false;
	if (m->info.kind == FLAME_MODULE_FILE || m->info.kind == FLAME_MODULE_VDSO)
		find_in_file(s, m, address, found);
	else if (kernel && !m->why)
		find_in_table(s, &s->kernel.table, address - s->kernel.delta, found);
	else if (!kernel)
		find_in_table(s, &m->table, address, found);
	if (!found->nr) {
		m->nr_unknown++;
		s->nr_unknown++;
	}
	return true;
}

static const struct flame_location *keep(struct flame_symbols *s, const struct found *found)
{
	struct flame_symbol_frame *frames = NULL;
	struct flame_location *l = arena_get(&s->arena, sizeof(*l));

	if (found->nr)
		frames = arena_get(&s->arena, found->nr * sizeof(*frames));
	if (!l || (found->nr && !frames))
		return NULL;
	if (found->nr)
		memcpy(frames, found->frames, found->nr * sizeof(*frames));
	*l = (struct flame_location){ .row = (uint32_t)s->nr_locations, .nr_frames = found->nr, .frames = frames,
				      .offset = found->offset };
	return l;
}

static size_t slot_hash(uint64_t address, flame_module module)
{
	return (size_t)hash_mix(address ^ HASH_A, module ^ HASH_B);
}

static bool slots_grow(struct flame_symbols *s)
{
	size_t mask = 2 * s->mask + 1;
	struct slot *slots = calloc(mask + 1, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i <= s->mask; i++) {
		size_t j = slot_hash(s->slots[i].address, s->slots[i].module) & mask;

		if (!s->slots[i].row)
			continue;
		while (slots[j].row)
			j = (j + 1) & mask;
		slots[j] = s->slots[i];
	}
	free(s->slots);
	s->slots = slots;
	s->mask = mask;
	return true;
}

static const struct flame_location *find_new(struct flame_symbols *s, flame_module module, uint64_t address)
{
	const struct flame_location *l;
	struct found found;
	size_t i;

	if (s->nr_locations >= UINT32_MAX || (s->nr_locations > s->mask / 2 && !slots_grow(s)) ||
	    !array_reserve((void **)&s->locations, &s->room_locations, s->nr_locations + 1, sizeof(*s->locations)) ||
	    !resolve(s, &s->modules[module], address, &found))
		return &nothing;
	l = keep(s, &found);
	if (!l)
		return &nothing;
	i = slot_hash(address, module) & s->mask;
	while (s->slots[i].row)
		i = (i + 1) & s->mask;
	s->slots[i] = (struct slot){ .address = address, .module = module, .row = l->row };
	s->locations[s->nr_locations++] = l;
	return l;
}

const struct flame_location *flame_symbols_find(struct flame_symbols *s, flame_module module, uint64_t address,
						bool is_caller)
{
	uint64_t at = is_caller && address ? address - 1 : address;

	if (!module || module >= s->nr_modules)
		return &nothing;
	for (size_t i = slot_hash(at, module) & s->mask; s->slots[i].row; i = (i + 1) & s->mask) {
		if (s->slots[i].address == at && s->slots[i].module == module)
			return s->locations[s->slots[i].row];
	}
	return find_new(s, module, at);
}

bool flame_symbols_refresh(struct flame_symbols *s, flame_module module)
{
	struct module *m = module && module < s->nr_modules ? &s->modules[module] : NULL;
	bool grown = false;

	if (!m || module_refresh(m, &s->options, &grown) || !grown)
		return false;
	for (size_t i = 0; i <= s->mask; i++) {
		struct slot *slot = &s->slots[i];
		const struct flame_location *l;
		struct found found;

		if (slot->module != module || !slot->row || s->locations[slot->row]->nr_frames)
			continue;
		m->nr_unknown--;
		s->nr_unknown--;
		if (!resolve(s, m, slot->address, &found) || !found.nr || s->nr_locations >= UINT32_MAX ||
		    !array_reserve((void **)&s->locations, &s->room_locations, s->nr_locations + 1, sizeof(*s->locations)))
			continue;
		l = keep(s, &found);
		if (!l)
			continue;
		slot->row = l->row;
		s->locations[s->nr_locations++] = l;
	}
	return true;
}

const char *flame_symbols_file(struct flame_symbols *s, flame_module module)
{
	struct module *m = module && module < s->nr_modules ? &s->modules[module] : NULL;

	if (!m || (m->info.kind != FLAME_MODULE_FILE && m->info.kind != FLAME_MODULE_VDSO) ||
	    module_open(m, &s->options, &s->kernel, NULL))
		return NULL;
	return module_path(m);
}

bool flame_symbols_address(struct flame_symbols *s, flame_module module, uint64_t offset, uint64_t *address)
{
	struct module *m = module && module < s->nr_modules ? &s->modules[module] : NULL;

	if (!m || (m->info.kind != FLAME_MODULE_FILE && m->info.kind != FLAME_MODULE_VDSO) ||
	    module_open(m, &s->options, &s->kernel, NULL))
		return false;
	return m->has_elf && flame_elf_address(&m->elf, offset, address);
}

/* ---- what went wrong ---- */

uint64_t flame_symbols_count(const struct flame_symbols *s, uint64_t *unknown)
{
	if (unknown)
		*unknown = s->nr_unknown;
	return s->nr_locations - 1;
}

/* Reasons of maps name the file. */
static bool is_alike(const struct module *a, const struct module *b)
{
	return b->why && b->nr_unknown &&
	       (!strcmp(a->why, b->why) || (a->info.kind == FLAME_MODULE_PERF_MAP && b->info.kind == FLAME_MODULE_PERF_MAP));
}

/* Return: the module with the most addresses without a symbol, of those not told yet, and if not NULL, like @like; 0: none. */
static size_t worst(const struct flame_symbols *s, const bool *told, const struct module *like)
{
	size_t best = 0;

	for (size_t i = 1; i < s->nr_modules; i++) {
		if (!told[i] && s->modules[i].why && s->modules[i].nr_unknown && (!like || is_alike(like, &s->modules[i])) &&
		    (!best || s->modules[i].nr_unknown > s->modules[best].nr_unknown))
			best = i;
	}
	return best;
}

static const char *path_of(const struct module *m)
{
	return m->info.path && m->info.path[0] ? m->info.path : "code outside of all files";
}

static void report_module(const struct module *m, struct flame_diag *diag)
{
	char id[2 * FLAME_BUILD_ID_MAX + 1];
	struct flame_span bytes = { m->info.build_id, m->info.build_id_len };

	flame_diag_add(diag, FLAME_WARNING, "no symbols for %s%s%s%s (%llu address%s): %s", path_of(m),
		       bytes.len ? " (build-id " : "", bytes.len ? flame_build_id_text(bytes, id) : "",
		       bytes.len ? ")" : "", (unsigned long long)m->nr_unknown, m->nr_unknown == 1 ? "" : "es", m->why);
}

/* Modules that lack symbols for the same reason as the first of them, which is the worst. */
static void report_alike(const struct flame_symbols *s, size_t first, bool *told, struct flame_diag *diag)
{
	const struct module *m = &s->modules[first];
	uint64_t rest = 0;
	size_t nr = 0, i;
	char names[1024] = "";
	size_t len = 0;

	for (i = first; i; i = worst(s, told, m)) {
		const struct module *other = &s->modules[i];
		const char *path = path_of(other);

		told[i] = true;
		if (nr++ < ALIKE_NAMED)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.200s (%llu address%s)", len ? ", " : "", path,
						(unsigned long long)other->nr_unknown, other->nr_unknown == 1 ? "" : "es");
		else
			rest += other->nr_unknown;
	}
	flame_diag_add(diag, FLAME_WARNING, "no symbols for %s, and %zu more like these (%llu addresses): %s", names, nr - ALIKE_NAMED,
		       (unsigned long long)rest, m->why);
}

void flame_symbols_report(const struct flame_symbols *s, struct flame_diag *diag)
{
	bool *told = calloc(s->nr_modules, sizeof(*told));
	size_t nr = 0, i;

	while (told && nr++ < FLAME_SYMBOL_REPORTS && (i = worst(s, told, NULL))) {
		size_t nr_alike = 0;

		for (size_t j = 1; j < s->nr_modules; j++)
			nr_alike += !told[j] && is_alike(&s->modules[i], &s->modules[j]);
		if (nr_alike > ALIKE_NAMED + 1)
			report_alike(s, i, told, diag);
		else
			report_module(&s->modules[i], diag);
		told[i] = true;
	}
	for (i = 1, nr = 0; told && i < s->nr_modules; i++)
		nr += !told[i] && s->modules[i].why && s->modules[i].nr_unknown;
	if (nr)
		flame_diag_add(diag, FLAME_WARNING, "no symbols for %zu more module%s", nr, nr == 1 ? "" : "s");
	free(told);
}

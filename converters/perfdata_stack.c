/* SPDX-License-Identifier: MIT */
/*
 * perfdata_stack.c - from the addresses of a callchain to a stack. A callchain that was seen before in
 * the same mappings is looked up whole, its addresses in one hash; only of a new one are the
 * addresses looked up, each in its mapping and then by its place in the module.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "../core/traits.h"
#include "perfdata.h"

#define CHAIN_CACHE_BYTES ((size_t)32 << 20)
#define NO_CODE "[unknown]"

/* Addresses above are no addresses: they say where those that follow were found. */
#define MARKER_MIN ((uint64_t)-4095)
#define MARKER_KERNEL ((uint64_t)-128)
#define MARKER_UNWOUND ((uint64_t)-4000)	/* ours: what follows was unwound from a copy of the stack */
#define MARKER_CUT ((uint64_t)-4001)		/* ours: and callers of it are missing */

int perfdata_stack_init(struct perfdata *pd)
{
	pd->chains.max_bytes = CHAIN_CACHE_BYTES;
	return 0;
}

void perfdata_stack_release(struct perfdata *pd)
{
	flame_native_namer_release(&pd->namer);
	flame_cache_release(&pd->chains);
	flame_located_symbols_release(&pd->symbols[0]);
	flame_located_symbols_release(&pd->symbols[1]);
	flame_located_frames_release(&pd->located);
	free(pd->key);
	free(pd->frames);
	free(pd->path);
	free(pd->outside);
	free(pd->path_stacks);
}

static bool push_frame(struct perfdata *pd, flame_frame frame)
{
	if (!array_reserve((void **)&pd->frames, &pd->room_frames, pd->nr_frames + 1, sizeof(*pd->frames)))
		return false;
	pd->frames[pd->nr_frames++] = frame;
	return true;
}

/* Frames of one address, the innermost first. */
static bool push_value(struct perfdata *pd, uint32_t value)
{
	size_t nr;
	const flame_frame *frames = flame_located_get(&pd->located, &value, &nr);
	bool ok = nr != 0;

	while (ok && nr > 0)
		ok = push_frame(pd, frames[--nr]);
	return ok;
}

/* Return: the value of @code's frames; 0 after a failure. */
static uint32_t native_value(struct perfdata *pd, const struct flame_native *code)
{
	size_t nr = flame_native_frames(&pd->namer, pd->rd, code);

	return flame_located_put(&pd->located, pd->namer.frames, nr);
}

static bool looks_like_here(const struct perfdata *pd)
{
	struct utsname name;
	struct timespec up, now;
	struct stat st;
	uint64_t size;

	if (pd->live)
		return true;
	if (uname(&name) || !pd->host[0] || strcmp(pd->host, name.nodename) || strcmp(pd->release, name.release))
		return false;
	if (!flame_input_can_slice(pd->rd->input, &size) || fstat(pd->rd->input->fd, &st) ||
	    clock_gettime(CLOCK_BOOTTIME, &up) || clock_gettime(CLOCK_REALTIME, &now))
		return true;
	return st.st_mtime >= now.tv_sec - up.tv_sec;
}

bool perfdata_is_this_machine(struct perfdata *pd)
{
	if (!pd->machine_asked)
		pd->this_machine = looks_like_here(pd);
	pd->machine_asked = true;
	return pd->this_machine;
}

/*
 * perf expands inlined functions in callchains that it unwound itself, not in those of frame pointers:
 * for each a table of its own, as the names of what they are inlined into differ too.
 */
static struct flame_symbols *symbols(struct perfdata *pd, bool inlines)
{
	struct flame_symbol_options options = { 0 };

	if (!pd->symbols[inlines].s) {
		flame_symbol_options_set(&options, pd->rd->options);
		options.no_inline = !inlines;
		options.this_machine = perfdata_is_this_machine(pd);
		pd->symbols[inlines].s = flame_symbols_new(&options);
	}
	return pd->symbols[inlines].s;
}

flame_module perfdata_module_symbols(struct perfdata *pd, uint32_t row, bool inlines)
{
	struct perfdata_module *m = &pd->tasks.modules[row];
	struct flame_module_info info = {
		.kind = m->kind, .path = m->name, .build_id = m->build_id, .build_id_len = m->build_id_len, .pid = m->pid,
		.ns_pid = m->ns_pid, .elsewhere = m->elsewhere,
		.reference_address = m->reference, .reference = m->reference_name,
	};

	if (!m->symbols[inlines] && symbols(pd, inlines)) {
		m->symbols[inlines] = flame_module_row(pd->symbols[inlines].s, &info);
		if (m->symbols[inlines] && m->kind == FLAME_MODULE_PERF_MAP &&
		    perfdata_jit_symbols(pd, m->pid, pd->symbols[inlines].s, m->symbols[inlines]))
			m->symbols[inlines] = 0;
	}
	return m->symbols[inlines];
}

/* Return: the value of a location with symbols; 0 after a failure. */
static uint32_t symbol_value(struct perfdata *pd, const struct perfdata_module *m, const struct flame_location *loc,
			     bool is_caller)
{
	struct flame_span module = { m->name, strlen(m->name) };
	size_t nr = flame_location_frames(&pd->namer, pd->rd, module, loc, is_caller);

	return flame_located_put(&pd->located, pd->namer.frames, nr);
}

/* Return: the value of an address without a symbol; 0 after a failure. */
static uint32_t unknown_value(struct perfdata *pd, const char *module, uint64_t address)
{
	struct flame_native code = { .symbol = { "", 0 }, .module = { module, strlen(module) } };
	char text[20];

	code.address = (struct flame_span){ text, (size_t)snprintf(text, sizeof(text), "%llx", (unsigned long long)address) };
	return native_value(pd, &code);
}

/* A module that is one function. */
static uint32_t function_value(struct perfdata *pd, const struct perfdata_module *m)
{
	struct flame_native code = { .symbol = { m->name, strlen(m->name) }, .module = { m->name, strlen(m->name) },
				     .address = { "", 0 } };

	return native_value(pd, &code);
}

/* How an address is looked up. */
struct place {
	enum perfdata_mode mode;
	bool is_caller;		/* it is a return address */
	bool inlines;		/* inlined functions are frames too */
	bool is_last;		/* what has no name now gets none */
};

/* Return: the value of @address in @module; 0 after a failure. */
static uint32_t find_value(struct perfdata *pd, uint32_t module, uint64_t address, const struct place *place)
{
	const struct perfdata_module *m = &pd->tasks.modules[module];
	struct flame_located_symbols *symbols_of = &pd->symbols[place->inlines];
	flame_module row = module && !m->is_symbol ? perfdata_module_symbols(pd, module, place->inlines) : 0;
	const struct flame_location *loc;
	uint32_t *value;

	if (m->is_symbol)
		return function_value(pd, m);
	if (!row)
		return unknown_value(pd, m->name ? m->name : NO_CODE, address);
	loc = flame_symbols_find(symbols_of->s, row, address, place->is_caller);
	/* A signal's handler and a return thunk return to the start of a function: what is before it calls nothing. */
	if (place->is_caller && (!loc->nr_frames || !strncmp(loc->frames[0].name, "__pfx_", 6)))
		loc = flame_symbols_find(symbols_of->s, row, address, false);
	if (!loc->row)
		return unknown_value(pd, m->name, address);
	/* The compiler may write its name later. */
	if (pd->live && m->kind == FLAME_MODULE_PERF_MAP && !loc->nr_frames)
		return place->is_last ? unknown_value(pd, m->name, address) :
					perfdata_live_hole(pd, module, address, place->is_caller);
	value = flame_located_value(symbols_of, loc->row);
	if (!value)
		return 0;
	if (!*value)
		*value = loc->nr_frames ? symbol_value(pd, m, loc, place->is_caller) : unknown_value(pd, m->name, address);
	return *value;
}

bool perfdata_address_frames(struct perfdata *pd, uint32_t module, uint64_t address, bool is_caller)
{
	const struct flame_read_options *o = pd->rd->options;
	struct place place = { .mode = PERFDATA_MODE_USER, .is_caller = is_caller, .inlines = o->inlines && !o->no_inline,
			       .is_last = true };

	pd->nr_frames = 0;
	return push_value(pd, find_value(pd, module, address, &place));
}

/* The recorded mapping of the kernel is its text; its code for booting lies behind it, below modules. */
static const struct perfdata_map *kernel_map(const struct perfdata *pd, uint64_t ip)
{
	const struct perfdata_maps *kernel = &pd->tasks.kernel;
	const struct perfdata_map *map = perfdata_map_find(kernel, ip);

	for (size_t i = 0; !map && i < kernel->nr && kernel->maps[i].start <= ip; i++) {
		if (pd->tasks.modules[kernel->maps[i].module].kind == FLAME_MODULE_KERNEL && ip - kernel->maps[i].start < 1 << 30)
			return &kernel->maps[i];
	}
	return map;
}

static bool push_address(struct perfdata *pd, const struct perfdata_maps *maps, uint64_t ip, const struct place *place)
{
	const struct perfdata_map *map = NULL;

	if (place->mode == PERFDATA_MODE_KERNEL)
		map = kernel_map(pd, ip);
	else if (place->mode == PERFDATA_MODE_USER)
		map = perfdata_map_find(maps, ip);
	if (!map)
		return push_value(pd, find_value(pd, 0, ip, place));
	return push_value(pd, find_value(pd, map->module, ip - map->start + map->offset, place));
}

uint64_t *perfdata_chain_key(struct perfdata *pd, size_t nr)
{
	return array_reserve((void **)&pd->key, &pd->room_key, nr + PERFDATA_KEY_HEAD, sizeof(*pd->key)) ? pd->key : NULL;
}

/* Append the user's part of what the branch records hold, from callee to caller. Return: its length. */
static size_t add_branches(struct perfdata *pd, const struct perfdata_sample *s, uint64_t *to)
{
	size_t nr = 0;

	if (!s->nr_branches)
		return 0;
	to[nr++] = perfdata_u64(pd, s->branches + 8);
	for (uint64_t i = 0; i < s->nr_branches; i++)
		to[nr++] = perfdata_u64(pd, s->branches + 24 * i);
	return nr;
}

/* Append the user's part of what the copy of the stack holds. Return: its length. */
static size_t add_unwound(struct perfdata *pd, const struct perfdata_sample *s, int32_t pid, uint64_t *to)
{
	bool cut;
	size_t nr = perfdata_unwind(pd, s, pid, to + 1, &cut);

	to[0] = MARKER_UNWOUND;
	if (!nr)
		return 0;
	if (cut)
		to[++nr] = MARKER_CUT;
	return nr + 1;
}

/* Return: how many addresses and markers the sample's callchain has, in the key; SIZE_MAX without memory. */
static size_t read_chain(struct perfdata *pd, const struct perfdata_sample *s, int32_t pid)
{
	enum { CALL_STACK = 1 << 11 };
	bool lbr = s->attr->branch_type & CALL_STACK && s->nr_branches, has_user = false;
	size_t unwound = s->has_stack ? FLAME_UNWIND_FRAMES_MAX + 2 : 0;
	uint64_t *key = perfdata_chain_key(pd, s->nr_chain + s->nr_branches + 2 + unwound);
	size_t nr = 0;

	if (!key)
		return SIZE_MAX;
	key += PERFDATA_KEY_HEAD;
	if (!s->has_chain) {
		key[nr++] = s->mode == PERFDATA_MODE_KERNEL ? MARKER_KERNEL : s->mode == PERFDATA_MODE_USER ? PERFDATA_MARKER_USER :
			    MARKER_MIN;
		key[nr++] = s->ip;
		return nr;
	}
	for (uint64_t i = 0; i < s->nr_chain; i++) {
		key[nr++] = perfdata_u64(pd, s->chain + 8 * i);
		has_user |= key[nr - 1] == PERFDATA_MARKER_USER;
		if (lbr && has_user)
			return nr + add_branches(pd, s, key + nr);
	}
	if (s->has_stack && !has_user)
		nr += add_unwound(pd, s, pid, key + nr);
	return nr;
}

/*
 * The frame pushed last is where the kernel is entered by an exception: what follows was interrupted, and did
 * not call it.
 */
static bool is_entry(const struct perfdata *pd)
{
	static const char *const entries[] = { "asm_", "el1h_64_", "ret_from_intr", "apic_timer_interrupt" };
	flame_frame frame = pd->nr_frames ? pd->frames[pd->nr_frames - 1] : 0;
	struct flame_span name = flame_string_get(pd->rd->profile, flame_frame_get(pd->rd->profile, frame)->name);

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		size_t len = strlen(entries[i]);

		if (name.len >= len && !memcmp(name.s, entries[i], len))
			return true;
	}
	return false;
}

/* What follows a marker. */
static enum perfdata_mode mode_behind(uint64_t marker)
{
	if (marker == MARKER_KERNEL)
		return PERFDATA_MODE_KERNEL;
	return marker == PERFDATA_MARKER_USER || marker == MARKER_UNWOUND ? PERFDATA_MODE_USER : PERFDATA_MODE_OTHER;
}

static bool push_cut(struct perfdata *pd)
{
	struct flame_frame_info info = { .kind = FLAME_MARKER };

	info.name = flame_intern(pd->rd->profile, "[truncated]", 11);
	return push_frame(pd, flame_frame_row(pd->rd->profile, &info));
}

/*
 * A walk by frame pointers through code that keeps none ends in data that it takes for addresses, up to the kernel's
 * limit. Return: how many of the chain's last addresses are callers that lie outside of all code.
 */
static size_t nr_outside(const struct perfdata *pd, const struct perfdata_maps *maps, size_t nr)
{
	const uint64_t *chain = pd->key + PERFDATA_KEY_HEAD;
	size_t user = 0, at = nr;

	while (user < nr && chain[user] != PERFDATA_MARKER_USER)
		user++;
	/* What runs is no caller. */
	while (at > user + 2 && chain[at - 1] < MARKER_MIN && (!maps || !perfdata_map_find(maps, chain[at - 1])))
		at--;
	return nr - at;
}

/* Whether of the frames at hand the one before the last is what starts programs: it has no callers. */
static bool is_start(const struct perfdata *pd)
{
	const struct flame_profile *p = pd->rd->profile;
	const flame_frame *last = pd->frames + pd->nr_frames - 1;

	if (pd->nr_frames < 3)
		return false;
	return flame_frame_traits(p, last[-1]) & FLAME_TRAIT_START ||
	       (flame_frame_traits(p, last[-1]) & FLAME_TRAIT_LIBC && flame_frame_traits(p, last[-2]) & FLAME_TRAIT_MAIN);
}

/* Stacks with such callers are remembered, to count their samples. Return: false without memory. */
static bool mark_outside(struct perfdata *pd, flame_stack stack, size_t nr)
{
	size_t before = pd->room_outside;

	if (!array_reserve((void **)&pd->outside, &pd->room_outside, (size_t)stack + 1, sizeof(*pd->outside)))
		return false;
	memset(pd->outside + before, 0, (pd->room_outside - before) * sizeof(*pd->outside));
	pd->outside[stack] = true;
	if (nr > pd->most_outside)
		pd->most_outside = nr;
	return true;
}

void perfdata_stack_count(struct perfdata *pd, flame_stack stack)
{
	pd->nr_outside += stack < pd->room_outside && pd->outside[stack];
}

static int push_chain(struct perfdata *pd, const struct perfdata_maps *maps, size_t nr)
{
	const struct flame_read_options *o = pd->rd->options;
	struct place place = { .mode = PERFDATA_MODE_USER, .inlines = o->inlines && !o->no_inline };
	bool unwound = false, ok = true;

	for (size_t i = 0; ok && i < nr; i++) {
		uint64_t ip = pd->key[PERFDATA_KEY_HEAD + i];

		/* What follows is no address but tells which user callchain belongs here. */
		if (ip == PERFDATA_MARKER_USER_DEFERRED)
			break;
		if (ip == MARKER_CUT) {
			ok = push_cut(pd);
		} else if (ip >= MARKER_MIN) {
			unwound = ip == MARKER_UNWOUND;
			place.mode = mode_behind(ip);
			place.inlines = (o->inlines || unwound) && !o->no_inline;
			place.is_caller = false;
		} else {
			ok = push_address(pd, maps, ip, &place);
			place.is_caller = !unwound && !(place.mode == PERFDATA_MODE_KERNEL && is_entry(pd));
		}
	}
	return ok ? 0 : flame_profile_error(pd->rd->profile) ? flame_profile_error(pd->rd->profile) : FLAME_ENOMEM;
}

/* The stack of the frames at hand below @root. */
static int push_stack(struct perfdata *pd, flame_stack root, flame_stack *stack)
{
	bool cut = flame_skip_after(pd->rd, pd->frames, &pd->nr_frames);
	size_t nr = pd->nr_frames;

	pd->any_deep |= nr > 1;
	if (!array_reserve((void **)&pd->path, &pd->room_path, nr, sizeof(*pd->path)) ||
	    !array_reserve((void **)&pd->path_stacks, &pd->room_path_stacks, nr, sizeof(*pd->path_stacks)))
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		pd->path[i] = pd->frames[nr - 1 - i];
	*stack = flame_stack_push_all(pd->rd->profile, cut ? 0 : root, pd->path, nr, pd->path_stacks);
	return flame_profile_error(pd->rd->profile);
}

int perfdata_stack_of_key(struct perfdata *pd, size_t nr, uint32_t thread, flame_stack *stack)
{
	flame_stack root = perfdata_thread_root(pd, thread);
	const struct perfdata_maps *maps = perfdata_maps_of(pd, pd->tasks.threads[thread].pid);
	size_t len = (nr + PERFDATA_KEY_HEAD) * sizeof(*pd->key);
	size_t outside;
	uint64_t hash;
	int err;

	pd->key[0] = root;
	pd->key[1] = maps ? maps->version : 0;
	pd->key[2] = pd->tasks.kernel.version;
	hash = hash_bytes((const char *)pd->key, len);
	if (flame_cache_get(&pd->chains, (const char *)pd->key, len, hash, stack))
		return 0;
	pd->nr_frames = 0;
	outside = pd->live ? nr_outside(pd, maps, nr) : 0;
	err = push_chain(pd, maps, outside ? nr - outside + 1 : nr);
	if (!err && outside && is_start(pd)) {
		pd->nr_frames--;
		outside = 0;
	}
	if (!err)
		err = push_stack(pd, root, stack);
	if (!err && outside && !mark_outside(pd, *stack, outside))
		err = FLAME_ENOMEM;
	if (!err)
		flame_cache_put(&pd->chains, (const char *)pd->key, len, hash, *stack);
	return err;
}

int perfdata_stack_of(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_stack *stack)
{
	size_t nr = read_chain(pd, s, pd->tasks.threads[thread].pid);

	return nr == SIZE_MAX ? FLAME_ENOMEM : perfdata_stack_of_key(pd, nr, thread, stack);
}

void perfdata_stack_notes(struct perfdata *pd)
{
	for (size_t i = 0; i < 2; i++) {
		if (pd->symbols[i].s)
			flame_symbols_report(pd->symbols[i].s, pd->rd->diag);
	}
}

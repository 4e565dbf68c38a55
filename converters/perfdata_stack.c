/* SPDX-License-Identifier: MIT */
/*
 * perfdata_stack.c - from the addresses of a callchain to a stack. A callchain that was seen before in
 * the same mappings is looked up whole, its addresses in one hash; only of a new one are the
 * addresses looked up, each in its mapping and then by its place in the module.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "perfdata.h"

#define CHAIN_CACHE_BYTES ((size_t)32 << 20)
#define ADDRESS_CACHE_BYTES ((size_t)32 << 20)
#define MANY_FRAMES 0x80000000u	/* a value that is an index in many: a count and that many frames */
#define NO_CODE "[unknown]"

/* Addresses above are no addresses: they say where those that follow were found. */
#define MARKER_MIN ((uint64_t)-4095)
#define MARKER_KERNEL ((uint64_t)-128)
#define MARKER_USER ((uint64_t)-512)
#define MARKER_USER_DEFERRED ((uint64_t)-640)

int perfdata_stack_init(struct perfdata *pd)
{
	pd->chains.max_bytes = CHAIN_CACHE_BYTES;
	pd->addresses.max_bytes = ADDRESS_CACHE_BYTES;
	return 0;
}

void perfdata_stack_release(struct perfdata *pd)
{
	flame_namer_release(&pd->namer);
	flame_cache_release(&pd->chains);
	flame_cache_release(&pd->addresses);
	free(pd->location_frames);
	free(pd->many);
	free(pd->key);
	free(pd->frames);
	free(pd->path);
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
	const flame_frame *many;
	bool ok = value != 0;

	if (!(value & MANY_FRAMES))
		return ok && push_frame(pd, value);
	many = &pd->many[value & ~MANY_FRAMES];
	for (uint32_t i = many[0]; ok && i > 0; i--)
		ok = push_frame(pd, many[i]);
	return ok;
}

static uint32_t value_of(struct perfdata *pd, const flame_frame *frames, size_t nr)
{
	size_t at = pd->nr_many;

	if (nr <= 1)
		return nr ? frames[0] : 0;
	if (!array_reserve((void **)&pd->many, &pd->room_many, at + nr + 1, sizeof(*pd->many)))
		return 0;
	pd->many[at] = (flame_frame)nr;
	memcpy(pd->many + at + 1, frames, nr * sizeof(*frames));
	pd->nr_many += nr + 1;
	return MANY_FRAMES | (uint32_t)at;
}

/* Return: the value of an address without a symbol; 0 after a failure. */
static uint32_t unknown_value(struct perfdata *pd, const char *module, uint64_t address)
{
	struct flame_native code = { .symbol = { "", 0 }, .module = { module, strlen(module) } };
	char text[20];

	code.address = (struct flame_span){ text, (size_t)snprintf(text, sizeof(text), "%llx", (unsigned long long)address) };
	return value_of(pd, pd->namer.frames, flame_native_frames(&pd->namer, pd->rd, &code));
}

struct address_key {
	uint64_t address;
	uint32_t module;
	uint32_t is_caller;
};

static uint32_t make_value(struct perfdata *pd, const struct address_key *key)
{
	const struct perfdata_module *m = &pd->tasks.modules[key->module];
	struct flame_native code;

	if (!m->is_symbol)
		return unknown_value(pd, m->name ? m->name : NO_CODE, key->address);
	code = (struct flame_native){ .symbol = { m->name, strlen(m->name) }, .module = { m->name, strlen(m->name) },
				      .address = { "", 0 } };
	return value_of(pd, pd->namer.frames, flame_native_frames(&pd->namer, pd->rd, &code));
}

/* Return: the value of @address in @module; 0 after a failure. */
static uint32_t find_value(struct perfdata *pd, uint32_t module, uint64_t address, bool is_caller)
{
	struct address_key key = { address, module, is_caller };
	uint64_t hash = hash_mix(address ^ HASH_A, ((uint64_t)module << 1 | is_caller) ^ HASH_B);
	uint32_t generation = pd->addresses.generation, value;

	if (flame_cache_get(&pd->addresses, (const char *)&key, sizeof(key), hash, &value))
		return value;
	value = make_value(pd, &key);
	if (value)
		flame_cache_put(&pd->addresses, (const char *)&key, sizeof(key), hash, value);
	if (pd->addresses.generation != generation && !(value & MANY_FRAMES))
		pd->nr_many = 0;
	return value;
}

static bool push_address(struct perfdata *pd, const struct perfdata_maps *maps, enum perfdata_mode mode, uint64_t ip,
			 bool is_caller)
{
	const struct perfdata_maps *in = mode == PERFDATA_MODE_KERNEL ? &pd->tasks.kernel : maps;
	const struct perfdata_map *map = mode == PERFDATA_MODE_OTHER ? NULL : perfdata_map_find(in, ip);

	if (!map)
		return push_value(pd, find_value(pd, 0, ip, false));
	return push_value(pd, find_value(pd, map->module, ip - map->start + map->offset, is_caller));
}

/* The callchain's addresses in this machine's byte order, in the key behind what else tells stacks apart. */
#define KEY_HEAD 3

static uint64_t *chain_key(struct perfdata *pd, size_t nr)
{
	return array_reserve((void **)&pd->key, &pd->room_key, nr + KEY_HEAD, sizeof(*pd->key)) ? pd->key : NULL;
}

/* Append the user's part of what the processor's last branch records hold: from callee to caller. Return: its length. */
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

/* Return: how many addresses and markers the sample's callchain has, in the key; SIZE_MAX without memory. */
static size_t read_chain(struct perfdata *pd, const struct perfdata_sample *s)
{
	enum { CALL_STACK = 1 << 11 };
	bool lbr = s->attr->branch_type & CALL_STACK && s->nr_branches;
	uint64_t *key = chain_key(pd, s->nr_chain + s->nr_branches + 2);
	size_t nr = 0;

	if (!key)
		return SIZE_MAX;
	key += KEY_HEAD;
	if (!s->has_chain) {
		key[nr++] = s->mode == PERFDATA_MODE_KERNEL ? MARKER_KERNEL : s->mode == PERFDATA_MODE_USER ? MARKER_USER :
			    MARKER_MIN;
		key[nr++] = s->ip;
		return nr;
	}
	for (uint64_t i = 0; i < s->nr_chain; i++) {
		key[nr++] = perfdata_u64(pd, s->chain + 8 * i);
		if (lbr && key[nr - 1] == MARKER_USER)
			return nr + add_branches(pd, s, key + nr);
	}
	return nr;
}

static int push_chain(struct perfdata *pd, const struct perfdata_maps *maps, size_t nr)
{
	enum perfdata_mode mode = PERFDATA_MODE_USER;
	bool is_caller = false;

	for (size_t i = 0; i < nr; i++) {
		uint64_t ip = pd->key[KEY_HEAD + i];

		if (ip >= MARKER_MIN) {
			mode = ip == MARKER_KERNEL ? PERFDATA_MODE_KERNEL : ip == MARKER_USER ? PERFDATA_MODE_USER :
			       PERFDATA_MODE_OTHER;
			is_caller = false;
			/* What stands for a user's part that is not there is no address. */
			if (ip == MARKER_USER_DEFERRED)
				break;
			continue;
		}
		if (!push_address(pd, maps, mode, ip, is_caller))
			return flame_profile_error(pd->rd->profile) ? flame_profile_error(pd->rd->profile) : FLAME_ENOMEM;
		is_caller = true;
	}
	return 0;
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

int perfdata_stack_of(struct perfdata *pd, const struct perfdata_sample *s, uint32_t thread, flame_stack *stack)
{
	flame_stack root = perfdata_thread_root(pd, thread);
	const struct perfdata_maps *maps = perfdata_maps_of(pd, pd->tasks.threads[thread].pid);
	size_t nr = read_chain(pd, s), len;
	uint64_t hash;
	int err;

	if (nr == SIZE_MAX)
		return FLAME_ENOMEM;
	pd->key[0] = root;
	pd->key[1] = maps ? maps->version : 0;
	pd->key[2] = pd->tasks.kernel.version;
	len = (nr + KEY_HEAD) * sizeof(*pd->key);
	hash = hash_bytes((const char *)pd->key, len);
	if (flame_cache_get(&pd->chains, (const char *)pd->key, len, hash, stack))
		return 0;
	pd->nr_frames = 0;
	err = push_chain(pd, maps, nr);
	if (!err)
		err = push_stack(pd, root, stack);
	if (!err)
		flame_cache_put(&pd->chains, (const char *)pd->key, len, hash, *stack);
	return err;
}

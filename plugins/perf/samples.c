/* SPDX-License-Identifier: MIT */
/*
 * samples.c - from perf's samples to stacks. A callchain that was seen before in the same process is looked up whole;
 * only of a new one perf is asked where its addresses lie. Names of functions in files come from the files
 * themselves, as when perf.data is read; names of the kernel and of JIT compilers, and all that is not found, from perf.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "../../core/event.h"
#include "plugin.h"

#define CHAIN_CACHE_BYTES ((size_t)32 << 20)
#define CHAIN_MAX 8192		/* entries of a callchain: more than any record holds */
#define KEY_HEAD 4

/* Addresses above are no addresses: they say where those that follow were found. */
#define MARKER_MIN ((uint64_t)-4095)
#define MARKER_KERNEL ((uint64_t)-128)
#define MARKER_USER ((uint64_t)-512)
#define MARKER_UNWOUND ((uint64_t)-4000)	/* ours: what follows was unwound from a copy of the stack */
#define MARKER_CUT ((uint64_t)-4001)		/* ours: and callers of it are missing */

/* How an address is looked up. */
struct way {
	bool user, kernel;	/* where it was found; neither: it is not looked up */
	bool is_caller;		/* it is a return address */
	bool inlines;		/* inlined functions are frames too */
};

static struct flame_span span(const char *s)
{
	return (struct flame_span){ s ? s : "", s ? strlen(s) : 0 };
}

static bool push_frame(struct plugin *p, flame_frame frame)
{
	if (!frame || !array_reserve((void **)&p->leaf_first, &p->room_leaf_first, p->nr_leaf_first + 1, sizeof(frame)))
		return false;
	p->leaf_first[p->nr_leaf_first++] = frame;
	return true;
}

/* Push @nr frames, the outermost first; none is a failure. */
static bool push_frames(struct plugin *p, const flame_frame *frames, size_t nr)
{
	bool ok = nr != 0;

	while (ok && nr > 0)
		ok = push_frame(p, frames[--nr]);
	return ok;
}

static bool is_file(const struct plugin_place *place)
{
	const char *base = place->module ? strrchr(place->module, '/') : NULL;
	size_t len = base ? strlen(base) : 0;

	return !place->is_kernel && base && place->module[0] == '/' && place->module[1] != '/' &&
	       !(!strncmp(base, "/perf-", 6) && len > 4 && !strcmp(base + len - 4, ".map"));
}

/* The frame of what perf says; @place NULL: it knows of nothing there. */
static bool push_perfs(struct plugin *p, const struct plugin_place *place, uint64_t address, bool is_caller)
{
	struct flame_native code = { .symbol = span(place ? place->symbol : NULL), .module = span(place ? place->module : NULL) };
	char text[20];
	size_t nr;

	p->nr_unnamed += place && !place->symbol && is_file(place);

	code.address = (struct flame_span){ text, (size_t)snprintf(text, sizeof(text), "%llx", (unsigned long long)address) };
	if (!flame_native_offset(&p->namer, &p->rd, &code, place ? place->offset + is_caller : 0))
		return false;
	nr = flame_native_frames(&p->namer, &p->rd, &code);
	return push_frames(p, p->namer.frames, nr);
}

flame_module plugin_module(struct plugin *p, int32_t pid, const struct plugin_place *place, bool inlines)
{
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .path = place->module, .build_id = place->build_id,
					  .build_id_len = place->build_id_len };
	struct flame_symbol_options options = { 0 };

	(void)pid;
	/* Of another kernel's vdso the build-id is another one. */
	if (place->module && !strcmp(place->module, "[vdso]"))
		info.kind = FLAME_MODULE_VDSO;
	else if (!is_file(place))
		return 0;
	if (info.build_id_len > FLAME_BUILD_ID_MAX)
		info.build_id_len = 0;
	if (!p->symbols[inlines].s) {
		flame_symbol_options_set(&options, &p->tool.read);
		options.no_inline = !inlines;
		p->symbols[inlines].s = flame_symbols_new(&options);
	}
	return p->symbols[inlines].s ? flame_module_row(p->symbols[inlines].s, &info) : 0;
}

/* Push the frames that a value stands for. */
static bool push_value(struct plugin *p, uint32_t value)
{
	size_t nr;
	const flame_frame *frames = flame_located_get(&p->located, &value, &nr);

	return push_frames(p, frames, nr);
}

/* Return: the value of the location's frames; 0 after a failure. */
static uint32_t location_value(struct plugin *p, const char *module, const struct flame_location *loc, const struct way *way)
{
	uint32_t *value = flame_located_value(&p->symbols[way->inlines], loc->row);
	size_t nr;

	if (!value)
		return 0;
	if (!*value) {
		nr = flame_location_frames(&p->namer, &p->rd, span(module), loc, way->is_caller);
		*value = flame_located_put(&p->located, p->namer.frames, nr);
	}
	return *value;
}

/* A signal's handler and a return thunk return to the start of a function: what is before it calls nothing. */
static bool is_no_call(const char *symbol)
{
	return !symbol || !strncmp(symbol, "__pfx_", 6);
}

/* Return: what is known of a place in a file, or its place in the table, empty now. */
static struct plugin_known *known_place(struct plugin *p, const struct plugin_place *place, const struct way *way)
{
	struct plugin_known is = { place->module, place->address, 0, 1 + (uint32_t)way->inlines + 2 * (uint32_t)way->is_caller };
	uint64_t hash = hash_mix((uint64_t)(uintptr_t)is.module ^ HASH_A, is.address ^ HASH_B ^ is.way);
	struct plugin_known *known;

	if (!p->known)
		p->known = calloc(PLUGIN_KNOWN, sizeof(*p->known));
	if (!p->known)
		return NULL;
	known = &p->known[hash % PLUGIN_KNOWN];
	if (known->module != is.module || known->address != is.address || known->way != is.way)
		*known = is;
	return known;
}

/* Return: the value of the frames of a place in a file, by the file itself; 0 where it has none. */
static uint32_t find_file(struct plugin *p, const struct plugin_sample *s, const struct plugin_place *place, const struct way *way, bool *ok)
{
	flame_module module = plugin_module(p, s->pid, place, way->inlines);
	struct flame_symbols *symbols = p->symbols[way->inlines].s;
	const struct flame_location *loc;
	uint32_t value;

	if (!module)
		return 0;
	loc = flame_symbols_find(symbols, module, place->address, way->is_caller);
	if (way->is_caller && is_no_call(loc->nr_frames ? loc->frames[0].name : NULL))
		loc = flame_symbols_find(symbols, module, place->address, false);
	if (!loc->nr_frames)
		return 0;
	value = location_value(p, place->module, loc, way);
	*ok = value != 0;
	return value;
}

/*
 * Functions of files, by the file. perf keeps the names of files where they are, so that a place is known again by
 * where its name is. Return: false where the file has none.
 */
static bool push_file(struct plugin *p, const struct plugin_sample *s, const struct plugin_place *place, const struct way *way, bool *ok)
{
	struct plugin_known *known = known_place(p, place, way);
	uint32_t value = known ? known->value : 0;

	*ok = true;
	if (!value)
		value = find_file(p, s, place, way, ok);
	if (known)
		known->value = value;
	if (value)
		*ok = push_value(p, value);
	return value || !*ok;
}

/* A caller in the kernel, by the call: what is behind it is asked for only where that is none. */
static bool push_kernel_call(struct plugin *p, const struct plugin_sample *s, uint64_t ip, bool *ok)
{
	struct plugin_place place;

	if (!s->resolve(s->context, ip - 1, &place) || !place.is_kernel || is_no_call(place.symbol))
		return false;
	*ok = push_perfs(p, &place, ip, true);
	return true;
}

static bool push_address(struct plugin *p, const struct plugin_sample *s, uint64_t ip, const struct way *way)
{
	struct plugin_place place, before;
	bool ok, found;

	if (way->kernel && way->is_caller && push_kernel_call(p, s, ip, &ok))
		return ok;
	found = (way->user || way->kernel) && s->resolve(s->context, ip, &place);
	if (!found || place.is_kernel != way->kernel)
		return push_perfs(p, NULL, ip, false);
	if (way->kernel)
		return push_perfs(p, &place, ip, false);
	if (push_file(p, s, &place, way, &ok))
		return ok;
	if (way->is_caller && s->resolve(s->context, ip - 1, &before) && !is_no_call(before.symbol))
		return push_perfs(p, &before, ip, true);
	if (way->is_caller && !s->resolve(s->context, ip, &place))
		return push_perfs(p, NULL, ip, false);
	return push_perfs(p, &place, ip, false);
}

/*
 * The frame pushed last is where the kernel is entered by an exception: what follows was interrupted, and did
 * not call it.
 */
static bool is_entry(const struct plugin *p)
{
	static const char *const entries[] = { "asm_", "el1h_64_", "ret_from_intr", "apic_timer_interrupt" };
	flame_frame frame = p->nr_leaf_first ? p->leaf_first[p->nr_leaf_first - 1] : 0;
	struct flame_span name = flame_string_get(p->profile, flame_frame_get(p->profile, frame)->name);

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		size_t len = strlen(entries[i]);

		if (name.len >= len && !memcmp(name.s, entries[i], len))
			return true;
	}
	return false;
}

static bool push_cut(struct plugin *p)
{
	struct flame_frame_info info = { .kind = FLAME_MARKER };

	info.name = flame_intern(p->profile, "[truncated]", 11);
	return push_frame(p, flame_frame_row(p->profile, &info));
}

static bool push_chain(struct plugin *p, const struct plugin_sample *s, size_t nr)
{
	const struct flame_read_options *o = &p->tool.read;
	struct way way = { .user = true, .inlines = o->inlines && !o->no_inline };
	bool unwound = false, ok = true;

	for (size_t i = 0; ok && i < nr; i++) {
		uint64_t ip = p->key[KEY_HEAD + i];

		if (ip == MARKER_CUT) {
			ok = push_cut(p);
		} else if (ip >= MARKER_MIN) {
			unwound = ip == MARKER_UNWOUND;
			way = (struct way){ .user = unwound || ip == MARKER_USER, .kernel = ip == MARKER_KERNEL,
					    .inlines = (o->inlines || unwound) && !o->no_inline };
		} else {
			ok = push_address(p, s, ip, &way);
			way.is_caller = !unwound && !(way.kernel && is_entry(p));
		}
	}
	return ok;
}

/* Append the user's part of what the processor's last branch records hold. Return: its length. */
static size_t add_branches(const struct plugin_sample *s, uint64_t *to)
{
	size_t nr = 0;

	to[nr++] = s->branches[0].to;
	for (uint64_t i = 0; i < s->nr_branches; i++)
		to[nr++] = s->branches[i].from;
	return nr;
}

static size_t add_unwound(struct plugin *p, const struct plugin_sample *s, uint64_t *to)
{
	bool cut;
	size_t nr = plugin_unwind(p, s, to + 1, &cut);

	to[0] = MARKER_UNWOUND;
	if (!nr)
		return 0;
	if (cut)
		to[++nr] = MARKER_CUT;
	return nr + 1;
}

/* Return: how many addresses and markers the sample's callchain has, in the key; SIZE_MAX without memory. */
static size_t read_chain(struct plugin *p, const struct plugin_sample *s)
{
	bool lbr = s->nr_branches && s->attr->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK, has_user = false;
	bool copied = s->attr->sample_type & PERF_SAMPLE_STACK_USER;
	uint64_t most = s->nr_chain < CHAIN_MAX ? s->nr_chain : CHAIN_MAX;
	uint64_t branches = s->nr_branches < CHAIN_MAX ? s->nr_branches : 0;
	uint64_t *key;
	size_t nr = 0;

	if (!array_reserve((void **)&p->key, &p->room_key, KEY_HEAD + most + branches + 4 + FLAME_UNWIND_FRAMES_MAX, sizeof(*p->key)))
		return SIZE_MAX;
	key = p->key + KEY_HEAD;
	if (!(s->attr->sample_type & PERF_SAMPLE_CALLCHAIN)) {
		key[nr++] = s->mode == PERF_RECORD_MISC_KERNEL ? MARKER_KERNEL : s->mode == PERF_RECORD_MISC_USER ? MARKER_USER : MARKER_MIN;
		key[nr++] = s->ip;
		return nr;
	}
	for (uint64_t i = 0; i < most; i++) {
		key[nr++] = s->chain[i];
		has_user |= s->chain[i] == MARKER_USER;
		if (lbr && branches && has_user)
			return nr + add_branches(s, key + nr);
	}
	if (copied && !has_user)
		nr += add_unwound(p, s, key + nr);
	return nr;
}

/*
 * Perf tells nothing of new mappings, which give addresses that are known another meaning. Where the first address
 * of the user lies is asked each time, so that what is remembered of an old program is not used for a new one.
 */
static void set_place(struct plugin *p, const struct plugin_sample *s, size_t nr)
{
	const uint64_t *key = p->key + KEY_HEAD;
	struct plugin_place place;
	size_t i = 0;

	p->key[2] = p->key[3] = 0;
	while (i < nr && key[i] != MARKER_USER && key[i] != MARKER_UNWOUND)
		i++;
	if (i + 1 >= nr || !s->resolve(s->context, key[i + 1], &place) || !place.module)
		return;
	p->key[2] = place.address;
	p->key[3] = (uintptr_t)place.module;
}

static int stack_of(struct plugin *p, const struct plugin_sample *s, flame_stack root, flame_stack *stack)
{
	size_t nr = read_chain(p, s), len = (nr + KEY_HEAD) * sizeof(*p->key);
	bool cut;
	uint64_t hash;

	if (nr == SIZE_MAX)
		return FLAME_ENOMEM;
	p->key[0] = root;
	p->key[1] = (uint32_t)s->pid;
	set_place(p, s, nr);
	hash = hash_bytes((const char *)p->key, len);
	if (flame_cache_get(&p->chains, (const char *)p->key, len, hash, stack))
		return 0;
	p->nr_leaf_first = 0;
	if (!push_chain(p, s, nr))
		return FLAME_ENOMEM;
	cut = flame_skip_after(&p->rd, p->leaf_first, &p->nr_leaf_first);
	nr = p->nr_leaf_first;
	if (!array_reserve((void **)&p->path, &p->room_path, nr, sizeof(*p->path)) ||
	    !array_reserve((void **)&p->path_stacks, &p->room_path_stacks, nr, sizeof(*p->path_stacks)))
		return FLAME_ENOMEM;
	for (size_t i = 0; i < nr; i++)
		p->path[i] = p->leaf_first[nr - 1 - i];
	*stack = flame_stack_push_all(p->profile, cut ? 0 : root, p->path, nr, p->path_stacks);
	p->chains.max_bytes = CHAIN_CACHE_BYTES;
	if (!flame_profile_error(p->profile))
		flame_cache_put(&p->chains, (const char *)p->key, len, hash, *stack);
	return 0;
}

static flame_stack root_of(struct plugin *p, const struct plugin_sample *s)
{
	struct flame_task_info task = { .pid = s->pid, .tid = s->tid };
	const char *comm = s->comm ? s->comm : "";

	if (p->last_root && s->pid == p->last_pid && s->tid == p->last_tid && !strcmp(comm, p->last_comm))
		return p->last_root;
	task.comm = flame_intern(p->profile, comm, strlen(comm));
	p->last_pid = s->pid;
	p->last_tid = s->tid;
	/* A name that does not fit is interned each time. */
	snprintf(p->last_comm, sizeof(p->last_comm), "%s", comm);
	p->last_root = flame_task_root(p->profile, &task);
	p->last_task = p->tool.read.keep_task ? flame_task_row(p->profile, &task) : 0;
	return p->last_root;
}

/* The first event's is what is used by default. */
static void note_rate(struct plugin *p, const struct perf_event_attr *attr)
{
	struct flame_meta *meta = flame_meta(p->profile);

	if (meta->frequency_hz || meta->period)
		return;
	if (attr->freq)
		meta->frequency_hz = attr->sample_freq <= UINT32_MAX ? (uint32_t)attr->sample_freq : 0;
	else
		meta->period = attr->sample_period;
}

static flame_type type_of(struct plugin *p, const struct plugin_sample *s)
{
	bool has_period = s->attr->sample_type & PERF_SAMPLE_PERIOD || (!s->attr->freq && s->attr->sample_period);
	const char *name = s->event ? s->event : "event";

	if (p->last_event && p->last_has_period == has_period && !strcmp(p->last_event, name))
		return p->last_type;
	free(p->last_event);
	p->last_event = strdup(name);
	p->last_has_period = has_period;
	p->last_type = flame_event_type(p->profile, span(name), has_period);
	note_rate(p, s->attr);
	return p->last_type;
}

static bool is_outside(struct plugin *p, const struct plugin_sample *s)
{
	if (!(s->attr->sample_type & PERF_SAMPLE_TIME))
		return false;
	if (!p->has_start)
		p->start = s->time;
	p->has_start = true;
	return flame_is_outside_time(&p->tool.read, (int64_t)(s->time - p->start));
}

int plugin_sample(struct plugin *p, const struct plugin_sample *s)
{
	struct flame_sample sample = { .value = (int64_t)s->period };

	if (p->failed || is_outside(p, s))
		return p->failed;
	if (s->attr->sample_type & PERF_SAMPLE_TIME)
		flame_meta_time(p->profile, s->time);
	p->nr_samples++;
	if (s->period > INT64_MAX)
		return p->failed = FLAME_EOVERFLOW;
	if (!s->period)
		sample.value = 1;
	sample.type = type_of(p, s);
	p->failed = stack_of(p, s, root_of(p, s), &sample.stack);
	sample.task = p->last_task;
	if (!p->failed)
		p->failed = flame_sample_add(p->profile, &sample);
	if (!p->failed)
		p->failed = flame_profile_error(p->profile);
	return p->failed;
}

void plugin_samples_report(struct plugin *p)
{
	if (p->nr_not_found)
		flame_diag_add(&p->diag, FLAME_WARNING,
			       "this perf does not keep copies of stacks where they can be found: %llu samples have no user's part; fgconv perf.data reads it",
			       (unsigned long long)p->nr_not_found);
	if (p->nr_not_unwound)
		flame_diag_add(&p->diag, FLAME_WARNING, flame_unwind_available() ? "%llu of %llu user stacks could not be unwound" :
			       "this build has no libdw: %llu of %llu user stacks are not unwound",
			       (unsigned long long)p->nr_not_unwound, (unsigned long long)p->nr_copies);
	if (p->nr_cut)
		flame_diag_add(&p->diag, FLAME_WARNING,
			       "%llu of %llu copies of stacks were too short: their callers are missing, [truncated]; record more with --call-graph dwarf,65528",
			       (unsigned long long)p->nr_cut, (unsigned long long)p->nr_copies);
	for (size_t i = 0; i < 2; i++) {
		/* What perf itself has names for is not missing. */
		if (p->symbols[i].s && p->nr_unnamed)
			flame_symbols_report(p->symbols[i].s, &p->diag);
	}
}

void plugin_samples_release(struct plugin *p)
{
	flame_native_namer_release(&p->namer);
	flame_cache_release(&p->chains);
	flame_located_symbols_release(&p->symbols[0]);
	flame_located_symbols_release(&p->symbols[1]);
	flame_located_frames_release(&p->located);
	free(p->known);
	free(p->key);
	free(p->leaf_first);
	free(p->path);
	free(p->path_stacks);
	free(p->last_event);
}

// SPDX-License-Identifier: MIT
/*
 * samples.c - events that hold a stack: perf's callchains, LTTng's callstack contexts, or an array of
 * addresses of one's own. One event is one sample.
 *
 * Addresses come leaf first. perf puts markers between parts (the last 4095 numbers: kernel, user)
 * and leaves zeros; LTTng has at most 128, and an address of all ones behind the last tells that
 * there was more.
 */
#include <string.h>

#include "../../core/table.h"
#include "sink.h"

#define MARKERS ((uint64_t)-4095)	/* perf: this and above are no addresses */
#define MARKER_KERNEL ((uint64_t)-128)
#define MARKER_USER ((uint64_t)-512)
#define TRUNCATED UINT64_MAX		/* LTTng */

/*
 * A chain is kept as it came, markers and all, behind one word that says whose it is: equal words
 * are equal stacks, and only the first of them is looked into.
 */
static bool reserve(struct sink *s, size_t nr)
{
	if (nr <= s->room_chain || array_reserve((void **)&s->chain, &s->room_chain, nr, sizeof(*s->chain)))
		return true;
	sink_fail(s, FLAME_ENOMEM);
	return false;
}

static bool has_address(const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (words[i] && words[i] < MARKERS)
			return true;
	}
	return false;
}

/* Add the array @f to the @nr words there are. Return: how many there are then. */
static size_t read_chain(struct sink *s, size_t nr, const struct event *ev, const struct field *f,
			 bool *truncated)
{
	const bt_field *array = f->scope ? field_borrow(ev->event, f) : NULL;
	uint64_t len = array ? bt_field_array_get_length(array) : 0;
	uint64_t *to;

	if (len > BT2_CHAIN_MAX) {
		len = BT2_CHAIN_MAX;
		*truncated = true;
	}
	if (!len || !reserve(s, nr + len))
		return nr;
	to = s->chain + nr;
	for (uint64_t i = 0; i < len; i++) {
		const bt_field *item = bt_field_array_borrow_element_field_by_index_const(array, i);

		to[i] = f->signed_items ? (uint64_t)bt_field_integer_signed_get_value(item) :
					  bt_field_integer_unsigned_get_value(item);
	}
	if (to[len - 1] == TRUNCATED && !ev->class->perf_chain)
		*truncated = true;
	return nr + len;
}

/*
 * Set the flags of each address: the marker before it says in which part it is, and all but a
 * part's first are callers.
 */
static void find_flags(const uint64_t *words, size_t nr, uint8_t *flags)
{
	unsigned int part = 0, caller = 0;
	bool marked = false;

	for (size_t i = 0; i < nr; i++) {
		if (words[i] >= MARKERS) {
			part = words[i] == MARKER_KERNEL ? CODE_KERNEL : 0;
			caller = 0;
			marked = true;
		} else if (words[i]) {
			flags[i] = (uint8_t)((marked ? part : words[i] >> 63 ? CODE_KERNEL : 0) | caller);
			caller = CODE_CALLER;
		}
	}
}

static flame_stack push_chain(struct sink *s, size_t nr, struct thread *t, flame_stack root, bool truncated)
{
	const uint64_t *words = s->chain + 1;
	uint8_t flags[2 * BT2_CHAIN_MAX + 2];
	flame_stack stack = root;

	find_flags(words, nr - 1, flags);
	if (truncated)
		stack = flame_stack_push(s->raw, stack, text_frame(s, "[truncated]", 11, FLAME_MARKER));
	for (size_t i = nr - 1; i--; ) {
		if (words[i] && words[i] < MARKERS)
			stack = flame_stack_push(s->raw, stack, code_frame(s, t->process->image, words[i], flags[i]));
	}
	return stack;
}

/* @nr: words with the first, which is set here. */
static flame_stack known_stack(struct sink *s, size_t nr, struct thread *t, flame_stack root, bool truncated)
{
	size_t len = nr * sizeof(*s->chain);
	uint32_t stack;
	uint64_t hash;

	/* The row of the root says which root, and images are told apart by their numbers. */
	s->chain[0] = (uint64_t)root << 32 | t->process->image->id << 1 | truncated;
	hash = hash_bytes((const char *)s->chain, len);
	if (flame_cache_get(&s->chains, (const char *)s->chain, len, hash, &stack))
		return stack;
	stack = push_chain(s, nr, t, root, truncated);
	if (stack)
		flame_cache_put(&s->chains, (const char *)s->chain, len, hash, stack);
	return stack;
}

flame_stack sample_stack(struct sink *s, const struct event *ev, struct thread *t)
{
	const struct event_class *c = ev->class;
	flame_stack stack, root = thread_root(s, t, ev);
	bool truncated = false;
	size_t nr = 1;
	uint64_t ip;

	if (!reserve(s, 4))
		return 0;
	if (c->kernel_chain.scope) {
		s->chain[nr++] = MARKER_KERNEL;
		nr = read_chain(s, nr, ev, &c->kernel_chain, &truncated);
		if (!reserve(s, nr + 1))
			return 0;
		s->chain[nr++] = MARKER_USER;
	}
	nr = read_chain(s, nr, ev, &c->user_chain, &truncated);
	if (c->perf_chain && !has_address(s->chain + 1, nr - 1)) {
		s->counts.empty_chains += c->user_chain.scope != SCOPE_NONE;
		nr = 1;
		if (field_number(ev->event, &c->address, &ip) && ip)
			s->chain[nr++] = ip;
	}
	s->counts.truncated += truncated;
	stack = known_stack(s, nr, t, root, truncated);
	if (stack)
		return stack;
	return flame_stack_push(s->raw, 0, text_frame(s, "[no stack]", 10, FLAME_MARKER));
}

void sample_event(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	uint64_t weight = 1;

	if (!t || !t->wanted || !in_window(s, ev->time))
		return;
	if (!field_number(ev->event, &ev->class->weight, &weight))
		weight = 1;
	if (weight > INT64_MAX) {
		sink_fail(s, FLAME_EOVERFLOW);
		return;
	}
	series_add(s, ev->class->series, sample_stack(s, ev, t), (int64_t)weight, 1);
}

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
 * are equal stacks, and only the first of them is looked into. Samples wait in s->pending, their
 * words in s->chain, until there are several to look for at once.
 */
static bool reserve(struct sink *s, size_t nr)
{
	if (s->nr_chain + nr <= s->room_chain ||
	    array_reserve((void **)&s->chain, &s->room_chain, s->nr_chain + nr, sizeof(*s->chain)))
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

static void read_items(uint64_t *to, const bt_field *array, uint64_t len, bool have_signs)
{
	if (have_signs) {
		for (uint64_t i = 0; i < len; i++)
			to[i] = (uint64_t)bt_field_integer_signed_get_value(
				bt_field_array_borrow_element_field_by_index_const(array, i));
	} else {
		for (uint64_t i = 0; i < len; i++)
			to[i] = bt_field_integer_unsigned_get_value(
				bt_field_array_borrow_element_field_by_index_const(array, i));
	}
}

/* Add the array @f to the @nr words there are of this chain. Return: how many there are then. */
static size_t read_chain(struct sink *s, size_t nr, const struct event *ev, const struct field *f,
			 bool *truncated)
{
	const bt_field *array = f->scope ? field_content(field_borrow(ev->event, f), f) : NULL;
	uint64_t len = array ? bt_field_array_get_length(array) : 0;
	uint64_t *to;

	if (len > BT2_CHAIN_MAX) {
		len = BT2_CHAIN_MAX;
		*truncated = true;
	}
	/* One more, for a marker or the address itself. */
	if (!reserve(s, nr + len + 1) || !len)
		return nr;
	to = s->chain + s->nr_chain + nr;
	read_items(to, array, len, f->signed_items);
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

static flame_stack push_chain(struct sink *s, const struct pending *p)
{
	const uint64_t *words = s->chain + p->at + 1;
	uint8_t flags[2 * BT2_CHAIN_MAX + 2];
	flame_stack stack = p->root;

	memset(flags, 0, p->nr);
	find_flags(words, p->nr - 1, flags);
	if (p->truncated)
		stack = flame_stack_push(s->raw, stack, text_frame(s, "[truncated]", 11, FLAME_MARKER));
	for (size_t i = p->nr - 1; i--; ) {
		if (words[i] && words[i] < MARKERS)
			stack = flame_stack_push(s->raw, stack, code_frame(s, p->image, words[i], flags[i]));
	}
	return stack;
}

/* Read the event's chains to s->chain. */
static void read_sample(struct sink *s, const struct event *ev, struct thread *t, struct pending *p)
{
	const struct event_class *c = ev->class;
	uint64_t *words, ip;
	size_t nr = 1;

	*p = (struct pending){ .image = t->image, .at = s->nr_chain, .root = thread_root(s, t, ev) };
	if (c->kernel_chain.scope) {
		if (!reserve(s, 2))
			return;
		s->chain[p->at + nr++] = MARKER_KERNEL;
		nr = read_chain(s, nr, ev, &c->kernel_chain, &p->truncated);
		if (s->error)
			return;
		s->chain[p->at + nr++] = MARKER_USER;
	}
	nr = read_chain(s, nr, ev, &c->user_chain, &p->truncated);
	if (s->error)
		return;
	words = s->chain + p->at;
	if (c->perf_chain && !has_address(words + 1, nr - 1)) {
		s->counts.empty_chains += c->user_chain.scope != SCOPE_NONE;
		nr = 1;
		if (field_number(ev->event, &c->address, &ip) && ip)
			words[nr++] = ip;
	}
	s->counts.truncated += p->truncated;
	/* The row of the root says which root, and images are told apart by their numbers. */
	words[0] = (uint64_t)p->root << 32 | p->image->id << 1 | p->truncated;
	p->nr = nr;
	p->hash = hash_bytes((const char *)words, nr * sizeof(*words));
}

static flame_stack find_stack(struct sink *s, const struct pending *p)
{
	const char *key = (const char *)(s->chain + p->at);
	size_t len = p->nr * sizeof(*s->chain);
	uint32_t stack;

	if (flame_cache_get(&s->chains, key, len, p->hash, &stack))
		return stack;
	stack = push_chain(s, p);
	if (!stack)
		return flame_stack_push(s->raw, 0, text_frame(s, "[no stack]", 10, FLAME_MARKER));
	flame_cache_put(&s->chains, key, len, p->hash, stack);
	return stack;
}

flame_stack sample_stack(struct sink *s, const struct event *ev, struct thread *t)
{
	struct pending p;

	read_sample(s, ev, t, &p);
	return p.nr ? find_stack(s, &p) : 0;
}

void samples_settle(struct sink *s)
{
	for (size_t i = 0; i < s->nr_pending; i++) {
		const struct pending *p = &s->pending[i];
		uint32_t stack;

		if (flame_cache_guess(&s->chains, p->hash, &stack) && stack < p->series->room)
			__builtin_prefetch(&p->series->tallies[stack], 1);
	}
	for (size_t i = 0; i < s->nr_pending; i++) {
		const struct pending *p = &s->pending[i];

		series_add(s, p->series, find_stack(s, p), p->weight, 1);
	}
	s->nr_pending = 0;
	s->nr_chain = 0;
}

void sample_event(struct sink *s, const struct event *ev)
{
	struct pending *p = &s->pending[s->nr_pending];
	struct thread *t = thread_of(s, ev);
	uint64_t weight = 1;

	if (!t || !t->wanted || !in_window(s, ev->time))
		return;
	if (!field_number(ev->event, &ev->class->weight, &weight))
		weight = 1;
	if (weight > INT64_MAX && ev->class->weight.content == SHAPE_SIGNED) {
		s->counts.negative++;
		return;
	}
	if (weight > INT64_MAX) {
		sink_fail(s, FLAME_EOVERFLOW);
		return;
	}
	read_sample(s, ev, t, p);
	if (!p->nr)
		return;
	p->series = ev->class->series;
	p->weight = (int64_t)weight;
	flame_cache_prefetch(&s->chains, p->hash);
	s->nr_chain += p->nr;
	if (++s->nr_pending == NR_PENDING)
		samples_settle(s);
}

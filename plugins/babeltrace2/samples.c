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
#define TRUNCATED UINT64_MAX		/* LTTng */

/* A part of a chain as it is kept: addresses, each with its flags in the word behind it. */
struct chain {
	size_t nr;
	bool truncated;
};

static bool chain_add(struct sink *s, struct chain *c, uint64_t address, unsigned int flags)
{
	if (c->nr >= BT2_CHAIN_MAX) {
		c->truncated = true;
		return false;
	}
	if (2 * c->nr + 2 > s->room_chain &&
	    !array_reserve((void **)&s->chain, &s->room_chain, 2 * c->nr + 2, sizeof(*s->chain))) {
		sink_fail(s, FLAME_ENOMEM);
		return false;
	}
	s->chain[2 * c->nr] = address;
	s->chain[2 * c->nr + 1] = flags;
	c->nr++;
	return true;
}

static void read_chain(struct sink *s, struct chain *c, const struct event *ev, const struct field *f, unsigned int flags)
{
	const bt_field *array = f->scope ? field_borrow(ev->event, f) : NULL;
	uint64_t nr = array ? bt_field_array_get_length(array) : 0;
	bool first = true, marked = flags & CODE_KERNEL;

	for (uint64_t i = 0; i < nr; i++) {
		const bt_field *item = bt_field_array_borrow_element_field_by_index_const(array, i);
		uint64_t a = f->signed_items ? (uint64_t)bt_field_integer_signed_get_value(item) :
					       bt_field_integer_unsigned_get_value(item);

		if (a == TRUNCATED && !ev->class->perf_chain) {
			c->truncated = true;
		} else if (a >= MARKERS) {
			flags = a == MARKER_KERNEL ? CODE_KERNEL : 0;
			first = marked = true;
		} else if (a) {
			unsigned int kernel = marked ? flags & CODE_KERNEL : a >> 63 ? CODE_KERNEL : 0;

			if (!chain_add(s, c, a, kernel | (first ? 0 : CODE_CALLER)))
				return;
			first = false;
		}
	}
}

static flame_stack push_chain(struct sink *s, const struct chain *c, struct thread *t, flame_stack root)
{
	const struct image *image = t->process->image;
	flame_stack stack = root;

	if (c->truncated)
		stack = flame_stack_push(s->raw, stack, text_frame(s, "[truncated]", 11, FLAME_MARKER));
	for (size_t i = c->nr; i--; )
		stack = flame_stack_push(s->raw, stack, code_frame(s, image, s->chain[2 * i], (unsigned int)s->chain[2 * i + 1]));
	return stack;
}

/* Equal chains of a process are pushed once. The first word tells whose chain it is. */
static flame_stack known_stack(struct sink *s, const struct chain *c, struct thread *t, flame_stack root)
{
	uint64_t image = t->process->image->id;
	size_t len = 2 * c->nr * sizeof(*s->chain);
	uint32_t stack;
	uint64_t hash;

	if (!chain_add(s, &(struct chain){ .nr = c->nr }, image << 1 | c->truncated, root))
		return push_chain(s, c, t, root);
	len += 2 * sizeof(*s->chain);
	hash = hash_bytes((const char *)s->chain, len);
	if (flame_cache_get(&s->chains, (const char *)s->chain, len, hash, &stack))
		return stack;
	stack = push_chain(s, c, t, root);
	if (stack)
		flame_cache_put(&s->chains, (const char *)s->chain, len, hash, stack);
	return stack;
}

flame_stack sample_stack(struct sink *s, const struct event *ev, struct thread *t)
{
	struct chain c = { 0 };
	flame_stack stack, root = thread_root(s, t, ev);
	uint64_t ip;

	read_chain(s, &c, ev, &ev->class->kernel_chain, CODE_KERNEL);
	read_chain(s, &c, ev, &ev->class->user_chain, 0);
	if (!c.nr && ev->class->perf_chain) {
		s->counts.empty_chains += ev->class->user_chain.scope != SCOPE_NONE;
		if (field_number(ev->event, &ev->class->address, &ip) && ip)
			chain_add(s, &c, ip, ip >> 63 ? CODE_KERNEL : 0);
	}
	s->counts.truncated += c.truncated;
	stack = known_stack(s, &c, t, root);
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

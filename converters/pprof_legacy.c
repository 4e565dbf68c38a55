/* SPDX-License-Identifier: MIT */
/*
 * pprof_legacy.c - gperftools' CPU profiles, and what all formats before profile.proto share: stacks
 * of addresses, with the memory map behind them.
 *
 * A CPU profile is made of words of 4 or 8 bytes in either order:
 *
 *     0 3 0 PERIOD_US 0		the header
 *     COUNT N ADDRESS * N		a stack, the leaf first; many of them
 *     0 1 0				the end
 *     00400000-00401000 r-xp 00000000 00:00 1234  /opt/work	text from here on
 *
 * `google-pprof --raw` writes the same behind the symbols that it has found:
 *
 *     --- symbol
 *     binary=/opt/work
 *     0x00000000004004f2 caller--inlined
 *     ---
 *     --- profile
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/meta.h"
#include "../core/span.h"
#include "../core/table.h"
#include "pprof.h"

#define HEADER_WORDS 5
#define US 1000			/* ns */
#define SIMILAR_SAMPLES 32	/* one in so many stacks may differ in the signal handler's frame */

struct pprof_stack {
	size_t first, nr;	/* in addresses */
	int64_t values[4];
};

/* Text is kept as offsets: it grows. */
struct pprof_map {
	uint64_t start, limit;
	size_t path, path_len;
};

struct pprof_symbol {
	uint64_t address;
	size_t name, name_len;
};

/* How words are read. */
struct words {
	size_t size;
	bool big_endian;
};

/* Stacks. */

bool pprof_legacy_address(struct pprof_legacy *l, uint64_t address)
{
	if (!array_reserve((void **)&l->addresses, &l->room_addresses, l->nr_addresses + 1, sizeof(*l->addresses)))
		return false;
	l->addresses[l->nr_addresses++] = address;
	return true;
}

bool pprof_legacy_add(struct pprof_legacy *l, size_t first, const int64_t *values)
{
	struct pprof_stack *stack;

	if (!array_reserve((void **)&l->stacks, &l->room_stacks, l->nr_stacks + 1, sizeof(*l->stacks)))
		return false;
	stack = &l->stacks[l->nr_stacks++];
	*stack = (struct pprof_stack){ .first = first, .nr = l->nr_addresses - first };
	memcpy(stack->values, values, l->nr_types * sizeof(*values));
	return true;
}

/* The memory map. */

static bool keep_text(struct pprof_legacy *l, struct flame_span s, size_t *at)
{
	if (!array_reserve((void **)&l->text, &l->room_text, l->nr_text + s.len + 1, 1))
		return false;
	memcpy(l->text + l->nr_text, s.s, s.len);
	*at = l->nr_text;
	l->nr_text += s.len;
	return true;
}

/* Hexadecimal digits at the start of @s are cut off. Return: false where there are none, or too many. */
static bool cut_hex(struct flame_span *s, uint64_t *value)
{
	size_t i = 0;

	*value = 0;
	for (; i < s->len; i++) {
		char c = s->s[i];
		int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

		if (digit < 0)
			break;
		if (*value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)digit;
	}
	*s = (struct flame_span){ s->s + i, s->len - i };
	return i;
}

/*
 * "start-limit perms offset device inode path", as in /proc/PID/maps, or "start-limit: path". A path
 * may hold blanks. Other lines, such as "build=…", are not of interest.
 */
static bool read_map(struct pprof_legacy *l, struct flame_span line)
{
	struct pprof_map map;
	struct flame_span rest = line, word;

	if (!cut_hex(&rest, &map.start) || !rest.len || *rest.s != '-')
		return true;
	rest.s++;
	rest.len--;
	if (!cut_hex(&rest, &map.limit) || map.limit <= map.start)
		return true;
	if (rest.len && *rest.s == ':') {
		rest.s++;
		rest.len--;
	} else {
		for (int i = 0; i < 4; i++)
			span_word(&rest, &word);
	}
	while (rest.len && (*rest.s == ' ' || *rest.s == '\t')) {
		rest.s++;
		rest.len--;
	}
	if (!keep_text(l, rest, &map.path) ||
	    !array_reserve((void **)&l->maps, &l->room_maps, l->nr_maps + 1, sizeof(*l->maps)))
		return false;
	map.path_len = rest.len;
	l->maps[l->nr_maps++] = map;
	return true;
}

static int compare_maps(const void *a, const void *b)
{
	const struct pprof_map *x = a, *y = b;

	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	return (x->limit > y->limit) - (x->limit < y->limit);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct pprof_symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Return: the file that is mapped at @address. */
static struct flame_span find_module(const struct pprof_legacy *l, uint64_t address)
{
	size_t low = 0, high = l->nr_maps;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->maps[mid].limit <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == l->nr_maps || l->maps[low].start > address || !l->maps[low].path_len)
		return (struct flame_span){ "", 0 };
	return (struct flame_span){ l->text + l->maps[low].path, l->maps[low].path_len };
}

static struct flame_span find_symbol(const struct pprof_legacy *l, uint64_t address)
{
	struct pprof_symbol key = { .address = address }, *found = NULL;

	if (l->nr_symbols)
		found = bsearch(&key, l->symbols, l->nr_symbols, sizeof(key), compare_symbols);
	return found ? (struct flame_span){ l->text + found->name, found->name_len } : (struct flame_span){ "", 0 };
}

/* Into the profile. */

/* Types come in pairs of what is measured and how often, but for a single one, which is a count. */
int pprof_legacy_sample(struct flame_reader *rd, const struct pprof_legacy *l, flame_stack stack,
			const int64_t *values)
{
	int err = 0;

	for (size_t i = 0; !err && i < l->nr_types; i++) {
		int64_t count = l->nr_types > 1 ? values[i | 1] : values[i];
		const struct flame_sample sample = {
			.stack = stack, .type = l->types[i], .value = values[i], .nr_samples = count > 0 ? (uint64_t)count : 1,
		};

		if (sample.value)
			err = flame_sample_add(rd->profile, &sample);
	}
	return err;
}

static int push_place(struct flame_reader *rd, struct pprof_legacy *l, const struct pprof_place *place,
		      flame_stack *stack)
{
	flame_frame frame = pprof_frame(rd, &l->scratch, place);

	if (!frame)
		return FLAME_ENOMEM;
	*stack = flame_stack_push(rd->profile, *stack, frame);
	return 0;
}

/* One address: what was inlined there stands behind it, "caller--inlined--leaf". */
static int push_address(struct flame_reader *rd, struct pprof_legacy *l, uint64_t address, flame_stack *stack)
{
	struct pprof_place place = PPROF_NOWHERE;
	struct flame_span names = find_symbol(l, address);
	int err;

	place.address = address;
	place.module = find_module(l, address);
	do {
		const char *end = memmem(names.s, names.len, "--", 2);

		place.name = (struct flame_span){ names.s, end ? (size_t)(end - names.s) : names.len };
		err = push_place(rd, l, &place, stack);
		names = end ? (struct flame_span){ end + 2, names.len - place.name.len - 2 } : (struct flame_span){ "", 0 };
		place.kind = FLAME_INLINED;
	} while (!err && names.len);
	return err;
}

static int add_stack(struct flame_reader *rd, struct pprof_legacy *l, const struct pprof_stack *s)
{
	flame_stack stack = 0;
	int err = s->nr ? 0 : push_place(rd, l, &PPROF_NOWHERE, &stack);

	for (size_t i = s->nr; !err && i-- > 0;)
		err = push_address(rd, l, l->addresses[s->first + i], &stack);
	return err ? err : pprof_legacy_sample(rd, l, stack, s->values);
}

/* Another profile behind the memory map: its stacks belong to another map, so they are not used. */
static bool is_next_profile(struct flame_span line)
{
	return span_starts(line, "heap profile:") || (line.len >= 8 && !memcmp(line.s, "\0\0\0\0", 4));
}

/* All that write these end each line: a path without it may be half a path. */
static void check_end(struct flame_reader *rd)
{
	if (!rd->diag->damaged && flame_input_ends_in_line(rd->input))
		flame_damaged(rd, "the last line does not end: the profile is cut off; what is there is used");
}

int pprof_legacy_finish(struct flame_reader *rd, struct pprof_legacy *l, bool is_text)
{
	struct flame_span line;
	int err = 0;

	while (flame_line(rd->input, &line)) {
		is_text = true;
		if (is_next_profile(line)) {
			flame_damaged(rd, "another profile follows; only the first is used: give them one by one");
			break;
		}
		while (line.len && (*line.s == ' ' || *line.s == '\t')) {
			line.s++;
			line.len--;
		}
		if (!read_map(l, line))
			return FLAME_ENOMEM;
	}
	if (is_text)
		check_end(rd);
	if (l->nr_maps)
		qsort(l->maps, l->nr_maps, sizeof(*l->maps), compare_maps);
	if (l->nr_symbols)
		qsort(l->symbols, l->nr_symbols, sizeof(*l->symbols), compare_symbols);
	for (size_t i = 0; !err && i < l->nr_stacks; i++)
		err = add_stack(rd, l, &l->stacks[i]);
	return err;
}

void pprof_legacy_release(struct pprof_legacy *l)
{
	free(l->stacks);
	free(l->addresses);
	free(l->maps);
	free(l->symbols);
	free(l->text);
	free(l->frames);
	free(l->scratch.bytes);
}

/* CPU profiles. */

static uint64_t get_word(const struct words *w, const char *at)
{
	uint64_t value = 0;

	for (size_t i = 0; i < w->size; i++)
		value = value << 8 | (unsigned char)at[w->big_endian ? i : w->size - 1 - i];
	return value;
}

/* Return: true where @head begins with a header in words of this kind; @period in us. */
static bool is_header(const struct words *w, struct flame_span head, uint64_t *period)
{
	static const uint64_t want[HEADER_WORDS] = { 0, 3, 0, 0, 0 };

	if (head.len < w->size * HEADER_WORDS)
		return false;
	for (size_t i = 0; i < HEADER_WORDS; i++) {
		if (i == 3)
			*period = get_word(w, head.s + i * w->size);
		else if (get_word(w, head.s + i * w->size) != want[i])
			return false;
	}
	return *period <= INT64_MAX / US;
}

static bool find_words(struct flame_span head, struct words *w, uint64_t *period)
{
	static const struct words kinds[] = { { 8, false }, { 8, true }, { 4, false }, { 4, true } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		*w = kinds[i];
		if (is_header(w, head, period))
			return true;
	}
	return false;
}

static int cut_off(struct flame_reader *rd, const struct pprof_legacy *l)
{
	rd->diag->damaged = true;
	if (!l->nr_stacks)
		return flame_fail(rd, FLAME_EDAMAGED, "the profile ends in the middle of its first stack, at byte %llu",
				  (unsigned long long)flame_input_offset(rd->input));
	if (!rd->input->error)
		flame_diag_add(rd->diag, FLAME_WARNING, "the profile ends in the middle, at byte %llu; what came before is used",
			       (unsigned long long)flame_input_offset(rd->input));
	return 1;
}

/*
 * Addresses of callers are where they return to; the one before is in the call. @exact: they are
 * that already. Return: 1 behind the last stack.
 */
static int read_stack(struct flame_reader *rd, struct pprof_legacy *l, const struct words *w, uint64_t period,
		      bool exact)
{
	struct flame_span view = flame_peek(rd->input, 2 * w->size);
	int64_t values[4] = { 0 };
	size_t first = l->nr_addresses;
	uint64_t count, nr;

	/* --raw writes no end. */
	if (!view.len && exact && !rd->input->error)
		return 1;
	if (view.len < 2 * w->size)
		return cut_off(rd, l);
	count = get_word(w, view.s);
	nr = get_word(w, view.s + w->size);
	if (nr > FLAME_VIEW_MAX / w->size - 2 || count > INT64_MAX)
		return cut_off(rd, l);
	view = flame_peek(rd->input, (size_t)(2 + nr) * w->size);
	if (view.len < (2 + nr) * w->size)
		return cut_off(rd, l);
	flame_take(rd->input, (size_t)(2 + nr) * w->size);
	if (!count && nr == 1 && !get_word(w, view.s + 2 * w->size))
		return 1;
	for (size_t i = 0; i < nr; i++) {
		uint64_t address = get_word(w, view.s + (2 + i) * w->size);

		if (!pprof_legacy_address(l, address - (i && address && !exact)))
			return FLAME_ENOMEM;
	}
	values[l->nr_types - 1] = (int64_t)count;
	if (period && __builtin_mul_overflow((int64_t)count, (int64_t)period * US, &values[0]))
		return flame_fail(rd, FLAME_EOVERFLOW, "a count of samples times the period does not fit 64 bits");
	return pprof_legacy_add(l, first, values) ? 0 : FLAME_ENOMEM;
}

static void drop_second(struct pprof_legacy *l, struct pprof_stack *s)
{
	l->addresses[s->first + 1] = l->addresses[s->first];
	s->first++;
	s->nr--;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Return: true with the address that is second in nearly all stacks: the frame of the signal handler. */
static bool find_handler(const struct pprof_legacy *l, uint64_t *address)
{
	uint64_t *seconds = malloc(l->nr_stacks * sizeof(*seconds));
	size_t nr = 0, run = 0, want = l->nr_stacks - l->nr_stacks / SIMILAR_SAMPLES;
	bool found = false;

	for (size_t i = 0; seconds && i < l->nr_stacks; i++) {
		if (l->stacks[i].nr > 1)
			seconds[nr++] = l->addresses[l->stacks[i].first + 1];
	}
	if (nr)
		qsort(seconds, nr, sizeof(*seconds), compare_addresses);
	for (size_t i = 0; !found && i < nr; i++) {
		run = i && seconds[i] == seconds[i - 1] ? run + 1 : 1;
		found = run >= want;
		*address = seconds[i];
	}
	free(seconds);
	return found;
}

/*
 * The profiler runs in a signal handler and may find its own frames, or the leaf twice: in the
 * registers and by unwinding.
 */
static void clean_stacks(struct pprof_legacy *l)
{
	uint64_t handler;

	for (int i = 0; i < 2 && l->nr_stacks && find_handler(l, &handler); i++) {
		for (size_t k = 0; k < l->nr_stacks; k++) {
			struct pprof_stack *s = &l->stacks[k];

			if (s->nr > 1 && l->addresses[s->first + 1] == handler)
				drop_second(l, s);
		}
	}
	for (size_t k = 0; k < l->nr_stacks; k++) {
		struct pprof_stack *s = &l->stacks[k];

		if (s->nr > 1 && l->addresses[s->first] == l->addresses[s->first + 1] + 1)
			drop_second(l, s);
	}
}

/* "0x00004004f2 caller--inlined" */
static bool read_symbol(struct pprof_legacy *l, struct flame_span line)
{
	struct flame_span rest = { line.s + 2, line.len - 2 };
	struct pprof_symbol symbol;

	if (!cut_hex(&rest, &symbol.address) || rest.len < 2 || *rest.s != ' ')
		return true;
	symbol.name_len = rest.len - 1;
	if (!keep_text(l, (struct flame_span){ rest.s + 1, rest.len - 1 }, &symbol.name) ||
	    !array_reserve((void **)&l->symbols, &l->room_symbols, l->nr_symbols + 1, sizeof(*l->symbols)))
		return false;
	l->symbols[l->nr_symbols++] = symbol;
	return true;
}

/* Up to and with "--- profile". */
static int read_symbols(struct flame_reader *rd, struct pprof_legacy *l)
{
	struct flame_span line;

	while (flame_line(rd->input, &line)) {
		if (span_equals(line, "--- profile"))
			return 0;
		if (span_starts(line, "0x") && !read_symbol(l, line))
			return FLAME_ENOMEM;
		if (span_starts(line, "--- ") && !span_starts(line, "--- symbol"))
			break;
	}
	return flame_fail(rd, FLAME_EFORMAT,
			  "behind the symbols there is no CPU profile (--- profile); other sections cannot be read");
}

int pprof_legacy_read(struct flame_reader *rd, struct pprof_legacy *l)
{
	bool raw = span_starts(flame_peek(rd->input, 10), "--- symbol");
	int err = raw ? read_symbols(rd, l) : 0;
	struct words w;
	uint64_t period;

	if (err)
		return err;
	if (!find_words(flame_peek(rd->input, HEADER_WORDS * 8), &w, &period))
		return flame_fail(rd, FLAME_EFORMAT, "there is no header of a CPU profile");
	flame_take(rd->input, HEADER_WORDS * w.size);
	rd->input->binary = true;
	/* --raw writes 1 for a period that it does not know. */
	if (raw)
		period = 0;
	flame_meta_interval(rd->profile, (double)period * US);
	if (period)
		l->types[l->nr_types++] = pprof_type(rd, PPROF_SPAN("cpu"), PPROF_SPAN("nanoseconds"));
	l->types[l->nr_types++] = pprof_type(rd, PPROF_SPAN("samples"), PPROF_SPAN("count"));
	while (!err)
		err = read_stack(rd, l, &w, period, raw);
	if (err < 0)
		return err;
	if (!raw)
		clean_stacks(l);
	return pprof_legacy_finish(rd, l, false);
}

int pprof_legacy_probe(struct flame_span head)
{
	struct words w;
	uint64_t period;

	if (span_starts(head, "--- symbol\n"))
		return FLAME_SCORE_MAGIC;
	return find_words(head, &w, &period) && period ? FLAME_SCORE_RECORD + 20 : FLAME_SCORE_NOT;
}

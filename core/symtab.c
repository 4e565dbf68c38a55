/* SPDX-License-Identifier: MIT */
/*
 * symtab.c - symbols by address.
 */
#include "symtab.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"

/* More of two names is not compared: hostile tables could make it the square of the file's size. */
#define COMPARED_NAME 256

int flame_symtab_add(struct flame_symtab *table, const struct flame_symtab_entry *entry, uint64_t size, uint64_t limit)
{
	struct flame_symtab_entry *e;

	if (!entry->room || !entry->name[0] || table->nr_added >= FLAME_SYMTAB_MAX)
		return 0;
	if (!array_reserve((void **)&table->entries, &table->room, table->nr + 1, sizeof(*e)))
		return FLAME_ENOMEM;
	e = &table->entries[table->nr++];
	*e = *entry;
	e->order = table->nr_added++;
	e->rank &= (uint8_t)~FLAME_SYMBOL_SIZED;
	e->end = limit;
	if (size) {
		e->rank |= FLAME_SYMBOL_SIZED;
		e->end = e->start + size < e->start ? UINT64_MAX : e->start + size;
	}
	table->sealed = false;
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct flame_symtab_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Most tables are in order already; that costs less to see than to sort. */
static void sort_entries(struct flame_symtab *table)
{
	size_t i = 1;

	while (i < table->nr && compare_entries(&table->entries[i - 1], &table->entries[i]) < 0)
		i++;
	if (i < table->nr)
		qsort(table->entries, table->nr, sizeof(*table->entries), compare_entries);
}

static size_t underscores(const struct flame_symtab_entry *e)
{
	size_t nr = 0;

	while (nr < e->room && nr < COMPARED_NAME && e->name[nr] == '_')
		nr++;
	return nr;
}

/* Names under which the kernel has a function a second time: for 32-bit programs, before it is relocated, as a table's. */
static bool is_second(const struct flame_symtab_entry *e)
{
	static const char *const starts[] = { "__ia32_sys_", "__pi_", "__x86_indirect_thunk_array" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t len = strlen(starts[i]);

		if (e->kind == FLAME_KERNEL && e->room >= len && !memcmp(e->name, starts[i], len))
			return true;
	}
	return false;
}

/* Return: whether @b, which was added later, is the better of two symbols with the same start. */
static bool is_better(const struct flame_symtab_entry *a, const struct flame_symtab_entry *b)
{
	static const uint8_t bits[] = { FLAME_SYMBOL_SIZED, FLAME_SYMBOL_STRONG, FLAME_SYMBOL_GLOBAL };
	size_t x, y;

	for (size_t i = 0; i < sizeof(bits); i++) {
		if ((a->rank ^ b->rank) & bits[i])
			return b->rank & bits[i];
	}
	if (is_second(a) != is_second(b))
		return is_second(a);
	x = underscores(a);
	y = underscores(b);
	if (x != y)
		return y < x;
	return strnlen(b->name, b->room < COMPARED_NAME ? b->room : COMPARED_NAME) >
	       strnlen(a->name, a->room < COMPARED_NAME ? a->room : COMPARED_NAME);
}

/* One symbol a start, and an end for those that have none. */
static void choose(struct flame_symtab *table)
{
	struct flame_symtab_entry *e = table->entries;
	size_t nr = 0;

	for (size_t i = 0; i < table->nr; i++) {
		if (nr && e[nr - 1].start == e[i].start) {
			if (table->newest || is_better(&e[nr - 1], &e[i]))
				e[nr - 1] = e[i];
			continue;
		}
		e[nr++] = e[i];
	}
	for (size_t i = 0; i + 1 < nr; i++) {
		if (!(e[i].rank & FLAME_SYMBOL_SIZED) && e[i].end > e[i + 1].start)
			e[i].end = e[i + 1].start;
	}
	table->nr = nr;
}

int flame_symtab_seal(struct flame_symtab *table)
{
	struct flame_range *ranges;
	bool ok;

	if (table->sealed)
		return 0;
	flame_segments_release(&table->segments);
	ranges = calloc(table->nr + 1, sizeof(*ranges));
	if (!ranges)
		return FLAME_ENOMEM;
	sort_entries(table);
	choose(table);
	for (size_t i = 0; i < table->nr; i++) {
		const struct flame_symtab_entry *e = &table->entries[i];

		ranges[i] = (struct flame_range){ .start = e->start, .end = e->end, .item = (uint32_t)i,
						  .priority = table->newest ? e->order : (uint32_t)i };
	}
	ok = flame_segments_make(&table->segments, ranges, table->nr);
	free(ranges);
	table->sealed = ok;
	return ok ? 0 : FLAME_ENOMEM;
}

struct flame_symtab_entry *flame_symtab_find(const struct flame_symtab *table, uint64_t address)
{
	uint32_t item = flame_segments_find(&table->segments, address);

	return item == FLAME_SEGMENT_NONE ? NULL : &table->entries[item];
}

void flame_symtab_release(struct flame_symtab *table)
{
	flame_segments_release(&table->segments);
	free(table->entries);
	*table = (struct flame_symtab){ 0 };
}

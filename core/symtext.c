/* SPDX-License-Identifier: MIT */
/*
 * symtext.c - /proc/kallsyms and perf maps.
 */
#include "symtext.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol.h"
#include "table.h"

int flame_symtext_read(struct flame_symtext *text, const char *path)
{
	return flame_symtext_read_from(text, path, 0);
}

int flame_symtext_read_from(struct flame_symtext *text, const char *path, uint64_t offset)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	size_t room = 0;
	struct stat st;
	ssize_t got = 1;

	*text = (struct flame_symtext){ 0 };
	if (fd < 0)
		return FLAME_EIO;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		err = FLAME_EIO;
	}
	if (!err && offset && lseek(fd, (off_t)offset, SEEK_SET) < 0)
		err = FLAME_EIO;
	while (!err && got > 0) {
		/* One more, so that the last line can be ended. */
		if (text->len >= FLAME_SYMTEXT_MAX)
			err = FLAME_EOVERFLOW;
		else if (!array_reserve((void **)&text->text, &room, text->len + 65536 + 1, 1))
			err = FLAME_ENOMEM;
		else
			got = read(fd, text->text + text->len, room - text->len - 1);
		if (!err && got > 0)
			text->len += (size_t)got;
		else if (!err && got < 0)
			err = FLAME_EIO;
	}
	close(fd);
	return err;
}

void flame_symtext_release(struct flame_symtext *text)
{
	free(text->text);
	*text = (struct flame_symtext){ 0 };
}

/* Return: the digit's value, 16 for what is none. */
static unsigned int hex_value(char c)
{
	unsigned int digit = (unsigned int)c - '0', letter = ((unsigned int)c | 32) - 'a';

	return digit < 10 ? digit : letter < 6 ? letter + 10 : 16;
}

/* Take hexadecimal digits, with or without 0x, and the blank behind them. Return: false where there are none. */
static bool take_hex(char **at, const char *end, uint64_t *value)
{
	char *p = *at;
	size_t nr = 0;

	*value = 0;
	if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x')
		p += 2;
	for (; p < end && nr <= 16 && hex_value(*p) < 16; p++, nr++)
		*value = *value << 4 | hex_value(*p);
	if (!nr || nr > 16 || p >= end || *p != ' ')
		return false;
	*at = p + 1;
	return true;
}

/* Return: the next line's end, which becomes a NUL; NULL behind the last. */
static char *line_end(struct flame_symtext *text, char *at)
{
	char *all, *end;

	if (!text->text)
		return NULL;
	all = text->text + text->len;
	if (at >= all)
		return NULL;
	end = memchr(at, '\n', (size_t)(all - at));
	end = end ? end : all;
	*end = '\0';
	return end;
}

static int kallsyms_line(struct flame_symtext *text, char *p, char *end, struct flame_symtab *table)
{
	struct flame_symtab_entry e = { .kind = FLAME_KERNEL };
	char *name, *tab;

	if (!take_hex(&p, end, &e.start) || end - p < 3 || p[1] != ' ' || !strchr("tTwWi", p[0]))
		return 0;
	if (!e.start) {
		text->nr_hidden++;
		return 0;
	}
	e.rank = (p[0] | 32) == 'w' ? 0 : FLAME_SYMBOL_STRONG;
	e.rank |= p[0] == 'T' ? FLAME_SYMBOL_GLOBAL : 0;
	name = p + 2;
	tab = memchr(name, '\t', (size_t)(end - name));
	if (tab)
		*tab = '\0';
	e.name = name;
	if (end - name > FLAME_SYMBOL_NAME_MAX)
		return 0;
	e.room = (uint32_t)(end - name);
	return flame_symtab_add(table, &e, 0, UINT64_MAX);
}

int flame_symtext_kallsyms(struct flame_symtext *text, struct flame_symtab *table)
{
	int err = 0;

	for (char *at = text->text, *end; !err && (end = line_end(text, at)); at = end + 1)
		err = kallsyms_line(text, at, end, table);
	return err;
}

static int perf_map_line(char *p, char *end, struct flame_symtab *table)
{
	struct flame_symtab_entry e = { .kind = FLAME_JIT, .rank = FLAME_SYMBOL_STRONG };
	uint64_t size;

	if (!take_hex(&p, end, &e.start) || !take_hex(&p, end, &size))
		return 0;
	if (end > p && end[-1] == '\r')
		*--end = '\0';
	if (end - p > FLAME_SYMBOL_NAME_MAX)
		return 0;
	e.name = p;
	e.room = (uint32_t)(end - p);
	return flame_symtab_add(table, &e, size, UINT64_MAX);
}

int flame_symtext_perf_map(struct flame_symtext *text, struct flame_symtab *table)
{
	int err = 0;

	/* Code that was collected makes room for other code. */
	table->newest = true;
	for (char *at = text->text, *end; !err && (end = line_end(text, at)); at = end + 1)
		err = perf_map_line(at, end, table);
	return err;
}

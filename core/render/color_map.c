/* SPDX-License-Identifier: MIT */
/*
 * color_map.c - flamegraph.pl's palette.map: colours that stay the same from graph to graph.
 */
#define _GNU_SOURCE	/* memmem(), getline() */
#include "color.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../table.h"

/* A private profile serves as the table of names: its string rows index the colours. */
struct flame_color_map {
	struct flame_profile *names;
	struct entry *entries;	/* by string row */
	size_t nr_entries, room_entries;
	char *key;		/* a name and its suffix */
	size_t room_key;
};

struct entry {
	bool used;
	struct flame_rgb color;
};

/* The row of "name_[k]". Return: 0 without memory, and for an empty name. */
static flame_string key_row(struct flame_color_map *map, struct flame_span name,
			    enum flame_kind kind)
{
	const char *suffix = flame_kind_suffix(kind);
	size_t len = strlen(suffix);

	if (!len)
		return flame_intern(map->names, name.s, name.len);
	if (!array_reserve((void **)&map->key, &map->room_key, name.len + len, 1))
		return 0;
	memcpy(map->key, name.s, name.len);
	memcpy(map->key + name.len, suffix, len);
	return flame_intern(map->names, map->key, name.len + len);
}

static struct entry *entry_at(struct flame_color_map *map, flame_string row)
{
	size_t had = map->nr_entries;

	if (row < had)
		return &map->entries[row];
	if (!array_reserve((void **)&map->entries, &map->room_entries, (size_t)row + 1,
			   sizeof(*map->entries)))
		return NULL;
	map->nr_entries = (size_t)row + 1;
	memset(map->entries + had, 0, (map->nr_entries - had) * sizeof(*map->entries));
	return &map->entries[row];
}

bool flame_color_map_get(struct flame_color_map *map, struct flame_span name, enum flame_kind kind,
			 struct flame_rgb *color)
{
	flame_string row = key_row(map, name, kind);

	if (!row || row >= map->nr_entries || !map->entries[row].used)
		return false;
	*color = map->entries[row].color;
	return true;
}

int flame_color_map_set(struct flame_color_map *map, struct flame_span name, enum flame_kind kind,
			struct flame_rgb color)
{
	flame_string row = key_row(map, name, kind);
	struct entry *e;

	if (!row)
		return name.len ? FLAME_ENOMEM : 0;
	e = entry_at(map, row);
	if (!e)
		return FLAME_ENOMEM;
	*e = (struct entry){ .used = true, .color = color };
	return 0;
}

/* The last "->" separates: names of inlined Java calls hold it too. */
static int read_line(struct flame_color_map *map, char *line, size_t len)
{
	struct flame_span name = { line, 0 };
	unsigned int r, g, b;
	char *arrow = NULL;

	for (char *p = line; (p = memmem(p, (size_t)(line + len - p), "->", 2)); p += 2)
		arrow = p;
	if (!arrow || sscanf(arrow + 2, "rgb(%3u,%3u,%3u)", &r, &g, &b) != 3 || r > 255 ||
	    g > 255 || b > 255)
		return 0;
	name.len = (size_t)(arrow - line);
	return flame_color_map_set(map, name, FLAME_USER,
				   (struct flame_rgb){ (uint8_t)r, (uint8_t)g, (uint8_t)b });
}

static int read_lines(struct flame_color_map *map, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &room, file)) >= 0)
		err = read_line(map, line, (size_t)len);
	free(line);
	/* A directory can be opened. */
	return err ? err : ferror(file) ? FLAME_EIO : 0;
}

struct flame_color_map *flame_color_map_load(const char *path)
{
	struct flame_color_map *map = calloc(1, sizeof(*map));
	FILE *file;
	int err = 0, saved;

	if (!map)
		return NULL;
	map->names = flame_profile_new(NULL);
	file = map->names ? fopen(path, "re") : NULL;
	if (file) {
		err = read_lines(map, file);
		fclose(file);
	} else if (map->names && errno != ENOENT) {
		err = FLAME_EIO;	/* it is there: to start anew would lose it */
	}
	if (map->names && !err)
		return map;
	saved = errno;
	flame_color_map_free(map);
	errno = saved;
	return NULL;
}

void flame_color_map_free(struct flame_color_map *map)
{
	if (!map)
		return;
	flame_profile_free(map->names);
	free(map->entries);
	free(map->key);
	free(map);
}

struct line {
	struct flame_span name;
	struct flame_rgb color;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	size_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
	int order = memcmp(x->name.s, y->name.s, len);

	return order ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

/* A name with a line end in it would read back as two lines. */
static bool is_savable(struct flame_span name)
{
	return !memchr(name.s, '\n', name.len);
}

static size_t sort_lines(const struct flame_color_map *map, struct line *lines)
{
	size_t nr = 0;

	for (size_t i = 0; i < map->nr_entries; i++) {
		struct flame_span name = flame_string_get(map->names, (flame_string)i);

		if (map->entries[i].used && is_savable(name))
			lines[nr++] = (struct line){ name, map->entries[i].color };
	}
	qsort(lines, nr, sizeof(*lines), compare_lines);
	return nr;
}

static int write_lines(const struct line *lines, size_t nr, const char *path)
{
	FILE *file = fopen(path, "we");
	bool failed;

	if (!file)
		return FLAME_EIO;
	for (size_t i = 0; i < nr; i++) {
		struct flame_rgb c = lines[i].color;

		fwrite(lines[i].name.s, 1, lines[i].name.len, file);
		fprintf(file, "->rgb(%u,%u,%u)\n", c.r, c.g, c.b);
	}
	failed = ferror(file);
	return fclose(file) != 0 || failed ? FLAME_EIO : 0;
}

/* By way of a second file: a run that fails half-way leaves the old map as it was. */
static int replace_file(const struct line *lines, size_t nr, const char *path)
{
	char *draft = NULL;
	int err;

	if (asprintf(&draft, "%s.%ld~", path, (long)getpid()) < 0)
		return FLAME_ENOMEM;
	err = write_lines(lines, nr, draft);
	if (!err && rename(draft, path) != 0)
		err = FLAME_EIO;
	if (err) {
		int saved = errno;

		unlink(draft);
		errno = saved;
	}
	free(draft);
	return err;
}

int flame_color_map_save(const struct flame_color_map *map, const char *path)
{
	struct line *lines = malloc((map->nr_entries + 1) * sizeof(*lines));
	int err;

	if (!lines)
		return FLAME_ENOMEM;
	err = replace_file(lines, sort_lines(map, lines), path);
	free(lines);
	return err;
}

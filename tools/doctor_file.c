/* SPDX-License-Identifier: MIT */
/*
 * doctor_file.c - what the files with the target's code tell: symbols, frame pointers, and which package of the
 * distribution they are from, by dpkg's own lists of files.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/debugfile.h"
#include "../core/minidebug.h"
#include "doctor.h"

#define FUNCTIONS_FEW 16		/* files with fewer functions are launchers: their names matter little */
#define LIST_MAX 16777216	/* bytes of a package's list of files */

/* ---- packages ---- */

/* Return: whether @path is a line of @list. */
static bool lists(const char *list, size_t len, const char *path)
{
	size_t path_len = strlen(path);
	const char *at = list, *end = list + len;

	while ((at = memmem(at, (size_t)(end - at), path, path_len))) {
		if ((at == list || at[-1] == '\n') && (at + path_len == end || at[path_len] == '\n'))
			return true;
		at += path_len;
	}
	return false;
}

/* The same file under the other name of a merged /usr: "/usr/lib/x" for "/lib/x". Return: NULL where it has none. */
static char *other_name(const char *path)
{
	return !strncmp(path, "/usr/", 5) ? strdup(path + 4) : doctor_format("/usr%s", path);
}

/* Return: the package whose list has @path, without ":amd64"; to be freed. The first by name, if there were several. */
static char *find_package(const struct doctor *d, const char *path)
{
	char *directory = doctor_format("%s/var/lib/dpkg/info", d->root), *other = other_name(path), *found = NULL;
	DIR *dir = directory ? opendir(directory) : NULL;
	struct dirent *entry;

	while (dir && other && (entry = readdir(dir))) {
		size_t len, name = strlen(entry->d_name);
		char *list;

		if (name < 6 || strcmp(entry->d_name + name - 5, ".list"))
			continue;
		list = doctor_read_at(LIST_MAX, &len, "%s/%s", directory, entry->d_name);
		if (list && (lists(list, len, path) || lists(list, len, other))) {
			char *package = strndup(entry->d_name, strcspn(entry->d_name, ":"));

			if (package && !strcmp(package, entry->d_name))
				package[name - 5] = '\0';
			if (package && (!found || strcmp(package, found) < 0)) {
				free(found);
				found = package;
			} else {
				free(package);
			}
		}
		free(list);
	}
	if (dir)
		closedir(dir);
	free(directory);
	free(other);
	return found;
}

/* Packages of debug information that are called by another rule than PACKAGE-dbgsym. */
static const char *const debug_packages[][2] = {
	{ "libc6", "libc6-dbg" },
};

static char *debug_package(const char *package)
{
	for (size_t i = 0; i < sizeof(debug_packages) / sizeof(*debug_packages); i++) {
		if (!strcmp(package, debug_packages[i][0]))
			return strdup(debug_packages[i][1]);
	}
	return doctor_format("%s-dbgsym", package);
}

/* ---- a file ---- */

static bool has_debug_file(const struct doctor *d, const char *id)
{
	char *path = strlen(id) > 2 ? doctor_format("%s/usr/lib/debug/.build-id/%.2s/%s.debug", d->root, id, id + 2) : NULL;
	bool there = path && !access(path, R_OK);

	free(path);
	return there;
}

static void read_symbols(const struct flame_elf *elf, struct doctor_module *m)
{
	struct flame_symtab table = { 0 };
	struct flame_elf mini;
	const char *name;
	void *image;
	uint32_t crc;

	m->symtab = flame_elf_has_symtab(elf);
	m->dynsym = flame_elf_bytes(elf, flame_elf_section(elf, ".dynsym")).len > 0;
	m->mini = flame_elf_bytes(elf, flame_elf_section(elf, ".gnu_debugdata")).len > 0;
	m->debug_info = flame_elf_bytes(elf, flame_elf_section(elf, ".debug_info")).len > 0 ||
			flame_elf_bytes(elf, flame_elf_section(elf, ".zdebug_info")).len > 0;
	m->debug_link = flame_elf_debuglink(elf, &name, &crc);
	if (flame_elf_symbols(elf, &table) || flame_symtab_seal(&table))
		m->why = strdup("there is not enough memory for its symbols");
	flame_count_frames(elf, &table, &m->frames);
	m->nr_symbols = table.nr;
	flame_symtab_release(&table);
	if (m->symtab || !flame_minidebug_open(elf, &mini, &image))
		return;
	if (!flame_elf_symbols(&mini, &table) && !flame_symtab_seal(&table))
		m->nr_symbols += table.nr;
	flame_symtab_release(&table);
	flame_elf_release(&mini);
	free(image);
}

void doctor_file(struct doctor *d, struct doctor_module *m, const char *path)
{
	char id[2 * FLAME_BUILD_ID_MAX + 1];
	struct flame_span compiler;
	struct flame_elf elf;
	int err = flame_elf_open(&elf, path);

	m->examined = true;
	if (err) {
		m->why = strdup(err == FLAME_EIO ? strerror(errno) :
				err == FLAME_EFORMAT ? "it is no ELF file" : flame_strerror(err));
		flame_elf_release(&elf);
		return;
	}
	read_symbols(&elf, m);
	m->language = flame_elf_language(&elf);
	m->v8 = flame_elf_has_v8(&elf);
	compiler = flame_elf_compiler(&elf, m->language);
	m->compiler = compiler.len ? strndup(compiler.s, compiler.len < 128 ? compiler.len : 128) : NULL;
	if (elf.build_id.len)
		m->build_id = strdup(flame_build_id_text(elf.build_id, id));
	flame_elf_release(&elf);
	m->debug_file = m->build_id && has_debug_file(d, m->build_id);
	m->package = m->deleted ? NULL : find_package(d, m->path);
	m->debug_package = m->package ? debug_package(m->package) : NULL;
}

/* ---- words ---- */

static const char *symbols_text(const struct doctor_module *m)
{
	if (m->debug_info || m->debug_file)
		return "debug information";
	if (m->symtab)
		return "symbols";
	if (m->mini)
		return "symbols in .gnu_debugdata";
	return m->dynsym ? "only exported symbols" : "no symbols";
}

static void add_module(struct doctor *d, const struct doctor_module *m)
{
	const struct flame_frame_count *n = &m->frames;
	const char *gone = m->deleted ? "; deleted or replaced since it was started" : "";
	const char *language = flame_language_name(m->language), *symbols = symbols_text(m);

	if (m->why)
		doctor_text(d, DOCTOR_TARGET, "file", m->path, "cannot be examined: %s%s", m->why, gone);
	else if (n->method && n->nr_frames)
		doctor_text(d, DOCTOR_TARGET, "file", m->path, "%s, %s, frame pointers %.1f %% (%u of %u "
							       "functions with a frame, by %s)%s",
			    language, symbols, 100.0 * n->nr_pointers / n->nr_frames, n->nr_pointers, n->nr_frames, n->method,
			    gone);
	else
		doctor_text(d, DOCTOR_TARGET, "file", m->path, "%s, %s, frame pointers unknown: %s%s", language, symbols,
			    n->why ? n->why : "no function makes a frame", gone);
}

/* Return: whether most of its functions have no name that we could show. */
static bool is_nameless(const struct doctor_module *m)
{
	return m->examined && !m->why && !m->symtab && !m->mini && !m->debug_info && !m->debug_file &&
	       (m->frames.nr_functions >= FUNCTIONS_FEW || !m->frames.method);
}

/* Put a word behind @list. Return: the new list, to be freed. @list is freed. */
static char *append(char *list, const char *separator, const char *word)
{
	char *longer = list ? doctor_format("%s%s%s", list, *list ? separator : "", word) : NULL;

	free(list);
	return longer;
}

static void find_nameless(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	char *files = strdup(""), *packages = strdup("");
	bool by_id = false;
	struct doctor_finding *f;

	for (size_t i = 0; i < t->nr_modules; i++) {
		const struct doctor_module *m = &t->modules[i];

		if (!is_nameless(m))
			continue;
		files = append(files, ", ", m->path);
		if (m->debug_package)
			packages = append(packages, " ", m->debug_package);
		by_id |= m->build_id != NULL;
	}
	if (files && *files) {
		f = doctor_find(d, DOCTOR_NOTE, "without symbols but for what is exported: %s. Most frames "
						"there have no name, or a wrong one",
				files);
		if (packages && *packages)
			doctor_remedy(f, "names by Debian's rule; whether the archive has them was not looked up",
				      "sudo apt install %s", packages);
		if (by_id && !getenv("DEBUGINFOD_URLS") && d->debuginfod)
			doctor_remedy(f, "fetched by build-id when names are looked up", "export DEBUGINFOD_URLS=%s", d->debuginfod);
	}
	free(files);
	free(packages);
}

void doctor_files(struct doctor *d)
{
	for (size_t i = 0; i < d->target.nr_modules; i++) {
		if (d->target.modules[i].examined)
			add_module(d, &d->target.modules[i]);
	}
	find_nameless(d);
}

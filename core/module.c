/* SPDX-License-Identifier: MIT */
/*
 * module.c - opening the files of modules.
 */
#define _GNU_SOURCE
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "minidebug.h"
#include "table.h"

/* The first reason stays. */
static void because(char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void because(char **why, const char *format, ...)
{
	va_list args;

	if (*why)
		return;
	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
}

static struct flame_span build_id_of(const struct flame_module_info *info)
{
	return (struct flame_span){ info->build_id, info->build_id ? info->build_id_len : 0 };
}

/* ---- files ---- */

/* What stands for memory that is no file: "[heap]", "//anon", "anon_inode:[perf_event]". */
static bool is_file_path(const char *path)
{
	return path && path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) != 0 &&
	       strncmp(path, "/SYSV", 5) != 0 && strncmp(path, "/dev/", 5) != 0;
}

static void file_is_missing(struct module *m, const struct flame_file_found *found,
			    const struct flame_symbol_options *options)
{
	char id[2 * FLAME_BUILD_ID_MAX + 1];

	if (found->refused)
		because(&m->why, "%s is not the file that was recorded, whose build-id is %s; --symbols DIR tells where that is",
			found->refused, flame_build_id_text(build_id_of(&m->info), id));
	else if (found->damage)
		because(&m->why, "the file %s", found->damage);
	else if (m->info.elsewhere)
		because(&m->why, "it is in a container whose processes are gone, and the file here is another one; perf record --buildid-mmap "
			"says which file it is, --symbols DIR or --symfs DIR where");
	else if (is_file_path(m->info.path))
		because(&m->why, "the file is not here; --symbols DIR or --symfs DIR tells where it is%s",
			options->debuginfod && build_id_of(&m->info).len ? ", or DEBUGINFOD_URLS who has it" : "");
	else
		because(&m->why, "it is not a file");
}

/* The symbols of the debug file if there is one, else the file's own. */
static int read_symbols(struct module *m, const struct flame_file_wanted *wanted, const struct flame_file_found *binary)
{
	struct flame_file_found debug = { 0 };
	int err = 0;

	if (!flame_elf_has_symtab(&m->elf) || !flame_elf_section(&m->elf, ".debug_info"))
		err = flame_find_debug(wanted, binary, &debug);
	if (!err && debug.path) {
		m->debug = debug.elf;
		m->has_debug = true;
		m->debug_path = debug.path;
	}
	free(debug.refused);
	if (!err && (flame_elf_has_symtab(&m->elf) || !m->has_debug || !flame_elf_has_symtab(&m->debug)))
		err = flame_elf_symbols(&m->elf, &m->table);
	else if (!err)
		err = flame_elf_symbols(&m->debug, &m->table);
	/* It leaves out what .dynsym has. */
	if (!err && !m->has_debug && !flame_elf_has_symtab(&m->elf) && flame_minidebug_open(&m->elf, &m->mini, &m->mini_image))
		err = flame_elf_symbols(&m->mini, &m->table);
	if (!err)
		err = flame_elf_plt(&m->elf, &m->table);
	if (m->elf.damage)
		because(&m->why, "the file is damaged: %s", m->elf.damage);
	else if (!m->has_debug && !m->mini_image && !flame_elf_has_symtab(&m->elf))
		because(&m->why, "it is stripped; install its -dbgsym package or set DEBUGINFOD_URLS");
	return err;
}

static int open_file(struct module *m, const struct flame_symbol_options *options)
{
	struct flame_file_wanted wanted = { .options = options, .module = &m->info, .build_id = build_id_of(&m->info) };
	struct flame_file_found found;
	int err = flame_find_binary(&wanted, &found);

	if (!err && found.path) {
		m->elf = found.elf;
		m->has_elf = true;
		m->path = found.path;
		err = read_symbols(m, &wanted, &found);
	} else if (!err) {
		file_is_missing(m, &found, options);
	}
	free(found.refused);
	return err;
}

/* ---- the vdso, which is a file only in the memory of processes ---- */

/* Return: the start and size of our own vdso. */
static bool own_vdso(uint64_t *start, uint64_t *size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	bool found = false;

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *end;

		*start = strtoull(line, &end, 16);
		*size = *end == '-' ? strtoull(end + 1, NULL, 16) - *start : 0;
		found = strstr(line, "[vdso]") && *size && *size <= 1 << 20;
	}
	if (maps)
		fclose(maps);
	return found;
}

static int open_own_vdso(struct module *m, const struct flame_symbol_options *options)
{
	struct flame_span id = build_id_of(&m->info);
	uint64_t start, size;

	if (!(options->this_machine || id.len) || !own_vdso(&start, &size))
		return 0;
	m->image = malloc(size);
	if (!m->image)
		return FLAME_ENOMEM;
	memcpy(m->image, (const void *)(uintptr_t)start, size);
	if (flame_elf_init(&m->elf, m->image, size) || (id.len && !flame_build_id_equal(id, m->elf.build_id))) {
		flame_elf_release(&m->elf);
		return 0;
	}
	m->has_elf = true;
	return flame_elf_symbols(&m->elf, &m->table);
}

static int open_vdso(struct module *m, const struct flame_symbol_options *options)
{
	int err = open_own_vdso(m, options);

	if (!err && !m->has_elf) {
		err = open_file(m, options);
		if (!m->has_elf) {
			free(m->why);
			m->why = NULL;
			because(&m->why, "it is another kernel's");
		}
	}
	return err;
}

/* ---- the kernel ---- */

/* Return: whether @id is the running kernel's. */
static bool is_running(struct flame_span id)
{
	struct flame_symtext notes;
	bool found = false;

	/* A note: sizes of its name and contents, its type, "GNU", the build-id. */
	if (id.len && !flame_symtext_read(&notes, "/sys/kernel/notes"))
		found = notes.len > 16 && memmem(notes.text, notes.len, id.s, id.len);
	if (id.len)
		flame_symtext_release(&notes);
	return found;
}

/* Where the kernel's symbols are: what the user says, what perf has kept, or the running kernel's. */
static char *kallsyms_path(struct kernel *k, const struct flame_symbol_options *options,
			   const struct flame_module_info *info)
{
	static const struct flame_module_info none;
	struct flame_file_wanted wanted = { .options = options, .module = info ? info : &none,
					    .build_id = build_id_of(info ? info : &none) };
	char *path;

	if (options->kallsyms)
		return strdup(options->kallsyms);
	path = flame_find_kept_kallsyms(&wanted);
	if (path)
		return path;
	if (options->this_machine || (info && info->reference_address && is_running(wanted.build_id)))
		return strdup("/proc/kallsyms");
	because(&k->why, "it is not the running kernel, or was booted before; --kallsyms FILE tells its symbols");
	return NULL;
}

/* How far the kernel has moved between the recording and its symbols; before they are sealed. */
static void find_delta(struct kernel *k, const struct flame_module_info *info)
{
	const char *name = info && info->reference ? info->reference : "_text";

	for (size_t i = 0; info && info->reference_address && i < k->table.nr; i++) {
		const struct flame_symtab_entry *e = &k->table.entries[i];

		if (strlen(name) == strnlen(e->name, e->room) && !memcmp(name, e->name, strlen(name))) {
			k->delta = info->reference_address - e->start;
			return;
		}
	}
}

static int kernel_open(struct kernel *k, const struct flame_symbol_options *options,
		       const struct flame_module_info *info)
{
	char *path;
	int err;

	if (k->opened)
		return 0;
	k->opened = true;
	path = kallsyms_path(k, options, info);
	if (!path)
		return 0;
	err = flame_symtext_read(&k->text, path);
	if (!err)
		err = flame_symtext_kallsyms(&k->text, &k->table);
	else if (err != FLAME_ENOMEM)
		because(&k->why, "%s cannot be read: %s", path, err == FLAME_EIO ? strerror(errno) : "it is too large");
	if (!k->table.nr && k->text.nr_hidden)
		because(&k->why, "the addresses in %s are hidden; read it as root, or set kernel.kptr_restrict to 0", path);
	else if (!k->table.nr)
		because(&k->why, "there are no functions in %s", path);
	find_delta(k, info);
	free(path);
	if (err != FLAME_ENOMEM)
		err = flame_symtab_seal(&k->table);
	return err;
}

static int open_kernel(struct module *m, const struct flame_symbol_options *options, struct kernel *kernel,
		       const struct flame_module_info *info)
{
	int err = kernel_open(kernel, options, info);

	if (kernel->why)
		because(&m->why, "%s", kernel->why);
	else if (m->info.kind == FLAME_MODULE_KERNEL_MODULE && kernel->delta)
		because(&m->why, "the kernel was booted since, and its modules are elsewhere now");
	return err;
}

/* ---- perf maps ---- */

/* @text was read from byte @from of the file at @path. Return: 0 or FLAME_ENOMEM. */
static int note_map(struct map_file *map, const char *path, uint64_t from, const struct flame_symtext *text)
{
	const char *newline = text->len ? memrchr(text->text, '\n', text->len) : NULL;
	size_t len = newline ? (size_t)(newline + 1 - text->text) : 0;
	struct stat st;

	if (!map->path)
		map->path = strdup(path);
	if (!map->path)
		return FLAME_ENOMEM;
	/* A container's files are out of reach when its last process has ended. */
	if (map->fd <= 0 && !strncmp(path, "/proc/", 6))
		map->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (!stat(path, &st)) {
		map->inode = st.st_ino;
		map->changed = st.st_mtim;
	}
	map->size = from + text->len;
	map->done = from + len;
	if (len >= sizeof(map->last))
		memcpy(map->last, text->text + len - sizeof(map->last), sizeof(map->last));
	else
		memset(map->last, 0, sizeof(map->last));
	return 0;
}

/* Return: whether the file goes on where it was left, and is not a new one. */
static bool was_appended(const struct map_file *map, const char *path, const struct stat *st)
{
	char bytes[sizeof(map->last)];
	int fd = -1;
	bool same = false;

	if (st->st_ino == map->inode && (uint64_t)st->st_size >= map->size && map->done >= sizeof(bytes))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		same = pread(fd, bytes, sizeof(bytes), (off_t)(map->done - sizeof(bytes))) == (ssize_t)sizeof(bytes) &&
		       !memcmp(bytes, map->last, sizeof(bytes));
		close(fd);
	}
	return same;
}

/* Return: whether the process that lives has a /tmp of its own. */
static bool has_own_tmp(const struct flame_module_info *info)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp", info->pid);
	return info->ns_pid > 0 && !stat(path, &theirs) && !stat("/tmp", &ours) &&
	       (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

static int open_perf_map(struct module *m, const struct flame_symbol_options *options)
{
	bool own_tmp = options->this_machine && !options->symfs && has_own_tmp(&m->info);
	/* In ours a file of that name is another process's. */
	size_t theirs = own_tmp ? 1 : 2, named = own_tmp ? 2 : 1;
	char paths[4][PATH_MAX] = { "" };
	int32_t ns_pid = m->info.ns_pid > 0 ? m->info.ns_pid : m->info.pid;
	int err = FLAME_EIO;

	if (options->symbol_dir)
		snprintf(paths[0], PATH_MAX, "%s/perf-%d.map", options->symbol_dir, m->info.pid);
	if (m->info.path && m->info.path[0] == '/')
		snprintf(paths[named], PATH_MAX, "%s%s", options->symfs ? options->symfs : "", m->info.path);
	if (options->this_machine && !options->symfs)
		snprintf(paths[theirs], PATH_MAX, "/proc/%d/root/tmp/perf-%d.map", m->info.pid, ns_pid);
	snprintf(paths[3], PATH_MAX, "%s/tmp/perf-%d.map", options->symfs ? options->symfs : "", m->info.pid);
	for (size_t i = 0; i < 4 && err == FLAME_EIO; i++) {
		if (!paths[i][0])
			continue;
		err = flame_symtext_read(&m->text, paths[i]);
		if (err)
			flame_symtext_release(&m->text);
		else
			err = note_map(&m->map, paths[i], 0, &m->text);
	}
	if (!err)
		return flame_symtext_perf_map(&m->text, &m->table);
	if (!m->table.nr)
		because(&m->why, "there is no /tmp/perf-%d.map that names its code; its runtime may have an option to write one",
			m->info.pid);
	return err == FLAME_ENOMEM ? err : 0;
}

int module_refresh(struct module *m, const struct flame_symbol_options *options, bool *grown)
{
	struct map_file *map = &m->map;
	struct flame_symtext *more;
	char kept[32];
	const char *path = map->path;
	struct stat st;
	uint64_t from;
	int err;

	*grown = false;
	if (m->info.kind != FLAME_MODULE_PERF_MAP || !m->opened)
		return 0;
	if (!map->path) {
		free(m->why);
		m->why = NULL;
		err = open_perf_map(m, options);
		*grown = map->path;
		return err ? err : flame_symtab_seal(&m->table);
	}
	if (stat(path, &st)) {
		snprintf(kept, sizeof(kept), "/proc/self/fd/%d", map->fd);
		path = kept;
		if (map->fd <= 0 || stat(path, &st))
			return 0;
	}
	if ((uint64_t)st.st_size == map->size && st.st_ino == map->inode && st.st_mtim.tv_sec == map->changed.tv_sec &&
	    st.st_mtim.tv_nsec == map->changed.tv_nsec)
		return 0;
	if (!array_reserve((void **)&map->more, &map->room_more, map->nr_more + 1, sizeof(*map->more)))
		return FLAME_ENOMEM;
	from = was_appended(map, path, &st) ? map->done : 0;
	more = &map->more[map->nr_more];
	err = flame_symtext_read_from(more, path, from);
	if (err) {
		flame_symtext_release(more);
		return err == FLAME_ENOMEM ? err : 0;
	}
	map->nr_more++;
	err = note_map(map, path, from, more);
	if (!err)
		err = flame_symtext_perf_map(more, &m->table);
	*grown = true;
	return err ? err : flame_symtab_seal(&m->table);
}

/* ---- all ---- */

int module_open(struct module *m, const struct flame_symbol_options *options, struct kernel *kernel,
		const struct flame_module_info *kernel_info)
{
	int err = 0;

	if (!m->opened) {
		m->opened = true;
		switch (m->info.kind) {
		case FLAME_MODULE_FILE:
			err = open_file(m, options);
			break;
		case FLAME_MODULE_VDSO:
			err = open_vdso(m, options);
			break;
		case FLAME_MODULE_KERNEL:
		case FLAME_MODULE_KERNEL_MODULE:
			err = open_kernel(m, options, kernel, kernel_info);
			break;
		case FLAME_MODULE_PERF_MAP:
			err = open_perf_map(m, options);
			break;
		case FLAME_MODULE_LIST:
			break;
		}
	}
	return err ? err : flame_symtab_seal(&m->table);
}

struct flame_dwarf *module_dwarf(struct module *m, const struct flame_symbol_options *options)
{
	const char *path = m->path;

	if (m->dwarf_opened)
		return m->dwarf;
	m->dwarf_opened = true;
	if (m->has_debug && flame_elf_section(&m->debug, ".debug_info"))
		path = m->debug_path;
	else if (!m->has_elf || !flame_elf_section(&m->elf, ".debug_info"))
		path = NULL;
	if (path)
		m->dwarf = flame_dwarf_open(path, options->lines);
	return m->dwarf;
}

const char *module_path(struct module *m)
{
	int fd;

	if (m->path || !m->image || !m->has_elf)
		return m->path;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (write(fd, m->image, m->elf.size) != (ssize_t)m->elf.size || asprintf(&m->path, "/proc/self/fd/%d", fd) < 0) {
		m->path = NULL;
		close(fd);
		return NULL;
	}
	m->image_fd = fd;
	return m->path;
}

void module_release(struct module *m)
{
	if (m->image_fd)
		close(m->image_fd);
	flame_dwarf_free(m->dwarf);
	flame_symtab_release(&m->table);
	flame_symtext_release(&m->text);
	for (size_t i = 0; i < m->map.nr_more; i++)
		flame_symtext_release(&m->map.more[i]);
	free(m->map.more);
	if (m->map.fd > 0)
		close(m->map.fd);
	free(m->map.path);
	flame_elf_release(&m->elf);
	flame_elf_release(&m->debug);
	flame_elf_release(&m->mini);
	free(m->path);
	free(m->debug_path);
	free(m->image);
	free(m->mini_image);
	free(m->why);
}

void kernel_release(struct kernel *kernel)
{
	flame_symtab_release(&kernel->table);
	flame_symtext_release(&kernel->text);
	free(kernel->why);
}

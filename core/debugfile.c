/* SPDX-License-Identifier: MIT */
/*
 * debugfile.c - places where files are looked for. Each is a pattern:
 *
 *	%D	--symbols DIR		%p	the module's path
 *	%S	--symfs DIR, or ""	%n	its last part
 *	%h	the same, but not known where the path is another file's here
 *	%H	perf's cache		%d	directory of the file that was found
 *	%b %r	build-id in hexadecimal digits: the first two, and the rest
 *	%l	name in .gnu_debuglink	%i	pid
 *	%e	what runs as %i, where that is the module
 *
 * A place of which some part is not known is passed over.
 */
#define _GNU_SOURCE
#include "debugfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "span.h"

static const char *const binary_places[] = {
	"%D/.build-id/%b/%r", "%D/%b/%r", "%D/.build-id/%b/%r/elf", "%D%p", "%D/%n",
	"%e", "/proc/%i/root%p", "%h%p", "%H/.build-id/%b/%r/elf", NULL,
};

static const char *const vdso_places[] = {
	"%D/.build-id/%b/%r", "%D/%b/%r", "%D/.build-id/%b/%r/vdso", "%D/%n", "%H/.build-id/%b/%r/vdso", NULL,
};

static const char *const debug_places[] = {
	"%D/.build-id/%b/%r.debug", "%D/%b/%r.debug", "%D/%b%r.debug", "%D/%b%r", "%D%p.debug", "%D/%n.debug",
	"%D/%l", "%S/usr/lib/debug/.build-id/%b/%r.debug", "/usr/lib/debug/.build-id/%b/%r.debug",
	"%d/%l", "%d/.debug/%l", "%S/usr/lib/debug%d/%l", "%S/usr/lib/debug%p.debug", "%H/.build-id/%b/%r/debug", NULL,
};

static const char *const kallsyms_places[] = {
	"%D/.build-id/%b/%r/kallsyms", "%H/.build-id/%b/%r/kallsyms", NULL,
};

/* What stands for each letter; "" or NULL is not known. */
struct parts {
	const char *letter[128];
	char id[2 * FLAME_BUILD_ID_MAX + 1], first[3], pid[12], program[32];
	char home[PATH_MAX], directory[PATH_MAX], path[PATH_MAX];
};

bool flame_build_id_equal(struct flame_span a, struct flame_span b)
{
	struct flame_span longer = a.len > b.len ? a : b;
	size_t len = a.len < b.len ? a.len : b.len;

	if (!len || memcmp(a.s, b.s, len))
		return false;
	for (size_t i = len; i < longer.len; i++) {
		if (longer.s[i])
			return false;
	}
	return true;
}

const char *flame_build_id_text(struct flame_span id, char to[2 * FLAME_BUILD_ID_MAX + 1])
{
	size_t len = id.len < FLAME_BUILD_ID_MAX ? id.len : FLAME_BUILD_ID_MAX;

	to[0] = '\0';
	for (size_t i = 0; i < len; i++)
		snprintf(to + 2 * i, 3, "%02x", (unsigned char)id.s[i]);
	return to;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* span_cut_deleted() of a string. */
static bool cut_deleted(char *path)
{
	struct flame_span s = { path, strlen(path) };
	bool cut = span_cut_deleted(&s);

	path[s.len] = '\0';
	return cut;
}

/*
 * The program of a running process is there as long as it runs, also where its file was deleted or replaced.
 * Return: whether the module is that; @link is then what leads to it.
 */
static bool is_program(const struct flame_module_info *m, char link[32])
{
	char path[PATH_MAX], wanted[PATH_MAX];
	ssize_t len;

	if (!m->path || m->path[0] != '/')
		return false;
	snprintf(link, 32, "/proc/%d/exe", m->pid);
	len = readlink(link, path, sizeof(path) - 1);
	if (len <= 0)
		return false;
	path[len] = '\0';
	snprintf(wanted, sizeof(wanted), "%s", m->path);
	cut_deleted(path);
	cut_deleted(wanted);
	return !strcmp(path, wanted);
}

static void parts_init(struct parts *parts, const struct flame_file_wanted *wanted)
{
	const struct flame_module_info *m = wanted->module;
	const char *home = getenv("HOME");

	memset(parts->letter, 0, sizeof(parts->letter));
	flame_build_id_text(wanted->build_id, parts->id);
	snprintf(parts->first, sizeof(parts->first), "%.2s", parts->id);
	snprintf(parts->path, sizeof(parts->path), "%s", m->path ? m->path : "");
	/* The file at this path now is another one, unless its build-id says that it is not. */
	if (cut_deleted(parts->path) && !wanted->build_id.len)
		parts->path[0] = '\0';
	parts->letter['D'] = wanted->options->symbol_dir;
	parts->letter['S'] = wanted->options->symfs ? wanted->options->symfs : "";
	parts->letter['h'] = m->elsewhere && !wanted->options->symfs ? NULL : parts->letter['S'];
	if (home && *home && (size_t)snprintf(parts->home, sizeof(parts->home), "%s/.debug", home) < sizeof(parts->home))
		parts->letter['H'] = parts->home;
	if (strlen(parts->id) > 2) {
		parts->letter['b'] = parts->first;
		parts->letter['r'] = parts->id + 2;
	}
	if (parts->path[0] == '/')
		parts->letter['p'] = parts->path;
	if (last_part(parts->path)[0] && strcmp(last_part(parts->path), "..") != 0)
		parts->letter['n'] = last_part(parts->path);
	if (m->pid > 0 && wanted->options->this_machine && !wanted->options->symfs) {
		snprintf(parts->pid, sizeof(parts->pid), "%d", m->pid);
		parts->letter['i'] = parts->pid;
		if (is_program(m, parts->program))
			parts->letter['e'] = parts->program;
	}
}

/* Return: whether all parts of the pattern are known, and fit. */
static bool fill(const struct parts *parts, const char *pattern, char to[PATH_MAX])
{
	size_t len = 0;

	for (; *pattern; pattern++) {
		const char *part = pattern;
		size_t part_len = 1;

		if (*pattern == '%') {
			part = parts->letter[*++pattern & 127];
			if (!part || (!*part && *pattern != 'S' && *pattern != 'h'))
				return false;
			part_len = strlen(part);
		}
		if (part_len >= PATH_MAX - len)
			return false;
		memcpy(to + len, part, part_len);
		len += part_len;
	}
	to[len] = '\0';
	return len;
}

/* Take the file at @path if it is the one. Return: true when the search is over: found->path, or no memory. */
static bool try(const struct flame_file_wanted *wanted, const char *path, bool by_checksum, uint32_t crc,
		struct flame_file_found *found, int *err)
{
	int result = flame_elf_open(&found->elf, path);
	bool same;

	if (!result) {
		same = !wanted->build_id.len || flame_build_id_equal(found->elf.build_id, wanted->build_id);
		if (by_checksum)
			same = (uint32_t)crc32_z(0, found->elf.data, found->elf.size) == crc;
		if (same) {
			found->path = strdup(path);
			*err = found->path ? 0 : FLAME_ENOMEM;
			return true;
		}
		if (!found->refused)
			found->refused = strdup(path);
	}
	if (result == FLAME_EFORMAT)
		found->damage = "is no ELF file";
	else if (result == FLAME_EIO && errno == EACCES)
		found->damage = "may not be read";
	flame_elf_release(&found->elf);
	*err = result == FLAME_ENOMEM ? FLAME_ENOMEM : 0;
	return *err;
}

static int search(const struct flame_file_wanted *wanted, const struct parts *parts, const char *const *places,
		  bool by_checksum, uint32_t crc, struct flame_file_found *found)
{
	char path[PATH_MAX];
	int err = 0;

	for (; *places; places++) {
		if (fill(parts, *places, path) && try(wanted, path, by_checksum, crc, found, &err))
			break;
	}
	return err;
}

static int fetch(const struct flame_file_wanted *wanted, bool debug, struct flame_file_found *found)
{
	char *path;
	int err = 0;

	if (!wanted->options->debuginfod || !wanted->build_id.len)
		return 0;
	path = flame_debuginfod_find(wanted->build_id, debug);
	if (path)
		try(wanted, path, false, 0, found, &err);
	free(path);
	return err;
}

int flame_find_binary(const struct flame_file_wanted *wanted, struct flame_file_found *found)
{
	bool vdso = wanted->module->kind == FLAME_MODULE_VDSO;
	struct parts parts;
	int err;

	*found = (struct flame_file_found){ 0 };
	parts_init(&parts, wanted);
	err = search(wanted, &parts, vdso ? vdso_places : binary_places, false, 0, found);
	if (!err && !found->path && !vdso)
		err = fetch(wanted, false, found);
	return err;
}

int flame_find_debug(const struct flame_file_wanted *wanted, const struct flame_file_found *binary,
		     struct flame_file_found *found)
{
	struct flame_file_wanted debug = *wanted;
	struct parts parts;
	uint32_t crc = 0;
	bool link = flame_elf_debuglink(&binary->elf, &parts.letter['l'], &crc);
	const char *name = link ? parts.letter['l'] : NULL;
	int err;

	*found = (struct flame_file_found){ 0 };
	debug.build_id = binary->elf.build_id;
	if (!link && !debug.build_id.len)
		return 0;
	parts_init(&parts, &debug);
	parts.letter['l'] = name;
	snprintf(parts.directory, sizeof(parts.directory), "%.*s",
		 (int)(last_part(binary->path) - binary->path - (last_part(binary->path) > binary->path)), binary->path);
	parts.letter['d'] = parts.directory;
	err = search(&debug, &parts, debug_places, !debug.build_id.len, crc, found);
	if (!err && !found->path)
		err = fetch(&debug, true, found);
	return err;
}

char *flame_find_kept_kallsyms(const struct flame_file_wanted *wanted)
{
	struct parts parts;
	char path[PATH_MAX];

	parts_init(&parts, wanted);
	for (const char *const *place = kallsyms_places; *place; place++) {
		if (fill(&parts, *place, path) && !access(path, R_OK))
			return strdup(path);
	}
	return NULL;
}

/*
 * libdebuginfod is loaded when it is needed, because it brings an HTTP client with it. The functions
 * are declared here, so that its header is not needed either.
 */
char *flame_debuginfod_find(struct flame_span build_id, bool debug)
{
	typedef void *begin_fn(void);
	typedef int find_fn(void *client, const unsigned char *id, int len, char **path);
	typedef void end_fn(void *client);
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *path = NULL;
	void *lib, *client;
	begin_fn *begin;
	find_fn *find;
	end_fn *end;
	int fd;

	if (!urls || !*urls || !build_id.len)
		return NULL;
	/* Not unloaded again: what it depends on does not like that. */
	lib = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NODELETE);
	if (!lib)
		return NULL;
	begin = (begin_fn *)dlsym(lib, "debuginfod_begin");
	find = (find_fn *)dlsym(lib, debug ? "debuginfod_find_debuginfo" : "debuginfod_find_executable");
	end = (end_fn *)dlsym(lib, "debuginfod_end");
	client = begin && find && end ? begin() : NULL;
	if (client) {
		fd = find(client, (const unsigned char *)build_id.s, (int)build_id.len, &path);
		if (fd >= 0)
			close(fd);
		end(client);
	}
	dlclose(lib);
	return path;
}

/* SPDX-License-Identifier: MIT */
/*
 * perfdata_jit.c - code of JIT compilers by their dumps, without perf inject: a compiler maps its jit-PID.dump, so
 * that recordings tell of it; the names in it belong to the memory without a file that the process runs code from. Of code that
 * took the place of other code the newest has the name, as in perf maps.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../core/jitdump.h"
#include "perfdata.h"

#define DUMPS_MAX 65536		/* dumps of a recording; more are not looked at */

/* Return: true for ".../jit-123.dump". */
static bool is_dump(const char *path)
{
	const char *base = strrchr(path, '/'), *digits;

	base = base ? base + 1 : path;
	if (strncmp(base, "jit-", 4) != 0)
		return false;
	digits = base + 4 + strspn(base + 4, "0123456789");
	return digits > base + 4 && !strcmp(digits, ".dump");
}

bool perfdata_jit_note(struct perfdata *pd, int32_t pid, const char *path)
{
	struct perfdata_tasks *t = &pd->tasks;
	char *copy;

	if (!is_dump(path) || t->nr_dumps == DUMPS_MAX)
		return true;
	for (size_t i = 0; i < t->nr_dumps; i++) {
		if (t->dumps[i].pid == pid && !strcmp(t->dumps[i].path, path))
			return true;
	}
	copy = strdup(path);
	if (!copy || !array_reserve((void **)&t->dumps, &t->room_dumps, t->nr_dumps + 1, sizeof(*t->dumps))) {
		free(copy);
		return false;
	}
	t->dumps[t->nr_dumps++] = (struct perfdata_dump){ pid, copy };
	return true;
}

struct told {
	struct flame_symbols *symbols;
	flame_module module;
};

static int tell(void *arg, const struct flame_jit_code *code)
{
	const struct told *to = arg;
	int err = code->name.len ? flame_module_add_symbol(to->symbols, to->module, code->start, code->size, code->name, FLAME_JIT) : 0;

	return err == FLAME_EARG ? 0 : err;
}

/* Return: where the dump is: below --symfs, or in --symbols; to be freed; NULL without memory. */
static char *dump_path(const struct perfdata *pd, const char *path)
{
	const struct flame_read_options *o = pd->rd->options;
	const char *base = strrchr(path, '/');
	char *found = NULL;

	if (o->symbol_dir && asprintf(&found, "%s/%s", o->symbol_dir, base ? base + 1 : path) >= 0) {
		if (!access(found, R_OK))
			return found;
		free(found);
	}
	return asprintf(&found, "%s%s", o->symfs ? o->symfs : "", path) >= 0 ? found : NULL;
}

static int read_dump(struct perfdata *pd, const struct perfdata_dump *dump, struct told *to)
{
	char *path = dump_path(pd, dump->path);
	int err = path ? flame_jitdump_read(path, tell, to) : FLAME_ENOMEM;

	if (err == FLAME_EIO)
		flame_note(pd->rd, "the dump of a JIT compiler cannot be read: %s: %s", path, strerror(errno));
	else if (err == FLAME_EFORMAT)
		flame_note(pd->rd, "%s is no dump of a JIT compiler, though its name is that of one", path);
	else if (err == FLAME_EDAMAGED)
		flame_note(pd->rd, "%s is cut off or damaged: code behind that has no names", path);
	free(path);
	return err == FLAME_ENOMEM ? err : 0;
}

int perfdata_jit_symbols(struct perfdata *pd, int32_t pid, struct flame_symbols *symbols, flame_module module)
{
	struct told to = { symbols, module };
	int err = 0;

	for (size_t i = 0; !err && i < pd->tasks.nr_dumps; i++) {
		if (pd->tasks.dumps[i].pid == pid)
			err = read_dump(pd, &pd->tasks.dumps[i], &to);
	}
	return err;
}

void perfdata_jit_release(struct perfdata *pd)
{
	for (size_t i = 0; i < pd->tasks.nr_dumps; i++)
		free(pd->tasks.dumps[i].path);
	free(pd->tasks.dumps);
}

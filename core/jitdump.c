/* SPDX-License-Identifier: MIT */
/*
 * jitdump.c - code and names in the dumps of JIT compilers.
 */
#include "jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "idmap.h"
#include "input.h"
#include "symbol.h"
#include "table.h"

#define MAGIC 0x4a695444u
#define HEADER 40
#define RECORD 16		/* bytes of each record's own header */
#define LOADED 56		/* in front of the name */
#define MOVED 64
#define NAMES_MAX ((size_t)64 << 20)	/* bytes of names that are kept for code that may be moved */

enum { ID_LOADED = 0, ID_MOVED = 1 };

struct reader {
	struct flame_input in;
	bool swapped;
	char *names;		/* one behind the other, each ended by NUL */
	size_t nr_names, room_names;
	struct idmap by_index;	/* value: where a name begins */
	int (*tell)(void *arg, const struct flame_jit_code *code);
	void *arg;
};

static uint32_t get32(const struct reader *r, const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap32(v) : v;
}

static uint64_t get64(const struct reader *r, const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap64(v) : v;
}

/* Return: false where the input ends before. */
static bool skip(struct reader *r, uint64_t len)
{
	while (len) {
		struct flame_span view = flame_peek(&r->in, 1);
		size_t n = view.len < len ? view.len : (size_t)len;

		if (!n)
			return false;
		flame_take(&r->in, n);
		len -= n;
	}
	return true;
}

static bool keep_name(struct reader *r, uint64_t index, struct flame_span name)
{
	size_t at = r->nr_names;

	/* What comes behind these has no name where it is moved. */
	if (at + name.len >= NAMES_MAX)
		return true;
	if (!array_reserve((void **)&r->names, &r->room_names, at + name.len + 1, 1))
		return false;
	memcpy(r->names + at, name.s, name.len);
	r->names[at + name.len] = '\0';
	r->nr_names += name.len + 1;
	return idmap_set(&r->by_index, index, at);
}

/* @p: the record, of which @len bytes are at hand. */
static int loaded(struct reader *r, const char *p, size_t len)
{
	struct flame_jit_code code = { .start = get64(r, p + 32), .size = get64(r, p + 40) };
	const char *end = memchr(p + LOADED, '\0', len - LOADED);

	if (!end)
		return FLAME_EDAMAGED;
	code.name = (struct flame_span){ p + LOADED, (size_t)(end - p) - LOADED };
	if (!keep_name(r, get64(r, p + 48), code.name))
		return FLAME_ENOMEM;
	return r->tell(r->arg, &code);
}

static int moved(struct reader *r, const char *p)
{
	struct flame_jit_code code = { .start = get64(r, p + 40), .size = get64(r, p + 48) };
	uint64_t at;

	if (!idmap_value(&r->by_index, get64(r, p + 56), &at))
		return 0;
	code.name.s = r->names + at;
	code.name.len = strlen(code.name.s);
	return r->tell(r->arg, &code);
}

/* Return: 1, 0 at the end, or a failure. */
static int read_record(struct reader *r)
{
	struct flame_span view = flame_peek(&r->in, RECORD);
	uint32_t id, size;
	size_t want;
	int err = 0;

	if (!view.len && !r->in.error)
		return 0;
	if (view.len < RECORD)
		return r->in.error == FLAME_EIO ? FLAME_EIO : FLAME_EDAMAGED;
	id = get32(r, view.s);
	size = get32(r, view.s + 4);
	if (size < RECORD || (id == ID_LOADED && size < LOADED) || (id == ID_MOVED && size < MOVED))
		return FLAME_EDAMAGED;
	want = size < LOADED + FLAME_SYMBOL_NAME_MAX + 1 ? size : LOADED + FLAME_SYMBOL_NAME_MAX + 1;
	view = flame_peek(&r->in, want);
	if (view.len < want)
		return FLAME_EDAMAGED;
	if (id == ID_LOADED)
		err = loaded(r, view.s, want);
	else if (id == ID_MOVED)
		err = moved(r, view.s);
	if (err)
		return err;
	return skip(r, size) ? 1 : FLAME_EDAMAGED;
}

static int read_header(struct reader *r)
{
	struct flame_span head = flame_peek(&r->in, HEADER);
	uint32_t size;

	if (head.len < HEADER)
		return FLAME_EFORMAT;
	r->swapped = get32(r, head.s) != MAGIC;
	size = get32(r, head.s + 8);
	if (get32(r, head.s) != MAGIC || size < HEADER)
		return FLAME_EFORMAT;
	return skip(r, size) ? 0 : FLAME_EDAMAGED;
}

int flame_jitdump_read(const char *path, int (*tell)(void *arg, const struct flame_jit_code *code), void *arg)
{
	struct reader r = { .tell = tell, .arg = arg };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	struct stat st;

	if (fd < 0)
		return FLAME_EIO;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = EINVAL;
		return FLAME_EIO;
	}
	err = flame_input_open_fd(&r.in, fd, path);
	if (!err) {
		r.in.binary = true;
		err = read_header(&r);
		for (int more = 1; !err && more;) {
			more = read_record(&r);
			err = more < 0 ? more : 0;
		}
		flame_input_close(&r.in);
	}
	free(r.names);
	idmap_release(&r.by_index);
	close(fd);
	return err;
}

// SPDX-License-Identifier: MIT
/*
 * maps.c - what is mapped where in a process: LTTng-UST's state dump, its dlopen events, and perf's mmap
 * events. Names of threads in perf's comm events come the same way.
 *
 * An address belongs to the image that its process has when the event comes. State dumps run on a thread
 * of their own and may come later than the events; so mappings are added to the image that is there,
 * and only one that contradicts it, or another program, makes a new image.
 */
#include <stdlib.h>
#include <string.h>

#include "../../core/table.h"
#include "sink.h"

enum { F_START, F_SIZE, F_PATH, F_IS_PIC, F_PID, F_TID };

/* ---- images ---- */

struct image *image_new(struct sink *s, const struct image *copy)
{
	struct image *m = calloc(1, sizeof(*m));

	if (!m || !array_reserve((void **)&s->images, &s->room_images, s->nr_images + 2, sizeof(struct image *)) ||
	    (copy && !array_reserve((void **)&m->maps, &m->room, copy->nr, sizeof(*m->maps)))) {
		if (m)
			free(m->maps);
		free(m);
		sink_fail(s, FLAME_ENOMEM);
		return NULL;
	}
	if (!s->nr_images)
		s->images[s->nr_images++] = NULL;
	m->id = (uint32_t)s->nr_images;
	s->images[s->nr_images++] = m;
	if (copy && copy->nr) {
		memcpy(m->maps, copy->maps, copy->nr * sizeof(*m->maps));
		m->nr = copy->nr;
	}
	return m;
}

void process_set_image(struct process *p, struct image *image)
{
	if (!image)
		return;
	if (p->image)
		p->image->users--;
	p->image = image;
	image->users++;
}

/* Return: index of the first mapping that starts above @address. */
static size_t upper(const struct image *m, uint64_t address)
{
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->maps[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct mapping *image_find(const struct image *m, uint64_t address, uint64_t *end)
{
	size_t i = m ? upper(m, address) : 0;

	if (!i)
		return NULL;
	*end = i < m->nr ? m->maps[i].start : UINT64_MAX;
	if (m->maps[i - 1].end && m->maps[i - 1].end < *end)
		*end = m->maps[i - 1].end;
	return address < *end ? &m->maps[i - 1] : NULL;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->path == b->path && a->moved == b->moved && a->linked == b->linked;
}

static bool overlaps(const struct mapping *a, const struct mapping *b)
{
	uint64_t a_end = a->end ? a->end : a->start + 1, b_end = b->end ? b->end : b->start + 1;

	return a->start < b_end && b->start < a_end;
}

static void image_insert(struct sink *s, struct image *m, const struct mapping *map)
{
	size_t at;

	if (!array_reserve((void **)&m->maps, &m->room, m->nr + 1, sizeof(*m->maps))) {
		sink_fail(s, FLAME_ENOMEM);
		return;
	}
	at = upper(m, map->start);
	memmove(&m->maps[at + 1], &m->maps[at], (m->nr - at) * sizeof(*m->maps));
	m->maps[at] = *map;
	m->nr++;
}

/* Set *@first and *@end to the mappings that @map overlaps; mappings do not overlap each other. */
static void find_overlaps(const struct image *m, const struct mapping *map, size_t *first, size_t *end)
{
	*first = upper(m, map->start);
	if (*first && overlaps(&m->maps[*first - 1], map))
		--*first;
	for (*end = *first; *end < m->nr && overlaps(&m->maps[*end], map); ++*end)
		;
}

/* Return: an image of the process's own to be changed; the one it has where there are too many already. */
static struct image *own_image(struct sink *s, struct process *p)
{
	if (s->nr_copied > BT2_COPIED_MAX) {
		s->counts.images_mixed++;
		return p->image;
	}
	s->nr_copied += p->image->nr + 64;	/* what a small array takes */
	process_set_image(p, image_new(s, p->image));
	return p->image;
}

static void process_map(struct sink *s, struct process *p, const struct mapping *map)
{
	struct image *m = p->image;
	size_t first, end;

	s->told_maps = true;
	find_overlaps(m, map, &first, &end);
	if (end == first + 1 && same_mapping(&m->maps[first], map))
		return;
	if (m->nr >= BT2_MAPS_MAX && first == end) {
		s->counts.maps_skipped++;
		return;
	}
	/* A forked process shares its parent's image until it maps something itself. */
	if (first != end || m->users > 1)
		m = own_image(s, p);
	if (first != end)
		memmove(&m->maps[first], &m->maps[end], (m->nr - end) * sizeof(*m->maps));
	m->nr -= end - first;
	image_insert(s, m, map);
}

/* ---- LTTng-UST ---- */

/* Another program in the same process has another thread that tells its mappings. */
static void on_dump_start(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);

	if (!t)
		return;
	process_see_trace(s, t->process, ev->trace);
	if (t->process->dumper >= 0 && t->tid >= 0 && t->process->dumper != t->tid)
		process_exec(s, t->process);
	t->process->dumper = t->tid;
}

static void on_binary(struct sink *s, const struct event *ev)
{
	const struct field *f = ev->class->f;
	const char *path = field_text(ev->event, &f[F_PATH]);
	struct thread *t = thread_of(s, ev);
	struct mapping map = { .linked = true };
	uint64_t size, is_pic = 1;

	if (!t || !path || !*path || !field_number(ev->event, &f[F_START], &map.start) ||
	    !field_number(ev->event, &f[F_SIZE], &size))
		return;
	field_number(ev->event, &f[F_IS_PIC], &is_pic);
	map.moved = is_pic;
	/* The vdso is said to have no size. */
	map.end = size && size <= UINT64_MAX - map.start ? map.start + size : 0;
	map.path = flame_intern(s->raw, path, strlen(path));
	process_map(s, t->process, &map);
}

static void on_build_id(struct sink *s, const struct event *ev)
{
	struct thread *t = thread_of(s, ev);
	const struct field *f = ev->class->f;
	struct image *image = t ? t->process->image : NULL;
	uint8_t id[FLAME_BUILD_ID_MAX];
	size_t nr = field_bytes(ev->event, &f[F_PATH], id, sizeof(id));
	uint64_t start;

	if (!image || !nr || !field_number(ev->event, &f[F_START], &start))
		return;
	for (size_t i = 0; i < image->nr; i++) {
		struct mapping *map = &image->maps[i];

		if (map->start != start || map->nr_build_id)
			continue;
		memcpy(map->build_id, id, nr);
		map->nr_build_id = (uint8_t)nr;
	}
}

/* ---- perf ---- */

static bool perf_ids(const struct event *ev, int32_t *pid, int32_t *tid)
{
	uint64_t p, t;

	if (!field_number(ev->event, &ev->class->f[F_PID], &p) || !field_number(ev->event, &ev->class->f[F_TID], &t))
		return false;
	*pid = (int32_t)p;
	*tid = (int32_t)t;
	return true;
}

static void on_perf_comm(struct sink *s, const struct event *ev)
{
	const char *comm = field_text(ev->event, &ev->class->f[F_PATH]);
	struct thread *t;
	int32_t pid, tid;

	if (!comm || !perf_ids(ev, &pid, &tid))
		return;
	t = thread_get(s, ev->trace, pid, tid);
	if (t)
		thread_set_comm(s, t, comm);
}

/* perf tells neither the length of a mapping nor its offset in the file. */
static void on_perf_mmap(struct sink *s, const struct event *ev)
{
	static const char kernel[] = "[kernel.kallsyms]_";
	const char *path = field_text(ev->event, &ev->class->f[F_PATH]);
	struct mapping map = { 0 };
	struct process *p;
	int32_t pid, tid;

	if (!path || !perf_ids(ev, &pid, &tid) || !field_number(ev->event, &ev->class->f[F_START], &map.start))
		return;
	if (pid < 0) {
		if (!strncmp(path, kernel, sizeof(kernel) - 1))
			s->kernel_text = map.start;
		return;
	}
	p = process_get(s, ev->trace->host, pid);
	map.path = flame_intern(s->raw, path, strlen(path));
	if (p && map.path)
		process_map(s, p, &map);
}

static void on_perf_exit(struct sink *s, const struct event *ev)
{
	struct thread *t;
	int32_t pid, tid;

	if (!perf_ids(ev, &pid, &tid))
		return;
	t = thread_get(s, ev->trace, pid, tid);
	if (t)
		thread_end(s, t, ev->time);
}

static void on_perf_fork(struct sink *s, const struct event *ev)
{
	struct process *child, *parent;
	struct thread *t, *from;
	uint64_t ppid, ptid;
	int32_t pid, tid;

	if (!perf_ids(ev, &pid, &tid) || !field_number(ev->event, &ev->class->f[F_SIZE], &ppid) ||
	    !field_number(ev->event, &ev->class->f[F_IS_PIC], &ptid))
		return;
	t = thread_get(s, ev->trace, pid, tid);
	from = thread_get(s, ev->trace, (int32_t)ppid, (int32_t)ptid);
	if (t)
		thread_begin(s, t);
	if (t && from && from->comm[0])
		thread_set_comm(s, t, from->comm);
	child = process_get(s, ev->trace->host, pid);
	parent = process_get(s, ev->trace->host, (int32_t)ppid);
	if (child && parent && child != parent)
		process_set_image(child, parent->image);
}

/* ---- which event is which ---- */

struct map_event {
	const char *name;
	maps_handler handler;
	const char *fields[6];
};

static const struct map_event map_events[] = {
	{ "lttng_ust_statedump:start", on_dump_start, { NULL } },
	{ "lttng_ust_statedump:bin_info", on_binary, { "baddr", "memsz", "path", "is_pic" } },
	{ "lttng_ust_statedump:build_id", on_build_id, { "baddr", NULL, "build_id" } },
	{ "lttng_ust_dl:dlopen", on_binary, { "baddr", "memsz", "path" } },
	{ "lttng_ust_dl:dlmopen", on_binary, { "baddr", "memsz", "path" } },
	{ "lttng_ust_dl:build_id", on_build_id, { "baddr", NULL, "build_id" } },
	{ "lttng_ust_lib:load", on_binary, { "baddr", "memsz", "path" } },
	{ "lttng_ust_lib:build_id", on_build_id, { "baddr", NULL, "build_id" } },
	{ "perf_comm", on_perf_comm, { NULL, NULL, "comm", NULL, "pid", "tid" } },
	{ "perf_mmap", on_perf_mmap, { "start", NULL, "filename", NULL, "pid", "tid" } },
	{ "perf_mmap2", on_perf_mmap, { "start", NULL, "filename", NULL, "pid", "tid" } },
	{ "perf_fork", on_perf_fork, { NULL, "ppid", NULL, "ptid", "pid", "tid" } },
	{ "perf_exit", on_perf_exit, { NULL, NULL, NULL, NULL, "pid", "tid" } },
	/* Nothing to be done, and no spans either. */
	{ "lttng_ust_statedump:end", NULL, { NULL } },
};

void maps_recognise(struct event_class *c, const char *name)
{
	for (size_t i = 0; i < sizeof(map_events) / sizeof(map_events[0]); i++) {
		if (strcmp(map_events[i].name, name) != 0)
			continue;
		c->roles |= ROLE_MAPS;
		c->maps = map_events[i].handler;
		for (size_t j = 0; j < 6; j++) {
			if (map_events[i].fields[j])
				c->f[j] = field_find(c->class, map_events[i].fields[j], IN_PAYLOAD);
		}
	}
}

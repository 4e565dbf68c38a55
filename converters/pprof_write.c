/* SPDX-License-Identifier: MIT */
/*
 * pprof_write.c - a profile as gzipped profile.proto.
 *
 * pprof has one sample for a stack, with a value of each type. Locations are found with the tables
 * of a second profile: its strings are the string table, whose first is also empty, and a stack in
 * it is a location: a frame and what was inlined into it, one behind the other.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../core/bulk.h"
#include "../core/folded.h"
#include "../core/protobuf.h"
#include "../core/span.h"
#include "../core/sort.h"
#include "../core/table.h"
#include "../core/tidy.h"
#include "../core/units.h"
#include "pprof.h"

#define OUT_SIZE ((size_t)64 << 10)

struct writer {
	const struct flame_profile *p;
	const struct flame_write_options *options;
	FILE *out;
	z_stream gz;
	bool gz_open;
	unsigned char *packed;		/* OUT_SIZE bytes */
	struct flame_pb_out message;	/* of Profile, fields not yet packed */
	struct flame_pb_out inner, numbers;

	struct flame_profile *tables;	/* strings; stacks as locations */
	flame_type *types;		/* in the order they are written */
	uint32_t *columns;		/* by type: its place in types + 1, or 0 */
	int64_t *divisors;		/* by place in types */
	int64_t *values;		/* by place in types */
	size_t nr_types;
	uint64_t *is_used;		/* a bit a stack of tables: it is a location */
	size_t room_is_used, nr_is_used;
	flame_string *modules;		/* by mapping id - 1 */
	size_t nr_modules, room_modules;
	uint32_t *module_ids;		/* by string of the profile */
	size_t room_module_ids, nr_module_ids;
	flame_stack *path;		/* locations of a sample, the root's first */
	size_t nr_path, room_path;
	flame_stack *frames;		/* stacks up to the leaf's, the leaf's first */
	size_t room_frames;
	char *name;
	size_t room_name;
	bool as_shown;			/* a comment says so */
};

/* Output. */

static int deflate_some(struct writer *w, const char *bytes, size_t len, int flush)
{
	w->gz.next_in = (unsigned char *)bytes;
	w->gz.avail_in = (uInt)len;
	do {
		w->gz.next_out = w->packed;
		w->gz.avail_out = OUT_SIZE;
		deflate(&w->gz, flush);
		fwrite(w->packed, 1, OUT_SIZE - w->gz.avail_out, w->out);
	} while (!w->gz.avail_out && !ferror(w->out));
	return ferror(w->out) ? FLAME_EIO : 0;
}

static int flush(struct writer *w, int how)
{
	int err = 0;

	if (w->message.failed || w->inner.failed || w->numbers.failed)
		return FLAME_ENOMEM;
	for (size_t at = 0; !err && at < w->message.len;) {
		size_t n = w->message.len - at < OUT_SIZE ? w->message.len - at : OUT_SIZE;

		err = deflate_some(w, w->message.bytes + at, n, Z_NO_FLUSH);
		at += n;
	}
	w->message.len = 0;
	return err || how != Z_FINISH ? err : deflate_some(w, NULL, 0, Z_FINISH);
}

static int flush_if_large(struct writer *w)
{
	return w->message.len >= OUT_SIZE || w->message.failed ? flush(w, Z_NO_FLUSH) : 0;
}

static flame_string intern(struct writer *w, struct flame_span s)
{
	return flame_intern(w->tables, s.s, s.len);
}

static flame_string copy_string(struct writer *w, flame_string row)
{
	return intern(w, flame_string_get(w->p, row));
}

/* Value types. */

static void add_type(struct writer *w, flame_type type)
{
	if (!type || w->columns[type])
		return;
	w->types[w->nr_types++] = type;
	w->columns[type] = (uint32_t)w->nr_types;
}

static bool choose_types(struct writer *w)
{
	uint32_t nr = flame_nr_types(w->p);
	bool *has = calloc(nr, sizeof(*has));

	w->types = calloc(nr, sizeof(*w->types));
	w->columns = calloc(nr, sizeof(*w->columns));
	w->divisors = calloc(nr, sizeof(*w->divisors));
	w->values = calloc(nr, sizeof(*w->values));
	if (!w->types || !w->columns || !w->divisors || !w->values || !has) {
		free(has);
		return false;
	}
	add_type(w, w->options->before);
	add_type(w, w->options->type);
	for (uint32_t i = 0; w->options->all_types && i < flame_nr_samples(w->p); i++)
		has[flame_sample_get(w->p, i)->type] = true;
	for (flame_type i = 1; i < nr; i++) {
		if (has[i])
			add_type(w, i);
	}
	free(has);
	return true;
}

/* Return: true where all values of @type are whole ones. */
static bool is_whole(const struct writer *w, flame_type type, int64_t divisor)
{
	for (uint32_t i = 0; i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);

		if (s->type == type && s->value % divisor)
			return false;
	}
	return true;
}

/* pprof has whole numbers only: fractions stay in the unit, "1e-3 seconds", which is read back so. */
static flame_string unit_of(struct writer *w, flame_type type, int64_t *divisor)
{
	const struct flame_type_info *info = flame_type_get(w->p, type);
	struct flame_span unit = flame_string_get(w->p, info->unit);
	char *text;
	flame_string row;
	int n;

	if (span_equals(unit, "ns"))
		unit = PPROF_SPAN("nanoseconds");
	if (!unit.len)
		unit = PPROF_SPAN("count");
	*divisor = 1;
	for (uint32_t i = 0; i < info->scale; i++)
		*divisor *= 10;
	if (is_whole(w, type, *divisor))
		return intern(w, unit);
	*divisor = 1;
	n = asprintf(&text, "1e-%u %.*s", info->scale, (int)unit.len, unit.s);
	if (n < 0)
		return 0;
	row = flame_intern(w->tables, text, (size_t)n);
	free(text);
	return row;
}

static flame_string type_name(struct writer *w, flame_type type)
{
	struct flame_span name = flame_string_get(w->p, flame_type_get(w->p, type)->name);

	return intern(w, name.len ? name : PPROF_SPAN("samples"));
}

static void put_comment(struct writer *w, const char *start, const char *what, struct flame_span name)
{
	char *text;
	int n = asprintf(&text, "%s%s%s%.*s", start, what, *what ? " " : "", (int)name.len, name.s);

	if (n < 0)
		return;
	flame_pb_put_number(&w->message, 13, flame_intern(w->tables, text, (size_t)n));
	free(text);
}

/*
 * pprof has no place for what is measured. Most types' names tell; where they do not, or falsely, a comment does. Nor has
 * it one for units that are not known.
 */
static void put_comments(struct writer *w, flame_type type)
{
	const struct flame_type_info *info = flame_type_get(w->p, type);
	struct flame_span name = flame_string_get(w->tables, type_name(w, type));

	if (info->kind != pprof_value_kind(name))
		put_comment(w, PPROF_KIND_COMMENT, info->kind ? flame_value_kind_name(info->kind) : PPROF_KIND_UNKNOWN, name);
	if (!flame_string_get(w->p, info->unit).len)
		put_comment(w, PPROF_UNIT_COMMENT, "", name);
}

static void put_types(struct writer *w)
{
	for (size_t i = 0; i < w->nr_types; i++) {
		flame_string unit = unit_of(w, w->types[i], &w->divisors[i]);

		flame_pb_put_number(&w->inner, 1, type_name(w, w->types[i]));
		flame_pb_put_number(&w->inner, 2, unit);
		flame_pb_put_message(&w->message, 1, &w->inner);
	}
	flame_pb_put_number(&w->message, 14, type_name(w, w->options->type));
	for (size_t i = 0; i < w->nr_types; i++)
		put_comments(w, w->types[i]);
}

/* When and how often samples were taken, where that is known. */
static void put_recording(struct writer *w)
{
	const struct flame_meta *meta = flame_meta_get(w->p);
	uint64_t duration = flame_meta_duration(w->p), hz = meta->frequency_hz;
	const char *unit = hz ? "nanoseconds" : "count";

	if (meta->start_ns && meta->start_ns <= INT64_MAX)
		flame_pb_put_number(&w->message, 9, meta->start_ns);
	if (duration && duration <= INT64_MAX)
		flame_pb_put_number(&w->message, 10, duration);
	if (!hz && (!meta->period || meta->period > INT64_MAX))
		return;
	flame_pb_put_number(&w->inner, 1, type_name(w, w->options->type));
	flame_pb_put_number(&w->inner, 2, intern(w, (struct flame_span){ unit, strlen(unit) }));
	flame_pb_put_message(&w->message, 11, &w->inner);
	flame_pb_put_number(&w->message, 12, hz ? 1000000000 / hz : meta->period);
}

/* Samples. */

static bool is_inlined(const struct writer *w, flame_frame frame)
{
	enum flame_kind kind = flame_frame_get(w->p, frame)->kind;

	return (w->options->kinds & FLAME_KIND_BIT(kind)) && (kind == FLAME_INLINED || kind == FLAME_JIT_INLINED);
}

static bool add_location(struct writer *w, flame_stack location)
{
	size_t words = flame_nr_stacks(w->tables) / 64 + 1;

	if (!array_reserve((void **)&w->path, &w->room_path, w->nr_path + 1, sizeof(*w->path)) ||
	    !array_reserve((void **)&w->is_used, &w->room_is_used, words, sizeof(*w->is_used)))
		return false;
	for (; w->nr_is_used < words; w->nr_is_used++)
		w->is_used[w->nr_is_used] = 0;
	w->is_used[location / 64] |= 1ull << (location % 64);
	w->path[w->nr_path++] = location;
	return true;
}

/* A frame that was not inlined begins a location; the inlined ones behind it are part of it. */
static bool find_locations(struct writer *w, flame_stack stack)
{
	flame_stack location = 0;
	size_t nr = 0;

	w->nr_path = 0;
	for (; stack; stack = flame_stack_caller(w->p, stack)) {
		if (!array_reserve((void **)&w->frames, &w->room_frames, nr + 1, sizeof(*w->frames)))
			return false;
		w->frames[nr++] = flame_stack_frame(w->p, stack);
	}
	while (nr--) {
		bool inlined = location && is_inlined(w, w->frames[nr]);

		if (location && !inlined && !add_location(w, location))
			return false;
		location = flame_stack_push(w->tables, inlined ? location : 0, w->frames[nr]);
		if (!location)
			return false;
	}
	return !location || add_location(w, location);
}

static void put_label(struct writer *w, const char *key, flame_string str, int64_t num)
{
	flame_pb_put_number(&w->numbers, 1, flame_intern(w->tables, key, strlen(key)));
	flame_pb_put_number(&w->numbers, str ? 2 : 3, str ? str : (uint64_t)num);
	flame_pb_put_message(&w->inner, 3, &w->numbers);
}

static void put_task(struct writer *w, flame_task row)
{
	const struct flame_task_info *task = flame_task_get(w->p, row);

	if (!row)
		return;
	if (flame_string_get(w->p, task->comm).len)
		put_label(w, "thread", copy_string(w, task->comm), 0);
	if (task->pid >= 0)
		put_label(w, "pid", 0, task->pid);
	if (task->tid >= 0)
		put_label(w, "tid", 0, task->tid);
}

static int put_sample(struct writer *w, const struct flame_sample *s)
{
	if (!find_locations(w, s->stack))
		return FLAME_ENOMEM;
	while (w->nr_path)
		flame_pb_put_varint(&w->numbers, w->path[--w->nr_path]);
	flame_pb_put_message(&w->inner, 1, &w->numbers);
	for (size_t i = 0; i < w->nr_types; i++)
		flame_pb_put_varint(&w->numbers, (uint64_t)(w->values[i] / w->divisors[i]));
	flame_pb_put_message(&w->inner, 2, &w->numbers);
	put_task(w, s->task);
	flame_pb_put_message(&w->message, 2, &w->inner);
	memset(w->values, 0, w->nr_types * sizeof(*w->values));
	return flush_if_large(w);
}

/* Whether two samples become one: the same stack and task, and each type once. */
static bool belong_together(const struct writer *w, const struct flame_sample *a, const struct flame_sample *b)
{
	return a->stack == b->stack && a->task == b->task && !w->values[w->columns[b->type] - 1];
}

/*
 * Number stacks in the order in which samples came to them: locations are numbered by it, and those that come early, often the
 * most frequent ones, take fewest bytes. Return: NULL without memory.
 */
static uint32_t *number_stacks(const struct flame_profile *p)
{
	uint32_t *numbers = calloc(flame_nr_stacks(p), sizeof(*numbers)), next = 1;
	flame_stack *path = NULL;
	size_t room = 0;
	bool ok = numbers;

	for (uint32_t i = 0; ok && i < flame_nr_samples(p); i++) {
		size_t nr = 0;

		for (flame_stack at = flame_sample_get(p, i)->stack; ok && at && !numbers[at]; at = flame_stack_caller(p, at)) {
			ok = array_reserve((void **)&path, &room, nr + 1, sizeof(*path));
			if (ok)
				path[nr++] = at;
		}
		while (ok && nr)
			numbers[path[--nr]] = next++;
	}
	free(path);
	if (ok)
		return numbers;
	free(numbers);
	return NULL;
}

/* Samples of a stack are put one behind the other; of those the tasks are. */
static struct flame_pair *sort_samples(const struct flame_profile *p)
{
	bool grouped = flame_bulk_is_in_groups(p);
	uint32_t nr = flame_nr_samples(p), *numbers = grouped ? number_stacks(p) : NULL;
	struct flame_pair *pairs = malloc(((size_t)nr + 1) * sizeof(*pairs));
	bool ok = pairs && (numbers || !grouped);

	for (uint32_t i = 0; ok && i < nr; i++)
		pairs[i] = (struct flame_pair){ flame_sample_get(p, i)->task, i };
	if (ok && !flame_profile_options(p)->ordered) {
		ok = !flame_profile_options(p)->keep_task || flame_sort_pairs(pairs, nr);
		for (uint32_t i = 0; ok && i < nr; i++) {
			flame_stack stack = flame_sample_get(p, pairs[i].row)->stack;

			pairs[i].key = grouped ? numbers[stack] : stack;
		}
		ok = ok && flame_sort_pairs(pairs, nr);
	}
	free(numbers);
	if (ok)
		return pairs;
	free(pairs);
	return NULL;
}

static int put_samples(struct writer *w)
{
	struct flame_pair *pairs = sort_samples(w->p);
	const struct flame_sample *open = NULL;
	int err = pairs ? 0 : FLAME_ENOMEM;

	for (uint32_t i = 0; !err && i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, pairs[i].row);

		if (!w->columns[s->type] || !s->value)
			continue;
		if (open && !belong_together(w, open, s))
			err = put_sample(w, open);
		w->values[w->columns[s->type] - 1] = s->value;
		open = s;
	}
	if (!err && open)
		err = put_sample(w, open);
	free(pairs);
	return err;
}

/* Tables. */

/* Return: the id of the mapping of @module; 0 without memory. */
static uint32_t mapping_id(struct writer *w, flame_string module)
{
	if (!array_reserve((void **)&w->module_ids, &w->room_module_ids, (size_t)module + 1, sizeof(*w->module_ids)))
		return 0;
	for (; w->nr_module_ids <= module; w->nr_module_ids++)
		w->module_ids[w->nr_module_ids] = 0;
	if (w->module_ids[module])
		return w->module_ids[module];
	if (!array_reserve((void **)&w->modules, &w->room_modules, w->nr_modules + 1, sizeof(*w->modules)))
		return 0;
	w->modules[w->nr_modules++] = module;
	return w->module_ids[module] = (uint32_t)w->nr_modules;
}

/* Mappings say that their symbols were found, so that nobody looks for the files. */
static void put_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->nr_modules; i++) {
		flame_pb_put_number(&w->inner, 1, i + 1);
		flame_pb_put_number(&w->inner, 5, copy_string(w, w->modules[i]));
		for (uint32_t k = 7; k <= 10; k++)
			flame_pb_put_number(&w->inner, k, 1);
		flame_pb_put_message(&w->message, 3, &w->inner);
	}
}

/* The leaf's line first: what was inlined last. */
static int put_location(struct writer *w, flame_stack location)
{
	bool lines = flame_profile_options(w->p)->keep_line;
	flame_string module = 0;

	flame_pb_put_number(&w->inner, 1, location);
	for (flame_stack at = location; at; at = flame_stack_caller(w->tables, at)) {
		flame_frame frame = flame_stack_frame(w->tables, at);
		const struct flame_frame_info *info = flame_frame_get(w->p, frame);

		flame_pb_put_number(&w->numbers, 1, frame);
		if (lines && info->line)
			flame_pb_put_number(&w->numbers, 2, info->line);
		flame_pb_put_message(&w->inner, 4, &w->numbers);
		module = info->module;
	}
	/* One without a name is of a mapping too: pprof wants one for each location. */
	flame_pb_put_number(&w->inner, 2, mapping_id(w, module));
	flame_pb_put_message(&w->message, 4, &w->inner);
	return flush_if_large(w);
}

/* Under --srcline names end in ":file.c:12" or ":12", which pprof has fields for. */
static struct flame_span function_name(const struct writer *w, const struct flame_frame_info *info)
{
	struct flame_span name = flame_string_get(w->p, info->name), file = flame_string_get(w->p, info->file);
	const char *slash = memrchr(file.s, '/', file.len);
	char *end;
	int n;

	if (!flame_profile_options(w->p)->keep_line || (!file.len && !info->line))
		return name;
	if (slash)
		file = (struct flame_span){ slash + 1, file.len - (size_t)(slash + 1 - file.s) };
	n = info->line ? asprintf(&end, "%s%.*s:%u", file.len ? ":" : "", (int)file.len, file.s, info->line) :
			 asprintf(&end, ":%.*s", (int)file.len, file.s);
	if (n < 0)
		return name;
	if ((size_t)n < name.len && !memcmp(name.s + name.len - n, end, (size_t)n))
		name.len -= (size_t)n;
	free(end);
	return name;
}

/* Return: whether the reader's tidying would leave @name as it is; true without memory. */
static bool is_tidy(struct writer *w, struct flame_span name)
{
	struct flame_span tidy = flame_tidy_offset(name);

	if (tidy.len != name.len)
		return false;
	if (flame_thread_frame(name) == name.len || !array_reserve((void **)&w->name, &w->room_name, name.len + 1, 1))
		return true;
	tidy = flame_tidy_name(name, FLAME_TIDY_NATIVE, w->name);
	return tidy.len == name.len && !memcmp(tidy.s, name.s, name.len);
}

/* The kind of a frame, which pprof has no place for, stands behind what the system calls it, which pprof does not show. */
static flame_string system_name(struct writer *w, const struct flame_frame_info *info, struct flame_span name)
{
	const char *suffix = w->options->kinds & FLAME_KIND_BIT(info->kind) ? flame_kind_suffix(info->kind) : "";
	size_t len = strlen(suffix);

	if (!len || !array_reserve((void **)&w->name, &w->room_name, name.len + len, 1))
		return intern(w, name);
	memcpy(w->name, name.s, name.len);
	memcpy(w->name + name.len, suffix, len);
	return flame_intern(w->tables, w->name, name.len + len);
}

static int put_function(struct writer *w, flame_frame frame)
{
	const struct flame_frame_info *info = flame_frame_get(w->p, frame);
	struct flame_span name = function_name(w, info);

	if (!w->as_shown && !is_tidy(w, name)) {
		put_comment(w, PPROF_NAMES_COMMENT, "", (struct flame_span){ "", 0 });
		w->as_shown = true;
	}
	flame_pb_put_number(&w->inner, 1, frame);
	flame_pb_put_number(&w->inner, 2, intern(w, name));
	flame_pb_put_number(&w->inner, 3, system_name(w, info, name));
	flame_pb_put_number(&w->inner, 4, copy_string(w, info->file));
	flame_pb_put_message(&w->message, 5, &w->inner);
	return flush_if_large(w);
}

static int put_functions(struct writer *w)
{
	uint64_t *is_used = calloc(flame_nr_frames(w->p) / 64 + 1, sizeof(*is_used));
	int err = is_used ? 0 : FLAME_ENOMEM;

	/* Each stack of the tables is a location or the start of one. */
	for (flame_stack i = 1; !err && i < flame_nr_stacks(w->tables); i++) {
		flame_frame frame = flame_stack_frame(w->tables, i);

		is_used[frame / 64] |= 1ull << (frame % 64);
	}
	for (flame_frame i = 1; !err && i < flame_nr_frames(w->p); i++) {
		if (is_used[i / 64] >> (i % 64) & 1)
			err = put_function(w, i);
	}
	free(is_used);
	return err;
}

static int put_locations(struct writer *w)
{
	int err = 0;

	for (flame_stack i = 1; !err && i < flame_nr_stacks(w->tables) && i / 64 < w->nr_is_used; i++) {
		if (w->is_used[i / 64] >> (i % 64) & 1)
			err = put_location(w, i);
	}
	return err;
}

/* Strings have numbers from 0 on; the row past the last one is empty. */
static int put_strings(struct writer *w)
{
	int err = 0;

	flame_pb_put_bytes(&w->message, 6, (struct flame_span){ "", 0 });
	for (flame_string i = 1; !err && flame_string_get(w->tables, i).len; i++) {
		flame_pb_put_bytes(&w->message, 6, flame_string_get(w->tables, i));
		err = flush_if_large(w);
	}
	return err;
}

static int write_all(struct writer *w)
{
	int err;

	put_types(w);
	put_recording(w);
	err = put_samples(w);
	if (!err)
		err = put_locations(w);
	if (!err)
		put_mappings(w);
	if (!err)
		err = put_functions(w);
	if (!err)
		err = put_strings(w);
	if (!err)
		err = flame_profile_error(w->tables);
	return err ? err : flush(w, Z_FINISH);
}

int pprof_write(const struct flame_profile *p, const struct flame_write_options *options, FILE *out)
{
	struct writer w = { .p = p, .options = options, .out = out, .packed = malloc(OUT_SIZE),
			    .tables = flame_profile_new(NULL) };
	int err = FLAME_ENOMEM;

	w.gz_open = deflateInit2(&w.gz, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	if (w.gz_open && w.packed && w.tables && choose_types(&w))
		err = write_all(&w);
	if (w.gz_open)
		deflateEnd(&w.gz);
	flame_profile_free(w.tables);
	free(w.packed);
	free(w.message.bytes);
	free(w.inner.bytes);
	free(w.numbers.bytes);
	free(w.types);
	free(w.columns);
	free(w.divisors);
	free(w.values);
	free(w.is_used);
	free(w.modules);
	free(w.module_ids);
	free(w.path);
	free(w.frames);
	free(w.name);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * frame.c - a profile's strings and frames, each there once.
 */
#include <string.h>

#include "hash.h"
#include "merge.h"
#include "tables.h"

/* Strings. */

static bool string_index_grow(struct flame_profile *p)
{
	if (!index_grow(&p->string_index))
		return false;
	for (size_t i = 1; i < p->nr_strings; i++)
		index_put(&p->string_index, p->strings[i].hash, (uint32_t)i);
	return true;
}

static flame_string string_add(struct flame_profile *p, const char *s, size_t len, uint32_t hash)
{
	if (len >= UINT32_MAX)
		return profile_fail(p, FLAME_EOVERFLOW);
	if (!GROW(p, strings))
		return 0;
	if (!array_reserve((void **)&p->bytes, &p->room_bytes, p->nr_bytes + len + 1, 1))
		return profile_fail(p, FLAME_ENOMEM);
	if (!index_has_room(&p->string_index) && !string_index_grow(p))
		return profile_fail(p, FLAME_ENOMEM);
	memcpy(p->bytes + p->nr_bytes, s, len);
	p->bytes[p->nr_bytes + len] = '\0';
	p->strings[p->nr_strings] = (struct string){ p->nr_bytes, (uint32_t)len, hash };
	p->nr_bytes += len + 1;
	index_put(&p->string_index, hash, (uint32_t)p->nr_strings);
	return (flame_string)p->nr_strings++;
}

flame_string flame_intern(struct flame_profile *p, const char *s, size_t len)
{
	const struct index *x = &p->string_index;
	uint32_t hash, row;

	if (!len || p->error)
		return 0;
	hash = (uint32_t)hash_bytes(s, len);
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		const struct string *str = &p->strings[row];

		if (str->hash == hash && str->len == len && !memcmp(p->bytes + str->offset, s, len))
			return row;
	}
	return string_add(p, s, len, hash);
}

struct flame_span flame_string_get(const struct flame_profile *p, flame_string row)
{
	if (row >= p->nr_strings)
		row = 0;
	return (struct flame_span){ p->bytes + p->strings[row].offset, p->strings[row].len };
}

/* Frames. */

/* What the profile does not keep apart counts as the same. */
static struct flame_frame_info frame_key(const struct flame_profile *p, const struct flame_frame_info *info)
{
	struct flame_frame_info key = { .name = info->name };

	if (p->options.kinds & FLAME_KIND_BIT(info->kind))
		key.kind = info->kind;
	if (p->options.keep_module)
		key.module = info->module;
	if (p->options.keep_line) {
		key.file = info->file;
		key.line = info->line;
	}
	return key;
}

static uint32_t frame_hash(const struct flame_frame_info *key)
{
	return hash_pair(hash_pair(key->name, key->module * 16 + key->kind), hash_pair(key->file, key->line));
}

static bool frame_equal(const struct flame_frame_info *a, const struct flame_frame_info *b)
{
	return a->name == b->name && a->kind == b->kind && a->module == b->module && a->file == b->file &&
	       a->line == b->line;
}

static bool frame_index_grow(struct flame_profile *p)
{
	if (!index_grow(&p->frame_index))
		return false;
	for (size_t i = 1; i < p->nr_frames; i++) {
		struct flame_frame_info key = frame_key(p, &p->frames[i]);

		index_put(&p->frame_index, frame_hash(&key), (uint32_t)i);
	}
	return true;
}

flame_frame flame_frame_row(struct flame_profile *p, const struct flame_frame_info *info)
{
	struct flame_frame_info key = frame_key(p, info);
	const struct index *x = &p->frame_index;
	uint32_t hash = frame_hash(&key), row;

	if (p->error)
		return 0;
	for (uint32_t i = hash & x->mask; x->slots && (row = x->slots[i]); i = (i + 1) & x->mask) {
		struct flame_frame_info other = frame_key(p, &p->frames[row]);

		if (frame_equal(&other, &key))
			return row;
	}
	if (p->nr_frames == STACK_HEAD)
		return profile_fail(p, FLAME_EOVERFLOW);
	if (!GROW(p, frames))
		return 0;
	if (!index_has_room(&p->frame_index) && !frame_index_grow(p))
		return profile_fail(p, FLAME_ENOMEM);
	p->frames[p->nr_frames] = *info;
	index_put(&p->frame_index, hash, (uint32_t)p->nr_frames);
	return (flame_frame)p->nr_frames++;
}

const struct flame_frame_info *flame_frame_get(const struct flame_profile *p, flame_frame row)
{
	return &p->frames[row < p->nr_frames ? row : 0];
}

uint32_t flame_nr_frames(const struct flame_profile *p)
{
	return (uint32_t)p->nr_frames;
}

void flame_frames_forget_kinds(struct flame_profile *p)
{
	for (size_t i = 1; i < p->nr_frames; i++) {
		if (!(p->options.kinds & FLAME_KIND_BIT(p->frames[i].kind)))
			p->frames[i].kind = FLAME_USER;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * profile.c - a profile's life.
 */
#include "tables.h"

static const char *const errors[] = {
	[-FLAME_OK] = "no error",
	[-FLAME_ENOMEM] = "out of memory",
	[-FLAME_EIO] = "input or output failed",
	[-FLAME_EFORMAT] = "not in this format",
	[-FLAME_EDAMAGED] = "the input is damaged",
	[-FLAME_EOVERFLOW] = "a sum does not fit 64 bits",
	[-FLAME_EEMPTY] = "there are no samples",
	[-FLAME_EARG] = "an argument is out of range",
};
const char *flame_strerror(int err)
{
	size_t i = err > 0 ? 0 : (size_t)-(int64_t)err;

	return i < sizeof(errors) / sizeof(*errors) ? errors[i] : "unknown error";
}

const char *flame_kind_suffix(enum flame_kind kind)
{
	static const char *const suffixes[FLAME_NR_KINDS] = {
		[FLAME_KERNEL] = "_[k]", [FLAME_INLINED] = "_[i]", [FLAME_JIT] = "_[j]",
		[FLAME_JIT_INLINED] = "_[i]", [FLAME_INTERPRETED] = "_[0]", [FLAME_C1] = "_[1]",
		[FLAME_WAKER] = "_[w]",
	};

	return (unsigned int)kind < FLAME_NR_KINDS && suffixes[kind] ? suffixes[kind] : "";
}

struct flame_profile *flame_profile_new(const struct flame_profile_options *options)
{
	struct flame_profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (options)
		p->options = *options;
	if (!GROW(p, strings) || !GROW(p, frames) || !GROW(p, tasks) || !GROW(p, types) ||
	    !profile_reserve_stacks(p, 1) || !array_reserve((void **)&p->bytes, &p->room_bytes, 4096, 1)) {
		flame_profile_free(p);
		return NULL;
	}
	p->bytes[p->nr_bytes++] = '\0';
	p->strings[p->nr_strings++] = (struct string){ 0 };
	p->frames[p->nr_frames++] = (struct flame_frame_info){ 0 };
	p->is_head[0] = p->is_sampled[0] = p->heads_before[0] = 0;
	p->stacks[p->nr_stacks++] = 0;
	p->tasks[p->nr_tasks++] = (struct flame_task_info){ .pid = -1, .tid = -1 };
	p->types[p->nr_types++] = (struct flame_type_info){ 0 };
	return p;
}

void flame_profile_free(struct flame_profile *p)
{
	if (!p)
		return;
	free(p->bytes);
	free(p->strings);
	free(p->string_index.slots);
	free(p->frames);
	free(p->frame_index.slots);
	free(p->stacks);
	free(p->is_head);
	free(p->is_sampled);
	free(p->heads_before);
	free(p->heads);
	free(p->head_slots);
	free(p->tasks);
	free(p->task_index.slots);
	free(p->types);
	free(p->samples);
	free(p->sizes);
	free(p->sample_index.slots);
	free(p);
}

int flame_profile_error(const struct flame_profile *p)
{
	return p->error;
}

const struct flame_profile_options *flame_profile_options(const struct flame_profile *p)
{
	return &p->options;
}

void flame_lost_add(struct flame_profile *p, uint64_t nr)
{
	if (__builtin_add_overflow(p->lost, nr, &p->lost))
		p->lost = UINT64_MAX;
}

uint64_t flame_lost(const struct flame_profile *p)
{
	return p->lost;
}

/* SPDX-License-Identifier: MIT */
/*
 * report_words.c - places, and names of things.
 */
#define _GNU_SOURCE
#include "report_words.h"

#include "units.h"

static const struct {
	const char *id, *name;
} entries[] = {
	[FLAME_ENTRY_NONE] = { "other", "other" },
	[FLAME_ENTRY_SYSCALL] = { "syscall", "system calls" },
	[FLAME_ENTRY_FAULT] = { "page-fault", "page faults" },
	[FLAME_ENTRY_THREAD] = { "kernel-thread", "kernel threads" },
	[FLAME_ENTRY_INTERRUPT] = { "interrupt", "interrupts" },
};

struct flame_place flame_report_place(const struct flame_profile *p, flame_frame frame)
{
	const struct flame_frame_info *info = flame_frame_get(p, frame);
	struct flame_place place = { .name = flame_string_get(p, info->name), .file = { "", 0 } };

	if (info->kind != FLAME_KERNEL && info->kind != FLAME_TASK)
		place = flame_place_parse(place.name);
	if (info->file)
		place.file = flame_string_get(p, info->file);
	if (info->line)
		place.line = info->line;
	return place;
}

const char *flame_report_entry_name(enum flame_kernel_entry entry)
{
	return entries[entry].name;
}

const char *flame_report_entry_id(enum flame_kernel_entry entry)
{
	return entries[entry].id;
}

const char *flame_report_kind_id(enum flame_value_kind kind)
{
	const char *name = flame_value_kind_name(kind);

	return *name ? name : "other";
}

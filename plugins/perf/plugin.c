/* SPDX-License-Identifier: MIT */
/*
 * plugin.c - flame.so's options, messages and output: those of fgconv, and with to=svg those of fgrender.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "plugin.h"

/* What perf has options of its own for, and what is of no use for its samples. */
static const char *const refused[] = {
	"from", "profile", "columns", "threads", "label", "state", "no-idle", "leak", "bci", "offcpu", "kallsyms",
	"list-formats", "version", "help", "threads-max", "strict", "to", NULL,
};

/* Marks in text; pictures tell these kinds by their colours. */
static const char *const marks[] = { "kernel", "jit", "inline", "all", NULL };

static bool is_one_of(const char *s, const char *const *list)
{
	for (size_t i = 0; list[i]; i++) {
		if (!strcmp(s, list[i]))
			return true;
	}
	return false;
}

/* Return: 0 or FLAME_ENOMEM. */
static int add_arg(struct plugin *p, const char *arg)
{
	const char *name = !strncmp(arg, "o=", 2) ? "output=" : "";

	if (asprintf(&p->args[p->nr_args], "--%s%s", name, *name ? arg + 2 : arg) < 0) {
		p->args[p->nr_args] = NULL;
		return FLAME_ENOMEM;
	}
	p->nr_args++;
	return 0;
}

/* "to=FORMAT" is the plugin's own. Return: false after printing that there is no such format. */
static bool set_to(struct plugin *p, const char *format)
{
	const struct flame_converter *c = flame_converter_find(format);

	if (!strcmp(format, "svg")) {
		p->tool.program = PROGRAM_RENDER;
		return true;
	}
	if (!c || !c->write) {
		tool_message(&p->tool, "error", "to=%s: there are svg, and what fgconv --list-formats calls written", format);
		return false;
	}
	p->tool.program = PROGRAM_CONV;
	p->tool.writer = c;
	return true;
}

static int take_args(struct plugin *p, char **args, int nr)
{
	int err = add_arg(p, "flame.so");

	for (int i = 0; i < nr; i++) {
		if (!strncmp(args[i], "to=", 3) && !set_to(p, args[i] + 3))
			return FLAME_EARG;
	}
	for (int i = 0; !err && i < nr; i++) {
		const char *arg = !strncmp(args[i], "--", 2) ? args[i] + 2 : args[i];

		if (strncmp(arg, "to=", 3) && !(p->tool.program == PROGRAM_RENDER && is_one_of(arg, marks)))
			err = add_arg(p, arg);
	}
	if (!err && tool_parse(&p->tool, p->nr_args, p->args) >= 0)
		err = FLAME_EARG;
	return err;
}

static int make_profile(struct plugin *p)
{
	const struct flame_read_options *o = &p->tool.read;
	struct flame_profile_options options = { .kinds = o->kinds, .keep_line = o->srcline, .keep_task = o->keep_task,
						 .ordered = o->ordered, .count = o->count, .root = o->root };

	p->profile = flame_profile_new(&options);
	p->rd = (struct flame_reader){ .options = &p->tool.read, .profile = p->profile, .diag = &p->diag };
	if (!p->profile)
		return FLAME_ENOMEM;
	flame_meta(p->profile)->format = flame_intern(p->profile, "perf", 4);
	return 0;
}

static void release(struct plugin *p)
{
	plugin_samples_release(p);
	plugin_unwind_release(p);
	flame_diag_release(&p->diag);
	flame_profile_free(p->profile);
	for (int i = 0; i < p->nr_args; i++)
		free(p->args[i]);
	free(p->args);
	free(p);
}

struct plugin *plugin_new(char **args, int nr)
{
	struct plugin *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return NULL;
	p->tool = (struct tool){ .program = PROGRAM_CONV, .name = "flame.so", .is_plugin = true, .refused = refused,
				 .svg = { .minwidth = -1 }, .inputs = { "perf script" }, .nr_inputs = 1 };
	p->args = calloc((size_t)nr + 2, sizeof(*p->args));
	err = p->args ? take_args(p, args, nr) : FLAME_ENOMEM;
	if (!err)
		err = make_profile(p);
	if (!err) {
		/* perf's buffers and ours are the same, and little is written: no thread of our own. */
		p->tool.read.threads_max = 1;
		return p;
	}
	if (err != FLAME_EARG)
		tool_message(&p->tool, "error", "%s", flame_strerror(err));
	release(p);
	return NULL;
}

void plugin_end(struct plugin *p)
{
	struct tool_quality quality = { 0 };
	flame_type type = 0;
	int err;

	if (!p)
		return;
	plugin_samples_report(p);
	err = p->failed;
	if (!err && !flame_nr_samples(p->profile)) {
		flame_diag_add(&p->diag, FLAME_ERROR, "perf passed no samples: the recording is empty, or its --time, --comm, --cpu… leave none");
		err = FLAME_EEMPTY;
	} else if (!err) {
		err = flame_transform(&p->profile, &p->tool.transform);
		if (!err && !flame_nr_samples(p->profile)) {
			flame_diag_add(&p->diag, FLAME_ERROR, "no stack is left: only, exclude or focus dropped all");
			err = FLAME_EEMPTY;
		}
	}
	if (err && err != FLAME_EEMPTY)
		flame_diag_add(&p->diag, FLAME_ERROR, "%s", flame_strerror(err));
	tool_print_diag(&p->tool, 0, &p->diag);
	p->diag = (struct flame_diag){ 0 };
	if (!err)
		type = tool_choose_type(&p->tool, 0, p->profile);
	if (type)
		tool_start_quality(&quality, &p->tool, 0, p->profile, type);
	if (type && p->tool.program == PROGRAM_RENDER)
		tool_render(&p->tool, p->profile, type);
	else if (type)
		tool_convert(&p->tool, p->profile, type);
	tool_end_quality(&quality);
	release(p);
}

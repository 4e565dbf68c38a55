/* SPDX-License-Identifier: MIT */
/*
 * tool.c - what the programs share beyond options: reading an input, printing messages, and output
 * files that are complete or not there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/meta.h"
#include "drain.h"
#include "options.h"
#include "progress.h"
#include "replace.h"

#define OUTPUT_BUFFER ((size_t)256 << 10)

/* Names and paths go to a terminal: nothing in them may act on it. */
void tool_print_safe(FILE *out, const char *s)
{
	flame_text_write((struct flame_span){ s, strlen(s) }, out);
}

/* A message goes out as a whole: what is recorded may write to the same terminal, and so may others of these programs. */
struct line {
	FILE *out;
	char *text;
	size_t size;
};

static void line_begin(struct line *line)
{
	line->text = NULL;
	line->out = open_memstream(&line->text, &line->size);
	if (!line->out)
		line->out = stderr;
}

static void line_end(struct line *line)
{
	fputc('\n', line->out);
	if (line->out == stderr)
		return;
	if (!fclose(line->out))
		fwrite(line->text, 1, line->size, stderr);
	free(line->text);
}

void tool_message(const struct tool *tool, const char *severity, const char *format, ...)
{
	struct line line;
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	line_begin(&line);
	fprintf(line.out, "%s: %s: ", tool->name, severity);
	tool_print_safe(line.out, text ? text : "out of memory");
	line_end(&line);
	free(text);
}

static const char *display_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

static void print_messages(struct tool *tool, const char *path, struct flame_diag *diag)
{
	static const char *const severities[] = {
		[FLAME_NOTE] = "note", [FLAME_WARNING] = "warning", [FLAME_ERROR] = "error",
	};

	for (size_t i = 0; i < diag->nr_messages; i++) {
		const struct flame_message *m = &diag->messages[i];
		struct line line;

		if (tool->quiet && m->severity != FLAME_ERROR)
			continue;
		line_begin(&line);
		fprintf(line.out, "%s: ", tool->name);
		tool_print_safe(line.out, display_name(path));
		if (m->line)
			fprintf(line.out, ":%llu", (unsigned long long)m->line);
		fprintf(line.out, ": %s: ", severities[m->severity]);
		tool_print_safe(line.out, m->text);
		line_end(&line);
	}
	flame_diag_release(diag);
}

void tool_print_diag(struct tool *tool, size_t i, struct flame_diag *diag)
{
	print_messages(tool, tool->inputs[i], diag);
}

struct flame_profile *tool_read(struct tool *tool, size_t i)
{
	struct flame_diag diag = { 0 };
	struct progress progress;
	struct flame_profile *p;
	int err;

	if (!strcmp(tool->inputs[i], "-") && isatty(STDIN_FILENO)) {
		tool_message(tool, "error", "no input: give a file, or pipe a profile in. %s --help tells more", tool->name);
		return NULL;
	}
	tool_align_memory(tool->inputs[i]);
	progress_start(&progress, tool, i);
	err = flame_read(&p, tool->inputs[i], &tool->read, &diag);
	progress_stop(&progress);
	tool->transform.demangle = tool->read.demangle;
	tool->transform.raw_names = tool->read.raw_names;
	if (!err)
		err = flame_transform(&p, &tool->transform);
	tool->damaged |= diag.damaged;
	if (err && p)
		flame_diag_add(&diag, FLAME_ERROR, "%s", flame_strerror(err));
	else if (!err && !flame_nr_samples(p)) {
		flame_diag_add(&diag, FLAME_ERROR, "no stack is left: --only, --exclude or --focus dropped all");
		err = FLAME_EEMPTY;
	}
	/* A message takes memory as well. */
	if (err && !diag.nr_messages)
		tool_message(tool, "error", "%s", flame_strerror(err));
	print_messages(tool, tool->inputs[i], &diag);
	if (!err)
		return p;
	flame_profile_free(p);
	return NULL;
}

static bool has_value(const struct flame_profile *p, flame_type type)
{
	for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
		if (flame_sample_get(p, i)->type == type && flame_sample_get(p, i)->value)
			return true;
	}
	return false;
}

flame_type tool_choose_type(struct tool *tool, size_t i, const struct flame_profile *p)
{
	struct flame_diag diag = { 0 };
	flame_type before, after, type;

	if (flame_is_differential(p, &before, &after)) {
		if (has_value(p, after))
			return after;
		flame_diag_add(&diag, FLAME_ERROR, "nothing is left in the second profile: every count there is 0");
		print_messages(tool, tool->inputs[i], &diag);
		return 0;
	}
	type = flame_choose_type(p, tool->read.event, &diag);
	if (type && !has_value(p, type)) {
		flame_explain_zero(p, type, &diag);
		type = 0;
	}
	/* A report says itself what is not in it. */
	if (type && tool->program == PROGRAM_REPORT)
		flame_diag_release(&diag);
	print_messages(tool, tool->inputs[i], &diag);
	return type;
}

/* Removed when a signal ends the program. */
static char *volatile unfinished;

void tool_remove_unfinished(void)
{
	if (unfinished)
		unlink(unfinished);
}

static void end_unfinished(int sig)
{
	tool_remove_unfinished();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Signals that are ignored, as nohup wants it, or have a handler of the program's own, are left to it. */
static void handle_signals(void (*from)(int), void (*to)(int))
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction act;

		if (!sigaction(signals[i], NULL, &act) && act.sa_handler == from)
			signal(signals[i], to);
	}
}

static int open_temporary(const char *path, struct tool_output *out)
{
	int fd;

	out->temporary = replace_template(path);
	if (!out->temporary)
		return -1;
	fd = mkostemp(out->temporary, 0x80000 /* O_CLOEXEC */);
	if (fd < 0) {
		free(out->temporary);
		out->temporary = NULL;
		return -1;
	}
	unfinished = out->temporary;
	handle_signals(SIG_DFL, end_unfinished);
	fchmod(fd, replace_mode(path));
	out->file = fdopen(fd, "w");
	return out->file ? 0 : -1;
}

int tool_open_output(const struct tool *tool, struct tool_output *out)
{
	*out = (struct tool_output){ .file = stdout };
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!tool->output || !strcmp(tool->output, "-"))
		return 0;
	out->file = NULL;
	if (!replace_is_whole(tool->output))
		out->file = fopen(tool->output, "we");
	else if (open_temporary(tool->output, out))
		out->file = NULL;
	if (out->file)
		return 0;
	tool_message(tool, "error", "cannot write %s: %s", tool->output, strerror(errno));
	return 1;
}

void tool_buffer_output(struct tool_output *out)
{
	out->buffer = malloc(OUTPUT_BUFFER);
	if (out->buffer)
		setvbuf(out->file, out->buffer, _IOFBF, OUTPUT_BUFFER);
}

void tool_drain_output(const struct tool *tool, struct tool_output *out)
{
	FILE *drain = flame_thread_count(&tool->read) > 1 ? drain_open(fileno(out->file)) : NULL;

	if (drain) {
		out->below = out->file;
		out->file = drain;
	}
}

/* Standard output may be written to again, and at the end of the program: it gets a buffer of its own. */
static void release_buffer(struct tool_output *out)
{
	if (out->file != stdout || (!fflush(stdout) && !setvbuf(stdout, NULL, _IONBF, 0)))
		free(out->buffer);
}

/* Back to the stream that was opened. Return: 0, or FLAME_EIO with errno. */
static int close_drain(struct tool_output *out)
{
	int err = 0;

	if (out->below) {
		err = fclose(out->file) ? FLAME_EIO : 0;
		out->file = out->below;
		out->below = NULL;
	}
	return err;
}

static int finish_output(struct tool_output *out, const char *path)
{
	int err = close_drain(out), error = errno;

	if (!err && (ferror(out->file) || fflush(out->file))) {
		err = FLAME_EIO;
		error = errno;
	}
	if (out->file != stdout && fclose(out->file) && !err)
		err = FLAME_EIO;
	else
		errno = error;
	if (out->temporary && !err && rename(out->temporary, path))
		err = FLAME_EIO;
	return err;
}

int tool_close_output(const struct tool *tool, struct tool_output *out, int err)
{
	const char *path = tool->output && strcmp(tool->output, "-") ? tool->output : NULL;

	if (err) {
		int error = errno;

		if (close_drain(out))
			error = errno;
		if (out->file != stdout)
			fclose(out->file);
		errno = error;
	} else {
		err = finish_output(out, path);
	}
	if (err == FLAME_EIO)
		tool_message(tool, "error", "cannot write %s: %s", path ? path : "standard output", strerror(errno));
	else if (err && err != FLAME_EARG)	/* that one the caller explains */
		tool_message(tool, "error", "%s", flame_strerror(err));
	if (out->buffer)
		release_buffer(out);
	if (out->temporary) {
		handle_signals(end_unfinished, SIG_DFL);
		unfinished = NULL;
		if (err)
			unlink(out->temporary);
		free(out->temporary);
	}
	return err ? 1 : tool->damaged ? 3 : 0;
}

char *tool_count_name(const struct tool *tool, const struct flame_profile *p, flame_type type)
{
	const struct flame_type_info *info = flame_type_get(p, type);
	struct flame_span name = flame_string_get(p, info->unit);
	bool is_count = name.len == 5 && !memcmp(name.s, "count", 5);
	const char *colon;

	if (tool->read.count || (is_count && (info->kind == FLAME_VALUE_ON_CPU || info->kind == FLAME_VALUE_WALL)))
		return NULL;
	if (!name.len || is_count)
		name = flame_string_get(p, info->name);
	colon = memchr(name.s, ':', name.len);
	/* "cycles:u" counts cycles; a tracepoint "sched:sched_switch" keeps its whole name. */
	if (colon && name.len - (size_t)(colon - name.s) <= 5)
		name.len = (size_t)(colon - name.s);
	return name.len ? strndup(name.s, name.len) : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * pyspy - what py-spy prints of Python programs. Its raw form is folded text:
 *
 *     process 4242:"python3 work.py";thread (4242): MainThread;<module> (work.py:21);fib (work.py:5) 41
 *
 * and its dump has the threads' stacks, the innermost function first, as text and as JSON:
 *
 *     Process 4242: python3 work.py
 *     Python v3.11.7 (/usr/bin/python3.11)
 *
 *     Thread 4242 (active+gil): "MainThread"
 *         fib (work.py:5)
 *         <module> (work.py:21)
 *
 * py-spy's other forms are speedscope and chrome. Documentation/formats/pyspy.md has the grammar and the versions seen.
 * Not read: locals, and the command lines of a dump.
 *
 * A command line may hold the separator of frames: it ends at a quote with a frame behind it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "../core/cache.h"
#include "../core/converter.h"
#include "../core/json.h"
#include "../core/number.h"
#include "../core/span.h"
#include "../core/trail.h"
#include "python_frame.h"

#define CACHE_BYTES ((size_t)64 << 20)
#define PROBE_LINES 64

struct thread {
	bool open;
	struct flame_task_info task;
	struct flame_span id, name, state;	/* in text */
	char *text;				/* owned */
	size_t room_text;
	bool left_out;		/* by --no-idle or --state */
};

struct state {
	flame_type type;
	struct flame_namer namer;
	struct flame_cache cache;	/* frames by their bytes */
	struct flame_trail trail;	/* the stack at hand */
	struct thread thread;		/* of a dump */
	int32_t pid;
	struct flame_json json;
};

/* "process 4242:\"" at the start of @s. */
static bool is_process(struct flame_span s)
{
	int64_t pid;
	size_t n;

	if (!span_starts(s, "process "))
		return false;
	s = span_from(s, 8);
	n = span_digits(s, &pid);
	return n && span_starts(span_from(s, n), ":\"");
}

/* "thread (4242): MainThread", "thread (0x7F00)"; but a function may be called thread: "thread (work.c)". */
static bool is_thread(struct flame_span s)
{
	static const char start[] = "thread (";
	size_t n = sizeof(start) - 1;

	return span_starts(s, start) && s.len > n && s.s[n] >= '0' && s.s[n] <= '9';
}

/* The command line stays as it is. */
static flame_frame process_row(struct flame_reader *rd, struct flame_span text)
{
	struct flame_frame_info info = { .kind = FLAME_TASK };

	info.name = flame_intern(rd->profile, text.s, text.len);
	return flame_frame_row(rd->profile, &info);
}

static flame_frame thread_row(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	struct flame_frame_info info = { .kind = FLAME_TASK };

	return flame_namer_frame(&st->namer, rd, text, &info);
}

static flame_frame text_frame(struct flame_reader *rd, struct flame_span text)
{
	struct state *st = rd->state;
	uint64_t hash = hash_bytes(text.s, text.len);
	struct python_frame parts;
	flame_frame frame;

	if (flame_cache_get(&st->cache, text.s, text.len, hash, &frame))
		return frame;
	parts = python_frame_parse(text);
	frame = is_process(text) ? process_row(rd, text) : is_thread(text) ? thread_row(rd, text) :
							   python_frame_row(&st->namer, rd, &parts);
	flame_cache_put(&st->cache, text.s, text.len, hash, frame);
	return frame;
}

/* Raw. */

static struct flame_span first_part(struct flame_span s)
{
	const char *end = s.len ? memchr(s.s, ';', s.len) : NULL;

	return end ? span_to(s, (size_t)(end - s.s)) : s;
}

/* What a frame of py-spy begins with: another process, a thread, a function with its place. */
static bool begins_frame(struct flame_span s)
{
	struct flame_span part = first_part(s);

	return is_process(s) || is_thread(s) || (span_ends(part, ")") && span_find(part, " (") < part.len);
}

/* Return: the length of the process' frame at the start of @s. */
static size_t process_frame(struct flame_span s)
{
	size_t first = 0;

	for (size_t at = span_find(s, ":\"") + 2; at < s.len;) {
		const char *quote = memmem(s.s + at, s.len - at, "\";", 2);
		size_t end = quote ? (size_t)(quote - s.s) + 1 : s.len;

		if (!quote || begins_frame(span_from(s, end + 1)))
			return quote ? end : first ? first : s.s[s.len - 1] == '"' ? s.len : first_part(s).len;
		first = first ? first : end;
		at = end + 1;
	}
	return s.len;
}

static bool split_frames(struct flame_reader *rd, struct flame_span path)
{
	struct state *st = rd->state;

	flame_trail_clear(&st->trail);
	while (path.len) {
		size_t n = is_process(path) ? process_frame(path) : first_part(path).len;

		if (!flame_trail_push(&st->trail, text_frame(rd, span_to(path, n))))
			return false;
		path = span_from(path, n + 1);
	}
	return true;
}

/* Cut the number off the end of @line. */
static bool cut_count(struct flame_span *line, int64_t *count)
{
	const char *blank = line->len ? memrchr(line->s, ' ', line->len) : NULL;

	if (!blank || blank == line->s || !span_is_int(span_from(*line, (size_t)(blank - line->s) + 1), count))
		return false;
	line->len = (size_t)(blank - line->s);
	return true;
}

static int read_raw_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_sample s = { .type = st->type };

	line = span_trim_end(line);
	if (!line.len || line.s[0] == '#')
		return 0;
	if (!cut_count(&line, &s.value))
		return flame_skip(rd, "no count at the end of the line");
	s.nr_samples = (uint64_t)s.value;
	if (!s.value)
		return 0;
	if (!split_frames(rd, line) || !flame_trail_find(&st->trail, rd->profile, &s.stack))
		return FLAME_ENOMEM;
	return flame_sample_add(rd->profile, &s);
}

static int read_raw(struct flame_reader *rd)
{
	struct flame_span line;
	int err = 0;

	while (!err && flame_line(rd->input, &line))
		err = read_raw_line(rd, line);
	return err;
}

/* Dumps. */

/* "thread (4242): MainThread", as the raw form has it. */
static flame_frame thread_frame(struct flame_reader *rd, const struct thread *t)
{
	struct state *st = rd->state;
	char *buf = flame_namer_room(&st->namer, t->id.len + t->name.len + 16);
	size_t len = 8;

	if (!buf)
		return 0;
	memcpy(buf, "thread (", len);
	if (t->id.len)
		memcpy(buf + len, t->id.s, t->id.len);
	len += t->id.len;
	buf[len++] = ')';
	if (t->name.len) {
		memcpy(buf + len, ": ", 2);
		memcpy(buf + len + 2, t->name.s, t->name.len);
		len += 2 + t->name.len;
	}
	return thread_row(rd, (struct flame_span){ buf, len });
}

/* The thread's frames, the innermost first, are complete. */
static int close_thread(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct thread *t = &st->thread;
	struct flame_sample s = { .type = st->type, .value = 1, .nr_samples = 1 };
	int err = 0;

	if (t->open && !t->left_out) {
		t->task.comm = flame_intern(rd->profile, t->name.s, t->name.len);
		s.task = flame_task_row(rd->profile, &t->task);
		s.stack = rd->options->threads ? flame_stack_push(rd->profile, 0, thread_frame(rd, t)) :
						 flame_task_root(rd->profile, &t->task);
		for (size_t i = st->trail.nr; i-- > 0;)
			s.stack = flame_stack_push(rd->profile, s.stack, st->trail.frames[i]);
		err = flame_sample_add(rd->profile, &s);
	}
	t->open = false;
	flame_trail_clear(&st->trail);
	return err;
}

/* Is one of those in the list @words one of the parts between '+' of "active+gil"? */
static bool has_state(struct flame_span state, const char *words)
{
	struct flame_span part;

	while (span_next(&state, '+', &part)) {
		if (span_in_list(part, words))
			return true;
	}
	return false;
}

static bool wants_thread(struct flame_reader *rd, struct flame_span state)
{
	struct flame_span part;
	bool wanted = false;

	if (rd->options->no_idle && has_state(state, "idle"))
		return false;
	if (!rd->options->state || span_in_list(state, rd->options->state))
		return flame_wants_state(rd, state);
	while (span_next(&state, '+', &part))
		wanted |= flame_wants_state(rd, part);
	return wanted;
}

/* Thread 4242 (active+gil): "MainThread" */
static int open_thread(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct thread *t = &st->thread;
	size_t end, close;
	int64_t tid;

	if (!array_reserve((void **)&t->text, &t->room_text, line.len, 1))
		return FLAME_ENOMEM;
	memcpy(t->text, line.s, line.len);
	line = span_from((struct flame_span){ t->text, line.len }, 7);
	end = span_find(line, " (");
	close = span_find(line, ")");
	if (end >= line.len || close >= line.len)
		return flame_skip(rd, "a thread without its state");
	t->open = true;
	t->id = span_to(line, end);
	t->task = (struct flame_task_info){ .pid = st->pid, .tid = -1 };
	if (span_is_int(t->id, &tid) && tid <= INT32_MAX)
		t->task.tid = (int32_t)tid;
	t->state = span_to(span_from(line, end + 2), close - end - 2);
	t->name = span_from(line, close + 1);
	t->name = span_starts(t->name, ": ") ? span_from(t->name, 2) : (struct flame_span){ t->name.s, 0 };
	if (span_starts(t->name, "\"")) {
		t->name = span_from(t->name, 1);
		t->name.len -= span_ends(t->name, "\"");
	}
	t->left_out = !wants_thread(rd, t->state);
	return 0;
}

/* The line of a process; its number is the threads'. */
static bool read_process(struct state *st, struct flame_span line)
{
	int64_t pid;
	size_t n;

	if (!span_starts(line, "Process "))
		return false;
	line = span_from(line, 8);
	n = span_digits(line, &pid);
	if (!n || pid > INT32_MAX || !span_starts(span_from(line, n), ":"))
		return false;
	st->pid = (int32_t)pid;
	return true;
}

static int read_dump_line(struct flame_reader *rd, struct flame_span line)
{
	struct state *st = rd->state;
	struct flame_span text = span_trim(line);
	size_t indent = (size_t)(text.s - line.s);
	int err;

	if (!text.len)
		return 0;
	if (indent) {
		/* Deeper are the locals. */
		if (indent > 4)
			return 0;
		if (!st->thread.open)
			return flame_skip(rd, "a frame without a thread");
		return flame_trail_push(&st->trail, text_frame(rd, text)) ? 0 : FLAME_ENOMEM;
	}
	err = close_thread(rd);
	if (err)
		return err;
	if (span_starts(text, "Thread "))
		return open_thread(rd, text);
	if (read_process(st, text) || span_starts(text, "Python v") || span_starts(text, "Parent Process "))
		return 0;
	return flame_skip(rd, "a line that is neither a thread nor a frame");
}

static int read_dump(struct flame_reader *rd)
{
	struct flame_span line;
	int err = 0;

	while (!err && flame_line(rd->input, &line))
		err = read_dump_line(rd, line);
	return err ? err : close_thread(rd);
}

/* Dumps as JSON. */

/* Keep the text of the last token at @at of the thread's text. Return: its end; 0 without memory. */
static size_t keep_text(struct state *st, size_t at, struct flame_span *span)
{
	struct flame_span text = st->json.text;
	struct thread *t = &st->thread;
	size_t id = (size_t)(t->id.s - t->text), name = (size_t)(t->name.s - t->text);

	if (!array_reserve((void **)&t->text, &t->room_text, at + text.len + 1, 1))
		return 0;
	if (t->id.s)
		t->id.s = t->text + id;
	if (t->name.s)
		t->name.s = t->text + name;
	memcpy(t->text + at, text.s, text.len);
	*span = (struct flame_span){ t->text + at, text.len };
	return at + text.len;
}

static int json_frame(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	struct python_frame frame = { 0 };
	flame_string name = 0, file = 0, short_file = 0;
	enum flame_json_token token;
	int64_t line;

	while (flame_json_next(json) == FLAME_JSON_KEY) {
		flame_string *text = flame_json_is(json, "name") ? &name : flame_json_is(json, "filename") ? &file :
				     flame_json_is(json, "short_filename") ? &short_file : NULL;
		bool is_line = flame_json_is(json, "line");

		token = flame_json_next(json);
		if (text && token == FLAME_JSON_STRING)
			*text = flame_intern(rd->profile, json->text.s, json->text.len);
		else if (is_line && token == FLAME_JSON_NUMBER && flame_json_int(json, &line) && line > 0 && line <= UINT32_MAX)
			frame.line = (uint32_t)line;
		else if (!flame_json_skip_rest(json, token))
			break;
	}
	frame.name = flame_string_get(rd->profile, name);
	frame.file = flame_string_get(rd->profile, short_file ? short_file : file);
	return flame_trail_push(&st->trail, python_frame_row(&st->namer, rd, &frame)) ? 0 : FLAME_ENOMEM;
}

static int json_frames(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	while (!err && (token = flame_json_next(&st->json)) != FLAME_JSON_ARRAY_END && token != FLAME_JSON_ERROR) {
		if (token == FLAME_JSON_OBJECT)
			err = json_frame(rd);
		else
			flame_json_skip_rest(&st->json, token);
	}
	return err;
}

struct json_thread {
	bool active, owns_gil;
	size_t text;		/* how much of the thread's text is in use */
};

static int json_member(struct flame_reader *rd, struct json_thread *member)
{
	struct state *st = rd->state;
	struct flame_json *json = &st->json;
	struct thread *t = &st->thread;
	enum { OTHER, PID, OS_ID, ID, NAME, ACTIVE, GIL, FRAMES } key = OTHER;
	static const char *const keys[] = { [PID] = "pid", [OS_ID] = "os_thread_id", [ID] = "thread_id",
					    [NAME] = "thread_name", [ACTIVE] = "active", [GIL] = "owns_gil",
					    [FRAMES] = "frames" };
	enum flame_json_token token;
	int64_t value;

	for (size_t i = PID; i <= FRAMES; i++) {
		if (flame_json_is(json, keys[i]))
			key = (unsigned int)i;
	}
	token = flame_json_next(json);
	if (key == FRAMES && token == FLAME_JSON_ARRAY)
		return json_frames(rd);
	if (key == NAME && token == FLAME_JSON_STRING)
		return (member->text = keep_text(st, member->text, &t->name)) || !json->text.len ? 0 : FLAME_ENOMEM;
	if ((key == OS_ID || (key == ID && !t->id.len)) && token == FLAME_JSON_NUMBER) {
		if (flame_json_int(json, &value) && value >= 0 && value <= INT32_MAX)
			t->task.tid = (int32_t)value;
		return (member->text = keep_text(st, member->text, &t->id)) ? 0 : FLAME_ENOMEM;
	}
	if (key == PID && token == FLAME_JSON_NUMBER && flame_json_int(json, &value) && value >= 0 && value <= INT32_MAX)
		t->task.pid = (int32_t)value;
	else if (key == ACTIVE)
		member->active = token == FLAME_JSON_TRUE;
	else if (key == GIL)
		member->owns_gil = token == FLAME_JSON_TRUE;
	flame_json_skip_rest(json, token);
	return 0;
}

static int json_thread(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct thread *t = &st->thread;
	struct json_thread member = { 0 };
	struct flame_span state;
	enum flame_json_token token;
	int err = 0;

	t->open = true;
	t->task = (struct flame_task_info){ .pid = -1, .tid = -1 };
	t->id = t->name = (struct flame_span){ 0 };
	while (!err && (token = flame_json_next(&st->json)) == FLAME_JSON_KEY)
		err = json_member(rd, &member);
	if (err)
		return err;
	state.s = member.active ? member.owns_gil ? "active+gil" : "active" : "idle";
	state.len = strlen(state.s);
	t->left_out = !wants_thread(rd, state);
	/* A thread that the file's end cuts off has lost frames. */
	t->left_out |= token == FLAME_JSON_ERROR;
	return close_thread(rd);
}

static int read_json(struct flame_reader *rd)
{
	struct state *st = rd->state;
	enum flame_json_token token;
	int err = 0;

	flame_json_init(&st->json, rd->input);
	token = flame_json_next(&st->json);
	if (token != FLAME_JSON_ARRAY && token != FLAME_JSON_ERROR)
		return flame_fail(rd, FLAME_EFORMAT, "pyspy: the JSON is no list of threads");
	while (!err && token != FLAME_JSON_ERROR && token != FLAME_JSON_END) {
		token = flame_json_next(&st->json);
		if (token == FLAME_JSON_OBJECT)
			err = json_thread(rd);
		else
			flame_json_skip_rest(&st->json, token);
	}
	if (!err && token == FLAME_JSON_ERROR)
		err = flame_json_report(&st->json, rd, flame_nr_samples(rd->profile) > 0);
	return err;
}

/* The whole. */

/* Without the empty lines that it begins with. */
static struct flame_span skip_empty(struct flame_span head)
{
	while (head.len && (is_space(*head.s) || *head.s == '\n'))
		head = span_from(head, 1);
	return head;
}

static bool is_json(struct flame_span head)
{
	head = skip_empty(head);
	return span_starts(head, "[") && span_find(head, "\"os_thread_id\"") < head.len &&
	       span_find(head, "\"owns_gil\"") < head.len;
}

static bool is_dump(struct flame_span head)
{
	struct state st = { 0 };
	struct flame_span line;

	head = skip_empty(head);
	line = span_to(head, span_find(head, "\n"));
	return read_process(&st, line) &&
	       (span_find(head, "\nPython v") < head.len || span_find(head, "\nThread ") < head.len);
}

static int read(struct flame_reader *rd)
{
	struct state *st = rd->state;
	struct flame_span head = flame_peek(rd->input, FLAME_HEAD_SIZE);
	struct flame_type_info info = { 0 };
	bool json = span_starts(skip_empty(head), "["), dump = !json && is_dump(head);

	/* py-spy leaves out threads that do not run, unless it is asked for them. */
	info.name = json || dump ? flame_intern(rd->profile, "threads", 7) : flame_intern(rd->profile, "samples", 7);
	info.unit = flame_intern(rd->profile, "count", 5);
	info.kind = json || dump ? FLAME_VALUE_OTHER : FLAME_VALUE_ON_CPU;
	st->type = flame_type_row(rd->profile, &info);
	st->cache.max_bytes = CACHE_BYTES;
	st->pid = -1;
	return json ? read_json(rd) : dump ? read_dump(rd) : read_raw(rd);
}

static void release(struct flame_reader *rd)
{
	struct state *st = rd->state;

	flame_json_release(&st->json);
	flame_namer_release(&st->namer);
	flame_cache_release(&st->cache);
	flame_trail_release(&st->trail);
	free(st->thread.text);
}

/* A function whose place is in Python code. */
static bool is_python(struct flame_span part)
{
	struct python_frame frame = python_frame_parse(part);

	return frame.file.len && (span_ends(frame.file, ".py") || frame.file.s[0] == '<');
}

static struct flame_span cut_last_frame(struct flame_span line)
{
	const char *semicolon = memrchr(line.s, ';', line.len);

	return span_to(line, semicolon ? (size_t)(semicolon - line.s) : 0);
}

/*
 * Return: false where it is not of py-spy: most frames have a place. *@sure is set where nobody else writes such a
 * line. The head may cut it off (@cut): then it has no count, and its last frame is not whole.
 */
static bool is_raw_line(struct flame_span line, bool cut, bool *sure)
{
	int64_t count;
	size_t good = 0, bad = 0;

	line = span_trim_end(line);
	if (cut)
		line = cut_last_frame(line);
	else if (!cut_count(&line, &count))
		return false;
	while (line.len) {
		size_t n = is_process(line) ? process_frame(line) : first_part(line).len;
		struct flame_span part = span_to(line, n);

		if (begins_frame(part))
			good++;
		else
			bad++;
		*sure |= is_process(line) || is_thread(line) || is_python(part);
		line = span_from(line, n + 1);
	}
	return good > bad;
}

static bool is_raw(struct flame_span head)
{
	struct flame_span line;
	bool sure = false, full = head.len >= FLAME_HEAD_SIZE;
	int nr = 0;

	while (nr < PROBE_LINES && head.len) {
		bool whole = span_find(head, "\n") < head.len;

		span_line(&head, &line);
		if (!line.len || line.s[0] == '#' || (!whole && nr))
			continue;
		if (!is_raw_line(line, full && !whole, &sure))
			return false;
		nr++;
	}
	return sure;
}

static int probe(struct flame_span head)
{
	if (is_json(head) || is_dump(head))
		return FLAME_SCORE_MAGIC;
	return is_raw(head) ? FLAME_SCORE_RECORD + 10 : FLAME_SCORE_NOT;
}

const struct flame_converter flame_pyspy_converter = {
	.name = "pyspy",
	.summary = "raw text and dumps of py-spy",
	.choices = FLAME_CHOICE_STATE | FLAME_CHOICE_IDLE | FLAME_CHOICE_SIMPLE,
	.state_size = sizeof(struct state),
	.counted = true,
	.kinds_written = FLAME_KIND_BIT(FLAME_TASK),	/* a process' frame is told from a function's */
	.probe = probe,
	.read = read,
	.release = release,
};

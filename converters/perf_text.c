/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "perf_text.h"

#include <string.h>

#include "../core/span.h"
#include "../core/tidy.h"

#define MAX_COMM 15	/* the kernel's TASK_COMM_LEN without its NUL */
static const char nothing[] = "";
#define EMPTY { nothing, 0 }	/* not NULL: memcmp() and the like want none */

const struct perf_header perf_no_header = {
	.comm = EMPTY, .pid = -1, .tid = -1, .ids_end = nothing, .event = EMPTY, .rest = EMPTY, .record = EMPTY,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static struct flame_span next_word(struct flame_span *s)
{
	struct flame_span word;

	span_word(s, &word);
	return word;
}

/* -?digits at the start. Return: how many bytes; 0 where there are none or they do not fit. */
static size_t parse_id(struct flame_span s, int32_t *id)
{
	bool negative = s.len && s.s[0] == '-';
	size_t i = negative;
	int64_t v = 0;

	for (; i < s.len && is_digit(s.s[i]); i++) {
		v = v * 10 + (s.s[i] - '0');
		if (v > INT32_MAX)
			return 0;
	}
	if (i == (size_t)negative)
		return 0;
	*id = negative ? -1 : (int32_t)v;
	return i;
}

/* "tid" or "pid/tid". */
static bool parse_ids(struct flame_span word, struct perf_header *h)
{
	int32_t first, second;
	size_t n = parse_id(word, &first), m;

	h->ids_end = word.s + word.len;
	if (!n)
		return false;
	if (n == word.len) {
		h->pid = -1;
		h->tid = first;
		return true;
	}
	if (word.s[n] != '/')
		return false;
	m = parse_id((struct flame_span){ word.s + n + 1, word.len - n - 1 }, &second);
	if (!m || n + 1 + m != word.len)
		return false;
	h->pid = first;
	h->tid = second;
	return true;
}

/* "[003]" */
static bool is_cpu(struct flame_span word)
{
	if (word.len < 3 || word.s[0] != '[' || word.s[word.len - 1] != ']')
		return false;
	for (size_t i = 1; i + 1 < word.len; i++) {
		if (!is_digit(word.s[i]))
			return false;
	}
	return true;
}

/*
 * perf prints each number into a column: ids into five, periods into ten, addresses into sixteen. Return: how wide the
 * one of @word is, with the blanks before it but for the one that separates it from the text before.
 */
static size_t column(const char *line, struct flame_span word)
{
	const char *start = word.s;
	size_t width;

	while (start > line && start[-1] == ' ')
		start--;
	width = (size_t)(word.s + word.len - start);
	if (start > line)
		return width - (word.s > start);
	/* Behind an empty comm, in its column of sixteen. */
	return width > 17 ? width - 17 : width;
}

/* perf script -F +misc: letters for kernel, user and so on between the ids and the time. */
static bool is_misc(struct flame_span word)
{
	for (size_t i = 0; i < word.len; i++) {
		if ((word.s[i] < 'A' || word.s[i] > 'Z') && word.s[i] != 'g' && word.s[i] != 'p')
			return false;
	}
	return word.len > 0 && word.len <= 4;
}

/* "1031.002559:" to nanoseconds. */
static bool parse_time(struct flame_span word, int64_t *time)
{
	int64_t unit = 1000000000, v = 0;
	size_t i = 0, n = word.len - 1;

	if (word.len < 2 || word.s[n] != ':' || !is_digit(word.s[0]))
		return false;
	for (; i < n && is_digit(word.s[i]); i++) {
		v = v * 10 + (word.s[i] - '0');
		if (v > INT64_MAX / 2000000000)
			return false;
	}
	v *= unit;
	if (i < n && word.s[i] == '.') {
		for (i++; i < n && is_digit(word.s[i]) && unit > 1; i++)
			v += (word.s[i] - '0') * (unit /= 10);
	}
	*time = v;
	return i == n;
}

/* Digits. More than fits becomes UINT64_MAX, which no period is. */
static bool parse_period(struct flame_span word, uint64_t *period)
{
	uint64_t v = 0;

	for (size_t i = 0; i < word.len; i++) {
		if (!is_digit(word.s[i]))
			return false;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(word.s[i] - '0'), &v))
			v = UINT64_MAX;
	}
	*period = v;
	return word.len > 0;
}

static bool all_digits(struct flame_span word)
{
	uint64_t unused;

	return parse_period(word, &unused);
}

/* Return: true where the number fills a period's column, and not an address's. */
static bool is_wide(const char *line, struct flame_span word)
{
	size_t width = column(line, word);

	return all_digits(word) && width >= 10 && width < 16 && word.s[0] != '0';
}

/* Too narrow for what perf prints: somebody took blanks out. */
static bool is_narrow(const char *line, struct flame_span word)
{
	return all_digits(word) && column(line, word) < 5;
}

/* "event:" that ends @rest's first word is taken off. */
static bool take_event(struct flame_span *rest, struct perf_header *h)
{
	struct flame_span behind = *rest, word = next_word(&behind);

	if (word.len < 2 || word.s[word.len - 1] != ':')
		return false;
	h->event = (struct flame_span){ word.s, word.len - 1 };
	*rest = behind;
	return true;
}

/* What follows the time: "period event: rest", where the first two may be missing. */
static void parse_behind_time(const char *line, struct flame_span rest, struct perf_header *h)
{
	struct flame_span behind = rest, word = next_word(&behind);

	h->rest = span_trim(rest);
	if (span_starts(word, "PERF_RECORD_") || span_starts(h->rest, "DEFERRED CALLCHAIN [")) {
		h->record = h->rest;
		return;
	}
	if (!all_digits(word)) {
		if (take_event(&rest, h))
			h->rest = span_trim(rest);
		return;
	}
	if (take_event(&behind, h) || is_wide(line, word)) {
		parse_period(word, &h->period);
		h->rest = span_trim(behind);
	}
}

/* The last words read, the newest first. */
struct words {
	struct flame_span w[3];
};

static void remember(struct words *words, struct flame_span word)
{
	words->w[2] = words->w[1];
	words->w[1] = words->w[0];
	words->w[0] = word;
}

/* The ids stand before the time, with the cpu or other flags in between. Return: their word, or NULL. */
static const struct flame_span *find_ids(const struct words *words, struct perf_header *h)
{
	for (size_t i = 0; i < 3; i++) {
		if (parse_ids(words->w[i], h))
			return &words->w[i];
		if (!is_cpu(words->w[i]) && !is_misc(words->w[i]))
			return NULL;
	}
	return NULL;
}

/* Ids and a processor: what looked like a time before them is a part of the comm, and no time was printed. */
static bool begins_with_ids(struct flame_span rest)
{
	struct perf_header unused = perf_no_header;
	struct flame_span word = next_word(&rest);

	return parse_ids(word, &unused) && (unused.pid >= 0 || is_cpu(next_word(&rest)));
}

/*
 * A comm can hold anything, even "12 [001] 3.4:". It has at most 15 bytes, so the rightmost "tid
 * [cpu] time:" that leaves no more before it is the true one. Other recorders have longer names:
 * then the first one is.
 */
static bool parse_timed_header(struct flame_span line, struct perf_header *header)
{
	struct flame_span rest = line, word;
	struct words words = { { EMPTY, EMPTY, EMPTY } };
	bool found = false;

	while ((word = next_word(&rest)).len) {
		struct perf_header h = perf_no_header;
		const struct flame_span *ids;

		h.has_time = true;
		if (is_digit(word.s[0]) && parse_time(word, &h.time) && (ids = find_ids(&words, &h)) && !begins_with_ids(rest)) {
			h.comm = span_trim((struct flame_span){ line.s, (size_t)(ids->s - line.s) });
			if (found && h.comm.len > MAX_COMM)
				break;
			h.rest = rest;
			h.has_time = true;
			*header = h;
			found = true;
		}
		/* Ids, cpu and time behind the longest comm take no more than this. */
		if (found && (size_t)(word.s - line.s) > MAX_COMM + 96)
			break;
		remember(&words, word);
	}
	if (found)
		parse_behind_time(line.s, header->rest, header);
	return found;
}

/*
 * Behind the word @ids: "K [003] period event: rest" without a time, of which only the event must be there. An id that
 * is too narrow is part of the comm, unless the period is too narrow as well.
 */
static bool parse_behind_ids(const char *line, struct flame_span ids, struct flame_span rest, struct perf_header *h)
{
	struct flame_span behind = rest, word = next_word(&behind);
	bool sure = h->pid >= 0, narrow = is_narrow(line, ids);

	for (int i = 0; i < 2 && (is_cpu(word) || is_misc(word)); i++) {
		sure |= is_cpu(word);
		rest = behind;
		word = next_word(&behind);
	}
	/* A number in an id's column is the id, and the one before it the comm's end. */
	if (all_digits(word) && (sure || is_wide(line, word) || is_narrow(line, word))) {
		parse_period(word, &h->period);
		narrow &= !is_narrow(line, word);
		rest = behind;
	}
	if (narrow || !take_event(&rest, h))
		return false;
	h->rest = span_trim(rest);
	return true;
}

/* Without a time: the first id that is followed by an event. */
static bool parse_untimed_header(struct flame_span line, struct perf_header *header)
{
	struct flame_span rest = line, word;

	while ((word = next_word(&rest)).len && (size_t)(word.s - line.s) <= 2 * MAX_COMM + 8) {
		struct perf_header h = perf_no_header;
		struct flame_span before = { line.s, (size_t)(word.s - line.s) }, previous = span_last_word(&before);

		h.comm = span_trim((struct flame_span){ line.s, (size_t)(word.s - line.s) });
		if (!h.comm.len || is_wide(line.s, word) || !parse_ids(word, &h))
			continue;
		/* Behind a cpu or a time a number is the period. */
		if (is_cpu(previous) || parse_time(previous, &h.time))
			return false;
		if (!parse_behind_ids(line.s, word, rest, &h))
			continue;
		*header = h;
		return true;
	}
	return false;
}

/*
 * The usual line, "comm pid/tid [cpu] time: period event:" with nothing behind it, read from its
 * end: there each part has only one meaning. Return: false where the line needs a closer look.
 */
static bool parse_usual_header(struct flame_span line, struct perf_header *h)
{
	struct flame_span rest = line, word = span_last_word(&rest);

	if (word.len < 2 || word.s[word.len - 1] != ':' || is_digit(word.s[0]))
		return false;
	h->event = (struct flame_span){ word.s, word.len - 1 };
	h->rest = (struct flame_span){ word.s + word.len, 0 };
	word = span_last_word(&rest);
	if (parse_period(word, &h->period))
		word = span_last_word(&rest);
	else
		h->period = 0;
	if (!word.len || !parse_time(word, &h->time))
		return false;
	word = span_last_word(&rest);
	if (is_cpu(word))
		word = span_last_word(&rest);
	if (!word.len || !parse_ids(word, h))
		return false;
	h->comm = span_trim(rest);
	h->has_time = true;
	h->record = (struct flame_span)EMPTY;
	return h->comm.len <= MAX_COMM;
}

/* "1031.002559:", of micro- or nanoseconds, as perf prints times. */
static bool is_exact_time(struct flame_span word)
{
	const char *point = memchr(word.s, '.', word.len);
	size_t nr = point ? (size_t)(word.s + word.len - point) - 2 : 0;

	return nr == 6 || nr == 9;
}

/* "sleep-1234", as ftrace and trace-cmd write the task: theirs is another format. */
static bool is_ftrace_task(struct flame_span comm)
{
	size_t i = comm.len;

	while (i && is_digit(comm.s[i - 1]))
		i--;
	return i > 1 && i < comm.len && comm.s[i - 1] == '-';
}

/* "comm [003] 1031.002559:", where -F leaves the ids out, and perhaps the processor. */
static bool parse_idless_header(struct flame_span line, struct perf_header *header)
{
	struct flame_span rest = line, word, cpu = EMPTY;

	while ((word = next_word(&rest)).len && (size_t)(word.s - line.s) <= 2 * MAX_COMM + 8) {
		if ((cpu.len || is_exact_time(word)) && parse_time(word, &header->time)) {
			header->comm = span_trim((struct flame_span){ line.s, (size_t)((cpu.len ? cpu.s : word.s) - line.s) });
			header->ids_end = header->comm.s + header->comm.len;
			header->has_time = true;
			parse_behind_time(line.s, rest, header);
			return header->comm.len && header->comm.len <= MAX_COMM && header->event.len &&
			       !is_ftrace_task(header->comm);
		}
		if (is_cpu(word))
			cpu = word;
		else if (!is_misc(word))
			cpu.len = 0;
	}
	return false;
}

/* Behind an event may stand what looks like ids and a time: then what is before it is too long for a comm. */
static bool parse_any_header(struct flame_span line, struct perf_header *header)
{
	struct perf_header other = perf_no_header;
	bool timed;

	*header = perf_no_header;
	timed = parse_timed_header(line, header);
	if (timed && header->comm.len <= MAX_COMM)
		return true;
	if (line.len && (timed || !is_space(line.s[0])) && parse_untimed_header(line, &other) &&
	    (!timed || other.comm.len <= MAX_COMM)) {
		*header = other;
		return true;
	}
	other = perf_no_header;
	if (parse_idless_header(line, &other)) {
		*header = other;
		return true;
	}
	return timed;
}

bool perf_parse_header(struct flame_span line, struct perf_header *header)
{
	if (parse_usual_header(line, header))
		return true;
	return parse_any_header(line, header);
}

bool perf_is_comment(struct flame_span line)
{
	struct perf_header h;

	if (!line.len || line.s[0] != '#')
		return false;
	return line.len == 1 || is_space(line.s[1]) || !perf_parse_header(line, &h);
}

/* Is @word, behind @before, the period? It fills the column, or stands behind what comes behind ids. */
static bool is_period(const char *line, struct flame_span before, struct flame_span word, bool has_event)
{
	struct perf_header unused = perf_no_header;
	struct flame_span previous = span_last_word(&before);
	bool has_ids = parse_ids(previous, &unused);

	if (!all_digits(word))
		return false;
	return is_wide(line, word) || is_cpu(previous) || parse_time(previous, &unused.time) ||
		(has_ids && unused.pid >= 0) || (is_narrow(line, word) && (has_ids || (has_event && !previous.len)));
}

/* The end of a line, from which word after word is taken. */
struct tail {
	struct flame_span rest;	/* up to word's end */
	struct flame_span before, word;
	const char *next;	/* what comes behind word */
};

static void take_word(struct tail *t)
{
	t->next = t->word.s;
	t->rest = t->before;
	t->word = span_last_word(&t->before);
}

/* -F +misc fills a column of six. */
static bool is_misc_column(const struct tail *t)
{
	return is_misc(t->word) && t->next - t->word.s >= 6;
}

/* "Thread 17" is a comm: an id would have been put into a column of five. */
static bool ends_in_ids(const char *line, const struct tail *t, struct perf_header *h)
{
	if (!t->word.len || (is_narrow(line, t->word) && span_trim(t->before).len))
		return false;
	return parse_ids(t->word, h);
}

bool perf_parse_weak_header(struct flame_span line, struct perf_header *header)
{
	struct flame_span end = { line.s + line.len, 0 };
	struct tail t = { .before = span_trim_end(line), .word = end };
	int64_t time;

	*header = perf_no_header;
	take_word(&t);
	if (!t.word.len)
		return false;
	if (t.word.len > 1 && t.word.s[t.word.len - 1] == ':' && !parse_time(t.word, &time)) {
		header->event = span_to(t.word, t.word.len - 1);
		take_word(&t);
	}
	if (is_period(line.s, t.before, t.word, header->event.len > 0)) {
		parse_period(t.word, &header->period);
		take_word(&t);
	}
	if (t.word.len && parse_time(t.word, &header->time)) {
		header->has_time = true;
		take_word(&t);
	}
	for (int i = 0; i < 2 && (is_cpu(t.word) || is_misc_column(&t)); i++)
		take_word(&t);
	if (ends_in_ids(line.s, &t, header))
		t.rest = t.before;
	header->comm = span_trim(t.rest);
	if (header->ids_end == nothing)
		header->ids_end = header->comm.s + header->comm.len;
	return header->comm.len <= MAX_COMM;
}

static bool is_address(const char *line, struct flame_span word)
{
	for (size_t i = 0; i < word.len; i++) {
		if (!is_hex(word.s[i]))
			return false;
	}
	return word.len <= 16 && column(line, word) >= 16;
}

struct flame_span perf_find_address(const char *line, struct flame_span text)
{
	struct flame_span rest = text, word, last = EMPTY, found = EMPTY;

	while ((word = next_word(&rest)).len) {
		if (is_address(line, word))
			last = word;
		else
			found = last;
	}
	return found.len ? found : last;
}

bool perf_parse_flat_header(struct flame_span line, struct perf_header *header)
{
	struct flame_span address = perf_find_address(line.s, line), head, word;
	size_t start;

	if (!address.len)
		return false;
	head = (struct flame_span){ line.s, (size_t)(address.s - line.s) };
	/* -F +addr */
	for (struct flame_span before = head; (word = span_last_word(&before)).len && is_address(line.s, word);)
		head = before;
	/* A tracepoint's payload may stand behind the event. */
	if (!perf_parse_weak_header(head, header) && (*header = perf_no_header, !parse_untimed_header(head, header)))
		return false;
	/* A comm fills a column of sixteen, and so is told from other text. */
	start = (size_t)(header->comm.s - line.s);
	if (header->comm.len && (!start || start + header->comm.len < 16))
		return false;
	header->rest = (struct flame_span){ address.s, (size_t)(line.s + line.len - address.s) };
	return true;
}

bool perf_is_header(struct flame_span line)
{
	struct flame_span rest = line;
	struct perf_header h;

	return all_digits(next_word(&rest)) && perf_parse_weak_header(line, &h) && !h.comm.len;
}

/*
 * perf pads addresses of frames with blanks, and a blank follows. Where something separates columns by tabs, a frame
 * ends in its module.
 */
static bool is_instruction(struct flame_span line)
{
	struct flame_span symbol, module;
	size_t i = 1;

	while (i < line.len && i < 17 && is_hex(line.s[i]))
		i++;
	if (i != 17 || line.len <= i || line.s[i] != '\t')
		return false;
	symbol = span_trim(span_from(line, i));
	return !span_cut_group(&symbol, &module) || !module.len || (module.s[0] != '/' && module.s[0] != '[');
}

bool perf_is_branch_text(struct flame_span line)
{
	struct perf_frame unused;

	if (!line.len || line.s[0] != '\t')
		return false;
	return is_instruction(line) || (line.s[line.len - 1] == ':' && !perf_parse_frame(line, &unused));
}

bool perf_parse_frame(struct flame_span line, struct perf_frame *frame)
{
	struct flame_span rest = line, group;
	bool nameless;

	*frame = (struct perf_frame){ EMPTY, EMPTY, EMPTY, false };
	if (!line.len || !is_space(line.s[0]) || is_instruction(line))
		return false;
	frame->address = next_word(&rest);
	if (!frame->address.len || frame->address.len > 16)
		return false;
	for (size_t i = 0; i < frame->address.len; i++) {
		if (!is_hex(frame->address.s[i]))
			return false;
	}
	frame->symbol = span_trim(rest);
	/* Old perf prints the name of some symbols as nothing, between two blanks: that is a name too. */
	nameless = rest.len > 2 && !memcmp(rest.s, "  (", 3);
	if (!span_cut_group(&frame->symbol, &group))
		return true;
	frame->inlined = group.len == 7 && !memcmp(group.s, "inlined", 7);
	/* From -F +dsoff: where in the file it is. */
	if (!frame->inlined)
		frame->module = flame_tidy_offset(group);
	if (nameless && !frame->symbol.len)
		frame->symbol = (struct flame_span){ rest.s, 1 };
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * pprof_text.c - text before profile.proto, which Go still writes with debug=1:
 *
 *     heap profile: 87: 2245536 [2644: 509189344] @ heap/131072
 *     65: 1064960 [1966: 32210944] @ 0x4c5b11 0x4c6a12 0x4649a1
 *     #	0x4c5b10	main.allocate+0x50	/src/work.go:79
 *
 * and the same with "--- mutex:" and "goroutine profile: total 7". In gperftools' there are no lines
 * that begin with '#', but a memory map at the end. The text of debug=2 and of a crash is of another kind:
 *
 *     goroutine 20 [chan receive]:
 *     main.worker({0x513b58, 0xc000090180})
 *     	/src/work.go:151 +0x1f
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../core/number.h"
#include "../core/span.h"
#include "../core/table.h"
#include "pprof.h"

enum kind { HEAP, CONTENTION, COUNT, TRACES };

/* The text at hand. */
struct text {
	struct flame_reader *rd;
	struct pprof_legacy *l;
	enum kind kind;
	int64_t rate;		/* heap: mean bytes between samples; 1: all allocations were seen */
	int64_t period;		/* contention: one in so many was seen */
	int64_t cycles;		/* a second */
	bool java;		/* contention: of Java's runtime, whose stacks have names and units of their own */
	bool has_alloc;		/* heap: there are counts of what was freed too */
	bool open;		/* a stack is at hand */
	size_t first;		/* its addresses */
	int64_t values[4];
	uint64_t last_address;	/* of the frame before */
	flame_stack roots;	/* of its labels */
	bool ignored;		/* a goroutine in another state than --state's */
	char *call;		/* the call whose place is still to come */
	size_t nr_call, room_call;
	/* What the first line says that all stacks hold, and what they hold: heap: bytes in use, and allocated; counts. */
	uint64_t told[2], held[2];
};

/* Words. */

static void skip(struct flame_span *s, size_t n)
{
	*s = (struct flame_span){ s->s + n, s->len - n };
}

/* A whole number at the start of @s, behind blanks, is cut off. */
static bool cut_number(struct flame_span *s, int64_t *value)
{
	struct flame_span digits = span_trim(*s);
	struct flame_number n;
	size_t i = digits.len && *digits.s == '-';

	while (i < digits.len && digits.s[i] >= '0' && digits.s[i] <= '9')
		i++;
	if (flame_number_parse((struct flame_span){ digits.s, i }, &n) != FLAME_NUMBER_OK)
		return false;
	*value = n.value;
	*s = (struct flame_span){ digits.s + i, digits.len - i };
	return true;
}

/* @text at the start of @s, behind blanks, is cut off. */
static bool cut_text(struct flame_span *s, const char *text)
{
	struct flame_span rest = span_trim(*s);

	if (!span_starts(rest, text))
		return false;
	skip(&rest, strlen(text));
	*s = rest;
	return true;
}

/* "0x1f" at the start of @s, behind blanks, is cut off. */
static bool cut_address(struct flame_span *s, uint64_t *address)
{
	struct flame_span rest = *s;
	size_t i = 0;

	if (!cut_text(&rest, "0x"))
		return false;
	*address = 0;
	for (; i < rest.len; i++) {
		char c = (char)(rest.s[i] | 32);
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (digit < 0)
			break;
		if (*address >> 60)
			return false;
		*address = *address << 4 | (uint64_t)digit;
	}
	skip(&rest, i);
	*s = rest;
	return i;
}

/* "1: 4096 [ 3474: 110980248] @" */
static bool cut_heap_values(struct flame_span *s, int64_t *v)
{
	return cut_number(s, &v[0]) && cut_text(s, ":") && cut_number(s, &v[1]) && cut_text(s, "[") && cut_number(s, &v[2]) &&
	       cut_text(s, ":") && cut_number(s, &v[3]) && cut_text(s, "]") && cut_text(s, "@");
}

/* Values. */

/*
 * A sampled allocation stands for those that were not seen: one of S bytes is seen with the
 * probability 1 - exp(-S / rate).
 */
static bool unsample(int64_t rate, int64_t *count, int64_t *bytes)
{
	double scale, size;

	if (!*count || !*bytes)
		*count = *bytes = 0;
	if (!*count || rate <= 1)
		return true;
	size = (double)*bytes / (double)*count;
	scale = 1 / (1 - exp(-size / (double)rate));
	/* Both must fit 64 bits, with room for what doubles are off. */
	if (!(fabs((double)*count * scale) < 9e18 && fabs((double)*bytes * scale) < 9e18))
		return false;
	*count = (int64_t)((double)*count * scale);
	*bytes = (int64_t)((double)*bytes * scale);
	return true;
}

static bool heap_values(struct text *t, struct flame_span *s)
{
	int64_t v[4];

	if (!cut_heap_values(s, v))
		return false;
	t->held[0] += (uint64_t)v[1];
	t->held[1] += (uint64_t)v[3];
	if (!unsample(t->rate, &v[0], &v[1]) || !unsample(t->rate, &v[2], &v[3]))
		return false;
	t->values[0] = v[1];
	t->values[1] = v[0];
	t->values[2] = v[3];
	t->values[3] = v[2];
	return true;
}

/* "DELAY COUNT @", the delay in cycles. */
static bool contention_values(struct text *t, struct flame_span *s)
{
	int64_t delay, count;
	double ns;

	if (!cut_number(s, &delay) || !cut_number(s, &count) || !cut_text(s, "@") ||
	    __builtin_mul_overflow(count, t->period, &count))
		return false;
	ns = (double)delay;
	if (t->cycles > 0)
		ns = ns * (double)t->period / ((double)t->cycles / 1e9);
	if (!(fabs(ns) < 9e18))
		return false;
	t->values[0] = t->cycles > 0 ? (int64_t)ns : delay;
	t->values[1] = count;
	return true;
}

static bool cut_values(struct text *t, struct flame_span *s)
{
	if (t->kind == HEAP)
		return heap_values(t, s);
	if (t->kind == CONTENTION)
		return contention_values(t, s);
	if (!cut_number(s, &t->values[0]) || !cut_text(s, "@"))
		return false;
	t->held[0] += (uint64_t)t->values[0];
	return true;
}

/* Stacks. */

static int push_frames(struct text *t)
{
	struct flame_profile *p = t->rd->profile;
	flame_stack stack = t->roots;

	for (size_t i = t->l->nr_frames; i-- > 0;)
		stack = flame_stack_push(p, stack, t->l->frames[i]);
	return pprof_legacy_sample(t->rd, t->l, stack, t->values);
}

/* A stack with frames is ready; one of addresses waits for the memory map. */
static int close_stack(struct text *t)
{
	struct pprof_legacy *l = t->l;
	bool open = t->open;
	int err = 0;

	t->open = false;
	if (!open || t->ignored)
		return 0;
	if (!l->nr_frames && t->kind != TRACES)
		return pprof_legacy_add(l, t->first, t->values) ? 0 : FLAME_ENOMEM;
	if (l->nr_frames)
		err = push_frames(t);
	l->nr_addresses = t->first;
	return err;
}

static void open_stack(struct text *t)
{
	t->open = true;
	t->ignored = false;
	t->first = t->l->nr_addresses;
	t->l->nr_frames = 0;
	t->last_address = 0;
	t->roots = 0;
}

static int add_frame(struct text *t, const struct pprof_place *place)
{
	struct pprof_legacy *l = t->l;
	flame_frame frame = pprof_frame(t->rd, &l->scratch, place);

	if (!frame || !array_reserve((void **)&l->frames, &l->room_frames, l->nr_frames + 1, sizeof(*l->frames)))
		return FLAME_ENOMEM;
	l->frames[l->nr_frames++] = frame;
	return 0;
}

static void cut_file_line(struct flame_span s, struct pprof_place *place)
{
	const char *colon = memrchr(s.s, ':', s.len);
	struct flame_span digits;

	place->file = s;
	if (!colon)
		return;
	digits = (struct flame_span){ colon + 1, s.len - (size_t)(colon + 1 - s.s) };
	if (cut_number(&digits, &place->line))
		place->file.len = (size_t)(colon - s.s);
}

/*
 * "#	0x4c5b10	main.allocate+0x50	/src/work.go:79". Several frames of one address are one
 * frame and what was inlined into it; equal ones are a function that calls itself.
 */
static int read_frame(struct text *t, struct flame_span line)
{
	struct pprof_place place = PPROF_NOWHERE;
	struct pprof_legacy *l = t->l;
	const char *tab;

	if (!cut_address(&line, &place.address))
		return 0;
	line = span_trim(line);
	tab = memchr(line.s, '\t', line.len);
	place.name = span_trim((struct flame_span){ line.s, tab ? (size_t)(tab - line.s) : line.len });
	if (!place.address && !place.name.len)
		return 0;
	if (tab)
		cut_file_line(span_trim((struct flame_span){ tab, line.len - (size_t)(tab - line.s) }), &place);
	if (l->nr_frames && place.address == t->last_address) {
		struct flame_frame_info info = *flame_frame_get(t->rd->profile, l->frames[l->nr_frames - 1]);
		flame_frame outer;
		int err = add_frame(t, &place);

		if (err)
			return err;
		outer = l->frames[l->nr_frames - 1];
		if (flame_frame_get(t->rd->profile, outer)->name != info.name) {
			info.kind = FLAME_INLINED;
			l->frames[l->nr_frames - 2] = flame_frame_row(t->rd->profile, &info);
		}
		return 0;
	}
	t->last_address = place.address;
	return add_frame(t, &place);
}

/* The next string of a JSON object of strings; escapes stay as they are. */
static bool next_quoted(struct flame_span *s, struct flame_span *text)
{
	const char *quote = memchr(s->s, '"', s->len);
	size_t i;

	if (!quote)
		return false;
	skip(s, (size_t)(quote + 1 - s->s));
	for (i = 0; i < s->len && s->s[i] != '"'; i++)
		i += s->s[i] == '\\' && i + 1 < s->len;
	if (i >= s->len)
		return false;
	*text = (struct flame_span){ s->s, i };
	skip(s, i + 1);
	return true;
}

/* "# labels: {"key":"value", …}" */
static int read_labels(struct text *t, struct flame_span object)
{
	const char *const *wanted = t->rd->options->labels;

	for (size_t i = 0; wanted && wanted[i]; i++) {
		struct flame_span rest = object, key, value;

		while (next_quoted(&rest, &key) && next_quoted(&rest, &value)) {
			flame_frame frame;

			if (!span_equals(key, wanted[i]))
				continue;
			frame = pprof_label_frame(t->rd, &t->l->scratch, value);
			if (!frame)
				return FLAME_ENOMEM;
			t->roots = flame_stack_push(t->rd->profile, t->roots, frame);
		}
	}
	return 0;
}

/* Lines. */

static int read_sample(struct text *t, struct flame_span line)
{
	int err = close_stack(t);
	uint64_t address;

	if (err)
		return err;
	if (!cut_values(t, &line))
		return flame_skip(t->rd, "a line that is not a stack, or whose numbers do not fit 64 bits");
	open_stack(t);
	while (cut_address(&line, &address)) {
		/* They are where callers return to; the byte before is of the call. Behind the last one Go writes zeros. */
		if (address && !pprof_legacy_address(t->l, address - 1))
			return FLAME_ENOMEM;
	}
	return span_trim(line).len ? flame_skip(t->rd, "an address that is not one; the stack is used up to it") : 0;
}

static int read_comment(struct text *t, struct flame_span line)
{
	if (!t->open)
		return 0;
	if (span_starts(line, "#\t"))
		return read_frame(t, (struct flame_span){ line.s + 1, line.len - 1 });
	if (span_starts(line, "# labels: "))
		return read_labels(t, (struct flame_span){ line.s + 10, line.len - 10 });
	return 0;
}

/* What begins the memory map. */
static bool is_map_start(struct flame_span line)
{
	return span_starts(line, "MAPPED_LIBRARIES:") || span_starts(line, "--- Memory map: ---") ||
	       span_starts(line, "/proc/self/maps:") || span_starts(line, "--- ");
}

/* "key = value" before the first stack of a contention profile. Return: false where it is none. */
static bool read_attribute(struct text *t, struct flame_span line)
{
	const char *equals = memchr(line.s, '=', line.len);
	struct flame_span key, value;

	if (!equals || t->kind != CONTENTION)
		return false;
	key = span_trim((struct flame_span){ line.s, (size_t)(equals - line.s) });
	value = span_trim((struct flame_span){ equals + 1, line.len - (size_t)(equals + 1 - line.s) });
	if (span_equals(key, "format") && span_equals(value, "java"))
		t->java = true;
	else if (span_equals(key, "cycles/second"))
		cut_number(&value, &t->cycles);
	else if (span_equals(key, "sampling period"))
		cut_number(&value, &t->period);
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "threadcreate profile: total 12" Return: the length of its first word; 0 where it is none. */
static size_t count_profile(struct flame_span line)
{
	const char *rest = memmem(line.s, line.len, " profile: total ", 16);
	size_t n = rest ? (size_t)(rest - line.s) : 0;

	if (!n || memchr(line.s, ' ', n) || n + 16 >= line.len || !is_digit(rest[16]))
		return 0;
	return n;
}

/* The number in such a line. */
static void add_told_count(struct text *t, struct flame_span line)
{
	struct flame_span rest = { line.s + count_profile(line), line.len - count_profile(line) };
	int64_t value;

	if (cut_text(&rest, "profile: total") && cut_number(&rest, &value) && value > 0)
		t->told[0] += (uint64_t)value;
}

/*
 * Dumps of goroutines, one after the other, are samples of one program. Others hold sums since its
 * start already, and each has a rate of its own.
 */
static bool begins_other(const struct text *t, struct flame_span line)
{
	struct flame_span name = flame_string_get(t->rd->profile, flame_type_get(t->rd->profile, t->l->types[0])->name);
	size_t n = t->kind == COUNT ? count_profile(line) : 0;

	if (n)
		return n != name.len || memcmp(line.s, name.s, n) != 0;
	return span_starts(line, "heap profile:") || span_starts(line, "--- contention") || span_starts(line, "--- mutex:");
}

static int read_line(struct text *t, struct flame_span line, struct flame_span text)
{
	if (*text.s == '#')
		return read_comment(t, line);
	if (t->kind == COUNT && count_profile(text)) {
		add_told_count(t, text);
		return 0;
	}
	if (!read_attribute(t, text))
		return read_sample(t, text);
	if (t->java)
		return flame_fail(t->rd, FLAME_EFORMAT, "Java's contention profiles are not read; go tool pprof -proto FILE makes one that is");
	return 0;
}

/* The first line tells how much there is: where stacks are missing, the end of the file is. */
static void check_totals(struct text *t)
{
	if (flame_diag_skipped(t->rd->diag))
		return;
	for (size_t i = 0; i < 2; i++) {
		if (t->held[i] >= t->told[i])
			continue;
		flame_damaged(t->rd,
			      "the stacks hold %llu of the %llu %s that the first line tells of: the profile is cut off; what is there is used",
			      (unsigned long long)t->held[i], (unsigned long long)t->told[i],
			      t->kind == COUNT ? "counts" : i ? "bytes allocated" : "bytes in use");
		return;
	}
}

static int read_stacks(struct text *t)
{
	struct flame_span line;
	int err = 0;

	while (!err && flame_line(t->rd->input, &line)) {
		struct flame_span text = span_trim(line);

		if (!text.len)
			continue;
		if (begins_other(t, text))
			return flame_fail(t->rd, FLAME_EFORMAT, "several profiles one after the other; give them one by one");
		if (is_map_start(text))
			break;
		err = read_line(t, line, text);
	}
	if (!err)
		err = close_stack(t);
	if (!err)
		check_totals(t);
	return err ? err : pprof_legacy_finish(t->rd, t->l, true);
}

/* Headers. */

static void add_type(struct text *t, const char *name, const char *unit)
{
	t->l->types[t->l->nr_types++] = pprof_type(t->rd, (struct flame_span){ name, strlen(name) },
						   (struct flame_span){ unit, strlen(unit) });
}

/*
 * "heap profile: 87: 2245536 [2644: 509189344] @ heap/131072": what stands behind '@' tells how was
 * sampled. Go doubles its rate there.
 */
static int read_heap_header(struct text *t, struct flame_span line)
{
	int64_t v[4];

	t->rate = 1;
	if (!cut_text(&line, "heap profile:") || !cut_heap_values(&line, v))
		return flame_fail(t->rd, FLAME_EFORMAT, "the first line of the heap profile has no totals");
	t->told[0] = v[1] > 0 ? (uint64_t)v[1] : 0;
	t->told[1] = v[3] > 0 ? (uint64_t)v[3] : 0;
	if (cut_text(&line, "heap_v2/") || cut_text(&line, "heapz_v2/")) {
		cut_number(&line, &t->rate);
	} else if (cut_text(&line, "heap/")) {
		cut_number(&line, &t->rate);
		t->rate /= 2;
	} else if (!span_starts(span_trim(line), "heapprofile") && !span_starts(span_trim(line), "growth") &&
		   !span_starts(span_trim(line), "fragmentation")) {
		return flame_fail(t->rd, FLAME_EFORMAT, "the first line of the heap profile does not say how it was sampled");
	}
	t->has_alloc = (v[2] && v[2] != v[0]) || (v[3] && v[3] != v[1]);
	add_type(t, t->has_alloc ? "inuse_space" : "space", "bytes");
	add_type(t, t->has_alloc ? "inuse_objects" : "objects", "count");
	if (t->has_alloc) {
		add_type(t, "alloc_space", "bytes");
		add_type(t, "alloc_objects", "count");
	}
	if (t->rate > 1)
		flame_note(t->rd, "allocations were sampled, one in %lld bytes; counts are scaled up to what that stands for",
			   (long long)t->rate);
	return 0;
}

/* "goroutine 20 [chan receive]:" Return: true with the state. */
static bool is_goroutine(struct flame_span line, struct flame_span *state)
{
	size_t i = 10;

	if (!span_starts(line, "goroutine ") || line.len < 15 || !is_digit(line.s[10]) || line.s[line.len - 1] != ':')
		return false;
	while (i < line.len && line.s[i] != '[')
		i++;
	if (line.len - i < 3 || line.s[line.len - 2] != ']')
		return false;
	*state = (struct flame_span){ line.s + i + 1, line.len - i - 3 };
	return true;
}

/* Traces of goroutines: each is one. */

/*
 * "main.(*T).run(0x1, {0x2, 0x3})": the arguments go. It counts only if the line behind it says
 * where it is; "created by" tells who started it, which is no caller.
 */
static int read_call(struct text *t, struct flame_span line)
{
	size_t depth = 0;

	t->nr_call = 0;
	if (span_starts(line, "created by ") || span_starts(line, "..."))
		return 0;
	for (size_t i = line.len; line.s[line.len - 1] == ')' && i-- > 0;) {
		depth += line.s[i] == ')';
		depth -= line.s[i] == '(';
		if (!depth) {
			line.len = i ? i : line.len;
			break;
		}
	}
	if (!array_reserve((void **)&t->call, &t->room_call, line.len, 1))
		return FLAME_ENOMEM;
	memcpy(t->call, line.s, line.len);
	t->nr_call = line.len;
	return 0;
}

/* "	/src/work.go:151 +0x1f" */
static int read_call_line(struct text *t, struct flame_span line)
{
	struct pprof_place place = PPROF_NOWHERE;
	const char *plus = memmem(line.s, line.len, " +0x", 4);

	if (!t->nr_call)
		return 0;
	cut_file_line(plus ? (struct flame_span){ line.s, (size_t)(plus - line.s) } : line, &place);
	place.name = (struct flame_span){ t->call, t->nr_call };
	t->nr_call = 0;
	return add_frame(t, &place);
}

static int read_goroutine(struct text *t, struct flame_span state)
{
	const char *comma = memchr(state.s, ',', state.len);	/* "sleep, 5 minutes" */
	int err = close_stack(t);

	if (err)
		return err;
	if (comma)
		state.len = (size_t)(comma - state.s);
	open_stack(t);
	t->nr_call = 0;
	t->values[0] = 1;
	t->ignored = !flame_wants_state(t->rd, state);
	return 0;
}

static int read_traces(struct text *t, struct flame_span line)
{
	struct flame_span state;
	int err = 0;

	add_type(t, "goroutine", "count");
	do {
		if (is_goroutine(line, &state))
			err = read_goroutine(t, state);
		else if (!line.len)
			err = close_stack(t);
		else if (t->open && *line.s == '\t')
			err = read_call_line(t, span_trim(line));
		else if (t->open)
			err = read_call(t, line);
	} while (!err && flame_line(t->rd->input, &line));
	if (!err)
		err = close_stack(t);
	free(t->call);
	return err;
}

int pprof_text_read(struct flame_reader *rd, struct pprof_legacy *l)
{
	struct text t = { .rd = rd, .l = l, .period = 1 };
	struct flame_span line, state;
	size_t n;
	int err = 0;

	while (flame_line(rd->input, &line)) {
		if (span_starts(line, "heap profile:")) {
			err = read_heap_header(&t, line);
			return err ? err : read_stacks(&t);
		}
		if (span_starts(line, "--- contention") || span_starts(line, "--- mutex:")) {
			t.kind = CONTENTION;
			add_type(&t, "delay", "nanoseconds");
			add_type(&t, "contentions", "count");
			return read_stacks(&t);
		}
		n = count_profile(line);
		if (n) {
			t.kind = COUNT;
			add_told_count(&t, line);
			l->types[l->nr_types++] = pprof_type(rd, (struct flame_span){ line.s, n }, PPROF_SPAN("count"));
			return read_stacks(&t);
		}
		if (is_goroutine(line, &state)) {
			t.kind = TRACES;
			return read_traces(&t, line);
		}
	}
	return flame_fail(rd, FLAME_EFORMAT, "there is no line that begins a profile of pprof");
}

/* Recognition. */

static int line_score(struct flame_span line)
{
	static const char *const starts[] = { "heap profile: ", "--- contention", "--- mutex:" };
	struct flame_span state;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		if (span_starts(line, starts[i]))
			return FLAME_SCORE_MAGIC;
	}
	return count_profile(line) || is_goroutine(line, &state) ? FLAME_SCORE_MAGIC : FLAME_SCORE_NOT;
}

/* The first line, or the first behind a panic's message and empty lines. */
int pprof_text_probe(struct flame_span head)
{
	int score = FLAME_SCORE_MAGIC, found;

	for (int i = 0; i < 20 && head.len; i++) {
		const char *nl = memchr(head.s, '\n', head.len);
		struct flame_span line = { head.s, nl ? (size_t)(nl - head.s) : head.len };

		skip(&head, line.len + (nl != NULL));
		if (line.len && line.s[line.len - 1] == '\r')
			line.len--;
		found = line_score(line);
		if (found)
			return found < score ? found : score;
		if (line.len && *line.s != '#')
			score = FLAME_SCORE_RECORD + 10;
	}
	return FLAME_SCORE_NOT;
}

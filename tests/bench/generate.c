// SPDX-License-Identifier: MIT
/*
 * generate - inputs for the benchmark, the same bytes for the same seed and samples.
 *
 *	generate KIND SIZE_MB [SEED] [PERF_SCRIPT.txt…] > FILE
 *
 * perf           real samples in random order; new pid, tid, cpu and time, comm and frames kept
 * unique         real frames, recombined along the real caller → callee pairs
 * unique-random  real frames, each drawn on its own: no two stacks share more than a few callers
 * folded         distinct stacks of 20-60 frames, in no order; as in real recordings a stack shares most
 *                of its callers with some other, and adds 5 nodes to the call tree
 * folded-sorted  the same lines in byte order
 * folded-wide    random walks on a call graph: 18 new nodes a stack, more than any recording has
 * folded-random  every frame drawn on its own
 *
 * A MB is 10^6 bytes. What was made is summed up on standard error.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUT_BYTES (1u << 20)
#define COMM_MAX 15		/* TASK_COMM_LEN without its NUL */
#define NR_PIDS 60000u
#define NR_CPUS 64u
#define MIN_DEPTH_PERF 10u
#define MIN_DEPTH_FOLDED 20u
#define MAX_DEPTH 60u
#define NR_FUNCTIONS 5000u
#define NR_ROOTS 20u
#define MAX_CALLEES 12u
#define MAX_NAME 9u
#define NR_KEPT 4096u	/* stacks that others branch off */
#define MEAN_BRANCH 5u		/* frames cut off, and put on again */

struct span {
	const char *s;
	size_t len;
};

/* Standard output. With @keep the bytes stay here, for who has to sort them. */
struct out {
	char *buf;
	size_t len, room;
	uint64_t total;		/* bytes put */
	bool keep;
};

/* Hashes seen, open addressing, at most half full; 0 is free. */
struct set {
	uint64_t *slots;
	size_t room, nr;
};

struct sample {
	struct span comm;
	struct span frames;	/* lines, leaf first */
};

/* A frame as it was seen below its caller; a root's caller is 0. */
struct edge {
	uint64_t caller, callee;	/* hashes of symbol and module: offsets do not count */
	struct span line;
	size_t order;		/* makes the sort stable */
	size_t first, nr;	/* edges from the callee */
};

struct perf {
	struct sample *samples;
	size_t nr_samples, room_samples;
	struct edge *edges;	/* by caller, so that the roots come first */
	size_t nr_edges, room_edges, nr_roots;
	uint64_t time_us;
};

struct stack {
	uint16_t path[MAX_DEPTH];
	size_t depth;
};

struct graph {
	char names[NR_FUNCTIONS][MAX_NAME + 1];
	uint8_t name_len[NR_FUNCTIONS];
	uint8_t nr_callees[NR_FUNCTIONS];
	uint16_t callees[NR_FUNCTIONS][MAX_CALLEES];
	/* rank[n][byte]: which of n callees, Zipf-like: the first n times as often as the nth */
	uint8_t rank[MAX_CALLEES + 1][256];
};

static uint64_t random_state;

static void die(const char *what)
{
	fprintf(stderr, "generate: %s: %s\n", what, errno ? strerror(errno) : "cannot be used");
	exit(1);
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t random64(void)
{
	random_state += 0x9e3779b97f4a7c15u;
	return mix(random_state);
}

static size_t below(size_t n)
{
	return (size_t)(((random64() >> 32) * (uint64_t)n) >> 32);
}

static void *grow(void *items, size_t *room, size_t want, size_t size)
{
	if (want <= *room)
		return items;
	*room = want + want / 2 + 64;
	items = realloc(items, *room * size);
	if (!items)
		die("memory");
	return items;
}

static void write_all(const char *s, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, s, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("standard output");
		s += n;
		len -= (size_t)n;
	}
}

static void put(struct out *out, const char *s, size_t len)
{
	if (!out->keep && out->len + len > out->room && out->len) {
		write_all(out->buf, out->len);
		out->len = 0;
	}
	out->buf = grow(out->buf, &out->room, out->len + len, 1);
	memcpy(out->buf + out->len, s, len);
	out->len += len;
	out->total += len;
}

static void set_place(struct set *set, uint64_t hash)
{
	size_t i = hash & (set->room - 1);

	while (set->slots[i])
		i = (i + 1) & (set->room - 1);
	set->slots[i] = hash;
}

static void set_grow(struct set *set)
{
	struct set old = *set;

	set->room = old.room ? old.room * 2 : 1u << 16;
	set->slots = calloc(set->room, sizeof(*set->slots));
	if (!set->slots)
		die("memory");
	for (size_t i = 0; i < old.room; i++) {
		if (old.slots[i])
			set_place(set, old.slots[i]);
	}
	free(old.slots);
}

/* Return: whether @hash is new. */
static bool set_add(struct set *set, uint64_t hash)
{
	if (set->nr * 2 >= set->room)
		set_grow(set);
	hash += !hash;
	for (size_t i = hash & (set->room - 1); set->slots[i]; i = (i + 1) & (set->room - 1)) {
		if (set->slots[i] == hash)
			return false;
	}
	set_place(set, hash);
	set->nr++;
	return true;
}

static uint64_t hash_bytes(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	h = mix(h);
	return h + !h;
}

/* ---- perf script text ---- */

static struct span read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t len = 0, room = 0, n;
	char *s = NULL;

	if (!f)
		die(path);
	do {
		s = grow(s, &room, len + OUT_BYTES, 1);
		n = fread(s + len, 1, OUT_BYTES, f);
		len += n;
	} while (n);
	if (ferror(f))
		die(path);
	fclose(f);
	return (struct span){ s, len };
}

static struct span take_line(struct span *rest)
{
	const char *end = memchr(rest->s, '\n', rest->len);
	struct span line = { rest->s, end ? (size_t)(end - rest->s) : rest->len };
	size_t used = line.len + (end ? 1 : 0);

	rest->s += used;
	rest->len -= used;
	return line;
}

/* "	    401136 main+0x16 (/bin/x)" */
static bool is_frame(struct span line)
{
	size_t i = 0, digits = 0;

	if (!line.len || line.s[0] != '\t')
		return false;
	while (i < line.len && isblank((unsigned char)line.s[i]))
		i++;
	while (i < line.len && isxdigit((unsigned char)line.s[i]))
		i++, digits++;
	if (!digits || i + 2 >= line.len || line.s[i] != ' ' || line.s[line.len - 1] != ')')
		return false;
	for (; i < line.len; i++) {
		if (iscntrl((unsigned char)line.s[i]))
			return false;
	}
	return true;
}

static size_t back_over(const char *s, size_t i, const char *set)
{
	while (i && s[i - 1] && strchr(set, s[i - 1]))
		i--;
	return i;
}

/* The comm is what comes before "tid [cpu] seconds.fraction:", the cpu may be missing. */
static struct span find_comm(struct span line)
{
	const char *s = line.s, *stop = memchr(s, ':', line.len);

	for (; stop; stop = memchr(stop + 1, ':', line.len - (size_t)(stop + 1 - s))) {
		size_t end = (size_t)(stop - s), i = back_over(s, end, "0123456789."), tid;

		if (!memchr(s + i, '.', end - i))
			continue;
		i = back_over(s, i, " ");
		if (i && s[i - 1] == ']')
			i = back_over(s, i, "[0123456789]");
		tid = back_over(s, i, " ");
		i = back_over(s, tid, "0123456789/");
		if (i == tid || !i || s[i - 1] != ' ')
			continue;
		i = back_over(s, i, " ");
		while (i && *s == ' ')
			s++, i--;
		if (i && i <= COMM_MAX)
			return (struct span){ s, i };
		break;
	}
	return (struct span){ NULL, 0 };
}

/* Blocks that are not a header and frames are left out: fixtures have all sorts of damage. */
static void read_samples(struct perf *perf, const char *path)
{
	struct span text = read_file(path), rest = text;
	size_t nr_before = perf->nr_samples;

	while (rest.len) {
		struct sample sample = { .comm = find_comm(take_line(&rest)), .frames = rest };
		struct span line, before = rest;
		bool good = sample.comm.len;

		for (line = take_line(&rest); line.len; line = take_line(&rest)) {
			good = good && is_frame(line);
			before = rest;
		}
		sample.frames.len = (size_t)(before.s - sample.frames.s);
		if (!good || !sample.frames.len || sample.frames.s[sample.frames.len - 1] != '\n')
			continue;
		perf->samples = grow(perf->samples, &perf->room_samples, perf->nr_samples + 1,
				     sizeof(*perf->samples));
		perf->samples[perf->nr_samples++] = sample;
	}
	if (perf->nr_samples == nr_before)
		free((char *)text.s);
}

/* One event for all: with several, only the first would be read. */
static void put_header(struct out *out, struct perf *perf, struct span comm)
{
	unsigned int pid = 300 + (unsigned int)below(NR_PIDS), tid = pid + (unsigned int)below(8);
	unsigned int cpu = (unsigned int)below(NR_CPUS);
	char line[160];
	int n;

	perf->time_us += 1 + below(200);
	n = snprintf(line, sizeof(line), "%.*s %5u/%-5u [%03u] %5u.%06u: %10u cpu-clock:ppp: \n",
		     (int)comm.len, comm.s, pid, tid, cpu,
		     (unsigned int)(perf->time_us / 1000000),
		     (unsigned int)(perf->time_us % 1000000), 1000000 + (unsigned int)below(100000));
	put(out, line, (size_t)n);
}

static void make_perf(struct out *out, struct perf *perf, uint64_t size)
{
	size_t nr = 0;

	for (; out->total < size; nr++) {
		const struct sample *sample = &perf->samples[below(perf->nr_samples)];

		put_header(out, perf, sample->comm);
		put(out, sample->frames.s, sample->frames.len);
		put(out, "\n", 1);
	}
	fprintf(stderr, "perf: %zu samples drawn from %zu real ones\n", nr, perf->nr_samples);
}

/* Symbol and module, without address and offset. */
static uint64_t function_hash(struct span line)
{
	size_t start = 1, end, module;

	while (line.s[start] == ' ')
		start++;
	while (line.s[start] != ' ')
		start++;
	for (module = line.len; module > start && line.s[module - 1] != ' '; module--)
		;
	end = back_over(line.s, module, " ");
	end = back_over(line.s, end, "0123456789abcdef");
	if (end < start + 3 || memcmp(line.s + end - 3, "+0x", 3))
		end = module;
	return mix(hash_bytes(line.s + start, end - start) +
		   hash_bytes(line.s + module, line.len - module));
}

static void add_edges(struct perf *perf, struct span frames)
{
	size_t begin = perf->nr_edges;

	while (frames.len) {
		struct edge edge = { .line = take_line(&frames), .order = perf->nr_edges };

		edge.callee = function_hash(edge.line);
		perf->edges = grow(perf->edges, &perf->room_edges, perf->nr_edges + 1,
				   sizeof(*perf->edges));
		perf->edges[perf->nr_edges++] = edge;
	}
	/* leaf first: the caller is the next line */
	for (size_t i = begin; i + 1 < perf->nr_edges; i++)
		perf->edges[i].caller = perf->edges[i + 1].callee;
}

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static size_t first_edge(const struct perf *perf, uint64_t caller)
{
	size_t low = 0, high = perf->nr_edges;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (perf->edges[mid].caller < caller)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void link_edges(struct perf *perf)
{
	for (size_t i = 0; i < perf->nr_samples; i++)
		add_edges(perf, perf->samples[i].frames);
	qsort(perf->edges, perf->nr_edges, sizeof(*perf->edges), compare_edges);
	for (size_t i = 0; i < perf->nr_edges; i++) {
		struct edge *edge = &perf->edges[i];

		edge->first = first_edge(perf, edge->callee);
		edge->nr = first_edge(perf, edge->callee + 1) - edge->first;
	}
	perf->nr_roots = first_edge(perf, 1);
}

/*
 * From a root down to a leaf, a stack of at least MIN_DEPTH_PERF frames. Where no callee is
 * known too early, any frame follows, as an interrupt or a signal would.
 */
static size_t walk(const struct perf *perf, const struct edge **path, bool at_random)
{
	size_t a = below(MAX_DEPTH - MIN_DEPTH_PERF + 1), b = below(MAX_DEPTH - MIN_DEPTH_PERF + 1);
	size_t depth = MIN_DEPTH_PERF + (a < b ? a : b), nr = 0;
	const struct edge *edge = &perf->edges[below(perf->nr_roots)];

	for (;;) {
		path[nr++] = edge;
		if (nr == depth || (nr >= MIN_DEPTH_PERF && !edge->nr && !at_random))
			return nr;
		if (edge->nr && !at_random)
			edge = &perf->edges[edge->first + below(edge->nr)];
		else
			edge = &perf->edges[below(perf->nr_edges)];
	}
}

static uint64_t stack_hash(struct span comm, const struct edge *const *path, size_t depth)
{
	uint64_t hash = hash_bytes(comm.s, comm.len);

	for (size_t i = 0; i < depth; i++)
		hash = mix(hash + path[i]->callee);
	return hash;
}

/* Of the walks that lead to a known stack, most are walked again. */
static void make_unique(struct out *out, struct perf *perf, uint64_t size, bool at_random)
{
	const struct edge *path[MAX_DEPTH];
	struct set seen = { 0 };
	size_t nr = 0;

	link_edges(perf);
	while (out->total < size) {
		struct span comm = perf->samples[below(perf->nr_samples)].comm;
		size_t depth = walk(perf, path, at_random);

		if (!set_add(&seen, stack_hash(comm, path, depth)) && below(16))
			continue;
		put_header(out, perf, comm);
		while (depth--)
			put(out, path[depth]->line.s, path[depth]->line.len + 1);
		put(out, "\n", 1);
		nr++;
	}
	fprintf(stderr, "unique: %zu samples, %.1f %% distinct stacks\n", nr,
		100.0 * (double)seen.nr / (double)nr);
	free(seen.slots);
}

/* ---- folded ---- */

/* Two syllables tell all functions apart, up to two more vary the length. */
static void make_name(struct graph *graph, unsigned int function)
{
	static const char consonants[] = "bcdfghjklmnprstvz", vowels[] = "aeiou";
	const unsigned int nr = (sizeof(consonants) - 1) * (sizeof(vowels) - 1);
	unsigned int syllables[2] = { function % nr, function / nr };
	unsigned int nr_syllables = 2 + (unsigned int)below(3);
	char *name = graph->names[function];
	unsigned int len = 0;

	for (unsigned int i = 0; i < nr_syllables; i++) {
		unsigned int syllable = i < 2 ? syllables[i] : (unsigned int)below(nr);

		if (i == 3)
			name[len++] = '_';
		name[len++] = consonants[syllable / (sizeof(vowels) - 1)];
		name[len++] = vowels[syllable % (sizeof(vowels) - 1)];
	}
	graph->name_len[function] = (uint8_t)len;
}

static void make_ranks(struct graph *graph)
{
	for (unsigned int n = 1; n <= MAX_CALLEES; n++) {
		double sum = 0, reached = 0;
		unsigned int rank = 0;

		for (unsigned int i = 1; i <= n; i++)
			sum += 1.0 / i;
		for (unsigned int byte = 0; byte < 256; byte++) {
			while (rank + 1 < n && byte >= 256 * (reached + 1.0 / (rank + 1)) / sum)
				reached += 1.0 / ++rank;
			graph->rank[n][byte] = (uint8_t)rank;
		}
	}
}

/* Most functions of real profiles are seen with one callee, few with many. */
static struct graph *make_graph(void)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		die("memory");
	make_ranks(graph);
	for (unsigned int f = 0; f < NR_FUNCTIONS; f++) {
		unsigned int nr = 1;

		while (nr < MAX_CALLEES && below(100) < 45)
			nr += 1 + (unsigned int)below(2);
		graph->nr_callees[f] = (uint8_t)(nr < MAX_CALLEES ? nr : MAX_CALLEES);
		for (unsigned int i = 0; i < nr && i < MAX_CALLEES; i++)
			graph->callees[f][i] = (uint16_t)below(NR_FUNCTIONS);
		make_name(graph, f);
	}
	return graph;
}

static unsigned int next_function(const struct graph *graph, unsigned int function, bool at_random)
{
	const uint8_t *rank = graph->rank[graph->nr_callees[function]];

	return at_random ? (unsigned int)below(NR_FUNCTIONS) : graph->callees[function][rank[random64() >> 56]];
}

/* Lengthen @stack to @depth. */
static void walk_calls(const struct graph *graph, struct stack *stack, size_t depth, bool at_random)
{
	if (!stack->depth)
		stack->path[stack->depth++] = (uint16_t)below(NR_ROOTS);
	for (; stack->depth < depth; stack->depth++)
		stack->path[stack->depth] = (uint16_t)next_function(graph, stack->path[stack->depth - 1], at_random);
}

static size_t draw_depth(void)
{
	return MIN_DEPTH_FOLDED + below(MAX_DEPTH - MIN_DEPTH_FOLDED + 1);
}

/* 1 or more, MEAN_BRANCH on average. */
static size_t draw_branch(void)
{
	size_t n = 1;

	while (below(MEAN_BRANCH))
		n++;
	return n;
}

/* Some kept stack with its last frames replaced takes the place of a kept one. */
static struct stack *draw_branched(const struct graph *graph, struct stack *kept)
{
	struct stack *stack = &kept[below(NR_KEPT)];
	size_t cut, depth;

	*stack = kept[below(NR_KEPT)];
	if (!stack->depth) {
		walk_calls(graph, stack, draw_depth(), false);
		return stack;
	}
	cut = draw_branch();
	stack->depth = cut < stack->depth ? stack->depth - cut : 1;
	depth = stack->depth + draw_branch();
	depth = depth < MIN_DEPTH_FOLDED ? MIN_DEPTH_FOLDED : depth > MAX_DEPTH ? MAX_DEPTH : depth;
	walk_calls(graph, stack, depth, false);
	return stack;
}

static uint64_t hash_stack(const struct stack *stack)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < stack->depth; i++)
		hash = mix(hash + stack->path[i] + 1u);
	return hash;
}

static void put_stack(struct out *out, const struct graph *graph, const struct stack *stack)
{
	char line[MAX_DEPTH * (MAX_NAME + 1) + 32];
	size_t len = 0;

	for (size_t i = 0; i < stack->depth; i++) {
		memcpy(line + len, graph->names[stack->path[i]], graph->name_len[stack->path[i]]);
		len += graph->name_len[stack->path[i]];
		line[len++] = ';';
	}
	/* many small counts, few large ones */
	len += (size_t)sprintf(line + len - 1, " %zu\n", 100000 / (1 + below(100000))) - 1;
	put(out, line, len);
}

static void make_folded(struct out *out, uint64_t size, bool branched, bool at_random)
{
	struct graph *graph = make_graph();
	struct stack *kept = calloc(NR_KEPT, sizeof(*kept)), *stack = kept;
	struct set seen = { 0 };

	if (!kept)
		die("memory");
	while (out->total < size) {
		if (branched) {
			stack = draw_branched(graph, kept);
		} else {
			stack->depth = 0;
			walk_calls(graph, stack, draw_depth(), at_random);
		}
		if (set_add(&seen, hash_stack(stack)))
			put_stack(out, graph, stack);
	}
	fprintf(stderr, "folded: %zu distinct stacks, %.0f bytes a line\n", seen.nr,
		(double)out->total / (double)seen.nr);
	free(seen.slots);
	free(kept);
	free(graph);
}

/* Every line ends in a newline, which is below all other bytes in it. */
static int compare_lines(const void *left, const void *right)
{
	const unsigned char *a = *(const unsigned char *const *)left;
	const unsigned char *b = *(const unsigned char *const *)right;

	while (*a == *b && *a != '\n')
		a++, b++;
	return *a - *b;
}

static void write_sorted(const struct out *out)
{
	struct span rest = { out->buf, out->len };
	struct out sorted = { 0 };
	const char **lines = NULL;
	size_t nr = 0, room = 0;

	while (rest.len) {
		lines = grow(lines, &room, nr + 1, sizeof(*lines));
		lines[nr++] = take_line(&rest).s;
	}
	qsort(lines, nr, sizeof(*lines), compare_lines);
	sorted.buf = grow(NULL, &sorted.room, OUT_BYTES, 1);
	for (size_t i = 0; i < nr; i++) {
		const char *end = strchr(lines[i], '\n');

		put(&sorted, lines[i], (size_t)(end + 1 - lines[i]));
	}
	write_all(sorted.buf, sorted.len);
	free(sorted.buf);
	free(lines);
}

static void generate(struct out *out, const char *kind, uint64_t size, struct perf *perf)
{
	bool at_random = strstr(kind, "-random");

	if (!strncmp(kind, "folded", 6)) {
		out->keep = !strcmp(kind, "folded-sorted");
		make_folded(out, size, !at_random && strcmp(kind, "folded-wide"), at_random);
		return;
	}
	if (!perf->nr_samples)
		die("no sample in the perf script texts");
	if (!strncmp(kind, "unique", 6))
		make_unique(out, perf, size, at_random);
	else
		make_perf(out, perf, size);
}

static bool is_kind(const char *kind)
{
	static const char *const kinds[] = {
		"perf", "unique", "unique-random", "folded", "folded-sorted", "folded-wide", "folded-random",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kind, kinds[i]))
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	/* static: they live as long as the program */
	static struct perf perf = { .time_us = 1024000000 };
	static struct out out;
	char *end = NULL;
	double size_mb;

	if (argc >= 3)
		size_mb = strtod(argv[2], &end);
	if (argc < 3 || !is_kind(argv[1]) || *end || !(size_mb > 0)) {
		fprintf(stderr, "usage: generate KIND SIZE_MB [SEED] [PERF_SCRIPT.txt...] > FILE\n");
		return 2;
	}
	random_state = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	for (int i = 4; i < argc; i++)
		read_samples(&perf, argv[i]);
	errno = 0;
	out.buf = grow(NULL, &out.room, OUT_BYTES, 1);
	generate(&out, argv[1], (uint64_t)(size_mb * 1e6), &perf);
	if (out.keep)
		write_sorted(&out);
	else
		write_all(out.buf, out.len);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * survey.c - shares of a profile by what its stacks are like. A frame's name is looked at once; a stack has
 * what its caller has and its frame adds, in 32 bits.
 */
#define _GNU_SOURCE
#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "traits.h"

/* A stack's bits: traits of all its frames, whether one is outside of the kernel, and how many there are. */
#define STACK_TRAITS ((1u << FLAME_NR_STACK_TRAITS) - 1)
#define HAS_USER (1u << FLAME_NR_STACK_TRAITS)
#define UNSURE_ROOT (1u << (FLAME_NR_STACK_TRAITS + 1))	/* begins with a function whose name is not known */
#define IN_LIBC (1u << (FLAME_NR_STACK_TRAITS + 2))	/* of the frames outside of the kernel, the last is the C library's */
#define HAS_NAME ((uint32_t)FLAME_TRAIT_TASK)	/* one of its frames has a name; what a task is tells nothing of a stack */
#define DEPTH_SHIFT (FLAME_NR_STACK_TRAITS + 3)
#define DEPTH_MAX ((1u << (32 - DEPTH_SHIFT)) - 1)

#define ROOT_DEPTH 2		/* frames below the task among which a root counts as one */
#define WALK_MAX 4000000	/* steps to callers for what few samples need: seconds would be too much */

/* A profile of fewer stacks is looked at whole in a millisecond. */
#define QUICK_STACKS 65536
/* A share of one half is then within 2.2 percentage points, one of a tenth within 1.3, in 19 of 20 profiles. */
#define QUICK_SAMPLES 2048

#define KNOWN (1u << 31)	/* in a frame's traits: they were found */

/* One of the samples that are looked at. */
struct pick {
	uint32_t row;
	double value;
};

struct walk {
	const struct flame_profile *p;
	flame_type type;
	uint32_t *frames;	/* traits, and KNOWN */
	uint32_t *stacks;	/* bits; NULL: they are found for each sample that is looked at */
	struct pick *picks;	/* NULL: all samples are looked at */
	size_t nr_picks;
	flame_frame *path;	/* of a stack, the leaf first */
	size_t room_path;
	double *leaf, *any;	/* by frame: values of samples whose unknown leaf, or innermost unknown frame, it is */
	double runtimes[FLAME_NR_RUNTIMES];
	size_t steps;
	double scripts, python_unknown;	/* values of samples in what an interpreter runs; whose leaf is unknown and Python's */
	double total;
	uint32_t depth_max;
	bool failed;		/* no memory */
};

/* Return: the traits of @frame. */
static uint32_t traits_of(struct walk *w, flame_frame frame)
{
	if (!(w->frames[frame] & KNOWN))
		w->frames[frame] = flame_frame_traits(w->p, frame) | KNOWN;
	return w->frames[frame] & ~KNOWN;
}

static uint32_t depth_of(uint32_t bits)
{
	return bits >> DEPTH_SHIFT;
}

/* The bits of the stack that @frame makes of one with the bits @caller. */
static uint32_t child(uint32_t caller, uint32_t frame)
{
	uint32_t depth = depth_of(caller), traits = frame & STACK_TRAITS & ~HAS_NAME;

	/* The C library starts programs: where its symbols are missing that is no harm. */
	if (!depth && frame & FLAME_TRAIT_LIBC && frame & FLAME_TRAIT_UNKNOWN)
		traits = (traits & ~(uint32_t)FLAME_TRAIT_UNKNOWN) | FLAME_TRAIT_ROOT;
	else if (!depth && frame & FLAME_TRAIT_UNKNOWN && !(frame & FLAME_TRAIT_NOWHERE))
		traits |= UNSURE_ROOT;
	/* glibc 2.43 calls main without a frame pointer, and walks go on from there into data: no callers are missing. */
	if (frame & FLAME_TRAIT_START || (frame & FLAME_TRAIT_MAIN && !(caller & HAS_NAME)))
		caller &= ~((uint32_t)FLAME_TRAIT_UNKNOWN | UNSURE_ROOT);
	else if (depth >= ROOT_DEPTH)
		traits &= ~(uint32_t)FLAME_TRAIT_ROOT;
	/* What the kernel calls is the kernel: not all profilers say so of each frame. */
	if (!((frame | caller) & FLAME_TRAIT_KERNEL) && !(frame & FLAME_TRAIT_TASK)) {
		traits |= HAS_USER;
		caller &= ~IN_LIBC;
		traits |= frame & FLAME_TRAITS_IN_LIBC && !(frame & FLAME_TRAIT_ROOT) ? IN_LIBC : 0;
	}
	traits |= frame & (FLAME_TRAIT_TASK | FLAME_TRAIT_UNKNOWN) ? 0 : HAS_NAME;
	if (!(frame & FLAME_TRAIT_TASK) && depth < DEPTH_MAX)
		depth++;
	return ((caller | traits) & ((1u << DEPTH_SHIFT) - 1)) | depth << DEPTH_SHIFT;
}

/* Find the bits of all stacks, in the order of their rows: callers come first. */
static void mark_stacks(struct walk *w)
{
	uint32_t nr = flame_nr_stacks(w->p), nr_heads = flame_nr_stack_heads(w->p), head = 0;
	flame_stack caller = 0, next = nr_heads ? flame_stack_head(w->p, 0, &caller) : nr;

	w->stacks[0] = 0;
	for (flame_stack i = 1; i < nr; i++) {
		uint32_t bits = w->stacks[i - 1];

		if (i == next) {
			bits = w->stacks[caller];
			next = ++head < nr_heads ? flame_stack_head(w->p, head, &caller) : nr;
		}
		w->stacks[i] = child(bits, traits_of(w, flame_stack_frame(w->p, i)));
	}
}

/* Return: the bits of @stack. */
static uint32_t bits_of(struct walk *w, flame_stack stack)
{
	uint32_t bits = 0;
	size_t nr = 0;

	if (w->stacks)
		return w->stacks[stack];
	for (; stack; stack = flame_stack_caller(w->p, stack)) {
		if (!array_reserve((void **)&w->path, &w->room_path, nr + 1, sizeof(*w->path))) {
			w->failed = true;
			return 0;
		}
		w->path[nr++] = flame_stack_frame(w->p, stack);
	}
	while (nr-- > 0)
		bits = child(bits, traits_of(w, w->path[nr]));
	return bits;
}

/* The next of the samples that are looked at. *@i: 0 at first. Return: false where there is none. */
static bool next_sample(const struct walk *w, size_t *i, struct pick *pick)
{
	if (w->picks) {
		if (*i < w->nr_picks)
			*pick = w->picks[*i];
		return (*i)++ < w->nr_picks;
	}
	for (; *i < flame_nr_samples(w->p); ++*i) {
		const struct flame_sample *s = flame_sample_get(w->p, (uint32_t)*i);

		if (s->type == w->type) {
			*pick = (struct pick){ (uint32_t)(*i)++, (double)s->value };
			return true;
		}
	}
	return false;
}

/*
 * Choose samples by their values: as if all were laid out side by side, those at every so many'th place. One that is
 * wider counts as often as it is met.
 */
static bool pick_samples(struct walk *w)
{
	double step = w->total / QUICK_SAMPLES, at = step / 2, sum = 0;

	w->picks = calloc(QUICK_SAMPLES + 1, sizeof(*w->picks));
	for (uint32_t i = 0; w->picks && i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *s = flame_sample_get(w->p, i);
		struct pick pick = { .row = i };

		if (s->type != w->type)
			continue;
		sum += (double)s->value;
		for (; at <= sum && w->nr_picks + 1 <= QUICK_SAMPLES; at += step)
			pick.value += step;
		if (pick.value > 0)
			w->picks[w->nr_picks++] = pick;
	}
	return w->picks != NULL;
}

/* The value of a sample whose innermost unknown frame is to be found. */
static void note_unknown(struct walk *w, flame_stack stack, double value)
{
	while (stack && w->steps++ < WALK_MAX) {
		flame_frame frame = flame_stack_frame(w->p, stack);

		if (traits_of(w, frame) & FLAME_TRAIT_UNKNOWN) {
			w->any[frame] += value;
			return;
		}
		stack = flame_stack_caller(w->p, stack);
	}
}

static void note_runtime(struct walk *w, uint32_t bits, double value)
{
	static const struct { uint32_t trait; enum flame_runtime runtime; } runtimes[] = {
		{ FLAME_TRAIT_JVM, FLAME_RUNTIME_JVM }, { FLAME_TRAIT_NODE, FLAME_RUNTIME_NODE },
		{ FLAME_TRAIT_PYTHON, FLAME_RUNTIME_PYTHON }, { FLAME_TRAIT_GO, FLAME_RUNTIME_GO },
		{ FLAME_TRAIT_RUST, FLAME_RUNTIME_RUST }, { FLAME_TRAIT_DOTNET, FLAME_RUNTIME_DOTNET },
	};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		w->runtimes[runtimes[i].runtime] += bits & runtimes[i].trait ? value : 0;
}

/* A frame of no name and no file stands for a stack that there is none of. */
static bool is_empty(uint32_t bits, uint32_t leaf)
{
	return !depth_of(bits) || (depth_of(bits) == 1 && leaf & FLAME_TRAIT_NOWHERE);
}

/* Nobody knows how it was called. */
static bool is_cut(uint32_t bits)
{
	return bits & HAS_USER && !(bits & (FLAME_TRAIT_ROOT | FLAME_TRAIT_IDLE | FLAME_TRAIT_MISSED | FLAME_TRAIT_TRUNCATED));
}

static bool is_rootless(uint32_t bits)
{
	return is_cut(bits) && !(bits & UNSURE_ROOT);
}

static bool is_truncated(const struct walk *w, uint32_t bits)
{
	return bits & FLAME_TRAIT_TRUNCATED ||
	       (w->depth_max && depth_of(bits) >= w->depth_max && !(bits & FLAME_TRAIT_ROOT));
}

/* Add @value to what a stack of these @bits, with a leaf of these, is like. */
static void add_shares(struct walk *w, struct flame_survey *s, uint32_t bits, uint32_t leaf, double value)
{
	struct flame_quality_shares *q = &s->shares;
	bool unknown = leaf & FLAME_TRAIT_UNKNOWN;

	if (is_empty(bits, leaf)) {
		q->empty += value;
		q->idle += bits & FLAME_TRAIT_IDLE ? value : 0;
		return;
	}
	q->unknown_leaf += unknown ? value : 0;
	q->unknown_any += unknown || bits & FLAME_TRAIT_UNKNOWN ? value : 0;
	q->jit_unmapped += unknown && leaf & FLAME_TRAIT_JIT ? value : 0;
	q->addresses += unknown && leaf & FLAME_TRAIT_ADDRESS ? value : 0;
	q->unknown_kernel += unknown && bits & FLAME_TRAIT_KERNEL ? value : 0;
	q->kernel += bits & FLAME_TRAIT_KERNEL ? value : 0;
	q->waiting += leaf & FLAME_TRAIT_WAIT ? value : 0;
	q->switched_out += leaf & FLAME_TRAIT_SCHED ? value : 0;
	s->switched_stacks += (leaf & FLAME_TRAIT_SCHED) != 0;
	q->idle += bits & FLAME_TRAIT_IDLE ? value : 0;
	q->missed += bits & FLAME_TRAIT_MISSED ? value : 0;
	q->truncated += is_truncated(w, bits) ? value : 0;
	q->in_libc += bits & IN_LIBC ? value : 0;
	q->shallow += is_cut(bits) && depth_of(bits) <= 2 ? value : 0;
	q->rootless += is_rootless(bits) ? value : 0;
	q->python_loop += bits & FLAME_TRAIT_PYTHON_LOOP && !(bits & FLAME_TRAIT_SCRIPT) ? value : 0;
	q->interpreter += bits & FLAME_TRAIT_LOOP && !(bits & FLAME_TRAIT_SCRIPT) ? value : 0;
	s->rooted += bits & HAS_USER && bits & FLAME_TRAIT_ROOT ? value : 0;
}

/*
 * From 3.14 on Python's interpreter is a function for each instruction, and stripped files do not name these. Where what it
 * runs is shown, what is unknown is something else.
 */
static void note_python(struct walk *w, uint32_t bits, uint32_t leaf, double value)
{
	const uint32_t unknown = FLAME_TRAIT_UNKNOWN | FLAME_TRAIT_PYTHON;

	w->scripts += bits & FLAME_TRAIT_SCRIPT ? value : 0;
	w->python_unknown += (leaf & unknown) == unknown && !(bits & FLAME_TRAIT_PYTHON_LOOP) ? value : 0;
}

static void add_samples(struct walk *w, struct flame_survey *s)
{
	struct pick pick;
	size_t i = 0, nr = 0;

	for (; next_sample(w, &i, &pick); nr++) {
		const struct flame_sample *sample = flame_sample_get(w->p, pick.row);
		flame_frame frame = flame_stack_frame(w->p, sample->stack);
		uint32_t bits = bits_of(w, sample->stack), leaf = traits_of(w, frame);

		add_shares(w, s, bits, leaf, pick.value);
		note_runtime(w, bits, pick.value);
		note_python(w, bits, leaf, pick.value);
		if (is_empty(bits, leaf))
			continue;
		if (leaf & FLAME_TRAIT_UNKNOWN)
			w->leaf[frame] += pick.value;
		if ((leaf | bits) & FLAME_TRAIT_UNKNOWN)
			note_unknown(w, sample->stack, pick.value);
	}
	s->switched_stacks /= nr ? (double)nr : 1;
	if (!(w->scripts > 0))
		s->shares.python_loop += w->python_unknown;
}

/* Return: the first frame below the task; 0 also where it would take too long to find. */
static flame_frame first_frame(struct walk *w, flame_stack stack)
{
	flame_frame first = 0;

	while (stack && w->steps++ < WALK_MAX) {
		flame_frame frame = flame_stack_frame(w->p, stack);

		if (!(traits_of(w, frame) & FLAME_TRAIT_TASK))
			first = frame;
		stack = flame_stack_caller(w->p, stack);
	}
	return stack ? 0 : first;
}

/*
 * Programs may start with a function that is not known here: one frame that most of the profile begins with,
 * and that is not all of the stack, is one.
 */
static void accept_majority(struct walk *w, struct flame_survey *s)
{
	double *first = w->leaf, most = 0;	/* its work is done */
	struct pick pick;
	size_t next = 0;

	memset(first, 0, flame_nr_frames(w->p) * sizeof(*first));
	w->steps = 0;
	while (next_sample(w, &next, &pick)) {
		const struct flame_sample *sample = flame_sample_get(w->p, pick.row);
		uint32_t bits = bits_of(w, sample->stack);

		if (is_rootless(bits) && depth_of(bits) > 2)
			first[first_frame(w, sample->stack)] += pick.value;
	}
	for (flame_frame i = 1; i < flame_nr_frames(w->p); i++)
		most = first[i] > most && !(w->frames[i] & FLAME_TRAIT_UNKNOWN) ? first[i] : most;
	if (most > w->total / 2)
		s->shares.rootless -= most;
}

struct module {
	struct flame_span name;
	double leaf, any;
	uint32_t traits;
};

static int by_name(const void *x, const void *y)
{
	const struct module *a = x, *b = y;
	size_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = memcmp(a->name.s, b->name.s, n);

	return order ? order : (a->name.len > b->name.len) - (a->name.len < b->name.len);
}

static int by_weight(const void *x, const void *y)
{
	const struct module *a = x, *b = y;

	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? 1 : -1;
	if (a->any != b->any)
		return a->any < b->any ? 1 : -1;
	return by_name(x, y);
}

/* Equal names become one. Return: how many are left. */
static size_t merge_modules(struct module *modules, size_t nr)
{
	size_t used = 0;

	qsort(modules, nr, sizeof(*modules), by_name);
	for (size_t i = 0; i < nr; i++) {
		if (used && !by_name(&modules[used - 1], &modules[i])) {
			modules[used - 1].leaf += modules[i].leaf;
			modules[used - 1].any += modules[i].any;
		} else {
			modules[used++] = modules[i];
		}
	}
	qsort(modules, used, sizeof(*modules), by_weight);
	return used;
}

static int find_missing(struct walk *w, struct flame_survey *s)
{
	struct module *modules = NULL;
	size_t nr = 0;

	for (flame_frame i = 1; i < flame_nr_frames(w->p); i++)
		nr += w->any[i] > 0;
	if (!nr)
		return 0;
	modules = calloc(nr, sizeof(*modules));
	if (!modules)
		return FLAME_ENOMEM;
	nr = 0;
	for (flame_frame i = 1; i < flame_nr_frames(w->p); i++) {
		if (w->any[i] > 0)
			modules[nr++] = (struct module){ flame_frame_module(w->p, i), w->leaf[i], w->any[i], w->frames[i] };
	}
	nr = merge_modules(modules, nr);
	for (size_t i = 0; i < nr && i < FLAME_QUALITY_MISSING; i++) {
		s->missing[i] = (struct flame_missing){ strndup(modules[i].name.s, modules[i].name.len),
							modules[i].leaf / w->total, modules[i].any / w->total,
							modules[i].traits & FLAME_TRAIT_KERNEL, modules[i].traits & FLAME_TRAIT_JIT };
		s->nr_missing += s->missing[i].module != NULL;
		if (!s->missing[i].module)
			break;
	}
	free(modules);
	return s->nr_missing == (nr < FLAME_QUALITY_MISSING ? nr : FLAME_QUALITY_MISSING) ? 0 : FLAME_ENOMEM;
}

/* Sums become parts of the whole. They are all there is in the struct. */
static void make_shares(struct walk *w, struct flame_survey *s)
{
	double share[sizeof(s->shares) / sizeof(double)];

	memcpy(share, &s->shares, sizeof(share));
	for (size_t i = 0; i < sizeof(share) / sizeof(*share); i++)
		share[i] = share[i] > w->total ? 1 : share[i] > 0 ? share[i] / w->total : 0;
	memcpy(&s->shares, share, sizeof(share));
	s->rooted /= w->total;
	s->runtime = FLAME_RUNTIME_NATIVE;
	for (size_t i = 0; i < FLAME_NR_RUNTIMES; i++) {
		/* A tenth: what is in the profile by the way has no say. */
		if (w->runtimes[i] > w->total / 10 && w->runtimes[i] > w->runtimes[s->runtime])
			s->runtime = (enum flame_runtime)i;
	}
}

/* How much there is, of what is looked at and of what is not. */
static void add_up(struct walk *w, struct flame_survey *s)
{
	for (uint32_t i = 0; i < flame_nr_samples(w->p); i++) {
		const struct flame_sample *sample = flame_sample_get(w->p, i);

		if (sample->type != w->type)
			continue;
		s->nr_samples += sample->nr_samples;
		s->nr_stacks++;
		w->total += (double)sample->value;
		if (__builtin_add_overflow(s->total, sample->value, &s->total))
			s->total = INT64_MAX;
	}
}

static int look(struct walk *w, struct flame_survey *s, bool quick)
{
	size_t nr_frames = flame_nr_frames(w->p), nr_stacks = flame_nr_stacks(w->p);
	int err;

	w->frames = calloc(nr_frames, sizeof(*w->frames));
	w->leaf = calloc(nr_frames, sizeof(*w->leaf));
	w->any = calloc(nr_frames, sizeof(*w->any));
	s->estimated = quick && nr_stacks > QUICK_STACKS;
	if (!s->estimated)
		w->stacks = calloc(nr_stacks, sizeof(*w->stacks));
	if (!w->frames || !w->leaf || !w->any || !(s->estimated ? pick_samples(w) : w->stacks != NULL))
		return FLAME_ENOMEM;
	if (w->stacks)
		mark_stacks(w);
	add_samples(w, s);
	err = find_missing(w, s);
	if (s->shares.rootless > w->total / 20)
		accept_majority(w, s);
	make_shares(w, s);
	return w->failed ? FLAME_ENOMEM : err;
}

int flame_survey_make(struct flame_survey *s, const struct flame_profile *p, flame_type type, uint32_t depth_max,
		      bool quick)
{
	struct walk w = { .p = p, .type = type, .depth_max = depth_max < DEPTH_MAX ? depth_max : 0 };
	int err = 0;

	*s = (struct flame_survey){ .runtime = FLAME_RUNTIME_NATIVE };
	add_up(&w, s);
	/* Shares of nothing, or of a difference, are none. */
	if (w.total > 0)
		err = look(&w, s, quick);
	free(w.frames);
	free(w.stacks);
	free(w.picks);
	free(w.path);
	free(w.leaf);
	free(w.any);
	return err;
}

void flame_survey_release(struct flame_survey *s)
{
	for (size_t i = 0; i < s->nr_missing; i++)
		free(s->missing[i].module);
	s->nr_missing = 0;
}

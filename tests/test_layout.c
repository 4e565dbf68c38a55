/* SPDX-License-Identifier: MIT */
/*
 * test_layout.c - boxes of random profiles, compared with what adding up sample by sample gives.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../core/render/layout.h"
#include "text.h"

/* What is true of a stack, by looking at every sample. */
struct truth {
	int64_t now, now_self, before, before_self, width;
	bool drawn;
	uint32_t box;		/* its box; 0: none yet */
	uint64_t nr_hidden;	/* undrawn stacks that hang on it, directly or through undrawn ones */
	bool deep;		/* some of these are wide enough */
};

/* Frames that no box stands for. */
struct hidden {
	uint64_t narrow, deep;
};

static uint32_t depth_of(const struct flame_profile *p, flame_stack stack)
{
	uint32_t depth = 0;

	for (; stack; stack = flame_stack_caller(p, stack))
		depth++;
	return depth;
}

/* Of what nothing lies on. Gone frames keep their former width. */
static int64_t self_width(enum flame_view view, const struct truth *t)
{
	bool gone = !t->now && t->before;

	if (view == FLAME_VIEW_COMBINED)
		return t->before_self > t->now_self ? t->before_self : t->now_self;
	if (view == FLAME_VIEW_ELIDED)
		return gone ? t->before_self : 0;
	return gone ? t->before_self : t->now_self;
}

static bool lies_on(const struct flame_profile *p, flame_stack stack, flame_stack below)
{
	while (stack > below)
		stack = flame_stack_caller(p, stack);
	return stack == below;
}

static struct truth *find_truth(const struct flame_profile *p, const struct flame_layout_options *o)
{
	uint32_t nr = flame_nr_stacks(p);
	struct truth *t = calloc(nr, sizeof(*t));

	for (uint32_t i = 0; i < nr; i++) {
		for (uint32_t j = 0; j < flame_nr_samples(p); j++) {
			const struct flame_sample *s = flame_sample_get(p, j);
			bool own = s->stack == i;

			if (!lies_on(p, s->stack, i))
				continue;
			if (s->type == o->type) {
				t[i].now += s->value;
				t[i].now_self += own ? s->value : 0;
			} else if (s->type == o->before) {
				t[i].before += s->value;
				t[i].before_self += own ? s->value : 0;
			}
		}
	}
	/* Gone frames keep their former width; what lies on others is what they are as wide as. */
	for (uint32_t i = nr; i-- > 0;) {
		t[i].width += self_width(o->view, &t[i]);
		if (i)
			t[flame_stack_caller(p, i)].width += t[i].width;
	}
	for (uint32_t i = 1; i < nr; i++) {
		flame_stack under = flame_stack_caller(p, i);
		bool wide;

		wide = t[i].width && (double)t[i].width >= o->min_total;
		t[i].drawn = wide && (!o->max_depth || depth_of(p, i) <= o->max_depth);
		while (under && !t[under].drawn)
			under = flame_stack_caller(p, under);
		t[under].nr_hidden += t[i].width && !t[i].drawn;
		t[under].deep |= wide && !t[i].drawn;
	}
	return t;
}

static flame_stack child_of(const struct flame_profile *p, flame_stack caller, flame_frame frame)
{
	for (uint32_t i = 1; i < flame_nr_stacks(p); i++) {
		if (flame_stack_caller(p, i) == caller && flame_stack_frame(p, i) == frame)
			return i;
	}
	fail_msg("no such stack");
	return 0;
}

static int compare_names(const struct flame_profile *p, flame_frame a, flame_frame b)
{
	return strcmp(flame_string_get(p, flame_frame_get(p, a)->name).s, flame_string_get(p, flame_frame_get(p, b)->name).s);
}

/* The boxes upon box @at: side by side from its left edge, sorted, a rest at the end, self to the right of all. */
static void check_children(const struct flame_layout *l, const struct flame_profile *p, uint32_t at, const struct truth *t,
			   const struct flame_layout_options *o, struct hidden *hidden)
{
	const struct flame_box *box = &l->boxes[at], *last = NULL;
	const struct truth own = {
		.now = box->total, .now_self = box->self, .before = box->before_total, .before_self = box->before_self,
	};
	int64_t self = self_width(o->view, &own), edge = box->start, now = box->total - box->self;

	for (uint32_t i = at + 1; i < l->nr_boxes && l->boxes[i].depth > box->depth; i++) {
		const struct flame_box *b = &l->boxes[i];

		if (b->depth != box->depth + 1)
			continue;
		assert_int_equal(b->caller, at);
		assert_int_equal(b->start, edge);
		assert_true(b->width > 0);
		if (last) {
			assert_false(last->flags & FLAME_BOX_REST);
			if (!(b->flags & FLAME_BOX_REST))
				assert_true(compare_names(p, last->frame, b->frame) <= 0);
		}
		edge += b->width;
		now -= b->flags & FLAME_BOX_REST ? 0 : b->total;
		last = b;
	}
	assert_true(edge + self <= box->start + box->width);
	*(t->deep ? &hidden->deep : &hidden->narrow) += t->nr_hidden;
	if (last && last->flags & FLAME_BOX_REST) {
		assert_int_equal(last->nr_frames, t->nr_hidden);
		assert_int_equal(last->flags & FLAME_BOX_DEEP, t->deep ? FLAME_BOX_DEEP : 0);
		assert_int_equal(edge + self, box->start + box->width);
		assert_int_equal(last->frame, 0);
		assert_int_equal(last->total, now);
		assert_true((double)last->width >= o->min_total);
	} else if (t->nr_hidden) {
		assert_true((double)(box->start + box->width - self - edge) < o->min_total);
	} else {
		assert_int_equal(edge + self, box->start + box->width);
	}
}

static void check_box(const struct flame_box *b, const struct truth *t, bool root)
{
	assert_int_equal(b->total, t->now);
	assert_int_equal(b->self, t->now_self);
	assert_int_equal(b->before_total, t->before);
	assert_int_equal(b->before_self, t->before_self);
	assert_int_equal(b->width, t->width);
	assert_int_equal(b->nr_frames, 1);
	assert_int_equal(b->flags, !root && !t->now ? FLAME_BOX_GONE : 0);
}

static void check_layout(const struct flame_profile *p, const struct flame_layout_options *o)
{
	struct truth *t = find_truth(p, o);
	struct flame_layout l;
	int err = flame_layout_init(&l, p, o);
	flame_stack *stacks;
	uint32_t deepest = 0;
	struct hidden hidden = { 0 };

	if (!t[0].now || !t[0].width) {
		assert_int_equal(err, FLAME_EEMPTY);
		free(t);
		return;
	}
	assert_int_equal(err, 0);
	stacks = calloc(l.nr_boxes, sizeof(*stacks));
	assert_int_equal(l.total, t[0].now);
	assert_int_equal(l.before, t[0].before);
	assert_int_equal(l.width, t[0].width);
	for (uint32_t i = 0; i < l.nr_boxes; i++) {
		const struct flame_box *b = &l.boxes[i];

		deepest = b->depth > deepest ? b->depth : deepest;
		if (b->flags & FLAME_BOX_REST)
			continue;
		if (i) {
			stacks[i] = child_of(p, stacks[b->caller], b->frame);
			assert_int_equal(t[stacks[i]].box, 0);
			t[stacks[i]].box = i;
			assert_int_equal(b->depth, l.boxes[b->caller].depth + 1);
			assert_true(b->caller < i);
		}
		assert_int_equal(b->stack, stacks[i]);
		check_box(b, &t[stacks[i]], !i);
		check_children(&l, p, i, &t[stacks[i]], o, &hidden);
	}
	for (uint32_t i = 1; i < flame_nr_stacks(p); i++)
		assert_int_equal(t[i].box != 0, t[i].drawn);
	assert_int_equal(l.max_depth, deepest);
	assert_int_equal(l.nr_hidden, hidden.narrow);
	assert_int_equal(l.nr_deep, hidden.deep);
	free(stacks);
	free(t);
	flame_layout_release(&l);
}

static struct flame_profile *random_profile(uint32_t *seed, bool ordered, int nr_types)
{
	struct flame_profile *p = flame_profile_new(&(struct flame_profile_options){ .ordered = ordered });
	uint32_t names = 2 + text_random(seed, 5), deep = 1 + text_random(seed, 12), nr = 1 + text_random(seed, 40);

	for (int i = 0; i < nr_types; i++)
		flame_type_row(p, &(struct flame_type_info){ .name = flame_intern(p, &"xyz"[i], 1) });
	while (nr--) {
		struct flame_sample s = { .type = 1 + text_random(seed, (uint32_t)nr_types) };

		for (uint32_t depth = text_random(seed, deep + 1); depth--;) {
			char name[2] = { (char)('a' + text_random(seed, names)), '\0' };

			s.stack = flame_stack_push(p, s.stack, flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, name, 1) }));
		}
		s.value = text_random(seed, 4) ? text_random(seed, 100) : 0;
		flame_sample_add(p, &s);
	}
	assert_int_equal(flame_profile_error(p), 0);
	return p;
}

static void test_random(void **state)
{
	static const double least[] = { 0, 1, 7.5, 50, 1e9 };
	uint32_t seed = 21;

	(void)state;
	for (int round = 0; round < 1500; round++) {
		struct flame_layout_options o = { .type = 1, .min_total = least[round % 5] };
		struct flame_profile *p = random_profile(&seed, false, 1 + round % 3);

		if (round % 3 && round % 2)
			o.before = 2;
		o.view = o.before ? (enum flame_view)(round / 30 % 3) : FLAME_VIEW_AFTER;
		o.max_depth = round / 90 % 2 ? (uint32_t)(round / 180 % 5) : 0;
		check_layout(p, &o);
		flame_profile_free(p);
	}
}

/* A run of samples that share a stack up to some depth is one box of a chart. */
struct run {
	flame_stack stack;
	uint32_t depth;
	int64_t start, width, self;
};

static flame_stack at_depth(const struct flame_profile *p, flame_stack stack, uint32_t depth)
{
	uint32_t have = depth_of(p, stack);

	for (; have > depth; have--)
		stack = flame_stack_caller(p, stack);
	return have == depth ? stack : 0;
}

static size_t find_runs(const struct flame_profile *p, struct run *runs)
{
	size_t nr = 0;

	for (uint32_t depth = 1; depth < 20; depth++) {
		flame_stack last = 0;
		int64_t edge = 0;

		for (uint32_t i = 0; i < flame_nr_samples(p); i++) {
			const struct flame_sample *s = flame_sample_get(p, i);
			flame_stack stack = at_depth(p, s->stack, depth);

			if (s->type != 1 || !s->value)
				continue;
			if (stack && stack != last)
				runs[nr++] = (struct run){ stack, depth, edge, 0, 0 };
			if (stack) {
				runs[nr - 1].width += s->value;
				runs[nr - 1].self += s->stack == stack ? s->value : 0;
			}
			last = stack;
			edge += s->value;
		}
	}
	return nr;
}

/* What is on one caller without a gap, and is not drawn, from @runs on. Return: how many runs. */
static size_t find_group(const struct flame_profile *p, const struct run *runs, size_t nr, double least, bool deep,
			 struct run *group)
{
	size_t n = 0;

	*group = runs[0];
	group->width = 0;
	for (; n < nr && runs[n].depth == group->depth && runs[n].start == group->start + group->width; n++) {
		if (flame_stack_caller(p, runs[n].stack) != flame_stack_caller(p, runs[0].stack) ||
		    (!deep && (double)runs[n].width >= least))
			break;
		group->width += runs[n].width;
	}
	return n;
}

static bool lies_in(const struct run *run, const struct run *group)
{
	return run->start >= group->start && run->start + run->width <= group->start + group->width;
}

/* Each group that is wide enough is a rest that tells how many runs it stands for; and there are no others. */
static void check_groups(const struct flame_profile *p, const struct flame_layout *l, const struct run *runs, size_t nr,
			 const struct flame_layout_options *o)
{
	size_t nr_rests = 0, want = 0;

	for (uint32_t j = 1; j < l->nr_boxes; j++)
		nr_rests += l->boxes[j].flags & FLAME_BOX_REST;
	for (size_t i = 0, n; i < nr; i += n ? n : 1) {
		bool deep = o->max_depth && runs[i].depth == o->max_depth + 1, found = false, on_wide = runs[i].depth == 1;
		struct run group;
		uint32_t frames = 0;

		n = 0;
		if (o->max_depth && runs[i].depth > o->max_depth + 1)
			continue;
		n = find_group(p, &runs[i], nr - i, o->min_total, deep, &group);
		for (size_t k = 0; k < nr; k++) {
			frames += runs[k].depth >= group.depth && lies_in(&runs[k], &group);
			on_wide |= runs[k].depth == group.depth - 1 && (double)runs[k].width >= o->min_total &&
				   lies_in(&group, &runs[k]);
		}
		if (!n || !on_wide || (double)group.width < o->min_total)
			continue;
		want++;
		for (uint32_t j = 1; j < l->nr_boxes; j++) {
			const struct flame_box *b = &l->boxes[j];

			found |= b->flags == (deep ? FLAME_BOX_REST | FLAME_BOX_DEEP : FLAME_BOX_REST) && b->depth == group.depth &&
				 b->start == group.start && b->width == group.width && b->nr_frames == frames;
		}
		assert_true(found);
	}
	assert_int_equal(nr_rests, want);
}

static void check_chart_rests(const struct flame_layout *l, double least)
{
	for (uint32_t i = 1; i < l->nr_boxes; i++) {
		const struct flame_box *b = &l->boxes[i], *under = &l->boxes[b->caller];

		assert_true(b->caller < i);
		assert_int_equal(b->depth, under->depth + 1);
		assert_false(under->flags & FLAME_BOX_REST);
		assert_true(b->start >= under->start && b->start + b->width <= under->start + under->width);
		assert_true(b->width > 0 && (double)b->width >= least);
		for (uint32_t j = i + 1; j < l->nr_boxes; j++) {
			if (l->boxes[j].caller == b->caller)
				assert_true(l->boxes[j].start >= b->start + b->width);
		}
	}
}

static void check_chart(const struct flame_profile *p, double least, uint32_t max_depth)
{
	struct flame_layout_options o = { .type = 1, .in_order = true, .min_total = least, .max_depth = max_depth };
	struct run *runs = calloc(flame_nr_samples(p) * 20 + 1, sizeof(*runs));
	size_t nr = find_runs(p, runs), wide = 0, drawn = 0, deep = 0;
	struct flame_layout l;
	int err = flame_layout_init(&l, p, &o);

	if (err) {
		assert_int_equal(err, FLAME_EEMPTY);
		assert_int_equal(nr, 0);
		free(runs);
		return;
	}
	for (size_t i = 0; i < nr; i++) {
		bool found = false;

		deep += max_depth && runs[i].depth > max_depth;
		if ((double)runs[i].width < least || (max_depth && runs[i].depth > max_depth))
			continue;
		wide++;
		for (uint32_t j = 1; j < l.nr_boxes; j++) {
			const struct flame_box *b = &l.boxes[j];

			found |= !(b->flags & FLAME_BOX_REST) && b->depth == runs[i].depth && b->start == runs[i].start &&
				 b->width == runs[i].width && b->total == b->width && b->self == runs[i].self &&
				 b->frame == flame_stack_frame(p, runs[i].stack);
		}
		assert_true(found);
	}
	for (uint32_t j = 1; j < l.nr_boxes; j++)
		drawn += !(l.boxes[j].flags & FLAME_BOX_REST);
	assert_int_equal(drawn, wide);
	assert_int_equal(l.nr_deep, deep);
	assert_int_equal(l.nr_hidden, nr - wide - deep);
	check_chart_rests(&l, least);
	check_groups(p, &l, runs, nr, &o);
	flame_layout_release(&l);
	free(runs);
}

static void test_chart(void **state)
{
	static const double least[] = { 0, 1, 30, 120 };
	uint32_t seed = 22;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		struct flame_profile *p = random_profile(&seed, true, 1 + round % 2);

		check_chart(p, least[round % 4], round / 8 % 2 ? (uint32_t)(round / 16 % 5) : 0);
		flame_profile_free(p);
	}
}

static void test_chart_order(void **state)
{
	struct flame_read_options options = { .from = "folded", .ordered = true, .threads_max = 1 };
	static const char text[] = "b;x 1\nb;y 2\na 3\nb;x 4\n";
	struct flame_layout_options o = { .type = 1, .in_order = true };
	struct flame_diag diag = { 0 };
	struct flame_layout l;
	struct flame_profile *p;
	static const struct { const char *name; int64_t start, width; } want[] = {
		{ "", 0, 10 }, { "b", 0, 3 }, { "x", 0, 1 }, { "y", 1, 2 }, { "a", 3, 3 }, { "b", 6, 4 }, { "x", 6, 4 },
	};

	(void)state;
	assert_int_equal(text_read(&p, text, strlen(text), &options, &diag), 0);
	assert_int_equal(flame_layout_init(&l, p, &o), 0);
	assert_int_equal(l.nr_boxes, 7);
	for (uint32_t i = 0; i < 7; i++) {
		assert_string_equal(flame_string_get(p, flame_frame_get(p, l.boxes[i].frame)->name).s, want[i].name);
		assert_int_equal(l.boxes[i].start, want[i].start);
		assert_int_equal(l.boxes[i].width, want[i].width);
	}
	flame_layout_release(&l);
	flame_profile_free(p);
	flame_diag_release(&diag);
}

static void check_error(const char *text, int want)
{
	for (int in_order = 0; in_order < 2; in_order++) {
		struct flame_profile *p = text_profile(text);
		struct flame_layout_options o = { .type = 1, .in_order = in_order };
		struct flame_layout l;

		assert_int_equal(flame_layout_init(&l, p, &o), want);
		assert_null(l.boxes);
		flame_profile_free(p);
	}
}

/* What is gone stands beside what is new: both have to fit. */
static void check_wide_differential(void)
{
	static const int64_t values[] = { INT64_MAX / 2, INT64_MAX / 2 + 2 };
	struct flame_layout_options o = { .type = 2, .before = 1 };
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_layout l;

	for (int i = 0; i < 2; i++) {
		flame_string name = flame_intern(p, i ? "new" : "gone", i ? 3 : 4);
		flame_type type = flame_type_row(p, &(struct flame_type_info){ .name = name });
		flame_frame f = flame_frame_row(p, &(struct flame_frame_info){ .name = name });

		flame_sample_add(p, &(struct flame_sample){ .stack = flame_stack_push(p, 0, f), .type = type, .value = values[i] });
	}
	assert_int_equal(flame_layout_init(&l, p, &o), FLAME_EOVERFLOW);
	flame_profile_free(p);
}

static void test_errors(void **state)
{
	(void)state;
	check_error("a 0\n", FLAME_EEMPTY);
	check_error("a -1\n", FLAME_EARG);
	check_error("a 5\nb -1\n", FLAME_EARG);
	check_error("a 9223372036854775807\nb 1\n", FLAME_EOVERFLOW);
	check_wide_differential();
}

/* Recursion on depth would not survive this. */
static void test_deep(void **state)
{
	enum { DEPTH = 300000 };
	struct flame_profile *p = flame_profile_new(NULL);
	struct flame_sample s = { .value = 3 };
	struct flame_layout l;

	(void)state;
	s.type = flame_type_row(p, &(struct flame_type_info){ .name = flame_intern(p, "t", 1) });
	for (int i = 0; i < DEPTH; i++)
		s.stack = flame_stack_push(p, s.stack, flame_frame_row(p, &(struct flame_frame_info){ .name = flame_intern(p, &"ab"[i % 2], 1) }));
	flame_sample_add(p, &s);
	for (int in_order = 0; in_order < 2; in_order++) {
		struct flame_layout_options o = { .type = s.type, .in_order = in_order };

		assert_int_equal(flame_layout_init(&l, p, &o), 0);
		assert_int_equal(l.nr_boxes, DEPTH + 1);
		assert_int_equal(l.max_depth, DEPTH);
		assert_int_equal(l.boxes[DEPTH].self, 3);
		flame_layout_release(&l);
		o.max_depth = 5000;
		assert_int_equal(flame_layout_init(&l, p, &o), 0);
		assert_int_equal(l.nr_boxes, 5002);
		assert_int_equal(l.nr_deep, DEPTH - 5000);
		assert_int_equal(l.boxes[5001].nr_frames, DEPTH - 5000);
		assert_int_equal(l.boxes[5001].total, 3);
		flame_layout_release(&l);
	}
	flame_profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_chart), cmocka_unit_test(test_chart_order),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

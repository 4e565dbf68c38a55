/* SPDX-License-Identifier: MIT */
/*
 * chart.c - flame charts: one walk over the samples with a stack of open boxes. A box that closes
 * too narrow goes at once into its caller's rest, so memory follows what is drawn.
 */
#include "chart.h"

#include <stdlib.h>

#include "../table.h"

struct open {
	flame_stack stack;
	uint32_t box;
};

struct chart {
	const struct flame_profile *p;
	const struct flame_layout_options *options;
	struct flame_layout *layout;
	struct open *open;	/* open[0] is the box of all samples */
	size_t depth, room_open;
	flame_stack *path;	/* of the sample at hand, leaf first */
	size_t room_path;
	size_t room_boxes;
	int64_t edge;
};

static struct flame_box *last_box(const struct chart *c)
{
	return &c->layout->boxes[c->layout->nr_boxes - 1];
}

static bool too_narrow(const struct chart *c, const struct flame_box *box)
{
	return !box->width || (double)box->width < c->options->min_total;
}

static bool add_box(struct chart *c, const struct flame_box *box)
{
	if (!array_reserve((void **)&c->layout->boxes, &c->room_boxes, (size_t)c->layout->nr_boxes + 1,
			   sizeof(*c->layout->boxes)))
		return false;
	c->layout->boxes[c->layout->nr_boxes++] = *box;
	return true;
}

static void add_frames(struct flame_box *rest, uint32_t nr)
{
	rest->nr_frames = nr > UINT32_MAX - rest->nr_frames ? UINT32_MAX : rest->nr_frames + nr;
}

/* A rest grows while what it stands for comes one after the other. Return: false without memory. */
static bool add_rest(struct chart *c, const struct flame_box *rest)
{
	struct flame_box *box = last_box(c);

	if (!(box->flags & FLAME_BOX_REST) || box->caller != rest->caller || box->start + box->width != rest->start)
		return add_box(c, rest);
	box->width += rest->width;
	box->total += rest->total;
	add_frames(box, rest->nr_frames);
	return true;
}

/* No frame that lies on @depth others is drawn. */
static bool is_deep(const struct chart *c, size_t depth)
{
	return c->options->max_depth && depth > c->options->max_depth;
}

/* What lies on the box that is as deep as may be. Return: false without memory. */
static bool add_deep(struct chart *c, uint32_t nr_frames, int64_t width)
{
	struct flame_box rest = {
		.caller = c->open[c->options->max_depth].box,
		.depth = c->options->max_depth + 1,
		.nr_frames = nr_frames,
		.flags = FLAME_BOX_REST | FLAME_BOX_DEEP,
		.start = c->edge,
		.width = width,
		.total = width,
	};

	c->layout->nr_deep += nr_frames;
	return add_rest(c, &rest);
}

static bool open_box(struct chart *c, flame_stack stack)
{
	struct flame_box box = {
		.frame = flame_stack_frame(c->p, stack),
		.caller = c->open[c->depth].box,
		.depth = (uint32_t)c->depth + 1,
		.nr_frames = 1,
		.start = c->edge,
	};

	if (!array_reserve((void **)&c->open, &c->room_open, c->depth + 2, sizeof(*c->open)))
		return false;
	c->open[++c->depth] = (struct open){ stack, c->layout->nr_boxes };
	return is_deep(c, c->depth) ? add_deep(c, 1, 0) : add_box(c, &box);
}

/* On the narrow box are only rests, which go into its caller's with it. */
static bool into_rest(struct chart *c, uint32_t at)
{
	struct flame_box rest = c->layout->boxes[at];

	for (uint32_t i = at + 1; i < c->layout->nr_boxes; i++)
		add_frames(&rest, c->layout->boxes[i].nr_frames);
	c->layout->nr_boxes = at;
	c->layout->nr_hidden++;
	rest.frame = 0;
	rest.flags = FLAME_BOX_REST;
	rest.self = 0;
	return add_rest(c, &rest);
}

static bool close_box(struct chart *c)
{
	struct flame_box *box;
	uint32_t at;

	if (is_deep(c, c->depth--))
		return true;
	at = c->open[c->depth + 1].box;
	box = &c->layout->boxes[at];
	box->width = box->total = c->edge - box->start;
	return !too_narrow(c, box) || into_rest(c, at);
}

static bool add_sample(struct chart *c, const struct flame_sample *s)
{
	size_t nr = 0, same = 0;

	for (flame_stack i = s->stack; i; i = flame_stack_caller(c->p, i)) {
		if (!array_reserve((void **)&c->path, &c->room_path, nr + 1, sizeof(*c->path)))
			return false;
		c->path[nr++] = i;
	}
	while (same < nr && same < c->depth && c->open[same + 1].stack == c->path[nr - 1 - same])
		same++;
	while (c->depth > same) {
		if (!close_box(c))
			return false;
	}
	while (c->depth < nr) {
		if (!open_box(c, c->path[nr - 1 - c->depth]))
			return false;
	}
	if (is_deep(c, nr) && !add_deep(c, 0, s->value))
		return false;
	if (!is_deep(c, nr))
		c->layout->boxes[c->open[nr].box].self += s->value;
	c->edge += s->value;
	return true;
}

static int check_sample(const struct chart *c, const struct flame_sample *s)
{
	int64_t sum;

	if (s->value < 0)
		return FLAME_EARG;
	return __builtin_add_overflow(c->edge, s->value, &sum) ? FLAME_EOVERFLOW : 0;
}

/* Which of the rests are wide enough is known when they have ended. Return: 0 or FLAME_ENOMEM. */
static int drop_narrow_rests(struct chart *c)
{
	struct flame_box *boxes = c->layout->boxes;
	uint32_t *now = malloc(c->layout->nr_boxes * sizeof(*now)), nr = 0;

	if (!now)
		return FLAME_ENOMEM;
	for (uint32_t i = 0; i < c->layout->nr_boxes; i++) {
		now[i] = nr;
		if (boxes[i].flags & FLAME_BOX_REST && too_narrow(c, &boxes[i]))
			continue;
		boxes[nr] = boxes[i];
		boxes[nr++].caller = now[boxes[i].caller];
	}
	c->layout->nr_boxes = nr;
	free(now);
	return 0;
}

static int walk(struct chart *c)
{
	struct flame_box root = { .nr_frames = 1 };
	int err = 0;

	if (!array_reserve((void **)&c->open, &c->room_open, 1, sizeof(*c->open)) || !add_box(c, &root))
		return FLAME_ENOMEM;
	c->open[0] = (struct open){ 0 };
	for (uint32_t i = 0; !err && i < flame_nr_samples(c->p); i++) {
		const struct flame_sample *s = flame_sample_get(c->p, i);

		if (s->type != c->options->type || !s->value)
			continue;
		err = check_sample(c, s);
		if (!err && !add_sample(c, s))
			err = FLAME_ENOMEM;
	}
	while (!err && c->depth) {
		if (!close_box(c))
			err = FLAME_ENOMEM;
	}
	return err ? err : drop_narrow_rests(c);
}

int flame_chart_lay_out(struct flame_layout *layout, const struct flame_profile *p,
			const struct flame_layout_options *options)
{
	struct chart c = { .p = p, .options = options, .layout = layout };
	int err = walk(&c);

	if (!err && !c.edge)
		err = FLAME_EEMPTY;
	layout->total = layout->width = c.edge;
	if (!err)
		layout->boxes[0].width = layout->boxes[0].total = c.edge;
	free(c.open);
	free(c.path);
	return err;
}

/* SPDX-License-Identifier: MIT */
/*
 * chart.c - flame charts: one walk over the samples with a stack of open boxes. A box that closes
 * too narrow is dropped at once into its caller's rest, so memory follows what is drawn.
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

/* A rest grows while narrow siblings come one after the other; once it has ended it must be wide enough. */
static void end_rest(struct chart *c)
{
	struct flame_box *box = last_box(c);

	if (box->flags & FLAME_BOX_REST && too_narrow(c, box))
		c->layout->nr_boxes--;
}

static bool add_box(struct chart *c, const struct flame_box *box)
{
	if (!array_reserve((void **)&c->layout->boxes, &c->room_boxes, (size_t)c->layout->nr_boxes + 1,
			   sizeof(*c->layout->boxes)))
		return false;
	c->layout->boxes[c->layout->nr_boxes++] = *box;
	return true;
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
	return add_box(c, &box);
}

/* The narrow box is the last one, with at most a rest upon it. */
static bool into_rest(struct chart *c, uint32_t at)
{
	struct flame_box box = c->layout->boxes[at], *rest;
	uint32_t nr = 1;

	if (last_box(c)->flags & FLAME_BOX_REST && last_box(c)->caller == at)
		nr += last_box(c)->nr_frames;
	c->layout->nr_boxes = at;
	c->layout->nr_hidden++;
	rest = last_box(c);
	if (rest->flags & FLAME_BOX_REST && rest->caller == box.caller) {
		rest->width += box.width;
		rest->total += box.width;
		rest->nr_frames += nr;
		return true;
	}
	box.frame = 0;
	box.flags = FLAME_BOX_REST;
	box.nr_frames = nr;
	box.self = 0;
	return add_box(c, &box);
}

static bool close_box(struct chart *c)
{
	uint32_t at = c->open[c->depth--].box;
	struct flame_box *box = &c->layout->boxes[at];

	box->width = box->total = c->edge - box->start;
	if (too_narrow(c, box))
		return into_rest(c, at);
	end_rest(c);
	return true;
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
		if (c->open[c->depth].box + 1 != c->layout->nr_boxes)
			end_rest(c);
		if (!open_box(c, c->path[nr - 1 - c->depth]))
			return false;
	}
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
	if (!err)
		end_rest(c);
	return err;
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

/* SPDX-License-Identifier: MIT */
/*
 * svg_boxes.c - all boxes of a picture. Where there are many, two threads write them.
 */
#include "svg_picture.h"

#include <stdlib.h>

#include "../pieces.h"

#define PIECE_BOXES 256
#define PIECES_FROM 2048	/* boxes for which a thread is started */
#define FILLS_MAX 65536	/* frames; of more only few may be drawn */

/* Colours that follow from the frame alone are worked out once for each. */
static bool has_frame_fills(const struct picture *pic)
{
	return !pic->o->before && !pic->map && pic->source != FLAME_COLOR_RANDOM &&
	       !(pic->o->colors && !strcmp(pic->o->colors, "chain"));
}

static int find_fill(struct picture *pic, const struct flame_box *box)
{
	struct fill *fill = &pic->frame_fills[box->frame];

	return fill->len ? 0 : svg_box_fill(pic, box, fill);
}

static void find_all_fills(void *arg)
{
	struct picture *pic = arg;

	for (uint32_t i = 0; i < flame_nr_frames(pic->p) && !pic->fills_err; i++)
		pic->fills_err = find_fill(pic, &(struct flame_box){ .frame = i });
}

int svg_start_fills(struct picture *pic)
{
	if (!has_frame_fills(pic))
		return 0;
	pic->frame_fills = calloc(flame_nr_frames(pic->p), sizeof(*pic->frame_fills));
	if (!pic->frame_fills)
		return FLAME_ENOMEM;
	pic->fills = (struct flame_job){ .work = find_all_fills, .arg = pic };
	pic->fills_started = pic->worker && flame_nr_frames(pic->p) <= FILLS_MAX;
	if (pic->fills_started)
		flame_worker_start(pic->worker, &pic->fills);
	return 0;
}

int svg_end_fills(struct picture *pic)
{
	if (pic->fills_started)
		flame_worker_end(pic->worker, &pic->fills);
	pic->fills_started = false;
	return pic->fills_err;
}

/* Boxes from @first up to @end. */
static int write_boxes(struct picture *pic, uint32_t first, uint32_t end)
{
	struct fill own = { .len = 0 };
	int err = 0;

	for (uint32_t i = first; !err && i < end; i++) {
		const struct flame_box *box = &pic->layout.boxes[i];

		if (!pic->frame_fills && !(box->flags & (FLAME_BOX_REST | FLAME_BOX_GONE)))
			err = svg_box_fill(pic, box, &own);
		svg_put_box(pic, box, pic->frame_fills ? &pic->frame_fills[box->frame] : &own);
	}
	return pic->out.failed ? FLAME_ENOMEM : err;
}

/* Boxes from @first up to @end. */
struct piece {
	uint32_t first, end;
};

struct walk {
	const struct picture *pic;
	uint32_t next;		/* box of which no piece is made yet */
};

static int next_piece(void *arg, void *item)
{
	struct walk *walk = arg;
	struct piece *piece = item;
	uint32_t left = walk->pic->layout.nr_boxes - walk->next;

	piece->first = walk->next;
	piece->end = walk->next += left < PIECE_BOXES ? left : PIECE_BOXES;
	return left > 0;
}

static int write_piece(void *arg, void *item, struct flame_out *out)
{
	const struct walk *walk = arg;
	const struct piece *piece = item;
	struct picture pic = *walk->pic;
	int err;

	pic.out = *out;
	err = write_boxes(&pic, piece->first, piece->end);
	*out = pic.out;
	return err;
}

static int write_by_turns(struct picture *pic)
{
	struct piece items[FLAME_PIECES];
	struct walk walk = { .pic = pic };
	struct flame_pieces pieces = { .next = next_piece, .write = write_piece, .arg = &walk };

	for (size_t i = 0; i < FLAME_PIECES; i++)
		pieces.items[i] = &items[i];
	flame_out_flush(&pic->out);
	if (!pic->worker)
		pic->worker = flame_worker_new();
	return flame_pieces_write(&pieces, pic->out.file, pic->worker);
}

int svg_write_boxes(struct picture *pic)
{
	int err = svg_end_fills(pic);

	for (uint32_t i = 0; !err && pic->frame_fills && i < pic->layout.nr_boxes; i++)
		err = find_fill(pic, &pic->layout.boxes[i]);
	if (err)
		return err;
	if (pic->frame_fills && pic->o->threads > 1 && pic->layout.nr_boxes >= PIECES_FROM)
		return write_by_turns(pic);
	return write_boxes(pic, 0, pic->layout.nr_boxes);
}

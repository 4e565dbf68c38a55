/* SPDX-License-Identifier: MIT */
#ifndef FLAME_LAYOUT_H
#define FLAME_LAYOUT_H
/*
 * From a profile to boxes: who lies on whom, from where to where. In units of the value, not of a
 * picture; writers of SVG, HTML and text scale it.
 */
#include "../flame.h"

enum flame_box_flags {
	FLAME_BOX_REST = 1,	/* frames that are not drawn, taken together, mostly as they are too narrow; has no frame */
	FLAME_BOX_GONE = 2,	/* of a differential: had samples before, has none now; drawn at its former width */
	FLAME_BOX_DEEP = 4,	/* of a rest: its frames are not too narrow, but too deep */
};

/* What the widths of a differential are. */
enum flame_view {
	FLAME_VIEW_AFTER,	/* now; what is gone stands beside it at its former width */
	FLAME_VIEW_COMBINED,	/* the larger of before and now, stack by stack */
	FLAME_VIEW_ELIDED,	/* before, of what is gone; nothing else */
};

struct flame_box {
	flame_frame frame;	/* 0: the box of all samples, or a rest */
	flame_stack stack;	/* 0 as frame */
	uint32_t caller;	/* index of the box below; the first box is its own */
	uint32_t depth;		/* 0 for the box of all samples */
	uint32_t nr_frames;	/* of a rest: how many frames it stands for; else 1 */
	uint32_t flags;
	int64_t start;		/* left edge, counted from the left edge of the box of all samples */
	int64_t width;		/* extent; of a differential as the view says */
	int64_t total;		/* samples in this frame and what it called, or in the frames of a rest; of a differential: now */
	int64_t self;		/* samples in this frame itself */
	int64_t before_total;	/* of a differential */
	int64_t before_self;
};

struct flame_layout_options {
	flame_type type;	/* the value type to draw; of a differential: the one "now" */
	flame_type before;	/* not 0: differential against this type */
	struct flame_worker *worker;	/* that may be used; NULL: none */
	enum flame_view view;	/* of a differential */
	bool in_order;		/* flame chart: keep the order of samples; else siblings are sorted by name */
	double min_total;	/* frames with less are not drawn but go into their caller's rest */
	uint32_t max_depth;	/* frames that lie on more than these are not drawn, but go into a rest; 0: all are drawn */
};

/* Boxes in the order of a walk: each box, then what lies on it, left to right. */
struct flame_layout {
	struct flame_box *boxes;	/* owned */
	uint32_t nr_boxes;
	uint32_t max_depth;
	int64_t total;		/* of all samples; of a differential: now */
	int64_t before;		/* of a differential: total before */
	int64_t width;		/* of the box of all samples */
	uint64_t nr_hidden;	/* frames too narrow to be drawn, in rests and in rests that are too narrow themselves */
	uint64_t nr_deep;	/* frames too deep to be drawn, in the same way */
};

/*
 * Lay out @p. Values must not be negative.
 * Return: 0; FLAME_EEMPTY where the total is 0; FLAME_EARG for a negative value; FLAME_ENOMEM; FLAME_EOVERFLOW.
 */
int flame_layout_init(struct flame_layout *layout, const struct flame_profile *p,
		      const struct flame_layout_options *options);
void flame_layout_release(struct flame_layout *layout);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_CHART_H
#define FLAME_CHART_H
#include "layout.h"

/* The flame chart: samples stay in their order, and only neighbours share boxes. As flame_layout_init(). */
int flame_chart_lay_out(struct flame_layout *layout, const struct flame_profile *p,
			const struct flame_layout_options *options);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FLAME_ORDER_H
#define FLAME_ORDER_H
#include "flame.h"

/*
 * Rank all frames by name, then by the folded annotation of their kind: byte order, no locale.
 * Return: an array of flame_nr_frames() ranks, owned by the caller; equal ranks are equal texts.
 * NULL without memory.
 */
uint32_t *flame_frame_ranks(const struct flame_profile *p);

#endif

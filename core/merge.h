/* SPDX-License-Identifier: MIT */
#ifndef FLAME_MERGE_H
#define FLAME_MERGE_H
/* Copies between profiles, for the parts of the core that rebuild one from another. */
#include "flame.h"

/* In a map of stacks: samples of this stack are left out. */
#define FLAME_STACK_DROPPED UINT32_MAX

/* Return: the row in @p of @from's string @row. */
flame_string flame_string_copy(struct flame_profile *p, const struct flame_profile *from, flame_string row);
/* Return: a map from @from's frames to @p's, owned by the caller; NULL without memory. */
flame_frame *flame_frames_copy(struct flame_profile *p, const struct flame_profile *from);
/* The same for stacks; @frames is the map of the frames. */
flame_stack *flame_stacks_copy(struct flame_profile *p, const struct flame_profile *from, const flame_frame *frames);
/* Return: the row in @p of @from's type @row, with at least its scale. */
flame_type flame_type_copy(struct flame_profile *p, const struct flame_profile *from, flame_type row);
/*
 * Add all samples of @from to @p; a sample of stack i gets stack @stacks[i] of @p.
 * Return: 0 or the failure.
 */
int flame_samples_copy(struct flame_profile *p, const struct flame_profile *from, const uint32_t *stacks);

/* Frames whose kind @p does not tell apart, and which are thus of the first that came, become FLAME_USER. */
void flame_frames_forget_kinds(struct flame_profile *p);

#endif

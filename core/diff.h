/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DIFF_H
#define FLAME_DIFF_H
#include "flame.h"

/*
 * A differential profile: the values of @before's type @before_type and @after's type @after_type
 * as the types "before" and "after" of one new profile.
 * Return: 0 with *@diff owned by the caller, or the failure.
 */
int flame_diff(struct flame_profile **diff, const struct flame_profile *before, flame_type before_type,
	       const struct flame_profile *after, flame_type after_type);

#endif

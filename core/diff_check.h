/* SPDX-License-Identifier: MIT */
#ifndef FLAME_DIFF_CHECK_H
#define FLAME_DIFF_CHECK_H
#include "converter.h"
#include "diff.h"

/*
 * Warnings about two profiles whose differences may lie in how they were recorded and not in the code: other
 * rates, durations, numbers of samples, machines; nothing in common. What is not known is not compared.
 * @shares: it is shares that are shown, not counts. @tested: changes are told from noise.
 */
void flame_diff_check(const struct flame_profile *before, const struct flame_profile *after, const struct flame_diff *diff,
		      bool shares, bool tested, struct flame_diag *diag);

#endif

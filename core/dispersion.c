/* SPDX-License-Identifier: MIT */
#include "dispersion.h"

#define MIN_EXPECTED 5	/* samples of a function in either run, below which chi squared is none */

/* Two shares against their common one. Return: false where there are too few samples, or no others. */
static bool chi_squared(const struct flame_change *c, double *chi)
{
	const struct flame_portion *a = &c->before.part, *b = &c->after.part;
	double all = a->size + b->size, least = a->size < b->size ? a->size : b->size, share;

	if (!(all > 0))
		return false;
	share = (a->share * a->size + b->share * b->size) / all;
	if (share * least < MIN_EXPECTED || (1 - share) * least < MIN_EXPECTED)
		return false;
	*chi = (b->share - a->share) * (b->share - a->share) / (share * (1 - share) * (1 / a->size + 1 / b->size));
	return true;
}

int flame_dispersion_add(struct flame_dispersion *d, const struct flame_profile *a, flame_type a_type,
			 const struct flame_profile *b, flame_type b_type)
{
	struct flame_compare_options options = { 0 };
	struct flame_comparison c;
	struct flame_diff diff;
	double chi;
	int err = flame_diff_init(&diff, a, a_type, b, b_type, false, FLAME_DIFF_KINDS);

	if (err)
		return err;
	err = flame_compare_functions(&c, &diff, &options);
	for (size_t i = 0; !err && i < c.nr_items; i++) {
		if (!chi_squared(&c.items[i].self, &chi))
			continue;
		d->sum += chi;
		d->nr++;
	}
	if (!err)
		flame_comparison_release(&c);
	flame_diff_release(&diff);
	return err;
}

double flame_dispersion_get(const struct flame_dispersion *d)
{
	return d->nr && d->sum > (double)d->nr ? d->sum / (double)d->nr : 1;
}

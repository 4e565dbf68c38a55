/* SPDX-License-Identifier: MIT */
/* findings FILE [EVENT] - EVENT off-cpu is made of sched_switch. Print what is found about a profile, one finding a line: "warning unknown-leaf 38 % | what | remedy". */
#include <stdio.h>
#include <string.h>

#include "../../../core/quality.h"

int main(int argc, char **argv)
{
	static const char *const severities[] = { "note", "warning", "error" };
	const char *event = argc > 2 ? argv[2] : NULL;
	struct flame_read_options options = { .kinds = FLAME_ALL_KINDS, .offcpu = event && !strcmp(event, "off-cpu") };
	struct flame_diag diag = { 0 };
	struct flame_profile *p;
	struct flame_quality q;
	flame_type type;

	if (argc < 2 || flame_read(&p, argv[1], &options, &diag))
		return 1;
	type = flame_choose_type(p, event, &diag);
	if (!type || flame_quality_check(&q, p, type, NULL))
		return 1;
	printf("samples %llu seconds %.3g asked %g\n", (unsigned long long)q.nr_samples, q.duration_s, q.asked_hz);
	for (size_t i = 0; i < q.nr_findings; i++) {
		const struct flame_finding *f = &q.findings[i];

		printf("%s %s %.3g %s | %s | %s\n", severities[f->severity], f->id, f->number, f->unit, f->what, f->remedy);
	}
	flame_quality_release(&q);
	flame_profile_free(p);
	flame_diag_release(&diag);
	return 0;
}

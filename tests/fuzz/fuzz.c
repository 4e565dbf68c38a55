/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../core/folded.h"
#include "../../core/quality.h"
#include "../../core/transform.h"

FILE *fuzz_null(void)
{
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	if (!null)
		abort();
	return null;
}

uint32_t fuzz_bits(const uint8_t **data, size_t *size, size_t nr)
{
	uint32_t bits = 0;

	if (*size < nr)
		return 0;
	memcpy(&bits, *data, nr);
	*data += nr;
	*size -= nr;
	return bits;
}

static void set_options(struct flame_read_options *o, uint32_t bits)
{
	static const char *const skip_after[] = { "main", "a", NULL };
	static const char *const labels[] = { "thread", "a", NULL };

	o->addrs = bits & 1;
	o->offsets = bits & 2;
	o->srcline = bits & 4;
	o->raw_names = bits & 8;
	o->demangle = bits & 16;
	o->count = bits & 32;
	o->strict = bits & 64;
	o->ordered = bits & 128;
	o->keep_task = bits & 256;
	o->kinds = bits & 512 ? FLAME_ALL_KINDS : 0;
	o->root = (enum flame_root)(bits >> 10 & 3);
	o->columns = (bits >> 12 & 3) % 3;
	o->skip_after = bits & 1 << 14 ? skip_after : NULL;
	o->time_to = bits & 1 << 15 ? 1.5 : 0;
	o->threads = bits & 1 << 24;
	o->lines = bits & 1 << 25;
	o->bci = bits & 1 << 26;
	o->simple_names = bits & 1 << 27;
	o->offcpu = bits & 1 << 27;
	o->inlines = bits & 1 << 28;
	o->dot = bits & 1 << 28;
	o->normalize_names = bits & 1 << 29;
	o->places = bits & 1 << 29;
	o->labels = bits & 1 << 30 ? labels : NULL;
	o->no_idle = bits >> 31;
	o->leak = bits & 1 << 26;
	o->state = bits >> 30 == 3 ? "RUNNABLE" : NULL;
}

struct flame_profile *fuzz_read(const char *from, uint32_t bits, const uint8_t *data, size_t size)
{
	struct flame_read_options options = { .from = from, .threads_max = 1 };
	struct flame_profile *p;
	struct flame_diag diag = { 0 };
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	set_options(&options, bits);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = flame_read(&p, path, &options, &diag);
	/* A failure comes with no profile and with a reason; success with samples. */
	if (!err != (p != NULL) || (err && !diag.nr_messages) || (p && !flame_nr_samples(p)))
		abort();
	flame_diag_release(&diag);
	close(fd);
	return p;
}

void fuzz_write_folded(const struct flame_profile *p, bool header, uint32_t kinds)
{
	struct flame_folded_options options = { .type = 1, .header = header, .kinds = kinds };
	int err;

	if (!flame_is_differential(p, &options.before, &options.type))
		options.before = 0;
	err = flame_folded_write(p, &options, fuzz_null());
	/* Each sample fits 64 bits, the sum of several need not. */
	if (err && err != FLAME_EOVERFLOW)
		abort();
}

void fuzz_write_all(const struct flame_profile *p)
{
	struct flame_write_options options = { .type = 1, .all_types = true, .name = "fuzz" };

	if (!flame_is_differential(p, &options.before, &options.type))
		options.before = 0;
	for (size_t i = 0; flame_converters[i]; i++) {
		int err = flame_converters[i]->write ? flame_converters[i]->write(p, &options, fuzz_null()) : 0;

		/* A format may not hold all that a profile can. */
		if (err && err != FLAME_EARG && err != FLAME_EOVERFLOW)
			abort();
	}
}

/* Whatever the profile: parts of a whole, and text for all that is found. */
void fuzz_quality(const struct flame_profile *p)
{
	struct flame_quality q;
	double share[sizeof(q.shares) / sizeof(double)];
	char *summary;

	if (flame_quality_check(&q, p, 1, NULL))
		abort();
	memcpy(share, &q.shares, sizeof(share));
	for (size_t i = 0; i < sizeof(share) / sizeof(*share); i++) {
		if (!(share[i] >= 0 && share[i] <= 1))
			abort();
	}
	for (size_t i = 0; i < q.nr_findings; i++) {
		if (!q.findings[i].what[0] || !q.findings[i].cause[0] || !q.findings[i].remedy[0])
			abort();
	}
	summary = flame_quality_summary(&q);
	free(summary);
	flame_quality_release(&q);
}

void fuzz_transform(struct flame_profile **p, uint32_t bits)
{
	struct flame_transform_options options = {
		.only = { bits & 1 ? "a" : NULL },
		.exclude = { bits & 2 ? "^b" : NULL },
		.focus = { bits & 4 ? "[a-m]" : NULL },
		.reverse = bits & 8,
		.collapse_recursion = bits & 16,
		.strip_hex = bits & 32,
	};

	if (flame_transform(p, &options) < 0 && !*p)
		abort();
}

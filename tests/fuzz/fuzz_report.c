/* SPDX-License-Identifier: MIT */
/*
 * fuzz_report - folded text, read as for fgreport, and its report in all forms. Two bytes of options come first, then a
 * pattern for the project, ended by NUL.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <string.h>

#include "../../core/folded.h"
#include "../../core/report.h"

static void report(const struct flame_profile *p, uint32_t bits, struct flame_owner *owner)
{
	struct flame_report_options options = { .top = bits & 15, .depth = bits >> 4 & 7, .min = (bits >> 7 & 3) * 0.001 };
	enum flame_value_kind kind = (enum flame_value_kind)((bits >> 9 & 7) % 6);
	flame_type before, type;
	struct flame_report r;

	if (!flame_is_differential(p, &before, &type))
		before = type = 1;
	flame_report_init(&r, &options, owner);
	if (!flame_report_add(&r, p, type, kind, "input") && (before != type || bits & 1 << 12))
		flame_report_compare(&r, p, before, "input");
	if (r.nr_parts) {
		flame_report_write_markdown(&r, fuzz_null());
		flame_report_write_text(&r, fuzz_null());
		flame_report_write_json(&r, fuzz_null());
	}
	flame_report_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bits = fuzz_bits(&data, &size, 2);
	struct flame_owner owner = { 0 };
	char pattern[32];
	size_t len = strnlen((const char *)data, size < sizeof(pattern) - 1 ? size : sizeof(pattern) - 1);
	struct flame_profile *p;

	memcpy(pattern, data, len);
	pattern[len] = '\0';
	data += len < size ? len + 1 : len;
	size -= len < size ? len + 1 : len;
	/* Repetition in a pattern is the C library's own to endure. */
	if (len && !strpbrk(pattern, "{*+"))
		flame_owner_add(&owner, pattern);
	p = fuzz_read("folded", 512 | 1u << 29, data, size);
	if (p)
		report(p, bits, &owner);
	flame_profile_free(p);
	flame_owner_release(&owner);
	return 0;
}

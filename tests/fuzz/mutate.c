/* SPDX-License-Identifier: MIT */
/*
 * mutate [--as FORMAT] FILE... - each file (up to 4 KiB of it) cut at every byte, and with every byte changed, read
 * as what it is recognised as and as each format, or only as FORMAT, and written as folded text and as a picture.
 * Nothing may crash: best linked with the sanitizers' build.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../../core/folded.h"
#include "../../core/render/svg.h"

#define MAX_SIZE 4096

static unsigned long nr_runs;
static const char *only_format;

static void draw(const struct flame_profile *p)
{
	struct flame_svg_options options = { .minwidth = -1, .type = 1 };

	if (!flame_is_differential(p, &options.before, &options.type))
		options.before = 0;
	flame_svg_write(p, &options, fuzz_null());
}

static void run_as(const char *from, const uint8_t *data, size_t size)
{
	/* Options differ from run to run, so that all of them meet all kinds of damage. */
	uint32_t bits = (uint32_t)(nr_runs * 2654435761u) & 0xff00ffff & ~64u;
	struct flame_profile *p = fuzz_read(from, bits, data, size);

	nr_runs++;
	if (!p)
		return;
	fuzz_write_folded(p, true, FLAME_ALL_KINDS);
	fuzz_quality(p);
	if (nr_runs % 8 == 0)
		draw(p);
	flame_profile_free(p);
}

static void run_all(const uint8_t *data, size_t size)
{
	run_as(only_format, data, size);
	for (size_t i = 0; !only_format && flame_converters[i]; i++) {
		if (flame_converters[i]->read)
			run_as(flame_converters[i]->name, data, size);
	}
}

static void mutate(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		static const uint8_t changes[] = { 0x01, 0x80 };
		/* Of exact size, so that a byte too many is seen. */
		uint8_t *copy = malloc(size);

		if (!copy)
			abort();
		memcpy(copy, data, size);
		for (size_t j = 0; j < sizeof(changes); j++) {
			copy[i] = data[i] ^ changes[j];
			run_as(only_format, copy, size);
		}
		copy[i] = i % 3 == 0 ? '\n' : i % 3 == 1 ? ' ' : '\0';
		run_as(only_format, copy, size);
		free(copy);
		run_all(data, i);
	}
}

static bool mutate_file(const char *path)
{
	uint8_t data[MAX_SIZE];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f) {
		perror(path);
		return false;
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	run_all(data, size);
	mutate(data, size);
	return true;
}

int main(int argc, char **argv)
{
	int first = 1;
	bool ok;

	if (argc > 2 && !strcmp(argv[1], "--as")) {
		only_format = argv[2];
		first = 3;
	}
	ok = argc > first;
	for (int i = first; i < argc; i++)
		ok &= mutate_file(argv[i]);
	printf("%lu inputs read, no crash\n", nr_runs);
	return ok ? 0 : 1;
}

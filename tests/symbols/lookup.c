/* SPDX-License-Identifier: MIT */
/*
 * lookup MODULE < OFFSETS - the functions at offsets of a file, in hexadecimal digits, innermost first as
 * addr2line -f -i prints them; messages go to standard error. From the environment: SYMBOL_DIR, SYMFS,
 * BUILD_ID (hexadecimal digits), NO_INLINE, DEBUGINFOD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/symbol.h"

static size_t read_id(unsigned char *id)
{
	const char *text = getenv("BUILD_ID");
	size_t len = 0;
	unsigned int byte;

	while (text && len < FLAME_BUILD_ID_MAX && sscanf(text + 2 * len, "%2x", &byte) == 1)
		id[len++] = (unsigned char)byte;
	return len;
}

int main(int argc, char **argv)
{
	struct flame_symbol_options options = { .symbol_dir = getenv("SYMBOL_DIR"), .symfs = getenv("SYMFS"), .lines = true,
						.no_inline = getenv("NO_INLINE"), .debuginfod = getenv("DEBUGINFOD") };
	unsigned char id[FLAME_BUILD_ID_MAX];
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .build_id = id, .build_id_len = read_id(id) };
	struct flame_symbols *s = flame_symbols_new(&options);
	struct flame_diag diag = { 0 };
	flame_module module;
	char line[64];

	if (argc != 2 || !s)
		return 2;
	info.path = argv[1];
	module = flame_module_row(s, &info);
	while (fgets(line, sizeof(line), stdin)) {
		const struct flame_location *l = flame_symbols_find(s, module, strtoull(line, NULL, 16), false);

		for (uint32_t i = l->nr_frames; i-- > 0;) {
			const char *file = l->frames[i].file ? l->frames[i].file : "??", *slash = strrchr(file, '/');

			printf("%s %s:%u%s", l->frames[i].name, slash ? slash + 1 : file, l->frames[i].line, i ? ", " : "");
		}
		printf("%s\n", l->nr_frames ? "" : "??");
	}
	flame_symbols_report(s, &diag);
	for (size_t i = 0; i < diag.nr_messages; i++)
		fprintf(stderr, "%s\n", diag.messages[i].text);
	flame_diag_release(&diag);
	flame_symbols_free(s);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - the input as an ELF file: its symbols, its debug information and its unwind tables, for
 * addresses in all of it; its frame pointers and its language. It lies in /proc/self/fd, because libdw wants a path.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../core/framepointer.h"
#include "../../core/language.h"
#include "../../core/symbol.h"
#include "../../core/unwind.h"

#define BASE 0x10000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const char *path, size_t size)
{
	struct flame_symbol_options options = { .lines = true };
	struct flame_module_info info = { .kind = FLAME_MODULE_FILE, .path = path };
	struct flame_symbols *s = flame_symbols_new(&options);
	struct flame_diag diag = { 0 };
	flame_module module;
	size_t step = size / 512 + 1;

	if (!s)
		return;
	module = flame_module_row(s, &info);
	for (size_t at = 0; at < size; at += step) {
		const struct flame_location *l = flame_symbols_find(s, module, at, at & 1);

		for (uint32_t i = 0; i < l->nr_frames; i++) {
			if (strlen(l->frames[i].name) != l->frames[i].name_len || !l->frames[i].name_len)
				abort();
			if (l->frames[i].file && strlen(l->frames[i].file) > size + 65536)
				abort();
		}
	}
	flame_symbols_report(s, &diag);
	flame_diag_release(&diag);
	flame_symbols_free(s);
}

static void unwind(const char *path, const uint8_t *data, size_t size)
{
	static uint64_t ips[FLAME_UNWIND_FRAMES_MAX], stack[256];
	struct flame_mapping mapping = { .start = BASE, .end = BASE + size, .path = path };
	struct flame_unwind *u = flame_unwind_new(FLAME_MACHINE_X86_64, NULL);
	uint64_t regs[17] = { 0 };
	struct flame_user_state state = { .regs_mask = 0xff01ff, .regs = regs, .nr_regs = 17, .stack = stack,
					  .stack_size = sizeof(stack) };

	if (!u || flame_unwind_map(u, &mapping))
		abort();
	/* Return addresses all over the file. */
	for (size_t i = 0; i < sizeof(stack) / sizeof(*stack); i++)
		stack[i] = BASE + (i * 977 + data[i % size]) % size;
	for (size_t i = 0; i < 17; i++)
		regs[i] = 0x7fff0000 + 8 * i;
	regs[7] = 0x7fff0000;
	for (size_t i = 0; i < 16; i++) {
		size_t nr;

		regs[8] = BASE + size / 16 * i;
		flame_unwind_stack(u, &state, ips, &nr);
		if (nr > FLAME_UNWIND_FRAMES_MAX)
			abort();
	}
	flame_unwind_free(u);
}

static void examine(const uint8_t *data, size_t size)
{
	struct flame_symtab table = { 0 };
	struct flame_frame_count count;
	struct flame_elf elf;

	if (!flame_elf_init(&elf, data, size) && !flame_elf_symbols(&elf, &table) && !flame_symtab_seal(&table)) {
		flame_count_frames(&elf, &table, &count);
		if (count.nr_pointers > count.nr_frames || count.nr_frames > count.nr_functions || !count.method == !count.why)
			abort();
		flame_elf_compiler(&elf, flame_elf_language(&elf));
		flame_elf_has_v8(&elf);
	}
	flame_symtab_release(&table);
	flame_elf_release(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("elf", 0);
	char path[32];

	if (fd < 0 || !size || write(fd, data, size) != (ssize_t)size) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	examine(data, size);
	look_up(path, size);
	unwind(path, data, size);
	close(fd);
	return 0;
}

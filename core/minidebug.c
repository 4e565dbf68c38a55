/* SPDX-License-Identifier: MIT */
/*
 * minidebug.c - unpacking .gnu_debugdata with liblzma.
 */
#include "minidebug.h"

#ifdef HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>

#include "table.h"

#define MEMORY_MAX (128u << 20)	/* of the decoder, in bytes */

/* Return: the unpacked bytes, of @len; NULL for damage, for too many, or without memory. */
static void *unpack(struct flame_span packed, size_t *len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = lzma_stream_decoder(&stream, MEMORY_MAX, 0);
	void *bytes = NULL;
	size_t room = 0;

	*len = 0;
	stream.next_in = (const uint8_t *)packed.s;
	stream.avail_in = packed.len;
	while (result == LZMA_OK && *len < FLAME_MINIDEBUG_MAX) {
		if (!array_reserve(&bytes, &room, *len + 65536, 1))
			break;
		stream.next_out = (uint8_t *)bytes + *len;
		stream.avail_out = room - *len;
		result = lzma_code(&stream, LZMA_FINISH);
		*len = room - stream.avail_out;
	}
	lzma_end(&stream);
	if (result == LZMA_STREAM_END)
		return bytes;
	free(bytes);
	return NULL;
}

bool flame_minidebug_open(const struct flame_elf *elf, struct flame_elf *mini, void **image)
{
	struct flame_span packed = flame_elf_bytes(elf, flame_elf_section(elf, ".gnu_debugdata"));
	size_t len;

	*mini = (struct flame_elf){ 0 };
	*image = packed.len ? unpack(packed, &len) : NULL;
	if (!*image)
		return false;
	if (!flame_elf_init(mini, *image, len) && flame_elf_has_symtab(mini))
		return true;
	flame_elf_release(mini);
	free(*image);
	*image = NULL;
	return false;
}

#else

bool flame_minidebug_open(const struct flame_elf *elf, struct flame_elf *mini, void **image)
{
	(void)elf;
	*mini = (struct flame_elf){ 0 };
	*image = NULL;
	return false;
}

#endif

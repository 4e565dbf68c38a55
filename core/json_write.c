/* SPDX-License-Identifier: MIT */
/*
 * json_write.c - strings of JSON (RFC 8259).
 */
#include "json_write.h"

#include <string.h>

#include "utf8.h"

static void write_escaped(FILE *out, uint32_t c)
{
	static const char escapes[] = { ['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't' };

	if (c < sizeof(escapes) && escapes[c])
		fprintf(out, "\\%c", escapes[c]);
	else
		fprintf(out, "\\u%04x", c);
}

void flame_json_write_string(FILE *out, struct flame_span text)
{
	size_t done = 0, i = 0;

	fputc('"', out);
	while (i < text.len) {
		uint32_t code;
		size_t n = utf8_decode(text.s + i, text.len - i, &code);
		bool is_bad = n == 1 && code == UTF8_REPLACEMENT;

		if (!is_bad && utf8_is_shown(code) && code != '"' && code != '\\') {
			i += n;
			continue;
		}
		fwrite(text.s + done, 1, i - done, out);
		write_escaped(out, code);
		done = i += n;
	}
	fwrite(text.s + done, 1, i - done, out);
	fputc('"', out);
}

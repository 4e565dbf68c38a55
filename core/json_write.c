/* SPDX-License-Identifier: MIT */
/*
 * json_write.c - strings of JSON (RFC 8259).
 */
#include "json_write.h"

#include <string.h>

#include "utf8.h"

static void write_escaped(FILE *out, unsigned char c)
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
		unsigned char c = (unsigned char)text.s[i];
		size_t n = 1;

		if (c >= 0x80)
			n = utf8_sequence((const unsigned char *)text.s + i, text.len - i);
		if (c >= 0x20 && c != 0x7f && c != '"' && c != '\\' && n) {
			i += n;
			continue;
		}
		fwrite(text.s + done, 1, i - done, out);
		if (n)
			write_escaped(out, c);
		else
			fputs("\\ufffd", out);
		done = ++i;
	}
	fwrite(text.s + done, 1, i - done, out);
	fputc('"', out);
}

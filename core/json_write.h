/* SPDX-License-Identifier: MIT */
#ifndef FLAME_JSON_WRITE_H
#define FLAME_JSON_WRITE_H
#include <stdio.h>

#include "flame.h"

/*
 * Write @text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, one each; what
 * cannot be shown (utf8_is_shown()) stands there by its number.
 */
void flame_json_write_string(FILE *out, struct flame_span text);

#endif

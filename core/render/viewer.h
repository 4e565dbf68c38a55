/* SPDX-License-Identifier: MIT */
#ifndef FLAME_VIEWER_H
#define FLAME_VIEWER_H
/* viewer/flame.js and viewer/flame.css, turned into arrays by the build. Not terminated by NUL. */
#include <stddef.h>

extern const char flame_viewer_js[];
extern const size_t flame_viewer_js_len;
extern const char flame_viewer_css[];
extern const size_t flame_viewer_css_len;

#endif

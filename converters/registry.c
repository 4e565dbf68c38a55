/* SPDX-License-Identifier: MIT */
#include "../core/converter.h"

#define FORMAT(name) extern const struct flame_converter flame_##name##_converter;
#include "list.h"
#undef FORMAT

const struct flame_converter *const flame_converters[] = {
#define FORMAT(name) &flame_##name##_converter,
#include "list.h"
#undef FORMAT
	NULL,
};

/* SPDX-License-Identifier: MIT */
/* One line a format: FORMAT(name) is struct flame_converter flame_NAME_converter, in converters/NAME.c. */
FORMAT(folded)
FORMAT(perf)
FORMAT(perfdata)

/* SPDX-License-Identifier: MIT */
/* One line a format: FORMAT(name) is struct flame_converter flame_NAME_converter, in converters/NAME.c. */
FORMAT(asprof)
FORMAT(austin)
FORMAT(chrome)
FORMAT(cpuprofile)
FORMAT(folded)
FORMAT(heapprofile)
FORMAT(perf)
FORMAT(pyspy)
FORMAT(speedscope)

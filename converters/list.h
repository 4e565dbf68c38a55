/* SPDX-License-Identifier: MIT */
/* One line a format: FORMAT(name) is struct flame_converter flame_NAME_converter, in converters/NAME.c. */
FORMAT(callgrind)
FORMAT(dtrace)
FORMAT(firefox)
FORMAT(folded)
FORMAT(ghcprof)
FORMAT(instruments)
FORMAT(perf)
FORMAT(pmcstat)
FORMAT(sample)
FORMAT(stackprof)
FORMAT(vtune)
FORMAT(xctrace)

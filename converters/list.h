/* SPDX-License-Identifier: MIT */
/* One line a format: FORMAT(name) is struct flame_converter flame_NAME_converter, in converters/NAME.c. */
FORMAT(bcc)
FORMAT(bpftrace)
FORMAT(chrome)
FORMAT(cpuprofile)
FORMAT(folded)
FORMAT(heapprofile)
FORMAT(jfr)
FORMAT(perf)
FORMAT(perfdata)
FORMAT(pprof)

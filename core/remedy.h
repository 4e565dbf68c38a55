/* SPDX-License-Identifier: MIT */
#ifndef FLAME_REMEDY_H
#define FLAME_REMEDY_H
/* What helps against a finding, by the recorder in use and by what ran. remedy.c holds the one table. */
#include "flame.h"

enum flame_recorder {
	FLAME_RECORDER_ANY,
	FLAME_RECORDER_PERF,
	FLAME_RECORDER_PERF_DWARF,	/* perf --call-graph dwarf; else as perf */
	FLAME_RECORDER_BPFTRACE,
	FLAME_RECORDER_BCC,
	FLAME_RECORDER_ASPROF,
	FLAME_RECORDER_JFR,
	FLAME_RECORDER_PYSPY,
	FLAME_RECORDER_AUSTIN,
	FLAME_RECORDER_V8,		/* node --cpu-prof, --prof, Chrome */
	FLAME_RECORDER_FIREFOX,		/* and samply, which writes the same */
	FLAME_RECORDER_GO,
	FLAME_RECORDER_PPROF,
	FLAME_RECORDER_APPLE,		/* sample, Instruments */
};

enum flame_runtime {
	FLAME_RUNTIME_ANY,
	FLAME_RUNTIME_NATIVE,
	FLAME_RUNTIME_JVM,
	FLAME_RUNTIME_NODE,
	FLAME_RUNTIME_PYTHON,
	FLAME_RUNTIME_GO,
	FLAME_RUNTIME_RUST,
	FLAME_RUNTIME_DOTNET,
	FLAME_NR_RUNTIMES,
};

struct flame_remedy {
	const char *id;		/* of the finding */
	enum flame_recorder recorder;
	enum flame_runtime runtime;
	const char *cause, *remedy;
};

/* Return: the recorder of @p, which was read from @format (NULL: not known). */
enum flame_recorder flame_recorder_of(const struct flame_profile *p, const char *format);
/* Return: true where stacks of @recorder begin with what threads start with. */
bool flame_recorder_is_native(enum flame_recorder recorder);
/* Return: true where @recorder goes from caller to caller by frame pointers. */
bool flame_recorder_has_pointers(enum flame_recorder recorder);
/* Return: frames that @recorder keeps of a stack unless it is told otherwise; 0 where it has no such limit. */
uint32_t flame_recorder_depth(enum flame_recorder recorder);
/* Return: the most special remedy there is; there is one for each finding. Static storage. */
const struct flame_remedy *flame_remedy_find(const char *id, enum flame_recorder recorder, enum flame_runtime runtime);

#endif

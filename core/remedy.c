/* SPDX-License-Identifier: MIT */
/*
 * remedy.c - what helps against each finding. Options are those of the recorder's own manuals.
 */
#define _GNU_SOURCE
#include "remedy.h"

#include <string.h>

#include "span.h"

#define ANY FLAME_RECORDER_ANY
#define PERF FLAME_RECORDER_PERF
#define DWARF FLAME_RECORDER_PERF_DWARF
#define BPFTRACE FLAME_RECORDER_BPFTRACE
#define BCC FLAME_RECORDER_BCC
#define ASPROF FLAME_RECORDER_ASPROF
#define JFR FLAME_RECORDER_JFR
#define PYSPY FLAME_RECORDER_PYSPY
#define AUSTIN FLAME_RECORDER_AUSTIN
#define V8 FLAME_RECORDER_V8
#define FIREFOX FLAME_RECORDER_FIREFOX
#define GO FLAME_RECORDER_GO
#define PPROF FLAME_RECORDER_PPROF
#define APPLE FLAME_RECORDER_APPLE
#define ALL FLAME_RUNTIME_ANY
#define JVM FLAME_RUNTIME_JVM
#define NODE FLAME_RUNTIME_NODE
#define PYTHON FLAME_RUNTIME_PYTHON
#define GOLANG FLAME_RUNTIME_GO
#define RUST FLAME_RUNTIME_RUST
#define DOTNET FLAME_RUNTIME_DOTNET

#define SKIPS_CALLERS "most distributions build the C library without frame pointers: a walk along them skips the function that " \
		      "called into it"
#define NO_TABLES "none that keeps the frames of compiled code, which has no unwind tables: it is one of the runtime's own " \
		  "functions that is missing"
#define NO_POINTERS "the code keeps no frame pointers, so that its callers could not be found"

/* For each finding the special cases first; the last one of an id fits all. */
static const struct flame_remedy remedies[] = {
	{ "few-samples", PERF, ALL, "the recording was short or slow, or the program hardly ran",
	  "record longer, or more often (-F 499)" },
	{ "few-samples", BPFTRACE, ALL, "the script ran for a short time, or sampled slowly",
	  "let it run longer, or sample more often (profile:hz:499)" },
	{ "few-samples", BCC, ALL, "the tool ran for a short time, or sampled slowly",
	  "give it more seconds, or a higher rate (-F 499)" },
	{ "few-samples", ASPROF, ALL, "the recording was short or slow, or the program hardly ran",
	  "record longer (-d 60) or more often (-i 997us)" },
	{ "few-samples", JFR, ALL, "the recording was short, or the program hardly ran; JFR looks at some threads every 20 ms, with "
	  "settings=profile every 10 ms",
	  "record longer, with settings=profile, or with async-profiler, which samples more often" },
	{ "few-samples", PYSPY, ALL, "the recording was short or slow", "record longer (--duration 60) or more often (--rate 499)" },
	{ "few-samples", AUSTIN, ALL, "the recording was short or slow", "record longer (-x 60) or more often (-i 997us)" },
	{ "few-samples", V8, ALL, "the recording was short or slow, or the program hardly ran",
	  "record longer, or more often (node --cpu-prof-interval 197, in microseconds)" },
	{ "few-samples", GO, ALL, "the recording was short, or the program hardly ran; Go samples 100 times a second",
	  "record longer: /debug/pprof/profile?seconds=60" },
	{ "few-samples", ANY, ALL, "the recording was short or slow, or the program hardly ran",
	  "record longer or more often" },

	{ "short", ANY, ALL, "start-up, warm-up and chance weigh much in a short recording",
	  "record for 30 seconds or more of the load that matters" },

	{ "low-rate", V8, ALL, "the sampler was held up: the machine was busy, or the interval too short for it",
	  "record with a longer interval (node --cpu-prof-interval 1997), or on a machine that is less busy" },
	{ "low-rate", PYSPY, ALL, "reading the program's memory took longer than the interval",
	  "record at a lower rate (--rate 49), or --nonblocking" },
	{ "low-rate", JFR, ALL, "threads waited, or ran native code: JFR samples those that run Java code",
	  "look at its locks, sleeps and input too, or record with async-profiler (-e wall)" },
	{ "low-rate", ANY, ALL, "threads slept for most of the time, or the sampler was held up",
	  "look at off-CPU time too; where the program was busy, ask for a lower rate" },

	{ "lost", PERF, ALL, "perf could not write as fast as samples came",
	  "record at a lower rate (-F 99), with larger buffers (-m 16M), or fewer bytes of stack (--call-graph dwarf,4096)" },
	{ "lost", BPFTRACE, ALL, "bpftrace's buffers were full",
	  "count in maps instead of printing, or set BPFTRACE_PERF_RB_PAGES=1024" },
	{ "lost", BCC, ALL, "the table of stacks was full", "record with a larger --stack-storage-size" },
	{ "lost", JFR, ALL, "the JVM's buffers were full", "raise globalbuffersize and numglobalbuffers (jcmd PID JFR.configure)" },
	{ "lost", ANY, ALL, "the recorder could not keep up", "record at a lower rate, or with larger buffers" },

	{ "damaged", PERF, ALL, "the recording was cut off, or copied before perf had finished it",
	  "record again, let perf record end by itself or by one Ctrl-C, and copy the whole file" },
	{ "damaged", ANY, ALL, "the file was cut off, or copied before it was finished", "record again, and copy the whole file" },

	{ "sampled-switches", ANY, ALL, "-F or -c of perf record is for all events, that of switches too",
	  "leave it out, or give it to the other event alone: -e cpu-clock/freq=99/ -e sched:sched_switch" },
	{ "late-switches", ANY, ALL, "switches in were not recorded", "record with --switch-events, or all processes (-a)" },

	{ "throttled", PERF, ALL, "the kernel held up sampling, as it took too much time",
	  "record at a lower rate (-F 99); kernel.perf_cpu_time_max_percent and kernel.perf_event_max_sample_rate are the limits" },
	{ "throttled", ANY, ALL, "sampling took too much time", "record at a lower rate" },

	{ "missed-stacks", BCC, ALL, "the table of stacks was full, or its hashes met",
	  "record with a larger --stack-storage-size" },
	{ "missed-stacks", ANY, ALL, "the recorder's table of stacks was full", "record with a larger table of stacks" },

	{ "unknown-leaf", PERF, GOLANG, "the binary was stripped (-ldflags -s), or its file is gone",
	  "build without -ldflags='-s -w', and keep the binary until the recording has been read" },
	{ "unknown-leaf", PERF, ALL, "the files are stripped, gone, or in a container's file system",
	  "install the -dbgsym or -debuginfo packages or set DEBUGINFOD_URLS, and do not strip; a container's files are "
	  "below /proc/PID/root (--symfs)" },
	{ "unknown-leaf", BPFTRACE, ALL, "the files are stripped, or the process had ended when bpftrace looked up the names",
	  "install the files' debug symbols, do not strip, and keep the process running until bpftrace has printed" },
	{ "unknown-leaf", BCC, ALL, "the files are stripped, or the process had ended when the names were looked up",
	  "install the files' debug symbols, do not strip, and keep the process running until the tool has printed" },
	{ "unknown-leaf", ASPROF, ALL, "native libraries are stripped, or the JVM could not be walked",
	  "install the JVM's and the libraries' debug symbols; try --cstack vm" },
	{ "unknown-leaf", PYSPY, ALL, "native libraries are stripped", "install their debug symbols, or record without --native" },
	{ "unknown-leaf", FIREFOX, ALL, "the profile was saved without symbols",
	  "record with samply or perf on the machine that has the files, or load it in the viewer first and save it from there" },
	{ "unknown-leaf", APPLE, ALL, "there was no dSYM bundle for this build", "keep the dSYM of what is shipped, and record again" },
	{ "unknown-leaf", ANY, ALL, "the files are stripped, gone, or in a container's file system",
	  "install the files' debug symbols, do not strip, and write the names out on the machine that recorded" },

	{ "no-stack", PERF, ALL, "samples were recorded without callchains", "record with -g" },
	{ "no-stack", BPFTRACE, ALL, "only the user's or the kernel's stacks were asked for, and the other was sampled",
	  "count by both: @[kstack, ustack, comm]" },
	{ "no-stack", ANY, ALL, "the recorder could not walk these stacks", "record with callchains of both user and kernel" },

	{ "kernel-symbols", PERF, ALL, "addresses of the kernel are hidden from who recorded or read",
	  "record as root, or with kernel.kptr_restrict=0; give the recorded kernel's symbols with --kallsyms" },
	{ "kernel-symbols", ANY, ALL, "addresses of the kernel are hidden from who recorded or read",
	  "record as root, or with kernel.kptr_restrict=0" },

	{ "jit-unmapped", PERF, JVM, "the JVM compiled this code, and nobody told perf its names",
	  "start with -XX:+PreserveFramePointer and -XX:+DumpPerfMapAtExit or perf-map-agent, or record with async-profiler" },
	{ "jit-unmapped", PERF, NODE, "V8 compiled this code, and nobody told perf its names",
	  "start with node --perf-basic-prof --interpreted-frames-native-stack, and keep /tmp/perf-PID.map" },
	{ "jit-unmapped", PERF, PYTHON, "Python made this code, and nobody told perf its names",
	  "start with python3 -X perf (3.12 and newer), and keep /tmp/perf-PID.map" },
	{ "jit-unmapped", PERF, DOTNET, "the runtime compiled this code, and nobody told perf its names",
	  "start with DOTNET_PerfMapEnabled=1, and keep /tmp/perf-PID.map" },
	{ "jit-unmapped", ANY, JVM, "the JVM compiled this code, and nobody told the profiler its names",
	  "start with -XX:+PreserveFramePointer and -XX:+DumpPerfMapAtExit or perf-map-agent, or record with async-profiler" },
	{ "jit-unmapped", ANY, NODE, "V8 compiled this code, and nobody told the profiler its names",
	  "start with node --perf-basic-prof --interpreted-frames-native-stack, and keep /tmp/perf-PID.map" },
	{ "jit-unmapped", ANY, ALL, "this code was compiled at run time and there is no /tmp/perf-PID.map of it, or it is in a "
	  "container's /tmp",
	  "have the runtime write its map: node --perf-basic-prof, python3 -X perf, DOTNET_PerfMapEnabled=1, for a JVM "
	  "-XX:+PreserveFramePointer and perf-map-agent; a container's is in /proc/PID/root/tmp" },

	{ "addresses", BPFTRACE, ALL, "the process had ended when bpftrace looked up the names, or its files are stripped",
	  "keep the process running until bpftrace has printed, or set BPFTRACE_CACHE_USER_SYMBOLS=PER_PROGRAM" },
	{ "addresses", PPROF, ALL, "the profile was saved without names",
	  "write it with names: pprof -proto -symbolize=local BINARY PROFILE" },
	{ "addresses", FIREFOX, ALL, "the profile was saved without names",
	  "load it in the viewer with samply load, which has the names, and save it from there" },
	{ "addresses", ANY, ALL, "the names were not looked up when the profile was written",
	  "write the profile again where the files and their debug symbols are" },

	{ "unknown-any", PERF, JVM, "callers are in files without symbols, or frame pointers are missing and the callers are chance",
	  "start with -XX:+PreserveFramePointer, or record with async-profiler; install the -dbgsym or -debuginfo packages" },
	{ "unknown-any", PERF, ALL, "callers are in files without symbols, or frame pointers are missing and the callers are chance",
	  "install the -dbgsym or -debuginfo packages or set DEBUGINFOD_URLS; build with -fno-omit-frame-pointer or record "
	  "with --call-graph dwarf" },
	{ "unknown-any", ANY, ALL, "callers are in files without symbols", "install the files' debug symbols, and do not strip" },

	{ "libc-callers", ANY, JVM, SKIPS_CALLERS, NO_TABLES },
	{ "libc-callers", ANY, NODE, SKIPS_CALLERS, NO_TABLES },
	{ "libc-callers", ANY, GOLANG, SKIPS_CALLERS, NO_TABLES },
	{ "libc-callers", ANY, DOTNET, SKIPS_CALLERS, NO_TABLES },
	{ "libc-callers", PERF, ALL, SKIPS_CALLERS,
	  "record with --call-graph dwarf; fgdoctor PID tells whether the library has frame pointers" },
	{ "libc-callers", ANY, ALL, SKIPS_CALLERS,
	  "record with perf --call-graph dwarf; fgdoctor PID tells whether the library has frame pointers" },

	{ "shallow", DWARF, ALL, "the code has no unwind tables that fit, or the copies of the stack were too short",
	  "keep .eh_frame and .debug_frame, and copy more of the stack (--call-graph dwarf,65528)" },
	{ "shallow", PERF, RUST, NO_POINTERS,
	  "build with RUSTFLAGS='-C force-frame-pointers=yes', or record with --call-graph dwarf" },
	{ "shallow", PERF, PYTHON, "this Python was built without frame pointers, so that callers could not be found",
	  "run a Python that was built with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer, or record with py-spy or austin" },
	{ "shallow", PERF, JVM, NO_POINTERS, "start with -XX:+PreserveFramePointer, or record with async-profiler" },
	{ "shallow", PERF, ALL, NO_POINTERS " (or perf record had no -g)",
	  "record with -g, and build with -fno-omit-frame-pointer, or record with --call-graph dwarf" },
	{ "shallow", BPFTRACE, RUST, NO_POINTERS, "build with RUSTFLAGS='-C force-frame-pointers=yes'" },
	{ "shallow", BPFTRACE, JVM, NO_POINTERS, "start with -XX:+PreserveFramePointer, or record with async-profiler" },
	{ "shallow", BPFTRACE, ALL, NO_POINTERS, "build with -fno-omit-frame-pointer, or record with perf --call-graph dwarf" },
	{ "shallow", BCC, ALL, NO_POINTERS, "build with -fno-omit-frame-pointer, or record with perf --call-graph dwarf" },
	{ "shallow", ASPROF, ALL, "the native part of the stacks could not be walked", "record with --cstack vm or --cstack dwarf" },
	{ "shallow", ANY, ALL, "callers could not be found", "build with -fno-omit-frame-pointer, and record with callchains" },

	{ "rootless", DWARF, ALL, "the copies of the stack were too short, or code has no unwind tables",
	  "copy more of the stack (--call-graph dwarf,65528), and keep .eh_frame and .debug_frame" },
	{ "rootless", ANY, PYTHON, "this Python was built without frame pointers, so that callers could not be found",
	  "run a Python that was built with -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer, or record with py-spy or austin" },
	{ "rootless", PERF, RUST, NO_POINTERS,
	  "build with RUSTFLAGS='-C force-frame-pointers=yes', or record with --call-graph dwarf" },
	{ "rootless", PERF, JVM, NO_POINTERS, "start with -XX:+PreserveFramePointer, or record with async-profiler" },
	{ "rootless", PERF, ALL, NO_POINTERS, "build with -fno-omit-frame-pointer, or record with --call-graph dwarf" },
	{ "rootless", BPFTRACE, RUST, NO_POINTERS, "build with RUSTFLAGS='-C force-frame-pointers=yes'" },
	{ "rootless", ANY, JVM, NO_POINTERS, "start with -XX:+PreserveFramePointer, or record with async-profiler" },
	{ "rootless", ANY, ALL, NO_POINTERS, "build with -fno-omit-frame-pointer, or record with perf --call-graph dwarf" },

	{ "truncated", DWARF, ALL, "stacks are deeper than what perf copied of them",
	  "copy more of the stack (--call-graph dwarf,65528), or build with -fno-omit-frame-pointer and record with -g" },
	{ "truncated", PERF, ALL, "stacks are deeper than the kernel's limit, 127 by default",
	  "raise kernel.perf_event_max_stack before the recording, and read with perf script --max-stack" },
	{ "truncated", BPFTRACE, ALL, "stacks are deeper than bpftrace's limit, 127",
	  "there is no larger limit; --reverse merges from the leaf" },
	{ "truncated", BCC, ALL, "stacks are deeper than the kernel's limit for BPF, 127",
	  "raise kernel.perf_event_max_stack before the recording; --reverse merges from the leaf" },
	{ "truncated", ASPROF, ALL, "stacks are deeper than the profiler keeps, 2048 by default", "record with a larger -j DEPTH" },
	{ "truncated", JFR, ALL, "stacks are deeper than the JVM keeps, 64 by default",
	  "start with -XX:FlightRecorderOptions=stackdepth=512, or before the first recording jcmd PID JFR.configure stackdepth=512" },
	{ "truncated", ANY, ALL, "stacks are deeper than the recorder keeps", "record with a larger limit; --reverse merges from the leaf" },

	{ "python-loop", PERF, ALL, "the profiler sees the interpreter, and not what it runs",
	  "start with python3 -X perf (3.12 and newer, built with frame pointers), or record with py-spy or austin" },
	{ "python-loop", PYSPY, ALL, "the interpreter's own frames are shown", "record without --native" },
	{ "python-loop", ANY, ALL, "the profiler sees the interpreter, and not what it runs",
	  "start with python3 -X perf (3.12 and newer, built with frame pointers), or record with py-spy or austin" },

	{ "interpreter", ANY, NODE, "functions that V8 has not compiled all have the interpreter's name",
	  "start with node --interpreted-frames-native-stack, together with --perf-basic-prof" },
	{ "interpreter", ANY, JVM, "methods that the JVM has not compiled all have the interpreter's name",
	  "record when the program is warm, or with async-profiler, which names them" },
	{ "interpreter", ANY, ALL, "the profiler sees the interpreter, and not what it runs",
	  "record with a profiler of that language" },

	{ "idle", PERF, ALL, "processors that had nothing to do were sampled too",
	  "record the process alone (-p PID), or leave them out: --exclude swapper" },
	{ "idle", BPFTRACE, ALL, "processors that had nothing to do were sampled too",
	  "add the filter /pid/ to the probe, or leave them out: --exclude swapper" },
	{ "idle", V8, ALL, "the time that the event loop waited is part of it", "leave it out: --no-idle" },
	{ "idle", ANY, ALL, "threads and processors that had nothing to do were sampled too",
	  "leave them out with --exclude, or record on-CPU time" },

	{ "waiting", ASPROF, ALL, "all threads are sampled, also those that wait for work",
	  "record on-CPU time (-e cpu), or leave the waiting out with --exclude or --state" },
	{ "waiting", PYSPY, ALL, "threads that wait are sampled too", "record without --idle" },
	{ "waiting", ANY, ALL, "all threads are sampled, also those that wait for work",
	  "record on-CPU time, or leave the waiting out with --exclude" },

	{ "mixed-kinds", ANY, ALL, "time on and off the processor was added up, which do not compare",
	  "record and draw the two apart" },

	{ "mixed-events", BPFTRACE, ALL, "the script prints several maps of stacks, whose values may be unlike",
	  "choose one with --event" },
	{ "mixed-events", ANY, ALL, "profiles of unlike events stand one behind the other in one file",
	  "read them one by one; fgreport puts those of unlike kinds into one report" },

	{ "other-events", ANY, ALL, "the recording holds several events, and unlike ones are not added up",
	  "choose another with --event" },

	{ "lock-step", PERF, ALL, "timers of kernels and programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd rate: -F 99 or -F 997" },
	{ "lock-step", BPFTRACE, ALL, "timers of kernels and programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd rate: profile:hz:99" },
	{ "lock-step", BCC, ALL, "timers of kernels and programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd rate: -F 99" },
	{ "lock-step", ASPROF, ALL, "timers of programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd interval: -i 9973us" },
	{ "lock-step", PYSPY, ALL, "timers of programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd rate: --rate 99" },
	{ "lock-step", V8, ALL, "timers of programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd interval: node --cpu-prof-interval 997" },
	{ "lock-step", ANY, ALL, "timers of programs run at such rates too, so that samples may always or never meet them",
	  "sample at an odd rate, such as 99 Hz" },
};

#define NR_REMEDIES (sizeof(remedies) / sizeof(*remedies))

static const struct recorder {
	const char *tool;	/* how its name begins; NULL: only known by the format */
	const char *format;	/* its own; NULL: it has none */
	enum flame_recorder recorder;
} recorders[] = {
	{ "perf", "perf", PERF },
	{ "fgrecord", NULL, PERF },	/* its options have the same names */
	{ NULL, "perfdata", PERF },
	{ "bpftrace", "bpftrace", BPFTRACE },
	{ "bcc", "bcc", BCC },
	{ "async-profiler", "asprof", ASPROF },
	{ "JDK Flight Recorder", "jfr", JFR },
	{ "py-spy", "pyspy", PYSPY },
	{ "austin", "austin", AUSTIN },
	{ "node", "cpuprofile", V8 },
	{ "Chrome", "chrome", V8 },
	{ "V8", "v8", V8 },
	{ "Firefox", "firefox", FIREFOX },
	{ "samply", NULL, FIREFOX },
	{ "Go", "go", GO },
	{ "gperftools", "pprof", PPROF },
	{ NULL, "sample", APPLE },
	{ NULL, "instruments", APPLE },
	{ "Instruments", "xctrace", APPLE },
};

static enum flame_recorder base_recorder(const struct flame_profile *p, const char *format)
{
	struct flame_span tool = flame_string_get(p, flame_meta_get(p)->tool);

	for (size_t i = 0; i < sizeof(recorders) / sizeof(*recorders); i++) {
		if (recorders[i].tool && span_starts(tool, recorders[i].tool))
			return recorders[i].recorder;
	}
	for (size_t i = 0; format && i < sizeof(recorders) / sizeof(*recorders); i++) {
		if (recorders[i].format && !strcmp(recorders[i].format, format))
			return recorders[i].recorder;
	}
	return ANY;
}

enum flame_recorder flame_recorder_of(const struct flame_profile *p, const char *format)
{
	struct flame_span command = flame_string_get(p, flame_meta_get(p)->command);
	enum flame_recorder recorder = base_recorder(p, format);

	if (recorder == PERF && (flame_meta_get(p)->copied_stacks || span_find(command, "graph dwarf") < command.len ||
				 span_find(command, "graph=dwarf") < command.len))
		return DWARF;
	return recorder;
}

bool flame_recorder_is_native(enum flame_recorder recorder)
{
	return recorder == PERF || recorder == DWARF || recorder == BPFTRACE || recorder == BCC;
}

bool flame_recorder_has_pointers(enum flame_recorder recorder)
{
	return flame_recorder_is_native(recorder) && recorder != DWARF;
}

uint32_t flame_recorder_depth(enum flame_recorder recorder)
{
	return recorder == PERF || recorder == BPFTRACE || recorder == BCC ? 127 : 0;
}

static const struct flame_remedy *find(const char *id, enum flame_recorder recorder, enum flame_runtime runtime)
{
	for (size_t i = 0; i < NR_REMEDIES; i++) {
		const struct flame_remedy *r = &remedies[i];

		if (!strcmp(r->id, id) && (r->recorder == recorder || r->recorder == ANY) &&
		    (r->runtime == runtime || r->runtime == ALL))
			return r;
	}
	return NULL;
}

const struct flame_remedy *flame_remedy_find(const char *id, enum flame_recorder recorder, enum flame_runtime runtime)
{
	const struct flame_remedy *r = find(id, recorder, runtime);

	/* What is said of perf holds for its other way too, unless that has a row of its own. */
	if (recorder == DWARF && (!r || r->recorder == ANY))
		r = find(id, PERF, runtime);
	return r;
}

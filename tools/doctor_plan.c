/* SPDX-License-Identifier: MIT */
/*
 * doctor_plan.c - from what was found to what is to be typed: the profiler that fits the runtime, its options,
 * the commands of fgtools that draw what it writes, and which permissions they need.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define POINTERS_ENOUGH 90	/* percent of the functions that make a frame: callchains by frame pointers */

/* ---- words ---- */

/* Return: the command that is to be started, quoted, with @extra behind its first word; to be freed. */
static char *quote_command(const struct doctor_target *t, const char *extra)
{
	char *text = strdup("");

	for (size_t i = 0; text && t->arguments && t->arguments[i]; i++) {
		/* What a shim starts is recorded without the shim. */
		char *word = doctor_quote(!i && t->is_shimmed ? t->exe : t->arguments[i]), *more;

		more = word ? doctor_format("%s%s%s%s%s", text, i ? " " : "", word, !i && extra && *extra ? " " : "",
					    !i && extra ? extra : "") : NULL;
		free(word);
		free(text);
		text = more;
	}
	return text;
}

/* Return: "-p 1234 -o perf.data -- sleep 30" or "-o perf.data -- COMMAND"; to be freed. */
static char *perf_target(const struct doctor *d, const char *file, const char *extra)
{
	char *command, *text;

	if (d->target.kind == TARGET_PROCESS)
		return doctor_format("-p %ld -o %s -- sleep %u", d->target.pid, file, d->seconds);
	command = quote_command(&d->target, extra);
	text = command ? doctor_format("-o %s -- %s", file, command) : NULL;
	free(command);
	return text;
}

/* ---- callchains ---- */

/* Return: percent of the functions of @m that have a frame pointer; -1: unknown. */
static int pointers_of(const struct doctor_module *m)
{
	if (!m || m->why || !m->frames.method || !m->frames.nr_frames)
		return -1;
	return (int)(100ull * m->frames.nr_pointers / m->frames.nr_frames);
}

static bool has_option(const struct doctor_target *t, const char *option, const char *const *variables)
{
	if (doctor_has_word(t, option))
		return true;
	for (; *variables; variables++) {
		const char *value = doctor_variable(t, *variables);

		if (value && strstr(value, option))
			return true;
	}
	return false;
}

static const char *const jvm_variables[] = { "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", NULL };
static const char *const node_variables[] = { "NODE_OPTIONS", NULL };

/* What Go's compiler and those at run time make has no unwind tables: there is nothing but frame pointers. */
static bool has_no_tables(enum doctor_runtime runtime)
{
	return runtime == RUNTIME_JVM || runtime == RUNTIME_NODE || runtime == RUNTIME_DOTNET || runtime == RUNTIME_GO;
}

/* Return: perf's option for callchains. Says why where it is not by frame pointers. */
static const char *callgraph(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	int share = pointers_of(t->main);

	if (has_no_tables(t->runtime) || share >= POINTERS_ENOUGH)
		return "-g";
	if (share < 0)
		doctor_find(d, DOCTOR_NOTE, "whether the program keeps frame pointers is unknown: DWARF "
					    "callchains are right in either case, but record more data");
	else
		doctor_find(d, DOCTOR_NOTE, "%d %% of the program's functions keep a frame pointer: callchains "
					    "by frame pointers (-g) would be torn; --call-graph dwarf copies "
					    "parts of the stack, 8 KiB a sample. To have them, build with "
					    "-fno-omit-frame-pointer%s",
			    share, t->main->language == FLAME_LANGUAGE_RUST ? " (Rust: -C force-frame-pointers=yes)" : "");
	return "--call-graph dwarf";
}

/* Libraries in which callchains by frame pointers lose a frame, or end. */
static void find_torn_libraries(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	char names[256] = "";

	for (size_t i = 0; i < t->nr_modules; i++) {
		const struct doctor_module *m = &t->modules[i];
		int share = m->examined && m != t->main ? pointers_of(m) : -1;
		size_t used = strlen(names);

		if (share >= 0 && share < POINTERS_ENOUGH)
			snprintf(names + used, sizeof(names) - used, "%s%.40s (%d %%)", used ? ", " : "", doctor_base(m->path), share);
	}
	if (*names)
		doctor_find(d, DOCTOR_NOTE, "few functions keep a frame pointer in %s: stacks that end there "
					    "lack the function that called it%s", names,
			    has_no_tables(t->runtime) || t->runtime == RUNTIME_PYTHON ? "" :
			    "; --call-graph dwarf in place of -g has it");
}

/* ---- perf ---- */

static void find_missing(struct doctor *d, struct doctor_plan *plan, enum doctor_program program, const char *how)
{
	if (d->programs[program])
		return;
	plan->ready = false;
	if (!plan->missing)
		plan->missing = strdup(how);
}

static const char perf_package[] = "perf: sudo apt install linux-perf (Debian), linux-tools-$(uname -r) "
				   "(Ubuntu), or sudo dnf install perf (Fedora)";

static const char on_cpu[] = "On the CPU: where the time goes that it runs";

/* Return: "perf record ..." for the target, also of the kernel or only of its user part; to be freed. */
static char *perf_record(const struct doctor *d, bool user_only, const char *chains, const char *target)
{
	const char *counter = user_only ? " -e cycles:u" : "", *clock = user_only ? " -e cpu-clock:u" : " -e cpu-clock";
	const char *event = d->has_counters ? counter : clock;

	return doctor_format("perf record -F %u%s %s %s", d->frequency, event, chains, target);
}

/*
 * What perf needs to record the target; @all: the command that records all of it. Return: whether it goes, perhaps only
 * the user part: then plan->needs says what all of it would need.
 */
static bool may_record(struct doctor *d, struct doctor_plan *plan, const char *all, bool *user_only)
{
	struct permission_request request = { .kernel = true, .other_user = d->target.other_user, .frequency = d->frequency,
					      .command = all, .starts = d->target.kind == TARGET_PROGRAM };
	int error = permission_expect(&d->host, &request), user;

	if (!error && d->tried)
		error = d->kernel_error;
	*user_only = false;
	if (!error)
		return true;
	permission_explain(&d->host, &request, error, &plan->needs);
	request.kernel = false;
	user = permission_expect(&d->host, &request);
	if (!user && d->tried)
		user = d->clock_error;
	*user_only = !user;
	if (!user)
		return true;
	permission_answer_release(&plan->needs);
	permission_explain(&d->host, &request, user, &plan->needs);
	return false;
}

/* The plan that can be used comes first. */
static void swap_last_plans(struct doctor *d)
{
	struct doctor_plan *last, saved;

	if (d->nr_plans < 2)
		return;
	last = d->plans + d->nr_plans - 1;
	saved = *last;
	*last = last[-1];
	last[-1] = saved;
}

/* fgrecord needs what perf does. */
static void plan_fgrecord(struct doctor *d, const char *chains, const char *extra)
{
	struct permission_request request = { .other_user = d->target.other_user, .frequency = d->frequency, .program = "fgrecord" };
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", "On the CPU, recorded and drawn by one command");
	char *command = d->target.kind == TARGET_PROGRAM ? quote_command(&d->target, extra) : NULL;
	int error = permission_expect(&d->host, &request);

	if (!error && d->tried)
		error = d->clock_error;
	if (plan && command)
		doctor_step(d, plan, "fgrecord -F %u %s -o flame.svg -- %s", d->frequency, chains, command);
	else if (plan)
		doctor_step(d, plan, "fgrecord -F %u %s -p %ld -d %u -o flame.svg", d->frequency, chains, d->target.pid, d->seconds);
	free(command);
	if (!plan || !error)
		return;
	plan->ready = false;
	permission_explain(&d->host, &request, error, &plan->needs);
}

/*
 * A recording by perf and what is made of it. @extra: for the program's command line, where it is started; "" for
 * nothing. @between: a command before @data is read, or NULL. Return: the plan, or NULL without memory.
 */
static struct doctor_plan *plan_recording(struct doctor *d, const char *title, const char *chains, const char *extra,
					  const char *between, const char *data)
{
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", title);
	char *target = perf_target(d, "perf.data", extra), *user;
	char *all = target ? perf_record(d, false, chains, target) : NULL;
	bool ok = plan && all, user_only;

	if (ok) {
		plan->ready = may_record(d, plan, all, &user_only);
		user = perf_record(d, true, chains, target);
		doctor_step(d, plan, "%s", user_only && user ? user : all);
		free(user);
		if (between)
			doctor_step(d, plan, "%s", between);
		doctor_step(d, plan, "fgconv %s -o flame.folded", data);
		doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
		doctor_step(d, plan, "fgreport %s", data);
	}
	free(all);
	free(target);
	return ok ? plan : NULL;
}

/* @extra and @between: see plan_recording(). */
static void plan_perf(struct doctor *d, const char *title, const char *extra, const char *between)
{
	const char *chains = callgraph(d);
	struct doctor_plan *plan = plan_recording(d, title, chains, extra, between, "perf.data");

	if (plan) {
		find_missing(d, plan, DOCTOR_PERF, perf_package);
		if (!strcmp(chains, "-g"))
			find_torn_libraries(d);
	}
	if (d->programs[DOCTOR_FGRECORD] && !between)
		plan_fgrecord(d, chains, extra);
	if (d->programs[DOCTOR_FGRECORD] && !between && !d->programs[DOCTOR_PERF])
		swap_last_plans(d);
}

/* Return: the C library of the target, where that is known to keep few frame pointers. */
static const struct doctor_module *torn_libc(const struct doctor_target *t)
{
	for (size_t i = 0; i < t->nr_modules; i++) {
		const struct doctor_module *m = &t->modules[i];
		int share = m->examined ? pointers_of(m) : -1;

		if ((!strncmp(doctor_base(m->path), "libc.so", 7) || !strncmp(doctor_base(m->path), "ld-musl", 7)) &&
		    share >= 0 && share < POINTERS_ENOUGH)
			return m;
	}
	return NULL;
}

/* Nearly all stacks of threads that wait end in the C library. Return: perf's option; *@remark: what lacks, or NULL. */
static const char *offcpu_callgraph(const struct doctor *d, char **remark)
{
	const struct doctor_target *t = &d->target;
	const struct doctor_module *libc = torn_libc(t);
	int share = pointers_of(t->main);
	/* What Python writes for perf has no tables either. */
	bool only_pointers = has_no_tables(t->runtime) || t->runtime == RUNTIME_PYTHON;

	*remark = NULL;
	if (!only_pointers && (share < POINTERS_ENOUGH || libc)) {
		if (libc && share >= POINTERS_ENOUGH)
			*remark = doctor_format("by DWARF, as %d %% of the functions of %s keep a frame pointer, and most stacks "
						"of what waits end there: -g would skip the function that called it",
						pointers_of(libc), doctor_base(libc->path));
		return "--call-graph dwarf";
	}
	if (libc && t->runtime != RUNTIME_GO)
		*remark = doctor_format("%d %% of the functions of %s keep a frame pointer, and most stacks of what waits end "
					"there: the function that called it is missing", pointers_of(libc), doctor_base(libc->path));
	else if (share >= 0 && share < POINTERS_ENOUGH)
		*remark = doctor_format("callchains by frame pointers, which %d %% of the program's functions keep: what it "
					"waits for in the kernel is right, who called it is torn", share);
	return "-g";
}

static void check_offcpu(struct doctor *d, struct doctor_plan *plan, const char *command)
{
	struct permission_request request = { .kernel = true, .tracepoint = true, .other_user = d->target.other_user,
					      .command = command, .starts = d->target.kind == TARGET_PROGRAM };
	int error = permission_expect(&d->host, &request);

	/* What forbids all events comes before what forbids these. */
	if (d->tried && d->clock_error && d->host.seccomp && d->host.paranoid <= 2) {
		request.kernel = request.tracepoint = false;
		error = d->clock_error;
	}
	find_missing(d, plan, DOCTOR_PERF, perf_package);
	if (!d->tracefs) {
		plan->ready = false;
		if (!plan->missing)
			plan->missing = strdup("sched:sched_switch: /sys/kernel/tracing is not mounted, or only root may read it "
					       "(sudo mount -o remount,mode=755 /sys/kernel/tracing lets all users)");
	}
	if (!error && d->tried)
		error = d->kernel_error;
	if (!error)
		return;
	plan->ready = false;
	permission_explain(&d->host, &request, error, &plan->needs);
}

/* Blocked time, from what the scheduler does: a tracepoint, and a record of when a thread goes on. */
static void plan_offcpu(struct doctor *d, const char *extra)
{
	struct doctor_plan *plan = doctor_plan_add(d, "off-cpu", "Off the CPU: where it waits, for locks, disks, other processes");
	char *remark, *target = perf_target(d, "offcpu.data", extra);
	const char *chains = offcpu_callgraph(d, &remark);
	char *command = target ? doctor_format("perf record -e sched:sched_switch --switch-events %s %s", chains, target) : NULL;

	if (plan && command) {
		plan->remark = remark;
		remark = NULL;
		doctor_step(d, plan, "%s", command);
		doctor_step(d, plan, "fgrender --offcpu offcpu.data -o offcpu.svg");
		doctor_step(d, plan, "fgreport offcpu.data");
		check_offcpu(d, plan, command);
	}
	free(remark);
	free(command);
	free(target);
}

/* ---- runtimes ---- */

/* Profilers that look into a process need what a debugger needs. */
static void need_ptrace(const struct doctor *d, struct doctor_plan *plan, const char *program)
{
	const struct permission_host *h = &d->host;
	bool allowed = !h->user_namespace && h->capabilities & PERMISSION_SYS_PTRACE;
	long scope = h->ptrace_scope == PERMISSION_UNKNOWN ? 0 : h->ptrace_scope;
	struct permission_answer *a = plan ? &plan->needs : NULL;

	if (!a || (allowed && scope < 3) || (d->target.kind == TARGET_PROGRAM && scope < 2) ||
	    (!d->target.other_user && !scope))
		return;
	plan->ready = false;
	a->why = scope >= 3 ? doctor_format("kernel.yama.ptrace_scope is 3: no process may look into another "
					    "one until the host starts again") :
		 scope ? doctor_format("kernel.yama.ptrace_scope is %ld: %s needs CAP_SYS_PTRACE to look into "
				       "the process", scope, program) :
			 doctor_format("the process is another user's: %s needs CAP_SYS_PTRACE to look into "
				       "it", program);
	if (scope < 3 && !h->no_new_privs) {
		a->remedies[0] = (struct permission_remedy){ "as root, this once", doctor_format("sudo %s ...", program) };
		a->nr_remedies = a->remedies[0].command != NULL;
	}
}

/* The JVM's own recorder and async-profiler attach to it by a socket: its user and root may. */
static void need_same_user(struct doctor *d, struct doctor_plan *plan, const char *program)
{
	if (!plan || !d->target.other_user || d->host.uid == 0)
		return;
	plan->ready = false;
	plan->needs.why = doctor_format("%s attaches only to JVMs of its own user", program);
}

static void plan_asprof(struct doctor *d)
{
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", on_cpu);
	unsigned int interval = 1000000 / d->frequency;
	long pid = d->target.pid;

	doctor_step(d, plan, "asprof -e cpu -i %uus -d %u -f flame.jfr %ld", interval, d->seconds, pid);
	doctor_step(d, plan, "fgconv flame.jfr -o flame.folded");
	doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
	need_same_user(d, plan, "asprof");
	if (d->host.paranoid > 1 && !permission_is_privileged(&d->host))
		doctor_find(d, DOCTOR_NOTE, "asprof -e cpu leaves out the kernel while "
					    "kernel.perf_event_paranoid is above 1");
	plan = doctor_plan_add(d, "off-cpu", "Running or waiting: all threads, by the clock on the wall");
	doctor_step(d, plan, "asprof -e wall -i 19ms -t -d %u -f wall.jfr %ld", d->seconds, pid);
	doctor_step(d, plan, "fgrender --threads wall.jfr -o wall.svg");
	need_same_user(d, plan, "asprof");
}

static void plan_jfr(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", on_cpu);
	char *command = quote_command(t, "-XX:StartFlightRecording=filename=flame.jfr,settings=profile");

	if (t->kind == TARGET_PROCESS) {
		doctor_step(d, plan, "jcmd %ld JFR.start name=flame settings=profile duration=%us "
				     "filename=/tmp/flame.jfr", t->inner_pid,
			    d->seconds);
		doctor_step(d, plan, "sleep %u", d->seconds + 2);
		doctor_step(d, plan, t->other_mount_namespace ? "fgconv /proc/%ld/root/tmp/flame.jfr -o flame.folded" :
								"fgconv /tmp/flame.jfr -o flame.folded", t->pid);
		need_same_user(d, plan, "jcmd");
	} else {
		doctor_step(d, plan, "%s", command ? command : "");
		doctor_step(d, plan, "fgconv flame.jfr -o flame.folded");
	}
	doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
	if (plan && t->kind == TARGET_PROCESS)
		find_missing(d, plan, DOCTOR_JCMD, "jcmd, which comes with the JDK; or async-profiler (asprof)");
	doctor_find(d, DOCTOR_NOTE, "JFR sees Java code only, of some threads every 10 or 20 ms; async-profiler (asprof) "
				    "also sees the JVM, native code and the kernel");
	plan = doctor_plan_add(d, "off-cpu", "Off the CPU: time in locks, of the same recording");
	doctor_step(d, plan, "fgrender -e lock %sflame.jfr -o lock.svg",
		    t->kind == TARGET_PROCESS && !t->other_mount_namespace ? "/tmp/" : "");
	free(command);
}

/* Java, the JVM and the kernel in one picture: since 17 a JVM writes on demand which method its code is of. */
static void plan_mixed(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	char *map = doctor_format("jcmd %ld Compiler.perfmap", t->inner_pid);

	if (map && t->version >= 17 && d->programs[DOCTOR_JCMD])
		plan_perf(d, "On the CPU: Java, the JVM, native code and the kernel in one", "", map);
	free(map);
}

static void plan_jvm(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	bool pointers = has_option(t, "-XX:+PreserveFramePointer", jvm_variables);

	doctor_truth(d, DOCTOR_TARGET, "PreserveFramePointer", pointers,
		     pointers ? NULL : "perf's callchains would end in compiled Java code");
	if (t->kind == TARGET_PROCESS && d->programs[DOCTOR_ASPROF]) {
		plan_asprof(d);
	} else if (t->kind == TARGET_PROCESS && pointers && (t->perf_map || t->jitdump)) {
		plan_perf(d, on_cpu, "", NULL);
		plan_offcpu(d, "");
	} else {
		plan_jfr(d);
		if (t->kind == TARGET_PROCESS && pointers)
			plan_mixed(d);
	}
}

static void plan_node(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	bool named = t->perf_map || t->jitdump || has_option(t, "--perf-basic-prof", node_variables) ||
		     has_option(t, "--perf-prof", node_variables);
	bool frames = has_option(t, "--interpreted-frames-native-stack", node_variables);
	static const char flags[] = "--perf-basic-prof --interpreted-frames-native-stack";
	char *command;
	struct doctor_plan *plan;

	doctor_truth(d, DOCTOR_TARGET, "perf_basic_prof", named, NULL);
	doctor_truth(d, DOCTOR_TARGET, "interpreted_frames_native_stack", frames, NULL);
	if (t->kind == TARGET_PROCESS && !named) {
		struct doctor_finding *f = doctor_find(d, DOCTOR_NOTE, "node was started without --perf-basic-prof: perf sees its "
								       "JavaScript as [unknown], or as the "
								       "interpreter. Start it again with");

		doctor_remedy(f, "for perf", "node %s ...", flags);
		doctor_remedy(f, "or with V8's own profiler, which needs no permission and writes when node "
				 "ends", "node --cpu-prof ...");
	} else if (t->kind == TARGET_PROCESS && !frames) {
		doctor_find(d, DOCTOR_NOTE, "node was started without --interpreted-frames-native-stack: "
					    "functions that are not compiled yet show as the interpreter");
	}
	plan_perf(d, on_cpu, named ? "" : flags, NULL);
	plan_offcpu(d, named ? "" : flags);
	command = t->kind == TARGET_PROGRAM ? quote_command(t, "--cpu-prof --cpu-prof-name=flame.cpuprofile") : NULL;
	if (command) {
		plan = doctor_plan_add(d, "on-cpu", "JavaScript only, without any permission");
		doctor_step(d, plan, "%s", command);
		doctor_step(d, plan, "fgrender flame.cpuprofile -o flame.svg");
	}
	free(command);
}

static void plan_pyspy(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", on_cpu);
	char *command = t->kind == TARGET_PROGRAM ? quote_command(t, "") : doctor_format("%ld", t->pid);
	const char *flag = t->kind == TARGET_PROGRAM ? "--" : "-p";

	doctor_step(d, plan, "py-spy record -f raw -r %u -d %u -o flame.folded %s %s", d->frequency, d->seconds, flag,
		    command ? command : "");
	doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
	need_ptrace(d, plan, "py-spy");
	if (plan)
		find_missing(d, plan, DOCTOR_PYSPY, "py-spy: pip install py-spy");
	plan = doctor_plan_add(d, "off-cpu", "Running or waiting: all threads, by the clock on the wall");
	doctor_step(d, plan, "py-spy record --idle -t -f raw -r %u -d %u -o wall.folded %s %s", d->frequency, d->seconds, flag,
		    command ? command : "");
	doctor_step(d, plan, "fgrender wall.folded -o wall.svg");
	need_ptrace(d, plan, "py-spy");
	if (plan)
		find_missing(d, plan, DOCTOR_PYSPY, "py-spy: pip install py-spy");
	free(command);
}

/*
 * Since 3.13 Python writes unwind tables for the names that it gives perf: no frame pointers are needed. Names and tables are
 * put into the recording when it is over.
 */
static void plan_perf_jit(struct doctor *d)
{
	plan_recording(d, on_cpu, "-k 1 --call-graph dwarf", "-X perf_jit", "perf inject --jit -i perf.data -o perf.jit.data",
		       "perf.jit.data");
}

/* Since 3.12 Python names its functions for perf, if it is asked to and keeps frame pointers. */
static void plan_python(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	const char *variable = doctor_variable(t, "PYTHONPERFSUPPORT");
	bool on = t->perf_map || doctor_has_word(t, "-Xperf") || doctor_has_word(t, "perf") ||
		  (variable && strcmp(variable, "0"));
	bool can = t->version >= 312;
	int share = pointers_of(t->main);

	doctor_truth(d, DOCTOR_TARGET, "perf_support", can && on,
		     !can ? t->version ? "Python before 3.12 has none" : "Python's version is unknown; 3.12 and later have it" : NULL);
	if (can && on && share >= POINTERS_ENOUGH) {
		plan_perf(d, on_cpu, "", NULL);
		plan_offcpu(d, "");
		return;
	}
	if (can && t->kind == TARGET_PROGRAM && share >= POINTERS_ENOUGH && !d->programs[DOCTOR_PYSPY]) {
		plan_perf(d, on_cpu, "-X perf", NULL);
		plan_offcpu(d, "-X perf");
		return;
	}
	if (can && on)
		doctor_find(d, DOCTOR_NOTE, "Python names its functions for perf, but %d %% of the "
					    "interpreter's keep a frame pointer: perf's callchains would be "
					    "torn. A Python that is built with -fno-omit-frame-pointer "
					    "-mno-omit-leaf-frame-pointer has them all",
			    share < 0 ? 0 : share);
	else
		doctor_find(d, DOCTOR_NOTE, "perf sees the interpreter's functions (_PyEval_EvalFrameDefault), "
					    "not those of Python%s",
			    can && share >= POINTERS_ENOUGH ? ", unless it is started with -X perf" : "");
	if (t->version >= 313 && t->kind == TARGET_PROGRAM && d->programs[DOCTOR_PERF] && !d->programs[DOCTOR_PYSPY])
		plan_perf_jit(d);
	plan_pyspy(d);
	if (!d->programs[DOCTOR_PYSPY])
		plan_perf(d, "On the CPU: what the interpreter itself does, without Python's functions", "", NULL);
}

static void plan_ruby(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", on_cpu);
	char *command = t->kind == TARGET_PROGRAM ? quote_command(t, "") : NULL;

	if (command)
		doctor_step(d, plan, "rbspy record --rate %u --format collapsed --file flame.folded -- "
				     "%s", d->frequency, command);
	else
		doctor_step(d, plan, "rbspy record --rate %u --duration %u --format collapsed --file "
				     "flame.folded --pid %ld", d->frequency,
			    d->seconds, t->pid);
	doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
	need_ptrace(d, plan, "rbspy");
	if (plan)
		find_missing(d, plan, DOCTOR_RBSPY, "rbspy; or the gem stackprof in the program");
	doctor_find(d, DOCTOR_NOTE, "perf sees the interpreter's functions, not those of Ruby");
	plan_offcpu(d, "");
	free(command);
}

static void plan_dotnet(struct doctor *d)
{
	const struct doctor_target *t = &d->target;
	const char *variable = doctor_variable(t, "DOTNET_PerfMapEnabled");
	bool named = t->perf_map || (variable && strcmp(variable, "0"));
	struct doctor_plan *plan;

	doctor_truth(d, DOCTOR_TARGET, "perf_map_enabled", named, NULL);
	if (named || t->kind == TARGET_PROGRAM) {
		if (!named)
			doctor_find(d, DOCTOR_NOTE, "for names of .NET's functions, set in the program's "
						    "environment: DOTNET_PerfMapEnabled=1");
		plan_perf(d, on_cpu, "", NULL);
		plan_offcpu(d, "");
		return;
	}
	doctor_find(d, DOCTOR_NOTE, "it was started without DOTNET_PerfMapEnabled=1: perf has no names for its "
				    "functions");
	plan = doctor_plan_add(d, "on-cpu", on_cpu);
	doctor_step(d, plan, "dotnet-trace collect -p %ld --duration 00:00:00:%02u --format Speedscope -o "
			     "flame", t->pid,
		    d->seconds % 60);
	doctor_step(d, plan, "fgrender flame.speedscope.json -o flame.svg");
	if (plan)
		find_missing(d, plan, DOCTOR_DOTNET_TRACE, "dotnet-trace: dotnet tool install --global dotnet-trace");
	plan_offcpu(d, "");
}

static void plan_native(struct doctor *d)
{
	plan_perf(d, on_cpu, "", NULL);
	plan_offcpu(d, "");
}

static void plan_go(struct doctor *d)
{
	const struct doctor_module *m = d->target.main;

	if (m && !m->why && !m->symtab && !m->debug_file)
		doctor_find(d, DOCTOR_NOTE, "it was linked without symbols (go build -ldflags=-s): perf has no "
					    "names for its functions, pprof has");
	doctor_find(d, DOCTOR_NOTE, "if it serves net/http/pprof, no permission is needed: curl -o cpu.pb.gz "
				    "'http://HOST:PORT/debug/pprof/profile?seconds=%u', then fgrender cpu.pb.gz",
		    d->seconds);
	plan_native(d);
}

/* Without a target: can anything be recorded? */
static void plan_host(struct doctor *d)
{
	struct doctor_plan *plan = doctor_plan_add(d, "on-cpu", "All CPUs: what the host is busy with");
	struct permission_request all = { .kernel = true, .cpus = true, .frequency = d->frequency };
	int error = permission_expect(&d->host, &all);

	if (!plan)
		return;
	doctor_step(d, plan, "perf record -a -F %u%s -g -o perf.data -- sleep %u", d->frequency, d->has_counters ? "" : " -e cpu-clock",
		    d->seconds);
	all.command = plan->nr_steps ? plan->steps[0] : NULL;
	doctor_step(d, plan, "fgconv perf.data -o flame.folded");
	doctor_step(d, plan, "fgrender flame.folded -o flame.svg");
	find_missing(d, plan, DOCTOR_PERF, perf_package);
	if (!error && d->tried)
		error = d->kernel_error;
	if (!error)
		return;
	plan->ready = false;
	permission_explain(&d->host, &all, error, &plan->needs);
}

/*
 * Kernels and programs have timers at round rates: a sampler at one of these meets them always or never. And none may
 * be faster than the kernel allows.
 */
static void choose_frequency(struct doctor *d)
{
	long highest = d->host.max_sample_rate;
	unsigned int asked = d->frequency;
	bool lower = highest > 0 && d->frequency > highest;

	if (lower)
		d->frequency = (unsigned int)highest;
	while (d->frequency > 1 && (d->frequency % 10 == 0 || d->frequency % 25 == 0))
		d->frequency--;
	if (lower)
		doctor_find(d, DOCTOR_NOTE, "%u Hz is above kernel.perf_event_max_sample_rate, which is %ld: the commands "
					    "have %u Hz", asked, highest, d->frequency);
	else if (d->frequency != asked)
		doctor_find(d, DOCTOR_NOTE, "%u Hz would be in step with timers, which run at such rates too: the "
					    "commands have %u Hz", asked, d->frequency);
}

void doctor_plan(struct doctor *d)
{
	static void (*const plans[])(struct doctor *d) = {
		[RUNTIME_NATIVE] = plan_native, [RUNTIME_JVM] = plan_jvm, [RUNTIME_NODE] = plan_node,
		[RUNTIME_PYTHON] = plan_python, [RUNTIME_RUBY] = plan_ruby, [RUNTIME_DOTNET] = plan_dotnet,
		[RUNTIME_GO] = plan_go,
	};
	const struct doctor_target *t = &d->target;

	if (t->stops)
		return;
	choose_frequency(d);
	if (!d->has_counters)
		doctor_find(d, DOCTOR_NOTE, "there are no hardware counters here, as in most virtual machines: "
					    "cpu-clock samples by the kernel's timer");
	if (t->kind == TARGET_NONE) {
		plan_host(d);
		return;
	}
	if (t->kind == TARGET_PROCESS && !t->environment_known)
		doctor_find(d, DOCTOR_NOTE, "the environment of the process cannot be read: variables such as "
					    "JAVA_TOOL_OPTIONS, NODE_OPTIONS and PYTHONPERFSUPPORT are not known");
	plans[t->runtime](d);
}

/* SPDX-License-Identifier: MIT */
/*
 * doctor_target.c - which program the target is: a process by its pid, or a command or file that is to be
 * started; its runtime, what it was started with, and which files its code is in.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/span.h"
#include "../core/table.h"
#include "doctor.h"

#define SCRIPTS_MAX 4		/* "#!" that leads to another "#!" and so on */
#define MAPS_MAX 67108864	/* bytes of /proc/PID/maps that are looked at */
#define NEEDED_MAX 64		/* libraries of a program that are looked for */
#define SHOWN_MAX 200		/* bytes of a command line that are shown */
#define LINK_MAX_BYTES 8192
#define WORD_MAX 4096		/* bytes of a file with a version */

/* ---- what it was started with ---- */

/* Return: whether one of the words, each ended by a NUL, is @word; or begins so, where @word ends with '='. */
static bool is_word(const char *given, const char *word)
{
	size_t len = strlen(word);

	return len && word[len - 1] == '=' ? !strncmp(given, word, len) : !strcmp(given, word);
}

bool doctor_has_word(const struct doctor_target *t, const char *word)
{
	for (size_t at = 0; t->words && at < t->words_len; at += strlen(t->words + at) + 1) {
		if (is_word(t->words + at, word))
			return true;
	}
	for (size_t i = 0; t->arguments && t->arguments[i]; i++) {
		if (is_word(t->arguments[i], word))
			return true;
	}
	return false;
}

const char *doctor_variable(const struct doctor_target *t, const char *variable)
{
	size_t len = strlen(variable);

	if (t->kind == TARGET_PROGRAM)
		return getenv(variable);
	if (!t->environment)
		return NULL;
	for (size_t at = 0; at < t->environment_len; at += strlen(t->environment + at) + 1) {
		const char *entry = t->environment + at;

		if (!strncmp(entry, variable, len) && entry[len] == '=')
			return entry + len + 1;
	}
	return NULL;
}

/* ---- runtimes ---- */

/* What tells of a runtime: the program's name, or a library's. Behind it only digits, dots and dashes may come. */
static const struct sign {
	enum doctor_runtime runtime;
	const char *program, *library;
} signs[] = {
	{ RUNTIME_JVM, "java", "libjvm.so" },
	{ RUNTIME_NODE, "node", "libnode.so." },
	{ RUNTIME_NODE, "nodejs", NULL },
	{ RUNTIME_PYTHON, "python", NULL },
	{ RUNTIME_RUBY, "ruby", NULL },
	{ RUNTIME_DOTNET, "dotnet", "libcoreclr.so" },
};

/* The library that runs a runtime's code, where that is not the program itself. */
static const char *const engines[] = {
	[RUNTIME_NATIVE] = NULL, [RUNTIME_JVM] = "libjvm.so", [RUNTIME_NODE] = "libnode.so", [RUNTIME_PYTHON] = "libpython",
	[RUNTIME_RUBY] = "libruby", [RUNTIME_DOTNET] = "libcoreclr.so", [RUNTIME_GO] = NULL,
};

static const char *const runtime_names[] = {
	[RUNTIME_NATIVE] = "native", [RUNTIME_JVM] = "JVM", [RUNTIME_NODE] = "Node.js", [RUNTIME_PYTHON] = "Python",
	[RUNTIME_RUBY] = "Ruby", [RUNTIME_DOTNET] = ".NET", [RUNTIME_GO] = "Go",
};

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_program(const char *path, const char *name)
{
	const char *base = doctor_base(path);

	return starts(base, name) && !base[strlen(name) + strspn(base + strlen(name), "0123456789.-")];
}

static bool has_library(const struct doctor_target *t, const char *prefix)
{
	for (size_t i = 0; i < t->nr_modules; i++) {
		if (starts(doctor_base(t->modules[i].path), prefix))
			return true;
	}
	return false;
}

static enum doctor_runtime runtime_of(const struct doctor_target *t)
{
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (signs[i].library && has_library(t, signs[i].library))
			return signs[i].runtime;
		if (t->exe && is_program(t->exe, signs[i].program))
			return signs[i].runtime;
	}
	if (t->main && t->main->language == FLAME_LANGUAGE_GO)
		return RUNTIME_GO;
	return RUNTIME_NATIVE;
}

/* Return: 312 of "python3.12", 0 where there is no such number. */
static unsigned int version_of(const char *path)
{
	unsigned int major, minor;

	while (path && *path && !isdigit((unsigned char)*path))
		path++;
	return path && sscanf(path, "%2u.%2u", &major, &minor) == 2 ? major * 100 + minor : 0;
}

/* The file "release" of a JDK has a line such as JAVA_VERSION="17.0.15"; 1.8 is 8. */
static void find_java_version(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	const char *bin = t->exe ? strstr(t->exe, "/bin/") : NULL, *line;
	unsigned int major = 0, minor = 0;
	size_t len;
	char *text = bin ? doctor_read_at(65536, &len, "%s%.*s/release", d->root, (int)(bin - t->exe), t->exe) : NULL;

	line = text ? strstr(text, "JAVA_VERSION=\"") : NULL;
	if (line && sscanf(line + 14, "%3u.%3u", &major, &minor) >= 1)
		t->version = major == 1 ? minor : major;
	free(text);
}

static void find_python_version(struct doctor_target *t)
{
	t->version = t->exe ? version_of(doctor_base(t->exe)) : 0;
	for (size_t i = 0; !t->version && i < t->nr_modules; i++) {
		const char *base = doctor_base(t->modules[i].path);

		if (starts(base, "libpython"))
			t->version = version_of(base);
	}
}

static void find_runtime(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	const char *engine;

	t->runtime = runtime_of(t);
	engine = engines[t->runtime];
	for (size_t i = 0; engine && i < t->nr_modules; i++) {
		if (t->modules[i].examined && starts(doctor_base(t->modules[i].path), engine)) {
			t->main = &t->modules[i];
			break;
		}
	}
	if (t->runtime == RUNTIME_PYTHON)
		find_python_version(t);
	if (t->runtime == RUNTIME_JVM)
		find_java_version(d);
	t->embeds_python = t->runtime != RUNTIME_PYTHON && has_library(t, "libpython");
}

static void add_runtime(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	const char *language = t->main && !t->main->why ? flame_language_name(t->main->language) : "unknown language";

	if (t->runtime == RUNTIME_NATIVE)
		doctor_text(d, DOCTOR_TARGET, "runtime", "native", "%s%s%s", language, t->main && t->main->compiler ? ", " : "",
			    t->main && t->main->compiler ? t->main->compiler : "");
	else if (t->version && t->runtime == RUNTIME_JVM)
		doctor_text(d, DOCTOR_TARGET, "runtime", "JVM", "Java %u", t->version);
	else if (t->version)
		doctor_text(d, DOCTOR_TARGET, "runtime", runtime_names[t->runtime], "%u.%u", t->version / 100,
			    t->version % 100);
	else
		doctor_text(d, DOCTOR_TARGET, "runtime", runtime_names[t->runtime], NULL);
	if (t->embeds_python)
		doctor_find(d, DOCTOR_NOTE, "libpython is loaded: what it runs of Python shows as "
					    "_PyEval_EvalFrameDefault; py-spy names it");
}

/* ---- modules ---- */

static struct doctor_module *add_module(struct doctor *d, const char *path, uint64_t size)
{
	struct doctor_target *t = &d->target;
	struct flame_span file = { path, strlen(path) };
	bool gone = span_cut_deleted(&file);
	size_t len = file.len;
	struct doctor_module *m;

	for (size_t i = t->nr_modules; i-- > 0;) {
		m = &t->modules[i];
		if (m->deleted == gone && strlen(m->path) == len && !memcmp(m->path, path, len)) {
			m->mapped += size;
			return m;
		}
	}
	if (t->nr_modules == DOCTOR_MODULES_MAX ||
	    !array_reserve((void **)&t->modules, &t->room_modules, t->nr_modules + 1, sizeof(*m))) {
		t->nr_left_out++;
		return NULL;
	}
	m = &t->modules[t->nr_modules];
	*m = (struct doctor_module){ .path = strndup(path, len), .mapped = size, .deleted = gone };
	if (!m->path) {
		d->no_memory = true;
		return NULL;
	}
	t->nr_modules++;
	return m;
}

/* Libraries that give names to code that a JVM compiles. */
static bool is_agent(const char *base)
{
	return starts(base, "libasyncProfiler") || starts(base, "libperf-jvmti") || starts(base, "libperfmap") ||
	       starts(base, "liblagent");
}

/* A line of /proc/PID/maps: "7f00-7f01 r-xp 00000000 08:01 12 /usr/lib/x.so". */
static void read_mapping(struct doctor *d, char *line, uint64_t *unnamed)
{
	struct doctor_target *t = &d->target;
	unsigned long long start, end;
	char flags[5] = "";
	int at = 0;
	char *path;

	if (sscanf(line, "%llx-%llx %4s %*x %*x:%*x %*u %n", &start, &end, flags, &at) < 3 || !at || end < start)
		return;
	path = line + at;
	if (path[0] == '/') {
		const char *base = doctor_base(path);

		t->agent |= is_agent(base);
		t->jitdump |= starts(base, "jit-") && strstr(base, ".dump");
	}
	if (strlen(flags) < 3 || flags[2] != 'x')
		return;
	if (path[0] == '/' && !starts(path, "/memfd:") && !starts(path, "/dev/"))
		add_module(d, path, end - start);
	else if (path[0] != '[' || starts(path, "[anon"))
		*unnamed += end - start;
}

/* Return: bytes of executable memory that no file is behind. */
static uint64_t read_maps(struct doctor *d)
{
	uint64_t unnamed = 0;
	size_t len;
	char *text = doctor_read_at(MAPS_MAX, &len, "%s/proc/%ld/maps", d->root, d->target.pid), *rest = text, *line;

	while (rest && (line = strsep(&rest, "\n")))
		read_mapping(d, line, &unnamed);
	free(text);
	if (len == MAPS_MAX)
		doctor_find(d, DOCTOR_NOTE, "it has more than %d MiB of mappings: some libraries may be missing "
					    "here", MAPS_MAX >> 20);
	return unnamed;
}

/* The program's own file first, then by size; equal ones by name. */
static int compare_modules(const void *a, const void *b, void *exe)
{
	const struct doctor_module *x = a, *y = b;
	bool x_first = exe && !strcmp(x->path, exe), y_first = exe && !strcmp(y->path, exe);

	if (x_first != y_first)
		return x_first ? -1 : 1;
	if (x->mapped != y->mapped)
		return x->mapped > y->mapped ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Where we can open @m of a process: as its root sees it, or else as ours does. */
static char *module_file(const struct doctor *d, const struct doctor_module *m)
{
	const struct doctor_target *t = &d->target;
	char *path;

	if (t->kind == TARGET_PROCESS && !*d->root && t->exe && !strcmp(m->path, t->exe))
		return doctor_format("/proc/%ld/exe", t->pid);
	if (t->kind == TARGET_PROCESS) {
		path = doctor_format("%s/proc/%ld/root%s", d->root, t->pid, m->path);
		if (!path || !access(path, R_OK) || t->other_mount_namespace)
			return path;
		free(path);
	}
	return doctor_format("%s%s", d->root, m->path);
}

static void examine_modules(struct doctor *d)
{
	struct doctor_target *t = &d->target;

	if (t->nr_modules)
		qsort_r(t->modules, t->nr_modules, sizeof(*t->modules), compare_modules, t->exe);
	for (size_t i = 0; i < t->nr_modules && i < DOCTOR_EXAMINED_MAX; i++) {
		struct doctor_module *m = &t->modules[i];
		char *path = m->deleted && (*d->root || !t->exe || strcmp(m->path, t->exe)) ? NULL : module_file(d, m);

		if (path)
			doctor_file(d, m, path);
		else
			m->why = strdup("its file is gone");
		m->examined = true;
		free(path);
	}
	t->main = t->nr_modules ? &t->modules[0] : NULL;
}

/* ---- a process ---- */

static char *read_link(const struct doctor *d, const char *name)
{
	char *path = doctor_format("%s/proc/%ld/%s", d->root, d->target.pid, name), *target = malloc(LINK_MAX_BYTES);
	ssize_t len = path && target ? readlink(path, target, LINK_MAX_BYTES - 1) : -1;
	int error = errno;

	free(path);
	if (len >= 0) {
		target[len] = '\0';
		return target;
	}
	free(target);
	errno = error;
	return NULL;
}

/* Return: whether the process is in another namespace of this kind than we are; false where that is not told. */
static bool is_elsewhere(const struct doctor *d, const char *kind)
{
	char *name = doctor_format("ns/%s", kind), *own_path = doctor_format("%s/proc/self/ns/%s", d->root, kind);
	char *theirs = name ? read_link(d, name) : NULL, own[64];
	ssize_t len = own_path ? readlink(own_path, own, sizeof(own) - 1) : -1;
	bool differs = theirs && len > 0;

	if (differs) {
		own[len] = '\0';
		differs = strcmp(own, theirs) != 0;
	}
	free(name);
	free(own_path);
	free(theirs);
	return differs;
}

/* The last number of "NSpid:\t1234\t7", which is the pid inside. */
static long last_number(const char *line)
{
	long value = 0, next;
	int used;

	while (sscanf(line, "%ld%n", &next, &used) == 1) {
		value = next;
		line += used;
	}
	return value;
}

static void read_status(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	size_t len;
	char *text = doctor_read_at(65536, &len, "%s/proc/%ld/status", d->root, t->pid), *rest = text, *line;
	long threads = 0, ids[3], tracer = 0;

	t->inner_pid = t->pid;
	while (rest && (line = strsep(&rest, "\n"))) {
		if (starts(line, "NSpid:"))
			t->inner_pid = last_number(line + 6);
		else if (starts(line, "State:\tZ"))
			t->is_zombie = true;
		else if (sscanf(line, "Uid: %ld %ld %ld", &ids[0], &ids[1], &ids[2]) == 3)
			t->other_user = ids[0] != d->host.uid || ids[1] != d->host.uid || ids[2] != d->host.uid;
		else if (sscanf(line, "Threads: %ld", &threads) != 1)
			(void)sscanf(line, "TracerPid: %ld", &tracer);
	}
	free(text);
	if (threads)
		doctor_number(d, DOCTOR_TARGET, "threads", threads, NULL);
	if (t->other_user)
		doctor_truth(d, DOCTOR_TARGET, "other_user", true, NULL);
	if (tracer)
		doctor_find(d, DOCTOR_NOTE, "process %ld traces it (a debugger?): py-spy and the like cannot "
					    "look into it meanwhile",
			    tracer);
}

static void read_start(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	size_t shown = 0;
	char *text;

	t->words = doctor_read_at(DOCTOR_WORDS_MAX, &t->words_len, "%s/proc/%ld/cmdline", d->root, t->pid);
	t->environment = doctor_read_at(DOCTOR_WORDS_MAX, &t->environment_len, "%s/proc/%ld/environ", d->root, t->pid);
	t->environment_known = t->environment != NULL;
	text = t->words && t->words_len ? strndup("", 0) : NULL;
	for (size_t at = 0; text && at < t->words_len && shown < SHOWN_MAX; at += strlen(t->words + at) + 1) {
		char *word = doctor_quote(t->words + at), *more;

		more = word ? doctor_format("%s%s%s", text, at ? " " : "", word) : NULL;
		free(word);
		free(text);
		text = more;
		shown = text ? strlen(text) : 0;
	}
	if (text && shown > SHOWN_MAX)
		text[SHOWN_MAX] = '\0';
	doctor_text(d, DOCTOR_TARGET, "command", text, text && shown >= SHOWN_MAX ? "(its begin)" : NULL);
	free(text);
}

/* Where the runtime has written which function its code is of. */
static void find_perf_map(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	char *inside = doctor_format("%s/proc/%ld/root/tmp/perf-%ld.map", d->root, t->pid, t->inner_pid);
	char *outside = doctor_format("%s/tmp/perf-%ld.map", d->root, t->inner_pid);

	t->perf_map = (inside && !access(inside, F_OK)) ||
		      (outside && !t->other_mount_namespace && !access(outside, F_OK));
	free(inside);
	free(outside);
}

static void add_process(struct doctor *d, uint64_t unnamed)
{
	struct doctor_target *t = &d->target;

	doctor_truth(d, DOCTOR_TARGET, "other_pid_namespace", t->other_pid_namespace,
		     t->other_pid_namespace ? "inside it is process %ld" : NULL, t->inner_pid);
	doctor_truth(d, DOCTOR_TARGET, "other_mount_namespace", t->other_mount_namespace,
		     t->other_mount_namespace ? "its files are below /proc/%ld/root" : NULL, t->pid);
	doctor_number(d, DOCTOR_TARGET, "jit_code_kb", (long long)(unnamed / 1024),
		      unnamed ? "executable memory without a file" : NULL);
	doctor_truth(d, DOCTOR_TARGET, "perf_map", t->perf_map, NULL);
	doctor_truth(d, DOCTOR_TARGET, "jitdump", t->jitdump, NULL);
	doctor_truth(d, DOCTOR_TARGET, "profiling_agent", t->agent, NULL);
}

static void stop(struct doctor *d, const char *why)
{
	d->target.stops = true;
	doctor_find(d, DOCTOR_PROBLEM, "%s", why);
}

/* There is no program behind the process: why? */
static void explain_no_exe(struct doctor *d, int error)
{
	struct doctor_target *t = &d->target;
	struct doctor_finding *f;

	if (t->is_zombie) {
		doctor_find(d, DOCTOR_PROBLEM, "process %ld has ended, and waits for its parent to take notice (a zombie): there "
					       "is nothing to record", t->pid);
		t->stops = true;
		return;
	}
	if (error == ENOENT && !t->words_len) {
		stop(d, "it is a thread of the kernel: there is no program to examine. What it does is seen where whole CPUs "
			"are recorded; fgdoctor without a pid tells how");
		return;
	}
	t->stops = true;
	f = doctor_find(d, DOCTOR_PROBLEM, "process %ld cannot be examined: %s. It is another user's, or "
					   "protected", t->pid,
			strerror(error));
	if (d->host.user_namespace)
		doctor_remedy(f, "outside of this user namespace", "sudo fgdoctor %ld", t->pid);
	else if (!permission_is_privileged(&d->host) && !d->host.no_new_privs)
		doctor_remedy(f, "as root", "sudo fgdoctor %ld", t->pid);
}

static void examine_process(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	struct flame_span file;
	int error;
	char *link;

	doctor_number(d, DOCTOR_TARGET, "pid", t->pid, NULL);
	read_start(d);
	read_status(d);
	t->other_pid_namespace = is_elsewhere(d, "pid");
	t->other_mount_namespace = is_elsewhere(d, "mnt");
	link = t->exe = read_link(d, "exe");
	error = errno;
	doctor_text(d, DOCTOR_TARGET, "program", link, NULL);
	if (!link) {
		explain_no_exe(d, error);
		return;
	}
	file = (struct flame_span){ link, strlen(link) };
	if (span_cut_deleted(&file)) {
		doctor_find(d, DOCTOR_NOTE, "the program's file was replaced or deleted since it was started: "
					    "names are only right if they are looked up in the old file (by "
					    "build-id)");
		link[file.len] = '\0';
	}
	find_perf_map(d);
	add_process(d, read_maps(d));
	examine_modules(d);
	find_runtime(d);
}

/* ---- a program that is to be started ---- */

/* Words of a "#!" line: the interpreter, and what it is given. */
static bool read_interpreter(const char *text, size_t len, char *interpreter, char *argument, size_t size)
{
	char format[64];

	interpreter[0] = argument[0] = '\0';
	if (len < 3 || text[0] != '#' || text[1] != '!')
		return false;
	snprintf(format, sizeof(format), "#! %%%zu[^ \t\n] %%%zu[^\n]", size - 1, size - 1);
	return sscanf(text, format, interpreter, argument) >= 1;
}

/* "/usr/bin/env -S NAME=x python3 -u" leads to python3. Return: its path, to be freed; NULL where it is not found. */
static char *from_env(const struct doctor *d, char *argument)
{
	char *word, *rest = argument;

	while ((word = strsep(&rest, " \t"))) {
		if (*word && *word != '-' && !strchr(word, '='))
			return strchr(word, '/') ? strdup(word) : doctor_which(d, word);
	}
	return NULL;
}

/* Follow "#!" from t->exe. Return: false after saying what is wrong. */
static bool follow_scripts(struct doctor *d)
{
	struct doctor_target *t = &d->target;

	for (int i = 0; i < SCRIPTS_MAX; i++) {
		char interpreter[256], argument[256];
		size_t len;
		char *text = doctor_read_at(512, &len, "%s%s", d->root, t->exe), *next;

		if (!text) {
			doctor_find(d, DOCTOR_PROBLEM, "%s cannot be read: %s", t->exe, strerror(errno));
			return false;
		}
		if (!read_interpreter(text, len, interpreter, argument, sizeof(interpreter))) {
			free(text);
			return true;
		}
		free(text);
		next = is_program(interpreter, "env") ? from_env(d, argument) : strdup(interpreter);
		if (!next) {
			doctor_find(d, DOCTOR_PROBLEM, "%s is a script of %s %s, which is not on PATH", t->exe, interpreter, argument);
			return false;
		}
		if (!t->script)
			t->script = t->exe;
		else
			free(t->exe);
		t->exe = next;
	}
	doctor_find(d, DOCTOR_PROBLEM, "%s: too many interpreters, each of which is a script", t->script);
	return false;
}

/* Links are followed on the host; below a root they might lead out of it. */
static void resolve(struct doctor *d)
{
	char *path = *d->root ? NULL : realpath(d->target.exe, NULL);

	if (path) {
		free(d->target.exe);
		d->target.exe = path;
	}
}

/* The launcher of a JVM is small; the library that it loads lies where it looks for it. */
static void add_libjvm(struct doctor *d)
{
	static const char *const places[] = { "lib/server/libjvm.so", "jre/lib/server/libjvm.so", "lib/amd64/server/libjvm.so" };
	const char *exe = d->target.exe, *bin = strstr(exe, "/bin/");

	for (size_t i = 0; bin && is_program(exe, "java") && i < sizeof(places) / sizeof(*places); i++) {
		char *path = doctor_format("%.*s/%s", (int)(bin - exe), exe, places[i]);
		char *below = path ? doctor_format("%s%s", d->root, path) : NULL;

		if (below && !access(below, R_OK)) {
			add_module(d, path, 0);
			bin = NULL;
		}
		free(below);
		free(path);
	}
}

/* Where the loader looks when nothing tells it otherwise. */
static const char *const library_places[] = {
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
	"/usr/lib64", "/usr/local/lib", "/lib", "/usr/lib",
};

static bool add_library_in(struct doctor *d, const char *place, const char *name)
{
	char *path = doctor_format("%s/%s", place, name);
	char *below = path ? doctor_format("%s%s", d->root, path) : NULL;
	struct stat st;
	/* Its size in place of what of it will be mapped. */
	bool there = below && !stat(below, &st) && S_ISREG(st.st_mode) && add_module(d, path, (uint64_t)st.st_size);

	free(below);
	free(path);
	return there;
}

/* What follows $ORIGIN, the program's own directory, in a @place of @len bytes. Return: NULL where it is not. */
static const char *behind_origin(const char *place, size_t len)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };

	for (size_t i = 0; i < sizeof(origins) / sizeof(*origins); i++) {
		size_t n = strlen(origins[i]);

		if (len >= n && !strncmp(place, origins[i], n) && (len == n || place[n] == '/'))
			return place + n;
	}
	return NULL;
}

static size_t parent_len(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

/* @rest of @len bytes below the directory of the program, whose path has no links: each "/.." at its start is one up. */
static char *below_origin(const struct doctor *d, const char *rest, size_t len)
{
	const char *exe = d->target.exe;
	size_t dir = parent_len(exe, strlen(exe));

	while (len >= 3 && !memcmp(rest, "/..", 3) && (len == 3 || rest[3] == '/')) {
		dir = parent_len(exe, dir);
		rest += 3;
		len -= 3;
	}
	return doctor_format("%.*s%.*s", (int)dir, exe, (int)len, rest);
}

/* In the directories that the program itself names. */
static bool add_library_on(struct doctor *d, const char *runpath, const char *name)
{
	for (const char *at = runpath, *end; at; at = *end ? end + 1 : NULL) {
		const char *rest;
		char *place;
		bool there;

		end = strchrnul(at, ':');
		rest = behind_origin(at, (size_t)(end - at));
		if (!rest && *at != '/')
			continue;
		place = rest ? below_origin(d, rest, (size_t)(end - rest)) : strndup(at, (size_t)(end - at));
		there = place && add_library_in(d, place, name);
		free(place);
		if (there)
			return true;
	}
	return false;
}

static void add_library(struct doctor *d, const char *runpath, const char *name)
{
	if (add_library_on(d, runpath, name))
		return;
	for (size_t i = 0; i < sizeof(library_places) / sizeof(*library_places); i++) {
		if (add_library_in(d, library_places[i], name))
			return;
	}
}

/* The libraries that the program itself asks for; those that they ask for are known when it runs. */
static void add_needed(struct doctor *d)
{
	char *path = doctor_format("%s%s", d->root, d->target.exe);
	struct flame_elf elf;
	const char *name;

	if (path && !flame_elf_open(&elf, path)) {
		for (size_t i = 0; i < NEEDED_MAX && (name = flame_elf_needed(&elf, i)); i++) {
			if (!strchr(name, '/'))
				add_library(d, flame_elf_runpath(&elf), name);
		}
		flame_elf_release(&elf);
	}
	free(path);
}

static bool is_shell(const char *path)
{
	static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "busybox" };

	for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
		if (!strcmp(doctor_base(path), shells[i]))
			return true;
	}
	return false;
}

/* Managers of versions: their directory's name, the variable that chooses, and the file that does below it. */
static const struct manager {
	const char *directory, *variable, *file;
} managers[] = {
	{ "pyenv", "PYENV_VERSION", ".python-version" }, { "rbenv", "RBENV_VERSION", ".ruby-version" },
	{ "nodenv", "NODENV_VERSION", ".node-version" },
};

/* The first word of a file, to be freed; NULL: there is no such file. */
static char *first_word(char *text)
{
	if (text)
		text[strcspn(text, ": \t\r\n")] = '\0';
	return text;
}

/* Which version of @m below @home is started: by the environment, a file here or above, or its own. Below a root: its own. */
static char *chosen_version(const struct doctor *d, const struct manager *m, const char *home)
{
	const char *variable = *d->root ? NULL : getenv(m->variable);
	char *dir = *d->root ? NULL : getcwd(NULL, 0), *text = variable ? strdup(variable) : NULL;
	size_t len;

	while (!text && dir && *dir) {
		text = doctor_read_at(WORD_MAX, &len, "%s/%s", dir, m->file);
		*strrchr(dir, '/') = '\0';
	}
	if (!text)
		text = doctor_read_at(WORD_MAX, &len, "%s%s/version", d->root, home);
	free(dir);
	return first_word(text);
}

/* The command that PATH finds behind the directory of the shim. Return: its path, to be freed; NULL for none. */
static char *behind_shims(const struct doctor *d, const char *shim)
{
	const char *path = getenv("PATH");
	char *at = strdup(path ? path : ""), *rest = at, *dir, *found = NULL;

	while (at && !found && (dir = strsep(&rest, ":"))) {
		char *below = doctor_format("%s%s/%s", d->root, dir, doctor_base(shim));

		if (below && *dir && strncmp(shim, dir, strlen(dir)) && !access(below, X_OK))
			found = strdup(below + strlen(d->root));
		free(below);
	}
	free(at);
	return found;
}

/* A script "HOME/shims/python3" starts HOME/versions/VERSION/bin/python3. It is not run to be asked. */
static char *shim_target(const struct doctor *d, const char *script)
{
	const char *shims = strstr(script, "/shims/");
	char *home = shims ? strndup(script, (size_t)(shims - script)) : NULL, *version = NULL, *path = NULL, *below;

	for (size_t i = 0; home && !version && i < sizeof(managers) / sizeof(*managers); i++) {
		const char *base = doctor_base(home);

		if (!strcmp(base + (*base == '.'), managers[i].directory))
			version = chosen_version(d, &managers[i], home);
	}
	if (version && !strchr(version, '/') && strcmp(version, "system"))
		path = doctor_format("%s/versions/%s/bin/%s", home, version, doctor_base(script));
	below = path ? doctor_format("%s%s", d->root, path) : NULL;
	if (version && (!below || access(below, X_OK))) {
		free(path);
		path = behind_shims(d, script);
	}
	free(below);
	free(version);
	free(home);
	return path;
}

static void follow_shim(struct doctor *d)
{
	struct doctor_target *t = &d->target;
	char *path = shim_target(d, t->script);

	if (!path)
		return;
	doctor_find(d, DOCTOR_NOTE, "%s only chooses a version: what it starts is %s", t->script, path);
	free(t->exe);
	free(t->script);
	t->exe = path;
	t->script = NULL;
	t->is_shimmed = true;
}

static void examine_program(struct doctor *d)
{
	struct doctor_target *t = &d->target;

	if (!follow_scripts(d)) {
		t->stops = true;
		return;
	}
	if (t->script && is_shell(t->exe))
		follow_shim(d);
	if (t->script)
		doctor_text(d, DOCTOR_TARGET, "script", t->script, NULL);
	resolve(d);
	doctor_text(d, DOCTOR_TARGET, "program", t->exe, NULL);
	if (t->script && is_shell(t->exe))
		doctor_find(d, DOCTOR_NOTE, "%s is a script of a shell: what it starts is recorded with it, but "
					    "not examined here. Give the program, or the pid of one that runs",
			    t->script);
	add_module(d, t->exe, 0);
	add_libjvm(d);
	add_needed(d);
	examine_modules(d);
	find_runtime(d);
	if (t->nr_modules && t->modules[0].why) {
		t->stops = true;
		doctor_find(d, DOCTOR_PROBLEM, "%s cannot be examined: %s", t->exe, t->modules[0].why);
	}
}

/* ---- finding it ---- */

static bool is_pid(const char *name, long *pid)
{
	size_t len = strspn(name, "0123456789");

	if (!len || name[len] || len > 9)
		return false;
	*pid = strtol(name, NULL, 10);
	return true;
}

static void find_program(struct doctor *d, const char *name)
{
	struct doctor_target *t = &d->target;
	struct stat st;
	char *below;

	t->kind = TARGET_PROGRAM;
	t->exe = strchr(name, '/') ? strdup(name) : doctor_which(d, name);
	if (!t->exe) {
		t->stops = true;
		doctor_find(d, DOCTOR_PROBLEM, "there is no command '%s' on PATH; a file is given with its "
					       "directory: ./%s", name, name);
		return;
	}
	below = doctor_format("%s%s", d->root, t->exe);
	if (!below || stat(below, &st)) {
		t->stops = true;
		doctor_find(d, DOCTOR_PROBLEM, "%s: %s", t->exe, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		t->stops = true;
		doctor_find(d, DOCTOR_PROBLEM, "%s is %s, not a program", t->exe,
			    S_ISDIR(st.st_mode) ? "a directory" : S_ISREG(st.st_mode) ? "an empty file" : "no ordinary file");
	}
	free(below);
}

void doctor_target(struct doctor *d, const char *name, const char *const *arguments)
{
	struct doctor_target *t = &d->target;
	char *directory;

	t->name = name;
	if (is_pid(name, &t->pid)) {
		t->kind = TARGET_PROCESS;
		directory = doctor_format("%s/proc/%ld", d->root, t->pid);
		if (!directory || access(directory, F_OK)) {
			t->stops = true;
			doctor_find(d, DOCTOR_PROBLEM, "there is no process %ld here: it has ended, or has "
						       "another pid in this PID namespace",
				    t->pid);
		}
		free(directory);
		if (!t->stops)
			examine_process(d);
	} else {
		t->arguments = arguments;
		find_program(d, name);
		if (!t->stops)
			examine_program(d);
	}
	if (!t->stops) {
		add_runtime(d);
		doctor_files(d);
	}
}

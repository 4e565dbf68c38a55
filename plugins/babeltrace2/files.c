// SPDX-License-Identifier: MIT
/*
 * files.c - output files, which are replaced as a whole, and what is there of them when a signal ends babeltrace2.
 */
#define _GNU_SOURCE
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../core/flame.h"
#include "../../tools/replace.h"

/* ---- signals ---- */

/* Removed when a signal ends the process. There is one, for a handler knows nothing of threads: others go without. */
static _Atomic(const char *) unfinished;

static void end_unfinished(int sig)
{
	const char *path = atomic_load(&unfinished);

	if (path)
		unlink(path);
	signal(sig, SIG_DFL);
	raise(sig);
}

struct handled {
	int sig;
	void (*handler)(int);
};

/* Too large a file is an error of the write then. */
static const struct handled handled[] = {
	{ SIGINT, end_unfinished }, { SIGTERM, end_unfinished }, { SIGHUP, end_unfinished }, { SIGXFSZ, SIG_IGN },
};

#define NR_HANDLED (sizeof(handled) / sizeof(*handled))

/* Those that were put in place of the default; what the host handles or ignores is left to it. */
static bool is_ours[NR_HANDLED];

static void guard(const char *path)
{
	const char *none = NULL;

	if (!atomic_compare_exchange_strong(&unfinished, &none, path))
		return;
	for (size_t i = 0; i < NR_HANDLED; i++) {
		struct sigaction act;

		is_ours[i] = !sigaction(handled[i].sig, NULL, &act) && act.sa_handler == SIG_DFL;
		if (is_ours[i])
			signal(handled[i].sig, handled[i].handler);
	}
}

static void unguard(const char *path)
{
	if (atomic_load(&unfinished) != path)
		return;
	for (size_t i = 0; i < NR_HANDLED; i++) {
		struct sigaction act;

		if (is_ours[i] && !sigaction(handled[i].sig, NULL, &act) && act.sa_handler == handled[i].handler)
			signal(handled[i].sig, SIG_DFL);
	}
	atomic_store(&unfinished, NULL);
}

/* A signal between the file and its guard would leave it. */
static int open_guarded(char *path)
{
	sigset_t all, before;
	int fd;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		guard(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fd;
}

/* ---- files ---- */

FILE *file_open(const char *path, char **temporary)
{
	FILE *f = NULL;
	int fd;

	*temporary = NULL;
	if (!replace_is_whole(path))
		return fopen(path, "we");
	*temporary = replace_template(path);
	if (!*temporary)
		return NULL;
	fd = open_guarded(*temporary);
	if (fd >= 0) {
		(void)!fchmod(fd, replace_mode(path));
		f = fdopen(fd, "w");
	}
	if (fd >= 0 && !f) {
		int error = errno;

		close(fd);
		unlink(*temporary);
		unguard(*temporary);
		errno = error;
	}
	if (!f) {
		free(*temporary);
		*temporary = NULL;
	}
	return f;
}

int file_close(FILE *f, const char *path, char *temporary, int err)
{
	int error = errno;

	if (!err && (ferror(f) || fflush(f))) {
		err = FLAME_EIO;
		error = errno;
	}
	if (f != stdout && fclose(f) && !err) {
		err = FLAME_EIO;
		error = errno;
	}
	if (temporary && !err && rename(temporary, path)) {
		err = FLAME_EIO;
		error = errno;
	}
	if (temporary) {
		if (err)
			unlink(temporary);
		unguard(temporary);
		free(temporary);
	}
	errno = error;
	return err;
}

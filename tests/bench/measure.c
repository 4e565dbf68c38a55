// SPDX-License-Identifier: MIT
/*
 * measure - run a command, print its wall time in seconds and its peak resident memory in KiB.
 *
 *	measure [-c] [-o FILE] COMMAND [ARGUMENT…]
 *
 * The command's standard output goes to FILE (new each time). With -c its processor time in seconds is printed too.
 * Exits as the command did.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(125);
}

static double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * A new file, before the clock starts: emptying the one of the last run takes time, and ext4
 * writes a file that was truncated to disk as soon as it is closed.
 */
static int open_output(const char *path)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static pid_t start(char **argv, int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	if (dup2(fd, STDOUT_FILENO) < 0)
		die("dup2");
	execvp(argv[0], argv);
	die(argv[0]);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = STDOUT_FILENO, status;
	bool cpu = argc > 1 && !strcmp(argv[1], "-c");
	int first = 1 + cpu;
	struct rusage usage;
	double begin, end;
	pid_t pid;

	if (argc > first + 2 && !strcmp(argv[first], "-o")) {
		fd = open_output(argv[first + 1]);
		first += 2;
	}
	if (argc <= first) {
		fprintf(stderr, "usage: measure [-c] [-o FILE] COMMAND [ARGUMENT...]\n");
		return 2;
	}
	begin = now_seconds();
	pid = start(argv + first, fd);
	if (wait4(pid, &status, 0, &usage) < 0)
		die("wait4");
	end = now_seconds();
	printf("%.6f %ld", end - begin, usage.ru_maxrss);
	if (cpu)
		printf(" %.6f", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	putchar('\n');
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# namespaces.sh BIN_DIR - record with perf what runs in a mount namespace and a root of its own, under the path of another
# program here. Never has it the names of that program: its file is taken from its root while it runs, by the build-id that
# the kernel recorded, or where the user says; its perf map is the one in its root, by its pid there.

script=namespaces
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"

command -v perf >/dev/null 2>&1 || skip "there is no perf"
unshare -m -p -f true 2>/dev/null || skip "namespaces cannot be made here"
cd "$tmp" || exit 2
# Where perf keeps copies of what it recorded.
HOME=$tmp
export HOME
cat >spin.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void NAME(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i;
}

/* mov $0x10000, %ecx; 1: dec %ecx; jnz 1b; ret */
static const char code[] = "\xb9\x00\x00\x01\x00\xff\xc9\x75\xfc\xc3";

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? argv[1][0] - '0' : 1);
	char path[64];
	void *jit = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	memcpy(jit, code, sizeof(code));
	fprintf(map, "%lx 10 jit_code\n", (unsigned long)jit);
	fclose(map);
	while (time(NULL) < end) {
		NAME();
#ifdef __x86_64__
		((void (*)(void))jit)();
#endif
	}
	unlink(path);
	return 0;
}
END
compile() {
	${CC:-cc} -static -O1 -fno-omit-frame-pointer -Wl,--build-id -DNAME="$2" -o "$1" spin.c 2>cc.err
}
mkdir -p box/tmp "box$tmp" || exit 2
compile "box$tmp/prog" in_the_box || skip "no static program: $(tail -n 1 cc.err)"
compile prog on_the_host || skip "no static program: $(tail -n 1 cc.err)"

# record NAME SECONDS OPTIONS... - the program in the box, which runs for SECONDS, is recorded for one.
record() {
	name=$1 seconds=$2
	shift 2
	perf record -q -a -F 499 -g "$@" -o "$name.data" -- sh -c "unshare -m -p -f chroot box '$tmp/prog' $seconds & sleep 1.3" \
		>perf.log 2>&1 || skip "perf record $*: $(tail -n 1 perf.log)"
}

# read_it NAME OPTIONS... - stacks of the program.
read_it() {
	name=$1
	shift
	"$bin/fgconv" "$@" "$name.data" 2>err | grep '^prog;' >"$name.folded"
	if grep -q on_the_host "$name.folded"; then
		ok "$name: no name is of the program of the same path here" 1
	else
		ok "$name: no name is of the program of the same path here" 0
	fi
}

record alive 6 --namespaces --all-cgroups
read_it alive
grep -q 'main;in_the_box' alive.folded
ok "alive: its file is found below its root: $(head -n 2 alive.folded)" $?
if [ "$(uname -m)" = x86_64 ]; then
	grep -q 'main;jit_code' alive.folded
	ok "alive: its perf map is found below its root" $?
fi
record gone 1 --namespaces
sleep 1
read_it gone
grep -q ';\[prog\]' gone.folded
ok "gone: its frames have its file's name" $?
# With too many messages it is not among those that are printed.
grep -q "no symbols for $tmp/prog .*in a container whose processes are gone" err || grep -q 'no symbols for [0-9]* more modules' err
ok "gone: that is told: $(cat err)" $?
read_it gone --symfs box
grep -q 'main;in_the_box' gone.folded
ok "gone, --symfs" $?
read_it gone --symbols "box$tmp"
grep -q 'main;in_the_box' gone.folded
ok "gone, --symbols" $?
if perf record --help 2>/dev/null | grep -q buildid-mmap; then
	record mapped 1 --namespaces --buildid-mmap
	read_it mapped
	read_it mapped --symbols "box$tmp"
	grep -q 'main;in_the_box' mapped.folded
	ok "--buildid-mmap, --symbols" $?
fi
# The same without a namespace of its own is this machine's.
perf record -q --namespaces -F 499 -g -o here.data ./prog >perf.log 2>&1
"$bin/fgconv" here.data 2>err | grep -q 'main;on_the_host'
ok "without a container: $(cat err)" $?
sums

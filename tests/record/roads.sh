#!/bin/sh
# SPDX-License-Identifier: MIT
#
# roads.sh BIN_DIR - the roads from a recording of perf to folded text give the same: flame.so as a filter of perf script,
# and as its script by the shim or in a patched perf (make check-perf-patch builds it); perf.data read directly;
# perf script's text read by fgconv; and that text summed by awk, which shares nothing with the others.
# Recorded with frame pointers, copies of stacks, no callchains and tracepoints, to a file, packed and through a pipe.
#
# Differences that stay, see Documentation/perf-plugin.md:
# - The text's only: perf looks up a return address as it is, we the call before it. At a function's end that is
#   another function: _dl_start_user in the text is what ld.so calls _start.
# - The text's only: perf prints "(inlined)" behind a function that it unwound and that DWARF and the symbol table
#   name differently (__libc_start_main_impl), so --inline marks it. It is not inlined; it has no mark here.
# - Where the kernel has two names for one address (memcpy and __pi_memcpy), perf and we may choose another one.
# - The text's only, perf 7: of the names of an address it prints a global one, with its version (read for __GI___libc_read,
#   __libc_start_main@@GLIBC_2.34 for __libc_start_main_impl). We take what DWARF calls it, as perf 6 does.
# - The text's only, perf 7: inlined functions also in callchains by frame pointers. We have them with --inlines.
# - The text's only: where a copy of the stack is empty, it has no function at all.
# - The text's only: perf names an entry of the PLT "@plt" where it cannot tell whose it is.

script=roads
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
plugin=$bin/perf/flame.so
perf=perf
patched=$bin/perf-patch/perf
shim=$tmp/shim/perf

command -v perf >/dev/null 2>&1 || skip "there is no perf"
[ -f "$plugin" ] || skip "flame.so is not built: there is no /usr/include/perf/perf_dlfilter.h"
if nm -D "$plugin" 2>/dev/null | grep -q __asan; then
	skip "a plugin with sanitizers does not load into perf"
fi

cat >"$tmp/split.c" <<'END'
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) void inlined(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

static __attribute__((noinline)) void leaf(int n)
{
	inlined(n);
	sink++;
}

static __attribute__((noinline)) void deep(int depth)
{
	if (depth)
		deep(depth - 1);
	else
		leaf(100000);
	sink++;
}

/* Of a process's time the vdso asks the kernel. No entry of the PLT leads there: perf calls some of these _init. */
static int (*volatile get_time)(clockid_t, struct timespec *) = clock_gettime;

static __attribute__((noinline)) void ask(void)
{
	struct timespec t;

	for (int i = 0; i < 100; i++) {
		get_time(CLOCK_PROCESS_CPUTIME_ID, &t);
		sink += t.tv_nsec;
	}
	sink++;
}

/* Where its stack pointer is no page is mapped yet: a copy of the stack is empty. */
static __attribute__((noinline)) void grow(void)
{
	volatile char pages[1 << 20];

	pages[0] = 1;
	sink += pages[0];
}

int main(void)
{
	char bytes[64];
	int fd;

	grow();

	for (int i = 0; i < 1000; i++) {
		deep(i % 7);
		fd = open("/proc/self/stat", O_RDONLY);
		if (read(fd, bytes, sizeof(bytes)) > 0)
			sink++;
		close(fd);
		ask();
	}
	return 0;
}
END
compile "$tmp/split.c" "$tmp/split"
cd "$tmp" || exit 2
mkdir "$tmp/shim" && cp "$root/plugins/perf/perf-shim" "$shim" || exit 2
[ -x "$patched" ] || [ -z "${PATCHED-}" ] || skip "there is no $patched"
[ -x "$patched" ] || echo "SKIP roads, patched perf: make check-perf-patch builds it"
perf record -q -o try.data -- true >perf.log 2>&1 || skip "perf record: $(tail -n 1 perf.log)"

# The names of functions of libc and ld.so that have several, each with the first of the names at its address.
for file in $(ldd "$tmp/split" | grep -o '/[^ ]*'); do
	id=$(readelf -n "$file" 2>/dev/null | sed -n 's/.*Build ID: \(..\)\(.*\)/\1\/\2/p')
	for symbols in "$file" "/usr/lib/debug/.build-id/$id.debug"; do
		[ ! -e "$symbols" ] || { echo "$file"; nm "$symbols"; nm -D "$symbols"; } 2>/dev/null
	done
done | awk 'NF == 1 { file = $1 }
	NF == 3 && $2 ~ /[TtWwi]/ {
		sub(/@.*/, "", $3)
		place = file " " $1
		if (!(place in first) || $3 < first[place])
			first[place] = $3
		# What ld.so has too is taken for the one of libc, which ldd lists first.
		if (!($3 in file_of))
			file_of[$3] = file
		if (file_of[$3] != file)
			next
		several[$3] = $3 in place_of && place_of[$3] != place
		place_of[$3] = place
	}
	END { for (name in place_of) if (!several[name]) print name, first[place_of[name]] }' >aliases.txt

# Without the differences of names, see above.
same_names() {
	sed 's/;_dl_start_user;/;_start;/; s/;__pi_/;/g; s/;[^;@ ]*@plt/;@plt/g' "$1" | awk '
		FILENAME == "aliases.txt" { alias[$1] = $2; next }
		{
			n = $NF
			sub(/ [0-9]+$/, "")
			nr = split($0, names, ";")
			stack = names[1]
			for (i = 2; i <= nr; i++) {
				sub(/@@?[A-Z]+_[A-Z0-9.]+$/, "", names[i])
				stack = stack ";" (names[i] in alias ? alias[names[i]] : names[i])
			}
			sum[stack] += n
		}
		END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' aliases.txt - | sort
}

# perf reads a file's layout by its name, and that of a pipe from one.
script() {
	if [ "$(od -An -tu8 -j8 -N8 "$data" | tr -d ' ')" = 16 ]; then
		"$perf" script -i - "$@" <"$data"
	else
		"$perf" script -i "$data" "$@"
	fi
}

# Stacks of perf's text, added up without fgconv. What is unknown is called by its file, as everywhere.
collapse() {
	awk '
	function flush(   i, s) {
		if (comm == "")
			return
		s = comm
		for (i = nr; i > 0; i--)
			s = s ";" frames[i]
		sum[s] += period
		comm = ""
		nr = 0
	}
	function push(line,   file) {
		match(line, /\([^()]*\)$/)
		file = substr(line, RSTART + 1, RLENGTH - 2)
		sub(/.*\//, "", file)
		sub(/ \([^()]*\)$/, "", line)
		sub(/^[ \t]*[0-9a-f]+ /, "", line)
		frames[++nr] = line != "[unknown]" ? line : file == line ? file : "[" file "]"
	}
	/^[^\t#]/ {
		flush()
		comm = $1
		period = $2
		rest = $0
		sub(/^ *[^ ]+ +[0-9]+ +[^ ]+: */, "", rest)
		if (rest != "")
			push(rest)
		next
	}
	/^\t/ { push($0) }
	END {
		flush()
		for (s in sum)
			printf "%s %.0f\n", s, sum[s]
	}'
}

# compare NAME OTHER - their names and files; with flame.so as a filter.
compare() {
	same_names "$2.folded" >other.txt
	diff other.txt plugin.txt >diff.txt
	ok "$name: $1 (<) and flame.so (>): $(head -n 5 diff.txt)" $?
}

# roads NAME DATA OPTIONS... - options are those of fgconv, without dashes.
roads() {
	name=$1
	data=$2
	shift 2
	dlargs=
	options=
	for option; do
		dlargs="$dlargs --dlarg $option"
		options="$options --$option"
	done
	# shellcheck disable=SC2086
	script --dlfilter "$plugin" $dlargs >plugin.folded 2>plugin.err
	ok "$name: flame.so runs: $(tail -n 1 plugin.err)" $?
	# shellcheck disable=SC2086
	"$bin/fgconv" -q $options "$data" >direct.folded
	ok "$name: fgconv reads perf.data" $?
	same_names plugin.folded >plugin.txt
	compare perf.data direct
	# shellcheck disable=SC2086
	script -F +period,+pid 2>/dev/null | "$bin/fgconv" -q --demangle $options >text.folded
	compare text text
	# shellcheck disable=SC2086
	perf=$shim
	script -s "$plugin" "$@" >shim.folded 2>shim.err
	ok "$name: the shim runs: $(tail -n 1 shim.err)" $?
	compare shim shim
	if [ -x "$patched" ]; then
		perf=$patched
		script -s "$plugin" "$@" >patched.folded 2>patched.err
		ok "$name: perf script -s runs: $(tail -n 1 patched.err)" $?
		compare "perf script -s" patched
	fi
	perf=perf
	if [ $# -eq 0 ] || [ "$*" = inlines ]; then
		script -F comm,period,event,ip,sym,dso 2>/dev/null | collapse >summed.folded
		compare "text summed by awk" summed
	fi
	[ -s plugin.folded ]
	ok "$name: there are stacks" $?
	# With frame pointers they end there: libc has none.
	[ "${name#copies}" = "$name" ] && return
	grep -q ';ask;.*__vdso_clock_gettime;.*entry_SYSCALL' plugin.folded
	ok "$name: stacks lead through the vdso" $?
}

# record NAME OPTIONS...
record() {
	name=$1
	shift
	if ! perf record -q -F 1999 -o "$name.data" "$@" -- ./split >perf.log 2>&1; then
		echo "SKIP roads $name: perf record: $(tail -n 1 perf.log)"
		return 1
	fi
}

# perf 7 has inlined functions also in callchains by frame pointers.
inlines=
if record fp --call-graph fp; then
	! perf script -i fp.data 2>/dev/null | grep -q ' inlined+.*(inlined)' || inlines=inlines
	# shellcheck disable=SC2086
	roads "frame pointers" fp.data $inlines
	# shellcheck disable=SC2086
	roads "frame pointers, --tid --all" fp.data tid all $inlines
	# shellcheck disable=SC2086
	roads "frame pointers, --count" fp.data count $inlines
fi
record dwarf --call-graph dwarf && roads "copies of stacks" dwarf.data
[ ! -s dwarf.data ] || roads "copies of stacks, --tid --kernel" dwarf.data tid kernel
record packed -z --call-graph dwarf && roads "copies of stacks, packed" packed.data
if record faults -e page-faults/period=1/ --call-graph dwarf; then
	"$bin/fgconv" -q faults.data | sort >direct.txt
	perf script -i faults.data --dlfilter "$plugin" 2>/dev/null | sort >plugin.txt
	diff direct.txt plugin.txt >diff.txt
	ok "copies of stacks that are empty: perf.data (<) and flame.so (>): $(head -n 5 diff.txt)" $?
	grep -q '^split;\[truncated\];grow' plugin.txt
	ok "the function that runs is known where the stack's copy is empty" $?
fi
record none && roads "no callchain" none.data
if perf record -q -F 1999 --call-graph dwarf -o - -- ./split >pipe.data 2>perf.log; then
	roads "copies of stacks, through a pipe" pipe.data
fi
[ -s fp.data ] || skip "perf cannot record callchains here"
perf script -i fp.data --dlfilter "$plugin" --dlarg to=svg --dlarg o=flame.svg --dlarg title=Roads 2>err
grep -q '<title>Roads\|>Roads<' flame.svg
ok "to=svg draws a picture" $?
perf script -i fp.data --dlfilter "$plugin" --dlarg nonsense >out 2>err
ok "what is no option is refused" "$(($? == 0))"
grep -q 'no option --nonsense' err && grep -q 'the options are: .*event=NAME' err
ok "and the options are listed: $(cat err)" $?
PATH=$bin:$PATH
"$root/plugins/perf/perf-flame" fp.data -o road.svg
ok "perf flame" $?
grep -q '<svg' road.svg
ok "perf flame draws a picture" $?
if [ -x "$patched" ]; then
	"$patched" script -i fp.data -s "$plugin" to=svg o=patched.svg title=Roads 2>err
	cmp -s flame.svg patched.svg
	ok "perf script -s flame.so draws the same picture" $?
	cp "$plugin" flame.so
	"$patched" script -i fp.data -s flame.so nonsense >out 2>err
	ok "perf script -s flame.so: what is no option is refused" "$(($? == 0))"
	"$patched" script -i fp.data -s flame.so count >out 2>err
	ok "perf script -s flame.so finds it here: $(cat err)" $?
	[ -s out ]
	ok "perf script -s flame.so writes stacks" $?
fi
nm -D --defined-only "$plugin" | awk '{ print $3 }' | sort | tr '\n' ' ' >exports
[ "$(cat exports)" = "filter_description filter_event perf_dlfilter_fns perf_script_so start stop " ]
ok "flame.so exports what perf looks for: $(cat exports)" $?
sums

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# jfr.sh BIN_DIR - each JDK that is here (JDKS, by default those of /usr/lib/jvm) records a program that does all that JFR has
# stacks of. All stacks of all events and their values must be those of the JDK's own `jfr print`. Then the JVM is killed:
# since JDK 14 the chunk that it leaves can be read, the samples it has are those that the JDK finds in it once it is patched
# to look finished.

script=jfr
# shellcheck source=tests/common.sh
. "$(dirname "$0")/../common.sh"
jdks=
for jdk in ${JDKS:-/usr/lib/jvm/*}; do
	home=$(readlink -f "$jdk")
	case " $jdks " in *" $home "*) continue ;; esac
	[ -x "$home/bin/jfr" ] && [ -x "$home/bin/javac" ] && jdks="$jdks $home"
done
[ -n "$jdks" ] || skip "there is no JDK with jfr and javac"
command -v python3 >/dev/null 2>&1 || skip "there is no python3"

# compare WHAT RECORDING [READ] - fgconv of RECORDING against jfr print of READ.
compare() {
	"$jdk/bin/jfr" print --json --stack-depth 2048 "${3:-$2}" >"$tmp/json" 2>"$tmp/log"
	"$root/tests/jfr_sums.py" "$tmp/json" "$bin/fgconv" "$2" >"$tmp/sums" 2>&1
	compare_status=$?
	ok "$1" $compare_status
	[ $compare_status -eq 0 ] || tail -n 20 "$tmp/sums"
	rm -f "$tmp/json"
}

# chunks - those that the JVM wrote to its repository.
chunks() {
	find "$tmp/repository" -name "*.$1" -size +1
}

for jdk in $jdks; do
	version=$("$jdk/bin/java" -version 2>&1 | sed -n 's/.*version "\([^"]*\)".*/\1/p')
	rm -rf "$tmp/repository" "$tmp"/*.class
	mkdir "$tmp/repository"
	if ! "$jdk/bin/javac" -encoding UTF-8 -d "$tmp" "$root/tests/record/jfr/Load.java" 2>"$tmp/log"; then
		echo "SKIP jfr: JDK $version: $(tail -n 1 "$tmp/log")"
		continue
	fi
	"$jdk/bin/java" -cp "$tmp" "-XX:StartFlightRecording=settings=profile,filename=$tmp/load.jfr" Load 2 >"$tmp/log" 2>&1
	compare "JDK $version" "$tmp/load.jfr"

	"$jdk/bin/java" -cp "$tmp" "-XX:FlightRecorderOptions=repository=$tmp/repository" \
		-XX:StartFlightRecording=settings=profile Load 60 cpu,throw,sleep,alloc >"$tmp/log" 2>&1 &
	pids=$!
	tries=0
	# The second flush, a second after the first, has samples.
	while [ -z "$(chunks jfr)$(chunks part)" ] && [ $((tries += 1)) -le 200 ]; do
		sleep 0.1
	done
	sleep 2.5
	kill -9 "$pids"
	wait "$pids" 2>/dev/null
	pids=
	case $version in
	1.* | 9* | 1[0-3]*)
		part=$(chunks part | head -n 1)
		[ -n "$part" ] || continue
		"$bin/fgconv" "$part" >/dev/null 2>"$tmp/err"
		[ $? -eq 1 ] && grep -q 'JDKs before 14' "$tmp/err"
		ok "JDK $version killed: why nothing can be read" $?
		continue
		;;
	esac
	python3 - "$(chunks jfr | head -n 1)" "$tmp/flushed.jfr" "$tmp/finished.jfr" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		size, = struct.unpack('>q', data[8:16])
		open(sys.argv[2], 'wb').write(data[:size])
		data[64] = 0
		open(sys.argv[3], 'wb').write(data[:size])
	END
	compare "JDK $version killed" "$tmp/flushed.jfr" "$tmp/finished.jfr"
	"$bin/fgconv" "$tmp/flushed.jfr" >/dev/null 2>&1
	[ $? -eq 3 ]
	ok "JDK $version killed: exit status" $?
done
sums

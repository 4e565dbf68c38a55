// SPDX-License-Identifier: MIT
// 34% of the processor time in jsonEncode(), 66% in parse(). work SECONDS [PROFILE]
package main

import (
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

var sink uint64 = 1

func used() time.Duration {
	var u syscall.Rusage

	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

//go:noinline
func jsonEncode(d time.Duration) {
	for end := used() + d; used() < end; {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

//go:noinline
func parse(d time.Duration) {
	for end := used() + d; used() < end; {
		for i := uint64(0); i < 20000; i++ {
			sink = sink*31 + i
		}
	}
}

//go:noinline
func handleRequest() {
	// 34 to 66, and no divisor of Go's 10 ms between samples: 20 ms would be in step with them.
	jsonEncode(2363 * time.Microsecond)
	parse(4587 * time.Microsecond)
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	if len(os.Args) > 2 {
		f, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	for end := used() + time.Duration(seconds*1e9); used() < end; {
		handleRequest()
	}
}

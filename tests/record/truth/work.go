// SPDX-License-Identifier: MIT
// 34% of the time in jsonEncode(), 66% in parse(). work SECONDS [PROFILE]
package main

import (
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

var sink uint64 = 1

//go:noinline
func burn(rounds uint64) {
	for i := uint64(0); i < rounds; i++ {
		sink = sink*31 + i
	}
}

//go:noinline
func jsonEncode(rounds uint64) {
	burn(rounds)
	sink++
}

//go:noinline
func parse(rounds uint64) {
	burn(rounds)
	sink++
}

//go:noinline
func handleRequest() {
	jsonEncode(34000)
	parse(66000)
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
	end := time.Now().Add(time.Duration(seconds * 1e9))
	for time.Now().Before(end) {
		handleRequest()
	}
}

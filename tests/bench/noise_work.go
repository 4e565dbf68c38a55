// SPDX-License-Identifier: MIT
//
// noise_work FILE [ROUNDS [TENTHS]] - a service in small: parses, sorts, allocates, collects garbage, on three
// goroutines; its CPU profile goes to FILE. TENTHS is the work of checksum() in tenths of a pass.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"strconv"
	"sync"
)

type row struct {
	Key   int
	Name  string
	Value float64
}

func checksum(text []byte, tenths int) uint32 {
	sum := uint32(1)
	for i := 0; i < len(text)*tenths/10; i++ {
		sum = sum*31 + uint32(text[i%len(text)])
	}
	return sum
}

func order(rows []row) {
	sort.Slice(rows, func(i, j int) bool {
		return rows[i].Key < rows[j].Key || rows[i].Key == rows[j].Key && rows[i].Name < rows[j].Name
	})
}

func group(rows []row) map[int][]row {
	groups := map[int][]row{}
	for _, r := range rows {
		groups[r.Key%17] = append(groups[r.Key%17], r)
	}
	return groups
}

func matrix(n int) float64 {
	out := make([]float64, n*n)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			for k := 0; k < n; k++ {
				out[i*n+j] += float64((i ^ k) * (k + j))
			}
		}
	}
	return out[n]
}

func handle(round, tenths int) int {
	rows := make([]row, 200)
	for i := range rows {
		rows[i] = row{(i*7919 + round) % 1009, "k" + strconv.Itoa(i), float64(i) / 3}
	}
	order(rows)
	text, _ := json.Marshal(rows)
	var back []row
	_ = json.Unmarshal(text, &back)
	return len(group(back)) + int(checksum(text, tenths)&7) + int(matrix(40))&7
}

func number(i, otherwise int) int {
	if i < len(os.Args) {
		otherwise, _ = strconv.Atoi(os.Args[i])
	}
	return otherwise
}

func main() {
	file, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	rounds, tenths := number(2, 1500), number(3, 10)
	runtime.SetCPUProfileRate(500)
	_ = pprof.StartCPUProfile(file)
	var all sync.WaitGroup
	sums := make([]int, 3)
	for w := range sums {
		all.Add(1)
		go func(w int) {
			defer all.Done()
			for i := 0; i < rounds; i++ {
				sums[w] += handle(i, tenths)
			}
		}(w)
	}
	all.Wait()
	pprof.StopCPUProfile()
	_ = file.Close()
	fmt.Println(sums)
}

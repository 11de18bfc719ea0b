// SPDX-License-Identifier: GPL-2.0-or-later

// Works, and writes the profiles of that work that Go's runtime makes: tests/readers/run opens them.
//
//	work FOLDER    FOLDER/go-NAME.pb.gz for NAME cpu, heap, allocs, block, mutex, goroutine
package main

import (
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sort"
	"sync"
	"syscall"
	"time"
)

var kept [][]byte
var lock sync.Mutex
var sum int

// The CPU time of this process: on a busy machine a second of the clock may have no sample.
func cpu() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func hash(seconds float64) {
	var data [4096]byte
	for begin := cpu(); cpu()-begin < seconds; {
		digest := sha256.Sum256(data[:])
		data[0] = digest[0]
	}
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func recurse(seconds float64) {
	for begin := cpu(); cpu()-begin < seconds; {
		sum += fib(20)
	}
}

func order(seconds float64) {
	values := make([]int, 10000)
	for begin := cpu(); cpu()-begin < seconds; {
		for i := range values {
			values[i] = i * 7919 % 10007
		}
		sort.Ints(values)
	}
}

func keep(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 20000))
	}
}

func drop(n int) {
	for i := 0; i < n; i++ {
		lock.Lock()
		sum += len(fmt.Sprint(make([]byte, 3000)))
		lock.Unlock()
	}
}

// Two goroutines want one lock, and one waits for the other by a channel.
func contend(done chan bool) {
	for i := 0; i < 50; i++ {
		lock.Lock()
		time.Sleep(time.Millisecond)
		lock.Unlock()
	}
	done <- true
}

func write(folder, name string) {
	file, err := os.Create(filepath.Join(folder, "go-"+name+".pb.gz"))
	if err == nil {
		err = pprof.Lookup(name).WriteTo(file, 0)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	folder := os.Args[1]
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	file, err := os.Create(filepath.Join(folder, "go-cpu.pb.gz"))
	if err != nil {
		log.Fatal(err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		log.Fatal(err)
	}
	hash(0.6)
	recurse(0.5)
	order(0.4)
	keep(500)
	drop(500)
	pprof.StopCPUProfile()
	file.Close()
	done := make(chan bool)
	go contend(done)
	go contend(done)
	<-done
	<-done
	for i := 0; i < 10; i++ {
		go func() { <-done }()
	}
	time.Sleep(10 * time.Millisecond)
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "block", "mutex", "goroutine"} {
		write(folder, name)
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later

// goes is the workload's program in Go: functions with known shares, in everything that makes a
// thread of Go change stacks. It prints heartbeats as run.c does. Each phase is a function
// phaseNAME, which runs until it has used its part of a round. Its time is the CPU time of its
// thread, to which main is locked, or of the process where other threads work for it.
package main

/*
#include "goes.h"
*/
import "C"

import (
	"fmt"
	"io/ioutil"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"
)

const (
	processClock = 2 // CLOCK_PROCESS_CPUTIME_ID
	threadClock  = 3
	roundNs      = 200 * 1000 * 1000
	beatNs       = 1000 * 1000 * 1000
	unitSpins    = 20000
)

type phase struct {
	name    string
	unit    func()
	percent int
	clock   uintptr
	spent   int64
}

var phases = []phase{
	{"hash", phaseHash, 15, threadClock, 0},
	{"call", phaseCall, 15, threadClock, 0},
	{"back", phaseBack, 15, threadClock, 0},
	{"stack", phaseStack, 15, threadClock, 0},
	{"signal", phaseSignal, 10, threadClock, 0},
	{"clock", phaseClock, 10, threadClock, 0},
	{"yield", phaseYield, 10, processClock, 0},
	{"collect", phaseCollect, 10, processClock, 0},
}

var sum uint64
var kept [][]*[8]uint64

//go:noinline
func spin(n int) {
	x := sum
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sum = x
}

func clockNs(clock uintptr) int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// In a goroutine's own frames, some of them deep.
//
//go:noinline
func phaseHash() {
	deeper(20)
}

//go:noinline
func deeper(n int) {
	var room [64]uint64
	room[n%64] = sum
	if n > 0 {
		deeper(n - 1)
	} else {
		spin(unitSpins)
	}
	sum += room[(n+1)%64]
}

// Go calls C.
//
//go:noinline
func phaseCall() {
	C.goes_spin(unitSpins)
}

// Go calls C, which calls Go, which calls C.
//
//go:noinline
func phaseBack() {
	C.goes_call_back(2)
}

//export goesCalledBack
func goesCalledBack(n C.int) {
	if n > 1 {
		C.goes_call_back(n - 1)
	}
	spin(unitSpins / 2)
}

// On the thread's own stack, by systemstack(): the runtime prints the goroutine's stack.
//
//go:noinline
func phaseStack() {
	var text [16384]byte
	printed(20, text[:])
}

//go:noinline
func printed(n int, text []byte) {
	if n > 0 {
		printed(n-1, text)
	} else {
		runtime.Stack(text, false)
	}
	text[0]++
}

// A handler written in C runs on the stack for signals. The signal arrives in Go, and in C.
//
//go:noinline
func phaseSignal() {
	syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(syscall.Gettid()),
		uintptr(C.GOES_SIGNAL))
	C.goes_raise()
}

// The vDSO runs on the thread's own stack.
//
//go:noinline
func phaseClock() {
	for i := 0; i < 200; i++ {
		sum += uint64(time.Now().UnixNano())
	}
}

// The scheduler, by mcall(): goroutines give way to each other, and wait for each other.
//
//go:noinline
func phaseYield() {
	done := make(chan bool)
	for i := 0; i < 2; i++ {
		go yields(done)
	}
	<-done
	<-done
}

//go:noinline
func yields(done chan bool) {
	for i := 0; i < 500; i++ {
		runtime.Gosched()
		spin(100)
	}
	done <- true
}

// Allocation, and its goroutines that collect. Otherwise nothing is collected.
//
//go:noinline
func phaseCollect() {
	objects := make([]*[8]uint64, 0, 4)
	for i := 0; i < 2000; i++ {
		objects = append(objects, new([8]uint64))
	}
	kept = append(kept, objects)
	if len(kept) > 20 {
		kept = nil
		runtime.GC()
	}
}

//go:noinline
func runPhase(p *phase) {
	begin := clockNs(p.clock)
	for {
		p.unit()
		if clockNs(p.clock)-begin >= roundNs/100*int64(p.percent) {
			break
		}
	}
	p.spent += clockNs(p.clock) - begin
}

func beat(rounds int) {
	line := fmt.Sprintf("goes: heartbeat %d", rounds)
	for i := range phases {
		line += fmt.Sprintf(" %s %d", phases[i].name, phases[i].spent)
	}
	fmt.Fprintln(os.Stderr, line)
}

func main() {
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	C.goes_init()
	if err := ioutil.WriteFile("/run/goes", nil, 0600); err != nil && len(os.Args) < 2 {
		panic(err)
	}
	last := time.Now()
	for rounds := 1; ; rounds++ {
		for i := range phases {
			runPhase(&phases[i])
		}
		if now := time.Now(); now.Sub(last) >= beatNs {
			beat(rounds)
			last = now
		}
	}
}

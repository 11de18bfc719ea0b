/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program for tests/unwind/steps: goroutines, stacks that grow, panics, the scheduler. */
package main

import (
	"fmt"
	"sort"
	"strings"
)

type shape interface{ size(n int) int }
type square struct{ k int }

func (s square) size(n int) int {
	if n > 3 {
		panic("too large")
	}
	return n*n + s.k
}
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return 1
	}
	return deep(n-1) + pad[n%64]
}
func measure(w shape, n int) (r int) {
	defer func() {
		if e := recover(); e != nil {
			r = len(fmt.Sprint(e))
		}
	}()
	return w.size(n)
}
func main() {
	names := []string{"delta", "alpha", "charlie", "bravo"}
	sort.Strings(names)
	c := make(chan int)
	go func() {
		s := 0
		for v := range c {
			s += v
		}
		c <- s
	}()
	sum := 0
	for n := 2; n < 6; n++ {
		sum += measure(square{n}, n)
	}
	m := map[string]int{}
	for _, n := range names {
		m[n] = deep(len(n) * 40)
	}
	done := make(chan string)
	for i := 0; i < 3; i++ {
		go func(i int) { done <- strings.Repeat("x", i) }(i)
	}
	for i := 0; i < 3; i++ {
		sum += len(<-done)
	}
	fmt.Println(names, sum, m)
}

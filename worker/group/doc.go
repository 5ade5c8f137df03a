// Package group runs programs in groups of their own and ends them with everything that they have
// started. Its main type is Program:
//
//	program, err := group.Start(exec.Command("train.sh"))
//	state, err := program.Wait()
//
// What a program leaves behind ends with it, also in another session: on Linux, this process
// adopts the processes whose parents have ended and kills them. Guard ends the groups of a process
// that is killed, and the processes that have its mark in their environment.
package group

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// The faults. Each strikes once in a trial, after epoch fault_epoch.
const (
	// none: nothing goes wrong.
	faultNone = "none"
	// kill: the process kills itself with SIGKILL, as the kernel does when memory
	// runs out.
	faultKill = "kill"
	// panic: a Go panic.
	faultPanic = "panic"
	// exit: the process exits with status 3.
	faultExit = "exit"
	// allocate: memory is taken, 64 MiB at a time, up to 4 GiB, and kept until something stops it.
	faultAllocate = "allocate"
	// hang: Train waits for ever and does not look at its context.
	faultHang = "hang"
	// sleep: Train waits for ever but ends with its context.
	faultSleep = "sleep"
	// stderr: a megabyte of lines on standard error, then SIGKILL.
	faultStderr = "stderr"
	// stdout: a megabyte without line ends on standard output; training goes on.
	faultStdout = "stdout"
	// child: starts a process that sleeps for an hour, prints its id to standard
	// error as "child PID", and goes on.
	faultChild = "child"
	// daemon: the same with a process in a session of its own, whose parent has ended.
	faultDaemon = "daemon"
	// error: Train fails with an error that is not the trial's own.
	faultError = "error"
	// steal: tries to read fault_file in every way, prints what it gets to standard
	// error, and goes on.
	faultSteal = "steal"
)

var faults = []any{
	faultNone, faultKill, faultPanic, faultExit, faultAllocate, faultHang, faultSleep,
	faultStderr, faultStdout, faultChild, faultDaemon, faultError, faultSteal,
}

// fault is what goes wrong in a trial, and when.
type fault struct {
	kind   string
	epoch  int64
	marker string
	file   string
}

// strike does what the fault does if this is its epoch.
func (f *fault) strike(ctx context.Context, epoch int64) error {
	if f.kind == faultNone || epoch != f.epoch {
		return nil
	}
	if f.marker != "" {
		marker, err := os.OpenFile(f.marker, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		if err == nil {
			err = marker.Close()
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "fault %s at epoch %d\n", f.kind, epoch)
	switch f.kind {
	case faultKill:
		return killSelf()
	case faultPanic:
		panic("the panic that was asked for")
	case faultExit:
		os.Exit(3)
	case faultAllocate:
		allocate()
	case faultHang:
		select {}
	case faultSleep:
		<-ctx.Done()
		return ctx.Err()
	case faultStderr:
		for i := range 1 << 14 {
			fmt.Fprintf(os.Stderr, "line %06d %s\n", i, bytes.Repeat([]byte("."), 50))
		}
		fmt.Fprintln(os.Stderr, "the last line")
		return killSelf()
	case faultStdout:
		// Past os.Stdout, as a library in C does.
		if _, err := syscall.Write(syscall.Stdout, bytes.Repeat([]byte("."), 1<<20)); err != nil {
			return err
		}
		fmt.Print("more of the same")
	case faultChild:
		child := exec.Command("sleep", "3600")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "child %d\n", child.Process.Pid)
	case faultDaemon:
		const daemon = `setsid sh -c 'echo "child $$" >&2; exec sleep 3600' </dev/null >/dev/null &`
		shell := exec.Command("sh", "-c", daemon)
		shell.Stderr = os.Stderr
		return shell.Run()
	case faultSteal:
		steal(f.file)
	case faultError:
		return errors.New("the machine is at fault, as was asked for")
	}
	return nil
}

// killSelf ends the process as SIGKILL does.
func killSelf() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	if err := self.Kill(); err != nil {
		return err
	}
	select {}
}

// allocate takes memory, and touches it, up to 4 GiB: whoever is to stop it may be late, and others
// need the machine.
func allocate() {
	const most = 64
	var taken [][]byte
	for {
		if len(taken) < most {
			block := make([]byte, 64<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			taken = append(taken, block)
			fmt.Fprintf(os.Stderr, "%d MiB taken\n", 64*len(taken))
		}
		time.Sleep(time.Millisecond)
	}
}

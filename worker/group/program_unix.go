//go:build unix

package group

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// strayTime is how long killed processes are waited for.
	strayTime = 5 * time.Second
	// buryInterval is how often ended processes that this one has adopted are removed.
	buryInterval = time.Second
)

// Program is a running program in a group of its own.
type Program struct {
	process *os.Process
	ended   chan struct{}
}

// family has the programs of this process, by their process ids. Its lock is held while a process
// is started, so that a program is never taken for an adopted process.
var family struct {
	sync.Mutex
	programs map[int]bool
	// guard ends the programs' groups if this process is killed.
	guard *Guard
}

// Start starts a program in a group of its own. The program and what it starts end at the latest
// when this process ends, however that ends: keep the calling thread until Wait has returned. An
// error beside a program means that something may survive the end of this process.
func Start(cmd *exec.Cmd) (*Program, error) {
	family.Lock()
	defer family.Unlock()
	if family.programs == nil {
		adopt()
		family.programs = map[int]bool{}
	}
	cmd.SysProcAttr = Attributes()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Program{process: cmd.Process, ended: make(chan struct{})}
	family.programs[p.process.Pid] = true
	go p.bury()
	if err := watch(); err != nil {
		return p, fmt.Errorf("no guard: what the program starts may outlive this process: %w", err)
	}
	return p, nil
}

// watch tells the guard of the programs, and starts one if there is none. The caller has locked
// the family.
func watch() error {
	groups := slices.Collect(maps.Keys(family.programs))
	if family.guard != nil {
		if family.guard.Watch(groups...) == nil {
			return nil
		}
		family.guard.Stop() // it was killed
		family.guard = nil
	}
	guard, err := StartGuard("sweep-script-guard", ownMark(), "")
	if err != nil {
		return err
	}
	family.guard = guard
	return guard.Watch(groups...)
}

// Signal sends a signal to the program's group.
func (p *Program) Signal(signal syscall.Signal) { _ = syscall.Kill(-p.process.Pid, signal) }

// Wait waits for the end of the program.
func (p *Program) Wait() (*os.ProcessState, error) { return p.process.Wait() }

// Clear kills what is left of a program that has ended, and waits for its end. What has left the
// program's group cannot be told from what other programs have left: it is killed with the last
// one that runs. An error means that something is left.
func (p *Program) Clear() error {
	Kill(p.process.Pid)
	close(p.ended)
	family.Lock()
	defer family.Unlock()
	delete(family.programs, p.process.Pid)
	_ = watch() // the group is gone; Start reports that there is no guard
	if len(family.programs) > 0 {
		return nil
	}
	var left []int
	for end := time.Now().Add(strayTime); ; {
		// The children of those that end are adopted, and found in the next round.
		if left = adopted(); len(left) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %v, which the program has left, do not end", left)
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if !buryAny(left) {
			time.Sleep(time.Millisecond)
		}
	}
}

// bury removes the processes that this one has adopted and that have ended, while a program runs.
func (p *Program) bury() {
	ticks := time.NewTicker(buryInterval)
	defer ticks.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticks.C:
			family.Lock()
			buryAny(adopted())
			family.Unlock()
		}
	}
}

// buryAny removes those of the processes that have ended, and reports whether there was one.
func buryAny(pids []int) (found bool) {
	for _, pid := range pids {
		if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err != nil || got == pid {
			found = true
		}
	}
	return found
}

// adopted returns the children of this process that it has not started. The caller has locked the
// family.
func adopted() []int {
	return slices.DeleteFunc(children(), func(pid int) bool {
		return family.programs[pid] || family.guard != nil && pid == family.guard.cmd.Process.Pid
	})
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program that is started, stopped and started again.
type process struct {
	name      string
	arguments []string
	env       []string
	user      *syscall.Credential
	log       string
	dir       string

	mu sync.Mutex
	// cmd is the one that runs, nil if none does; ended is closed at its end.
	cmd   *exec.Cmd
	ended chan struct{}
	// told means that it was told to end. hung is when it was last stopped by SIGSTOP.
	told bool
	hung time.Time
}

// start starts the process unless it runs.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	fmt.Fprintf(log, "--- started at %s\n", time.Now().UTC().Format(time.RFC3339Nano))
	cmd := exec.Command(p.arguments[0], p.arguments[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.user}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	ended := make(chan struct{})
	p.cmd, p.ended, p.told = cmd, ended, false
	go func() {
		_ = cmd.Wait() // how it ends is in its log, and in cmd
		close(ended)
	}()
	return nil
}

// running reports whether the process runs. The caller has locked mu.
func (p *process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// pid is its number, 0 if it does not run.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return 0
	}
	return p.cmd.Process.Pid
}

// crashed says how the process ended that nobody had told to end; "" if it did not.
func (p *process) crashed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.running() || p.told {
		return ""
	}
	return fmt.Sprintf("%s ended by itself: %v", p.name, p.cmd.ProcessState)
}

// signal sends a signal to the process, if it runs.
func (p *process) signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return
	}
	switch signal {
	case syscall.SIGSTOP:
		p.hung = time.Now()
	case syscall.SIGCONT:
	default:
		p.told = true
	}
	_ = p.cmd.Process.Signal(signal) // it may just have ended
}

// kill ends the process at once and waits for that.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.signal(syscall.SIGCONT)
	p.wait(time.Minute)
}

// wait waits for the process to end, and reports whether it did in time.
func (p *process) wait(limit time.Duration) bool {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return true
	}
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// hungSince reports whether the process was stopped by SIGSTOP after a time.
func (p *process) hungSince(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hung.After(t)
}

// ending reports whether the process was told to end and runs still.
func (p *process) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told && p.running()
}

// children returns all processes of this machine by their parents.
func children() map[int][]int {
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		own, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		_, rest, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		fields := strings.Fields(rest)
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			parents[parent] = append(parents[parent], own)
		}
	}
	return parents
}

// descendants are the children of a process, and theirs.
func descendants(pid int) (list []int) {
	if pid == 0 {
		return nil
	}
	parents := children()
	list = append(list, parents[pid]...)
	for i := 0; i < len(list); i++ {
		list = append(list, parents[list[i]]...)
	}
	return list
}

// signalAll sends a signal to processes, some of which may have ended.
func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// withEnv are the processes whose environment has a text.
func withEnv(text string) (list []int) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(text)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && !isZombie(pid) {
			list = append(list, pid)
		}
	}
	return list
}

func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(err, os.ErrNotExist) || bytes.Contains(text, []byte(") Z "))
}

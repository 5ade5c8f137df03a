package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// steal tries to read a file of the worker's user, in every way that a trainer
// has, and the environment of the worker. It prints what it gets to standard
// error, as "stolen by WAY: CONTENT", and then "steal: done".
func steal(path string) {
	got := func(way string, content []byte, err error) {
		if err == nil && len(content) > 0 {
			fmt.Fprintf(os.Stderr, "stolen by %s: %.40q\n", way, content)
		}
	}
	read := func(way, path string) {
		content, err := os.ReadFile(path)
		got(way, content, err)
	}
	if conn, err := net.Dial("unix", path); err == nil { // who listens there does what it is asked
		got("connecting", []byte(path), conn.Close())
		fmt.Fprintln(os.Stderr, "steal: done")
		return
	}
	worker := "/proc/" + strconv.Itoa(os.Getppid())
	mine, beside := filepath.Join(os.TempDir(), "stolen"), path+".beside"
	read("reading", path)
	read("the worker's root", worker+"/root"+path)
	read("its own root", "/proc/self/root"+path)
	content, err := exec.Command("cat", path).Output()
	got("a process", content, err)
	if os.Symlink(path, mine) == nil {
		read("a link", mine)
		_ = os.Remove(mine)
	}
	for _, place := range []string{mine, beside} { // which may be in different file systems
		if os.Link(path, place) == nil {
			read("a second name", place)
			_ = os.Remove(place)
		}
		if os.Rename(path, place) == nil {
			read("another name", place)
			_ = os.Rename(place, path)
		}
	}
	if os.Rename(filepath.Dir(path), filepath.Dir(path)+".moved") == nil {
		read("another directory", filepath.Join(filepath.Dir(path)+".moved", filepath.Base(path)))
		_ = os.Rename(filepath.Dir(path)+".moved", filepath.Dir(path))
	}
	if f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0); err == nil {
		content := make([]byte, 4096)
		n, err := f.ReadAt(content, 0)
		if n > 0 {
			err = nil
		}
		got("writing", content[:n], err)
		_ = f.Close()
	}
	threads, _ := filepath.Glob(worker + "/task/*") // none is none
	for _, thread := range append(threads, worker) {
		read("the worker's environment", thread+"/environ")
		read("the worker's memory map", thread+"/maps")
	}
	fmt.Fprintln(os.Stderr, "steal: done")
}

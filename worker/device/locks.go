package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// DefaultLocks is the folder of the files that lock devices between the processes of a machine, whoever runs them.
const DefaultLocks = "/tmp/sweep-devices"

// locks are the files by which processes lease devices. The kernel frees what a process has locked when it ends.
type locks struct{ folder string }

func newLocks(folder string) *locks { return &locks{folder} }

// lock is a locked file.
type lock struct{ file *os.File }

func (l *lock) close() {
	if l != nil {
		_ = l.file.Close() // which unlocks it
	}
}

// everybody may lock the files, and only their owners remove them.
const (
	folderMode = os.ModeSticky | 0o777
	fileMode   = 0o666
)

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// open opens the file of a device, which it makes if there is none. A file of somebody else in a folder of everybody's
// must not be opened to be made.
func (l *locks) open(name string) (*os.File, error) {
	path := filepath.Join(l.folder, notInNames.ReplaceAllString(name, "_")+".lock")
	file, err := openLock(path, os.O_RDWR)
	if err == nil || !os.IsNotExist(err) {
		return file, err
	}
	if err := os.Mkdir(l.folder, folderMode); err == nil {
		_ = os.Chmod(l.folder, folderMode) // whatever the umask is
	}
	if file, err = openLock(path, os.O_RDWR|os.O_CREATE|os.O_EXCL); os.IsExist(err) {
		return openLock(path, os.O_RDWR)
	}
	if err == nil {
		_ = file.Chmod(fileMode)
	}
	return file, err
}

// take locks a device, or returns why it cannot.
func (l *locks) take(d Device) (held *lock, problem string) {
	name := d.ID
	if name == "" {
		name = d.String()
	}
	file, err := l.open(name)
	if err != nil {
		return nil, fmt.Sprintf("it cannot be locked: %v", err)
	}
	if err := lockFile(file); err != nil {
		defer func() { _ = file.Close() }()
		holder := make([]byte, 64)
		n, _ := file.ReadAt(holder, 0) // it only informs
		who, _, _ := strings.Cut(string(holder[:n]), "\n")
		return nil, fmt.Sprintf("another run on this machine holds it (process %s)", who)
	}
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return &lock{file}, ""
}

package device

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefaultLocks is the folder of the files that lock devices between the processes of a machine, whoever runs them.
const DefaultLocks = "/tmp/sweep-devices"

// locks are the files by which processes lease devices. The kernel frees what a process has locked when it ends.
type locks struct {
	folder string
	// person is whose process this is.
	person string
	// wanting is locked while this process waits for devices.
	wanting *lock
}

func newLocks(folder string) *locks { return &locks{folder: folder, person: strconv.Itoa(os.Getuid())} }

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

// path is that of a file.
func (l *locks) path(name string) string {
	return filepath.Join(l.folder, notInNames.ReplaceAllString(name, "_")+".lock")
}

// lockName is the name of a device's file.
func lockName(d Device) string { return cmp.Or(d.ID, d.String()) }

// open opens the file of a device, which it makes if there is none. A file of somebody else in a folder of everybody's
// must not be opened to be made.
func (l *locks) open(name string) (*os.File, error) {
	path := l.path(name)
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
	file, err := l.open(lockName(d))
	if err != nil {
		return nil, fmt.Sprintf("it cannot be locked: %v", err)
	}
	if err := lockFile(file); err != nil {
		defer func() { _ = file.Close() }()
		holder := make([]byte, 64)
		n, _ := file.ReadAt(holder, 0) // it only informs
		who, _, _ := strings.Cut(string(holder[:n]), "\n")
		who, _, _ = strings.Cut(who, " ")
		return nil, fmt.Sprintf("another run on this machine holds it (process %s)", who)
	}
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), l.person), 0)
	}
	return &lock{file}, ""
}

// wantPrefix begins the names of the files of processes that wait for devices: want.PERSON.PROCESS.
const wantPrefix = "want."

// want notes whether this process waits for devices, for those of other people.
func (l *locks) want(wants bool) {
	if wants == (l.wanting != nil) {
		return
	}
	name := fmt.Sprint(wantPrefix, l.person, ".", os.Getpid())
	if !wants {
		_ = os.Remove(l.path(name))
		l.wanting.close()
		l.wanting = nil
		return
	}
	file, err := l.open(name)
	if err == nil && lockFile(file) == nil {
		l.wanting = &lock{file}
	} else if err == nil {
		_ = file.Close()
	}
}

// others are the other people whose processes wait for devices.
func (l *locks) others() (people []string) {
	entries, _ := os.ReadDir(l.folder) // nobody has made it
	for _, entry := range entries {
		name, wants := strings.CutPrefix(entry.Name(), wantPrefix)
		if person, _, _ := strings.Cut(name, "."); wants && person != l.person && !slices.Contains(people, person) &&
			locked(filepath.Join(l.folder, entry.Name())) {
			people = append(people, person)
		}
	}
	return people
}

// held counts the devices that people hold.
func (l *locks) held(devices []Device) map[string]int {
	held := map[string]int{}
	for _, d := range devices {
		path := l.path(lockName(d))
		if text, err := os.ReadFile(path); err == nil && locked(path) {
			_, person, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
			held[person]++
		}
	}
	return held
}

// locked reports whether a process has locked a file.
func locked(path string) bool {
	file, err := openLock(path, os.O_RDWR)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // which unlocks it
	return lockFile(file) != nil
}

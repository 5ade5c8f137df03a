package trainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CanHide reports whether this system can keep the files of Launcher.Secrets
// from trainers, nil if it can.
func CanHide() error {
	if _, err := landlockVersion(); err != nil {
		return fmt.Errorf("the kernel has no Landlock, which Linux 5.13 and later have unless it is switched off: %w",
			err)
	}
	return nil
}

// landlockVersion returns the version of the kernel's Landlock.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(version), nil
}

// hide denies the calling thread, and every process that it starts from then on, the contents of
// files and directories, by any path or process. It cannot be undone: the thread must not be used
// for anything else. It also hides what /proc shows of other processes, such as their
// environment, and hides this process from all processes of its user.
//
// Landlock rules can only allow, so everything beside the hidden paths is allowed. Files that are
// created later in the directories above the hidden paths cannot be read.
func hide(paths []string) error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	hidden, err := resolve(paths)
	if err != nil {
		return err
	}
	r := ruleset{files: unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	if version >= 3 {
		r.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	r.directories = r.files
	if version >= 2 { // else files cannot be moved from one directory to another
		r.directories |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: r.directories}
	if version >= scopeVersion {
		attributes.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if version >= resolveUnixVersion { // nothing allows it
		attributes.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)),
		unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	r.fd = int(fd)
	defer func() { _ = unix.Close(r.fd) }()
	if err := r.allowBeside("/", hidden); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// The versions of Landlock that deny a trainer the sockets of other processes: abstract ones, and
// those in the file system. It may still connect to its own and those of processes that it
// started, and the worker to it.
const (
	scopeVersion       = 6
	resolveUnixVersion = 9
)

// capabilities are those of root that circumvent Landlock: by other processes' memory, devices or
// the kernel.
var capabilities = []int{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_SYS_RAWIO, unix.CAP_MKNOD, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT,
}

// dropCapabilities removes them from the calling thread.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // 32 capabilities each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	for _, c := range capabilities {
		set, kept := &sets[c/32], ^(uint32(1) << (c % 32))
		set.Effective &= kept
		set.Permitted &= kept
		set.Inheritable &= kept
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}

// resolve returns paths with and without their links resolved. Paths need not exist: they may be
// created later.
func resolve(paths []string) (map[string]bool, error) {
	hidden := map[string]bool{}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		hidden[path] = true
		// If the path does not exist, a directory above it may still be a link.
		rest := ""
		for dir := path; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
			target, err := filepath.EvalSymlinks(dir)
			if err == nil {
				hidden[filepath.Join(target, rest)] = true
				break
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) || dir == "/" {
				return nil, err
			}
		}
	}
	return hidden, nil
}

// ruleset is a set of rules of Landlock, with the accesses that they allow to files and to
// directories.
type ruleset struct {
	fd                 int
	files, directories uint64
}

// allowBeside allows everything in a directory except the hidden paths.
func (r *ruleset) allowBeside(dir string, hidden map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // nothing that could be allowed
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case hidden[path], entry.Type()&fs.ModeSymlink != 0: // a link's target is allowed where it lies
		case entry.IsDir() && above(path, hidden):
			err = r.allowBeside(path, hidden)
		default:
			err = r.allow(path, entry.IsDir())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// above reports whether a directory contains a hidden path.
func above(dir string, hidden map[string]bool) bool {
	for path := range hidden {
		if rest, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rest) {
			return true
		}
	}
	return false
}

// allow allows a file, or a directory and everything in it.
func (r *ruleset) allow(path string, directory bool) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // it was removed, or is not accessible
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: r.files, Parent_fd: int32(fd)}
	if directory {
		rule.Allowed_access = r.directories
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_add_rule for %s: %w", path, errno)
	}
	return nil
}

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

// landlockVersion is what the kernel's Landlock can do.
func landlockVersion() (int, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(version), nil
}

// hide keeps the calling thread, and every process that it starts from then on,
// from the contents of files and directories, by whatever path or process they
// are reached. It cannot be undone: the thread must not be used for anything
// else. What can be seen of other processes in /proc, as their environment, is
// hidden too; and of this one, whose threads these processes are related to, from
// every process of its user.
//
// Landlock knows only what is allowed, so everything is that lies beside the
// hidden paths: in the directories above them neither files that come later nor
// those that take the hidden ones' places can be read.
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

// The versions of Landlock that keep a trainer from the sockets that other processes
// listen on: abstract ones, and those in the file system. It may still connect to what
// it or a process of its own listens on, and the worker to it.
const (
	scopeVersion       = 6
	resolveUnixVersion = 9
)

// capabilities are those of root that lead around Landlock: to other processes'
// memory, to devices, into the kernel.
var capabilities = []int{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_SYS_RAWIO, unix.CAP_MKNOD, unix.CAP_SYS_MODULE, unix.CAP_SYS_BOOT,
}

// dropCapabilities takes them from the calling thread, if it has them.
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

// resolve returns paths as they are and as they are without links. One that is
// not there is hidden as well: it may come.
func resolve(paths []string) (map[string]bool, error) {
	hidden := map[string]bool{}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		hidden[path] = true
		// Of a path that is not there the part that is may be a link.
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

// ruleset is a set of rules of Landlock, and what they allow for files and for
// directories.
type ruleset struct {
	fd                 int
	files, directories uint64
}

// allowBeside allows everything in a directory but what is hidden.
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

// above reports whether something hidden lies beneath a directory.
func above(dir string, hidden map[string]bool) bool {
	for path := range hidden {
		if rest, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rest) {
			return true
		}
	}
	return false
}

// allow allows a file, or a directory and all beneath it.
func (r *ruleset) allow(path string, directory bool) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // gone meanwhile, or out of reach
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

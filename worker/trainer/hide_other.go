//go:build !linux

package trainer

import "errors"

// CanHide reports whether this system can keep the files of Launcher.Secrets
// from trainers, nil if it can.
func CanHide() error { return errors.New("only Linux can") }

// hide cannot hide anything here: CanHide says so, and it is not called.
func hide([]string) error { return CanHide() }

// Package group starts processes in groups of their own, so that they end with this process
// together with everything that they have started. Its main type is Guard:
//
//	cmd.SysProcAttr = group.Attributes()
//	err := cmd.Start()
//	guard, err := group.StartGuard("sweep-guard", cmd.Process.Pid, "")
//	defer guard.Stop()
//	group.Kill(cmd.Process.Pid)
package group

package postgrestest

import "syscall"

// setParentDeathSignal ends the server with the thread that started it.
func setParentDeathSignal(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGQUIT }

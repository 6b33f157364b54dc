package server

import "syscall"

// dieWithParent makes a process end with the test that started it, even when
// the test is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

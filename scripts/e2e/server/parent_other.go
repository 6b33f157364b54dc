//go:build !linux

package server

import "syscall"

// dieWithParent has no equivalent here: the tests' own clean-up has to do.
func dieWithParent() *syscall.SysProcAttr { return nil }

package hook

import "syscall"

// DETACHED_PROCESS: no console, so that closing the host's does not end it.
const detachedProcess = 0x00000008

func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: detachedProcess | syscall.CREATE_NEW_PROCESS_GROUP}
}

// keepHandles: handles are passed on by list here.
func keepHandles() {}

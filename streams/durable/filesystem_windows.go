package durable

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

var driveType = syscall.NewLazyDLL("kernel32.dll").NewProc("GetDriveTypeW")

// remoteDrive is what GetDriveType calls a mapped share.
const remoteDrive = 4

// fsType tells remote drives from others: "remote" or "".
func fsType(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", err
	}
	volume := filepath.VolumeName(path)
	if strings.HasPrefix(volume, `\\`) && !strings.HasPrefix(volume, `\\?\`) && !strings.HasPrefix(volume, `\\.\`) {
		return "remote", nil
	}
	root, err := syscall.UTF16PtrFromString(volume + `\`)
	if err != nil {
		return "", err
	}
	if kind, _, _ := driveType.Call(uintptr(unsafe.Pointer(root))); kind == remoteDrive {
		return "remote", nil
	}
	return "", nil
}

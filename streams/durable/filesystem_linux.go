package durable

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// magics are the numbers of statfs(2) for those file systems that are not Own.
var magics = map[uint32]string{
	0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x517b: "smb", 0x5346414f: "afs", 0x6b414653: "afs", 0x73757245: "coda",
	0x564c: "ncpfs", 0x01021997: "9p", 0x786f4256: "vboxsf", 0xbacbacbc: "vmhgfs", 0x7c7c6673: "prl_fs", 0x65735546: fuse,
	0x01161970: "gfs2", 0x7461636f: "ocfs2", 0x47504653: "gpfs", 0x0bd00bd0: "lustre", 0x00c36400: "ceph", 0x19830326: "beegfs",
	0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay", 0x2fc12fc1: "zfs",
}

const fuse = "fuse"

func fsType(path string) (string, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	name := magics[uint32(s.Type)]
	if name != fuse {
		return name, nil
	}
	// Only the list of mounts knows what is behind FUSE (and virtiofs).
	info, err := os.Stat(path)
	if err != nil {
		return name, nil
	}
	list, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return name, nil
	}
	defer list.Close()
	if t := mountType(list, uint64(info.Sys().(*syscall.Stat_t).Dev)); t != "" {
		return t, nil
	}
	return name, nil
}

// mountType finds the type of a device in a list of mounts:
// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw".
func mountType(list *os.File, device uint64) string {
	want := strconv.FormatUint(device>>8&0xfff|device>>32&^0xfff, 10) + ":" + strconv.FormatUint(device&0xff|device>>12&0xffffff00, 10)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 3 || fields[2] != want {
			continue
		}
		name, _, _ := strings.Cut(after, " ")
		return name
	}
	return ""
}

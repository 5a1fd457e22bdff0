package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheListOfMountsNamesWhatIsBehindFUSE(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mountinfo")
	text := `22 28 0:21 / /sys rw,nosuid - sysfs sysfs rw
87 28 0:52 / /home/x/far rw,nosuid,nodev,relatime shared:44 - fuse.sshfs x@far:/ rw,user_id=1000
88 28 0:53 / /workspace rw - virtiofs share rw
89 28 259:300 / /big rw - ext4 /dev/nvme0n1p300 rw
broken line
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for device, want := range map[uint64]string{
		52: "fuse.sshfs", 53: "virtiofs", 54: "", 259<<8 | 300&0xff | (300&^0xff)<<12: "ext4",
	} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := mountType(f, device); got != want {
			t.Errorf("device %x: %q, want %q", device, got, want)
		}
		f.Close()
	}
}

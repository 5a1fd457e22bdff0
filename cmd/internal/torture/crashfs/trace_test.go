package crashfs

import (
	"fmt"
	"os"
	"testing"
)

func TestX(t *testing.T) {
	f, err := os.Open("/tmp/tt/d1.trace")
	if err != nil {
		t.Fatal(err)
	}
	var d *Disk
	err = ReadTrace(f, "/tmp/tt/d1", func(x *Disk, m Moment) error { d = x; fmt.Println(m.Number, m.Call); return nil })
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll("/tmp/tt/r1")
	if err := d.Restore(Killed, "/tmp/tt/r1"); err != nil {
		t.Fatal(err)
	}
	d.Print(os.Stdout, PowerCut)
}

package acceptance

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestRebuildOpensNoSocket runs a rebuild in a process of its own that the
// kernel refuses socket, connect, bind and listen. (That pure rooms name no
// clock and no network is read from the source by archtest.)
func TestRebuildOpensNoSocket(t *testing.T) {
	if os.Getenv("CMEM_TEST_NO_SOCKET") == "" {
		h := newHouse(t)
		h.replay(fixture("claude-code", "g05-claude-code.jsonl"), fixture("codex", "g12-codex.jsonl"))
		h.close()
		c := exec.Command(os.Args[0], "-test.run", "^TestRebuildOpensNoSocket$", "-test.count=1")
		c.Env = append(os.Environ(), "CMEM_TEST_NO_SOCKET="+string(h.dir))
		out, err := c.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	refuseSockets(t)
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
		unix.Close(fd)
		t.Fatal("the kernel still gives sockets: the test proves nothing")
	}
	h := &house{t: t, dir: homeDir(os.Getenv("CMEM_TEST_NO_SOCKET"))}
	h.open()
	verify(t, h)
	h.close()
}

// refuseSockets makes the socket calls fail with EACCES for all threads.
func refuseSockets(t *testing.T) {
	t.Helper()
	calls := []uint32{unix.SYS_SOCKET, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}
	const load, jump, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	program := []unix.SockFilter{{Code: load, K: 0}} // the call's number
	for i, nr := range calls {
		program = append(program, unix.SockFilter{Code: jump, Jt: uint8(len(calls) - i), K: nr})
	}
	program = append(program,
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
	)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const setFilter, allThreads = unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&filter))); errno != 0 {
		t.Fatalf("seccomp: %v", errno)
	}
}

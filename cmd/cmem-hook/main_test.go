package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxSize is above what the program needs and far below what one wrong import
// brings in.
const maxSize = 3_500_000

// TestSize reports the size as it is shipped.
func TestSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cmem-hook")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxSize {
		t.Errorf("%d bytes, at most %d", info.Size(), maxSize)
	}
}

// TestImports: nothing that starts slowly, opens a network or drives a store.
func TestImports(t *testing.T) {
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", ".")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for pkg := range strings.FieldsSeq(string(out)) {
			for _, never := range []string{
				"net", "net/http", "crypto/tls", "crypto/x509", "encoding/gob", "os/exec", "os/user", "html/template", "text/template",
				"log/slog", "go/ast", "database/sql", // (context comes with os/signal, without which a closed pipe kills)
			} {
				if pkg == never {
					t.Errorf("%s: %s is linked", system, pkg)
				}
			}
			if strings.Contains(pkg, ".") && !strings.HasPrefix(pkg, "cmem/") && !strings.HasPrefix(pkg, "vendor/") && !strings.Contains(pkg, "entropy/v") && !strings.Contains(pkg, "/internal/") {
				t.Errorf("%s: %s is not of the standard library", system, pkg)
			}
			if pkg == "cmem/streams" || strings.HasPrefix(pkg, "cmem/projections") || strings.HasPrefix(pkg, "cmem/observer") || pkg == "cmem/ingest" || pkg == "cmem/ingest/spool/drain" {
				t.Errorf("%s: %s is linked", system, pkg)
			}
		}
	}
}

package worker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cmem/cmd/internal/api"
	"cmem/projections/records"
	"cmem/projections/search"
)

// examined is what a deep doctor finds, by code.
func examined(t *testing.T, n *Node) (codes []string, d api.Diagnosis) {
	t.Helper()
	out, err := n.Doctor(t.Context(), true, func(api.Line) {})
	if err != nil {
		t.Fatal(err)
	}
	d = out.(api.Diagnosis)
	for _, f := range d.Findings {
		codes = append(codes, f.Code)
		if f.What == "" || f.Next == "" {
			t.Errorf("%+v says too little", f)
		}
	}
	return codes, d
}

func TestTheDoctorFindsNothingWhereNothingIsWrong(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	defer closed(t, n)
	n.add(t, prompts("walrus-1", 20)...)
	if codes, d := examined(t, n); len(codes) > 0 || !d.Healthy {
		t.Errorf("%+v", d)
	}
}

func TestTheDoctorNamesWhatIsWrong(t *testing.T) {
	for code, spoil := range map[string]func(t *testing.T, n *Node){
		"folder.open": func(t *testing.T, n *Node) { must(t, os.Chmod(string(n.dir), 0o755)) },
		"spool.strange": func(t *testing.T, n *Node) {
			must(t, os.WriteFile(filepath.Join(n.dir.Spool(), "notes.txt"), nil, 0o600))
		},
		"spool.waiting": func(t *testing.T, n *Node) {
			name := filepath.Join(n.dir.Spool(), "1796091689439556603-29368-320dcc072c6d0bb9.json")
			must(t, os.WriteFile(name, []byte("{}"), 0o600))
			must(t, os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)))
		},
		"spool.held": func(t *testing.T, n *Node) {
			must(t, os.WriteFile(filepath.Join(n.dir.Held(), "1796091689439556603-29368-320dcc072c6d0bb9.json"), []byte("{}"), 0o600))
		},
		"spool.corrupt": func(t *testing.T, n *Node) {
			must(t, os.WriteFile(filepath.Join(n.dir.Corrupt(), "x.json"), []byte("{}"), 0o600))
		},
		"disk.reserve": func(t *testing.T, n *Node) { n.cfg.ReserveMB = 1 << 40 >> 20 << 10 },
		"log.gap": func(t *testing.T, n *Node) {
			block := filepath.Join(n.dir.Log(), "jetstream", "$G", "streams", "cmem", "msgs", "1.blk")
			data, err := os.ReadFile(block)
			must(t, err)
			data[bytes.Index(data, []byte("walrus number7"))] ^= 1
			must(t, os.WriteFile(block, data, 0o600))
		},
		"log.exchanged": func(t *testing.T, n *Node) {
			must(t, os.Rename(n.dir.Log(), n.dir.Log()+".away"))
			t.Cleanup(func() { _ = os.Rename(n.dir.Log()+".away", n.dir.Log()) })
		},
	} {
		t.Run(code, func(t *testing.T) {
			n := open(t, folder(t))
			defer n.Close()
			n.add(t, prompts("walrus-1", 20)...)
			spoil(t, n)
			if codes, d := examinedLight(t, n, code); !slices.Contains(codes, code) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// nothing knows no document.
type nothing struct{}

func (nothing) Document(records.Doc) (doc records.Document, ok bool, err error) {
	return doc, false, nil
}

func TestTheDoctorComparesTheIndexWithRecords(t *testing.T) {
	dir := folder(t)
	n := open(t, dir)
	n.add(t, prompts("walrus-1", 20)...)
	log := n.stream.Identity()
	closed(t, n)
	x, err := search.Open(filepath.Join(dir.Read(), "search"), search.Config{Source: nothing{}, Version: versions(), Log: log})
	must(t, err)
	at, err := x.Checkpoint()
	must(t, err)
	for d, err := range x.IDs() {
		must(t, err)
		must(t, x.Apply([]records.Change{{Doc: d, Position: at.Position, Deleted: true}}, at))
		break
	}
	must(t, x.Close())
	n = open(t, dir)
	defer closed(t, n)
	if codes, d := examined(t, n); !slices.Equal(codes, []string{"search.documents"}) || d.Healthy {
		t.Errorf("%+v", d)
	}
}

// examinedLight does not read the log where it is gone.
func examinedLight(t *testing.T, n *Node, code string) ([]string, api.Diagnosis) {
	t.Helper()
	if code != "log.exchanged" {
		return examined(t, n)
	}
	out, err := n.Doctor(t.Context(), false, func(api.Line) {})
	must(t, err)
	d := out.(api.Diagnosis)
	return []string{d.Findings[len(d.Findings)-1].Code}, d
}

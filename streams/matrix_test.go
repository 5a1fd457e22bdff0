package streams_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmem/streams"
	"cmem/streams/block"
	"cmem/streams/envelope"
	"cmem/streams/streamstest"
)

// The damage matrix: testdata/damage.tsv says for each kind of damage to the log's
// files, after a clean and after an unclean stop, how many records besides the
// damaged ones are lost (never one), how many are named, and where.

const (
	matrixEvents = 2600 // three blocks
	matrixBody   = 8 << 10
)

// matrixLog is the log that each row damages a copy of.
type matrixLog struct {
	t         *testing.T
	dir, head string
	blocks    int
	envs      []envelope.Envelope
}

func newMatrixLog(t *testing.T) *matrixLog {
	t.Helper()
	envs := streamstest.Envelopes("s", matrixEvents)
	random := rand.NewChaCha8([32]byte{1})
	for i := range envs {
		body := make([]byte, matrixBody)
		random.Read(body)
		envs[i].Body = fmt.Appendf(nil, `"<%06d>%x"`, i, body[:matrixBody/2])
		envs[i].ContentType = "application/octet-stream"
		copy(envs[i].Body[10:], body)
	}
	return newLogOf(t, 3, envs)
}

// newLogOf makes a log of the envelopes, which has so many blocks.
func newLogOf(t *testing.T, blocks int, envs []envelope.Envelope) *matrixLog {
	m := &matrixLog{t: t, dir: filepath.Join(t.TempDir(), "log"), blocks: blocks, envs: envs}
	m.head = filepath.Join(filepath.Dir(m.dir), "head")
	l := m.open(m.dir, m.head)
	streamstest.Append(t, l, m.envs...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *matrixLog) open(dir, head string) *streams.Log {
	m.t.Helper()
	l, err := streams.Open(m.t.Context(), streams.Config{Dir: dir, HeadFile: head, Logger: streamstest.Logger(m.t)})
	if err != nil {
		m.t.Fatal(err)
	}
	return l
}

// damages are done to the folder of a stream that has blocks 1, 2 and 3. Each
// gives the sequences whose records it hit.
type damageRow struct {
	name string
	do   func(d *damager)
}

// damager does damage and notes what was hit.
type damager struct {
	t      *testing.T
	stream string
	hit    map[uint64]bool
}

func (d *damager) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// place gives the copy the block: the same file, as long as nothing writes to it.
func (d *damager) place(from string, n, of int) {
	from = filepath.Join(from, "jetstream", "$G", "streams", "cmem", "msgs", strconv.Itoa(n)+".blk")
	if n < of {
		d.must(os.Link(from, d.path(n)))
		return
	}
	data, err := os.ReadFile(from)
	d.must(err)
	d.write(n, data)
}

// write makes a new file: the old one may be another log's too.
func (d *damager) write(n int, data []byte) {
	d.must(os.RemoveAll(d.path(n)))
	d.must(os.WriteFile(d.path(n), data, 0o600))
}

// noBlocks hides the blocks of a log's folder.
type noBlocks struct{ fs.FS }

func (n noBlocks) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(n.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".blk") || e.Name() == "net" }), err
}

func (d *damager) path(n int) string { return filepath.Join(d.stream, "msgs", strconv.Itoa(n)+".blk") }

// records are the records of a block.
func (d *damager) records(n int) (data []byte, all []block.Record) {
	data, err := os.ReadFile(d.path(n))
	d.must(err)
	_, err = block.Scan(data, "cmem", n, func(r block.Record) { all = append(all, r) })
	d.must(err)
	return data, all
}

// bit flips one bit of a record: at is where, from the record's begin or, negative,
// from its end.
func bit(block int, record string, at int) func(*damager) {
	return func(d *damager) {
		data, all := d.records(block)
		r := all[map[string]int{"first": 0, "middle": len(all) / 2, "last": len(all) - 1}[record]]
		if at < 0 {
			at += len(r.Raw)
		}
		data[r.Offset+at] ^= 4
		d.hit[r.Sequence] = true
		d.write(block, data)
	}
}

func (d *damager) hitAll(n int) {
	_, all := d.records(n)
	for _, r := range all {
		d.hit[r.Sequence] = true
	}
}

func deleteBlock(n int) func(*damager) {
	return func(d *damager) { d.hitAll(n); d.must(os.Remove(d.path(n))) }
}

func edit(n int, change func(data []byte, all []block.Record) []byte) func(*damager) {
	return func(d *damager) {
		data, all := d.records(n)
		d.write(n, change(data, all))
		still := map[uint64]bool{}
		_, now := d.records(n)
		for _, r := range now {
			still[r.Sequence] = true
		}
		for _, r := range all {
			if !still[r.Sequence] {
				d.hit[r.Sequence] = true
			}
		}
	}
}

func file(name string, change func(path string) error) func(*damager) {
	return func(d *damager) { d.must(change(filepath.Join(d.stream, name))) }
}

func flipFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data[len(data)/2] ^= 4
	return os.WriteFile(path, data, 0o600)
}

func damageRows() (all []damageRow) {
	for _, b := range []struct {
		name string
		n    int
	}{{"old", 1}, {"middle", 2}, {"newest", 3}} {
		for name, at := range map[string]int{"length": 1, "sequence": 5, "time": 13, "subject": 24, "attributes": 80, "payload": -2000, "checksum": -3} {
			all = append(all, damageRow{"bit in " + name + " of a record in the " + b.name + " block", bit(b.n, "middle", at)})
		}
		all = append(all,
			damageRow{"bit in the first record of the " + b.name + " block", bit(b.n, "first", -100)},
			damageRow{"bit in the last record of the " + b.name + " block", bit(b.n, "last", -100)},
			damageRow{b.name + " block deleted", deleteBlock(b.n)},
			damageRow{b.name + " block of zeros", edit(b.n, func(data []byte, _ []block.Record) []byte { return make([]byte, len(data)) })},
			damageRow{b.name + " block empty", edit(b.n, func([]byte, []block.Record) []byte { return nil })},
			damageRow{"page of zeros in the " + b.name + " block", edit(b.n, func(data []byte, all []block.Record) []byte {
				clear(data[len(data)/2/4096*4096:][:4096])
				return data
			})},
			damageRow{b.name + " block cut in half", edit(b.n, func(data []byte, _ []block.Record) []byte { return data[:len(data)/2] })},
			damageRow{"4 KB of zeros behind the " + b.name + " block", edit(b.n, func(data []byte, _ []block.Record) []byte { return append(data, make([]byte, 4096)...) })},
		)
	}
	return append(all,
		damageRow{"index.db deleted", file("msgs/index.db", os.Remove)},
		damageRow{"index.db flipped", file("msgs/index.db", flipFile)},
		damageRow{"meta.inf deleted", file("meta.inf", os.Remove)},
		damageRow{"meta.inf flipped", file("meta.inf", flipFile)},
		damageRow{"meta.sum flipped", file("meta.sum", flipFile)},
		damageRow{"whole stream folder deleted", func(d *damager) { d.must(os.RemoveAll(d.stream)) }},
	)
}

func TestDamageMatrix(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("a hundred copies of a log of 21 MB")
	}
	m := newMatrixLog(t)
	rows := damageRows()
	slices.SortStableFunc(rows, func(a, b damageRow) int { return strings.Compare(a.name, b.name) })
	got := "damage\tstop\tdamaged\tlost besides\tnamed\twhere\tnext\n"
	for _, stop := range []string{"clean", "unclean"} {
		for _, row := range rows {
			got += row.name + "\t" + stop + "\t" + m.try(row, stop == "clean") + "\n"
		}
	}
	tails := newLogOf(t, 1, streamstest.Envelopes("s", 20))
	for _, stop := range []string{"clean", "unclean"} {
		got += tails.cutTail(stop)
	}
	compareTable(t, "testdata/damage.tsv", got)
}

// cutTail cuts the last record at each of its bytes, after a clean stop at every
// fourth; what follows one another with the same outcome is one row.
func (m *matrixLog) cutTail(stop string) (rows string) {
	d := damager{t: m.t, stream: filepath.Join(m.dir, "jetstream", "$G", "streams", "cmem")}
	_, all := d.records(1)
	last := all[len(all)-1]
	from, outcome := 0, ""
	for keep := 0; keep <= len(last.Raw); keep++ {
		now := ""
		if stop == "clean" && keep > 4 && keep%4 != 0 && keep < len(last.Raw)-1 {
			continue
		}
		if keep < len(last.Raw) {
			now = m.try(damageRow{"", edit(1, func(data []byte, _ []block.Record) []byte { return data[:last.Offset+keep] })}, stop == "clean")
		}
		if now != outcome && keep > 0 {
			rows += fmt.Sprintf("last record of %d bytes cut behind %d to %d\t%s\t%s\n", len(last.Raw), from, keep-1, stop, outcome)
		}
		if now != outcome {
			from, outcome = keep, now
		}
	}
	return rows
}

func compareTable(t *testing.T, path, got string) {
	t.Helper()
	t.Log("\n" + got)
	if os.Getenv("CMEM_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s says otherwise:\n%s", path, want)
	}
}

// try does one row on a copy and says what became of it.
func (m *matrixLog) try(row damageRow, clean bool) string {
	root := m.t.TempDir()
	dir, head := filepath.Join(root, "log"), filepath.Join(root, "head")
	d := &damager{t: m.t, stream: filepath.Join(dir, "jetstream", "$G", "streams", "cmem"), hit: map[uint64]bool{}}
	d.must(os.CopyFS(dir, noBlocks{os.DirFS(m.dir)}))
	for n := 1; n <= m.blocks; n++ {
		d.place(m.dir, n, m.blocks)
	}
	data, err := os.ReadFile(m.head)
	d.must(err)
	d.must(os.WriteFile(head, data, 0o600))
	if !clean {
		d.must(os.Remove(filepath.Join(dir, "clean")))
	}
	row.do(d)
	defer os.RemoveAll(root)
	return m.outcome(d, dir, head)
}

// outcome opens the damaged log as a worker does: what the start does not find the
// check of blocks does, and the next start mends.
func (m *matrixLog) outcome(d *damager, dir, head string) string {
	where := "at the start"
	l, err := streams.Open(m.t.Context(), streams.Config{Dir: dir, HeadFile: head, Logger: streamstest.Logger(m.t)})
	if err != nil {
		if !errors.Is(err, streams.ErrMissing) {
			m.t.Errorf("open: %v", err)
		}
		return "0\t0\t0\trefused: " + lastPart(err) + "\t-"
	}
	found := l.Opening().Found
	if l.Halted() != nil {
		l, where = m.accept(d, l, dir, head), "halted; mended when accepted"
	} else if findings, err := l.Findings(); err != nil || len(findings) == 0 {
		d.must(err)
		where = "by the check"
		_, err := l.CheckBlocks(m.t.Context(), func(context.Context, time.Duration) error { return nil })
		d.must(err)
		gaps := len(l.Gaps())
		d.must(l.Close())
		l = m.open(dir, head)
		if findings, err = l.Findings(); err != nil || len(findings) == 0 {
			d.must(err)
			where = "nothing to find"
			if strings.Contains(strings.Join(found, " "), "put back") {
				where = "put back at the start"
			}
			if gaps > 0 {
				m.t.Errorf("the check found %d gaps, the next start nothing", gaps)
			}
		}
	}
	defer l.Close()
	d.must(l.TellDamage(m.t.Context(), nil))
	return m.counts(d, l, where)
}

// accept takes a log that halted as it is, once nothing of it was changed.
func (m *matrixLog) accept(d *damager, l *streams.Log, dir, head string) *streams.Log {
	if _, err := l.Append(m.t.Context(), streamstest.Envelope("later", 0)); !errors.Is(err, streams.ErrHalted) {
		m.t.Errorf("a halted log took something in: %v", err)
	}
	d.must(l.Close())
	l = m.open(dir, head)
	if l.Halted() == nil {
		m.t.Error("the second start does not know why it halted")
	}
	d.must(l.Close())
	l, err := streams.Open(m.t.Context(), streams.Config{Dir: dir, HeadFile: head, Accept: true, Logger: streamstest.Logger(m.t)})
	d.must(err)
	d.must(l.Close())
	l = m.open(dir, head)
	if l.Halted() != nil {
		m.t.Errorf("after it was accepted: %v", l.Halted())
	}
	return l
}

func lastPart(err error) string {
	all := strings.Split(err.Error(), ": ")
	return all[len(all)-1]
}

// counts reads the log and compares it with what was appended.
func (m *matrixLog) counts(d *damager, l *streams.Log, where string) string {
	have := map[string]bool{}
	for _, r := range streamstest.Records(m.t, l, 0) {
		have[r.Envelope.ID] = true
		if at := int(r.Position); at <= len(m.envs) && (r.Envelope.ID != m.envs[at-1].ID || !bytes.Equal(r.Envelope.Body, m.envs[at-1].Body)) {
			m.t.Errorf("position %d has another event than it had", at)
		}
	}
	besides := 0
	for i, e := range m.envs {
		if !have[e.ID] && !d.hit[uint64(i+1)] {
			besides++
		}
	}
	named := map[uint64]bool{}
	findings, err := l.Findings()
	d.must(err)
	for _, f := range findings {
		for _, lost := range f.Lost {
			for p := lost.First; p <= lost.Last; p++ {
				named[uint64(p)] = true
			}
		}
	}
	if !maps.Equal(named, d.hit) {
		m.t.Errorf("hit %d, named %d: %v", len(d.hit), len(named), findings)
	}
	at := streamstest.Append(m.t, l, streamstest.Envelope("later", 1))
	if r, err := l.Verify(m.t.Context(), nil); err != nil || !r.OK() {
		m.t.Errorf("verify: %d gaps, %d broken, %v", len(r.Gaps), len(r.Broken), err)
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s\t%d", len(d.hit), besides, len(named), where, at[0])
}

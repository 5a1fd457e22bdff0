package block

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

const stream = "cmem"

// made is a block of messages from 1 to n, and where each begins.
func made(t testing.TB, n int) (data []byte, starts []int) {
	t.Helper()
	s, err := newSums(stream, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		starts = append(starts, len(data))
		header := fmt.Sprintf("NATS/1.0\r\nce-id: id-%d\r\nce-type: hook.received\r\n\r\n", i)
		data = s.appendMessage(data, uint64(i), int64(1000+i), "cmem.hook-received.0a", header, fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, bytes.Repeat([]byte("x"), i%90)))
	}
	return data, append(starts, len(data))
}

func (s *sums) appendMessage(to []byte, sequence uint64, time int64, subject, header, body string) []byte {
	var head [headBytes]byte
	n := least + len(subject) + 4 + len(header) + len(body)
	binary.LittleEndian.PutUint32(head[0:], uint32(n)|headerBit)
	binary.LittleEndian.PutUint64(head[4:], sequence)
	binary.LittleEndian.PutUint64(head[12:], uint64(time))
	binary.LittleEndian.PutUint16(head[20:], uint16(len(subject)))
	sum := s.of(head[4:20], []byte(subject), []byte(header), []byte(body))
	to = append(append(to, head[:]...), subject...)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(header)))
	to = append(append(to, header...), body...)
	return append(to, sum...)
}

func scanned(t testing.TB, data []byte) (r Report, sequences []uint64) {
	t.Helper()
	r, err := Scan(data, stream, 1, func(r Record) {
		if r.Kind == Message {
			sequences = append(sequences, r.Sequence)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, sequences
}

func upto(n uint64) (all []uint64) {
	for i := uint64(1); i <= n; i++ {
		all = append(all, i)
	}
	return all
}

func TestAWholeBlockHasNoDamage(t *testing.T) {
	data, _ := made(t, 50)
	r, got := scanned(t, data)
	if len(r.Damage) > 0 || r.First != 1 || r.Last != 50 || r.LastTime != 1050 || !slices.Equal(got, upto(50)) {
		t.Errorf("%+v %v", r, got)
	}
	mended, erased, err := Mend(data, stream, 1, 1, 50)
	if err != nil || len(erased) > 0 || !bytes.Equal(mended, data) {
		t.Errorf("mending changed it: %v %v", erased, err)
	}
}

// Each bit of a record flipped: that record is lost and no other, and the mended
// block has all sequences.
func TestAFlippedBitLosesOneRecord(t *testing.T) {
	for _, bad := range []int{1, 5} {
		flipEachBit(t, bad)
	}
}

func flipEachBit(t *testing.T, bad int) {
	const n = 12
	data, starts := made(t, n)
	for at := starts[bad-1]; at < starts[bad]; at++ {
		for bit := range 8 {
			data[at] ^= 1 << bit
			r, got := scanned(t, data)
			want := slices.DeleteFunc(upto(n), func(s uint64) bool { return s == uint64(bad) })
			// A header's length is not under the checksum: a flip there may leave it whole.
			if !slices.Equal(got, want) && (len(r.Damage) > 0 || len(got) != n) {
				t.Fatalf("byte %d bit %d: got %v, damage %+v", at, bit, got, r.Damage)
			}
			if d := r.Damage; len(d) > 1 || len(d) == 1 && (d[0].Offset != starts[bad-1] || d[0].Length != starts[bad]-starts[bad-1] || d[0].After != uint64(bad-1) || d[0].Before != uint64(bad+1)) {
				t.Fatalf("byte %d bit %d: %+v", at, bit, d)
			}
			checkMended(t, data, n, len(r.Damage) > 0, uint64(bad))
			data[at] ^= 1 << bit
		}
	}
}

func checkMended(t *testing.T, data []byte, n uint64, damaged bool, bad uint64) {
	t.Helper()
	mended, erased, err := Mend(data, stream, 1, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	if damaged && !slices.Equal(erased, []Span{{bad, bad}}) {
		t.Fatalf("erased %v", erased)
	}
	r, _ := scanned(t, mended)
	if len(r.Damage) > 0 || r.First != 1 || r.Last != n || r.Records != int(n) {
		t.Fatalf("mended: %+v", r)
	}
}

func TestATailThatIsCutAnywhereKeepsWhatIsBefore(t *testing.T) {
	data, starts := made(t, 6)
	for end := starts[5]; end < len(data); end++ {
		r, got := scanned(t, data[:end])
		if !slices.Equal(got, upto(5)) {
			t.Fatalf("cut at %d: %v", end, got)
		}
		if end > starts[5] && (len(r.Damage) != 1 || r.Damage[0].Before != 0 || r.Damage[0].After != 5) {
			t.Fatalf("cut at %d: %+v", end, r.Damage)
		}
		mended, erased, err := Mend(data[:end], stream, 1, 1, 6)
		if err != nil || !slices.Equal(erased, []Span{{6, 6}}) {
			t.Fatal(erased, err)
		}
		if r, _ := scanned(t, mended); r.Last != 6 || len(r.Damage) > 0 {
			t.Fatalf("%+v", r)
		}
		if mended, _, _ = Mend(data[:end], stream, 1, 1, 5); !bytes.Equal(mended, data[:starts[5]]) {
			t.Fatal("what was never acknowledged is not cut off")
		}
	}
}

func TestZerosAndNoiseBetweenRecordsAreDamageOnly(t *testing.T) {
	data, starts := made(t, 20)
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	for name, junk := range map[string][]byte{"zeros": make([]byte, 4096), "noise": noise, "text": bytes.Repeat([]byte("cmem."), 700)} {
		for _, at := range []int{0, starts[7], len(data)} {
			r, got := scanned(t, slices.Concat(data[:at], junk, data[at:]))
			if !slices.Equal(got, upto(20)) || len(r.Damage) == 0 {
				t.Errorf("%s at %d: %v", name, at, got)
			}
		}
	}
}

// A message may hold the bytes of a record: it is part of it and nothing else.
func TestARecordWithinADamagedOneIsNotTakenForOne(t *testing.T) {
	s, err := newSums(stream, 1)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := made(t, 3)
	inner := s.appendMessage(nil, 2, 5, "cmem.x.y", "NATS/1.0\r\n\r\n", "inner")
	at := len(data)
	data = s.appendMessage(data, 4, 6, "cmem.x.y", "NATS/1.0\r\n\r\n", string(inner))
	data = s.appendMessage(data, 5, 7, "cmem.x.y", "NATS/1.0\r\n\r\n", "five")
	data[at+10] ^= 1
	if _, got := scanned(t, data); !slices.Equal(got, []uint64{1, 2, 3, 5}) {
		t.Errorf("%v", got)
	}
}

func TestWhatCanStillBeReadIsTold(t *testing.T) {
	data, starts := made(t, 3)
	data[starts[2]-20] ^= 1
	r, _ := scanned(t, data)
	if len(r.Damage) != 1 || len(r.Damage[0].Headers) != 1 || r.Damage[0].Headers[0]["ce-id"][0] != "id-2" {
		t.Errorf("%+v", r.Damage)
	}
}

func FuzzScan(f *testing.F) {
	data, starts := made(f, 4)
	f.Add(data)
	f.Add(data[starts[1]+3:])
	f.Add(append(make([]byte, 100), data...))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		r, err := Scan(data, stream, 1, func(r Record) {
			if r.Offset < at || !bytes.Equal(r.Raw, data[r.Offset:r.Offset+len(r.Raw)]) {
				t.Fatal("a record is not where it says")
			}
			at = r.Offset + len(r.Raw)
		})
		if err != nil {
			t.Fatal(err)
		}
		mended, _, err := Mend(data, stream, 1, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Scan(mended, stream, 1, nil); err != nil || len(again.Damage) > 0 || again.Last != r.Last {
			t.Fatalf("mended: %+v %v, before %+v", again, err, r)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	s, err := newSums(stream, 1)
	if err != nil {
		b.Fatal(err)
	}
	var data []byte
	for i := uint64(1); len(data) < 8<<20; i++ {
		data = s.appendMessage(data, i, 1, "cmem.hook-received.0a", "NATS/1.0\r\nce-id: x\r\n\r\n", string(bytes.Repeat([]byte{byte(i)}, 900)))
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if r, err := Scan(data, stream, 1, nil); err != nil || len(r.Damage) > 0 {
			b.Fatal(r.Damage, err)
		}
	}
}

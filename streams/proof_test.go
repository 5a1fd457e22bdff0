package streams

import (
	"bytes"
	"crypto/sha256"
	"os"
	"testing"

	"github.com/minio/highwayhash"

	"cmem/streams/block"
	"cmem/streams/envelope"
)

// proofEnvelopes have bodies that are compressed, plain, and cut into parts, and
// attributes that are encoded.
func proofEnvelopes() []envelope.Envelope {
	envs := numbered(0, 40)
	envs[7].Body = bytes.Repeat([]byte("said again and again "), 100)
	envs[8].Body = noise(partSize * 2)
	envs[9].Agent, envs[9].Turn = "an agent, 100 %", "ünïcode \"quoted\""
	envs[10].Extra = map[string]string{"zone": "UTC", "aaa": "first"}
	envs[11].File, envs[11].Offset = "a file.jsonl", 0
	return envs
}

func noise(n int) []byte {
	out := make([]byte, 0, n+sha256.Size)
	for sum := sha256.Sum256(nil); len(out) < n; sum = sha256.Sum256(sum[:]) {
		out = append(out, sum[:]...)
	}
	return out[:n]
}

// What cmem wrote is proven by its links alone; only values in parts are decoded.
func TestVerifyDecodesOnlyWhatIsInParts(t *testing.T) {
	l := opened(t, t.TempDir(), nil)
	envs := proofEnvelopes()
	if _, err := l.Append(t.Context(), envs...); err != nil {
		t.Fatal(err)
	}
	var ids []string
	v := verifier{log: l, head: uint64(l.Head().Position), j: l.joiner(0), each: func(some []string, _ Position) error {
		ids = append(ids, some...)
		return nil
	}}
	v.j.gap = v.gap
	if err := v.run(t.Context()); err != nil || !v.report.OK() {
		t.Fatalf("%+v, %v", v.report, err)
	}
	if v.report.Values != int64(len(envs)) || v.proven != len(envs)-1 {
		t.Errorf("%d values, %d proven, want %d and all but one", v.report.Values, v.proven, len(envs))
	}
	for i := range envs {
		if ids[i] != envs[i].ID {
			t.Errorf("id %d is %q, want %q", i, ids[i], envs[i].ID)
		}
	}
}

// Whoever can write a block can make its checksums fit; the link of what was
// changed then does not.
func TestVerifyNamesWhatWasChangedUnderAValidChecksum(t *testing.T) {
	for name, change := range map[string][2]string{
		"a body":       {`{"n":20}`, `{"n":27}`},
		"an id":        {"ce-id: id-20\r\n", "ce-id: id-27\r\n"},
		"a type":       {"ce-type: hook.received", "ce-type: hook.deceived"},
		"a name":       {"ce-subject: s\r\n", "ce-subjekt: s\r\n"},
		"a newer form": {"ce-specversion: 1.0", "ce-specversion: 2.0"},
		"a link":       {"ce-chain: ", "ce-chain: \x00"},
		"a nonce":      {"ce-nonce: ", "ce-nonce: \x00"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l := opened(t, dir, nil)
			if _, err := l.Append(t.Context(), numbered(0, 50)...); err != nil {
				t.Fatal(err)
			}
			changeRecord(t, layout{dir}.block("1.blk"), 21, change[0], change[1])
			r, err := l.Verify(t.Context(), nil)
			if err != nil || len(r.Broken)+len(r.Gaps) != 1 || r.Values+int64(len(r.Gaps)) != 50 {
				t.Fatalf("it was changed, and verify says %+v, %v", r, err)
			}
			if at := append(r.Broken, 0)[0] + append(r.Gaps, Gap{})[0].First; at != 21 {
				t.Errorf("position %d is told, want 21", at)
			}
		})
	}
}

// changeRecord writes other bytes into one record and gives it the checksum that
// fits.
func changeRecord(t *testing.T, path string, sequence uint64, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	_, err = block.Scan(data, streamName, 1, func(r block.Record) {
		if at := bytes.Index(r.Raw, []byte(from)); r.Sequence == sequence && at >= 0 {
			copy(r.Raw[at:], to)
			resum(t, r)
			changed = true
		}
	})
	if err != nil || !changed {
		t.Fatalf("%q is not in message %d, %v", from, sequence, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func resum(t *testing.T, r block.Record) {
	t.Helper()
	key := sha256.Sum256([]byte(streamName + "-1"))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{r.Raw[4:20], r.Subject, r.Header, r.Data} {
		h.Write(part)
	}
	copy(r.Raw[len(r.Raw)-highwayhash.Size64:], h.Sum(nil))
}

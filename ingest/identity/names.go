package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// HookID names a hook event that has an id from its host.
func HookID(host, event, hostID string) string {
	return word(host) + "/" + word(event) + "/" + word(hostID)
}

// ContentID names a hook event without one: the hash of its raw bytes
// (Key.ContentHash) at its capture time, both from the spool file's name, so
// that handing it over again gives the same name.
func ContentID(host, event, contentHash string, captureNS int64) string {
	return word(host) + "/" + word(event) + "/" + word(contentHash) + "@" + strconv.FormatInt(captureNS, 10)
}

// TranscriptID names a transcript record that has a stable id.
func TranscriptID(host, typ, recordID string) string {
	return word(host) + "/" + word(typ) + "/" + word(recordID)
}

// OccurrenceID names a transcript record without one: the n-th of equal bytes
// of its type in its session's file, counted from 1.
func (k Key) OccurrenceID(host, session, typ string, raw []byte, n int) string {
	sum := k.sum(16, []byte(session), []byte{0}, []byte(typ), []byte{0}, raw)
	return word(host) + "/" + word(typ) + "/" + sum + "#" + strconv.Itoa(n)
}

// FactKey names what a fact is about by the host's id, for ids of a known
// random form (KnownForm). For any other id it is "": such ids repeat, use
// ScopedKey.
func FactKey(host, id string) string {
	if !KnownForm(id) {
		return ""
	}
	return word(host) + "/" + id
}

// ScopedKey names what a fact is about where no id can: by its session, tool
// and canonical arguments (CanonicalJSON). Equal calls share it; the n-th one's
// name is this and its ordinal.
func ScopedKey(host, session, tool string, canonicalArgs []byte) string {
	sum := sha256.Sum256(canonicalArgs)
	return word(host) + "/" + word(session) + "/" + word(tool) + "/" + hex.EncodeToString(sum[:16])
}

// maxWord is the longest id that goes into a name as it is, in bytes.
const maxWord = 200

// word gives a part of a name: s itself if it is a plain word, else its hash.
// The slash separates parts and '~' marks a hash, so neither is plain: different
// parts never make the same name.
func word(s string) string {
	if s != "" && len(s) <= maxWord && strings.IndexFunc(s, odd) < 0 {
		return s
	}
	if s == "" {
		return "~"
	}
	sum := sha256.Sum256([]byte(s))
	return "~" + hex.EncodeToString(sum[:16])
}

func odd(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("._:-+=@#,$", r)
}

// KnownForm says that an id is random by its form, so that two things never
// share it: toolu_…, srvtoolu_…, prt_…, call_ and at least 20 letters or digits,
// exec- and a uuid, a uuid.
func KnownForm(id string) bool {
	if len(id) > maxWord {
		return false
	}
	for _, prefix := range []string{"toolu_", "srvtoolu_", "prt_"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return rest != "" && strings.IndexFunc(rest, notIDChar) < 0
		}
	}
	if rest, ok := strings.CutPrefix(id, "call_"); ok {
		return len(rest) >= 20 && strings.IndexFunc(rest, notAlphanumeric) < 0
	}
	return isUUID(strings.TrimPrefix(id, "exec-"))
}

func notAlphanumeric(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
}

func notIDChar(r rune) bool { return notAlphanumeric(r) && r != '_' && r != '-' }

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if _, err := strconv.ParseUint(s[i:i+1], 16, 8); err != nil {
				return false
			}
		}
	}
	return true
}

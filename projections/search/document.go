package search

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmem/projections/records"
	"cmem/streams"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
)

// letters name the kinds in ids and filters.
var letters = map[records.DocKind]string{
	records.PromptDoc: "p", records.TextDoc: "a", records.TurnDoc: "t",
	records.ObservationDoc: "o", records.SummaryDoc: "s",
}

// docID is the id of d in the index.
func docID(d records.Doc) (string, error) {
	l, ok := letters[d.Kind]
	if !ok {
		return "", fmt.Errorf("no such kind of document: %q", d.Kind)
	}
	return l + strconv.FormatInt(d.ID, 10), nil
}

func parseID(id string) (records.Doc, error) {
	for k, l := range letters {
		if rest, ok := strings.CutPrefix(id, l); ok {
			n, err := strconv.ParseInt(rest, 10, 64)
			return records.Doc{Kind: k, ID: n}, err
		}
	}
	return records.Doc{}, fmt.Errorf("%w: document id %q", ErrDamaged, id)
}

// content is a document as it is indexed.
type content struct{ records.Document }

// newDocument makes what scorch indexes of c, using a for its texts.
func newDocument(a *analyzer, id string, c content) *document.Document {
	w := newWords(a, c.size())
	w.add(c.Title, titleWeight)
	for _, f := range c.Facts {
		w.add(f, factWeight)
	}
	w.add(c.Text, textWeight)
	for _, p := range slices.Concat(c.Files, c.Paths) {
		w.add(p, pathWeight)
	}
	d := document.NewDocument(id)
	d.AddField(w.field)
	d.AddField(keywords(filterName, c.filters(), 0))
	d.AddField(keywords(orderName, []string{order{c.Position, c.Time.UnixMilli(), c.hash()}.encode()}, index.DocValues))
	return d
}

// size is about how much text there is to index.
func (c *content) size() int {
	n := len(c.Title) + len(c.Text)
	for _, l := range [][]string{c.Facts, c.Files, c.Paths} {
		for _, s := range l {
			n += len(s)
		}
	}
	return n
}

// order is what a document is sorted by and told apart by.
type order struct {
	position streams.Position
	milli    int64 // of its time, since 1970; or untold
	hash     uint64
}

// untold is the time of what has none.
const untold = 0

func (o order) time() time.Time {
	if o.milli == untold {
		return time.Time{}
	}
	return time.UnixMilli(o.milli).UTC()
}

// encode packs seven bits a byte: sortable, and free of the byte that ends a
// doc value.
func (o order) encode() string {
	b := make([]byte, 0, 24)
	for _, v := range [3]uint64{uint64(o.position), uint64(max(o.milli, 0)), o.hash} {
		for shift := 49; shift >= 0; shift -= 7 {
			b = append(b, byte(v>>shift&0x7f))
		}
	}
	return string(b)
}

func decodeOrder(b []byte) (order, bool) {
	if len(b) != 24 {
		return order{}, false
	}
	var v [3]uint64
	for i, c := range b {
		v[i/8] = v[i/8]<<7 | uint64(c)
	}
	return order{streams.Position(v[0]), int64(v[1]), v[2]}, true
}

// hash is over all that is indexed or filtered by: 56 bits.
func (c *content) hash() uint64 {
	h := sha256.New()
	list(h, c.Title, c.Text, c.Project, c.Host, c.Session, c.Type, c.Time.UTC().Format(time.RFC3339Nano))
	for _, l := range [][]string{c.Facts, c.Concepts, c.Files, c.Paths} {
		list(h, l...)
	}
	var sum [sha256.Size]byte
	return binary.BigEndian.Uint64(h.Sum(sum[:0])) >> 8
}

// list writes strings so that no two lists are written alike.
func list(h hash.Hash, l ...string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(l)))
	h.Write(n[:])
	for _, s := range l {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		io.WriteString(h, s)
	}
}

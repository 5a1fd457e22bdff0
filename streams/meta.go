package streams

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/minio/highwayhash"

	"cmem/streams/durable"
)

// The server keeps the stream's settings in two files, and takes a stream whose
// settings it cannot read for none. They are the same in every log, so what is
// damaged of them can be had again.
var metaFiles = []string{"meta.inf", "meta.sum"}

// mendMeta puts the settings back where blocks are there and they are not whole.
func (l *Log) mendMeta(ctx context.Context) error {
	if metaIsWhole(l.layout.stream()) {
		return nil
	}
	if !l.layout.hasBlocks() {
		return l.dropHalfMade()
	}
	if err := l.keepMeta(); err != nil {
		return fmt.Errorf("damaged settings of the stream are not replaced before a copy of them is kept: %w", err)
	}
	l.find("the stream's settings (meta.inf) were damaged or gone and were put back")
	nets, err := l.layout.listNets()
	if err != nil {
		return err
	}
	for _, n := range slices.Backward(nets) {
		if net := filepath.Join(l.layout.nets(), strconv.Itoa(n)); metaIsWhole(net) {
			durable.Reached("log.settings-from-net")
			return l.takeMeta(net)
		}
	}
	durable.Reached("log.settings-made")
	return l.makeMeta(ctx)
}

// dropHalfMade clears what a first start left that died while the server made the
// stream: nothing was in it. The server takes settings that are there for whole and
// would never write the rest of them.
func (l *Log) dropHalfMade() error {
	if l.identity.Stream {
		return nil // an alarm, see findStream
	}
	durable.Reached("log.half-made")
	for _, name := range metaFiles {
		if err := durable.Remove(filepath.Join(l.layout.stream(), name)); err != nil {
			return err
		}
	}
	return nil
}

// metaIsWhole: meta.sum is the HighwayHash-64 of meta.inf in hex, keyed with
// SHA-256 of the stream's name.
func metaIsWhole(dir string) bool {
	info, err := os.ReadFile(filepath.Join(dir, metaFiles[0]))
	sum, err2 := os.ReadFile(filepath.Join(dir, metaFiles[1]))
	if err != nil || err2 != nil || len(info) == 0 {
		return false
	}
	key := sha256.Sum256([]byte(streamName))
	h, err := highwayhash.New64(key[:])
	if err != nil {
		return false
	}
	h.Write(info)
	return bytes.Equal(sum, []byte(hex.EncodeToString(h.Sum(nil))))
}

func (l *Log) keepMeta() error {
	dir := filepath.Join(l.layout.evidence(), time.Now().UTC().Format(evidenceTime)+"-meta")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range metaFiles {
		err := copyFile(filepath.Join(dir, name), filepath.Join(l.layout.stream(), name), true)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(l.layout.evidence()))
}

func (l *Log) takeMeta(from string) error {
	for _, name := range metaFiles {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := durable.WriteFileVia(l.layout.evidence(), filepath.Join(l.layout.stream(), name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// makeMeta has a server of its own make the settings of an empty stream.
func (l *Log) makeMeta(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp(l.layout.dir, durable.TempPattern)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := startServer(layout{dir}, serverLog{Logger: l.log}, l.log)
	if err != nil {
		return err
	}
	err = s.create(ctx)
	s.stop()
	if err != nil {
		return err
	}
	return l.takeMeta(layout{dir}.stream())
}

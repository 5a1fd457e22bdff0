package worker

import (
	"io/fs"
	"os"
	"path/filepath"

	"cmem/cmd/internal/api"
	"cmem/streams/durable"
)

// sizes says where the bytes of the data folder are. What cannot be read counts as
// nothing.
func (n *Node) sizes() api.DiskStats {
	log := n.dir.Log()
	free, _ := durable.Free(string(n.dir))
	return api.DiskStats{
		Log: size(filepath.Join(log, "jetstream")), Models: size(n.dir.Read()), Spool: size(n.dir.Spool()),
		Evidence: size(filepath.Join(log, "evidence")), Nets: netSize(log), Free: free,
	}
}

// netSize sums the files of nets that are not also the log's: most of them are.
func netSize(log string) (sum int64) {
	blocks, err := filepath.Glob(filepath.Join(log, "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil {
		return 0
	}
	shared := map[string]fs.FileInfo{}
	for _, b := range blocks {
		if info, err := os.Stat(b); err == nil {
			shared[filepath.Base(b)] = info
		}
	}
	_ = filepath.WalkDir(filepath.Join(log, "net"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && !os.SameFile(info, shared[d.Name()]) {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

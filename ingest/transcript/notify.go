package transcript

import (
	"github.com/fsnotify/fsnotify"
)

// notify is the system's Source. Its goroutine passes notices on; Close ends it.
type notify struct {
	watcher *fsnotify.Watcher
	events  chan string
	quit    chan struct{}
	gone    chan struct{}
}

func systemSource() (Source, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	n := &notify{watcher: watcher, events: make(chan string, 1024), quit: make(chan struct{}), gone: make(chan struct{})}
	go n.run()
	return n, nil
}

func (n *notify) run() {
	defer close(n.gone)
	for e := range n.watcher.Events {
		if e.Op == fsnotify.Chmod {
			continue
		}
		select {
		case n.events <- e.Name:
		case <-n.quit:
			return
		}
	}
}

func (n *notify) Add(dir string) error  { return n.watcher.Add(dir) }
func (n *notify) Events() <-chan string { return n.events }
func (n *notify) Errors() <-chan error  { return n.watcher.Errors }

func (n *notify) Close() error {
	close(n.quit)
	err := n.watcher.Close()
	<-n.gone
	return err
}

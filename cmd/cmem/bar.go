package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"cmem/cmd/internal/api"
)

// bar shows progress on a terminal, and nothing anywhere else.
type bar struct {
	a    *app
	on   bool
	last string
}

func (a *app) newBar() *bar { return &bar{a: a, on: terminal(a.err) && !a.json} }

const barWidth = 30

func (b *bar) show(l api.Line) {
	if !b.on {
		return
	}
	share := 1.0
	if l.Total > 0 {
		share = min(1, float64(l.Done)/float64(l.Total))
	}
	full := int(share * barWidth)
	line := fmt.Sprintf("\r[%s%s] %3.0f %% %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), share*100, filepath.Base(l.Stage))
	if line == b.last {
		return
	}
	pad := max(0, len(b.last)-len(line))
	b.last = line
	fmt.Fprint(b.a.err, line+strings.Repeat(" ", pad))
}

// end takes the bar away.
func (b *bar) end() {
	if b.last != "" {
		fmt.Fprint(b.a.err, "\r"+strings.Repeat(" ", len(b.last))+"\r")
	}
}

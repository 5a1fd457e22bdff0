package codex

import (
	"slices"
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
)

// patchTool is a call of apply_patch.
func patchTool(patch string) event.Tool {
	t := event.Tool{Name: "apply_patch", Action: event.Edit, Input: patch}
	t.Writes, t.Edits = readPatch(patch)
	return t
}

// patchIn finds a patch in a command line.
func patchIn(command string) string {
	start := strings.Index(command, beginPatch)
	if start < 0 {
		return ""
	}
	patch := command[start:]
	if end := strings.Index(patch, endPatch); end >= 0 {
		patch = patch[:end]
	}
	return patch
}

// readPatch gives the files a patch changes, in order, and its hunks. A deleted
// or moved file is changed too; a moved one under both names.
func readPatch(patch string) (files []string, edits []event.Change) {
	p := patchReader{}
	for line := range strings.SplitSeq(strings.ReplaceAll(patch, "\r\n", "\n"), "\n") {
		p.line(line)
	}
	p.flush()
	return p.files, p.edits
}

type patchReader struct {
	files    []string
	edits    []event.Change
	path     string
	old, new strings.Builder
	changed  bool
}

func (p *patchReader) line(line string) {
	for _, action := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
		if path, ok := strings.CutPrefix(line, action); ok {
			p.flush()
			if p.touch(strings.TrimSpace(path)); action == "*** Delete File: " {
				p.edits = append(p.edits, event.Change{Path: p.path})
			}
			return
		}
	}
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "*** "):
		p.flush()
	case p.path == "" || line == "":
		p.both(line)
	case line[0] == '+':
		p.changed = true
		p.new.WriteString(line[1:] + "\n")
	case line[0] == '-':
		p.changed = true
		p.old.WriteString(line[1:] + "\n")
	case line[0] == ' ':
		p.both(line[1:])
	}
}

// both: an unchanged line; it is told only where it stands among changed ones.
func (p *patchReader) both(line string) {
	if p.path != "" && (p.old.Len() > 0 || p.new.Len() > 0 || line != "") {
		p.old.WriteString(line + "\n")
		p.new.WriteString(line + "\n")
	}
}

func (p *patchReader) touch(path string) {
	p.path = path
	if path != "" && !slices.Contains(p.files, path) {
		p.files = append(p.files, path)
	}
}

// flush ends a hunk.
func (p *patchReader) flush() {
	if p.changed {
		p.edits = append(p.edits, event.Change{Path: p.path, Old: p.old.String(), New: p.new.String()})
	}
	p.old.Reset()
	p.new.Reset()
	p.changed = false
}

// changesTool is the same call, told by the files that it changed.
func changesTool(changes []byte) event.Tool {
	t := event.Tool{Name: "apply_patch", Action: event.Edit}
	for key, change := range jsonscan.Fields(changes) {
		p := patchReader{}
		p.touch(string(key))
		switch text(jsonscan.Get(change, "type")) {
		case "add":
			p.edits = append(p.edits, event.Change{Path: p.path, New: text(jsonscan.Get(change, "content"))})
		case "delete":
			p.edits = append(p.edits, event.Change{Path: p.path, Old: text(jsonscan.Get(change, "content"))})
		default:
			for line := range strings.SplitSeq(text(jsonscan.Get(change, "unified_diff")), "\n") {
				p.line(line)
			}
			p.flush()
			if moved := text(jsonscan.Get(change, "move_path")); moved != "" {
				p.touch(moved)
			}
		}
		t.Writes = append(t.Writes, p.files...)
		t.Edits = append(t.Edits, p.edits...)
	}
	return t
}

package claudecode

import (
	"strconv"
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

// response is a tool's own answer: tool_response of a hook, toolUseResult of a
// transcript record. It has a shape for each tool; these are the members that
// mean something, as they stand.
type response struct {
	raw                                       []byte
	typ, stdout, stderr, interrupted, meaning []byte
	background, persisted                     []byte
	file, content, filenames, patch           []byte
	result, results                           []byte
	agentID, agentType, status                []byte
	todos, task, durationMs, totalMs          []byte
}

func readResponse(raw []byte) response {
	r := response{raw: raw}
	for key, value := range jsonscan.Fields(raw) {
		if field := r.field(key); field != nil && *field == nil {
			*field = value
		}
	}
	return r
}

func (r *response) field(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &r.typ
	case "stdout":
		return &r.stdout
	case "stderr":
		return &r.stderr
	case "interrupted":
		return &r.interrupted
	case "returnCodeInterpretation":
		return &r.meaning
	case "backgroundTaskId":
		return &r.background
	case "persistedOutputPath":
		return &r.persisted
	case "file":
		return &r.file
	case "content":
		return &r.content
	case "filenames":
		return &r.filenames
	case "structuredPatch":
		return &r.patch
	case "result":
		return &r.result
	case "results":
		return &r.results
	}
	return r.agentField(key)
}

func (r *response) agentField(key []byte) *[]byte {
	switch string(key) {
	case "agentId":
		return &r.agentID
	case "agentType":
		return &r.agentType
	case "status":
		return &r.status
	case "newTodos":
		return &r.todos
	case "task":
		return &r.task
	case "durationMs":
		return &r.durationMs
	case "totalDurationMs":
		return &r.totalMs
	}
	return nil
}

// fill puts what the answer says into a result that is not an error.
func (r *response) fill(to *event.ToolReturned) {
	switch jsonscan.Kind(r.raw) {
	case '{':
		r.fillObject(to)
	case '"', '[':
		to.Output = contentText(r.raw)
	case 'n', 0:
	default:
		to.Output = string(r.raw)
	}
}

func (r *response) fillObject(to *event.ToolReturned) {
	to.Cut = r.persisted != nil
	if to.Duration == 0 {
		to.Duration = max(milliseconds(r.durationMs), milliseconds(r.totalMs))
	}
	switch {
	case r.stdout != nil || r.stderr != nil:
		r.fillCommand(to)
	case r.file != nil:
		to.Output = fileText(r.typ, r.file)
	case r.patch != nil:
		to.Output = patchText(r.patch)
	case r.content != nil:
		to.Output = contentText(r.content)
	case r.result != nil:
		to.Output = contentText(r.result)
	case r.filenames != nil:
		to.Output = linesText(r.filenames)
	case r.results != nil:
		to.Output = contentText(r.results)
	case r.todos != nil || r.task != nil || r.status != nil: // the call says it
	default:
		to.Output = string(r.raw)
	}
	if to.Output == "" && r.filenames != nil {
		to.Output = linesText(r.filenames)
	}
}

// fillCommand: a command that failed is reported as an error, so that one with
// an answer ended with 0, unless the host says what another code meant or it
// still runs.
func (r *response) fillCommand(to *event.ToolReturned) {
	to.Output = joinLines(text(r.stdout), text(r.stderr))
	if jsonscan.True(r.interrupted) {
		to.Outcome = event.Interrupted
		return
	}
	if text(r.meaning) == "" && r.background == nil {
		to.ExitCode = new(int)
	}
}

// contentText is what a model reads in a content: text as it is, an image as a
// placeholder.
func contentText(raw []byte) string {
	switch jsonscan.Kind(raw) {
	case '"':
		return text(raw)
	case '[':
		var parts []string
		for item := range jsonscan.Elements(raw) {
			if s := itemText(item); s != "" {
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, "\n")
	case '{':
		return itemText(raw)
	}
	return ""
}

// itemText reads one block, or one entry of a search's results.
func itemText(raw []byte) string {
	if jsonscan.Kind(raw) == '"' {
		return text(raw)
	}
	var typ, words, title, url, name []byte
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "type":
			typ = value
		case "text":
			words = value
		case "title":
			title = value
		case "url":
			url = value
		case "tool_name":
			name = value
		case "content":
			if words == nil && jsonscan.Kind(value) == '[' {
				return linkText(value)
			}
		}
	}
	switch {
	case words != nil:
		return text(words)
	case title != nil || url != nil:
		return strings.TrimSpace(text(title) + " " + text(url))
	case name != nil:
		return text(name)
	case typ != nil:
		return "[" + text(typ) + "]"
	}
	return string(raw)
}

// linkText: the links of one search; deeper nesting than this is not read.
func linkText(array []byte) string {
	var parts []string
	for item := range jsonscan.Elements(array) {
		parts = append(parts, strings.TrimSpace(text(jsonscan.Get(item, "title"))+" "+text(jsonscan.Get(item, "url"))))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

func fileText(typ, file []byte) string {
	if string(typ) == `"image"` || string(typ) == `"pdf"` {
		return "[" + text(typ) + "]"
	}
	if content := jsonscan.Get(file, "content"); content != nil {
		return text(content)
	}
	if cells := jsonscan.Get(file, "cells"); cells != nil {
		return strings.Join(fields(cells, "source"), "\n")
	}
	return ""
}

// patchText writes an edit's hunks as a unified diff without file names.
func patchText(hunks []byte) string {
	var out strings.Builder
	for hunk := range jsonscan.Elements(hunks) {
		out.WriteString("@@ -" + spanText(hunk, "oldStart", "oldLines") + " +" + spanText(hunk, "newStart", "newLines") + " @@\n")
		for line := range jsonscan.Elements(jsonscan.Get(hunk, "lines")) {
			out.WriteString(text(line))
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func spanText(hunk []byte, start, lines string) string {
	return number(jsonscan.Get(hunk, start)) + "," + number(jsonscan.Get(hunk, lines))
}

func number(raw []byte) string {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return "0"
	}
	return strconv.Itoa(n)
}

func linesText(array []byte) string {
	var lines []string
	for item := range jsonscan.Elements(array) {
		if s := text(item); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

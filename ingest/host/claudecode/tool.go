package claudecode

import (
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/ingest/identity"
	"cmem/streams/event"
)

// translate tells a tool call in cmem's words. Arguments of an odd shape give
// fewer fields; Input keeps them.
func translate(name string, input []byte) event.Tool {
	t := event.Tool{Name: name, Input: string(identity.CanonicalJSON(input))}
	a := readArguments(input)
	switch name {
	case "Read", "NotebookRead":
		t.Action, t.Reads = event.Read, paths(a.file, a.notebook)
	case "Edit", "MultiEdit", "NotebookEdit":
		t.Action, t.Writes = event.Edit, paths(a.file, a.notebook)
		t.Edits = a.changes(t.Writes)
	case "Write":
		t.Action, t.Writes = event.Write, paths(a.file)
		t.Edits = a.changes(t.Writes)
	case "Bash", "PowerShell":
		t.Action, t.Command, t.Note = event.Run, text(a.command), text(a.description)
	case "BashOutput", "TaskOutput", "KillShell", "KillBash", "TaskStop", "Monitor":
		t.Action, t.Note = event.Run, text(a.description)
	case "Grep", "Glob":
		t.Action, t.Query = event.Search, text(a.pattern)
	case "LS":
		t.Action, t.Query = event.Search, text(a.path)
	case "ToolSearch":
		t.Action, t.Query = event.Search, text(a.query)
	case "WebFetch":
		t.Action, t.Query, t.Note = event.Web, text(a.url), text(a.prompt)
	case "WebSearch":
		t.Action, t.Query = event.Web, text(a.query)
	case "Task", "Agent":
		t.Action, t.Note = event.Spawn, text(a.description)
	default:
		a.translateOther(&t)
	}
	return t
}

func (a *arguments) translateOther(t *event.Tool) {
	switch t.Name {
	case "TodoWrite", "TaskList", "TaskGet", "EnterPlanMode":
		t.Action = event.Plan
	case "TaskCreate":
		t.Action, t.Note = event.Plan, text(a.subject)
	case "TaskUpdate":
		t.Action, t.Note = event.Plan, strings.TrimSpace(text(a.taskID)+" "+text(a.status))
	case "ExitPlanMode":
		t.Action, t.Note = event.Plan, text(a.plan)
	case "AskUserQuestion":
		t.Action, t.Note = event.Other, strings.Join(fields(a.questions, "question"), "\n")
	case "Skill":
		t.Action, t.Note = event.Other, text(a.skill)
	case "SlashCommand":
		t.Action, t.Note = event.Other, text(a.command)
	default:
		t.Action, t.Note = event.Other, text(a.description)
		if strings.HasPrefix(t.Name, "mcp__") {
			t.Action, t.Query = event.MCP, text(a.query)
		}
	}
}

// arguments are the members of tool inputs that mean something, as they stand.
type arguments struct {
	file, notebook, path, command, description []byte
	pattern, query, url, prompt                []byte
	old, new, source, content, edits, todos    []byte
	subject, taskID, status, plan, skill       []byte
	questions                                  []byte
}

func readArguments(input []byte) arguments {
	var a arguments
	for key, value := range jsonscan.Fields(input) {
		if field := a.field(key); field != nil && *field == nil {
			*field = value
		}
	}
	return a
}

func (a *arguments) field(key []byte) *[]byte {
	switch string(key) {
	case "file_path":
		return &a.file
	case "notebook_path":
		return &a.notebook
	case "path":
		return &a.path
	case "command":
		return &a.command
	case "description":
		return &a.description
	case "pattern":
		return &a.pattern
	case "query":
		return &a.query
	case "url":
		return &a.url
	case "prompt":
		return &a.prompt
	case "old_string":
		return &a.old
	case "new_string":
		return &a.new
	case "new_source":
		return &a.source
	case "content":
		return &a.content
	case "edits":
		return &a.edits
	case "todos":
		return &a.todos
	}
	return a.planField(key)
}

func (a *arguments) planField(key []byte) *[]byte {
	switch string(key) {
	case "subject":
		return &a.subject
	case "taskId":
		return &a.taskID
	case "status":
		return &a.status
	case "plan":
		return &a.plan
	case "skill":
		return &a.skill
	case "questions":
		return &a.questions
	}
	return nil
}

// changes: one replacement, several, or a whole new text.
func (a *arguments) changes(files []string) []event.Change {
	if len(files) == 0 {
		return nil
	}
	file := files[0]
	if jsonscan.Kind(a.edits) == '[' {
		var all []event.Change
		for edit := range jsonscan.Elements(a.edits) {
			e := readArguments(edit)
			all = append(all, event.Change{Path: file, Old: text(e.old), New: text(e.new)})
		}
		return all
	}
	for _, whole := range [][]byte{a.new, a.source, a.content} {
		if whole != nil {
			return []event.Change{{Path: file, Old: text(a.old), New: text(whole)}}
		}
	}
	if a.old != nil {
		return []event.Change{{Path: file, Old: text(a.old)}}
	}
	return nil
}

func paths(raw ...[]byte) []string {
	for _, r := range raw {
		if p := text(r); p != "" {
			return []string{p}
		}
	}
	return nil
}

// fields gives one text member of each object of an array.
func fields(array []byte, key string) []string {
	var all []string
	for item := range jsonscan.Elements(array) {
		if s := text(jsonscan.Get(item, key)); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// todos adds the agent's task list where the call sets it.
func (d *decoder) todos(id, tool string, input []byte) {
	if tool != "TodoWrite" {
		return
	}
	var items []string
	for item := range jsonscan.Elements(jsonscan.Get(input, "todos")) {
		what := text(jsonscan.Get(item, "content"))
		if status := text(jsonscan.Get(item, "status")); status != "" {
			what = "[" + status + "] " + what
		}
		items = append(items, what)
	}
	key := d.key(id)
	if key != "" {
		key += "/todo"
	}
	d.add(key, event.TodoChanged{Items: items})
}

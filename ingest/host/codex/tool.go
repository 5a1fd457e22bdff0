package codex

import (
	"strconv"
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

// shellName is what hooks call every tool that runs a command; rollouts have
// had five names for it.
const shellName = "Bash"

// translate tells a tool call in cmem's words, the same for a hook's shape of
// it and a rollout's. Arguments of an odd shape give fewer fields.
func translate(name string, args []byte) event.Tool {
	get := func(keys ...string) string {
		for _, key := range keys {
			if s := text(jsonscan.Get(args, key)); s != "" {
				return s
			}
		}
		return ""
	}
	t := event.Tool{Name: name, Action: event.Other, Input: canonical(args)}
	switch name {
	case shellName, "exec_command", "shell", "shell_command", "container.exec", "local_shell":
		return runTool(commandLine(args), get("workdir", "working_directory"))
	case "write_stdin":
		t.Action, t.Command = event.Run, strings.TrimSpace(get("chars"))
	case "apply_patch":
		return patchTool(get("command", "input", "patch"))
	case "update_plan":
		t.Action, t.Note = event.Plan, get("explanation")
	case "view_image", "read_file":
		t.Action, t.Reads = event.Read, list(get("path", "file_path"))
	case "list_dir":
		t.Action, t.Query = event.Search, get("dir_path", "path")
	case "grep_files", "tool_search":
		t.Action, t.Query = event.Search, get("pattern", "query")
	case "web_search":
		t.Action, t.Query = event.Web, get("query")
	case "spawn_agent":
		t.Action, t.Note = event.Spawn, get("message", "prompt")
	case "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource":
		t.Action, t.Query = event.MCP, get("uri", "server")
	default:
		if t.Note = get("message", "description"); strings.HasPrefix(name, "mcp__") {
			t.Action, t.Query = event.MCP, get("query")
		}
	}
	return t
}

// translateText is translate for a tool whose input is text.
func translateText(name, input string) event.Tool {
	if name == "apply_patch" {
		return patchTool(input)
	}
	return event.Tool{Name: name, Action: event.Other, Input: input}
}

// runTool: a command line that carries a patch changes its files.
func runTool(command, dir string) event.Tool {
	input := appendMember(nil, "command", command)
	if dir != "" {
		input = appendMember(input, "workdir", dir)
	}
	t := event.Tool{Name: shellName, Action: event.Run, Command: command, Input: string(input)}
	if patch := patchIn(command); patch != "" {
		t.Writes, t.Edits = readPatch(patch)
	} else {
		t.Reads = readBy(command)
	}
	return t
}

// shellTool is the tool of a record that tells how a command ended.
func shellTool(b *body) event.Tool { return runTool(commandOf(b.command), "") }

func commandLine(args []byte) string {
	for _, key := range []string{"command", "cmd"} {
		if s := commandOf(jsonscan.Get(args, key)); s != "" {
			return s
		}
	}
	return ""
}

// commandOf reads a command that is text, or a list of words: of a shell with
// -c what it runs.
func commandOf(raw []byte) string {
	if jsonscan.Kind(raw) != '[' {
		return text(raw)
	}
	var words []string
	for w := range jsonscan.Elements(raw) {
		words = append(words, text(w))
	}
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c" || words[1] == "-Command") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// readBy gives the files that a plain reading command names: no pipes, no
// redirections, nothing quoted that could mean something else.
func readBy(command string) []string {
	command = strings.TrimSpace(command)
	name, rest, _ := strings.Cut(command, " ")
	switch name {
	case "cat", "head", "tail", "nl", "sed", "less", "bat":
	default:
		return nil
	}
	if name == "sed" {
		script, ok := strings.CutPrefix(rest, "-n '")
		if !ok {
			return nil
		}
		if _, rest, ok = strings.Cut(script, "' "); !ok {
			return nil
		}
	}
	if strings.ContainsAny(rest, "|&;<>$`*?'\"\\\n(){}[]~") {
		return nil
	}
	var files []string
	words := strings.Fields(rest)
	for i := 0; i < len(words); i++ {
		switch {
		case words[i] == "-n", words[i] == "-c":
			if name == "head" || name == "tail" {
				i++ // its number
			}
		case !strings.HasPrefix(words[i], "-"):
			files = append(files, words[i])
		}
	}
	return files
}

// steps are the items of update_plan.
func steps(args []byte) []string {
	var items []string
	for step := range jsonscan.Elements(jsonscan.Get(args, "plan")) {
		what := text(jsonscan.Get(step, "step"))
		if status := text(jsonscan.Get(step, "status")); status != "" {
			what = "[" + status + "] " + what
		}
		items = append(items, what)
	}
	return items
}

// filePath reads a path that may be a file URL.
func filePath(s string) string {
	path, ok := strings.CutPrefix(s, "file://")
	if !ok || strings.IndexByte(path, '%') < 0 {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, path[i])
	}
	return string(out)
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

package claudecode

import (
	"strings"

	"cmem/ingest/host/jsonscan"
	"cmem/streams/event"
)

// user: a record of type user holds tool results, or a prompt, or words that
// nobody typed.
func (d *decoder) user(r *record) {
	m := readMessage(r.message)
	if d.env.Event == copiedPrompt {
		d.add("", event.Counted{What: "copied_prompt"})
		return
	}
	if d.results(r, m.content) {
		return
	}
	said, images := promptText(m.content)
	switch {
	case r.compact:
		d.compaction(text(r.parent), event.CompactionDone{Summary: said})
	case r.meta || r.sidechain:
	default:
		d.typed(r, said, images)
	}
}

// typed sorts a user's text by its marker.
func (d *decoder) typed(r *record, said string, images int) {
	switch marker(said) {
	case commandMark:
		if name, ok := tagged(said, "command-name"); ok {
			args, _ := tagged(said, "command-args")
			d.add(d.turnKey(r), event.CommandRun{Name: name, Args: args})
		}
	case bashMark:
		line, _ := tagged(said, "bash-input")
		d.add(d.own(text(r.uuid), 0), event.CommandRun{Name: "!", Args: line})
	case interruptMark:
		d.add(d.own(text(r.uuid), 0), event.TurnEnded{Interrupted: true})
	case notMarker:
		if r.origin == nil || string(jsonscan.Get(r.origin, "kind")) == `"human"` {
			d.prompt(d.key(text(r.promptID)), event.PromptSubmitted{Text: said, Images: images},
				!atLeast(d.version(r), 2, 1, 197))
		}
	}
}

func (d *decoder) turnKey(r *record) string {
	if key := d.key(text(r.promptID)); key != "" {
		return key
	}
	return d.own(text(r.uuid), 0)
}

// results adds the record's tool results; false if it has none. Text beside
// them is what the user said when refusing, or an interruption.
func (d *decoder) results(r *record, content []byte) bool {
	if jsonscan.Kind(content) != '[' {
		return false
	}
	found := false
	for raw := range jsonscan.Elements(content) {
		b := readBlock(raw)
		if string(b.typ) == `"tool_result"` {
			found = true
			d.result(r, &b)
		}
	}
	if !found {
		return false
	}
	if said, _ := promptText(content); marker(said) == interruptMark {
		d.add(d.own(text(r.uuid), 0), event.TurnEnded{Interrupted: true})
	} else if said != "" && marker(said) == notMarker && !r.meta {
		d.words(said)
	}
	return true
}

func (d *decoder) result(r *record, b *block) {
	extra := readResponse(r.result)
	result := toolResult(b, &extra, text(r.denial))
	key := d.addReturn(text(b.use), result)
	d.spawned(key, &extra, &result)
}

// words puts what the user said with a refusal to the refused call.
func (d *decoder) words(said string) {
	for i := range d.facts {
		if r, ok := d.facts[i].Body.(event.ToolReturned); ok && r.Outcome == event.Refused {
			r.Error = strings.TrimSpace(r.Error + "\n" + said)
			d.facts[i].Body = r
			return
		}
	}
}

// promptText joins the text blocks of a user's content, without what the host
// puts beside the typed one, and counts images.
func promptText(content []byte) (said string, images int) {
	if jsonscan.Kind(content) == '"' {
		return text(content), 0
	}
	var parts []string
	for raw := range jsonscan.Elements(content) {
		b := readBlock(raw)
		switch string(b.typ) {
		case `"text"`:
			if s := text(b.text); !beside(s) && strings.TrimSpace(s) != "" {
				parts = append(parts, s)
			}
		case `"image"`:
			images++
		}
	}
	return strings.Join(parts, "\n"), images
}

package records

import (
	"cmem/streams/event"
)

// tell merges what one side says, field by field.
func (u *tool) tell(c int, f *event.Fact, r *event.ToolReturned, call bool) {
	u.tellInput(inputRank(c, call, r.Updated), &r.Tool)
	if r.Tool.Container {
		u.wraps = true
	}
	if r.Tool.Nested {
		u.nested = true
	} else {
		u.plain = true
	}
	if at := nanos(f.Time); call && at != 0 && u.better(fTime, inputRank(c, call, false)) {
		u.time, u.timeSide = at, uint8(c)
	} else if at != 0 && !call {
		if u.better(fEnd, endRankHookFirst(c)) {
			u.end, u.endSide = at, uint8(c)
		}
		if u.told&(hookCall|fileCall) == 0 && u.better(fTime, inputRank(c, call, false)) {
			u.time, u.timeSide = at, uint8(c)
		}
	}
	if !call {
		u.tellEnd(c, r)
	}
}

// better says whether a source of this rank replaces the field's value.
func (u *tool) better(field int, rank uint8) bool {
	if rank <= u.rank[field] {
		return false
	}
	u.rank[field] = rank
	return true
}

func inputRank(c int, call, updated bool) uint8 {
	rank := uint8(inputFileReturn)
	switch {
	case call && c == hookSide:
		rank = inputHookCall
	case call:
		rank = inputFileCall
	case c == hookSide:
		rank = inputHookReturn
	}
	if updated && !call {
		rank = inputUpdated + rank/4
	}
	return rank
}

func endRank(c int) uint8 {
	if c == fileSide {
		return endFile
	}
	return endHook
}

// endRankHookFirst: the hook was there when it ended.
func endRankHookFirst(c int) uint8 { return endRank(1 - c) }

func (u *tool) tellInput(rank uint8, t *event.Tool) {
	if t.Name != "" && u.better(fName, rank) {
		u.tool.Name, u.tool.Action = head(t.Name, maxSide), t.Action
	}
	if t.Input != "" && u.better(fInput, rank) {
		u.tool.Input = head(t.Input, maxInput)
	}
	if t.Command != "" && u.better(fCommand, rank) {
		u.tool.Command = head(t.Command, maxInput)
	}
	if t.Query != "" && u.better(fQuery, rank) {
		u.tool.Query = head(t.Query, maxSide)
	}
	if len(t.Reads) > 0 && u.better(fReads, rank) {
		u.tool.Reads = paths(t.Reads)
	}
	if len(t.Writes) > 0 && u.better(fWrites, rank) {
		u.tool.Writes = paths(t.Writes)
	}
	if len(t.Edits) > 0 && u.better(fEdits, rank) {
		u.tool.Edits = edits(t.Edits)
	}
	if t.Note != "" && u.better(fNote, rank) {
		u.tool.Note = head(t.Note, maxSide)
	}
}

func (u *tool) tellEnd(c int, r *event.ToolReturned) {
	rank := endRank(c)
	if r.Outcome != "" && r.Outcome != event.Unknown && u.better(fOutcome, rank) {
		u.outcome = r.Outcome
	}
	if r.ExitCode != nil && u.better(fExit, rank) {
		code := *r.ExitCode
		u.exit = &code
	}
	if r.Error != "" && u.better(fError, rank) {
		u.error = head(r.Error, maxText)
	}
	switch {
	case r.Duration < 0:
		u.clock = true
	case r.Duration > 0 && u.better(fDuration, rank):
		u.duration = int64(r.Duration)
	}
	if u.longer(len(r.Output), r.Cut, rank) {
		u.output, u.size, u.cut, u.outputRank = output(r.Output), len(r.Output), r.Cut, rank
	}
}

// longer: the uncut output, or else the longer one, or else the surer source's.
func (u *tool) longer(size int, cut bool, rank uint8) bool {
	switch {
	case size == 0:
		return false
	case u.outputRank == 0:
		return true
	case cut != u.cut:
		return u.cut
	case size != u.size:
		return size > u.size
	}
	return rank > u.outputRank
}

// absorb merges another record of the same thing.
func (u *tool) absorb(v *tool) {
	for f := range fieldCount {
		if v.rank[f] > u.rank[f] {
			u.rank[f] = v.rank[f]
			u.take(f, v)
		}
	}
	if u.longer(v.size, v.cut, v.outputRank) {
		u.output, u.size, u.cut, u.outputRank = v.output, v.size, v.cut, v.outputRank
	}
	if v.keyRank > u.keyRank {
		u.key, u.keyRank = v.key, v.keyRank
	}
	if v.told&(hookCall|fileCall) != 0 && u.told&(hookCall|fileCall) == 0 || u.position == 0 {
		u.position = v.position
	}
	if u.returned == 0 {
		u.returned = v.returned
	}
	if u.agent == 0 {
		u.agent = v.agent
	}
	for c := range sides {
		if u.at[c] == 0 || v.at[c] != 0 && v.at[c] < u.at[c] {
			u.at[c] = v.at[c]
		}
	}
	u.told |= v.told
	u.keys = append(u.keys, v.keys...)
	u.alts = append(u.alts, v.alts...)
	u.children = append(u.children, v.children...)
	u.clock, u.plain = u.clock || v.clock, u.plain || v.plain
	u.nested, u.wraps = u.nested || v.nested, u.wraps || v.wraps
}

// take copies one field.
func (u *tool) take(field int, v *tool) {
	switch field {
	case fName:
		u.tool.Name, u.tool.Action = v.tool.Name, v.tool.Action
	case fInput:
		u.tool.Input = v.tool.Input
	case fCommand:
		u.tool.Command = v.tool.Command
	case fQuery:
		u.tool.Query = v.tool.Query
	case fReads:
		u.tool.Reads = v.tool.Reads
	case fWrites:
		u.tool.Writes = v.tool.Writes
	case fEdits:
		u.tool.Edits = v.tool.Edits
	case fNote:
		u.tool.Note = v.tool.Note
	case fOutcome:
		u.outcome = v.outcome
	case fExit:
		u.exit = v.exit
	case fError:
		u.error = v.error
	case fDuration:
		u.duration = v.duration
	case fTime:
		u.time, u.timeSide = v.time, v.timeSide
	case fEnd:
		u.end, u.endSide = v.end, v.endSide
	case fTurn:
		u.turn = v.turn
	}
}

package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"cmem/streams/durable"
)

// unclean is a stop that was not one in order: the process that had the log was
// killed, or the power was cut. It is kept in run/unclean.json until somebody was
// told, because the command that meets it may have another question to answer, and
// leaves a log that was closed in order.
type unclean struct {
	Time  time.Time `json:"time"`  // of the start that met it
	Found bool      `json:"found"` // the log was not whole; what was found is told apart
	now   bool      // this start met it
}

func (n *Node) uncleanFile() string { return filepath.Join(n.dir.Run(), "unclean.json") }

// meetStop looks at how the log was left, and at what nobody was told yet.
func (n *Node) meetStop() {
	opening := n.stream.Opening()
	var u unclean
	data, err := os.ReadFile(n.uncleanFile())
	told := err != nil || json.Unmarshal(data, &u) != nil
	if opening.Clean {
		if !told {
			n.unclean = &u
		}
		return
	}
	n.unclean = &unclean{Time: n.now().UTC(), Found: len(opening.Found) > 0 || !told && u.Found, now: true}
	n.log.Warn(n.unclean.sentence(n.zone))
	if data, err = json.Marshal(n.unclean); err == nil {
		err = durable.WriteFile(n.uncleanFile(), data, 0o600)
	}
	if err != nil {
		n.log.Warn("that the last stop was not a clean one is told by this process alone", "err", err)
	}
	durable.Reached("worker.unclean")
}

// tellStop gives the sentence for whoever asks how things are, "" if there is
// none. It need not be kept any longer; this process goes on saying it.
func (n *Node) tellStop() string {
	if n.unclean == nil {
		return ""
	}
	_ = os.Remove(n.uncleanFile()) // what stays is told once more
	return n.unclean.sentence(n.zone)
}

func (u *unclean) sentence(zone *time.Location) string {
	said := "the stop before this start was not a clean one (killed, or the power was cut); the log was looked over, "
	if !u.now {
		said = "the stop before the start of " + u.Time.In(zone).Format(time.DateTime) + " was not a clean one (killed, or the power was cut); the log was looked over then, "
	}
	if u.Found {
		return said + "and what was found is told here or by cmem log damage"
	}
	return said + "and nothing that it had acknowledged is lost"
}

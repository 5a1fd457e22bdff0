package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

func (h *handler) save(w http.ResponseWriter, r *http.Request) error {
	var in SaveRequest
	if err := readBody(r, &in); err != nil {
		return err
	}
	if strings.TrimSpace(in.Text) == "" {
		return Errorf(Invalid, "text must not be empty")
	}
	out, err := h.Save(r.Context(), in)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) move(w http.ResponseWriter, r *http.Request) error {
	var in MoveRequest
	if err := readBody(r, &in); err != nil {
		return err
	}
	if in.To == "" || (in.From == "") == (in.Session == "") {
		return Errorf(Invalid, "give to, and either from or session")
	}
	out, err := h.Move(r.Context(), in)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) nudge(w http.ResponseWriter, _ *http.Request) error {
	h.Nudge()
	writeJSON(w, http.StatusAccepted, SpoolAnswer{Status: "accepted"})
	return nil
}

func (h *handler) retrySpool(w http.ResponseWriter, r *http.Request) error {
	n, err := h.RetrySpool(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, SpoolAnswer{Status: "accepted", Moved: n})
	return nil
}

func (h *handler) shutdown(w http.ResponseWriter, _ *http.Request) error {
	if h.Shutdown == nil {
		return Errorf(Invalid, "no worker runs here")
	}
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "stopping"})
	h.Shutdown()
	return nil
}

func (h *handler) replay(w http.ResponseWriter, r *http.Request) error {
	var in ReplayRequest
	if err := readBody(r, &in); err != nil {
		return err
	}
	if len(in.Paths) == 0 {
		return Errorf(Invalid, "paths must name at least one transcript")
	}
	return job(w, r, func(ctx context.Context, tell func(Line)) (any, error) { return h.Replay(ctx, in, tell) })
}

func (h *handler) rebuild(w http.ResponseWriter, r *http.Request) error {
	var in RebuildRequest
	if err := readBody(r, &in); err != nil {
		return err
	}
	switch in.Only {
	case "", "records", "search", "context":
	default:
		return Errorf(Invalid, "only must be records, search or context, not %s", quote(in.Only))
	}
	return job(w, r, func(ctx context.Context, tell func(Line)) (any, error) { return h.Rebuild(ctx, in, tell) })
}

func (h *handler) verify(w http.ResponseWriter, r *http.Request) error {
	return job(w, r, func(ctx context.Context, _ func(Line)) (any, error) { return h.Verify(ctx) })
}

func (h *handler) damage(w http.ResponseWriter, r *http.Request) error {
	all, err := h.Damage(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string][]LogDamage{"findings": all})
	return nil
}

// job streams the progress of long work; the last line has its result. A caller
// who goes away ends the work.
func job(w http.ResponseWriter, r *http.Request, work func(context.Context, func(Line)) (any, error)) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := newLines(w)
	var mu sync.Mutex // work may tell from several goroutines
	begun := false
	result, err := work(ctx, func(l Line) {
		mu.Lock()
		defer mu.Unlock()
		begun = true
		if out.send(l) != nil {
			cancel()
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		if !begun {
			w.Header().Del("Content-Type")
		}
		return err
	}
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return out.send(Line{Result: b})
}

func (h *handler) export(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	after := p.int("after", 0, 0, 1<<53)
	if p.err != nil {
		return p.err
	}
	return h.Export(r.Context(), newLines(w), uint64(after))
}

func (h *handler) tail(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	n, follow := p.int("limit", defaultLimit, 0, 100_000), p.flag("follow")
	if p.err != nil {
		return p.err
	}
	out := newLines(w)
	if err := out.rc.Flush(); err != nil { // a quiet log is no quiet worker
		return err
	}
	return h.Tail(r.Context(), n, follow, func(l LogRecord) error { return out.send(l) })
}

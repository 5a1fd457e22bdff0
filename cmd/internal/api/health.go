package api

import (
	"net/http"
	"os"
	"runtime"
)

func (h *handler) identity(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, h.Identity())
	return nil
}

// Health is /api/health, answered in every phase. It tells no version: clients
// of claude-mem compare that with their own and kill what differs.
type Health struct {
	Status      string   `json:"status"` // ok, starting, degraded, failed
	Phase       Progress `json:"phase"`
	Initialized bool     `json:"initialized"`
	MCPReady    bool     `json:"mcpReady"`
	PID         int      `json:"pid"`
	Platform    string   `json:"platform"`
	Models      []Model  `json:"models,omitempty"`
	// Storage is what the disk, or the rights to it, keep from working.
	Storage []Finding `json:"storage,omitempty"`
}

func (h *handler) health(w http.ResponseWriter, _ *http.Request) error {
	p := h.Phase()
	out := Health{Phase: p, PID: os.Getpid(), Platform: runtime.GOOS, Initialized: p.Phase == PhaseReady, MCPReady: p.Phase == PhaseReady}
	switch p.Phase {
	case PhaseReady:
		out.Status = "ok"
	case PhaseFailed:
		out.Status = "failed"
	default:
		out.Status = "starting"
	}
	// Nothing is counted here: who asks for health asks often.
	out.Models, out.Storage = h.ModelStates(), h.Storage()
	for _, f := range out.Storage {
		if f.Severity == Broken && out.Status == "ok" {
			out.Status = "degraded"
		}
	}
	for _, m := range out.Models {
		if m.State != "ready" && out.Status == "ok" {
			out.Status = "degraded"
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) healthz(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (h *handler) readiness(w http.ResponseWriter, _ *http.Request) error {
	p := h.Phase()
	if p.Phase != PhaseReady {
		return notReady(p)
	}
	out := map[string]any{"status": "ready", "mcpReady": true}
	if p.Message != "" {
		out["message"] = p.Message
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func notReady(p Progress) *Error {
	if p.Phase == PhaseFailed {
		return Errorf(Internal, "the worker could not start: %s", p.Message)
	}
	return Errorf(Starting, "the worker is starting (%s)", p.Phase)
}

func (h *handler) version(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"version": h.Identity().Version})
	return nil
}

// ready streams the phases, one Progress a line, from the first on; it ends
// after ready or failed.
func (h *handler) ready(w http.ResponseWriter, r *http.Request) error {
	out := newLines(w)
	return h.Phases(r.Context(), func(p Progress) error { return out.send(p) })
}

func (h *handler) stats(w http.ResponseWriter, r *http.Request) error {
	s, err := h.Stats(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s)
	return nil
}

func (h *handler) processing(w http.ResponseWriter, r *http.Request) error {
	s, err := h.Stats(r.Context())
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"isProcessing": s.Spool.Waiting > 0, "queueDepth": s.Spool.Waiting, "parkedSessions": 0})
	return nil
}

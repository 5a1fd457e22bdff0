package api

import (
	"net/http"
)

// inject answers with the text that the next session of the projects is told.
// Projects that are not known yet have nothing to tell, which is no error: hosts
// ask for whatever folder they are in.
func (h *handler) inject(w http.ResponseWriter, r *http.Request) error {
	p := params{Values: r.URL.Query()}
	zone, _ := p.dates(h.Zone, h.Now())
	in := ContextRequest{
		Projects: p.projects(), Host: hostName(p.first("platformSource", "platform_source", "host")),
		Colours: p.flag("colors"), Full: p.flag("full"), Zone: zone,
	}
	if len(in.Projects) == 0 {
		p.fail(Errorf(Invalid, "give project or projects"))
	}
	if p.err != nil {
		return p.err
	}
	text, err := h.Context(r.Context(), in)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = w.Write([]byte(text))
	return err
}

package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// router registers routes and answers in the one error shape where there is
// none.
type router struct {
	mux *http.ServeMux
	edge
	touch   func()
	closing context.Context
	allowed map[string][]string // path → methods
}

// probe is asked by machines, often, and does not count as use.
func (r *router) probe(pattern string, h handle) { r.add(pattern, r.edge.plain(h)) }

func (r *router) plain(pattern string, h handle) { r.add(pattern, r.used(r.edge.plain(h))) }

func (r *router) stream(pattern string, h handle) {
	r.add(pattern, r.used(r.edge.stream(r.closing, h)))
}

func (r *router) used(h http.Handler) http.Handler {
	if r.touch == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.touch()
		h.ServeHTTP(w, req)
		r.touch()
	})
}

func (r *router) add(pattern string, h http.Handler) {
	method, path, _ := strings.Cut(pattern, " ")
	r.allowed[path] = append(r.allowed[path], method)
	r.mux.Handle(pattern, h)
}

// finish adds what answers to a wrong method and to an unknown path.
func (r *router) finish() {
	for path, methods := range r.allowed {
		if slices.Contains(methods, http.MethodGet) {
			methods = append(methods, http.MethodHead)
		}
		r.mux.Handle(path, r.edge.plain(func(w http.ResponseWriter, req *http.Request) error {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			return Errorf(BadMethod, "%s takes %s, not %s", path, strings.Join(methods, " or "), req.Method)
		}))
	}
	r.mux.Handle("/", r.edge.plain(func(w http.ResponseWriter, req *http.Request) error {
		return Errorf(NotFound, "there is no route %s", quote(req.URL.Path))
	}))
}

package api

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Access says who may call a handler over TCP. Over the unix socket the peer's
// user was checked when the connection was accepted; it needs no token, but a
// web page cannot reach it either, so the other checks cost nothing and stay.
type Access struct {
	Token string   // bearer; "" asks for none (unix socket, in process)
	Hosts []string // names the caller may use for us, besides loopback ones
}

// Guard lets a request through that may enter and answers 401 or 403 otherwise.
func (a Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e := a.check(r); e != nil {
			writeError(w, e)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a Access) check(r *http.Request) *Error {
	if !a.known(r.Host) {
		return Errorf(Forbidden, "the host name %s is not one of this machine", quote(r.Host))
	}
	if origin := r.Header.Get("Origin"); origin != "" && !a.ownOrigin(origin, r.Host) {
		return Errorf(Forbidden, "pages of %s may not call cmem", quote(origin))
	}
	// Sec-Fetch-Site is set by browsers only and cannot be forged by a page.
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" {
		return Errorf(Forbidden, "pages of other sites may not call cmem")
	}
	if a.Token == "" {
		return nil
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(a.Token)) != 1 {
		return Errorf(Unauthorized, "this address needs the bearer token from the data folder's run/token")
	}
	return nil
}

// known says whether a Host header is a loopback name or one we were told.
func (a Access) known(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil {
		return ip.IsLoopback()
	}
	for _, h := range a.Hosts {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// ownOrigin: a page we served ourselves has our own host and port.
func (a Access) ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == host && a.known(u.Host)
}

package search

import "strings"

// Terms of the filter field: one letter that names the filter, then its value.
const (
	kindTerm    = "k"
	projectTerm = "p"
	hostTerm    = "h"
	sessionTerm = "s"
	typeTerm    = "t"
	conceptTerm = "c"
	fileTerm    = "F"
	folderTerm  = "D"
)

// maxSegments is how many segments from a path's end a file filter compares.
const maxSegments = 8

func (c *content) filters() []string {
	f := []string{kindTerm + letters[c.Kind], projectTerm + c.Project, hostTerm + c.Host, sessionTerm + c.Session}
	if c.Type != "" {
		f = append(f, typeTerm+strings.ToLower(c.Type))
	}
	for _, s := range c.Concepts {
		f = append(f, conceptTerm+strings.ToLower(s))
	}
	for _, p := range c.Files {
		p = cleanPath(p)
		f = suffixes(f, fileTerm, p)
		if dir := folder(p); dir != "" {
			f = suffixes(f, folderTerm, dir)
		}
	}
	return f
}

// cleanPath writes a path with slashes, without its root, "./" and final slash.
func cleanPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	p = strings.TrimPrefix(p, "./")
	return strings.Trim(p, "/")
}

func folder(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

func lastSegments(p string) string {
	i := len(p)
	for range maxSegments {
		if i = strings.LastIndexByte(p[:i], '/'); i < 0 {
			return p
		}
	}
	return p[i+1:]
}

// suffixes appends a term for the last maxSegments of p and for each shorter end.
func suffixes(f []string, letter, p string) []string {
	for p = lastSegments(p); p != ""; {
		f = append(f, letter+p)
		i := strings.IndexByte(p, '/')
		if i < 0 {
			break
		}
		p = p[i+1:]
	}
	return f
}

// filterTerms gives, for each filter of q, the terms of which a document must
// have one.
func (q *Query) filterTerms() [][]string {
	var all [][]string
	add := func(letter string, values []string, norm func(string) string) {
		if len(values) == 0 {
			return
		}
		terms := make([]string, len(values))
		for i, v := range values {
			terms[i] = letter + norm(v)
		}
		all = append(all, terms)
	}
	same := func(s string) string { return s }
	kinds := make([]string, len(q.Kinds))
	for i, k := range q.Kinds {
		kinds[i] = letters[k]
	}
	add(kindTerm, kinds, same)
	add(projectTerm, q.Projects, same)
	add(hostTerm, q.Hosts, same)
	add(sessionTerm, q.Sessions, same)
	add(typeTerm, q.Types, strings.ToLower)
	add(conceptTerm, q.Concepts, strings.ToLower)
	ends := func(p string) string { return lastSegments(cleanPath(p)) }
	if q.Folder {
		add(folderTerm, q.Files, ends)
	} else {
		add(fileTerm, q.Files, ends)
	}
	return all
}

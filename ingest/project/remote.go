package project

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path"
	"strings"
	"sync"
)

// normalRemote gives host/path of a remote's URL, equal for all ways to write
// it, and the repository's name. Scheme, user, password and port are gone. A
// remote that is a folder gives its path; a relative one starts at root.
func normalRemote(url, root string) (where, name string) {
	host, where := splitRemote(url)
	where = strings.ReplaceAll(where, `\`, "/")
	if host == "" && where != "" && !strings.HasPrefix(where, "/") && !driveLetter(where) {
		where = path.Join(root, where)
	}
	if where = strings.Trim(path.Clean("/"+where), "/"); where == "" {
		return "", ""
	}
	name = baseName(where)
	for _, end := range []string{"/.git", ".git"} {
		where = strings.TrimSuffix(where, end)
	}
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	if foldsCase(host) {
		where = strings.ToLower(where)
	}
	return host + "/" + where, line(name)
}

// splitRemote knows scheme://user:password@host:port/path, user@host:path and
// plain paths (host "").
func splitRemote(url string) (host, where string) {
	if i := strings.IndexAny(url, "?#"); i >= 0 && strings.Contains(url[:i], "://") {
		url = url[:i]
	}
	scheme, rest, ok := strings.Cut(url, "://")
	if ok && !strings.ContainsAny(scheme, "/@:") {
		if strings.EqualFold(scheme, "file") {
			return "", rest
		}
		host, where, _ = strings.Cut(rest, "/")
		// A password with a slash in it: the host is behind the last @.
		if i := strings.LastIndexByte(where, '@'); i >= 0 && !strings.Contains(host, "@") && strings.Contains(host, ":") {
			host, where, _ = strings.Cut(where[i+1:], "/")
		}
		return bareHost(host), where
	}
	i := strings.IndexByte(url, ':')
	if i <= 0 || strings.IndexByte(url[:i], '/') >= 0 || driveLetter(url) {
		return "", url
	}
	return bareHost(url[:i]), url[i+1:]
}

// bareHost takes user, password and port away.
func bareHost(host string) string {
	host = host[strings.LastIndexByte(host, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	return host
}

// foldsCase: these hosts find a repository by any letter case.
func foldsCase(host string) bool {
	switch host {
	case "github.com", "gitlab.com", "bitbucket.org", "codeberg.org":
		return true
	}
	return false
}

func driveLetter(p string) bool {
	return len(p) >= 2 && p[1] == ':' && p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z' && (len(p) == 2 || p[2] == '/' || p[2] == '\\')
}

func hash(text string, digits int) string {
	sum := sha256.Sum256([]byte("cmem project\x00" + text))
	return hex.EncodeToString(sum[:])[:digits]
}

// machine is a hash of the system's own id, else of the host's name; the id
// itself is nobody's business.
var machine = sync.OnceValue(func() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id := firstLine(name); id != "" {
			return hash(id, 8)
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return hash(name, 8)
})

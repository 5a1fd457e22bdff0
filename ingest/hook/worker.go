package hook

import (
	"bytes"
	"io"
	"strconv"
	"time"
)

// nudgeFor is how long telling the worker may take. It looks by itself too.
const nudgeFor = 10 * time.Millisecond

// wake tells the worker that there is something in the spool. If none answers
// it starts one, and after some hooks in a row without one gives a notice.
func (r *run) wake() (notice string) {
	if r.dir == "" {
		return ""
	}
	if r.nudge() {
		r.countMet()
		return ""
	}
	r.countAway()
	if r.settings.Autostart {
		r.start()
	}
	return r.awayNotice()
}

// nudge says whether somebody took the message. It does not wait for an answer:
// that somebody listens is enough to know.
func (r *run) nudge() bool {
	c, err := dial(r.dir.Socket(), time.Now().Add(nudgeFor))
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Write(request("POST", "/api/spool/nudge"))
	return err == nil
}

// ask gets a plain text from the worker, within limit.
func (r *run) ask(path string, limit time.Duration) (string, bool) {
	c, err := dial(r.dir.Socket(), time.Now().Add(limit))
	if err != nil {
		return "", false
	}
	defer c.Close()
	if _, err := c.Write(request("GET", path)); err != nil {
		return "", false
	}
	answer, err := io.ReadAll(io.LimitReader(c, maxAnswer))
	if err != nil {
		return "", false
	}
	body, ok := parseAnswer(answer)
	return string(body), ok
}

// maxAnswer is far above any context.
const maxAnswer = 1 << 20

func request(method, path string) []byte {
	length := ""
	if method == "POST" {
		length = "Content-Length: 0\r\n"
	}
	return []byte(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + length + "Connection: close\r\n\r\n")
}

// parseAnswer takes the body out of a whole HTTP/1.1 response; false if it is
// cut off, or not a 200 of plain text.
func parseAnswer(answer []byte) (body []byte, ok bool) {
	head, body, ok := bytes.Cut(answer, []byte("\r\n\r\n"))
	status, fields, _ := bytes.Cut(head, []byte("\r\n"))
	if !ok || !bytes.HasPrefix(status, []byte("HTTP/1.")) || !bytes.Contains(status, []byte(" 200")) {
		return nil, false
	}
	if kind := field(fields, "content-type"); kind != "" && !bytes.HasPrefix([]byte(kind), []byte("text/plain")) {
		return nil, false
	}
	if field(fields, "transfer-encoding") == "chunked" {
		return joinChunks(body)
	}
	if length := field(fields, "content-length"); length != "" {
		n, err := strconv.Atoi(length)
		if err != nil || n < 0 || n > len(body) {
			return nil, false
		}
		return body[:n], true
	}
	return body, true // it ends where the connection does
}

// field gives the value of a header in lower case, "" if there is none.
func field(fields []byte, name string) string {
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		if string(bytes.ToLower(bytes.TrimSpace(key))) == name {
			return string(bytes.ToLower(bytes.TrimSpace(value)))
		}
	}
	return ""
}

func joinChunks(b []byte) (body []byte, ok bool) {
	for {
		line, rest, found := bytes.Cut(b, []byte("\r\n"))
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 31)
		if !found || err != nil {
			return nil, false
		}
		if n == 0 {
			return body, true
		}
		if uint64(len(rest)) < n+2 {
			return nil, false
		}
		body, b = append(body, rest[:n]...), rest[n+2:]
	}
}

// queryEscape makes any text one value of a query.
func queryEscape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
			out = append(out, c)
		default:
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(out)
}

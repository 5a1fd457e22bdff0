package api

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmem/ingest/host"
	"cmem/projections/records"
	"cmem/projections/search"
)

// Limits of lists and depths.
const (
	defaultLimit = 20
	maxLimit     = 100 // of a page of a list
	maxSearch    = 1000
	defaultDepth = 10
	maxDepth     = 100
)

// params reads a query string; the first thing wrong with it is kept in err.
type params struct {
	url.Values
	err error
}

func (p *params) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// first gives the value of the first of names that is there.
func (p *params) first(names ...string) string {
	for _, n := range names {
		if v := strings.TrimSpace(p.Get(n)); v != "" {
			return v
		}
	}
	return ""
}

// all gives the values of names, repeated or separated by commas.
func (p *params) all(names ...string) []string {
	var out []string
	for _, n := range names {
		for _, v := range p.Values[n] {
			out = append(out, splitList(v)...)
		}
	}
	return out
}

// projects gives the projects asked for: project is one, whatever is in its
// name; projects is a list with commas.
func (p *params) projects() []string {
	if one := p.first("project"); one != "" {
		return []string{one}
	}
	return p.all("projects")
}

// int reads a number from least to most; one over most is most.
func (p *params) int(name string, def, least, most int) int {
	v := p.first(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		p.fail(Errorf(Invalid, "%s must be a number from %d on, not %s", name, least, quote(v)))
		return def
	}
	return min(n, most)
}

// flag reads yes or no.
func (p *params) flag(name string) bool {
	switch strings.ToLower(p.first(name)) {
	case "", "false", "0", "no", "off":
		return false
	case "true", "1", "yes", "on":
		return true
	}
	p.fail(Errorf(Invalid, "%s must be true or false, not %s", name, quote(p.Get(name))))
	return false
}

// oneOf reads one of allowed; "" is the first.
func (p *params) oneOf(name string, allowed ...string) string {
	v := strings.ToLower(p.first(name))
	if v == "" {
		return allowed[0]
	}
	if !slices.Contains(allowed, v) {
		named := slices.DeleteFunc(slices.Clone(allowed), func(a string) bool { return a == "" })
		p.fail(Errorf(Invalid, "%s must be one of %s, not %s", name, strings.Join(named, ", "), quote(v)))
	}
	return v
}

// searching is what /api/search asks for.
type searching struct {
	query    string
	kinds    []records.DocKind // nil: all
	types    []string
	concepts []string
	files    []string
	folder   bool
	projects []string // as given; resolved later
	host     string
	session  string
	span     span
	zone     *time.Location
	sort     search.Sort
	sorted   bool // a date order was asked for
	limit    int
	offset   int
	json     bool
	notes    []string // how something was read that may have been meant otherwise
}

func (s *searching) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

const kindNames = "observations, summaries (also called sessions), prompts, texts and turns"

// obsTypes are the usual types of observations; a model may be told to use others.
var obsTypes = []string{"bugfix", "feature", "refactor", "change", "discovery", "decision"}

// kinds by the names type= knows. claude-mem's sessions are summaries.
var kinds = map[string][]records.DocKind{
	"all":          nil,
	"observations": {records.ObservationDoc},
	"sessions":     {records.SummaryDoc},
	"summaries":    {records.SummaryDoc},
	"prompts":      {records.PromptDoc},
	"texts":        {records.TextDoc},
	"turns":        {records.TurnDoc},
	"tools":        {records.TurnDoc},
}

func (p *params) searching(zone *time.Location, now time.Time) searching {
	s := searching{
		query: p.first("query", "q"), concepts: p.all("concepts", "concept"), files: p.all("files", "filePath", "file"),
		types: p.all("obs_type", "obsType"), folder: p.flag("isFolder"), projects: p.projects(),
		host: hostName(p.first("platformSource", "platform_source", "host")), session: p.first("session", "session_id"),
		limit: p.int("limit", defaultLimit, 1, maxSearch), offset: p.int("offset", 0, 0, 1<<30),
		json: p.oneOf("format", "text", "json") == "json",
	}
	if s.host != "" && !slices.Contains(HostNames(), s.host) {
		s.note("no host is called %s; hosts are %s", quote(s.host), strings.Join(host.Names(), ", "))
	}
	p.kinds(&s)
	p.order(&s)
	s.zone, s.span = p.dates(zone, now)
	return s
}

// kinds reads type: a kind of thing, or else a type of observation.
func (p *params) kinds(s *searching) {
	if t := strings.ToLower(p.first("type")); t != "" {
		if k, ok := kinds[t]; ok {
			s.kinds = k
		} else {
			s.types = append(s.types, splitList(t)...)
			for _, one := range splitList(t) {
				if !slices.Contains(obsTypes, one) {
					s.note("no kind of memory is called %s, so observations of that type were looked for; kinds are %s", quote(one), kindNames)
				}
			}
		}
	}
	// Only observations have a type and concepts: others would pass a filter
	// they cannot meet.
	if len(s.types)+len(s.concepts) > 0 {
		if s.kinds != nil && s.kinds[0] != records.ObservationDoc {
			p.fail(Errorf(Invalid, "only observations have a type and concepts: leave out type=%s, or obs_type and concepts", p.first("type")))
		}
		s.kinds = []records.DocKind{records.ObservationDoc}
	}
}

func (p *params) order(s *searching) {
	switch p.oneOf("orderBy", "", "relevance", "date_desc", "date_asc") {
	case "date_desc":
		s.sort, s.sorted = search.DateDesc, true
	case "date_asc":
		s.sort, s.sorted = search.DateAsc, true
	}
}

// dates reads zone and range.
func (p *params) dates(fallback *time.Location, now time.Time) (*time.Location, span) {
	zone, err := ParseZone(p.first("zone", "tz", "timezone"), fallback)
	if err != nil {
		p.fail(err)
		zone = fallback
	}
	r, err := dateRange(
		p.first("dateStart", "date_start", "date_from", "dateFrom", "from"),
		p.first("dateEnd", "date_end", "date_to", "dateTo", "to"), p.first("date"), zone, now)
	if err != nil {
		p.fail(err)
	}
	return zone, r
}

// limited says whether anything but order and page was asked for.
func (s searching) limited() bool {
	return s.query != "" || s.kinds != nil || len(s.types)+len(s.concepts)+len(s.files)+len(s.projects) > 0 ||
		s.host != "" || s.session != "" || s.span != span{}
}

package mcpauth

import (
	"net/http"
	"slices"
	"strings"
)

// A Challenge is what a protected server says in WWW-Authenticate (RFC 9110 section 11.6.1, RFC 6750 section 3, RFC 9728 section 5.1).
// The text in it comes from the server and is not to be trusted.
type Challenge struct {
	Scheme           string   // "bearer" or "dpop", in lower case
	ResourceMetadata string   // where the protected resource metadata is; empty if not said
	Scopes           []string // the scopes that the operation needs; nil if not said
	Error            string   // "invalid_token", "insufficient_scope", "use_dpop_nonce" or another code; empty if not said
	Description      string   // error_description
}

// ParseChallenge returns the first Bearer challenge among all WWW-Authenticate headers, or else the first DPoP challenge, or nil. Headers
// that are not grammatical are read as far as they can be; of a parameter that comes twice the first counts.
func ParseChallenge(h http.Header) *Challenge {
	var found *Challenge
	for _, c := range parseChallenges(h.Values("WWW-Authenticate")) {
		bearer := c.scheme == "bearer"
		if !bearer && (c.scheme != "dpop" || found != nil) {
			continue
		}
		found = &Challenge{Scheme: c.scheme, ResourceMetadata: c.params["resource_metadata"], Error: c.params["error"], Description: c.params["error_description"]}
		if s, ok := c.params["scope"]; ok {
			found.Scopes = scopeSet(strings.Fields(s))
		}
		if bearer {
			break
		}
	}
	return found
}

type rawChallenge struct {
	scheme string
	params map[string]string
}

// parseChallenges reads a list of challenges. A word followed by "=" is a parameter, any other begins a challenge.
func parseChallenges(values []string) []rawChallenge {
	var all []rawChallenge
	for _, v := range values {
		first := len(all)
		s := challengeScanner{text: v}
		for {
			word, ok := s.word()
			if !ok {
				break
			}
			value, isParam := s.value()
			switch {
			case !isParam:
				all = append(all, rawChallenge{scheme: strings.ToLower(word), params: map[string]string{}})
			case len(all) > first:
				name := strings.ToLower(word)
				if _, twice := all[len(all)-1].params[name]; !twice {
					all[len(all)-1].params[name] = value
				}
			}
		}
	}
	return all
}

type challengeScanner struct {
	text string
	at   int
}

func (s *challengeScanner) skip(set string) {
	for s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
}

// word returns the next token, leaving out what cannot begin one.
func (s *challengeScanner) word() (string, bool) {
	for s.at < len(s.text) {
		s.skip(" \t,")
		from := s.at
		for s.at < len(s.text) && tokenChar(s.text[s.at]) {
			s.at++
		}
		if s.at > from {
			return s.text[from:s.at], true
		}
		s.at++
	}
	return "", false
}

// value reads "=" and what follows it, if it is there.
func (s *challengeScanner) value() (string, bool) {
	back := s.at
	s.skip(" \t")
	if s.at >= len(s.text) || s.text[s.at] != '=' {
		s.at = back
		return "", false
	}
	s.at++
	s.skip(" \t")
	if s.at < len(s.text) && s.text[s.at] == '"' {
		return s.quoted(), true
	}
	from := s.at
	for s.at < len(s.text) && strings.IndexByte(" \t,", s.text[s.at]) < 0 {
		s.at++
	}
	return s.text[from:s.at], true
}

func (s *challengeScanner) quoted() string {
	var b strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return b.String()
		case c == '\\' && s.at+1 < len(s.text):
			s.at++
			b.WriteByte(s.text[s.at])
		case c != '\\':
			b.WriteByte(c)
		}
	}
	return b.String()
}

func tokenChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// scopeSet returns the union of scopes, sorted, without duplicates; never nil.
func scopeSet(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	if all == nil {
		return []string{}
	}
	return slices.Compact(all)
}

package mcpauth

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
)

// claimSet are the claims of an access token (RFC 7519, RFC 9068 section 2.2) or of an introspection response (RFC 7662 section 2.2).
type claimSet struct {
	Issuer    string      `json:"iss"`
	Subject   string      `json:"sub"`
	Audience  textList    `json:"aud"`
	Expiry    numericDate `json:"exp"`
	NotBefore numericDate `json:"nbf"`
	IssuedAt  numericDate `json:"iat"`
	Bound     confirmed   `json:"cnf"`

	// Who got the token: client_id by RFC 9068, the others where that is not followed.
	ClientID        string `json:"client_id"`
	AuthorizedParty string `json:"azp"`
	CID             string `json:"cid"`
	AppID           string `json:"appid"`

	Scope scopeList `json:"scope"`
	SCP   scopeList `json:"scp"`

	// Signs of a person at the login (RFC 9068 section 2.2.1), and of none.
	AuthTime  json.RawMessage `json:"auth_time"`
	ACR       json.RawMessage `json:"acr"`
	AMR       json.RawMessage `json:"amr"`
	GrantType json.RawMessage `json:"gty"`
	TokenKind json.RawMessage `json:"idtyp"`
}

// confirmed is the cnf claim (RFC 7800). Ways to confirm that are not known here are not ignored.
type confirmed struct {
	Key         string                     `json:"jkt"`
	Certificate string                     `json:"x5t#S256"`
	Unknown     map[string]json.RawMessage `json:",embed"`
}

// readClaims decodes the payload of a token.
func readClaims(raw []byte) (*claimSet, error) {
	c := &claimSet{}
	if err := jsonv2.Unmarshal(raw, c); err != nil {
		return nil, &TokenError{Reason: "the token's claims cannot be read", Err: err}
	}
	return c, nil
}

// checkTimes checks exp, nbf and iat.
func (c *claimSet) checkTimes(now time.Time, skew time.Duration) error {
	switch {
	case !c.Expiry.IsZero() && !now.Before(c.Expiry.Add(skew)):
		return invalid("the token has expired")
	case !c.NotBefore.IsZero() && now.Before(c.NotBefore.Add(-skew)):
		return invalid("the token is not valid yet")
	case !c.IssuedAt.IsZero() && now.Before(c.IssuedAt.Add(-skew)):
		return invalid("the token was issued in the future")
	}
	return nil
}

// token makes the Token that the claims describe.
func (c *claimSet) token(raw []byte, skew time.Duration) (*Token, error) {
	t := &Token{
		Issuer: c.Issuer, Subject: c.Subject, Audience: c.Audience, Claims: raw,
		KeyThumbprint: c.Bound.Key, CertificateThumbprint: c.Bound.Certificate,
	}
	for _, id := range []string{c.ClientID, c.AuthorizedParty, c.CID, c.AppID} {
		if t.ClientID = id; id != "" {
			break
		}
	}
	if len(c.Bound.Unknown) > 0 {
		return nil, invalid("the token is bound to its sender in a way that this server cannot check")
	}
	if t.Subject == "" && t.ClientID == "" {
		return nil, invalid("the token names neither a subject nor a client")
	}
	t.Scopes = slices.Compact(slices.Concat(c.Scope, c.SCP))
	if !c.Expiry.IsZero() {
		t.Expiry = c.Expiry.Add(skew)
	}
	t.Person = c.person(t)
	return t, nil
}

// person reports whether the claims tell that a person has logged in for the token.
func (c *claimSet) person(t *Token) bool {
	switch {
	case t.Subject == "", t.ClientID == "", t.Subject == t.ClientID:
		return false
	case strings.Contains(strings.ReplaceAll(string(c.GrantType), "_", "-"), "client-credentials"), string(c.TokenKind) == `"app"`:
		return false
	}
	return present(c.AuthTime) || present(c.ACR) || present(c.AMR)
}

// present reports whether a claim says something: it is there, and neither null nor empty.
func present(raw json.RawMessage) bool {
	switch strings.Join(strings.Fields(string(raw)), "") {
	case "", "null", `""`, "[]", "{}":
		return false
	}
	return true
}

// SubjectIsPerson is a [JWTOptions.Person] for issuers whose tokens for clients themselves always have the client id as subject, as RFC 9068
// section 2.2 wants it, and whose client ids cannot be chosen to equal a person's subject (RFC 9700 section 4.15).
func SubjectIsPerson(t *Token) bool {
	return t.Subject != "" && t.ClientID != "" && t.Subject != t.ClientID
}

// textList is a string or an array of strings.
type textList []string

// UnmarshalJSON reads either form.
func (l *textList) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var one string
		err := jsonv2.Unmarshal(b, &one)
		*l = textList{one}
		return err
	}
	return jsonv2.Unmarshal(b, (*[]string)(l))
}

// scopeList is a string of scopes with spaces between them, or an array of such strings.
type scopeList []string

// UnmarshalJSON reads either form.
func (l *scopeList) UnmarshalJSON(b []byte) error {
	var texts textList
	if err := texts.UnmarshalJSON(b); err != nil {
		return err
	}
	for _, t := range texts {
		*l = append(*l, strings.Fields(t)...)
	}
	return nil
}

// numericDate is a time in seconds since 1970, with or without a fraction.
type numericDate struct{ time.Time }

// maxNumericDate is beyond what anything is valid until; larger values are mistakes, such as milliseconds.
const maxNumericDate = 1 << 37 // the year 6325

// UnmarshalJSON reads a number.
func (d *numericDate) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(b), 64)
		if ferr != nil {
			return errors.New("a time must be a number of seconds")
		}
		if f < 1 || f > maxNumericDate {
			return errors.New("a time is out of range")
		}
		n = int64(f)
	}
	if n < 1 || n > maxNumericDate {
		return errors.New("a time is out of range")
	}
	d.Time = time.Unix(n, 0)
	return nil
}

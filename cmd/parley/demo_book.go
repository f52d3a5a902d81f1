package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/connect"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcptest/railway"
)

// journey is what the demo's tool is called with.
type journey struct {
	From string `json:"from" jsonschema:"station of departure"`
	To   string `json:"to" jsonschema:"station of arrival"`
}

// seat is the form that the demo's tool asks for.
type seat struct {
	Class string `json:"class" title:"Class" enum:"first=First class,second=Second class" default:"second"`
	Place string `json:"place" title:"Window or aisle" enum:"window=At the window,aisle=On the aisle"`
	Quiet bool   `json:"quiet,omitempty" title:"Quiet coach" jsonschema:"No calls, no loudspeakers."`
}

// ticket is what the demo's tool returns.
type ticket struct {
	Number string `json:"number"`
	// Passenger is the person's account at the railway company.
	Passenger string `json:"passenger"`
	From      string `json:"from"`
	To        string `json:"to"`
	Class     string `json:"class"`
	Place     string `json:"place"`
	Quiet     bool   `json:"quiet"`
	Fare      string `json:"fare"`
	// ApprovedAt is when the purchase was made, after the person's approval, as the server has it.
	ApprovedAt time.Time `json:"approvedAt"`
}

// A travelDesk is the server of the demo as its author writes it: what it needs of a person, and its tool. How the person is asked, at
// which revision, and who they are is left to the library.
type travelDesk struct {
	desk *connect.Desk
	key  *connect.SecretSource
	rail *connect.Grant
	api  string // where the railway company's API is
	http *http.Client
}

// newTravelDesk says what may be asked for at a desk.
func newTravelDesk(desk *connect.Desk, there *railAccess) *travelDesk {
	t := &travelDesk{desk: desk, api: there.API, http: &http.Client{Timeout: 10 * time.Second}}
	t.key = desk.Secret(&connect.SecretSpec{
		Name: "stations", Title: "Rail AG API key", Reason: "To look up stations.", Hint: "It begins with rk_.", HelpURL: there.KeyPage,
		Validate: t.tryKey,
	})
	t.rail = desk.OAuth(&connect.Provider{
		Name: "rail", Title: "Rail AG", Reason: "To find a seat and to book it.", Issuer: there.Issuer, ClientID: railClient, ClientSecret: connect.NewSecret(there.Secret),
		Resource: there.API, Scopes: []string{"openid", "email"},
		ScopeTexts: map[string]string{"openid": "Know who you are there", "email": "See your e-mail address", railway.ScopeRead: "See free seats and prices", railway.ScopeBook: "Book seats for you"},
	})
	return t
}

// addTo adds the tool to a server.
func (t *travelDesk) addTo(srv *mcp.Server) {
	mcp.AddTool(srv, &mcp.Tool{
		Name: "book", Description: "Book a seat on a train.",
		Asks: append(ask.Declare(ask.FormItem[seat]("seat", "")), t.desk.Asks("stations", "rail")...),
	}, t.book)
}

// book is the demo's tool: a secret, a form, a grant, an approval, a ticket. It is written once for every revision.
func (t *travelDesk) book(ctx context.Context, call *mcp.Call, in journey) (ticket, error) {
	if err := t.known(ctx, call, in); err != nil { // asks for the API key, on a page
		return ticket{}, err
	}
	s, err := ask.Form[seat](ctx, call, "seat", "Where would you like to sit between "+in.From+" and "+in.To+"?") // in the client
	if err != nil {
		return ticket{}, err
	}
	token, err := t.rail.Token(ctx, call, railway.ScopeRead, railway.ScopeBook) // at the other company
	if err != nil {
		return ticket{}, err
	}
	offer, err := mcp.Once(ctx, call, "offer", func() (railway.Seat, error) { return t.find(ctx, token, in, s.Class) })
	if err != nil {
		return ticket{}, err
	}
	fare := fmt.Sprintf("€ %d.%02d", offer.Cents/100, offer.Cents%100)
	action := connect.Action{
		Title: "Buy a ticket for " + fare,
		Details: []connect.Detail{
			{Label: "From", Value: in.From}, {Label: "To", Value: in.To}, {Label: "Seat", Value: seatText(s)}, {Label: "Fare", Value: fare}, {Label: "Paid by", Value: token.Account},
		},
		Uses: []connect.Credential{t.rail},
	}
	return connect.Do(ctx, t.desk, call, action, func(a connect.Approved) (ticket, error) { // on a page, then once
		number, err := t.buy(ctx, token, offer.ID, a.IdempotencyKey)
		return ticket{Number: number, Passenger: token.Account, From: in.From, To: in.To, Class: s.Class, Place: s.Place, Quiet: s.Quiet,
			Fare: fare, ApprovedAt: time.Now().UTC().Truncate(time.Second)}, err
	})
}

// known makes sure that there are such stations. A key that is no longer accepted is forgotten, and the person asked for another.
func (t *travelDesk) known(ctx context.Context, call *mcp.Call, in journey) error {
	for range 2 {
		key, err := t.key.Get(ctx, call)
		if err != nil {
			return err
		}
		var stations []string
		err = t.send(ctx, "GET /stations", http.Header{"X-Api-Key": {key.Reveal()}}, nil, &stations)
		switch {
		case errors.Is(err, errUnauthorized):
			if err := t.key.Forget(ctx, call, key); err != nil {
				return err
			}
		case err != nil:
			return err
		case !slices.Contains(stations, in.From) || !slices.Contains(stations, in.To):
			return mcp.ToolErrorf("The stations are: %s.", strings.Join(stations, ", "))
		default:
			return nil
		}
	}
	return mcp.ToolErrorf("Rail AG does not accept the API key.")
}

// tryKey asks the company whose key it is, before it is saved.
func (t *travelDesk) tryKey(ctx context.Context, key connect.Value) error {
	err := t.send(ctx, "GET /key", http.Header{"X-Api-Key": {key.Reveal()}}, nil, nil)
	if errors.Is(err, errUnauthorized) {
		return connect.Refuse("Rail AG does not know this key")
	}
	return err
}

// find looks for a free seat.
func (t *travelDesk) find(ctx context.Context, token *connect.Token, in journey, class string) (railway.Seat, error) {
	var seats []railway.Seat
	err := t.send(ctx, "GET /seats?"+url.Values{"from": {in.From}, "to": {in.To}}.Encode(), http.Header{"Authorization": {bearer(token)}}, nil, &seats)
	for _, s := range seats {
		if s.Class == class {
			return s, nil
		}
	}
	if err == nil {
		err = mcp.ToolErrorf("There is no seat left in that class.")
	}
	return railway.Seat{}, err
}

// buy books a seat and returns the number of the booking.
func (t *travelDesk) buy(ctx context.Context, token *connect.Token, id, idempotencyKey string) (string, error) {
	body, err := jsonv2.Marshal(map[string]string{"seat": id})
	if err != nil {
		return "", err
	}
	var b railway.Booking
	err = t.send(ctx, "POST /bookings", http.Header{"Authorization": {bearer(token)}, "Idempotency-Key": {idempotencyKey}}, body, &b)
	return b.ID, err
}

var errUnauthorized = errors.New("the railway company answers with status 401")

func bearer(token *connect.Token) string { return "Bearer " + token.Access.Reveal() }

// send asks the railway company.
func (t *travelDesk) send(ctx context.Context, what string, header http.Header, body []byte, out any) error {
	method, path, _ := strings.Cut(what, " ")
	req, err := http.NewRequestWithContext(ctx, method, t.api+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	res, err := t.http.Do(req)
	if err != nil {
		return mcp.ToolErrorf("Rail AG cannot be reached.")
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return errUnauthorized
	case res.StatusCode >= 300:
		return fmt.Errorf("the railway company answers with status %s", res.Status)
	case out == nil:
		return nil
	}
	return jsonv2.UnmarshalRead(res.Body, out)
}

func seatText(s seat) string {
	text := map[string]string{"first": "First class", "second": "Second class"}[s.Class] + map[string]string{"window": ", at the window", "aisle": ", on the aisle"}[s.Place]
	if s.Quiet {
		text += ", quiet coach"
	}
	return text
}

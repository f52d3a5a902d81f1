package railway

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

// Scopes of the API.
const (
	ScopeRead = "seats.read"
	ScopeBook = "seats.book"
)

// maxBookings bounds what an API remembers; it refuses more.
const maxBookings = 1000

// Options configure an API. Nil and zero values mean the defaults.
type Options struct {
	// URL names the API; tokens must be for it. [Start] and [Listen] fill it in.
	URL string
	// Check tells whose a token is, and its scopes, or fails. For a provider of package idp: its method Check. Default: no token is valid.
	Check func(token, resource string) (owner string, scopes []string, err error)
	// Keys are the API keys and whose they are. [API.SetKey] changes them.
	Keys map[string]string
}

// An API is an [http.Handler]. Its methods may be called concurrently.
type API struct {
	opts Options
	mux  *http.ServeMux

	mu       sync.Mutex
	keys     map[string]string
	bookings []Booking
	byKey    map[string]Booking // by owner and idempotency key
	counts   map[string]int
}

// A Seat is free.
type Seat struct {
	ID    string `json:"id"`
	From  string `json:"from"`
	To    string `json:"to"`
	Class string `json:"class"` // "first" or "second"
	Cents int64  `json:"cents"`
}

// A Booking is a seat that somebody has.
type Booking struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	Seat  string `json:"seat"`
}

// New makes an API. Nothing runs in the background; there is nothing to close.
func New(o *Options) *API {
	var opts Options
	if o != nil {
		opts = *o
	}
	a := &API{opts: opts, keys: map[string]string{}, byKey: map[string]Booking{}, counts: map[string]int{}, mux: http.NewServeMux()}
	maps.Copy(a.keys, opts.Keys)
	a.mux.HandleFunc("GET /me", a.person("", func(w http.ResponseWriter, _ *http.Request, owner string) {
		reply(w, 200, map[string]string{"subject": owner})
	}))
	a.mux.HandleFunc("GET /seats", a.person(ScopeRead, serveSeats))
	a.mux.HandleFunc("POST /bookings", a.person(ScopeBook, a.book))
	a.mux.HandleFunc("GET /bookings", a.person(ScopeBook, func(w http.ResponseWriter, _ *http.Request, owner string) {
		reply(w, 200, slices.DeleteFunc(a.Bookings(), func(b Booking) bool { return b.Owner != owner }))
	}))
	a.mux.HandleFunc("GET /key", a.keyed(func(w http.ResponseWriter, owner string) { reply(w, 200, map[string]string{"owner": owner}) }))
	a.mux.HandleFunc("GET /stations", a.keyed(func(w http.ResponseWriter, _ string) { reply(w, 200, []string{"Bern", "Praha", "Wien", "Zürich"}) }))
	return a
}

// ServeHTTP serves the API.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	_, pattern := a.mux.Handler(r)
	a.mu.Lock()
	a.counts[pattern]++
	a.mu.Unlock()
	a.mux.ServeHTTP(w, r)
}

// URL names the API.
func (a *API) URL() string { return a.opts.URL }

// SetKey makes an API key somebody's; an empty owner revokes it.
func (a *API) SetKey(key, owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if owner == "" {
		delete(a.keys, key)
		return
	}
	a.keys[key] = owner
}

// Bookings returns all bookings, the oldest first.
func (a *API) Bookings() []Booking {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Booking{}, a.bookings...)
}

// Count is how often an endpoint was asked, such as "GET /me".
func (a *API) Count(endpoint string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[endpoint]
}

// person serves an endpoint that wants a token.
func (a *API) person(scope string, h func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if a.opts.Check == nil || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "an access token is needed")
			return
		}
		owner, scopes, err := a.opts.Check(token, a.opts.URL)
		if err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			refuse(w, http.StatusUnauthorized, "the access token is not valid here")
			return
		}
		if scope != "" && !slices.Contains(scopes, scope) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, scope))
			refuse(w, http.StatusForbidden, "scope "+scope+" is needed")
			return
		}
		h(w, r, owner)
	}
}

// keyed serves an endpoint that wants an API key.
func (a *API) keyed(h func(http.ResponseWriter, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		owner, ok := a.keys[r.Header.Get("X-API-Key")]
		a.mu.Unlock()
		if !ok {
			refuse(w, http.StatusUnauthorized, "the API key is not known")
			return
		}
		h(w, owner)
	}
}

// serveSeats offers two seats between any two places; the price depends on the places.
func serveSeats(w http.ResponseWriter, r *http.Request, _ string) {
	from, to := r.URL.Query().Get("from"), r.URL.Query().Get("to")
	if from == "" || to == "" {
		refuse(w, http.StatusBadRequest, "from and to are needed")
		return
	}
	sum := sha256.Sum256([]byte(from + "\x00" + to))
	price := 2000 + int64(binary.BigEndian.Uint16(sum[:]))%8000
	trip := fmt.Sprintf("%x", sum[:4])
	reply(w, 200, []Seat{{trip + "-1", from, to, "first", price * 2}, {trip + "-2", from, to, "second", price}})
}

// book books a seat, once for one Idempotency-Key.
func (a *API) book(w http.ResponseWriter, r *http.Request, owner string) {
	var in struct {
		Seat string `json:"seat"`
	}
	key := r.Header.Get("Idempotency-Key")
	if err := json.UnmarshalRead(r.Body, &in); err != nil || in.Seat == "" || key == "" {
		refuse(w, http.StatusBadRequest, `expected {"seat": …} and the header Idempotency-Key`)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if b, ok := a.byKey[owner+"\x00"+key]; ok {
		if b.Seat != in.Seat {
			refuse(w, http.StatusConflict, "the Idempotency-Key was used for another seat")
			return
		}
		reply(w, http.StatusOK, b)
		return
	}
	if len(a.bookings) >= maxBookings {
		refuse(w, http.StatusInsufficientStorage, "the train is full")
		return
	}
	b := Booking{ID: rand.Text()[:8], Owner: owner, Seat: in.Seat}
	a.bookings = append(a.bookings, b)
	a.byKey[owner+"\x00"+key] = b
	reply(w, http.StatusCreated, b)
}

func refuse(w http.ResponseWriter, status int, text string) {
	reply(w, status, map[string]string{"error": text})
}

func reply(w http.ResponseWriter, status int, doc any) {
	var b bytes.Buffer
	if err := json.MarshalWrite(&b, doc); err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // nobody is left to be told
}

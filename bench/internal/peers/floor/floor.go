// Package floor is the floor as a peer: net/http around internal/floor, with sessions and streams reduced to what the workloads need.
package floor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/seed38e7925c/parley/bench/internal/floor"
	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
)

// Peer is the floor.
type Peer struct{}

// Name implements [peer.Peer].
func (Peer) Name() string { return "floor" }

// ServeLines implements [peer.Peer].
func (Peer) ServeLines(_ context.Context, r io.Reader, w io.Writer, s peer.Setup) error {
	return floor.New(s.Extra, s.Ask, s.Filter).ServeLines(r, w)
}

// Serve implements [peer.Peer].
func (Peer) Serve(s peer.Setup) (*peer.Server, error) {
	h := &handler{
		core: floor.New(s.Extra, s.Ask, s.Filter), stateful: s.Mode == peer.Stateful,
		sessions: map[string]*session{}, streams: map[*stream]struct{}{},
	}
	return &peer.Server{Handler: h, Change: h.changed}, nil
}

type handler struct {
	core     *floor.Server
	stateful bool

	mu       sync.RWMutex
	sessions map[string]*session
	streams  map[*stream]struct{}
}

type session struct {
	mu    sync.Mutex
	last  int64
	asked map[int64]chan json.RawMessage
}

// stream is a response that stays open.
type stream struct {
	params string // of its notices
	mu     sync.Mutex
	w      http.ResponseWriter
	buf    []byte
}

func (h *handler) changed() {
	h.mu.RLock()
	all := make([]*stream, 0, len(h.streams))
	for st := range h.streams {
		all = append(all, st)
	}
	h.mu.RUnlock()
	for _, st := range all {
		st.send("notifications/tools/list_changed", "")
	}
}

func (st *stream) send(method, params string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	b := append(st.buf[:0], `data: {"jsonrpc":"2.0","method":"`...)
	b = append(b, method...)
	b = append(b, `","params":{`...)
	b = append(b, st.params...)
	b = append(b, params...)
	st.buf = append(b, "}}\n\n"...)
	if _, err := st.w.Write(st.buf); err != nil {
		return // its request ends
	}
	flush(st.w)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	_, after, _ := strings.Cut(origin, "://")
	switch {
	case !local(r.Host), origin != "" && !local(after):
		http.Error(w, "not from here", http.StatusForbidden)
	case r.Method == http.MethodGet && h.stateful:
		h.get(w, r)
	case r.Method != http.MethodPost:
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		http.Error(w, "JSON only", http.StatusUnsupportedMediaType)
	case !accepts(r.Header.Get("Accept")):
		http.Error(w, "JSON and events must be acceptable", http.StatusNotAcceptable)
	default:
		h.post(w, r)
	}
}

func accepts(accept string) bool {
	return strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
}

const maxBody = 4 << 20

var errLarge = errors.New("the body is too large")

func readBody(r *http.Request, dst *[]byte) error {
	n := r.ContentLength
	if n < 0 || n > maxBody {
		return errLarge
	}
	if int64(cap(*dst)) < n {
		*dst = make([]byte, n)
	}
	*dst = (*dst)[:n]
	_, err := io.ReadFull(r.Body, *dst)
	return err
}

func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	body, out := floor.Borrow(), floor.Borrow()
	defer floor.Return(body)
	defer floor.Return(out)
	if err := readBody(r, body); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	var m floor.Message
	if err := floor.Decode(*body, &m); err != nil {
		*out = floor.ParseError(*out, err)
		reply(w, http.StatusBadRequest, *out)
		return
	}
	revision := r.Header.Get("Mcp-Protocol-Version")
	if m.Params.Meta.Revision == "" && revision != floor.Modern {
		h.legacy(w, r, &m, out)
		return
	}
	if wrong := floor.CheckHeaders(&m, revision, r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")); wrong != "" {
		*out = floor.HeaderError(*out, &m, wrong)
		reply(w, http.StatusBadRequest, *out)
		return
	}
	if m.Method == "subscriptions/listen" {
		h.listen(w, r, &m)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var code int
	*out, code = h.core.Answer(*out, &m, nil)
	reply(w, floor.Status(code), *out)
}

func (h *handler) find(w http.ResponseWriter, r *http.Request) *session {
	h.mu.RLock()
	s := h.sessions[r.Header.Get("Mcp-Session-Id")]
	h.mu.RUnlock()
	if s == nil {
		http.Error(w, "no such session", http.StatusNotFound)
	}
	return s
}

func (h *handler) legacy(w http.ResponseWriter, r *http.Request, m *floor.Message, out *[]byte) {
	var s *session
	switch {
	case !h.stateful:
	case m.Method == "initialize":
		id := rand.Text()
		h.mu.Lock()
		h.sessions[id] = &session{}
		h.mu.Unlock()
		w.Header()["Mcp-Session-Id"] = []string{id}
	default:
		if s = h.find(w, r); s == nil {
			return
		}
	}
	switch {
	case m.Method == "" && s != nil:
		s.deliver(m)
		w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case s != nil && (m.Params.Name == tool.Approve || m.Params.Name == tool.Trip):
		h.asking(w, r, s, m, out)
	default:
		*out, _ = h.core.Answer(*out, m, nil)
		reply(w, http.StatusOK, *out)
	}
}

// deliver hands the answer to a question to who asked.
func (s *session) deliver(m *floor.Message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return
	}
	s.mu.Lock()
	answer := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if answer != nil {
		answer <- bytes.Clone(m.Result)
	}
}

func (s *session) expect() (int64, chan json.RawMessage) {
	answer := make(chan json.RawMessage, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[int64]chan json.RawMessage{}
	}
	s.last++
	s.asked[s.last] = answer
	return s.last, answer
}

// asking serves a call that asks on the stream of its own answer.
func (h *handler) asking(w http.ResponseWriter, r *http.Request, s *session, m *floor.Message, out *[]byte) {
	begin(w)
	ask := func(_ string, n int) (json.RawMessage, error) {
		id, answer := s.expect()
		buf := floor.Borrow()
		defer floor.Return(buf)
		*buf = append(floor.AppendAsk(append(*buf, "data: "...), id, n), "\n\n"...)
		if _, err := w.Write(*buf); err != nil {
			return nil, err
		}
		flush(w)
		select {
		case raw := <-answer:
			return raw, nil
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	*out = append(*out, "data: "...)
	*out, _ = h.core.Answer(*out, m, ask)
	*out = append(*out, "\n\n"...)
	_, _ = w.Write(*out) // a client that is gone needs no answer
}

func begin(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = []string{"text/event-stream"}
	header["Cache-Control"] = []string{"no-cache"}
	w.WriteHeader(http.StatusOK)
}

// hold keeps a stream open until its client goes.
func (h *handler) hold(r *http.Request, st *stream) {
	flush(st.w)
	h.mu.Lock()
	h.streams[st] = struct{}{}
	h.mu.Unlock()
	<-r.Context().Done()
	h.mu.Lock()
	delete(h.streams, st)
	h.mu.Unlock()
}

func (h *handler) get(w http.ResponseWriter, r *http.Request) {
	if h.find(w, r) == nil {
		return
	}
	begin(w)
	h.hold(r, &stream{w: w})
}

func (h *handler) listen(w http.ResponseWriter, r *http.Request, m *floor.Message) {
	st := &stream{w: w, params: `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `}`}
	begin(w)
	st.send("notifications/subscriptions/acknowledged", `,"notifications":{"toolsListChanged":true}`)
	h.hold(r, st)
}

var typeJSON = []string{"application/json"}

func reply(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = typeJSON
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// caller is a client that knows one call.
type caller struct {
	url    string
	client *http.Client
}

// Dial implements [peer.Peer].
func (Peer) Dial(_ context.Context, url string) (peer.Caller, error) {
	return caller{url, &http.Client{Transport: &http.Transport{}}}, nil
}

// Call implements [peer.Caller].
func (c caller) Call(ctx context.Context) error {
	args, err := json.Marshal(tool.In{Message: "hello", Number: 7})
	if err != nil {
		return err
	}
	body := floor.Borrow()
	defer floor.Return(body)
	*body = append(*body, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool.Repeat+`","_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"`+floor.Modern+`","io.modelcontextprotocol/clientCapabilities":{}},"arguments":`...)
	*body = append(append(*body, args...), "}}"...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(*body))
	if err != nil {
		return err
	}
	req.Header = http.Header{
		"Content-Type": typeJSON, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {floor.Modern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {tool.Repeat},
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return check(raw)
}

func check(raw []byte) error {
	var m struct {
		Result struct {
			Out tool.Out `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	if m.Result.Out.Message != "hello" || m.Result.Out.Number != 7 {
		return fmt.Errorf("wrong answer %s", raw)
	}
	return nil
}

// Close implements [peer.Caller].
func (c caller) Close() error {
	c.client.CloseIdleConnections()
	return nil
}

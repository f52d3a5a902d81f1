package mcphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed38e7925c/parley/ask"
	"github.com/seed38e7925c/parley/mcp"
	"github.com/seed38e7925c/parley/mcphttp"
)

// replicaKeys names the key file of a replica, and makes the test binary one.
const replicaKeys = "PARLEY_REPLICA_KEYS"

func init() {
	if file := os.Getenv(replicaKeys); file != "" {
		if err := serveReplica(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

type transfer struct {
	To     string `json:"to"`
	Amount int64  `json:"amount"`
}

// serveReplica is one process of a server that asks twice. It believes whoever a request says it comes from, reads its keys again when it
// gets POST /keys, and ends with its standard input.
func serveReplica(file string) error {
	ring, err := mcp.KeyRingFromFile(file)
	if err != nil {
		return err
	}
	srv := mcp.NewServer("replica", "1", &mcp.ServerOptions{Ask: &mcp.AskOptions{Keys: ring}})
	mcp.AddTool(srv, &mcp.Tool{Name: "pay", Asks: ask.Declare(ask.ConfirmItem("sure", "Sure?"), ask.ConfirmItem("really", "Really?"))},
		func(ctx context.Context, call *mcp.Call, in transfer) (string, error) {
			ticket, err := mcp.Once(ctx, call, "ticket", func() (int, error) { return os.Getpid(), nil })
			if err != nil {
				return "", err
			}
			for _, q := range [][2]string{{"sure", "Sure?"}, {"really", "Really?"}} {
				if ok, err := ask.Confirm(ctx, call, q[0], q[1]); err != nil || !ok {
					return "nothing paid", err
				}
			}
			return fmt.Sprintf("paid %d to %s, begun by %d, ended by %d", in.Amount, in.To, ticket, os.Getpid()), nil
		})
	mux := http.NewServeMux()
	mcphttp.Mount(mux, "/mcp", mcphttp.NewHandler(srv, &mcphttp.Options{Authenticate: func(r *http.Request) (*mcp.Principal, error) {
		return &mcp.Principal{Issuer: "https://issuer.example", Subject: r.Header.Get("Authorization")}, nil
	}}))
	mux.HandleFunc("POST /keys", func(w http.ResponseWriter, _ *http.Request) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = ring.ReplaceText(text)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	l, err := mcphttp.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go http.Serve(l, mux) // ends with the process
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// replicas are two processes behind a proxy that sends each request to the other one than the request before.
type replicas struct {
	t       *testing.T
	keys    string // file
	backend []*url.URL
	front   string
	turn    atomic.Int32
	drop    atomic.Bool // loses the next response, after the replica has answered
}

func startReplicas(t *testing.T, keys ...mcp.Key) *replicas {
	t.Helper()
	r := &replicas{t: t, keys: filepath.Join(t.TempDir(), "keys")}
	r.writeKeys(keys...)
	for range 2 {
		r.backend = append(r.backend, r.startOne())
	}
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(r.backend[int(r.turn.Add(1))%len(r.backend)])
		},
		ModifyResponse: func(*http.Response) error {
			if r.drop.CompareAndSwap(true, false) {
				return errors.New("lost on the way")
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	t.Cleanup(front.Close)
	r.front = front.URL
	return r
}

func (r *replicas) startOne() *url.URL {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), replicaKeys+"="+r.keys)
	cmd.Stderr = r.t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { in.Close(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		r.t.Fatalf("the replica did not start: %v", err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

func (r *replicas) writeKeys(keys ...mcp.Key) {
	r.t.Helper()
	ring, err := mcp.KeyRingOf(keys...)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.keys, ring.Text(), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// rotate gives the keys to one replica after the other.
func (r *replicas) rotate(keys ...mcp.Key) {
	r.t.Helper()
	r.writeKeys(keys...)
	for _, b := range r.backend {
		resp, err := http.Post(b.JoinPath("keys").String(), "", nil)
		if err != nil {
			r.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			r.t.Fatalf("rotating: %s", resp.Status)
		}
	}
}

// connect connects our client as somebody, whose answer to every form is preceded by what before does.
func (r *replicas) connect(who string, before func()) *mcp.Client {
	r.t.Helper()
	c, err := mcp.Connect(r.t.Context(), mcphttp.Dial(r.front+"/mcp", &mcphttp.DialOptions{Header: http.Header{"Authorization": {who}}}), &mcp.ClientOptions{
		Interactor: &mcp.Interactor{Form: func(context.Context, *mcp.FormQuestion) (*mcp.ElicitResult, error) {
			before()
			return &mcp.ElicitResult{Action: mcp.ActionAccept, Content: json.RawMessage(`{}`)}, nil
		}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// raw calls the tool by hand and returns the response, or the error of the exchange.
func (r *replicas) raw(who, arguments, more string) (string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}},"name":"pay","arguments":` + arguments + more + `}}`
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.front+"/mcp", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "pay", "Authorization": who} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

// state takes the requestState out of a response.
func state(t *testing.T, response string) string {
	t.Helper()
	var m struct {
		Result struct{ RequestState string }
	}
	if err := json.Unmarshal([]byte(response), &m); err != nil || m.Result.RequestState == "" {
		t.Fatalf("no requestState in %s (%v)", response, err)
	}
	return m.Result.RequestState
}

const toAnn = `{"to":"Ann","amount":9007199254740993}`

func answered(key, state string) string {
	return `,"inputResponses":{"` + key + `":{"action":"accept","content":{}}},"requestState":"` + state + `"`
}

func TestReplicasServeOurClient(t *testing.T) {
	first, second := mcp.NewKey(), mcp.NewKey()
	r := startReplicas(t, first)
	var asked int
	c := r.connect("alice", func() {
		switch asked++; asked {
		case 1:
			r.rotate(first, second) // everybody accepts the new key
		case 2:
			r.rotate(second, first) // everybody seals with it
		}
	})
	got, err := mcp.CallTool[string](t.Context(), c, "pay", transfer{To: "Ann", Amount: 9007199254740993})
	if err != nil || !strings.HasPrefix(got, "paid 9007199254740993 to Ann") || asked != 2 {
		t.Fatalf("%q, %v, asked %d times", got, err, asked)
	}
	r.rotate(second)
	if got, err = mcp.CallTool[string](t.Context(), c, "pay", transfer{To: "Bob", Amount: 1}); err != nil || !strings.HasPrefix(got, "paid 1 to Bob") {
		t.Errorf("with the old key gone: %q, %v", got, err)
	}
}

// A response that is lost is an error of that call, which may have been carried out; it is not repeated behind the caller's back, and the
// client goes on.
func TestReplicasAndALostResponseForOurClient(t *testing.T) {
	r := startReplicas(t, mcp.NewKey())
	c := r.connect("alice", func() { r.drop.Store(true) })
	if got, err := mcp.CallTool[string](t.Context(), c, "pay", transfer{To: "Ann", Amount: 1}); err == nil {
		t.Fatalf("a lost response became %q", got)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestReplicasServeARawClient(t *testing.T) {
	first, second := mcp.NewKey(), mcp.NewKey()
	r := startReplicas(t, first)
	one, err := r.raw("alice", toAnn, "")
	if err != nil {
		t.Fatal(err)
	}
	r.rotate(first, second)
	r.rotate(second, first)
	retry := answered("sure", state(t, one))

	for name, refused := range map[string]func() (string, error){
		"wrong principal":   func() (string, error) { return r.raw("mallory", toAnn, retry) },
		"altered arguments": func() (string, error) { return r.raw("alice", `{"to":"Ann","amount":9007199254740992}`, retry) },
		"altered state": func() (string, error) {
			return r.raw("alice", toAnn, strings.Replace(retry, `State":"`, `State":"A`, 1))
		},
	} {
		got, err := refused()
		if err != nil || !strings.Contains(got, `"code":-32602`) || strings.Contains(got, "Really?") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}

	r.drop.Store(true)
	if got, err := r.raw("alice", toAnn, retry); err == nil {
		t.Fatalf("a lost response became %s", got)
	}
	two, err := r.raw("alice", toAnn, retry) // again, and now by the other process
	if err != nil || !strings.Contains(two, "Really?") || strings.Contains(two, "Sure?") {
		t.Fatalf("again after a lost response: %s, %v", two, err)
	}
	three, err := r.raw("alice", toAnn, answered("really", state(t, two)))
	if err != nil || !strings.Contains(three, "paid 9007199254740993 to Ann, begun by ") || !strings.Contains(three, `"resultType":"complete"`) {
		t.Errorf("%s, %v", three, err)
	}
	r.rotate(second)
	if got, err := r.raw("alice", toAnn, retry); err != nil || !strings.Contains(got, `"code":-32602`) {
		t.Errorf("a state of a key that was dropped: %s, %v", got, err)
	}
}

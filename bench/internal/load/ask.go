package load

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/seed38e7925c/parley/bench/internal/peer"
	"github.com/seed38e7925c/parley/bench/internal/tool"
	"github.com/seed38e7925c/parley/bench/internal/wire"
)

func askLoads() []Load {
	var all []Load
	for _, mode := range []peer.Mode{peer.Modern, peer.Stateful} {
		for _, clients := range []int{1, 16} {
			all = append(all, Load{join("ask", mode, clients), func(r *Run) error { return r.ask(mode, tool.Approve, 1, clients) }})
		}
		all = append(all, Load{join("five-asks", mode, 16), func(r *Run) error { return r.ask(mode, tool.Trip, tool.Asks, 16) }})
	}
	return all
}

// ask measures whole calls of a tool that asks.
func (r *Run) ask(mode peer.Mode, name string, questions, clients int) (err error) {
	p, err := r.peer.Serve(peer.Setup{Mode: mode, Ask: true})
	if err != nil {
		return err
	}
	srv, host, err := listen(p.Handler)
	if err != nil {
		return err
	}
	defer closing(&err, srv.Close)
	calls, sessions, err := dial(host, mode, clients)
	if err != nil {
		return err
	}
	answers, _, err := dial(host, peer.Modern, clients)
	if err != nil {
		return err
	}
	done := []byte(tool.Done("launch", questions))
	people := make([]*person, clients)
	for i := range people {
		people[i] = &person{
			call: calls[i], answer: answers[i], session: sessions[i], name: name, questions: questions, done: done,
			first: wire.Ask(mode == peer.Modern, name).Post(host, sessions[i]),
		}
	}
	return r.measure(clients, func(i, n int) error {
		if mode == peer.Modern {
			return people[i].rounds(n)
		}
		return people[i].stream(n)
	})
}

// person answers questions with yes.
type person struct {
	call, answer  *wire.Conn
	session, name string
	questions     int
	done          []byte
	first         *wire.Bytes
}

// rounds answers each question by sending the request again, with the answer and the state that came.
func (p *person) rounds(n int) error {
	id := n * (p.questions + 1)
	p.first.SetID(id)
	status, body, err := p.call.Do(p.first.Raw)
	for i := range p.questions {
		state := wire.Between(body, `"requestState":"`, `"`)
		if err != nil || status != http.StatusOK || state == nil || !bytes.Contains(body, []byte(`"`+tool.Key(i)+`"`)) {
			return fmt.Errorf("question %d: status %d, %s %w", i, status, body, err)
		}
		next := wire.Retry(p.name, i, state).Post(p.call.Host, "")
		next.SetID(id + i + 1)
		status, body, err = p.call.Do(next.Raw)
	}
	if err != nil || status != http.StatusOK || !bytes.Contains(body, p.done) {
		return fmt.Errorf("status %d, %s %w", status, body, err)
	}
	return nil
}

// stream answers each question that comes on the stream of the call with a request of its own.
func (p *person) stream(n int) error {
	p.first.SetID(n)
	status, err := p.call.Open(p.first.Raw)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("status %d %w", status, err)
	}
	for i := range p.questions {
		event, err := p.call.Event()
		if err != nil {
			return err
		}
		id := wire.Between(event, `"id":`, ",")
		if id == nil || !bytes.Contains(event, []byte("elicitation/create")) {
			return fmt.Errorf("question %d: %s", i, event)
		}
		status, body, err := p.answer.Do(wire.Approval(id).Post(p.call.Host, p.session).Raw)
		if err != nil || status != http.StatusAccepted {
			return fmt.Errorf("answer %d: status %d, %s %w", i, status, body, err)
		}
	}
	rest, err := p.call.Rest()
	if err != nil || !bytes.Contains(rest, p.done) {
		return fmt.Errorf("result: %s %w", rest, err)
	}
	return nil
}

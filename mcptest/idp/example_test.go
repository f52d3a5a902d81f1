package idp_test

import (
	"fmt"
	"log"

	"github.com/seed38e7925c/parley/mcptest/idp"
)

// A program that shows something runs a provider, for as long as it likes; people sign in at its pages.
func ExampleListen() {
	p, err := idp.Listen("127.0.0.1:0", &idp.Options{Name: "Northern Railways", Users: []idp.User{{Subject: "u-1", Name: "Alice"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	token, err := p.Mint(&idp.Ticket{Subject: "u-1", ClientID: "travel", Resource: "https://api.example", Scopes: []string{"seats.read"}})
	if err != nil {
		log.Fatal(err)
	}
	owner, scopes, err := p.Check(token, "https://api.example")
	fmt.Println(owner, scopes, err)
	_, _, err = p.Check(token, "https://else.example")
	fmt.Println(err)
	// Output:
	// u-1 [seats.read] <nil>
	// idp: the token is not valid for https://else.example
}

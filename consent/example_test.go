package consent_test

import (
	"fmt"

	"github.com/seed38e7925c/parley/consent"
)

func ExampleReview() {
	r := consent.Review("https://paypa1.com/signin", &consent.Options{
		Server:  "https://mcp.shop.example/",
		Trusted: []string{"paypal.com"},
	})
	fmt.Println(consent.Line("Please \x1b[31msign in\x1b[0m\nto pay", 80))
	fmt.Printf("%s[%s]%s\n", r.Display.Before, r.Display.Domain, r.Display.After)
	for _, f := range r.Findings {
		fmt.Println(f)
	}
	// Output:
	// Please sign in to pay
	// https://[paypa1.com]/signin
	// danger: paypa1.com looks like paypal.com, but is another site.
	// info: The link leads to paypa1.com; the server itself is at shop.example.
}

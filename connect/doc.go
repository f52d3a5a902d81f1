// Package connect is the hosted half of asking a person: pages on which somebody signs in, hands over a secret, grants access at
// another company or approves an action, bound to the person whose tool call asked for it, and what is kept of it.
package connect

package mcp

import (
	"context"
	"errors"
)

// asking is the part of a Call that is about questions.
type asking struct{}

// asked runs the handler of a request that may ask.
func (c *Call) asked(ctx context.Context, _ []*Question, handler func(ctx context.Context) (any, error)) (any, error) {
	return handler(ctx)
}

// checkDeclared checks the questions that a tool, prompt or resource declares.
func checkDeclared(qs []*Question) error {
	for _, q := range qs {
		if q == nil || q.Key == "" {
			return errors.New("a declared question needs a key")
		}
	}
	return nil
}

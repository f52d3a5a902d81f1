package schema

import "reflect"

// SchemaOf infers the schema of a type without remembering it.
func SchemaOf(t reflect.Type) ([]byte, error) {
	p := newPlan(t)
	return p.schema, p.err
}

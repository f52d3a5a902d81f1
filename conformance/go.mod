module github.com/seed38e7925c/parley/conformance

go 1.26.0

require github.com/seed38e7925c/parley v0.0.0

require (
	github.com/go-jose/go-jose/v4 v4.1.9 // indirect
	go.mau.fi/util v0.11.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/oauth2 v0.38.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.6
)

replace github.com/seed38e7925c/parley => ../

module github.com/seed38e7925c/parley/conformance

go 1.26.0

require github.com/seed38e7925c/parley v0.0.0

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.6
)

replace github.com/seed38e7925c/parley => ../

module github.com/seed38e7925c/parley/conformance

go 1.26.0

require github.com/seed38e7925c/parley v0.0.0

require go.yaml.in/yaml/v3 v3.0.6 // indirect

replace github.com/seed38e7925c/parley => ../

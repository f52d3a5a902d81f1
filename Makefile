# Two commands do everything on a machine with Go and Node.js: make demo and make test. No account, key or container.
# Every target does its own set-up and says what it installs. "make help" lists them.
.DEFAULT_GOAL := help
SHELL := bash
GO ?= go
FUZZTIME ?= 30s
SOAKTIME ?= 10m
export GO FUZZTIME

.PHONY: help setup system tools demo test test-unit test-modern race conformance browser interop check fmt lint vuln generate cover fuzz mutants soak bench bench-quick latest clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: tools ## Install what tests and checks need: Go modules, the pinned tools, the conformance suite's npm packages
	@scripts/setup.sh

tools: ## Build the pinned tools of tools/go.mod into bin/ (the first time takes minutes)
	@echo "tools: golangci-lint, govulncheck and our own, pinned in tools/go.mod, into bin/"
	@$(GO) -C tools build -o ../bin/ tool ./...

demo: ## A host calls a tool, the server asks you, the tool finishes (--auto plays you where there is no terminal)
	@echo "demo: installs Go modules only"
	@$(GO) run ./cmd/parley demo $(ARGS)

test: system test-unit race test-modern conformance browser ## Everything: unit, race, modern-only build, the official suite, pages in a browser

system: ## PostgreSQL and Chromium from the system's package manager, where they are missing
	@scripts/system.sh

test-unit: ## Unit tests of every module (needs Go alone)
	@scripts/test.sh

test-modern: ## Build, vet and test without the revisions that begin with a handshake
	@scripts/test.sh -tags mcp_modern_only

race: ## Unit tests under the race detector, and proof that it is on
	@scripts/race.sh

conformance: ## The official conformance suite, both roles (needs Node.js; installs the pinned suite from npm)
	@bash conformance/run.sh

browser: system ## The pages that people see, in a headless Chromium (needs Node.js; installs the accessibility rules from npm)
	@scripts/browser.sh

interop: ## The matrix against other SDKs and published servers, on loopback (needs Node.js; installs the pinned peers from npm)
	@bash interop/run.sh $(ARGS)

check: tools ## Format, vet, lint, tidy modules, generated files, file norms, known vulnerabilities
	@scripts/check.sh

fmt: ## Format every Go file
	@gofmt -l -w $$(scripts/files.sh go)

lint: tools ## Lint every module, and prove that the project's own rules are alive
	@scripts/lint.sh

vuln: tools ## Look the modules up in Go's vulnerability database (needs the network)
	@scripts/vuln.sh

generate: ## Make the generated files anew
	@scripts/each.sh $(GO) generate ./...

cover: ## Coverage of each library package; fails under 85 %
	@scripts/cover.sh

fuzz: ## Each fuzz target for FUZZTIME (30s)
	@scripts/fuzz.sh

mutants: ## Mistakes made on purpose, a few for each parser: the fuzz targets must find them all (several minutes)
	@$(GO) test -count=1 -v -timeout 0 ./internal/mutants -args -mutants

soak: ## 500 clients that come, go, stall, cut and cancel, for SOAKTIME (10m), and nothing left behind
	@$(GO) test -count=1 -v -timeout 0 -run '^TestSoak$$' ./internal/soak -args -for $(SOAKTIME) -clients 500

bench: ## Parley beside its peers and a floor: medians, ratios, targets and verdicts (twenty minutes)
	@cd bench && $(GO) run .

bench-quick: ## The same for what has a target (two minutes)
	@cd bench && $(GO) run . -quick

latest: ## Test a copy against the newest dependencies
	@scripts/latest.sh

clean: ## Remove what these targets made
	rm -rf bin .cache coverage* conformance/results

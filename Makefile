# Everything that is done with the code is a target here; CI calls nothing else.
# `make help` lists them.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

export CGO_ENABLED ?= 0
TOOL     := go tool -modfile=scripts/tools/go.mod
RELEASE  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
MODULES  := $(filter-out scripts/tools,$(patsubst %/go.mod,%,$(wildcard scripts/*/go.mod)))
DATA_DIR ?= ./data
FUZZTIME ?= 20s
COUNT    ?= 8
CYCLES   ?= 100
BASE     ?= HEAD~1

.PHONY: help run build pgo test race lint fmt vet arrows fuzz bench measure micro benchdiff crash e2e golden cover interop check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

build: ## build bin/mira and bin/loadgen, static
	@go build -trimpath -ldflags '-s -w -X main.release=$(RELEASE)' -o bin/ ./cmd/...

run: build ## build and start a server on ./data (DATA_DIR=…)
	@bin/mira --data-dir $(DATA_DIR)

test: ## run every test, those of the modules under scripts/ too
	@go test ./...
	@for m in $(MODULES); do (cd $$m && go test -count=1 ./...); done # its cache knows nothing of the binaries

race: ## run every test under the race detector (needs a C compiler)
	@CGO_ENABLED=1 go test -race -pgo=off ./... # compiles half as much
	@for m in $(MODULES); do (cd $$m && go test -count=1 ./...); done # its cache knows nothing of the binaries

vet: ## go vet, in every module
	@go vet ./...
	@for m in $(MODULES); do (cd $$m && go vet ./...); done

lint: ## the linters and the format
	@$(TOOL) golangci-lint run --allow-serial-runners

fmt: ## rewrite the files in gofumpt's format
	@$(TOOL) golangci-lint fmt

arrows: ## check who imports whom
	@go test ./scripts/arrows

fuzz: ## run every fuzz target for a while, two at a time (FUZZTIME=20s)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

bench: build ## hold the server against its goals (ROUNDS=3), on an idle machine
	@go test -run '^$$' -bench TenThousandBlocks ./storage
	@go run ./scripts/measure --rounds $(or $(ROUNDS),3) --out '' conn-sweep reach

measure: build ## look at every experiment; EXPERIMENT=conn-sweep ROUNDS=8 FOR=10s CELLS=lean: one in full, its result kept
ifdef EXPERIMENT
	@scripts/measure/$(EXPERIMENT).sh --rounds $(or $(ROUNDS),8) $(if $(FOR),--for $(FOR)) $(if $(CELLS),--cells '$(CELLS)')
else
	@go run ./scripts/measure --short all
endif

micro: ## run the packages' benchmarks (COUNT=8) into bin/bench.txt
	@mkdir -p bin
	@go test -run '^$$' -bench . -benchmem -count $(COUNT) ./... | tee bin/bench.txt
	@$(TOOL) benchstat bin/bench.txt

benchdiff: ## compare the benchmarks with those of another commit (BASE=HEAD~1 PKG=./storage/… COUNT=8)
	@BASE=$(BASE) COUNT=$(COUNT) scripts/benchdiff.sh $(PKG)

pgo: ## record the profile that builds are optimised with (cmd/mira/default.pgo), on an idle machine
	@scripts/pgo.sh

crash: ## cut the power, fill the disk, break it; then kill -9 a loaded server CYCLES=100 times
	@go test -count=1 -run '(Crash|Cut|Power|Kill|Fault|Full|Torn|Damage|Publish|Replay)' ./storage/... ./pipeline/...
	@cd scripts/e2e && MIRA_CRASH_CYCLES=$(CYCLES) go test -count=1 -timeout 60m ./crash

e2e: ## test the built binaries from outside
	@cd scripts/e2e && go test -count=1 ./...

interop: ## test with other people's clients and readers (Linux on x86-64, Node.js 20, 650 MB from npm)
	@cd scripts/interop && npm ci --no-audit --no-fund --ignore-scripts
	@cd scripts/e2e && MIRA_INTEROP=1 go test -count=1 -run Interop ./...

golden: ## check that the bytes of every released format are still read
	@go test -count=1 -run Golden ./...

cover: ## measure what the tests reach, into coverage.out
	@go test -coverprofile=coverage.out -coverpkg=./... ./... > /dev/null
	@go tool cover -func=coverage.out | tail -1

check: ## what CI runs, fastest first
	@scripts/check.sh build vet lint arrows race fuzz

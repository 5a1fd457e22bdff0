# Every target works on a fresh clone; what it needs beyond Go it installs or names.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X cmem/cmd/internal/config.Version=$(VERSION)
FUZZTIME ?= 60s

.PHONY: all build test race failpoint compiler lint torture strace bench fuzz quickstart clean

all: build

build: ## bin/cmem and bin/cmem-hook, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/cmem ./cmd/cmem-hook

quickstart: build ## the main job on a real session, in a temporary data folder
	@bash docs/quickstart.sh bin

test: race failpoint ## everything, race detector on

# The race detector needs cgo and so a C compiler.
compiler:
	@command -v cc >/dev/null || command -v gcc >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy gcc libc6-dev; \
	  else echo "the race detector needs a C compiler: sudo apt-get install gcc libc6-dev"; exit 1; fi; }

race: compiler
	$(GO) test -race -timeout 30m -parallel 4 ./...

# The tests that need failpoints compiled in (processes killed at each durable step)
# and the tables of damage, which are too many for the race detector.
failpoint:
	$(GO) test -tags failpoint -timeout 30m -parallel 4 -run 'Failpoint|Kill|Crash|Cut|Damage' ./streams/... ./ingest/... ./projections/... ./cmd/internal/acceptance ./cmd/internal/worker

lint: ## gofmt, vet, staticcheck, and the builds for macOS and Windows
	@out=$$(gofmt -l cmd streams projections ingest observer replay); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags failpoint ./...
	$(GO) tool staticcheck ./...
	CGO_ENABLED=0 GOOS=darwin $(GO) build ./...
	CGO_ENABLED=0 GOOS=windows $(GO) build ./...

# What a crash leaves is made of the system calls of real processes.
strace:
	@command -v strace >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy strace; \
	  else echo "make torture watches processes with strace: sudo apt-get install strace"; exit 1; fi; }

# TORTURE_TIME=30m and a seed of its own, or SEED=…; CI=1: three minutes, always the same.
torture: strace ## breaks everything on purpose; ends with an error on any finding
	TORTURE=1 TORTURE_KEEP=$(CURDIR)/bin/torture TORTURE_CI=$(CI) TORTURE_SEED=$(SEED) TORTURE_TIME=$(TORTURE_TIME) \
	  $(GO) test -tags failpoint -count=1 -timeout 0 -parallel 4 -v -run '^TestTorture$$' ./cmd/internal/torture

bench: ## the figures of docs/PERFORMANCE.md
	$(GO) test -run '^$$' -bench . -benchtime 1s -timeout 60m ./...

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzzminimizetime 10x -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

clean:
	rm -rf bin

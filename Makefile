# make test   everything that must hold, installing what it needs
# make lint   vet, golangci-lint, generated code up to date
# make bench  the table of kernel and training-step speeds

GOLANGCI_VERSION ?= v2.15.0
GO ?= go

.PHONY: build test race lint generate check-generated bench clean

build:
	$(GO) build -o bin/sweep ./cmd/sweep

test:
	./.ci/install
	$(GO) test ./...

race:
	./.ci/install
	$(GO) test -race -timeout 20m ./...

lint:
	$(GO) vet ./...
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run ./...

# The checked-in assembly is what the generator writes.
check-generated:
	cd model/kernel/gen && $(GO) vet . && $(GO) test .

generate:
	$(GO) generate ./model/kernel ./worker/trainer/...

bench: build
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./model/kernel
	bin/sweep trainer step --goals

clean:
	rm -rf bin

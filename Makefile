# make test   everything that must hold, installing what it needs
# make race   the tests that can find races, under the race detector
# make chaos  every promise of survival, in all ways and many times: an hour
# make chaos-cluster  a whole cluster whose parts fail at random; SEEDS=1-200 runs so many
# make lint   vet, golangci-lint, generated code up to date
# make check  what is quick and needs neither root, Postgres nor a browser: for every change
# make lint-web  the dashboard's modules: format, rules, types
# make test-web  the unit tests of the dashboard's modules, by Node.js
# make docs   man pages and shell completions of all commands, in bin/docs
# make bench  the table of kernel and training-step speeds
# make compare BASE=COMMIT  old and new in turn: is the program slower than it was?
# make vendor-web  fetch the modules of others in the dashboard again, and compare

GOLANGCI_VERSION ?= v2.15.0
GO ?= go

.PHONY: build check test test-web race chaos chaos-cluster lint lint-web web-tools generate check-generated docs bench compare clean vendor-web

build:
	$(GO) build -o bin/sweep ./cmd/sweep

test:
	./.ci/install
	$(GO) test -timeout 60m -parallel 4 ./...

# Packages whose tests take long, or start Postgres, a broker or a browser, are left out, and tests are short.
slow = sweep/cmd/sweep sweep/coordinator sweep/coordinator/lead sweep/coordinator/store sweep/coordinator/store/postgres \
  sweep/coordinator/web sweep/deploy/chaos sweep/examples sweep/local sweep/model sweep/model/kernel sweep/model/layer sweep/sweep/wire sweep/worker sweep/worker/trainer
check:
	@unformatted=$$(gofmt -l cmd coordinator deploy docs examples local migrations model sweep worker) && \
	  { [ -z "$$unformatted" ] || { echo "not as gofmt has it: $$unformatted"; exit 1; }; }
	$(GO) test -short $$($(GO) list ./... | grep -vx $(addprefix -e ,$(slow)))
	$(GO) test -run 'TestWords|TestBounds|TestLayers|TestCommandFiles|TestPolicyName|TestChangeCosts|TestContributing' ./cmd/sweep
	@if command -v node >/dev/null; then $(MAKE) test-web; else echo "left out: the dashboard's unit tests need Node.js"; fi

# SQLite is C translated to Go. Its memory lies outside Go's heap, where the race
# detector does not look: instrumented it takes eight times as long, and nothing can be
# found. How this project and database/sql use it stays instrumented. A package that
# makes generic code of the standard library its own, as the NATS server does sync.Map's,
# must not stand here: the linker takes one copy for all, and with one that is not
# instrumented encoding/json seems to race.
uninstrumented = modernc.org/sqlite/lib modernc.org/libc modernc.org/memory
race_flags = $(foreach package,$(uninstrumented),-gcflags=$(package)=-race=false)

# Packages that do one thing after the other are left out, and so are, with -short,
# tests in which the race detector has nothing to find, or nothing that it does not see
# in another; "make test" has all of them, and vets. A process with the race detector would
# wait for a second at its end for what other goroutines still report.
# PACKAGES names some of them, as CI does. The race detector needs cgo; what tests build they build as everything
# else was built.
race:
	./.ci/install
	packages="$${PACKAGES:-$$(.ci/concurrent)}" cgo="$$($(GO) env CGO_ENABLED)" && \
	  CGO_ENABLED=1 GORACE=atexit_sleep_ms=50 $(GO) test -exec "env -u GOTMPDIR CGO_ENABLED=$$cgo" -race $(race_flags) -vet=off -short -timeout 60m -parallel 4 $$packages

# "make test" tries each promise once. CHAOS names the seeds that choose what breaks when.
CHAOS ?= 1-10
chaos:
	./.ci/install
	SWEEP_TEST_SEED=$(CHAOS) SWEEP_TEST_KILLS=20 SWEEP_TEST_TAKEOVERS=20 $(GO) test -v -count=1 -timeout 3h -run 'TestKilled|TestStandbyTakesOver' ./cmd/sweep

# Each seed takes a minute, most of which is waiting: several run at a time, and a seed's processes need about half a core.
SEEDS ?= 1-5
SEEDS_AT_A_TIME ?= 5
chaos-cluster:
	./.ci/install
	$(GO) run ./deploy/chaos --seeds $(SEEDS) --parallel $(SEEDS_AT_A_TIME) --keep bin/chaos

# golangci-lint vets Go, but does not compare assembly with its declarations.
lint:
	$(GO) vet ./model/kernel
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run --allow-parallel-runners ./...

# npm installs prettier, eslint and tsc; the dashboard is served as it is, and needs none of it.
web_tools = coordinator/web/node_modules/.package-lock.json
lint-web: $(web_tools)
	npm --prefix coordinator/web run --silent lint

test-web:
	cd coordinator/web && node --test --test-reporter dot unit

web-tools: $(web_tools)
$(web_tools): coordinator/web/package-lock.json
	./.ci/install web
	npm --prefix coordinator/web ci --fetch-retries=1 --no-audit --no-fund

# The checked-in assembly is what the generator writes.
check-generated:
	cd model/kernel/gen && $(GO) test -vet=all .

generate:
	$(GO) generate ./model/kernel ./worker/trainer/...

docs: build
	bin/sweep manual bin/docs

bench: build
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./model/kernel
	bin/sweep trainer step --goals

# On an idle machine; ROUNDS of about a minute and a half each.
ROUNDS ?= 5
compare:
	./.ci/install
	.ci/compare "$(BASE)" $(ROUNDS)

clean:
	rm -rf bin

# The modules of others in the dashboard are those of npm's registry.
vendor-web:
	coordinator/web/vendor.sh

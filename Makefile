# The short way in. CMake does the work (see CMakePresets.json); this file finds what is missing and calls it.

PREFIX ?= /usr/local
DESTDIR ?=

.DEFAULT_GOAL := all
.PHONY: all deps debug asan tsan demo check install bench apps-report figures figures-quick format lint coverage clean help

all: deps ## build the library and every program: build/bin, build/lib
	@scripts/build release

deps: ## see that the packages needed are there; root: install those that are not
	@scripts/deps

debug asan tsan: deps ## build this preset into build/debug, build/asan, build/tsan
	@scripts/build $@

demo: all ## show what Tern does, in under a minute
	@scripts/demo

check: ## everything that must hold
	@scripts/deps check
	@scripts/check

install: all ## install under PREFIX (/usr/local), staged below DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

bench: ## measure this machine and compare: build/bench/*.csv and plots
	@scripts/deps bench || echo "Measuring without them: the comparison leaves out what is not installed."
	@$(MAKE) --no-print-directory all
	@scripts/bench

apps-report: all ## run the applications in all styles, and for each MPI: a table and plots in build/apps
	@scripts/apps-report

figures: all ## figures 1, 4 and 5 of paper 2, simulated at 5,256 nodes: build/figures; takes hours, goes on where it stopped
	@scripts/figures

figures-quick: all ## the same with 342 nodes, in less than two minutes: build/figures-quick
	@scripts/figures quick

format: ## lay out the sources as .clang-format says
	@scripts/deps format
	@scripts/format

lint: ## clang-tidy and cppcheck
	@scripts/deps lint
	@scripts/lint

coverage: deps ## which lines the tests run
	@scripts/coverage

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z][a-z -]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	    awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

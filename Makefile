# The short way in. CMake does the work (see CMakePresets.json); scripts/deps tells what is missing.
#
# demo, check, check-all, bench, format and lint install missing packages by themselves when root runs them. The other
# targets install nothing.

PREFIX ?= /usr/local
DESTDIR ?=
FOR ?= build

.DEFAULT_GOAL := all
.PHONY: all deps examples apps debug asan tsan demo check check-all install bench apps-report figures figures-quick \
        format lint coverage clean help

all: ## build the library and the tools: build/lib, build/bin
	@scripts/deps
	@scripts/build release

deps: ## install the packages that make needs, as root; FOR=check: those that make check needs, and so on
	@scripts/deps --install $(FOR)

examples: ## build the examples, too: build/bin
	@scripts/deps
	@scripts/build release all examples

apps: ## build the applications, too, also for each MPI that is installed: build/bin
	@scripts/deps
	@scripts/build release all apps

debug asan tsan: ## build this preset, with all tests, into build/debug, build/asan, build/tsan
	@scripts/deps tests
	@scripts/build $@

demo: ## install what is missing, build, and show what Tern does, in under a minute
	@scripts/deps --install demo
	@scripts/build release all examples
	@scripts/demo

check: ## install what is missing, build, and test: the checks of every change
	@scripts/deps --install check
	@scripts/check

check-all: ## the same with every test in every configuration
	@scripts/deps --install check
	@scripts/check all

install: all ## install under PREFIX (/usr/local), staged below DESTDIR
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)" >build/install.log
	@echo "Installed in $(DESTDIR)$(PREFIX): build/install_manifest.txt lists the files"

bench: ## measure this machine and compare: build/bench/*.csv and plots
	@scripts/deps --install bench
	@scripts/build release all peers
	@scripts/bench

apps-report: ## run the applications in all styles, and for each MPI: a table and plots in build/apps
	@scripts/deps apps
	@scripts/build release all apps
	@scripts/apps-report

figures: ## figures 1, 4 and 5 of paper 2, simulated at 5,256 nodes: build/figures; takes hours, goes on where it stopped
	@scripts/deps figures
	@scripts/build release
	@scripts/figures

figures-quick: ## the same with 342 nodes, in less than two minutes: build/figures-quick
	@scripts/deps figures
	@scripts/build release
	@scripts/figures quick

format: ## lay out the sources as .clang-format says
	@scripts/deps --install format
	@scripts/format

lint: ## clang-tidy and cppcheck
	@scripts/deps --install lint
	@scripts/lint

coverage: ## which lines the tests run
	@scripts/deps tests
	@scripts/coverage

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z][a-z -]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	    awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

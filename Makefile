# Shortcuts for common tasks. CMake does the work (see CMakePresets.json); scripts/deps reports missing packages.
#
# If root runs demo, check, check-all, bench, format or lint, these targets install missing packages. The other targets,
# except deps, install nothing.

PREFIX ?= /usr/local
DESTDIR ?=
FOR ?= build

.DEFAULT_GOAL := all
.PHONY: all deps examples apps debug asan tsan demo check check-all install uninstall bench apps-report armci-report \
        figures figures-quick format lint coverage clean help

all: ## build the library and the tools in build/lib and build/bin
	@scripts/deps
	@scripts/build release

deps: ## install the packages that make needs, as root; FOR=check installs those for make check, and so on
	@scripts/deps --install $(FOR)

examples: ## build the examples in build/bin
	@scripts/deps
	@scripts/build release all examples

apps: ## build the applications in build/bin, also for each installed MPI
	@scripts/deps
	@scripts/build release all apps

debug asan tsan: ## build this preset with all tests, in build/debug, build/asan or build/tsan
	@scripts/deps tests
	@scripts/build $@

demo: ## install missing packages, build, and show what Tern does in less than a minute
	@scripts/deps --install demo
	@scripts/build release all examples
	@scripts/demo

check: ## install missing packages, build, and run the checks and tests that every change must pass
	@scripts/deps --install check
	@scripts/check

check-all: ## like check, but run every test in every configuration
	@scripts/deps --install check
	@scripts/check all

install: all ## install under PREFIX (/usr/local); DESTDIR sets a staging directory
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)" >build/install.log
	@echo "Installed in $(DESTDIR)$(PREFIX): build/install_manifest.txt lists the files"

uninstall: ## remove what make install has installed; with the same PREFIX and DESTDIR
	@DESTDIR="$(DESTDIR)" scripts/uninstall build/install_manifest.txt "$(PREFIX)"

bench: ## measure this machine beside its limits and MPI, in build/bench and docs/benchmarks.md; takes about 4 minutes
	@scripts/deps --install bench
	@scripts/build release all peers
	@scripts/bench

apps-report: ## run the applications in all styles and with each MPI; tables and plots are in build/apps
	@scripts/deps apps
	@scripts/build release all apps
	@scripts/apps-report

armci-report: ## measure ARMCI on Tern beside ARMCI-MPI on each MPI; tables and plots are in build/armci
	@scripts/deps armci
	@scripts/build release all apps
	@scripts/armci-report

figures: ## simulate figures 1, 4 and 5 of the RDRP paper with 5,256 nodes, in build/figures; takes hours, can be resumed
	@scripts/deps figures
	@scripts/build release
	@scripts/figures

figures-quick: ## simulate these figures with 342 nodes, in build/figures-quick; takes less than two minutes
	@scripts/deps figures
	@scripts/build release
	@scripts/figures quick

format: ## format the sources according to .clang-format
	@scripts/deps --install format
	@scripts/format

lint: ## run clang-tidy and cppcheck
	@scripts/deps --install lint
	@scripts/lint

coverage: ## show which lines the tests execute
	@scripts/deps tests
	@scripts/coverage

clean: ## remove build/
	rm -rf build

help: ## show this list
	@sed -n 's/^\([a-z][a-z -]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
	    awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'

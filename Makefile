# What a person types. .ci/run and .ci/full call these and the scripts of .ci/; CONTRIBUTING.md has the
# tables of both.

CARGO ?= cargo
ARGS ?= --demo
# One folder for all workspaces, so that they share what they build.
export CARGO_TARGET_DIR ?= $(CURDIR)/target
# A backtrace has its lines without the rest of the debugging information, which takes a while to write;
# the same for what runs at build time, so that a workspace that also links it (syn) shares its builds.
export CARGO_PROFILE_DEV_DEBUG ?= line-tables-only
export CARGO_PROFILE_DEV_BUILD_OVERRIDE_DEBUG ?= line-tables-only
# Most tests of the suite wait for a peer or a timeout: three per core keep the cores busy.
export RUST_TEST_THREADS ?= $(shell expr 3 '*' "$$(getconf _NPROCESSORS_ONLN)")

# compat/real/ has the tests of compat/ on the crates that the drop-ins replace, so only their own
# manifests differ.
REAL := compat/real/0.1.12 compat/real/0.1.18
FAULTS := compat/guide/faults
WORKSPACES := . compat $(FAULTS) benches benches/legacy fuzz
each = @set -e; for folder in $(1); do (set -x; $(2) --manifest-path $$folder/Cargo.toml $(3)); done

.PHONY: help setup run check build test torture soak ladder lesson test-ladder test-compat test-drop-in test-scan scan-real fix-real compare miri memcheck gate gate-update lint fmt clippy doc fuzz deb dist bench bench-peers bench-micro bench-smoke ladder-figures ci ci-full

help: ## show this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 18

setup: ## install the real proxies, servers and clients that the tests use
	tests/setup

run: ## run the program: make run ARGS='-p proxy.example:3128 1993:mail.example:993'; without ARGS the demo
	$(CARGO) run --release --locked -- $(ARGS)

check: fmt ## a quick check while working: format, rules, prose, the ladder's patches, clippy, unit tests, a smoke run
	.ci/layers && .ci/prose && compat/ladder/ladder check
	$(call each,.,$(CARGO) clippy --workspace --all-targets --locked,-- -D warnings)
	$(CARGO) test --workspace --locked --lib --test smoke

build: ladder ## build the program, its tests and the rungs
	$(CARGO) build --release --locked
	$(CARGO) test --workspace --locked --no-run

test: setup ## run every test of the program and its crates
	$(CARGO) test --workspace --locked

torture: setup ladder ## run the long form of the torture tests, at most half an hour, against the program and rung r5
	$(CARGO) build --release --locked
	@set -e; for program in ptunnel ptunnel-r5; do (set -x; PTUNNEL_TORTURE=long \
		PTUNNEL_BIN=$(CARGO_TARGET_DIR)/release/$$program timeout 900 $(CARGO) test --locked --package ptunnel-tests --test torture); done

# Takes less than half a processor, so that other work can continue; PTUNNEL_BIN soaks another binary.
# A second run on the same day needs another folder: SOAK=FOLDER.
MINUTES ?= 60
SOAK ?= benches/results/$(shell date -u +%F)/soak
soak: setup ## soak the program for an hour and keep a record: make soak MINUTES=60 SEED=42
	PTUNNEL_SOAK_MINUTES=$(MINUTES) PTUNNEL_SOAK_RECORD=$(abspath $(SOAK)) $(if $(SEED),PTUNNEL_SEED=$(SEED)) \
		nice -n 5 $(CARGO) test --locked --package ptunnel-tests --test soak nothing_is -- --nocapture

ladder: ## build the rungs r0 to r5
	compat/ladder/ladder build r0 r1 r2 r3 r4 r5 -- --release

lesson: ## print a step of the ladder, or all steps of a rung: make lesson RUNG=r3
	@compat/ladder/ladder show $(RUNG)

test-ladder: setup ## run the suite against r5, what a rung can change of it against r0 to r4, and all side by side
	.ci/ladder

# Features are chosen for a whole workspace, so that the three targets use the same builds.
compat = $(CARGO) test --workspace --locked --manifest-path
# The module channel of the real tokio-core needs a feature that its manifest doesn't have.
test-compat: setup ## run all tests of compat/: adapters, drop-ins, scanner, guide and r5, on the drop-ins and on the real crates
	RUSTDOC=$(CURDIR)/compat/guide/rustdoc $(compat) compat/Cargo.toml
	$(call each,$(REAL) $(FAULTS),$(CARGO) test --workspace --locked)
	RUSTFLAGS='--cfg feature="with-deprecated"' $(CARGO) test --locked --manifest-path compat/real/0.1.12/Cargo.toml -p drop-in-semantics channel::

test-drop-in: setup ## of those, only the drop-ins' tests: their semantics, programs on them, and a comparison of the public APIs
	$(compat) compat/Cargo.toml --bin drop-in-api --test on_tokio_1 --test semantics --test programs --test tokio_0_1
	$(compat) compat/real/0.1.12/Cargo.toml --test semantics
	$(compat) compat/real/0.1.18/Cargo.toml --test programs --test tokio_0_1

test-scan: ## of those, only the scanner's tests, and print precision and recall on its corpus
	$(compat) compat/Cargo.toml --bin cargo-legacy-scan --test scan -- --nocapture

scan-real: ## scan six crates of the registry and r0, and compare with findings that were checked by hand
	$(compat) compat/Cargo.toml --test scan -- --ignored --nocapture real:: --skip fix_real::

fix-real: ## let the scanner's --fix edit tokio-proto and hyper 0.11, and check that their tests still pass
	$(compat) compat/Cargo.toml --test scan -- --ignored --nocapture --test-threads 1 fix_real::

compare: ## probe what the adapters and similar crates do, and compare it with the table in their README; WRITE=1 writes it
	$(CARGO) run --locked --manifest-path compat/adapters/comparison/Cargo.toml -- $(if $(WRITE),--write)

miri: ## run the crates without I/O, the task handles, and tests of the adapters under Miri; needs a nightly toolchain
	.ci/miri

memcheck: ## run what reaches unsafe code under valgrind: unit tests, the demo and five tests of the suite
	.ci/memcheck

gate: ## compare instructions and allocations with tests/gate/counts, and check that they grow no faster than a head
	tests/setup valgrind=valgrind
	$(CARGO) test --release --locked --package ptunnel-tests --test gate $(if $(UPDATE),-- --update)

gate-update: ## write tests/gate/counts again, for a change that moves the counts on purpose
	$(MAKE) gate UPDATE=1

lint: fmt clippy doc ## check code and documents without running them: format, rules, prose, the ladder's patches, clippy, doc
	.ci/layers && .ci/prose && compat/ladder/ladder check

fmt: ## check the format
	$(call each,$(WORKSPACES) $(REAL),$(CARGO) fmt --all,--check)

clippy: ## deny clippy's warnings
	$(call each,$(WORKSPACES),$(CARGO) clippy --workspace --all-targets --locked,-- -D warnings)
	$(CARGO) clippy --workspace --all-targets --all-features --locked --manifest-path compat/Cargo.toml -- -D warnings
	$(call each,. crates/core crates/cli,$(CARGO) clippy --all-targets --no-default-features --locked,-- -D warnings)
	@set -e; for rung in r0 r1 r2 r3 r4; do (set -x; $(CARGO) clippy --manifest-path "$$(compat/ladder/ladder tree $$rung)/Cargo.toml" -- -D warnings); done

doc: ## deny rustdoc's warnings
	$(call each,. compat,RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --locked)

fuzz: ## fuzz the parsers of network bytes and of users' texts: make fuzz FUZZ_SECONDS=3600
	fuzz/run

deb: ## make a Debian package of the program in target/debian
	packaging/release $(CARGO_TARGET_DIR)/packaging
	packaging/debian/build $(CARGO_TARGET_DIR)/packaging $(CARGO_TARGET_DIR)/debian

# PARTS='source deb' leaves out the static program, whose OpenSSL and standard library take minutes.
dist: ## make the files of a release in target/dist: source archive, Debian package, static program, SBOMs, checksums
	rm -rf $(CARGO_TARGET_DIR)/dist
	packaging/dist $(CARGO_TARGET_DIR)/dist $(CARGO_TARGET_DIR)/packaging $(or $(PARTS),source deb static)

rigs = $(CARGO) run --release --locked --manifest-path benches/Cargo.toml --
bench: ## measure everything against its peers, about two hours with the builds; one rig: make bench RIG=relay
	$(rigs) $(or $(RIG),all)

bench-peers: ## install the programs that the rigs compare with ptunnel
	benches/setup

bench-micro: ## measure the crates without I/O and single futures
	$(CARGO) bench --locked --manifest-path benches/Cargo.toml --bench '*'

bench-smoke: bench-peers ## run the rigs' tests, and each rig briefly: it works, its answers are correct, its reports are complete
	.ci/rigs

ladder-figures: bench-peers ## measure the rungs, each built from nothing, and write the tables of compat/ladder/README.md; 20 minutes on a quiet machine
	$(rigs) ladder --clean
	$(rigs) ladder --write

ci: ## everything that a change must pass, in twenty minutes
	.ci/run

ci-full: ## and what isn't worth its minutes in every run
	.ci/full

# Each target is the command that you would type. .ci/run calls most of them.

CARGO ?= cargo
ARGS ?= --demo
TARGET := $(or $(CARGO_TARGET_DIR),target)

# Most tests of the suite wait for a peer or a timeout: three per core keep the cores busy.
export RUST_TEST_THREADS ?= $(shell expr 3 '*' "$$(getconf _NPROCESSORS_ONLN)")

# The root, and the packages that need today's compiler: the workspaces of compat/ with the drop-ins and
# with the real crates, old versions with a fault.
REAL := compat/real/0.1.12/Cargo.toml compat/real/0.1.18/Cargo.toml
FAULTS := compat/guide/faults/Cargo.toml
MANIFESTS := $(wildcard Cargo.toml compat/Cargo.toml $(REAL) $(FAULTS) benches/Cargo.toml benches/legacy/Cargo.toml)
each = @set -e; for manifest in $(MANIFESTS); do (set -x; $(1) --manifest-path $$manifest $(2)); done

.PHONY: help setup run check build test torture soak deb dist check-dist check-packaging test-compat test-drop-in test-drop-in-oldest test-scan scan-real fix-real compare miri ladder lesson test-ladder test-ladder-full memcheck gate gate-update lint fmt layers prose clippy doc pure old-toolchain fuzz bench bench-peers bench-micro test-benches bench-smoke ci

help: ## show this list
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 18

setup: ## install the real proxies, servers and clients that the tests use
	tests/setup

run: ## run the program: make run ARGS='-p proxy.example:3128 1993:mail.example:993'; without ARGS the demo
	$(CARGO) run --release --locked -- $(ARGS)

# The packages beside the root with a file that differs from main, or from the last commit on main.
changed = $(foreach manifest,$(filter-out Cargo.toml,$(MANIFESTS)),$(if $(filter $(dir $(manifest))%,$(CHANGED)),$(manifest)))

check: CHANGED = $(shell git diff --name-only "$$(git merge-base HEAD main 2>/dev/null || echo HEAD)"; git ls-files --others --exclude-standard)
check: fmt layers prose ## a quick check while working: format, prose, clippy on what changed, unit tests, a smoke run; no release build
	@set -e; for manifest in Cargo.toml $(changed); do (set -x; \
		$(CARGO) clippy --workspace --all-targets --locked --manifest-path $$manifest -- -D warnings); done
	$(CARGO) test --locked --lib
	$(CARGO) test --locked --test smoke

build: ladder ## build the program, its tests and the rungs
	$(CARGO) test --release --locked --no-run

test: setup ## run every test of the root package
	$(CARGO) test --release --locked

# Each program has half of the half hour.
torture: setup ladder ## run the long form of the torture tests, at most half an hour, against the program and rung r5
	$(CARGO) test --release --locked --test torture --no-run
	@set -e; for program in $(abspath $(TARGET))/release/ptunnel $(call rung,r5); do (set -x; \
		PTUNNEL_TORTURE=long PTUNNEL_BIN=$$program timeout 900 $(CARGO) test --release --locked --test torture); done

# Takes less than half a processor, so that other work can continue; PTUNNEL_BIN soaks another binary.
# A second run on the same day needs another folder: SOAK=FOLDER.
MINUTES ?= 60
SOAK ?= benches/results/$(shell date -u +%F)/soak

soak: setup ## soak the program for an hour and keep a record: make soak MINUTES=60 SEED=42
	PTUNNEL_SOAK_MINUTES=$(MINUTES) PTUNNEL_SOAK_RECORD=$(abspath $(SOAK)) $(if $(SEED),PTUNNEL_SEED=$(SEED)) \
		nice -n 5 $(CARGO) test --release --locked --test soak nothing_is -- --nocapture

# The Debian package and the image have today's openssl crate, so they are built from a copy of the
# tree with its own lock file.
SHIPPED := $(TARGET)/packaging

deb: ## make a Debian package of the program in target/debian
	packaging/release $(SHIPPED)
	packaging/debian/build $(SHIPPED) $(TARGET)/debian

# The folder and the parts: PARTS='source deb', without the static program, whose OpenSSL and standard
# library take minutes to build.
DIST := $(TARGET)/dist
PARTS ?= source deb static

dist: ## make the files of a release in target/dist: source archive, Debian package, static program, SBOMs, checksums
	rm -rf $(DIST)
	packaging/dist $(DIST) $(SHIPPED) $(PARTS)

check-dist: dist ## make them a second time elsewhere, compare byte by byte, and run the static program and its image
	packaging/check-dist $(DIST) $(SHIPPED) $(PARTS)

check-packaging: ## check the package, the unit, the manifests and the examples with the programs that read them
	packaging/release $(SHIPPED)
	packaging/check $(SHIPPED)

# Features are chosen for a whole workspace, so that the three targets use the same builds.
compat = $(CARGO) test --workspace --locked --manifest-path

# The module channel of the real tokio-core needs a feature that its manifest doesn't have.
test-compat: setup ## run all tests of compat/ but the ladder's: adapters, drop-ins, scanner, guide and r5, on the drop-ins and on the real crates; and the half-steps' demos
	RUSTDOC=$(CURDIR)/compat/guide/rustdoc $(compat) compat/Cargo.toml
	@set -e; for manifest in $(REAL) $(FAULTS); do (set -x; $(compat) $$manifest); done
	RUSTFLAGS='--cfg feature="with-deprecated"' $(CARGO) test --locked --manifest-path $(firstword $(REAL)) -p drop-in-semantics channel::
	@set -e; $(foreach step,$(OWN_HALF_STEPS),(set -x; $(CARGO) run --release --locked --manifest-path compat/ladder/$(step)/Cargo.toml -- --demo);)
	$(CARGO) build --bins --locked --manifest-path compat/Cargo.toml $(addprefix -p ,$(SHARED_HALF_STEPS))
	@set -e; $(foreach program,$(SHARED_HALF_STEPS),(set -x; $(or $(CARGO_TARGET_DIR),compat/target)/debug/$(program) --demo);)

test-drop-in: setup ## of those, only the drop-ins' tests: their semantics, programs on them, and a comparison of the public APIs
	$(compat) compat/Cargo.toml --bin drop-in-api --test on_tokio_1 --test semantics --test programs --test tokio_0_1
	$(compat) compat/real/0.1.12/Cargo.toml --test semantics
	$(compat) compat/real/0.1.18/Cargo.toml --test programs --test tokio_0_1

test-scan: ## of those, only the scanner's tests, and print precision and recall on its corpus
	$(compat) compat/Cargo.toml --bin cargo-legacy-scan --test scan -- --nocapture

# Not in .ci/run, which only compares the README with the stored result: tokio 0.1 and 0.2 take a
# minute to build.
compare: ## probe what the adapters and similar crates do, and compare it with the table in their README; WRITE=1 writes it
	$(CARGO) fmt --check --manifest-path compat/adapters/comparison/Cargo.toml
	$(CARGO) run --locked --manifest-path compat/adapters/comparison/Cargo.toml -- $(if $(WRITE),--write)

# Not in .ci/run: it downloads crates and builds their dependencies.
scan-real: ## scan six crates of the registry and r0, and compare with findings that were checked by hand
	$(compat) compat/Cargo.toml --test scan -- --ignored --nocapture real:: --skip fix_real::

# Not in .ci/run: it takes minutes.
fix-real: ## let the scanner's --fix edit tokio-proto and hyper 0.11, and check that their tests still pass
	$(compat) compat/Cargo.toml --test scan -- --ignored --nocapture --test-threads 1 fix_real::

# Not in .ci/run, since it builds everything again. The copy has its own lock file, and fewer members.
OLDEST := $(TARGET)/oldest

test-drop-in-oldest: ## run the drop-in's tests on rustc 1.85 and tokio 1.47, the oldest that it takes; needs rustup's 1.85.0
	rm -rf $(OLDEST) && mkdir -p $(OLDEST)
	git ls-files -z compat/Cargo.toml compat/Cargo.lock compat/drop-in | xargs -0 cp --parents -t $(OLDEST)
	sed -i '/^members = \[/,/^\]/c members = ["drop-in/semantics", "drop-in/tokio-core"]' $(OLDEST)/compat/Cargo.toml
	cd $(OLDEST)/compat && $(CARGO) +1.85.0 update -p tokio@1 --precise 1.47.0 && $(CARGO) +1.85.0 test --workspace --locked

# The tests of the adapters that do no I/O, under both aliasing models. Those of MIRI_ARC drive a
# 0.1 task by futures' own poll_future_notify or wait(), whose handles break both (MIGRATION.md,
# section 7): they run without the check of aliasing.
MIRI_ADAPTERS = $(CARGO) +nightly miri test --locked --manifest-path compat/adapters/Cargo.toml --test adapters --
MIRI_FILES := contract_wakers:: panic:: sink:: service:: time:: in_runtime:: spawn::
MIRI_ARC := a_call_waits_until_the_service_is_ready a_call_whose_service_panicked_says_so \
	a_clock_that_a_test_moves_is_moved_on_every_thread a_dropped_call_is_not_made \
	a_full_std_sink_hands_the_item_back a_future_finds_the_runtime_on_any_thread \
	a_panic_leaves_the_next_poll_on_its_thread_alone a_std_future_follows_its_0_1_task \
	a_tick_missed_by_a_hair_is_skipped_too a_timeout_can_be_reset_before_and_after_it_fires \
	a_timeout_wakes_its_task_once a_timer_that_outlives_its_runtime_wakes_and_fails \
	a_waker_outlives_what_registered_it an_interval_can_start_at_once \
	an_interval_ticks_first_after_a_period missed_ticks_are_one_and_the_phase_stays \
	once_the_runtime_is_gone_what_is_made_in_it_says_so send_all_runs_over_a_std_sink \
	so_does_all_that_an_executor_spawns so_does_one_that_was_not_polled_before

# Not in .ci/run: it needs a nightly toolchain. The root's tests ask for their folder and for sockets,
# so they need access to the system.
miri: ## run the root's pure part, its task handles, and those tests of the bridge that do no I/O, under Miri; needs a nightly toolchain
	@$(CARGO) +nightly miri --version >/dev/null 2>&1 || { \
		echo 'Miri is missing; with rustup: rustup toolchain install nightly --component miri,rust-src' >&2; exit 1; }
	PROPTEST_CASES=4 MIRIFLAGS=-Zmiri-disable-isolation $(CARGO) +nightly miri test --locked --lib --no-default-features
	$(CARGO) +nightly miri test --locked --lib --no-default-features --features legacy -- os::sys::task_handle
	@set -e; for model in '' -Zmiri-tree-borrows; do (set -x; \
		MIRIFLAGS=$$model $(MIRI_ADAPTERS) $(MIRI_FILES) $(addprefix --skip ,$(MIRI_ARC))); done
	MIRIFLAGS=-Zmiri-disable-stacked-borrows $(MIRI_ADAPTERS) $(MIRI_ARC)

RUNGS := r0 r1 r2 r3 r4 r5
# Half-steps are programs that run; their demo is their test. A half-step of a rung with its own lock
# file is built like that rung, so that they share its dependencies.
HALF_STEPS := r3/trunk r4/sockets r4/shell r4/connect r4/tls r4/relay
# With their own lock file, and so their own target folder.
OWN_LOCK := r0 r1 r2 r3
OWN_HALF_STEPS := $(filter $(addsuffix /%,$(OWN_LOCK)),$(HALF_STEPS))
# One command builds the others, so it compiles what they share once.
SHARED_HALF_STEPS := $(subst /,-,$(addprefix ptunnel-,$(filter-out $(OWN_HALF_STEPS),$(HALF_STEPS))))

ladder: ## build the rungs r0 to r5
	$(CARGO) build --release --locked
	@set -e; for rung in $(OWN_LOCK); do (set -x; $(CARGO) build --release --locked --manifest-path compat/ladder/$$rung/Cargo.toml); done
	$(CARGO) build --release --locked --manifest-path compat/Cargo.toml $(patsubst %,-p ptunnel-%,$(filter-out $(OWN_LOCK),$(RUNGS)))

lesson: ## print the step to a rung or half-step, files and differences: make lesson RUNG=r4/sockets
	@compat/ladder/lesson $(RUNG)

# Each has its own target folder, unless CARGO_TARGET_DIR names one for all.
rung = $(abspath $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),$(if $(filter $(OWN_LOCK),$(1)),compat/ladder/$(1),compat)/target))/release/ptunnel-$(1)

# The modules of the suite that a rung between the first and the last can change: by a table with reasons.
modules = $(shell sed -nE 's/^\| `(\w+)` \| $(if $(filter r1,$(1)),r1( to r4)?,r[12] to r4) \| .*/\1::/p' compat/ladder/README.md)

# $(call suite,RUNG,FILTERS...)
suite = (set -x; PTUNNEL_BIN=$(call rung,$(1)) $(CARGO) test --release --locked --test suite -- $(2))

# The torture tests and the soak run only on r5, the rung that shares no engine with the root.
define last_rung_and_parity
	PTUNNEL_BIN=$(call rung,r5) $(CARGO) test --release --locked --test torture --test soak
	PTUNNEL=$(abspath $(TARGET))/release/ptunnel $(foreach r,$(RUNGS),PTUNNEL_$(subst r,R,$(r))=$(call rung,$(r))) \
		$(CARGO) test --release --locked --manifest-path compat/Cargo.toml -p ptunnel-parity --features programs
	@tree=$$($(CARGO) tree --locked --manifest-path compat/ladder/r1/Cargo.toml --target all -e normal --prefix none) && \
	if printf '%s\n' "$$tree" | grep -E '^(tokio v0\.|mio v0\.|net2 )'; then \
		echo 'these do not belong into r1' >&2; exit 1; fi
	@tree=$$($(CARGO) tree --locked --manifest-path compat/Cargo.toml -p ptunnel-r5 --target all -e normal --prefix none) && \
	if printf '%s\n' "$$tree" | grep -E '^(futures v0\.1|tokio v0\.|tokio-(core|io|proto|service|reactor|executor|timer|tcp|threadpool) |mio v0\.6|mio-uds |net2 |bytes v0\.4|tokio-core-compat )'; then \
		echo 'these do not belong into r5' >&2; exit 1; fi
endef

test-ladder: setup ladder ## run the root's suite against r0 and r5, what a rung can change of it against r1 to r4, and all side by side
	@ls $(patsubst %::,tests/suite/%.rs,$(or $(call modules,r1),r1::) $(or $(call modules,r4),r4::)) >/dev/null
	@set -e; $(foreach r,$(RUNGS),$(call suite,$(r),$(if $(filter r0 r5,$(r)),,$(call modules,$(r))));) :
	$(last_rung_and_parity)

test-ladder-full: setup ladder ## run the root's whole suite against each rung, and all of them side by side
	@set -e; $(foreach r,$(RUNGS),$(call suite,$(r));) :
	$(last_rung_and_parity)

# Valgrind runs one thread at a time; without fair scheduling, one that never waits would block the others.
VALGRIND := valgrind -q --fair-sched=yes --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite
MEMCHECK := $(abspath $(TARGET))/memcheck

# The demo raises no limit, resolves no name, closes no stdout and has no Unix socket: five tests of
# the suite reach the rest of src/os/sys. They don't see valgrind's exit code, so its log is checked.
# It skips most tests of the command line, which reach no unsafe code, and one that fills 64 MiB: they
# would take minutes.
memcheck: ## run most unit tests, the demo (copied and spliced) and five tests of the suite under valgrind
	PROPTEST_CASES=16 RUST_TEST_THREADS=2 $(CARGO) test --release --locked --lib --config 'target."cfg(unix)".runner = "$(VALGRIND)"' -- --skip cli::tests --skip at_the_programs_limit_of_memory
	$(CARGO) build --release --locked
	@set -e; for splice in never always; do (set -x; $(VALGRIND) $(TARGET)/release/ptunnel --splice $$splice --demo); done
	@rm -rf $(MEMCHECK) && mkdir -p $(MEMCHECK)
	@printf '#!/bin/sh\nexec $(VALGRIND) --log-file=%s/log.%%p %s "$$@"\n' $(MEMCHECK) $(abspath $(TARGET))/release/ptunnel >$(MEMCHECK)/ptunnel
	@chmod +x $(MEMCHECK)/ptunnel
	PTUNNEL_BIN=$(MEMCHECK)/ptunnel $(CARGO) test --release --locked --test suite -- --exact \
		fdpass::a_relay_does_not_keep_its_parent_waiting \
		names::does_not_resolve_the_proxy_at_start \
		stdio::the_servers_end_reaches_the_output_while_the_input_stays_open \
		socket_activation::the_servers_end_reaches_inetds_client_while_it_goes_on \
		unix::says_where_it_listens_and_carries_both_ways
	@if find $(MEMCHECK) -name 'log.*' -size +0 -exec cat {} + | grep .; then exit 1; fi

gate: ## compare instructions and allocations with tests/gate/counts, and check that they grow no faster than a head
	tests/setup valgrind=valgrind
	$(CARGO) test --release --locked --test gate

gate-update: ## write tests/gate/counts again, for a change that moves the counts on purpose
	tests/setup valgrind=valgrind
	$(CARGO) test --release --locked --test gate -- --update

lint: fmt layers prose clippy doc pure ## check code and documents without running them: fmt, layers, prose, clippy, doc, pure

# The rungs up to r4 link to files whose unit tests need the root: no tests of theirs are built.
RUNG_0 := compat/ladder/r0/Cargo.toml compat/ladder/r0/0.1.18/Cargo.toml

fmt: ## check the format
	$(call each,$(CARGO) fmt --all,--check)
	@set -e; for rung in $(OWN_LOCK) $(filter r3/%,$(HALF_STEPS)); do (set -x; $(CARGO) fmt --manifest-path compat/ladder/$$rung/Cargo.toml --check); done

layers: ## check which folder of src/ uses which, that only src/engine/ names futures, tokio and mio, and the rungs' links
	.ci/layers
	compat/ladder/lesson --check

prose: ## check the words, the sentences and the headings of documents, and the words of doc comments
	.ci/prose

clippy: ## deny clippy's warnings
	$(call each,$(CARGO) clippy --workspace --all-targets --locked,-- -D warnings)
	$(CARGO) clippy --workspace --all-targets --all-features --locked --manifest-path compat/Cargo.toml -- -D warnings
	@set -e; for manifest in $(RUNG_0) $(patsubst %,compat/ladder/%/Cargo.toml,r2 r3 $(filter r3/%,$(HALF_STEPS))); do (set -x; $(CARGO) clippy --locked --manifest-path $$manifest -- -D warnings); done
	$(CARGO) clippy --lib --no-default-features --locked -- -D warnings
	$(CARGO) clippy --all-targets --no-default-features --features cli,legacy --locked -- -D warnings

doc: ## deny rustdoc's warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --no-deps --locked
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --all-features --no-deps --locked --manifest-path compat/Cargo.toml

pure: ## check that the part without features tests well and needs no futures crate
	$(CARGO) test --release --lib --no-default-features --locked
	@tree=$$($(CARGO) tree --locked --no-default-features -e normal --target all --prefix none) && \
	if printf '%s\n' "$$tree" | grep -E '^(futures|tokio|mio)'; then \
		echo 'these do not belong into a build without features' >&2; exit 1; fi

old-toolchain: ## build and test on Debian's own compilers: the program on Debian 11's 1.48, the adapters on Debian 13's 1.85
	.ci/old-toolchain
	.ci/old-toolchain adapters

fuzz: ## fuzz the parsers of network bytes and of users' texts: make fuzz FUZZ_SECONDS=3600
	fuzz/run

rigs = $(CARGO) run --release --locked --manifest-path benches/Cargo.toml --

bench: ## measure everything against its peers, about two hours with the builds; one rig: make bench RIG=relay
	$(rigs) $(or $(RIG),all)

ladder-figures: bench-peers ## measure the rungs, each built from nothing, and write the tables of compat/ladder/README.md; 20 minutes on a quiet machine
	$(rigs) ladder --clean
	$(rigs) ladder --write

bench-peers: ## install the programs that the rigs compare with ptunnel
	benches/setup

bench-micro: ## measure the pure part and single futures
	$(CARGO) bench --locked --manifest-path benches/Cargo.toml --bench '*'

test-benches: bench-peers ## run the tests of the rigs and of their peers
	$(CARGO) test --locked --manifest-path benches/Cargo.toml
	$(CARGO) test --locked --manifest-path benches/legacy/Cargo.toml

# Each rig writes to its own folder in SMOKE; the last command checks all of them. Link-time
# optimisation, which takes minutes, is for measurements; r5's build command still asks for it.
SMOKE := $(CURDIR)/benches/results/tmp
bench-smoke: export CARGO_PROFILE_RELEASE_LTO := false
bench-smoke: export CARGO_PROFILE_MAY_LTO := false

bench-smoke: bench-peers ## run each rig briefly: it works, its answers are correct, its reports are complete
	rm -rf $(SMOKE)
	$(rigs) relay --quick --strict --peers ptunnel,r0,r5,relay-core,epoll,tokio,haproxy-splice --figures cpu,rate-60,rates,splice,bulk
	$(rigs) tunnel --quick --strict --peers ptunnel,ptunnel-tls,tunnel-core,r5,python-threads,stunnel,none --figures kept,ab
	$(rigs) growth --quick --strict --peers ptunnel --figures active,memory
	$(rigs) echo --quick --strict --peers tokio-core,tokio-core-drop-in,ptunnel-reactor,may,epoll --figures c100,wrk,calls
	$(rigs) plaintext --quick --strict --peers tokio-core,mio,tokio,go-nethttp --figures rules,depth16
	$(rigs) plaintext-tls --quick --strict --peers tokio-core,tokio,go-fasthttp --figures rules,depth16
	$(rigs) profile --quick --strict --peers ptunnel,chain,future,async --figures handshake,message
	$(rigs) check $(addprefix $(SMOKE)/,tunnel relay growth echo plaintext plaintext-tls profile)

ci: ## everything that a change must pass
	.ci/run

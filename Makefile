# What this project is built, tried and installed with. `make demo` shows it at work, `make test` checks it.

SWIFT ?= swift
PREFIX ?= /usr/local
DESTDIR ?=

# What is called most is optimized in builds for tests, too (Package.swift); alike in all, or each would build it anew.
export LOGSYNC_OPTIMIZED = 1

# How many seeds of the simulator `make test` runs, on the debug build; in how many small scenarios a process dies, and
# at how many places of each; and in how many somebody lies.
TEST_SEEDS = 120
TEST_LIES = 20
TEST_KEYS = 30
TEST_LINKS = 20
TEST_CRASHES = --seeds 2 --deaths 40
# At how many places of each migration something happens.
TEST_MIGRATIONS = 4
MIGRATION_DEATHS ?= 200
# How many random worlds of migrations.
TEST_WORLDS = 6
# How many of those in which columns come again under their names; they are the ones from seed 2000 on.
TEST_LIVES = 4
# And of those in which a column is mostly dropped and added again in one go.
TEST_REBORN = 6
# And of those in which rows that others refer to get other keys.
TEST_PARENTS = 6
# And of those in which peers write to rows of others, and add to a counter.
TEST_SHARED = 4
# And of those in which migrations write to all rows besides, and let rows exchange their integers.
TEST_PASSES = 4
MIGRATION_WORLDS ?= 100
JOBS ?= $(shell nproc)

LIBRARIES = libsqlite3-dev libinotifytools0-dev libzstd-dev
PROGRAMS = sqlite3 python3
SOURCES = Sources Tests Examples Package.swift $(wildcard Benchmarks)

.PHONY: build deps demo test test-large test-carriers test-apps test-hostile test-migrations test-embedding soak lint install uninstall package bench bench-growth \
    simulate sabotage fuzz sanitize

build: deps
	$(SWIFT) build

# Installs what is missing, with apt; elsewhere says what it is. Quiet where all of it is there.
deps:
	@missing=; \
	if command -v dpkg-query > /dev/null; then \
	    for package in $(LIBRARIES); do \
	        dpkg-query --show --showformat '$${db:Status-Status}\n' $$package 2> /dev/null \
	            | grep --quiet --line-regexp installed || missing="$$missing $$package"; \
	    done; \
	fi; \
	for program in $(PROGRAMS); do \
	    command -v $$program > /dev/null || missing="$$missing $$program"; \
	done; \
	test -z "$$missing" && exit 0; \
	if ! command -v apt-get > /dev/null; then \
	    echo "Missing:$$missing; install them the way this system does." >&2; exit 1; \
	fi; \
	echo "Installing$$missing"; \
	as_root=; test "$$(id -u)" -eq 0 || as_root=sudo; \
	$$as_root apt-get update --quiet --quiet && \
	$$as_root env DEBIAN_FRONTEND=noninteractive \
	    apt-get install --yes --quiet --no-install-recommends $$missing

# Two stores, two daemons, the sqlite3 shell writing on both sides at once.
demo: deps
	$(SWIFT) build --product logsync
	Fixtures/demo/run "$$($(SWIFT) build --show-bin-path)/logsync"

# One process a module: what watches folders must not share its few descriptors with what opens a thousand stores.
MODULES = LogSyncModelTests LogSyncFormatTests LogSyncStoreTests LogSyncTests CommandTests AcceptanceTests
# How many tests of a module run at once, where Swift lets that be said: a test that has begun is not kept waiting by hundreds
# of others then, and what it waits for comes in time on a busy machine, too.
WIDTH ?= 6
WIDTH_OPTION = --experimental-maximum-parallelization-width
# How soon something happens is measured when nothing else does, and so is what the kernel lists of all processes' locks.
TIMED = ^LogSyncTests\.(WatchTests|ActiveReadersTests|RestoreTests)

# What these test is files and what is durable, and they make theirs where TMPDIR says, or in /tmp. The others make theirs in
# memory where that is not said and 4 GiB of it can be had: what SQLite makes durable, a disk takes a third of the tests' time for.
ON_DISK = ^(LogSyncContainerTests\.|AcceptanceTests\.(DurabilityTests|KillTests|MountTests))
# More options of `swift build`, for who builds but once: .ci/run has no information for debuggers made. What tests have them,
# too, or each would plan the build anew.
BUILD_OPTIONS ?=

test: deps
	$(SWIFT) build --build-tests $(BUILD_OPTIONS)
	@disk="$${TMPDIR:-/tmp}"; memory="$$disk"; \
	said=$$(mktemp); own=; trap 'rm --recursive --force "$$said" $$own' EXIT; \
	trap 'exit 130' INT; trap 'exit 143' TERM; \
	free=$$(df --output=avail --block-size=1G /dev/shm 2> /dev/null | tail --lines 1); \
	if test -z "$$TMPDIR" && test "$${free:-0}" -ge 4; then \
	    own=$$(mktemp --directory /dev/shm/logsync-XXXXXX); memory="$$own"; chmod 1777 "$$memory"; \
	fi; \
	export TMPDIR="$$memory"; \
	part() { \
	    name="$$1"; shift; echo "== $$name"; \
	    { "$$@" 2>&1 || echo "✘ $$name: ended with $$?"; } | tee --append "$$said"; \
	}; \
	run="$(SWIFT) test --skip-build $(BUILD_OPTIONS)"; \
	! $(SWIFT) test --help-hidden | grep --quiet -e $(WIDTH_OPTION) || run="$$run $(WIDTH_OPTION) $(WIDTH)"; \
	for module in $(MODULES); do \
	    part "$$module" $$run --filter "^$$module\\." --skip "$(TIMED)|$(ON_DISK)"; \
	done; \
	part "On disk" env TMPDIR="$$disk" $$run --filter "$(ON_DISK)"; \
	part "What is timed" $$run --filter "$(TIMED)"; \
	bin=$$($(SWIFT) build --show-bin-path); \
	part Simulation "$$bin/Simulation" --seeds $(TEST_SEEDS) --jobs $(JOBS); \
	part Lies "$$bin/Simulation" --seeds $(TEST_LIES) --certain folders,lies --jobs $(JOBS); \
	part Keys "$$bin/Simulation" --seeds $(TEST_KEYS) --certain keyMigrations --jobs $(JOBS); \
	part Links "$$bin/Simulation" --seeds $(TEST_LINKS) --certain links,unique,references --jobs $(JOBS); \
	part Crashes "$$bin/Simulation" --crashes $(TEST_CRASHES) --jobs $(JOBS); \
	part Migrations "$$bin/Simulation" --migrations --deaths $(TEST_MIGRATIONS) --jobs $(JOBS); \
	wander() { part "$$1" Tests/Migrations/wander "$$bin/logsync" --seeds $$2 --from $$3 --jobs $(JOBS); }; \
	wander Worlds $(TEST_WORLDS) 1; \
	wander Lives $(TEST_LIVES) 5040; \
	wander Reborn $(TEST_REBORN) 1000003; \
	wander Parents $(TEST_PARENTS) 4000001; \
	wander Shared $(TEST_SHARED) 6000006; \
	wander Passes $(TEST_PASSES) 7000038; \
	if grep --quiet "^✘ .*: ended with" "$$said"; then \
	    echo "== Failed" >&2; grep "✘" "$$said" >&2; exit 1; \
	fi

# Much data: a clone of gigabytes within little memory, a hundred thousand transactions collected and joined. Takes a while
# and about 12 GB of disk; ARGS="clone --scale 0.1" for less. Not part of `test`.
test-large: deps
	$(SWIFT) build --configuration release --product logsync --scratch-path .build-large
	$(SWIFT) build --configuration release --product large-writer --scratch-path .build-large
	Tests/Large/run .build-large/release/logsync $(ARGS)

# Two daemons over Syncthing, rclone and file systems by FUSE: everything on this machine, in temporary folders. Not part
# of `test`, because it needs them. ARGS="syncthing" for one of them.
test-carriers: deps
	$(SWIFT) build --product logsync
	Tests/Carriers/run "$$($(SWIFT) build --show-bin-path)/logsync" $(ARGS)

# Many stores on three machines for a long time, with daemons killed, folders that come and go, full disks and restores.
MINUTES ?= 30
soak: deps
	$(SWIFT) build --configuration release --product logsync --scratch-path .build-soak
	Tests/Soak/run .build-soak/release/logsync --minutes $(MINUTES) $(ARGS)

# Real applications between two machines: Django, Anki, Calibre and others, which apt-get and pip install. Not part of `test`.
# ARGS="django buku" for some of them.
test-apps: deps
	$(SWIFT) build --product logsync
	Tests/Applications/run --install "$$($(SWIFT) build --show-bin-path)/logsync" $(ARGS)

# Everything in the folder that is no log file: links, FIFOs, devices, names, documents, files that change while they are read;
# each command with each of them. Takes an hour. Not part of `test`. ARGS="--only FIFO" for some of them.
test-hostile: deps
	$(SWIFT) build --product logsync
	Tests/Hostile/run "$$($(SWIFT) build --show-bin-path)/logsync" $(ARGS)

# Migrations as Django, Alembic, Rails, GRDB and Room write them, on two and three peers: Documentation/migrations.md has what
# comes of them; and with a death at every statement and every change of each. Not part of `test`. ARGS="rails --only unique"
# for some of them, MIGRATION_DEATHS=100000 for all places, MIGRATION_WORLDS=1000 for more random ones.
test-migrations: deps
	$(SWIFT) build
	"$$($(SWIFT) build --show-bin-path)/Simulation" --migrations --deaths $(MIGRATION_DEATHS) --jobs $(JOBS)
	Tests/Migrations/wander "$$($(SWIFT) build --show-bin-path)/logsync" --seeds $(MIGRATION_WORLDS) --jobs $(JOBS)
	Tests/Migrations/run --install "$$($(SWIFT) build --show-bin-path)/logsync" $(ARGS)

# A program that depends on the library by its path, with the oldest and the newest GRDB and swift-crypto that Package.swift
# lets in and that can be had. Builds the library twice. ARGS="newest" for one of them.
test-embedding: deps
	SWIFT="$(SWIFT)" Tests/Embedding/run $(ARGS)

# The format of sources, whether the house is as Tests/Architecture/rooms.toml says (that check proves itself first), and
# whether every sabotage still finds what it is to break.
lint:
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)
	Tests/Architecture/test_check.py --quiet
	Tests/Architecture/check
	Tests/Sabotage/run --check

# The Swift runtime goes into the binary, so that it runs where no toolchain is.
STATIC = .build-static/release/logsync
.PHONY: $(STATIC)
$(STATIC): deps
	$(SWIFT) build --configuration release --product logsync --static-swift-stdlib --scratch-path .build-static

# The binary, its manual pages, its completions for bash, zsh and fish, and units for systemd.
install: $(STATIC)
	Packaging/install $(STATIC) "$(PREFIX)" "$(DESTDIR)"

uninstall:
	Packaging/install --remove "$(PREFIX)" "$(DESTDIR)"

# A package for Debian in .build-package, which depends on the libraries that are installed here.
package: $(STATIC)
	Packaging/deb $(STATIC) .build-package

# Measures beside plain SQLite and its session extension: see Benchmarks/README.md. ARGS="--rows 20000" for less.
bench: deps
	@SWIFT="$(SWIFT)" Benchmarks/run $(ARGS)

# What a row, a peer and a transaction cost as there are ever more of them; takes long, so it is no part of `bench`.
bench-growth: deps
	@SWIFT="$(SWIFT)" Benchmarks/run grow --chart Documentation/growth.svg $(ARGS)

# Real stores, a courier that does everything a folder can do, processes killed anywhere, and an oracle that says what
# has to come of it: see Tests/Simulation/README.md. SEED=n replays one, CRASHES=1 kills small ones everywhere, at
# DEATHS=n places at most.
SEEDS ?= $(if $(CRASHES),1,2000)
FROM ?= 1
simulate: deps
	$(SWIFT) build --configuration release --product Simulation --scratch-path .build-simulation
	.build-simulation/release/Simulation $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --from $(FROM)) \
	    $(if $(CRASHES),--crashes $(if $(DEATHS),--deaths $(DEATHS))) $(if $(SEED),,--jobs $(JOBS)) \
	    $(if $(FEATURES),--features=$(FEATURES)) $(if $(CERTAIN),--certain=$(CERTAIN))

# Breaks the sources on purpose, line by line; each time a named test has to fail.
sabotage: deps
	Tests/Sabotage/run

# libFuzzer over everything that reads what others put into the folder: see Tests/Fuzz/README.md. SECONDS=n for each target.
fuzz: deps
	@SWIFT="$(SWIFT)" FUZZ_SECONDS="$(or $(SECONDS),60)" Tests/Fuzz/run $(TARGET)

# Tests with a sanitizer each: threads where there are some, addresses where bytes are read. Builds everything twice more.
THREADED = LogSyncContainerTests LogSyncTests CommandTests
BYTES = LogSyncFormatTests LogSyncStoreTests
sanitize: deps
	@sanitize() { \
	    sanitizer=$$1; shift; \
	    $(SWIFT) build --build-tests --sanitize=$$sanitizer --scratch-path .build-$$sanitizer || return 1; \
	    for module in "$$@"; do \
	        echo "== $$module, $$sanitizer"; \
	        $(SWIFT) test --skip-build --sanitize=$$sanitizer --scratch-path .build-$$sanitizer \
	            --filter "^$$module\\." --skip "$(TIMED)" || return 1; \
	    done; \
	}; \
	export TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/threads.supp"; \
	sanitize thread $(THREADED) && sanitize address $(BYTES)

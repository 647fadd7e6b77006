# SPDX-License-Identifier: Apache-2.0
# Two commands do everything on a fresh Debian 12: `make run` and `make test`. The build itself is meson's.
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON := /usr/bin/python3
PYTEST := $(PYTHON) -m pytest -p no:cacheprovider -q

all: build

build: deps
	@tools/build.sh build

hooks: deps
	@tools/build.sh build-hooks -Dtest_hooks=true

# Installs what is missing; silent when nothing is.
deps:
	@tools/deps.sh

run: build
	@tools/demo.sh

# Everything: unit tests, end to end and containment as root, both again rootless; ends with a count.
test: build hooks
	@tools/test.sh

# For the inner loop, below two minutes: unit tests, and every verb once.
check: build
	@tools/test.sh --check

# The same programs under AddressSanitizer and UBSan.
asan: deps
	@tools/build.sh build-asan -Db_sanitize=address,undefined -Db_lundef=false
	@tools/test.sh --asan

# Limits and containment on a pure cgroup v2 host: Debian's kernel under qemu.
test-v2: build hooks
	@tools/test.sh --v2

# 225 tricks against graders, and naive graders that they fool (tests/cheats/README.md): some minutes.
cheats: build
	@$(PYTEST) tests/cheats

fuzz: deps
	@tests/fuzz/run.sh $(SECONDS)
	@BELLJAR_PAIRS=2000000 BELLJAR_SEED=$$(date +%s) /usr/bin/python3 -m pytest -p no:cacheprovider -q tests/e2e/test_compare.py

# belljar beside what else is installed; BENCH='--quick --only bare,belljar-run' narrows it.
bench: build
	@build/belljar bench --out build/bench.json $(BENCH)

# Many runs through one batch: nothing may grow, and the last must cost what the first did. RUNS=100000
RUNS ?= 100000
soak: build
	@$(PYTHON) tests/soak/soak.py --runs $(RUNS) --json build/soak.json

lint: deps
	@tools/lint.sh

format:
	@clang-format -i $$(git ls-files 'src/*.[ch]' 'tools/*.c' 'tests/*.[ch]')

install: build
	@DESTDIR=$(DESTDIR) meson configure build -Dprefix=$(PREFIX) && DESTDIR=$(DESTDIR) meson install -C build

clean:
	rm -rf build build-hooks build-asan build-fuzz

.PHONY: all build hooks deps run check test asan test-v2 cheats fuzz bench soak lint format install clean

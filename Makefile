# SPDX-License-Identifier: BSD-3-Clause
#
# The front door: installs what is missing, builds everything with meson, runs it. Everything it
# makes is below build/ and build-asan/. A step's output is in build/logs.
#
#   QEMU_SOURCE=DIR   an unpacked QEMU 10.0 tree in place of Debian's source
#   ACCEL=kvm         boot guests with KVM (the default is tcg: it works everywhere)
#   DEVICE=amdgpu     what the demo's devices run on: cpu (default), an AMD GPU, or (amdgpu-sim) one
#                     in software; NODE= is the GPU's render node, GENERATION= which one in software

MAKEFLAGS += --silent --no-print-directory
SHELL = /bin/sh

export GPGPU_T0 := $(or $(GPGPU_T0),$(shell date +%s))
export QEMU_SOURCE
export CCACHE_DIR := $(CURDIR)/build/ccache
export CCACHE_BASEDIR := $(CURDIR)

STEP = .ci/step
chosen = $(if $(DEVICE),$(1) $(DEVICE)) $(if $(GENERATION),--generation $(GENERATION)) $(if $(NODE),--node $(NODE))
MESON = /usr/bin/meson
SANITIZE = -Dqemu=false -Db_sanitize=address,undefined -Db_lundef=false

help:
	@echo 'make demo        set up, build, boot a guest and show the main job'
	@echo 'make check       set up, build, run every test'
	@echo 'make guest       a shell in the demo guest'
	@echo 'make bench       the benchmarks'
	@echo 'make build       set up and build everything'
	@echo 'make setup       only install and download what is missing'
	@echo 'make undo-setup  remove the apt sources file that set-up may have added'
	@echo 'make lint        style and licences;  make format  formats the C code'
	@echo 'make clean       remove what was built (downloads and compiler cache stay)'

setup:
	@.ci/setup

undo-setup:
	@.ci/setup undo

# Remembers QEMU_SOURCE, so that another one configures anew.
build/qemu-source: FORCE
	@mkdir -p build
	@echo '$(QEMU_SOURCE)' | cmp -s - $@ || echo '$(QEMU_SOURCE)' >$@

build/build.ninja: meson.options build/qemu-source
	@rm -rf build/meson-private
	@CC=gcc $(STEP) configure $(MESON) setup build -Dqemu_source=$(QEMU_SOURCE)

build-asan/build.ninja: meson.options
	@rm -rf build-asan
	@CC=clang-19 $(STEP) configure-asan $(MESON) setup build-asan $(SANITIZE)

# The order saves no work, but the long step comes when the quick ones are known to be right.
build: setup
	@$(MAKE) build/build.ninja
	@$(STEP) build ninja -C build
	@$(STEP) qemu ninja -C build qemu
	@$(STEP) guest ninja -C build guest

build-asan: setup
	@$(MAKE) build-asan/build.ninja
	@$(STEP) build-asan ninja -C build-asan all meson-test-prereq

demo: build
	@tests/demo/demo $(call chosen,--device)

# What only tests need is built here; tests/run starts them as they are.
check: build build-asan
	@$(STEP) test-parts ninja -C build meson-test-prereq
	@tests/run

guest: build
	@tests/guest/boot $(call chosen,--backend) --shell

# For comparison only: without it that column is left out.
bench: build
	@dpkg -s pocl-opencl-icd opencl-c-headers >/dev/null 2>&1 || \
		$$([ "$$(id -u)" = 0 ] || echo sudo) apt-get -q install -y --no-install-recommends pocl-opencl-icd opencl-c-headers || true
	@tests/bench/bench

lint:
	@.ci/lint . build

format:
	@.ci/lint --format .

clean:
	@rm -rf build-asan build/qemu build/guest build/logs build/demo build/demo-*
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 \
		! -name downloads ! -name ccache -exec rm -rf {} +; fi

FORCE:

.PHONY: help setup undo-setup build build-asan demo check guest bench lint format clean

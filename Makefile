# Thin: each target is one script or one build. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
RELEASE := build/release
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
ROUNDS ?= 200
SEED ?= 1
CONFIGURE = [ $(RELEASE)/build.ninja -nt CMakePresets.json ] || cmake --preset release >/dev/null

.PHONY: help build all demo test unit e2e test-corruption test-browser console former test-upgrade peers test-slurm test-slurm-full test-torch test-isolation test-security test-vm packages bundle image test-packages reproduce gpu check format bench chaos explore fuzz clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "  make %-15s %s\n", $$1, $$2 }'

build: ## the programs, optimised: build/release/dove
	@tools/setup build
	@tools/console
	@$(CONFIGURE)
	@ninja -C $(RELEASE) -j$(JOBS) --quiet programs

all: ## programs, tests and benchmarks
	@tools/setup build
	@tools/console
	@$(CONFIGURE)
	@ninja -C $(RELEASE) -j$(JOBS) --quiet all headers

demo: ## a distributed training job runs, loses a node and finishes
	@tools/setup build run
	@$(MAKE) --no-print-directory build
	@DOVE=$(CURDIR)/$(RELEASE)/dove examples/demo.sh

test: ## all tests; the last line counts them
	@tools/setup build run test
	@$(MAKE) --no-print-directory all
	@tools/run_tests $(RELEASE)

unit: all ## the tests beside the code, and those of the architecture
	@tools/run_tests $(RELEASE) --only unit

test-corruption: ## random damage to stores, keys and agents' files: found, or healed, never taken (DAMAGES=2000 SEED=1)
	@tools/setup build
	@$(CONFIGURE)
	@ninja -C $(RELEASE) -j$(JOBS) --quiet controller_test agent_test programs_test
	@DOVE_DAMAGES=$(or $(DAMAGES),2000) DOVE_SEED=$(SEED) $(RELEASE)/src/controller_test --gtest_brief=1 --gtest_filter='Damage.*:PostgresDamage.*'
	@DOVE_DAMAGES=$(or $(DAMAGES),2000) DOVE_SEED=$(SEED) $(RELEASE)/src/programs_test --gtest_brief=1 --gtest_filter='TrustDamage.*'
	@DOVE_DAMAGES=$(or $(DAMAGES),2000) DOVE_SEED=$(SEED) $(RELEASE)/src/agent_test --gtest_brief=1 --gtest_filter='AgentDamage.*:*.ABitThatFlippedIsNotBelieved:LeaseTest.TheTaskIsOverByTheDeadlineThatWasReadBeforeDamage:*.WhatWasCutOffIsNotBelieved:ShimTest.DamageToItsReportIsNotBelieved'

# The program of the former level, for what changes versions: tests of upgrades, and bench/hand_over.
former: build
	@ninja -C $(RELEASE) -j$(JOBS) --quiet dove-former

test-upgrade: former ## controllers of two versions take turns, then agents are upgraded behind a link that loses messages
	@tools/setup run test
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/e2e/upgrade_test.py
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/e2e/upgrade_standby_test.py || [ $$? -eq 77 ] # where there is no PostgreSQL
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/e2e/flaky_link_test.py

e2e: all ## the end-to-end tests
	@tools/setup run test
	@tools/run_tests $(RELEASE) --only e2e

test-browser: build ## the web console: its logic, its pages in chromium, and a real JupyterLab in it (DOVE_SCREENSHOTS=1: docs/images anew)
	@tools/setup run test
	@tools/peer_tools apps
	@tools/run_tests $(RELEASE) --only e2e --only peers --match console_

console: ## the web console alone, type-checked, into build/console
	@tools/setup build
	@tools/console

peers: all ## tests and comparisons against a real Slurm
	@tools/setup run test peers
	@tools/peer_tools
	@tools/run_tests $(RELEASE) --only peers

test-slurm: build ## Slurm and Dovetail on the same nodes, and tools and scripts of Slurm's users, against a real Slurm
	@tools/setup run test peers
	@tools/peer_tools
	@tools/run_tests $(RELEASE) --only peers --jobs 1 --match slurm_ --match tools_ --match sbatch_scripts_

test-slurm-full: ## the same with 2 000 random operations and 300 races for the last GPU (an hour)
	@DOVE_TEST_LIMIT_S=7200 OPERATIONS=2000 ROUNDS=300 $(MAKE) --no-print-directory test-slurm

test-torch: ## PyTorch from PyPI on two virtual nodes, and beside a real Slurm: torchrun, env:// and a stop with a checkpoint, on CPUs (fetches some 4 GB)
	@tools/setup build run
	@tools/torch_venv
	@$(MAKE) --no-print-directory build
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/torch/torch_test.py
	@DOVE=$(CURDIR)/$(RELEASE)/dove DOVE_TORCH_PYTHON=$(CURDIR)/build/torch/bin/python tests/e2e/examples_test.py Examples.test_a_training_with_torch
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/torch/torch_slurm_test.py || [ $$? -eq 77 ] # where there is no Slurm

test-isolation: ## what a hostile task in a container tries, and a neighbour that notices nothing (root)
	@tools/setup build run test
	@$(MAKE) --no-print-directory build
	@DOVE=$(CURDIR)/$(RELEASE)/dove tests/e2e/isolation_test.py

test-security: build ## every operation with every credential that is not good for it, what a hostile task, user of a node or client tries, and testssl.sh
	@tools/setup run test peers
	@tools/run_tests $(RELEASE) --only e2e --match credentials_
	@tools/run_tests $(RELEASE) --only e2e --match root_agent_
	@tools/run_tests $(RELEASE) --only e2e --match isolation_
	@tools/run_tests $(RELEASE) --only e2e --match hostile_
	@tools/run_tests $(RELEASE) --only e2e --match tls_
	@tools/run_tests $(RELEASE) --only peers --match testssl_
	@bench/authz

test-vm: ## what depends on the kernel, in a machine with systemd and cgroup v2 (root, qemu; SUITES="isolation-crun exec")
	@tools/setup build vm
	@$(CONFIGURE)
	@ninja -C $(RELEASE) -j$(JOBS) --quiet programs dove-former agent_test devices.nvml_fake
	@tools/vm test $(SUITES)

packages: build ## Debian packages of what is built, into build/packages (DOVE_SIGN_KEY=ID signs them)
	@tools/setup package
	@tools/packages build

bundle: build ## the same, and one file that installs them on a bare Debian 12 without a network
	@tools/setup package
	@tools/packages bundle

image: build ## the same packages, and a container image of the controller: an OCI archive (root)
	@tools/setup package
	@tools/packages image

test-packages: build ## on a bare Debian 12: install, upgrade under tasks, remove, offline; the image under runc; twice the same bytes (root)
	@tools/setup package
	@tests/packages/packages_test.py
	@tests/packages/image_test.py

reproduce: build ## compiles what is committed once more, in another folder, and compares the programs byte by byte
	@tools/setup package
	@tools/reproduce

gpu: ## what a real GPU of this machine does under dove, added to docs/operate/gpu-runs.md; skips without one
	@! tools/gpu --probe || { tools/setup build run test && $(MAKE) --no-print-directory build && \
	  DOVE=$(CURDIR)/$(RELEASE)/dove tools/gpu; }

check: ## formatting, architecture, lint of changed files (ALL=1: of every file)
	@tools/setup build check
	@tools/check $(if $(ALL),--all)

format: ## format every C++ file
	@tools/setup check
	@find src tests bench -name '*.h' -o -name '*.cc' | xargs --no-run-if-empty clang-format-16 -i

bench: all ## every bar of bench/
	@tools/setup run test peers
	@tools/peer_tools hub
	@tools/bench $(RELEASE)

chaos: all ## kill everything at random, ROUNDS=200 times, and lose nothing
	@tools/setup run test
	@DOVE=$(CURDIR)/$(RELEASE)/dove ROUNDS=$(ROUNDS) bench/chaos

explore: ## a year of the control plane under virtual time and faults, SEED=1, then each seeded bug
	@tools/setup build run
	@SEED=$(SEED) bench/explore

fuzz: ## each fuzzer for FUZZ_SECONDS=60; the tests run each on its seeds
	@tools/setup build fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

clean: ## remove what was built
	@rm -rf build

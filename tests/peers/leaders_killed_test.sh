#!/usr/bin/env bash
# Rounds of bench/chaos with three controllers: whichever leads is killed every 5 s, agents and shims at random, and nothing is
# lost or runs twice.
# limit_s: 280
set -eu
cd "$(dirname "$0")/../.."
ROUNDS=5 exec bench/chaos --test --controllers 3

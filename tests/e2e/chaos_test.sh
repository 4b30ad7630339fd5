#!/usr/bin/env bash
# Ten rounds of bench/chaos: processes are killed at random, and nothing is lost or runs twice.
# limit_s: 280
set -eu
cd "$(dirname "$0")/../.."
ROUNDS=10 exec bench/chaos --test

#!/usr/bin/env bash
# A few seconds of bench/flood: no session is lost, memory stays, and no stranger reaches the parser of HTTP/2.
# limit_s: 120
set -eu
cd "$(dirname "$0")/../.."
exec bench/flood --test

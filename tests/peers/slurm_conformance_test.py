#!/usr/bin/env python3
# limit_s: 400
# waits
"""A real Slurm does what the adapter expects of one: the suite (src/slurm/cluster_conformance.h) that the simulated Slurm
of `dove sim explore` and the one of the adapter's unit tests pass, too.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import re
import subprocess
import sys
import os

from gate_lab import LUA, ROOT, GateLab, available

SKIP = 77
BUILD = os.environ.get("DOVE_BUILD", os.path.join(ROOT, "build/release"))
CASES = 23


def main():
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in here: tools/setup peers installs it (as root)")
        return SKIP
    with GateLab(nodes=1, cpus=8, gpus=4) as lab:
        done = subprocess.run([f"{BUILD}/src/slurm_test", "--gtest_filter=Peer/*"], text=True, capture_output=True, timeout=300,
                              env={**lab.environment, "DOVE_REAL_SLURM": "1"})
    print(done.stdout[-8000:], done.stderr[-2000:], sep="\n")
    passed = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
    if passed is None or int(passed[1]) < CASES:
        print(f"fewer than {CASES} cases were tried")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

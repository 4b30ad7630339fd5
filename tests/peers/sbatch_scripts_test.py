#!/usr/bin/env python3
"""bench/sbatch_scripts holds its bars: public scripts mean here what they mean to a real slurmctld.

Skips where the scripts (shared/inputs/sbatch) or Slurm (tools/setup peers, as root) are missing.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
from cluster import DOVE, SKIP  # noqa: E402

done = subprocess.run([os.path.join(ROOT, "bench/sbatch_scripts")], env={**os.environ, "DOVE": DOVE},
                      capture_output=True, text=True, timeout=400)
print(done.stdout + done.stderr, end="")
sys.exit(SKIP if "skipped" in done.stdout else done.returncode)

#!/usr/bin/env python3
"""Tools that drive a Slurm cluster, as PyPI has them, run unchanged on a real Slurm behind the gate, and through our own commands
where Slurm runs the project's jobs: the results that tools_test.py has from a Slurm alone.

Skips where Slurm with its accounting and its Lua plug-in or the tools (`tools/setup peers`, as root, then
`tools/peer_tools`) are missing; with CI=true that is a failure.
"""
# limit_s: 420
import os
import shutil
import subprocess
import sys
import unittest

from shared_nodes import SKIP
from tool_places import HERE, ToolPlaces, in_each, missing

PARTS = 4


class ToolsBehindGate(ToolPlaces):
    def test_submitit(self):
        for what, result in {"plain": [12, "FailedJobError", "COMPLETED", "FAILED", True, True],
                             "arrays": [[10, 12, 14, 16, 18, 20, 0, 2, 4], ["COMPLETED"] * 9],
                             "cancelled": ["CANCELLED", True],
                             "gang": [[rank, rank % 2, rank // 2, 4] for rank in range(4)]}.items():
            self.gives(result, lambda place, what=what: place.tool("submitit_work.py", what))

    def test_parsl(self):
        said = in_each(self.places, lambda place: place.tool("parsl_work.py"))
        for place, one in zip(self.places, said):
            with self.subTest(place.name):
                self.assertEqual((one["squares"], one["nodes"]), ([i * i for i in range(12)], ["0", "1"]))

    def test_dask_jobqueue(self):
        self.gives([2470, list(range(1, 13))], lambda place: place.tool("dask_work.py"))

    def test_snakemake(self):
        def makes(place):
            folder = os.path.join(place.folder, "snakemake")
            shutil.copytree(os.path.join(HERE, "snakemake"), folder)
            if place.identity:
                subprocess.run(["chown", "-R", place.identity["user"], folder], check=True)
            done = place.snakemake(folder, "sacct", PARTS)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(folder + "/sum.txt") as file:
                return file.read()
        self.gives(f"{sum(range(PARTS))}\n", makes)

    def test_slurm_ran_all_of_it(self):
        """What our commands took ran in Slurm, under the adapter's name for it."""
        job = int(self.places[1].run("sbatch", "-W", "--parsable", "-t", "5", "-o", "/dev/null", "--wrap", "exit 0").stdout)
        self.lab.until("sacct -X -n -P -o JobName", lambda out: f"dove-{job}.1@" in out)  # it hears of jobs some time later


if __name__ == "__main__":
    if why := missing():
        print(f"{why}: tools/setup peers (as root), then tools/peer_tools, install it")
        sys.exit(SKIP)
    sys.exit(unittest.main())

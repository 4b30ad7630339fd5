#!/usr/bin/env python3
# limit_s: 600
# waits
"""Nodes whose cores have two hardware threads, in a real Slurm and in a cluster of ours: side by side, in a crowd behind the
gate, with cores that are set aside for the system, and where slurm.conf says that a CPU is a core.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import os
import sys
import unittest

THREADS = 2
os.environ["THREADS"] = str(THREADS)

import slurm_crowd_test  # noqa: E402
import slurm_gate_test  # noqa: E402
import slurm_side_by_side_test  # noqa: E402
from crowd_watch import has_cgroups  # noqa: E402
from gate_lab import LUA, GateLab  # noqa: E402
from shared_nodes import CPUS, GPUS, SKIP, available  # noqa: E402


class SideBySide(slurm_side_by_side_test.SideBySide):
    pass


@unittest.skipUnless(has_cgroups(), "no cgroups of version 1 here")
class Crowd(slurm_crowd_test.Crowd):
    pass


class LabWithSystemCore(GateLab):
    node_options = "CoreSpecCount=1"


class SystemCore(slurm_gate_test.Gate):
    """One core of each node is the system's, for Slurm and for the ledger."""

    lab_class = LabWithSystemCore
    objects = slurm_gate_test.Gate.objects + "---\nkind: Node\nname: n0\ncores_reserved: 1\n"

    def test_a_job_of_its_own_nodes_has_all_cores_but_the_systems(self):
        job = self.gated("--exclusive", "--gres=gpu:1", "-w", "n0")
        self.assertEqual(len(self.in_its_place(job)), GPUS)
        self.assertEqual(len(self.lab.given(job)["n0"][0]), CPUS - THREADS)
        self.assertEqual(len(self.cores(self.known_as(job))["n0"]), CPUS - THREADS)
        second = self.submit(0, "n0", cores=CPUS - THREADS)
        self.assertEqual(self.cluster.job(second)["state"], "waiting")
        self.lab.run(f"scancel {job}")
        self.cluster.wait_state(second, "running", 40)
        self.assertEqual(self.cores_in_slurm(second), self.cores(second))


class LabOfCores(GateLab):
    node_options = f"CPUs={CPUS // THREADS}"


class CpusAreCores(slurm_gate_test.Gate):
    """CPUs= as many as there are cores: `-c 1` is a core, with its threads."""

    lab_class = LabOfCores

    def test_jobs_of_both_sides_have_whole_cores(self):
        ours = self.submit(1, "n0", cores=2 * THREADS)
        self.started(ours)
        self.assertEqual(self.cores_in_slurm(ours), self.cores(ours))
        self.assertEqual(len(self.cores(ours)["n0"]), 2 * THREADS)
        theirs = self.gated("-c2", "--gres=gpu:1", "-w", "n0")
        self.in_its_place(theirs)
        self.assertEqual(self.lab.given(theirs)["n0"][0], self.cores(self.known_as(theirs))["n0"])
        self.assertEqual(self.lab.fields(theirs)["Restarts"], "0")
        more = self.submit(0, "n0", cores=1)
        self.assertNotEqual(self.cluster.job(more)["state"], "running")


for case in (SystemCore, CpusAreCores):
    for inherited in [name for name in dir(slurm_gate_test.Gate) if name.startswith("test_")]:
        setattr(case, inherited, None)
del case, inherited

if __name__ == "__main__":
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())

#!/usr/bin/env python3
# takes: slurm
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
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tools"))
import shared_nodes  # noqa: E402
from gate_lab import LUA, GateLab  # noqa: E402
from places import HERE, Place, available, commands_of_dove, commands_of_slurm, in_each  # noqa: E402
from shared_nodes import SKIP, SharedNodes  # noqa: E402

PARTS = 4
OBJECTS = shared_nodes.OBJECTS + """\
gate: true
runs_jobs: true
---
kind: Settings
name: moved
job: {executor: slurm}
"""


PERSON = "dovetools"  # Slurm runs no job of ours as root


class ToolsLab(GateLab):
    def __init__(self, **options):
        super().__init__(**options, accounting=True)


class ToolsBehindGate(SharedNodes):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        subprocess.run(["useradd", "-M", "-N", "-s", "/bin/sh", "-d", "/tmp", PERSON], check=True)
        cls.addClassCleanup(subprocess.run, ["userdel", PERSON], check=True)
        with mock.patch.object(shared_nodes, "SlurmLab", ToolsLab), mock.patch.object(shared_nodes, "OBJECTS", OBJECTS):
            super().setUpClass()
        # Slurm's numbers are not ours.
        subprocess.run(["sbatch", "-W", "-o", "/dev/null", "-a", "0-6", "--wrap", "exit 0"], env=cls.lab.environment, check=True,
                       capture_output=True, timeout=120)
        cls.places = (
            Place("Slurm behind the gate", cls.lab.folder + "/work", commands_of_slurm(cls.lab), cls.lab.environment),
            Place("Dovetail, whose jobs Slurm runs", cls.cluster.folder + "/work", commands_of_dove(cls.cluster),
                  cls.environment_of_person(), PERSON))

    @classmethod
    def environment_of_person(cls):
        os.chmod(cls.cluster.folder, 0o711)
        token = cls.cluster.api.call("POST", f"/v1/users/{PERSON}/token?create=1")["token"]
        environment = {name: value for name, value in cls.cluster.environment.items() if name != "DOVE_DATA"}
        # In a job that Slurm runs our srun needs Slurm's own.
        path = f"{cls.lab.folder}/commands:{environment['PATH']}"
        return {**environment, "PATH": path, "DOVE_URL": cls.cluster.url, "DOVE_TOKEN": token, "DOVE_USER": PERSON,
                **({"DOVE_CA_FILE": cls.cluster.ca_file()} if cls.cluster.ca_file() else {})}

    @classmethod
    def adapter_options(cls):
        return ["--gate", cls.lab.gate, "--state-dir", cls.lab.folder + "/steps"]

    def gives(self, result, what):
        for place, given in zip(self.places, in_each(self.places, what)):
            with self.subTest(place.name):
                self.assertEqual(given, result)

    def test_submitit(self):
        for what, result in {"plain": [12, "FailedJobError", "COMPLETED", "FAILED", True, True],
                             "arrays": [[10, 12, 14, 16, 18, 20, 0, 2, 4], ["COMPLETED"] * 9],
                             "cancelled": ["CANCELLED", True]}.items():
            self.gives(result, lambda place, what=what: place.tool("submitit_work.py", what))
        # A script that Slurm runs for us has one node.
        self.assertEqual(self.places[0].tool("submitit_work.py", "gang"), [[rank, rank % 2, rank // 2, 4] for rank in range(4)])

    def test_parsl(self):
        said = [place.tool("parsl_work.py", str(nodes)) for place, nodes in zip(self.places, (2, 1))]
        self.assertEqual([one["squares"] for one in said], [[i * i for i in range(12)]] * 2)
        self.assertEqual([one["nodes"] for one in said], [["0", "1"], ["0"]])

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
    missing = available() or ("" if LUA else "no Lua plug-in of Slurm here")
    if missing:
        print(f"{missing}: tools/setup peers (as root), then tools/peer_tools, install it")
        sys.exit(SKIP)
    sys.exit(unittest.main())

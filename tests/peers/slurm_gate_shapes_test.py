#!/usr/bin/env python3
# limit_s: 600
# waits
"""What users of a real Slurm ask for behind the gate, form by form: each job gets in Slurm what the ledger gave it, and is
not put back.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import sys
import unittest

import slurm_gate_test
from gate_lab import LUA, GateLab
from shared_nodes import SKIP, available, until

LICENCES = 3
CLUSTER = f"""\
kind: Cluster
name: default
countables: {{"licence:matlab": {LICENCES}}}
---
"""


class LicencedLab(GateLab):
    def write_config(self):
        super().write_config()
        with open(self.folder + "/slurm.conf", "a") as file:
            file.write(f"Licenses=matlab:{LICENCES}\n")


class Shapes(slurm_gate_test.Gate):
    lab_class = LicencedLab
    objects = CLUSTER + slurm_gate_test.Gate.objects

    def placed(self, *options):
        """(Slurm's job, {node: (cores, GPUs)}) once it runs on what the ledger gave it."""
        job = self.gated(*options)
        self.in_its_place(job)
        self.assertEqual(self.lab.fields(job)["Restarts"], "0", "it is not put back")
        given = {node: (len(cores), len(devices)) for node, (cores, devices) in self.lab.given(job).items()}
        placements = self.cluster.job(self.known_as(job))["attempts"][-1]["placements"]
        self.assertEqual(given, {one["node_name"]: (len(one["cores"]), len(one["devices"])) for one in placements})
        return job, given

    def test_each_node_gets_as_many_tasks_as_the_next(self):
        for options, cores in ((("-N2", "-n4"), [2, 2]), (("-N2", "-n4", "-c2"), [4, 4]), (("-n12",), [6, 6]), (("-n4",), [4])):
            with self.subTest(options=options):
                job, given = self.placed(*options)
                self.assertEqual([count for count, _ in given.values()], cores)
                self.lab.run(f"scancel {job}")

    def test_tasks_that_cannot_be_divided_get_as_many_cpus_on_each_node(self):
        for options, cores, gpus in ((("-N2", "-n5"), 3, 0), (("-N2", "-n3", "-c2"), 4, 0), (("-n13",), 7, 0),
                                     (("-N2", "-n5", "--gres=gpu:2"), 3, 2)):
            with self.subTest(options=options):
                job, given = self.placed(*options)
                self.assertEqual(given, {node: (cores, gpus) for node in ("n0", "n1")})
                tasks = options[1 if len(options) > 1 else 0][2:]
                self.assertEqual(self.lab.fields(job)["NumTasks"], tasks, "Slurm starts as many as were asked for")
                self.lab.run(f"scancel {job}")

    def test_gpus_of_the_whole_job_are_divided_among_its_nodes(self):
        for gpus in (2, 4):
            job, given = self.placed("-N2", "-n4", f"--gpus={gpus}")
            self.assertEqual(given, {"n0": (2, gpus // 2), "n1": (2, gpus // 2)})
            self.lab.run(f"scancel {job}")

    def test_a_least_number_of_cpus_counts(self):
        _, given = self.placed("-n2", "--mincpus=3")
        self.assertEqual(list(given.values()), [(3, 0)])

    def test_one_of_several_features_is_enough(self):
        for node, features in (("n0", "a100,ib"), ("n1", "h100,fast")):
            self.lab.run(f"scontrol update NodeName={node} AvailableFeatures={features} ActiveFeatures={features}")
        self.addCleanup(self.lab.run, "scontrol update NodeName=n[0-1] AvailableFeatures= ActiveFeatures=")
        features = {name: set() for name in ("n0", "n1")}
        def known():
            for node in self.cluster.nodes():
                features[node["name"]] = set(node["features"])
            return features == {"n0": {"a100", "ib"}, "n1": {"h100", "fast"}}
        until(known, 20, "the features to be known")
        for constraint, nodes in (("h100|fast", {"n1"}), ("ib&(a100|h100)", {"n0"}), ("[ib|a100]", {"n0"}),
                                  ("a100|h100", {"n0", "n1"})):
            with self.subTest(constraint=constraint):
                job, given = self.placed("-C", constraint, "--gres=gpu:1", f"-N{len(nodes)}")
                self.assertEqual(set(given), nodes)
                self.lab.run(f"scancel {job}")
        held = self.gated("-N2", "-C", "[a100|h100]")  # one node of each
        known = self.known_as(held)
        self.lab.run("scontrol update NodeName=n1 AvailableFeatures=h100,a100 ActiveFeatures=h100,a100")
        self.in_its_place(held)
        self.assertEqual({one["node_name"] for one in self.cluster.job(known)["attempts"][-1]["placements"]}, {"n0", "n1"})

    def test_licences_are_counted_with_those_of_our_own_jobs(self):
        ours = self.submit(0, command=("sleep", "300"), cluster_requests={"licence:matlab": 1})
        self.started(ours)
        first, _ = self.placed("-L", "matlab:2")
        second = self.gated("-L", "matlab:1")
        known = self.known_as(second)
        until(lambda: "licence:matlab" in self.cluster.run("why", str(known)).stdout, 20, "the reason")
        self.assertEqual(self.state(second), "PENDING")
        self.cluster.run("cancel", str(ours))
        self.in_its_place(second)
        self.assertEqual(self.state(first), "RUNNING")


for inherited in [name for name in dir(slurm_gate_test.Gate) if name.startswith("test_")]:
    setattr(Shapes, inherited, None)
del inherited

if __name__ == "__main__":
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main(defaultTest="Shapes"))

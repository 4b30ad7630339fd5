#!/usr/bin/env python3
# waits
"""Nodes of a real Slurm on which no agent of ours runs: what they have comes from Slurm, and what Slurm runs for us runs
there, beside Slurm's own jobs.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import os
import pwd
import signal
import unittest

import slurm_gate_test
from people import add_people, person
from shared_nodes import GPUS, SharedNodes, main, until

USER = person(4)
OBJECTS = """\
kind: Executor
name: slurm
service_account: slurm-1
nodes: ["n[0-1]"]
runs_jobs: true
"""


class Agentless(SharedNodes):
    agents = 1  # on n0; n1 has slurmd alone

    @classmethod
    def setUpClass(cls):
        add_people(cls, [USER])
        super().setUpClass()
        cls.cluster.run("apply", "-f", "-", input=OBJECTS)
        cls.home = f"{cls.lab.folder}/home"
        os.makedirs(cls.home)
        os.chown(cls.home, pwd.getpwnam(USER).pw_uid, -1)

    @classmethod
    def adapter_options(cls):
        return ["--state-dir", cls.lab.folder + "/steps", "--agentless", "n[1-7]"]

    def setUp(self):
        until(lambda: any(node["name"] == "n1" for node in self.cluster.nodes()), 30, "Slurm's node to be known")
        super().setUp()

    def clear(self):
        super().clear()
        self.lab.run(["scancel", "-u", USER])
        self.lab.until("squeue -h", lambda out: not out.strip())

    def run_there(self, script, **more):
        body = {"executor": "slurm", "command": ["/bin/sh", "-c", script], "cores": 1, "memory": "100Mi",
                "workdir": self.home, "stdout_path": "%j.out", "nodes_wanted": ["n1"], **more}
        return self.cluster.submit(body, **{"X-Dove-User": USER})

    def node(self):
        return self.cluster.api.call("GET", "/v1/nodes/n1")

    def test_what_it_has_is_what_slurm_says(self):
        node = self.node()
        self.assertEqual(node["backend"], "slurm")
        self.assertEqual((node["cores"], node["gpus"]), (8, GPUS))
        self.assertEqual({device["kind"] for device in node["devices"]}, {"gpu"})

    def test_a_job_runs_there_on_the_devices_that_were_chosen(self):
        theirs = self.sbatch("--gres=gpu:1", "-w", "n1")  # Slurm gives it index 0
        self.running(theirs)
        self.known(theirs, "n1")
        job = self.run_there("echo gpus $CUDA_VISIBLE_DEVICES on $SLURMD_NODENAME by $(id -un); sleep 2", gpus=2)
        devices = self.started(job)
        self.assertNotIn(("n1", 0), devices)
        self.assertEqual(self.placeholder(job), devices)
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")
        with open(f"{self.home}/{job}.out") as output:
            indices = ",".join(str(index) for _, index in sorted(devices))
            self.assertEqual(output.read(), f"gpus {indices} on n1 by {USER}\n")

    def test_work_of_our_agents_never_goes_there(self):
        job = self.submit(1, node="n1")
        until(lambda: self.cluster.job(job)["state"] == "waiting", 10, "the job to wait")
        self.assertIn("executor slurm can run it there", self.cluster.run("why", str(job)).stdout)
        mine = self.submit(GPUS)
        self.assertEqual({node for node, _ in self.started(mine)}, {"n0"})
        self.assertEqual(self.cluster.job(job)["state"], "waiting")

    def test_a_job_goes_on_through_the_end_of_the_controller_and_of_the_adapter(self):
        job = self.run_there("sleep 8; echo done", gpus=1)
        self.started(job)
        type(self).end_adapter(signal.SIGKILL)
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.start_server()
        type(self).start_adapter()
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")
        self.assertEqual(len(self.cluster.job(job)["attempts"]), 1)

    def test_a_job_asks_for_a_feature_that_slurm_says_of_the_node(self):
        set_to = lambda names: self.lab.run(f"scontrol update nodename=n1 availablefeatures={names} activefeatures={names}")
        set_to("ib,nvlink")
        try:
            until(lambda: self.node()["features"] == ["ib", "nvlink"], 20, "the features to be known")
            job = self.run_there("true", features=["ib"], nodes_wanted=[])
            self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")
            self.assertEqual(self.cluster.job(job)["attempts"][0]["placements"][0]["node"], self.node()["id"])
        finally:
            set_to("")
        until(lambda: self.node()["features"] == [], 20, "the features to be gone")
        job = self.run_there("true", features=["ib"], nodes_wanted=[])
        self.assertIn("has the feature ib", self.cluster.run("why", str(job)).stdout)
        self.cluster.run("cancel", str(job))

    def test_a_node_that_is_down_in_slurm_takes_nothing_new(self):
        self.lab.run("scontrol update nodename=n1 state=drain reason=fan")
        try:
            until(lambda: self.node()["executors"][0]["state"] == "drained", 20, "the drain to be known")
            job = self.run_there("true", gpus=1)
            self.assertIn("drained", self.cluster.run("why", str(job)).stdout)
        finally:
            self.lab.run("scontrol update nodename=n1 state=resume")
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")

    def test_a_node_that_is_reserved_in_slurm_takes_nothing_until_that_is_over(self):
        self.reserve("now")
        try:
            until(self.reserved, 30, "the reservation to be known")
            job = self.run_there("true", gpus=1)
            self.assertEqual(self.cluster.job(job)["state"], "waiting")
            self.assertIn("no nodes were reserved for others", self.cluster.run("why", str(job)).stdout)
            self.assertEqual(self.lab.run("squeue -h -w n1"), "", "no placeholder is asked for there")
            refused = self.cluster.run("delete", "reservation", "slurm:course", check=False)
            self.assertIn("slurm's own", refused.stderr)
        finally:
            self.lab.run("scontrol delete ReservationName=course")
        self.assertEqual(self.cluster.wait(job, 60)["state"], "completed")
        until(lambda: not self.reserved(), 30, "the reservation to be gone here")

    def test_a_job_that_would_run_into_a_reservation_of_slurms_is_not_placed_there(self):
        self.runs_into("")

    def test_one_that_floats_is_always_so_far_ahead(self):
        self.runs_into("flags=TIME_FLOAT")

    def runs_into(self, options):
        self.reserve("now+20minutes", options)
        try:
            until(self.reserved, 30, "the reservation to be known")
            long = self.run_there("true", gpus=1, time_limit="1h")
            short = self.run_there("true", gpus=1, time_limit="5m")
            self.assertEqual(self.cluster.wait(short, 60)["state"], "completed", "it is over before")
            self.assertEqual(self.cluster.job(long)["state"], "waiting")
            self.assertIn("no nodes were reserved for others", self.cluster.run("why", str(long)).stdout)
            self.assertEqual(self.cluster.job(long)["attempts"], [], "it was not tried in vain")
        finally:
            self.lab.run("scontrol delete ReservationName=course")
        self.assertEqual(self.cluster.wait(long, 60)["state"], "completed")

    def test_reserved_cores_are_nobodys_until_that_is_over(self):
        self.reserve("now", "corecnt=6")
        try:
            until(lambda: "reservation:course" in self.foreign("n1"), 30, "the reservation to be known")
            self.assertEqual(len(self.foreign("n1")["reservation:course"]["cores"]), 6)
            large, small = (self.run_there("true", cores=cores) for cores in (3, 2))
            self.assertEqual(self.cluster.wait(small, 60)["state"], "completed")
            found = self.cluster.job(large)
            self.assertEqual((found["state"], found["attempts"]), ("waiting", []), "it was not tried in vain")
        finally:
            self.lab.run("scontrol delete ReservationName=course")
        self.assertEqual(self.cluster.wait(large, 60)["state"], "completed")

    def reserve(self, starts, options=""):
        self.lab.run(f"scontrol create reservation ReservationName=course starttime={starts} duration=60 users=root nodes=n1 "
                     + options)

    def reserved(self):
        return any(one["name"] == "slurm:course" for one in self.cluster.api.call("GET", "/v1/objects?kind=reservation")["objects"])


class AtTheGate(slurm_gate_test.Gate):
    """Slurm's own jobs, held until the ledger has a place for them."""
    agents = 1

    @classmethod
    def adapter_options(cls):
        return [*super().adapter_options(), "--agentless", "n1"]

    def setUp(self):
        until(lambda: len(self.cluster.nodes()) == 2, 30, "Slurm's node to be known")
        super().setUp()

    def test_a_job_at_the_gate_starts_there(self):
        job = self.gated("--gres=gpu:2", "-w", "n1")
        self.running(job)
        held = [all_of_it for name, all_of_it in self.held_in_slurm().items() if name.endswith(f"#{job}")]
        self.assertEqual([node for node, _ in held[0]], ["n1", "n1"])
        ours = [one for one in self.cluster.api.call("GET", "/v1/jobs?full=1")["jobs"] if one["attempts"]]
        self.assertEqual(self.devices(ours[0]["id"]), held[0])


def load_tests(loader, _, __):
    """What else the gate does is the same with and without agents: slurm_gate_test.py."""
    chosen = ["test_a_job_at_the_gate_starts_there", "test_a_requeued_job_waits_for_another_place", "test_an_array"]
    return unittest.TestSuite([loader.loadTestsFromTestCase(Agentless), *map(AtTheGate, chosen)])


if __name__ == "__main__":
    main()

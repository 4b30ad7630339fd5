#!/usr/bin/env python3
"""A real Slurm and a real cluster of ours on the same nodes, joined by dove slurm: no GPU is ever given by both.

Skips where Slurm (tools/setup peers, as root) is missing, and where the controller knows no executors.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests/e2e"), os.path.join(ROOT, "bench")]
from cluster import DOVE, ENDED, SKIP, Cluster, until  # noqa: E402
from slurm_lab import SlurmLab, available  # noqa: E402

NODES = 2
GPUS = 4
OBJECTS = """\
kind: Project
name: infrastructure
---
kind: User
name: slurm-1
service_of: infrastructure
---
kind: Executor
name: slurm
service_account: slurm-1
nodes: ["n[0-1]"]
"""


def executors_known():
    with open(os.path.join(ROOT, "api/openapi.yaml")) as file:
        return "operationId: syncExecutor" in file.read()


class SideBySide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = SlurmLab(nodes=NODES, cpus=8, gpus=GPUS).__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None, None, None)
        cls.cluster = Cluster(nodes=NODES, gpus=GPUS, cores=8, memory="15Gi")
        cls.cluster.names = [f"n{i}" for i in range(NODES)]
        cls.cluster.__enter__()
        cls.addClassCleanup(cls.cluster.__exit__, None, None, None)
        cls.cluster.run("apply", "-f", "-", input=OBJECTS)
        key = cls.cluster.run("key", "create", "slurm", "--user", "slurm-1", "-o", "json").stdout
        cls.key = cls.lab.folder + "/key"
        with open(cls.key, "w") as file:
            file.write(json.loads(key)["key"])
        cls.adapter = None
        cls.start_adapter()
        cls.addClassCleanup(lambda: cls.end_adapter(signal.SIGTERM))

    @classmethod
    def start_adapter(cls):
        ca = cls.cluster.ca_file()
        with open(f"{cls.lab.folder}/log/adapter", "ab") as log:
            cls.adapter = subprocess.Popen(
                [DOVE, "slurm", "--url", cls.cluster.url, "--key-file", cls.key, *(["--ca-file", ca] if ca else [])],
                env=cls.lab.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @classmethod
    def end_adapter(cls, how):
        cls.adapter.send_signal(how)
        cls.adapter.wait(15)

    def setUp(self):
        until(lambda: all(node["state"] == "ready" for node in self.cluster.nodes()), 30, "the nodes to be open")
        self.addCleanup(self.clear)

    def clear(self):
        for job in self.cluster.api.call("GET", "/v1/jobs")["jobs"]:
            if job["state"] not in ENDED:
                self.cluster.run("cancel", str(job["id"]), check=False)
        self.lab.run("scancel -u root; scancel -u nobody")
        self.lab.until("squeue -h", lambda out: not out.strip())

    # -- Slurm's side

    def sbatch(self, *options):
        return int(self.lab.run(["sbatch", "--parsable", "-c", "1", "--mem=100", "-o", "/dev/null", *options, "--wrap",
                                 "sleep 300"]))

    def running(self, job):
        self.lab.until(f"squeue -h -j {job} -o %T", lambda out: out.strip() == "RUNNING")

    def held_in_slurm(self):
        """{name of the job: {(node, index)}} of all that runs there."""
        held = {}
        for part in self.lab.run("scontrol show job -d -o").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S*)", part))
            if fields.get("JobState") != "RUNNING":
                continue
            for node, gres in re.findall(r"Nodes=(\S+) CPU_IDs=\S+ Mem=\d+ GRES=(\S*)", part):
                held.setdefault(f"{fields['JobName']}#{fields['JobId']}", set()).update(
                    (node, int(i)) for i in re.findall(r"\(IDX:(\d+)\)", gres))
        return held

    # -- our side

    def submit(self, gpus, node=None, command=("sleep", "300"), **more):
        body = {"command": list(command), "gpus": gpus, "cores": 1, "memory": "100Mi", **more}
        if node:
            body["node_names"] = [node]
        return self.cluster.submit(body)

    def devices(self, job):
        """{(node, index)} of its attempt."""
        placements = self.cluster.job(job)["attempts"][-1]["placements"]
        return {(one["node_name"], grant["device"]) for one in placements for grant in one["devices"]}

    def started(self, job, limit_s=40):
        self.cluster.wait_state(job, "running", limit_s)
        return self.devices(job)

    def placeholder(self, job):
        for name, held in self.held_in_slurm().items():
            if name.startswith(f"dove-{job}."):
                return held
        return None

    # -- the tests

    def test_our_job_is_held_in_slurm_by_its_own_devices(self):
        job = self.submit(1)
        devices = self.started(job)
        self.assertEqual(self.placeholder(job), devices)
        node, index = next(iter(devices))
        theirs = self.sbatch("--gres=gpu:3", "-w", node)
        self.running(theirs)
        self.assertEqual(self.held_in_slurm()[f"wrap#{theirs}"], {(node, i) for i in range(GPUS)} - {(node, index)})
        self.cluster.run("cancel", str(job))
        until(lambda: self.placeholder(job) is None, 15, "the placeholder to go")

    def test_t19_what_slurm_holds_is_not_given_and_order_plays_no_part(self):
        """T-19, both ways: Slurm's A has 0 and B has 1 on each node; A ends; our C gets what is free by its index."""
        first = [self.sbatch("--gres=gpu:1", "-w", f"n{i}") for i in range(NODES)]
        for job in first:
            self.running(job)
        second = [self.sbatch("--gres=gpu:1", "-w", f"n{i}") for i in range(NODES)]
        for job in second:
            self.running(job)
        self.lab.run(["scancel", str(first[0])])
        self.lab.until(f"squeue -h -j {first[0]}", lambda out: not out.strip())
        job = self.submit(3)
        devices = self.started(job)
        theirs = set().union(*(held for name, held in self.held_in_slurm().items() if name.startswith("wrap#")))
        self.assertEqual(len(devices), 3)
        self.assertFalse(devices & theirs)
        self.assertEqual(self.placeholder(job), devices)

    def test_our_job_waits_for_slurms_and_starts_when_it_ends(self):
        theirs = [self.sbatch(f"--gres=gpu:{GPUS}", "-w", f"n{i}") for i in range(NODES)]
        for job in theirs:
            self.running(job)
        until(lambda: sum(len(executor["foreign"]) for node in self.cluster.nodes()
                          for executor in self.cluster.api.call("GET", "/v1/nodes/" + node["name"])["executors"])
              == NODES, 15, "both to be known")
        job = self.submit(1)
        until(lambda: self.cluster.job(job)["state"] in ("queued", "waiting"), 10, "it to wait")
        self.assertIn(str(theirs[0]), self.cluster.run("why", str(job)).stdout + self.cluster.run(
            "nodes", "n0").stdout)
        self.lab.run(["scancel", str(theirs[1])])
        self.assertTrue(all(node == "n1" for node, _ in self.started(job)))

    def test_the_controller_and_the_adapter_killed_and_back(self):
        job = self.submit(2)
        devices = self.started(job)
        self.end_adapter(signal.SIGKILL)
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.api.close()
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(theirs)
        self.assertEqual(self.placeholder(job), devices)
        self.cluster.start_server()
        self.start_adapter()
        back = time.monotonic()
        until(lambda: any(one["id"] == str(theirs) for executor in
                          self.cluster.api.call("GET", "/v1/nodes/n0")["executors"] for one in executor["foreign"]),
              20, "what began meanwhile to be known")
        self.assertLess(time.monotonic() - back, 10)
        self.assertEqual((self.cluster.job(job)["state"], self.devices(job)), ("running", devices))
        self.assertEqual(self.placeholder(job), devices)
        self.cluster.run("cancel", str(job))
        until(lambda: self.placeholder(job) is None, 20, "the placeholder to go")

    def test_no_device_is_given_twice_in_a_crowd(self):
        """Random submissions and ends on both sides; at every sample each GPU has one holder."""
        rng = random.Random(17)
        ours, theirs, both, steps = [], [], 0, 0
        deadline = time.monotonic() + 90
        while (steps < 800 or both < 100) and time.monotonic() < deadline:
            steps += 1
            kind = rng.randrange(40)
            if kind == 0:
                ours.append(self.submit(rng.randint(1, 2), command=("sleep", str(rng.randint(1, 6)))))
            elif kind == 1 and len(theirs) < 3:
                theirs.append(self.sbatch(f"--gres=gpu:{rng.randint(1, 2)}"))
            elif kind == 2 and theirs:
                self.lab.run(["scancel", str(theirs.pop(rng.randrange(len(theirs))))])
            elif kind == 3 and ours and rng.randrange(2):
                self.cluster.run("cancel", str(ours.pop(rng.randrange(len(ours)))), check=False)
            both += self.check_once()
        self.assertGreaterEqual(both, 100, f"samples with work of both on one node, in {steps} steps")
        self.lab.run("scancel -n wrap")
        for job in ours:
            self.cluster.run("cancel", str(job), check=False)
        until(lambda: not any(name.startswith("dove-") for name in self.held_in_slurm()), 30, "no orphans")

    def check_once(self):
        """What runs on our side is held by nobody else in Slurm. Whether a node had work of both."""
        running = {}
        for job in self.cluster.api.call("GET", "/v1/jobs?state=running")["jobs"]:
            for device in self.devices(job["id"]):
                self.assertNotIn(device, running, f"{device} is job {job['id']}'s and another's")
                running[device] = job["id"]
        in_slurm = self.held_in_slurm()
        for name, held in in_slurm.items():
            for device in held & running.keys():
                if not name.startswith(f"dove-{running[device]}."):
                    # It may have ended since we looked.
                    self.assertNotEqual(self.cluster.job(running[device])["state"], "running",
                                        f"{device} is job {running[device]}'s and {name}'s")
        foreign = set().union(*(held for name, held in in_slurm.items() if name.startswith("wrap#")))
        return bool({node for node, _ in foreign} & {node for node, _ in running})


if __name__ == "__main__":
    if not available():
        print("no Slurm here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    if not executors_known():
        print("this controller knows no executors")
        sys.exit(SKIP)
    sys.exit(unittest.main())

#!/usr/bin/env python3
# waits
"""A real Slurm and a real cluster of ours on the same nodes, joined by dove slurm: no GPU is ever given by both.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import random
import re
import signal
import time

from shared_nodes import GPUS, NODES, SharedNodes, main, until


class SideBySide(SharedNodes):
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

    def test_our_jobs_have_the_cores_that_slurm_holds_for_them(self):
        theirs = self.sbatch("-w", "n0")
        self.running(theirs)
        self.known(theirs, "n0")
        # The system's cores are no job's here, and Slurm does not know of it: the two choose different ones.
        reserve = "kind: Node\nname: n0\ncores_reserved: "
        self.cluster.run("apply", "-f", "-", input=f"{reserve}{4 // self.threads}\n")
        self.addCleanup(self.cluster.run, "apply", "-f", "-", input=reserve + "0\n")
        jobs = [self.submit(0, "n0", cores=cores) for cores in (2, 1)]
        for job in jobs:
            self.cluster.wait_state(job, "running", 40)
        in_slurm = [self.cores_in_slurm(job)["n0"] for job in jobs]
        self.assertEqual([self.cores(job)["n0"] for job in jobs], in_slurm)
        self.assertEqual([len(cores) for cores in in_slurm], [2, self.threads])
        ours, foreign = in_slurm[0] | in_slurm[1], self.by_slurms_number(self.foreign("n0")[str(theirs)]["cores"])
        self.assertEqual(foreign, set(range(self.threads)))
        self.assertIn(self.threads, ours, "the first that Slurm has free, which the ledger would not give")
        self.assertFalse(ours & foreign)

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
        for i, job in enumerate(theirs):
            self.known(job, f"n{i}")
        job = self.submit(1)
        until(lambda: self.cluster.job(job)["state"] in ("queued", "waiting"), 10, "it to wait")
        self.assertIn(str(theirs[0]), self.cluster.run("why", str(job)).stdout + self.cluster.run(
            "nodes", "n0").stdout)
        self.lab.run(["scancel", str(theirs[1])])
        self.assertTrue(all(node == "n1" for node, _ in self.started(job)))

    def in_slurm(self, node):
        fields = dict(re.findall(r"(\S+?)=(.*?)(?=\s+\S+=|$)", self.lab.run(f"scontrol show node {node} -o")))
        return fields["State"], fields.get("Reason", "")

    def test_a_node_that_is_found_sick_is_drained_in_slurm_with_what_was_found_and_opened_after_its_repair(self):
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0")
        self.running(theirs)
        self.cluster.api.call("POST", "/v1/nodes/n0/findings", {
            "check": "psu", "severity": "fault", "remedy": "replace", "evidence": "one of two power supplies is off"})
        until(lambda: "DRAIN" in self.in_slurm("n0")[0], 20, "the drain in Slurm")
        self.assertRegex(self.in_slurm("n0")[1], r"^dovetail@dove: .*psu")
        self.running(theirs)  # what runs there goes on
        self.lab.run(f"scancel {theirs}")
        until(lambda: self.cluster.api.call("GET", "/v1/nodes/n0")["state"] == "repair", 30, "people's turn")
        self.assertIn("DRAIN", self.in_slurm("n0")[0])
        self.cluster.run("node", "resume", "n0")
        until(lambda: self.cluster.api.call("GET", "/v1/nodes/n0")["state"] == "ready", 60, "the node to be tested and back")
        until(lambda: "DRAIN" not in self.in_slurm("n0")[0], 15, "Slurm to have it open again")

    def test_drains_cross_over_both_ways_and_each_side_opens_only_its_own(self):
        in_slurm = self.in_slurm
        self.cluster.run("node", "drain", "n0", "--reason", "gpu 2 is hot")
        until(lambda: in_slurm("n0")[1].startswith("dovetail@dove: gpu 2 is hot"), 15, "the drain in Slurm")
        self.assertIn("DRAIN", in_slurm("n0")[0])
        self.cluster.run("node", "resume", "n0")
        until(lambda: "DRAIN" not in in_slurm("n0")[0], 15, "Slurm to have it open again")
        # What Slurm's administrators drained stays drained, whatever we had to say meanwhile.
        self.lab.run("scontrol update nodename=n1 state=drain reason='bad fan'")
        until(lambda: "drain" in self.cluster.api.call("GET", "/v1/nodes/n1")["state"], 15, "the drain here")
        self.cluster.run("node", "drain", "n1", "--reason", "we, too")
        self.cluster.run("node", "resume", "n1")
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0")  # a report that comes after it
        self.running(theirs)
        self.known(theirs, "n0")
        self.assertTrue(in_slurm("n1")[1].startswith("bad fan"), in_slurm("n1"))
        self.lab.run("scontrol update nodename=n1 state=resume")

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
        until(lambda: str(theirs) in self.foreign("n0"),
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
    main()

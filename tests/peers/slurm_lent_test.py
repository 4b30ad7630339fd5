#!/usr/bin/env python3
# limit_s: 400
# waits
"""The part of a node that is not lent to a real Slurm is held there at all times, device by device: its users never get it, and
work of ours starts on it.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import json
import re

from shared_nodes import CPUS, ENDED, OBJECTS, SharedNodes, main, until

EXECUTOR = OBJECTS.split("---\n")[-1]


def lending(devices):
    """The Executor that lends Slurm these devices of n0, and all of n1."""
    return EXECUTOR + f"lendable: [{{nodes: [n0], devices: {devices}}}, {{nodes: [n1], devices: [0, 1, 2, 3]}}]\n"


class Lent(SharedNodes):
    objects = OBJECTS.replace(EXECUTOR, lending([2, 3]))

    def setUp(self):
        super().setUp()
        self.lend([2, 3])

    def lend(self, devices):
        self.cluster.run("apply", "-f", "-", input=lending(devices))
        kept = {("n0", i) for i in range(4)} - {("n0", i) for i in devices}
        until(lambda: self.kept() == kept, 20, f"Slurm to be kept off {kept}")

    def kept(self):
        held = [devices for name, devices in self.held_in_slurm().items() if name.startswith("dove-keep-")]
        self.assertTrue(all(len(devices) == 1 for devices in held), held)
        return set().union(*held)

    def theirs(self, job):
        return next(devices for name, devices in self.held_in_slurm().items() if name.endswith(f"#{job}"))

    def waits(self, job):
        self.assertEqual(self.lab.run(f"squeue -h -j {job} -o %T").strip(), "PENDING")

    def clear(self):
        for name in ("root", "nobody"):
            for job in re.findall(r"^(\d+) (?!dove-keep-)", self.lab.run(f"squeue -h -u {name} -o '%i %j'"), re.M):
                self.lab.run(f"scancel {job}")
        for job in self.cluster.api.call("GET", "/v1/jobs")["jobs"]:
            if job["state"] not in ENDED:
                self.cluster.run("cancel", str(job["id"]), check=False)
        self.lab.until("squeue -h -o %j", lambda out: all(name.startswith("dove-keep-") for name in out.split()))

    # -- tests

    def test_slurms_users_get_what_is_lent_and_no_more(self):
        first = self.sbatch("--gres=gpu:2", "-w", "n0")
        self.running(first)
        self.assertEqual(self.theirs(first), {("n0", 2), ("n0", 3)})
        second = self.sbatch("--gres=gpu:h200_1:1", "-w", "n0")
        third = self.sbatch("--gres=gpu:4", "-w", "n1")
        self.running(third)
        self.waits(second)

    def test_work_of_ours_starts_on_what_is_kept_unasked(self):
        busy = self.sbatch("--gres=gpu:2", "-w", "n0")
        self.running(busy)
        self.known(busy, "n0")
        job = self.submit(2, node="n0", cores=4)
        self.assertEqual(self.started(job), {("n0", 0), ("n0", 1)})
        self.assertEqual(self.placeholder(job), set(), "its cores are held, and the fences hold its GPUs")
        self.assertEqual(self.kept(), {("n0", 0), ("n0", 1)})

    def test_of_both_kinds_of_device(self):
        job = self.submit(3, node="n0", cores=7)
        self.assertEqual(len(self.started(job)), 3)
        self.assertEqual(self.placeholder(job) | self.kept() >= self.devices(job), True)
        self.cluster.run("cancel", str(job))
        whole = self.submit(4, node="n0", cores=8)
        self.assertEqual(len(self.started(whole)), 4)

    def test_a_device_that_is_in_use_is_lent_once_it_is_free(self):
        job = self.submit(1, node="n0")
        mine = self.started(job)
        self.assertTrue(mine <= {("n0", 0), ("n0", 1)} or self.placeholder(job) == mine, mine)
        self.cluster.run("apply", "-f", "-", input=lending([0, 1, 2, 3]))
        until(lambda: self.kept() == mine & {("n0", 0), ("n0", 1)}, 20, "only that of the job to be kept")
        waits = self.sbatch("--gres=gpu:4", "-w", "n0")
        self.waits(waits)
        self.cluster.run("cancel", str(job))
        self.running(waits)

    def test_a_job_that_wants_the_node_for_itself_waits(self):
        exclusive = self.sbatch("--exclusive", "-w", "n0")
        running = self.sbatch("--gres=gpu:1", "-w", "n1")
        self.running(running)
        self.waits(exclusive)
        self.assertEqual(self.kept(), {("n0", 0), ("n0", 1)})

    def test_fences_leave_slurms_users_every_core(self):
        theirs = self.sbatch("-c", str(CPUS), "-w", "n0")
        self.running(theirs)
        self.assertEqual(self.kept(), {("n0", 0), ("n0", 1)})
        self.known(theirs, "n0")
        fences = self.lab.run("squeue -h -t S -o %i").split()
        self.assertEqual(len(fences), 2)
        self.lab.run("scontrol resume " + ",".join(fences))  # an administrator, by mistake
        self.lab.until("squeue -h -t S -o %i", lambda out: sorted(out.split()) == sorted(fences), 20)

    def test_a_fence_that_an_administrator_cancels_comes_back(self):
        self.lab.run("scancel -u root")
        until(lambda: self.kept() == {("n0", 0), ("n0", 1)}, 20, "the fences to be there again")
        self.assertEqual(json.loads(self.cluster.run("get", "executor", "slurm", "-o", "json").stdout)["name"], "slurm")


if __name__ == "__main__":
    main()

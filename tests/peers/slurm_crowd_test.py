#!/usr/bin/env python3
# limit_s: 900
# waits
"""OPERATIONS random ones (150 by default) against a real Slurm behind the gate and a real cluster of ours on the same
nodes: submissions of four kinds, cancel, hold, requeue and drain on both sides; slurmctld, slurmd, dove server, the agent
and the adapter killed or standing still. No device, core or byte has two holders in any sample of the kernel's cgroups, of
`scontrol show job -d` and of the ledger (crowd_watch.py); no placeholder outlives its reason; every job ends.

SEED says which operations (17), THREADS how many each core has (1); `make test-slurm-full` runs 2 000. Skips where Slurm with its Lua plug-in (tools/setup
peers, as root) or version 1 of the cgroups is missing.
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import slurm_gate_test
from cluster import ApiError
from crowd_report import CrowdReport
from crowd_watch import CgroupLab, Watch, has_cgroups
from gate_lab import LUA
from shared_nodes import ENDED, GPUS, SKIP, available, until
from slurm_gate_test import PEOPLE

OPERATIONS = int(os.environ.get("OPERATIONS", "150"))
SEED = int(os.environ.get("SEED", "17"))
LIVE_MAX = 24
PACE_S = 0.25
MEMORY_GIB = 15
END_S = int(os.environ.get("END_S", "240"))  # of what is left, one ends within that
END_MAX_S = 480  # and all of it
PERIOD_MAX_MS = 20  # between two looks at the cgroups, on average, where nothing else runs
IDLE_LOAD = 2  # for each processor; the crowd itself is a load of about one
PREEMPTING_OPERATIONS = 150  # among this many, something makes room for something else
MEND_AGAIN_S = 30

WEIGHTS = {"submit_ours": 20, "submit_urgent": 4, "submit_there": 8, "submit_gated": 20, "submit_ungated": 6, "cancel_ours": 8,
           "cancel_slurms": 8, "requeue_ours": 4, "requeue_slurms": 4, "hold": 4, "release": 6, "drain": 2, "resume": 4,
           "kill_adapter": 1, "kill_server": 1, "kill_agent": 1, "kill_slurmd": 1, "restart_slurmctld": 1, "stand_still": 2}


class Crowd(slurm_gate_test.Gate):
    lab_class = CgroupLab
    objects = slurm_gate_test.Gate.objects + "runs_jobs: true\nqueues: {lab: default}\npreempts: [open]\n"
    agent_options = ["--cgroups", "on"]
    lent = None  # {node: indices that Slurm's users may have}; None: all
    operations = OPERATIONS

    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.ours, self.theirs, self.drained, self.stopped, self.outages = [], [], [], [], []
        self.done = collections.Counter()

    # -- what users and administrators do; False: there was nothing to do it to

    def length(self):
        return self.rng.choice((0, 1, 2, 3, 5))

    def submit_ours(self):
        """Every second may be stopped for one of a higher level, and lasts longer."""
        may_stop = self.rng.randrange(2)
        return self.accepted({"command": ["sleep", str(self.length() * (2 + may_stop) // 2)],
                              "priority": self.rng.randint(0, 2), "preempt": "restart" if may_stop else "never"})

    def submit_urgent(self):
        """Above all others, and too large to find a place beside them."""
        return self.accepted({"command": ["sleep", "1"], "priority": 9}, gpus=self.rng.randint(3, 4))

    def submit_there(self):
        script = self.lab.says_its_devices() + f"sleep {self.length()}"
        return self.accepted({"command": ["/bin/sh", "-c", script], "executor": "slurm", "workdir": "/",
                              "stdout_path": "/dev/null"}, **{"X-Dove-User": self.rng.choice(PEOPLE)})

    def accepted(self, body, gpus=None, **headers):
        body |= {"name": "crowd", "cores": self.rng.randint(1, 2), "memory": f"{self.rng.randint(100, 4000)}Mi",
                 "gpus": self.rng.randint(0, 2) if gpus is None else gpus}
        self.ours.append(self.cluster.submit(body, **headers))

    def submit_gated(self):
        return self.slurms("main", self.rng.choice(["nobody", *PEOPLE]))

    def submit_ungated(self):
        """It makes room for ours of higher priority: Slurm puts it back."""
        return self.slurms("open", "nobody", "-A", "lab", "--requeue")

    def slurms(self, partition, user, *more):
        options = [*more, *([f"--gres=gpu:{n}"] if (n := self.rng.randint(0, 2)) else [])]
        options += ["-p", partition, "-c", str(self.rng.randint(1, 2)), f"--mem={self.rng.randint(100, 4000)}", "-t", "5"]
        try:
            self.theirs.append(self.gated(*options, user=user, script=self.lab.says_its_devices()
                                          + f"sleep {self.length()}"))
        except (RuntimeError, subprocess.CalledProcessError):
            return False  # slurmctld has just been started, and its nodes have not come yet

    def one_of(self, jobs):
        return str(self.rng.choice(jobs)) if jobs else None

    def cancel_ours(self):
        return self.command("cancel")

    def requeue_ours(self):
        return self.command("requeue")

    def command(self, word):
        job = self.one_of(self.ours)
        if job is None:
            return False
        self.cluster.run(word, job, check=False)  # it may have ended

    def cancel_slurms(self):
        return self.of_slurms("scancel")

    def requeue_slurms(self):
        return self.of_slurms("scontrol", "requeue")

    def hold(self):
        return self.of_slurms("scontrol", "hold")

    def release(self):
        return self.of_slurms("scontrol", "release")

    def of_slurms(self, *command):
        job = self.one_of(self.theirs)
        if job is None:
            return False
        self.lab.run([*command, job], check=False)

    def drain(self):
        if self.drained:
            return False
        node, theirs = self.rng.choice(self.cluster.names), self.rng.randrange(2)
        self.drained.append((node, theirs))
        if theirs:
            self.lab.run(f"scontrol update nodename={node} state=drain reason=crowd")
        else:
            self.cluster.run("node", "drain", node, "--reason", "crowd")

    def resume(self):
        if not self.drained:
            return False
        node, theirs = self.drained.pop()
        if theirs:
            self.lab.run(f"scontrol update nodename={node} state=resume", check=False)
        else:
            self.cluster.run("node", "resume", node)

    # -- faults

    def away(self, seconds, back):
        """Something is away until then; what follows goes on meanwhile, if it can."""
        began = time.time()
        time.sleep(seconds)
        back()
        self.outages.append((began, time.time() + 2))

    def kill_adapter(self):
        self.end_adapter(signal.SIGKILL)
        self.away(self.rng.random(), self.start_adapter)

    def kill_server(self):
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.api.close()
        self.away(self.rng.random(), self.cluster.start_server)

    def kill_agent(self):
        name = self.rng.choice(self.cluster.names)
        self.cluster.agents[name].kill()
        self.cluster.agents[name].wait()
        self.away(self.rng.random(), lambda: self.cluster.start_agent(name))

    def kill_slurmd(self):
        name = self.rng.choice(self.cluster.names)
        self.lab.kill_node(name)
        self.away(self.rng.random(), lambda: self.lab.start_node(name))

    def restart_slurmctld(self):
        """It writes its jobs before it ends; killed, it would forget those of the last seconds by itself. 22.05 hangs now
        and then after it has written them, and is killed then."""
        told = time.time()
        try:
            self.lab.kill_controller(signal.SIGTERM)
        except subprocess.TimeoutExpired:
            if os.path.getmtime(f"{self.lab.folder}/state/job_state") < told:
                raise
            self.done["slurmctld_hung"] += 1
            self.lab.kill_controller()
        self.away(self.rng.random(), self.lab.start_controller)

    def stand_still(self):
        process = self.rng.choice([self.lab.controller, self.adapter, self.cluster.server,
                                   *self.cluster.agents.values(), *self.lab.slurmds.values()])
        process.send_signal(signal.SIGSTOP)
        self.away(3 * self.rng.random(), lambda: process.send_signal(signal.SIGCONT))

    # -- the test

    def live(self):
        """Forgets what has ended."""
        self.ours = [job for job in self.ours if self.cluster.job(job)["state"] not in ENDED]
        there = {int(job) for job in self.lab.run("squeue -h -o %A").split()}
        self.theirs = [job for job in self.theirs if job in there]
        return len(self.ours) + len(self.theirs)

    def operate(self):
        if sum(self.done.values()) % 5 == 0:
            self.crowded = self.live() >= LIVE_MAX
        names = [name for name in WEIGHTS if not (self.crowded and name.startswith("submit"))]
        name = self.rng.choices(names, [WEIGHTS[each] for each in names])[0]
        try:
            if getattr(self, name)() is not False:
                self.done[name] += 1
        except ApiError as error:
            raise AssertionError(f"{name}: {error}") from error

    def test_nothing_is_given_twice_and_every_job_ends(self):
        watch = Watch(self.lab, self.cluster, 1024 * MEMORY_GIB, self.threads, self.lent)
        watch.start()
        began, told = time.monotonic(), 0
        while sum(self.done.values()) < self.operations and not watch.wrong:
            self.operate()
            if sum(self.done.values()) >= told + 100:
                told = sum(self.done.values())
                print(f"crowd: {told} operations in {time.monotonic() - began:.0f} s", flush=True)
            time.sleep(PACE_S * self.rng.random())
        while self.drained:
            self.resume()
        self.every_job_ends()
        said = watch.close(self.outages)
        print(f"crowd: seed {SEED}, {sum(self.done.values())} operations in {time.monotonic() - began:.0f} s: "
              + ", ".join(f"{count} {name}" for name, count in sorted(self.done.items())))
        print("\n".join("crowd: " + line for line in said), flush=True)
        if figures := os.environ.get("CROWD_FIGURES"):  # for bench/crowd
            with open(figures, "w") as file:
                json.dump({"operations": sum(self.done.values()), **watch.figures}, file)
        if watch.wrong:
            print(f"crowd: all that is known: {self.report().whole([], watch.wrong)}", flush=True)
        self.assertEqual(watch.wrong, [])
        if os.getloadavg()[0] <= IDLE_LOAD * os.cpu_count():
            self.assertLessEqual(watch.figures["cgroups_ms"], PERIOD_MAX_MS, "between two looks at the cgroups")
        if self.operations >= PREEMPTING_OPERATIONS:
            self.assertGreater(watch.figures["preempted"] + watch.figures["put_back"], 0, "nothing made room")

    def every_job_ends(self):
        for job in self.lab.run("squeue -h -t PD -o %A").split():
            self.lab.run(["scontrol", "release", job], check=False)  # a user's hold
        deadline, last, mend_at, left = time.monotonic() + END_S, time.monotonic() + END_MAX_S, 0, set()
        while True:
            theirs, ours = self.in_slurm(), self.unfinished()
            if not theirs and not ours:
                return
            # A busy machine may take minutes for all of them, but not for the next one. Placeholders and fences come and go.
            now_left = {line.split()[0] for line in [*theirs, *ours] if not line.split()[1].startswith("dove-")}
            if left - now_left:
                deadline = min(time.monotonic() + END_S, last)
            left = now_left
            if time.monotonic() > deadline:
                self.fail("these never end: " + self.report().text(theirs, ours))
            if self.miscounts():
                self.done["mend_slurmctld"] += 1
                self.restart_slurmctld()
            # Not again at once: a busy machine takes seconds until a slurmd that was started is asked what it runs.
            for name in self.forgotten() if time.monotonic() > mend_at else ():
                mend_at = time.monotonic() + MEND_AGAIN_S
                self.done["mend_slurmd"] += 1
                self.lab.kill_node(name)
                self.lab.start_node(name)
            time.sleep(0.5)

    def in_slurm(self):
        """Lines of what is left there; what holds the devices that are not lent stays."""
        return [line for line in self.lab.run("squeue -h -o '%A %j %T %r %k'").splitlines()
                if self.lent is None or not line.split()[1].startswith("dove-keep-")]

    def report(self):
        return CrowdReport(self.lab, self.cluster, dict(self.done))

    def miscounts(self):
        """Whether Slurm counts GPUs as used when nothing runs: 22.05 loses count now and then when slurmctld is started
        among many jobs. Another start has it count again."""
        if self.lab.run("squeue -h -t R,CG -o %A").strip():
            return False
        return bool(re.search(r"GresUsed=\S*IDX:\d", self.lab.run("scontrol show node -d -o")))

    def forgotten(self):
        """Nodes with a job that Slurm has taken for running for a minute: none sleeps for longer than five seconds. A slurmd
        that is killed while it starts a job forgets it, and slurmctld asks what runs there when slurmd comes back, but not
        about a job of the last seconds. Another start has it ask again."""
        running = [line.split() for line in self.lab.run("squeue -h -t R -o '%M %N'").splitlines()]
        return {name for elapsed, name in running if elapsed.split(":")[0] != "0"}

    def unfinished(self):
        return [f"{one['id']} {one['state']}" for one in self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]
                if one["state"] not in ENDED]


class LentCrowd(Crowd):
    """Half of a node's devices are not Slurm's."""

    lent = {"n0": {2, 3}, "n1": set(range(GPUS))}
    objects = Crowd.objects + "lendable: [{nodes: [n0], devices: [2, 3]}, {nodes: [n1], devices: [0, 1, 2, 3]}]\n"
    operations = OPERATIONS // 3

    def miscounts(self):
        return False  # its fences have devices at all times

    def clear(self):
        self.cluster.run("apply", "-f", "-", input=Crowd.objects.split("---\n")[-1] + "lendable: []\n")
        super().clear()


for inherited in [name for name in dir(slurm_gate_test.Gate) if name.startswith("test_")]:
    setattr(Crowd, inherited, None)
del inherited

if __name__ == "__main__":
    if not available() or LUA is None or not has_cgroups():
        print("no Slurm with its Lua plug-in (tools/setup peers, as root), or no cgroups of version 1 here")
        sys.exit(SKIP)
    assert GPUS == 4
    sys.exit(unittest.main(defaultTest=["Crowd", "LentCrowd"]))

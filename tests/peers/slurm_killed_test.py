#!/usr/bin/env python3
# limit_s: 900
# waits
"""slurmd, slurmctld, dove server, the agent and the adapter, each killed in each phase of a job at the gate and of a job of
ours, while a job outside the gate is put back, and while nodes are drained and opened: within RECONCILED_S of its return both
sides say the same of every job, and nothing is lost.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import unittest

import slurm_gate_test
from gate_lab import LUA
from shared_nodes import ENDED, GPUS, LISTENS, NODES, SKIP, available, until

RECONCILED_S = 10
SAVES_S = 6
VICTIMS = ["slurmd", "slurmctld", "server", "agent", "adapter"]


slurm_gate_test.PEOPLE = []  # nobody takes part but nobody


class Killed(slurm_gate_test.Gate):
    """A job of ours and one at Slurm's gate are brought to a phase, and then the victim is killed and comes back."""

    objects = slurm_gate_test.Gate.objects + "queues: {lab: default}\npreempts: [open]\n"

    def setUp(self):
        super().setUp()
        self.outside = None  # Slurm's job, where it is not at the gate
        self.drains = False  # whether nodes are drained and opened
        self.folder = tempfile.mkdtemp(prefix="dove-end.")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)  # a job at the gate is nobody's

    # -- jobs that end when they are told: slurmctld, killed, may forget what has ended before

    def waits(self):
        """Shell text that waits for let_end()."""
        self.sign = f"{self.folder}/{time.monotonic_ns()}"
        return f"until [ -e {self.sign} ]; do sleep 0.1; done"

    def let_end(self):
        pathlib.Path(self.sign).touch()

    # -- the victims, all on n0 where they are of a node

    def kill(self, victim):
        if victim == "slurmd":
            self.lab.kill_node("n0")
        elif victim == "slurmctld":
            self.lab.kill_controller()
        elif victim == "server":
            self.end(self.cluster.server)
            self.cluster.api.close()
        elif victim == "agent":
            self.end(self.cluster.agents["n0"])
        else:
            self.end_adapter(signal.SIGKILL)

    def come_back(self, victim):
        {"slurmd": lambda: self.lab.start_node("n0"), "slurmctld": self.lab.start_controller,
         "server": self.cluster.start_server, "agent": lambda: self.cluster.start_agent("n0"),
         "adapter": self.start_adapter}[victim]()

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def fall_and_return(self, victim, away):
        """When it was back; away() is called in between."""
        self.fell = victim
        self.kill(victim)
        away()
        time.sleep(1)
        self.come_back(victim)
        return time.monotonic()

    # -- what both sides say

    def differs(self, ours, theirs):
        """Why the two sides do not say the same; "": they do."""
        job = self.cluster.job(ours)
        if job["state"] == "running" and self.placeholder(ours) != self.devices(ours):
            return f"our job has {self.devices(ours)}, Slurm holds {self.placeholder(ours)} for it"
        if job["state"] in ENDED and self.placeholder(ours) is not None:
            return "our job has ended, and its placeholder is there"
        return self.differs_of_theirs(theirs) or self.silent()

    def differs_of_theirs(self, theirs):
        state = self.state(theirs)
        if theirs == self.outside:
            known = self.foreign("n0").get(str(theirs))
            if state == "RUNNING" and (not known or {("n0", i) for i in known["devices"]} != self.lab.indices(theirs)):
                return f"Slurm's job is RUNNING, and the ledger knows {known}"
            return f"Slurm's job is {state}, and the ledger knows {known}" if known and state == "PENDING" else ""
        known = self.ledger(theirs)
        if known is None:
            return f"the ledger does not know Slurm job {theirs}, which is {state}"
        if state == "RUNNING":
            if known["state"] != "running":
                return f"Slurm's job is RUNNING, and {known['state']} in the ledger"
            if self.lab.indices(theirs) != self.devices(known["id"]):
                return f"Slurm's job has {self.lab.indices(theirs)}, not {self.devices(known['id'])}"
        elif state == "PENDING" and known["state"] in ("running", *ENDED):
            return f"Slurm's job is PENDING, and {known['state']} in the ledger"
        elif state not in ("PENDING", "RUNNING", "COMPLETING") and known["state"] not in ENDED:
            return f"Slurm's job is {state}, and {known['state']} in the ledger"
        return ""

    def silent(self):
        if any(node["contact"] != "connected" for node in self.cluster.nodes()):
            return "an agent is not connected"
        executor = self.cluster.api.call("GET", "/v1/nodes/n0")["executors"][0]
        states = ("up", "drained") if self.drains else ("up",)
        return "" if executor["contact"] == "answering" and executor["state"] in states else f"the executor is {executor}"

    def attempts(self, job):
        return len(self.cluster.job(job)["attempts"])

    def reconciled(self, back, ours, theirs, besides):
        """How long after the return a look ended that found no difference: what it saw may be as young as its end."""
        while True:
            began = time.monotonic() - back
            why = self.differs(ours, theirs) or besides()
            ended = time.monotonic() - back
            if ended >= RECONCILED_S:
                self.fail(f"nobody saw both sides agree within {RECONCILED_S} s of the return: a look from {began:.1f} to "
                          f"{ended:.1f} s found: {why or 'no difference'}")
            if not why:
                return ended
            time.sleep(0.05)

    def each(self, phase, bring, then, away=lambda: None, besides=lambda: ""):
        """bring() makes a job of ours and one of Slurm's, in that phase; away() happens while the victim is away; besides() says
        what else the two sides do not agree on; then(ours, theirs) looks at what became of them."""
        for victim in VICTIMS:
            with self.subTest(phase=phase, victim=victim):
                ours, theirs = bring()
                self.save(victim)
                back = self.fall_and_return(victim, away)
                took = self.reconciled(back, ours, theirs, besides)
                print(f"killed: {phase}, {victim}: reconciled {took:.1f} s after its return", flush=True)
                then(ours, theirs)
            self.lab.registered()  # clear() ends jobs of Slurm's users
            self.clear()
            self.all_open()

    def save(self, victim):
        """slurmctld that is killed before it has written its jobs and nodes forgets them by itself."""
        if victim == "slurmctld":
            self.lab.save_jobs()
            if self.drains:
                self.lab.saved("node_state")

    def all_open(self):
        try:
            until(lambda: all(node["state"] == "ready" for node in self.cluster.nodes()), 30, "the nodes to be open")
        except TimeoutError:
            said = [(node["name"], node["state"], self.cluster.api.call("GET", "/v1/nodes/" + node["name"])["executors"])
                    for node in self.cluster.nodes()]
            slurms = self.lab.run("sinfo -N -o '%N %T %E'; squeue; scontrol show node -d | grep GresUsed")
            self.fail(f"{said}\n{slurms}")

    def tearDown(self):
        self.assertNotIn("dove-fence", self.lab.run("squeue -h -t R -o %j"))

    # -- the phases

    def test_while_both_wait(self):
        def bring():
            self.holders = [self.submit(GPUS, node=f"n{i}") for i in range(NODES)]
            for job in self.holders:
                self.started(job)
            self.held = [self.attempts(job) for job in self.holders]
            ours, theirs = self.submit(1), self.gated("--gres=gpu:1", script="sleep 1; exit 3")
            self.known_as(theirs)
            return ours, theirs

        def then(ours, theirs):
            for job, attempts in zip(self.holders, self.held):
                self.assertEqual((self.cluster.job(job)["state"], self.attempts(job)), ("running", attempts))
                self.cluster.run("cancel", str(job))
            self.started(ours)
            self.its_end(theirs, 3)

        self.each("waiting", bring, then)

    def test_while_both_start(self):
        """Somewhere between the submission and the first instruction: placed, asked for, fenced, released."""
        self.delays = iter([0.1, 0.2, 0.3, 0.5, 0.8])

        def bring():
            ours, theirs = self.submit(1, node="n0"), self.gated(
                "--gres=gpu:1", "-w", "n0", script=f"{self.waits()}; exit 3")
            time.sleep(next(self.delays))
            return ours, theirs

        def then(ours, theirs):
            self.let_end()
            self.started(ours)
            self.its_end(theirs, 3)

        self.each("starting", bring, then)

    def test_while_both_run(self):
        def bring():
            ours, theirs = self.submit(1, node="n0"), self.gated("--gres=gpu:1", "-w", "n0", script="sleep 300")
            self.started(ours)
            self.in_its_place(theirs)
            # A start may be tried again before: just after its own restart slurmctld may find no room (docs/operate/slurm.md).
            self.held = self.devices(ours), self.lab.indices(theirs), self.attempts(ours)
            return ours, theirs

        def then(ours, theirs):
            self.assertEqual((self.devices(ours), self.lab.indices(theirs), self.attempts(ours)), self.held)
            self.assertEqual(self.cluster.job(ours)["state"], "running")
            self.assertEqual((self.state(theirs), self.lab.fields(theirs)["Restarts"]), ("RUNNING", "0"))

        self.each("running", bring, then)

    def test_while_both_end(self):
        """They end while the victim is away."""
        def bring():
            waits = self.waits()
            ours = self.submit(1, node="n0", command=("sh", "-c", f"{waits}; exit 5"))
            theirs = self.gated("--gres=gpu:1", "-w", "n0", script=f"{waits}; exit 3")
            self.started(ours)
            self.runs(theirs)
            return ours, theirs

        def then(ours, theirs):
            found = self.cluster.wait(ours, 30)
            self.assertEqual((found["exit_code"], len(found["attempts"])), (5, 1))
            self.its_end(theirs, 3)

        self.each("ending", bring, then, self.let_end)

    def test_while_ours_takes_the_place_of_theirs(self):
        """Theirs saves its work for some seconds, and is put back; then both run, one after the other."""
        def bring():
            trap = f"trap 'sleep {SAVES_S}; exit 0' TERM; [ ${{SLURM_RESTART_COUNT:-0}} = 0 ] || {{ {self.waits()}; exit 3; }}"
            theirs = self.gated(f"--gres=gpu:{GPUS}", "-w", "n0", script=f"{trap}; {LISTENS}")
            self.in_its_place(theirs)
            ours = self.submit(GPUS, node="n0", priority=5)
            until(lambda: self.state(theirs) == "COMPLETING", 20, "it to be preempted")
            return ours, theirs

        def then(ours, theirs):
            self.started(ours, 60)
            self.assertEqual((self.state(theirs), self.attempts(ours)), ("PENDING", 1))
            if self.fell == "slurmd":  # it takes theirs for one that runs still (docs/operate/slurm.md)
                self.fall_and_return("slurmd", lambda: None)
                self.lab.registered()
            self.assertEqual(self.cluster.job(self.known_as(theirs))["attempts"][0]["stop_reason"], "preempted")
            self.cluster.run("cancel", str(ours))
            self.let_end()
            self.its_end(theirs, 3)

        self.each("preempting theirs", bring, then)

    def test_while_theirs_takes_the_place_of_ours(self):
        def bring():
            ours = self.submit(GPUS, node="n0", preempt="restart",
                               command=("sh", "-c", f"trap 'sleep {SAVES_S}; exit 0' TERM; {LISTENS}"))
            self.started(ours)
            # Users may not ask for it; root may, for them.
            theirs = int(self.lab.run(f"sbatch --parsable --uid=nobody -D / -o /dev/null --mem=100 --gres=gpu:{GPUS} -w n0 "
                                      "--nice=-5 --wrap='sleep 300'"))
            # A first attempt may find Slurm still busy with the job before.
            until(lambda: self.cluster.job(ours)["attempts"][-1]["stop_reason"] == "preempted", 20, "it to be preempted")
            self.held = self.attempts(ours)
            return ours, theirs

        def then(ours, theirs):
            self.in_its_place(theirs)
            self.lab.run(f"scancel {theirs}")
            self.started(ours, 60)
            self.assertEqual(self.cluster.job(ours)["attempts"][self.held - 1]["stop_reason"], "preempted")

        self.each("preempting ours", bring, then)

    def test_while_one_outside_the_gate_is_put_back(self):
        """Fences keep for ours what it leaves; it runs again once ours is gone, and they go."""
        def bring():
            begun = f"{self.folder}/begun-{time.monotonic_ns()}"
            theirs = self.outside = self.sbatch(
                "-p", "open", "-A", "lab", "-w", "n0", f"--gres=gpu:{GPUS}", "--requeue",
                script=f"trap 'sleep {SAVES_S}; exit 0' TERM; touch {begun}; {LISTENS}")
            until(lambda: os.path.exists(begun), 60, "it to begin")
            self.known(theirs, "n0")
            ours = self.submit(GPUS, node="n0", priority=5)
            until(lambda: self.state(theirs) == "COMPLETING", 20, "it to be put back")
            return ours, theirs

        def then(ours, theirs):
            self.started(ours, 60)
            self.assertEqual((self.state(theirs), self.attempts(ours)), ("PENDING", 1))
            self.assertIn("put back by dovetail", self.lab.mark(theirs))
            if self.fell == "slurmd":  # it takes theirs for one that runs still (docs/operate/slurm.md)
                self.fall_and_return("slurmd", lambda: None)
                self.lab.registered()
            self.cluster.run("cancel", str(ours))
            self.running(theirs)
            self.assertEqual(self.lab.fields(theirs)["Restarts"], "1")
            until(lambda: "dove-keep-" not in self.lab.run("squeue -h -o %j"), 20, "no fences")

        self.each("put back outside the gate", bring, then)

    def test_while_nodes_drain_and_open(self):
        """n0 is drained here, and n1 in Slurm. What runs there goes on, and nothing begins before they are open again."""
        self.drains = True

        def bring():
            ours, theirs = self.submit(1, node="n0"), self.gated("--gres=gpu:1", "-w", "n1", script="sleep 300")
            self.started(ours)
            self.in_its_place(theirs)
            self.held = self.devices(ours), self.lab.indices(theirs), self.attempts(ours)
            self.cluster.run("node", "drain", "n0", "--reason", "hot")
            self.lab.run("scontrol update nodename=n1 state=drain reason=fan")
            return ours, theirs

        def then(ours, theirs):
            waits = [self.submit(1, node="n0"), self.submit(1, node="n1")]
            waits_there = [self.gated("--gres=gpu:1", "-w", node) for node in ("n0", "n1")]
            known = [self.known_as(job) for job in waits_there]
            goes_on(ours, theirs)
            self.assertLessEqual({self.cluster.job(job)["state"] for job in waits + known}, {"queued", "waiting"})
            self.lab.registered()  # before, Slurm refuses "resume"
            self.cluster.run("node", "resume", "n0")
            self.lab.run("scontrol update nodename=n1 state=resume")
            self.save(self.fell)
            back = self.fall_and_return(self.fell, lambda: None)
            took = self.reconciled(back, ours, theirs, self.not_open)
            print(f"killed: opening, {self.fell}: reconciled {took:.1f} s after its return", flush=True)
            for job in waits:
                self.started(job)
            for job in waits_there:
                self.in_its_place(job)
            goes_on(ours, theirs)

        def goes_on(ours, theirs):
            self.assertEqual((self.devices(ours), self.lab.indices(theirs), self.attempts(ours)), self.held)
            self.assertEqual((self.cluster.job(ours)["state"], self.state(theirs), self.lab.fields(theirs)["Restarts"]),
                             ("running", "RUNNING", "0"))

        self.each("draining", bring, then, besides=self.not_drained)

    def in_slurm(self, node):
        """(state, reason) of a node"""
        said = self.lab.run(f"scontrol show node {node} -o")
        return re.search(r"State=(\S+)", said)[1], (re.search(r"Reason=(.*?)(?: \[|$)", said) or ["", ""])[1]

    def not_drained(self):
        """Which node is not closed on both sides, for the reason of the side that drained it; "": both are."""
        for node, reason in ("n0", "dovetail@dove: hot"), ("n1", "fan"):
            there, here = self.in_slurm(node), self.cluster.api.call("GET", f"/v1/nodes/{node}")["state"]
            if "DRAIN" not in there[0] or there[1] != reason or "drain" not in here:
                return f"{node} is {here} here, and {there} in Slurm"
        return ""

    def not_open(self):
        for node in ("n0", "n1"):
            there, here = self.in_slurm(node), self.cluster.api.call("GET", f"/v1/nodes/{node}")["state"]
            if "DRAIN" in there[0] or here != "ready":
                return f"{node} is {here} here, and {there} in Slurm"
        return ""

    def its_end(self, theirs, code):
        found = self.cluster.wait(self.known_as(theirs), 60)
        self.assertEqual((found["state"], found["exit_code"]), ("failed", code))


for inherited in [name for name in dir(slurm_gate_test.Gate) if name.startswith("test_")]:
    setattr(Killed, inherited, None)
del inherited

if __name__ == "__main__":
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main(defaultTest="Killed"))

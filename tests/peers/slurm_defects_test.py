#!/usr/bin/env python3
# limit_s: 900
# waits
"""What others who put two schedulers on the same GPUs got wrong, each as a test beside a real Slurm: the nine defects of
TACC's shadow placeholders, what users of Slurm's bridges to Kubernetes complain about, and the race for the last GPU
(ROUNDS of it, 20 by default).

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import os
import random
import re
import signal
import subprocess
import threading
import time
import unittest

from crowd_watch import CgroupLab, has_cgroups
from gate_lab import LUA
from shared_nodes import DOVE, GPUS, SharedNodes, main, until

ROUNDS = int(os.environ.get("ROUNDS", "20"))


class Told(SharedNodes):
    def told(self, job, theirs=r"\d+"):
        """Whoever asks why our job waits hears which Slurm job holds the GPUs; of several, the one that ends first."""
        last = ""

        def named():
            nonlocal last
            last = self.cluster.run("why", str(job)).stdout
            return re.search(f"slurm job {theirs} of root holds gpu", last)

        try:
            until(named, 15, "it to be told")
        except TimeoutError:
            self.fail(f"job {job} is not told of a Slurm job {theirs}: {last}")


class ShadowPlaceholders(Told):
    def test_1_nothing_of_ours_runs_before_slurm_holds_its_place(self):
        self.adapter.send_signal(signal.SIGSTOP)
        try:
            mark = f"{self.lab.folder}/ran"
            job = self.submit(1, command=("touch", mark))
            until(lambda: self.cluster.job(job)["state"] == "preparing", 20, "it to be placed")
            self.assertIsNone(self.placeholder(job))
            self.assertFalse(os.path.exists(mark))
        finally:
            self.adapter.send_signal(signal.SIGCONT)
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        self.assertTrue(os.path.exists(mark))

    def test_2_the_placeholder_asks_for_what_the_job_has(self):
        job = self.submit(2, cores=2, memory="1Gi")
        devices = self.started(job)
        line = next(line for line in self.lab.run("scontrol show job -d -o").splitlines() if f"dove-{job}." in line)
        fields = dict(re.findall(r"(\S+?)=(\S*)", line))
        self.assertEqual((fields["NumCPUs"], fields["MinMemoryNode"]), ("2", "1G"))
        self.assertEqual(self.placeholder(job), devices)
        self.assertEqual(len(devices), 2)

    def test_3_a_busy_node_is_no_silent_double_booking(self):
        theirs = self.sbatch(f"--gres=gpu:{GPUS}", "-w", "n0")
        self.running(theirs)
        job = self.submit(1, node="n0")  # the ledger may not know yet; Slurm does
        self.known(theirs, "n0")
        until(lambda: self.cluster.job(job)["state"] in ("queued", "waiting"), 20, "it to wait")
        self.assertNotIn("dove-", self.lab.run("squeue -h -o %j"), "nothing of ours queues in Slurm")
        self.told(job, theirs)

    def test_4_each_node_of_a_gang_is_held_once(self):
        job = self.submit(1, nodes=2, tasks=2)
        devices = self.started(job)
        self.assertEqual({node for node, _ in devices}, {"n0", "n1"})
        held = [(name, place) for name, places in self.held_in_slurm().items() if name.startswith(f"dove-{job}.")
                for place in places]
        self.assertEqual(sorted(place for _, place in held), sorted(devices))
        self.assertEqual(len({name for name, _ in held}), 2)

    def test_5_a_placeholder_ends_with_its_job_however_that_ends(self):
        ended = self.submit(1, command=("true",))
        failed = self.submit(1, command=("false",))
        deleted = self.submit(1)
        self.started(deleted)
        self.cluster.run("cancel", str(deleted))
        for job in (ended, failed, deleted):
            self.cluster.wait(job)
            until(lambda: self.placeholder(job) is None, 20, "its placeholder to go")

    def test_6_a_job_that_runs_again_elsewhere_is_held_there(self):
        job = self.submit(1)
        (first, _), = self.started(job)
        other = {"n0": "n1", "n1": "n0"}[first]
        self.cluster.run("node", "drain", first, "--reason", "moves")
        self.addCleanup(self.cluster.run, "node", "resume", first)
        self.cluster.run("requeue", str(job))
        until(lambda: (lambda held: held and {node for node, _ in held} == {other})(self.placeholder(job)), 30,
              "its placeholder on the other node")
        self.cluster.wait_state(job, "running", 30)
        self.assertEqual(self.placeholder(job), self.devices(job))

    def test_7_no_client_has_to_stay(self):
        client = subprocess.Popen([DOVE, "submit", "--gpus", "1", "-c", "1", "--mem", "100M", "--", "sleep", "300"],
                                  env={**self.cluster.environment, "DOVE_DATA": self.cluster.data},
                                  stdout=subprocess.PIPE, text=True)
        said, _ = client.communicate(timeout=30)
        job = int(re.search(r"\d+", said).group())
        self.assertEqual(self.started(job), self.placeholder(job))

    def test_8_what_slurm_runs_is_held_here(self):
        theirs = self.sbatch("--gres=gpu:2", "-w", "n1")
        self.running(theirs)
        self.known(theirs, "n1")
        held = {index for _, index in self.held_in_slurm()[f"wrap#{theirs}"]}
        self.assertEqual(set(self.foreign("n1")[str(theirs)]["devices"]), held)
        self.lab.run(["scancel", str(theirs)])
        until(lambda: str(theirs) not in self.foreign("n1"), 15, "its end to be known")

    def test_9_names_never_collide(self):
        jobs = [self.submit(1) for _ in range(2 * GPUS)]  # far more than one a second
        for job in jobs:
            self.started(job)
        names = [line for line in self.lab.run("squeue -h -o %j").split() if line.startswith("dove-")]
        self.assertEqual((len(names), len(set(names))), (2 * GPUS, 2 * GPUS))
        held = [place for places in self.held_in_slurm().values() for place in places]
        self.assertEqual(len(held), len(set(held)))


class Complaints(SharedNodes):
    def test_row_1_a_small_session_leaves_the_node_to_slurm(self):
        job = self.submit(1, node="n0")
        self.started(job)
        theirs = self.sbatch(f"--gres=gpu:{GPUS - 1}", "-w", "n0")
        self.running(theirs)

    def test_row_2_a_restart_of_slurm_ends_nothing(self):
        jobs = [self.submit(1) for _ in range(3)]
        devices = {job: self.started(job) for job in jobs}
        self.lab.run("scontrol reconfigure")
        self.lab.kill_controller()
        time_down = time.monotonic()
        until(lambda: time.monotonic() - time_down > 3, 10, "three seconds")
        self.lab.start_controller()
        for job in jobs:
            until(lambda: self.placeholder(job) == devices[job], 60, "its placeholder to be there again")
            self.assertEqual((self.cluster.job(job)["state"], self.devices(job)), ("running", devices[job]))
            self.assertEqual(len(self.cluster.job(job)["attempts"]), 1)

    def lose_placeholder(self, job, index):
        """Its placeholder is cancelled, and a job of Slurm's asks for that device at once. Returns the Slurm job."""
        return int(self.lab.run(f"scancel -n dove-{job}.1@dove; sbatch --parsable -c 1 --mem=100 -o /dev/null -w n0 "
                                f"--gres=gpu:h200_{index}:1 --wrap 'sleep 300'"))

    def has_been_asked_for_again(self, job, index, theirs):
        """Our job is held in its place as before, and Slurm's waits for the device."""
        self.assertEqual(self.placeholder(job), {("n0", index)})
        self.assertEqual(self.lab.run(f"squeue -h -j {theirs} -o %T").strip(), "PENDING")
        self.assertNotIn(str(theirs), self.foreign("n0"))
        self.assertEqual((self.cluster.job(job)["state"], self.devices(job)), ("running", {("n0", index)}))

    def has_been_taken(self, job, index, theirs):
        """Slurm was faster: both are named, and nobody else gets the device."""
        self.assertEqual(self.held_in_slurm()[f"wrap#{theirs}"], {("n0", index)})
        self.assertIsNone(self.placeholder(job))
        self.known(theirs, "n0")
        self.assertEqual(self.foreign("n0")[str(theirs)]["devices"], [index])
        finding, *more = until(lambda: [one for one in self.cluster.api.call("GET", "/v1/nodes/n0")["findings"]
                                        if str(job) in one["evidence"]], 20, "the finding")
        self.assertIn(f"slurm job {theirs}", finding["evidence"].lower())
        self.assertEqual((finding["device"], more), (index, []))
        rest = self.submit(GPUS - 1, node="n0")
        self.assertEqual(self.started(rest), {("n0", i) for i in range(GPUS)} - {("n0", index)})
        self.cluster.run("cancel", str(rest))

    def test_row_3_a_device_whose_placeholder_is_gone_is_not_given_to_the_next(self):
        job = self.submit(1, node="n0")
        (_, index), = self.started(job)
        theirs = self.lose_placeholder(job, index)
        until(lambda: any(index in one["devices"] for one in self.foreign("n0").values()) or self.placeholder(job),
              30, "either to hold it")
        is_ours = self.placeholder(job) is not None
        (self.has_been_asked_for_again if is_ours else self.has_been_taken)(job, index, theirs)

    def test_row_3_so_when_slurm_is_the_first(self):
        job = self.submit(1, node="n0")
        (_, index), = self.started(job)
        self.adapter.send_signal(signal.SIGSTOP)
        try:
            theirs = self.lose_placeholder(job, index)
            self.running(theirs)
        finally:
            self.adapter.send_signal(signal.SIGCONT)
        self.has_been_taken(job, index, theirs)
        # What it was taken from has it back once Slurm's job is gone.
        self.lab.run(["scancel", str(theirs)])
        until(lambda: self.placeholder(job) == {("n0", index)}, 40, "its placeholder to be there again")

    def test_row_3_so_when_we_are_the_first(self):
        job = self.submit(1, node="n0")
        (_, index), = self.started(job)
        self.lab.run(f"scancel -n dove-{job}.1@dove")
        until(lambda: self.placeholder(job), 40, "its placeholder to be there again")
        theirs = self.sbatch(f"--gres=gpu:h200_{index}:1", "-w", "n0")
        self.has_been_asked_for_again(job, index, theirs)

    def test_rows_5_and_6_a_repaired_node_is_open_again_and_an_administrators_drain_stays(self):
        self.cluster.run("node", "drain", "n0", "--reason", "xid 79")
        self.lab.until("sinfo -h -n n0 -o %E", lambda out: out.startswith("dovetail@dove: xid 79"))
        self.cluster.run("node", "resume", "n0")
        self.lab.until("sinfo -h -n n0 -o '%T %E'", lambda out: "drain" not in out and "dovetail" not in out)
        self.lab.run("scontrol update nodename=n1 state=drain reason='bad fan'")
        self.addCleanup(self.lab.run, "scontrol update nodename=n1 state=resume", check=False)
        until(lambda: "drain" in self.cluster.api.call("GET", "/v1/nodes/n1")["state"], 15, "the drain here")
        self.assertIn("bad fan", self.cluster.run("nodes", "n1").stdout)


class UngatedLab(CgroupLab):
    def shipped_gate(self):
        return super().shipped_gate().replace('local GATED = { "main" }', "local GATED = {}")


@unittest.skipUnless(LUA and has_cgroups(), "no Slurm with its Lua plug-in, or no cgroups of version 1")
class OwnDevices(SharedNodes):
    """Row 4: the kernel lets a task open its own devices alone, whatever it tries."""

    lab_class = UngatedLab
    agent_options = ["--cgroups", "on"]

    @classmethod
    def device_files(cls):
        return f", files: ['{cls.lab.devices}/gpu{{}}']"

    def opened(self, line):
        """{(node, index)} of a line of `said`."""
        _, node, _, *devices = line.split()
        return {(node, int(i)) for i in devices}

    def test_row_4_a_task_opens_its_own_devices_and_no_other(self):
        # Slurm's job gets the first of a node, and says which it could open.
        theirs = self.sbatch("--gres=gpu:1", "-w", "n0", script=self.lab.says_its_devices() + "sleep 300")
        self.running(theirs)
        self.known(theirs, "n0")
        seen = {}
        for gpus in (2, 1, 0):
            job = self.submit(gpus, node="n0", command=(
                "sh", "-c", self.lab.tries_devices() + 'echo "opened$open"\nsleep 300'))
            self.started(job)
            said = until(lambda: re.findall(r"^opened(.*)$", self.cluster.logs(job), re.M), 20, "it to say what it opened")
            seen[job] = {("n0", int(i)) for i in said[0].split()}
            self.assertEqual(seen[job], self.devices(job), self.cluster.logs(job))
            self.assertEqual(len(seen[job]), gpus)
            if gpus:
                self.assertEqual(seen[job], self.placeholder(job))
        with open(self.lab.said) as file:
            line, = (line for line in file if line.startswith(f"{theirs} "))
        held = self.held_in_slurm()[f"wrap#{theirs}"]
        self.assertEqual(self.opened(line), held)
        self.assertEqual({("n0", i) for i in self.foreign("n0")[str(theirs)]["devices"]}, held)
        self.assertEqual(sorted(place for places in (*seen.values(), held) for place in places),
                         [("n0", i) for i in range(GPUS)], "each is open to one of them")


class LastGpu(Told):
    def test_t18_the_last_gpu_has_one_winner_and_the_loser_is_told_who(self):
        """All GPUs but one are taken; a Slurm job and one of ours ask for it at the same instant."""
        fill = self.sbatch(f"--gres=gpu:{GPUS}", "-w", "n1", seconds=86400)
        self.running(fill)
        rest = self.sbatch(f"--gres=gpu:{GPUS - 1}", "-w", "n0", seconds=86400)
        self.running(rest)
        self.known(fill, "n1")
        self.known(rest, "n0")
        rng, won = random.Random(18), {"ours": 0, "slurm": 0}
        for number in range(ROUNDS):
            won[self.race(rng.choice((0, 0.1, 0.3, 1)), number % 2 == 0)] += 1
        print(f"t18: {ROUNDS} rounds, {won['ours']} won by ours, {won['slurm']} by Slurm", flush=True)
        self.assertGreater(min(won.values()), 0)

    def race(self, head_start_s, ours_first):
        ids = {}
        gate = threading.Barrier(2)

        def enter(name, ask, late):
            gate.wait()
            if late:
                time.sleep(head_start_s)
            ids[name] = ask()

        clients = [threading.Thread(target=enter, args=("ours", lambda: self.submit(1), not ours_first)),
                   threading.Thread(target=enter, args=("slurm", lambda: self.sbatch("--gres=gpu:1"), ours_first))]
        for client in clients:
            client.start()
        for client in clients:
            client.join(30)
        state = {}

        def settled():
            ours = self.cluster.job(ids["ours"])["state"] == "running"
            theirs = self.lab.run(f"squeue -h -j {ids['slurm']} -o %T").strip() == "RUNNING"
            self.assertFalse(ours and theirs, "both have the last GPU")
            state["winner"] = "ours" if ours else "slurm" if theirs else None
            return state["winner"]

        until(settled, 30, "a winner")
        if state["winner"] == "slurm":
            self.known(ids["slurm"], "n0")
            self.told(ids["ours"])
        else:
            self.assertIn(f"dove-{ids['ours']}.", self.lab.run("squeue -h -t RUNNING -o %j"))
        self.cluster.run("cancel", str(ids["ours"]))
        self.lab.run(["scancel", str(ids["slurm"])])
        until(lambda: self.placeholder(ids["ours"]) is None, 20, "the placeholder to go")
        self.lab.until(f"squeue -h -j {ids['slurm']}", lambda out: not out.strip())
        until(lambda: str(ids["slurm"]) not in self.foreign("n0"), 15, "its end to be known")
        return state["winner"]


if __name__ == "__main__":
    main()

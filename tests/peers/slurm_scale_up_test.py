#!/usr/bin/env python3
# limit_s: 400
# waits
"""Training fills a cluster that a real Slurm shares, and inference needs two GPUs more: the training of the lowest level alone saves
its work and makes room, whosever it is, inference answers after its grace, and the training goes on afterwards. No device is open
to two of them at once, by the ledger and Slurm and by the processes themselves. Prints how long it took until inference answered.

Skips where Slurm (tools/setup peers, as root) is missing.
"""
import os
import pathlib
import signal
import sys
import threading
import time
import urllib.request

from shared_nodes import OBJECTS, SharedNodes, main, until
from slurm_lab import SlurmLab

GRACE_S = 5  # from the signal to save to the end
EVERY_S = 0.2
QUEUES = "".join(f"kind: Queue\nname: {name}\npriority: {priority}\n---\n"
                 for name, priority in (("serving", 10), ("research", 5), ("courses", 1)))

# Both sides run the same two programs. Each locks its devices as long as it lives.
DEVICES = """
import fcntl, http.server, os, signal, sys, time
folder, name = sys.argv[1:]
def say(*words):
    with open(f"{folder}/{name}.said", "a") as file:
        print(*words, file=file)
locks = []
for index in os.environ["CUDA_VISIBLE_DEVICES"].split(","):
    node = os.environ.get("DOVE_NODE") or os.environ["SLURMD_NODENAME"]
    locks.append(open(f"{folder}/{node}.{index}", "w"))
    try:
        fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("finds", node, index, "taken")
"""
# It counts steps until its file `end` is there, saves them when told, and stays until it is ended.
TRAINS = DEVICES + """
saved = f"{folder}/{name}.saved"
step = int(open(saved).read()) if os.path.exists(saved) else 0
say("begins" if step == 0 else "goes on")
def save(*_):
    with open(saved, "w") as file:
        file.write(str(step))
    signal.signal(signal.SIGTERM, leave)
    say("saved")
    while True:
        signal.pause()
def leave(*_):
    say("told to end")
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
while not os.path.exists(f"{folder}/{name}.end"):
    time.sleep(0.05)
    step += 1
say("ends")
"""
SERVES = DEVICES + """
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
with open(f"{folder}/{name}.new", "w") as file:
    file.write(str(server.server_port))
os.rename(f"{folder}/{name}.new", f"{folder}/{name}.port")
server.serve_forever()
"""


class Lab(SlurmLab):
    cred_expire_s = 5  # a job that was put back waits for that long


class Samples(threading.Thread):
    """Looks again and again at what the ledger gave and what Slurm gave, and keeps what both gave at once."""

    def __init__(self, test):
        super().__init__(daemon=True)
        self.test, self.api = test, test.cluster.caller(test.cluster.api.headers["Authorization"].split()[1])
        self.ends, self.count, self.twice, self.trouble = threading.Event(), 0, [], None

    def ours(self):
        """{(node, index): (job, attempt)} of what runs, by the ledger."""
        held = {}
        for one in self.api.call("GET", "/v1/jobs?limit=1000")["jobs"]:
            if one["state"] == "running":
                job, attempt = one["id"], self.api.call("GET", f"/v1/jobs/{one['id']}")["attempts"][-1]
                for place in attempt["placements"]:
                    for grant in place["devices"]:
                        device = place["node_name"], grant["device"]
                        if device in held:
                            self.twice.append((device, held[device], (job, attempt["number"])))
                        held[device] = job, attempt["number"]
        return held

    def theirs(self):
        """{(node, index): the name and number of what runs there in Slurm}"""
        held = {}
        for who, devices in self.test.held_in_slurm().items():
            for device in devices:
                if device in held:
                    self.twice.append((device, held[device], who))
                held[device] = who
        return held

    def look(self):
        before, slurms, after = self.ours(), self.theirs(), self.ours()
        for device, who in slurms.items():
            # What was ours before and after was ours in between, too.
            if not who.startswith("dove-") and device in before and before[device] == after.get(device):
                self.twice.append((device, before[device], who))
        self.count += 1

    def run(self):
        try:
            while not self.ends.wait(EVERY_S):
                self.look()
        except Exception as trouble:  # else nothing would be seen from here on, and nothing found wrong
            self.trouble = trouble

    def close(self):
        self.ends.set()
        self.join(60)
        self.api.close()


class ScaleUp(SharedNodes):
    lab_class = Lab
    objects = QUEUES + OBJECTS + "queues: {research: research, courses: courses}\npreempts: [main]\n"

    def setUp(self):
        super().setUp()
        self.folder = f"{self.lab.folder}/{self.id().rsplit('.', 1)[1]}"
        os.mkdir(self.folder)
        for name, text in (("trains", TRAINS), ("serves", SERVES)):
            pathlib.Path(f"{self.folder}/{name}.py").write_text(text)

    # -- what runs

    def command(self, program, name):
        return [sys.executable, f"{self.folder}/{program}.py", self.folder, name]

    def trains_in_slurm(self, name, account, node):
        path = f"{self.folder}/{name}.sh"
        pathlib.Path(path).write_text(f"#!/bin/bash\n#SBATCH --signal=B:USR1@{GRACE_S}\nexec {' '.join(self.command('trains', name))}\n")
        job = int(self.lab.run(["sbatch", "--parsable", "-J", name, "-c", "1", "--mem=100", "-o", "/dev/null", "-A", account, "-w",
                                node, "--gres=gpu:2", "--requeue", path]))
        self.running(job)
        self.known(job, node)
        self.says(name, ["begins"])
        return job

    def trains_here(self, name, queue, node):
        job = self.submit(2, node=node, name=name, queue=queue, command=self.command("trains", name), preempt="checkpoint",
                          checkpoint_signal=int(signal.SIGUSR1), checkpoint_grace_s=GRACE_S)
        self.says(name, ["begins"])
        return job

    def serves(self, name, **more):
        """(the job, how long it took until it answered)"""
        began = time.monotonic()
        job = self.submit(2, name=name, queue="serving", command=self.command("serves", name), **more)
        self.answers(name)
        return job, time.monotonic() - began

    def answers(self, name):
        path = f"{self.folder}/{name}.port"
        until(lambda: os.path.exists(path), 60, f"{name} to be there")
        with urllib.request.urlopen(f"http://127.0.0.1:{pathlib.Path(path).read_text()}/", timeout=10) as answer:
            self.assertEqual(answer.status, 200)

    def said(self, name):
        path = pathlib.Path(f"{self.folder}/{name}.said")
        return path.read_text().splitlines() if path.exists() else []

    def says(self, name, words):
        try:
            until(lambda: self.said(name) == words, 60, f"{words}")
        except TimeoutError as trouble:
            raise AssertionError(f"{trouble}, and {name} says {self.said(name)}\n{self.cluster.run('ps', '-a').stdout}"
                                 f"{self.lab.run('squeue -t all')}") from trouble

    def samples(self):
        samples = Samples(self)
        samples.start()
        self.addCleanup(samples.close)
        return samples

    # -- what happens, whoever it is

    def scales_up_and_down(self, lowest, others):
        """`lowest` saves its work and makes room; it goes on and ends once inference needs its room no more. `others` just run."""
        samples = self.samples()
        replica, took_s = self.serves("replica-2")
        print(f"scale up: {self._testMethodName}: inference answers {took_s:.1f} s after it was wanted, with {GRACE_S} s to save",
              flush=True)
        self.assertGreaterEqual(took_s, GRACE_S)
        self.says(lowest, ["begins", "saved", "told to end"])
        step = int(pathlib.Path(f"{self.folder}/{lowest}.saved").read_text())
        self.assertGreater(step, 0)

        self.cluster.run("cancel", str(replica))
        self.says(lowest, ["begins", "saved", "told to end", "goes on"])
        for name in (lowest, *others):
            pathlib.Path(f"{self.folder}/{name}.end").touch()
        self.says(lowest, ["begins", "saved", "told to end", "goes on", "ends"])
        for name in others:
            self.says(name, ["begins", "ends"])
        samples.close()
        self.assertIsNone(samples.trouble)
        self.assertEqual(samples.twice, [])
        self.assertGreater(samples.count, 10)
        self.assertEqual([self.said("replica-1"), self.said("replica-2")], [[], []])

    def ends_in_slurm(self, job, restarts):
        self.lab.until(f"squeue -h -t all -j {job} -o %T", lambda out: out.strip() == "COMPLETED")
        self.assertIn(f" Restarts={restarts} ", self.lab.run(f"scontrol show job {job}"))

    def test_the_lowest_is_slurms(self):
        lowest = self.trains_in_slurm("lowest", "courses", "n0")
        theirs = self.trains_in_slurm("theirs", "research", "n0")
        ours = self.trains_here("ours", "research", "n1")
        serving, _ = self.serves("replica-1", node="n1")
        self.scales_up_and_down("lowest", ["theirs", "ours"])
        self.ends_in_slurm(lowest, restarts=1)
        self.ends_in_slurm(theirs, restarts=0)
        self.ends_here(ours, ["finished"])
        self.assertEqual(self.cluster.job(serving)["state"], "running")

    def test_the_lowest_is_ours(self):
        lowest = self.trains_here("lowest", "courses", "n1")
        theirs = [self.trains_in_slurm(f"theirs-{i}", "research", "n0") for i in (1, 2)]
        serving, _ = self.serves("replica-1", node="n1")
        self.scales_up_and_down("lowest", ["theirs-1", "theirs-2"])
        self.ends_here(lowest, ["preempted", "finished"])
        for job in theirs:
            self.ends_in_slurm(job, restarts=0)
        self.assertEqual(self.cluster.job(serving)["state"], "running")

    def test_the_lowest_is_ours_and_slurm_takes_its_time_to_end_it(self):
        """Its node does not answer Slurm then. Inference has its place, the lowest does not get it back, and nobody else makes room."""
        lowest = self.trains_here("lowest", "courses", "n1")
        theirs = [self.trains_in_slurm(f"theirs-{i}", "research", "n0") for i in (1, 2)]
        self.serves("replica-1", node="n1")
        replica = self.submit(2, name="replica-2", queue="serving", command=self.command("serves", "replica-2"))
        self.says("lowest", ["begins", "saved"])
        slurmd = self.lab.slurmds["n1"]
        slurmd.send_signal(signal.SIGSTOP)
        try:
            self.lab.until("squeue -h -t CG -o %j", lambda out: f"dove-{lowest}.1@" in out)
            until(lambda: self.cluster.job(replica)["attempts"], 60, "a place for inference")
            until(lambda: self.asked(replica), 60, "Slurm to be asked")
        finally:
            slurmd.send_signal(signal.SIGCONT)
        self.answers("replica-2")
        self.assertEqual(len(self.cluster.job(replica)["attempts"]), 1)
        self.assertEqual(self.said("lowest"), ["begins", "saved", "told to end"])
        self.cluster.run("cancel", str(replica))
        self.says("lowest", ["begins", "saved", "told to end", "goes on"])
        for name in ("lowest", "theirs-1", "theirs-2"):
            pathlib.Path(f"{self.folder}/{name}.end").touch()
        self.ends_here(lowest, ["preempted", "finished"])
        for job in theirs:
            self.ends_in_slurm(job, restarts=0)

    def asked(self, job):
        places = self.cluster.job(job)["attempts"][-1]["placements"]
        return any(each["stage"] == "asked" for each in places[0].get("placeholders") or [])

    def ends_here(self, job, stop_reasons):
        found = self.cluster.wait(job)
        self.assertEqual(found["state"], "completed")
        self.assertEqual([attempt["stop_reason"] for attempt in found["attempts"]], stop_reasons)


if __name__ == "__main__":
    main()

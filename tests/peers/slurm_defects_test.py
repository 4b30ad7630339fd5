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

    def test_row_3_a_device_whose_placeholder_is_gone_is_not_given_to_the_next(self):
        job = self.submit(1, node="n0")
        (_, index), = self.started(job)
        self.lab.run(f"scancel -n dove-{job}.1@dove; "
                     f"sbatch --parsable -c 1 --mem=100 -o /dev/null -w n0 --gres=gpu:h200_{index}:1 --wrap 'sleep 300'")
        until(lambda: any(index in one["devices"] for one in self.foreign("n0").values()) or self.placeholder(job),
              30, "either to hold it")
        if not self.placeholder(job):  # Slurm was faster: both are named, and nobody else gets the device
            finding = until(lambda: [one for one in self.cluster.api.call("GET", "/v1/nodes/n0")["findings"]
                                     if str(job) in one["evidence"]], 20, "the finding")
            self.assertIn("slurm job", finding[0]["evidence"].lower())
            self.assertEqual(finding[0]["device"], index)

    def test_row_4_a_task_sees_its_own_devices_alone(self):
        job = self.submit(2, node="n0", command=("sh", "-c", "echo $CUDA_VISIBLE_DEVICES"))
        self.assertEqual(self.cluster.wait(job)["state"], "completed")
        seen = self.cluster.logs(job).strip().split(",")
        self.assertEqual(len(seen), 2)

    def test_rows_5_and_6_a_repaired_node_is_open_again_and_an_administrators_drain_stays(self):
        self.cluster.run("node", "drain", "n0", "--reason", "xid 79")
        self.lab.until("sinfo -h -n n0 -o %E", lambda out: out.startswith("dovetail@dove: xid 79"))
        self.cluster.run("node", "resume", "n0")
        self.lab.until("sinfo -h -n n0 -o '%T %E'", lambda out: "drain" not in out and "dovetail" not in out)
        self.lab.run("scontrol update nodename=n1 state=drain reason='bad fan'")
        self.addCleanup(self.lab.run, "scontrol update nodename=n1 state=resume", check=False)
        until(lambda: "drain" in self.cluster.api.call("GET", "/v1/nodes/n1")["state"], 15, "the drain here")
        self.assertIn("bad fan", self.cluster.run("nodes", "n1").stdout)


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

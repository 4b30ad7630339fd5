#!/usr/bin/env python3
# limit_s: 900
# waits
"""The gate in a real Slurm with a real cluster of ours: no foreign job starts before the ledger has given it devices,
and each holds exactly those that it was given.

Skips where Slurm with its Lua plug-in (tools/setup peers, as root) is missing.
"""
import os
import pwd
import random
import re
import signal
import subprocess
import sys
import time
import unittest

from gate_lab import LUA, ROOT, GateLab
from people import add_people, person
from shared_nodes import CPUS, GPUS, LISTENS, NODES, SKIP, SharedNodes, available, until

PEOPLE = [person(i) for i in (6, 7, 8)]


class Gate(SharedNodes):
    lab_class = GateLab
    objects = SharedNodes.objects + "gate: true\n"

    @classmethod
    def setUpClass(cls):
        add_people(cls, PEOPLE)
        super().setUpClass()

    @classmethod
    def adapter_options(cls):
        return ["--gate", cls.lab.gate, "--state-dir", cls.lab.folder + "/steps"]

    def clear(self):
        if self.adapter.poll() is not None:
            self.start_adapter()
        for name in PEOPLE:
            self.lab.run(["scancel", "-u", name])
        super().clear()

    # -- Slurm's side

    def gated(self, *options, user="nobody", script="sleep 300"):
        if user == "nobody":
            return self.lab.sbatch(*options, script=script)
        entry = pwd.getpwnam(user)
        done = subprocess.run(
            ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "sbatch", "--parsable",
             "-D", "/", "-o", "/dev/null", "--mem=100", *options, "--wrap", script],
            text=True, env=self.lab.environment, capture_output=True, timeout=60, check=True)
        return int(done.stdout)

    def state(self, job):
        return self.lab.state(job)

    def comment(self, job):
        said = self.lab.run(f"squeue -h -t all -j {job} -O comment:200").split("\n")[0].strip()
        return "" if said == "(null)" else said

    def runs(self, job, limit_s=40):
        self.lab.until(f"squeue -h -t all -j {job} -o %T", lambda out: out.strip() == "RUNNING", limit_s)

    # -- our side

    def ledger(self, job):
        """The ledger's job that stands for a Slurm job: the youngest."""
        all_of_it = [one for one in self.cluster.api.call("GET", "/v1/jobs?limit=1000")["jobs"]
                     if str(self.cluster.job(one["id"]).get("foreign_job", self.cluster.job(one["id"]).get(
                         "spec", {}).get("foreign_job"))) == str(job)]
        return max(all_of_it, key=lambda one: one["id"]) if all_of_it else None

    def known_as(self, job):
        until(lambda: self.ledger(job) is not None, 20, f"the ledger to know Slurm job {job}")
        return self.ledger(job)["id"]

    def in_its_place(self, job):
        """It runs, and on exactly the devices that the ledger gave it."""
        self.runs(job)
        ours = self.known_as(job)
        self.cluster.wait_state(ours, "running", 20)
        self.assertEqual(self.lab.indices(job), self.devices(ours))
        return self.devices(ours)

    # -- tests

    def test_a_job_starts_in_the_place_that_the_ledger_gave_and_ends(self):
        job = self.gated("--gres=gpu:h200:2", script="sleep 3; exit 3")
        devices = self.in_its_place(job)
        self.assertEqual(len(devices), 2)
        ours = self.known_as(job)
        self.assertEqual(self.cluster.job(ours)["user"], "nobody")
        found = self.cluster.wait(ours, 40)
        self.assertEqual((found["state"], found["exit_code"]), ("failed", 3))
        until(lambda: "dove-fence" not in self.lab.run("squeue -h -o %j"), 20, "no fence to be left")

    def test_cpus_and_memory_by_gpu_are_those_that_slurm_gives(self):
        job = int(self.lab.run(["sbatch", "--parsable", "-o", "/dev/null", "--gres=gpu:h200:2", "--cpus-per-gpu=2",
                                "--mem-per-gpu=70", "--wrap", "sleep 300"]))
        self.assertEqual(len(self.in_its_place(job)), 2)
        placement = self.cluster.job(self.known_as(job))["attempts"][-1]["placements"][0]
        self.assertEqual((len(placement["cores"]), placement["memory_bytes"]), (4, 140 << 20))
        self.assertIn("cpu=4,mem=140M", self.lab.run(f"scontrol show job {job}"))

    def test_a_job_that_needs_every_core_that_is_left_starts_among_free_devices(self):
        half = CPUS // 2
        first = self.gated("--gres=gpu:1", f"-c{half}", "-w", "n0")
        self.in_its_place(first)
        second = self.gated("--gres=gpu:1", f"-c{half}", "-w", "n0")
        self.in_its_place(second)
        until(lambda: "dove-fence" not in self.lab.run("squeue -h -o %j"), 20, "no fence to be left")

    def test_an_exclusive_job_waits_for_a_node_of_its_own(self):
        first = self.gated("--gres=gpu:1", "-w", "n0")
        self.in_its_place(first)
        job = self.gated("--exclusive", "--gres=gpu:1", "-w", "n0")
        ours = self.known_as(job)
        self.assertEqual(self.cluster.job(ours)["state"], "waiting")
        self.lab.run(f"scancel {first}")
        self.assertEqual(len(self.in_its_place(job)), GPUS)
        second = self.gated("--gres=gpu:1", "-w", "n0")
        self.assertEqual(self.cluster.job(self.known_as(second))["state"], "waiting")
        self.lab.run(f"scancel {job}")
        self.in_its_place(second)

    def test_of_a_range_of_nodes_it_gets_the_least_and_named_nodes_are_among_its_own(self):
        first = self.gated("--nodes=1-2", "--gres=gpu:1")
        self.assertEqual(len(self.in_its_place(first)), 1)
        self.assertEqual(self.lab.fields(first)["NumNodes"], "1")
        second = self.gated("--nodes=2", "-w", "n1", "--gres=gpu:2")
        self.assertEqual({node for node, _ in self.in_its_place(second)}, {"n0", "n1"})

    def test_a_job_runs_in_the_reservation_that_it_names_and_no_other_there(self):
        self.lab.run("scontrol create reservation ReservationName=course starttime=now duration=60 users=nobody,root nodes=n1")
        try:
            until(lambda: self.cluster.api.call("GET", "/v1/objects?kind=reservation")["objects"], 30, "it to be known")
            one, more = (self.gated("--reservation=course", "--time=600", f"--gres=gpu:{gpus}") for gpus in (1, 2))
            self.assertEqual({node for job in (one, more) for node, _ in self.in_its_place(job)}, {"n1"})
            other = self.gated("--gres=gpu:1", "--time=10")
            self.assertEqual({node for node, _ in self.in_its_place(other)}, {"n0"})
            ours = self.submit(1, node="n1")
            self.assertIn("no nodes were reserved for others", self.cluster.run("why", str(ours)).stdout)
        finally:
            self.lab.run(f"scancel {one} {more}")
            until(lambda: not self.lab.run("squeue -h -w n1").strip(), 20, "n1 to be empty")
            self.lab.run("scontrol delete ReservationName=course")
        self.started(ours)

    def test_a_job_runs_in_the_maintenance_that_it_names(self):
        self.lab.run("scontrol create reservation ReservationName=repair starttime=now duration=60 users=nobody,root nodes=n1 "
                     "flags=maint")
        try:
            until(lambda: self.cluster.api.call("GET", "/v1/objects?kind=reservation")["objects"], 30, "it to be known")
            job = self.gated("--reservation=repair", "--time=600", "--gres=gpu:1")
            self.assertEqual({node for node, _ in self.in_its_place(job)}, {"n1"})
            ours = self.submit(1, node="n1")
            self.assertIn("no nodes were reserved for others", self.cluster.run("why", str(ours)).stdout)
        finally:
            self.lab.run(f"scancel {job}")
            until(lambda: not self.lab.run("squeue -h -w n1").strip(), 20, "n1 to be empty")
            self.lab.run("scontrol delete ReservationName=repair")
        self.started(ours)

    def test_a_job_that_is_over_before_anybody_looks(self):
        job = self.gated("--gres=gpu:1", script="true")
        found = self.cluster.wait(self.known_as(job), 40)
        self.assertEqual((found["state"], found["exit_code"]), ("completed", 0))

    def test_a_partition_is_taken_over_and_given_back(self):
        """As docs/operate/slurm.md says it."""
        before = self.gated("-p", "open", "--gres=gpu:1")  # from before the gate: as usual
        self.runs(before)
        held = [node for node, _ in self.lab.indices(before)]
        ours = [self.submit(GPUS - held.count(f"n{i}"), node=f"n{i}") for i in range(NODES)]
        for job in ours:
            self.started(job)
        self.lab.set_gate(self.lab.shipped_gate("main", "open"))
        self.addCleanup(lambda: self.lab.set_gate(self.lab.shipped_gate()))
        waits = [self.gated("-p", "open", "--gres=gpu:1", *more) for more in ([], ["--array=0-1"], ["--comment=run 7"])]
        kept, stays = (self.gated("-p", "open", "--gres=gpu:1", *more) for more in (["--hold"], []))
        elsewhere = self.gated("--gres=gpu:1")
        known = [self.known_as(job) for job in (waits[0], waits[2], elsewhere)]
        for job in (waits[0], waits[2], elsewhere):
            self.assertTrue(self.lab.mark(job).startswith("dovetail-gate"), self.lab.mark(job))

        self.lab.set_gate(self.lab.shipped_gate())
        self.end_adapter(signal.SIGTERM)
        self.lab.run(f"scontrol update JobId={stays} AdminComment=broken; scontrol hold {stays}")  # the site's own hold
        for job, words in (waits[0], "dovetail: needs 1 GPU"), (waits[2], "run 7 | dovetail: needs 1 GPU"):  # within 30 s
            self.lab.run(["scontrol", "update", f"JobId={job}", f"Comment={words}"])
        # As if it had been placed, and not started yet.
        self.lab.run(f"scontrol update JobId={waits[0]} NodeList=n1 AdminComment='dovetail-gate run=99.1 restarts=0 nodes=-'")
        self.lab.run([f"{ROOT}/deploy/slurm/give_back", "--gate", self.lab.gate, "open"])
        self.assertEqual(self.lab.fields(waits[0])["ReqNodeList"], "(null)")
        self.start_adapter()

        for job in ours:
            self.cluster.run("cancel", str(job))
        for job in waits:
            self.lab.until(f"squeue -h -r -t all -j {job} -o %T", lambda out: set(out.split()) == {"RUNNING"}, 60)
            self.assertEqual((self.lab.mark(job), self.comment(job)), ("", "run 7" if job == waits[2] else ""))
        self.assertEqual(self.cluster.wait(known[0], 40)["state"], "cancelled")
        self.assertEqual(self.cluster.wait(known[1], 40)["state"], "cancelled")
        for job in (waits[0], waits[2]):
            self.known(job, next(iter(self.lab.given(job))))
        self.in_its_place(elsewhere)  # the other partition stays under the gate
        self.runs(self.gated("-p", "open"))
        reasons = dict(line.split() for line in self.lab.run("squeue -h -t PD -o '%i %r'").splitlines())
        self.assertEqual(reasons, {str(kept): "JobHeldUser", str(stays): "JobHeldAdmin"})
        self.assertEqual(self.lab.as_user("scontrol", "release", str(kept)), (0, ""))
        self.runs(kept)

    def test_t19_out_of_order(self):
        """A has 0, B has 1, A ends, and ours takes what is free; the next of Slurm's gets what the ledger says."""
        first = self.gated("--gres=gpu:1", "-w", "n0")
        a = self.in_its_place(first)
        second = self.gated("--gres=gpu:1", "-w", "n0")
        b = self.in_its_place(second)
        self.lab.run(f"scancel {first}")
        self.lab.until(f"squeue -h -j {first}", lambda out: not out.strip())
        ours = self.submit(1, node="n0")
        c = self.started(ours)
        third = self.gated("--gres=gpu:2", "-w", "n0")
        d = self.in_its_place(third)
        self.assertEqual(len(a | b), 2)
        self.assertEqual(len(b | c | d), 4)

    def test_the_lowest_free_gpu_needs_no_fence_and_slurm_is_told_to_look(self):
        job = self.gated("--gres=gpu:1", "-w", "n0")
        self.assertEqual(self.in_its_place(job), {("n0", 0)})
        names = self.lab.run("squeue -h -t all -u root -o %j").split()
        self.assertIn("dove-fence-0.0@dove", names)
        self.assertFalse([name for name in names if name.startswith(f"dove-fence-{self.known_as(job)}.")])
        pair = self.gated("--gres=gpu:2", "-w", "n0")
        self.in_its_place(pair)
        names = self.lab.run("squeue -h -t all -u root -o %j").split()
        self.assertTrue([name for name in names if name.startswith(f"dove-fence-{self.known_as(pair)}.")])

    def test_three_users(self):
        jobs = {name: self.gated("--gres=gpu:1", user=name) for name in PEOPLE}
        held = set()
        for name, job in jobs.items():
            devices = self.in_its_place(job)
            self.assertFalse(devices & held)
            held |= devices
            self.assertEqual(self.cluster.job(self.known_as(job))["user"], name)
            self.assertEqual(self.lab.fields(job)["UserId"].split("(")[0], name)

    def test_a_job_waits_with_our_words_until_there_is_room(self):
        ours = [self.submit(GPUS, node=f"n{i}") for i in range(NODES)]
        for job in ours:
            self.started(job)
        theirs, noted = self.gated("--gres=gpu:1"), self.gated("--gres=gpu:1", "--comment=run 7")
        until(lambda: re.search(r"^run 7 \| dovetail: .*n", self.lab.run(f"squeue -h -j {noted} -o %k")), 60, "our words behind theirs")
        until(lambda: "dovetail: " in self.lab.run(f"squeue -h -j {theirs} -o %k"), 60, "our words")
        self.assertEqual(self.state(theirs), "PENDING")
        self.assertEqual(self.lab.fields(theirs)["Priority"], "0")
        self.cluster.run("cancel", str(ours[1]))
        self.assertTrue(all(node == "n1" for node, _ in self.in_its_place(theirs)))
        self.assertNotIn("dovetail", self.lab.run(f"squeue -h -j {theirs} -o %k"))
        self.in_its_place(noted)
        self.assertEqual(self.lab.run(f"squeue -h -j {noted} -o %k").strip(), "run 7")

    def test_the_nicer_one_starts_later(self):
        ours = [self.submit(GPUS, node=f"n{i}") for i in range(NODES)]
        for job in ours:
            self.started(job)
        nice, plain = self.gated(f"--gres=gpu:{GPUS}", "--nice=70"), self.gated(f"--gres=gpu:{GPUS}")
        self.assertEqual([self.cluster.job(self.known_as(job))["priority"] for job in (nice, plain)], [-70, 0])
        self.cluster.run("cancel", str(ours[0]))
        self.in_its_place(plain)
        self.assertEqual(self.state(nice), "PENDING")
        # To Slurm a change of it would be a priority, and the hold's end.
        self.assertNotEqual(self.lab.as_user("scontrol", "update", f"JobId={nice}", "Nice=0")[0], 0)
        self.assertEqual(self.lab.fields(nice)["Priority"], "0")

    def test_cancelled_on_either_side_while_it_is_held(self):
        ours = [self.submit(GPUS, node=f"n{i}") for i in range(NODES)]
        for job in ours:
            self.started(job)
        first, second = self.gated("--gres=gpu:1"), self.gated("--gres=gpu:1")
        a, b = self.known_as(first), self.known_as(second)
        self.lab.run(f"scancel {first}")
        self.assertEqual(self.cluster.wait(a, 20)["state"], "cancelled")
        self.cluster.run("cancel", str(b))
        self.lab.until(f"squeue -h -t all -j {second} -o %T", lambda out: out.strip() == "CANCELLED", 20)

    def test_cancelled_in_the_ledger_while_it_runs(self):
        job = self.gated("--gres=gpu:1")
        self.in_its_place(job)
        self.cluster.run("cancel", str(self.known_as(job)))
        self.lab.until(f"squeue -h -t all -j {job} -o %T", lambda out: out.strip() == "CANCELLED", 40)
        self.assertEqual(self.cluster.wait(self.known_as(job), 20)["state"], "cancelled")

    def test_a_users_hold_and_release(self):
        ours = [self.submit(GPUS, node=f"n{i}") for i in range(NODES)]
        for job in ours:
            self.started(job)
        job = self.gated("--gres=gpu:1", "--hold")
        known = self.known_as(job)
        self.assertTrue(self.cluster.job(known)["held"])
        self.assertEqual(self.cluster.job(known)["state"], "held")
        let_go = f"held by nobody; it is let go where it was held: as slurm job {job} there, or by `dove release`"
        self.assertIn(let_go, self.cluster.run("why", str(known)).stdout)
        self.lab.until(f"squeue -h -j {job} -o %k", lambda out: f"dovetail: {let_go}" in out, 20)
        self.lab.as_user("scontrol", "release", str(job))
        until(lambda: not self.cluster.job(known)["held"], 20, "the release to be heard")
        self.lab.as_user("scontrol", "hold", str(job))
        until(lambda: self.cluster.job(known)["held"], 20, "the hold to be heard")
        for one in ours:
            self.cluster.run("cancel", str(one))
        self.lab.as_user("scontrol", "release", str(job))
        self.in_its_place(job)

    def says(self, path, words):
        def said():
            with open(path) as file:
                return file.read().split("\n")[:-1] == words
        until(said, 60, f"{words} in {path}")

    def test_ours_of_higher_priority_preempts_after_slurms_grace_and_it_runs_again(self):
        path = os.path.join(self.lab.folder, "saved")
        with open(path, "w"):
            os.chmod(path, 0o666)
        script = f"trap 'echo saved >>{path}; exit 0' TERM; echo begun ${{SLURM_RESTART_COUNT:-0}} >>{path}; {LISTENS}"
        theirs = self.gated(f"--gres=gpu:{GPUS}", "-w", "n0", script=script)
        self.in_its_place(theirs)
        self.says(path, ["begun 0"])
        urgent = self.submit(GPUS, node="n0", command=("sleep", "5"), priority=5)
        self.started(urgent)
        self.says(path, ["begun 0", "saved"])
        known = self.known_as(theirs)
        self.assertEqual(self.cluster.job(known)["attempts"][0]["stop_reason"], "preempted")
        self.assertEqual(self.state(theirs), "PENDING")
        self.assertEqual(self.cluster.wait(urgent, 40)["state"], "completed")
        self.in_its_place(theirs)
        self.says(path, ["begun 0", "saved", "begun 1"])

    def test_one_that_is_preempted_has_its_users_signal_and_the_time_after_it(self):
        path, script = (os.path.join(self.lab.folder, name) for name in ("signalled", "signalled.sh"))
        with open(path, "w"):
            os.chmod(path, 0o666)
        with open(script, "w") as file:
            file.write(f"#!/bin/bash\n#SBATCH --signal=B:USR1@5\ntrap 'echo usr1 >>{path}' USR1\n"
                       f"trap 'echo term >>{path}; exit 0' TERM\necho begun >>{path}\n{LISTENS}\n")
        theirs = int(self.lab.run(["sbatch", "--parsable", "--uid=nobody", "-D", "/", "-o", "/dev/null", "--mem=100",
                                   f"--gres=gpu:{GPUS}", "-w", "n0", script]))
        self.in_its_place(theirs)
        self.says(path, ["begun"])
        urgent = self.submit(GPUS, node="n0", priority=5)
        self.says(path, ["begun", "usr1"])
        self.assertEqual(self.state(theirs), "RUNNING")
        self.started(urgent, 60)
        self.says(path, ["begun", "usr1", "term"])
        self.assertEqual(self.state(theirs), "PENDING")

    def test_slurms_of_higher_priority_preempts_ours(self):
        ours = self.submit(GPUS, node="n1", preempt="restart")
        self.started(ours)
        # Users may not ask for it; root may, for them.
        theirs = int(self.lab.run(f"sbatch --parsable --uid=nobody -D / -o /dev/null --mem=100 --gres=gpu:{GPUS} -w n1 --nice=-5 "
                                  "--wrap='sleep 300'"))
        self.in_its_place(theirs)
        self.assertEqual(self.cluster.job(ours)["attempts"][0]["stop_reason"], "preempted")
        self.lab.run(f"scancel {theirs}")
        self.started(ours)

    def test_a_requeued_job_waits_for_another_place(self):
        job = self.gated("--gres=gpu:1")
        self.in_its_place(job)
        self.lab.run(f"scontrol requeue {job}")
        until(lambda: self.lab.fields(job)["Restarts"] != "0", 20, "it to be requeued")
        self.in_its_place(job)

    def test_an_array(self):
        job = self.gated("--gres=gpu:1", "--array=1-3")
        self.lab.until(f"squeue -h -r -j {job} -o %T", lambda out: out.split() == ["RUNNING"] * 3, 60)
        held = [self.lab.indices(int(task)) for task in self.lab.run(f"squeue -h -r -j {job} -o %A").split()]
        self.assertEqual(len(set().union(*held)), 3)

    def test_what_the_gate_cannot_place_stays_held_and_says_so(self):
        job = self.gated("--exclusive=user")
        until(lambda: "exclusive" in self.lab.run(f"squeue -h -j {job} -o %k"), 30, "our words")
        self.assertEqual(self.state(job), "PENDING")

    def test_killed_and_back(self):
        """The adapter and the controller are killed while a job is at the gate, and slurmctld while one runs."""
        running = self.gated("--gres=gpu:1")
        devices = self.in_its_place(running)
        self.end_adapter(signal.SIGKILL)
        waiting = self.gated("--gres=gpu:1")
        self.cluster.server.kill()
        self.cluster.server.wait()
        self.cluster.api.close()
        self.assertEqual(self.state(waiting), "PENDING")
        self.cluster.start_server()
        self.start_adapter()
        self.in_its_place(waiting)
        self.assertEqual(self.devices(self.known_as(running)), devices)
        self.lab.save_jobs()
        self.lab.kill_controller()
        self.lab.start_controller()
        third = self.gated("--gres=gpu:1")
        self.in_its_place(third)
        for job in (running, waiting, third):
            self.assertEqual(self.lab.fields(job)["Restarts"], "0")

    def test_the_adapter_is_killed_between_steps(self):
        rng = random.Random(5)
        for _ in range(4):
            job = self.gated("--gres=gpu:1")
            time.sleep(rng.random() * 0.8)  # where it is killed is the test
            self.end_adapter(signal.SIGKILL)
            self.start_adapter()
            self.in_its_place(job)
        until(lambda: "dove-fence" not in self.lab.run("squeue -h -o %j"), 20, "no fence to be left")

    def test_no_index_is_given_twice_in_a_crowd(self):
        rng = random.Random(19)
        ours, theirs = [], []
        deadline = time.monotonic() + 40
        samples = 0
        while time.monotonic() < deadline:
            kind = rng.randrange(30)
            if kind == 0 and len(ours) < 40:
                ours.append(self.submit(rng.randint(1, 2), command=("sleep", str(rng.randint(1, 5)))))
            elif kind == 1 and len(theirs) < 40:
                theirs.append(self.gated(f"--gres=gpu:{rng.randint(1, 2)}", script=f"sleep {rng.randint(1, 5)}"))
            elif kind == 2 and theirs:
                self.lab.run(["scancel", str(rng.choice(theirs))])
            samples += 1
            seen = {}
            for name, held in self.held_in_slurm().items():
                for device in held:
                    self.assertNotIn(device, seen, f"{name} and {seen.get(device)}")
                    seen[device] = name
        self.assertGreater(samples, 50)
        for job in ours:
            self.cluster.wait(job, 120)
        self.lab.until("squeue -h -t pending,running,completing", lambda out: not out.strip(), 120)
        self.assertTrue(any(self.state(job) == "COMPLETED" for job in theirs))


if __name__ == "__main__":
    if not available() or LUA is None:
        print("no Slurm with its Lua plug-in here: tools/setup peers installs it (as root)")
        sys.exit(SKIP)
    sys.exit(unittest.main())
